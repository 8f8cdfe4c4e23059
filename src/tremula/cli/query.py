"""``tremula query``: simulated bagging from a table in a database, by counts alone: no row leaves it.

What will be asked is told before, what was asked afterwards.
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
from tremula.cli.model_files import check_ending, check_place, write_model
from tremula.cli.options import TaskOrAuto, split_words
from tremula.errors import InvalidInput, TremulaError
from tremula.lab.datasets.formats.table_files import listed
from tremula.parameters import check_number
from tremula.persistence.atomic_write import write_atomically
from tremula.queries import GuardedOracle, connect
from tremula.queries.sql.database import FILE_READERS, without_password
from tremula.queries.sql.plan import Plan, plan_queries

# Database files given without a scheme, by the ending of their names.
SCHEMES = dict.fromkeys((".duckdb", ".ddb"), "duckdb") | dict.fromkeys((".sqlite", ".sqlite3", ".db"), "sqlite")
READ_ONLY = "?read_only=True"
# What sqlglot calls the dialects of engines whose names differ.
DIALECTS = {"pyspark": "spark"}
SHOWN_SQL = 1200  # letters of a query that are printed
PUBLIC = (
    "The classes, levels and quantiles of the columns are told as they are, those of a single row too: --min-count, "
    "--round-to and --privacy do not cover them."
)


def query(
    url: Annotated[
        str,
        typer.Argument(
            metavar="URL",
            help="The database as ibis takes it (duckdb://file, sqlite://file, postgresql://user@host/base), a "
            "database file, or a CSV or Parquet file; #table may follow.",
            show_default=False,
        ),
    ],
    target: Annotated[str, typer.Option(help="The column to predict.", show_default=False)],
    table: Annotated[str | None, typer.Option(help="The table; a CSV or Parquet file needs none.")] = None,
    columns: Annotated[
        str | None,
        typer.Option(help="Columns to learn from, separated by commas.", show_default="all but the target"),
    ] = None,
    nominal: Annotated[
        str, typer.Option(help="Whole-number columns to take as nominal, separated by commas.", show_default=False)
    ] = "",
    task: Annotated[
        TaskOrAuto, typer.Option(help="Classes, or numbers; auto goes by the column's type.")
    ] = TaskOrAuto.auto,
    members: Annotated[int, typer.Option(min=1, help="Trees.")] = 20,
    max_depth: Annotated[int, typer.Option(min=1, help="Splits on a path at most: so many passes over the table.")] = 8,
    bins: Annotated[int, typer.Option(min=2, help="Bins of a numeric column.")] = 32,
    min_count: Annotated[
        int, typer.Option(min=0, help="A count of fewer rows, but some, is taken as 0, and not asked about further.")
    ] = 0,
    round_to: Annotated[
        int | None, typer.Option(min=1, help="Counts are rounded to multiples of it.", show_default=False)
    ] = None,
    privacy: Annotated[
        float | None,
        typer.Option(
            help="Privacy budget, epsilon: noise is added to every count so that all together keep it.",
            show_default=False,
        ),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Tell what would be asked, and ask nothing.")] = False,
    out: Annotated[Path, typer.Option("--out", "-o", help="The file of the model.")] = Path("model.tremula"),
    sql: Annotated[
        Path | None, typer.Option(help="Write the model as one SQL query to this file.", show_default=False)
    ] = None,
    log: Annotated[
        Path | None, typer.Option(help="Write every query that was sent to this file.", show_default=False)
    ] = None,
    ledger: Annotated[
        Path | None, typer.Option(help="Write every question and its fate to this file, as JSON.", show_default=False)
    ] = None,
    seed: Annotated[int, typer.Option(min=0, max=2**32 - 1, help="Decides every random choice but the noise.")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print the results as JSON instead of words.")] = False,
) -> None:
    """Learn an ensemble of trees from counts that a database gives: simulated bagging. No row leaves the database.

    Tells first how many queries it will send and of which form; then sends them, and tells what it asked. The model
    is saved for tremula predict, and can be written as one SQL query, to predict in the database too.
    """
    address, name = _address(url, table)
    places = _check_places(out, sql, log, ledger)
    if privacy is not None:
        check_number("--privacy", privacy, 0.0, above=True)
    chosen: dict[str, Any] = {
        "attributes": None if columns is None else split_words(columns),
        "categorical_features": split_words(nominal),
        "n_bins": bins,
        "task": task.value,
    }
    plan = plan_queries(address, name, target, **chosen)
    told: dict[str, Any] = {"url": without_password(address), "table": name, "target": target} | _plan(plan, max_depth)
    if not as_json:
        _print_plan(told, plan)
    if dry_run:
        print(json.dumps(told, indent=2, ensure_ascii=False)) if as_json else _print_query(plan)
        return
    guard = {"min_count": min_count, "round_to": round_to, "epsilon": privacy}
    grown = {"n_estimators": members, "max_depth": max_depth, "random_state": seed}
    sent: list[str] = []
    try:
        model, asked = _learn(address, name, target, chosen, guard, ledger, grown, sent)
    finally:  # what was asked is told though nothing came of it
        if log is not None:
            write_atomically(log, ";\n\n".join([*sent, ""]).encode())
    write_model(model, out)
    if sql is not None:
        write_atomically(sql, (model.export_sql(name or url, DIALECTS.get(plan.engine, plan.engine)) + "\n").encode())
    told |= asked | {"wrote": [str(place) for place in places]}
    print(json.dumps(told, indent=2, ensure_ascii=False)) if as_json else _print_asked(told)


# --- what was given ---


def _check_places(out: Path, *others: Path | None) -> list[Path]:
    """Return the files to write, once each is known to have a place of its own."""
    check_ending(out)
    places = [out, *(place for place in others if place is not None)]
    for number, place in enumerate(places):
        check_place(place)
        if place.resolve() in [other.resolve() for other in places[:number]]:
            raise InvalidInput(f"two files are to go to {str(place)!r}: give each a name of its own")
    return places


def _address(url: str, table: str | None) -> tuple[str, str | None]:
    """Return a URL with its scheme, and the table; a DuckDB file is opened to be read alone."""
    address, mark, after = url.partition("#")
    if mark and table is not None and table != after:
        raise InvalidInput(f"the table is {after!r} in the URL and {table!r} in --table: give one of them")
    if "://" not in address and Path(address).suffix.lower() in SCHEMES:
        address = f"{SCHEMES[Path(address).suffix.lower()]}://{address}"
    if address.startswith("duckdb://") and "?" not in address and address not in ("duckdb://", "duckdb://:memory:"):
        address += READ_ONLY
    if "://" not in address and Path(address).suffix.lower() not in FILE_READERS:
        endings = listed([*SCHEMES, *FILE_READERS])
        raise InvalidInput(
            f"{url!r} is neither the URL of a database, such as duckdb://file or postgresql://user@host/base, nor a "
            f"file ending in {endings}: give one of these"
        )
    return address, table or after or None


# --- the work ---


def _learn(
    address: str,
    table: str | None,
    target: str,
    chosen: Mapping[str, Any],
    guard: Mapping[str, Any],
    ledger: Path | None,
    grown: Mapping[str, Any],
    sent: list[str],
) -> tuple[Any, dict[str, Any]]:
    """Return the model, and what was asked for it; the queries are added to `sent`."""
    start = time.perf_counter()
    with _counting(sent), connect(address, table, target, on_query=sent.append, **chosen) as oracle:
        is_guarded = guard["min_count"] > 0 or guard["round_to"] is not None or guard["epsilon"] is not None
        guarded = GuardedOracle(oracle, **guard) if is_guarded or ledger is not None else None
        kind = tm.SimulatedBaggingRegressor if oracle.schema.classes is None else tm.SimulatedBaggingClassifier
        model = kind(**grown)
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
        "seconds": round(time.perf_counter() - start, 3),
    }
    if guarded is not None:
        asked["disclosure"] = _disclosure(guarded, guard)
    return model, asked


def _fit_guarded(model: Any, guarded: GuardedOracle, ledger: Path | None) -> None:
    """Fit on guarded counts; the ledger is written whatever becomes of it."""
    try:
        model.fit(guarded)
    except TremulaError as error:
        withheld = sum(entry.withheld for entry in guarded.ledger)
        if not withheld:
            raise
        raise type(error)(f"{error}; {withheld} cells of too few rows were withheld: lower --min-count") from error
    finally:
        if ledger is not None:
            guarded.export_ledger(ledger)


@contextmanager
def _counting(sent: Sequence[str]) -> Iterator[None]:
    """Show on a terminal how many queries were sent."""
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
    fates = [entry.fate for entry in guarded.ledger]
    return {
        **guard,
        "questions_answered": fates.count("answered"),
        "questions_refused": fates.count("refused"),
        "cells_withheld": sum(entry.withheld for entry in guarded.ledger),
        "epsilon_spent": guarded.spent if guard["epsilon"] is not None else None,
    }


# --- what is shown ---


def _plan(plan: Plan, max_depth: int) -> dict[str, Any]:
    return {
        "engine": plan.engine,
        "form": plan.form,
        "columns": [asdict(column) for column in (plan.target, *plan.columns)],
        "queries_first": plan.queries_first,
        "queries_a_level": plan.queries_a_level,
        "queries_planned": plan.n_queries(max_depth),
        "level_query": list(plan.level_query),
        "not_covered": PUBLIC,
    }


def _print_plan(told: Mapping[str, Any], plan: Plan) -> None:
    console = Console(highlight=False, soft_wrap=True)
    console.print(f"{told['url']} ({plan.engine}), to predict {told['target']}:", markup=False)
    table = Table()
    for heading in ("column", "type", "kind", "asked for once"):
        table.add_column(heading)
    for column in (plan.target, *plan.columns):
        asked = {"nominal": "its levels", "numeric": "its quantiles"}[column.kind]
        if column is plan.target:
            asked = {"nominal": "its classes", "numeric": "the number of rows"}[column.kind]
        table.add_row(column.name, column.type, column.kind, asked)
    console.print(table, soft_wrap=False)
    console.print(
        f"About {told['queries_planned']} queries: {plan.queries_first} for these, then {plan.queries_a_level} for "
        f"each level of all trees together, by {plan.form}; more where many different paths have to be asked about. "
        f"What comes back is counts by path, value and class; never a row. {PUBLIC}",
        markup=False,
    )


def _print_query(plan: Plan) -> None:
    console = Console(highlight=False, soft_wrap=True)
    shown = plan.level_query[0]
    console.print("The query of the first level, with made-up levels and cuts:", markup=False)
    console.print(shown[:SHOWN_SQL] + (" ..." if len(shown) > SHOWN_SQL else ""), markup=False, style="dim")
    console.print("Nothing was asked but the names and types of the columns.", markup=False)


def _print_asked(told: Mapping[str, Any]) -> None:
    console = Console(highlight=False, soft_wrap=True)
    console.print(
        f"Asked: {told['queries_sent']} queries in {told['seconds']:.1f} s. {told['model']} of {told['members']} "
        f"trees, {told['mean_leaves']:.1f} leaves on average.",
        markup=False,
    )
    disclosure = told.get("disclosure")
    if disclosure:
        console.print(
            f"Disclosure: {disclosure['questions_answered']} questions answered, {disclosure['questions_refused']} "
            f"refused, {disclosure['cells_withheld']} cells withheld. {PUBLIC}",
            markup=False,
        )
    if disclosure and disclosure["epsilon"] is not None:
        spent = f"{disclosure['epsilon_spent']:.3g} of a privacy budget of {disclosure['epsilon']:g} was spent."
        console.print(spent, markup=False)
    Console(stderr=True, soft_wrap=True).print(f"wrote {', '.join(told['wrote'])}", markup=False, highlight=False)
