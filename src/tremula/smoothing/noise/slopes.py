"""Losses of validation rows, with their derivatives by the logarithms of the amounts of noise.

Errors have no derivative: where they judge, log loss takes their place. It is continued as a straight line below a
small probability, so that its derivative is bounded.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from tremula.errors import InvalidParameter
from tremula.parallel import map_members
from tremula.smoothing.bandwidths import AmountSlopes
from tremula.smoothing.methods import TreeSmoother
from tremula.smoothing.noise.out_of_bag import MIN_SHARE, MakeNoise, OutOfBagAnswers
from tremula.smoothing.noise.search import ValidationRows
from tremula.smoothing.noise.validation_rows import HeldOutAnswers
from tremula.trees.tree_sum import TreeSum

Floats = NDArray[np.float64]
Targets = NDArray[Any]

LINEAR_BELOW = MIN_SHARE  # probability below which log loss is continued as a straight line


# --- losses with their derivatives by the answers ---


def _log_loss(codes: Targets, probabilities: Floats) -> tuple[Floats, Floats]:
    rows, is_known = np.arange(len(codes)), codes >= 0
    share = np.where(is_known, probabilities[rows, codes], 1.0)
    limited = np.maximum(share, LINEAR_BELOW)
    rates = np.zeros_like(probabilities)
    rates[rows, codes] = np.where(is_known, -1.0 / limited, 0.0)
    return np.asarray(np.where(is_known, 1.0 - np.log(limited) - share / limited, 0.0)), rates


def _brier_loss(codes: Targets, probabilities: Floats) -> tuple[Floats, Floats]:
    truth = np.eye(probabilities.shape[1])[codes] * (codes >= 0)[:, None]
    difference = probabilities - truth
    return (difference**2).sum(axis=1), 2.0 * difference


def _squared_error(target: Targets, numbers: Floats) -> tuple[Floats, Floats]:
    difference = numbers[:, 0] - target
    return difference**2, 2.0 * difference[:, None]


def _absolute_error(target: Targets, numbers: Floats) -> tuple[Floats, Floats]:
    difference = numbers[:, 0] - target
    return np.abs(difference), np.sign(difference)[:, None]


SMOOTH_LOSSES: dict[str, Callable[[Targets, Floats], tuple[Floats, Floats]]] = {
    "error": _log_loss,
    "log_loss": _log_loss,
    "squared_error": _squared_error,
    "absolute_error": _absolute_error,
}


def without_axis(amounts: Floats) -> Floats:
    """Return amounts (n_attributes,) if there is one row of them for all trees, else as they are."""
    return amounts[0] if len(amounts) == 1 else amounts


# Members are judged by the Brier loss of their class shares: the shares of a single tree are often 0.
MEMBER_LOSSES = SMOOTH_LOSSES | {"error": _brier_loss, "log_loss": _brier_loss}


class LossWithSlopes(Protocol):
    """Losses of rows at given amounts of noise."""

    def __call__(self, amounts: Floats) -> tuple[Floats, Callable[[Floats], Floats]]:
        """Return the losses of the rows, and a function that differentiates their weighted sum.

        Parameters
        ----------
        amounts : float64 array (1 or n_trees, n_attributes)

        Returns
        -------
        losses : float64 array (n_rows,)
        slopes : callable
            From weights of the rows to derivatives by the logarithms of the amounts, (1 or n_trees, n_attributes).
        """


@dataclass(frozen=True, eq=False)
class HeldOutLoss:
    """Losses of rows that did not train the model, at amounts above 0."""

    answers: HeldOutAnswers
    smoother: TreeSmoother
    target: Targets
    scoring: str

    @cached_property
    def _slopes(self) -> AmountSlopes:
        return AmountSlopes(self.smoother.model, self.smoother.method)

    def __call__(self, amounts: Floats) -> tuple[Floats, Callable[[Floats], Floats]]:
        """Smooth, and apply the chain rule to the loss and the link."""
        n_jobs, noise = self.answers.n_jobs, self.answers.noise(without_axis(amounts))
        smoothed = self.smoother.smooth(self.answers.rows, noise, n_jobs)
        losses, rates = SMOOTH_LOSSES[self.scoring](self.target, smoothed.answers)
        margins = smoothed.margins
        assert margins is not None

        def slopes(weights: Floats) -> Floats:
            used = np.flatnonzero(weights)
            answer_rates = rates[used] * weights[used, None]
            margin_rates = self._through_link(margins[used], answer_rates)
            rows = self.answers.rows[used]

            def work(number: int) -> Floats:
                return self._slopes.of_tree(number, rows, noise.of_tree(number).sd, margin_rates)

            each = np.array(list(map_members(work, len(self.smoother.model.trees), n_jobs)))
            return each if len(amounts) > 1 else each.sum(axis=0, keepdims=True)

        return losses, slopes

    def _through_link(self, margins: Floats, rates: Floats) -> Floats:
        """Turn derivatives by the answers into derivatives by the margins."""
        n_margins = margins.shape[1]
        each = np.broadcast_to(np.eye(n_margins), (len(margins), n_margins, n_margins))
        return np.asarray(np.einsum("ij,ijk->ik", rates, self.smoother.model.link.slopes(margins, each)))


@dataclass(frozen=True, eq=False)
class MemberLoss:
    """Losses of out-of-bag rows: for each row the mean loss of the members that were not trained on it.

    The loss of their mean varies too much to fit many amounts, since a row has few such members. Members alone ask for
    more noise than their mean does: only the ratios of the amounts are taken from this loss.
    """

    answers: OutOfBagAnswers
    target: Targets
    scoring: str

    @cached_property
    def _slopes(self) -> AmountSlopes:
        return AmountSlopes(self.answers.trees.sum, self.answers.form)

    @cached_property
    def _shares(self) -> Floats:
        """Share of each member in the members of each row, (n_members, n_rows)."""
        weights = self.answers.trees.sum.weights[:, None] * (self.answers.inbag == 0)
        sums = weights.sum(axis=0)
        return np.asarray(np.divide(weights, sums, out=np.zeros_like(weights), where=sums > 0))

    def __call__(self, amounts: Floats) -> tuple[Floats, Callable[[Floats], Floats]]:
        """Smooth each member, and differentiate its own losses."""
        answers, noise = self.answers, self.answers.noise(without_axis(amounts))
        rows = [np.flatnonzero(counts == 0) for counts in answers.inbag]
        place = np.cumsum(answers.is_out_of_bag) - 1  # of a row among the out-of-bag rows

        def evaluate(member: int) -> tuple[Floats, Floats]:
            outputs = answers.member_answers(member, noise)
            return MEMBER_LOSSES[self.scoring](self.target[place[rows[member]]], outputs)

        n_members = len(answers.inbag)
        each = list(map_members(evaluate, n_members, answers.n_jobs))
        losses = np.zeros(len(self.target))
        for member, (member_losses, _) in enumerate(each):
            losses[place[rows[member]]] += self._shares[member, rows[member]] * member_losses

        def slopes(weights: Floats) -> Floats:
            def work(member: int) -> Floats:
                out, rates = rows[member], each[member][1]
                factors = weights[place[out]] * self._shares[member, out] / answers.trees.sum.weights[member]
                used = factors != 0
                sd = noise.of_tree(member).sd
                return self._slopes.of_tree(member, answers.rows[out[used]], sd, rates[used] * factors[used, None])

            of_members = np.array(list(map_members(work, n_members, answers.n_jobs)))
            return of_members if len(amounts) > 1 else of_members.sum(axis=0, keepdims=True)

        return losses, slopes


def with_slopes(rows: ValidationRows, scoring: str) -> LossWithSlopes | None:
    """Return the loss of validation rows with its derivatives; None if the model is not of trees or has none.

    Derivatives are not known for models that are sampled, for trees with flipped levels, and for links with kinks.
    """
    answers = rows.answers
    if isinstance(answers, OutOfBagAnswers) and _is_differentiable(answers.trees.sum, answers.noise):
        return MemberLoss(answers, rows.target, scoring)
    if not isinstance(answers, HeldOutAnswers):
        return None
    smoother = answers.smoother(np.ones(answers.rows.shape[1]))
    if not isinstance(smoother, TreeSmoother) or not _is_differentiable(smoother.model, answers.noise):
        return None
    return HeldOutLoss(answers, smoother, rows.target, scoring)


def _is_differentiable(model: TreeSum, noise: MakeNoise) -> bool:
    if noise(np.zeros(model.n_attributes)).flip > 0 and model.n_levels.any():
        return False
    try:
        model.link.slopes(np.zeros((1, model.n_margins)), np.zeros((1, model.n_margins, 1)))
    except InvalidParameter:
        return False
    return True
