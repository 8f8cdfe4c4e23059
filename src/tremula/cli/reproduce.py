"""``tremula reproduce``: its options; no library is imported until it runs."""

from pathlib import Path
from typing import Annotated

import typer

from tremula.cli.option_values import PAPERS

DEFAULT_STORE = Path("reproduce.duckdb")
DEFAULT_FOLDER = Path("reproduced")

PaperArgument = Annotated[
    str | None, typer.Argument(metavar="PAPER", help=f"Paper: {', '.join(PAPERS)}.", show_default="list the papers")
]
OnlyOption = Annotated[
    str | None, typer.Option(help="Parts of the paper, comma-separated, such as table1,table2.", show_default="all")
]
DatasetsOption = Annotated[
    str | None, typer.Option(help="Only these datasets, semicolon-separated.", show_default="all")
]
MethodsOption = Annotated[str | None, typer.Option(help="Only these methods, semicolon-separated.", show_default="all")]
SplitsOption = Annotated[
    int | None, typer.Option(help="Only the first folds or splits of a dataset, so many.", show_default="all")
]
QuickOption = Annotated[bool, typer.Option("--quick", help="Few datasets, folds and members; takes minutes.")]
FullOption = Annotated[bool, typer.Option("--full", help="All splits, more repetitions; takes up to days.")]
ResultsOption = Annotated[Path, typer.Option(help="DuckDB file for the results.")]
OutOption = Annotated[Path, typer.Option(help="Folder for Markdown, CSV and PNG files.")]
JobsOption = Annotated[int, typer.Option(help="Number of cells measured in parallel; -1 uses all processors.")]
RetryOption = Annotated[bool, typer.Option("--retry", help="Measure cells again that failed before.")]
StoredOption = Annotated[bool, typer.Option("--stored", help="Show the stored results and measure nothing.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print the tables as JSON.")]


def reproduce(
    paper: PaperArgument = None,
    only: OnlyOption = None,
    datasets: DatasetsOption = None,
    methods: MethodsOption = None,
    splits: SplitsOption = None,
    quick: QuickOption = False,
    full: FullOption = False,
    results: ResultsOption = DEFAULT_STORE,
    out: OutOption = DEFAULT_FOLDER,
    jobs: JobsOption = 1,
    retry: RetryOption = False,
    stored: StoredOption = False,
    as_json: JsonOption = False,
) -> None:
    """Measure the tables and figures of a paper again and compare them with the published ones.

    Each result is stored immediately: if interrupted, run the same command again to resume. Without --quick or --full
    the sizes are those of the paper, which takes from minutes to several hours on two cores; the page of results has
    the core-hours of each paper. Cells kept beside the pages of --out are not measured again.
    """
    options = dict(locals())
    from tremula.cli.reproduction import run_reproduction

    run_reproduction(options)
