"""The grid of amounts: when noise is refused, and how out-of-bag losses are corrected for the number of members."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.ensemble import BaggingClassifier, BaggingRegressor, RandomForestClassifier, RandomForestRegressor
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import tremula as tm
from tremula.smoothing.noise.grid import CLEARLY, Trial, grid_amounts, grid_search, mean_difference
from tremula.smoothing.noise.out_of_bag import OutOfBagRows

random = np.random.default_rng(0)
ROWS = random.standard_normal(400)
AMOUNTS = grid_amounts(2.0)


def chosen_amount(losses: Any, errors: Any = None, weights: Any = None) -> Any:
    """Choose an amount where losses, and errors, of the rows are functions of the amount."""

    def trial(amount: float) -> Trial:
        return Trial(amount, losses(amount), None if errors is None else errors(amount))

    return grid_search(trial, np.ones(len(ROWS)) if weights is None else weights, 2.0)


def falling(gain: float, amount: float) -> Any:
    """Losses that noise changes by `gain` on average, with a standard error of the difference of 0.05."""
    spread = (ROWS - ROWS.mean()) / ROWS.std(ddof=1)
    return np.ones(len(ROWS)) if amount == 0 else 1.0 - gain + spread


def test_the_standard_error_is_that_of_a_paired_test() -> None:
    other = random.standard_normal(400)
    difference = mean_difference(ROWS, other, np.ones(400))
    assert difference.mean == pytest.approx(np.mean(ROWS - other))
    assert difference.standard_error == pytest.approx(np.std(ROWS - other, ddof=1) / 20)


def test_rows_of_weight_0_do_not_count() -> None:
    weights = np.r_[np.full(100, 2.0), np.zeros(300)]
    some = mean_difference(ROWS, np.zeros(400), weights)
    alone = mean_difference(ROWS[:100], np.zeros(100), np.ones(100))
    assert (some.mean, some.standard_error) == pytest.approx((alone.mean, alone.standard_error))


@pytest.mark.parametrize(("gain", "accepted"), [(0.049, False), (0.051, True), (-0.051, False), (0.0, False)])
def test_noise_must_beat_none_by_a_standard_error(gain: float, accepted: bool) -> None:
    assert (chosen_amount(lambda amount: falling(gain, amount)).amount > 0) is accepted


def test_a_single_row_proves_nothing() -> None:
    weights = np.r_[1.0, np.zeros(399)]
    assert chosen_amount(lambda amount: np.full(400, 1.0 - amount), weights=weights).amount == 0.0


def test_equal_losses_go_to_the_smaller_amount() -> None:
    assert chosen_amount(lambda amount: np.full(400, float(amount < 0.3))).amount == AMOUNTS[AMOUNTS >= 0.3].min()


def test_a_valley_ends_the_search_and_a_plateau_does_not() -> None:
    valley = chosen_amount(lambda amount: np.full(400, (amount - 0.1) ** 2))
    plateau = chosen_amount(lambda amount: np.full(400, 1.0 if amount < 1.9 else 0.5))
    assert len(valley.curve) < len(AMOUNTS)
    assert valley.amount == pytest.approx(0.1, rel=0.2)
    assert plateau.amount == 2.0
    assert len(plateau.curve) == len(AMOUNTS)


def test_amounts_that_cost_errors_are_not_taken_however_much_the_loss_falls() -> None:
    right, wrong = np.zeros(400), np.r_[1.0, np.zeros(399)]
    chosen = chosen_amount(lambda amount: np.full(400, 2.0 - amount), lambda amount: wrong if amount > 0.5 else right)
    assert chosen.amount == 0.5
    assert chosen.curve[:, 1].argmin() == len(AMOUNTS) - 1


def test_amounts_with_clearly_more_errors_than_the_best_are_not_taken() -> None:
    errors = {0.0: 100, 0.5: 50}  # others: as many as without noise
    chosen = chosen_amount(
        lambda amount: np.full(400, 2.0 - amount),
        lambda amount: (np.arange(400) < errors.get(amount, 90)).astype(float),
    )
    assert mean_difference(1.0 * (np.arange(400) < 90), 1.0 * (np.arange(400) < 50), np.ones(400)).exceeds(CLEARLY)
    assert chosen.amount == 0.5


# --- out-of-bag rows ---


def friedman(n_rows: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    draw = np.random.default_rng(seed)
    X = draw.random((n_rows, 6))
    return X, 10 * np.sin(np.pi * X[:, 0] * X[:, 1]) + 20 * (X[:, 2] - 0.5) ** 2 + 10 * X[:, 3] + draw.normal(
        size=n_rows
    )


def out_of_bag(soft: Any, X: np.ndarray, y: np.ndarray) -> OutOfBagRows:
    rows = soft._out_of_bag_rows(X, y, None)
    assert isinstance(rows, OutOfBagRows)
    return rows


def test_out_of_bag_losses_are_extrapolated_from_halves_of_the_members() -> None:
    X, y = friedman(60, 0)
    forest = BaggingRegressor(DecisionTreeRegressor(random_state=0), 9, random_state=0).fit(X, y)
    judged = out_of_bag(tm.DualPerturbRegressor(forest).fit(X, y), X, y)
    losses, expected, weights = judged.losses(np.zeros(6), ["squared_error"])[0], [], []
    for row in range(60):
        members = [m for m, rows in zip(forest.estimators_, forest.estimators_samples_) if row not in rows]
        answers = np.array([member.predict(X[row : row + 1])[0] for member in members])
        if len(answers) == 0:
            continue
        loss = (answers.mean() - y[row]) ** 2
        if len(answers) > 1:
            first, second = answers[::2], answers[1::2]
            of_halves = np.mean([(half.mean() - y[row]) ** 2 for half in (first, second)])
            variances = 1 / 9, 1 / len(answers), (1 / len(first) + 1 / len(second)) / 2
            loss += (loss - of_halves) * (variances[1] - variances[0]) / (variances[2] - variances[1])
        expected.append(loss)
        weights.append(float(len(answers) > 1))
    assert losses == pytest.approx(expected)
    assert judged.weights is not None
    assert judged.weights.tolist() == weights


def test_log_losses_of_small_shares_fall_by_the_same_factor_whenever_members_double() -> None:
    X, number = friedman(80, 7)
    y = (number > np.median(number)).astype(int)
    bagged = BaggingClassifier(DecisionTreeClassifier(random_state=0), 24, random_state=0).fit(X, y)
    judged = out_of_bag(tm.DualPerturbClassifier(bagged).fit(X, y), X, y)
    parts = []  # for each row: bounded loss and tail of its members and of the halves, the step and the doublings
    for row in range(80):
        members = [m for m, rows in zip(bagged.estimators_, bagged.estimators_samples_) if row not in rows]
        shares = np.array([member.predict_proba(X[row : row + 1])[0, y[row]] for member in members])
        means = [part.mean() for part in (shares, shares[::2], shares[1::2])]
        losses = -np.log(np.clip(means, np.finfo(float).eps, 1.0))
        bounded = np.minimum(losses, -np.log(0.01))
        tails = losses - bounded
        n, halves = len(shares), (1 / len(shares[::2]) + 1 / len(shares[1::2])) / 2
        step = (1 / n - 1 / 24) / (halves - 1 / n)
        parts.append((bounded[0], bounded[1:].mean(), tails[0], tails[1:].mean(), step, np.log2(24 / n)))
    of_members, of_halves, tail, tail_of_halves, steps, doublings = np.array(parts).T
    assert 0 < tail.sum() < tail_of_halves.sum()
    expected = of_members + steps * (of_members - of_halves) + tail * (tail.sum() / tail_of_halves.sum()) ** doublings
    assert judged.losses(np.zeros(6), ["log_loss"])[0] == pytest.approx(expected)


def test_squared_errors_are_corrected_for_the_members_that_a_row_lacks() -> None:
    X, y = friedman(1500, 1)
    X_test, y_test = friedman(4000, 2)
    forest = RandomForestRegressor(6, random_state=0).fit(X, y)
    losses = {}
    for search in ("grid", "golden_section"):
        soft = tm.DualPerturbRegressor(forest, noise=0.02, search=search).fit(X, y)
        rows = soft._out_of_bag_rows(X, y, None)
        losses[search] = np.average(rows.losses(np.full(6, 0.02), ["squared_error"])[0], weights=rows.weights)
    of_all = np.mean((soft.predict(X_test) - y_test) ** 2)
    assert losses["golden_section"] > 1.2 * of_all
    assert losses["grid"] == pytest.approx(of_all, rel=0.1)


def test_out_of_bag_rows_do_not_ask_for_more_noise_than_the_whole_forest_needs() -> None:
    X, y = friedman(400, 3)
    X_test, y_test = friedman(4000, 4)
    forest = RandomForestRegressor(10, random_state=0).fit(X, y)
    corrected = tm.DualPerturbRegressor(forest).fit(X, y)
    best = tm.DualPerturbRegressor(forest).fit(X, X_val=X_test, y_val=y_test)
    assert corrected.noise_ <= best.noise_ * 2**0.5 + 1e-12


def test_one_tree_of_a_forest_is_judged_without_correction() -> None:
    X, y = friedman(100, 5)
    soft = tm.DualPerturbRegressor(RandomForestRegressor(10, random_state=0), tune_on="tree").fit(X, y)
    rows = out_of_bag(soft, X, y)
    assert not rows.answers.extrapolation.has_halves.any()
    assert rows.weights is None
    assert np.isfinite(rows.losses(np.zeros(6), ["squared_error", "absolute_error"])).all()


# --- the wrappers ---


def checkerboard(n_rows: int, seed: int, wrong: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
    """Classes with sharp borders parallel to the axes, a share of them wrong."""
    draw = np.random.default_rng(seed)
    X = draw.random((n_rows, 2))
    y = (np.floor(6 * X).sum(axis=1) % 2).astype(int)
    return X, np.where(draw.random(n_rows) < wrong, 1 - y, y)


def test_noise_that_costs_errors_is_refused_though_log_loss_asks_for_it() -> None:
    X, y = checkerboard(2000, 0)
    X_val, y_val = checkerboard(4000, 1, wrong=0.1)
    X_test, y_test = checkerboard(4000, 2, wrong=0.1)
    tree = DecisionTreeClassifier(random_state=0).fit(X, y)
    soft = tm.DualPerturbClassifier(tree).fit(X, X_val=X_val, y_val=y_val)
    least_loss = soft.noise_curve_[soft.noise_curve_[:, 1].argmin(), 0]
    softer = tm.DualPerturbClassifier(tree, noise=least_loss).fit(X)
    assert least_loss > soft.noise_
    assert softer.score(X_test, y_test) < tree.score(X_test, y_test) - 0.005
    assert soft.score(X_test, y_test) >= tree.score(X_test, y_test) - 0.001


def test_the_loss_of_the_chosen_amount_is_that_of_the_curve() -> None:
    X, y = checkerboard(300, 3)
    soft = tm.DualPerturbClassifier(RandomForestClassifier(20, random_state=0)).fit(X, y)
    curve = dict(soft.noise_curve_.tolist())
    assert soft.noise_loss_ == curve[soft.noise_]
