"""``tremula query``: learns trees from counts that a database returns (simulated bagging); no row leaves the database.

The planned queries are printed first, a report of the queries sent afterwards.
"""

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

import tremula as tm
from tremula.cli.budget_tables import check_budget, check_stated, levels_as_text, public_by_budget, stated_kinds
from tremula.cli.database_options import (
    SCHEMES,
    Bins,
    Columns,
    DatabaseTable,
    Nominal,
    TargetColumn,
    TaskOfCounts,
    column_choices,
    database_address,
)
from tremula.cli.guard_options import (
    BudgetDepthOption,
    DeltaOption,
    DomainsOption,
    EpsilonOption,
    LedgerFileOption,
    MinCountOption,
    PersonOption,
    PublicOption,
    RhoOption,
    RoundToOption,
    RowsPerPersonOption,
    TargetBoundsOption,
    has_budget,
    make_guard,
    read_domains,
    read_limits,
    read_rules,
)
from tremula.cli.model_files import check_ending, check_place, write_model
from tremula.cli.options import TaskOrAuto
from tremula.errors import InvalidInput, InvalidParameter, TremulaError, listed
from tremula.lab.datasets.tables import FORMATS
from tremula.lab.datasets.typed_table import open_typed_table
from tremula.persistence.atomic_write import write_atomically
from tremula.queries import GuardedOracle, connect
from tremula.queries.privacy import epsilon_for
from tremula.queries.sql.cube import AUTO
from tremula.queries.sql.database import duckdb_table, without_password
from tremula.queries.sql.plan import Plan, plan_queries

# Names of sqlglot's dialects where they differ from the engine's.
DIALECTS = {"pyspark": "spark"}
SHOWN_SQL = 1200  # printed characters of a query
PUBLIC = (
    "The classes, levels and quantiles of the columns are disclosed exactly, even those of a single row: --min-count "
    "and --round-to do not protect them."
)


UrlArgument = Annotated[
    str,
    typer.Argument(
        metavar="URL",
        help="URL of a database as in ibis (duckdb://file, sqlite://file, postgresql://user@host/base), a database "
        "file, or a CSV, ARFF or Parquet file; #table may follow.",
        show_default=False,
    ),
]
MembersOption = Annotated[int, typer.Option(min=1, help="Number of trees.")]
MaxDepthOption = Annotated[
    int, typer.Option(min=1, help="Maximum depth of a tree, and number of passes over the table.")
]
CubeRowsOption = Annotated[
    str,
    typer.Option(
        metavar="ROWS|auto",
        help="Fetch the counts of all different rows of a table of up to this many rows, and count in memory; auto "
        "does so once further counts cost more. Rows then leave the database; 0 never does this.",
    ),
]
DryRunOption = Annotated[bool, typer.Option("--dry-run", help="Print the planned queries and send none.")]
OutOption = Annotated[Path, typer.Option("--out", "-o", help="File for the model.")]
SqlOption = Annotated[Path | None, typer.Option(help="File for the model as one SQL query.", show_default=False)]
LogOption = Annotated[Path | None, typer.Option(help="File for all queries sent.", show_default=False)]
LedgerOption = Annotated[
    Path | None, typer.Option(help="JSON file for all questions and whether they were answered.", show_default=False)
]
SeedOption = Annotated[int, typer.Option(min=0, max=2**32 - 1, help="Determines every random choice except the noise.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print the results as JSON instead of text.")]


