"""Shakes the rows: bootstrap samples, subsamples and disjoint parts, as multiplicities and never as copies."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral

import numpy as np

from tremula.errors import InvalidParameter
from tremula.folds import stratified_parts
from tremula.parameters import check_flag
from tremula.parameters.kinds import check_row_count
from tremula.persistence.registry import storable
from tremula.perturb.sample import Draw, Perturbation, Sample


def rows_to_draw(max_samples: float, n_rows: int) -> int:
    """Return the size of a sample: a count, or a share of the rows.

    Examples
    --------
    >>> rows_to_draw(0.5, 10), rows_to_draw(7, 10)
    (5, 7)
    """
    check_row_count("max_samples", max_samples)
    if isinstance(max_samples, Integral):
        return int(max_samples)
    if not np.isfinite(max_samples * n_rows):
        raise InvalidParameter(
            f"max_samples={max_samples!r} was given; expected a count, or a finite share of the rows"
        )
    return max(1, round(max_samples * n_rows))


@storable
@dataclass(frozen=True)
class Bootstrap(Perturbation):
    """Draw rows, with or without replacement.

    Parameters
    ----------
    max_samples : float or int, default=1.0
        How many: a share of the rows, or a count.
    bootstrap : bool, default=True
        Whether rows are drawn with replacement.

    Notes
    -----
    Rows that have weights are drawn alike whatever their weight, and keep it; rows of weight 0 are as if they were not
    there.

    Examples
    --------
    >>> from tremula import BaggingClassifier
    >>> from tremula.perturb import Bootstrap
    >>> Bootstrap(max_samples=0.5, bootstrap=False)
    Bootstrap(max_samples=0.5, bootstrap=False)
    """

    max_samples: float = 1.0
    bootstrap: bool = True

    leaves_rows_out = True

    def check(self, sample: Sample) -> None:
        """Refuse a sample larger than the table, if rows are drawn once."""
        check_flag("bootstrap", self.bootstrap)
        n_rows = len(sample.eligible_rows())
        n_drawn = rows_to_draw(self.max_samples, n_rows)
        if not self.bootstrap and n_drawn > n_rows:
            raise InvalidParameter(
                f"max_samples={self.max_samples!r} asks for {n_drawn} of {n_rows} rows without replacement: "
                "ask for fewer, or draw with replacement"
            )

    def apply(self, sample: Sample, draw: Draw) -> Sample:
        """Multiply the weights by how often each row was drawn."""
        rows = sample.eligible_rows()
        n_drawn = rows_to_draw(self.max_samples, len(rows))
        if self.bootstrap:
            drawn = draw.random.integers(len(rows), size=n_drawn)
        else:
            drawn = draw.random.choice(len(rows), size=n_drawn, replace=False, shuffle=False)
        counts = np.bincount(rows[drawn], minlength=sample.n_rows)
        return sample.taking(counts)


@storable
@dataclass(frozen=True)
class DisjointParts(Perturbation):
    """Dagging: every member gets a part of the rows of its own, with about the same mix of classes.

    Notes
    -----
    The parts are cut from the rows there are: put it before whatever else draws rows. Members cannot be added later.

    Examples
    --------
    >>> from tremula.perturb import DisjointParts
    >>> DisjointParts()
    DisjointParts()
    """

    leaves_rows_out = True
    depends_on_n_members = True

    def apply(self, sample: Sample, draw: Draw) -> Sample:
        """Keep the rows of this member's part."""
        rows = sample.eligible_rows()
        if draw.n_members > len(rows):
            raise InvalidParameter(
                f"{len(rows)} rows cannot be cut into {draw.n_members} parts, one for each member: take fewer members"
            )
        strata = sample.target if sample.n_classes else None
        part = stratified_parts(rows, strata, draw.n_members, draw.shared())[draw.member]
        chosen = np.zeros(sample.n_rows, np.int64)
        chosen[part] = 1
        return sample.taking(chosen)
