"""Exact smoothing against draws of noise, its limits, and what it promises whatever the noise."""

import gc

import numpy as np
import pytest
from scipy.special import ndtr
from sklearn.datasets import load_iris, make_classification

from tremula import BaggingRegressor, CARTClassifier, RandomForestClassifier
from tremula.errors import InvalidInput, InvalidParameter
from tremula.smoothing import tree_program as programs
from tremula.smoothing.exact import gradient, leaf_weights, soften
from tremula.trees.tree import NODE_DTYPE, Tree
from tremula.trees.tree_sum import TreeSum, mean_of_trees

X, y = make_classification(300, 4, n_informative=4, n_redundant=0, n_classes=3, n_clusters_per_class=2, random_state=0)
SD = X.std(axis=0)


@pytest.fixture(scope="module")
def forest() -> TreeSum:
    members = RandomForestClassifier(n_estimators=5, random_state=0).fit(X, y).members_
    return mean_of_trees(list(members))


def chain(thresholds: list[float], strict: bool = False) -> Tree:
    """A tree of one attribute: a value goes right until a threshold stops it; the n-th leaf answers n."""
    nodes: list[tuple] = []
    for k, threshold in enumerate(thresholds):
        nodes += [(threshold, 1.0, 0, 2 * k + 1, 2, -1), (np.nan, 1.0, -1, 0, 0, k)]
    nodes.append((np.nan, 1.0, -1, 0, 0, len(thresholds)))
    values = np.arange(len(thresholds) + 1.0)[:, None]
    tree = Tree(np.array(nodes, dtype=NODE_DTYPE), values, [], np.zeros(1, dtype=np.int32), strict)
    tree.check()
    return tree


# --- against draws ---


