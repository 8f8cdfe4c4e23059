"""What the help of a command says: its docstring, with the lines of a paragraph joined, and examples."""

import inspect
from collections.abc import Callable
from typing import Any


def describe(command: Callable[..., Any]) -> str:
    r"""Return the docstring of a command, one line a paragraph: the terminal breaks them where it must.

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
    """Return the end of a command's help, a line an example."""
    return "\n\n".join(["Examples:", *lines])
