"""Memory that many fits and predictions leave behind: `python -m tests.fuzz.memory --repeats 1000`.

What is counted is what the C library and Python have given out and not got back, which also sees kernels. The resident
size is shown too; it depends on when pages are given back.
"""

from __future__ import annotations

import argparse
import ctypes
import gc
import json
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from sklearn.base import BaseEstimator, is_classifier

from .digests import ESTIMATORS, columns_for, make
from .stored_models import classes, numbers

MAX_BYTES = 100.0  # that one repeat may leave behind
MAX_BLOCKS = 5.0
BATCHES = 4
WARM_UP, MIN_REPEATS = 20, 40
PAGE = 4  # KiB
FIELDS = ("arena", "ordblks", "smblks", "hblks", "hblkhd", "usmblks", "fsmblks", "uordblks", "fordblks", "keepcost")


class Growth(NamedTuple):
    """What each repeat left behind, in bytes of the C library and in blocks of Python, and the resident size in KiB."""

    bytes: float
    blocks: float
    resident: int

    @property
    def is_small(self) -> bool:
        """Whether a leak would be larger."""
        return self.bytes <= MAX_BYTES and self.blocks <= MAX_BLOCKS


class _Mallinfo(ctypes.Structure):
    _fields_ = [(name, ctypes.c_size_t) for name in FIELDS]


C_LIBRARY = ctypes.CDLL(None)
CAN_COUNT = hasattr(C_LIBRARY, "mallinfo2")
if CAN_COUNT:
    C_LIBRARY.mallinfo2.restype = _Mallinfo


def _now() -> tuple[int, int, int]:
    gc.collect()
    counted = C_LIBRARY.mallinfo2()
    resident = int(Path("/proc/self/statm").read_text().split()[1]) * PAGE
    return counted.uordblks + counted.hblkhd, sys.getallocatedblocks(), resident


def growth(work: Callable[[], Any], repeats: int, warm_up: int) -> Growth:
    """Return what repeats of some work leave behind, after some that fill caches.

    The repeats are divided into batches, and the least of these counts: a leak is in each, a cache that grows once in
    a while is not.
    """
    for _ in range(warm_up):
        work()
    gc.collect()
    gc.freeze()  # what is there already takes long to go through, and is not what is counted
    first = last = _now()
    in_c, in_python = [], []
    for _ in range(BATCHES):
        for _ in range(repeats // BATCHES):
            work()
        before, last = last, _now()
        in_c.append((last[0] - before[0]) / (repeats // BATCHES))
        in_python.append((last[1] - before[1]) / (repeats // BATCHES))
    gc.unfreeze()
    return Growth(min(in_c), min(in_python), last[2] - first[2])


def fit_and_predict(kind: type[BaseEstimator]) -> Callable[[], Any]:
    """Return work that fits an estimator and predicts; smoothed models have a given noise, a search takes long."""
    rows = columns_for(kind)
    target = classes() if is_classifier(kind()) else numbers()
    given = {"noise": 0.1} if "noise" in kind().get_params() and "DualPerturb" in kind.__name__ else {}
    return lambda: make(kind).set_params(**given).fit(rows, target).predict(rows)


def run(repeats: int, seconds: float, names: Sequence[str] = ()) -> list[dict[str, Any]]:
    """Measure every public estimator or those named, with fewer repeats where all would take more than some seconds."""
    warnings.simplefilter("ignore")
    runs = []
    for kind in ESTIMATORS:
        if names and kind.__name__ not in names:
            continue
        work, begin = fit_and_predict(kind), time.process_time()
        for _ in range(WARM_UP):
            work()
        possible = seconds * WARM_UP / (time.process_time() - begin)
        n_repeats = int(min(repeats, max(possible, MIN_REPEATS)))
        grown = growth(work, n_repeats, warm_up=0)
        shown = {"bytes": round(grown.bytes, 1), "blocks": round(grown.blocks, 3), "resident": grown.resident}
        runs.append({"estimator": kind.__name__, "repeats": n_repeats, **shown, "small": grown.is_small})
        print(runs[-1], f"{time.process_time() - begin:.0f} s", flush=True)
    return runs


def main() -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=1000)
    parser.add_argument("--seconds", type=float, default=float("inf"), help="at most so long for one estimator")
    parser.add_argument("--only", nargs="*", default=[], help="names of estimators")
    parser.add_argument("--out", type=Path, help="JSON file for the counts")
    options = parser.parse_args()
    runs = run(options.repeats, options.seconds, options.only)
    if options.out is not None:
        options.out.write_text(json.dumps(runs, indent=1) + "\n")
    sys.exit(0 if all(run["small"] for run in runs) else 1)


if __name__ == "__main__":
    main()
