"""``tremula query``: learns trees from counts that a database returns (simulated bagging); no row leaves the database.

The planned queries are printed first, a report of the queries sent afterwards.
"""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from tremula.cli.budget_tables import check_budget, check_stated, levels_as_text, stated_kinds
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
    default_bins,
    has_budget,
    read_domains,
    read_limits,
    read_rules,
)
from tremula.cli.holdout import HoldoutOption, read_holdout
from tremula.cli.learning import Learning, counting
from tremula.cli.model_files import check_ending, check_place
from tremula.cli.options import TaskOrAuto
from tremula.cli.query_output import describe_plan, print_asked, print_plan, print_query
from tremula.errors import InvalidInput, InvalidParameter, listed
from tremula.lab.datasets.tables import FORMATS
from tremula.lab.datasets.typed_table import open_typed_table
from tremula.persistence.atomic_write import write_atomically
from tremula.queries import connect
from tremula.queries.sql.cube import AUTO
from tremula.queries.sql.database import duckdb_table, without_password
from tremula.queries.sql.plan import plan_queries

# Names of sqlglot's dialects where they differ from the engine's.
DIALECTS = {"pyspark": "spark"}

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
    bins: Bins = None,
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
    holdout: HoldoutOption = None,
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
    tremula predict. It can also be written as one SQL query, to predict in the database. Its error is estimated on rows
    that are held out inside the database. Only with --cube-rows may rows leave the database.
    """
    address, name = _address(url, table)
    files = _check_files(out, sql, log, ledger)
    chosen = column_choices(columns, nominal, bins or default_bins(epsilon, rho), task)
    chosen |= read_limits(person_id, rows_per_person, target_bounds) | read_domains(domains, target)
    rules = read_rules(min_count, round_to, epsilon, delta, budget_depth, ledger_file, rho, public)
    connecting = {"cube_rows": _cube_rows(cube_rows)}
    check_budget(rules, connecting["cube_rows"])
    parameters = {"n_estimators": members, "max_depth": max_depth, "random_state": seed}
    learning = Learning(parameters, rules, *read_holdout(holdout, rules), ledger)
    report: dict[str, Any] = {"url": without_password(address), "table": name, "target": target} | connecting
    with _source(address, name, target, chosen, rules) as (source, read):
        plan = plan_queries(source, name, target, **chosen | read)
        check_stated(plan, rules)
        report |= describe_plan(plan, learning)
        if not as_json:
            print_plan(report, plan)
        if dry_run:
            print(json.dumps(report, indent=2, ensure_ascii=False)) if as_json else print_query(plan)
            return
        options = {**chosen, **read, **connecting}
        with (
            _query_log(log) as sent,
            counting(sent),
            connect(source, name, target=target, on_query=sent.append, **options) as oracle,
        ):
            model, asked = learning.learn(oracle, sent, out)
    if sql is not None:
        _write_sql(model, sql, name or url, plan.engine)
    report |= asked | {"wrote": [str(file) for file in files]}
    print(json.dumps(report, indent=2, ensure_ascii=False)) if as_json else print_asked(report)


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
    address: str, table: str | None, target: str, chosen: Mapping[str, Any], rules: Mapping[str, Any]
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
    stated = stated_kinds(chosen, target) if has_budget(rules) else None
    with open_typed_table(address, target, task, wanted, stated) as typed:
        if typed.notes:
            Console(stderr=True, soft_wrap=True).print("\n".join(typed.notes), markup=False, highlight=False)
        opened = duckdb_table(typed.connection, typed.name)
        kept = None if attributes is None else [name for name in attributes if name in opened.columns]
        yield opened, {"task": typed.task, "attributes": kept} | ({} if stated is None else levels_as_text(chosen))
