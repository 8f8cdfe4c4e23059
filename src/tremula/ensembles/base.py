"""Perturb, train, combine: what all ensembles do. A recipe says what is shaken and which estimator is trained.

Each member has a random stream of its own, derived from one root seed and the member's number; so the same seed gives
the same members for any number of jobs, and more members can be added later.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, clone
from sklearn.utils.validation import check_is_fitted, validate_data

from tremula.columns import ColumnEncoder, read_columns, read_training_columns
from tremula.combine import COMBINERS, Member, add_answers, combine_members, largest
from tremula.ensembles.members import EstimatorTrainer, TreeTrainer
from tremula.errors import InvalidParameter
from tremula.parallel import train_members
from tremula.parameters import check_choice, check_flag, check_number
from tremula.perturb.sample import Draw, Perturbation, Sample
from tremula.seeds import make_root_seed, member_generator
from tremula.targets import read_classes, read_target, read_weights
from tremula.trees.learner import TreeLearner

Trainer = TreeTrainer | EstimatorTrainer


@dataclass(frozen=True)
class Training:
    """All that is needed to train any member, anywhere."""

    trainer: Trainer
    sample: Sample
    perturbations: Sequence[Perturbation]
    n_members: int
    root_seed: int
    with_left_out: bool

    def sample_of(self, member: int) -> tuple[Sample, np.random.Generator]:
        """Return what a member is trained on, and its stream of random numbers as the drawing left it."""
        random = member_generator(self.root_seed, member)
        draw = Draw(member, self.n_members, random, self.root_seed)
        sample = self.sample
        for perturbation in self.perturbations:
            sample = perturbation.apply(sample, draw)
        return sample, random

    def left_out(self, sample: Sample) -> np.ndarray:
        """Return the rows that could have been in the sample and are not."""
        eligible = np.ones(sample.n_rows, bool) if self.sample.weights is None else self.sample.weights > 0
        return np.flatnonzero(eligible & (sample.weights == 0)) if sample.weights is not None else np.empty(0, np.intp)

    def __call__(self, members: Sequence[int]) -> list[tuple[Member, np.ndarray]]:
        """Train these members; with each goes the list of rows it left out, if those are wanted."""
        trained = []
        for member in members:
            sample, random = self.sample_of(member)
            rows = self.left_out(sample) if self.with_left_out else np.empty(0, np.intp)
            trained.append((self.trainer.train(sample, random), rows))
        return trained


class Ensemble(BaseEstimator):
    """Base of the ensembles; a recipe adds parameters, `_perturbations` and `_default_estimator`."""

    estimator: Any
    n_estimators: int
    oob_score: bool
    warm_start: bool
    n_jobs: int | None
    random_state: Any
    verbose: int
    categorical_features: Any

    members_: list[Member]
    encoder_: ColumnEncoder | None
    _root_seed: int

    @abstractmethod
    def _perturbations(self) -> Sequence[Perturbation]:
        """Return what is shaken for every member."""

    @abstractmethod
    def _default_estimator(self) -> BaseEstimator:
        """Return the estimator that is trained where none is given."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.estimator is None or isinstance(self.estimator, TreeLearner)
        return tags

    def _check_parameters(self) -> None:
        check_number("n_estimators", self.n_estimators, 1, whole=True)
        for name in ("oob_score", "warm_start"):
            check_flag(name, getattr(self, name))
        if self.oob_score and not any(p.leaves_rows_out for p in self._perturbations()):
            raise InvalidParameter(
                "oob_score=True was given, but every member is trained on all rows: nothing is left out to judge it by"
            )

    # ---- reading tables

    def _member_estimator(self) -> BaseEstimator:
        return self._default_estimator() if self.estimator is None else clone(self.estimator)

    def _read_training_table(self, X: Any) -> tuple[Trainer, int, int]:
        """Return who trains members, the number of rows and that of attributes."""
        estimator = self._member_estimator()
        if isinstance(estimator, TreeLearner):
            estimator._check_parameters()
            encoder, values = read_training_columns(self, X, self.categorical_features)
            self.encoder_ = encoder
            return TreeTrainer(estimator, estimator.sort(values, encoder.n_levels)), *values.shape
        self.encoder_ = None
        table = self._read_foreign(X, reset=True)
        return EstimatorTrainer(estimator, table), table.shape[0], self.n_features_in_

    def _read_foreign(self, X: Any, reset: bool) -> Any:
        """Return the table as other estimators take it: they check it themselves."""
        if hasattr(X, "__dataframe__") or hasattr(X, "columns"):
            return validate_data(self, X, reset=reset, skip_check_array=True)
        return validate_data(self, X, reset=reset, dtype=None, accept_sparse="csr", ensure_all_finite=False)

    def _read_table(self, X: Any) -> Any:
        check_is_fitted(self, "members_")
        return self._read_foreign(X, reset=False) if self.encoder_ is None else read_columns(self, self.encoder_, X)

    # ---- training

    def _train(self, trainer: Trainer, sample: Sample) -> Iterator[tuple[Member, np.ndarray]]:
        """Train the members that are wanting, in order."""
        perturbations = self._perturbations()
        for perturbation in perturbations:
            perturbation.check(sample)
        first = len(self._members_to_keep())
        root_seed = self._root_seed if first else make_root_seed(self.random_state)
        self._root_seed = root_seed
        training = Training(trainer, sample, perturbations, self.n_estimators, root_seed, self.oob_score)
        return train_members(training, range(first, self.n_estimators), self.n_jobs, self.verbose)

    def _members_to_keep(self) -> list[Member]:
        kept = list(getattr(self, "members_", [])) if self.warm_start else []
        if len(kept) > self.n_estimators:
            raise InvalidParameter(
                f"n_estimators={self.n_estimators} is less than the {len(kept)} members there are: with warm_start=True "
                "members are only added; set warm_start=False to begin anew"
            )
        return kept

    def _fit_members(self, trainer: Trainer, sample: Sample, n_outputs: int, combine: str) -> None:
        """Train, and add up the answers for the rows each member left out."""
        members = self._members_to_keep()
        if self.oob_score:
            total, counts = self._oob_so_far(bool(members), (sample.n_rows, n_outputs))
        for member, rows in self._train(trainer, sample):
            members.append(member)
            if len(rows):
                part = np.zeros((len(rows), n_outputs))
                add_answers(part, member, trainer.rows(rows), combine)
                total[rows] += part
                counts[rows] += 1
        self.members_ = members
        if self.oob_score:
            self._oob_total, self._oob_counts = total, counts

    def _oob_so_far(self, keep: bool, shape: tuple[int, int]) -> tuple[np.ndarray, np.ndarray]:
        if keep and hasattr(self, "_oob_total"):
            return self._oob_total.copy(), self._oob_counts.copy()
        if keep:
            raise InvalidParameter(
                "oob_score=True was set after members had been trained without it: fit again with warm_start=False"
            )
        return np.zeros(shape), np.zeros(shape[0], np.int64)

    @property
    def estimators_(self) -> list[Any]:
        """The members: trees, or the fitted estimators."""
        check_is_fitted(self, "members_")
        return [getattr(member, "estimator", member) for member in self.members_]

    def __len__(self) -> int:
        """Return the number of members."""
        return len(self.members_)


