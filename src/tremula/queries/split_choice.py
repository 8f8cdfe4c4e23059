"""Chooses the split of each open node of one tree, by tables of counts resampled as bagging would resample the rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tremula.queries.oracle import Oracle
from tremula.queries.question import UNKNOWN, Path, Question, Schema
from tremula.queries.resampling import LEAST_GAIN, best_cuts, branch_gains, deviation, resample, resample_moments

JointTables = dict[tuple[int, int], NDArray[Any]]  # resampled jointly, by node and attribute


@dataclass
class SplitChoices:
    """The best split of each open node so far: its gain, its attribute and, if that is numeric, the place of the cut.

    A node without a split has attribute -1. A nominal attribute has cut -1.
    """

    gain: NDArray[np.float64]
    attribute: NDArray[np.int64]
    cut: NDArray[np.int64]

    @classmethod
    def empty(cls, n_nodes: int, min_gain: NDArray[np.float64] | float) -> SplitChoices:
        """Start without any split; only a gain above `min_gain`, of all or of each node, is accepted."""
        return cls(np.full(n_nodes, min_gain), np.full(n_nodes, -1), np.full(n_nodes, -1))

    def improve(
        self, nodes: NDArray[np.int64], gain: NDArray[np.float64], cut: NDArray[np.int64] | int, attribute: int
    ) -> None:
        """Choose this attribute for the nodes where its gain is larger."""
        better = gain > self.gain[nodes]
        self.gain[nodes[better]] = gain[better]
        self.attribute[nodes[better]] = attribute
        self.cut[nodes[better]] = cut[better] if isinstance(cut, np.ndarray) else cut

    def consider(self, schema: Schema, attribute: int, nodes: NDArray[np.int64], tables: NDArray[Any]) -> None:
        """Compute the gain of an attribute from its tables, one for each node, and keep it where it is the largest."""
        is_numeric_target = schema.classes is None
        if schema.attributes[attribute].is_nominal:
            self.improve(nodes, branch_gains(tables, is_numeric_target), -1, attribute)
        else:
            self.improve(nodes, *best_cuts(tables, is_numeric_target), attribute)


def choose_splits(
    schema: Schema,
    answers: NDArray[Any],
    candidates: list[tuple[int, ...]],
    joint_tables: JointTables,
    random: np.random.Generator,
    draws_per_row: int = 1,
) -> SplitChoices:
    """Choose a split for every open node of one tree.

    Parameters
    ----------
    schema : Schema
    answers : array (n_nodes, n_cells, n_outputs)
        The counts at each open node, not resampled.
    candidates : list of tuples of int
        The attributes that each node may use.
    joint_tables : dict
        Tables that were resampled jointly; they replace those that are resampled here.
    random : numpy.random.Generator
    draws_per_row : int
        Rows drawn for each table, per row of the node.
    """
    choices = SplitChoices.empty(len(answers), _least_gains(schema, answers))
    for attribute, nodes in _nodes_by_attribute(candidates, len(schema.attributes)):
        tables = answers[nodes][:, schema.cells(attribute)]
        known = (tables != UNKNOWN).any(axis=(1, 2)) if schema.classes is not None else np.full(len(nodes), True)
        nodes, tables = nodes[known], tables[known]
        if not len(nodes):
            continue
        resampled = _resample(schema, tables, random, draws_per_row)
        for place, node in enumerate(nodes.tolist()):
            if (node, attribute) in joint_tables:
                resampled[place] = joint_tables[node, attribute]
        choices.consider(schema, attribute, nodes, resampled)
    return choices


def _least_gains(schema: Schema, answers: NDArray[Any]) -> NDArray[np.float64] | float:
    """Return the least gain in bits, or as much of the variance of each node: its unit is that of the target."""
    if schema.classes is not None:
        return LEAST_GAIN
    moments = answers[:, schema.cells(0)].sum(axis=1)
    return np.asarray(LEAST_GAIN * deviation(moments) / np.maximum(moments[:, 0], 1))


def _resample(
    schema: Schema, tables: NDArray[Any], random: np.random.Generator, draws_per_row: int = 1
) -> NDArray[Any]:
    draw = resample_moments if schema.classes is None else resample
    return draw(tables, random, draws_per_row)


def _nodes_by_attribute(
    candidates: list[tuple[int, ...]], n_attributes: int
) -> Iterator[tuple[int, NDArray[np.int64]]]:
    """Yield each attribute that is a candidate anywhere, with the nodes where it is."""
    nodes_of: list[list[int]] = [[] for _ in range(n_attributes)]
    for node, attributes in enumerate(candidates):
        for attribute in attributes:
            nodes_of[attribute].append(node)
    for attribute, nodes in enumerate(nodes_of):
        if nodes:
            yield attribute, np.array(nodes)


def resample_jointly(
    oracle: Oracle,
    paths: Sequence[Path],
    answers: NDArray[Any],
    candidates: list[tuple[int, ...]],
    n_joint: int,
    max_cells: int,
    random: np.random.Generator,
    draws_per_row: int = 1,
) -> JointTables:
    """Resample the best attributes of each node jointly, which keeps their dependence.

    The tables of one node are then such as a single bootstrap sample of its rows could give.
    """
    schema = oracle.schema
    questions, nodes = [], []
    for node, (path, attributes) in enumerate(zip(paths, candidates)):
        best = _best_attributes(schema, answers[node], attributes, n_joint)
        while len(best) > 1 and np.prod([schema.attributes[a].n_values + 1.0 for a in best]) > max_cells:
            best = best[:-1]
        if len(best) > 1:
            questions.append(Question(path, tuple(sorted(best)), joint=True, parent=path))
            nodes.append(node)
    tables: JointTables = {}
    for node, question, answer in zip(nodes, questions, oracle.count(questions)):
        resampled = _resample(schema, answer[None], random, draws_per_row)[0]
        for axis, attribute in enumerate(question.attributes):
            other_axes = tuple(other for other in range(len(question.attributes)) if other != axis)
            tables[node, attribute] = resampled.sum(axis=other_axes)
    return tables


def _best_attributes(schema: Schema, answer: NDArray[Any], attributes: Sequence[int], n_best: int) -> list[int]:
    """Return the attributes of largest gain on the counts of one node, not resampled."""
    gains = []
    for attribute in attributes:
        choice = SplitChoices.empty(1, -np.inf)
        choice.consider(schema, attribute, np.zeros(1, dtype=np.int64), answer[schema.cells(attribute)][None])
        gains.append(choice.gain[0])
    order = np.argsort(-np.array(gains), kind="stable")
    return [attributes[place] for place in order[:n_best]]
