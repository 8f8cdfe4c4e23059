"""Perturbs the rows: bootstrap samples, subsamples and disjoint parts, as a number of copies of each row."""

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

MOST_DRAWS, MOST_DRAWS_OF_A_ROW = 10_000, 1_000  # `count_inbag` counts up to 32,767 draws of a row


def rows_to_draw(max_samples: float, n_rows: int) -> int:
    """Return the number of rows to draw, which is given as a count or as a share of the rows.

    Examples
    --------
    >>> rows_to_draw(0.5, 10), rows_to_draw(7, 10)
    (5, 7)
    """
    check_row_count("max_samples", max_samples)
    is_count = isinstance(max_samples, Integral)
    if not is_count and not np.isfinite(max_samples * n_rows):
        raise InvalidParameter(
            f"max_samples={max_samples!r} was given; expected a count, or a finite share of the rows"
        )
    n_drawn = int(max_samples) if is_count else max(1, round(max_samples * n_rows))
    if n_drawn > max(MOST_DRAWS, MOST_DRAWS_OF_A_ROW * n_rows):
        raise InvalidParameter(
            f"max_samples={max_samples!r} draws {n_drawn} rows out of {n_rows}, which fills the memory: give a share "
            f"up to {MOST_DRAWS_OF_A_ROW}, or as few rows"
        )
    return n_drawn


@storable
@dataclass(frozen=True)
class Bootstrap(Perturbation):
    """Draw rows, with or without replacement.

    Parameters
    ----------
    max_samples : float or int, default=1.0
        Number of rows to draw, or share of the rows.
    bootstrap : bool, default=True
        Whether rows are drawn with replacement.

    Notes
    -----
    Rows are drawn with equal probability whatever their weight, and keep it. Rows of weight 0 are never drawn. If `fit`
    was given `groups`, groups are drawn in place of rows, and `max_samples` counts them.

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
    draws_groups = True

    def check(self, sample: Sample) -> None:
        """Raise InvalidParameter if more rows than there are would be drawn without replacement."""
        check_flag("bootstrap", self.bootstrap)
        n_units, kind = len(sample.units()), "rows" if sample.groups is None else "groups"
        n_drawn = rows_to_draw(self.max_samples, n_units)
        if not self.bootstrap and n_drawn > n_units:
            raise InvalidParameter(
                f"max_samples={self.max_samples!r} asks for {n_drawn} of {n_units} {kind} without replacement: "
                "ask for fewer, or draw with replacement"
            )

    def apply(self, sample: Sample, draw: Draw) -> Sample:
        """Multiply the copies of each row by how often it is drawn."""
        units = None if sample.draws_any_row else sample.units()
        n_units = sample.n_rows if units is None else len(units)
        n_drawn = rows_to_draw(self.max_samples, n_units)
        if self.bootstrap:
            drawn = draw.random.integers(n_units, size=n_drawn)
        else:
            drawn = draw.random.choice(n_units, size=n_drawn, replace=False, shuffle=False)
        return sample.with_units(drawn if units is None else units[drawn])


@storable
@dataclass(frozen=True)
class DisjointParts(Perturbation):
    """Dagging: the rows are divided into disjoint stratified parts, one for each member.

    Notes
    -----
    Put it before other perturbations that draw rows. Members cannot be added later.

    Examples
    --------
    >>> from tremula.perturb import DisjointParts
    >>> DisjointParts()
    DisjointParts()
    """

    leaves_rows_out = True
    depends_on_n_members = True

    def apply(self, sample: Sample, draw: Draw) -> Sample:
        """Keep only the rows of the member's part."""
        rows = sample.eligible_rows()
        if draw.n_members > len(rows):
            raise InvalidParameter(
                f"{len(rows)} rows cannot be divided into {draw.n_members} parts, one for each member: give fewer "
                "members"
            )
        strata = sample.target if sample.n_classes else None
        part = stratified_parts(rows, strata, draw.n_members, draw.shared())[draw.member]
        copies = np.zeros(sample.n_rows, np.int64)
        copies[part] = 1
        return sample.with_copies(copies)
