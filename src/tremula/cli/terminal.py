"""Keeps names and labels of a table from controlling the terminal: control characters are written out as text.

A terminal gets the colours and the cursor movements of progress bars, and no other sequence. Other output gets none.
"""

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from typing import Any, TextIO

from tremula.cli.exit_codes import EXIT_BROKEN_PIPE

CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")
SHOWN_BY_RICH = re.compile(r"(\x1b\[[0-9;]*m|\x1b\[[0-9]*[ABGJK]|\x1b\[\?25[lh]|\r)")


def printable(text: str, on_terminal: bool = False) -> str:
    r"""Return a text with control characters written out.

    Examples
    --------
    >>> print(printable("\x1b]0;title\x07 and \x1b[31mred"))
    \x1b]0;title\x07 and \x1b[31mred
    """
    if not on_terminal:
        return CONTROL.sub(_written_out, text)
    parts = SHOWN_BY_RICH.split(text)
    return "".join(part if number % 2 else CONTROL.sub(_written_out, part) for number, part in enumerate(parts))


def _written_out(match: re.Match[str]) -> str:
    code = ord(match[0])
    return f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}"


@contextmanager
def ending_with_its_reader() -> Iterator[None]:
    """End the program quietly where nobody reads its output any more, as ``head`` after a few lines."""
    try:
        yield
    except BrokenPipeError:
        raise SystemExit(EXIT_BROKEN_PIPE) from None


class PrintableStream:
    """A text stream that writes control characters out."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        """Write a text; its length is returned, as of any stream."""
        self._write(printable(text, self._stream.isatty()))
        return len(text)

    def flush(self) -> None:
        """Flush the stream."""
        with ending_with_its_reader():
            self._stream.flush()

    def _write(self, text: str) -> None:
        with ending_with_its_reader():
            self._stream.write(text)

    def write_data(self, text: str) -> None:
        """Write data for other programs."""
        if self._stream.isatty():
            self.write(text)
        else:
            self._write(text)

    def writelines(self, lines: Iterator[str]) -> None:
        """Write several texts."""
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


@contextmanager
def printable_output() -> Iterator[None]:
    """Write control characters out in all that is printed."""
    with redirect_stdout(PrintableStream(sys.stdout)), redirect_stderr(PrintableStream(sys.stderr)):
        yield


def write_data(text: str) -> None:
    """Write data for other programs to standard output."""
    if isinstance(sys.stdout, PrintableStream):
        sys.stdout.write_data(text)
    else:
        sys.stdout.write(text)
