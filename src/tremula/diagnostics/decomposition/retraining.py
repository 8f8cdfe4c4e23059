"""Training of a copy of an estimator on each learning set, and the predictions of the copies for their test rows.

The answers depend on the seed alone, not on how the work is spread. Classes that a learning set lacks have
probability zero in what its model answers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import clone, is_clusterer
from sklearn.dummy import DummyClassifier, DummyRegressor

from tremula.data.column import show
from tremula.data.take import take_rows
from tremula.data.target import read_classes, read_target
from tremula.diagnostics.decomposition.learning_sets import Division, require_rows
from tremula.errors import InvalidInput, InvalidParameter
from tremula.parallel import train_members
from tremula.seeds import member_generator

FEWEST_ANSWERS = 2


@dataclass(frozen=True)
class Answers:
    """Predictions of the models for the test rows.

    `values` is (n_rounds, n_test, width), zero where `tested`, (n_rounds, n_test), is False; `rows` are the row
    numbers of the test rows in the table, ascending.
    """

    values: np.ndarray
    tested: np.ndarray
    rows: np.ndarray
    n_models: int


@dataclass(frozen=True)
class Task:
    """A table with its target as numbers or, with classes, as codes."""

    X: Any
    target: np.ndarray
    classes: np.ndarray | None

    @property
    def width(self) -> int:
        """Outputs per prediction: one for each class, or one for regression."""
        return 1 if self.classes is None else len(self.classes)

    def labels(self, rows: np.ndarray) -> np.ndarray:
        """Return the target of some rows in the form that the estimator is fitted on."""
        return np.asarray(self.target[rows] if self.classes is None else self.classes[self.target[rows]])


def read_task(X: Any, y: Any, numeric: bool) -> Task:
    """Read a table and its target, numbers or classes."""
    n_rows = require_rows(X)
    if numeric:
        return Task(X, read_target(y, n_rows), None)
    classes, codes = read_classes(y, n_rows)
    return Task(X, codes, classes)


# --- what is asked of a model ---


def ask_labels(model: Any, X: Any, classes: np.ndarray | None) -> np.ndarray:
    """Return the predicted class of each row, one-hot encoded."""
    assert classes is not None
    predicted = np.asarray(model.predict(X)).reshape(-1)
    codes = np.searchsorted(classes, predicted).clip(max=len(classes) - 1)
    if not (classes[codes] == predicted).all():
        unknown = predicted[classes[codes] != predicted]
        raise InvalidInput(
            f"{type(model).__name__} predicts {show(unknown.tolist())}, which is not a class of y: use a classifier"
        )
    return np.asarray(np.eye(len(classes))[codes])


def ask_probabilities(model: Any, X: Any, classes: np.ndarray | None) -> np.ndarray:
    """Return class probabilities, zero for classes that the model has not seen."""
    assert classes is not None
    given = np.asarray(model.predict_proba(X), dtype=np.float64)
    probabilities = np.zeros((len(given), len(classes)))
    probabilities[:, np.searchsorted(classes, model.classes_)] = given
    return probabilities


def ask_numbers(model: Any, X: Any, classes: np.ndarray | None) -> np.ndarray:
    """Return predicted numbers."""
    return np.asarray(model.predict(X), dtype=np.float64).reshape(-1, 1)


Ask = Callable[[Any, Any, np.ndarray | None], np.ndarray]


def check_probabilities(estimator: Any, wanted_for: str) -> None:
    """Raise if the estimator has no class probabilities."""
    if not hasattr(estimator, "predict_proba"):
        raise InvalidParameter(
            f"{type(estimator).__name__} has no predict_proba, which {wanted_for} needs: use an estimator that gives "
            "probabilities, wrap it in scikit-learn's CalibratedClassifierCV, or take loss='error'"
        )


# --- training ---


def require_estimator(estimator: Any, called: str = "estimator") -> None:
    """Raise if the object cannot be fitted and predict, such as a class instead of an instance."""
    if isinstance(estimator, type) or not all(hasattr(estimator, name) for name in ("fit", "predict", "get_params")):
        raise InvalidParameter(f"{called} is {estimator!r}: give an object with fit and predict, as in scikit-learn")
    if is_clusterer(estimator):
        raise InvalidParameter(
            f"{called} is {type(estimator).__name__}, which finds groups: give a classifier or a regressor"
        )


def seeded_copy(estimator: Any, seed: int) -> Any:
    """Return an unfitted copy in which every `random_state` of None is replaced by a seed; others stay as given."""
    copy = clone(estimator)
    random = np.random.default_rng(seed)
    unset = {
        name: int(random.integers(2**31))
        for name, value in sorted(copy.get_params(deep=True).items())
        if (name == "random_state" or name.endswith("__random_state")) and value is None
    }
    return copy.set_params(**unset) if unset else copy


def fit_copy(estimator: Any, task: Task, division: Division, seed: int) -> Any:
    """Fit a copy to one learning set; if its target is constant, return a model that predicts this constant."""
    target = task.labels(division.learn)
    X = take_rows(task.X, division.learn)
    if (target == target[0]).all():
        constant = DummyRegressor() if task.classes is None else DummyClassifier(strategy="most_frequent")
        return constant.fit(np.zeros((len(target), 1)), target)
    return seeded_copy(estimator, seed).fit(X, target)


def _answer(estimator: Any, task: Task, division: Division, seed: int, ask: Ask) -> np.ndarray:
    if len(division.test) == 0:
        return np.zeros((0, task.width))
    model = fit_copy(estimator, task, division, seed)
    return ask(model, take_rows(task.X, division.test), task.classes)


def _answer_some(
    estimator: Any, task: Task, divisions: list[Division], ask: Ask, root_seed: int, numbers: range
) -> list[np.ndarray]:
    seeds = [int(member_generator(root_seed, number).integers(2**31)) for number in numbers]
    return [_answer(estimator, task, divisions[number], seed, ask) for number, seed in zip(numbers, seeds)]


def gather_answers(
    estimator: Any, task: Task, divisions: list[Division], ask: Ask, root_seed: int, n_jobs: int | None
) -> Answers:
    """Train a model for each division and store its predictions by round and row."""
    answer_some = partial(_answer_some, estimator, task, divisions, ask, root_seed)
    rows = np.unique(np.concatenate([division.test for division in divisions]))
    shape = (max(division.round for division in divisions) + 1, len(rows))
    values = np.zeros((*shape, task.width))
    tested = np.zeros(shape, dtype=bool)
    answered = train_members(answer_some, range(len(divisions)), n_jobs)
    for division, answers in zip(divisions, answered, strict=True):
        places = np.searchsorted(rows, division.test)
        values[division.round, places] = answers
        tested[division.round, places] = True
    return _with_enough_answers(Answers(values, tested, rows, len(divisions)))


def _with_enough_answers(answers: Answers) -> Answers:
    """Drop rows that fewer than two models predicted, which happens out of bag with few bootstrap samples."""
    enough = answers.tested.sum(axis=0) >= FEWEST_ANSWERS
    if not enough.any():
        raise InvalidInput(
            f"no row was answered by {FEWEST_ANSWERS} of {answers.n_models} models: raise n_models, or lower train_size"
        )
    return Answers(answers.values[:, enough], answers.tested[:, enough], answers.rows[enough], answers.n_models)
