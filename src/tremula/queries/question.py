"""What may be asked of a table, and what an answer is: counts of rows, never a row.

Every attribute has a few values: the levels of a nominal one, the bins of a numeric one, and one more for rows where it
is missing. A path says which values some attributes may have; a question asks, among the rows on a path, how often each
value of each attribute goes with each class.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tremula.persistence.registry import storable

MOMENTS = 3  # of a numeric target: how many rows, their sum, the sum of their squares


class Condition(NamedTuple):
    """An attribute has one of the values numbered `first` to `last`."""

    attribute: int
    first: int
    last: int


Path = tuple[Condition, ...]
EVERYWHERE: Path = ()


def narrow(path: Path, attribute: int, first: int, last: int) -> Path:
    """Path with one more condition; it has one condition an attribute, in the order of attributes, however made.

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
    """Whether every row on a path is surely on the wider one too."""
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
    """A column that can be asked about.

    Attributes
    ----------
    name : str
    levels : tuple or None
        Of a nominal attribute, in the order of their numbers.
    cuts : tuple of float or None
        Of a numeric attribute: a value of at most ``cuts[k]``, and above ``cuts[k - 1]``, has number k.

    Examples
    --------
    >>> Attribute("age", cuts=(30.0, 50.0)).n_values
    3
    """

    name: str
    levels: tuple[Any, ...] | None = None
    cuts: tuple[float, ...] | None = None

    @property
    def is_nominal(self) -> bool:
        """Whether it has levels."""
        return self.levels is not None

    @property
    def n_values(self) -> int:
        """Number of levels or bins; the number after the last stands for missing."""
        return len(self.levels) if self.levels is not None else len(self.cuts or ()) + 1


@storable
@dataclass(frozen=True)
class Schema:
    """What is known of a table before anything is counted.

    Attributes
    ----------
    attributes : tuple of Attribute
    target : str
        Name of the column to predict; rows where it is missing are never counted.
    classes : tuple or None
        Class labels, or None for a numeric target.
    has_names : bool
        Whether the names of attributes are the table's own, or were made up for an array.
    """

    attributes: tuple[Attribute, ...]
    target: str
    classes: tuple[Any, ...] | None
    has_names: bool = True

    @property
    def n_outputs(self) -> int:
        """Columns of a table of counts: the classes, or the moments of a numeric target."""
        return MOMENTS if self.classes is None else len(self.classes)

    @cached_property
    def starts(self) -> NDArray[np.int64]:
        """Where the cells of each attribute start in an answer, and where the last one's end."""
        sizes = [attribute.n_values + 1 for attribute in self.attributes]
        return np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)])

    @property
    def n_cells(self) -> int:
        """Rows of an answer: the values of all attributes, and one more each for missing."""
        return int(self.starts[-1])

    def cells(self, attribute: int) -> slice:
        """Rows of an answer that belong to an attribute."""
        return slice(int(self.starts[attribute]), int(self.starts[attribute + 1]))

    def empty_answer(self) -> NDArray[Any]:
        """Answer with nothing counted."""
        return np.zeros((self.n_cells, self.n_outputs), dtype=np.float64 if self.classes is None else np.int64)


@dataclass(frozen=True)
class Question:
    """Asks how often each value of each of some attributes goes with each class, among the rows on a path.

    Attributes
    ----------
    path : Path
    attributes : tuple of int
    joint : bool
        Whether the attributes are to be counted together (an array with an axis for each, and one for the classes)
        instead of one after the other (the cells of a Schema; those of other attributes are 0).
    parent : Path
        A wider path that was asked about before: a hint for whoever keeps what it found there.
    """

    path: Path
    attributes: tuple[int, ...]
    joint: bool = False
    parent: Path = field(default=EVERYWHERE, compare=False)


UNKNOWN = -1  # in the cells of an attribute that a question could not be answered for


def joint_shape(schema: Schema, attributes: Iterable[int]) -> tuple[int, ...]:
    """Shape of the answer to a joint question."""
    return (*(schema.attributes[number].n_values + 1 for number in attributes), schema.n_outputs)
