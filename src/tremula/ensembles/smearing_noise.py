"""Chooses the amount of input smearing by rows that members have not seen: out-of-bag rows, or folds held out.

All amounts and folds share a member's draws, bootstrap sample and standard noise alike, so that amounts differ by the
amount alone; losses do not depend on the number of jobs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass

import numpy as np

from tremula.combine import Member, RowSums, add_predictions, largest
from tremula.display import ShortTable, ShownAsTable
from tremula.ensembles.base.member import Trainer
from tremula.ensembles.base.training import Drawing
from tremula.folds import stratified_parts
from tremula.losses import log_losses, squared_errors, zero_one_losses
from tremula.parallel import train_members
from tremula.persistence.registry import storable
from tremula.persistence.soundness import require
from tremula.perturb.inputs import Draws, LearnedNoise
from tremula.perturb.sample import Draw, Sample
from tremula.seeds import member_generator

GOLDEN = (math.sqrt(5.0) - 1.0) / 2.0
LEAST_MEMBERS = 5  # fewer leave too many rows unjudged
FOLDS = (0, 2)  # where the stream that makes folds branches off


@storable
@dataclass(frozen=True, repr=False)
class NoiseCurve(ShownAsTable):
    """What a search for the noise amount has found, and what it cost.

    Attributes
    ----------
    amounts : array (n_amounts,)
        Amounts tried, from the least to the largest.
    losses : array (n_amounts,)
        Loss of each on rows not seen; NaN where no row could judge.
    n_members : array (n_amounts,)
        Members of an ensemble that the loss is of.
    n_trained : int
        Members trained in all, which is what the search cost.
    """

    amounts: np.ndarray
    losses: np.ndarray
    n_members: np.ndarray
    n_trained: int

    def _check_stored(self) -> None:
        columns = self.amounts, self.losses, self.n_members
        is_even = all(column.ndim == 1 and len(column) == len(self.amounts) for column in columns)
        require(is_even and all(column.dtype.kind in "if" for column in columns), "the amounts tried are not a table")

    def _short_table(self) -> ShortTable:
        rows = [
            (f"{amount:.3g}", f"{loss:.4g}", str(n_members))
            for amount, loss, n_members in zip(self.amounts, self.losses, self.n_members)
        ]
        caption = f"loss of {len(self.amounts)} amounts of noise, {self.n_trained} members trained in all"
        return ShortTable(caption, ["amount", "loss", "members"], rows)


def _error(means: np.ndarray, n_members: np.ndarray, target: np.ndarray, weights: np.ndarray) -> float:
    return float(np.average(zero_one_losses(target, largest(means)), weights=weights))


def _log_loss(means: np.ndarray, n_members: np.ndarray, target: np.ndarray, weights: np.ndarray) -> float:
    """Mean of -log of the class's share, the shares mixed with an even distribution as if it were one more member."""
    n_members = n_members[:, None]
    shares = (means * n_members + 1.0 / means.shape[1]) / (n_members + 1.0)
    return float(np.average(log_losses(target, shares), weights=weights))


def _squared_error(means: np.ndarray, n_members: np.ndarray, target: np.ndarray, weights: np.ndarray) -> float:
    return float(np.average(squared_errors(target, means[:, 0]), weights=weights))


Loss = Callable[[np.ndarray, np.ndarray, np.ndarray, np.ndarray], float]
CLASS_LOSSES: dict[str, Loss] = {"error": _error, "log_loss": _log_loss}
NUMBER_LOSSES: dict[str, Loss] = {"squared_error": _squared_error}


def make_folds(sample: Sample, n_folds: int, root_seed: int) -> list[np.ndarray]:
    """Cut the rows into folds at random, classes evenly spread over them.

    Examples
    --------
    >>> import numpy as np
    >>> [fold.tolist() for fold in make_folds(Sample(np.array([0, 1, 0, 1]), 2, 1), 2, 0)]
    [[0, 1], [2, 3]]
    """
    random = np.random.default_rng(np.random.SeedSequence(root_seed, spawn_key=FOLDS))
    rows, strata = sample.eligible_rows(), sample.target if sample.n_classes else None
    return [np.sort(part) for part in stratified_parts(rows, strata, min(n_folds, len(rows)), random)]


