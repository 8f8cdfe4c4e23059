"""Perturb, train, combine: what all ensembles do. A recipe says what is shaken and which estimator is trained.

Each member has a random stream of its own, derived from one root seed and the member's number; so the same seed gives
the same members for any number of jobs, and more members can be added later.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import closing
from typing import Any, Self

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, clone, is_classifier, is_regressor
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted, validate_data

from tremula.columns import ColumnEncoder, read_columns, read_training_columns
from tremula.combine import COMBINERS, Member, add_answers, combine_members, largest
from tremula.ensembles.left_out import BATCH, LeftOut
from tremula.ensembles.members import EstimatorMember, EstimatorTrainer, TreeTrainer
from tremula.ensembles.training import Trainer, Training, as_before_unless_done
from tremula.errors import InvalidInput, InvalidParameter
from tremula.parallel import cut, train_members
from tremula.parameters import check_choice, check_flag, check_number
from tremula.perturb.sample import Perturbation, Sample
from tremula.seeds import make_root_seed
from tremula.series import show
from tremula.targets import read_classes, read_target, read_weights
from tremula.trees.importances import attribute_importances
from tremula.trees.learner import TreeLearner
from tremula.trees.tree import Tree

MIN_ROWS_PER_THREAD = 500
OOB_ATTRIBUTES = (
    "_oob_total",
    "_oob_n_answers",
    "inbag_counts_",
    "oob_trace_",
    "oob_decision_function_",
    "oob_prediction_",
    "oob_score_",
)


class Ensemble(BaseEstimator):
    """Base of the ensembles; a recipe adds parameters, `_perturbations` and `_default_estimator`."""

    estimator: Any
    n_estimators: int | str
    max_estimators: int | None = None
    oob_score: bool
    warm_start: bool
    n_jobs: int | None
    random_state: Any
    verbose: int
    categorical_features: Any

    members_: list[Member]
    encoder_: ColumnEncoder | None
    _root_seed: int

    @abstractmethod
    def _perturbations(self) -> Sequence[Perturbation]:
        """Return what is shaken for every member."""

    @abstractmethod
    def _default_estimator(self) -> BaseEstimator:
        """Return the estimator that is trained where none is given."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.estimator is None
        if hasattr(self.estimator, "__sklearn_tags__"):
            taken = get_tags(self.estimator).input_tags
            tags.input_tags.allow_nan, tags.input_tags.sparse = taken.allow_nan, taken.sparse
        return tags

    def _check_parameters(self) -> None:
        leaves_rows_out = any(perturbation.leaves_rows_out for perturbation in self._perturbations())
        if self.n_estimators == "auto" and leaves_rows_out and self.max_estimators is not None:
            check_number("max_estimators", self.max_estimators, 1, whole=True)
        else:
            check_number("n_estimators", self.n_estimators, 1, whole=True)
        for name in ("oob_score", "warm_start"):
            check_flag(name, getattr(self, name))
        if self.oob_score and not leaves_rows_out:
            raise InvalidParameter(
                "oob_score=True was given, but every member is trained on all rows: nothing is left out to judge it by"
            )
        whole = [type(p).__name__ for p in self._perturbations() if p.depends_on_n_members]
        if self.warm_start and whole:
            raise InvalidParameter(
                f"warm_start=True was given, but {whole[0]} goes by the number of members, which adding some would "
                "change: set warm_start=False"
            )

    # ---- reading tables

    def _member_estimator(self) -> BaseEstimator:
        return self._default_estimator() if self.estimator is None else clone(self.estimator)

    def _read_training_table(self, X: Any) -> tuple[Trainer, int, int]:
        """Return who trains members, the number of rows and that of attributes."""
        known = self._columns_known()
        trainer, n_rows, n_attributes = self._read_new_table(X)
        if self._members_to_keep() and self._columns_known() != known:
            raise InvalidInput(
                "X has other columns or levels than the members that warm_start=True keeps have learned from: give the "
                "same table again, or set warm_start=False"
            )
        return trainer, n_rows, n_attributes

    def _columns_known(self) -> tuple[int, list[Any]]:
        """Return what members rely on: the number of columns and the levels of nominal ones."""
        encoder = getattr(self, "encoder_", None)
        levels = [] if encoder is None else [None if level is None else level.tolist() for level in encoder.levels]
        return getattr(self, "n_features_in_", 0), levels

    def _read_new_table(self, X: Any) -> tuple[Trainer, int, int]:
        estimator = self._member_estimator()
        if isinstance(estimator, TreeLearner):
            estimator._check_parameters()
            encoder, values = read_training_columns(self, X, self.categorical_features)
            self.encoder_ = encoder
            return TreeTrainer(estimator, estimator.sort(values, encoder.n_levels)), *values.shape
        self.encoder_ = None
        table = self._read_foreign(X, reset=True)
        if 0 in table.shape:
            raise InvalidInput(f"X has {table.shape[0]} rows and {table.shape[1]} columns: give at least one of each")
        return EstimatorTrainer(estimator, table), table.shape[0], self.n_features_in_

    def _read_foreign(self, X: Any, reset: bool) -> Any:
        """Return the table as other estimators take it: they check it themselves."""
        if hasattr(X, "__dataframe__") or hasattr(X, "columns"):
            return validate_data(self, X, reset=reset, skip_check_array=True)
        return validate_data(self, X, reset=reset, dtype=None, accept_sparse="csr", ensure_all_finite=False)

    def _read_table(self, X: Any) -> Any:
        check_is_fitted(self, "members_")
        return self._read_foreign(X, reset=False) if self.encoder_ is None else read_columns(self, self.encoder_, X)

    # ---- training

    def _fit_members(self, trainer: Trainer, sample: Sample, n_outputs: int, combine: str) -> None:
        """Train the members that are wanting; judge them by the rows they left out."""
        perturbations = self._perturbations()
        for perturbation in perturbations:
            perturbation.check(sample)
        members = self._members_to_keep()
        left_out = self._left_out_so_far(members, sample, n_outputs, combine)
        if not members:
            self._root_seed = make_root_seed(self.random_state)
        ceiling = self._ceiling()
        training = Training(trainer, sample, perturbations, ceiling, self._root_seed, left_out is not None)
        batch = BATCH if self.n_estimators == "auto" else ceiling
        while len(members) < ceiling and not (self.n_estimators == "auto" and left_out and left_out.has_settled()):
            numbers = range(len(members), min(len(members) + batch, ceiling))
            with closing(train_members(training, numbers, self.n_jobs, self.verbose)) as trained:
                for member, counts in trained:
                    members.append(member)
                    if left_out is not None and counts is not None:
                        rows = np.flatnonzero(counts == 0)
                        left_out.add(member, counts, rows, trainer.rows(rows))
            if left_out is not None:
                left_out.note()
        self.members_ = members
        self._keep_left_out(left_out)

    def _ceiling(self) -> int:
        ceiling: Any = self.max_estimators if self.n_estimators == "auto" else self.n_estimators
        return int(ceiling)

    def _members_to_keep(self) -> list[Member]:
        kept = list(getattr(self, "members_", [])) if self.warm_start else []
        if len(kept) > self._ceiling():
            raise InvalidParameter(
                f"n_estimators={self.n_estimators} is less than the {len(kept)} members there are: with "
                "warm_start=True members are only added; set warm_start=False to begin anew"
            )
        return kept

    def _left_out_so_far(self, members: list[Member], sample: Sample, n_outputs: int, combine: str) -> LeftOut | None:
        """Return where the answers for rows left out are summed up; None if nobody asked."""
        if not self.oob_score and self.n_estimators != "auto":
            return None
        left_out = LeftOut(sample.target, n_outputs, combine, sample.n_classes > 0)
        if members:
            if not hasattr(self, "_oob_total"):
                raise InvalidParameter(
                    "oob_score=True was set after members had been trained without it: fit again with warm_start=False"
                )
            if self._oob_total.shape != left_out.total.shape:
                raise InvalidInput(
                    f"{sample.n_rows} rows were given, but {len(self._oob_total)} to the members that warm_start=True "
                    "keeps: with oob_score=True give the same rows again, or set warm_start=False"
                )
            left_out.total, left_out.n_answers = self._oob_total.copy(), self._oob_n_answers.copy()
            left_out.inbag = list(self.inbag_counts_)
            left_out.trace = [(int(n), float(loss)) for n, loss in self.oob_trace_]
        return left_out

    def _keep_left_out(self, left_out: LeftOut | None) -> None:
        for name in OOB_ATTRIBUTES:
            self.__dict__.pop(name, None)
        if left_out is None:
            return
        if not left_out.n_answers.any():
            raise InvalidParameter(
                "no row was left out by any member, so nothing can judge them: draw fewer rows (max_samples), or set "
                "oob_score=False and a number of members"
            )
        self._oob_total, self._oob_n_answers = left_out.total, left_out.n_answers
        self.inbag_counts_ = np.array(left_out.inbag)
        self.oob_trace_ = np.array(left_out.trace)
        self._keep_oob_answers(left_out)

    @abstractmethod
    def _keep_oob_answers(self, left_out: LeftOut) -> None:
        """Set what the rows left out tell, in the words of classes or of numbers."""

    @property
    def estimators_(self) -> list[Any]:
        """The members: trees, or the fitted estimators."""
        check_is_fitted(self, "members_")
        return [getattr(member, "estimator", member) for member in self.members_]

    @property
    def feature_importances_(self) -> np.ndarray:
        """Mean of the members' importances: shares of each attribute in the decrease of impurity."""
        check_is_fitted(self, "members_")
        weights = getattr(self, "member_weights_", None)
        impurity = getattr(self._member_estimator(), "_impurity", "")
        importances = []
        for member in self.members_:
            if isinstance(member, EstimatorMember):
                importances.append(member.importances(self.n_features_in_))
            elif isinstance(member, Tree):
                importances.append(attribute_importances(member, impurity))
        return np.average(importances, axis=0, weights=weights)

    def __len__(self) -> int:
        """Return the number of members."""
        return len(self.members_)

    def _stages(self, X: Any, n_outputs: int, combine: str) -> Iterator[np.ndarray]:
        """Yield the combined answers of the first member, the first two, and so on."""
        rows = self._read_table(X)
        total, sum_of_weights = np.zeros((rows.shape[0], n_outputs)), 0.0
        weights = getattr(self, "member_weights_", np.ones(len(self.members_)))
        for member, weight in zip(self.members_, weights):
            add_answers(total, member, rows, combine, weight)
            sum_of_weights += weight
            yield total / sum_of_weights

    def _combined(self, X: Any, n_outputs: int, combine: str) -> np.ndarray:
        """Combine the members' answers, blocks of rows at the same time."""
        rows = self._read_table(X)
        weights = getattr(self, "member_weights_", None)
        n_rows = rows.shape[0]
        n_blocks = min(effective_n_jobs(self.n_jobs), n_rows // MIN_ROWS_PER_THREAD) if self.encoder_ is not None else 1
        if n_blocks < 2:
            return combine_members(self.members_, rows, n_rows, n_outputs, combine, weights)
        blocks = [rows[stretch.start : stretch.stop] for stretch in cut(range(n_rows), n_blocks)]
        work = (delayed(combine_members)(self.members_, b, len(b), n_outputs, combine, weights) for b in blocks)
        return np.concatenate(Parallel(n_jobs=n_blocks, require="sharedmem")(work))


class EnsembleClassifier(ClassifierMixin, Ensemble):
    """Base of the ensembles that learn classes."""

    combine: str

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_choice("combine", self.combine, COMBINERS)
        estimator = self._member_estimator()
        if is_regressor(estimator):
            raise InvalidParameter(
                f"estimator={type(estimator).__name__}() learns numbers, but y has classes to learn: give a classifier"
            )
        if self.combine == "average" and not hasattr(estimator, "predict_proba"):
            raise InvalidParameter(
                f"combine='average' needs class probabilities, which {type(estimator).__name__} does not give: use "
                "combine='vote', or an estimator with predict_proba"
            )

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Train the members.

        Parameters
        ----------
        X : array, data frame or table of shape (n_rows, n_attributes)
        y : array of shape (n_rows,)
            Class labels of any type.
        sample_weight : array of shape (n_rows,), optional
            Row weights.

        Returns
        -------
        self
        """
        self._check_parameters()
        with as_before_unless_done(self):
            trainer, n_rows, n_attributes = self._read_training_table(X)
            weights = read_weights(sample_weight, n_rows)
            classes, codes = read_classes(y, n_rows, weights)
            self._check_classes_to_keep(classes)
            self.classes_, self.n_classes_ = classes, len(classes)
            sample = Sample(codes, self.n_classes_, n_attributes, weights)
            self._fit_members(trainer, sample, self.n_classes_, self.combine)
        return self

    def _check_classes_to_keep(self, classes: np.ndarray) -> None:
        if self._members_to_keep() and classes.tolist() != self.classes_.tolist():
            raise InvalidInput(
                f"y has classes {show(classes.tolist())}, but the members that warm_start=True keeps know "
                f"{show(self.classes_.tolist())}: give the same classes, or set warm_start=False"
            )

    def _keep_oob_answers(self, left_out: LeftOut) -> None:
        self.oob_decision_function_ = left_out.means()
        self.oob_score_ = 1.0 - left_out.loss()

    def predict_proba(self, X: Any) -> np.ndarray:
        """Class distribution of each row: the mean of the members', or their shares of the vote.

        Parameters
        ----------
        X : array, data frame or table of shape (n_rows, n_attributes)

        Returns
        -------
        array of shape (n_rows, n_classes)
        """
        check_is_fitted(self, "members_")
        return self._combined(X, self.n_classes_, self.combine)

    def predict(self, X: Any) -> np.ndarray:
        """Class of each row; ties go to the first class.

        Parameters
        ----------
        X : array, data frame or table of shape (n_rows, n_attributes)

        Returns
        -------
        array of shape (n_rows,)
        """
        shares = self.predict_proba(X)
        return self.classes_[largest(shares)]

    def predict_members(self, X: Any) -> np.ndarray:
        """Class that each member gives each row.

        Parameters
        ----------
        X : array, data frame or table of shape (n_rows, n_attributes)

        Returns
        -------
        array of shape (n_members, n_rows)
        """
        rows = self._read_table(X)
        return self.classes_[np.array([member.predict_codes(rows) for member in self.members_])]

    def staged_predict_proba(self, X: Any) -> Iterator[np.ndarray]:
        """Class distribution after the first member, the first two, and so on.

        Parameters
        ----------
        X : array, data frame or table of shape (n_rows, n_attributes)

        Yields
        ------
        array of shape (n_rows, n_classes)
        """
        check_is_fitted(self, "members_")
        yield from self._stages(X, self.n_classes_, self.combine)

    def staged_predict(self, X: Any) -> Iterator[np.ndarray]:
        """Class of each row after the first member, the first two, and so on.

        Parameters
        ----------
        X : array, data frame or table of shape (n_rows, n_attributes)

        Yields
        ------
        array of shape (n_rows,)
        """
        for shares in self.staged_predict_proba(X):
            yield self.classes_[largest(shares)]


class EnsembleRegressor(RegressorMixin, Ensemble):
    """Base of the ensembles that learn numbers."""

    def _check_parameters(self) -> None:
        super()._check_parameters()
        estimator = self._member_estimator()
        if is_classifier(estimator):
            raise InvalidParameter(
                f"estimator={type(estimator).__name__}() learns classes, but y has numbers to learn: give a regressor"
            )

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Train the members.

        Parameters
        ----------
        X : array, data frame or table of shape (n_rows, n_attributes)
        y : array of shape (n_rows,)
            Finite numbers.
        sample_weight : array of shape (n_rows,), optional
            Row weights.

        Returns
        -------
        self
        """
        self._check_parameters()
        with as_before_unless_done(self):
            trainer, n_rows, n_attributes = self._read_training_table(X)
            weights = read_weights(sample_weight, n_rows)
            target = read_target(y, n_rows, weights)
            sample = Sample(target, 0, n_attributes, weights)
            self._fit_members(trainer, sample, 1, "average")
        return self

    def _keep_oob_answers(self, left_out: LeftOut) -> None:
        self.oob_prediction_ = left_out.means()[:, 0]
        judged = left_out.n_answers > 0
        spread = float(left_out.target[judged].var())
        self.oob_score_ = 1.0 - left_out.loss() / spread if spread > 0 else float("nan")

    def predict(self, X: Any) -> np.ndarray:
        """Mean of the members' values for each row.

        Parameters
        ----------
        X : array, data frame or table of shape (n_rows, n_attributes)

        Returns
        -------
        array of shape (n_rows,)
        """
        return self._combined(X, 1, "average")[:, 0]

    def predict_members(self, X: Any) -> np.ndarray:
        """Value that each member gives each row.

        Parameters
        ----------
        X : array, data frame or table of shape (n_rows, n_attributes)

        Returns
        -------
        array of shape (n_members, n_rows)
        """
        rows = self._read_table(X)
        return np.array([member.predict_values(rows)[:, 0] for member in self.members_])

    def staged_predict(self, X: Any) -> Iterator[np.ndarray]:
        """Value of each row after the first member, the first two, and so on.

        Parameters
        ----------
        X : array, data frame or table of shape (n_rows, n_attributes)

        Yields
        ------
        array of shape (n_rows,)
        """
        for values in self._stages(X, 1, "average"):
            yield values[:, 0]
