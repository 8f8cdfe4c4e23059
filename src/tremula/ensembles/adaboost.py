"""AdaBoost.M1: rows that the last member got wrong weigh more for the next."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import has_fit_parameter

from tremula.combine import Member
from tremula.ensembles.base.callbacks import MemberTasks
from tremula.ensembles.base.member import Trainer
from tremula.ensembles.sequential import SequentialClassifier
from tremula.errors import InvalidParameter
from tremula.parameters import with_parameters
from tremula.parameters.table import OWN_COLUMNS
from tremula.persistence.registry import storable
from tremula.perturb import Sample
from tremula.seeds import RandomState, make_root_seed, member_generator
from tremula.trees.learner import TreeLearner

# A member without training error would have an infinite vote; it counts as if it erred on this share.
LEAST_ERROR = 1e-10
# A member that repeats the one before errs on exactly a half, but for rounding.
HALF = 0.5 - 1e-12


@storable
@with_parameters(
    estimator="The estimator to fit as a member; an unpruned C4.5 tree by default.",
    n_estimators="Maximum number of members.",
    random_state="Draws the rows, with `resample`, and whatever the estimator draws.",
    categorical_features=OWN_COLUMNS,
)
class AdaBoostM1Classifier(SequentialClassifier):
    """AdaBoost.M1 of Freund and Schapire, with weights or with resampling.

    Attributes
    ----------
    members_ : list
        The trained members, in order.
    member_weights_ : array
        Their votes, log(1 / beta) with beta = error / (1 - error).
    member_errors_ : array
        Their weighted training errors.
    row_weights_ : array (n_members, n_rows)
        Row weights of each round, if `keep_weights`; they sum to the number of rows (or to the sum of
        `sample_weight`).
    stopped_ : str
        Why training stopped: "enough", "no error", "error of a half or more", or "callback".
    classes_ : array
        The class labels.

    Notes
    -----
    Boosting stops at a member whose weighted error is a half or more, and drops it; if it is the first, it is kept as
    the only one. Boosting also stops at a member without error, which gets the vote for an error of 1e-10.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tremula import AdaBoostM1Classifier
    >>> X, y = load_iris(return_X_y=True)
    >>> AdaBoostM1Classifier(n_estimators=10).fit(X, y).predict(X[:3])
    array([0, 0, 0])
    """

    member_errors_: NDArray[np.float64]
    stopped_: str
    row_weights_: np.ndarray  # set by fit with keep_weights=True

    def __init__(
        self,
        estimator: Any = None,
        n_estimators: int = 100,
        *,
        resample: bool = False,
        keep_weights: bool = False,
        categorical_features: Any = "from_dtype",
        random_state: RandomState = None,
    ) -> None:
        self.estimator = estimator
        self.n_estimators = n_estimators
        self.resample = resample
        self.keep_weights = keep_weights
        self.categorical_features = categorical_features
        self.random_state = random_state

    def _check_parameters(self) -> None:
        super()._check_parameters()
        estimator = self._member_estimator()
        if (
            not self.resample
            and not isinstance(estimator, TreeLearner)
            and not has_fit_parameter(estimator, "sample_weight")
        ):
            raise InvalidParameter(
                f"{type(estimator).__name__} does not take sample_weight, which boosting by weighting needs: set "
                "resample=True, or use an estimator that takes weights"
            )

    def _fit_members(self, trainer: Trainer, sample: Sample, n_outputs: int, tasks: MemberTasks) -> None:
        members: list[Member] = []
        errors: list[float] = []
        kept_weights: list[np.ndarray] = []
        weights = np.ones(sample.n_rows) if sample.weights is None else sample.weights.copy()
        total = weights.sum()
        every_row = trainer.rows(np.arange(sample.n_rows))
        root_seed = make_root_seed(self.random_state)
        self.stopped_ = "enough"
        tasks.begin(self._ceiling())
        for member_number in range(self._ceiling()):
            tasks.begin_member()
            random = member_generator(root_seed, member_number)
            member = trainer.train(replace(sample, weights=self._weights_to_train(weights, random)), random)
            wrong = member.predict_codes(every_row) != sample.target
            error = float(weights[wrong].sum() / total)
            if error < HALF or not members:
                members.append(member)
                errors.append(error)
                kept_weights.append(weights)
            is_stopped = tasks.end_member(
                lambda: {"members_": list(members), "member_weights_": votes_of(np.array(errors))}
            )
            if error >= HALF:
                self.stopped_ = "error of a half or more"
                break
            if error <= 0.0:
                self.stopped_ = "no error"
                break
            if is_stopped:
                self.stopped_ = "callback"
                break
            weights = np.where(wrong, weights, weights * (error / (1.0 - error)))
            weights *= total / weights.sum()
        self.members_ = members
        self.member_errors_ = np.array(errors)
        self.member_weights_ = votes_of(self.member_errors_)
        self.__dict__.pop("row_weights_", None)
        if self.keep_weights:
            self.row_weights_ = np.array(kept_weights)

    def _weights_to_train(self, weights: np.ndarray, random: np.random.Generator) -> np.ndarray:
        """Return the weights themselves, or how often each row was drawn by them."""
        if not self.resample:
            return weights
        drawn = random.choice(len(weights), size=len(weights), p=weights / weights.sum())
        return np.bincount(drawn, minlength=len(weights))


def votes_of(errors: np.ndarray) -> np.ndarray:
    """Return log((1 - error) / error), a single vote for a first member that is no better than chance.

    Examples
    --------
    >>> import numpy as np
    >>> votes_of(np.array([0.25])).round(4)
    array([1.0986])
    """
    bounded = np.maximum(errors, LEAST_ERROR)
    return np.where(errors >= HALF, 1.0, np.log(np.maximum(1.0 - bounded, LEAST_ERROR) / bounded))
