"""A fitted model as the sum of its members, each with its own way to treat missing values; exports write this form.

`answers` gives the predictions of the model, up to rounding. A `TreeSum` is simpler, but cannot hold model trees, and
answers otherwise where members vote on rows with missing values.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tremula.combine import add_votes
from tremula.trees.links import IDENTITY, Link, as_link
from tremula.trees.m5.model_tree import ModelTree
from tremula.trees.tree import Tree
from tremula.trees.tree_sum import TreeSum

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class MemberSum:
    """A weighted sum of trees and model trees, or of their votes.

    Attributes
    ----------
    members : tuple of Tree or ModelTree
    weights : float64 array (n_members,)
        Factor of each member's values or votes.
    starts : int array (n_members,)
        First margin that a member's outputs are added to; its other outputs follow.
    offset : float64 array (n_margins,)
        Added to the sum.
    link : Link
        Turns margins into class probabilities or numbers.
    votes : bool
        Whether members give their whole weight to the class of their largest value.
    n_levels : int32 array (n_attributes,)
        Number of levels of every attribute, 0 if it is numeric.
    filling : float64 array (n_attributes,)
        Replaces missing values before the members see a row; NaN where they stay missing. A nominal attribute is filled
        with one more level.
    """

    members: tuple[Tree | ModelTree, ...]
    weights: Floats
    starts: NDArray[np.int64]
    offset: Floats
    link: Link
    votes: bool
    n_levels: NDArray[np.int32]
    filling: Floats

    @property
    def n_margins(self) -> int:
        """Number of margins."""
        return len(self.offset)

    @property
    def n_attributes(self) -> int:
        """Number of attributes of a row."""
        return len(self.n_levels)

    @property
    def n_nodes(self) -> int:
        """Number of nodes of all members."""
        return sum(member.n_nodes for member in self.members)

    def fill(self, rows: Floats) -> Floats:
        """Return rows as the members see them."""
        return np.where(np.isnan(rows), self.filling, rows)

    def margins(self, rows: Floats) -> Floats:
        """Return the sum of every row; rows hold numbers and codes of levels, NaN where a value is missing."""
        rows, total = self.fill(rows), np.tile(self.offset, (len(rows), 1))
        for member, weight, start in zip(self.members, self.weights, self.starts):
            if self.votes:
                add_votes(total, member.predict_codes(rows), float(weight))
            else:
                values = member.predict_values(rows)
                total[:, start : start + values.shape[1]] += weight * values
        return total

    def answers(self, rows: Floats) -> Floats:
        """Return class probabilities, or numbers in one column, for every row."""
        return self.link.answers(self.margins(rows))


def sum_of_members(
    members: Sequence[Tree | ModelTree],
    weights: ArrayLike,
    n_margins: int,
    *,
    starts: ArrayLike | None = None,
    link: Link | str = IDENTITY,
    votes: bool = False,
    n_levels: ArrayLike | None = None,
    filling: ArrayLike | None = None,
) -> MemberSum:
    """Sum members; by default each has a value for every margin, and missing values are not filled in.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tremula import C45Classifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = C45Classifier().fit(X, y)
    >>> whole = sum_of_members([model.tree_], [1.0], 3)
    >>> bool((whole.answers(X) == model.predict_proba(X)).all())
    True
    """
    levels = _n_levels(members[0]) if n_levels is None else np.asarray(n_levels, dtype=np.int32)
    return MemberSum(
        members=tuple(members),
        weights=np.asarray(weights, dtype=np.float64),
        starts=np.zeros(len(members), np.int64) if starts is None else np.asarray(starts, dtype=np.int64),
        offset=np.zeros(n_margins),
        link=as_link(link),
        votes=votes,
        n_levels=levels,
        filling=np.full(len(levels), np.nan) if filling is None else np.asarray(filling, dtype=np.float64),
    )


def mean_of_members(
    members: Sequence[Tree | ModelTree], n_outputs: int, weights: ArrayLike | None = None, votes: bool = False
) -> MemberSum:
    """Return the (weighted) mean of members, or their shares of the votes."""
    given = np.ones(len(members)) if weights is None else np.asarray(weights, dtype=np.float64)
    return sum_of_members(members, given / given.sum(), n_outputs, votes=votes)


def as_member_sum(whole: TreeSum) -> MemberSum:
    """Return a sum of trees in the form of a sum of members."""
    starts = np.maximum(whole.outputs, 0)
    plain = sum_of_members(whole.trees, whole.weights, whole.n_margins, starts=starts, link=whole.link)
    return replace(plain, offset=whole.offset)


def _n_levels(member: Tree | ModelTree) -> NDArray[np.int32]:
    tree = member.rules if isinstance(member, ModelTree) else member
    return tree.n_levels
