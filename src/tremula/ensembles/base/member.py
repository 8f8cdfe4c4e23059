"""Trains one member from one sample: tremula's trees from columns sorted once, other estimators by rows or weights.

Every member predicts from the columns of the ensemble, and in its class codes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, clone
from sklearn.dummy import DummyClassifier
from sklearn.utils.validation import has_fit_parameter

from tremula.combine import Member, largest
from tremula.data.encoding import ColumnEncoder
from tremula.data.take import take_columns, take_rows
from tremula.ensembles.smeared_table import replace_values
from tremula.errors import InvalidInput, InvalidParameter
from tremula.persistence.registry import storable
from tremula.persistence.soundness import require, require_numbers
from tremula.perturb.sample import Noise, Sample, Values
from tremula.trees.columns import Columns
from tremula.trees.learner import TreeClassifier, TreeLearner

SPARSE_NOISE = "X is sparse, and noise would leave no value 0: give X.toarray(), or no noise"


class Trainer(Protocol):
    """Trains members from a table."""

    def train(self, sample: Sample, random: np.random.Generator) -> Member:
        """Train a member from a sample of the rows."""

    def rows(self, chosen: np.ndarray) -> Any:
        """Return some training rows in the form that members take."""

    def values(self) -> Values:
        """Return the table as numbers, for perturbations that learn from it."""


def with_options(estimator: BaseEstimator, options: Mapping[str, Any]) -> BaseEstimator:
    """Return a copy of the estimator with the parameters set by the perturbations."""
    unknown = [name for name in options if name not in estimator.get_params()]
    if unknown:
        raise InvalidParameter(
            f"a perturbation sets {unknown[0]!r}, which {type(estimator).__name__} does not have: use it with a tree "
            "that has it, such as C45Classifier (n_best_splits) or CARTClassifier (max_features, splitter)"
        )
    return clone(estimator).set_params(**options)


def with_noise(values: np.ndarray, rows: np.ndarray, noise: Sequence[Noise]) -> np.ndarray:
    """Return a copy of these rows of the values, with noise."""
    smeared = np.take(values, rows, axis=0)
    for each in noise:
        smeared = each.smear(smeared, rows)
    return smeared


@dataclass(frozen=True)
class TreeTrainer:
    """Grows tremula's trees."""

    learner: TreeLearner
    columns: Columns

    def train(self, sample: Sample, random: np.random.Generator) -> Member:
        """Grow a tree from the sample; columns are copied and sorted again only if noise changed the values."""
        if sample.noise:
            return self._train_on_noise(sample, random)
        learner = self._learner_with(sample.options) if sample.options else self.learner
        if isinstance(learner, TreeClassifier):
            given = (self.columns, sample.target, sample.n_classes, sample.weights, random, sample.attributes)
            return learner.grow(*given)
        member: Member = learner.grow(self.columns, sample.target, sample.weights, random, sample.attributes)
        return member

    def _learner_with(self, options: Mapping[str, Any]) -> TreeLearner:
        """Return the learner with these options; members usually have the same ones."""
        key = tuple(options.items())
        if key not in self._learners:
            learner: Any = with_options(self.learner, options)
            learner._check_parameters()
            self._learners[key] = learner
        return self._learners[key]

    @cached_property
    def _learners(self) -> dict[tuple[tuple[str, Any], ...], TreeLearner]:
        return {}

    def _train_on_noise(self, sample: Sample, random: np.random.Generator) -> Member:
        rows, alone = sample.expand_copies()
        columns = self.learner.sort(with_noise(self.columns.values, rows, sample.noise), self.columns.n_levels)
        columns = replace(columns, serves_once=self.learner._grows_once(), ignored=self.columns.ignored)
        return TreeTrainer(self.learner, columns).train(alone, random)

    def rows(self, chosen: np.ndarray) -> Any:
        """Return some training rows in the form that members take."""
        return self.columns.values[chosen]

    def values(self) -> Values:
        """Return the table as numbers."""
        if self.columns.is_sparse:
            raise InvalidInput(SPARSE_NOISE)
        return Values(self.columns.values, self.columns.n_levels)


@dataclass(frozen=True)
class EstimatorTrainer:
    """Fits estimators of any other kind."""

    estimator: BaseEstimator
    table: Any
    categorical_features: Any = "from_dtype"

    def train(self, sample: Sample, random: np.random.Generator) -> Member:
        """Fit a copy of the estimator: integer weights repeat rows, real ones are passed as `sample_weight`."""
        if sample.noise:
            rows, alone = sample.expand_copies()
            values = self.values()
            smeared = with_noise(values.values, rows, sample.noise)
            table = replace_values(self.table, rows, values, smeared)
            return EstimatorTrainer(self.estimator, table).train(alone, random)
        estimator = with_options(self.estimator, sample.options)
        if sample.n_classes and _has_one_class(sample):
            estimator = DummyClassifier()  # many estimators refuse rows of one class
        seeds = {name: int(random.integers(2**31 - 1)) for name in estimator.get_params() if _is_seed(name)}
        estimator.set_params(**seeds)
        table = self.table if sample.attributes is None else take_columns(self.table, sample.attributes)
        weights = sample.weights
        if weights is None:
            estimator.fit(table, sample.target)
        elif weights.dtype.kind in "iu":
            rows = np.repeat(np.arange(sample.n_rows), weights)
            estimator.fit(take_rows(table, rows), sample.target[rows])
        elif has_fit_parameter(estimator, "sample_weight"):
            estimator.fit(table, sample.target, sample_weight=weights)
        else:
            raise InvalidParameter(
                f"{type(estimator).__name__} does not take sample_weight, but its rows have weights here: use an "
                "estimator that does, or resample the rows"
            )
        return EstimatorMember(estimator, sample.attributes, sample.n_classes)

    def rows(self, chosen: np.ndarray) -> Any:
        """Return some training rows in the form that members take."""
        return take_rows(self.table, chosen)

    def values(self) -> Values:
        """Return the table as numbers."""
        return self._values

    @cached_property
    def _values(self) -> Values:
        if issparse(self.table):
            raise InvalidInput(SPARSE_NOISE)
        encoder, values = ColumnEncoder.learn(self.table, self.categorical_features)
        return Values(values, encoder.n_levels)


