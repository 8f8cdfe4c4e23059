"""Closer looks: within the budget, the same for the same seed, kept in the store, honest about what is not there."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tremula import BaggingClassifier, BaggingRegressor, C45Classifier, CARTRegressor
from tremula.lab.comparison import analyses as evidence
from tremula.lab.comparison import analysis_cells as looks
from tremula.lab.comparison.analyses import choose_contrast, look_closer
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
        patch.setattr(evidence, "MODEL_COUNTS", (4,))
        patch.setattr(evidence, "REPETITIONS", (2,))
        yield


@pytest.fixture(scope="module")
def found() -> dict[str, Any]:
    return look_closer(made(), [BAGGING, TREE], progress=False)


def test_members_of_the_best_ensemble_are_compared_in_pairs(found: dict[str, Any]) -> None:
    kappa = found["kappa"]
    assert (kappa["method"], kappa["members"], len(kappa["pairs"])) == ("bagging", 3, 3)
    assert kappa["pairs"][0][1] == pytest.approx(np.mean(kappa["member_errors"][:2]))


def test_bias_and_variance_sum_to_the_error(found: dict[str, Any]) -> None:
    for method in found["bias_variance"]["methods"]:
        assert method["bias"] + method["variance"] == pytest.approx(method["error"])


def test_noise_has_a_curve_for_each_method_from_none_to_a_fifth(found: dict[str, Any]) -> None:
    curves = found["noise"]["curves"]
    assert [curve["name"] for curve in curves] == ["bagging", "c45"]
    assert [point["level"] for point in curves[0]["points"]] == [0, 5, 10, 20]
    assert all(point["lowest"] <= point["error"] <= point["highest"] for point in curves[0]["points"])


def test_the_same_seed_finds_the_same(found: dict[str, Any]) -> None:
    assert look_closer(made(), [BAGGING, TREE], progress=False, n_jobs=1) == found


def test_what_is_kept_is_not_measured_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = Store(tmp_path / "results.duckdb")
    first = look_closer(made(), [BAGGING, TREE], store=store, progress=False)
    for look in (looks.MembersLook, looks.PartsLook, looks.NoiseLook):
        monkeypatch.setattr(look, "__call__", None)
    assert look_closer(made(), [BAGGING, TREE], store=store, progress=False) == first


def test_a_small_budget_leaves_out_and_says_so() -> None:
    found = look_closer(made(), [BAGGING], fit_seconds=SLOW, budget_seconds=2, progress=False)
    assert {entry["part"] for entry in found["left_out"]} == {"κ-error diagram", "bias and variance", "noise curves"}
    assert "more than the 1 s it may" in found["left_out"][1]["why"]


def test_numbers_have_noise_in_the_target_and_no_kappa() -> None:
    found = look_closer(made(task="regression"), NUMBERS, progress=False)
    assert found["noise"]["kind"] == "target"
    assert [entry["part"] for entry in found["left_out"]] == ["κ-error diagram"]


def test_few_rows_are_not_divided_further() -> None:
    assert set(look_closer(made(20), [TREE], progress=False)) == {"left_out"}


def test_many_rows_are_drawn_from() -> None:
    dataset = made(200)
    drawn = looks.draw_rows(dataset, seed=0, most=50)
    assert len(drawn.y) == 50
    assert looks.draw_rows(dataset, seed=0, most=200) is dataset


def test_a_method_that_fails_on_a_part_is_told() -> None:
    class Refusing(C45Classifier):
        def fit(self, X: Any, y: Any, **_: Any) -> Any:
            raise ValueError("no thanks")

    found = look_closer(made(), [Method("refusing", "refusing", lambda *_: Refusing())], progress=False)
    assert "no thanks" in found["left_out"][1]["why"]


def test_contrast_has_the_best_and_the_best_tree() -> None:
    methods = [BAGGING, Method("again", "again", BAGGING.build), TREE]
    assert [method.name for method in choose_contrast(methods, made(), 2)] == ["bagging", "c45"]


def test_a_slow_best_method_makes_room_for_faster_ones_and_is_named() -> None:
    found = look_closer(made(), [BAGGING, TREE], fit_seconds=SLOW, budget_seconds=10, progress=False)
    assert [curve["name"] for curve in found["noise"]["curves"]] == ["c45"]
    assert found["noise"]["too_slow"] == ["bagging"]
