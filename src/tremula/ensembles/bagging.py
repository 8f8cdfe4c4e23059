"""Bagging: members on bootstrap samples; dagging: on disjoint parts; random subspaces: on some attributes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sklearn.base import BaseEstimator

from tremula.ensembles.base.ensemble import EnsembleClassifier, EnsembleRegressor
from tremula.persistence.registry import storable
from tremula.perturb import AttributeSubset, Bootstrap, DisjointParts, Perturbation
from tremula.seeds import RandomState
from tremula.trees.c45 import C45Classifier
from tremula.trees.reptree import REPTreeRegressor


@storable
class BaggingClassifier(EnsembleClassifier):
    """Bagging: every member is trained on a bootstrap sample of the rows.

    Parameters
    ----------
    estimator : estimator or None, default=None
        What is trained; by default an unpruned C4.5 tree.
    n_estimators : int or "auto", default=100
        Members. "auto" trains them until the loss on rows left out has settled; `oob_trace_` keeps it.
    max_estimators : int, default=1000
        Members at most, with "auto".
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
    >>> from tremula import BaggingClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> BaggingClassifier(n_estimators=10, random_state=0).fit(X, y).predict(X[:3])
    array([0, 0, 0])
    """

    def __init__(
        self,
        estimator: Any = None,
        n_estimators: int | str = 100,
        max_estimators: int = 1000,
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
        self.estimator = estimator
        self.n_estimators = n_estimators
        self.max_estimators = max_estimators
        self.max_samples = max_samples
        self.bootstrap = bootstrap
        self.combine = combine
        self.oob_score = oob_score
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.categorical_features = categorical_features
        self.random_state = random_state
        self.verbose = verbose

    def _perturbations(self) -> Sequence[Perturbation]:
        return [Bootstrap(self.max_samples, self.bootstrap)]

    def _default_estimator(self) -> BaseEstimator:
        return C45Classifier(confidence=None)


@storable
class BaggingRegressor(EnsembleRegressor):
    """Bagging: every member is trained on a bootstrap sample of the rows.

    Parameters
    ----------
    estimator : estimator or None, default=None
        What is trained; by default an unpruned REPTree.
    n_estimators : int or "auto", default=100
        Members. "auto" trains them until the loss on rows left out has settled; `oob_trace_` keeps it.
    max_estimators : int, default=1000
        Members at most, with "auto".
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
    >>> from tremula import BaggingRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> BaggingRegressor(n_estimators=10, random_state=0).fit(X, y).predict(X[:3]).shape
    (3,)
    """

    def __init__(
        self,
        estimator: Any = None,
        n_estimators: int | str = 100,
        max_estimators: int = 1000,
        max_samples: float = 1.0,
        bootstrap: bool = True,
        oob_score: bool = False,
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
        self.oob_score = oob_score
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.categorical_features = categorical_features
        self.random_state = random_state
        self.verbose = verbose

    def _perturbations(self) -> Sequence[Perturbation]:
        return [Bootstrap(self.max_samples, self.bootstrap)]

    def _default_estimator(self) -> BaseEstimator:
        return REPTreeRegressor(prune=False)


@storable
class DaggingClassifier(EnsembleClassifier):
    """Dagging: every member is trained on a part of the rows of its own.

    Parameters
    ----------
    estimator : estimator or None, default=None
        What is trained; by default a C4.5 tree.
    n_estimators : int, default=10
        Members.
    combine : {"vote", "average"}, default="average"
        Whether members vote, ties to the first class, or their class distributions are averaged.
    oob_score : bool, default=False
        Whether to judge the ensemble on the rows each member left out.
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
    The parts have about the same mix of classes. With `warm_start` the parts would change with the number of
    members, so it is refused.

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
        combine: str = "average",
        oob_score: bool = False,
        n_jobs: int | None = None,
        categorical_features: Any = "from_dtype",
        random_state: RandomState = None,
        verbose: int = 0,
    ) -> None:
        self.estimator = estimator
        self.n_estimators = n_estimators
        self.combine = combine
        self.oob_score = oob_score
        self.n_jobs = n_jobs
        self.categorical_features = categorical_features
        self.random_state = random_state
        self.verbose = verbose

    def _perturbations(self) -> Sequence[Perturbation]:
        return [DisjointParts()]

    def _default_estimator(self) -> BaseEstimator:
        return C45Classifier()


@storable
class RandomSubspaceClassifier(EnsembleClassifier):
    """Random subspaces: every member sees all rows and some of the attributes.

    Parameters
    ----------
    estimator : estimator or None, default=None
        What is trained; by default an unpruned C4.5 tree.
    n_estimators : int, default=100
        Members.
    max_features : float or int, default=0.5
        Attributes a member sees: a share of all, rounded, or a count.
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
        max_features: float = 0.5,
        combine: str = "average",
        oob_score: bool = False,
        warm_start: bool = False,
        n_jobs: int | None = None,
        categorical_features: Any = "from_dtype",
        random_state: RandomState = None,
        verbose: int = 0,
    ) -> None:
        self.estimator = estimator
        self.n_estimators = n_estimators
        self.max_features = max_features
        self.combine = combine
        self.oob_score = oob_score
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.categorical_features = categorical_features
        self.random_state = random_state
        self.verbose = verbose

    def _perturbations(self) -> Sequence[Perturbation]:
        return [AttributeSubset(self.max_features)]

    def _default_estimator(self) -> BaseEstimator:
        return C45Classifier(confidence=None)
