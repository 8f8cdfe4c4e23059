"""Differential privacy of counts: the cost of tables in a privacy budget, and the noise that they pay for.

Of an `epsilon` without `delta` costs are epsilons and noise is discrete Laplace. Otherwise costs are rhos of
zero-concentrated differential privacy and noise is discrete Gaussian. OpenDP draws both.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tremula.errors import InvalidInput, MissingLibrary
from tremula.parameters import check_number
from tremula.queries.question import GRID, Question, Schema
from tremula.queries.sql.path_covers import cover_paths

MOST_DEPTH = 10_000  # of trees that a budget is divided among
MOST_ROWS_PER_PERSON = 2**53

DEFAULT_DEPTH = 8  # by default the budget suffices for trees of this depth, if all members have the same tree
# Parts of a table's cost that pay for the number of rows, their sum and their sum of squares. The gain of a split and
# the value of a leaf depend most on the sum; only the resampling of sums needs the squares.
MOMENT_SHARES = (0.3, 0.6, 0.1)
NOISE_DEVIATION = {"epsilon": float(np.sqrt(2)), "rho": 1.0}  # of noise of scale 1
Noise = Callable[[NDArray[Any]], NDArray[np.int64]]


@dataclass(frozen=True)
class Budget:
    """A privacy budget.

    Attributes
    ----------
    unit : {"epsilon", "rho"}
        Unit of costs. Noise is Laplace if they are epsilons, else Gaussian.
    total : float
        The budget in the unit of costs.
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
    rows_per_person : int
        Rows by which a person changes a table.
    """

    unit: str
    total: float
    per_table: float
    add_noise: Noise
    deviation: float
    moment_noise: tuple[Noise, ...] = ()
    moment_deviations: tuple[float, ...] = ()
    rows_per_person: int = 1

    def noise_for(self, cost: float) -> Noise:
        """Return the noise of counts that a cost pays for."""
        scale = noise_scale(self.rows_per_person, cost, self.unit)
        return laplace_noise(scale) if self.unit == "epsilon" else gaussian_noise(scale)

    def with_table_cost(self, cost: float) -> Budget:
        """Return a budget whose tables of counts have another cost."""
        deviation = noise_scale(self.rows_per_person, cost, self.unit) * NOISE_DEVIATION[self.unit]
        return replace(self, per_table=cost, add_noise=self.noise_for(cost), deviation=deviation)

    def choose(self, scores: NDArray[np.int64], cost: float) -> int:
        """Return the number of a high score, by a noisy maximum that a cost pays for.

        A row must change all scores in the same direction, each by at most 1.
        """
        dp = _opendp()
        space = dp.vector_domain(dp.atom_domain(T="i64")), dp.linf_distance(T="i64", monotonic=True)
        measure = dp.max_divergence() if self.unit == "epsilon" else dp.zero_concentrated_divergence()
        scale = self.rows_per_person / (cost if self.unit == "epsilon" else float(np.sqrt(8 * cost)))
        return int(dp.m.make_noisy_max(*space, measure, scale=scale)([int(score) for score in scores]))

    def cost(self, questions: Sequence[Question], n_attributes: int) -> float:
        """Return the cost of a batch: the sum over sets of mutually exclusive paths of the dearest path in each."""
        if not questions:
            return 0.0
        tables = [1 if question.joint else len(question.attributes) for question in questions]
        paths = list(dict.fromkeys(question.path for question in questions))
        n_tables = [sum(n for n, question in zip(tables, questions) if question.path == path) for path in paths]
        covers = cover_paths(paths, n_attributes)
        return self.per_table * sum(max(n_tables[number] for number in cover.numbers) for cover in covers)


# Beyond these, noise is infinite, or so small that nothing is protected.
LEAST_BUDGET, LARGEST_BUDGET = 1e-6, 1e6
LEAST_DELTA = 1e-100


def make_budget(
    schema: Schema,
    epsilon: float | None,
    delta: float | None,
    per_table: float | None,
    rows_per_person: int,
    depth: int = DEFAULT_DEPTH,
    rho: float | None = None,
) -> Budget | None:
    """Check a privacy budget and its noise; None without a budget."""
    check_number("rows_per_person", rows_per_person, 1, MOST_ROWS_PER_PERSON, whole=True)
    check_number("budget_depth", depth, 1, MOST_DEPTH, whole=True)
    check_amounts(epsilon, delta, per_table, rho)
    if epsilon is None and rho is None:
        return None
    if schema.classes is None and schema.target_bounds is None:
        raise InvalidInput(
            "a privacy budget was given, but the target is numeric and its sums are not bounded: make the oracle with "
            "target_bounds=(lowest, highest), from public knowledge"
        )
    n_tables = depth * len(schema.attributes)
    if epsilon is not None and delta is None:
        cost = epsilon / n_tables if per_table is None else float(per_table)
        return _budget(schema, "epsilon", epsilon, cost, rows_per_person)
    total = rho if epsilon is None or delta is None else rho_for(epsilon, delta)
    assert total is not None
    if total == 0:
        raise InvalidInput(
            f"epsilon={epsilon} with delta={delta} was given: no noise is large enough for both; allow more of either"
        )
    return _budget(schema, "rho", total, total / n_tables, rows_per_person)


def check_amounts(epsilon: float | None, delta: float | None, per_table: float | None, rho: float | None) -> None:
    """Raise an error if the numbers of a budget are impossible, or do not belong together."""
    for name, value in (("epsilon", epsilon), ("epsilon_per_table", per_table), ("rho", rho)):
        if value is not None:
            check_number(name, value, LEAST_BUDGET, LARGEST_BUDGET)
    if delta is not None:
        check_number("delta", delta, LEAST_DELTA)
    if rho is not None and (epsilon is not None or delta is not None):
        raise InvalidInput("rho was given with epsilon or delta: a budget is either rho, or epsilon and perhaps delta")
    if per_table is not None and (rho is not None or delta is not None):
        raise InvalidInput("epsilon_per_table was given, but tables cost rho: set budget_depth instead")
    if epsilon is None and rho is None:
        for name, value in (("epsilon_per_table", per_table), ("delta", delta)):
            if value is not None:
                raise InvalidInput(f"{name} was given without epsilon: give epsilon, the total budget, too")
    if delta is not None and delta >= 1:
        raise InvalidInput(f"delta is {delta}, expected less than 1: give less than 1 / the number of rows")


def _budget(schema: Schema, unit: str, total: float, cost: float, rows_per_person: int) -> Budget:
    """Make the noise of tables: a person changes one by as many rows, each of them a moment by at most its largest."""
    noise_of = laplace_noise if unit == "epsilon" else gaussian_noise
    deviation = NOISE_DEVIATION[unit]
    scale = noise_scale(rows_per_person, cost, unit)
    scales = [
        noise_scale(rows_per_person * GRID**power, share * cost, unit) for power, share in enumerate(MOMENT_SHARES)
    ]
    moments: tuple[Noise, ...] = tuple(map(noise_of, scales)) if schema.classes is None else ()
    deviations = tuple(deviation * scale for scale in scales) if moments else ()
    return Budget(unit, total, cost, noise_of(scale), deviation * scale, moments, deviations, rows_per_person)


def noise_scale(sensitivity: float, cost: float, unit: str) -> float:
    """Return the scale of the noise that a cost pays for: Laplace for an epsilon, or Gaussian for a rho.

    Examples
    --------
    >>> noise_scale(3, 0.5, "epsilon"), noise_scale(3, 0.5, "rho")
    (6.0, 3.0)
    """
    return sensitivity / cost if unit == "epsilon" else float(sensitivity / np.sqrt(2 * cost))


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