def query(
    url: UrlArgument,
    target: TargetColumn,
    table: DatabaseTable = None,
    columns: Columns = None,
    nominal: Nominal = "",
    task: TaskOfCounts = TaskOrAuto.auto,
    members: MembersOption = 20,
    max_depth: MaxDepthOption = 8,
    bins: Bins = 32,
    min_count: MinCountOption = 0,
    round_to: RoundToOption = None,
    epsilon: EpsilonOption = None,
    delta: DeltaOption = None,
    rho: RhoOption = None,
    domains: DomainsOption = None,
    public: PublicOption = None,
    budget_depth: BudgetDepthOption = None,
    ledger_file: LedgerFileOption = None,
    person_id: PersonOption = None,
    rows_per_person: RowsPerPersonOption = 1,
    target_bounds: TargetBoundsOption = None,
    cube_rows: CubeRowsOption = "0",
    dry_run: DryRunOption = False,
    out: OutOption = Path("model.tremula"),
    sql: SqlOption = None,
    log: LogOption = None,
    ledger: LedgerOption = None,
    seed: SeedOption = 0,
    as_json: JsonOption = False,
) -> None:
    """Learn an ensemble of trees from counts that a database returns (simulated bagging). No row leaves the database.

    Prints the number and form of the planned queries, sends them, and reports what was asked. The model is saved for
    tremula predict. It can also be written as one SQL query, to predict in the database. Only with --cube-rows may rows
    leave the database.
    """
    address, name = _address(url, table)
    files = _check_files(out, sql, log, ledger)
    chosen = column_choices(columns, nominal, bins, task) | read_limits(person_id, rows_per_person, target_bounds)
    chosen |= read_domains(domains, target)
    guard = read_rules(min_count, round_to, epsilon, delta, budget_depth, ledger_file, rho, public)
    connecting = {"cube_rows": _cube_rows(cube_rows)}
    check_budget(guard, connecting["cube_rows"])
    parameters = {"n_estimators": members, "max_depth": max_depth, "random_state": seed}
    report: dict[str, Any] = {"url": without_password(address), "table": name, "target": target} | connecting
    with _source(address, name, target, chosen, guard) as (source, read):
        plan = plan_queries(source, name, target, **chosen | read)
        check_stated(plan, guard)
        report |= _plan(plan, max_depth, guard)
        if not as_json:
            _print_plan(report, plan)
        if dry_run:
            print(json.dumps(report, indent=2, ensure_ascii=False)) if as_json else _print_query(plan)
            return
        with _query_log(log) as sent:
            model, asked = _learn(source, name, target, chosen | read | connecting, guard, ledger, parameters, sent)
    write_model(model, out)
    if sql is not None:
        _write_sql(model, sql, name or url, plan.engine)
    report |= asked | {"wrote": [str(file) for file in files]}
    print(json.dumps(report, indent=2, ensure_ascii=False)) if as_json else _print_asked(report)


def _write_sql(model: Any, file: Path, table: str, engine: str) -> None:
    write_atomically(file, (model.export_sql(table, DIALECTS.get(engine, engine)) + "\n").encode())


# --- arguments ---


def _cube_rows(text: str) -> int | str:
    if text != AUTO and not text.isdecimal():
        raise InvalidParameter(f"--cube-rows is {text!r}, expected a whole number or {AUTO}")
    return text if text == AUTO else int(text)


@contextmanager
def _query_log(log: Path | None) -> Iterator[list[str]]:
    """Give a list for the queries sent; write it to the log even if an error follows."""
    sent: list[str] = []
    try:
        yield sent
    finally:
        if log is not None:
            write_atomically(log, ";\n\n".join([*sent, ""]).encode())


def _check_files(out: Path, *others: Path | None) -> list[Path]:
    """Return the files to write; raise an error if one cannot be written or is named twice."""
    check_ending(out)
    files = [out, *(file for file in others if file is not None)]
    for number, file in enumerate(files):
        check_place(file)
        if file.resolve() in [other.resolve() for other in files[:number]]:
            raise InvalidInput(f"{str(file)!r} is named for two files: give each its own name")
    return files


def _address(url: str, table: str | None) -> tuple[str, str | None]:
    """Return the URL with its scheme, and the table; raise an error if it is no database and no file of rows."""
    address, name = database_address(url, table)
    if "://" not in address and Path(address).suffix.lower() not in FORMATS:
        endings = listed([*SCHEMES, *FORMATS])
        raise InvalidInput(
            f"{url!r} is neither the URL of a database, such as duckdb://file or postgresql://user@host/base, nor a "
            f"file ending in {endings}: give one of these"
        )
    return address, name


