"""Rows on which the noise is chosen: held-out rows, or folds. Those of a bagged model are in `out_of_bag.py`.

A row never validates a model, or a member, that was trained on it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import check_cv

from tremula.errors import InvalidInput, InvalidParameter
from tremula.folds import stratified_parts
from tremula.smoothing.methods import Smoother
from tremula.smoothing.noise.out_of_bag import MakeNoise, is_mean_of_trees
from tremula.smoothing.noise.search import ValidationRows
from tremula.smoothing.trained_model import WrappedModel

Floats = NDArray[np.float64]

TUNINGS = ("auto", "validation", "oob", "cv")


@dataclass(frozen=True, eq=False)
class HeldOutAnswers:
    """Smoothed answers to rows that did not train the model."""

    wrapped: WrappedModel
    X: Any
    rows: Floats
    noise: MakeNoise
    n_jobs: int | None

    def __call__(self, amounts: Floats) -> Floats:
        """Smooth with these amounts of noise."""
        return self.smoother(amounts).smooth(self.rows, self.noise(amounts), self.n_jobs).answers

    def smoother(self, amounts: Floats) -> Smoother:
        """Return the smoother of the model with these amounts of noise."""
        return self.wrapped.smoother(self.X, self.noise(amounts))


def held_out_rows(
    wrapped: WrappedModel, X: Any, target: NDArray[Any], noise: MakeNoise, n_jobs: int | None, weights: Any = None
) -> ValidationRows:
    """Validate the model on rows that did not train it."""
    return ValidationRows(HeldOutAnswers(wrapped, X, wrapped.rows(X), noise, n_jobs), target, weights)


def first_member(wrapped: WrappedModel) -> WrappedModel:
    """Return the model reduced to its first member: the shortcut of the paper."""
    if wrapped.trees is None or not is_mean_of_trees(wrapped.trees):
        raise InvalidParameter(
            f"tune_on='tree' was given, but {type(wrapped.model).__name__} is not a mean of trees: use tune_on='model'"
        )
    own = None if wrapped.own_sum is None else wrapped.own_sum.member_tree(0)
    return replace(wrapped, trees=replace(wrapped.trees, sum=wrapped.trees.sum.member_tree(0)), own_sum=own)


# --- folds ---


@dataclass(frozen=True, eq=False)
class Fold:
    """Training rows and validation rows."""

    training: NDArray[np.int64]
    validation: NDArray[np.int64]


def make_folds(target: NDArray[Any], is_classifier: bool, cv: Any, random: np.random.Generator) -> list[Fold]:
    """Make stratified folds; a fold whose training rows have a single target value is omitted."""
    rows = np.arange(len(target))
    if isinstance(cv, Integral):
        parts = stratified_parts(rows, target if is_classifier else None, min(int(cv), len(rows)), random)
        folds = [Fold(np.setdiff1d(rows, part), np.sort(part)) for part in parts]
    else:
        splitter = _read_splitter(cv, target, is_classifier)
        folds = [Fold(*pair) for pair in splitter.split(rows[:, None], target)]
    usable = [fold for fold in folds if len(np.unique(target[fold.training])) > 1]
    if not usable:
        raise InvalidInput(
            f"{len(target)} samples are too few to choose the noise by cross-validation: give X_val and y_val, or an "
            "amount of noise"
        )
    return usable


def _read_splitter(cv: Any, target: NDArray[Any], is_classifier: bool) -> Any:
    try:
        return check_cv(cv, target, classifier=is_classifier)
    except ValueError as error:
        raise InvalidParameter(f"cv is of type {type(cv).__name__}: give a number of folds, or a splitter") from error
