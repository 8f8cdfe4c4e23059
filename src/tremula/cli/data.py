"""``tremula data``: the options of its commands; no library is imported until one runs."""

from collections.abc import Callable
from typing import Annotated

import typer

from tremula.cli.help_text import describe, show_examples
from tremula.cli.options import DropOption, TableOption, TargetOption, Task, TaskOption, UseOption

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]

data = typer.Typer(
    no_args_is_help=True, add_completion=False, help="Datasets: list those known, describe, check or fetch one."
)


def _complete_name(incomplete: str) -> list[str]:
    from tremula.lab.datasets import dataset_names, known_datasets

    return [name for name in dict.fromkeys([*known_datasets(), *dataset_names()]) if name.startswith(incomplete)]


def list_datasets(
    task: Annotated[Task | None, typer.Option(help="Only datasets of this task.", show_default="both")] = None,
    max_rows: Annotated[int | None, typer.Option(min=1, help="Only datasets of at most this many rows.")] = None,
    min_rows: Annotated[int, typer.Option(min=0, help="Only datasets of at least this many rows.")] = 0,
    paper: Annotated[str | None, typer.Option(help="Only datasets of this paper, such as frank2006.")] = None,
    here: Annotated[bool, typer.Option("--here", help="Only datasets on this machine.")] = False,
    as_json: AsJson = False,
) -> None:
    """List the datasets known by name, and where each is found.

    A dataset comes with scikit-learn, lies in the folder that TREMULA_DATA names or in the cache, or can be fetched
    from OpenML.
    """
    options = dict(locals())
    from tremula.cli.datasets import print_list

    print_list(options)


def describe_one(
    name: Annotated[
        str,
        typer.Argument(
            metavar="DATA",
            help="A name of the list, a file, or a table of a database.",
            autocompletion=_complete_name,
            show_default=False,
        ),
    ],
    target: Annotated[
        str | None,
        typer.Option(help="The column to predict.", show_default="the column 'target' or 'class', else the last"),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Describe a dataset: its columns with their kinds, levels and missing values, and the distribution of the target.

    Nothing is fetched: for a dataset that is not on this machine, the entry in the list of known datasets is shown.
    """
    options = dict(locals())
    from tremula.cli.datasets import print_description

    print_description(options)


def check(
    name: Annotated[
        str,
        typer.Argument(
            metavar="DATA",
            help="A file, a table of a database, or a name of the list.",
            autocompletion=_complete_name,
            show_default=False,
        ),
    ],
    target: TargetOption = None,
    task: TaskOption = None,
    drop: DropOption = None,
    use: UseOption = None,
    table: TableOption = None,
    as_json: AsJson = False,
) -> None:
    """Check a table before anything is trained.

    Looks for identifiers, columns that give the target away, constants, copies of columns and rows, dates and amounts
    written as text, small classes and time order. Says what was found, what compare and fit do about it, and how to
    decide otherwise.
    """
    options = dict(locals())
    from tremula.cli.datasets import print_check

    print_check(options)


def fetch(
    names: Annotated[
        list[str],
        typer.Argument(metavar="NAME", help="Names of the list.", autocompletion=_complete_name, show_default=False),
    ],
    as_json: AsJson = False,
) -> None:
    """Fetch datasets from OpenML into the cache; those on this machine stay as they are."""
    options = dict(locals())
    from tremula.cli.datasets import fetch_datasets

    fetch_datasets(options)


COMMANDS: dict[str, tuple[Callable[..., None], tuple[str, ...]]] = {
    "list": (list_datasets, ("tremula data list --task regression --max-rows 5000", "tremula data list --here")),
    "describe": (describe_one, ("tremula data describe iris", "tremula data describe rows.csv --target income")),
    "check": (check, ("tremula data check rows.csv --target income", "tremula data check rows.csv --use day")),
    "fetch": (fetch, ("tremula data fetch sonar glass",)),
}
for _name, (_command, _examples) in COMMANDS.items():
    data.command(_name, help=describe(_command), epilog=show_examples(*_examples))(_command)
