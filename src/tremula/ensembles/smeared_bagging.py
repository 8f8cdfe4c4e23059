"""What the two ensembles of input smearing share: the noise on the rows of a member, and the choice of its amount.

The amount is chosen on rows that members have not seen; what was tried and what it cost is kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tremula.combine import Member
from tremula.ensembles.base.callbacks import MemberTasks
from tremula.ensembles.base.ensemble import Ensemble
from tremula.ensembles.base.groups import DrawnGroupsMixin
from tremula.ensembles.base.member import Trainer
from tremula.ensembles.base.out_of_bag import BATCH, OutOfBag
from tremula.ensembles.base.training import Drawing, Training
from tremula.ensembles.smearing_noise import Judge, NoiseCurve, Part, Trials, find_amount, make_folds
from tremula.errors import InvalidParameter
from tremula.parameters.kinds import check_finite
from tremula.perturb import Bootstrap, Perturbation, Sample, SmearedInputs
from tremula.perturb.inputs import DISTRIBUTIONS, LearnedNoise
from tremula.perturb.rows import rows_to_draw

# What "auto" tries: the amounts of the paper, and multiples of a bandwidth.
DEVIATIONS = (0.0, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3)
BANDWIDTHS = (0.0, 0.25, 0.5, 0.75, 1.0, 1.25, 1.5)


@dataclass(frozen=True)
class TrainedBefore(Training):
    """Training in which the search for the amount of noise has already trained some members."""

    trained: Sequence[Member] = ()

    def __call__(self, members: range) -> list[tuple[Member, np.ndarray | None]]:
        """Train the missing members."""
        known = range(members.start, min(members.stop, len(self.trained)))
        counts = [self.drawing.times_drawn(self.drawing.sample_of(n)[0]) if self.with_counts else None for n in known]
        before = [(self.trained[number], count) for number, count in zip(known, counts, strict=True)]
        return [*before, *super().__call__(range(known.stop if known else members.start, members.stop))]


class SmearedBagging(DrawnGroupsMixin, Ensemble):
    """Base of the two ensembles: the perturbation, and the choice of the amount of noise."""

    noise: Any
    amounts: Any
    tuning: str
    search: str
    cv: int
    distribution: str
    unit: str
    smear_nominal: bool
    within_bounds: bool
    keep_integers: bool
    max_samples: float
    bootstrap: bool
    scoring: str

    distribution_: str
    noise_: Any
    noise_curve_: NoiseCurve
    _losses: dict[str, Any]
    _trained: list[Member]

    def _bootstrap(self) -> Bootstrap:
        return Bootstrap(self.max_samples, self.bootstrap)

    def _smeared(self, noise: Any, distribution: str) -> SmearedInputs:
        return SmearedInputs(
            noise,
            distribution=distribution,
            unit=self.unit,
            smear_nominal=self.smear_nominal,
            within_bounds=self.within_bounds,
            keep_integers=self.keep_integers,
        )

    def _is_chosen_by_data(self) -> bool:
        return isinstance(self.noise, str) and self.noise == "auto"

    def _perturbations(self) -> Sequence[Perturbation]:
        amount = getattr(self, "noise_", 0.0) if self._is_chosen_by_data() else self.noise
        return [self._bootstrap(), self._smeared(amount, self._chosen_distribution())]

    def _chosen_distribution(self) -> str:
        """Return the distribution, the first of all before one is chosen."""
        return getattr(self, "distribution_", self._distributions()[0])

    def _distributions(self) -> Sequence[str]:
        """Return the distributions to try."""
        return tuple(DISTRIBUTIONS) if self.distribution == "auto" else (self.distribution,)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        self._amounts()
        if self.distribution == "auto" and not self._is_chosen_by_data():
            raise InvalidParameter(
                f"distribution='auto' was given with noise={self.noise!r}, but the two are chosen together: set "
                "noise='auto', or name a distribution"
            )

    def _amounts(self) -> tuple[float, ...]:
        """Return the amounts to try, each once, from the least to the largest."""
        if self.amounts is None:
            return DEVIATIONS if self.unit == "deviation" else BANDWIDTHS
        given = np.ravel(np.asarray(self.amounts, dtype=object)).tolist()
        if not given:
            raise InvalidParameter("amounts is empty: give the amounts to try, such as [0.0, 0.1, 0.2]")
        for amount in given:
            check_finite("amounts", amount)
        return tuple(sorted({float(amount) for amount in given}))

    def _members_to_keep(self) -> list[Member]:
        kept = super()._members_to_keep()
        if kept and not self._is_chosen_by_data() and not np.array_equal(self.noise, self.noise_):
            raise InvalidParameter(
                f"noise={self.noise!r} was given, but those that warm_start=True keeps have {self.noise_!r}: give the "
                "same, or set warm_start=False"
            )
        return kept

    def _choose(self, trainer: Trainer, sample: Sample, n_outputs: int) -> None:
        """Set the amount, by a search where it is left to the data."""
        for name in ("noise_curve_", "noise_", "distribution_"):
            self.__dict__.pop(name, None)
        self._trained = []
        if not self._is_chosen_by_data():
            self.distribution_ = self.distribution
            self.noise_ = self.noise if np.isscalar(self.noise) else np.asarray(self.noise, np.float64)
            return
        amounts, n_members = self._amounts(), self._n_tried()
        searches = {}
        for distribution in self._distributions():
            parts = self._parts(trainer, sample, distribution)
            trials = Trials(trainer, parts, amounts, n_outputs, self.combine)
            judge = Judge(trials, sample, self._losses[self.scoring], self.n_jobs, self.verbose)
            searches[distribution] = find_amount(judge, self.search, amounts, n_members)
        # Of equal losses the first: without noise all distributions are equal.
        self.distribution_ = min(searches, key=lambda name: searches[name].sort_key)
        chosen, n_trained = searches[self.distribution_], sum(each.curve.n_trained for each in searches.values())
        self.noise_, self.noise_curve_ = chosen.amount, replace(chosen.curve, n_trained=n_trained)
        self._trained = chosen.members

    def _n_tried(self) -> int:
        """Return how many members judge an amount at most."""
        return min(self._ceiling(), BATCH) if self.n_estimators == "auto" else int(self.n_estimators)

    def _parts(self, trainer: Trainer, sample: Sample, distribution: str) -> list[Part]:
        """Return the training sets that amounts are judged by: all rows, or all but a fold."""
        if self.tuning == "oob":
            if self._leaves_no_row_out(sample):
                raise InvalidParameter(
                    "tuning='oob' judges amounts by rows that members leave out, but with bootstrap=False and "
                    f"max_samples={self.max_samples!r} they leave none out: use tuning='cv', or draw fewer rows"
                )
            return [self._part(trainer, sample, distribution, None)]
        if sample.groups is not None:
            raise InvalidParameter(
                "groups were given, and the folds of tuning='cv' would divide them: use tuning='oob'"
            )
        folds = make_folds(sample, self.cv, self._root_seed)
        held_out = folds if len(folds) > 1 else [None]
        return [self._part(trainer, sample, distribution, fold) for fold in held_out]

    def _leaves_no_row_out(self, sample: Sample) -> bool:
        n_units = len(sample.units())
        return not self.bootstrap and rows_to_draw(self.max_samples, n_units) >= n_units

    def _part(self, trainer: Trainer, sample: Sample, distribution: str, held_out: np.ndarray | None) -> Part:
        rest = sample
        if held_out is not None:
            weights = np.ones(sample.n_rows, np.int64) if sample.weights is None else sample.weights.copy()
            weights[held_out] = 0
            rest = replace(sample, weights=weights)
        learned = LearnedNoise.of(self._smeared(0.0, distribution), rest, trainer.values())
        drawn = [self._bootstrap(), *self._weighing()]
        return Part(Drawing(rest, drawn, self._ceiling(), self._root_seed), learned, held_out)

    def _add_members(
        self, members: list[Member], training: Training, numbers: range, out_of_bag: OutOfBag | None, tasks: MemberTasks
    ) -> None:
        trained = self.__dict__.pop("_trained", [])
        if trained:
            training = TrainedBefore(training.trainer, training.drawing, training.with_counts, trained)
        super()._add_members(members, training, numbers, out_of_bag, tasks)
