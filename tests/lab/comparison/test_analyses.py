"""Analyses: within the budget, reproducible, stored, and explicit about what was skipped."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tremula import BaggingClassifier, BaggingRegressor, C45Classifier, CARTRegressor
from tremula.lab.comparison.analyses import attributes, bias_variance, members, noise
from tremula.lab.comparison.analyses.run import run_analyses
from tremula.lab.comparison.analyses.workbench import choose_contrast, draw_rows
from tremula.lab.comparison.methods import Method, learner
from tremula.lab.datasets.dataset import Dataset
from tremula.lab.experiments.store import Store

BAGGING = Method("bagging", "bagging", learner(BaggingClassifier, n_estimators=3))
TREE = Method("c45", "C4.5", learner(C45Classifier), family="tree")
NUMBERS = [
    Method("bagging", "bagging", learner(BaggingRegressor, n_estimators=3)),
    Method("cart", "CART", learner(CARTRegressor), family="tree"),
]
SLOW = {"bagging": 5.0, "c45": 0.0}


def made(n_rows: int = 80, task: str = "classification") -> Dataset:
    random = np.random.default_rng(0)
    X = random.random((n_rows, 2))
    classes = np.where(X[:, 0] + 0.3 * random.random(n_rows) > 0.6, "yes", "no")
    y = classes if task == "classification" else 10 * X[:, 0] + random.random(n_rows)
    return Dataset("made", "a test", X, y, task=task)


@pytest.fixture(scope="module", autouse=True)
def few_repetitions() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bias_variance, "MODEL_COUNTS", (4,))
        patch.setattr(noise, "REPETITIONS", (2,))
        yield


@pytest.fixture(scope="module")
def analyses() -> dict[str, Any]:
    return run_analyses(made(), [BAGGING, TREE], progress=False)


def test_members_of_the_best_ensemble_are_compared_in_pairs(analyses: dict[str, Any]) -> None:
    kappa = analyses["kappa"]
    assert (kappa["method"], kappa["members"], len(kappa["pairs"])) == ("bagging", 3, 3)
    assert kappa["pairs"][0][1] == pytest.approx(np.mean(kappa["member_errors"][:2]))


def test_bias_and_variance_sum_to_the_error(analyses: dict[str, Any]) -> None:
    for method in analyses["bias_variance"]["methods"]:
        assert method["bias"] + method["variance"] == pytest.approx(method["error"])


def test_noise_has_a_curve_for_each_method_from_none_to_a_fifth(analyses: dict[str, Any]) -> None:
    curves = analyses["noise"]["curves"]
    assert [curve["name"] for curve in curves] == ["bagging", "c45"]
    assert [point["amount"] for point in curves[0]["points"]] == [0, 5, 10, 20]
    assert all(point["lowest"] <= point["error"] <= point["highest"] for point in curves[0]["points"])


def test_the_same_seed_finds_the_same(analyses: dict[str, Any]) -> None:
    assert run_analyses(made(), [BAGGING, TREE], progress=False, n_jobs=1) == analyses


def test_what_is_kept_is_not_measured_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = Store(tmp_path / "results.duckdb")
    first = run_analyses(made(), [BAGGING, TREE], store=store, progress=False)
    measures = (
        attributes.MeasureAttributes,
        members.MeasureMembers,
        bias_variance.MeasureBiasVariance,
        noise.MeasureNoise,
    )
    for measure in measures:
        monkeypatch.setattr(measure, "__call__", None)
    assert run_analyses(made(), [BAGGING, TREE], store=store, progress=False) == first


def test_a_small_budget_skips_analyses_with_a_reason() -> None:
    analyses = run_analyses(made(), [BAGGING], fit_seconds=SLOW, budget_seconds=2, progress=False)
    assert {entry["analysis"] for entry in analyses["skipped"]} == {
        "importance of attributes",
        "κ-error diagram",
        "bias and variance",
        "noise curves",
    }
    assert "more than its budget of 1 s" in analyses["skipped"][2]["reason"]


def test_numbers_have_noise_in_the_target_and_no_kappa() -> None:
    analyses = run_analyses(made(task="regression"), NUMBERS, progress=False)
    assert analyses["noise"]["kind"] == "target"
    assert [entry["analysis"] for entry in analyses["skipped"]] == ["κ-error diagram"]


def test_few_rows_are_not_divided_further() -> None:
    assert set(run_analyses(made(20), [TREE], progress=False)) == {"skipped"}


def test_many_rows_are_drawn_from() -> None:
    dataset = made(200)
    drawn = draw_rows(dataset, seed=0, most=50)
    assert len(drawn.y) == 50
    assert draw_rows(dataset, seed=0, most=200) is dataset


def test_a_method_that_fails_on_a_part_is_named() -> None:
    class Refusing(C45Classifier):
        def fit(self, X: Any, y: Any, **_: Any) -> Any:
            raise ValueError("no thanks")

    analyses = run_analyses(made(), [Method("refusing", "refusing", lambda *_: Refusing())], progress=False)
    assert sum("no thanks" in entry["reason"] for entry in analyses["skipped"]) == 3


def test_contrast_has_the_best_and_the_best_tree() -> None:
    methods = [BAGGING, Method("again", "again", BAGGING.build), TREE]
    assert [method.name for method in choose_contrast(methods, made(), 2)] == ["bagging", "c45"]


def test_a_slow_best_method_makes_room_for_faster_ones_and_is_named() -> None:
    analyses = run_analyses(made(), [BAGGING, TREE], fit_seconds=SLOW, budget_seconds=10, progress=False)
    assert [curve["name"] for curve in analyses["noise"]["curves"]] == ["c45"]
    assert analyses["noise"]["too_slow"] == ["bagging"]
