"""Random forests and extra trees: chance inside the tree, at every node."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sklearn.base import BaseEstimator

from tremula.ensembles.base.ensemble import EnsembleClassifier, EnsembleRegressor
from tremula.persistence.registry import storable
from tremula.perturb import Bootstrap, Perturbation, RandomAttributes, RandomThresholds
from tremula.seeds import RandomState
from tremula.trees.cart import CARTClassifier, CARTRegressor


@storable
class RandomForestClassifier(EnsembleClassifier):
    """Random forest: bootstrap samples, and every node chooses among attributes drawn for it.

    Parameters
    ----------
    n_estimators : int or "auto", default=100
        Members. "auto" trains them until the loss on rows left out has settled; `oob_trace_` keeps it.
    max_estimators : int, default=1000
        Members at most, with "auto".
    criterion : {"gini", "entropy", "gain_ratio", "symmetric_uncertainty"}, default="gini"
        What a split is worth.
    max_features : int, float, "sqrt", "log2" or None, default="sqrt"
        Attributes drawn at each node to choose the split from; None is all.
    max_depth : int or None, default=None
        Splits on a path at most.
    min_samples_leaf : float, default=1
        Fewest rows on either side of a split.
    max_samples : float or int, default=1.0
        Rows drawn for a member: a share of all, or a count.
    bootstrap : bool, default=True
        Whether rows are drawn with replacement.
    combine : {"vote", "average"}, default="average"
        Whether members vote, ties to the first class, or their class distributions are averaged.
    oob_score : bool, default=False
        Whether to judge the ensemble on the rows each member left out.
    warm_start : bool, default=False
        Whether another `fit` keeps the members there are and adds those wanting; the result is as if all had been
        trained at once.
    n_jobs : int or None, default=None
        Members trained at the same time; threads, unless a `joblib.parallel_config` names another backend.
    categorical_features : "from_dtype", "all", list, mask or None, default="from_dtype"
        Which columns are nominal, for tremula's trees; see the guide to columns.
    random_state : int, RandomState, Generator or None, default=None
        The same seed gives the same members, bit for bit, for any `n_jobs`.
    verbose : int, default=0
        With 1, a progress bar is shown.

    Attributes
    ----------
    members_ : list
        The trained members: trees, or fitted estimators.
    classes_ : array
        The class labels.
    oob_score_ : float
        Accuracy on rows left out, if `oob_score`; `oob_decision_function_` has the distributions behind it,
        `inbag_counts_` how often each member had each row.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tremula import RandomForestClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> RandomForestClassifier(n_estimators=10, random_state=0).fit(X, y).predict(X[:3])
    array([0, 0, 0])
    """

    def __init__(
        self,
        n_estimators: int | str = 100,
        max_estimators: int = 1000,
        criterion: str = "gini",
        max_features: int | float | str | None = "sqrt",
        max_depth: int | None = None,
        min_samples_leaf: float = 1,
        max_samples: float = 1.0,
        bootstrap: bool = True,
        combine: str = "average",
        oob_score: bool = False,
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
        self.max_depth = max_depth
        self.min_samples_leaf = min_samples_leaf
        self.max_samples = max_samples
        self.bootstrap = bootstrap
        self.combine = combine
        self.oob_score = oob_score
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.categorical_features = categorical_features
        self.random_state = random_state
        self.verbose = verbose

    estimator = None

    def _perturbations(self) -> Sequence[Perturbation]:
        return [Bootstrap(self.max_samples, self.bootstrap), RandomAttributes(self.max_features)]

    def _default_estimator(self) -> BaseEstimator:
        return CARTClassifier(
            criterion=self.criterion, max_depth=self.max_depth, min_samples_leaf=self.min_samples_leaf
        )


@storable
class RandomForestRegressor(EnsembleRegressor):
    """Random forest: bootstrap samples, and every node chooses among attributes drawn for it.

    Parameters
    ----------
    n_estimators : int or "auto", default=100
        Members. "auto" trains them until the loss on rows left out has settled; `oob_trace_` keeps it.
    max_estimators : int, default=1000
        Members at most, with "auto".
    criterion : {"variance", "fifth_root_variance"}, default="variance"
        What a split is worth.
    max_features : int, float, "sqrt", "log2" or None, default=1.0
        Attributes drawn at each node to choose the split from; None is all.
    max_depth : int or None, default=None
        Splits on a path at most.
    min_samples_leaf : float, default=1
        Fewest rows on either side of a split.
    max_samples : float or int, default=1.0
        Rows drawn for a member: a share of all, or a count.
    bootstrap : bool, default=True
        Whether rows are drawn with replacement.
    oob_score : bool, default=False
        Whether to judge the ensemble on the rows each member left out.
    warm_start : bool, default=False
        Whether another `fit` keeps the members there are and adds those wanting; the result is as if all had been
        trained at once.
    n_jobs : int or None, default=None
        Members trained at the same time; threads, unless a `joblib.parallel_config` names another backend.
    categorical_features : "from_dtype", "all", list, mask or None, default="from_dtype"
        Which columns are nominal, for tremula's trees; see the guide to columns.
    random_state : int, RandomState, Generator or None, default=None
        The same seed gives the same members, bit for bit, for any `n_jobs`.
    verbose : int, default=0
        With 1, a progress bar is shown.

    Attributes
    ----------
    members_ : list
        The trained members: trees, or fitted estimators.
    oob_score_ : float
        R squared on rows left out, if `oob_score`; `oob_prediction_` has the predictions behind it,
        `inbag_counts_` how often each member had each row.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from tremula import RandomForestRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> RandomForestRegressor(n_estimators=10, random_state=0).fit(X, y).predict(X[:3]).shape
    (3,)
    """

    def __init__(
        self,
        n_estimators: int | str = 100,
        max_estimators: int = 1000,
        criterion: str = "variance",
        max_features: int | float | str | None = 1.0,
        max_depth: int | None = None,
        min_samples_leaf: float = 1,
        max_samples: float = 1.0,
        bootstrap: bool = True,
        oob_score: bool = False,
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
        self.max_depth = max_depth
        self.min_samples_leaf = min_samples_leaf
        self.max_samples = max_samples
        self.bootstrap = bootstrap
        self.oob_score = oob_score
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.categorical_features = categorical_features
        self.random_state = random_state
        self.verbose = verbose

    estimator = None

    def _perturbations(self) -> Sequence[Perturbation]:
        return [Bootstrap(self.max_samples, self.bootstrap), RandomAttributes(self.max_features)]

    def _default_estimator(self) -> BaseEstimator:
        return CARTRegressor(criterion=self.criterion, max_depth=self.max_depth, min_samples_leaf=self.min_samples_leaf)


@storable
class ExtraTreesClassifier(EnsembleClassifier):
    """Extra trees: all rows, attributes drawn at every node, and a threshold drawn for each of them.

    Parameters
    ----------
    n_estimators : int, default=100
        Members.
    criterion : {"gini", "entropy", "gain_ratio", "symmetric_uncertainty"}, default="gini"
        What a split is worth.
    max_features : int, float, "sqrt", "log2" or None, default="sqrt"
        Attributes drawn at each node to choose the split from; None is all.
    max_depth : int or None, default=None
        Splits on a path at most.
    min_samples_leaf : float, default=1
        Fewest rows on either side of a split.
    combine : {"vote", "average"}, default="average"
        Whether members vote, ties to the first class, or their class distributions are averaged.
    oob_score : bool, default=False
        Whether to judge the ensemble on the rows each member left out.
    warm_start : bool, default=False
        Whether another `fit` keeps the members there are and adds those wanting; the result is as if all had been
        trained at once.
    n_jobs : int or None, default=None
        Members trained at the same time; threads, unless a `joblib.parallel_config` names another backend.
    categorical_features : "from_dtype", "all", list, mask or None, default="from_dtype"
        Which columns are nominal, for tremula's trees; see the guide to columns.
    random_state : int, RandomState, Generator or None, default=None
        The same seed gives the same members, bit for bit, for any `n_jobs`.
    verbose : int, default=0
        With 1, a progress bar is shown.

    Attributes
    ----------
    members_ : list
        The trained members: trees, or fitted estimators.
    classes_ : array
        The class labels.
    oob_score_ : float
        Accuracy on rows left out, if `oob_score`; `oob_decision_function_` has the distributions behind it.

    Notes
    -----
    A nominal attribute is split in the best way.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tremula import ExtraTreesClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> ExtraTreesClassifier(n_estimators=10, random_state=0).fit(X, y).predict(X[:3])
    array([0, 0, 0])
    """

    def __init__(
        self,
        n_estimators: int = 100,
        criterion: str = "gini",
        max_features: int | float | str | None = "sqrt",
        max_depth: int | None = None,
        min_samples_leaf: float = 1,
        combine: str = "average",
        oob_score: bool = False,
        warm_start: bool = False,
        n_jobs: int | None = None,
        categorical_features: Any = "from_dtype",
        random_state: RandomState = None,
        verbose: int = 0,
    ) -> None:
        self.n_estimators = n_estimators
        self.criterion = criterion
        self.max_features = max_features
        self.max_depth = max_depth
        self.min_samples_leaf = min_samples_leaf
        self.combine = combine
        self.oob_score = oob_score
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.categorical_features = categorical_features
        self.random_state = random_state
        self.verbose = verbose

    estimator = None

    def _perturbations(self) -> Sequence[Perturbation]:
        return [RandomAttributes(self.max_features), RandomThresholds()]

    def _default_estimator(self) -> BaseEstimator:
        return CARTClassifier(
            criterion=self.criterion, max_depth=self.max_depth, min_samples_leaf=self.min_samples_leaf
        )


@storable
class ExtraTreesRegressor(EnsembleRegressor):
    """Extra trees: all rows, attributes drawn at every node, and a threshold drawn for each of them.

    Parameters
    ----------
    n_estimators : int, default=100
        Members.
    criterion : {"variance", "fifth_root_variance"}, default="variance"
        What a split is worth.
    max_features : int, float, "sqrt", "log2" or None, default=1.0
        Attributes drawn at each node to choose the split from; None is all.
    max_depth : int or None, default=None
        Splits on a path at most.
    min_samples_leaf : float, default=1
        Fewest rows on either side of a split.
    oob_score : bool, default=False
        Whether to judge the ensemble on the rows each member left out.
    warm_start : bool, default=False
        Whether another `fit` keeps the members there are and adds those wanting; the result is as if all had been
        trained at once.
    n_jobs : int or None, default=None
        Members trained at the same time; threads, unless a `joblib.parallel_config` names another backend.
    categorical_features : "from_dtype", "all", list, mask or None, default="from_dtype"
        Which columns are nominal, for tremula's trees; see the guide to columns.
    random_state : int, RandomState, Generator or None, default=None
        The same seed gives the same members, bit for bit, for any `n_jobs`.
    verbose : int, default=0
        With 1, a progress bar is shown.

    Attributes
    ----------
    members_ : list
        The trained members: trees, or fitted estimators.
    oob_score_ : float
        R squared on rows left out, if `oob_score`; `oob_prediction_` has the predictions behind it.

    Notes
    -----
    A nominal attribute is split in the best way.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from tremula import ExtraTreesRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> ExtraTreesRegressor(n_estimators=10, random_state=0).fit(X, y).predict(X[:3]).shape
    (3,)
    """

    def __init__(
        self,
        n_estimators: int = 100,
        criterion: str = "variance",
        max_features: int | float | str | None = 1.0,
        max_depth: int | None = None,
        min_samples_leaf: float = 1,
        oob_score: bool = False,
        warm_start: bool = False,
        n_jobs: int | None = None,
        categorical_features: Any = "from_dtype",
        random_state: RandomState = None,
        verbose: int = 0,
    ) -> None:
        self.n_estimators = n_estimators
        self.criterion = criterion
        self.max_features = max_features
        self.max_depth = max_depth
        self.min_samples_leaf = min_samples_leaf
        self.oob_score = oob_score
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.categorical_features = categorical_features
        self.random_state = random_state
        self.verbose = verbose

    estimator = None

    def _perturbations(self) -> Sequence[Perturbation]:
        return [RandomAttributes(self.max_features), RandomThresholds()]

    def _default_estimator(self) -> BaseEstimator:
        return CARTRegressor(criterion=self.criterion, max_depth=self.max_depth, min_samples_leaf=self.min_samples_leaf)