@dataclass(frozen=True)
class Part:
    """A training set of the search: rows to train on, how noise goes by them, and rows that judge."""

    drawing: Drawing
    noise: LearnedNoise
    held_out: np.ndarray | None  # None: the rows that a member leaves out


@dataclass(frozen=True)
class Answer:
    """What one member, at each amount, says of the rows that it has not seen."""

    rows: np.ndarray
    values: np.ndarray  # (n_amounts, n_rows, n_outputs)
    members: Sequence[Member]  # one for each amount, where there is a single training set


@dataclass(frozen=True)
class Trials:
    """All that is needed to train any member at some amounts, anywhere."""

    trainer: Trainer
    parts: Sequence[Part]
    amounts: Sequence[float]
    n_outputs: int
    combine: str

    def __sizeof__(self) -> int:
        """Return about the bytes of the table, by which Dask sees that this is worth sending once only."""
        sample = self.parts[0].drawing.sample
        return object.__sizeof__(self) + 8 * sample.n_rows * sample.n_attributes

    def __call__(self, members: range) -> list[Answer]:
        """Train these members at all amounts and ask them."""
        return [self._answer(member) for member in members]

    def _answer(self, number: int) -> Answer:
        drawing = self.parts[0].drawing
        draw = Draw(number, drawing.n_members, member_generator(drawing.root_seed, number), drawing.root_seed)
        draws = Draws(draw.separate_seed(0))
        asked = [self._ask(part, number, draws) for part in self.parts]
        members = asked[0][2] if len(self.parts) == 1 else ()
        rows, values = [rows for rows, _, _ in asked], [values for _, values, _ in asked]
        return Answer(np.concatenate(rows), np.concatenate(values, axis=1), members)

    def _ask(self, part: Part, number: int, draws: Draws) -> tuple[np.ndarray, np.ndarray, list[Member]]:
        """Train a member on one training set, amount after amount."""
        trained = []
        for amount in self.amounts:
            sample, random = part.drawing.sample_of(number)
            trained.append(self.trainer.train(part.noise.at(amount).apply_with(sample, draws), random))
        rows = part.held_out
        if rows is None:
            rows = np.flatnonzero(part.drawing.times_drawn(sample) == 0)
        values = np.zeros((len(self.amounts), len(rows), self.n_outputs))
        if len(rows):
            table = self.trainer.rows(rows)
            for total, member in zip(values, trained, strict=True):
                add_predictions(total, member, table, self.combine)
        return rows, values, trained


class Judge:
    """Sums up what members say of rows they have not seen, amount by amount.

    Parameters
    ----------
    trials : Trials
        How members are trained; its amounts are set from case to case.
    sample : Sample
        All rows.
    loss : callable
    n_jobs : int or None
    verbose : int
    """

    def __init__(self, trials: Trials, sample: Sample, loss: Loss, n_jobs: int | None, verbose: int) -> None:
        self.trials, self.loss, self.n_jobs, self.verbose = trials, loss, n_jobs, verbose
        self.target, self.weights = sample.target, sample.weights
        self.sums: dict[float, RowSums] = {}
        self.n_members: dict[float, int] = {}
        self.members: dict[float, list[Member]] = {}

    def add(self, amounts: Sequence[float], up_to: int) -> None:
        """Train members at these amounts until there are so many of each; all amounts have as many before."""
        for amount in amounts:
            if amount not in self.sums:
                self.sums[amount] = RowSums(len(self.target), self.trials.n_outputs)
                self.n_members[amount], self.members[amount] = 0, []
        members = range(self.n_members[amounts[0]], up_to)
        trials = Trials(self.trials.trainer, self.trials.parts, amounts, self.trials.n_outputs, self.trials.combine)
        with closing(train_members(trials, members, self.n_jobs, self.verbose)) as answers:
            for answer in answers:
                self._count(answer, amounts)

    def _count(self, answer: Answer, amounts: Sequence[float]) -> None:
        for number, amount in enumerate(amounts):
            self.sums[amount].add(answer.rows, answer.values[number])
            self.n_members[amount] += 1
            self.members[amount] += answer.members[number : number + 1]

    def loss_of(self, amount: float) -> float:
        """Return the loss at an amount, over the rows that some member has not seen."""
        sums = self.sums[amount]
        rows = sums.rows
        if not len(rows):
            return math.nan
        weights = np.ones(len(rows)) if self.weights is None else self.weights[rows]
        return self.loss(sums.means(rows), sums.weight[rows], self.target[rows], weights)

    def best(self, amounts: Sequence[float]) -> list[float]:
        """Return amounts from the best to the worst, the smaller first among equals."""
        return sorted(amounts, key=lambda amount: (np.nan_to_num(self.loss_of(amount), nan=math.inf), amount))

    def curve(self) -> NoiseCurve:
        """Return what was found."""
        amounts = sorted(self.sums)
        losses = np.array([self.loss_of(amount) for amount in amounts])
        n_members = np.array([self.n_members[amount] for amount in amounts])
        n_trained = int(n_members.sum()) * len(self.trials.parts)
        return NoiseCurve(np.array(amounts), losses, n_members, n_trained)


