"""Extra trees: a random subset of the attributes at every node, and a random threshold for each of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tremula.ensembles.base.ensemble import EnsembleClassifier, EnsembleRegressor
from tremula.ensembles.cart_ensemble import CARTEnsemble
from tremula.parameters import with_parameters
from tremula.parameters.kinds import choice
from tremula.parameters.table import (
    BOOTSTRAP_OF_CLASSES_OR_ALL_ROWS,
    BOOTSTRAP_OR_ALL_ROWS,
    CLASS_WEIGHT_OF_MEMBERS,
)
from tremula.persistence.registry import storable
from tremula.perturb import Perturbation, RandomAttributes, RandomThresholds
from tremula.seeds import RandomState
from tremula.trees.cart import CARTClassifier, CARTRegressor
from tremula.trees.criteria import CLASSIFICATION, REGRESSION_NAMES


class _ExtraTrees(CARTEnsemble):
    """Base of the two ensembles of extra trees."""

    def _perturbations(self) -> Sequence[Perturbation]:
        return [*self._bootstrap_rows(), RandomAttributes(self.max_features), RandomThresholds()]


@storable
@with_parameters(
    class_weight=CLASS_WEIGHT_OF_MEMBERS,
    criterion=choice(CLASSIFICATION),
    bootstrap=BOOTSTRAP_OF_CLASSES_OR_ALL_ROWS,
)
class ExtraTreesClassifier(_ExtraTrees, EnsembleClassifier):
    """Extra trees: all rows, and at each node a random subset of the attributes with a random threshold for each.

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
        Out-of-bag accuracy, if `oob_score`. `oob_decision_function_` has the out-of-bag class distributions.

    Notes
    -----
    Thresholds are drawn for numeric attributes and for numbers of levels (see `nominal`). Subsets are not drawn.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tremula import ExtraTreesClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> ExtraTreesClassifier(n_estimators=10, random_state=0).fit(X, y).predict(X[:3])
    array([0, 0, 0])
    """

    _tree = CARTClassifier

    def __init__(
        self,
        n_estimators: int = 100,
        criterion: str = "gini",
        *,
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
        combine: str = "average",
        bootstrap: bool | str = False,
        block_length: int | None = None,
        oob_score: Any = False,
        warm_start: bool = False,
        n_jobs: int | None = None,
        class_weight: Any = None,
        categorical_features: Any = "from_dtype",
        random_state: RandomState = None,
        verbose: int = 0,
    ) -> None:
        self.n_estimators = n_estimators
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
        self.combine = combine
        self.bootstrap = bootstrap
        self.block_length = block_length
        self.oob_score = oob_score
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.class_weight = class_weight
        self.categorical_features = categorical_features
        self.random_state = random_state
        self.verbose = verbose


@storable
@with_parameters(
    criterion=choice(REGRESSION_NAMES),
    bootstrap=BOOTSTRAP_OR_ALL_ROWS,
)
class ExtraTreesRegressor(_ExtraTrees, EnsembleRegressor):
    """Extra trees: all rows, and at each node a random subset of the attributes with a random threshold for each.

    Attributes
    ----------
    members_ : list
        The trained members: trees, or fitted estimators.
    n_outputs_ : int
        Number of targets.
    ignored_features_ : list of str
        Columns that name or number the rows and do not go with the target: no tree tests them, see `nominal`.
    oob_score_ : float
        Out-of-bag R squared, if `oob_score`. `oob_prediction_` has the out-of-bag predictions.

    Notes
    -----
    Thresholds are drawn for numeric attributes and for numbers of levels (see `nominal`). Subsets are not drawn.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from tremula import ExtraTreesRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> ExtraTreesRegressor(n_estimators=10, random_state=0).fit(X, y).predict(X[:3]).shape
    (3,)
    """

    _tree = CARTRegressor

    def __init__(
        self,
        n_estimators: int = 100,
        criterion: str = "variance",
        *,
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
        bootstrap: bool = False,
        block_length: int | None = None,
        oob_score: Any = False,
        warm_start: bool = False,
        n_jobs: int | None = None,
        categorical_features: Any = "from_dtype",
        random_state: RandomState = None,
        verbose: int = 0,
    ) -> None:
        self.n_estimators = n_estimators
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
        self.bootstrap = bootstrap
        self.block_length = block_length
        self.oob_score = oob_score
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.categorical_features = categorical_features
        self.random_state = random_state
        self.verbose = verbose
