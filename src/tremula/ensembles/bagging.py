"""Bagging: members on bootstrap samples; dagging: on disjoint parts; random subspaces: on some attributes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sklearn.base import BaseEstimator

from tremula.ensembles.base.ensemble import EnsembleClassifier, EnsembleRegressor
from tremula.ensembles.base.groups import DrawnGroupsMixin
from tremula.parameters import Parameter, with_parameters
from tremula.parameters.kinds import ATTRIBUTE_COUNT
from tremula.parameters.table import (
    BOOTSTRAP_OF_CLASSES,
    BOOTSTRAP_OF_CLASSES_OR_ALL_ROWS,
    CLASS_WEIGHT_OF_MEMBERS,
    N_ESTIMATORS_OR_AUTO,
    OWN_COLUMNS,
)
from tremula.persistence.registry import storable
from tremula.perturb import AttributeSubset, DisjointParts, Perturbation
from tremula.perturb.special_bootstraps import row_draws
from tremula.seeds import RandomState
from tremula.trees.c45 import C45Classifier
from tremula.trees.reptree import REPTreeRegressor


@storable
@with_parameters(
    bootstrap=BOOTSTRAP_OF_CLASSES,
    class_weight=CLASS_WEIGHT_OF_MEMBERS,
    estimator="The estimator to fit as a member; an unpruned C4.5 tree by default.",
    n_estimators=N_ESTIMATORS_OR_AUTO,
    categorical_features=OWN_COLUMNS,
)
class BaggingClassifier(DrawnGroupsMixin, EnsembleClassifier):
    """Bagging: each member is trained on a bootstrap sample of the rows.

    Attributes
    ----------
    members_ : list
        The trained members: trees, or fitted estimators.
    classes_ : array
        The class labels; of several targets, a list of arrays.
    n_outputs_ : int
        Number of targets, several only with CART trees as members.
    oob_score_ : float
        Out-of-bag accuracy, if `oob_score`. `oob_decision_function_` has the out-of-bag class distributions, and
        `inbag_counts_` the number of times that each member drew each row.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tremula import BaggingClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> BaggingClassifier(n_estimators=10, random_state=0).fit(X, y).predict(X[:3])
    array([0, 0, 0])
    """

    _leaves_targets_alone = True

    def __init__(
        self,
        estimator: Any = None,
        n_estimators: int | str = 100,
        *,
        max_estimators: int = 1000,
        max_samples: float = 1.0,
        bootstrap: bool | str = True,
        block_length: int | None = None,
        combine: str = "average",
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
        self.max_estimators = max_estimators
        self.max_samples = max_samples
        self.bootstrap = bootstrap
        self.block_length = block_length
        self.combine = combine
        self.oob_score = oob_score
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.class_weight = class_weight
        self.categorical_features = categorical_features
        self.random_state = random_state
        self.verbose = verbose

    def _perturbations(self) -> Sequence[Perturbation]:
        return row_draws(self.max_samples, self.bootstrap, self.block_length)

    def _default_estimator(self) -> BaseEstimator:
        return C45Classifier(confidence=None)


@storable
@with_parameters(
    estimator="The estimator to fit as a member; an unpruned REPTree by default.",
    n_estimators=N_ESTIMATORS_OR_AUTO,
    categorical_features=OWN_COLUMNS,
)
class BaggingRegressor(DrawnGroupsMixin, EnsembleRegressor):
    """Bagging: each member is trained on a bootstrap sample of the rows.

    Attributes
    ----------
    members_ : list
        The trained members: trees, or fitted estimators.
    n_outputs_ : int
        Number of targets, several only with CART trees as members.
    oob_score_ : float
        Out-of-bag R squared, if `oob_score`. `oob_prediction_` has the out-of-bag predictions, and `inbag_counts_` the
        number of times that each member drew each row.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from tremula import BaggingRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> BaggingRegressor(n_estimators=10, random_state=0).fit(X, y).predict(X[:3]).shape
    (3,)
    """

    _leaves_targets_alone = True

    def __init__(
        self,
        estimator: Any = None,
        n_estimators: int | str = 100,
        *,
        max_estimators: int = 1000,
        max_samples: float = 1.0,
        bootstrap: bool = True,
        block_length: int | None = None,
        oob_score: Any = False,
        warm_start: bool = False,
        n_jobs: int | None = None,
        categorical_features: Any = "from_dtype",
        random_state: RandomState = None,
        verbose: int = 0,
    ) -> None:
        self.estimator = estimator
        self.n_estimators = n_estimators
        self.max_estimators = max_estimators
        self.max_samples = max_samples
        self.bootstrap = bootstrap
        self.block_length = block_length
        self.oob_score = oob_score
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.categorical_features = categorical_features
        self.random_state = random_state
        self.verbose = verbose

    def _perturbations(self) -> Sequence[Perturbation]:
        return row_draws(self.max_samples, self.bootstrap, self.block_length)

    def _default_estimator(self) -> BaseEstimator:
        return REPTreeRegressor(prune=False)


@storable
@with_parameters(
    estimator="The estimator to fit as a member; a pruned C4.5 tree by default.",
    categorical_features=OWN_COLUMNS,
)
class DaggingClassifier(EnsembleClassifier):
    """Dagging: each member is trained on its own disjoint part of the rows.

    Attributes
    ----------
    members_ : list
        The trained members: trees, or fitted estimators.
    classes_ : array
        The class labels.
    oob_score_ : float
        Out-of-bag accuracy, if `oob_score`. `oob_decision_function_` has the out-of-bag class distributions.

    Notes
    -----
    The parts are stratified by class. `warm_start` is not possible, since the parts would change with the number of
    members.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tremula import DaggingClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> DaggingClassifier(n_estimators=10, random_state=0).fit(X, y).predict(X[:3])
    array([0, 0, 0])
    """

    warm_start = False

    def __init__(
        self,
        estimator: Any = None,
        n_estimators: int = 10,
        *,
        combine: str = "average",
        oob_score: Any = False,
        n_jobs: int | None = None,
        class_weight: Any = None,
        categorical_features: Any = "from_dtype",
        random_state: RandomState = None,
        verbose: int = 0,
    ) -> None:
        self.estimator = estimator
        self.n_estimators = n_estimators
        self.combine = combine
        self.oob_score = oob_score
        self.n_jobs = n_jobs
        self.class_weight = class_weight
        self.categorical_features = categorical_features
        self.random_state = random_state
        self.verbose = verbose

    def _perturbations(self) -> Sequence[Perturbation]:
        return [DisjointParts()]

    def _default_estimator(self) -> BaseEstimator:
        return C45Classifier()


@storable
@with_parameters(
    class_weight=CLASS_WEIGHT_OF_MEMBERS,
    estimator="The estimator to fit as a member; an unpruned C4.5 tree by default.",
    max_features=Parameter(ATTRIBUTE_COUNT, "Attributes that a member sees: a share of all, rounded, or a count."),
    categorical_features=OWN_COLUMNS,
    bootstrap=BOOTSTRAP_OF_CLASSES_OR_ALL_ROWS,
)
class RandomSubspaceClassifier(DrawnGroupsMixin, EnsembleClassifier):
    """Random subspaces: each member is trained on all rows and a random subset of the attributes.

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
    >>> from tremula import RandomSubspaceClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> RandomSubspaceClassifier(n_estimators=10, random_state=0).fit(X, y).predict(X[:3])
    array([0, 0, 0])
    """

    def __init__(
        self,
        estimator: Any = None,
        n_estimators: int = 100,
        *,
        max_features: float = 0.5,
        combine: str = "average",
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
        self.max_features = max_features
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
        return [*self._bootstrap_rows(), AttributeSubset(self.max_features)]

    def _default_estimator(self) -> BaseEstimator:
        return C45Classifier(confidence=None)
