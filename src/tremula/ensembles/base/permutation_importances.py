"""Permutation importances: the rise of a member's out-of-bag error when the values of an attribute are shuffled.

The result depends on the seed alone, not on the number of jobs. An attribute that a tree never tests takes no time:
shuffling it cannot change the tree's predictions.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
from scipy.sparse import hstack, issparse
from sklearn.dummy import DummyClassifier
from sklearn.utils.validation import check_is_fitted

from tremula.combine import Member
from tremula.data.names import attribute_names
from tremula.data.several_targets import check_one_target
from tremula.data.take import take_columns, take_rows
from tremula.display import ShortTable, ShownAsTable
from tremula.ensembles.base.member import EstimatorMember
from tremula.ensembles.base.training import Drawing
from tremula.errors import InvalidParameter
from tremula.losses import squared_errors, zero_one_losses
from tremula.parallel import train_members
from tremula.parameters import check_jobs, check_number
from tremula.seeds import RandomState, make_root_seed, member_generator
from tremula.trees.tree import Tree

MOST_REPEATS = 1_000_000  # of shuffling each attribute


@dataclass(frozen=True, repr=False)
class PermutationImportances(ShownAsTable):
    """Rise of the members' error, by attribute.

    Attributes
    ----------
    importances : array (n_attributes,)
        Mean rise over the members of the error rate, or of the mean squared error.
    standard_errors : array (n_attributes,)
        Standard errors of these means over the members; NaN for a single member.
    by_member : array (n_members, n_attributes)
        Rise of each member's error; NaN for a member without out-of-bag rows.
    names : tuple of str
        Names of the attributes, ``x0``, ``x1``, ... where the rows of `fit` had none.
    """

    importances: np.ndarray
    standard_errors: np.ndarray
    by_member: np.ndarray
    names: tuple[str, ...] = ()

    def _short_table(self) -> ShortTable:
        order = np.argsort(-self.importances, kind="stable")
        names = self.names or tuple(map(str, range(len(order))))
        rows = [(names[each], f"{self.importances[each]:.4g}", f"{self.standard_errors[each]:.2g}") for each in order]
        caption = f"rise of a member's error, mean over {len(self.by_member)} members"
        return ShortTable(caption, ["attribute", "importance", "standard error"], rows)

    @classmethod
    def of_members(cls, by_member: np.ndarray, names: tuple[str, ...] = ()) -> PermutationImportances:
        """Take means and standard errors over the members with out-of-bag rows."""
        scored = by_member[~np.isnan(by_member).any(axis=1)]
        if not len(scored):
            raise InvalidParameter(
                "no row is out of bag for any member, so no error can be estimated: draw fewer rows (max_samples), or "
                "use sklearn.inspection.permutation_importance on other rows"
            )
        spread = scored.std(axis=0, ddof=1) if len(scored) > 1 else np.full(by_member.shape[1], np.nan)
        return cls(scored.mean(axis=0), spread / np.sqrt(len(scored)), by_member, names)


def attributes_used(member: Any, n_attributes: int) -> np.ndarray:
    """Return the attributes that a member's predictions may depend on."""
    if isinstance(member, Tree):
        return np.unique(member.attribute[~member.is_leaf])
    if isinstance(member, EstimatorMember):
        if isinstance(member.estimator, DummyClassifier):
            return np.empty(0, np.intp)
        if member.attributes is not None:
            return member.attributes
    return np.arange(n_attributes)


def rows_that_meet(member: Any, table: Any, attributes: np.ndarray) -> Iterator[np.ndarray]:
    """Yield for each attribute the rows whose prediction may depend on it: in a tree, those that reach a test of it."""
    n_rows = table.shape[0]
    if not isinstance(member, Tree):
        yield from (np.arange(n_rows) for _ in attributes)
        return
    paths = member.decision_path(table)
    row, tested = np.repeat(np.arange(n_rows), np.diff(paths.indptr)), member.attribute[paths.indices]
    is_met = np.zeros((member.n_attributes, n_rows), np.bool_)
    is_met[tested[tested >= 0], row[tested >= 0]] = True
    yield from (np.flatnonzero(is_met[attribute]) for attribute in attributes)


