"""Rows on which the noise is chosen: held-out rows, out-of-bag rows of a bagged model, or folds.

A row never validates a model, or a member, that was trained on it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
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
from tremula.smoothing.noise.search import LOSSES, RowLoss, ValidationRows
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

    @cached_property
    def _half(self) -> NDArray[np.int64]:
        """Return the half, 0 or 1, of each member among the members that were not trained on each row, in turn."""
        return np.asarray(np.cumsum(self.inbag == 0, axis=0) % 2, dtype=np.int64)

    def __call__(self, amounts: Floats) -> Floats:
        """Weighted mean of those members' answers."""
        return self.with_halves(amounts)[0]

    def with_halves(self, amounts: Floats) -> list[Floats]:
        """Weighted means of the answers of those members, of every other one of them, and of the rest; NaN for none."""
        model, noise = self.trees.sum, self.noise(amounts)
        sums = [RowSums(len(self.rows), model.n_margins) for _ in range(3)]
        for member, counts in enumerate(self.inbag):
            out = np.flatnonzero(counts == 0)
            answers = self._members[member].smooth(self.rows[out], noise, self.n_jobs).answers
            weight, half = model.weights[member], self._half[member, out]
            sums[0].add(out, answers, weight)
            for number in (0, 1):
                sums[1 + number].add(out[half == number], answers[half == number], weight)
        return [each.means(np.flatnonzero(self.is_out_of_bag)) for each in sums]

    @cached_property
    def extrapolation(self) -> Floats:
        """For every row the step from its members to all members, where the step from half of its members to them is 1.

        Steps are measured by the variance of a weighted mean of members. NaN for a row with a single member.
        """
        weights, rows = self.trees.sum.weights, self.is_out_of_bag
        is_out, half = (self.inbag == 0)[:, rows], self._half[:, rows]
        whole_model = (weights**2).sum() / weights.sum() ** 2
        members = _variance_factors(weights, is_out)
        halves = np.mean([_variance_factors(weights, is_out & (half == number)) for number in (0, 1)], axis=0)
        is_known = np.isfinite(halves) & (halves > members)
        return np.divide(members - whole_model, halves - members, out=np.full(len(members), np.nan), where=is_known)


def _variance_factors(weights: Floats, is_member: NDArray[np.bool_]) -> Floats:
    """Return the variance of each row's weighted mean of members that have variance 1; infinite without members."""
    sums = weights @ is_member
    return np.divide(weights**2 @ is_member, sums**2, out=np.full(len(sums), np.inf), where=sums > 0)


@dataclass(frozen=True, eq=False)
class OutOfBagRows(ValidationRows):
    """Out-of-bag rows, with losses corrected for the number of members.

    A row is out of bag for about 37 % of the members. A mean of so few varies more than the mean of all members, and
    noise reduces just this variance: uncorrected, out-of-bag rows ask for more noise than the whole model needs. The
    part of the loss that is due to the variance is proportional to 1 over the number of members, exactly for the
    squared error and to second order for others. So the loss of the whole model is extrapolated from the loss of the
    row's members and the mean loss of two halves of them. Rows with a single member have weight 0, unless all are such.
    Errors, which are not smooth, are not corrected.
    """

    answers: OutOfBagAnswers

    def losses(self, amounts: Floats, scorings: Sequence[str]) -> Floats:
        """Return the losses of the rows, as the whole model would have them, (n_scorings, n_rows)."""
        all_members, *halves = self.answers.with_halves(amounts)
        return np.array([self._corrected(LOSSES[scoring], all_members, halves, scoring) for scoring in scorings])

    def _corrected(self, loss: RowLoss, all_members: Floats, halves: Sequence[Floats], scoring: str) -> Floats:
        losses, steps = loss(self.target, all_members), self.answers.extrapolation
        if scoring == "error":
            return losses
        of_halves = np.mean([loss(self.target, half) for half in halves], axis=0)
        return np.where(np.isnan(steps), losses, losses + steps * (losses - of_halves))


def out_of_bag_rows(
    answers: OutOfBagAnswers, target: NDArray[Any], weights: Floats | None, corrected: bool = False
) -> ValidationRows:
    """Validate on each row the members that were not trained on it."""
    rows = answers.is_out_of_bag
    row_weights = None if weights is None else weights[rows]
    if not corrected:
        return ValidationRows(answers, target[rows], row_weights)
    has_halves = ~np.isnan(answers.extrapolation)
    if has_halves.any():
        row_weights = has_halves * (1.0 if row_weights is None else row_weights)
    return OutOfBagRows(answers, target[rows], row_weights)


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
