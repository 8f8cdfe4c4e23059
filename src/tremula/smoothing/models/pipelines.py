"""Reads pipelines whose steps transform each attribute on its own, in its order, before the trees test it.

A test of a transformed value at a threshold is a test of the value itself at another: the largest number that the
steps turn into a value on the left. It is found by bisection over all numbers of double precision, with the steps
themselves, so rounding in the steps is accounted for. Noise is on the original attributes.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.utils.validation import check_is_fitted

from tremula.errors import UnsupportedModel
from tremula.smoothing.models.column_sources import column_sources
from tremula.smoothing.models.members import USE_SAMPLE
from tremula.smoothing.models.model import Read, TreeModel, name_of
from tremula.trees.structure import copy_nodes, numeric_splits
from tremula.trees.tree import Tree
from tremula.trees.tree_sum import sum_of_trees

Floats = NDArray[np.float64]
Transform = Callable[[Floats], Floats]

FARTHEST = (1e300, 1e100, 1e30, 1e10)  # the first at which no step overflows; thresholds beyond it count as infinite
N_HALVINGS = 65  # more than there are bits in a number


def read_pipeline(estimator: Any, read: Read) -> TreeModel:
    """Read a pipeline of per-attribute steps and a model of trees."""
    check_is_fitted(estimator)
    *steps, (_, last) = estimator.steps
    inner = read(last)
    if not hasattr(estimator, "n_features_in_"):
        raise UnsupportedModel(f"{name_of(estimator)} does not say how many attributes it has: {USE_SAMPLE}")
    if inner.n_levels.any():
        raise UnsupportedModel(f"{name_of(estimator)} ends in a model with nominal attributes: {USE_SAMPLE}")
    n_attributes, names = estimator.n_features_in_, getattr(estimator, "feature_names_in_", None)
    sources = np.arange(n_attributes)
    for _, step in steps:
        sources = sources[column_sources(step, len(sources))]
    transform = _transform_of(estimator)
    if transform(np.zeros((1, n_attributes))).shape[1] != len(sources):
        raise UnsupportedModel(f"{name_of(estimator)} makes other columns than its steps say: {USE_SAMPLE}")
    trees = _before_steps(inner.sum.trees, sources, transform, n_attributes)
    # Branches of missing values have changed, and the shares of a sum follow the branches.
    whole = sum_of_trees(
        trees,
        inner.sum.offset,
        inner.sum.link,
        outputs=inner.sum.outputs,
        weights=inner.sum.weights,
        tree_members=inner.sum.tree_members,
    )
    counter = inner.inbag_counter
    return replace(
        inner,
        estimator=estimator,
        name=name_of(estimator),
        sum=whole,
        predictor=lambda X: getattr(estimator, _method_of(estimator, inner))(as_table(estimator, X)),
        feature_names=None if names is None else tuple(names),
        levels=None,
        inbag_counter=None if counter is None else lambda X, y, w: counter(_dense(estimator[:-1].transform(X)), y, w),
    )


def _method_of(estimator: Any, inner: TreeModel) -> str:
    return "predict" if inner.classes is None else "predict_proba"


def as_table(estimator: Any, X: Any) -> Any:
    """Return an array with the column names that an estimator was trained with; other tables are left as they are."""
    names = getattr(estimator, "feature_names_in_", None)
    if names is None or not isinstance(X, np.ndarray):
        return X
    try:
        import pandas as pd
    except ImportError:
        return X
    return pd.DataFrame(X, columns=names)


def _dense(values: Any) -> Floats:
    return np.asarray(values.toarray() if issparse(values) else values, dtype=np.float64)


def _transform_of(estimator: Any) -> Transform:
    """Return all steps but the last as one function of rows."""

    def transform(rows: Floats) -> Floats:
        if len(estimator.steps) == 1:
            return rows
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            return _dense(estimator[:-1].transform(as_table(estimator, rows)))

    return transform


def _before_steps(
    trees: tuple[Tree, ...], sources: NDArray[np.int64], transform: Transform, n_attributes: int
) -> list[Tree]:
    """Return trees that test original values."""
    splits = [numeric_splits(tree.nodes) for tree in trees]
    columns = np.concatenate([tree.attribute[which] for tree, which in zip(trees, splits)])
    last = np.concatenate(
        [
            np.nextafter(tree.threshold[which], -np.inf) if tree.strict else tree.threshold[which]
            for tree, which in zip(trees, splits)
        ]
    )
    moved = largest_inputs(columns, last, sources, transform, n_attributes)
    ends = np.cumsum([len(which) for which in splits])[:-1]
    filled = _filled_in(transform, n_attributes, len(sources))[columns]
    parts = (np.split(values, ends) for values in (moved, filled, last))
    converted = []
    for tree, which, places, fills, ends_of_left in zip(trees, splits, *parts):
        nodes = copy_nodes(tree.nodes)
        nodes["attribute"][which] = sources[tree.attribute[which]]
        nodes["threshold"][which] = np.nextafter(places, np.inf) if tree.strict else places
        _send_filled(nodes, which, fills, ends_of_left)
        converted.append(Tree(nodes, tree.values, tree.subsets, np.zeros(n_attributes, np.int32), tree.strict))
    return converted


def _filled_in(transform: Transform, n_attributes: int, n_columns: int) -> Floats:
    """Return what each transformed column is if its attribute is missing; NaN if it is missing too."""
    try:
        return np.asarray(transform(np.full((1, n_attributes), np.nan))[0])
    except ValueError:  # the steps take no missing values
        return np.full(n_columns, np.nan)


def _send_filled(nodes: NDArray[Any], splits: NDArray[np.int64], filled: Floats, last: Floats) -> None:
    """Send a missing value that the steps fill in to the branch of what it is filled with."""
    is_filled = ~np.isnan(filled)
    first = nodes["first_child"][splits[is_filled]]
    goes_left = filled[is_filled] <= last[is_filled]
    nodes["weight"][first], nodes["weight"][first + 1] = goes_left, ~goes_left


def largest_inputs(
    columns: NDArray[np.int32], last: Floats, sources: NDArray[np.int64], transform: Transform, n_attributes: int
) -> Floats:
    """Return for each transformed column and value the largest input that is not transformed to more than the value.

    Parameters
    ----------
    columns : int array (n_tests,)
    last : float64 array (n_tests,)
    sources : int array (n_columns,)
        The attribute that each transformed column is made of.
    transform : callable
        From rows to transformed rows; no column decreases with its attribute.
    n_attributes : int

    Examples
    --------
    >>> import numpy as np
    >>> twice = lambda rows: 2.0 * rows
    >>> largest_inputs(np.array([0, 0]), np.array([1.0, 3.0]), np.array([0]), twice, 1)
    array([0.5, 1.5])
    """
    tests, where = np.unique(np.column_stack([columns.astype(np.float64), last]), axis=0, return_inverse=True)
    tested, values = tests[:, 0].astype(np.int64), tests[:, 1]
    attributes = sources[tested]
    place = _places(attributes)

    def is_left(inputs: Floats) -> NDArray[np.bool_]:
        rows = np.zeros((place.max(initial=-1) + 1, n_attributes))
        rows[place, attributes] = inputs
        return np.asarray(transform(rows)[place, tested] <= values)

    if not len(tests):
        return last
    farthest = np.full(len(tests), _farthest(transform, n_attributes))
    has_left, has_right = is_left(-farthest), ~is_left(farthest)
    below, above = _ordered(-farthest), _ordered(farthest)
    for _ in range(N_HALVINGS):
        middle = (below >> 1) + (above >> 1) + (below & above & 1)
        left = is_left(_numbers(middle))
        below, above = np.where(left, middle, below), np.where(left, above, middle)
    cuts = np.where(~has_left, -np.inf, np.where(~has_right, np.inf, _numbers(below)))
    return cuts[where.ravel()]


def _farthest(transform: Transform, n_attributes: int) -> float:
    """Return the largest number that all steps take, in every attribute and with either sign."""
    for number in FARTHEST:
        try:
            transformed = transform(np.array([[-number], [number]]) * np.ones(n_attributes))
        except ValueError:  # a step made infinite values, which the next does not take
            continue
        if not np.isnan(transformed).any():
            return number
    raise UnsupportedModel(f"the steps of a pipeline do not take values of {FARTHEST[-1]:g}: {USE_SAMPLE}")


def _places(attributes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Give each test of an attribute a row of its own, which it shares with tests of other attributes."""
    order = np.argsort(attributes, kind="stable")
    place = np.empty(len(attributes), dtype=np.int64)
    place[order] = np.arange(len(order)) - np.searchsorted(attributes[order], attributes[order])
    return place


def _ordered(numbers: Floats) -> NDArray[np.int64]:
    """Return whole numbers in the order of the numbers of double precision, neighbours for neighbours."""
    bits = numbers.view(np.int64)
    return np.where(bits >= 0, bits, np.int64(-(2**63)) - bits)


def _numbers(ordered: NDArray[np.int64]) -> Floats:
    """Invert `_ordered`."""
    return np.ascontiguousarray(np.where(ordered >= 0, ordered, np.int64(-(2**63)) - ordered)).view(np.float64)