def mean_where_counted(total: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Return totals per count, NaN where there is none."""
    return np.divide(total, counts[:, None], out=np.full(total.shape, np.nan), where=counts[:, None] > 0)


class EnsembleClassifier(ClassifierMixin, Ensemble):
    """Base of the ensembles that learn classes."""

    combine: str

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_choice("combine", self.combine, COMBINERS)
        estimator = self._member_estimator()
        if self.combine == "average" and not hasattr(estimator, "predict_proba"):
            raise InvalidParameter(
                f"combine='average' needs class probabilities, which {type(estimator).__name__} does not give: use "
                "combine='vote', or an estimator with predict_proba"
            )

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Train the members.

        Parameters
        ----------
        X : array, data frame or table of shape (n_rows, n_attributes)
        y : array of shape (n_rows,)
            Class labels of any type.
        sample_weight : array of shape (n_rows,), optional
            Row weights.

        Returns
        -------
        self
        """
        self._check_parameters()
        trainer, n_rows, n_attributes = self._read_training_table(X)
        weights = read_weights(sample_weight, n_rows)
        self.classes_, codes = read_classes(y, n_rows, weights)
        self.n_classes_ = len(self.classes_)
        sample = Sample(codes, self.n_classes_, n_attributes, weights)
        self._fit_members(trainer, sample, self.n_classes_, self.combine)
        if self.oob_score:
            self.oob_decision_function_ = mean_where_counted(self._oob_total, self._oob_counts)
            judged = self._oob_counts > 0
            self.oob_score_ = float(np.mean(largest(self._oob_total[judged]) == codes[judged]))
        return self

    def predict_proba(self, X: Any) -> np.ndarray:
        """Class distribution of each row: the mean of the members', or their shares of the vote.

        Parameters
        ----------
        X : array, data frame or table of shape (n_rows, n_attributes)

        Returns
        -------
        array of shape (n_rows, n_classes)
        """
        rows = self._read_table(X)
        weights = getattr(self, "member_weights_", None)
        return combine_members(self.members_, rows, rows.shape[0], self.n_classes_, self.combine, weights)

    def predict(self, X: Any) -> np.ndarray:
        """Class of each row; ties go to the first class.

        Parameters
        ----------
        X : array, data frame or table of shape (n_rows, n_attributes)

        Returns
        -------
        array of shape (n_rows,)
        """
        shares = self.predict_proba(X)
        return self.classes_[largest(shares)]


class EnsembleRegressor(RegressorMixin, Ensemble):
    """Base of the ensembles that learn numbers."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Train the members.

        Parameters
        ----------
        X : array, data frame or table of shape (n_rows, n_attributes)
        y : array of shape (n_rows,)
            Finite numbers.
        sample_weight : array of shape (n_rows,), optional
            Row weights.

        Returns
        -------
        self
        """
        self._check_parameters()
        trainer, n_rows, n_attributes = self._read_training_table(X)
        weights = read_weights(sample_weight, n_rows)
        target = read_target(y, n_rows, weights)
        sample = Sample(target, 0, n_attributes, weights)
        self._fit_members(trainer, sample, 1, "average")
        if self.oob_score:
            self.oob_prediction_ = mean_where_counted(self._oob_total, self._oob_counts)[:, 0]
            judged = self._oob_counts > 0
            errors = (self.oob_prediction_[judged] - target[judged]) ** 2
            self.oob_score_ = float(1.0 - errors.mean() / target[judged].var())
        return self

    def predict(self, X: Any) -> np.ndarray:
        """Mean of the members' values for each row.

        Parameters
        ----------
        X : array, data frame or table of shape (n_rows, n_attributes)

        Returns
        -------
        array of shape (n_rows,)
        """
        rows = self._read_table(X)
        return combine_members(self.members_, rows, rows.shape[0], 1, "average")[:, 0]
