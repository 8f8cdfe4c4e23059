"""Calls the growing kernels: grows trees from the columns of a table under given rules.

An ensemble reads its columns once (`columns.read_columns`), and calls `grow_classification_tree` or
`grow_regression_tree` once per member, with the member's row weights. A row of weight 0 counts as absent, a row of
weight 2 as present twice.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import lru_cache
from numbers import Integral
from typing import NamedTuple

import numpy as np

from tremula._kernels.grow import grow as _grow
from tremula._kernels.grow_coded import MAX_COUNT
from tremula._kernels.grow_coded import grow as _grow_coded
from tremula._kernels.words import CLASS_BITS, COUNT_BITS, ROW_BITS
from tremula.errors import InvalidParameter
from tremula.parameters import check_number
from tremula.parameters.kinds import check_max_features
from tremula.trees.coding import KernelCodes, KernelMarks, class_marks, fixed_point
from tremula.trees.columns import Columns
from tremula.trees.criteria import CLASSIFICATION, REGRESSION, Criterion
from tremula.trees.missing_values import NO_TWIN
from tremula.trees.size_limit import in_memory
from tremula.trees.structure import NODE_DTYPE
from tremula.trees.tree import Tree

NO_LIMIT = np.iinfo(np.int64).max
INFORMATION_UNIT = 2.0**-32
# What fits into a word (see `_kernels/words.pxd`); what does not is looked up by row.
MAX_PACKED_CLASSES = 1 << CLASS_BITS
MAX_PACKED_COUNT = (1 << COUNT_BITS) - 1
# Past this the fixed-point table of the counts would outgrow the caches, and 63 bits.
MAX_TABLED_WEIGHT = 1 << 24
# Multiplicities up to N_STEPS find in a table what they change a count's term by, if the table stays this small.
N_STEPS = 4
MAX_STEPPED_WEIGHT = 1 << 21
# From this many attributes for each one drawn, it is quicker to sort those drawn than to divide the lists of all.
ATTRIBUTES_PER_DRAWN = 20
# Codes are compared in 26 bits, six more of which hold a place.
MAX_CODED_ROWS = 1 << 25
# Classes times levels that a tree grown from codes tabulates.
MAX_CODED_TABLE = 1 << 22
CODABLE = {CLASSIFICATION["gini"].code, CLASSIFICATION["entropy"].code, REGRESSION["variance"].code}
# Worths of classes closer than this are equal up to rounding, and the first split is taken.
ROUNDING = 1e-9


@dataclass(frozen=True)
class Rules:
    """How a tree is grown, as numbers for the kernel; `_kernels/rules.pxd` says what each does."""

    criterion: int
    subsets: bool = False
    strict: bool = False
    observed_threshold: bool = False
    random_threshold: bool = False
    n_best: int = 1
    n_drawn: int = NO_LIMIT
    max_depth: int = NO_LIMIT
    min_split_weight: float = 2.0
    min_side_weight: float = 0.0
    min_side_share: float = 0.0
    min_side_fifth: float = 0.0
    min_branch_weight: float = 0.0
    branch_veto: bool = False
    average_gain: bool = False
    count_cuts: bool = False
    cut_by_ratio: bool = False
    spread_missing: bool = False
    min_worth: float = -np.inf
    tolerance: float = 0.0
    min_variance: float = -1.0


class KernelColumns(NamedTuple):
    """The columns as the growing kernel takes them.

    `attributes` are the columns in use, first the `n_judged` that nodes judge and draw from, then twins of these;
    `twins` has the place of the twin of each, or -1. `missing_level` has for each column the level that stands for
    missing ones, or -1. `ranks`, by column and row, serve unsorted nodes; None if thresholds are drawn.
    `unsorted` nodes have rows alone and no lists, which needs columns without missing values. With `use_up` the sorted
    lists themselves are divided, and are of no use afterwards.
    """

    values: np.ndarray
    n_levels: np.ndarray
    lists: np.ndarray
    lengths: np.ndarray
    row_bits: int
    attributes: np.ndarray
    n_judged: int
    twins: np.ndarray
    missing_level: np.ndarray
    ranks: np.ndarray | None
    unsorted: bool
    use_up: bool


class KernelRows(NamedTuple):
    """The rows as the growing kernel takes them.

    Either `codes`, the class of each row, or a numeric `target` is given. `weights` is None where `marks` says all;
    `marks` has class and multiplicity of each row, multiplicity 0 where its weight is in `weights`, and is None if they
    do not fit. `terms` is a table of the criterion's f(count) in fixed point, in units of `term_unit`, if every
    multiplicity is in `marks`; its row m has what a multiplicity of m adds to f(count).
    """

    codes: np.ndarray | None
    target: np.ndarray | None
    weights: np.ndarray | None
    marks: np.ndarray | None
    terms: np.ndarray | None
    term_unit: float
    n_classes: int


@dataclass(frozen=True)
class GrownTree:
    """A tree as it leaves the kernel: leaves not yet given values, statistics kept for every node.

    `statistics` holds class weights, or weight, sum and sum of squares of the (centred) target.
    """

    nodes: np.ndarray
    statistics: np.ndarray
    subsets: np.ndarray


def depth_limit(max_depth: int | None) -> int:
    """Return the kernel's number for `max_depth`."""
    if max_depth is None:
        return NO_LIMIT
    check_number("max_depth", max_depth, 1, whole=True)
    return int(max_depth)


