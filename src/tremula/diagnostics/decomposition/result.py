"""The error of a learner and its parts, as results: of one learner, and along the values of a parameter."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tremula.display import ShortTable, ShownAsTable

TERMS = ("error", "bias", "variance", "noise")


@dataclass(frozen=True, repr=False)
class BiasVariance(ShownAsTable):
    """Error of a learner and its parts, as means over test rows.

    Attributes
    ----------
    loss, scheme, bias_correction : str
        How they were found.
    error : float
        Expected loss of one model.
    bias, variance, noise : float
        Its parts; `bias` is the squared bias for the losses that are squares.
    observed_error : float
        Mean loss to the observed targets; it differs from `error`, by chance, where the truth is known.
    intervals : dict
        For each of the four the ends of its confidence interval.
    per_row : dict
        For each of the four its value at each test row. The bias of a single row may be negative.
    test_rows : ndarray
        Row numbers of the test rows in `X`.
    n_models : int
        Models trained.
    confidence : float
        Confidence of the intervals.
    """

    loss: str
    scheme: str
    error: float
    bias: float
    variance: float
    noise: float
    intervals: dict[str, tuple[float, float]]
    per_row: dict[str, np.ndarray]
    n_models: int
    confidence: float = 0.95
    bias_correction: str = "both"
    observed_error: float = float("nan")
    test_rows: np.ndarray = field(default_factory=lambda: np.zeros(0, dtype=np.intp))

    @property
    def _caption(self) -> str:
        n_rows = len(self.per_row["error"])
        return f"{self.loss} of {self.n_models} models at {n_rows} rows, scheme {self.scheme}"

    def _short_table(self) -> ShortTable:
        ends = [" to ".join(f"{end:.4f}" for end in self.intervals[term]) for term in TERMS]
        rows = [(term, f"{getattr(self, term):.4f}", end) for term, end in zip(TERMS, ends)]
        return ShortTable(self._caption, ["term", "value", f"{100 * self.confidence:g} % interval"], rows)

    def __str__(self) -> str:
        lines = [self._caption]
        for term in TERMS:
            low, high = self.intervals[term]
            lines.append(f"{term:8} {getattr(self, term):8.4f}   ({low:.4f} to {high:.4f})")
        return "\n".join(lines)


@dataclass(frozen=True, repr=False)
class BiasVarianceCurve(ShownAsTable):
    """The parts of the error along the values of a parameter.

    Attributes
    ----------
    parameter : str
        Name of the parameter.
    values : list
        Its values.
    results : list of BiasVariance
        One for each value, all from the same learning sets.
    """

    parameter: str
    values: list[Any]
    results: list[BiasVariance]

    @property
    def error(self) -> np.ndarray:
        """The error at each value."""
        return self._each("error")

    @property
    def bias(self) -> np.ndarray:
        """The bias at each value."""
        return self._each("bias")

    @property
    def variance(self) -> np.ndarray:
        """The variance at each value."""
        return self._each("variance")

    @property
    def noise(self) -> np.ndarray:
        """The noise at each value."""
        return self._each("noise")

    def _each(self, term: str) -> np.ndarray:
        return np.array([getattr(result, term) for result in self.results])

    def _short_table(self) -> ShortTable:
        rows = [
            [str(value), *(f"{getattr(result, term):.4f}" for term in TERMS)]
            for value, result in zip(self.values, self.results, strict=True)
        ]
        return ShortTable(f"error along {self.parameter}, and its parts", [self.parameter, *TERMS], rows)

    def __str__(self) -> str:
        width = max([len(self.parameter), *(len(str(value)) for value in self.values)])
        lines = [f"{self.parameter:{width}} " + " ".join(f"{term:>8}" for term in TERMS)]
        for value, result in zip(self.values, self.results, strict=True):
            lines.append(f"{value!s:{width}} " + " ".join(f"{getattr(result, term):8.4f}" for term in TERMS))
        return "\n".join(lines)
