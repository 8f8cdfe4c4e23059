"""Certificates from the boxes of trees: they add up to the margins, no attack breaks them, and they are not small."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.stats import norm
from sklearn.datasets import load_diabetes, make_classification, make_moons
from sklearn.ensemble import GradientBoostingClassifier, GradientBoostingRegressor, RandomForestClassifier

import tremula as tm
from tremula.combine import largest
from tremula.smoothing.ball_bound import interval_probabilities
from tremula.smoothing.certificate import certified_radii
from tremula.smoothing.exact import soften
from tremula.smoothing.models import read_model
from tremula.smoothing.noise.amounts import Noise
from tremula.smoothing.region import most_in_ball
from tremula.smoothing.sharp_certificate import SharpCertificate
from tremula.trees.tree_sum import TreeSum, mean_of_trees, sum_of_trees

from ..kernels.random_trees import N_LEVELS, random_rows, random_tree
from .attack import Attacker, assert_unbroken

SHARES = tuple(None if n == 0 else np.arange(1.0, n + 1) / np.arange(1.0, n + 1).sum() for n in N_LEVELS)
MOONS = make_moons(200, noise=0.25, random_state=0)
THREE = make_classification(300, 5, n_informative=4, n_redundant=1, n_classes=3, random_state=0)


def random_model(rng: np.random.Generator, n_outputs: int, n_trees: int) -> TreeSum:
    """A sum of random trees with nominal attributes and ties on thresholds."""
    trees = [random_tree(rng, n_outputs) for _ in range(n_trees)]
    trees = [replace_values(tree, rng) for tree in trees]
    return mean_of_trees(trees) if n_outputs > 1 else sum_of_trees(trees, offset=[0.1], link="logistic")


def replace_values(tree: Any, rng: np.random.Generator) -> Any:
    values = tree.values + 0.01 * rng.random(tree.values.shape)  # no ties between classes
    return type(tree)(tree.nodes, values, tree.subsets, tree.n_levels, tree.strict)


def sharp(
    model: TreeSum, rows: np.ndarray, noise: Noise, form: str, n_regions: int = 1
) -> tuple[SharpCertificate, np.ndarray, np.ndarray]:
    options: dict[str, Any] = {"flip": noise.flip, "level_shares": noise.level_shares or None}
    softened = soften(model, rows, noise.sd, form=form, **options)
    certificate = SharpCertificate(model, rows, noise, form, softened.margins, softened.bound, n_regions, None)
    return certificate, softened.margins, softened.bound


def random_noise(rng: np.random.Generator) -> Noise:
    sd = np.where(N_LEVELS > 0, 0.0, rng.choice([0.0, 0.3, 1.0, 3.0], size=len(N_LEVELS)))
    return Noise(sd, float(rng.choice([0.0, 0.3])), SHARES)


@pytest.mark.parametrize("form", ["exact", "path"])
def test_boxes_add_up_to_the_smoothed_margins(form: str) -> None:
    rng = np.random.default_rng(0)
    for _ in range(12):
        model, rows, noise = random_model(rng, 3, 3), random_rows(rng, 20), random_noise(rng)
        certificate, margins, _ = sharp(model, rows, noise, form)
        for direction in ([1.0, -1.0, 0.0], [0.0, 0.0, 1.0]):
            boxes = certificate.boxes.margin(direction)
            values = [certificate._at(boxes, row).value for row in range(len(rows))]
            np.testing.assert_allclose(values, margins @ direction, rtol=0, atol=1e-9)


@pytest.mark.parametrize("form", ["exact", "path"])
@pytest.mark.parametrize(("n_outputs", "n_regions"), [(1, 1), (1, 5), (3, 1), (3, 4)])
def test_no_attack_on_random_trees_succeeds(form: str, n_outputs: int, n_regions: int) -> None:
    rng = np.random.default_rng(1)
    for _ in range(4 if n_regions == 1 else 2):
        model, rows, noise = random_model(rng, n_outputs, 4), random_rows(rng, 8), random_noise(rng)
        rows = np.where(np.isinf(rows), 0.0, rows)
        certificate, _, _ = sharp(model, rows, noise, form, n_regions)
        radii = certificate.radii(np.zeros(len(rows)))
        label = (lambda given: given[:, 0] > 0) if n_outputs == 1 else largest
        assert_unbroken(Attacker(model, rows, noise, form), radii, label, (3, 3))


@pytest.mark.parametrize(
    ("estimator", "data", "form"),
    [
        (RandomForestClassifier(10, random_state=0), THREE, "exact"),
        (RandomForestClassifier(5, max_depth=6, random_state=0), MOONS, "path"),
        (GradientBoostingClassifier(n_estimators=10, random_state=0), MOONS, "exact"),
        (GradientBoostingClassifier(n_estimators=5, random_state=0), THREE, "exact"),
        (tm.CARTClassifier(), THREE, "exact"),
    ],
)
def test_no_attack_on_a_trained_model_succeeds_and_twice_the_radius_is_broken_for_most_rows(
    estimator: Any, data: tuple[np.ndarray, np.ndarray], form: str
) -> None:
    X, y = data
    model = read_model(estimator.fit(X[::2], y[::2])).sum
    rows, noise = X[1::2][:10], Noise(0.3 * X.std(axis=0))
    certificate, margins, bound = sharp(model, rows, noise, form)
    known = certified_radii(model, margins, bound) / 4
    radii = certificate.radii(known)
    label = (lambda given: given[:, 0] > 0) if margins.shape[1] == 1 else largest
    attacker = Attacker(model, rows, noise, form)
    assert_unbroken(attacker, radii, label, (4, 6))
    assert np.mean(is_broken(attacker, 2.0 * radii, label)) >= 0.5


def is_broken(attacker: Attacker, radii: np.ndarray, label: Any) -> np.ndarray:
    """Whether an attack within the radii changes the label of each row."""
    margins = attacker.margins(np.zeros(attacker.rows.shape))
    broken = np.zeros(len(radii), dtype=bool)
    order = np.argsort(-margins, axis=1, kind="stable")
    n_margins = margins.shape[1]
    for rank in range(1, max(n_margins, 2)):
        if n_margins == 1:
            directions = -np.sign(margins)
        else:
            directions = np.eye(n_margins)[order[:, rank]] - np.eye(n_margins)[order[:, 0]]
        for move in attacker.moves(np.minimum(radii, 30.0), directions, 0, 30):
            broken |= label(attacker.margins(move)) != label(margins)
    return broken


def test_the_bound_over_a_ball_is_never_above_the_least_margin_there() -> None:
    X, y = MOONS
    model = read_model(RandomForestClassifier(10, random_state=0).fit(X, y)).sum
    noise, rows = Noise(0.3 * X.std(axis=0)), X[:4]
    certificate, _, _ = sharp(model, rows, noise, "exact")
    boxes = certificate.boxes.margin([1.0, 0.0])
    angles, lengths = np.meshgrid(np.linspace(0, 2 * np.pi, 60), np.linspace(0, 1, 12))
    disc = np.column_stack([(lengths * np.cos(angles)).ravel(), (lengths * np.sin(angles)).ravel()])
    for number, row in enumerate(rows):
        here = certificate._at(boxes, number)
        for radius in (0.0, 0.01, 0.3, 1.0, 2.5):
            least = soften(model, row + radius * disc * noise.sd, noise.sd, tol=0.0).margins[:, 0].min()
            assert here.least_value(radius) <= here.least_value(radius, 6) <= least + 1e-9
            if radius <= 0.3:
                assert here.least_value(radius) >= least - 0.1 * radius - 1e-8


def test_interval_probabilities_are_those_of_the_normal_distribution() -> None:
    low, high = np.array([-np.inf, -1.0, 6.0, -7.0, -np.inf, 2.0]), np.array([np.inf, 0.5, np.inf, -6.9, 0.0, 1.0])
    chances, slopes = interval_probabilities(low, high)
    expected = np.where(low > 0, norm.sf(low) - norm.sf(high), norm.cdf(high) - norm.cdf(low)).clip(0)
    np.testing.assert_allclose(chances, expected, rtol=1e-9, atol=1e-300)
    step = 1e-5
    with np.errstate(divide="ignore", invalid="ignore"):
        ahead, behind = (np.log(interval_probabilities(low - s, high - s)[0]) for s in (step, -step))
    finite = chances > 0
    np.testing.assert_allclose(slopes[finite], (ahead[finite] - behind[finite]) / (2 * step), rtol=1e-6, atol=1e-8)


def negative_value(point: np.ndarray, slope: np.ndarray, quadratic: np.ndarray, radius: float) -> float:
    inside = point * min(1.0, radius / np.linalg.norm(point))
    return float(-slope @ inside - 0.5 * inside @ quadratic @ inside)


def test_the_largest_value_of_a_quadratic_function_in_a_ball() -> None:
    rng = np.random.default_rng(0)
    for _ in range(5):
        factor, slope, radius = rng.normal(size=(2, 4)), rng.normal(size=4), rng.uniform(0.1, 3.0)
        quadratic = factor.T @ factor
        bound = most_in_ball(slope, quadratic, radius)

        arguments = (slope, quadratic, radius)
        starts = rng.normal(size=(4, 4))
        best = -min(minimize(negative_value, start, arguments, method="Nelder-Mead").fun for start in starts)
        assert best <= bound * (1 + 1e-9)
        assert bound <= 1.02 * best + 1e-6


@pytest.mark.parametrize("method", ["exact", "path"])
def test_no_attack_leaves_the_interval_of_a_regressor_which_is_narrower_than_by_the_range(method: str) -> None:
    X, y = load_diabetes(return_X_y=True)
    model = GradientBoostingRegressor(n_estimators=20, random_state=0)
    soft = tm.DualPerturbRegressor(model, noise=0.5, method=method).fit(X, y)
    rows, radius = X[:6], 0.8
    low, high = soft.certified_interval(rows, radius)
    by_range = soft.certified_interval(rows, radius, n_regions=0)
    assert np.all(high - low < 0.6 * (by_range[1] - by_range[0]))
    attacker = Attacker(read_model(soft.estimator_).sum, rows, Noise(0.5 * soft.scale_), method)
    for sign in (-1.0, 1.0):
        for move in attacker.moves(np.full(len(rows), radius), np.full((len(rows), 1), sign), 5, 5):
            moved = attacker.margins(move)[:, 0]
            assert np.all(low <= moved)
            assert np.all(moved <= high)


def test_several_regions_give_larger_radii_that_no_attack_breaks() -> None:
    X, y = THREE
    model = read_model(GradientBoostingClassifier(n_estimators=10, random_state=0).fit(X[::2], y[::2])).sum
    rows, noise = X[1::2][:5], Noise(0.3 * X.std(axis=0))
    one, eight = (sharp(model, rows, noise, "exact", n)[0].radii(np.zeros(len(rows))) for n in (1, 8))
    assert np.all(eight >= 0.97 * one)  # the search of either ends within 2 %
    assert np.median(eight / one) > 1.1
    assert_unbroken(Attacker(model, rows, noise, "exact"), eight, largest, (4, 6))


def test_the_radius_by_boxes_is_never_below_that_by_the_range_and_does_not_depend_on_n_jobs() -> None:
    X, y = THREE
    forest = RandomForestClassifier(5, random_state=0).fit(X, y)
    soft, parallel = (tm.DualPerturbClassifier(forest, noise=0.3, n_jobs=jobs).fit(X) for jobs in (None, 2))
    for unit in ("noise", "attribute"):
        radii = soft.certified_radius(X[:10], unit=unit)
        by_range = soft.certified_radius(X[:10], unit=unit, n_regions=0)
        assert np.all(radii >= by_range)
        assert np.mean(radii > 1.2 * by_range) > 0.4
        assert np.array_equal(radii, parallel.certified_radius(X[:10], unit=unit))
