"""Trees grown from codes by row are those grown from sorted lists, bit for bit, and those the naive grower allows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from tremula._kernels import grow_coded
from tremula.errors import InvalidParameter
from tremula.trees import coding, growing, growing_coded
from tremula.trees.coding import KernelCodes, bins_of_ranks, code_columns, fixed_point
from tremula.trees.columns import read_columns
from tremula.trees.grown_tree import GrownTree
from tremula.trees.rules import Rules
from tremula.trees.two_values import bits_of_columns

from .naive_splits import Table
from .test_growing import assert_grown
from .tiny_tables import ENTROPY, GINI, VARIANCE, draw_tables, grow

RULES = {
    "gini": Rules(GINI, subsets=True, tolerance=1e-9),
    "gini, two a side": Rules(GINI, subsets=True, min_side_weight=2.0, tolerance=1e-9),
    "gini, shallow forest": Rules(GINI, subsets=True, n_drawn=1, max_depth=2, tolerance=1e-9),
    "gini, drawn thresholds": Rules(GINI, subsets=True, n_drawn=2, random_threshold=True, tolerance=1e-9),
    "entropy": Rules(ENTROPY, subsets=True, tolerance=1e-9),
    "entropy, forest": Rules(ENTROPY, subsets=True, n_drawn=2, min_side_weight=1.5, tolerance=1e-9),
    "entropy, drawn thresholds": Rules(ENTROPY, subsets=True, random_threshold=True, tolerance=1e-9),
    "variance": Rules(VARIANCE, subsets=True, min_variance=0.0),
    "variance, two a side": Rules(VARIANCE, subsets=True, min_side_weight=2.0, min_split_weight=4.0, min_variance=0.5),
    "variance, forest": Rules(VARIANCE, subsets=True, n_drawn=2, min_variance=0.0),
    "variance, drawn thresholds": Rules(VARIANCE, subsets=True, n_drawn=1, random_threshold=True, min_variance=0.0),
}


@pytest.fixture(params=["vectors", "plain"])
def processor(request: pytest.FixtureRequest) -> Iterator[None]:
    """With vector instructions where there are some, and without."""
    grow_coded.use_plain_processor(request.param == "plain")
    yield
    grow_coded.use_plain_processor(False)


def counted(tables: Iterator[Table]) -> Iterator[Table]:
    """Tables whose weights are whole numbers."""
    return (table for table in tables if all(weight == int(weight) for weight in table.weights))


def grow_both(monkeypatch: pytest.MonkeyPatch, table: Table, rules: Rules) -> tuple[GrownTree, GrownTree]:
    grown = []
    for coded in (True, False):
        monkeypatch.setattr(growing, "is_coded", lambda *_, coded=coded: coded)
        grown.append(grow(table, rules, seed=5))
    return grown[0], grown[1]


def assert_same(coded: GrownTree, listed: GrownTree) -> None:
    assert coded.nodes.tobytes() == listed.nodes.tobytes()
    assert coded.subsets.tobytes() == listed.subsets.tobytes()
    np.testing.assert_allclose(coded.statistics, listed.statistics, rtol=1e-12, atol=1e-12)


@pytest.mark.usefixtures("processor")
@pytest.mark.parametrize("name", RULES)
def test_small_tables_of_every_kind(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rules = RULES[name]
    for seed in range(10):
        for table in counted(draw_tables(seed, regression="variance" in name, missing=(0.0,))):
            assert_same(*grow_both(monkeypatch, table, rules))


@pytest.mark.parametrize("name", [name for name in RULES if "draw" not in name and "forest" not in name])
def test_the_naive_grower_allows_every_node(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(growing, "is_coded", lambda *_: True)
    for seed in range(20, 23):
        for table in counted(draw_tables(seed, regression="variance" in name, missing=(0.0,))):
            assert_grown(table, RULES[name], grow(table, RULES[name]))


def large_table(n_rows: int, n_classes: int, seed: int = 0) -> Table:
    """Few and many distinct values, ties, few and many levels, a constant, bootstrap multiplicities."""
    random = np.random.default_rng([seed, n_rows])
    smooth = random.normal(size=(n_rows, 2))
    columns = [
        smooth,
        np.round(smooth[:, :1], 1),
        random.integers(3, size=(n_rows, 1)),
        random.integers(5, size=(n_rows, 1)),
        random.integers(50, size=(n_rows, 1)),
        np.full((n_rows, 1), 7.0),
    ]
    values = np.column_stack(columns)
    signal = smooth @ [1.0, -0.5] + values[:, 4] + random.normal(scale=0.5, size=n_rows)
    targets = np.digitize(signal, np.quantile(signal, np.arange(1, n_classes) / n_classes)) if n_classes else signal
    weights = np.bincount(random.integers(n_rows, size=n_rows), minlength=n_rows)
    numbers = targets if n_classes else np.round(targets * 64) / 64  # sums of these are exact
    return Table(values.tolist(), [0, 0, 0, 0, 5, 50, 0], numbers.tolist(), weights.tolist(), n_classes)


# Rows on both sides of what is sorted by comparing, by buckets and by digits, and of what is cut into bins.
@pytest.mark.usefixtures("processor")
@pytest.mark.parametrize("n_rows", [30, 100, 110, 900, 1700, 5000])
@pytest.mark.parametrize("name", RULES)
def test_larger_tables(name: str, n_rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    n_classes = 0 if "variance" in name else 2 if n_rows in (100, 5000) else 7
    coded, listed = grow_both(monkeypatch, large_table(n_rows, n_classes), RULES[name])
    assert len(listed.nodes) > (9 if n_rows > 100 and "shallow" not in name else 2)
    assert_same(coded, listed)


# Each row once, which is counted in words of 64 bits, and values that are unevenly spread, which are searched.
@pytest.mark.usefixtures("processor")
@pytest.mark.parametrize("n_rows", [40, 64, 65, 129, 300, 3000])
@pytest.mark.parametrize("name", [name for name in RULES if "drawn thresholds" in name])
def test_drawn_thresholds_of_rows_that_count_once(name: str, n_rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    table = large_table(n_rows, 0 if "variance" in name else 7)
    values = np.asarray(table.values)
    values[:, 0], values[:, 1] = (
        10.0 ** (40 * values[:, 0]),
        np.sign(values[:, 1]) * 1.7e308 * np.exp(-9 * values[:, 1] ** 2),
    )
    values[:, 2] = 2.0 ** np.round(9 * values[:, 2])
    assert_same(*grow_both(monkeypatch, table._replace(values=values.tolist(), weights=[1] * n_rows), RULES[name]))


@pytest.mark.usefixtures("processor")
@pytest.mark.parametrize("name", [name for name in RULES if "drawn thresholds" in name])
def test_drawn_thresholds_are_compared_with_codes_or_values(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(growing_coded, "reads_values", lambda *_: True)
    is_regression = "variance" in name
    for seed in range(5):
        for table in counted(draw_tables(seed, regression=is_regression, missing=(0.0,))):
            assert_same(*grow_both(monkeypatch, table, RULES[name]))
    for n_rows in (64, 65, 300, 3000):
        table = large_table(n_rows, 0 if is_regression else 7)
        assert_same(*grow_both(monkeypatch, table, RULES[name]))
        assert_same(*grow_both(monkeypatch, table._replace(weights=[1] * n_rows), RULES[name]))


def table_of_two_values(n_rows: int, n_two: int, n_classes: int) -> Table:
    """Columns of two values, even and rare ones, and a constant among them; between smooth columns."""
    random = np.random.default_rng([n_rows, n_two])
    smooth, shares = random.normal(size=(n_rows, 2)), random.choice([0.0, 0.02, 0.3, 0.5, 0.97], size=n_two)
    two = np.where(random.random((n_rows, n_two)) < shares, 2.5, -1.0)
    values = np.column_stack([smooth[:, 0], two, smooth[:, 1]])
    signal = smooth[:, 0] + two[:, :: max(1, n_two // 4)].sum(axis=1) / 2 + random.normal(size=n_rows)
    targets = np.digitize(signal, np.quantile(signal, np.arange(1, n_classes) / n_classes)) if n_classes else signal
    numbers = targets if n_classes else np.round(targets * 64) / 64
    weights = np.bincount(random.integers(n_rows, size=n_rows), minlength=n_rows)
    return Table(values.tolist(), [0] * (n_two + 2), numbers.tolist(), weights.tolist(), n_classes)


# On both sides of the 64 columns that have bits, and of the rows that are copied together.
@pytest.mark.usefixtures("processor")
@pytest.mark.parametrize(("n_rows", "n_two"), [(30, 6), (300, 40), (300, 90), (3000, 30)])
@pytest.mark.parametrize("reads_values", [False, True])
@pytest.mark.parametrize("name", RULES)
def test_columns_of_two_values(
    name: str, reads_values: bool, n_rows: int, n_two: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    tables = []

    def grow_with(columns: KernelCodes, *others: object) -> object:
        tables.append(columns)
        return grow_coded.grow(columns, *others)

    is_drawn = "drawn thresholds" in name
    monkeypatch.setattr(growing_coded, "reads_values", lambda *_: reads_values and is_drawn)
    monkeypatch.setattr(growing_coded, "_grow_coded", grow_with)
    table = table_of_two_values(n_rows, n_two, 0 if "variance" in name else 4)
    for weights in (table.weights, [1] * n_rows):
        assert_same(*grow_both(monkeypatch, table._replace(weights=weights), RULES[name]))
    assert all(columns.bits is not None for columns in tables)
    n_constant = int((np.ptp(np.asarray(table.values), axis=0)[:64] == 0).sum())
    assert tables[0].two_valued.bit_count() == min(n_two, 63) - n_constant


def test_few_columns_of_two_values_have_no_bits() -> None:
    codes = np.zeros((5, 9), np.uint8)
    codes[0] = 1
    assert bits_of_columns(codes, np.zeros(9), np.arange(2), n_attributes=9) is None
    assert bits_of_columns(codes, np.zeros(9), np.arange(3), n_attributes=9).columns == 0b111


def test_when_values_are_compared() -> None:
    random = np.random.default_rng(0)
    many, few = random.normal(size=(400, 1)), random.integers(9, size=(400, 1))
    drawn = RULES["gini, drawn thresholds"]

    def reads_values(*parts: np.ndarray, rules: Rules = drawn, n_levels: int = 0, **others: object) -> bool:
        values = np.column_stack(parts).astype(np.float64)
        columns = read_columns(values, np.full(values.shape[1], n_levels, np.int32))
        return growing_coded.reads_values(replace(columns, **others), rules)

    assert reads_values(many)
    assert reads_values(many, few, few)
    assert not reads_values(many, *[few] * 10)
    assert not reads_values(few)
    assert not reads_values(np.arange(400.0), n_levels=400)
    assert not reads_values(many[:256])
    assert not reads_values(many, rules=RULES["gini"])
    assert not reads_values(many, max_bins=255)


@pytest.mark.parametrize("n_classes", [2, 3, *(pytest.param(n, marks=pytest.mark.slow) for n in (26, 300))])
def test_bins_that_are_refined_hold_the_best_cut(n_classes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rules = replace(RULES["gini"], max_depth=3)
    for seed in range(4):
        coded, listed = grow_both(monkeypatch, large_table(30_000, n_classes, seed), rules)
        assert len(listed.nodes) > 8
        assert_same(coded, listed)


def test_multiplicities_up_to_the_largest(monkeypatch: pytest.MonkeyPatch) -> None:
    table = large_table(200, 3)
    random = np.random.default_rng(1)
    weights = random.choice([0, 1, 2, grow_coded.MAX_COUNT], size=200, p=[0.3, 0.3, 0.3, 0.1])
    assert_same(*grow_both(monkeypatch, table._replace(weights=weights.tolist()), RULES["entropy"]))


# The square of a node's weight fits into 32 bits up to 46,340; a child may be below what its parent exceeds.
@pytest.mark.usefixtures("processor")
@pytest.mark.parametrize("total", [46_339, 46_340, 46_341, 200_000, 5_000_000])
@pytest.mark.parametrize("n_rows", [60, 700])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_weights_whose_squares_have_more_than_31_bits(
    n_classes: int, n_rows: int, total: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = large_table(n_rows, n_classes)
    random = np.random.default_rng(total)
    shares = random.dirichlet(np.full(n_rows, 0.5))
    weights = np.minimum((shares * total).astype(int), grow_coded.MAX_COUNT)
    weights[0] += min(total - weights.sum(), grow_coded.MAX_COUNT - weights[0])
    coded, listed = grow_both(monkeypatch, table._replace(weights=weights.tolist()), RULES["gini"])
    assert len(listed.nodes) > 9
    assert_same(coded, listed)


# Sums of targets of 30 bits are exact in doubles up to a weight of 2^23.
@pytest.mark.usefixtures("processor")
@pytest.mark.parametrize("total", [2**23 - 1, 2**23, 2**23 + 1, 9_500_000])
@pytest.mark.parametrize("n_rows", [150, 700, 1500])
def test_weights_whose_sums_of_targets_are_no_doubles(n_rows: int, total: int, monkeypatch: pytest.MonkeyPatch) -> None:
    weights = np.full(n_rows, total // n_rows)
    weights[: total - weights.sum()] += 1
    assert weights.sum() == total
    assert weights.max() <= grow_coded.MAX_COUNT
    table = large_table(n_rows, 0)._replace(weights=weights.tolist())
    for name in ("variance", "variance, two a side", "variance, forest"):
        coded, listed = grow_both(monkeypatch, table, RULES[name])
        assert len(listed.nodes) > 9
        assert_same(coded, listed)


def table_of_common_values(n_rows: int, n_classes: int, seed: int) -> Table:
    """Columns in which most rows have one value, and others that only the last row has."""
    random = np.random.default_rng([seed, n_rows, n_classes])
    values = random.integers(1, 60, size=(n_rows, 5)) * (random.random((n_rows, 5)) < [0.02, 0.1, 0.3, 0.6, 1.0])
    values = np.column_stack([values, np.arange(n_rows) == n_rows - 1])
    signal = (values > 0) @ [3.0, 2.0, 1.0, 1.0, 0.0, 5.0] + values[:, 4] / 60 + random.normal(scale=0.5, size=n_rows)
    targets = np.digitize(signal, np.quantile(signal, np.arange(1, n_classes) / n_classes)) if n_classes else signal
    weights = random.poisson(1.0, n_rows)
    weights[-1] = 1
    numbers = targets if n_classes else np.round(targets * 64) / 64
    return Table(values.astype(float).tolist(), [0] * 6, numbers.tolist(), weights.tolist(), n_classes)


# Up to four classes are counted in one word.
@pytest.mark.usefixtures("processor")
@pytest.mark.parametrize("n_classes", [0, 2, 3, 4, 5])
@pytest.mark.parametrize("n_rows", [50, 120, 400, 3000])
def test_columns_in_which_most_rows_have_one_value(
    n_rows: int, n_classes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    criterion = "gini" if n_classes else "variance"
    for seed in range(3):
        table = table_of_common_values(n_rows, n_classes, seed)
        for name in (criterion, f"{criterion}, two a side"):
            coded, listed = grow_both(monkeypatch, table, RULES[name])
            assert len(listed.nodes) > 5
            assert_same(coded, listed)


# One row for each of many values, or few values: bins of several rows, of one, and of none, beside pure ones.
@pytest.mark.usefixtures("processor")
@pytest.mark.parametrize("n_classes", [2, 3, 26])
@pytest.mark.parametrize("n_values", [257, 1500, 5000])
def test_bins_of_few_rows(n_values: int, n_classes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng([n_values, n_classes])
    for _ in range(3):
        column = random.permutation(np.concatenate([np.arange(n_values), random.integers(n_values, size=1200)]))
        copies = random.poisson(1.0, len(column))
        copies[0] = 1
        signal = column + random.normal(scale=n_values / 5, size=len(column))
        classes = np.digitize(signal, np.quantile(signal, np.arange(1, n_classes) / n_classes))
        table = Table(column[:, None].astype(float).tolist(), [0], classes.tolist(), copies.tolist(), n_classes)
        for name in ("gini", "gini, two a side"):
            coded, listed = grow_both(monkeypatch, table, RULES[name])
            assert len(listed.nodes) > 20
            assert_same(coded, listed)


def test_extreme_values_have_thresholds_between_them(monkeypatch: pytest.MonkeyPatch) -> None:
    values = [[-1.7e308], [1.7e308], [5e-324], [0.0], [-0.0], [1.0], [1.0 + 2**-52]]
    table = Table(values, [0], [0, 1, 0, 1, 1, 0, 1], [1] * 7, 2)
    assert_same(*grow_both(monkeypatch, table, RULES["gini"]))


@pytest.mark.parametrize(("n_values", "dtype"), [(256, np.uint8), (257, np.uint16), (70_000, np.uint32)])
def test_codes_are_as_narrow_as_they_can_be(n_values: int, dtype: type) -> None:
    random = np.random.default_rng(0)
    values = np.column_stack([random.permutation(n_values), random.integers(2, size=n_values)]).astype(float)
    coded = code_columns(values * 0.5, np.zeros(2, np.int32))
    assert coded.codes.dtype == dtype
    np.testing.assert_array_equal(coded.codes, values)
    expected = np.concatenate([np.arange(n_values) * 0.5, [0.0, 0.5]])
    np.testing.assert_array_equal(coded.distinct_values(values * 0.5), expected)


@pytest.mark.parametrize("n_bins", [2, 5, 255])
def test_bins_hold_neighbouring_values(n_bins: int) -> None:
    random = np.random.default_rng(n_bins)
    values = np.concatenate([random.normal(size=3000), np.full(500, 0.25), random.exponential(size=100) * 1e6])
    coded = code_columns(values[:, None], np.zeros(1, np.int32), n_bins)
    n_codes = int(coded.n_codes[0])
    assert 1 < n_codes <= n_bins
    assert (np.diff(coded.codes[np.argsort(values), 0].astype(int)) >= 0).all()
    for code in range(n_codes):
        members = values[coded.codes[:, 0] == code]
        assert coded.low is not None
        assert coded.high is not None
        assert (coded.low[code], coded.high[code]) == (members.min(), members.max())
        assert len(members) <= 2 * len(values) / n_bins or (members == 0.25).mean() > 0.3


def test_no_bin_is_empty() -> None:
    random = np.random.default_rng(3)
    for _ in range(200):
        counts = random.integers(1, 40, size=random.integers(3, 60))
        bins = bins_of_ranks(counts, int(random.integers(2, len(counts))))
        assert bins[0] == 0
        assert set(np.diff(bins)) <= {0, 1}


@pytest.mark.parametrize("is_drawn", [False, True])
@pytest.mark.parametrize("n_values", [16, 2000])
def test_thresholds_between_bins_send_training_rows_where_they_went(n_values: int, is_drawn: bool) -> None:
    """Nodes are divided until they are pure or no attribute has two codes in them."""
    random = np.random.default_rng(0)
    values, codes = random.integers(n_values, size=(2000, 3)) / 7.0, random.integers(3, size=2000)
    columns = replace(read_columns(values, np.zeros(3, np.int32)), max_bins=16)
    rules = replace(RULES["gini"], random_threshold=is_drawn)
    grown = growing.grow_classification_tree(columns, codes, 3, None, rules, random)
    node = np.zeros(2000, int)
    for _ in range(100):
        record = grown.nodes[node]
        goes_right = values[np.arange(2000), record["attribute"]] > record["threshold"]
        node = np.where(record["n_branches"] == 0, node, record["first_child"] + goes_right)
    bins = columns.coded.codes
    for leaf in np.unique(node):
        counts = np.bincount(codes[node == leaf], minlength=3)
        np.testing.assert_array_equal(counts, grown.statistics[leaf])
        assert np.count_nonzero(counts) == 1 or (np.ptp(bins[node == leaf], axis=0) == 0).all()


def test_bins_are_refused_where_codes_cannot_be_used() -> None:
    values, codes, random = np.arange(20.0)[:, None], np.arange(20) % 2, np.random.default_rng(0)
    columns = replace(read_columns(values, np.zeros(1, np.int32)), max_bins=4)
    with pytest.raises(InvalidParameter, match="weights are not whole numbers"):
        growing.grow_classification_tree(columns, codes, 2, np.full(20, 0.5), RULES["gini"], random)
    missing = replace(columns, values=np.where(values == 3, np.nan, values))
    with pytest.raises(InvalidParameter, match="missing values"):
        growing.grow_classification_tree(missing, codes, 2, None, RULES["gini"], random)


def test_fixed_point_targets_keep_thirty_bits() -> None:
    for scale in (1e-300, 1e-5, 1.0, 3e7, 1e300):
        target = np.random.default_rng(0).normal(size=100) * scale
        whole = fixed_point(target)
        unit = target[0] / whole[0]
        np.testing.assert_allclose(whole * unit, target, rtol=0, atol=scale * 1e-7)
        assert np.abs(whole).max() >= 2**29 - 1
    assert not fixed_point(np.zeros(3)).any()


def test_which_trees_are_grown_from_codes() -> None:
    random = np.random.default_rng(0)
    columns = read_columns(np.round(random.normal(size=(50, 4)), 1), np.zeros(4, np.int32))
    wide = read_columns(random.normal(size=(500, 4)), np.zeros(4, np.int32))
    weights, forest = np.ones(50, np.int64), Rules(GINI, n_drawn=2)

    assert growing.is_coded(columns, None, forest, weights, 2)
    assert growing.is_coded(columns, None, Rules(GINI), weights, 2)  # bytes
    assert not growing.is_coded(wide, None, Rules(GINI), np.ones(500), 2)
    nearly_bytes = np.column_stack([wide.values[:, :1], random.integers(2, size=(500, 9))])
    assert growing.is_coded(read_columns(nearly_bytes, np.zeros(10, np.int32)), None, Rules(GINI), np.ones(500), 2)
    more_wide = read_columns(nearly_bytes[:, :9], np.zeros(9, np.int32))
    assert not growing.is_coded(more_wide, None, Rules(GINI), np.ones(500), 2)
    assert not growing.is_coded(replace(columns, serves_once=True), None, Rules(GINI), weights, 2)
    assert not growing.is_coded(columns, None, forest, weights / 2, 2)  # rounding would decide ties
    assert not growing.is_coded(columns, None, replace(forest, strict=True), weights, 2)
    assert not growing.is_coded(replace(columns, gap=1e-5), None, forest, weights, 2)
    nominal = read_columns(np.zeros((50, 2)), np.array([3, 0], np.int32))
    assert not growing.is_coded(nominal, None, replace(forest, n_drawn=1), weights, 2)
    assert growing.is_coded(nominal, None, replace(forest, n_drawn=1, subsets=True), weights, 2)


def test_which_trees_of_real_weights_are_grown_from_codes() -> None:
    random = np.random.default_rng(0)
    columns = read_columns(np.round(random.normal(size=(50, 4)), 1), np.zeros(4, np.int32))
    wide = read_columns(random.normal(size=(500, 4)), np.zeros(4, np.int32))
    mostly_bytes = read_columns(
        np.column_stack([random.normal(size=500), wide.values[:, :3] > 0]), np.zeros(4, np.int32)
    )
    weights, half = np.full(50, 0.5), np.full(500, 0.5)
    gini, entropy = RULES["gini"], RULES["entropy"]

    assert growing.is_coded(columns, None, gini, weights, 2)
    assert growing.is_coded(columns, None, entropy, weights, 2)
    assert growing.is_coded(wide, None, replace(gini, n_drawn=2), half, 2)
    assert growing.is_coded(mostly_bytes, None, entropy, half, 2)
    assert not growing.is_coded(mostly_bytes, None, gini, half, 2)
    assert not growing.is_coded(wide, None, entropy, half, 2)
    assert not growing.is_coded(columns, None, RULES["variance"], weights, 0)
    assert not growing.is_coded(columns, None, replace(gini, random_threshold=True), weights, 2)
    assert not growing.is_coded(columns, None, gini, weights * 1e99, 2)
    assert not growing.is_coded(columns, None, gini, np.where(np.arange(50), 0.5, 1e-101), 2)


@pytest.mark.usefixtures("processor")
@pytest.mark.parametrize("name", RULES)
def test_codes_by_column_give_the_same_trees(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(growing, "is_coded", lambda *_: True)
    for table in counted(draw_tables(3, regression="variance" in name, missing=(0.0,))):
        by_row = grow(table, RULES[name], seed=5)
        with monkeypatch.context() as context:
            context.setattr(coding, "LONG_ROW", 0)
            by_column = grow(table, RULES[name], seed=5)
        assert by_row.nodes.tobytes() == by_column.nodes.tobytes()
        assert by_row.subsets.tobytes() == by_column.subsets.tobytes()