def attributes_to_draw(max_features: int | float | str | None, n_attributes: int) -> int:
    """Return how many attributes a node draws.

    Examples
    --------
    >>> attributes_to_draw("sqrt", 16), attributes_to_draw(0.5, 16), attributes_to_draw(3, 16)
    (4, 8, 3)
    """
    if max_features is None:
        return NO_LIMIT
    check_max_features("max_features", max_features)
    if isinstance(max_features, str):
        count = math.sqrt(n_attributes) if max_features == "sqrt" else math.log2(n_attributes)
        return max(1, int(count))
    if isinstance(max_features, Integral):
        return int(max_features)
    return max(1, int(max_features * n_attributes))


@lru_cache(maxsize=4)
def _table_of_terms(size: int, is_information: bool) -> np.ndarray:
    """f(0), f(1), ...: x squared, or x log2 x in fixed point and in row m below it f(m) - f(0), f(m + 1) - f(1), ..."""
    n_steps = N_STEPS if is_information and size <= MAX_STEPPED_WEIGHT else 0
    counts = np.arange(size + n_steps, dtype=np.float64)
    if is_information:
        counts[1:] *= np.log2(counts[1:]) / INFORMATION_UNIT
    else:
        counts *= counts
    terms = np.rint(counts).astype(np.int64)
    return np.stack([terms[:size], *(terms[m : size + m] - terms[:size] for m in range(1, n_steps + 1))])