@pytest.mark.parametrize("noise", [0.05, 0.3, 2.0])
def test_expected_answer_is_the_mean_of_draws(forest: TreeSum, noise: float) -> None:
    rng, row, n_draws = np.random.default_rng(1), X[7], 1_000_000
    margins, squares = np.zeros(3), np.zeros(3)
    for _ in range(10):
        drawn = row + noise * SD * rng.normal(size=(n_draws // 10, 4))
        answers = np.zeros((len(drawn), 3))
        for tree, weight in zip(forest.trees, forest.weights):
            tree.add_values(drawn, weight, answers)
        margins += answers.sum(axis=0) / n_draws
        squares += (answers**2).sum(axis=0) / n_draws
    error = np.sqrt((squares - margins**2) / n_draws)
    exact = soften(forest, row[None], noise * SD).margins[0]
    assert np.all(np.abs(exact - margins) <= 4.5 * error + 1e-12)


def test_flipped_levels_are_drawn_among_the_others() -> None:
    nodes = np.array(
        [
            (np.nan, 3, 0, 1, 2, 0),
            (np.nan, 2, 0, 3, 2, 3),
            (0.0, 1, -1, 0, 0, 0),
            (0.0, 1, -1, 0, 0, 1),
            (0.0, 1, -1, 0, 0, 2),
        ],
        dtype=NODE_DTYPE,
    )
    tree = Tree(nodes, np.eye(3), [0, 0, 1, 0, 1, 2], np.array([3], dtype=np.int32), False)
    model, shares = mean_of_trees([tree]), [[0.5, 0.3, 0.2]]
    # Leaf 0 takes level 2, leaf 1 level 0 and leaf 2 level 1: the sets of two tests on one attribute, intersected.
    softened = soften(model, np.array([[0.0], [1.0], [2.0]]), np.zeros(1), flip=0.4, level_shares=shares)
    stay, go = 0.6, 0.4
    expected = [[go * 0.4, stay, go * 0.6], [go * 2 / 7, go * 5 / 7, stay], [stay, go * 5 / 8, go * 3 / 8]]
    np.testing.assert_allclose(softened.margins, expected, rtol=0, atol=1e-15)


# --- limits and known values ---


def test_an_interval_is_not_two_independent_events() -> None:
    model = mean_of_trees([chain([0.0, 1.0])])
    exact = leaf_weights(model, 0, np.array([[0.5]]), [1.0])[0]
    path = leaf_weights(model, 0, np.array([[0.5]]), [1.0], form="path")[0]
    assert exact[1] == pytest.approx(0.3829, abs=5e-5)
    assert path[1] == pytest.approx(0.4781, abs=5e-5)


@pytest.mark.parametrize(("form", "expected"), [("exact", [0.5, 0, 0, 0.5]), ("path", [0.5, 0.25, 0.125, 0.125])])
def test_under_endless_noise(form: str, expected: list[float]) -> None:
    weights = leaf_weights(mean_of_trees([chain([-1.0, 0.0, 1.0])]), 0, np.array([[0.3]]), [1e12], form=form)
    np.testing.assert_allclose(weights[0], expected, rtol=0, atol=1e-11)


def test_far_tails_are_not_lost() -> None:
    model = mean_of_trees([chain([0.0])])
    z = np.array([1.0, 3.0, 5.0, 6.5, 8.0])
    far = leaf_weights(model, 0, z[:, None], [1.0])[:, 0]
    np.testing.assert_allclose(far, ndtr(-z), rtol=1e-6, atol=0)


def test_what_is_hardly_reached_is_cut_and_the_bound_says_so() -> None:
    model = mean_of_trees([chain(list(np.linspace(-3, 3, 60)))])
    exact, cut = (soften(model, np.zeros((1, 1)), [1.0], tol=tol) for tol in (0.0, 0.3))
    assert exact.bound[0] == 0
    assert 1e-3 < cut.bound[0] <= 0.3 * 60
    assert 0 < abs(cut.margins[0, 0] - exact.margins[0, 0]) <= cut.bound[0]


def test_little_noise_away_from_thresholds_changes_nothing(forest: TreeSum) -> None:
    rows = X[:50] + 1e-3
    hard = soften(forest, rows, np.zeros(4)).margins
    np.testing.assert_allclose(soften(forest, rows, 1e-9 * SD).margins, hard, rtol=0, atol=1e-12)


def test_margins_change_little_where_noise_or_row_do(forest: TreeSum) -> None:
    before = soften(forest, X[:50], 0.2 * SD).margins
    for rows, noise in ((X[:50] + 1e-7, 0.2 * SD), (X[:50], 0.2000001 * SD)):
        np.testing.assert_allclose(soften(forest, rows, noise).margins, before, rtol=0, atol=1e-5)


# --- without noise ---


def test_without_noise_it_is_the_hard_model_bit_for_bit() -> None:
    tree = CARTClassifier().fit(X, y).tree_
    rows = np.where(np.random.default_rng(0).random(X.shape) < 0.1, np.nan, X)
    for form in ("exact", "path"):
        margins = soften(mean_of_trees([tree]), rows, np.zeros(4), form=form).margins
        assert margins.tobytes() == tree.predict_values(rows).tobytes()


@pytest.mark.parametrize("strict", [False, True])
def test_attributes_without_noise_are_tested_hard(strict: bool) -> None:
    model = mean_of_trees([chain([0.0, 1.0], strict)])
    rows = np.array([[-1.0], [0.0], [0.5], [1.0], [2.0]])
    noise = np.array([[0.0], [0.0], [1e-300], [0.0], [0.0]])  # not without any noise: the kernel itself is asked
    np.testing.assert_array_equal(soften(model, rows, noise).margins, model.trees[0].predict_values(rows))


# --- whatever the noise ---


@pytest.mark.parametrize("form", ["exact", "path"])
@pytest.mark.parametrize("noise", [1e-3, 0.2, 3.0, 1e5])
def test_class_shares_sum_to_one(forest: TreeSum, form: str, noise: float) -> None:
    margins = soften(forest, X, noise * SD, form=form).margins
    assert margins.min() >= 0
    assert margins.max() <= 1
    np.testing.assert_allclose(margins.sum(axis=1), 1.0, rtol=0, atol=1e-13)


@pytest.mark.parametrize("n_jobs", [2, 3])
def test_same_bits_for_any_number_of_jobs(forest: TreeSum, n_jobs: int) -> None:
    alone, together = (soften(forest, X, 0.2 * SD, n_jobs=n) for n in (1, n_jobs))
    assert alone.margins.tobytes() == together.margins.tobytes()
    assert alone.bound.tobytes() == together.bound.tobytes()
    assert gradient(forest, X, SD, n_jobs=1).tobytes() == gradient(forest, X, SD, n_jobs=n_jobs).tobytes()


def test_a_row_is_answered_alike_in_any_company(forest: TreeSum) -> None:
    together = soften(forest, X, 0.2 * SD, tol=0.0).margins
    alone = np.vstack([soften(forest, row[None], 0.2 * SD, tol=0.0).margins for row in X[:20]])
    assert alone.tobytes() == together[:20].tobytes()


def test_noise_of_each_value(forest: TreeSum) -> None:
    noise = np.random.default_rng(0).choice([0.0, 0.1, 1.0], size=X.shape) * SD
    together = soften(forest, X, noise, tol=0.0).margins
    alone = np.vstack([soften(forest, row[None], sd, tol=0.0).margins for row, sd in zip(X[:40], noise)])
    np.testing.assert_allclose(together[:40], alone, rtol=0, atol=1e-15)


def test_a_missing_value_stays_missing() -> None:
    tree = chain([0.0, 1.0])
    row = np.array([[np.nan]])
    np.testing.assert_allclose(soften(mean_of_trees([tree]), row, [5.0]).margins, tree.predict_values(row), rtol=1e-15)


def test_trees_that_add_to_one_margin_each() -> None:
    tree = chain([0.0])
    shares = mean_of_trees([tree]).shares
    model = TreeSum(
        (tree, tree), np.array([2.0, -3.0]), np.array([1, 0]), np.array([10.0, 20.0]), "softmax", shares * 2
    )
    margins = soften(model, np.array([[0.0]]), [1.0], tol=0.0).margins
    np.testing.assert_allclose(margins, [[10.0 - 1.5, 20.0 + 1.0]], rtol=1e-15)
    np.testing.assert_array_equal(soften(model, np.array([[1.0]]), [0.0]).margins, [[7.0, 22.0]])


def test_regression_gradient_is_that_of_finite_differences() -> None:
    members = BaggingRegressor(n_estimators=4, random_state=0).fit(X[:, 1:], X[:, 0]).members_
    model = mean_of_trees(list(members))
    rows, noise, step = X[:10, 1:], 0.5 * SD[1:], np.array([0.0, 1e-5, 0.0])
    above, below = (soften(model, rows + sign * step, noise, tol=0.0).margins for sign in (1, -1))
    slopes = gradient(model, rows, noise)
    np.testing.assert_allclose(slopes[:, :, 1], (above - below) / 2e-5, rtol=0, atol=1e-7)


def test_a_steeper_gradient_than_noise_allows_does_not_exist(forest: TreeSum) -> None:
    # The slope of a smoothed share is at most the height of the normal density over the noise.
    assert np.abs(gradient(forest, X[:40], 0.3 * SD)).max() <= (0.4 / (0.3 * SD)).max()


def test_no_rows(forest: TreeSum) -> None:
    assert soften(forest, np.empty((0, 4)), SD).margins.shape == (0, 3)
    assert gradient(forest, np.empty((0, 4)), SD).shape == (0, 3, 4)


def test_what_is_kept_of_a_model_goes_with_it() -> None:
    model = mean_of_trees([CARTClassifier(max_depth=2).fit(*load_iris(return_X_y=True)).tree_])
    soften(model, np.zeros((1, 4)), np.ones(4))
    number = id(model)
    assert number in programs._PROGRAMS
    del model
    gc.collect()
    assert number not in programs._PROGRAMS


# --- bad input ---


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"noise_sd": np.ones(3)}, r"noise_sd has shape \(3,\): expected \(4,\)"),
        ({"noise_sd": np.array([1.0, -0.5, 1.0, 1.0])}, "an entry -0.5"),
        ({"noise_sd": np.array([1.0, np.inf, 1.0, 1.0])}, "an entry inf"),
        ({"noise_sd": np.array([1.0, np.nan, 1.0, 1.0])}, "an entry nan"),
        ({"form": "paths"}, "did you mean 'path'"),
        ({"flip": 1.5}, "flip=1.5"),
        ({"tol": -1e-3}, "tol=-0.001"),
    ],
)
def test_parameters_that_make_no_sense(forest: TreeSum, changes: dict, message: str) -> None:
    with pytest.raises(InvalidParameter, match=message):
        soften(forest, X, **{"noise_sd": SD, **changes})


def test_rows_of_another_width(forest: TreeSum) -> None:
    with pytest.raises(InvalidInput, match=r"X has shape \(300, 3\): expected \(n_rows, 4\)"):
        soften(forest, X[:, :3], SD)


@pytest.mark.parametrize("shares", [None, [[0.5, 0.5]], [[-1.0, 1.0, 1.0]], [[0.0, 0.0, 0.0]]])
def test_levels_cannot_be_flipped_without_knowing_how_frequent_they_are(shares: list | None) -> None:
    nodes = np.array([(0.0, 1, -1, 0, 0, 0)], dtype=NODE_DTYPE)
    model = mean_of_trees([Tree(nodes, [[1.0]], [], np.array([3], dtype=np.int32), False)])
    with pytest.raises(InvalidParameter, match="level_shares"):
        soften(model, np.zeros((1, 1)), [0.0], flip=0.1, level_shares=shares)
