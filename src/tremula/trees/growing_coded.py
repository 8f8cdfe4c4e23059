"""Calls the kernel that grows trees from codes, `_kernels/grow_coded.pyx`, and says which trees it can grow."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

import numpy as np

from tremula._kernels.grow_coded import MAX_COUNT
from tremula._kernels.grow_coded import grow as _grow_coded
from tremula.errors import InvalidParameter
from tremula.trees.coding import BYTE_CODES, LONG_ROW, KernelCodes, KernelMarks, class_marks
from tremula.trees.columns import Columns
from tremula.trees.count_terms import INFORMATION_UNIT, MAX_TABLED_WEIGHT, table_of_terms
from tremula.trees.criteria import CLASSIFICATION, REGRESSION
from tremula.trees.grown_tree import GrownTree
from tremula.trees.missing_values import NO_TWIN
from tremula.trees.rules import Rules, criterion_of
from tremula.trees.size_limit import in_memory
from tremula.trees.structure import NODE_DTYPE
from tremula.trees.two_values import bits_of_columns, ranges_of_two

# Codes are compared in 26 bits, six more of which hold a place.
MAX_CODED_ROWS = 1 << 25
# Classes times levels that a tree grown from codes tabulates.
MAX_CODED_TABLE = 1 << 22
# Codes are quicker than sorted lists up to a share of columns whose codes need more than a byte, which is larger for
# entropies of real weights: lists need a logarithm for every row. Measured on covtype and adult.
WIDE_SHARE, WIDE_SHARE_OF_LOGARITHMS = 0.1, 0.5
# A single tree of fewer rows is grown from sorted lists: coding takes longer than it saves. Measured on made tables.
LEAST_ROWS_OF_ONE_TREE = 4000
# Real weights in this range are grown from codes; the sum of all is in it too.
LEAST_WEIGHT, LARGEST_WEIGHT = 1e-100, 1e100
# Where each code has its values.
NO_VALUES = np.zeros((1, 1))
CODABLE = {CLASSIFICATION["gini"].code, CLASSIFICATION["entropy"].code, REGRESSION["variance"].code}
# Sparse tables are grown from codes only. squared_error is another name of variance.
SPARSE_CRITERIA = ("gini", "entropy", "variance", "squared_error")


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
    attributes, where codes serve several trees or many rows and few columns need more than a byte.
    """
    can_be_coded = (
        _is_codable(rules)
        and columns.gap == 0.0
        and columns.n_rows <= MAX_CODED_ROWS
        and n_classes * max(1, int(columns.n_levels.max(initial=0))) <= MAX_CODED_TABLE
        and (rules.subsets or not columns.n_levels.any())
        and columns.is_complete
        and (_are_small_counts(weights) or _can_be_weighted(rules, weights, n_classes))
    )
    if columns.is_sparse:
        if not can_be_coded:
            raise InvalidParameter(_why_not_sparse(columns, weights))
        return True
    if columns.max_bins is not None:
        if not can_be_coded or not _are_small_counts(weights):
            raise InvalidParameter(_why_no_bins(columns, weights))
        return True
    n_attributes = columns.n_judged if attributes is None else len(attributes)
    if not can_be_coded or rules.random_threshold or rules.n_drawn < n_attributes:
        return can_be_coded
    if n_classes == 0 or (columns.serves_once and not _serves_one_tree(columns, weights)):
        return False
    has_logarithms = criterion_of(rules).is_information and not _are_small_counts(weights)
    share = WIDE_SHARE_OF_LOGARITHMS if has_logarithms else WIDE_SHARE
    n_wide = int(np.count_nonzero(columns.coded.n_codes > BYTE_CODES))
    return n_wide <= share * columns.n_attributes


def _serves_one_tree(columns: Columns, weights: np.ndarray) -> bool:
    """Whether codes are quicker than sorted lists for a single tree, which looks at all attributes."""
    is_large = columns.n_rows >= LEAST_ROWS_OF_ONE_TREE and _are_small_counts(weights)
    return is_large and columns.share_of_many_values <= WIDE_SHARE


def _why_no_bins(columns: Columns, weights: np.ndarray) -> str:
    reason = "it is not used with this criterion or these numbers of rows, classes and levels"
    if not columns.is_complete:
        reason = 'the table has missing values, whose rows are divided with missing="shares"'
    elif not _are_small_counts(weights):
        reason = f"row weights are not whole numbers of at most {MAX_COUNT}"
    return f"max_bins={columns.max_bins} was given, but {reason}: set max_bins=None"


def _why_not_sparse(columns: Columns, weights: np.ndarray) -> str:
    reason = "trees with this criterion or these numbers of rows and classes need a dense one"
    if not columns.is_complete:
        reason = "it has missing values, whose rows are divided with missing='shares': set missing='branch'"
    elif not _are_small_counts(weights):
        reason = (
            f"row weights that are not whole numbers of at most {MAX_COUNT} need a dense one, but for classes without "
            "drawn thresholds"
        )
    return f"X is sparse, and {reason}; or give X.toarray()"


def _are_small_counts(weights: np.ndarray) -> bool:
    if weights.dtype.kind in "iu":
        return bool(weights.max() <= MAX_COUNT) and int(weights.sum()) < MAX_TABLED_WEIGHT
    is_whole = bool((weights == np.floor(weights)).all())
    return is_whole and bool(weights.max() <= MAX_COUNT) and weights.sum(dtype=np.float64) < MAX_TABLED_WEIGHT


