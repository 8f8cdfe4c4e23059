"""The help text of a command: its docstring with joined lines, and examples."""

import inspect
from collections.abc import Callable
from typing import Any


def describe(command: Callable[..., Any]) -> str:
    r"""Return the docstring of a command with one line per paragraph; the terminal wraps them.

    Examples
    --------
    >>> def command():
    ...     '''Do it.
    ...
    ...     Takes a while, and
    ...     writes a file.
    ...     '''
    >>> describe(command)
    'Do it.\n\nTakes a while, and writes a file.'
    """
    paragraphs = (inspect.getdoc(command) or "").split("\n\n")
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in paragraphs)


def show_examples(*lines: str) -> str:
    """Return the end of the help text, one line per example."""
    return "\n\n".join(["Examples:", *lines])
