"""Grows trees from the columns of a table under given rules, by the kernel of sorted lists or that of codes.

An ensemble reads its columns once (`columns.read_columns`), and calls `grow_classification_tree` or
`grow_regression_tree` once per member, with the member's row weights. A row of weight 0 counts as absent, a row of
weight 2 as present twice.
"""

from __future__ import annotations

import numpy as np

from tremula.trees.coding import KernelMarks, fixed_point
from tremula.trees.columns import Columns
from tremula.trees.growing_coded import grow_from_codes, is_coded, marks_of_classes
from tremula.trees.growing_sorted import grow_from_lists, rows_of_classes, rows_of_numbers
from tremula.trees.grown_tree import GrownTree
from tremula.trees.identifiers import attributes_to_test
from tremula.trees.level_numbers import (
    NumberedLevels,
    number_levels,
    splits_of_levels,
)
from tremula.trees.refilling import refill_classes, refill_targets
from tremula.trees.rules import Rules
from tremula.trees.size_limit import in_memory


def grow_classification_tree(
    columns: Columns,
    codes: np.ndarray,
    n_classes: int,
    weights: np.ndarray | None,
    rules: Rules,
    random: np.random.Generator,
    attributes: np.ndarray | None = None,
) -> GrownTree:
    """Grow a tree for classes.

    Parameters
    ----------
    columns : Columns
    codes : int array (n_rows,)
        Class of each row, from 0.
    n_classes : int
    weights : array (n_rows,) or None
        Multiplicities or real weights, at least one of them positive; None is one each.
    rules : Rules
    random : numpy.random.Generator
        Used only where the rules draw.
    attributes : int array or None
        The columns that may be tested; None is all.

    Returns
    -------
    GrownTree
    """
    if weights is None:
        weights = np.ones(columns.n_rows, np.uint8)
    given = columns
    columns = columns.to_grow_from
    attributes = attributes_to_test(columns, attributes)
    columns, levels = number_levels(columns, codes, weights, n_classes, random)
    if columns.directions is None and is_coded(columns, attributes, rules, weights, n_classes):
        marks = marks_of_classes(codes, n_classes, weights, rules)
        grown = grow_from_codes(columns, marks, rules, random, attributes)
    else:
        rows = rows_of_classes(columns, np.ascontiguousarray(codes, np.int32), n_classes, weights, rules)
        grown = grow_from_lists(columns, rows, rules, random, attributes)
    grown = in_given_columns(grown, columns, levels)
    return refill_classes(grown, given, codes, weights) if levels else grown


def grow_regression_tree(
    columns: Columns,
    target: np.ndarray,
    weights: np.ndarray | None,
    rules: Rules,
    random: np.random.Generator,
    attributes: np.ndarray | None = None,
) -> GrownTree:
    """Grow a tree for a numeric target, which should be centred so that sums keep their digits.

    Parameters are those of `grow_classification_tree`, with the target in place of the classes.
    """
    target = np.ascontiguousarray(target, np.float64)
    if weights is None:
        weights = np.ones(columns.n_rows, np.uint8)
    given = columns
    columns = columns.to_grow_from
    attributes = attributes_to_test(columns, attributes)
    columns, levels = number_levels(columns, target, weights, 0, random)
    if columns.directions is None and is_coded(columns, attributes, rules, weights, 0):
        marks = KernelMarks(weights.astype(np.uint32), fixed_point(target), target, None, 0.0, 0)
        grown = grow_from_codes(columns, marks, rules, random, attributes)
    else:
        rows = rows_of_numbers(target, weights, rules)
        grown = grow_from_lists(columns, rows, rules, random, attributes)
    grown = in_given_columns(grown, columns, levels)
    return refill_targets(grown, given, target, weights) if levels else grown


def in_given_columns(grown: GrownTree, columns: Columns, levels: list[NumberedLevels]) -> GrownTree:
    """Name the columns and levels of the table that was given, not twins and numbers that stood for them."""
    if levels and columns.base is not None:
        with in_memory(columns.base.n_levels):
            grown = splits_of_levels(grown, levels)
    if columns.table is not None and columns.table.has_twins:
        splits = grown.nodes["n_branches"] > 0
        grown.nodes["attribute"][splits] = columns.table.originals[grown.nodes["attribute"][splits]]
    return grown
