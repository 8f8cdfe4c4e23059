"""Trees and ensembles of a sparse table are those of the same table as an array, bit for bit."""

from __future__ import annotations

import subprocess
import sys
import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.utils import get_tags

import tremula as tm
from tremula.data.sparse_rows import SparseRows
from tremula.errors import InfiniteValue, InvalidInput, InvalidParameter, UnsupportedType
from tremula.perturb import Bootstrap, SmearedInputs
from tremula.trees import growing
from tremula.trees.coding import code_columns
from tremula.trees.missing_values import complete_table
from tremula.trees.sparse_columns import code_sparse_columns, complete_sparse_table

KINDS = ("csr_matrix", "csc_matrix", "csr_array", "csc_array", "coo_array", "lil_matrix", "bsr_array")
N_SEEDS = 6


def draw_table(seed: int, *, missing: bool = False) -> sparse.csr_array:
    """Draw a table with empty and full columns, negative values, ties, explicit zeros and perhaps missing values."""
    random = np.random.default_rng(seed)
    shape = int(random.integers(2, 120)), int(random.integers(2, 9))
    values = random.normal(size=shape).round(int(random.integers(0, 3)))
    values[random.random(shape) >= random.choice([0.0, 0.1, 0.5, 1.0], size=shape[1])] = 0.0
    if missing:
        values[random.random(shape) < random.choice([0.0, 0.1], size=shape[1])] = np.nan
    cells = sparse.coo_array(values)
    rows, columns = np.append(cells.row, [0, 1]), np.append(cells.col, [0, shape[1] - 1])
    return sparse.csr_array((np.append(cells.data, [0.0, -0.0]), (rows, columns)), shape=shape)


def draw_targets(seed: int, n_rows: int, n_classes: int) -> np.ndarray:
    random = np.random.default_rng([seed, 1])
    return random.integers(n_classes, size=n_rows) if n_classes else random.normal(size=n_rows)


def as_kind(table: sparse.csr_array, kind: str, *, wide: bool = False) -> Any:
    made = getattr(sparse, kind)(table)
    if wide and hasattr(made, "indptr"):
        made.indices, made.indptr = made.indices.astype(np.int64), made.indptr.astype(np.int64)
    return made


@pytest.mark.parametrize("max_bins", [None, 2, 7])
def test_codes_are_those_of_the_dense_table(max_bins: int | None) -> None:
    for seed in range(3 * N_SEEDS):
        table = draw_table(seed, missing=seed % 2 == 0)
        rows, n_levels = SparseRows.of(table), np.zeros(table.shape[1], np.int32)
        given, dense = complete_sparse_table(rows, n_levels), complete_table(table.toarray(), n_levels)
        np.testing.assert_array_equal(given.values.cells.toarray(), dense.values)
        for own, other in zip(given[1:], dense[1:], strict=True):
            np.testing.assert_array_equal(own, other)
        coded, expected = (
            code_sparse_columns(given.values, max_bins),
            code_columns(dense.values, dense.n_levels, max_bins),
        )
        np.testing.assert_array_equal(coded.codes, expected.codes)
        assert coded.codes.dtype == expected.codes.dtype
        assert coded.codes.flags.f_contiguous == expected.codes.flags.f_contiguous
        np.testing.assert_array_equal(coded.n_codes, expected.n_codes)
        if max_bins is None:
            np.testing.assert_array_equal(coded.low, expected.distinct_values(dense.values))
        else:
            np.testing.assert_array_equal(coded.low, expected.low)
            np.testing.assert_array_equal(coded.high, expected.high)


def test_cells_are_coded_in_stretches(monkeypatch: pytest.MonkeyPatch) -> None:
    table = SparseRows.of(draw_table(3))
    at_once = code_sparse_columns(table)
    monkeypatch.setattr("tremula.trees.sparse_columns.CELLS_SORTED", 5)
    in_stretches = code_sparse_columns(table)
    assert at_once.codes.tobytes() == in_stretches.codes.tobytes()
    np.testing.assert_array_equal(at_once.low, in_stretches.low)


def test_long_rows_are_coded_by_column() -> None:
    table = sparse.random_array((40, 3000), density=0.05, format="csr", rng=np.random.default_rng(0))
    coded, expected = code_sparse_columns(SparseRows.of(table)), code_columns(table.toarray(), np.zeros(3000, np.int32))
    assert coded.codes.flags.f_contiguous
    assert expected.codes.flags.f_contiguous
    np.testing.assert_array_equal(coded.codes, expected.codes)