def with_shuffled(table: Any, attribute: int, orders: Iterator[np.ndarray], rows: np.ndarray) -> Iterator[Any]:
    """Yield rows of a table with the values of one attribute permuted, once for each order."""
    if isinstance(table, np.ndarray):
        column, part = table[:, attribute], table[rows]
        for order in orders:
            part[:, attribute] = column[order[rows]]
            yield part
        return
    part, column = take_rows(table, rows), take_columns(table, np.array([attribute]))
    for order in orders:
        values = take_rows(column, order[rows])
        if issparse(table):
            yield hstack([part[:, :attribute], values, part[:, attribute + 1 :]], format="csr")
        else:
            shuffled = nw.from_native(values, eager_only=True)
            yield nw.to_native(nw.from_native(part, eager_only=True).with_columns(shuffled[shuffled.columns[0]]))


@dataclass(frozen=True)
class Shuffling:
    """Scores any member, in any process."""

    members: Sequence[Member]
    table: Any
    drawing: Drawing
    inbag: np.ndarray | None
    n_repeats: int
    root_seed: int

    def __call__(self, members: range) -> list[np.ndarray]:
        """Return the rises of these members' errors, by attribute."""
        return [self._rises(member) for member in members]

    def __sizeof__(self) -> int:
        """Return about the bytes of the table, so that Dask sends it only once."""
        sample = self.drawing.sample
        return object.__sizeof__(self) + 8 * sample.n_rows * sample.n_attributes

    def _out_of_bag_rows(self, number: int) -> np.ndarray:
        if self.inbag is not None:
            return np.flatnonzero(self.inbag[number] == 0)
        return np.flatnonzero(self.drawing.times_drawn(self.drawing.sample_of(number)[0]) == 0)

    def _rises(self, number: int) -> np.ndarray:
        member, sample = self.members[number], self.drawing.sample
        rows = self._out_of_bag_rows(number)
        if not len(rows):
            return np.full(sample.n_attributes, np.nan)
        # A separate stream, even with the seed of `fit`: shuffles must not depend on which rows were drawn.
        random = member_generator(self.root_seed, number).spawn(1)[0]
        table, target, rises = take_rows(self.table, rows), sample.target[rows], np.zeros(sample.n_attributes)
        weights = np.ones(len(rows)) if sample.weights is None else sample.weights[rows]
        losses = self._losses(member, table, target)
        attributes = attributes_used(member, sample.n_attributes)
        for attribute, met in zip(attributes, rows_that_meet(member, table, attributes), strict=True):
            orders = (random.permutation(len(rows)) for _ in range(self.n_repeats))
            for part in with_shuffled(table, attribute, orders, met):
                rises[attribute] += weights[met] @ (self._losses(member, part, target[met]) - losses[met])
        return np.asarray(rises / (self.n_repeats * weights.sum()))

    def _losses(self, member: Member, table: Any, target: np.ndarray) -> np.ndarray:
        """Zero-one loss or squared error of each row."""
        if self.drawing.sample.n_classes:
            return zero_one_losses(target, member.predict_codes(table))
        return squared_errors(target, member.predict_values(table)[:, 0])


