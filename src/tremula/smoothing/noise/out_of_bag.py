"""Out-of-bag rows of a bagged model: each is answered by the members that were not trained on it.

These are about 37 % of all members. `OutOfBagRows` corrects the losses for that.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tremula.combine import RowSums
from tremula.parallel import map_members
from tremula.smoothing.methods import TreeSmoother
from tremula.smoothing.models import TreeModel
from tremula.smoothing.noise.amounts import Noise
from tremula.smoothing.noise.search import LOSSES, ValidationRows

Floats = NDArray[np.float64]
MakeNoise = Callable[[Floats], Noise]  # from one amount for each attribute, or for each tree and attribute

MIN_SHARE = 0.01  # the log loss of smaller shares is corrected in another way


def is_mean_of_trees(trees: TreeModel | None) -> bool:
    """Whether a model is the weighted mean of members that are one tree each."""
    return trees is not None and trees.sum.link.is_identity and trees.n_members == len(trees.sum.trees)


def count_inbag(trees: TreeModel | None, X: Any, y: Any, sample_weight: Any) -> NDArray[Any] | None:
    """Count how often each member was trained on each row; None if that is unknown, or no row is out of bag.

    Rows whose order cannot be checked do not count as known: in another order they would be training rows.
    """
    if trees is None or X is None or y is None or not is_mean_of_trees(trees):
        return None
    if not (trees.knows_inbag and trees.checks_inbag):
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

    def member_answers(self, member: int, noise: Noise) -> Floats:
        """Smoothed answers of one member to the rows it was not trained on."""
        rows = self.rows[self.inbag[member] == 0]
        return self._members[member].smooth(rows, noise.of_tree(member), 1).answers

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
        n_members = len(self._members)  # made before threads ask for them

        def work(member: int) -> tuple[NDArray[np.intp], Floats]:
            return np.flatnonzero(self.inbag[member] == 0), self.member_answers(member, noise)

        for member, (out, answers) in enumerate(map_members(work, n_members, self.n_jobs)):
            weight, half = model.weights[member], self._half[member, out]
            sums[0].add(out, answers, weight)
            for number in (0, 1):
                sums[1 + number].add(out[half == number], answers[half == number], weight)
        return [each.means(np.flatnonzero(self.is_out_of_bag)) for each in sums]

    @cached_property
    def extrapolation(self) -> Extrapolation:
        """How far it is for every out-of-bag row from its members to the whole model."""
        weights, rows = self.trees.sum.weights, self.is_out_of_bag
        is_out, half = (self.inbag == 0)[:, rows], self._half[:, rows]
        whole_model = (weights**2).sum() / weights.sum() ** 2
        members = _variance_factors(weights, is_out)
        halves = np.mean([_variance_factors(weights, is_out & (half == number)) for number in (0, 1)], axis=0)
        has_halves = np.isfinite(halves) & (halves > members)
        steps = np.divide(members - whole_model, halves - members, out=np.zeros(len(members)), where=has_halves)
        return Extrapolation(has_halves, steps, np.maximum(np.log2(members / whole_model), 0.0))


def _variance_factors(weights: Floats, is_member: NDArray[np.bool_]) -> Floats:
    """Return the variance of each row's weighted mean of members that have variance 1; infinite without members."""
    sums = weights @ is_member
    factors = np.full(len(sums), np.inf)
    return np.asarray(np.divide(weights**2 @ is_member, sums**2, out=factors, where=sums > 0))


@dataclass(frozen=True, eq=False)
class Extrapolation:
    """How to get from the losses of a row's members, and of two halves of these, to the loss of the whole model.

    A row's members, and the halves, stand for as many members of equal weight as have a mean of the same variance.

    Attributes
    ----------
    has_halves : bool array (n_rows,)
        Whether the row has at least two members.
    steps : float64 array (n_rows,)
        Change of 1 / number of members from the row's members to the whole model, in units of its change from the
        halves to the row's members. 0 without halves.
    doublings : float64 array (n_rows,)
        How often the number of the row's members has to double to be that of the whole model.
    """

    has_halves: NDArray[np.bool_]
    steps: Floats
    doublings: Floats

    def losses(self, of_members: Floats, of_halves: Floats) -> Floats:
        """Extrapolate losses whose part due to variance is proportional to 1 / number of members."""
        return np.where(self.has_halves, of_members + self.steps * (of_members - of_halves), of_members)

    def tails(self, of_members: Floats, of_halves: Floats) -> Floats:
        """Extrapolate losses that fall, over all rows, by the same factor whenever the number of members doubles."""
        total, of_half_total = of_members[self.has_halves].sum(), of_halves[self.has_halves].sum()
        factor = min(total / of_half_total, 1.0) if of_half_total > 0 else 1.0
        return of_members * np.where(self.has_halves, factor**self.doublings, 1.0)


@dataclass(frozen=True, eq=False)
class OutOfBagRows(ValidationRows):
    """Out-of-bag rows, with losses corrected for the number of members.

    The mean of a third of the members varies more than the mean of all, and noise reduces just this variance:
    uncorrected, out-of-bag rows ask for more noise than the whole model needs. So the loss of the whole model is
    extrapolated from the loss of the row's members and the mean loss of two halves of them. The part of a loss that is
    due to the variance is proportional to 1 over the number of members, exactly for the squared error and to second
    order for others.

    The log loss of a share near 0 is an exception: that all members miss a class becomes less likely by about the same
    factor whenever their number doubles. What exceeds the log loss of `MIN_SHARE` is extrapolated in this way.

    Rows with a single member have weight 0, unless all are such. Errors, which are not smooth, are not corrected.
    """

    answers: OutOfBagAnswers

    def losses(self, amounts: Floats, scorings: Sequence[str]) -> Floats:
        """Return the losses of the rows as the whole model would have them, (n_scorings, n_rows)."""
        answers = self.answers.with_halves(amounts)
        return np.array([self._corrected(scoring, *answers) for scoring in scorings])

    def _corrected(self, scoring: str, *answers: Floats) -> Floats:
        losses = np.array([LOSSES[scoring](self.target, each) for each in answers])
        if scoring == "error":
            return np.asarray(losses[0])
        bounded = np.minimum(losses, -np.log(MIN_SHARE)) if scoring == "log_loss" else losses
        extrapolation, tails = self.answers.extrapolation, losses - bounded
        corrected = extrapolation.losses(bounded[0], bounded[1:].mean(axis=0))
        return corrected + extrapolation.tails(tails[0], tails[1:].mean(axis=0))


def out_of_bag_rows(
    answers: OutOfBagAnswers, target: NDArray[Any], weights: Floats | None, corrected: bool = False
) -> ValidationRows:
    """Validate on each row the members that were not trained on it."""
    rows = answers.is_out_of_bag
    row_weights = None if weights is None else weights[rows]
    if not corrected:
        return ValidationRows(answers, target[rows], row_weights)
    has_halves = answers.extrapolation.has_halves
    if has_halves.any():
        row_weights = np.asarray(has_halves * (1.0 if row_weights is None else row_weights), dtype=np.float64)
    return OutOfBagRows(answers, target[rows], row_weights)
