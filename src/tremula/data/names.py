"""Names of attributes that were given without names: x0, x1, ... as in scikit-learn."""

from collections.abc import Sequence
from typing import Any


def attribute_name(names: Sequence[Any] | None, number: int) -> str:
    """Return the name of an attribute.

    Parameters
    ----------
    names : sequence of str or None
        The names of all attributes; None or empty if they have none.
    number : int
        The attribute, counted from 0.

    Examples
    --------
    >>> attribute_name(["size", "color"], 1), attribute_name(None, 1)
    ('color', 'x1')
    """
    return f"x{number}" if names is None or len(names) == 0 else str(names[number])


def attribute_names(names: Sequence[Any] | None, n_attributes: int) -> tuple[str, ...]:
    """Return the names of all attributes.

    Examples
    --------
    >>> attribute_names(None, 3)
    ('x0', 'x1', 'x2')
    """
    return tuple(attribute_name(names, number) for number in range(n_attributes))


def column_label(names: Sequence[Any] | None, number: int) -> str:
    """Return how error messages refer to a column: by its name, or by its number.

    Examples
    --------
    >>> column_label(["size", "color"], 1), column_label(None, 1)
    ("column 'color'", 'column 1')
    """
    return f"column {number if names is None else names[number]!r}"