class PermutationImportancesMixin:
    """Mixin with what an ensemble can tell if the rows of its members can be drawn again."""

    members_: list[Member]
    n_jobs: int | None

    @property
    @abstractmethod
    def can_count_inbag(self) -> bool:
        """Whether `count_inbag` can tell which rows each member was trained on."""

    @abstractmethod
    def _draws_rows(self) -> bool:
        """Return whether rows were drawn for each member, so that some are out of bag."""

    @abstractmethod
    def _read_rows_of_fit(self, X: Any, y: Any, sample_weight: Any) -> tuple[Any, Drawing]:
        """Return the table of `fit`, given once more, in the form that members take, and how its rows were drawn."""

    def permutation_importances(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        n_repeats: int = 1,
        random_state: RandomState = None,
        n_jobs: int | None = None,
    ) -> PermutationImportances:
        """Rise of each member's out-of-bag error when the values of an attribute are shuffled.

        Parameters
        ----------
        X : array, data frame or table of shape (n_rows, n_attributes)
            The rows of `fit` again, in the same order: the ensemble does not store them.
        y : array of shape (n_rows,)
            Their targets.
        sample_weight : array of shape (n_rows,), optional
            Their weights, if they were given to `fit`.
        n_repeats : int, default=1
            Number of shuffles of each attribute for each member, over which the mean is taken.
        random_state : int, RandomState, Generator or None, default=None
            Shuffles the values.
        n_jobs : int or None, default=None
            Number of members scored in parallel; None takes that of the ensemble.

        Returns
        -------
        PermutationImportances
            Mean rise of a member's error (`importances`), its standard error (`standard_errors`), and the rise for
            each member (`by_member`).

        Examples
        --------
        >>> import numpy as np
        >>> from tremula import BaggingClassifier
        >>> X = np.random.default_rng(0).normal(size=(200, 3))
        >>> y = X[:, 1] > 0
        >>> bagging = BaggingClassifier(n_estimators=10, random_state=0).fit(X, y)
        >>> found = bagging.permutation_importances(X, y, random_state=0)
        >>> found.importances.round(1)
        array([0. , 0.5, 0. ])
        """
        check_is_fitted(self, "members_")
        check_one_target(self, "permutation_importances")
        check_number("n_repeats", n_repeats, 1, MOST_REPEATS, whole=True)
        check_jobs("n_jobs", n_jobs)
        if not self._draws_rows():
            raise InvalidParameter(
                f"the members of {type(self).__name__} are trained on all rows, none is out of bag: use "
                "sklearn.inspection.permutation_importance on other rows"
            )
        table, drawing = self._read_rows_of_fit(X, y, sample_weight)
        seed = make_root_seed(random_state)
        inbag = getattr(self, "inbag_counts_", None)
        work = Shuffling(self.members_, table, drawing, inbag, n_repeats, seed)
        jobs = self.n_jobs if n_jobs is None else n_jobs
        with closing(train_members(work, range(len(self.members_)), jobs)) as rises:
            by_member = np.array(list(rises))
        names = attribute_names(getattr(self, "feature_names_in_", ()), by_member.shape[1])
        return PermutationImportances.of_members(by_member, names)

    def count_inbag(self, X: Any, y: Any, sample_weight: Any = None) -> np.ndarray:
        """Count how often each row is in the training sample of each member.

        Parameters
        ----------
        X : array, data frame or table of shape (n_rows, n_attributes)
            The rows of `fit` again, in the same order.
        y : array of shape (n_rows,)
            Their targets.
        sample_weight : array of shape (n_rows,), optional
            Their weights, if they were given to `fit`.

        Returns
        -------
        int array of shape (n_members, n_rows)
            0 for an out-of-bag row, -1 for a row of weight 0, which is never drawn. The rows are drawn again unless
            the ensemble has kept `inbag_counts_`.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from tremula import BaggingClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> bagging = BaggingClassifier(n_estimators=3, random_state=0).fit(X, y)
        >>> bagging.count_inbag(X, y).sum(axis=1)
        array([150, 150, 150])
        """
        check_is_fitted(self, "members_")
        if not self._draws_rows():
            raise InvalidParameter(f"the members of {type(self).__name__} are trained on all rows, none is out of bag")
        _, drawing = self._read_rows_of_fit(X, y, sample_weight)
        if hasattr(self, "inbag_counts_"):
            return np.asarray(self.inbag_counts_)
        return np.array([drawing.times_drawn(drawing.sample_of(member)[0]) for member in range(len(self.members_))])
