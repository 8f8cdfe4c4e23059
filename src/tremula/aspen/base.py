"""What the two Aspens share: families are tried with a few members, weighed by rows left out, grown, and corrected.

Nothing depends on the number of jobs. Members added later by a warm start are those that would have been trained at
once; the families stay those that were chosen.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from sklearn.base import BaseEstimator

from tremula.aspen.boosted_corrections import N_PARTS, add_corrections
from tremula.aspen.families import Family, GroupedDrawing, that_apply
from tremula.aspen.family_members import Group, Judges
from tremula.aspen.missing_values import Filling
from tremula.aspen.report import AspenReport, Tried
from tremula.aspen.training import N_TRIED, Growing
from tremula.combine import Member, RowSums, combine_members, largest
from tremula.ensembles.base.callbacks import MemberTasks
from tremula.ensembles.base.ensemble import Ensemble
from tremula.ensembles.base.member import Trainer, TreeTrainer
from tremula.ensembles.base.prediction import MIN_ROWS_PER_THREAD
from tremula.ensembles.base.training import Drawing
from tremula.errors import InvalidInput, InvalidParameter, UnsupportedModel
from tremula.losses import zero_one_losses
from tremula.parallel import cut
from tremula.perturb import Bootstrap, Perturbation, Sample
from tremula.perturb.sample import Values
from tremula.seeds import RandomState, make_root_seed
from tremula.trees.growing import sort_columns
from tremula.trees.tree import Tree
from tremula.trees.tree_sum import TreeSum

LEAST_WEIGHT = 0.05  # what a family must have in the blend to be kept


class Aspen(Ensemble):
    """Base of the two estimators; they add the families, the loss and the blend."""

    estimator = None
    combine = "average"
    oob_score = False

    report_: AspenReport
    member_weights_: np.ndarray
    corrections_: list[Tree]
    _filling: Filling
    _group_names: list[str]
    _group_sizes: list[int]
    _group_totals: np.ndarray
    _group_counts: np.ndarray
    _families: ClassVar[tuple[Family, ...]]
    _loss_name: ClassVar[str]

    def __init__(
        self,
        n_estimators: int = 100,
        boosting: bool = True,
        *,
        warm_start: bool = False,
        n_jobs: int | None = None,
        categorical_features: Any = "from_dtype",
        random_state: RandomState = None,
        verbose: int = 0,
    ) -> None:
        self.n_estimators = n_estimators
        self.boosting = boosting
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.categorical_features = categorical_features
        self.random_state = random_state
        self.verbose = verbose

    # --- what differs between classes and numbers ---

    @abstractmethod
    def _begin(self, sample: Sample) -> None:
        """Set what answers need from the start, so that callbacks can ask for them."""

    @abstractmethod
    def _loss(self, answers: np.ndarray, judges: Judges) -> float:
        """Loss of answers for the rows that judge."""

    @abstractmethod
    def _weigh(self, answers: np.ndarray, judges: Judges) -> np.ndarray:
        """Weights of families, by what they answer for the rows that judge."""

    def _prepare(self, answers: np.ndarray) -> np.ndarray:
        """Make what members answer fit to be judged."""
        return answers

    def _calibrate(self, blend: np.ndarray, judges: Judges) -> None:
        """Learn how sure the blend should be."""

    @abstractmethod
    def _margins(self, blend: np.ndarray) -> np.ndarray:
        """Tell what corrections are added to."""

    @abstractmethod
    def _as_answers(self, margins: np.ndarray) -> np.ndarray:
        """Make answers of corrected margins."""

    @abstractmethod
    def _keep_answers(self, answers: np.ndarray, judges: Judges, n_rows: int) -> None:
        """Set what the rows left out tell of the whole."""

    # --- parameters and tables ---

    def _perturbations(self) -> Sequence[Perturbation]:
        return [Bootstrap()]

    def _default_estimator(self) -> BaseEstimator:
        return self._families[0].learner

    def _read_new_table(self, X: Any) -> tuple[Trainer, int, int]:
        encoder, values = self._learn_columns(X, self.categorical_features)
        self.encoder_ = encoder
        self._filling = Filling.of(values, encoder.n_levels)
        columns = sort_columns(self._filling.fill(values), self._filling.n_levels(encoder.n_levels))
        self._known = Values(values, encoder.n_levels)
        return TreeTrainer(self._families[0].learner, columns), *values.shape

    def _read_table(self, X: Any) -> Any:
        rows = super()._read_table(X)
        return self._filling.fill(rows)

    # --- training ---

    def _fit_members(self, trainer: Trainer, sample: Sample, n_outputs: int, tasks: MemberTasks) -> None:
        assert isinstance(trainer, TreeTrainer)
        known: Values = self.__dict__.pop("_known")
        kept = self._groups_to_keep(sample, n_outputs)
        if not kept:
            self._root_seed = make_root_seed(self.random_state)
        self._begin(sample)
        self._note_drawing(Drawing(sample, self._perturbations(), 1, self._root_seed), len(kept))
        families = that_apply(self._families, known.n_levels)
        tasks.begin(sum(family.n_members(self._ceiling()) for family in families) + N_PARTS * self.boosting)
        growing = Growing(self, trainer, sample, known, tasks, n_outputs)
        groups = kept or self._try(growing, families)
        chosen = kept or self._choose_groups(groups, sample)
        for group in chosen:
            family = next(family for family in families if family.name == group.name)
            growing.grow(group, family, family.n_members(self._ceiling()))
        self._conclude(groups, chosen, sample, growing, self.report_.tried if kept else ())

    def _try(self, growing: Growing, families: Sequence[Family]) -> list[Group]:
        """Train a few members of every family."""
        groups = []
        for family in families:
            group = Group.empty(family.name, growing.sample.n_rows, growing.n_outputs)
            growing.grow(group, family, family.n_members(min(self._ceiling(), N_TRIED)))
            groups.append(group)
        return [group for group in groups if group.members]

    def _weights(self, groups: Sequence[Group], judges: Judges) -> np.ndarray:
        """Weigh groups by the rows that all have left out, evenly where there are none."""
        if len(groups) == 1 or not judges.weights.any():
            return np.full(len(groups), 1.0 / len(groups))
        return self._weigh(
            np.array([self._calibrated(group.sums.means(judges.rows), judges) for group in groups]), judges
        )

    def _choose_groups(self, groups: list[Group], sample: Sample) -> list[Group]:
        """Return those worth to be grown."""
        judges = Judges.of_all(groups, sample)
        rivals = {family.name: family.rivals for family in self._families}
        losses = {
            group.name: self._loss(self._calibrated(group.sums.means(judges.rows), judges), judges) for group in groups
        }
        best = {rivals[name]: name for name in sorted(losses, key=lambda name: -losses[name])}
        kept = [group for group in groups if not rivals[group.name] or best[rivals[group.name]] == group.name]
        weights = self._weights(kept, judges)
        return [group for group, weight in zip(kept, weights) if weight >= LEAST_WEIGHT]

    def _calibrated(self, answers: np.ndarray, judges: Judges) -> np.ndarray:
        """Make the answers of a family alone as sure as they should be."""
        if judges.weights.any():
            self._calibrate(self._prepare(answers), judges)
        return self._as_answers(self._margins(answers))

    def _conclude(
        self, groups: list[Group], chosen: list[Group], sample: Sample, growing: Growing, before: tuple[Tried, ...]
    ) -> None:
        """Weigh the groups that are grown, correct their blend, and set all that fit learns."""
        judges = Judges.of_all(chosen, sample)
        weights = self._weights(chosen, judges)
        weight_of = {group.name: float(weight) for group, weight in zip(chosen, weights)}
        described = {group.name: self._describe(group, judges, weight_of.get(group.name, 0.0)) for group in groups}
        blend = np.tensordot(weights, np.array([group.sums.means(judges.rows) for group in chosen]), axes=1)
        if judges.weights.any():
            self._calibrate(self._prepare(blend), judges)
        start = self._margins(blend)
        blended = self._as_answers(start)
        after, n_rounds = growing.correct(start, judges) if self.boosting else (blended, 0)
        self.members_ = [member for group in chosen for member in group.members]
        self.member_weights_ = np.concatenate([[w / len(g.members)] * len(g.members) for g, w in zip(chosen, weights)])
        self.report_ = AspenReport(
            tried=tuple(described.get(one.name, one) for one in before) or tuple(described.values()),
            n_rows=len(judges),
            loss_name=self._loss_name,
            blend_loss=self._loss(blended, judges),
            loss=self._loss(after, judges),
            error=self._error(after, judges),
            power=getattr(self, "_power", 1.0),
            n_rounds=n_rounds,
            has_boosted=growing.has_boosted,
        )
        self._keep_answers(after, judges, sample.n_rows)
        self._keep_groups(chosen)

    def _describe(self, group: Group, judges: Judges, weight: float) -> Tried:
        part = judges.part(group.sums.is_predicted[judges.rows])
        answers = self._calibrated(group.sums.means(part.rows), part)
        return Tried(group.name, len(group.members), self._loss(answers, part), self._error(answers, part), weight)

    def _error(self, answers: np.ndarray, judges: Judges) -> float:
        if answers.shape[1] == 1 or not judges.weights.any():
            return float("nan")
        return float(np.average(zero_one_losses(judges.target, largest(answers)), weights=judges.weights))

    # --- warm start, and rows drawn again ---

    def _members_to_keep(self) -> list[Member]:
        kept = list(getattr(self, "members_", [])) if self.warm_start else []
        if kept and not hasattr(self, "_group_totals"):
            raise InvalidParameter(
                "warm_start=True was set after members had been trained without it: begin anew with warm_start=False, "
                "or set it before the first fit"
            )
        sizes = dict(zip(self._group_names, self._group_sizes)) if kept else {}
        for family in self._families:
            if sizes.get(family.name, 0) > family.n_members(self._ceiling()):
                raise InvalidParameter(
                    f"n_estimators={self.n_estimators} is less than the members of the {family.name} there are: with "
                    "warm_start=True members are only added; set warm_start=False to begin anew"
                )
        return kept

    def _keep_groups(self, chosen: list[Group]) -> None:
        """Keep what a warm start goes on from."""
        for name in ("_group_totals", "_group_counts"):
            self.__dict__.pop(name, None)
        self._group_names = [group.name for group in chosen]
        self._group_sizes = [len(group.members) for group in chosen]
        if self.warm_start:
            self._group_totals = np.array([group.sums.total for group in chosen])
            self._group_counts = np.array([group.sums.weight for group in chosen])

    def _groups_to_keep(self, sample: Sample, n_outputs: int) -> list[Group]:
        """Return the groups that a warm start goes on from; none if it begins anew."""
        members = self._members_to_keep()
        if not members:
            return []
        if self._group_totals.shape[1:] != (sample.n_rows, n_outputs):
            raise InvalidInput(
                f"{sample.n_rows} rows were given, but {self._group_totals.shape[1]} to the members that "
                "warm_start=True keeps: give the same rows again, or set warm_start=False"
            )
        groups, start = [], 0
        for number, (name, size) in enumerate(zip(self._group_names, self._group_sizes)):
            sums = RowSums.of(self._group_totals[number], self._group_counts[number])
            groups.append(Group(name, sums, members[start : start + size]))
            start += size
        return groups

    def _drawing_of(self, sample: Sample) -> Drawing:
        drawing = super()._drawing_of(sample)
        return GroupedDrawing(sample, drawing.perturbations, 1, self._root_seed, tuple(self._group_sizes))

    # --- answers ---

    @property
    def feature_importances_(self) -> np.ndarray:
        """Weighted mean of the members' shares in the decrease of impurity, made to sum to 1.

        Splits alone are counted: neither the linear models in the leaves of model trees nor `corrections_`.
        """
        importances = super().feature_importances_
        total = importances.sum()
        return importances / total if total > 0.0 else importances

    def as_tree_sum(self) -> TreeSum:
        """Refuse: a blend that is calibrated and corrected is not a sum of trees."""
        raise UnsupportedModel(
            f"{type(self).__name__} calibrates the mean of its members and corrects it by boosting, so it is not a sum "
            "of trees: use another ensemble"
        )

    def _answer(self, rows: np.ndarray, n_outputs: int) -> np.ndarray:
        blend = combine_members(self.members_, rows, len(rows), n_outputs, "average", self.member_weights_)
        return self._as_answers(self._margins(blend) + add_corrections(self.corrections_, rows, n_outputs))

    def _combined(self, rows: Any, n_outputs: int, combine: str) -> np.ndarray:
        n_blocks = min(effective_n_jobs(self.n_jobs), len(rows) // MIN_ROWS_PER_THREAD)
        if n_blocks < 2:
            return self._answer(rows, n_outputs)
        blocks = [rows[stretch.start : stretch.stop] for stretch in cut(range(len(rows)), n_blocks)]
        work = (delayed(self._answer)(block, n_outputs) for block in blocks)
        return np.concatenate(Parallel(n_jobs=n_blocks, require="sharedmem")(work))

    def _stages(self, rows: Any, n_outputs: int, combine: str) -> Iterator[np.ndarray]:
        corrections = add_corrections(self.corrections_, rows, n_outputs)
        for blend in super()._stages(rows, n_outputs, combine):
            yield self._as_answers(self._margins(blend) + corrections)
