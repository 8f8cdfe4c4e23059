"""Questions about a table and their answers: counts of rows, never rows.

Every attribute has a few values: the levels of a nominal attribute or the bins of a numeric one, and one more for
missing. A path restricts the values of some attributes. A question asks for the counts of each value of each attribute
by class, among the rows on a path.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tremula.persistence.registry import storable
from tremula.persistence.soundness import require

MOMENTS = 3  # of a numeric target: the number of rows, their sum, the sum of their squares
GRID = 1000  # places of a bounded target on either side of the middle of its bounds


class Condition(NamedTuple):
    """Holds for a row if its value of an attribute is numbered from `first` to `last`, both included."""

    attribute: int
    first: int
    last: int


Path = tuple[Condition, ...]
EVERYWHERE: Path = ()


def narrow(path: Path, attribute: int, first: int, last: int) -> Path:
    """Add a condition to a path. The result has one condition for each attribute, sorted by attribute.

    Examples
    --------
    >>> narrow(narrow((), 3, 0, 5), 1, 2, 2)
    (Condition(attribute=1, first=2, last=2), Condition(attribute=3, first=0, last=5))
    >>> narrow(((Condition(3, 0, 5)),), 3, 4, 9)
    (Condition(attribute=3, first=4, last=5),)
    """
    others = []
    for condition in path:
        if condition.attribute == attribute:
            first, last = max(first, condition.first), min(last, condition.last)
        else:
            others.append(condition)
    return tuple(sorted([*others, Condition(attribute, first, last)]))


def is_within(path: Path, wider: Path) -> bool:
    """Whether the conditions of a path imply those of the wider one."""
    allowed = {condition.attribute: condition for condition in path}
    return all(
        condition.attribute in allowed
        and condition.first <= allowed[condition.attribute].first
        and allowed[condition.attribute].last <= condition.last
        for condition in wider
    )


@storable
@dataclass(frozen=True)
class Attribute:
    """A column that can be counted.

    Attributes
    ----------
    name : str
    levels : tuple or None
        Levels of a nominal attribute, in the order of their numbers.
    cuts : tuple of float or None
        Cuts between the bins of a numeric attribute. A value above ``cuts[k - 1]`` and at most ``cuts[k]`` is in bin k.

    Examples
    --------
    >>> Attribute("age", cuts=(30.0, 50.0)).n_values
    3
    """

    name: str
    levels: tuple[Any, ...] | None = None
    cuts: tuple[float, ...] | None = None

    def _check_stored(self) -> None:
        plain = (str, bool, int, float)
        require(self.levels is None or all(isinstance(level, plain) for level in self.levels), "a level is no label")
        require(self.cuts is None or self.levels is None, "an attribute has levels and cuts")
        cuts = np.array(self.cuts or (), dtype=np.float64)
        require(np.isfinite(cuts).all() and (np.diff(cuts) > 0).all(), "cuts do not increase")

    @property
    def is_nominal(self) -> bool:
        """Whether the attribute has levels."""
        return self.levels is not None

    @property
    def n_values(self) -> int:
        """Number of levels or bins, which is also the number of the value that stands for missing."""
        return len(self.levels) if self.levels is not None else len(self.cuts or ()) + 1


@storable
@dataclass(frozen=True)
class Schema:
    """The attributes and the target of a table, which are known before anything is counted.

    Attributes
    ----------
    attributes : tuple of Attribute
    target : str
        Name of the column to predict; rows where it is missing are never counted.
    classes : tuple or None
        Class labels, or None for a numeric target.
    has_names : bool
        Whether the attributes have the names of the table's columns; False for an array without names.
    person_id : str or None
        Column of the person that a row belongs to, if the rows of a person are limited.
    rows_per_person : int
        Maximum number of rows of a person that are counted.
    target_bounds : tuple of two floats or None
        Bounds to which a numeric target is clamped. Its moments are then whole numbers: those of its places on a grid
        from -GRID, the lower bound, to GRID.
    from_rows : tuple of str
        Columns, the target included, whose levels, cuts or classes were read from the rows; those of all others are
        the same for every table.
    """

    attributes: tuple[Attribute, ...]
    target: str
    classes: tuple[Any, ...] | None
    has_names: bool = True
    person_id: str | None = None
    rows_per_person: int = 1
    target_bounds: tuple[float, float] | None = None
    from_rows: tuple[str, ...] = ()

    def _check_stored(self) -> None:
        plain = (str, bool, int, float)
        require(self.rows_per_person >= 1, "persons have no rows")
        require(self.target_bounds is None or self.target_bounds[0] < self.target_bounds[1], "bounds do not increase")
        require(self.classes is None or all(isinstance(label, plain) for label in self.classes), "a class is no label")

    @property
    def n_outputs(self) -> int:
        """Columns of a table of counts: the classes, or the moments of a numeric target."""
        return MOMENTS if self.classes is None else len(self.classes)

    @cached_property
    def starts(self) -> NDArray[np.int64]:
        """Row of an answer at which the cells of each attribute start, and the number of cells at the end."""
        sizes = [attribute.n_values + 1 for attribute in self.attributes]
        return np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)])

    def target_at(self, places: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the numbers at places of the target's grid, if it is bounded; else they are the numbers themselves."""
        if self.target_bounds is None:
            return places
        low, high = self.target_bounds
        return np.asarray((low + high) / 2 + places * ((high - low) / 2 / GRID))

    @property
    def n_cells(self) -> int:
        """Number of rows of an answer: the values of all attributes, missing included."""
        return int(self.starts[-1])

    def cells(self, attribute: int) -> slice:
        """Return the rows of an answer that belong to an attribute."""
        return slice(int(self.starts[attribute]), int(self.starts[attribute + 1]))

    def empty_answer(self) -> NDArray[Any]:
        """Return an answer of zeros."""
        return np.zeros((self.n_cells, self.n_outputs), dtype=np.float64 if self.classes is None else np.int64)


@dataclass(frozen=True)
class Question:
    """Asks for the counts of each value of some attributes by class, among the rows on a path.

    Attributes
    ----------
    path : Path
    attributes : tuple of int
    joint : bool
        Whether the attributes are counted jointly. The answer then has one axis for each attribute and one for the
        classes. Otherwise each attribute is counted on its own. The answer then has the cells of the Schema, with 0 for
        the attributes not asked about.
    parent : Path
        A wider path that was asked about before: a hint for oracles that cache the rows on it.
    """

    path: Path
    attributes: tuple[int, ...]
    joint: bool = False
    parent: Path = field(default=EVERYWHERE, compare=False)


UNKNOWN = -1  # in all cells of an attribute that an oracle cannot count


def joint_shape(schema: Schema, attributes: Iterable[int]) -> tuple[int, ...]:
    """Return the shape of the answer to a joint question."""
    return (*(schema.attributes[number].n_values + 1 for number in attributes), schema.n_outputs)
