"""``tremula predict``: its options; no library is imported until it runs."""

from pathlib import Path
from typing import Annotated

import typer

from tremula.cli.options import ModelFileArgument, TableOption, TrustOption

DataArgument = Annotated[
    str,
    typer.Argument(
        metavar="DATA",
        help="A CSV, TSV, ARFF or Parquet file, or a table of a database (duckdb:///folder/file.duckdb#table). "
        "Columns are matched by name; further columns are ignored.",
    ),
]
OutOption = Annotated[
    Path | None,
    typer.Option("--out", "-o", help="CSV or Parquet file to write.", show_default="CSV on standard output"),
]
ProbabilitiesOption = Annotated[bool, typer.Option("--probabilities", help="Add the probability of each class.")]
IntervalOption = Annotated[
    float | None, typer.Option(help="Add an interval that contains the number with this probability, such as 0.9.")
]
QuantilesOption = Annotated[
    str | None, typer.Option(help="Add quantiles of the number, comma-separated, such as 0.05,0.5,0.95.")
]
SetOption = Annotated[
    float | None,
    typer.Option("--set", help="Add a set of classes that contains the class with this probability, such as 0.9."),
]
TrainingOption = Annotated[
    str | None,
    typer.Option(
        help="Rows that the model was trained on, for --interval, --quantiles and --set.",
        show_default="the file that the model was trained on",
    ),
]
KeepOption = Annotated[str | None, typer.Option(help="Columns of DATA to copy, comma-separated, such as a key.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print the predictions as JSON.")]


def predict(
    model: ModelFileArgument,
    data: DataArgument,
    out: OutOption = None,
    probabilities: ProbabilitiesOption = False,
    interval: IntervalOption = None,
    quantiles: QuantilesOption = None,
    label_set: SetOption = None,
    training: TrainingOption = None,
    keep: KeepOption = None,
    table: TableOption = None,
    trust: TrustOption = False,
    as_json: JsonOption = False,
) -> None:
    """Predict for the rows of a file or table.

    Writes one prediction per row, in the order of the rows. If DATA has the target too, the error is printed on
    standard error.
    """
    options = dict(locals())
    from tremula.cli.predictions import run_prediction

    run_prediction(options)
