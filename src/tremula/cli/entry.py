"""The installed command ``tremula``: it starts the command line, and ends quietly whenever the user stops it.

No other library is imported before an interrupt can be caught. Until the command begins to work, an interrupt ends the
program at once; one that comes while Python ends is ignored.
"""

import os
import signal
import sys
import time
from collections.abc import Sequence

from tremula.cli.early_interrupts import leave_on_interrupt
from tremula.cli.exit_codes import EXIT_BROKEN_PIPE, EXIT_INTERRUPTED
from tremula.cli.start_time import note_start


def run(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and exit with a code.

    Parameters
    ----------
    arguments : sequence of str, default=None
        The arguments after ``tremula``; ``None`` takes them from the command line.
    """
    try:
        from tremula.cli.main import run as run_commands

        run_commands(arguments)
    except KeyboardInterrupt:
        print("tremula: interrupted", file=sys.stderr)
        sys.exit(EXIT_INTERRUPTED)


def run_and_ignore_later_interrupts() -> None:
    """Run the command line as a program of its own."""
    leave_on_interrupt()
    note_start(time.monotonic())
    try:
        run()
    finally:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        try:
            if sys.stdout is not None:  # as it is where the shell closed it
                sys.stdout.flush()
        except BrokenPipeError:  # Python would complain of it when it flushes again
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            sys.exit(EXIT_BROKEN_PIPE)
