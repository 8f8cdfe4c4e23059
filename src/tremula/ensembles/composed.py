"""Perturb and combine in the open: any estimator, any list of perturbations, any combiner."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sklearn.base import BaseEstimator

from tremula.ensembles.base.ensemble import Ensemble, EnsembleClassifier, EnsembleRegressor
from tremula.ensembles.base.groups import DrawnGroupsMixin
from tremula.errors import InvalidParameter
from tremula.parameters import with_parameters
from tremula.parameters.kinds import Kind
from tremula.parameters.table import N_ESTIMATORS_OR_AUTO, OWN_COLUMNS
from tremula.persistence.registry import storable
from tremula.perturb import Perturbation
from tremula.seeds import RandomState
from tremula.trees.c45 import C45Classifier
from tremula.trees.reptree import REPTreeRegressor


def check_perturbations(name: str, given: Any) -> None:
    """Raise an error if this is not a list of perturbations."""
    if given is None:
        return
    if not isinstance(given, list | tuple):
        raise InvalidParameter(f"{name}={given!r} was given; expected a list, such as [Bootstrap(), RandomSplits()]")
    for item in given:
        if not isinstance(item, Perturbation):
            raise InvalidParameter(
                f"{name} holds {item!r}, which is no perturbation: take those of tremula.perturb, such as Bootstrap()"
            )


class _PerturbCombine(DrawnGroupsMixin, Ensemble):
    """An ensemble whose perturbations are given as a list."""

    perturb: Any

    _how_to_leave_rows_out = "add Bootstrap() to perturb, or set oob_score=False"

    def _perturbations(self) -> Sequence[Perturbation]:
        return list(self.perturb or ())


@storable
@with_parameters(
    estimator="The estimator to fit as a member; an unpruned C4.5 tree by default.",
    n_estimators=N_ESTIMATORS_OR_AUTO,
    perturb=Kind("list of perturbations or None", check_perturbations),
    categorical_features=OWN_COLUMNS,
)
class PerturbCombineClassifier(_PerturbCombine, EnsembleClassifier):
    """An ensemble of classifiers, each trained on perturbed data; their predictions are combined.

    Attributes
    ----------
    members_ : list
        The trained members: trees, or fitted estimators.
    classes_ : array
        The class labels.
    oob_score_ : float
        Out-of-bag accuracy, if `oob_score`. `oob_decision_function_` has the out-of-bag class distributions, and
        `inbag_counts_` the number of times that each member drew each row.

    Examples
    --------
    Bagged, randomized C4.5:

    >>> from sklearn.datasets import load_iris
    >>> from tremula import PerturbCombineClassifier
    >>> from tremula.perturb import Bootstrap, RandomSplits
    >>> X, y = load_iris(return_X_y=True)
    >>> ensemble = PerturbCombineClassifier(perturb=[Bootstrap(), RandomSplits(20)], n_estimators=10, random_state=0)
    >>> ensemble.fit(X, y).predict(X[:3])
    array([0, 0, 0])
    """

    def __init__(
        self,
        estimator: Any = None,
        perturb: Any = None,
        *,
        n_estimators: int | str = 100,
        max_estimators: int = 1000,
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
        self.perturb = perturb
        self.n_estimators = n_estimators
        self.max_estimators = max_estimators
        self.combine = combine
        self.oob_score = oob_score
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.class_weight = class_weight
        self.categorical_features = categorical_features
        self.random_state = random_state
        self.verbose = verbose

    def _default_estimator(self) -> BaseEstimator:
        return C45Classifier(confidence=None)


@storable
@with_parameters(
    estimator="The estimator to fit as a member; an unpruned REPTree by default.",
    n_estimators=N_ESTIMATORS_OR_AUTO,
    perturb=Kind("list of perturbations or None", check_perturbations),
    categorical_features=OWN_COLUMNS,
)
class PerturbCombineRegressor(_PerturbCombine, EnsembleRegressor):
    """An ensemble of regressors, each trained on perturbed data; their predictions are averaged.

    Attributes
    ----------
    members_ : list
        The trained members: trees, or fitted estimators.
    oob_score_ : float
        Out-of-bag R squared, if `oob_score`. `oob_prediction_` has the out-of-bag predictions, and `inbag_counts_` the
        number of times that each member drew each row.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.linear_model import LinearRegression
    >>> from tremula import PerturbCombineRegressor
    >>> from tremula.perturb import AttributeSubset
    >>> X, y = load_diabetes(return_X_y=True)
    >>> ensemble = PerturbCombineRegressor(LinearRegression(), [AttributeSubset(5)], n_estimators=10, random_state=0)
    >>> ensemble.fit(X, y).predict(X[:3]).shape
    (3,)
    """

    def __init__(
        self,
        estimator: Any = None,
        perturb: Any = None,
        *,
        n_estimators: int | str = 100,
        max_estimators: int = 1000,
        oob_score: Any = False,
        warm_start: bool = False,
        n_jobs: int | None = None,
        categorical_features: Any = "from_dtype",
        random_state: RandomState = None,
        verbose: int = 0,
    ) -> None:
        self.estimator = estimator
        self.perturb = perturb
        self.n_estimators = n_estimators
        self.max_estimators = max_estimators
        self.oob_score = oob_score
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.categorical_features = categorical_features
        self.random_state = random_state
        self.verbose = verbose

    def _default_estimator(self) -> BaseEstimator:
        return REPTreeRegressor(prune=False)
