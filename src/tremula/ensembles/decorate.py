"""Decorate: members are trained with artificial rows added, of classes that the ensemble finds unlikely there."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from tremula.combine import Member, combine_members, largest
from tremula.ensembles.base.callbacks import MemberTasks
from tremula.ensembles.base.member import EstimatorTrainer, Trainer, TreeTrainer
from tremula.ensembles.base.table import name_columns
from tremula.ensembles.sequential import SequentialClassifier
from tremula.errors import InvalidParameter
from tremula.parameters import with_parameters
from tremula.persistence.registry import storable
from tremula.perturb import Sample
from tremula.seeds import RandomState, make_root_seed, member_generator
from tremula.trees.c45 import C45Classifier
from tremula.trees.learner import TreeLearner

# A class of a smaller share than this has none: its inverse would overflow.
LEAST_SHARE = 1e-300
# Sums of weights that are equal but for rounding.
SLACK = 1e-12


@storable
@with_parameters(
    estimator="The estimator to fit as a member; a pruned C4.5 tree by default.",
    n_estimators="Maximum number of members.",
    random_state="Draws the artificial rows, and whatever the estimator draws.",
)
class DecorateClassifier(SequentialClassifier):
    """Decorate of Melville and Mooney: artificial rows of unlikely classes make the members differ.

    Attributes
    ----------
    members_ : list
        The accepted members, in order.
    trials_ : int
        Number of members trained.
    trial_errors_ : array (n_trials,)
        Training error of the ensemble after each trial.
    trial_accepted_ : array of bool (n_trials,)
        Whether each member was accepted.
    classes_ : array
        The class labels.

    Notes
    -----
    The first member is trained on the training rows alone. For each further member artificial rows are drawn, each
    attribute independently: numbers from the normal distribution with the mean and standard deviation of the column,
    levels in proportion to their frequencies plus one; missing values are ignored. Classes are drawn with probabilities
    inversely proportional to those of the ensemble; if some classes have probability 0, one of these is drawn. The
    member is accepted if the error of the ensemble on the training rows does not rise. Its artificial rows are then
    discarded.

    Any estimator with `predict_proba` can be a member. Estimators other than tremula's trees get all columns as
    numbers, nominal ones as the codes of their levels. With `sample_weight` means, frequencies and errors are weighted,
    and the weight of an artificial row is the mean weight of the training rows.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tremula import DecorateClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = DecorateClassifier(random_state=0).fit(X, y)
    >>> len(model) <= model.trials_ <= 50
    True
    >>> model.predict(X[:3])
    array([0, 0, 0])
    """

    combine = "average"

    trials_: int
    trial_errors_: NDArray[np.float64]
    trial_accepted_: NDArray[np.bool_]

    def __init__(
        self,
        estimator: Any = None,
        n_estimators: int = 15,
        *,
        max_trials: int = 50,
        artificial_share: float = 1.0,
        categorical_features: Any = "from_dtype",
        random_state: RandomState = None,
    ) -> None:
        self.estimator = estimator
        self.n_estimators = n_estimators
        self.max_trials = max_trials
        self.artificial_share = artificial_share
        self.categorical_features = categorical_features
        self.random_state = random_state

    _takes_sparse = False  # artificial rows have no zeros

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = False
        return tags

    def _default_estimator(self) -> BaseEstimator:
        return C45Classifier()

    def _check_parameters(self) -> None:
        estimator = self._member_estimator()
        if not hasattr(estimator, "predict_proba"):
            raise InvalidParameter(
                f"Decorate goes by class probabilities, which {type(estimator).__name__} does not give: use an "
                "estimator with predict_proba"
            )
        super()._check_parameters()

    def _read_new_table(self, X: Any) -> tuple[Trainer, int, int]:
        self.encoder_, values = self._learn_columns(X, self.categorical_features)
        estimator = self._member_estimator()
        if isinstance(estimator, TreeLearner):
            estimator._check_parameters()
            name_columns(estimator, self)
        return make_trainer(estimator, values, self.encoder_.n_levels), *values.shape

    def _fit_members(self, trainer: Trainer, sample: Sample, n_outputs: int, tasks: MemberTasks) -> None:
        values = trainer.rows(np.arange(sample.n_rows))
        factory = RowFactory.learn(values, self.encoder_.n_levels, sample.weights)  # type: ignore[union-attr]
        root_seed = make_root_seed(self.random_state)
        ignored = trainer.columns.ignored if isinstance(trainer, TreeTrainer) else ()
        tasks.begin(self.max_trials)
        tasks.begin_member()
        first = trainer.train(sample, member_generator(root_seed, 0))
        members, total = [first], first.predict_values(values)
        least = training_error(total, sample)
        errors, accepted = [least], [True]
        is_stopped = tasks.end_member(lambda: {"members_": list(members)})
        while len(members) < self._ceiling() and len(errors) < self.max_trials and not is_stopped:
            tasks.begin_member()
            random = member_generator(root_seed, len(errors))
            candidate = self._train_candidate(factory, values, sample, members, random, ignored)
            total_with = total + candidate.predict_values(values)
            errors.append(training_error(total_with, sample))
            accepted.append(errors[-1] <= least + SLACK)
            if accepted[-1]:
                members.append(candidate)
                total, least = total_with, errors[-1]
            is_stopped = tasks.end_member(lambda: {"members_": list(members)})
        self.members_, self.trials_ = members, len(errors)
        self.trial_errors_, self.trial_accepted_ = np.array(errors), np.array(accepted)

    def _train_candidate(
        self,
        factory: RowFactory,
        values: np.ndarray,
        sample: Sample,
        members: list[Member],
        random: np.random.Generator,
        ignored: tuple[int, ...],
    ) -> Member:
        """Train a member on the rows and on artificial ones, labelled against the members there are."""
        weights = sample.weights
        n_true = len(sample.eligible_rows())
        artificial = factory.draw(max(1, round(self.artificial_share * n_true)), random)
        shares = combine_members(members, artificial, len(artificial), sample.n_classes, "average")
        codes = np.append(sample.target, draw_unlikely(shares, random).astype(sample.target.dtype))
        if weights is not None:
            weights = np.append(weights, np.full(len(artificial), weights.sum() / n_true))
        table = np.concatenate([values, artificial])
        trainer = make_trainer(self._member_estimator(), table, factory.n_levels, ignored)
        return trainer.train(replace(sample, target=codes, weights=weights), random)


def make_trainer(
    estimator: BaseEstimator, values: np.ndarray, n_levels: np.ndarray, ignored: tuple[int, ...] = ()
) -> Trainer:
    """Return the trainer of members, for a matrix of numbers and codes of levels."""
    if isinstance(estimator, TreeLearner):
        return TreeTrainer(estimator, replace(estimator.sort(values, n_levels), ignored=ignored))
    return EstimatorTrainer(estimator, values)


def training_error(shares: np.ndarray, sample: Sample) -> float:
    """Return the (weighted) share of rows whose class does not have the largest probability."""
    return float(np.average(largest(shares) != sample.target, weights=sample.weights))


@dataclass(frozen=True)
class RowFactory:
    """Draws artificial rows, each attribute independently.

    Attributes
    ----------
    n_levels : int array (n_attributes,)
        0 for a numeric attribute.
    means, spreads : arrays (n_attributes,)
        Means and standard deviations of the known values of numeric attributes; NaN if there are none.
    frequencies : list of arrays
        Probabilities of the levels of each nominal attribute; empty for a numeric one.
    """

    n_levels: np.ndarray
    means: np.ndarray
    spreads: np.ndarray
    frequencies: list[np.ndarray]

    @classmethod
    def learn(cls, values: np.ndarray, n_levels: np.ndarray, weights: np.ndarray | None = None) -> RowFactory:
        """Take means, standard deviations and frequencies from a table; rows of weight 0 do not count.

        Examples
        --------
        >>> import numpy as np
        >>> table = np.array([[1.0, 0.0], [3.0, 1.0], [np.nan, 1.0]])
        >>> factory = RowFactory.learn(table, np.array([0, 2]))
        >>> float(factory.means[0]), round(float(factory.spreads[0]), 4), factory.frequencies[1]
        (2.0, 1.4142, array([0.4, 0.6]))
        """
        row_weights = np.ones(len(values)) if weights is None else weights
        n_attributes = values.shape[1]
        means, spreads = np.full(n_attributes, np.nan), np.full(n_attributes, np.nan)
        frequencies = [np.empty(0)] * n_attributes
        for attribute in range(n_attributes):
            is_known = ~np.isnan(values[:, attribute]) & (row_weights > 0)
            column, known_weights = values[is_known, attribute], row_weights[is_known]
            if n_levels[attribute]:
                # In units of the mean weight, so that "plus one" is one row.
                counts = np.bincount(column.astype(np.intp), known_weights, minlength=n_levels[attribute])
                smoothed = counts / np.mean(row_weights[row_weights > 0]) + 1.0
                frequencies[attribute] = smoothed / smoothed.sum()
            elif len(column):
                means[attribute], spreads[attribute] = mean_and_spread(column, known_weights)
        return cls(n_levels, means, spreads, frequencies)

    def draw(self, n_rows: int, random: np.random.Generator) -> np.ndarray:
        """Draw rows; an attribute without known values stays missing."""
        with np.errstate(over="ignore"):
            rows = self.means + self.spreads * random.standard_normal((n_rows, len(self.means)))
        rows = np.clip(rows, -LARGEST, LARGEST)
        for attribute in np.flatnonzero(self.n_levels):
            chances = self.frequencies[attribute]
            rows[:, attribute] = random.choice(len(chances), size=n_rows, p=chances)
        return rows


LARGEST = float(np.finfo(np.float64).max)


def mean_and_spread(column: np.ndarray, weights: np.ndarray) -> tuple[float, float]:
    """Return mean and sample standard deviation, safe against overflow."""
    scale = float(np.abs(column).max()) or 1.0
    mean = np.average(column / scale, weights=weights)
    variance = np.average((column / scale - mean) ** 2, weights=weights) * len(column) / max(1, len(column) - 1)
    return float(mean * scale), float(np.sqrt(variance) * scale)


def draw_unlikely(shares: np.ndarray, random: np.random.Generator) -> np.ndarray:
    """Draw a class for each row, with probabilities inversely proportional to the shares; share 0 has precedence.

    Examples
    --------
    >>> import numpy as np
    >>> draw_unlikely(np.array([[0.0, 0.5, 0.5], [1.0, 0.0, 0.0]]), np.random.default_rng(0))
    array([0, 1])
    """
    is_none = shares < LEAST_SHARE
    inverse = np.where(is_none.any(axis=1, keepdims=True), is_none, 1.0 / np.where(is_none, 1.0, shares))
    cumulative = np.cumsum(inverse, axis=1)
    drawn = random.random(len(shares)) * cumulative[:, -1]
    return np.asarray(np.minimum((drawn[:, None] >= cumulative).sum(axis=1), shares.shape[1] - 1))
