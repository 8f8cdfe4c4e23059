"""When the program started: importing its libraries is part of the time that a command takes."""

import time

_started: float | None = None


def note_start(moment: float) -> None:
    """Note when the program started, in the seconds of `time.monotonic`."""
    global _started
    _started = moment


def start_of_command() -> float:
    """Return when the program started, or now if the command is called from Python."""
    return time.monotonic() if _started is None else _started
