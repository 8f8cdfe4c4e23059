"""Random forests: bootstrap samples of the rows, and a random subset of the attributes at every node."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tremula.ensembles.base.ensemble import EnsembleClassifier, EnsembleRegressor
from tremula.ensembles.cart_ensemble import CARTEnsemble
from tremula.parameters import with_parameters
from tremula.parameters.kinds import choice
from tremula.parameters.table import (
    BOOTSTRAP_OF_CLASSES,
    CLASS_WEIGHT_OF_MEMBERS,
    N_ESTIMATORS_OR_AUTO,
)
from tremula.persistence.registry import storable
from tremula.perturb import Perturbation, RandomAttributes
from tremula.perturb.special_bootstraps import row_draws
from tremula.seeds import RandomState
from tremula.trees.cart import CARTClassifier, CARTRegressor
from tremula.trees.criteria import CLASSIFICATION, REGRESSION_NAMES


class _RandomForest(CARTEnsemble):
    """Base of the two random forests."""

    max_samples: float

    def _perturbations(self) -> Sequence[Perturbation]:
        drawn = row_draws(self.max_samples, self.bootstrap, self.block_length)
        return [*drawn, RandomAttributes(self.max_features)]


@storable
@with_parameters(
    bootstrap=BOOTSTRAP_OF_CLASSES,
    class_weight=CLASS_WEIGHT_OF_MEMBERS,
    n_estimators=N_ESTIMATORS_OR_AUTO,
    criterion=choice(CLASSIFICATION),
)
class RandomForestClassifier(_RandomForest, EnsembleClassifier):
    """Random forest: bootstrap samples of the rows, and a random subset of the attributes at each node.

    Attributes
    ----------
    members_ : list
        The trained members: trees, or fitted estimators.
    classes_ : array
        The class labels; of several targets, a list of arrays.
    n_outputs_ : int
        Number of targets.
    ignored_features_ : list of str
        Columns that name or number the rows and do not go with the target: no tree tests them, see `nominal`.
    oob_score_ : float
        Out-of-bag accuracy, if `oob_score`. `oob_decision_function_` has the out-of-bag class distributions, and
        `inbag_counts_` the number of times that each member drew each row.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tremula import RandomForestClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> RandomForestClassifier(n_estimators=10, random_state=0).fit(X, y).predict(X[:3])
    array([0, 0, 0])
    """

    _tree = CARTClassifier

    def __init__(
        self,
        n_estimators: int | str = 100,
        max_estimators: int = 1000,
        *,
        criterion: str = "gini",
        max_features: int | float | str | None = "sqrt",
        max_bins: int | None = None,
        missing: str = "branch",
        nominal: str = "auto",
        max_leaf_nodes: int | None = None,
        monotonic_cst: Any = None,
        max_depth: int | None = None,
        min_samples_split: float = 2,
        min_samples_leaf: float = 1,
        min_weight_fraction_leaf: float = 0.0,
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
        self.n_estimators = n_estimators
        self.max_estimators = max_estimators
        self.criterion = criterion
        self.max_features = max_features
        self.max_bins = max_bins
        self.missing = missing
        self.nominal = nominal
        self.max_leaf_nodes = max_leaf_nodes
        self.monotonic_cst = monotonic_cst
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
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


@storable
@with_parameters(
    n_estimators=N_ESTIMATORS_OR_AUTO,
    criterion=choice(REGRESSION_NAMES),
)
class RandomForestRegressor(_RandomForest, EnsembleRegressor):
    """Random forest: bootstrap samples of the rows, and a random subset of the attributes at each node.

    Attributes
    ----------
    members_ : list
        The trained members: trees, or fitted estimators.
    n_outputs_ : int
        Number of targets.
    ignored_features_ : list of str
        Columns that name or number the rows and do not go with the target: no tree tests them, see `nominal`.
    oob_score_ : float
        Out-of-bag R squared, if `oob_score`. `oob_prediction_` has the out-of-bag predictions, and `inbag_counts_` the
        number of times that each member drew each row.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from tremula import RandomForestRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> RandomForestRegressor(n_estimators=10, random_state=0).fit(X, y).predict(X[:3]).shape
    (3,)
    """

    _tree = CARTRegressor

    def __init__(
        self,
        n_estimators: int | str = 100,
        max_estimators: int = 1000,
        *,
        criterion: str = "variance",
        max_features: int | float | str | None = 1.0,
        max_bins: int | None = None,
        missing: str = "branch",
        nominal: str = "auto",
        max_leaf_nodes: int | None = None,
        monotonic_cst: Any = None,
        max_depth: int | None = None,
        min_samples_split: float = 2,
        min_samples_leaf: float = 1,
        min_weight_fraction_leaf: float = 0.0,
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
        self.n_estimators = n_estimators
        self.max_estimators = max_estimators
        self.criterion = criterion
        self.max_features = max_features
        self.max_bins = max_bins
        self.missing = missing
        self.nominal = nominal
        self.max_leaf_nodes = max_leaf_nodes
        self.monotonic_cst = monotonic_cst
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.max_samples = max_samples
        self.bootstrap = bootstrap
        self.block_length = block_length
        self.oob_score = oob_score
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.categorical_features = categorical_features
        self.random_state = random_state
        self.verbose = verbose
