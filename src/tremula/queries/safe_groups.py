"""Groups of values with enough rows: values with few rows are merged until every group is empty or large enough."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Groups = list[tuple[int, ...]]


def is_safe(counts: NDArray[np.float64], min_count: int) -> NDArray[np.bool_]:
    """Whether each count is zero or at least `min_count`. Sums of safe counts are safe."""
    return np.asarray((counts == 0) | (counts >= min_count))


def merge_levels(counts: NDArray[np.float64], min_count: int) -> Groups:
    """Merge all levels with few rows into one group, with further levels until the group is safe.

    Parameters
    ----------
    counts : array (n_regions, n_levels)
        Rows of each region and level. The groups are the same in all regions, and safe in each.
    min_count : int

    Returns
    -------
    list of tuples of int
        The levels of each group. The merged group comes last. It has a level that is safe on its own, if there is one.

    Examples
    --------
    >>> merge_levels(np.array([[9.0, 2.0, 6.0, 30.0]]), 5)
    [(0,), (3,), (1, 2)]
    """
    safe = is_safe(counts, min_count).all(axis=0)
    merged = np.flatnonzero(~safe).tolist()
    others = np.flatnonzero(safe).tolist()
    if not merged:
        return [(level,) for level in others]
    totals = counts.sum(axis=0)
    spare = sorted((level for level in others if totals[level] > 0), key=lambda level: totals[level])
    n_taken = min(1, len(spare))
    while n_taken < len(spare) and not is_safe(counts[:, merged + spare[:n_taken]].sum(axis=1), min_count).all():
        n_taken += 1
    taken = set(spare[:n_taken])
    return [*((level,) for level in others if level not in taken), tuple(sorted([*merged, *taken]))]


def merge_neighbours(counts: NDArray[np.float64], min_count: int) -> Groups:
    """Merge neighbouring bins until each group is safe; parameters and result are those of `merge_levels`.

    Examples
    --------
    >>> merge_neighbours(np.array([[2.0, 4.0, 7.0, 1.0]]), 5)
    [(0, 1), (2, 3)]
    """
    groups: Groups = []
    current: tuple[int, ...] = ()
    for place in range(counts.shape[1]):
        current = (*current, place)
        if is_safe(counts[:, current].sum(axis=1), min_count).all():
            groups.append(current)
            current = ()
    while current and groups:
        current = (*groups.pop(), *current)
        if is_safe(counts[:, current].sum(axis=1), min_count).all():
            break
    return [*groups, current] if current else groups
