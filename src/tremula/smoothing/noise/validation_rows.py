"""Rows on which the noise is chosen: held-out rows, out-of-bag rows of a bagged model, or folds.

A row never validates a model, or a member, that was trained on it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import check_cv

from tremula.combine import RowSums
from tremula.errors import InvalidInput, InvalidParameter
from tremula.folds import stratified_parts
from tremula.smoothing.methods import TreeSmoother
from tremula.smoothing.models import TreeModel
from tremula.smoothing.noise.amounts import Noise
from tremula.smoothing.noise.search import ValidationRows
from tremula.smoothing.trained_model import WrappedModel

Floats = NDArray[np.float64]
MakeNoise = Callable[[Floats], Noise]  # from one amount for each attribute

TUNINGS = ("auto", "validation", "oob", "cv")


def held_out_rows(
    wrapped: WrappedModel, X: Any, target: NDArray[Any], noise: MakeNoise, n_jobs: int | None, weights: Any = None
) -> ValidationRows:
    """Validate the model on rows that did not train it."""
    smoother, rows = wrapped.smoother(X), wrapped.rows(X)
    return ValidationRows(lambda amounts: smoother.smooth(rows, noise(amounts), n_jobs).answers, target, weights)


# --- out-of-bag rows ---


def is_mean_of_trees(trees: TreeModel | None) -> bool:
    """Whether a model is the weighted mean of members that are one tree each."""
    return trees is not None and trees.sum.link.is_identity and trees.n_members == len(trees.sum.trees)


def first_member(wrapped: WrappedModel) -> WrappedModel:
    """Return the model reduced to its first member: the shortcut of the paper."""
    if wrapped.trees is None or not is_mean_of_trees(wrapped.trees):
        raise InvalidParameter(
            f"tune_on='tree' was given, but {type(wrapped.model).__name__} is not a mean of trees: use tune_on='model'"
        )
    return replace(wrapped, trees=replace(wrapped.trees, sum=wrapped.trees.sum.member_tree(0)))


def count_inbag(trees: TreeModel | None, X: Any, y: Any, sample_weight: Any) -> NDArray[Any] | None:
    """Count how often each member was trained on each row; None if that is unknown, or no row is out of bag."""
    if trees is None or not is_mean_of_trees(trees) or not trees.knows_inbag or X is None or y is None:
        return None
    counts = trees.inbag_counts(X, y, sample_weight)
    return counts if counts is not None and (counts == 0).any() else None


@dataclass(frozen=True, eq=False)
class OutOfBagAnswers:
    """Smoothed answers to every out-of-bag row, by the members that were not trained on it."""

    trees: TreeModel
    rows: Floats
    inbag: NDArray[Any]
    noise: MakeNoise
    form: str
    tol: float
    n_jobs: int | None

    @property
    def is_out_of_bag(self) -> NDArray[np.bool_]:
        """Whether each row is out of bag for some member."""
        return np.asarray((self.inbag == 0).any(axis=0))

    @cached_property
    def _members(self) -> list[TreeSmoother]:
        model = self.trees.sum
        return [TreeSmoother(model.member_tree(number), self.form, self.tol) for number in range(len(model.trees))]

    def __call__(self, amounts: Floats) -> Floats:
        """Weighted mean of those members' answers."""
        model, noise = self.trees.sum, self.noise(amounts)
        sums = RowSums(len(self.rows), model.n_margins)
        for member, counts in enumerate(self.inbag):
            out = np.flatnonzero(counts == 0)
            answers = self._members[member].smooth(self.rows[out], noise, self.n_jobs).answers
            sums.add(out, answers, model.weights[member])
        return sums.means(np.flatnonzero(self.is_out_of_bag))


def out_of_bag_rows(answers: OutOfBagAnswers, target: NDArray[Any], weights: Floats | None) -> ValidationRows:
    """Validate on each row the members that were not trained on it."""
    rows = answers.is_out_of_bag
    return ValidationRows(answers, target[rows], None if weights is None else weights[rows])


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
        folds = [Fold(*pair) for pair in check_cv(cv, target, classifier=is_classifier).split(rows[:, None], target)]
    usable = [fold for fold in folds if len(np.unique(target[fold.training])) > 1]
    if not usable:
        raise InvalidInput(
            f"{len(target)} samples are too few to choose the noise by cross-validation: give X_val and y_val, or an "
            "amount of noise"
        )
    return usable
