"""The options of ``tremula smooth``. Names are those of `option_values`, so that the help waits for no library."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from tremula.cli.option_values import MODEL_ENDINGS


class Scoring(StrEnum):
    """The loss that chooses the amount of noise."""

    error = "error"
    log_loss = "log_loss"
    squared_error = "squared_error"
    absolute_error = "absolute_error"


ModelArgument = Annotated[
    Path,
    typer.Argument(
        metavar="MODEL",
        help=f"File of a trained model: {', '.join(MODEL_ENDINGS)}, or one written by tm.save.",
        show_default=False,
    ),
]
DataOption = Annotated[
    str,
    typer.Option(
        help="Rows not used for training: a file, a table of a database, or the name of a dataset.",
        show_default=False,
    ),
]
TargetOption = Annotated[
    str | None, typer.Option(help="Column to predict.", show_default="the target of the model, else as in compare")
]
NoiseOption = Annotated[
    str, typer.Option(help="Amount of noise, in standard deviations of each column; auto chooses it on the rows.")
]
TestShareOption = Annotated[
    float,
    typer.Option(
        min=0.1,
        max=0.9,
        help="Share of rows used to estimate the gain; the rest are used to choose the noise.",
    ),
]
ScoringOption = Annotated[
    Scoring | None,
    typer.Option(help="Loss that chooses the noise.", show_default="log_loss, or squared_error in regression"),
]
ClassesOption = Annotated[
    str | None,
    typer.Option(
        help="Names of the classes, comma-separated, in the order of the model's class numbers, if the model "
        "stores only class numbers.",
        show_default=False,
    ),
]
OutOption = Annotated[
    Path | None,
    typer.Option("--out", "-o", help="File for the smoothed model.", show_default="<model>_soft.tremula"),
]
SeedOption = Annotated[
    int, typer.Option(min=0, max=2**32 - 1, help="Determines which rows are used to estimate the gain.")
]
JobsOption = Annotated[int, typer.Option(help="Number of processors; -1 uses all.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print the results as JSON instead of a table.")]
