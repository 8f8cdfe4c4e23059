"""Options of the commands that answer from guarded counts: rules of disclosure, the budget, and the unit of privacy."""

from pathlib import Path
from typing import Annotated

import typer

MinCountOption = Annotated[
    int, typer.Option(min=0, help="Give away no count below this number; smaller ones are merged.")
]
RoundToOption = Annotated[
    int | None, typer.Option(min=1, help="Round counts to multiples of this number.", show_default=False)
]
EpsilonOption = Annotated[
    float | None,
    typer.Option(
        "--epsilon",
        "--privacy",
        help="Privacy budget, epsilon: noise is added to every count so that all counts together stay within it.",
        show_default=False,
    ),
]
DeltaOption = Annotated[
    float | None,
    typer.Option(
        help="Delta of the budget, far below 1 / the number of rows: noise is then Gaussian.", show_default=False
    ),
]
RhoOption = Annotated[
    float | None,
    typer.Option(
        help="Privacy budget of zero-concentrated differential privacy, instead of --epsilon.", show_default=False
    ),
]
DomainsOption = Annotated[
    Path | None,
    typer.Option(
        help="JSON file with public knowledge of columns: levels, classes, or [lowest, highest] of numbers. They are "
        "then not read from the rows.",
        show_default=False,
    ),
]
PublicOption = Annotated[
    str | None,
    typer.Option(
        metavar="COLUMNS|all",
        help="Columns whose levels, quantiles or classes everybody knows: a budget does not protect them.",
        show_default=False,
    ),
]
BudgetDepthOption = Annotated[
    int | None,
    typer.Option(
        min=1,
        help="Depth of trees that the budget pays for; counts of classes below it are estimated.",
        show_default="1 for classes",
    ),
]
PrivateCutsOption = Annotated[
    float | None,
    typer.Option(
        metavar="SHARE",
        help="Share of the budget, such as 0.2, that pays for cuts of numeric columns with about equally many rows "
        "between them; otherwise bins are equally wide between the bounds of --domains.",
        show_default=False,
    ),
]
LedgerFileOption = Annotated[
    Path | None,
    typer.Option(
        help="File that keeps the budget, so that later commands with it continue instead of starting anew.",
        show_default=False,
    ),
]
PersonOption = Annotated[
    str | None,
    typer.Option(
        help="Column of the person that a row belongs to: privacy is then that of persons, not of rows.",
        show_default=False,
    ),
]
RowsPerPersonOption = Annotated[int, typer.Option(min=1, help="Rows of a person that are counted, with --person-id.")]
TargetBoundsOption = Annotated[
    str | None,
    typer.Option(
        metavar="LOW,HIGH",
        help="Public bounds to which a numeric target is clamped; --epsilon needs them.",
        show_default=False,
    ),
]
