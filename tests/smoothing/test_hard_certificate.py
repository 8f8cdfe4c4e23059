"""The distance to another class without noise: against all cells of the thresholds, and attacked."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import make_classification, make_moons
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier, RandomForestRegressor
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

import tremula as tm
from tremula.errors import InvalidParameter, UnsupportedModel
from tremula.smoothing.hard_certificate import HardSearch
from tremula.trees.tree_sum import mean_of_trees

from ..kernels.random_trees import N_LEVELS, random_rows, random_tree

MOONS = make_moons(200, noise=0.25, random_state=0)
THREE = make_classification(200, 3, n_informative=3, n_redundant=0, n_classes=3, n_clusters_per_class=1, random_state=0)
NORMS = {"max": np.inf, "euclidean": 2, "sum": 1}


def cells(thresholds: np.ndarray, value: float) -> list[float]:
    """The nearest number of each cell between thresholds, in single precision; cells hold their upper end."""
    low, high = np.append(-np.inf, thresholds), np.append(thresholds, np.inf)
    first, last = low.astype(np.float32), high.astype(np.float32)
    first = np.where(first <= low, np.nextafter(first, np.float32(np.inf)), first)
    last = np.where(last > high, np.nextafter(last, np.float32(-np.inf)), last)
    return list(np.minimum(np.maximum(value, first.astype(np.float64)), last))


def nearest_by_cells(model: Any, trees: list[Any], row: np.ndarray, scale: np.ndarray, norm: float) -> float:
    """Naive twin: the nearest point of every cell of the grid of all thresholds."""
    grid = []
    for attribute in range(len(row)):
        splits = [tree.threshold[tree.feature == attribute] for tree in trees]
        grid.append(cells(np.unique(np.concatenate(splits)), row[attribute]))
    points = np.array(list(product(*grid)))
    changed = model.predict(points) != model.predict(row[None])[0]
    distances = np.linalg.norm((points - row) / scale, ord=norm, axis=1)
    return float(distances[changed].min(initial=np.inf))


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize(
    ("estimator", "data"),
    [
        (DecisionTreeClassifier(random_state=0), THREE),
        (RandomForestClassifier(4, max_depth=4, random_state=0), THREE),
        (RandomForestClassifier(7, max_depth=4, random_state=0), MOONS),
        (GradientBoostingClassifier(n_estimators=8, random_state=0), MOONS),
        (GradientBoostingClassifier(n_estimators=3, random_state=0), THREE),
    ],
)
def test_the_distance_is_that_of_the_nearest_cell(estimator: Any, data: Any, norm: str) -> None:
    X, y = data
    model = estimator.fit(X[::2], y[::2])
    rows, scale = X[1::2][:6].astype(np.float32).astype(np.float64), np.arange(1.0, X.shape[1] + 1)
    trees = [member.tree_ for member in np.ravel(getattr(model, "estimators_", [model]))]
    expected = [nearest_by_cells(model, trees, row, scale, NORMS[norm]) for row in rows]
    certificate = tm.certify(model, rows, norm=norm, scale=scale)
    assert np.all(certificate.lower <= np.array(expected) + 1e-6)
    assert certificate.upper == pytest.approx(expected, rel=1e-5)
    assert np.mean(certificate.is_exact) > 0.8  # elsewhere two classes are tied
    assert np.all(model.predict(certificate.nearest) != model.predict(rows))


@pytest.mark.parametrize("strict", [False, True])
def test_no_move_within_the_lower_bound_changes_the_class_of_random_trees(strict: bool) -> None:
    rng = np.random.default_rng(strict)
    n_positive = 0
    for number in range(8):
        trees = [random_tree(rng, only_numeric=number % 2 == 0) for _ in range(4)]
        trees = [
            type(t)(t.nodes, t.values + 0.01 * rng.random(t.values.shape), t.subsets, N_LEVELS, strict) for t in trees
        ]
        model = mean_of_trees(trees)
        rows = np.where(np.isinf(rows := random_rows(rng, 12)), 0.0, rows)
        rows[::2, N_LEVELS == 0] += 0.3  # the others are often equal to a threshold
        search = HardSearch(model, np.ones(len(N_LEVELS)), "max")
        certificate = search.certify(rows, 400)
        labels = search._margins(rows).argmax(axis=1)
        for _ in range(40):
            steps = rng.choice([-1.0, -0.5, 0.0, 1.0], rows.shape) * np.where(N_LEVELS > 0, 0.0, 1.0)
            moved = rows + (1 - 1e-9) * np.minimum(certificate.lower, 10.0)[:, None] * steps
            assert np.array_equal(search._margins(moved).argmax(axis=1), labels)
        is_met = np.isfinite(certificate.upper)
        assert np.all(search._margins(certificate.nearest[is_met]).argmax(axis=1) != labels[is_met])
        n_positive += np.count_nonzero((certificate.lower > 0) & is_met)
    assert n_positive > 10


def test_fewer_boxes_give_a_smaller_lower_bound_that_still_holds() -> None:
    X, y = make_classification(300, 8, n_informative=6, n_classes=3, random_state=0)
    forest = RandomForestClassifier(20, random_state=0).fit(X[::2], y[::2])
    rows = X[1::2][:6]
    few, many = tm.certify(forest, rows, max_boxes=0), tm.certify(forest, rows, max_boxes=1000)
    assert np.all(few.lower > 0)
    assert np.all(few.lower <= many.lower)
    assert np.all(many.lower <= many.upper)
    assert np.all(many.upper <= few.upper)
    assert many.lower.sum() > 1.1 * few.lower.sum()
    rng = np.random.default_rng(0)
    for _ in range(50):
        moved = rows + 0.9999 * many.lower[:, None] * rng.uniform(-1, 1, rows.shape).round()
        assert np.array_equal(forest.predict(moved), forest.predict(rows))


def test_a_row_with_a_missing_value_is_certified_where_it_takes_one_branch() -> None:
    pytest.importorskip("xgboost")
    from xgboost import XGBClassifier

    X, y = THREE
    X = np.where(np.random.default_rng(0).random(X.shape) < 0.1, np.nan, X)
    rows, rng = X[np.isnan(X).any(axis=1)][:8], np.random.default_rng(1)
    for kind in (XGBClassifier(n_estimators=5, max_depth=3, n_jobs=1), tm.CARTClassifier()):
        model = kind.fit(X, y)
        certificate = tm.certify(model, rows)
        assert np.median(certificate.lower) > 0.01
        changed = np.isfinite(certificate.upper)
        assert np.all(model.predict(certificate.nearest[changed]) != model.predict(rows[changed]))
        for _ in range(50):
            moved = rows + 0.9999 * np.minimum(certificate.lower, 9.0)[:, None] * rng.choice([-1.0, 1.0], rows.shape)
            assert np.array_equal(model.predict(moved), model.predict(rows))
    shares = tm.CARTClassifier(missing="shares").fit(X, y)
    assert not tm.certify(shares, rows).lower.any()


def test_a_model_of_one_class_is_certified_everywhere_and_reads_well() -> None:
    X = MOONS[0]
    leaf = tm.CARTClassifier(max_depth=1, min_samples_leaf=len(X)).fit(X, np.arange(len(X)) < 50)
    certificate = tm.certify(leaf, X[:3])
    assert np.all(np.isinf(certificate.lower))
    assert repr(certificate) == "HardCertificate(3 rows, 3 exact, median distance inf)"


def test_what_cannot_be_certified_is_refused() -> None:
    X, y = MOONS
    with pytest.raises(InvalidParameter, match="predicts numbers"):
        tm.certify(RandomForestRegressor(3).fit(X, y), X)
    with pytest.raises(UnsupportedModel):
        tm.certify(KNeighborsClassifier().fit(X, y), X)
    tree = DecisionTreeClassifier().fit(X, y)
    with pytest.raises(InvalidParameter, match="scale has shape"):
        tm.certify(tree, X, scale=[1.0, 0.0])
    with pytest.raises(InvalidParameter, match="norm="):
        tm.certify(tree, X, norm="l2")
