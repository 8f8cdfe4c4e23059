"""Calls every public function with arguments that no one should give: `python -m tests.fuzz.hostile_calls`.

The calls of `public_calls` have good arguments. One at a time is replaced by each hostile value. An error that is not
one of tremula's is a fault, and so is a call that does not end.
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import io
import signal
import sys
import tempfile
import traceback
import warnings
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from sklearn.exceptions import NotFittedError

import tremula as tm
from tremula.errors import TremulaError

from .public_calls import N_ROWS, Call, all_calls

MAX_SECONDS = 5.0  # of processor time, for a call that takes less than one with good arguments
CLEAR = (TremulaError, NotFittedError)
PATHS = {"path", "ca_file", "certificate", "ledger_file"}  # where OSError says what is not there
CALLABLES = {"class", "function", "estimator class"}  # where a callable may be given, its own errors are the caller's
TAKE_CALLABLES = {"scoring", "oob_score", "truth", "table", "url", "noise", "cv"}


class Unprintable:
    """An object that has nothing but a name."""

    def __repr__(self) -> str:
        return "Unprintable()"


HOSTILE: dict[str, Callable[[], Any]] = {
    "None": lambda: None,
    "word": lambda: "xyz",
    "empty word": lambda: "",
    "NUL": lambda: "a\0b",
    "half a character": lambda: "\udc80",
    "bytes": lambda: b"\xff\x00",
    "NaN": lambda: float("nan"),
    "infinity": lambda: float("inf"),
    "-1": lambda: -1,
    "0": lambda: 0,
    "0.5": lambda: 0.5,
    "2**63": lambda: 2**63,
    "10**400": lambda: 10**400,
    "complex": lambda: 1j,
    "True": lambda: True,
    "empty list": lambda: [],
    "nested list": lambda: [[1, 2], [3]],
    "list of None": lambda: [None, None],
    "tuple": lambda: (3, "a"),
    "dict": lambda: {"a": 1},
    "set": lambda: {1, 2},
    "generator": lambda: (number for number in range(3)),
    "object": Unprintable,
    "class": lambda: int,
    "function": lambda: len,
    "empty array": lambda: np.zeros(0),
    "no columns": lambda: np.zeros((N_ROWS, 0)),
    "no rows": lambda: np.zeros((0, 2)),
    "one row": lambda: np.zeros((1, 2)),
    "three dimensions": lambda: np.zeros((2, 2, 2)),
    "scalar array": lambda: np.array(3.5),
    "objects": lambda: np.array([[object()] * 2] * N_ROWS),
    "words": lambda: np.array(["a", "b"] * (N_ROWS // 2)),
    "complex numbers": lambda: np.zeros((N_ROWS, 2), complex),
    "NaN array": lambda: np.full((N_ROWS, 2), np.nan),
    "infinities": lambda: np.full(N_ROWS, np.inf),
    "dates": lambda: np.zeros(N_ROWS, "M8[s]"),
    "records": lambda: np.zeros(N_ROWS, [("a", float), ("b", int)]),
    "frame": lambda: pd.DataFrame({"a": [1, 2], "b": [[1], {}]}),
    "empty frame": lambda: pd.DataFrame(),
    "series": lambda: pd.Series([1.0, None, 3.0]),
    "model": lambda: tm.CARTClassifier(),
    "estimator class": lambda: tm.CARTClassifier,
}


class Trial(NamedTuple):
    """One call with one hostile argument, and its fault, if any."""

    call: str
    argument: str
    value: str
    fault: str
    details: str = ""


@contextlib.contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Raise TimeoutError in what takes more processor time, or ten times as long."""

    def stop(*_: Any) -> None:
        raise TimeoutError(f"no answer within {seconds} s")

    timers = {signal.SIGPROF: (signal.ITIMER_PROF, seconds), signal.SIGALRM: (signal.ITIMER_REAL, 10 * seconds)}
    before = {number: signal.signal(number, stop) for number in timers}
    for timer, limit in timers.values():
        signal.setitimer(timer, limit)
    try:
        yield
    finally:
        for timer, _ in timers.values():
            signal.setitimer(timer, 0.0)
        for number, handler in before.items():
            signal.signal(number, handler)


def try_argument(name: str, call: Call, argument: str, value: str) -> Trial:
    """Make a call with one hostile argument; OSError is what paths that are not there give."""
    arguments = {**call.arguments, argument: HOSTILE[value]()}
    clear = (*CLEAR, OSError) if argument in PATHS else CLEAR
    fault = details = ""
    try:
        with time_limit(MAX_SECONDS), contextlib.redirect_stdout(io.StringIO()):
            call.make()(**arguments)
    except clear:
        pass
    except BaseException as error:
        place = traceback.extract_tb(error.__traceback__)[-1]
        fault = f"{type(error).__name__} at {Path(place.filename).name}:{place.lineno}: {str(error)[:100]}"
        details = traceback.format_exc()
    return Trial(name, argument, value, fault, details)


def trials(calls: Mapping[str, Call]) -> Iterator[Trial]:
    """Try every argument of these calls with every hostile value."""
    for name, call in calls.items():
        for argument in call.arguments:
            values = [value for value in HOSTILE if argument not in TAKE_CALLABLES or value not in CALLABLES]
            yield from (try_argument(name, call, argument, value) for value in values)


@contextlib.contextmanager
def quiet_folder() -> Iterator[None]:
    """Work in a folder of its own, without warnings."""
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with np.errstate(all="ignore"):
            yield


def main() -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--calls", default="", help="only the calls whose name has this in it")
    parser.add_argument("--details", action="store_true", help="show where each fault happened")
    options = parser.parse_args()
    counts: collections.Counter[str] = collections.Counter()
    with quiet_folder():
        calls = {name: call for name, call in all_calls().items() if options.calls in name}
        for found in trials(calls):
            counts["trials"] += 1
            if found.fault:
                counts["faults"] += 1
                print(f"{found.call}({found.argument}={found.value}): {found.fault}", flush=True)
                if options.details:
                    print(found.details)
    print(dict(counts))
    sys.exit(1 if counts["faults"] else 0)


if __name__ == "__main__":
    main()
