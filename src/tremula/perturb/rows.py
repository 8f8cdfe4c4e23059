"""Shakes the rows: bootstrap samples, subsamples and disjoint parts, as multiplicities and never as copies."""

from __future__ import annotations

from dataclasses import dataclass, replace
from numbers import Integral

import numpy as np

from tremula.errors import InvalidParameter
from tremula.parameters import check_flag, check_number
from tremula.perturb.sample import Draw, Perturbation, Sample


def rows_to_draw(max_samples: float, n_rows: int) -> int:
    """Return the size of a sample: a count, or a share of the rows.

    Examples
    --------
    >>> rows_to_draw(0.5, 10), rows_to_draw(7, 10)
    (5, 7)
    """
    if isinstance(max_samples, Integral) and not isinstance(max_samples, bool):
        check_number("max_samples", max_samples, 1, whole=True)
        return int(max_samples)
    check_number("max_samples", max_samples, 0.0, above=True)
    return max(1, round(max_samples * n_rows))


@dataclass(frozen=True)
class Bootstrap(Perturbation):
    """Draw rows, with or without replacement.

    Parameters
    ----------
    max_samples : float or int, default=1.0
        How many: a share of the rows, or a count.
    replace : bool, default=True
        Whether a row may be drawn again.

    Notes
    -----
    Rows that have weights are drawn alike whatever their weight, and keep it.

    Examples
    --------
    >>> from tremula import BaggingClassifier
    >>> from tremula.perturb import Bootstrap
    >>> Bootstrap(max_samples=0.5, replace=False)
    Bootstrap(max_samples=0.5, replace=False)
    """

    max_samples: float = 1.0
    replace: bool = True

    leaves_rows_out = True

    def check(self, sample: Sample) -> None:
        """Refuse a sample larger than the table, if rows are drawn once."""
        check_flag("replace", self.replace)
        n_drawn = rows_to_draw(self.max_samples, sample.n_rows)
        if not self.replace and n_drawn > sample.n_rows:
            raise InvalidParameter(
                f"max_samples={self.max_samples!r} asks for {n_drawn} of {sample.n_rows} rows without replacement: "
                "ask for fewer, or set replace=True"
            )

    def apply(self, sample: Sample, draw: Draw) -> Sample:
        """Multiply the weights by how often each row was drawn."""
        n_drawn = rows_to_draw(self.max_samples, sample.n_rows)
        if self.replace:
            drawn = draw.random.integers(sample.n_rows, size=n_drawn)
        else:
            drawn = draw.random.choice(sample.n_rows, size=n_drawn, replace=False, shuffle=False)
        counts = np.bincount(drawn, minlength=sample.n_rows)
        return replace(sample, weights=counts if sample.weights is None else sample.weights * counts)


@dataclass(frozen=True)
class DisjointParts(Perturbation):
    """Dagging: every member gets a part of the rows of its own, with about the same mix of classes.

    Examples
    --------
    >>> from tremula.perturb import DisjointParts
    >>> DisjointParts()
    DisjointParts()
    """

    leaves_rows_out = True

    def apply(self, sample: Sample, draw: Draw) -> Sample:
        """Keep the rows of this member's part."""
        order = draw.shared().permutation(sample.n_rows)
        if sample.n_classes:
            order = order[np.argsort(sample.target[order], kind="stable")]
        chosen = np.zeros(sample.n_rows, np.int64)
        chosen[order[draw.member :: draw.n_members]] = 1
        return replace(sample, weights=chosen if sample.weights is None else sample.weights * chosen)
