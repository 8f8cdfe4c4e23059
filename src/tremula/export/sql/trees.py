"""Trees as SQL expressions over the columns of a table, short enough for whole ensembles.

A split is a CASE. Where a row may take several branches, because its value is missing or its level was not seen at the
split, the CASE gives NULL and a second expression takes its place: at each split the sum of the branches' values, each
times the share of the row that takes it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tremula.trees.export.branches import MIXTURE, NodeBranches
from tremula.trees.export.dialects import LARGEST_DOUBLE, Dialect
from tremula.trees.structure import branch_shares

GROUP = 40  # terms of a sum in one pair of brackets


@dataclass(frozen=True)
class Columns:
    """The columns of the table.

    Attributes
    ----------
    names : sequence of str
    levels : sequence of (list or None)
    is_known : bool array
        Attributes of which the query asks before that their values are known.
    dialect : Dialect
    """

    names: Sequence[str]
    levels: Sequence[list[Any] | None]
    is_known: NDArray[np.bool_]
    dialect: Dialect

    def name(self, attribute: int) -> str:
        """Return the quoted name of a column."""
        return self.dialect.identifier(self.names[attribute])

    def among(self, attribute: int, codes: Sequence[int]) -> str:
        """Return the test whether a column holds one of some levels."""
        levels: Any = self.levels[attribute]
        return self.dialect.among(self.name(attribute), [self.dialect.literal(levels[code]) for code in codes])

    def is_number(self, attribute: int) -> str:
        """Return the test whether the value of a numeric attribute is known."""
        return f"{self.name(attribute)} <= {self.dialect.largest_double}"

    def known(self, attribute: int) -> str:
        """Return the test whether the value of an attribute is known: a number, or a level of training."""
        levels = self.levels[attribute]
        return self.is_number(attribute) if levels is None else self.among(attribute, range(len(levels)))


class TreeSql:
    """One tree as SQL.

    Parameters
    ----------
    branches : NodeBranches
    columns : Columns
    """

    def __init__(self, branches: NodeBranches, columns: Columns) -> None:
        self.tree, self.branches, self.columns = branches.tree, branches, columns
        self.shares = branch_shares(self.tree.nodes)

    @cached_property
    def reach(self) -> list[dict[int, int]]:
        """For each node, the levels of nominal attributes that can reach it, as bits; absent if all can."""
        reach: list[dict[int, int]] = [{} for _ in range(self.tree.n_nodes)]
        for node in np.flatnonzero(~self.tree.is_leaf).tolist():
            attribute, first = int(self.tree.attribute[node]), int(self.tree.first_child[node])
            for branch in range(int(self.tree.n_branches[node])):
                reach[first + branch] = reach[node]
                if self.branches.n_levels[attribute]:
                    is_taken = np.isin(self.branches.of_codes(node)[:-1], (branch, MIXTURE))
                    codes = sum(1 << code for code in np.flatnonzero(is_taken).tolist())
                    reach[first + branch] = {**reach[node], attribute: codes & reach[node].get(attribute, codes)}
        return reach

    @cached_property
    def mixing_nodes(self) -> set[int]:
        """Splits at which some row takes several branches."""
        return {node for node in np.flatnonzero(~self.tree.is_leaf).tolist() if self._mixes(node)}

    def _mixes(self, node: int) -> bool:
        attribute = int(self.tree.attribute[node])
        if not self.branches.n_levels[attribute]:
            return not self.columns.is_known[attribute] and self.branches.of_missing(node) == MIXTURE
        levels, missing = self._levels(node)
        return MIXTURE in levels or (missing == MIXTURE and not self.columns.is_known[attribute])

    def _levels(self, node: int) -> tuple[dict[int, list[int]], int]:
        """Return the levels that can reach a nominal split by their branch, and the branch of missing values."""
        attribute = int(self.tree.attribute[node])
        *of_levels, missing = self.branches.of_codes(node).tolist()
        reach = self.reach[node].get(attribute, -1)
        by_branch: dict[int, list[int]] = {}
        for code, branch in enumerate(of_levels):
            if reach >> code & 1:
                by_branch.setdefault(branch, []).append(code)
        return by_branch, missing

    # --- expressions ---

    def value(self, leaves: Callable[[int], str]) -> str:
        """Return the expression of the tree's value.

        Parameters
        ----------
        leaves : callable
            From the number of a leaf, among the nodes, to its text, a number or an expression in brackets.
        """
        routed = self.routed(leaves)
        return f"COALESCE({routed}, {self.mixture(leaves)})" if self.mixing_nodes and not _is_number(routed) else routed

    def routed(self, leaves: Callable[[int], str]) -> str:
        """Return the value of the leaf of a row; NULL if the row takes several branches that differ."""
        return self._bottom_up(leaves, self._case)

    def routed_vote(self, leaves: Callable[[int], str]) -> str:
        """Return the vote of the leaf of a row for a class; NULL if the row takes branches that vote differently.

        Where no branch votes for the class, their mixture may: it is NULL too.
        """
        return self._bottom_up(leaves, self._case, {node for node in self.mixing_nodes if self._labels[node] < 0})

    @cached_property
    def _labels(self) -> NDArray[np.int64]:
        """The class that all leaves below a node vote for; -1 if they differ."""
        labels = np.full(self.tree.n_nodes, -1)
        is_leaf = self.tree.is_leaf
        labels[is_leaf] = self.tree.values.argmax(axis=1)[self.tree.nodes["index"][is_leaf]]
        for node in reversed(np.flatnonzero(~is_leaf).tolist()):
            first = int(self.tree.first_child[node])
            below = labels[first : first + int(self.tree.n_branches[node])]
            labels[node] = below[0] if (below == below[0]).all() else -1
        return labels

    def mixture(self, leaves: Callable[[int], str]) -> str:
        """Return the sum over branches of share times value."""

        def write(node: int, texts: list[str]) -> str:
            return self._sum(node, texts) if node in self.mixing_nodes else self._case(node, texts)

        return self._bottom_up(leaves, write)

    def _bottom_up(
        self,
        leaves: Callable[[int], str],
        write: Callable[[int, list[str]], str],
        always_written: Collection[int] = (),
    ) -> str:
        """Return the text of the root; children have larger numbers than their parent.

        A split whose branches have the same number is not written, other than those that always are.
        """
        texts = [""] * self.tree.n_nodes
        for node in reversed(range(self.tree.n_nodes)):
            if self.tree.is_leaf[node]:
                texts[node] = leaves(node)
                continue
            first, n_branches = int(self.tree.first_child[node]), int(self.tree.n_branches[node])
            of_branches = texts[first : first + n_branches]
            is_constant = len(set(of_branches)) == 1 and _is_number(of_branches[0])
            is_left_out = is_constant and node not in always_written
            texts[node] = of_branches[0] if is_left_out else write(node, of_branches)
            texts[first : first + n_branches] = [""] * n_branches
        return texts[0]

    def _case(self, node: int, texts: list[str]) -> str:
        attribute = int(self.tree.attribute[node])
        if self.branches.n_levels[attribute]:
            return self._case_of_levels(node, attribute, texts)
        missing = self.branches.of_missing(node)
        if node in self.mixing_nodes:
            second = f"WHEN {self.columns.is_number(attribute)} THEN {texts[1]}"
            return f"CASE WHEN {self._is_left(node)} THEN {texts[0]} {second} END"
        if missing == 0 and not self.columns.is_known[attribute]:
            is_right = f"{self._is_right(node)} AND {self.columns.is_number(attribute)}"
            return f"CASE WHEN {is_right} THEN {texts[1]} ELSE {texts[0]} END"
        return f"CASE WHEN {self._is_left(node)} THEN {texts[0]} ELSE {texts[1]} END"

    def _is_left(self, node: int) -> str:
        is_strict = self.tree.strict or self.tree.threshold[node] == -np.inf  # then no number goes left
        return self._comparison(node, "<" if is_strict else "<=")

    def _is_right(self, node: int) -> str:
        is_strict = self.tree.strict or self.tree.threshold[node] == -np.inf
        return self._comparison(node, ">=" if is_strict else ">")

    def _comparison(self, node: int, sign: str) -> str:
        dialect, threshold = self.columns.dialect, float(self.tree.threshold[node])
        bound = dialect.double(float(np.clip(threshold, -LARGEST_DOUBLE, LARGEST_DOUBLE)))
        return f"{self.columns.name(int(self.tree.attribute[node]))} {sign} {bound}"

    def _case_of_levels(self, node: int, attribute: int, texts: list[str]) -> str:
        levels, missing = self._levels(node)
        levels.pop(MIXTURE, None)
        rest = None
        if node not in self.mixing_nodes:
            rest = max(levels, default=0) if self.columns.is_known[attribute] else missing
            levels.pop(rest, None)
        tests = [f"WHEN {self.columns.among(attribute, levels[b])} THEN {texts[b]}" for b in sorted(levels)]
        if not tests:
            return "NULL" if rest is None else texts[rest]
        return " ".join(["CASE", *tests, *([] if rest is None else [f"ELSE {texts[rest]}"]), "END"])

    def _sum(self, node: int, texts: list[str]) -> str:
        first = int(self.tree.first_child[node])
        terms = [
            f"{self._share(node, branch, first)} * {text}"
            for branch, text in enumerate(texts)
            if text != self.columns.dialect.zero
        ]
        return f"({' + '.join(terms)})" if terms else self.columns.dialect.zero

    def _share(self, node: int, branch: int, first: int) -> str:
        """Return the share of a row that takes a branch: 1 or 0 where its value decides, else that of the branch."""
        attribute, dialect = int(self.tree.attribute[node]), self.columns.dialect
        share, all_of_it = dialect.double(self.shares[first + branch]), dialect.double(1.0)
        is_nominal = bool(self.branches.n_levels[attribute])
        levels, missing = self._levels(node) if is_nominal else ({}, self.branches.of_missing(node))
        is_mixed = missing == MIXTURE or self.columns.is_known[attribute]
        rest = share if is_mixed else all_of_it if missing == branch else dialect.zero
        if not is_nominal:
            parts = (all_of_it, dialect.zero) if branch == 0 else (dialect.zero, all_of_it)
            groups = [(parts[0], self._is_left(node)), (parts[1], self.columns.is_number(attribute))]
        else:
            others = [code for other, codes in levels.items() if other not in (branch, MIXTURE) for code in codes]
            sets = [(all_of_it, levels.get(branch, [])), (dialect.zero, others), (share, levels.get(MIXTURE, []))]
            groups = [(text, self.columns.among(attribute, codes)) for text, codes in sets if codes and text != rest]
        tests = [f"WHEN {test} THEN {text}" for text, test in groups]
        return " ".join(["CASE", *tests, f"ELSE {rest} END"]) if tests else rest


def grouped_sum(terms: Sequence[str]) -> str:
    """Return a sum, with brackets around groups of terms if it is long: engines limit the depth of expressions."""
    while len(terms) > GROUP:
        groups = [terms[start : start + GROUP] for start in range(0, len(terms), GROUP)]
        terms = [f"({' + '.join(group)})" for group in groups]
    return " + ".join(terms)


def _is_number(text: str) -> bool:
    return text[0] in "-0123456789"
