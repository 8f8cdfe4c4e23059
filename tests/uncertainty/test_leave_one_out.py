"""The bound of bagging's changes against enumeration of all samples, and sets that keep a class."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize
from sklearn.datasets import load_iris

import tremula as tm
from tremula.errors import InvalidParameter, UnsupportedModel
from tremula.uncertainty.leave_one_out import RowDraw, inflated_argmax, largest_change

from .made_tables import classes_of, classifiers, made_table

DRAWS = [RowDraw(5, 5, True), RowDraw(6, 3, True), RowDraw(6, 3, False), RowDraw(7, 2, False)]


def inclusions(draw: RowDraw) -> np.ndarray:
    """Whether each row is in each of all equally likely samples."""
    rows = range(draw.n_rows)
    samples = product(rows, repeat=draw.n_drawn) if draw.bootstrap else combinations(rows, draw.n_drawn)
    return np.array([[row in sample for row in rows] for sample in samples])


@pytest.mark.parametrize("draw", DRAWS, ids=repr)
def test_the_factor_is_that_of_all_samples(draw: RowDraw) -> None:
    is_in = inclusions(draw).astype(float)
    assert is_in.mean() == pytest.approx(draw.inclusion)
    largest = np.linalg.eigvalsh(np.cov(is_in.T, bias=True)).max()
    assert largest / (1 - draw.inclusion) ** 2 == pytest.approx(draw.factor)
    for n_changed in range(draw.n_rows + 1):
        assert draw.untouched(n_changed) == pytest.approx(1 - is_in[:, :n_changed].any(axis=1).mean())


@pytest.mark.parametrize("draw", DRAWS, ids=repr)
@pytest.mark.parametrize("seed", range(5))
def test_no_learner_exceeds_the_bound_and_some_reach_it(draw: RowDraw, seed: int) -> None:
    is_in, random = inclusions(draw), np.random.default_rng(seed)
    # The answers of an arbitrary learner to one row, one for each sample; the last follow the inclusion of rows.
    answers = random.integers(0, 2, len(is_in)) if seed < 3 else (is_in @ random.normal(size=draw.n_rows) > 0)
    whole = answers.mean()
    without = np.array([answers[~is_in[:, row]].mean() for row in range(draw.n_rows)])
    change = np.sqrt(np.mean((whole - without) ** 2))
    assert change <= largest_change(draw, answers.var()) + 1e-12 <= largest_change(draw, 0.25) + 2e-12
    centred = is_in @ np.eye(draw.n_rows)[0] - is_in @ np.eye(draw.n_rows)[1]  # an eigenvector: the bound is reached
    moved = [centred.mean() - centred[~is_in[:, row]].mean() for row in range(draw.n_rows)]
    assert np.sqrt(np.mean(np.square(moved))) == pytest.approx(largest_change(draw, centred.var()))


def test_few_members_add_to_the_bound() -> None:
    random, draw = np.random.default_rng(0), RowDraw(20, 20, True)
    squares = []
    for _ in range(300):
        counts = [random.multinomial(20, np.full(20, 1 / 20), size=10) for _ in range(2)]
        members = [sample[:, :10].sum(axis=1) > 10 for sample in counts]  # two ensembles of ten members each
        squares.append((members[0].mean() - members[1].mean()) ** 2)
    assert np.sqrt(np.mean(squares)) < largest_change(draw, 0.25, n_members=10)
    assert np.sqrt(np.mean(squares)) > largest_change(draw, 0.25) - 0.15


shares_of_classes = st.integers(2, 5).flatmap(lambda n: st.lists(st.floats(0.01, 1.0), min_size=n, max_size=n))


@given(shares_of_classes, st.floats(0.02, 0.6), st.integers(0, 2**32 - 1))
def test_near_shares_have_a_class_in_common(weights: list[float], epsilon: float, seed: int) -> None:
    shares = np.array(weights) / sum(weights)
    direction = np.random.default_rng(seed).normal(size=len(shares))
    moved = shares + 0.999 * epsilon * direction / np.linalg.norm(direction)
    sets = inflated_argmax(np.array([shares, moved]), epsilon)
    assert sets.all(axis=0).any()
    assert sets[0, shares.argmax()]


@pytest.mark.parametrize("n_classes", [2, 3, 4])
def test_classes_are_in_the_set_by_their_distance_to_a_lead(n_classes: int) -> None:
    random = np.random.default_rng(n_classes)
    for shares in random.dirichlet(np.ones(n_classes), 6):
        epsilon = random.uniform(0.1, 0.6)
        for code in range(n_classes):
            others = [each for each in range(n_classes) if each != code]
            lead = {"type": "ineq", "fun": lambda v, c=code, o=others, e=epsilon: v[c] - v[o] - e / np.sqrt(2)}
            start = np.where(np.arange(n_classes) == code, shares + 1, shares)
            nearest = minimize(lambda v, s=shares: ((v - s) ** 2).sum(), start, constraints=[lead], tol=1e-12)
            distance = np.sqrt(nearest.fun)
            if abs(distance - epsilon) > 1e-4:
                assert inflated_argmax(shares[None], epsilon)[0, code] == (distance < epsilon)


@pytest.mark.slow
def test_sets_keep_a_class_when_a_row_is_left_out() -> None:
    X, y = load_iris(return_X_y=True)
    keep = np.r_[50:150:2]
    X, y = X[keep], y[keep]
    model = tm.BaggingClassifier(n_estimators=300, max_samples=15, combine="vote", random_state=0)
    new, n_without = load_iris().data[51:150:4], []
    sets = tm.Uncertainty(model.fit(X, y), X, y).predict_stable_set(new, share=0.05)
    assert 1.0 < sets.sum(axis=1).mean() < 2.0
    for row in range(0, len(y), 5):
        rest = np.delete(np.arange(len(y)), row)
        model.fit(X[rest], y[rest])
        other = tm.Uncertainty(model, X[rest], y[rest]).predict_stable_set(new, share=0.05)
        n_without.append((~(sets & other).any(axis=1)).mean())
    assert np.mean(n_without) <= 0.05


def test_fewer_rows_or_members_give_larger_sets() -> None:
    X, y = load_iris(return_X_y=True)
    sizes = []
    for n_members in (50, 500):
        model = tm.BaggingClassifier(n_estimators=n_members, max_samples=30, random_state=0).fit(X, y)
        sizes.append(tm.Uncertainty(model, X, y).predict_stable_set(X, share=0.5).sum())
    assert sizes[1] < sizes[0]


def test_models_without_a_proof_are_refused() -> None:
    X, target = made_table(60, 0)
    y = classes_of(target)
    for name in ("aspen", "output smearing"):
        with pytest.raises(UnsupportedModel, match="adjusts the mean"):
            tm.Uncertainty(classifiers(4)[name].fit(X, y), X, y).predict_stable_set(X)
    with pytest.raises(UnsupportedModel, match="drawn independently"):
        tm.Uncertainty(classifiers(4)["dagging"].fit(X, y), X, y).predict_stable_set(X)
    with pytest.raises(InvalidParameter, match="share=0"):
        tm.Uncertainty(classifiers(4)["forest"].fit(X, y), X, y).predict_stable_set(X, share=0)
