"""Unbiased impurity importances: the decrease of impurity by each split, measured with out-of-bag rows.

An attribute that says nothing has the importance 0 on average, however many values it has.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from tremula.data.several_targets import check_one_target
from tremula.data.take import take_rows
from tremula.display import ShortTable, ShownAsTable
from tremula.ensembles.base.training import Drawing
from tremula.errors import InvalidParameter, UnsupportedModel
from tremula.parallel import map_members
from tremula.parameters import check_jobs
from tremula.perturb.special_bootstraps import BalancedBootstrap
from tremula.perturb.synthetic import SyntheticMinority
from tremula.perturb.weights import BalancedWeights
from tremula.trees.structure import children_and_parents
from tremula.trees.tree import Tree

Floats = NDArray[np.float64]


@dataclass(frozen=True, repr=False)
class UnbiasedImportances(ShownAsTable):
    """Decrease of impurity by attribute, measured with out-of-bag rows.

    Attributes
    ----------
    importances : array (n_attributes,)
        Mean decrease over the members: of the Gini index, or of the variance. Below 0 by chance.
    standard_errors : array (n_attributes,)
        Standard errors of these means over the members, for the same training rows; NaN for a single member.
    by_member : array (n_members, n_attributes)
        Decrease in each member; NaN for a member without out-of-bag rows.
    """

    importances: Floats
    standard_errors: Floats
    by_member: Floats

    def _short_table(self) -> ShortTable:
        order = np.argsort(-self.importances, kind="stable")
        rows = [(str(each), f"{self.importances[each]:.4g}", f"{self.standard_errors[each]:.2g}") for each in order]
        caption = f"decrease of impurity of out-of-bag rows, mean over {len(self.by_member)} members"
        return ShortTable(caption, ["attribute", "importance", "standard error"], rows)

    @classmethod
    def of_members(cls, by_member: Floats) -> UnbiasedImportances:
        """Take means and standard errors over the members with out-of-bag rows."""
        scored = by_member[~np.isnan(by_member).any(axis=1)]
        if not len(scored):
            raise InvalidParameter("no row is out of bag for any member: draw fewer rows (max_samples)")
        spread = scored.std(axis=0, ddof=1) if len(scored) > 1 else np.full(by_member.shape[1], np.nan)
        return cls(scored.mean(axis=0), spread / np.sqrt(len(scored)), by_member)


def unbiased_decreases(tree: Tree, seen: Floats, left_out: Floats, weights: Floats) -> Floats:
    """Return the decrease of impurity by the splits of each attribute.

    Parameters
    ----------
    tree : Tree
    seen, left_out : float64 arrays (n_nodes, n_outputs)
        Class shares, or the mean target in one column, of the rows that the tree was trained on and of others; NaN in a
        node that no other row reaches.
    weights : float64 array (n_nodes,)
        Training weights, as shares of the root's.

    Examples
    --------
    >>> from tremula.trees.tree import NODE_DTYPE
    >>> nodes = np.array([(0.5, 4, 1, 1, 2, -1), (0, 2, -1, 0, 0, 0), (0, 2, -1, 0, 0, 1)], dtype=NODE_DTYPE)
    >>> tree = Tree(nodes, values=[[1, 0], [0, 1]], subsets=[], n_levels=[0, 0], strict=False)
    >>> left_out = np.array([[0.5, 0.5], [0.75, 0.25], [0.25, 0.75]])
    >>> unbiased_decreases(tree, tree.node_values(), left_out, tree.weight / 4)
    array([0.  , 0.25])
    """
    children, parents = children_and_parents(tree.nodes)
    if tree.n_outputs == 1:  # from the mean of the parent, so that the unit's origin does not matter
        origin = seen[parents]
        terms = weights[children] * ((seen[children] - origin) * (left_out[children] - origin)).sum(axis=1)
    else:
        products = (seen * left_out).sum(axis=1)
        terms = weights[children] * (products[children] - products[parents])
    by_split = np.bincount(parents, weights=terms, minlength=tree.n_nodes)
    is_known = ~np.isnan(by_split) & ~tree.is_leaf  # other rows have reached every branch
    decreases = np.bincount(tree.attribute[is_known], weights=by_split[is_known], minlength=tree.n_attributes)
    return decreases.astype(np.float64)


def _means_left_out(tree: Tree, rows: Any, target: NDArray[Any], weights: Floats) -> Floats:
    """Return class shares, or mean targets, of rows in each node; NaN in a node without rows."""
    if tree.n_outputs == 1:
        sums = tree.moments(rows, target, weights)
        totals, sums = sums[:, :1], sums[:, 1:2]
    else:
        sums = tree.class_weights(rows, target, weights)
        totals = sums.sum(axis=1, keepdims=True)
    return np.asarray(np.divide(sums, totals, out=np.full(sums.shape, np.nan), where=totals > 0))


def _check_shares_of_classes(name: str, drawing: Drawing) -> None:
    """Refuse members in which classes have other shares than among their out-of-bag rows."""
    if any(isinstance(each, BalancedBootstrap | BalancedWeights | SyntheticMinority) for each in drawing.perturbations):
        raise UnsupportedModel(
            f"the members of this {name} have balanced classes, and their out-of-bag rows have not: impurities of the "
            "two cannot be compared; use permutation_importances"
        )


class UnbiasedImportancesMixin:
    """Mixin for ensembles that can draw the rows of their members again."""

    members_: list[Any]
    n_jobs: int | None

    @abstractmethod
    def _draws_rows(self) -> bool:
        """Return whether rows were drawn for each member, so that some are out of bag."""

    @abstractmethod
    def _read_rows_of_fit(self, X: Any, y: Any, sample_weight: Any) -> tuple[Any, Drawing]:
        """Return the table of `fit`, given once more, in the form that members take, and how its rows were drawn."""

    def unbiased_importances(
        self, X: Any, y: Any, sample_weight: Any = None, n_jobs: int | None = None
    ) -> UnbiasedImportances:
        """Decrease of impurity by the splits of each attribute, measured with the rows that a member left out.

        Parameters
        ----------
        X : array, data frame or table of shape (n_rows, n_attributes)
            The rows of `fit` again, in the same order: the ensemble does not store them.
        y : array of shape (n_rows,)
            Their targets.
        sample_weight : array of shape (n_rows,), optional
            Their weights, if they were given to `fit`.
        n_jobs : int or None, default=None
            Number of members in parallel; None takes that of the ensemble.

        Returns
        -------
        UnbiasedImportances
            Mean decrease (`importances`), its standard error (`standard_errors`), and the decrease for each member
            (`by_member`). They are not scaled to sum to 1.

        Notes
        -----
        `feature_importances_` prefers attributes with many values, since splits are chosen and measured on the same
        rows. Here the impurity of a node is one minus the sum, over classes, of the class's share among training rows
        times that among out-of-bag rows (Zhou and Hooker, 2021). For numbers, products of the two means take the place
        of squares. A split counts only if out-of-bag rows reach all its branches. Nothing is shuffled, so the cost is
        that of one prediction.

        Examples
        --------
        >>> import numpy as np
        >>> from tremula import RandomForestClassifier
        >>> random = np.random.default_rng(0)
        >>> X = np.column_stack([random.normal(size=300), random.integers(0, 2, 300)])  # many values, and two
        >>> y = X[:, 1] + random.normal(size=300) > 0.5
        >>> forest = RandomForestClassifier(random_state=0).fit(X, y)
        >>> forest.feature_importances_.round(2)
        array([0.85, 0.15])
        >>> forest.unbiased_importances(X, y).importances.round(2)
        array([-0.04,  0.07])
        """
        check_is_fitted(self, "members_")
        check_one_target(self, "unbiased_importances")
        check_jobs("n_jobs", n_jobs)
        members: Sequence[Any] = self.members_
        if not self._draws_rows():
            raise InvalidParameter(f"the members of {type(self).__name__} are trained on all rows, none is out of bag")
        if not all(isinstance(member, Tree) for member in members):
            raise UnsupportedModel(
                f"{type(self).__name__} has members that are no trees with constants in their leaves: use "
                "permutation_importances"
            )
        learner = self._member_estimator() if hasattr(self, "_member_estimator") else None
        if getattr(learner, "_impurity", "") == "absolute_error":
            raise UnsupportedModel(
                "members with criterion='absolute_error' have medians in their leaves, from which no decrease of "
                "impurity follows: use permutation_importances"
            )
        table, drawing = self._read_rows_of_fit(X, y, sample_weight)
        _check_shares_of_classes(type(self).__name__, drawing)
        inbag = getattr(self, "inbag_counts_", None)
        sample = drawing.sample
        weights = np.ones(sample.n_rows) if sample.weights is None else sample.weights.astype(np.float64)

        def decreases(number: int) -> Floats:
            counts = drawing.times_drawn(drawing.sample_of(number)[0]) if inbag is None else inbag[number]
            rows, tree = np.flatnonzero(counts == 0), members[number]
            if not len(rows):
                return np.full(tree.n_attributes, np.nan)
            left_out = _means_left_out(tree, take_rows(table, rows), sample.target[rows], weights[rows])
            return unbiased_decreases(tree, tree.node_values(), left_out, tree.weight / tree.weight[0])

        jobs = self.n_jobs if n_jobs is None else n_jobs
        return UnbiasedImportances.of_members(np.array(list(map_members(decreases, len(members), jobs))))
