"""Makes every attribute nominal and complete, as ID3 needs it, from what some rows alone tell.

Numbers become bins; a missing value becomes the most common one.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from tremula.lab.datasets import Dataset

N_BINS = 10
Column = NDArray[np.float64]
Cuts = NDArray[np.float64]


def equal_frequency_cuts(values: Column, classes: NDArray[np.intp]) -> Cuts:
    """Cuts between ten bins of about equally many rows.

    Examples
    --------
    >>> equal_frequency_cuts(np.arange(20.0), np.zeros(20, dtype=int)).tolist()
    [1.5, 3.5, 5.5, 7.5, 9.5, 11.5, 13.5, 15.5, 17.5]
    """
    ordered = np.sort(values)
    places = np.unique(np.arange(1, N_BINS) * len(ordered) // N_BINS)
    places = places[places > 0]
    low, high = ordered[places - 1], ordered[places]
    return np.unique((low + high)[low < high] / 2)


def class_aware_cuts(values: Column, classes: NDArray[np.intp]) -> Cuts:
    """Cuts that part the classes, as long as the description of the classes gets shorter by them.

    Notes
    -----
    U. Fayyad and K. Irani, Multi-interval discretization of continuous-valued attributes for classification learning,
    IJCAI 1993.

    Examples
    --------
    >>> class_aware_cuts(np.arange(20.0), (np.arange(20) >= 7).astype(int)).tolist()
    [6.5]
    """
    if not len(values):
        return np.empty(0)
    distinct, place = np.unique(values, return_inverse=True)
    counts = np.zeros((len(distinct), int(classes.max()) + 1))
    np.add.at(counts, (place, classes), 1)
    chosen = _divide(counts, 0, len(distinct))
    return (distinct[chosen] + distinct[np.array(chosen, dtype=np.intp) + 1]) / 2 if chosen else np.empty(0)


def _bits(counts: NDArray[np.float64]) -> NDArray[np.float64]:
    """Entropy of class counts, by line."""
    totals = counts.sum(axis=-1, keepdims=True)
    shares = counts / np.maximum(totals, 1)
    return np.asarray(-(shares * np.log2(np.where(shares > 0, shares, 1))).sum(axis=-1))


def _divide(counts: NDArray[np.float64], first: int, last: int) -> list[int]:
    """Numbers of the distinct values after which to cut, among those from first to before last."""
    below = np.cumsum(counts[first:last], axis=0)
    total = below[-1]
    below = below[:-1]
    above, n_rows = total - below, total.sum()
    if not len(below):
        return []
    left, right, whole = _bits(below), _bits(above), float(_bits(total))
    within = (below.sum(axis=1) * left + above.sum(axis=1) * right) / n_rows
    best = int(within.argmin())
    n_classes = [int((part > 0).sum()) for part in (total, below[best], above[best])]
    bits = n_classes[0] * whole - n_classes[1] * left[best] - n_classes[2] * right[best]
    price = (np.log2(n_rows - 1) + np.log2(3.0 ** n_classes[0] - 2) - bits) / n_rows
    if whole - within[best] <= price:
        return []
    middle = first + best + 1
    return [*_divide(counts, first, middle), middle - 1, *_divide(counts, middle, last)]


def prepare(dataset: Dataset, rows: NDArray[np.intp], cuts_of: Callable[[Column, NDArray[np.intp]], Cuts]) -> Column:
    """Codes of the values of all rows; bins and most common values are those of the given rows.

    Parameters
    ----------
    dataset : Dataset
    rows : array of int
        To learn from.
    cuts_of : callable
        From the known values of a numeric attribute and their classes to cuts.

    Returns
    -------
    float array of shape (n_rows, n_attributes)
    """
    classes = np.unique(dataset.y, return_inverse=True)[1]
    codes = np.empty(dataset.X.shape)
    for number, column in enumerate(dataset.X.T):
        known = ~np.isnan(column)
        code = column
        if number not in dataset.nominal:
            learned = rows[known[rows]]
            code = np.searchsorted(cuts_of(column[learned], classes[learned]), column, side="left").astype(float)
        common = np.bincount(code[rows][known[rows]].astype(np.intp), minlength=1).argmax()
        codes[:, number] = np.where(known, code, common)
    return codes
