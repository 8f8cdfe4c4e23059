"""Bootstrap samples in which rows are not drawn one by one from all rows: by class, and in blocks of time."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tremula.errors import InvalidParameter
from tremula.parameters import check_number
from tremula.persistence.registry import storable
from tremula.perturb.rows import Bootstrap, rows_to_draw
from tremula.perturb.sample import Draw, Perturbation, Sample


@storable
@dataclass(frozen=True)
class BalancedBootstrap(Perturbation):
    """Draw as many rows of every class as the smallest class has, with replacement.

    Parameters
    ----------
    max_samples : float or int, default=1.0
        Number of rows to draw of each class, or share of the rows of the smallest class.

    Notes
    -----
    After Chen, Liaw and Breiman, Using random forest to learn imbalanced data (2004). Rows keep their weights; rows of
    weight 0 are never drawn.

    Examples
    --------
    >>> from tremula.perturb import BalancedBootstrap
    >>> BalancedBootstrap()
    BalancedBootstrap(max_samples=1.0)
    """

    max_samples: float = 1.0

    leaves_rows_out = True

    def check(self, sample: Sample) -> None:
        """Raise InvalidParameter if the target is a number."""
        if not sample.n_classes:
            raise InvalidParameter("a balanced bootstrap draws rows of every class, and y has numbers: use Bootstrap")
        if sample.has_several_targets:
            raise InvalidParameter(
                "a balanced bootstrap draws rows of every class of one target, and y has "
                f"{sample.target.shape[1]}: use bootstrap=True"
            )

    def apply(self, sample: Sample, draw: Draw) -> Sample:
        """Multiply the copies of each row by how often it is drawn."""
        rows = sample.eligible_rows()
        classes = [rows[sample.target[rows] == code] for code in range(sample.n_classes)]
        present = [members for members in classes if len(members)]
        n_drawn = rows_to_draw(self.max_samples, min(map(len, present)))
        drawn = [members[draw.random.integers(len(members), size=n_drawn)] for members in present]
        return sample.with_units(np.concatenate(drawn))


@storable
@dataclass(frozen=True)
class BlockBootstrap(Perturbation):
    """Draw blocks of consecutive rows, with replacement, for rows in the order of time.

    Parameters
    ----------
    block_length : int
        Number of rows in a block.
    max_samples : float or int, default=1.0
        Number of rows to draw, or share of the rows. The last block is cut off there.

    Notes
    -----
    The circular block bootstrap of Politis and Romano (1992): a block may begin at any row, and the first row follows
    the last, so that all rows are equally likely. Rows of weight 0 count as absent.

    Examples
    --------
    >>> from tremula.perturb import BlockBootstrap
    >>> BlockBootstrap(24)
    BlockBootstrap(block_length=24, max_samples=1.0)
    """

    block_length: int
    max_samples: float = 1.0

    leaves_rows_out = True

    def check(self, sample: Sample) -> None:
        """Raise InvalidParameter if a block is longer than the table."""
        check_number("block_length", self.block_length, 1, whole=True)
        n_rows = len(sample.eligible_rows())
        if self.block_length > n_rows:
            raise InvalidParameter(
                f"block_length={self.block_length} was given, but there are {n_rows} rows: give a shorter one"
            )

    def apply(self, sample: Sample, draw: Draw) -> Sample:
        """Multiply the copies of each row by how often it is drawn."""
        rows = sample.eligible_rows()
        n_drawn = rows_to_draw(self.max_samples, len(rows))
        starts = draw.random.integers(len(rows), size=-(-n_drawn // self.block_length))
        places = (starts[:, None] + np.arange(self.block_length)).ravel()[:n_drawn] % len(rows)
        return sample.with_units(rows[places])


def row_draws(max_samples: float, bootstrap: bool | str, block_length: int | None) -> list[Perturbation]:
    """Return how an ensemble with these parameters draws rows.

    Examples
    --------
    >>> row_draws(1.0, "balanced", None), row_draws(0.5, True, 24)
    ([BalancedBootstrap(max_samples=1.0)], [BlockBootstrap(block_length=24, max_samples=0.5)])
    """
    if block_length is not None:
        if not bootstrap or isinstance(bootstrap, str):
            raise InvalidParameter(
                f"block_length={block_length} was given with bootstrap={bootstrap!r}, but blocks are drawn with "
                "replacement, whatever their classes: set bootstrap=True"
            )
        return [BlockBootstrap(block_length, max_samples)]
    return [BalancedBootstrap(max_samples)] if isinstance(bootstrap, str) else [Bootstrap(max_samples, bootstrap)]
