"""Randomized C4.5: no resampling; every node takes one of the best splits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sklearn.base import BaseEstimator

from tremula.ensembles.base.ensemble import EnsembleClassifier
from tremula.ensembles.base.groups import DrawnGroupsMixin
from tremula.parameters import with_parameters
from tremula.parameters.table import BOOTSTRAP_OF_CLASSES_OR_ALL_ROWS, CLASS_WEIGHT_OF_MEMBERS, OWN_COLUMNS
from tremula.persistence.registry import storable
from tremula.perturb import Perturbation, RandomSplits
from tremula.seeds import RandomState
from tremula.trees.c45 import C45Classifier


@storable
@with_parameters(
    class_weight=CLASS_WEIGHT_OF_MEMBERS,
    estimator="The estimator to fit as a member; an unpruned C4.5 tree by default.",
    categorical_features=OWN_COLUMNS,
    bootstrap=BOOTSTRAP_OF_CLASSES_OR_ALL_ROWS,
)
class RandomizedC45Classifier(DrawnGroupsMixin, EnsembleClassifier):
    """Randomized C4.5: each node draws its split uniformly from the best splits; all rows are used.

    Attributes
    ----------
    members_ : list
        The trained members: trees, or fitted estimators.
    classes_ : array
        The class labels.
    oob_score_ : float
        Out-of-bag accuracy, if `oob_score`. `oob_decision_function_` has the out-of-bag class distributions.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tremula import RandomizedC45Classifier
    >>> X, y = load_iris(return_X_y=True)
    >>> RandomizedC45Classifier(n_estimators=10, random_state=0).fit(X, y).predict(X[:3])
    array([0, 0, 0])
    """

    def __init__(
        self,
        estimator: Any = None,
        n_estimators: int = 200,
        *,
        n_best_splits: int = 20,
        combine: str = "vote",
        bootstrap: bool | str = False,
        oob_score: Any = False,
        warm_start: bool = False,
        n_jobs: int | None = None,
        class_weight: Any = None,
        categorical_features: Any = "from_dtype",
        random_state: RandomState = None,
        verbose: int = 0,
    ) -> None:
        self.estimator = estimator
        self.n_estimators = n_estimators
        self.n_best_splits = n_best_splits
        self.combine = combine
        self.bootstrap = bootstrap
        self.oob_score = oob_score
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.class_weight = class_weight
        self.categorical_features = categorical_features
        self.random_state = random_state
        self.verbose = verbose

    def _perturbations(self) -> Sequence[Perturbation]:
        return [*self._bootstrap_rows(), RandomSplits(self.n_best_splits)]

    def _default_estimator(self) -> BaseEstimator:
        return C45Classifier(confidence=None)
