"""``tremula compare``: cross-validate methods on one dataset, print a table, write a page."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from tremula.lab.datasets import BUNDLED, load_dataset
from tremula.lab.methods import METHODS, choose_methods
from tremula.lab.protocol import cross_validate
from tremula.lab.store import Store
from tremula.report.page import render_page, write_page
from tremula.report.summary import summarize

DEFAULT_DATASET = "digits"
DEFAULT_STORE = "results.duckdb"


def compare(
    dataset: Annotated[
        str,
        typer.Argument(
            help=f"A dataset that comes with scikit-learn ({', '.join(BUNDLED)}), the name of a Parquet file in the "
            "folder TREMULA_DATA, or the path of a CSV or Parquet file."
        ),
    ] = DEFAULT_DATASET,
    target: Annotated[
        str | None, typer.Option(help="Column of the class, for files.", show_default="the column 'target'")
    ] = None,
    methods: Annotated[
        str | None,
        typer.Option(
            help=f"Which, separated by commas: {', '.join(METHODS)}.", show_default="all that take any attribute"
        ),
    ] = None,
    folds: Annotated[int, typer.Option(min=2, help="Parts of the data; each is the test set once.")] = 10,
    seed: Annotated[
        int,
        typer.Option(min=0, max=2**32 - 1, help="Decides the folds and every random choice: same seed, same errors."),
    ] = 0,
    output: Annotated[Path, typer.Option("--output", "-o", help="The page to write.")] = Path("report.html"),
    report: Annotated[bool, typer.Option("--report/--no-report", help="Write the page, or do not.")] = True,
    store: Annotated[
        Path | None,
        typer.Option(
            help="The DuckDB file that keeps each trial; what is in it is not measured again.",
            show_default=f"{DEFAULT_STORE} beside the page",
        ),
    ] = None,
    no_store: Annotated[bool, typer.Option("--no-store", help="Keep no trials.")] = False,
    jobs: Annotated[
        int, typer.Option(help="Trials at a time; -1 is all processors. With more than one the times to fit grow.")
    ] = 1,
    as_json: Annotated[bool, typer.Option("--json", help="Print the results as JSON instead of a table.")] = False,
) -> None:
    """Compare methods on a dataset by stratified cross-validation.

    Prints each method's mean error with its standard deviation over the folds,
    its number of leaves and its time to fit; an HTML page shows the same with a chart.
    Each trial is kept as soon as it is measured: stopped at any moment, the same command
    goes on where it was.
    """
    if store and no_store:
        raise typer.BadParameter("--store and --no-store exclude each other")
    chosen = choose_methods(_names(methods))
    data = load_dataset(dataset, target)
    if report:
        _check_place(output)
    place = store or (output.absolute().parent / DEFAULT_STORE if report and not no_store else None)
    kept = Store(place, other_versions="beside") if place else None
    trials = cross_validate(chosen, data, folds, seed, store=kept, n_jobs=jobs)
    summary = summarize(data, chosen, trials, folds, seed)
    if report:
        write_page(output, render_page(summary))
    if as_json:
        print(json.dumps(summary, indent=2, ensure_ascii=False))
    else:
        _print_summary(summary)
    if report:
        Console(stderr=True, soft_wrap=True).print(f"wrote {output}", markup=False, highlight=False)


def _names(methods: str | None) -> list[str]:
    return [name.strip() for name in (methods or "").split(",") if name.strip()]


def _check_place(output: Path) -> None:
    """Find out before the work, not after it, that the page has nowhere to go."""
    if not output.absolute().parent.is_dir():
        raise FileNotFoundError(f"no folder {str(output.parent)!r} to write {output.name!r} to: make it first")
    if output.is_dir():
        raise IsADirectoryError(f"{str(output)!r} is a folder: give --output the name of a file, or use --no-report")


def _print_summary(summary: Mapping[str, Any]) -> None:
    console = Console(highlight=False)
    console.print(_heading(summary), markup=False)
    console.print(_table(summary["methods"]))
    lowest = " and ".join(row["label"] for row in summary["methods"] if row["lowest"])
    console.print(f"Lowest mean: {lowest}. Leaves are a mean, times to fit a median over the folds.", markup=False)
    for note in summary["notes"]:
        console.print(note, markup=False)


def _heading(summary: Mapping[str, Any]) -> str:
    about, protocol = summary["dataset"], summary["protocol"]
    return (
        f"{about['name']} ({about['source']}): {about['rows']:,} rows, {about['numeric']} numeric and "
        f"{about['nominal']} nominal attributes, {about['classes']} classes; the most frequent class alone errs on "
        f"{about['majority_error']:.1f} %. {protocol['folds']}-fold {protocol['kind']}, seed {protocol['seed']}."
    )


def _table(rows: Sequence[Mapping[str, Any]]) -> Table:
    table = Table()
    table.add_column("method")
    for heading in ("error %", "± sd", "leaves", "fit, ms"):
        table.add_column(heading, justify="right")
    for row in rows:
        leaves = "" if row["leaves_mean"] is None else f"{row['leaves_mean']:.1f}"
        numbers = (f"{row['error_mean']:.2f}", f"{row['error_sd']:.2f}", leaves, f"{row['fit_milliseconds']:.1f}")
        table.add_row(row["label"], *numbers, style="bold" if row["lowest"] else None)
    return table
