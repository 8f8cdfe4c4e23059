"""Shakes the choice of split, inside the tree: parameters of the members' estimator that make it draw."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from tremula.persistence.registry import storable
from tremula.perturb.sample import Draw, Perturbation, Sample


def with_option(sample: Sample, name: str, value: Any) -> Sample:
    """Return the sample with one more parameter to set on the estimator."""
    return replace(sample, options={**sample.options, name: value})


@storable
@dataclass(frozen=True)
class RandomSplits(Perturbation):
    """Randomized C4.5: every node takes one of the best splits, drawn uniformly.

    Parameters
    ----------
    n_best_splits : int, default=20
        Among how many.
    """

    n_best_splits: int = 20

    def apply(self, sample: Sample, draw: Draw) -> Sample:
        """Set `n_best_splits`."""
        return with_option(sample, "n_best_splits", self.n_best_splits)


@storable
@dataclass(frozen=True)
class RandomAttributes(Perturbation):
    """Random forests: every node chooses among attributes drawn for it.

    Parameters
    ----------
    max_features : int, float, "sqrt", "log2" or None, default="sqrt"
        How many.
    """

    max_features: int | float | str | None = "sqrt"

    def apply(self, sample: Sample, draw: Draw) -> Sample:
        """Set `max_features`."""
        return with_option(sample, "max_features", self.max_features)


@storable
@dataclass(frozen=True)
class RandomThresholds(Perturbation):
    """Extra trees: an attribute's threshold is drawn uniformly between its least and largest value in the node."""

    def apply(self, sample: Sample, draw: Draw) -> Sample:
        """Set `splitter`."""
        return with_option(sample, "splitter", "random")
