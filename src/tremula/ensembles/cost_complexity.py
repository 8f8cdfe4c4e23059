"""What an ensemble of trees is worth at every price of a leaf, for weakest-link pruning of all its trees at once.

As the price rises splits are given up, those below a split before it. A row's answer changes only where it passes such
a split: all prices are judged in one sweep over the rows, by these changes alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tremula.combine import largest
from tremula.trees.pruning import cut_tree, distributions_of_nodes, weakest_link_alphas
from tremula.trees.structure import branch_shares, depths_of, parents_of
from tremula.trees.subtree_choice import PrunedSequence, choose_alpha
from tremula.trees.tree import Tree

# Numbers held at a time while rows are judged.
MAX_NUMBERS = 4_000_000


@dataclass(frozen=True)
class PricedTree:
    """A tree and the price of a leaf at which weakest-link pruning gives up each of its splits.

    `values`, `prices`, `parents`, `shares` (of the branches, where a value is missing) and `depths` are by node.
    """

    tree: Tree
    values: np.ndarray
    prices: np.ndarray
    parents: np.ndarray
    shares: np.ndarray
    depths: np.ndarray

    @classmethod
    def of(cls, tree: Tree, is_classifier: bool) -> PricedTree:
        """Find the prices, by what the tree knows of its training rows."""
        values = distributions_of_nodes(tree)
        risk = training_errors(tree.weight, values) if is_classifier else squared_errors(tree.weight, values)
        prices = weakest_link_alphas(tree.nodes, risk) / tree.weight[0]
        return cls(tree, values, prices, parents_of(tree.nodes), branch_shares(tree.nodes), depths_of(tree.nodes))

    def at(self, alpha: float) -> Tree:
        """Return the tree pruned at a price."""
        return cut_tree(self.tree, self.prices <= alpha)

    def changes(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Return how the answers for rows change as the splits they pass are given up.

        Returns
        -------
        start : array (n_rows, n_outputs)
            Answers of the whole tree.
        row, node : int arrays (n_changes,)
            A row, and a split that it passes.
        change : array (n_changes, n_outputs)
            What giving up the split, after all splits below it, adds to the answer.
        """
        paths = self.tree.decision_path(rows)
        node = paths.indices.astype(np.int64)
        row = np.repeat(np.arange(len(rows)), np.diff(paths.indptr))
        visits = row * self.tree.n_nodes + node
        below_root = np.flatnonzero(node > 0)
        above = np.searchsorted(visits, (row * self.tree.n_nodes + self.parents[node])[below_root])
        is_divided = np.bincount(above, minlength=len(node))[above] > 1
        answers, answers_below = self.values[node], np.zeros((len(node), self.tree.n_outputs))
        if is_divided.any():
            answers *= self._shares_of(node, below_root, above, is_divided)[:, None]
            np.add.at(answers_below, above, answers[below_root])
        else:
            answers_below[above] = answers[below_root]
        is_split = ~self.tree.is_leaf[node]
        return self.tree.predict_values(rows), row[is_split], node[is_split], (answers - answers_below)[is_split]

    def _shares_of(
        self, node: np.ndarray, below_root: np.ndarray, above: np.ndarray, is_divided: np.ndarray
    ) -> np.ndarray:
        """Share of its row that each visit of a node has, from that of the visit above it."""
        shares = np.ones(len(node))
        factors = np.where(is_divided, self.shares[node[below_root]], 1.0)
        depths = self.depths[node[below_root]]
        for depth in range(1, int(depths.max()) + 1):
            here = depths == depth
            shares[below_root[here]] = shares[above[here]] * factors[here]
        return shares


