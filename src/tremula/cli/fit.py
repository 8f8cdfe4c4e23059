"""``tremula fit``: its options; no library is imported until it runs."""

from pathlib import Path
from typing import Annotated

import typer

from tremula.cli.option_values import CLASSIFICATION_METHODS, REGRESSION_METHODS
from tremula.cli.options import DropOption, TableOption, TargetOption, TaskOption, UseOption

DEFAULT_METHOD = "aspen"
DEFAULT_FILE = Path("model.tremula")

DataArgument = Annotated[
    str,
    typer.Argument(
        metavar="DATA",
        help="A CSV, TSV, ARFF or Parquet file, a table of a database (duckdb:///folder/file.duckdb#table), or the "
        "name of a dataset.",
    ),
]
MethodOption = Annotated[
    str,
    typer.Option(
        help=f"Method to train. Classification: {', '.join(CLASSIFICATION_METHODS)}. Regression: "
        f"{', '.join(REGRESSION_METHODS)}. Or a method of another library, such as sklearn-boosting, lightgbm or "
        "xgboost.",
    ),
]
CvOption = Annotated[
    str | None,
    typer.Option(
        help="Estimate the error by cross-validation: number of folds (10), repetitions and folds (5x2), or time.",
        show_default="out-of-bag rows, else 5 folds",
    ),
]
OutOption = Annotated[
    Path,
    typer.Option("--out", "-o", help="File to write; the extension may also be .joblib or .skops."),
]
SeedOption = Annotated[int, typer.Option(min=0, max=2**32 - 1, help="Same seed, same model.")]
JobsOption = Annotated[
    int, typer.Option(help="Number of members or folds trained in parallel; -1 uses all processors.")
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print the results as JSON.")]


def fit(
    data: DataArgument,
    target: TargetOption = None,
    method: MethodOption = DEFAULT_METHOD,
    task: TaskOption = None,
    cv: CvOption = None,
    drop: DropOption = None,
    use: UseOption = None,
    table: TableOption = None,
    out: OutOption = DEFAULT_FILE,
    seed: SeedOption = 0,
    jobs: JobsOption = 1,
    as_json: JsonOption = False,
) -> None:
    """Train one method on all rows and save it.

    The error is estimated on rows that were not used for training: the out-of-bag rows of an ensemble, or the held-out
    folds of a cross-validation.
    """
    options = dict(locals())
    from tremula.cli.training import run_training

    run_training(options)
