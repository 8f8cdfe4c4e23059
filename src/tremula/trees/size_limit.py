"""What a tree can hold: the numbers of its splits of levels are 32-bit, and it must fit into memory."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
from numpy.typing import NDArray

from tremula.errors import TreeTooLarge

MAX_SUBSETS = np.iinfo(np.int32).max  # entries of `subsets` in one tree: its splits into two groups times their levels


def too_large(n_levels: NDArray[np.int32]) -> TreeTooLarge:
    """Return the error for a tree that cannot be stored."""
    most = int(n_levels.max(initial=0))
    cause = f": a split of an attribute with {most:,} levels takes {most:,} bytes" if most else ""
    return TreeTooLarge(
        f"the tree does not fit into memory, or into {MAX_SUBSETS:,} bytes for splits of levels{cause}; set max_depth, "
        "raise min_samples_leaf, or give fewer rows or levels"
    )


@contextmanager
def in_memory(n_levels: NDArray[np.int32]) -> Iterator[None]:
    """Say what to do where a kernel has no memory for a tree."""
    try:
        yield
    except MemoryError as error:
        raise too_large(n_levels) from error
