"""Perturb, train, combine: the base of all ensembles. A recipe adds the perturbations and the estimator of the members.

Each member has its own random stream, derived from one root seed and the member's number. So the same seed gives the
same members for any number of jobs, and members can be added later.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, is_classifier, is_regressor
from sklearn.metrics import r2_score
from sklearn.utils import get_tags

from tremula.combine import Member, RowSums
from tremula.data.target import read_groups
from tremula.ensembles.base.callbacks import CallbackSupportMixin, MemberTasks, with_callbacks
from tremula.ensembles.base.drawing_record import DrawingRecordMixin
from tremula.ensembles.base.groups import check_draws_groups
from tremula.ensembles.base.member import Trainer, TreeTrainer
from tremula.ensembles.base.member_sum import TreeSumMixin
from tremula.ensembles.base.oob_scoring import OutOfBagClassifier, OutOfBagRegressor, score_rows, stack_targets
from tremula.ensembles.base.out_of_bag import BATCH, OutOfBag
from tremula.ensembles.base.permutation_importances import PermutationImportancesMixin
from tremula.ensembles.base.prediction import CombinedPredictionMixin
from tremula.ensembles.base.table import TableMixin, check_class_weight, check_nominal_columns
from tremula.ensembles.base.target import ClassTargetMixin, NumberTargetMixin, is_by_member
from tremula.ensembles.base.training import AllOrNothingFitMixin, Drawing, Training
from tremula.ensembles.base.unbiased_importances import UnbiasedImportancesMixin
from tremula.errors import InvalidInput, InvalidParameter
from tremula.parallel import train_members
from tremula.parameters import check_number, check_parameters
from tremula.persistence.soundness import require, require_numbers
from tremula.perturb.sample import Perturbation, Sample
from tremula.perturb.special_bootstraps import row_draws
from tremula.perturb.weights import BalancedWeights
from tremula.prediction import (
    StagedClassPredictionMixin,
    StagedNumberPredictionMixin,
    by_target,
    labels_of_codes,
    numbers_of,
)
from tremula.seeds import make_root_seed
from tremula.trees.identifiers import IgnoredFeaturesMixin
from tremula.trees.subtree_choice import PrunedSequence

OOB_ATTRIBUTES = (
    "_oob_total",
    "_oob_n_answers",
    "inbag_counts_",
    "oob_trace_",
    "oob_decision_function_",
    "oob_prediction_",
    "oob_score_",
)


class Ensemble(
    CallbackSupportMixin,
    AllOrNothingFitMixin,
    TableMixin,
    DrawingRecordMixin,
    IgnoredFeaturesMixin,
    PermutationImportancesMixin,
    UnbiasedImportancesMixin,
    CombinedPredictionMixin,
    TreeSumMixin,
    BaseEstimator,
):
    """Base of the ensembles; a recipe adds parameters, `_perturbations` and `_default_estimator`."""

    combine: str
    estimator: Any
    n_estimators: int | str
    max_estimators: int | None = None
    bootstrap: bool | str
    block_length: int | None = None
    oob_score: Any
    warm_start: bool
    n_jobs: int | None
    random_state: Any
    verbose: int
    categorical_features: Any

    members_: list[Member]
    _root_seed: int
    # Set by fit with oob_score=True.
    _oob_total: np.ndarray
    _oob_n_answers: np.ndarray
    inbag_counts_: np.ndarray
    oob_trace_: np.ndarray
    oob_score_: float
    # Set by prune_together and prune_each.
    pruned_sequence_: PrunedSequence
    pruned_sequences_: list[PrunedSequence]
    _n_calls_to_warning = 6
    _how_to_leave_rows_out: ClassVar[str] = "set bootstrap=True, or oob_score=False"

    def _check_stored(self) -> None:
        require(getattr(self, "_root_seed", 0) >= 0, "the seed is negative")
        counts = getattr(self, "inbag_counts_", None)
        if counts is not None:
            require_numbers("inbag_counts_", counts, (len(self.members_), None), "iuf", -1)

    @abstractmethod
    def _perturbations(self) -> Sequence[Perturbation]:
        """Return the perturbations of every member."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.estimator is None
        if hasattr(self.estimator, "__sklearn_tags__"):
            taken = get_tags(self.estimator).input_tags
            tags.input_tags.allow_nan, tags.input_tags.sparse = taken.allow_nan, taken.sparse
        tags.target_tags.multi_output = self._has_multi_output_tag()
        return tags

    def _has_multi_output_tag(self) -> bool:
        """Return whether the ensemble as it is set takes several targets; `_takes_targets` is about its kind."""
        if (
            not self._takes_targets()
            or getattr(self, "combine", None) == "vote"
            or str(getattr(self, "bootstrap", True)) == "balanced"
        ):
            return False
        return bool(get_tags(self._member_estimator()).target_tags.multi_output)

    @abstractmethod
    def _takes_targets(self) -> bool:
        """Return whether members learn several targets."""

    def _check_parameters(self) -> None:
        check_parameters(self)
        leaves_rows_out = self._leaves_rows_out()
        if not leaves_rows_out:
            check_number("n_estimators", self.n_estimators, 1, whole=True)
        if self.oob_score and not leaves_rows_out:
            raise InvalidParameter(
                f"oob_score={self.oob_score!r} was given, but every member is trained on all rows, so none is "
                f"out-of-bag: {self._how_to_leave_rows_out}"
            )
        whole = [type(p).__name__ for p in self._perturbations() if p.depends_on_n_members]
        if self.warm_start and whole:
            raise InvalidParameter(
                f"warm_start=True was given, but {whole[0]} depends on the number of members, which would "
                "change: set warm_start=False"
            )
        if self.estimator is not None:
            check_nominal_columns(type(self).__name__, self.estimator, self.categorical_features)
            check_class_weight(type(self).__name__, self.estimator)

    def _bootstrap_rows(self) -> list[Perturbation]:
        """Return the bootstrap sample of an ensemble that uses all rows unless `bootstrap` is set."""
        return row_draws(1.0, self.bootstrap, self.block_length) if self.bootstrap or self.block_length else []

    def _weighing(self) -> list[Perturbation]:
        """Return what weighs the classes in each member."""
        return [BalancedWeights()] if is_by_member(getattr(self, "class_weight", None)) else []

    def _leaves_rows_out(self) -> bool:
        return any(perturbation.leaves_rows_out for perturbation in self._perturbations())

    @abstractmethod
    def _read_sample(
        self, y: Any, sample_weight: Any, n_rows: int, n_attributes: int, keeps_members: bool = False
    ) -> Sample:
        """Read the target and weights given to `fit`."""

    @with_callbacks
    def _train(self, X: Any, y: Any, sample_weight: Any, groups: Any = None) -> None:
        trainer, n_rows, n_attributes = self._read_training_table(X)
        sample = self._read_sample(y, sample_weight, n_rows, n_attributes, bool(self._members_to_keep()))
        sample = self._with_groups(sample, groups)
        trainer = self._without_identifiers(trainer, sample)
        tasks = MemberTasks(self, X, y, sample_weight)
        self._fit_members(trainer, sample, sample.n_outputs, tasks)
        tasks.end()

    def _without_identifiers(self, trainer: Trainer, sample: Sample) -> Trainer:
        """Return the trainer of trees that leave out identifiers, if they should; a warm start decides as before."""
        before = getattr(self, "ignored_features_", None) if self._members_to_keep() else None
        self.ignored_features_ = []
        if not isinstance(trainer, TreeTrainer) or trainer.columns.nominal != "auto":
            return trainer
        given = (trainer.columns, sample.target, sample.weights, sample.n_classes)
        return replace(trainer, columns=self._ignore_identifiers(*given, before))

    def _with_groups(self, sample: Sample, groups: Any) -> Sample:
        """Return the sample with its groups, and keep them: they are drawn again later."""
        self.__dict__.pop("_row_groups", None)
        if groups is None:
            return sample
        check_draws_groups(self._perturbations())
        self._row_groups = read_groups(groups, sample.n_rows)
        return replace(sample, groups=self._row_groups)

    def _fit_members(self, trainer: Trainer, sample: Sample, n_outputs: int, tasks: MemberTasks) -> None:
        """Train the missing members and score them on out-of-bag rows."""
        for perturbation in (*self._perturbations(), *self._weighing()):
            perturbation.check(sample)
        members = self._members_to_keep()
        out_of_bag = self._out_of_bag_so_far(members, sample, n_outputs)
        if not members:
            self._root_seed = make_root_seed(self.random_state)
            self._choose(trainer, sample, n_outputs)
        perturbations = [*self._perturbations(), *self._weighing()]
        drawing = Drawing(sample, perturbations, self._ceiling(), self._root_seed)
        self._record_drawing(drawing, trainer, len(members))
        drawing = replace(drawing, perturbations=[each.learn(sample, trainer.values) for each in perturbations])
        numbers = range(len(members), self._ceiling())
        tasks.begin(len(numbers))
        if not (out_of_bag is not None and self._has_settled(out_of_bag)):
            self._add_members(members, Training(trainer, drawing, out_of_bag is not None), numbers, out_of_bag, tasks)
        self.members_ = members
        self._set_out_of_bag(out_of_bag)

    def _choose(self, trainer: Trainer, sample: Sample, n_outputs: int) -> None:
        """Choose parameters by the data before members are trained; recipes may override this."""

    def _add_members(
        self, members: list[Member], training: Training, numbers: range, out_of_bag: OutOfBag | None, tasks: MemberTasks
    ) -> None:
        """Train members until there are enough, the loss has settled, or a callback asks to stop."""
        batch = BATCH if self.n_estimators == "auto" else len(numbers)
        with closing(train_members(training, numbers, self.n_jobs, self.verbose, batch)) as trained:
            for number, (member, counts) in zip(numbers, tasks.each(trained, len(numbers)), strict=True):
                members.append(member)
                if out_of_bag is not None and counts is not None:
                    rows = np.flatnonzero(counts == 0)
                    out_of_bag.add(member, counts, rows, training.trainer.rows(rows))
                is_stopped = tasks.end_member(lambda: {"members_": list(members)})
                is_last = number == numbers[-1] or is_stopped
                if out_of_bag is not None and (is_last or (number + 1 - numbers.start) % batch == 0):
                    out_of_bag.record_loss()
                    is_stopped = is_stopped or self._has_settled(out_of_bag)
                if is_stopped:
                    break

    def _has_settled(self, out_of_bag: OutOfBag) -> bool:
        return self.n_estimators == "auto" and out_of_bag.has_settled()

    def _ceiling(self) -> int:
        ceiling: Any = self.max_estimators if self.n_estimators == "auto" else self.n_estimators
        return int(ceiling)

    def _members_to_keep(self) -> list[Member]:
        kept = list(getattr(self, "members_", [])) if self.warm_start else []
        if len(kept) > self._ceiling():
            raise InvalidParameter(
                f"n_estimators={self.n_estimators} is less than the {len(kept)} members there are: warm_start=True "
                "only adds members; set warm_start=False to start anew"
            )
        return kept

    def _out_of_bag_so_far(self, members: list[Member], sample: Sample, n_outputs: int) -> OutOfBag | None:
        """Return the out-of-bag predictions so far; None if they are not needed."""
        if not self.oob_score and self.n_estimators != "auto":
            return None
        counts = getattr(self, "n_classes_", None)
        of_targets = counts if isinstance(counts, list) else None
        out_of_bag = OutOfBag(sample.target, n_outputs, self.combine, sample.n_classes > 0, of_targets)
        if members:
            if not hasattr(self, "_oob_total"):
                raise InvalidParameter(
                    "oob_score=True was set after members had been trained without it: fit again with warm_start=False"
                )
            if self._oob_total.shape != out_of_bag.sums.total.shape:
                raise InvalidInput(
                    f"{sample.n_rows} rows were given, but {len(self._oob_total)} to the members that warm_start=True "
                    "keeps: with oob_score=True give the same rows again, or set warm_start=False"
                )
            out_of_bag.sums = RowSums.of(self._oob_total, self._oob_n_answers)
            out_of_bag.inbag_counts = list(self.inbag_counts_)
            out_of_bag.trace = [(int(n), float(loss)) for n, loss in self.oob_trace_]
        return out_of_bag

    def _set_out_of_bag(self, out_of_bag: OutOfBag | None) -> None:
        for name in OOB_ATTRIBUTES:
            self.__dict__.pop(name, None)
        if out_of_bag is None:
            return
        if not len(out_of_bag.sums.rows):
            raise InvalidParameter(
                "no row is out of bag for any member, so no error can be estimated: draw fewer rows (max_samples), or "
                "set oob_score=False and a number of members"
            )
        self._oob_total, self._oob_n_answers = out_of_bag.sums.total, out_of_bag.sums.weight
        self.inbag_counts_ = np.array(out_of_bag.inbag_counts)
        self.oob_trace_ = np.array(out_of_bag.trace)
        self._set_oob_predictions(out_of_bag)

    @abstractmethod
    def _set_oob_predictions(self, out_of_bag: OutOfBag) -> None:
        """Set `oob_score_` and the predictions behind it."""


