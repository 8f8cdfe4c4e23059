"""Perturbs the choice of splits, by parameters of the members' estimator."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tremula.parameters import check_number
from tremula.parameters.kinds import check_max_features
from tremula.persistence.registry import storable
from tremula.perturb.sample import Draw, Perturbation, Sample


def with_option(sample: Sample, name: str, value: Any) -> Sample:
    """Return the sample with another parameter to set on the member's estimator."""
    return sample.changed(options={**sample.options, name: value})


@storable
@dataclass(frozen=True)
class RandomSplits(Perturbation):
    """Randomized C4.5: the split of every node is drawn uniformly from its best splits.

    Parameters
    ----------
    n_best_splits : int, default=20
        Number of best splits to draw from.
    """

    n_best_splits: int = 20

    def check(self, sample: Sample) -> None:
        """Raise InvalidParameter if this is no number of splits."""
        check_number("n_best_splits", self.n_best_splits, 1, whole=True)

    def apply(self, sample: Sample, draw: Draw) -> Sample:
        """Set `n_best_splits`."""
        return with_option(sample, "n_best_splits", self.n_best_splits)


@storable
@dataclass(frozen=True)
class RandomAttributes(Perturbation):
    """Random forests: the split of every node is chosen among a few attributes, drawn for the node.

    Parameters
    ----------
    max_features : int, float, "sqrt", "log2" or None, default="sqrt"
        Number of attributes drawn.
    """

    max_features: int | float | str | None = "sqrt"

    def check(self, sample: Sample) -> None:
        """Raise InvalidParameter if this is no number of attributes."""
        check_max_features("max_features", self.max_features)

    def apply(self, sample: Sample, draw: Draw) -> Sample:
        """Set `max_features`."""
        return with_option(sample, "max_features", self.max_features)


@storable
@dataclass(frozen=True)
class RandomThresholds(Perturbation):
    """Extra trees: the threshold of an attribute is drawn uniformly between its minimum and maximum in the node."""

    def apply(self, sample: Sample, draw: Draw) -> Sample:
        """Set `splitter`."""
        return with_option(sample, "splitter", "random")
