"""Commands that are imported when they are called: the help, the version and completion wait for no other library.

The list of commands shows their summaries. What follows a command is completed from `option_values`, not from the
command itself.
"""

import inspect
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command

from tremula.cli.early_interrupts import raise_on_interrupt
from tremula.cli.help_text import describe, show_examples
from tremula.cli.option_values import ARGUMENTS, OPTIONS


class LateCommand:
    """A command by its name, which is also that of its module and of the function or group in it.

    Parameters
    ----------
    name : str
    summary : str
        The first sentence of its help.
    *examples : str
        The end of its help; a group has none.
    """

    def __init__(self, name: str, summary: str, *examples: str) -> None:
        self.name, self.summary, self.examples = name, summary, examples

    def load(self) -> Any:
        """Import the command."""
        named = getattr(import_module(f"tremula.cli.{self.name}"), self.name)
        if isinstance(named, typer.Typer):
            group = get_command(named)
            group.name = self.name
            return group
        return make_command(self.name, named, help=describe(named), epilog=show_examples(*self.examples))

    def in_list(self) -> Any:
        """Return what the list of commands shows."""
        return TyperCommand(self.name, help=self.summary)


def make_command(name: str, function: Callable[..., Any], help: str | None = None, epilog: str | None = None) -> Any:
    """Return the command that calls a function."""
    alone = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
    alone.command(name, help=help, epilog=epilog)(function)
    return get_command(alone)


class LateGroup(TyperGroup):
    """A group of `LateCommand`."""

    late: dict[str, LateCommand]

    @classmethod
    def of(cls, commands: Sequence[LateCommand]) -> type["LateGroup"]:
        """Return the class of groups of these commands."""
        return type(cls.__name__, (cls,), {"late": {command.name: command for command in commands}})

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names in the order of the help."""
        return list(self.late)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return what the list of commands shows."""
        return self.late[cmd_name].in_list() if cmd_name in self.late else None

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        """Return the command to run, or in completion one that has only its words."""
        name, command, words = super().resolve_command(ctx, args)
        if name is not None and name in self.late:
            command = completing_command(name) if ctx.resilient_parsing else self.late[name].load()
            raise_on_interrupt()
        return name, command, words

    @property  # type: ignore[override]
    def commands(self) -> dict[str, Any]:
        """All commands, imported."""
        return {name: command.load() for name, command in self.late.items()}

    @commands.setter
    def commands(self, given: dict[str, Any]) -> None:
        """Take none: they are known."""


def completing_command(name: str) -> Any:
    """Return a command with the words of another and the values of its options, but without its work."""
    parts = [path for path in OPTIONS if path.startswith(f"{name} ")]
    if not parts:
        return _words_of(name)
    group = typer.Typer(add_completion=False)
    for path in parts:
        group.command(path.removeprefix(f"{name} "))(lambda: None)
    made = get_command(group)
    for path in parts:
        made.commands[path.removeprefix(f"{name} ")] = _words_of(path)  # type: ignore[attr-defined]
    return made


def _words_of(path: str) -> Any:
    parameters = {
        f"argument{number}": Annotated[str, typer.Argument(autocompletion=_as_callback(values))]
        for number, values in enumerate(ARGUMENTS.get(path, ()))
    }
    for words, values in OPTIONS[path].items():
        names = words.split()
        kind: Any = bool if values is None else str
        option = typer.Option(*names, autocompletion=None if values is None else _as_callback(values))
        parameters[f"option{len(parameters)}"] = Annotated[kind, option]

    def nothing(**_: Any) -> None:
        """Do nothing."""

    keyword = inspect.Parameter.KEYWORD_ONLY
    nothing.__annotations__ = parameters
    nothing.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [inspect.Parameter(name, keyword, default=None, annotation=kind) for name, kind in parameters.items()]
    )
    return make_command(path.rpartition(" ")[2], nothing)


def _as_callback(values: Callable[[str, Sequence[str]], list[str]]) -> Callable[[typer.Context, str], list[str]]:
    def complete(ctx: typer.Context, incomplete: str) -> list[str]:
        given = [*ctx.args, *(value for value in ctx.params.values() if isinstance(value, str))]
        return values(incomplete, given)

    return complete