def _has_one_class(sample: Sample) -> bool:
    codes = sample.target if sample.weights is None else sample.target[sample.weights > 0]
    return bool((codes == codes[0]).all())


def _is_seed(name: str) -> bool:
    return name == "random_state" or name.endswith("__random_state")


@storable
@dataclass(frozen=True)
class EstimatorMember:
    """A fitted estimator that predicts from the ensemble's columns, in its class codes."""

    estimator: BaseEstimator
    attributes: np.ndarray | None
    n_classes: int

    def check_fits(self, n_levels: np.ndarray | None, n_outputs: int) -> None:
        """Raise ValueError unless the estimator belongs to an ensemble with these outputs; for models from files."""
        require(self.n_classes in (0, n_outputs) and (self.n_classes or n_outputs == 1), "a member has other classes")
        require(hasattr(self.estimator, "n_features_in_"), "a member is not trained")
        if self.attributes is not None:
            require_numbers("attributes", self.attributes, (self.estimator.n_features_in_,), "iu", 0)
        if self.n_classes:
            codes = np.asarray(self.estimator.classes_)
            require(codes.dtype.kind in "iu" and (codes >= 0).all(), "a member knows other classes")
            require((codes < self.n_classes).all(), "a member knows other classes")

    def _seen(self, X: Any) -> Any:
        return X if self.attributes is None else take_columns(X, self.attributes)

    def importances(self, n_attributes: int) -> np.ndarray:
        """Return the estimator's own importances, 0 for attributes it was not trained on."""
        if isinstance(self.estimator, DummyClassifier):
            return np.zeros(n_attributes)
        if not hasattr(self.estimator, "feature_importances_"):
            raise AttributeError(f"{type(self.estimator).__name__} members have no feature_importances_")
        shares = np.zeros(n_attributes)
        shares[slice(None) if self.attributes is None else self.attributes] = self.estimator.feature_importances_
        return shares

    def predict_codes(self, X: Any) -> np.ndarray:
        """Class code of each row."""
        return np.asarray(self.estimator.predict(self._seen(X))).astype(np.intp)

    def predict_values(self, X: Any) -> np.ndarray:
        """Class distribution of each row, 0 for classes that were not in the sample; or the value of each row."""
        if not self.n_classes:
            return np.asarray(self.estimator.predict(self._seen(X)), dtype=np.float64)[:, None]
        shares = self.estimator.predict_proba(self._seen(X))
        values = np.zeros((len(shares), self.n_classes))
        values[:, np.asarray(self.estimator.classes_).astype(np.intp)] = shares
        return values


@dataclass(frozen=True)
class PerClassTrainer:
    """Trains a regressor for each class, on a target with one column per class."""

    trainer: Trainer

    def train(self, sample: Sample, random: np.random.Generator) -> Member:
        """Train the regressors one after the other."""
        columns = [np.ascontiguousarray(column) for column in sample.target.T]
        samples = [replace(sample, target=column, n_classes=0) for column in columns]
        return PerClassMember([self.trainer.train(each, random) for each in samples])

    def rows(self, chosen: np.ndarray) -> Any:
        """Return some training rows in the form that members take."""
        return self.trainer.rows(chosen)

    def values(self) -> Values:
        """Return the table as numbers."""
        return self.trainer.values()


@storable
@dataclass(frozen=True)
class PerClassMember:
    """Regressors, one for each class; the class with the largest value is predicted."""

    regressors: list[Member]

    def check_fits(self, n_levels: np.ndarray | None, n_outputs: int) -> None:
        """Raise ValueError unless there is a regressor for each class; for models from files."""
        require(len(self.regressors) == n_outputs, "a member has other classes")
        for regressor in self.regressors:
            regressor.check_fits(n_levels, 1)  # type: ignore[attr-defined]

    def predict_values(self, X: Any) -> np.ndarray:
        """Value of each row for each class; values need not sum to 1."""
        return np.concatenate([regressor.predict_values(X) for regressor in self.regressors], axis=1)

    def predict_codes(self, X: Any) -> np.ndarray:
        """Class code of each row."""
        return largest(self.predict_values(X))
