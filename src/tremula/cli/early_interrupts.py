"""Ctrl-C while the libraries of a command are imported: the program ends at once, with one line.

Libraries turn an interrupt in the middle of their import into errors of their own, or lose it. Nothing has been written
at that time, so nothing is lost by leaving.
"""

import os
import signal
from types import FrameType

from tremula.cli.exit_codes import EXIT_INTERRUPTED


def _leave(number: int, frame: FrameType | None) -> None:
    os.write(2, b"tremula: interrupted\n")
    os._exit(EXIT_INTERRUPTED)


def leave_on_interrupt() -> None:
    """End the program on an interrupt, unless interrupts are ignored, as in the background of a shell."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _leave)


def raise_on_interrupt() -> None:
    """Raise `KeyboardInterrupt` on an interrupt again, as Python does, if `leave_on_interrupt` was called."""
    if signal.getsignal(signal.SIGINT) is _leave:
        signal.signal(signal.SIGINT, signal.default_int_handler)
