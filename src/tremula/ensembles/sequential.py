"""What ensembles share whose members are trained one after the other, each with regard to those before it."""

from __future__ import annotations

from collections.abc import Sequence

from sklearn.base import BaseEstimator

from tremula.ensembles.base.ensemble import EnsembleClassifier
from tremula.perturb import Perturbation
from tremula.trees.c45 import C45Classifier


class SequentialClassifier(EnsembleClassifier):
    """Base of AdaBoost.M1, boosting with three members, and Decorate; all rows are used, and none is out-of-bag."""

    combine = "vote"
    bootstrap = False
    oob_score = False
    warm_start = False
    n_jobs = None
    verbose = 0

    def _perturbations(self) -> Sequence[Perturbation]:
        return []

    def _default_estimator(self) -> BaseEstimator:
        return C45Classifier(confidence=None)
