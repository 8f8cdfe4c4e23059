"""Grows all trees of an ensemble together from an oracle's answers; each depth of the trees is one batch of questions.

Each member draws from its own random stream, in an order that depends on its own nodes only. Its tree is therefore the
same for any number of members and any oracle.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tremula.errors import BudgetExhausted, BudgetWarning, TreeTooLarge
from tremula.parallel import map_members
from tremula.queries.oracle import Oracle, count_rows
from tremula.queries.question import EVERYWHERE, Path, Question, Schema, narrow
from tremula.queries.resampling import resample, resample_moments
from tremula.queries.split_choice import SplitChoices, choose_splits, resample_jointly
from tremula.trees.structure import MULTIWAY_SPLIT, NODE_DTYPE, NUMERIC_SPLIT
from tremula.trees.tree import Tree

BOOTSTRAP_SHARE = 0.632  # of the rows are in a bootstrap sample


@dataclass(frozen=True)
class Growth:
    """How trees are grown from counts.

    Attributes
    ----------
    max_depth : int or None
        Maximum number of splits on a path.
    min_rows : float
        A node with fewer rows is a leaf.
    counted_share : float
        Share of a node's rows that is compared with `min_rows`: 1, or that of a bootstrap sample.
    n_attributes : int
        Number of attributes drawn at each node.
    joint : int
        Number of the best attributes of a node that are resampled jointly; 1 resamples each on its own.
    max_joint_cells : int
        Maximum number of cells of a joint table.
    resampled_leaves : bool
        Whether leaves predict by counts resampled once more, instead of the counts themselves.
    draws_per_row : int
        Rows drawn for each table, per row of the node.
    """

    max_depth: int | None
    min_rows: float
    counted_share: float
    n_attributes: int
    joint: int
    max_joint_cells: int
    resampled_leaves: bool
    draws_per_row: int = 1


@dataclass
class Leaves:
    """New leaves of a tree: the counts of each, the path of its parent, and the condition added to that, if any.

    Most leaves are not split further, so paths are made only for those that are.
    """

    counts: NDArray[np.float64]
    parents: list[Path]
    conditions: list[tuple[int, int, int] | None]

    def path(self, leaf: int) -> Path:
        """Return the path of a leaf."""
        condition = self.conditions[leaf]
        return self.parents[leaf] if condition is None else narrow(self.parents[leaf], *condition)


@dataclass
class Member:
    """A tree while it grows.

    Attributes
    ----------
    random : numpy.random.Generator
    node_blocks, count_blocks : lists of arrays
        Nodes and their counts, in the order in which they were added.
    n_nodes : int
    open_nodes : int array
        Numbers of the leaves of the last depth that are to be split.
    open_paths, open_parents : lists of Path
        Their paths, and those of their parents.
    candidates : list of tuples of int
        The attributes that each open node may use.
    """

    random: np.random.Generator
    node_blocks: list[NDArray[Any]] = field(default_factory=list)
    count_blocks: list[NDArray[np.float64]] = field(default_factory=list)
    n_nodes: int = 0
    open_nodes: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    open_paths: list[Path] = field(default_factory=list)
    open_parents: list[Path] = field(default_factory=list)
    candidates: list[tuple[int, ...]] = field(default_factory=list)

    def add_nodes(self, counts: NDArray[np.float64]) -> NDArray[np.int64]:
        """Add leaves with these counts, and return their numbers."""
        nodes = np.zeros(len(counts), dtype=NODE_DTYPE)
        nodes["attribute"] = -1
        self.node_blocks.append(nodes)
        self.count_blocks.append(counts)
        self.n_nodes += len(counts)
        return np.arange(self.n_nodes - len(counts), self.n_nodes)


def grow_members(
    oracle: Oracle, growth: Growth, streams: Sequence[np.random.Generator], n_jobs: int | None = None
) -> list[Tree]:
    """Grow a tree for each random stream.

    Parameters
    ----------
    oracle : Oracle
    growth : Growth
    streams : sequence of numpy.random.Generator
    n_jobs : int or None
        Number of threads that choose the splits of members, as in joblib. One thread asks the oracle.

    Notes
    -----
    When the privacy budget of a guarded oracle runs out, growing ends with a warning. The trees keep the splits they
    have.
    """
    schema = oracle.schema
    members = [Member(stream) for stream in streams]
    totals = count_rows(oracle)
    for member in members:
        _add_leaves(member, schema, growth, Leaves(totals[None], [EVERYWHERE], [None]), 0)
    depth = 0
    while any(member.open_paths for member in members):
        try:
            answers = _ask(oracle, members)
            growing = [member for member in members if member.open_paths]
            n_threads = n_jobs if growth.joint == 1 else 1  # joint tables are asked for member by member
            split = partial(_split_member, growing, oracle, growth, answers, depth + 1)
            for _ in map_members(split, len(growing), n_threads):
                pass
        except BudgetExhausted as error:  # members that are not split yet keep their leaves
            _warn_of_budget(depth, error)
            break
        depth += 1
    return [_finish(member, schema, growth) for member in members]


def _warn_of_budget(depth: int, error: BudgetExhausted) -> None:
    warnings.warn(f"the trees end at depth {depth}: {error}", BudgetWarning, stacklevel=5)


def _ask(oracle: Oracle, members: Sequence[Member]) -> dict[Path, NDArray[Any]]:
    """Ask about the open nodes of all members; a path shared by several of them is asked about once."""
    asked: dict[Path, tuple[set[int], Path]] = {}
    for member in members:
        for path, parent, candidates in zip(member.open_paths, member.open_parents, member.candidates):
            attributes, _ = asked.setdefault(path, (set(), parent))
            attributes.update(candidates)
    questions = [
        Question(path, tuple(sorted(attributes)), parent=parent) for path, (attributes, parent) in asked.items()
    ]
    try:
        return dict(zip(asked, oracle.count(questions), strict=True))
    except MemoryError as error:
        raise TreeTooLarge(
            f"the counts of {len(questions):,} nodes, {oracle.schema.n_cells:,} cells each, do not fit into memory: "
            "lower max_depth, or give fewer levels or bins"
        ) from error


def _add_leaves(member: Member, schema: Schema, growth: Growth, leaves: Leaves, depth: int) -> None:
    """Add leaves, note which of them are to be split, and draw the attributes that each of these may use."""
    nodes = member.add_nodes(leaves.counts)
    member.open_nodes, member.open_paths, member.open_parents, member.candidates = nodes[:0], [], [], []
    if growth.max_depth is not None and depth >= growth.max_depth:
        return
    to_split = []
    n_values = [attribute.n_values for attribute in schema.attributes]
    for leaf in np.flatnonzero(_is_splittable(leaves.counts, schema, growth)).tolist():
        path = leaves.path(leaf)
        candidates = _usable_attributes(n_values, path)
        if not candidates:
            continue
        if growth.n_attributes < len(candidates):
            drawn = member.random.choice(len(candidates), growth.n_attributes, replace=False)
            candidates = [candidates[place] for place in sorted(drawn)]
        to_split.append(leaf)
        member.open_paths.append(path)
        member.open_parents.append(leaves.parents[leaf])
        member.candidates.append(tuple(candidates))
    member.open_nodes = nodes[np.array(to_split, dtype=np.int64)]


def _usable_attributes(n_values: list[int], path: Path) -> list[int]:
    """Return the attributes of which a path allows more than one value."""
    n_allowed = n_values.copy()
    for condition in path:
        n_allowed[condition.attribute] = condition.last - condition.first + 1
    return [attribute for attribute, n_left in enumerate(n_allowed) if n_left > 1]


def _is_splittable(counts: NDArray[np.float64], schema: Schema, growth: Growth) -> NDArray[np.bool_]:
    """Whether each node has enough rows, and rows that differ in their target."""
    if schema.classes is None:
        n_rows = counts[:, 0]
        with np.errstate(divide="ignore", invalid="ignore"):
            deviation = counts[:, 2] - counts[:, 1] * (counts[:, 1] / n_rows)
        is_mixed = deviation > 1e-12 * np.abs(counts[:, 2])
    else:
        n_rows = counts.sum(axis=1)
        is_mixed = counts.max(axis=1, initial=0) < n_rows
    return is_mixed & (growth.counted_share * n_rows >= growth.min_rows)


def _split_member(
    members: Sequence[Member], oracle: Oracle, growth: Growth, answers: dict[Path, NDArray[Any]], depth: int, place: int
) -> None:
    _split(members[place], oracle, growth, answers, depth)


def _split(member: Member, oracle: Oracle, growth: Growth, answers: dict[Path, NDArray[Any]], depth: int) -> None:
    """Choose a split for every open node of a member by resampled tables, and add its branches."""
    schema = oracle.schema
    stacked = np.stack([answers[path] for path in member.open_paths])
    joint_tables = {}
    if growth.joint > 1:
        joint_tables = resample_jointly(
            oracle,
            member.open_paths,
            stacked,
            member.candidates,
            n_joint=growth.joint,
            max_cells=growth.max_joint_cells,
            random=member.random,
            draws_per_row=growth.draws_per_row,
        )
    choices = choose_splits(schema, stacked, member.candidates, joint_tables, member.random, growth.draws_per_row)
    leaves = _make_branches(member, schema, stacked, choices)
    _add_leaves(member, schema, growth, leaves, depth)


def _make_branches(member: Member, schema: Schema, answers: NDArray[Any], choices: SplitChoices) -> Leaves:
    """Turn open nodes into splits where one was chosen, and return their branches.

    Branches hold the counts themselves, not resampled ones.
    """
    nodes = np.concatenate(member.node_blocks)
    member.node_blocks = [nodes]
    first_child = member.n_nodes
    counts: list[NDArray[Any]] = [np.empty((0, schema.n_outputs))]
    parents: list[Path] = []
    conditions: list[tuple[int, int, int] | None] = []
    for place in np.flatnonzero(choices.attribute >= 0).tolist():
        attribute, cut = int(choices.attribute[place]), int(choices.cut[place])
        spans = _branch_spans(schema, attribute, cut)
        table, path = answers[place][schema.cells(attribute)], member.open_paths[place]
        if cut < 0:
            counts.append(table[:-1])
            split = (0.0, 0.0, attribute, first_child, len(spans), MULTIWAY_SPLIT)
        else:
            counts.append(np.stack([table[: cut + 1].sum(axis=0), table[cut + 1 : -1].sum(axis=0)]))
            threshold = schema.attributes[attribute].cuts[cut]  # type: ignore[index]
            split = (threshold, 0.0, attribute, first_child, 2, NUMERIC_SPLIT)
        nodes[member.open_nodes[place]] = split
        first_child += len(spans)
        parents += [path] * len(spans)
        conditions += [(attribute, first, last) for first, last in spans]
    return Leaves(np.concatenate(counts).astype(np.float64), parents, conditions)


def _branch_spans(schema: Schema, attribute: int, cut: int) -> list[tuple[int, int]]:
    """Return the first and the last value of each branch."""
    n_values = schema.attributes[attribute].n_values
    if cut < 0:
        return [(value, value) for value in range(n_values)]
    return [(0, cut), (cut + 1, n_values - 1)]


def _finish(member: Member, schema: Schema, growth: Growth) -> Tree:
    nodes, counts = np.concatenate(member.node_blocks), np.concatenate(member.count_blocks)
    n_levels = np.array([len(a.levels) if a.levels is not None else 0 for a in schema.attributes], dtype=np.int32)
    if schema.classes is None:
        nodes["weight"] = counts[:, 0]
        if growth.resampled_leaves:
            counts = resample_moments(counts, member.random)
        with np.errstate(divide="ignore", invalid="ignore"):
            means = np.where(counts[:, 0] > 0, counts[:, 1] / counts[:, 0], np.nan)
        return Tree.from_node_means(nodes, schema.target_at(means), [], n_levels, strict=False)
    nodes["weight"] = counts.sum(axis=1)
    if growth.resampled_leaves:
        counts = resample(np.rint(counts).astype(np.int64), member.random).astype(np.float64)
    return Tree.from_node_counts(nodes, counts, [], n_levels, strict=False)
