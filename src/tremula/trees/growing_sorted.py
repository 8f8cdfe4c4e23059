"""Calls the kernel that grows trees from sorted lists, `_kernels/grow.pyx`."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tremula._kernels.grow import grow as _grow
from tremula._kernels.words import CLASS_BITS, COUNT_BITS, ROW_BITS
from tremula.trees.columns import Columns
from tremula.trees.count_terms import INFORMATION_UNIT, MAX_TABLED_WEIGHT, table_of_terms
from tremula.trees.criteria import REGRESSION
from tremula.trees.grown_tree import GrownTree
from tremula.trees.missing_values import NO_TWIN
from tremula.trees.rules import Rules, criterion_of
from tremula.trees.size_limit import in_memory
from tremula.trees.structure import NODE_DTYPE

# What fits into a word (see `_kernels/words.pxd`); what does not is looked up by row.
MAX_PACKED_CLASSES = 1 << CLASS_BITS
MAX_PACKED_COUNT = (1 << COUNT_BITS) - 1
# From this many attributes for each one drawn, it is quicker to sort those drawn than to divide the lists of all.
ATTRIBUTES_PER_DRAWN = 20
# From this many rows, large nodes of a single tree have short lists (`_kernels/short_lists.pxd`): half the memory.
LEAST_SHORT_ROWS, MAX_SHORT_ROWS = 100_000, 1 << 31
# A node of at most this share of the rows has lists of words.
LISTED_SHARE = 1 / 16


class KernelColumns(NamedTuple):
    """The columns as the growing kernel takes them.

    `attributes` are the columns in use, first the `n_judged` that nodes judge and draw from, then twins of these;
    `twins` has the place of the twin of each, or -1. `missing_level` has for each column the level that stands for
    missing ones, or -1. `ranks`, by column and row, serve unsorted nodes; None if thresholds are drawn.
    `unsorted` nodes have rows alone and no lists, which needs columns without missing values. With `use_up` the sorted
    lists themselves are divided, and are of no use afterwards. With `short_lists`, which are used up too, there are no
    other lists, and a node of at most `most_listed` rows makes lists of its own. `directions` are the constraints of
    order of the attributes in use, or None.
    """

    values: np.ndarray
    n_levels: np.ndarray
    lists: np.ndarray | None
    lengths: np.ndarray | None
    short_lists: np.ndarray | None
    most_listed: int
    row_bits: int
    attributes: np.ndarray
    n_judged: int
    twins: np.ndarray
    missing_level: np.ndarray
    ranks: np.ndarray | None
    unsorted: bool
    use_up: bool
    directions: np.ndarray | None


class KernelTargets(NamedTuple):
    """Several targets as the growing kernel takes them.

    Either `codes`, by row and target the output of its class, or `numbers` are given. A node is a leaf if the variance
    of no number is above its `least_variances`. `are_counted` weights are whole, and their squares are added without
    error.
    """

    codes: np.ndarray | None
    numbers: np.ndarray | None
    least_variances: np.ndarray | None
    n_outputs: int
    are_counted: bool


class KernelRows(NamedTuple):
    """The rows as the growing kernel takes them.

    Either `codes`, the class of each row, or a numeric `target` is given. `weights` is None where `marks` says all;
    `marks` has class and multiplicity of each row, multiplicity 0 where its weight is in `weights`, and is None if they
    do not fit. `terms` is a table of the criterion's f(count) in fixed point, in units of `term_unit`, if every
    multiplicity is in `marks`; its row m has what a multiplicity of m adds to f(count). With several `targets`, no
    other field but `weights` is given.
    """

    codes: np.ndarray | None
    target: np.ndarray | None
    weights: np.ndarray | None
    marks: np.ndarray | None
    terms: np.ndarray | None
    term_unit: float
    n_classes: int
    target_ranks: np.ndarray | None = None
    targets_in_order: np.ndarray | None = None
    targets: KernelTargets | None = None


def _marks(codes: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Class of each row, and above its bits the multiplicity, or 0 if the weight is no small whole number."""
    counts = np.minimum(weights, MAX_PACKED_COUNT + 1).astype(np.uint8)
    fits = (counts == weights) & (counts <= MAX_PACKED_COUNT)
    return codes.astype(np.uint16) | (np.where(fits, counts, 0).astype(np.uint16) << np.uint16(CLASS_BITS))


def _are_counts(weights: np.ndarray) -> bool:
    """Whether the marks say all there is to know of the rows, as long as no missing value splits one in fractions."""
    return (
        bool(weights.max() <= MAX_PACKED_COUNT)
        and (weights.dtype.kind in "iu" or bool((weights == np.floor(weights)).all()))
        and weights.sum(dtype=np.float64) < MAX_TABLED_WEIGHT
    )


