"""Limits what one person contributes to counts and sums: the number of rows, and how large a target can be.

Sums of a bounded target are sums of whole numbers, so that they are exact, in any order and in any database.
"""

from __future__ import annotations

import hmac
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tremula.data.table import Table
from tremula.data.take import take_columns, take_rows
from tremula.errors import InvalidInput, InvalidParameter
from tremula.parameters import check_number
from tremula.queries.question import GRID


def limit_rows(person_id: Any, rows_per_person: int, key: str | bytes = b"") -> NDArray[np.bool_]:
    """Choose at most so many rows of each person; the same ones for ever, in an order drawn by a key.

    Parameters
    ----------
    person_id : array of shape (n_rows,)
        The person that each row belongs to.
    rows_per_person : int
        Maximum number of rows of a person, to be given to `GuardedOracle`, too.
    key : str or bytes, default=b""
        A secret. Whoever knows it knows which rows are left out. Differential privacy does not need it.

    Returns
    -------
    bool array of shape (n_rows,)
        Whether to keep each row.

    Examples
    --------
    >>> from tremula.queries import limit_rows
    >>> kept = limit_rows(["ann", "bob", "ann", "ann", "cid"], 2, key="secret")
    >>> int(kept.sum()), bool(kept[1]), bool(kept[4])
    (4, True, True)
    """
    check_number("rows_per_person", rows_per_person, 1, whole=True)
    if not isinstance(key, str | bytes):
        raise InvalidParameter(f"key is of type {type(key).__name__}: give a word or bytes")
    secret = key.encode("utf-8", "surrogatepass") if isinstance(key, str) else key
    try:
        persons = np.asarray(person_id)
    except ValueError as error:
        raise InvalidInput(f"person_id is no list of labels: give one person for each row ({error})") from error
    if persons.ndim != 1:
        raise InvalidInput(f"person_id has shape {persons.shape}: give one person for each row")
    rows_of: dict[Any, list[int]] = {}
    for row, person in enumerate(persons.tolist()):
        if person is None or person != person:
            raise InvalidInput(f"the person of row {row} is missing: give one person for each row")
        rows_of.setdefault(person, []).append(row)
    kept = np.zeros(len(persons), dtype=bool)
    for person, rows in rows_of.items():
        places = sorted(range(len(rows)), key=partial(_draw, secret, person))
        kept[[rows[place] for place in places[:rows_per_person]]] = True
    return kept


def _draw(secret: bytes, person: Any, place: int) -> bytes:
    return hmac.digest(secret, repr((person, place)).encode(), "sha256")


def limit_table(X: Any, y: Any, person_id: Any, rows_per_person: int) -> tuple[Any, Any, str]:
    """Return a table and its target with at most so many rows of each person, and the name of the persons' column.

    Parameters
    ----------
    X : array, data frame or table
    y : array
    person_id : str or array
        Name of the column of persons, which is taken out of the table; or one person for each row.
    rows_per_person : int
    """
    name = "person"
    if isinstance(person_id, str):
        name, table = person_id, Table.of(X)
        if table.names is None or name not in table.names:
            raise InvalidInput(f"person_id is {name!r}, which is no column of X: name one, or give one person a row")
        place = table.names.index(name)
        persons = take_columns(table.native, np.array([place]))
        person_id = np.asarray(persons).reshape(-1)
        X = take_columns(table.native, np.delete(np.arange(table.n_columns), place))
    kept = limit_rows(person_id, rows_per_person)
    labels = np.asarray(y)
    if labels.shape[:1] != kept.shape:
        raise InvalidInput(f"person_id has {len(kept)} rows and y has {len(labels)}: give one person for each row")
    rows = np.flatnonzero(kept)
    return take_rows(X, rows), labels[rows], name


def check_bounds(bounds: Sequence[float], name: str = "target_bounds") -> tuple[float, float]:
    """Return bounds as two finite numbers, the smaller one first.

    Examples
    --------
    >>> check_bounds([0, 100])
    (0.0, 100.0)
    """
    try:
        low, high = (float(bound) for bound in bounds)
    except (TypeError, ValueError) as error:
        raise InvalidInput(f"{name} is {bounds!r}, expected two numbers: give (lowest, highest)") from error
    if not (np.isfinite([low, high]).all() and low < high):
        raise InvalidInput(f"{name} is {bounds!r}, expected finite numbers that increase: give (lowest, highest)")
    return low, high


def places_on_grid(y: NDArray[np.float64], bounds: tuple[float, float]) -> NDArray[np.float64]:
    """Clamp numbers to bounds, and return their places on a grid: whole numbers from -GRID to GRID.

    Examples
    --------
    >>> places_on_grid(np.array([-7.0, 0.0, 2.5, 5.0, 99.0]), (0.0, 10.0))
    array([-1000., -1000.,  -500.,     0.,  1000.])
    """
    low, high = bounds
    clamped = np.where(y < low, low, np.where(y > high, high, y))
    return np.asarray(np.floor((clamped - (low + high) / 2) / ((high - low) / 2) * GRID + 0.5))
