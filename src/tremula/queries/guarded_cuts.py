"""Cuts of numeric attributes that are chosen from guarded counts, so that the rows do not show in them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tremula.errors import InvalidInput
from tremula.parameters import check_number, read_names
from tremula.queries.oracle import MOST_BINS, Oracle, schema_of
from tremula.queries.question import EVERYWHERE, Question


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
    >>> guarded = GuardedOracle(years, epsilon=1.0, epsilon_per_table=0.5, public=["target"])
    >>> cuts = private_cuts(guarded, 4)
    >>> len(cuts["x0"]), guarded.spent
    (3, 0.5)
    """
    check_number("n_bins", n_bins, 2, MOST_BINS, whole=True)
    schema = schema_of(oracle)
    known = [attribute.name for attribute in schema.attributes if not attribute.is_nominal]
    names = known if attributes is None else read_names("attributes", attributes)
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
