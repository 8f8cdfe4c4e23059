"""Thresholds in single precision that send values to the same sides as those in double precision.

Every number of single precision can keep its side: of the numbers that go left, the largest takes the place of the
threshold. A number in double precision is rounded before it is compared, and may then land on the other side. For given
rows thresholds are moved so that none of them does, if that is possible.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from tremula.data.names import attribute_name
from tremula.errors import InvalidInput

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]


def single_thresholds(thresholds: Floats, strict: bool) -> Singles:
    """Return thresholds of single precision that divide all numbers of single precision in the same way.

    Examples
    --------
    >>> single_thresholds(np.array([0.1, 0.5]), strict=False) <= [0.1, 0.5]
    array([ True,  True])
    """
    with np.errstate(over="ignore"):
        nearest = thresholds.astype(np.float32)
    if strict:  # x < t is x < T with the least T >= t
        return np.where(nearest < thresholds, np.nextafter(nearest, np.float32(np.inf)), nearest)
    return np.where(nearest > thresholds, np.nextafter(nearest, np.float32(-np.inf)), nearest)


@dataclass(frozen=True, eq=False)
class ThresholdRounding:
    """Turns thresholds into numbers of the precision that values are compared in.

    Attributes
    ----------
    dtype : dtype
        float64, which leaves thresholds as they are, or float32.
    columns : tuple of arrays, or None
        For each attribute, the sorted values of rows that must keep their sides.
    names : tuple of str
        Names of the attributes, for messages.
    """

    dtype: np.dtype[Any]
    columns: tuple[Floats, ...] | None
    names: tuple[str, ...]

    @classmethod
    def of(cls, dtype: DTypeLike, rows: Floats | None, names: tuple[str, ...]) -> ThresholdRounding:
        """Take the values from encoded rows, if there are any."""
        columns = None if rows is None else tuple(np.unique(column[~np.isnan(column)]) for column in rows.T)
        return cls(np.dtype(dtype), columns, names)

    def round(self, attributes: NDArray[Any], thresholds: Floats, strict: bool) -> NDArray[Any]:
        """Return the thresholds of some numeric splits.

        Raises
        ------
        InvalidInput
            Two values of the rows on different sides are the same number in single precision.
        """
        if self.dtype == np.float64:
            return thresholds
        out = single_thresholds(thresholds, strict)
        if self.columns is not None:
            for attribute in np.unique(attributes):
                chosen = attributes == attribute
                out[chosen] = self._moved(int(attribute), thresholds[chosen], out[chosen], strict)
        return out

    def _moved(self, attribute: int, thresholds: Floats, rounded: Singles, strict: bool) -> Singles:
        """Return thresholds between the rounded values on both sides."""
        assert self.columns is not None
        values = self.columns[attribute]
        ends = np.searchsorted(values, thresholds, side="left" if strict else "right")
        with np.errstate(over="ignore"):
            edges = np.concatenate([[-np.inf], values, [np.inf]]).astype(np.float32)
        last_left, first_right = edges[ends], edges[ends + 1]
        is_lost = last_left >= first_right
        if is_lost.any():
            place = int(ends[np.argmax(is_lost)])
            low, high = values[place - 1 : place + 1].tolist()
            raise InvalidInput(
                f"{low!r} and {high!r} of {attribute_name(self.names, attribute)!r} "
                "go to different sides of a split, but are the same number in single precision: use dtype='float64'"
            )
        if strict:
            return np.minimum(np.maximum(rounded, np.nextafter(last_left, np.float32(np.inf))), first_right)
        return np.maximum(np.minimum(rounded, np.nextafter(first_right, np.float32(-np.inf))), last_left)
