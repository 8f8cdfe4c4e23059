"""Input smearing: bagging whose members see noise on every attribute value, at an amount given or chosen by the data.

With an amount of 0 it is bagging, bit for bit.
"""

from __future__ import annotations

from typing import Any

from sklearn.base import BaseEstimator

from tremula.ensembles.base.ensemble import EnsembleClassifier, EnsembleRegressor
from tremula.ensembles.smeared_bagging import SmearedBagging
from tremula.ensembles.smearing_noise import CLASS_LOSSES, NUMBER_LOSSES
from tremula.parameters import with_parameters
from tremula.parameters.kinds import choice
from tremula.parameters.table import AMOUNT_OF_NOISE, CLASS_WEIGHT_OF_MEMBERS, N_ESTIMATORS_OR_AUTO
from tremula.persistence.registry import storable
from tremula.seeds import RandomState
from tremula.trees.m5.regressor import M5Regressor
from tremula.trees.reptree import REPTreeClassifier


@storable
@with_parameters(
    class_weight=CLASS_WEIGHT_OF_MEMBERS,
    estimator="The estimator to fit as a member; an unpruned REPTree by default.",
    n_estimators=N_ESTIMATORS_OR_AUTO,
    noise=AMOUNT_OF_NOISE,
    scoring=choice(CLASS_LOSSES),
    warm_start="Whether another `fit` keeps the existing members and their amount of noise, and adds the missing ones.",
)
class SmearedBaggingClassifier(SmearedBagging, EnsembleClassifier):
    """Input smearing: each member is trained on a bootstrap sample with noise on its attribute values.

    Attributes
    ----------
    noise_ : float or array
        The amount of noise in training.
    distribution_ : str
        The distribution of the noise.
    noise_curve_ : NoiseCurve
        With "auto": the amounts tried of this distribution, their losses, and the number of members trained in all.
    members_ : list
        The trained members: trees, or fitted estimators.
    classes_ : array
        The class labels.
    oob_score_ : float
        Out-of-bag accuracy, if `oob_score`. `oob_decision_function_` has the out-of-bag class distributions, and
        `inbag_counts_` the number of times that each member drew each row. With "auto" the score is
        somewhat optimistic: the same rows chose the amount.

    Notes
    -----
    After Frank and Pfahringer, Improving on bagging with input smearing (PAKDD 2006).

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tremula import SmearedBaggingClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> ensemble = SmearedBaggingClassifier(n_estimators=10, random_state=0).fit(X, y)
    >>> ensemble.predict(X[:3])
    array([0, 0, 0])
    >>> ensemble.noise_curve_.amounts
    array([0.  , 0.05, 0.1 , 0.15, 0.2 , 0.25, 0.3 ])
    """

    _losses = CLASS_LOSSES

    def __init__(
        self,
        estimator: Any = None,
        noise: Any = "auto",
        *,
        n_estimators: int | str = 100,
        max_estimators: int = 1000,
        tuning: str = "oob",
        search: str = "halving",
        amounts: Any = None,
        cv: int = 5,
        scoring: str = "error",
        distribution: str = "gaussian",
        unit: str = "deviation",
        smear_nominal: bool = False,
        within_bounds: bool = False,
        keep_integers: bool = False,
        max_samples: float = 1.0,
        bootstrap: bool = True,
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
        self.noise = noise
        self.n_estimators = n_estimators
        self.max_estimators = max_estimators
        self.tuning = tuning
        self.search = search
        self.amounts = amounts
        self.cv = cv
        self.scoring = scoring
        self.distribution = distribution
        self.unit = unit
        self.smear_nominal = smear_nominal
        self.within_bounds = within_bounds
        self.keep_integers = keep_integers
        self.max_samples = max_samples
        self.bootstrap = bootstrap
        self.combine = combine
        self.oob_score = oob_score
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.class_weight = class_weight
        self.categorical_features = categorical_features
        self.random_state = random_state
        self.verbose = verbose

    def _default_estimator(self) -> BaseEstimator:
        return REPTreeClassifier(prune=False)


@storable
@with_parameters(
    estimator="The estimator to fit as a member; an unpruned model tree, M5', by default.",
    n_estimators=N_ESTIMATORS_OR_AUTO,
    noise=AMOUNT_OF_NOISE,
    scoring=choice(NUMBER_LOSSES),
    warm_start="Whether another `fit` keeps the existing members and their amount of noise, and adds the missing ones.",
)
class SmearedBaggingRegressor(SmearedBagging, EnsembleRegressor):
    """Input smearing: each member is trained on a bootstrap sample with noise on its attribute values.

    Attributes
    ----------
    noise_ : float or array
        The amount of noise in training.
    distribution_ : str
        The distribution of the noise.
    noise_curve_ : NoiseCurve
        With "auto": the amounts tried of this distribution, their losses, and the number of members trained in all.
    members_ : list
        The trained members: trees, or fitted estimators.
    oob_score_ : float
        Out-of-bag R squared, if `oob_score`. `oob_prediction_` has the out-of-bag predictions, and `inbag_counts_` the
        number of times that each member drew each row. With "auto" the score is
        somewhat optimistic: the same rows chose the amount.

    Notes
    -----
    After Frank and Pfahringer, Improving on bagging with input smearing (PAKDD 2006).

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from tremula import SmearedBaggingRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> ensemble = SmearedBaggingRegressor(noise=0.2, n_estimators=10, random_state=0).fit(X, y)
    >>> ensemble.predict(X[:3]).shape
    (3,)
    """

    _losses = NUMBER_LOSSES

    def __init__(
        self,
        estimator: Any = None,
        noise: Any = "auto",
        *,
        n_estimators: int | str = 100,
        max_estimators: int = 1000,
        tuning: str = "oob",
        search: str = "halving",
        amounts: Any = None,
        cv: int = 5,
        scoring: str = "squared_error",
        distribution: str = "gaussian",
        unit: str = "deviation",
        smear_nominal: bool = False,
        within_bounds: bool = False,
        keep_integers: bool = False,
        max_samples: float = 1.0,
        bootstrap: bool = True,
        oob_score: Any = False,
        warm_start: bool = False,
        n_jobs: int | None = None,
        categorical_features: Any = "from_dtype",
        random_state: RandomState = None,
        verbose: int = 0,
    ) -> None:
        self.estimator = estimator
        self.noise = noise
        self.n_estimators = n_estimators
        self.max_estimators = max_estimators
        self.tuning = tuning
        self.search = search
        self.amounts = amounts
        self.cv = cv
        self.scoring = scoring
        self.distribution = distribution
        self.unit = unit
        self.smear_nominal = smear_nominal
        self.within_bounds = within_bounds
        self.keep_integers = keep_integers
        self.max_samples = max_samples
        self.bootstrap = bootstrap
        self.oob_score = oob_score
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.categorical_features = categorical_features
        self.random_state = random_state
        self.verbose = verbose

    def _default_estimator(self) -> BaseEstimator:
        return M5Regressor(prune=False)