def _can_be_weighted(rules: Rules, weights: np.ndarray, n_classes: int) -> bool:
    """Whether rows of classes have real weights whose squares are doubles.

    Sums of these depend on their order, so that only rules with a tolerance decide ties as sorted lists do.
    """
    if not n_classes or rules.random_threshold or not rules.tolerance > 0.0:
        return False
    is_whole = weights.dtype.kind in "iu"  # counts of more rows than a table of terms has
    least = 1.0 if is_whole else weights.min(initial=LARGEST_WEIGHT, where=weights > 0)
    return bool(least >= LEAST_WEIGHT and weights.sum(dtype=np.float64) <= LARGEST_WEIGHT)


def marks_of_classes(codes: np.ndarray, n_classes: int, weights: np.ndarray, rules: Rules) -> KernelMarks:
    """Return class and multiplicity of each row as the kernel takes them."""
    terms = None
    if not _are_small_counts(weights):
        weights = np.ascontiguousarray(weights, np.float64)
        return KernelMarks(class_marks(codes, weights > 0), None, None, None, 0.0, n_classes, weights)
    if criterion_of(rules).is_information:
        terms = table_of_terms(int(weights.sum(dtype=np.int64)), is_information=True)
    return KernelMarks(class_marks(codes, weights), None, None, terms, INFORMATION_UNIT, n_classes)


def grow_from_codes(
    columns: Columns, rows: KernelMarks, rules: Rules, random: np.random.Generator, attributes: np.ndarray | None
) -> GrownTree:
    """Grow a tree from the codes of the columns."""
    table = _kernel_table(columns, rules)
    if attributes is not None:
        table = table._replace(attributes=np.ascontiguousarray(attributes, np.int32), bits=None, two_valued=0)
    with in_memory(columns.n_levels):
        return GrownTree(*_grow_coded(table, rows, rules, random.bit_generator, NODE_DTYPE))


def _kernel_table(columns: Columns, rules: Rules) -> KernelCodes:
    """Return the columns as the kernel takes them, all in use; made once for trees of one kind."""
    tables = columns.kernel_tables
    if rules.random_threshold not in tables:
        make = _kernel_values if reads_values(columns, rules) else _kernel_codes
        tables[rules.random_threshold] = make(columns, rules)
    return tables[rules.random_threshold]


def reads_values(columns: Columns, rules: Rules) -> bool:
    """Whether thresholds are drawn and compared with the values themselves, which needs no order of these.

    Codes are quicker where nearly all fit in a byte.

    Examples
    --------
    >>> import numpy as np
    >>> from tremula.trees.columns import read_columns
    >>> columns = read_columns(np.arange(600.0).reshape(300, 2), np.zeros(2, np.int32))
    >>> [reads_values(columns, Rules(3, subsets=True, random_threshold=drawn)) for drawn in (False, True)]
    [False, True]
    """
    if columns.is_sparse or not rules.random_threshold or columns.table is not None or columns.max_bins is not None:
        return False
    return columns.share_of_many_values > WIDE_SHARE


def _kernel_values(columns: Columns, _: Rules) -> KernelCodes:
    values, n = columns.values, columns.n_attributes
    if n * values.itemsize > LONG_ROW or not values.flags.c_contiguous:
        values = columns.values_by_column
    ranges = ranges_of_two(values)
    table = KernelCodes(
        codes=values,
        n_codes=columns.n_levels,
        n_levels=columns.n_levels,
        twins=np.full(n, NO_TWIN, np.int32),
        missing_code=np.full(n, -1, np.int32),
        first=2 * np.arange(n, dtype=np.int64),
        low=ranges.ravel(),
        high=ranges.ravel(),
        values=values,
        attributes=np.arange(columns.n_judged, dtype=np.int32),
    )
    of_two = np.flatnonzero((ranges[:, 0] < ranges[:, 1]) & (columns.n_levels == 0))
    return table.with_two_values(bits_of_columns(values, ranges[:, 0], of_two, columns.n_judged))


def _kernel_codes(columns: Columns, rules: Rules) -> KernelCodes:
    coded = columns.coded
    low, high = coded.low, coded.high
    if low is None and (rules.random_threshold or columns.has_few_values):
        low = high = columns.distinct_values
    table = KernelCodes(
        codes=coded.codes,
        n_codes=coded.n_codes,
        n_levels=columns.n_levels,
        twins=columns.twins,
        missing_code=_missing_codes(columns, coded.n_codes),
        first=coded.first,
        low=low,
        high=high,
        values=columns.values if low is None else NO_VALUES,
        attributes=np.arange(columns.n_judged, dtype=np.int32),
    )
    if columns.base is not None:  # a table of one tree
        return table
    of_two = np.flatnonzero((coded.n_codes == 2) & (columns.n_levels == 0) & (columns.twins == NO_TWIN))
    of_two = of_two[of_two < columns.n_judged]
    return table.with_two_values(bits_of_columns(coded.codes, np.zeros_like(coded.n_codes), of_two, columns.n_judged))


def _missing_codes(columns: Columns, n_codes: np.ndarray) -> np.ndarray:
    """Return the code of missing values in each column, or -1."""
    codes, has_twin = columns.missing_level.copy(), columns.twins != NO_TWIN
    codes[has_twin] = 0
    codes[columns.twins[has_twin]] = n_codes[columns.twins[has_twin]] - 1
    return codes