def test_blocks_are_the_dense_table(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tremula.data.sparse_rows.DENSE_CELLS", 20)
    for seed in range(N_SEEDS):
        table = draw_table(seed, missing=True)
        blocks = [block.copy() for _, block in SparseRows.of(table).blocks()]
        assert len(blocks) > 1 or table.size <= 20
        np.testing.assert_array_equal(np.concatenate(blocks), table.toarray())


CLASSIFIERS = {
    "gini": tm.CARTClassifier(),
    "entropy": tm.CARTClassifier("entropy", min_samples_leaf=2, max_leaf_nodes=9),
    "bins": tm.CARTClassifier(max_bins=3),
    "drawn": tm.CARTClassifier(max_features="sqrt", random_state=3),
    "cross-validated": tm.CARTClassifier(ccp_alpha="cv", cv=2, random_state=0),
    "forest": tm.RandomForestClassifier(4, oob_score=True, random_state=0),
    "votes": tm.RandomForestClassifier(3, criterion="entropy", combine="vote", class_weight="balanced", random_state=1),
    "balanced": tm.RandomForestClassifier(3, bootstrap="balanced", random_state=1),
    "extra trees": tm.ExtraTreesClassifier(3, random_state=0),
    "bagging": tm.BaggingClassifier(tm.CARTClassifier(), 4, oob_score=True, random_state=0),
    "dagging": tm.DaggingClassifier(tm.CARTClassifier(), 2, random_state=0),
    "subspaces": tm.RandomSubspaceClassifier(tm.CARTClassifier(), 3, random_state=0),
    "boosting": tm.AdaBoostM1Classifier(tm.CARTClassifier(max_features=1), 3, random_state=0),
    "composed": tm.PerturbCombineClassifier(tm.CARTClassifier(), [Bootstrap()], n_estimators=3, random_state=0),
}
REGRESSORS = {
    "drawn": tm.CARTRegressor(max_features=1, random_state=3),
    "forest": tm.RandomForestRegressor(4, max_features=0.5, oob_score=True, random_state=0),
    "bins": tm.RandomForestRegressor(3, max_bins=3, random_state=0),
    "extra trees": tm.ExtraTreesRegressor(3, random_state=0),
    "bagging": tm.BaggingRegressor(tm.CARTRegressor(max_features=1), 3, random_state=0),
}
# Dense trees of numbers that see all attributes grow from sorted lists, whose sums are rounded otherwise.
WHOLE_REGRESSORS = {
    "tree": tm.CARTRegressor(),
    "pruned": tm.CARTRegressor(ccp_alpha="cv", cv=2, random_state=0),
    "forest": tm.RandomForestRegressor(3, random_state=0),
    "bagging": tm.BaggingRegressor(tm.CARTRegressor(min_samples_leaf=2), 3, random_state=0),
}


def members_of(model: Any) -> list[Any]:
    return [model.tree_] if hasattr(model, "tree_") else model.members_


def assert_same_model(model: Any, table: sparse.csr_array, target: np.ndarray, kind: str, wide: bool) -> None:
    X, dense = as_kind(table, kind, wide=wide), table.toarray()
    before = X.toarray()
    own, other = clone(model).fit(X, target), clone(model).fit(dense, target)
    assert members_of(own) == members_of(other)
    np.testing.assert_array_equal(own.predict(X), other.predict(dense))
    np.testing.assert_array_equal(other.predict(X), own.predict(dense))
    if hasattr(own, "predict_proba"):
        np.testing.assert_array_equal(own.predict_proba(X), other.predict_proba(dense))
    if hasattr(own, "members_"):
        np.testing.assert_array_equal(own.predict_members(X), other.predict_members(dense))
        for stage, expected in zip(own.staged_predict(X), other.staged_predict(dense), strict=True):
            np.testing.assert_array_equal(stage, expected)
    if hasattr(own, "oob_score_"):
        np.testing.assert_equal(own.oob_score_, other.oob_score_)
    if hasattr(own, "apply"):
        np.testing.assert_array_equal(own.apply(X), other.apply(dense))
        assert (own.decision_path(X) != other.decision_path(dense)).nnz == 0
    np.testing.assert_array_equal(X.toarray(), before)


def check_models(model: Any, n_classes: int, seeds: range) -> None:
    for seed in seeds:
        table = draw_table(seed, missing=seed % 3 == 0)
        target = draw_targets(seed, table.shape[0], n_classes)
        if len(np.unique(target)) < 2 or (n_classes and np.bincount(target, minlength=n_classes).min() < 2):
            continue
        assert_same_model(model, table, target, KINDS[seed % len(KINDS)], wide=seed % 2 == 1)


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_classifiers_are_those_of_the_dense_table(name: str) -> None:
    check_models(CLASSIFIERS[name], 3 if name in ("gini", "forest", "boosting") else 2, range(N_SEEDS))


@pytest.mark.parametrize("name", REGRESSORS)
def test_regressors_are_those_of_the_dense_table(name: str) -> None:
    check_models(REGRESSORS[name], 0, range(N_SEEDS))


@pytest.mark.filterwarnings("ignore::tremula.errors.IdentifierWarning")
@pytest.mark.parametrize("model", [tm.RandomForestClassifier, tm.ExtraTreesClassifier])
def test_columns_that_number_the_rows_are_left_out_as_of_the_dense_table(model: Any) -> None:
    random = np.random.default_rng(3)
    values = np.where(random.random((90, 4)) < 0.3, random.normal(size=(90, 4)), 0.0)
    values[:, 2] = random.permutation(90)
    target = random.integers(2, size=90)
    assert_same_model(model(6, random_state=0), sparse.csr_array(values), target, "csr_array", wide=False)
    used = model(6, random_state=0).fit(sparse.csr_array(values), target).split_shares_
    assert used[2] == 0.0


def grow_from_codes_where_possible(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let dense trees that see all attributes grow from codes too, as sparse ones do."""
    monkeypatch.setattr(growing, "is_coded", lambda columns, *rest: columns.is_complete)


@pytest.mark.parametrize("name", WHOLE_REGRESSORS)
def test_regressors_of_all_attributes_are_those_of_dense_codes(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    grow_from_codes_where_possible(monkeypatch)
    check_models(WHOLE_REGRESSORS[name], 0, range(N_SEEDS))


def test_regressors_of_all_attributes_whose_sums_are_exact_are_those_of_the_dense_table() -> None:
    for seed in range(N_SEEDS):
        table = draw_table(seed)[:64]
        target = np.random.default_rng(seed).integers(-99, 99, size=table.shape[0]) / 64
        target[-1] -= target.sum()  # the mean, which is taken off before trees grow, is 0
        own, other = tm.CARTRegressor().fit(table, target), tm.CARTRegressor().fit(table.toarray(), target)
        assert own.tree_.nodes.tobytes() == other.tree_.nodes.tobytes()
        np.testing.assert_allclose(own.predict(table), other.predict(table), rtol=1e-15)


@pytest.mark.parametrize("dtype", [np.int8, np.uint16, np.int64, np.bool_, np.float32])
def test_numbers_of_every_type(dtype: type) -> None:
    random = np.random.default_rng(0)
    table = sparse.csc_array((random.integers(0, 4, (60, 5)) * (random.random((60, 5)) < 0.3)).astype(dtype))
    target = random.integers(2, size=60)
    assert_same_model(tm.RandomForestClassifier(3, random_state=0), table, target, "csc_array", wide=True)


def test_cells_that_are_given_twice_are_added_up() -> None:
    cells = np.array([1.0, 2.0, 5.0, 3.0]), np.array([0, 0, 1, 2]), np.array([0, 2, 3, 4])
    twice = sparse.csr_matrix(cells, shape=(3, 3))
    assert_same_model(tm.CARTClassifier(), sparse.csr_array(twice), np.array([0, 1, 0]), "csr_matrix", wide=False)
    assert twice.nnz == 4


def test_weights_and_jobs() -> None:
    random = np.random.default_rng(0)
    table = sparse.random_array((300, 20), density=0.2, format="csr", rng=random)
    target, counts = random.integers(2, size=300), random.integers(0, 4, size=300)
    forest = tm.RandomForestClassifier(6, oob_score=True, random_state=0)
    own, other = clone(forest).fit(table, target, counts), clone(forest).fit(table.toarray(), target, counts)
    assert own.members_ == other.members_
    with_jobs = clone(forest).set_params(n_jobs=2).fit(table, target, counts)
    assert own.members_ == with_jobs.members_
    large = sparse.vstack([table] * 5, format="csr")
    np.testing.assert_array_equal(with_jobs.predict_proba(large), own.predict_proba(large.toarray()))
    weights = random.random(300)
    own, other = clone(forest).fit(table, target, weights), clone(forest).fit(table.toarray(), target, weights)
    assert own.members_ == other.members_


def test_many_values_of_a_column() -> None:
    """Codes of two bytes; dense extra trees read such values themselves."""
    random = np.random.default_rng(0)
    table = sparse.csr_array(random.normal(size=(500, 3)) * (random.random((500, 3)) < 0.8))
    target = (table.sum(axis=1) + random.normal(size=500) > 0).astype(int)
    for model in (tm.ExtraTreesClassifier(2, random_state=0), tm.RandomForestClassifier(2, random_state=0)):
        assert_same_model(model, table, target, "csr_array", wide=False)
    assert_same_model(tm.ExtraTreesRegressor(2, random_state=0), table, target * 0.5, "csc_array", wide=False)


def test_a_model_of_a_sparse_table_knows_its_rows_as_an_array() -> None:
    table = draw_table(2)
    target = draw_targets(2, table.shape[0], 0)
    forest = tm.RandomForestRegressor(4, max_features=1, random_state=0).fit(table, target)
    again = forest.permutation_importances(table.toarray(), target, n_repeats=1, random_state=0)
    assert again.importances.shape == (table.shape[1],)
    with pytest.raises(InvalidInput, match="not those of fit"):
        forest.permutation_importances(table.toarray()[::-1], target, n_repeats=1, random_state=0)


def test_held_out_rows_may_be_sparse() -> None:
    table = draw_table(5)
    target = draw_targets(5, table.shape[0], 2)
    tree = tm.CARTClassifier(ccp_alpha="validation")
    own = clone(tree).fit(table[::2], target[::2], X_val=table[1::2], y_val=target[1::2])
    other = clone(tree).fit(table[::2].toarray(), target[::2], X_val=table[1::2].toarray(), y_val=target[1::2])
    assert own.tree_ == other.tree_


# --- memory

N_ROWS, N_COLUMNS = 4_000, 2_000


def peak_of(work: Any) -> int:
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_no_dense_table_is_made() -> None:
    table = sparse.random_array((N_ROWS, N_COLUMNS), density=0.003, format="csr", rng=np.random.default_rng(0))
    target = np.asarray(table[:, :200].sum(axis=1) > 0.3).ravel().astype(int)
    forest = tm.RandomForestClassifier(2, max_depth=5, oob_score=True, random_state=0)
    dense, codes = 8 * N_ROWS * N_COLUMNS, N_ROWS * N_COLUMNS
    assert peak_of(lambda: forest.fit(table, target)) < codes + dense // 4
    assert peak_of(lambda: forest.predict_proba(table)) < dense // 8


LARGE = """
import resource, sys
import numpy as np
from scipy import sparse
import tremula as tm

table = sparse.random_array((20_000, 5_000), density=float(sys.argv[2]), format="csr", rng=np.random.default_rng(0))
target = np.asarray(table[:, :500].sum(axis=1)).ravel()
model = eval(sys.argv[1])
if "Classifier" in sys.argv[1]:
    target = (target > np.median(target)).astype(int)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
model.fit(table, target).predict(table)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("model", "density"),
    [
        ("tm.CARTClassifier(max_depth=2)", 0.01),
        ("tm.CARTRegressor(max_depth=1)", 0.001),
        ("tm.RandomForestClassifier(2, max_depth=12, oob_score=True, random_state=0)", 0.01),
        ("tm.ExtraTreesRegressor(2, max_features=0.1, max_depth=4, random_state=0)", 0.001),
        ("tm.BaggingClassifier(tm.CARTClassifier(max_depth=1), 2, random_state=0)", 0.01),
    ],
)
def test_memory_of_a_large_table(model: str, density: float) -> None:
    run = subprocess.run([sys.executable, "-c", LARGE, model, str(density)], check=True, capture_output=True, text=True)
    kilobytes, dense = int(run.stdout), 20_000 * 5_000 * 8 // 1024
    assert kilobytes < dense / 3  # codes take an eighth


# --- refusals

TABLE = sparse.csr_array(np.arange(60.0).reshape(20, 3) % 7)
CLASSES, NUMBERS = np.arange(20) % 2, np.arange(20) * 0.5
REFUSING = [
    tm.C45Classifier(),
    tm.ID3Classifier(categorical_features="all"),
    tm.CARTClassifier("gain_ratio"),
    tm.CARTClassifier(monotonic_cst=[1, 0, 0]),
    tm.CARTRegressor("absolute_error"),
    tm.RandomForestRegressor(criterion="poisson"),
    tm.RandomForestClassifier(monotonic_cst=[1, 0, 0]),
    tm.REPTreeRegressor(),
    tm.M5Regressor(),
    tm.BaggingClassifier(),
    tm.BaggingRegressor(),
    tm.RandomizedC45Classifier(),
    tm.DecorateClassifier(tm.CARTClassifier()),
    tm.AspenClassifier(),
    tm.AspenRegressor(),
]


@pytest.mark.parametrize("model", REFUSING, ids=str)
def test_estimators_that_take_no_sparse_table_say_what_to_do(model: Any) -> None:
    with pytest.raises(UnsupportedType, match=r"Sparse data.*X\.toarray\(\).*CART trees") as refusal:
        model.fit(TABLE, NUMBERS if hasattr(model, "predict") and "Regressor" in type(model).__name__ else CLASSES)
    assert "random forests" in str(refusal.value)


def test_methods_that_take_no_sparse_table_say_what_to_do() -> None:
    forest = tm.RandomForestClassifier(3, random_state=0).fit(TABLE, CLASSES)
    for method in (forest.permutation_importances, forest.unbiased_importances, forest.count_inbag):
        with pytest.raises(UnsupportedType, match=r"X\.toarray\(\)"):
            method(TABLE, CLASSES)
    answers: list[Callable[[], Any]] = [
        lambda: tm.explain(forest, TABLE),
        lambda: tm.Uncertainty(forest, TABLE, CLASSES),
        lambda: tm.proximity(forest, TABLE),
    ]
    for ask in answers:
        with pytest.raises(InvalidInput, match=r"toarray\(\)"):
            ask()


@pytest.mark.parametrize(
    ("model", "options", "message"),
    [
        (tm.CARTRegressor(), {"sample_weight": NUMBERS + 0.1}, "row weights that are not whole numbers"),
        (tm.ExtraTreesClassifier(2), {"sample_weight": NUMBERS + 0.1}, "drawn thresholds"),
        (tm.CARTClassifier(categorical_features=[0]), {}, "categorical_features"),
    ],
)
def test_what_needs_a_dense_table_is_refused(model: Any, options: dict[str, Any], message: str) -> None:
    target = NUMBERS if "Regressor" in type(model).__name__ else CLASSES
    with pytest.raises(InvalidParameter, match=f"(?s){message}.*X.toarray"):
        model.fit(TABLE, target, **options)


def test_missing_values_that_divide_rows_are_refused() -> None:
    table = TABLE.copy()
    table.data[3] = np.nan
    with pytest.raises(InvalidParameter, match=r"missing='shares'.*X\.toarray"):
        tm.CARTClassifier(missing="shares").fit(table, CLASSES)


def test_several_targets_are_refused() -> None:
    with pytest.raises(InvalidParameter, match=r"several targets.*X\.toarray"):
        tm.RandomForestRegressor(2).fit(TABLE, np.column_stack([NUMBERS, NUMBERS**2]))


def test_noise_on_the_values_is_refused() -> None:
    ensemble = tm.PerturbCombineClassifier(tm.CARTClassifier(), [SmearedInputs(0.1)], n_estimators=2)
    with pytest.raises(InvalidInput, match=r"noise would leave no value 0.*toarray"):
        ensemble.fit(TABLE, CLASSES)


def test_bad_tables_are_refused() -> None:
    tree = tm.CARTClassifier()
    infinite = TABLE.copy()
    infinite.data[4] = np.inf
    with pytest.raises(InfiniteValue, match=r"column 2 is infinite .* in row 1"):
        tree.fit(infinite, CLASSES)
    with pytest.raises(UnsupportedType, match="complex"):
        tree.fit(TABLE.astype(complex), CLASSES)
    with pytest.raises(InvalidInput, match="0 feature"):
        tree.fit(sparse.csr_array((20, 0)), CLASSES)
    tree.fit(TABLE, CLASSES)
    with pytest.raises(InvalidInput, match="2 features"):
        tree.predict(TABLE[:, :2])
    named = tm.CARTClassifier(categorical_features=[0]).fit(TABLE.toarray(), CLASSES)
    with pytest.raises(UnsupportedType, match="nominal in fit"):
        named.predict(TABLE)


def test_names_of_columns_are_missed_as_in_scikit_learn() -> None:
    frame = pd.DataFrame(TABLE.toarray(), columns=list("abc"))
    tree = tm.CARTClassifier().fit(frame, CLASSES)
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        np.testing.assert_array_equal(tree.predict(TABLE), tree.predict(frame))


def test_which_estimators_say_that_they_take_sparse_tables() -> None:
    for model in [*CLASSIFIERS.values(), *REGRESSORS.values(), *WHOLE_REGRESSORS.values()]:
        assert get_tags(model).input_tags.sparse
    for model in REFUSING:
        assert not get_tags(model).input_tags.sparse
