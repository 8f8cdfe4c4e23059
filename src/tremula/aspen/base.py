"""What the two Aspen estimators have in common: try families, choose and weigh them, grow them, correct their blend.

Every choice is made on out-of-bag rows. Nothing depends on the number of jobs. A warm start keeps the chosen families,
and adds the members that a single training would have had.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from tremula.aspen.blend import Blend
from tremula.aspen.boosted_corrections import N_PARTS
from tremula.aspen.families import Family, GroupedDrawing, TrainingTable, that_apply, that_keep_order
from tremula.aspen.family_members import FamilyMembers, ScoringRows
from tremula.aspen.missing_values import Filling
from tremula.aspen.report import AspenReport, Tried
from tremula.aspen.selection import choose_families, describe_family, weigh_families
from tremula.aspen.size_limit import SHARE_OF_MEMBERS, limit_members, size_of
from tremula.aspen.sums_of_blend import BlendSumsMixin
from tremula.aspen.task import Task
from tremula.aspen.training import Corrections, PartTrainer
from tremula.combine import Member, RowSums
from tremula.data.encoding import ColumnEncoder
from tremula.data.table_input import TableInputMixin
from tremula.ensembles.base.callbacks import CallbackSupportMixin, MemberTasks, with_callbacks
from tremula.ensembles.base.drawing_record import RowsOfFit, check_rows_of_fit, is_same, require_record, rows_of_fit
from tremula.ensembles.base.permutation_importances import PermutationImportancesMixin
from tremula.ensembles.base.prediction import check_weights, impurity_importances
from tremula.ensembles.base.table import check_columns_to_keep, known_columns
from tremula.ensembles.base.training import AllOrNothingFitMixin, Drawing
from tremula.ensembles.base.unbiased_importances import UnbiasedImportancesMixin
from tremula.errors import InvalidInput, InvalidParameter
from tremula.parameters import check_parameters
from tremula.persistence.soundness import require
from tremula.perturb import Bootstrap, Perturbation, Sample
from tremula.perturb.sample import Values
from tremula.prediction import StagedOutputsMixin
from tremula.seeds import RandomState, make_root_seed
from tremula.trees.columns import read_columns
from tremula.trees.combinations import check_classes
from tremula.trees.identifiers import IgnoredFeaturesMixin
from tremula.trees.monotonic import read_directions
from tremula.trees.tree import Tree

N_TRIED = 20  # members by which a family is compared with others


class Aspen(
    CallbackSupportMixin,
    AllOrNothingFitMixin,
    TableInputMixin,
    IgnoredFeaturesMixin,
    PermutationImportancesMixin,
    UnbiasedImportancesMixin,
    StagedOutputsMixin,
    BlendSumsMixin,
    BaseEstimator,
):
    """Base of the two estimators; they add the families, the task and the predictions."""

    report_: AspenReport
    members_: list[Member]
    member_weights_: np.ndarray
    corrections_: list[Tree]
    encoder_: ColumnEncoder
    _filling: Filling
    _root_seed: int
    _drawn_from: RowsOfFit | None
    # What a warm start goes on from. The sums of out-of-bag predictions are None without warm_start.
    _group_names: list[str]
    _group_sizes: list[int]
    _group_totals: np.ndarray | None
    _group_counts: np.ndarray | None
    # Aspen itself does not set these; files of an earlier release have them.
    _drawn_by: list[Perturbation] | None
    _drawn_for: int
    oob_score_: float
    _families: ClassVar[tuple[Family, ...]]

    def _check_stored(self) -> None:
        filling, known = self._filling.values, self.encoder_.n_levels
        require(len(filling) == len(known), "missing values are replaced in other columns")
        is_level = (known > 0) & ~np.isnan(filling)
        require((filling[is_level] == known[is_level]).all(), "missing values of a column are another level")
        n_levels = self._filling.n_levels(known)
        check_weights(self.member_weights_, len(self.members_))
        for member in (*self.members_, *self.corrections_):
            rules = getattr(member, "rules", member)
            codes_are_numbers = isinstance(rules, Tree) and len(rules.n_levels) == len(n_levels) and rules.n_levels == 0
            member.check_fits(np.where(codes_are_numbers, 0, n_levels), self._n_outputs)  # type: ignore[attr-defined]
        require(self._root_seed >= 0, "the seed is negative")
        require_record(getattr(self, "_drawn_from", None))
        require(len(self._group_names) == len(self._group_sizes), "families have other names")
        is_whole = sum(self._group_sizes) == len(self.members_) and min(self._group_sizes, default=0) > 0
        require(is_whole and set(self._group_names) <= {family.name for family in self._families}, "unknown families")
        for sums in (getattr(self, "_group_totals", None), getattr(self, "_group_counts", None)):
            require(sums is None or (sums.ndim >= 2 and len(sums) == len(self._group_names)), "families have no sums")

    def __init__(
        self,
        n_estimators: int = 100,
        boosting: bool = True,
        *,
        monotonic_cst: Any = None,
        max_size: int | None = None,
        warm_start: bool = False,
        n_jobs: int | None = None,
        categorical_features: Any = "from_dtype",
        random_state: RandomState = None,
        verbose: int = 0,
    ) -> None:
        self.n_estimators = n_estimators
        self.boosting = boosting
        self.monotonic_cst = monotonic_cst
        self.max_size = max_size
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.categorical_features = categorical_features
        self.random_state = random_state
        self.verbose = verbose

    # --- what differs between classes and numbers ---

    @abstractmethod
    def _read_sample(
        self, y: Any, sample_weight: Any, n_rows: int, n_attributes: int, keeps_members: bool = False
    ) -> Sample:
        """Read the target and weights given to `fit`."""

    @abstractmethod
    def _read_known_sample(self, y: Any, sample_weight: Any, n_rows: int) -> Sample:
        """Read the target of `fit` once more."""

    @abstractmethod
    def _new_task(self, sample: Sample) -> Task:
        """Return the task before anything is calibrated."""

    @abstractmethod
    def _set_task(self, task: Task) -> None:
        """Set the attributes that predictions need of the task."""

    @abstractmethod
    def _task(self) -> Task:
        """Return the task that was set."""

    @abstractmethod
    def _set_oob_predictions(self, predictions: np.ndarray, scoring: ScoringRows, n_rows: int) -> None:
        """Set `oob_score_` and the predictions behind it."""

    # --- training ---

    def _how_to_use_ignored(self) -> str:
        return "use a random forest with nominal='statistics', which tests every column"

    def _check_parameters(self) -> None:
        check_parameters(self)
        if self.max_size is not None and self.warm_start:
            raise InvalidParameter(
                "max_size is given and warm_start=True: a blend of limited size cannot grow; give one"
            )

    @with_callbacks
    def _train(self, X: Any, y: Any, sample_weight: Any, groups: Any = None) -> None:
        kept = self._families_to_keep()
        before = known_columns(self)
        table = self._learn_table(X)
        if kept:
            check_columns_to_keep(before, known_columns(self))
        n_rows, n_attributes = table.columns.values.shape
        sample = self._read_sample(y, sample_weight, n_rows, n_attributes, keeps_members=bool(kept))
        check_classes(sample.n_classes, table.columns.directions)
        ignored = getattr(self, "ignored_features_", None) if kept else None
        given = (table.columns, sample.target, sample.weights, sample.n_classes)
        table = replace(table, columns=self._ignore_identifiers(*given, ignored))
        self._start(sample, table, kept)
        possible = that_apply(self._families, table.known.n_levels)
        families = that_keep_order(possible, table.columns.directions)
        tasks = MemberTasks(self, X, y, sample_weight)
        tasks.begin(sum(family.n_members(self.n_estimators) for family in families) + 3 * N_PARTS * self.boosting)
        trained = [member for family in kept for member in family.members]
        trainer = PartTrainer(table, sample, self._root_seed, tasks, self.n_jobs, self.verbose, trained)
        tried = kept or self._try(trainer, families)
        rivals = {family.name: family.rivals for family in families}
        chosen = kept or choose_families(tried, rivals, sample, self._task())
        by_name = {family.name: family for family in families}
        wanted = {members.name: by_name[members.name].n_members(self.n_estimators) for members in chosen}
        if self.max_size is not None:
            wanted, chosen = self._limit(chosen, wanted, trainer)
        for members in chosen:
            trainer.grow(members, by_name[members.name], wanted[members.name])
        self._finish(tried, chosen, trainer, self.report_.tried if kept else ())
        names = {family.name for family in families}
        self.report_ = replace(self.report_, left_out=tuple(each.name for each in possible if each.name not in names))
        tasks.end()

    def _learn_table(self, X: Any) -> TrainingTable:
        self.encoder_, values = self._learn_columns(X, self.categorical_features)
        n_levels = self.encoder_.n_levels
        self._filling = Filling.of(values, n_levels)
        columns = read_columns(self._filling.fill(values), self._filling.n_levels(n_levels))
        directions = read_directions(self.monotonic_cst, n_levels, getattr(self, "feature_names_in_", None))
        return TrainingTable(replace(columns, directions=directions), Values(values, n_levels))

    def _start(self, sample: Sample, table: TrainingTable, kept: Sequence[FamilyMembers]) -> None:
        """Set what does not depend on the members, so that callbacks can predict from the first member on."""
        rows = rows_of_fit(sample, lambda chosen: table.columns.values[chosen])
        if kept:
            self._check_sums_to_keep(kept, sample)
        else:
            self._root_seed = make_root_seed(self.random_state)
        self._drawn_from = rows if not kept or is_same(rows, self._drawn_from) else None
        self._set_task(self._new_task(sample))
        self.corrections_ = []

    def _try(self, trainer: PartTrainer, families: Sequence[Family]) -> list[FamilyMembers]:
        """Train a few members of every family."""
        tried = []
        for family in families:
            members = FamilyMembers(family.name, RowSums(trainer.sample.n_rows, trainer.n_outputs))
            trainer.grow(members, family, family.n_members(min(self.n_estimators, N_TRIED)))
            tried.append(members)
        return [members for members in tried if members.members]

    def _limit(
        self, chosen: list[FamilyMembers], wanted: dict[str, int], trainer: PartTrainer
    ) -> tuple[dict[str, int], list[FamilyMembers]]:
        """Return how many members of which families `max_size` allows; one with more members so far starts anew."""
        assert self.max_size is not None
        weights = weigh_families(chosen, ScoringRows.common_to(chosen, trainer.sample), self._task())
        n_bytes = int(self.max_size * (SHARE_OF_MEMBERS if self.boosting else 1.0))
        counts = limit_members(chosen, weights.tolist(), wanted, n_bytes)
        kept = [
            FamilyMembers(each.name, RowSums(trainer.sample.n_rows, trainer.n_outputs))
            if len(each.members) > counts[each.name]
            else each
            for each in chosen
            if each.name in counts
        ]
        return counts, kept

    def _finish(
        self,
        tried: list[FamilyMembers],
        chosen: list[FamilyMembers],
        trainer: PartTrainer,
        tried_before: tuple[Tried, ...],
    ) -> None:
        """Weigh the families that are grown, correct their blend, and set the fitted attributes."""
        task, scoring = self._task(), ScoringRows.common_to(chosen, trainer.sample)
        weights = weigh_families(chosen, scoring, task)
        weight_of = {family.name: float(weight) for family, weight in zip(chosen, weights)}
        described = {each.name: describe_family(each, scoring, task, weight_of.get(each.name, 0.0)) for each in tried}
        means = np.tensordot(weights, np.array([family.sums.means(scoring.rows) for family in chosen]), axes=1)
        task = task.calibrated(means, scoring)
        self._set_task(task)
        margins = task.margins(means)
        corrections = self._correct(margins, scoring, task, trainer)
        self.members_ = [member for family in chosen for member in family.members]
        is_too_large = self.max_size is not None and size_of(self.members_) + size_of(corrections.trees) > self.max_size
        if is_too_large:
            corrections = Corrections([], 0, task.predictions(margins), was_tried=False)
        self._set_task(task.weakened(corrections.blend_share))
        self.corrections_ = corrections.trees
        shares = [[weight / len(family.members)] * len(family.members) for family, weight in zip(chosen, weights)]
        self.member_weights_ = np.concatenate(shares)
        self.report_ = AspenReport(
            tried=tuple(described.get(each.name, each) for each in tried_before) or tuple(described.values()),
            n_rows=len(scoring),
            loss_name=task.loss_name,
            blend_loss=task.loss(task.predictions(margins), scoring),
            loss=task.loss(corrections.predictions, scoring),
            error=task.error_rate(corrections.predictions, scoring),
            power=self._task().power,
            n_rounds=corrections.n_rounds,
            has_boosted=corrections.was_tried,
            second_rounds=corrections.second_rounds,
            second_share=corrections.second_share,
            gradient_rounds=corrections.gradient_rounds,
            gradient_share=corrections.gradient_share,
            calibration_error=task.calibration_error(corrections.predictions, scoring),
            size=size_of(self.members_) + size_of(self.corrections_),
            max_size=self.max_size,
            is_limited=is_too_large,
        )
        self._set_oob_predictions(corrections.predictions, scoring, trainer.sample.n_rows)
        self._keep_families(chosen)

    def _correct(self, margins: np.ndarray, scoring: ScoringRows, task: Task, trainer: PartTrainer) -> Corrections:
        if not self.boosting:
            return Corrections([], 0, task.predictions(margins), was_tried=False)
        return trainer.correct(margins, scoring, task, is_short=self.n_estimators < N_TRIED)

    # --- warm start ---

    def _keep_families(self, chosen: list[FamilyMembers]) -> None:
        """Keep what a warm start goes on from."""
        self._group_names = [family.name for family in chosen]
        self._group_sizes = [len(family.members) for family in chosen]
        self._group_totals = np.array([family.sums.total for family in chosen]) if self.warm_start else None
        self._group_counts = np.array([family.sums.weight for family in chosen]) if self.warm_start else None

    def _families_to_keep(self) -> list[FamilyMembers]:
        """Return the families that a warm start goes on from; none if it starts anew."""
        if not self.warm_start or not hasattr(self, "members_"):
            return []
        totals, counts = getattr(self, "_group_totals", None), getattr(self, "_group_counts", None)
        if totals is None or counts is None:
            raise InvalidParameter(
                "warm_start=True was set after members had been trained without it: start anew with warm_start=False, "
                "or set it before the first fit"
            )
        n_wanted = {family.name: family.n_members(self.n_estimators) for family in self._families}
        kept, start = [], 0
        for number, (name, size) in enumerate(zip(self._group_names, self._group_sizes)):
            if size > n_wanted[name]:
                raise InvalidParameter(
                    f"n_estimators={self.n_estimators} is less than the number of trained members of {name}: "
                    "warm_start=True only adds members; set warm_start=False to start anew"
                )
            sums = RowSums.of(totals[number], counts[number])
            kept.append(FamilyMembers(name, sums, self.members_[start : start + size]))
            start += size
        return kept

    def _check_sums_to_keep(self, kept: Sequence[FamilyMembers], sample: Sample) -> None:
        n_rows = len(kept[0].sums.total)
        if sample.n_rows != n_rows:
            raise InvalidInput(
                f"{sample.n_rows} rows were given, but {n_rows} to the members that warm_start=True keeps: give the "
                "same rows again, or set warm_start=False"
            )

    # --- rows drawn again ---

    @property
    def can_count_inbag(self) -> bool:
        """Whether `count_inbag` can tell which rows each member was trained on."""
        return getattr(self, "_drawn_from", None) is not None

    def _draws_rows(self) -> bool:
        return True

    def _read_rows_of_fit(self, X: Any, y: Any, sample_weight: Any) -> tuple[Any, Drawing]:
        table = self._read_table(X)
        sample = self._read_known_sample(y, sample_weight, len(table))
        check_rows_of_fit(sample, table, self._drawn_from)
        return table, GroupedDrawing(sample, [Bootstrap()], 1, self._root_seed, tuple(self._group_sizes))

    # --- predictions ---

    @property
    def estimators_(self) -> list[Any]:
        """The members: trees and model trees."""
        check_is_fitted(self, "members_")
        return list(self.members_)

    def __len__(self) -> int:
        """Return the number of members."""
        return len(self.members_)

    @property
    def feature_importances_(self) -> np.ndarray:
        """Weighted mean over the members of each attribute's share of the decrease of impurity, scaled to sum to 1.

        Only splits count: neither the linear models in the leaves of model trees nor `corrections_`.
        """
        check_is_fitted(self, "members_")
        impurity = getattr(self._families[0].learner, "_impurity", "")
        by_member = [impurity_importances(member, impurity, self.n_features_in_) for member in self.members_]
        importances = np.average(by_member, axis=0, weights=self.member_weights_)
        total = importances.sum()
        return importances / total if total > 0.0 else importances

    def _read_table(self, X: Any) -> np.ndarray:
        if "members_" not in self.__dict__:  # the check takes a good part of the time of one row
            check_is_fitted(self, "members_")
        return self._filling.fill(self._encode_columns(self.encoder_, X))

    def _blend(self) -> Blend:
        return Blend(self.members_, self.member_weights_, self.corrections_, self._task(), self._n_outputs)

    def _predict_outputs(self, rows: np.ndarray) -> np.ndarray:
        return self._blend().predict(rows, self.n_jobs, model=self)

    def _staged_outputs(self, rows: np.ndarray) -> Iterator[np.ndarray]:
        return self._blend().staged_predict(rows)
