"""Tables of what a count adds to a criterion, in fixed point, so that kernels look up logarithms."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

INFORMATION_UNIT = 2.0**-32
# Past this the fixed-point table of the counts would outgrow the caches, and 63 bits.
MAX_TABLED_WEIGHT = 1 << 24
# Multiplicities up to N_STEPS find in a table what they change a count's term by, if the table stays this small.
N_STEPS = 4
MAX_STEPPED_WEIGHT = 1 << 21


@lru_cache(maxsize=4)
def _table_of_terms(size: int, is_information: bool) -> np.ndarray:
    """f(0), f(1), ...: x squared, or x log2 x in fixed point and in row m below it f(m) - f(0), f(m + 1) - f(1), ..."""
    n_steps = N_STEPS if is_information and size <= MAX_STEPPED_WEIGHT else 0
    counts = np.arange(size + n_steps, dtype=np.float64)
    if is_information:
        counts[1:] *= np.log2(counts[1:]) / INFORMATION_UNIT
    else:
        counts *= counts
    terms = np.rint(counts).astype(np.int64)
    return np.stack([terms[:size], *(terms[m : size + m] - terms[:size] for m in range(1, n_steps + 1))])


def table_of_terms(largest: int, is_information: bool) -> np.ndarray:
    """Return a table that reaches `largest`, and somewhat further so that folds and members share one."""
    return _table_of_terms((largest // 1024 + 1) * 1024, is_information)
