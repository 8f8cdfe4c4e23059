"""The certificate is attacked: no way to move a row, drawn or led by the gradient, changes it within the radius."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_diabetes, make_classification, make_moons
from sklearn.ensemble import GradientBoostingClassifier, GradientBoostingRegressor, RandomForestClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

import tremula as tm
from tremula.combine import largest
from tremula.errors import InvalidParameter
from tremula.smoothing.certificate import certified_radii, margin_ranges, most_tests, radii_in_unit
from tremula.smoothing.exact import soften
from tremula.smoothing.models import read_model
from tremula.trees.tree import NODE_DTYPE, Tree
from tremula.trees.tree_sum import TreeSum, mean_of_trees

MOONS = make_moons(200, noise=0.25, random_state=0)
THREE = make_classification(200, 4, n_informative=3, n_redundant=1, n_classes=3, random_state=0)
ATTACKED: list[tuple[Any, tuple[np.ndarray, np.ndarray], dict[str, Any]]] = [
    (tm.CARTClassifier(), MOONS, {"noise": 0.3}),
    (tm.CARTClassifier(), MOONS, {"noise": 0.3, "method": "path"}),
    (tm.CARTClassifier(), MOONS, {"noise": 0.3, "combine": "vote"}),
    (tm.BaggingClassifier(tm.CARTClassifier(), n_estimators=5, random_state=0), THREE, {"noise": [0.3, 0.1, 0.6, 0.2]}),
    (tm.CARTClassifier(max_depth=6), THREE, {"noise": 0.4, "method": "path"}),
    (tm.AdaBoostM1Classifier(n_estimators=5), MOONS, {"noise": 0.3}),
    (RandomForestClassifier(n_estimators=4, max_depth=5, random_state=0), THREE, {"noise": 0.3}),
    (GradientBoostingClassifier(n_estimators=10, random_state=0), MOONS, {"noise": 0.4}),
    (GradientBoostingClassifier(n_estimators=3, random_state=0), THREE, {"noise": 0.4}),
    (LogisticRegression(), MOONS, {"noise": 0.3}),
]


def shortened(ways: np.ndarray, radii: np.ndarray) -> np.ndarray:
    """Ways of at most the given length."""
    lengths = np.linalg.norm(ways, axis=1, keepdims=True)
    return ways * np.minimum(1.0, radii[:, None] / np.maximum(lengths, 1e-30))


def ways_to_go(soft: Any, rows: np.ndarray, spread: np.ndarray, radii: np.ndarray) -> list[np.ndarray]:
    """Ways of length just under the radius: random ones, and those that follow the gradient to the next class."""
    random = np.random.default_rng(0)
    ways = [shortened(1e9 * random.standard_normal(rows.shape), radii) for _ in range(20)]
    order = np.argsort(-soft.predict_proba(rows), axis=1, kind="stable")
    way, each = np.zeros(rows.shape), np.arange(len(rows))
    for _ in range(6):
        slopes = soft.gradient(rows + way * spread)
        climb = (slopes[each, order[:, 1]] - slopes[each, order[:, 0]]) * spread
        way = shortened(way + shortened(1e9 * climb, 0.5 * radii), radii)
        ways.append(way)
    return ways


@pytest.mark.parametrize(("model", "data", "options"), ATTACKED)
def test_no_way_within_the_radius_changes_the_class(
    model: Any, data: tuple[np.ndarray, np.ndarray], options: dict[str, Any]
) -> None:
    X, y = data
    soft = tm.DualPerturbClassifier(model, **options).fit(X, y)
    rows = X[:12]
    radii, classes = np.minimum(soft.certified_radius(rows), 50.0), soft.predict(rows)
    assert np.all(radii >= 0)
    assert np.median(radii) > 0.05
    spread = np.asarray(options["noise"]) * X.std(axis=0)
    for way in ways_to_go(soft, rows, spread, radii):
        assert np.array_equal(soft.predict(rows + 0.999 * way * spread), classes)


def test_an_attribute_alone_may_go_as_far_as_certified() -> None:
    X, y = THREE
    soft = tm.DualPerturbClassifier(tm.CARTClassifier(max_depth=5), noise=0.3).fit(X, y)
    ways = soft.certified_radius(X[:20], unit="attribute")
    assert ways.shape == (20, 4)
    for attribute in range(4):
        for sign in (-0.999, 0.999):
            moved = X[:20].copy()
            moved[:, attribute] += sign * np.minimum(ways[:, attribute], 1e3)
            assert np.array_equal(soft.predict(moved), soft.predict(X[:20]))


def test_the_radius_is_sharp_for_a_stump() -> None:
    X, y = MOONS
    stump = tm.CARTClassifier(max_depth=1).fit(X, y)
    votes = tm.DualPerturbClassifier(stump, noise=0.3, combine="vote").fit(X)
    attribute, threshold = stump.tree_.attribute[0], stump.tree_.threshold[0]
    way = np.abs(X[:20, attribute] - threshold) / (0.3 * X[:, attribute].std())
    near = way < 3  # further away only rounding decides
    assert votes.certified_radius(X[:20])[near] == pytest.approx(way[near], rel=1e-3)


def chain(n_tests: int) -> TreeSum:
    """One attribute asked again and again whether it is above 0: the last branch is the second class."""
    nodes, leaf = [], []
    for number in range(n_tests):
        nodes += [(0.0, 2, 0, 2 * number + 1, 2, -1), (0, 1, -1, 0, 0, 0)]
    leaf.append((0, 1, -1, 0, 0, 1))
    records = np.array(nodes + leaf, dtype=NODE_DTYPE)
    order = [0] + [i for pair in ((2 * k - 1, 2 * k) for k in range(1, n_tests + 1)) for i in pair]
    return mean_of_trees([Tree(records[order], [[1, 0], [0, 1]], [], [0], strict=False)])


def test_the_plain_certificate_of_the_path_form_can_be_broken_and_the_lifted_one_cannot() -> None:
    model, spread = chain(4), np.ones((1, 1))
    model.trees[0].check()
    row = np.array([[2.0]])
    softened = soften(model, row, spread[0], form="path")
    assert softened.margins[0, 1] == pytest.approx(0.9772498680518208**4)  # the product of four equal tests
    plain = certified_radii(model, softened.margins, softened.bound)
    lifted = radii_in_unit(plain, "noise", spread, most_tests(model), np.zeros(1, dtype=bool))
    assert lifted == pytest.approx(plain / 2)
    moved = soften(model, row - 0.999 * plain, spread[0], form="path").margins
    safe = soften(model, row - 0.999 * lifted, spread[0], form="path").margins
    assert moved.argmax() == 0
    assert safe.argmax() == 1


def test_an_attribute_that_is_not_tested_may_go_anywhere_and_a_hard_one_nowhere() -> None:
    X, y = MOONS
    stump = tm.CARTClassifier(max_depth=1).fit(X, y)
    tested = stump.tree_.attribute[0]
    soft = tm.DualPerturbClassifier(stump, noise=0.3).fit(X)
    assert np.all(np.isinf(soft.certified_radius(X[:5], unit="attribute")[:, 1 - tested]))
    hard = tm.DualPerturbClassifier(stump, noise=0.0).fit(X)
    assert np.all(hard.certified_radius(X[:5], unit="attribute")[:, tested] == 0)


def test_a_tree_that_knows_one_answer_is_certified_everywhere() -> None:
    X, _ = MOONS
    leaf = tm.CARTClassifier(max_depth=1, min_samples_leaf=len(X)).fit(X, np.arange(len(X)) < 50)
    soft = tm.DualPerturbClassifier(leaf, noise=0.3).fit(X)
    assert np.all(np.isinf(soft.certified_radius(X[:5])))


def test_the_range_of_a_margin_is_that_of_its_trees() -> None:
    low, high = margin_ranges(chain(1), less=1)
    assert low.tolist() == [-1.0, 0.0]
    assert high.tolist() == [1.0, 0.0]


def test_a_drawn_model_has_no_certificate() -> None:
    X, y = MOONS
    soft = tm.DualPerturbClassifier(KNeighborsClassifier(), noise=0.3, method="sample").fit(X, y)
    with pytest.raises(InvalidParameter, match="method='sample'"):
        soft.certified_radius(X)


def test_an_unknown_unit_is_refused() -> None:
    X, y = MOONS
    with pytest.raises(InvalidParameter, match=r"unit=.noize.*did you mean .noise"):
        tm.DualPerturbClassifier(noise=0.3).fit(X, y).certified_radius(X, unit="noize")


# --- regression ---


@pytest.mark.parametrize("method", ["exact", "path"])
@pytest.mark.parametrize("model", [tm.CARTRegressor(), GradientBoostingRegressor(n_estimators=5), LinearRegression()])
def test_no_way_of_the_given_length_leaves_the_interval(model: Any, method: str) -> None:
    X, y = load_diabetes(return_X_y=True)
    if isinstance(model, LinearRegression) and method == "path":
        pytest.skip("a linear model has no paths")
    soft = tm.DualPerturbRegressor(model, noise=0.5, method=method).fit(X, y)
    low, high = soft.certified_interval(X[:8], radius=0.7)
    values, slopes = soft.predict(X[:8]), soft.gradient(X[:8])
    assert np.all(low <= values)
    assert np.all(values <= high)
    random = np.random.default_rng(0)
    spread = 0.5 * X.std(axis=0)
    ways = [slopes * spread, -slopes * spread, *random.standard_normal((20, *slopes.shape))]
    for way in ways:
        length = np.linalg.norm(way, axis=1, keepdims=True)
        moved = soft.predict(X[:8] + 0.7 * spread * way / np.where(length > 0, length, 1.0))
        assert np.all(low - 1e-9 <= moved)
        assert np.all(moved <= high + 1e-9)


@pytest.mark.parametrize(("level", "size"), [(0.0, 1e6), (0.0, 1e-6), (1e6, 1e-6), (1e6, 1e-9)])
def test_the_slack_follows_the_magnitude_of_the_answers(level: float, size: float) -> None:
    X, y = load_diabetes(return_X_y=True)
    model = GradientBoostingRegressor(n_estimators=5, random_state=0)
    soft = tm.DualPerturbRegressor(model, noise=0.5).fit(X, level + size * y)
    values = soft.predict(X)
    low, high = soft.certified_interval(X, radius=0.0)
    rounding = 8 * np.spacing(np.abs(values).max())
    assert np.all(values - low >= rounding)
    assert np.all(high - values >= rounding)
    assert np.all(high - low <= 1e-5 * np.ptp(values) + 1e-10 * np.abs(values))


@pytest.mark.parametrize("size", [1e6, 1.0, 1e-6, 1e-13])
def test_margins_of_any_magnitude_are_certified_up_to_a_tie_of_their_shares(size: float) -> None:
    X, y = MOONS
    boosted = GradientBoostingClassifier(n_estimators=3, init="zero", random_state=0).fit(X, y)
    model = read_model(boosted).sum
    model = replace(model, weights=size * model.weights)
    spread = 0.5 * X.std(axis=0)
    softened = soften(model, X, spread)
    radii = certified_radii(model, softened.margins, softened.bound)
    labels = largest(model.link.answers(softened.margins))
    assert np.median(radii) > 0.1 if size > 1e-9 else not radii.any()  # there all shares are tied
    random = np.random.default_rng(0)
    for way in random.standard_normal((20, *X.shape)):
        moved = X + 0.999 * radii[:, None] * spread * way / np.linalg.norm(way, axis=1, keepdims=True)
        assert np.array_equal(largest(model.link.answers(soften(model, moved, spread).margins)), labels)


# --- gradient ---


@pytest.mark.parametrize(
    ("model", "method"),
    [
        (tm.CARTClassifier(max_depth=5), "exact"),
        (tm.CARTClassifier(max_depth=5), "path"),
        (tm.BaggingClassifier(n_estimators=3, random_state=0), "exact"),
        (DecisionTreeClassifier(max_depth=4, random_state=0), "exact"),
        (GradientBoostingClassifier(n_estimators=2, random_state=0), "exact"),
        (tm.AdaBoostM1Classifier(n_estimators=3), "path"),
    ],
)
def test_gradient_is_that_of_finite_differences(model: Any, method: str) -> None:
    X, y = THREE
    soft = tm.DualPerturbClassifier(model, noise=0.5, method=method, tol=0.0).fit(X, y)
    step = 1e-3
    slopes = soft.gradient(X[:6])
    for attribute in range(X.shape[1]):
        way = np.zeros(X.shape[1])
        way[attribute] = step
        difference = (soft.predict_proba(X[:6] + way) - soft.predict_proba(X[:6] - way)) / (2 * step)
        assert slopes[:, :, attribute] == pytest.approx(difference, abs=2e-4)


def test_gradient_of_two_classes_by_a_linear_score() -> None:
    X, y = MOONS
    soft = tm.DualPerturbClassifier(LogisticRegression(), noise=0.5).fit(X, y)
    step = np.array([1e-5, 0.0])
    difference = (soft.predict_proba(X[:5] + step) - soft.predict_proba(X[:5] - step)) / 2e-5
    assert soft.gradient(X[:5])[:, :, 0] == pytest.approx(difference, abs=1e-8)


def test_a_drawn_model_has_no_gradient() -> None:
    X, y = MOONS
    with pytest.raises(InvalidParameter, match="no exact derivative"):
        tm.DualPerturbClassifier(KNeighborsClassifier(), noise=0.3, method="sample").fit(X, y).gradient(X)
