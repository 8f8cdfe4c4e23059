"""What ``tremula query`` prints: the planned queries before any is sent, and a report of those that were sent."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from rich.console import Console
from rich.table import Table

from tremula.cli.budget_tables import public_by_budget
from tremula.cli.guard_rules import has_budget
from tremula.cli.holdout import in_words
from tremula.cli.learning import Learning
from tremula.queries.sql.plan import Plan

SHOWN_SQL = 1200  # printed characters of a query
PUBLIC = (
    "The classes, levels and quantiles of the columns are disclosed exactly, even those of a single row: --min-count "
    "and --round-to do not protect them."
)
MORE_QUERIES = 2  # of an error estimate: how many rows are different, and the predictions of the held-out ones


def describe_plan(plan: Plan, learning: Learning, has_private_cuts: bool = False) -> dict[str, Any]:
    """Return the plan as it is written to JSON; private cuts take one query more."""
    planned = plan.n_queries(learning.parameters["max_depth"])
    assert planned is not None
    if learning.share:
        planned += planned + MORE_QUERIES if learning.grows_twice else 1 + plan.column_queries
    planned += has_private_cuts + (not learning.is_guarded)  # one looks for identifiers
    rules = learning.rules
    return {
        "engine": plan.engine,
        "form": plan.form,
        "columns": [asdict(column) for column in (plan.target, *plan.columns)],
        "column_queries": plan.column_queries,
        "queries_per_depth": plan.queries_per_depth,
        "holdout": learning.share,
        "queries_planned": planned,
        "root_queries": list(plan.root_queries),
        "working_table": plan.working_table,
        "not_covered": public_by_budget(rules["public"]) if has_budget(rules) else PUBLIC,
    }


def print_plan(report: Mapping[str, Any], plan: Plan) -> None:
    """Print the columns and the planned queries."""
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
        f"{_of_working_table(plan)}"
        f"About {report['queries_planned']} queries: {plan.column_queries} for these, then {plan.queries_per_depth} "
        f"for each depth of all trees together, by {plan.form}; more if there are many different paths."
        f"{_of_holdout(report)} The database returns counts by path, value and class, {_of_rows(report)}. "
        f"{report['not_covered']}",
        markup=False,
    )


def _of_working_table(plan: Plan) -> str:
    if plan.working_table is None:
        return ""
    return (
        "The session of the database makes a temporary table of numbers for the values of each row, if it may "
        "(--working-table no does without). "
    )


def _of_holdout(report: Mapping[str, Any]) -> str:
    if not report["holdout"]:
        return ""
    return (
        f" The number includes those that estimate the error, with {report['holdout']:.0%} of the rows held out inside "
        "the database (--holdout 0 sends none of these)."
    )


def _of_rows(report: Mapping[str, Any]) -> str:
    if report["cube_rows"] == 0:
        return "never a row"
    return f"or the counts of all its different rows (--cube-rows {report['cube_rows']})"


def print_query(plan: Plan) -> None:
    """Print the query of the first depth."""
    console = Console(highlight=False, soft_wrap=True)
    shown = plan.root_queries[0]
    console.print("The query of the first depth, with example levels and cuts:", markup=False)
    console.print(shown[:SHOWN_SQL] + (" ..." if len(shown) > SHOWN_SQL else ""), markup=False, style="dim")
    console.print("Only the names and types of the columns were queried.", markup=False)


def _seconds(report: Mapping[str, Any]) -> str:
    fit, estimate = report["seconds"], report["seconds_of_estimate"]
    return (
        f"{fit + estimate:.1f} s, {estimate:.1f} s of them to estimate the error"
        if report["holdout"]
        else f"{fit:.1f} s"
    )


def print_asked(report: Mapping[str, Any]) -> None:
    """Print what was asked, what was disclosed and the estimated error."""
    console = Console(highlight=False, soft_wrap=True)
    console.print(
        f"Sent {report['queries_sent']} queries in {_seconds(report)}. {report['model']} of {report['members']} "
        f"trees, {report['mean_leaves']:.1f} leaves on average.",
        markup=False,
    )
    if report["working_table"] and report["working_table_refusal"]:
        console.print(f"There was no working table: {report['working_table_refusal']}", markup=False)
    if report["different_rows_fetched"]:
        console.print("The counts of all different rows were fetched, and the last questions answered from these.")
    for sentence in in_words(report["error_estimate"]):
        console.print(sentence, markup=False)
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
