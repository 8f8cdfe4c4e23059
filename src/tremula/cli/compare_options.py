"""The options of ``tremula compare``. Names are those of `option_values`, so that the help waits for no library."""

from pathlib import Path
from typing import Annotated

import typer

from tremula.cli.option_values import (
    CLASSIFICATION_METHODS,
    DATASETS,
    FOLDS,
    LIBRARIES,
    METRICS,
    REGRESSION_METHODS,
    USUAL_METHODS,
)

DEFAULT_DATASET = "digits"
PAGE, STORE, MODEL = "report.html", "results.duckdb", "best"

DataArgument = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="DATA",
        show_default=DEFAULT_DATASET,
        help="A CSV, TSV, ARFF or Parquet file, a table of a database (duckdb:///folder/file.duckdb#table, "
        "postgresql://user@host/base#table), or the name of a dataset: one that comes with scikit-learn "
        f"({', '.join(DATASETS)}), lies in the folder TREMULA_DATA, or is fetched from OpenML "
        "(see tremula data list). Several of them, or a folder of files: methods are ranked over all.",
    ),
]
MethodsOption = Annotated[
    str | None,
    typer.Option(
        help=f"Methods to compare, comma-separated. Classification: {', '.join(CLASSIFICATION_METHODS)}. Regression: "
        f"{', '.join(REGRESSION_METHODS)}.",
        show_default=", ".join(USUAL_METHODS),
    ),
]
AgainstOption = Annotated[
    str | None,
    typer.Option(help=f"Also compare with other libraries at their defaults, comma-separated: {', '.join(LIBRARIES)}."),
]
MetricOption = Annotated[
    str | None,
    typer.Option(
        help=f"Metric to rank and test by: {', '.join(METRICS)}, or the name of a scikit-learn scorer.",
        show_default="error, or rmse for regression",
    ),
]
BaselineOption = Annotated[
    str | None,
    typer.Option(help="Method to compare the others with.", show_default="which methods may be the best is tested"),
]
AllPairsOption = Annotated[bool, typer.Option("--all-pairs", help="Test every pair of methods.")]
RopeOption = Annotated[
    float | None,
    typer.Option(
        min=0,
        help="Region of practical equivalence: differences of the metric up to this do not matter.",
        show_default="1 point, or 1 % of the error of always predicting the mean",
    ),
]
CvOption = Annotated[
    str | None,
    typer.Option(
        help="Number of folds (10), repetitions and folds (5x2, 10x10), or folds in the order of time, each predicted "
        "from all rows before it (time, time:8).",
        show_default=f"{FOLDS}, or fewer for few rows",
    ),
]
UntilClearOption = Annotated[
    bool,
    typer.Option(
        "--until-clear",
        help="Repeat the cross-validation until each difference is shown or too small to matter, at most as often as "
        "--cv says (10 times by default). The looks share the level of the tests.",
    ),
]
OutOption = Annotated[Path, typer.Option("--out", "-o", help=f"Folder for {PAGE}, {STORE} and {MODEL}.tremula.")]
ReportOption = Annotated[bool, typer.Option("--report/--no-report", help="Write the report page.")]
StoreOption = Annotated[
    bool,
    typer.Option(
        "--store/--no-store", help="Store each result, so that the same command resumes an interrupted comparison."
    ),
]
ModelOption = Annotated[bool, typer.Option("--model/--no-model", help="Train the best method on all rows and save it.")]
QuickOption = Annotated[
    bool,
    typer.Option("--quick", help="Skip the analyses in the report (attributes, members, bias and variance, noise)."),
]
SeedOption = Annotated[
    int,
    typer.Option(min=0, max=2**32 - 1, help="Determines the folds and every random choice: same seed, same errors."),
]
JobsOption = Annotated[
    int,
    typer.Option(help="Number of parallel fits; -1 uses all processors. Fit times are longer with more than one."),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print the results as JSON instead of a table.")]
