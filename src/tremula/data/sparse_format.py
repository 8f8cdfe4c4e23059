"""Whether the cells of a sparse table lie inside it. SciPy trusts the indices, and a wrong one reads any memory.

Such tables come from files: `scipy.sparse.load_npz` does not look at the indices.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tremula.errors import InvalidInput


def check_sparse_format(X: Any) -> None:
    """Raise InvalidInput if an index of a sparse table lies outside it.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> X = csr_array([[0.0, 2.0], [1.0, 0.0]])
    >>> check_sparse_format(X)
    >>> X.indices[0] = 7
    >>> check_sparse_format(X)
    Traceback (most recent call last):
    tremula.errors.InvalidInput: X is a sparse table of 2 rows and 2 columns, but has cells outside them: build it again
    """
    if X.format in ("csr", "csc", "bsr"):
        is_sound = _is_compressed(X)
    elif X.format == "coo":
        coords = getattr(X, "coords", None) or (X.row, X.col)  # SciPy before 1.13 has no coords
        is_sound = all(len(places) == len(X.data) and _lie_in(places, n) for places, n in zip(coords, X.shape))
    else:  # the others are converted by loops that check, or by way of one of the above
        is_sound = True
    if not is_sound:
        size = " and ".join(f"{n} {name}" for n, name in zip(X.shape, ("rows", "columns")))
        raise InvalidInput(f"X is a sparse table of {size}, but has cells outside them: build it again")


def _is_compressed(X: Any) -> bool:
    """Whether starts grow from 0 to at most the number of cells, and every index exists."""
    blocks = X.blocksize if X.format == "bsr" else (1, 1)
    shape = [n // block for n, block in zip(X.shape, blocks)] if X.ndim == 2 else [1, *X.shape]
    n_starts, n_indices = shape[::-1] if X.format == "csc" else shape
    starts, indices = X.indptr, X.indices
    if starts.shape != (n_starts + 1,) or indices.ndim != 1 or len(X.data) != len(indices):
        return False
    is_growing = bool(starts[0] == 0 and (starts[1:] >= starts[:-1]).all() and starts[-1] <= len(indices))
    return is_growing and _lie_in(indices, n_indices)


def _lie_in(places: NDArray[Any], n: int) -> bool:
    return not len(places) or bool(np.min(places) >= 0 and np.max(places) < n)