def search_grid(judge: Judge, amounts: Sequence[float], n_members: int) -> float:
    """Try every amount with all members."""
    judge.add(amounts, n_members)
    return judge.best(amounts)[0]


def search_by_halving(judge: Judge, amounts: Sequence[float], n_members: int) -> float:
    """Try every amount with few members, the better half of them with twice as many, and so on."""
    kept = list(amounts)
    n_rounds = math.ceil(math.log2(len(kept))) if len(kept) > 1 else 0
    n_tried = min(n_members, max(LEAST_MEMBERS, n_members >> n_rounds))
    while True:
        judge.add(kept, n_tried)
        kept = sorted(judge.best(kept)[: math.ceil(len(kept) / 2)])
        if len(kept) == 1 or n_tried == n_members:
            return judge.best(kept)[0]
        n_tried = min(n_members, 2 * n_tried)


def search_by_golden_section(judge: Judge, amounts: Sequence[float], n_members: int) -> float:
    """Narrow down between the least and the largest amount, as far as amounts lie apart; the least is always tried."""
    low, high = min(amounts), max(amounts)
    apart = (high - low) / max(1, len(amounts) - 1)
    left, right = high - GOLDEN * (high - low), low + GOLDEN * (high - low)
    judge.add(sorted({min(amounts), round(left, 6), round(right, 6)}), n_members)
    while high - low > 1.5 * apart:
        if judge.loss_of(round(left, 6)) <= judge.loss_of(round(right, 6)):
            high, right = right, left
            left = high - GOLDEN * (high - low)
        else:
            low, left = left, right
            right = low + GOLDEN * (high - low)
        new = [amount for amount in (round(left, 6), round(right, 6)) if amount not in judge.sums]
        if new:
            judge.add(new, n_members)
    return judge.best(list(judge.sums))[0]


SEARCHES: dict[str, Callable[[Judge, Sequence[float], int], float]] = {
    "grid": search_grid,
    "halving": search_by_halving,
    "golden": search_by_golden_section,
}


@dataclass(frozen=True)
class Found:
    """The amount chosen, how it was found, and the members already trained at it."""

    amount: float
    curve: NoiseCurve
    members: list[Member]

    @property
    def sort_key(self) -> float:
        """The loss at the amount; infinite where no row could judge."""
        loss = self.curve.losses[self.curve.amounts == self.amount][0]
        return math.inf if math.isnan(loss) else float(loss)


def find_amount(judge: Judge, search: str, amounts: Sequence[float], n_members: int) -> Found:
    """Search for the amount of the least loss; of equals the smaller."""
    amount = SEARCHES[search](judge, amounts, n_members)
    return Found(amount, judge.curve(), judge.members[amount])
