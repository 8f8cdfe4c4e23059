"""Output smearing and flipping: the target is perturbed, and all rows and attributes are kept."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from tremula.combine import largest
from tremula.ensembles.base.callbacks import MemberTasks
from tremula.ensembles.base.ensemble import EnsembleClassifier, EnsembleRegressor
from tremula.ensembles.base.member import PerClassTrainer, Trainer
from tremula.parameters import Parameter, with_parameters
from tremula.parameters.kinds import AMOUNT, choice
from tremula.parameters.table import BOOTSTRAP_OR_ALL_ROWS, OWN_COLUMNS
from tremula.persistence.registry import storable
from tremula.perturb import FlippedClasses, Perturbation, Sample, SmearedTarget
from tremula.perturb.targets import SmearedClasses
from tremula.seeds import RandomState
from tremula.trees.c45 import C45Classifier
from tremula.trees.cart import CARTRegressor
from tremula.trees.reptree import REPTreeRegressor

METHODS = ("flip", "smear")


def as_shares(outputs: np.ndarray) -> np.ndarray:
    """Return outputs of regressors as class distributions with the same largest class.

    Examples
    --------
    >>> import numpy as np
    >>> as_shares(np.array([[-0.1, 0.3, 0.9], [-0.3, -0.2, -0.5]]))
    array([[0.  , 0.25, 0.75],
           [0.  , 1.  , 0.  ]])
    """
    shares = np.maximum(outputs, 0.0)
    is_none = shares.sum(axis=1) <= 0.0
    shares[is_none, largest(outputs)[is_none]] = 1.0
    return np.asarray(shares / shares.sum(axis=1, keepdims=True))


@storable
@with_parameters(
    estimator='The estimator to fit as a member; by default an unpruned C4.5 tree, or with "smear" a fully grown CART '
    "regression tree.",
    method=Parameter(
        choice(METHODS),
        '"flip" gives some rows another class. "smear" turns each class into a column of 0 and 1, adds noise to it, '
        "and fits a regressor to each column: a member has as many regressors as there are classes.",
    ),
    rate='With "flip", the share of rows that change class; the class proportions stay the same in expectation.',
    noise=Parameter(AMOUNT, 'With "smear", the amount of noise, in standard deviations of a column.'),
    combine='Whether members vote, with ties going to the first class, or their class distributions (with "smear", the '
    "outputs of their regressors) are averaged.",
    categorical_features=OWN_COLUMNS,
    bootstrap=BOOTSTRAP_OR_ALL_ROWS,
)
class OutputSmearingClassifier(EnsembleClassifier):
    """Output flipping or smearing: each member is trained on perturbed classes.

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
    Breiman (2000) describes both. In his smearing one tree has an output for each class, and its splits minimize the
    squared errors of all outputs together. Here each class has its own tree, so a member consists of as many trees as
    there are classes. In `predict_proba` negative outputs count as 0; this does not change the largest output.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tremula import OutputSmearingClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> OutputSmearingClassifier(n_estimators=10, random_state=0).fit(X, y).predict(X[:3])
    array([0, 0, 0])
    >>> OutputSmearingClassifier(n_estimators=10, method="smear", random_state=0).fit(X, y).predict(X[:3])
    array([0, 0, 0])
    """

    def __init__(
        self,
        estimator: Any = None,
        n_estimators: int = 100,
        *,
        method: str = "flip",
        rate: float = 0.2,
        noise: float = 1.0,
        combine: str = "average",
        bootstrap: bool = False,
        oob_score: Any = False,
        warm_start: bool = False,
        n_jobs: int | None = None,
        categorical_features: Any = "from_dtype",
        random_state: RandomState = None,
        verbose: int = 0,
    ) -> None:
        self.estimator = estimator
        self.n_estimators = n_estimators
        self.method = method
        self.rate = rate
        self.noise = noise
        self.combine = combine
        self.bootstrap = bootstrap
        self.oob_score = oob_score
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.categorical_features = categorical_features
        self.random_state = random_state
        self.verbose = verbose

    def _perturbations(self) -> Sequence[Perturbation]:
        perturbation = SmearedClasses(self.noise) if self.method == "smear" else FlippedClasses(self.rate)
        return [*self._bootstrap_rows(), perturbation]

    def _default_estimator(self) -> BaseEstimator:
        return CARTRegressor() if self.method == "smear" else C45Classifier(confidence=None)

    def _learns_by_regression(self) -> bool:
        return self.method == "smear"

    def _fit_members(self, trainer: Trainer, sample: Sample, n_outputs: int, tasks: MemberTasks) -> None:
        if self.method == "smear":
            trainer = PerClassTrainer(trainer)
        super()._fit_members(trainer, sample, n_outputs, tasks)

    def _as_outputs(self, combined: np.ndarray) -> np.ndarray:
        return as_shares(combined) if self.method == "smear" and self.combine == "average" else combined


@storable
@with_parameters(
    estimator="The estimator to fit as a member; an unpruned REPTree by default.",
    noise=Parameter(AMOUNT, "Amount of noise, in robust standard deviations of the target."),
    categorical_features=OWN_COLUMNS,
    bootstrap=BOOTSTRAP_OR_ALL_ROWS,
)
class OutputSmearingRegressor(EnsembleRegressor):
    """Output smearing: each member is trained on a target with Gaussian noise.

    Attributes
    ----------
    members_ : list
        The trained members: trees, or fitted estimators.
    oob_score_ : float
        Out-of-bag R squared, if `oob_score`. `oob_prediction_` has the out-of-bag predictions.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from tremula import OutputSmearingRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> OutputSmearingRegressor(n_estimators=10, random_state=0).fit(X, y).predict(X[:3]).shape
    (3,)
    """

    def __init__(
        self,
        estimator: Any = None,
        n_estimators: int = 100,
        *,
        noise: float = 1.0,
        bootstrap: bool = False,
        oob_score: Any = False,
        warm_start: bool = False,
        n_jobs: int | None = None,
        categorical_features: Any = "from_dtype",
        random_state: RandomState = None,
        verbose: int = 0,
    ) -> None:
        self.estimator = estimator
        self.n_estimators = n_estimators
        self.noise = noise
        self.bootstrap = bootstrap
        self.oob_score = oob_score
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.categorical_features = categorical_features
        self.random_state = random_state
        self.verbose = verbose

    def _perturbations(self) -> Sequence[Perturbation]:
        return [*self._bootstrap_rows(), SmearedTarget(self.noise)]

    def _default_estimator(self) -> BaseEstimator:
        return REPTreeRegressor(prune=False)
