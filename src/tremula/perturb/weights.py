"""Perturbs the weights of rows: classes that weigh the same in every member."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from tremula.data.class_weights import balanced_weights
from tremula.errors import InvalidParameter
from tremula.persistence.registry import storable
from tremula.perturb.sample import Draw, Perturbation, Sample


@storable
@dataclass(frozen=True)
class BalancedWeights(Perturbation):
    """Weigh the classes of a member's rows so that all have the same total.

    Notes
    -----
    Rows are counted as often as they are drawn, so put it after perturbations that draw rows. It is what
    ``class_weight="balanced_subsample"`` does, as in scikit-learn's forests.

    Examples
    --------
    >>> from tremula import PerturbCombineClassifier
    >>> from tremula.perturb import BalancedWeights, Bootstrap
    >>> PerturbCombineClassifier(perturb=[Bootstrap(), BalancedWeights()])
    PerturbCombineClassifier(perturb=[Bootstrap(max_samples=1.0, bootstrap=True),
                                      BalancedWeights()])
    """

    def check(self, sample: Sample) -> None:
        """Raise InvalidParameter if the target is a number."""
        if not sample.n_classes:
            raise InvalidParameter("BalancedWeights weighs classes, and y has numbers: leave it out")

    def apply(self, sample: Sample, draw: Draw) -> Sample:
        """Multiply the weights of rows by those of their classes."""
        copies = np.ones(sample.n_rows, np.int64) if sample.copies is None else sample.copies
        of_rows = np.ones(sample.n_rows)
        for target in sample.target.reshape(sample.n_rows, -1).T:  # several targets have classes of their own
            counts = np.bincount(target, weights=copies, minlength=sample.n_classes)
            of_rows = of_rows * balanced_weights(counts)[target]
        return replace(sample, weights=of_rows if sample.weights is None else sample.weights * of_rows)
