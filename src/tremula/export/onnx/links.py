"""Links as operations of ONNX."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tremula.aspen.task import PRIOR_SHARE
from tremula.aspen.tree_sum import LogShareLink
from tremula.errors import UnsupportedModel
from tremula.export.onnx.graph import OnnxGraph
from tremula.losses import MIN_PROBABILITY
from tremula.trees.composite_links import ChainLink, InterpolationLink, LinearLink, StretchLink
from tremula.trees.links import ExponentialLink, IdentityLink, Link, LogisticLink, PositiveLink, ShareLink, SoftmaxLink


def apply_link(graph: OnnxGraph, link: Link, margins: str, n_margins: int) -> tuple[str, int]:
    """Add a link, and return the name and the number of columns of its answers."""
    writer = WRITERS.get(type(link))
    if writer is None:
        raise UnsupportedModel(f"the link {link.name!r} is not written to ONNX: predict with tremula")
    return writer(graph, link, margins, n_margins)


def _identity(graph: OnnxGraph, link: Any, margins: str, n_margins: int) -> tuple[str, int]:
    return margins, n_margins


def _both_classes(graph: OnnxGraph, second: str) -> tuple[str, int]:
    return graph.add("Concat", graph.add("Sub", graph.constant(1.0), second), second, axis=1), 2


def _logistic(graph: OnnxGraph, link: Any, margins: str, n_margins: int) -> tuple[str, int]:
    return _both_classes(graph, graph.add("Sigmoid", margins))


def _share(graph: OnnxGraph, link: Any, margins: str, n_margins: int) -> tuple[str, int]:
    return graph.add("Sigmoid", margins), n_margins


def _softmax(graph: OnnxGraph, link: Any, margins: str, n_margins: int) -> tuple[str, int]:
    return graph.add("Softmax", margins, axis=1), n_margins


def _exponential(graph: OnnxGraph, link: Any, margins: str, n_margins: int) -> tuple[str, int]:
    return graph.add("Exp", margins), n_margins


def _positive(graph: OnnxGraph, link: Any, margins: str, n_margins: int) -> tuple[str, int]:
    sum_axis = graph.whole_numbers(1)
    shares = graph.add("Max", margins, graph.constant(0.0))
    is_none = graph.add("LessOrEqual", graph.add("ReduceSum", shares, sum_axis), graph.constant(0.0))
    alone = graph.add("Gather", graph.constant(np.eye(n_margins)), graph.largest(margins), axis=0)
    chosen = graph.add("Where", is_none, alone, shares)
    return graph.add("Div", chosen, graph.add("ReduceSum", chosen, sum_axis)), n_margins


def _linear(graph: OnnxGraph, link: Any, margins: str, n_margins: int) -> tuple[str, int]:
    product = graph.add("MatMul", margins, graph.constant(link.matrix.T))
    return graph.add("Add", product, graph.constant(link.offset)), len(link.matrix)


def _stretches(graph: OnnxGraph, link: Any, margins: str, n_margins: int) -> tuple[str, int]:
    parts, start, n_answers = [], 0, 0
    for part, size in zip(link.links, link.sizes):
        cut = graph.add("Slice", margins, *(graph.whole_numbers(end) for end in (start, start + size, 1)))
        answers, n_columns = apply_link(graph, part, cut, size)
        parts.append(answers)
        start, n_answers = start + size, n_answers + n_columns
    return graph.add("Concat", *parts, axis=1), n_answers


def _chain(graph: OnnxGraph, link: Any, margins: str, n_margins: int) -> tuple[str, int]:
    for part in link.links:
        margins, n_margins = apply_link(graph, part, margins, n_margins)
    return margins, n_margins


def _interpolation(graph: OnnxGraph, link: Any, margins: str, n_margins: int) -> tuple[str, int]:
    """Sum the rises of all segments up to the score."""
    score, runs = graph.column(margins, 0), np.diff(link.scores)
    if not len(runs):
        zero = graph.add("Mul", score, graph.constant(0.0))
        return _both_classes(graph, graph.add("Add", zero, graph.constant(link.shares[0])))
    steps = graph.add("Max", graph.add("Sub", score, graph.constant(link.scores[None, :-1])), graph.constant(0.0))
    steps = graph.add("Min", steps, graph.constant(runs[None]))
    rise = graph.add("MatMul", steps, graph.constant((np.diff(link.shares) / runs)[:, None]))
    return _both_classes(graph, graph.add("Add", rise, graph.constant(link.shares[0])))


def _log_shares(graph: OnnxGraph, link: Any, margins: str, n_margins: int) -> tuple[str, int]:
    scaled = graph.add("Mul", margins, graph.constant(1.0 - PRIOR_SHARE))
    shares = graph.add("Add", scaled, graph.constant(PRIOR_SHARE * link.prior))
    bounds = graph.constant(MIN_PROBABILITY), graph.constant(1.0)
    return graph.add("Mul", graph.add("Log", graph.add("Clip", shares, *bounds)), graph.constant(link.power)), n_margins


Writer = Callable[[OnnxGraph, Any, str, int], tuple[str, int]]
WRITERS: dict[type[Link], Writer] = {
    IdentityLink: _identity,
    LogisticLink: _logistic,
    ShareLink: _share,
    SoftmaxLink: _softmax,
    ExponentialLink: _exponential,
    PositiveLink: _positive,
    LinearLink: _linear,
    StretchLink: _stretches,
    ChainLink: _chain,
    InterpolationLink: _interpolation,
    LogShareLink: _log_shares,
}