@contextmanager
def _source(
    address: str, table: str | None, target: str, chosen: Mapping[str, Any], guard: Mapping[str, Any]
) -> Iterator[tuple[Any, dict[str, Any]]]:
    """Give what `connect` takes; a file is read as all commands read it, which decides the task and the attributes."""
    if "://" in address:
        yield address, {}
        return
    if table is not None:
        raise InvalidInput(f"the table {table!r} was given, but {address!r} is not a database: leave it out")
    task = None if chosen["task"] == TaskOrAuto.auto.value else chosen["task"]
    attributes = chosen["attributes"]
    person = [chosen["person_id"]] if "person_id" in chosen else []
    wanted = None if attributes is None else [*attributes, *chosen["categorical_features"], *person]
    stated = stated_kinds(chosen, target) if has_budget(guard) else None
    with open_typed_table(address, target, task, wanted, stated) as typed:
        if typed.notes:
            Console(stderr=True, soft_wrap=True).print("\n".join(typed.notes), markup=False, highlight=False)
        opened = duckdb_table(typed.connection, typed.name)
        kept = None if attributes is None else [name for name in attributes if name in opened.columns]
        yield opened, {"task": typed.task, "attributes": kept} | ({} if stated is None else levels_as_text(chosen))


# --- learning ---


def _learn(
    source: Any,
    table: str | None,
    target: str,
    chosen: Mapping[str, Any],
    guard: Mapping[str, Any],
    ledger: Path | None,
    parameters: Mapping[str, Any],
    sent: list[str],
) -> tuple[Any, dict[str, Any]]:
    """Return the model and a report of what was asked; the queries are added to `sent`."""
    start = time.perf_counter()
    with _counting(sent), connect(source, table, target=target, on_query=sent.append, **chosen) as oracle:
        is_guarded = any(rule for name, rule in guard.items() if name != "public")
        guarded = make_guard(oracle, guard, parameters["max_depth"]) if is_guarded or ledger is not None else None
        kind = tm.SimulatedBaggingRegressor if oracle.schema.classes is None else tm.SimulatedBaggingClassifier
        model = kind(**parameters)
        if guarded is None:
            model.fit(oracle)
        else:
            _fit_guarded(model, guarded, ledger)
    asked: dict[str, Any] = {
        "model": type(model).__name__,
        "classes": None if oracle.schema.classes is None else [str(label) for label in oracle.schema.classes],
        "members": len(model.members_),
        "mean_leaves": sum(tree.n_leaves for tree in model.members_) / len(model.members_),
        "queries_sent": oracle.n_queries,
        "different_rows_fetched": oracle.has_fetched_rows,
        "seconds": round(time.perf_counter() - start, 3),
    }
    if guarded is not None:
        asked["disclosure"] = _disclosure(guarded, guard)
    return model, asked


def _fit_guarded(model: Any, guarded: GuardedOracle, ledger: Path | None) -> None:
    """Fit on guarded counts; the ledger is written even if the fit fails."""
    try:
        model.fit(guarded)
    except TremulaError as error:
        suppressed = sum(entry.suppressed for entry in guarded.ledger)
        if not suppressed:
            raise
        raise type(error)(
            f"{error}; {suppressed} cells with too few rows were suppressed: lower --min-count"
        ) from error
    finally:
        if ledger is not None:
            guarded.export_ledger(ledger)


@contextmanager
def _counting(sent: Sequence[str]) -> Iterator[None]:
    """Show the number of queries sent, on a terminal."""
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    class SentColumn(TextColumn):
        def render(self, task: Any) -> Any:
            return super().render(task) + f"{len(sent)} queries sent"

    console = Console(stderr=True)
    columns = SpinnerColumn(), SentColumn(""), TimeElapsedColumn()
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        progress.add_task("", total=None)
        yield


def _disclosure(guarded: GuardedOracle, guard: Mapping[str, Any]) -> dict[str, Any]:
    outcomes = [entry.outcome for entry in guarded.ledger]
    return {
        **{name: rule for name, rule in guard.items() if name not in ("budget_depth", "ledger_file", "public")},
        "questions_answered": outcomes.count("answered"),
        "questions_estimated": outcomes.count("estimated"),
        "questions_refused": outcomes.count("refused"),
        "cells_suppressed": sum(entry.suppressed for entry in guarded.ledger),
        "epsilon_spent": _epsilon_spent(guarded, guard),
        "rho_spent": None if guard["rho"] is None else guarded.spent,
    }