def table_of_terms(largest: int, is_information: bool) -> np.ndarray:
    """Return a table that reaches `largest`, and somewhat further so that folds and members share one."""
    return _table_of_terms((largest // 1024 + 1) * 1024, is_information)


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


def _criterion_of(rules: Rules) -> Criterion:
    return next(c for c in [*CLASSIFICATION.values(), *REGRESSION.values()] if c.code == rules.criterion)


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
    columns = columns.to_grow_from
    if weights is None:
        weights = np.ones(columns.n_rows, np.uint8)
    if is_coded(columns, attributes, rules, weights, n_classes):
        return _grow_from_codes(columns, _marks_of_classes(codes, n_classes, weights, rules), rules, random, attributes)
    rows = _rows_of_classes(columns, np.ascontiguousarray(codes, np.int32), n_classes, weights, rules)
    return _call_kernel(columns, rows, rules, random, attributes)


def _rows_of_classes(
    columns: Columns, codes: np.ndarray, n_classes: int, weights: np.ndarray, rules: Rules
) -> KernelRows:
    """Choose how the kernel counts the rows: by marks as far as these can say it, else by real weights."""
    marks = terms = real_weights = None
    unit = 0.0
    if columns.row_bits == ROW_BITS and n_classes <= MAX_PACKED_CLASSES:
        marks = _marks(codes, weights)
    counted = marks is not None and _are_counts(weights)
    if counted:
        is_information = _criterion_of(rules).is_information
        terms = table_of_terms(int(weights.sum(dtype=np.int64)), is_information)
        unit = INFORMATION_UNIT if is_information else 1.0
    if not counted or not columns.is_complete:
        real_weights = np.ascontiguousarray(weights, np.float64)
    return KernelRows(codes, None, real_weights, marks, terms, unit, n_classes)


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
    target, columns = np.ascontiguousarray(target, np.float64), columns.to_grow_from
    if weights is None:
        weights = np.ones(columns.n_rows, np.uint8)
    if is_coded(columns, attributes, rules, weights, 0):
        marks = KernelMarks(weights.astype(np.uint32), fixed_point(target), target, None, 0.0, 0)
        return _grow_from_codes(columns, marks, rules, random, attributes)
    real_weights = np.ascontiguousarray(weights, np.float64)
    rows = KernelRows(None, target, real_weights, None, None, 0.0, 0)
    return _call_kernel(columns, rows, rules, random, attributes)


def _marks_of_classes(codes: np.ndarray, n_classes: int, weights: np.ndarray, rules: Rules) -> KernelMarks:
    terms = None
    if _criterion_of(rules).is_information:
        terms = table_of_terms(int(weights.sum(dtype=np.int64)), is_information=True)
    return KernelMarks(class_marks(codes, weights), None, None, terms, INFORMATION_UNIT, n_classes)


@lru_cache(maxsize=64)
def _is_codable(rules: Rules) -> bool:
    """Whether trees under these rules can be grown from codes: those of CART, random forests and extra trees can."""
    plain = Rules(
        rules.criterion,
        subsets=True,
        random_threshold=rules.random_threshold,
        n_drawn=rules.n_drawn,
        max_depth=rules.max_depth,
        min_split_weight=rules.min_split_weight,
        min_side_weight=rules.min_side_weight,
        tolerance=rules.tolerance,
        min_variance=rules.min_variance,
    )
    return replace(rules, subsets=True) == plain and rules.criterion in CODABLE


def is_coded(
    columns: Columns, attributes: np.ndarray | None, rules: Rules, weights: np.ndarray, n_classes: int
) -> bool:
    """Whether a tree is grown from codes.

    Nodes then keep the numbers of their rows alone. This is quicker where they draw some of the attributes; with all
    attributes, where codes are bytes and serve several trees.
    """
    can_be_coded = (
        _is_codable(rules)
        and columns.gap == 0.0
        and columns.n_rows <= MAX_CODED_ROWS
        and n_classes * max(1, int(columns.n_levels.max(initial=0))) <= MAX_CODED_TABLE
        and (rules.subsets or not columns.n_levels.any())
        and columns.is_complete
        and _are_small_counts(weights)
    )
    if columns.max_bins is not None:
        if not can_be_coded:
            raise InvalidParameter(_why_no_bins(columns, weights))
        return True
    n_attributes = columns.n_judged if attributes is None else len(attributes)
    if not can_be_coded or rules.random_threshold or rules.n_drawn < n_attributes:
        return can_be_coded
    return not columns.serves_once and n_classes > 0 and columns.coded.codes.itemsize == 1


def _why_no_bins(columns: Columns, weights: np.ndarray) -> str:
    reason = "it is not used with this criterion or these numbers of rows, classes and levels"
    if not columns.is_complete:
        reason = 'the table has missing values, whose rows are divided with missing="shares"'
    elif not _are_small_counts(weights):
        reason = f"row weights are not whole numbers of at most {MAX_COUNT}"
    return f"max_bins={columns.max_bins} was given, but {reason}: set max_bins=None"


def _are_small_counts(weights: np.ndarray) -> bool:
    is_whole = weights.dtype.kind in "iu" or bool((weights == np.floor(weights)).all())
    return is_whole and bool(weights.max() <= MAX_COUNT) and weights.sum(dtype=np.float64) < MAX_TABLED_WEIGHT


def _grow_from_codes(
    columns: Columns, rows: KernelMarks, rules: Rules, random: np.random.Generator, attributes: np.ndarray | None
) -> GrownTree:
    coded = columns.coded
    low, high = coded.low, coded.high
    if low is None and (rules.random_threshold or columns.has_few_values):
        low = high = columns.distinct_values
    if attributes is None:
        attributes = np.arange(columns.n_judged, dtype=np.int32)
    table = KernelCodes(
        codes=coded.codes,
        n_codes=coded.n_codes,
        n_levels=columns.n_levels,
        twins=columns.twins,
        missing_code=_missing_codes(columns, coded.n_codes),
        first=coded.first,
        low=low,
        high=high,
        values=columns.values,
        attributes=np.ascontiguousarray(attributes, np.int32),
    )
    with in_memory(columns.n_levels):
        grown = GrownTree(*_grow_coded(table, rows, rules, random.bit_generator, NODE_DTYPE))
    return _in_given_columns(grown, columns)


def _missing_codes(columns: Columns, n_codes: np.ndarray) -> np.ndarray:
    """Return the code of missing values in each column, or -1."""
    codes, has_twin = columns.missing_level.copy(), columns.twins != NO_TWIN
    codes[has_twin] = 0
    codes[columns.twins[has_twin]] = n_codes[columns.twins[has_twin]] - 1
    return codes


def _in_given_columns(grown: GrownTree, columns: Columns) -> GrownTree:
    """Name the columns of the table that was given, not their twins."""
    if columns.table is not None:
        splits = grown.nodes["n_branches"] > 0
        grown.nodes["attribute"][splits] = columns.table.originals[grown.nodes["attribute"][splits]]
    return grown


def is_unsorted(columns: Columns, n_attributes: int, rules: Rules) -> bool:
    """Whether nodes keep no sorted lists, since it is quicker to sort the attributes that a node draws.

    Thresholds that are drawn need no order at all.

    Examples
    --------
    >>> import numpy as np
    >>> from tremula.trees.columns import read_columns
    >>> from tremula.trees.growing import Rules, is_unsorted
    >>> columns = read_columns(np.arange(1000.0).reshape(2, 500), np.zeros(500, np.int32))
    >>> is_unsorted(columns, 500, Rules(criterion=0)), is_unsorted(columns, 500, Rules(criterion=0, n_drawn=22))
    (False, True)
    """
    if not columns.is_complete or columns.gap > 0.0 or (rules.random_threshold and columns.table is not None):
        return False
    return rules.random_threshold or n_attributes >= ATTRIBUTES_PER_DRAWN * rules.n_drawn


def _call_kernel(
    columns: Columns,
    rows: KernelRows,
    rules: Rules,
    random: np.random.Generator,
    attributes: np.ndarray | None,
) -> GrownTree:
    if attributes is None:
        attributes = np.arange(columns.n_judged, dtype=np.int32)
    unsorted = is_unsorted(columns, len(attributes), rules)
    own_twins = columns.twins[attributes]
    twins = np.full(len(attributes) + np.count_nonzero(own_twins != NO_TWIN), NO_TWIN, np.int32)
    twins[np.flatnonzero(own_twins != NO_TWIN)] = np.arange(len(attributes), len(twins))
    kernel_columns = KernelColumns(
        values=columns.values_by_column if unsorted and rules.random_threshold else columns.values,
        n_levels=columns.n_levels,
        lists=columns.lists,
        lengths=columns.lengths,
        row_bits=columns.row_bits,
        attributes=np.concatenate([attributes, own_twins[own_twins != NO_TWIN]]).astype(np.int32),
        n_judged=len(attributes),
        twins=twins,
        missing_level=columns.missing_level,
        ranks=columns.ranks if unsorted and not rules.random_threshold else None,
        unsorted=unsorted,
        use_up=columns.serves_once and columns.is_complete and not rules.observed_threshold,
    )
    with in_memory(columns.n_levels):
        grown = GrownTree(*_grow(kernel_columns, rows, rules, random.bit_generator, NODE_DTYPE))
    return _in_given_columns(grown, columns)


def mean_and_variance(target: np.ndarray, weights: np.ndarray | None) -> tuple[float, float]:
    """Weighted mean and (population) variance, to centre a target and to scale what counts as constant."""
    mean = float(np.average(target, weights=weights))
    return mean, float(np.average((target - mean) ** 2, weights=weights))


def node_means(statistics: np.ndarray) -> np.ndarray:
    """Mean (centred) target of each node, NaN where no row is."""
    weight = statistics[:, 0]
    return np.asarray(np.divide(statistics[:, 1], weight, out=np.full(len(weight), np.nan), where=weight > 0))


def tree_of_means(grown: GrownTree, statistics: np.ndarray, centre: float, n_levels: np.ndarray, strict: bool) -> Tree:
    """Make the regression tree whose leaves answer with their mean target."""
    return Tree.from_node_means(grown.nodes, node_means(statistics) + centre, grown.subsets, n_levels, strict)
