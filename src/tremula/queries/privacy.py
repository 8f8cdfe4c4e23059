"""Differential privacy of counts: the cost of tables in a privacy budget, and the noise that they pay for.

Without `delta` costs are epsilons and noise is discrete Laplace. With `delta` costs are rhos of zero-concentrated
differential privacy and noise is discrete Gaussian. OpenDP draws both.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tremula.errors import InvalidInput, MissingLibrary
from tremula.parameters import check_number
from tremula.queries.question import GRID, Question, Schema
from tremula.queries.sql.path_covers import cover_paths

DEFAULT_DEPTH = 8  # by default the budget suffices for trees of this depth, if all members have the same tree
# Parts of a table's cost that pay for the number of rows, their sum and their sum of squares. The gain of a split and
# the value of a leaf depend most on the sum; only the resampling of sums needs the squares.
MOMENT_SHARES = (0.3, 0.6, 0.1)
Noise = Callable[[NDArray[Any]], NDArray[np.int64]]


@dataclass(frozen=True)
class Budget:
    """A privacy budget.

    Attributes
    ----------
    epsilon : float
    delta : float or None
    total : float
        The budget in the unit of costs: epsilon, or rho if there is a delta.
    per_table : float
        Cost of one table of counts.
    add_noise : function
        Adds the noise that one table of counts pays for.
    deviation : float
        Standard deviation of that noise.
    moment_noise : tuple of functions
        Add the noise of each moment of a bounded target, instead.
    moment_deviations : tuple of float
        Their standard deviations.
    """

    epsilon: float
    delta: float | None
    total: float
    per_table: float
    add_noise: Noise
    deviation: float
    moment_noise: tuple[Noise, ...] = ()
    moment_deviations: tuple[float, ...] = ()

    @property
    def unit(self) -> str:
        """Name of the unit of costs."""
        return "epsilon" if self.delta is None else "rho"

    def cost(self, questions: Sequence[Question], n_attributes: int) -> float:
        """Return the cost of a batch: the sum over sets of mutually exclusive paths of the dearest path in each."""
        if not questions:
            return 0.0
        tables = [1 if question.joint else len(question.attributes) for question in questions]
        paths = list(dict.fromkeys(question.path for question in questions))
        n_tables = [sum(n for n, question in zip(tables, questions) if question.path == path) for path in paths]
        covers = cover_paths(paths, n_attributes)
        return self.per_table * sum(max(n_tables[number] for number in cover.numbers) for cover in covers)


def make_budget(
    schema: Schema,
    epsilon: float | None,
    delta: float | None,
    per_table: float | None,
    rows_per_person: int,
    depth: int = DEFAULT_DEPTH,
) -> Budget | None:
    """Check a privacy budget and its noise; None without a budget."""
    check_number("rows_per_person", rows_per_person, 1, whole=True)
    check_number("budget_depth", depth, 1, whole=True)
    if epsilon is None:
        for name, value in (("epsilon_per_table", per_table), ("delta", delta)):
            if value is not None:
                raise InvalidInput(f"{name} was given without epsilon: give epsilon, the total budget, too")
        return None
    check_number("epsilon", epsilon, 0.0, above=True)
    if schema.classes is None and schema.target_bounds is None:
        raise InvalidInput(
            "epsilon was given, but the target is numeric and its sums are not bounded: make the oracle with "
            "target_bounds=(lowest, highest), from public knowledge"
        )
    if per_table is not None:
        check_number("epsilon_per_table", per_table, 0.0, above=True)
    n_tables = depth * len(schema.attributes)
    if delta is None:
        cost = epsilon / n_tables if per_table is None else float(per_table)
        return _budget(schema, epsilon, None, epsilon, cost, rows_per_person)
    check_number("delta", delta, 0.0, above=True)
    if delta >= 1:
        raise InvalidInput(f"delta is {delta}, expected less than 1: give less than 1 / the number of rows")
    if per_table is not None:
        raise InvalidInput("epsilon_per_table was given with delta, where tables cost rho: set budget_depth instead")
    total = rho_for(epsilon, delta)
    return _budget(schema, epsilon, delta, total, total / n_tables, rows_per_person)


def _budget(
    schema: Schema, epsilon: float, delta: float | None, total: float, cost: float, rows_per_person: int
) -> Budget:
    """Make the noise of tables: a person changes one by as many rows, each of them a moment by at most its largest."""
    noise_of = laplace_noise if delta is None else gaussian_noise
    deviation = np.sqrt(2) if delta is None else 1.0  # of noise of scale 1
    scale = noise_scale(rows_per_person, cost, delta)
    scales = [
        noise_scale(rows_per_person * GRID**power, share * cost, delta) for power, share in enumerate(MOMENT_SHARES)
    ]
    moments: tuple[Noise, ...] = tuple(map(noise_of, scales)) if schema.classes is None else ()
    deviations = tuple(deviation * scale for scale in scales) if moments else ()
    return Budget(epsilon, delta, total, cost, noise_of(scale), deviation * scale, moments, deviations)


def noise_scale(sensitivity: float, cost: float, delta: float | None) -> float:
    """Return the scale of the noise that a cost pays for: Laplace for an epsilon, or Gaussian for a rho.

    Examples
    --------
    >>> noise_scale(3, 0.5, None), noise_scale(3, 0.5, 1e-6)
    (6.0, 3.0)
    """
    return sensitivity / cost if delta is None else float(sensitivity / np.sqrt(2 * cost))


def epsilon_for(rho: float, delta: float) -> float:
    """Return an epsilon such that rho-zero-concentrated privacy is (epsilon, delta)-differential privacy.

    Canonne, Kamath and Steinke (2020), the minimum over many orders of the Rényi divergence.

    Examples
    --------
    >>> round(epsilon_for(1 / 18, 1e-6), 3)
    1.558
    """
    orders = 1 + np.logspace(-4, 8, 20000)
    bounds = rho * orders + (np.log(1 / delta) - np.log(orders)) / (orders - 1) + np.log1p(-1 / orders)
    return float(max(bounds.min(), 0.0))


def rho_for(epsilon: float, delta: float) -> float:
    """Return the largest rho whose privacy is within (epsilon, delta), found by bisection.

    Examples
    --------
    >>> epsilon_for(rho_for(1.0, 1e-6), 1e-6) <= 1.0
    True
    """
    low, high = 0.0, 1.0
    while epsilon_for(high, delta) <= epsilon:
        low, high = high, 2 * high
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if epsilon_for(middle, delta) <= epsilon else (low, middle)
    return low


def laplace_noise(scale: float) -> Noise:
    """Return a function that adds discrete Laplace noise to counts."""
    dp = _opendp()
    space = dp.vector_domain(dp.atom_domain(T="i64")), dp.l1_distance(T="i64")
    return _adder(dp.m.make_laplace(*space, scale=float(scale)))


def gaussian_noise(scale: float) -> Noise:
    """Return a function that adds discrete Gaussian noise to counts."""
    dp = _opendp()
    space = dp.vector_domain(dp.atom_domain(T="i64")), dp.l2_distance(T=float)
    return _adder(dp.m.make_gaussian(*space, scale=float(scale)))


def _adder(mechanism: Any) -> Noise:
    return lambda counts: np.array(mechanism([int(count) for count in counts]), dtype=np.int64)


def _opendp() -> Any:
    try:
        import opendp.prelude as dp
    except ImportError as error:
        raise MissingLibrary("a privacy budget needs OpenDP: pip install 'tremula[privacy]'") from error
    dp.enable_features("contrib")
    return dp