@dataclass(frozen=True)
class Judges:
    """Rows that judge pruned trees.

    Attributes
    ----------
    rows : array (n_rows, n_attributes)
    target : array (n_rows,)
        Class codes, -1 for a class that the trees do not know; or a numeric target.
    combine : {"vote", "average"} or None
        How the trees' classes are combined; None for a numeric target.
    """

    rows: np.ndarray
    target: np.ndarray
    combine: str | None

    def judge(self, trees: Sequence[PricedTree], weights: np.ndarray) -> PrunedSequence:
        """Find the loss of the trees together at every price, and the highest price of the least."""
        prices = np.concatenate([tree.prices[~tree.tree.is_leaf] for tree in trees])
        alphas = np.union1d([0.0], prices)
        losses = np.zeros(len(alphas))
        for part in self._parts(trees):
            losses += part._losses(trees, weights, alphas)
        return choose_alpha(alphas, losses / len(self.rows))

    def _parts(self, trees: Sequence[PricedTree]) -> Iterator[Judges]:
        """Cut the rows so that the changes of a part fit into memory."""
        numbers_per_row = (1 + sum(int(tree.depths.max()) for tree in trees)) * trees[0].tree.n_outputs
        size = max(1, MAX_NUMBERS // numbers_per_row)
        for first in range(0, len(self.rows), size):
            part = slice(first, first + size)
            yield Judges(self.rows[part], self.target[part], self.combine)

    def _losses(self, trees: Sequence[PricedTree], weights: np.ndarray, alphas: np.ndarray) -> np.ndarray:
        """Sum of the losses of these rows at every price."""
        total: Any = 0.0
        listed = []
        for tree, weight in zip(trees, weights):
            start, row, node, change = tree.changes(self.rows)
            price = np.searchsorted(alphas, tree.prices[node])
            if self.combine == "vote":
                start, row, price, change = as_votes(start, row, price, change)
            total = total + weight * start
            listed.append((row, price, weight * change))
        row, price, change = (np.concatenate(parts) for parts in zip(*listed))
        answers, prices = accumulate(total, row, price, change)
        losses = self._loss(answers / weights.sum())
        by_price = np.bincount(prices.ravel(), np.diff(losses, axis=1).ravel(), minlength=len(alphas))
        return np.asarray(losses[:, 0].sum() + np.cumsum(by_price))

    def _loss(self, answers: np.ndarray) -> np.ndarray:
        """Loss of each answer: wrong or not, or the squared error."""
        if self.combine is None:
            return np.asarray((answers[:, :, 0] - self.target[:, None]) ** 2)
        return np.asarray((largest_of_steps(answers) != self.target[:, None]).astype(np.float64))


def training_errors(weight: np.ndarray, distributions: np.ndarray) -> np.ndarray:
    """Weight that each node, as a leaf, puts into the wrong class."""
    errors = weight * (1.0 - distributions.max(axis=1))
    # Counts that were divided and multiplied again are made whole: links that are equally weak must be equal.
    counts = np.rint(errors)
    return np.asarray(np.where(np.abs(errors - counts) <= 1e-12 * weight[0], counts, errors))


def squared_errors(weight: np.ndarray, means: np.ndarray) -> np.ndarray:
    """Squared errors of each node as a leaf, less those around the root's mean, which add up over branches."""
    return np.asarray(-weight * ((means - means[0]) ** 2)[:, 0])


def accumulate(
    start: np.ndarray, row: np.ndarray, price: np.ndarray, change: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Arrange the changes of each row by price, and sum them up.

    Returns
    -------
    answers : array (n_rows, n_steps + 1, n_outputs)
        From the first answer to the one after all changes.
    prices : int array (n_rows, n_steps)
        Number of the price at which each change happens. Rows with fewer changes are padded with changes of zero at
        price 0.
    """
    order = np.lexsort((price, row))
    row, price = row[order], price[order]
    counts = np.bincount(row, minlength=len(start))
    step = np.arange(len(row)) - np.repeat(np.cumsum(counts) - counts, counts)
    answers = np.zeros((len(start), int(counts.max()) + 1, start.shape[1]))
    prices = np.zeros((len(start), int(counts.max())), np.intp)
    answers[:, 0] = start
    answers[row, step + 1] = change[order]
    prices[row, step] = price
    return np.cumsum(answers, axis=1, out=answers), prices


def largest_of_steps(answers: np.ndarray) -> np.ndarray:
    """Class of the largest share at every step of every row."""
    return largest(answers.reshape(-1, answers.shape[2])).reshape(answers.shape[:2])


def as_votes(
    start: np.ndarray, row: np.ndarray, price: np.ndarray, change: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Turn changes of one tree's distributions into changes of its votes."""
    answers, prices = accumulate(start, row, price, change)
    votes = np.eye(start.shape[1])[largest_of_steps(answers)]
    changes = np.diff(votes, axis=1)
    row, step = np.nonzero(changes.any(axis=2))
    return votes[:, 0], row, prices[row, step], changes[row, step]