class EnsembleClassifier(ClassifierMixin, ClassTargetMixin, StagedClassPredictionMixin, Ensemble):
    """Base of the ensembles that learn classes."""

    oob_decision_function_: np.ndarray

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = self._has_multi_output_tag()
        return tags

    def _check_parameters(self) -> None:
        super()._check_parameters()
        estimator = self._member_estimator()
        if self._learns_by_regression():
            self._check_regressor(estimator)
            return
        if is_regressor(estimator):
            raise InvalidParameter(
                f"estimator={type(estimator).__name__}() is a regressor, but y has classes: give a classifier"
            )
        if self.combine == "average" and not hasattr(estimator, "predict_proba"):
            raise InvalidParameter(
                f"combine='average' needs class probabilities, which {type(estimator).__name__} does not give: use "
                "combine='vote', or an estimator with predict_proba"
            )

    def _learns_by_regression(self) -> bool:
        """Return whether members are regressors, one for each class."""
        return False

    def _check_regressor(self, estimator: BaseEstimator) -> None:
        if is_classifier(estimator):
            raise InvalidParameter(
                f"estimator={type(estimator).__name__}() is a classifier, but one regressor per class is "
                "trained: give a regressor"
            )
        if getattr(estimator, "monotonic_cst", None) is not None:
            raise InvalidParameter(
                f"estimator={type(estimator).__name__}(monotonic_cst=...) was given, but one regressor per class is "
                "trained, and the same order cannot hold for all classes: set monotonic_cst=None"
            )

    def _set_oob_predictions(self, out_of_bag: OutOfBag) -> None:
        means = out_of_bag.sums.means()
        self.oob_decision_function_ = stack_targets(by_target(self.classes_, means))
        if isinstance(self.oob_score, bool | np.bool_):
            self.oob_score_ = 1.0 - out_of_bag.loss()
            return
        answers = OutOfBagClassifier(self.classes_, self._as_outputs(means))
        labels = labels_of_codes(self.classes_, out_of_bag.target)
        self.oob_score_ = score_rows(self.oob_score, answers, out_of_bag.sums.rows, labels)