def _epsilon_spent(guarded: GuardedOracle, guard: Mapping[str, Any]) -> float | None:
    """Return the epsilon that was spent; with a delta, that of the rho that was spent."""
    if guard["epsilon"] is None or guard["delta"] is None:
        return None if guard["epsilon"] is None else guarded.spent
    return min(epsilon_for(guarded.spent, guard["delta"]), guard["epsilon"]) if guarded.spent else 0.0


# --- output ---


def _plan(plan: Plan, max_depth: int, guard: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "engine": plan.engine,
        "form": plan.form,
        "columns": [asdict(column) for column in (plan.target, *plan.columns)],
        "column_queries": plan.column_queries,
        "queries_per_depth": plan.queries_per_depth,
        "queries_planned": plan.n_queries(max_depth),
        "root_queries": list(plan.root_queries),
        "not_covered": public_by_budget(guard["public"]) if has_budget(guard) else PUBLIC,
    }


def _print_plan(report: Mapping[str, Any], plan: Plan) -> None:
    console = Console(highlight=False, soft_wrap=True)
    console.print(f"{report['url']} ({plan.engine}), to predict {report['target']}:", markup=False)
    table = Table()
    for heading in ("column", "type", "kind", "queried once"):
        table.add_column(heading)
    for column in (plan.target, *plan.columns):
        asked = {"nominal": "its levels", "numeric": "its quantiles"}[column.kind]
        if column is plan.target:
            asked = {"nominal": "its classes", "numeric": "the number of rows"}[column.kind]
        if not column.query:
            asked = "nothing: it was stated"
        table.add_row(column.name, column.type, column.kind, asked)
    console.print(table, soft_wrap=False)
    console.print(
        f"About {report['queries_planned']} queries: {plan.column_queries} for these, then {plan.queries_per_depth} "
        f"for each depth of all trees together, by {plan.form}; more if there are many different paths. The database "
        f"returns counts by path, value and class, {_of_rows(report)}. {report['not_covered']}",
        markup=False,
    )


def _of_rows(report: Mapping[str, Any]) -> str:
    if report["cube_rows"] == 0:
        return "never a row"
    return f"or the counts of all its different rows (--cube-rows {report['cube_rows']})"


def _print_query(plan: Plan) -> None:
    console = Console(highlight=False, soft_wrap=True)
    shown = plan.root_queries[0]
    console.print("The query of the first depth, with example levels and cuts:", markup=False)
    console.print(shown[:SHOWN_SQL] + (" ..." if len(shown) > SHOWN_SQL else ""), markup=False, style="dim")
    console.print("Only the names and types of the columns were queried.", markup=False)


def _print_asked(report: Mapping[str, Any]) -> None:
    console = Console(highlight=False, soft_wrap=True)
    console.print(
        f"Sent {report['queries_sent']} queries in {report['seconds']:.1f} s. {report['model']} of {report['members']} "
        f"trees, {report['mean_leaves']:.1f} leaves on average.",
        markup=False,
    )
    if report["different_rows_fetched"]:
        console.print("The counts of all different rows were fetched, and the last questions answered from these.")
    disclosure = report.get("disclosure")
    if disclosure:
        console.print(
            f"Disclosure: {disclosure['questions_answered']} questions answered, {disclosure['questions_estimated']} "
            f"estimated, {disclosure['questions_refused']} refused, {disclosure['cells_suppressed']} cells suppressed. "
            f"{report['not_covered']}",
            markup=False,
        )
    for unit in ("epsilon", "rho"):
        if disclosure and disclosure[unit] is not None:
            spent = f"{disclosure[f'{unit}_spent']:.3g} of a privacy budget of {disclosure[unit]:g} were spent."
            console.print(spent, markup=False)
    Console(stderr=True, soft_wrap=True).print(f"wrote {', '.join(report['wrote'])}", markup=False, highlight=False)
