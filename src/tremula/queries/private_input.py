"""What must be private before a guard is asked: how many rows a person has, and the cuts of numeric attributes."""

from __future__ import annotations

import hmac
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tremula.errors import InvalidInput
from tremula.parameters import check_number
from tremula.queries.oracle import Oracle
from tremula.queries.question import EVERYWHERE, Question


def limit_rows(person_id: Any, rows_per_person: int, key: str | bytes) -> NDArray[np.bool_]:
    """Choose at most so many rows of each person; the same ones for ever, as a secret key decides.

    Parameters
    ----------
    person_id : array of shape (n_rows,)
        The person that each row belongs to.
    rows_per_person : int
        Maximum number of rows of a person, to be given to `GuardedOracle`, too.
    key : str or bytes
        A secret. Whoever knows it knows which rows are left out.

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
    secret = key.encode() if isinstance(key, str) else key
    persons = np.asarray(person_id)
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


def private_cuts(oracle: Oracle, n_bins: int, attributes: Sequence[str] | None = None) -> dict[str, list[float]]:
    """Choose cuts of numeric attributes with about equally many rows between them, from guarded counts.

    Parameters
    ----------
    oracle : Oracle
        A guarded oracle of the table with many cuts that do not depend on the rows, such as every year of age. It pays
        for one table of counts for each attribute.
    n_bins : int
        Maximum number of bins.
    attributes : sequence of str or None, default=None
        Names of the attributes; None is all numeric ones.

    Returns
    -------
    dict of str to list of float
        Some of the oracle's cuts for each attribute, as `ArrayOracle` and `connect` take them.

    Examples
    --------
    >>> import numpy as np
    >>> from tremula.queries import ArrayOracle, GuardedOracle, private_cuts
    >>> ages = np.random.default_rng(0).integers(18, 95, (2000, 1))
    >>> years = ArrayOracle(ages, ages[:, 0] % 2, cuts={"x0": np.arange(0.5, 110)}, categorical_features=None)
    >>> guarded = GuardedOracle(years, epsilon=1.0, epsilon_per_table=0.5)
    >>> cuts = private_cuts(guarded, 4)
    >>> len(cuts["x0"]), guarded.spent
    (3, 0.5)
    """
    check_number("n_bins", n_bins, 2, whole=True)
    schema = oracle.schema
    known = [attribute.name for attribute in schema.attributes if not attribute.is_nominal]
    names = known if attributes is None else list(attributes)
    for name in names:
        if name not in known:
            raise InvalidInput(f"the oracle has no numeric attribute {name!r}: it has {', '.join(known) or 'none'}")
    numbers = [number for number, attribute in enumerate(schema.attributes) if attribute.name in names]
    (answer,) = oracle.count([Question(EVERYWHERE, tuple(numbers))])
    chosen = {}
    for number in numbers:
        table = answer[schema.cells(number)][:-1]
        rows = table[:, 0] if schema.classes is None else table.sum(axis=1)
        below = np.cumsum(rows)[:-1] / max(rows.sum(), 1)
        cuts = np.array(schema.attributes[number].cuts or (), dtype=np.float64)
        places = {int(np.abs(below - part / n_bins).argmin()) for part in range(1, n_bins)} if len(cuts) else set()
        chosen[schema.attributes[number].name] = cuts[sorted(places)].tolist()
    return chosen
