"""Differential privacy of counts: the cost of a table in a privacy budget, and the noise that it pays for."""

from __future__ import annotations

from typing import Any

import numpy as np

from tremula.errors import InvalidInput, MissingLibrary
from tremula.parameters import check_number
from tremula.queries.question import Schema

DEFAULT_DEPTH = 8  # by default the budget suffices for trees of this depth, if all members have the same tree


def cost_of_table(schema: Schema, epsilon: float | None, per_table: float | None) -> float | None:
    """Check a privacy budget, and return the cost of one table of counts; None without a budget."""
    if epsilon is None:
        if per_table is not None:
            raise InvalidInput("epsilon_per_table was given without epsilon: give epsilon, the total budget, too")
        return None
    check_number("epsilon", epsilon, 0.0, above=True)
    if schema.classes is None:
        raise InvalidInput(
            "epsilon was given, but the target is numeric and its sums are not bounded: leave epsilon out, or predict "
            "classes"
        )
    if per_table is None:
        return epsilon / (DEFAULT_DEPTH * len(schema.attributes))
    check_number("epsilon_per_table", per_table, 0.0, above=True)
    return float(per_table)


def laplace_noise(epsilon: float) -> Any:
    """Return a function that adds discrete Laplace noise to counts, which makes a table `epsilon`-private."""
    try:
        import opendp.prelude as dp
    except ImportError as error:
        raise MissingLibrary("a privacy budget needs OpenDP: pip install 'tremula[privacy]'") from error
    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T=int)), dp.l1_distance(T=int)
    mechanism = dp.m.make_laplace(*space, scale=1.0 / epsilon)
    return lambda counts: np.array(mechanism([int(count) for count in counts]), dtype=np.int64)