def rows_of_classes(
    columns: Columns, codes: np.ndarray, n_classes: int, weights: np.ndarray, rules: Rules
) -> KernelRows:
    """Choose how the kernel counts the rows: by marks as far as these can say it, else by real weights."""
    marks = terms = real_weights = None
    unit = 0.0
    if columns.row_bits == ROW_BITS and n_classes <= MAX_PACKED_CLASSES:
        marks = _marks(codes, weights)
    counted = marks is not None and _are_counts(weights)
    if counted:
        is_information = criterion_of(rules).is_information
        terms = table_of_terms(int(weights.sum(dtype=np.int64)), is_information)
        unit = INFORMATION_UNIT if is_information else 1.0
    if not counted or not columns.is_complete:
        real_weights = np.ascontiguousarray(weights, np.float64)
    return KernelRows(codes, None, real_weights, marks, terms, unit, n_classes)


def rows_of_numbers(target: np.ndarray, weights: np.ndarray, rules: Rules) -> KernelRows:
    """Return a numeric target and weights as the kernel takes them; for medians with the targets in order."""
    rows = KernelRows(None, target, np.ascontiguousarray(weights, np.float64), None, None, 0.0, 0)
    if rules.criterion != REGRESSION["absolute_error"].code:
        return rows
    in_order, places = np.unique(target, return_inverse=True)
    ranks = (places.ravel() + 1).astype(np.int32)
    return rows._replace(target_ranks=ranks, targets_in_order=np.concatenate([[0.0], in_order]))


def grow_from_lists(
    columns: Columns,
    rows: KernelRows,
    rules: Rules,
    random: np.random.Generator,
    attributes: np.ndarray | None,
) -> GrownTree:
    """Grow a tree from the sorted lists of the columns."""
    if attributes is None:
        attributes = np.arange(columns.n_judged, dtype=np.int32)
    unsorted = is_unsorted(columns, len(attributes), rules)
    is_short = not unsorted and has_short_lists(columns, rows, rules)
    own_twins = columns.twins[attributes]
    twins = np.full(len(attributes) + np.count_nonzero(own_twins != NO_TWIN), NO_TWIN, np.int32)
    twins[np.flatnonzero(own_twins != NO_TWIN)] = np.arange(len(attributes), len(twins))
    in_use = np.concatenate([attributes, own_twins[own_twins != NO_TWIN]]).astype(np.int32)
    kernel_columns = KernelColumns(
        values=columns.values_by_column if unsorted and rules.random_threshold else columns.values,
        n_levels=columns.n_levels,
        lists=None if is_short else columns.lists,
        lengths=None if is_short else columns.lengths,
        short_lists=columns.short_lists() if is_short else None,
        most_listed=max(1, int(columns.n_rows * LISTED_SHARE)),
        row_bits=columns.row_bits,
        attributes=in_use,
        n_judged=len(attributes),
        twins=twins,
        missing_level=columns.missing_level,
        ranks=columns.ranks if unsorted and not rules.random_threshold else None,
        unsorted=unsorted,
        use_up=_is_used_up(columns, rules) and not is_short,
        directions=_directions_in_use(columns, in_use),
    )
    with in_memory(columns.n_levels):
        return GrownTree(*_grow(kernel_columns, rows, rules, random.bit_generator, NODE_DTYPE))


def has_short_lists(columns: Columns, rows: KernelRows, rules: Rules) -> bool:
    """Whether large nodes have short lists: in a large table, which serves one tree of binary splits.

    Real weights of classes are added in an order that depends on the form of the lists.
    """
    is_new = columns.given_lists is None and columns.base is None
    is_large = columns.n_rows >= LEAST_SHORT_ROWS and columns.n_rows < MAX_SHORT_ROWS
    is_binary = rules.subsets or not columns.n_levels.any()
    is_counted = rows.codes is None or (rows.marks is not None and rows.weights is None)
    return is_new and is_large and is_binary and is_counted and _is_used_up(columns, rules)


def _is_used_up(columns: Columns, rules: Rules) -> bool:
    """Whether the tree may divide the sorted lists themselves."""
    return columns.serves_once and columns.is_complete and not rules.observed_threshold


def _directions_in_use(columns: Columns, in_use: np.ndarray) -> np.ndarray | None:
    if columns.directions is None:
        return None
    originals = in_use if columns.table is None else columns.table.originals[in_use]
    return np.ascontiguousarray(columns.directions[originals], np.int8)


def is_unsorted(columns: Columns, n_attributes: int, rules: Rules) -> bool:
    """Whether nodes keep no sorted lists, since it is quicker to sort the attributes that a node draws.

    Thresholds that are drawn need no order at all.

    Examples
    --------
    >>> import numpy as np
    >>> from tremula.trees.columns import read_columns
    >>> from tremula.trees.growing_sorted import is_unsorted
    >>> from tremula.trees.rules import Rules
    >>> columns = read_columns(np.arange(1000.0).reshape(2, 500), np.zeros(500, np.int32))
    >>> is_unsorted(columns, 500, Rules(criterion=0)), is_unsorted(columns, 500, Rules(criterion=0, n_drawn=22))
    (False, True)
    """
    if not columns.is_complete or columns.gap > 0.0 or (rules.random_threshold and columns.table is not None):
        return False
    if rules.random_threshold and rules.criterion == REGRESSION["absolute_error"].code:
        return False  # medians are found row by row, in lists
    return rules.random_threshold or n_attributes >= ATTRIBUTES_PER_DRAWN * rules.n_drawn