class EnsembleRegressor(RegressorMixin, NumberTargetMixin, StagedNumberPredictionMixin, Ensemble):
    """Base of the ensembles that learn numbers."""

    combine = "average"
    oob_prediction_: np.ndarray

    @property
    def _n_outputs(self) -> int:
        return int(getattr(self.members_[0], "n_outputs", 1))

    def _check_parameters(self) -> None:
        super()._check_parameters()
        estimator = self._member_estimator()
        if is_classifier(estimator):
            raise InvalidParameter(
                f"estimator={type(estimator).__name__}() is a classifier, but y has numbers: give a regressor"
            )

    def _set_oob_predictions(self, out_of_bag: OutOfBag) -> None:
        self.oob_prediction_ = numbers_of(out_of_bag.sums.means())
        if not isinstance(self.oob_score, bool | np.bool_):
            answers = OutOfBagRegressor(self.oob_prediction_)
            self.oob_score_ = score_rows(self.oob_score, answers, out_of_bag.sums.rows, out_of_bag.target)
            return
        if out_of_bag.target.ndim == 2:
            rows = out_of_bag.sums.rows
            self.oob_score_ = float(r2_score(out_of_bag.target[rows], self.oob_prediction_[rows]))
            return
        spread = float(out_of_bag.target[out_of_bag.sums.rows].var())
        self.oob_score_ = 1.0 - out_of_bag.loss() / spread if spread > 0 else float("nan")
