"""Further runs of boosting: where they are tried, their shares, and the formula of what is predicted."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from scipy.special import softmax
from sklearn.datasets import load_wine

import tremula as tm
from tremula.aspen.boosted_corrections import N_PARTS, Boosting
from tremula.aspen.family_members import ScoringRows
from tremula.aspen.second_start import ROWS_AGAINST, find_share
from tremula.aspen.task import PRIOR_SHARE, ClassTask
from tremula.losses import log_losses

SCALES = np.array(list(product(range(1, 6), repeat=4)), dtype=float)
TIPS_TO = np.sign(SCALES[:, 0] * SCALES[:, 1] - SCALES[:, 2] * SCALES[:, 3])


@pytest.fixture(scope="module")
def model() -> tm.AspenClassifier:
    """Four attributes that matter only together."""
    return tm.AspenClassifier(20, random_state=0).fit(SCALES, TIPS_TO)


def test_attributes_that_matter_together_are_learnt_by_gradient_boosting(model: tm.AspenClassifier) -> None:
    report = model.report_
    assert report.gradient_share > 0.5
    assert report.gradient_rounds > 0
    assert report.loss < 0.8 * report.blend_loss
    assert "rounds with a tree for each class that start from equal probabilities (with a share of" in str(report)


def test_many_classes_are_corrected_from_a_quarter_of_the_blend() -> None:
    random = np.random.default_rng(0)
    X = random.integers(0, 4, size=(600, 6)).astype(float)
    classes = (4 * (X[:, 0] != X[:, 1]) + 2 * (X[:, 2] != X[:, 3]) + (X[:, 4] != X[:, 5])).astype(int) % 12
    report = tm.AspenClassifier(20, random_state=0).fit(X, 2 * classes + (X[:, 0] > X[:, 5])).report_
    assert report.gradient_share == 0.0
    assert report.second_share > 0.0
    assert report.second_rounds > 0
    assert "rounds that start from a quarter of its margins (with a share of" in str(report)


def test_the_formula_of_the_guide_is_the_prediction(model: tm.AspenClassifier) -> None:
    means = np.zeros((len(SCALES), 3))
    for member, weight in zip(model.members_, model.member_weights_):
        means += weight * member.predict_values(SCALES)
    prior = np.array([(label == TIPS_TO).mean() for label in model.classes_])
    margins = model.report_.power * np.log((1.0 - PRIOR_SHARE) * means + PRIOR_SHARE * prior)
    for tree in model.corrections_:
        margins += tree.predict_values(SCALES)
    np.testing.assert_allclose(model.predict_proba(SCALES), softmax(margins, axis=1), rtol=1e-9)


def test_the_loss_told_is_that_of_rows_the_corrections_have_not_seen(model: tm.AspenClassifier) -> None:
    codes = np.searchsorted(model.classes_, TIPS_TO)
    assert log_losses(codes, model.oob_decision_function_).mean() == pytest.approx(model.report_.loss)
    assert model.report_.loss > log_losses(codes, model.predict_proba(SCALES)).mean()


def test_jobs_change_nothing(model: tm.AspenClassifier) -> None:
    other = tm.AspenClassifier(20, random_state=0, n_jobs=2).fit(SCALES, TIPS_TO)
    assert other.predict_proba(SCALES).tobytes() == model.predict_proba(SCALES).tobytes()


@pytest.mark.parametrize("helps", [True, False])
def test_a_further_run_that_does_not_help_ends_after_its_first_part(
    helps: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    numbers, plain = [], Boosting._boost

    def count(self: Boosting, number: int) -> Any:
        numbers.append(number)
        return plain(self, number)

    monkeypatch.setattr(Boosting, "_boost", count)
    table = (SCALES, TIPS_TO) if helps else load_wine(return_X_y=True)
    report = tm.AspenClassifier(20, random_state=0).fit(*table).report_
    assert len(numbers) == (2 * N_PARTS + 1 if helps else N_PARTS + 2)
    assert (report.gradient_share > 0.0) == helps
    assert report.second_share == 0.0


def test_the_share_has_the_least_penalized_loss() -> None:
    random = np.random.default_rng(0)
    target = random.integers(0, 3, 200)
    first, second = random.normal(size=(2, 200, 3)) + 1.5 * np.eye(3)[target]
    rows, task = ScoringRows(np.arange(200), target, np.ones(200)), ClassTask(np.full(3, 1 / 3))
    grid = np.linspace(0.0, 1.0, 1001)
    losses = [
        np.mean(-np.log(softmax((1 - s) * first + s * second, axis=1)[np.arange(200), target]))
        + ROWS_AGAINST / 200 * s**2
        for s in grid
    ]
    assert find_share(first, second, rows, task) == pytest.approx(grid[np.argmin(losses)], abs=0.02)
    assert find_share(3.0 * np.eye(3)[target], -first, rows, task) < 0.02
