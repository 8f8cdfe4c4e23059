"""Grows all trees of an ensemble together, level by level, from answers to questions: each level is one batch.

A member draws from a stream of its own, in an order that depends on its own nodes alone: so its tree is the same
however many others there are, and whoever answers.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tremula.errors import BudgetExhausted, BudgetWarning
from tremula.queries.oracle import Oracle, count_rows
from tremula.queries.question import EVERYWHERE, UNKNOWN, Path, Question, Schema, narrow
from tremula.queries.resampling import LEAST_GAIN, best_cuts, branch_gains, resample, resample_moments
from tremula.trees.structure import MULTIWAY_SPLIT, NODE_DTYPE, NUMERIC_SPLIT
from tremula.trees.tree import Tree

BOOTSTRAP_SHARE = 0.632  # of the rows are in a bootstrap sample


@dataclass(frozen=True)
class Growth:
    """How trees are grown from counts.

    Attributes
    ----------
    max_depth : int or None
        Splits on a path at most.
    min_rows : float
        A node with fewer rows is a leaf.
    counted_share : float
        Share of a node's rows that is compared with `min_rows`: 1, or that of a bootstrap sample.
    n_attributes : int
        Attributes drawn at each node; all of them is the number there are.
    joint : int
        Best attributes of a node that are resampled together; 1 is each on its own.
    max_joint_cells : int
        A table of more cells is not asked for.
    resampled_leaves : bool
        Whether leaves predict by one more resampled table instead of the counts themselves.
    """

    max_depth: int | None
    min_rows: float
    counted_share: float
    n_attributes: int
    joint: int
    max_joint_cells: int
    resampled_leaves: bool


@dataclass
class Member:
    """A tree while it grows: its nodes so far, and those of the last level that are to be split."""

    random: np.random.Generator
    parts: list[NDArray[Any]] = field(default_factory=list)
    tables: list[NDArray[np.float64]] = field(default_factory=list)
    n_nodes: int = 0
    open_nodes: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    open_paths: list[Path] = field(default_factory=list)
    open_parents: list[Path] = field(default_factory=list)
    drawn: list[tuple[int, ...]] = field(default_factory=list)


def grow_members(
    oracle: Oracle,
    growth: Growth,
    streams: Sequence[np.random.Generator],
    before_level: Callable[[int, int], None] = lambda level, n_open: None,
) -> list[Tree]:
    """Grow a tree for every stream of random numbers.

    Parameters
    ----------
    oracle : Oracle
    growth : Growth
    streams : sequence of numpy.random.Generator
    before_level : callable, optional
        Told the level and the number of nodes to be split at it.

    Notes
    -----
    Where the budget of a guarded oracle runs out, growing ends with a warning: the trees are those of the levels done.
    """
    schema = oracle.schema
    members = [Member(stream) for stream in streams]
    whole = count_rows(oracle)
    for member in members:
        _add_leaves(member, schema, growth, whole[None], [EVERYWHERE], [EVERYWHERE], 0)
    level = 0
    while any(member.open_paths for member in members):
        before_level(level, sum(len(member.open_paths) for member in members))
        try:
            answers = _ask(oracle, members)
            for member in members:
                if member.open_paths:
                    _split(member, oracle, growth, answers, level + 1)
        except BudgetExhausted as error:  # a member that was not split yet keeps its leaves
            _warn_of_budget(level, error)
            break
        level += 1
    return [_finish(member, schema, growth) for member in members]


def _warn_of_budget(level: int, error: BudgetExhausted) -> None:
    warnings.warn(f"the trees end at depth {level}: {error}", BudgetWarning, stacklevel=5)


def _ask(oracle: Oracle, members: Sequence[Member]) -> dict[Path, NDArray[Any]]:
    """Ask about the open nodes of all members; a path that several of them have is asked about once."""
    wanted: dict[Path, tuple[set[int], Path]] = {}
    for member in members:
        for path, parent, drawn in zip(member.open_paths, member.open_parents, member.drawn):
            attributes, _ = wanted.setdefault(path, (set(), parent))
            attributes.update(drawn)
    questions = [
        Question(path, tuple(sorted(attributes)), parent=parent) for path, (attributes, parent) in wanted.items()
    ]
    return dict(zip(wanted, oracle.count(questions), strict=True))


def _candidates(spans: list[int], path: Path) -> list[int]:
    """Attributes that can still tell rows on a path apart, of those whose last value is so far from the first."""
    left = spans.copy()
    for condition in path:
        left[condition.attribute] = condition.last - condition.first
    return [attribute for attribute, span in enumerate(left) if span > 0]


def _add_leaves(
    member: Member,
    schema: Schema,
    growth: Growth,
    tables: NDArray[np.float64],
    paths: list[Path],
    parents: list[Path],
    level: int,
) -> None:
    """Add leaves with these counts; note those that are to be split, and draw the attributes each of them may use."""
    nodes = _add_nodes(member, tables)
    member.open_nodes, member.open_paths, member.open_parents, member.drawn = nodes[:0], [], [], []
    if growth.max_depth is not None and level >= growth.max_depth:
        return
    chosen = []
    spans = [attribute.n_values - 1 for attribute in schema.attributes]
    for number in np.flatnonzero(_is_splittable(tables, schema, growth)):
        candidates = _candidates(spans, paths[number])
        if not candidates:
            continue
        if growth.n_attributes < len(candidates):
            drawn = member.random.choice(len(candidates), growth.n_attributes, replace=False)
            candidates = [candidates[place] for place in sorted(drawn)]
        chosen.append(number)
        member.open_paths.append(paths[number])
        member.open_parents.append(parents[number])
        member.drawn.append(tuple(candidates))
    member.open_nodes = nodes[np.array(chosen, dtype=np.int64)]


def _is_splittable(tables: NDArray[np.float64], schema: Schema, growth: Growth) -> NDArray[np.bool_]:
    if schema.classes is None:
        n_rows = tables[:, 0]
        with np.errstate(divide="ignore", invalid="ignore"):
            spread = tables[:, 2] - tables[:, 1] ** 2 / n_rows
        mixed = spread > 1e-12 * np.abs(tables[:, 2])
    else:
        n_rows = tables.sum(axis=1)
        mixed = tables.max(axis=1, initial=0) < n_rows
    return mixed & (growth.counted_share * n_rows >= growth.min_rows)


@dataclass
class Choices:
    """The best split of each open node so far: its worth, attribute and, of a numeric one, the place of the cut."""

    worth: NDArray[np.float64]
    attribute: NDArray[np.int64]
    cut: NDArray[np.int64]

    def improve(
        self, nodes: NDArray[np.int64], worth: NDArray[np.float64], cut: NDArray[np.int64] | int, attribute: int
    ) -> None:
        """Take this attribute where it is worth more."""
        better = worth > self.worth[nodes]
        self.worth[nodes[better]] = worth[better]
        self.attribute[nodes[better]] = attribute
        self.cut[nodes[better]] = cut[better] if isinstance(cut, np.ndarray) else cut


def _split(member: Member, oracle: Oracle, growth: Growth, answers: dict[Path, NDArray[Any]], level: int) -> None:
    """Choose a split for every open node of a member, by resampled tables, and add its branches."""
    schema = oracle.schema
    stacked = np.stack([answers[path] for path in member.open_paths])
    choices = Choices(np.full(len(stacked), LEAST_GAIN), np.full(len(stacked), -1), np.full(len(stacked), -1))
    together = _joint_tables(member, oracle, growth, stacked) if growth.joint > 1 else {}
    for attribute, nodes in _nodes_of_attributes(member.drawn, len(schema.attributes)):
        tables = stacked[nodes][:, schema.cells(attribute)]
        known = (tables != UNKNOWN).any(axis=(1, 2)) if schema.classes is not None else np.full(len(nodes), True)
        nodes, tables = nodes[known], tables[known]
        if len(nodes):
            shaken = _shake(member, schema, attribute, nodes, tables, together)
            _judge(choices, schema, attribute, nodes, shaken)
    _add_branches(member, schema, growth, stacked, choices, level)


def _nodes_of_attributes(drawn: list[tuple[int, ...]], n_attributes: int) -> Iterator[tuple[int, NDArray[np.int64]]]:
    """Yield every attribute that some open nodes may use, and which."""
    users: list[list[int]] = [[] for _ in range(n_attributes)]
    for node, attributes in enumerate(drawn):
        for attribute in attributes:
            users[attribute].append(node)
    for attribute, nodes in enumerate(users):
        if nodes:
            yield attribute, np.array(nodes)


def _shake(
    member: Member,
    schema: Schema,
    attribute: int,
    nodes: NDArray[np.int64],
    tables: NDArray[Any],
    together: dict[tuple[int, int], NDArray[Any]],
) -> NDArray[Any]:
    """Resample the tables of an attribute; those drawn together with other attributes are there already."""
    shaken = (resample_moments if schema.classes is None else resample)(tables, member.random)
    for place, node in enumerate(nodes.tolist()):
        if (node, attribute) in together:
            shaken[place] = together[node, attribute]
    return shaken


def _joint_tables(
    member: Member, oracle: Oracle, growth: Growth, stacked: NDArray[Any]
) -> dict[tuple[int, int], NDArray[Any]]:
    """Resample the best attributes of each node together: tables that a single sample of the rows could have made."""
    schema = oracle.schema
    questions, nodes = [], []
    for node, (path, attributes) in enumerate(zip(member.open_paths, member.drawn)):
        best = _best_attributes(schema, stacked[node], attributes, growth.joint)
        while len(best) > 1 and np.prod([schema.attributes[a].n_values + 1.0 for a in best]) > growth.max_joint_cells:
            best = best[:-1]
        if len(best) > 1:
            questions.append(Question(path, tuple(sorted(best)), joint=True, parent=path))
            nodes.append(node)
    tables: dict[tuple[int, int], NDArray[Any]] = {}
    draw = resample_moments if schema.classes is None else resample
    for node, question, answer in zip(nodes, questions, oracle.count(questions)):
        shaken = draw(answer[None], member.random)[0]
        for axis, attribute in enumerate(question.attributes):
            others = tuple(other for other in range(len(question.attributes)) if other != axis)
            tables[node, attribute] = shaken.sum(axis=others)
    return tables


def _best_attributes(schema: Schema, answer: NDArray[Any], attributes: Sequence[int], n_wanted: int) -> list[int]:
    worths = []
    for attribute in attributes:
        choices = Choices(np.full(1, -np.inf), np.full(1, -1), np.full(1, -1))
        _judge(choices, schema, attribute, np.zeros(1, dtype=np.int64), answer[schema.cells(attribute)][None])
        worths.append(choices.worth[0])
    order = np.argsort(-np.array(worths), kind="stable")
    return [attributes[place] for place in order[:n_wanted]]


def _judge(choices: Choices, schema: Schema, attribute: int, nodes: NDArray[np.int64], tables: NDArray[Any]) -> None:
    is_numeric_target = schema.classes is None
    if schema.attributes[attribute].is_nominal:
        choices.improve(nodes, branch_gains(tables, is_numeric_target), -1, attribute)
    else:
        choices.improve(nodes, *best_cuts(tables, is_numeric_target), attribute)


def _add_branches(
    member: Member, schema: Schema, growth: Growth, stacked: NDArray[Any], choices: Choices, level: int
) -> None:
    """Turn open nodes into splits where one was found; their branches hold the counts themselves, not resampled."""
    records = np.concatenate(member.parts)
    member.parts = [records]
    first_child = member.n_nodes
    tables: list[NDArray[Any]] = [np.empty((0, schema.n_outputs))]
    paths: list[Path] = []
    parents: list[Path] = []
    for place in np.flatnonzero(choices.attribute >= 0).tolist():
        attribute, cut = int(choices.attribute[place]), int(choices.cut[place])
        spans = _branch_spans(schema, attribute, cut)
        table, path = stacked[place][schema.cells(attribute)], member.open_paths[place]
        if cut < 0:
            tables.append(table[:-1])
            split = (0.0, 0.0, attribute, first_child, len(spans), MULTIWAY_SPLIT)
        else:
            tables.append(np.stack([table[: cut + 1].sum(axis=0), table[cut + 1 : -1].sum(axis=0)]))
            threshold = schema.attributes[attribute].cuts[cut]  # type: ignore[index]
            split = (threshold, 0.0, attribute, first_child, 2, NUMERIC_SPLIT)
        records[member.open_nodes[place]] = split
        first_child += len(spans)
        paths += [narrow(path, attribute, first, last) for first, last in spans]
        parents += [path] * len(spans)
    _add_leaves(member, schema, growth, np.concatenate(tables).astype(np.float64), paths, parents, level)


def _branch_spans(schema: Schema, attribute: int, cut: int) -> list[tuple[int, int]]:
    """First and last value of each branch."""
    n_values = schema.attributes[attribute].n_values
    if cut < 0:
        return [(value, value) for value in range(n_values)]
    return [(0, cut), (cut + 1, n_values - 1)]


def _add_nodes(member: Member, tables: NDArray[np.float64]) -> NDArray[np.int64]:
    """Add leaves with these counts, and return their numbers."""
    nodes = np.zeros(len(tables), dtype=NODE_DTYPE)
    nodes["attribute"] = -1
    member.parts.append(nodes)
    member.tables.append(tables)
    member.n_nodes += len(tables)
    return np.arange(member.n_nodes - len(tables), member.n_nodes)


def _finish(member: Member, schema: Schema, growth: Growth) -> Tree:
    nodes, tables = np.concatenate(member.parts), np.concatenate(member.tables)
    n_levels = np.array([len(a.levels) if a.levels is not None else 0 for a in schema.attributes], dtype=np.int32)
    if schema.classes is None:
        nodes["weight"] = tables[:, 0]
        if growth.resampled_leaves:
            tables = resample_moments(tables, member.random)
        with np.errstate(divide="ignore", invalid="ignore"):
            means = np.where(tables[:, 0] > 0, tables[:, 1] / tables[:, 0], np.nan)
        return Tree.from_node_means(nodes, means, [], n_levels, strict=False)
    nodes["weight"] = tables.sum(axis=1)
    if growth.resampled_leaves:
        tables = resample(np.rint(tables).astype(np.int64), member.random).astype(np.float64)
    return Tree.from_node_counts(nodes, tables, [], n_levels, strict=False)
