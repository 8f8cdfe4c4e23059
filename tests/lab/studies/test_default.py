"""The study behind the default estimator: its halves, splits and losses, every method once, and what tables say."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
import pytest
from sklearn.metrics import log_loss

from tremula.lab.datasets.dataset import Dataset
from tremula.lab.experiments.cell import Cell, Outcome
from tremula.lab.experiments.result import Result
from tremula.lab.papers import load_paper
from tremula.lab.papers.paper import ShownTable
from tremula.lab.studies.default import protocol
from tremula.lab.studies.default.comparing import Measured, judge
from tremula.lab.studies.default.halves import half
from tremula.lab.studies.default.learners import ASPEN, CLASS_LEARNERS, FOREST, NUMBER_LEARNERS, SLOW
from tremula.lab.studies.default.protocol import MeasureSplit, class_losses, datasets_of, divide, draw_rows
from tremula.lab.studies.default.tables import show_classes, show_numbers, show_times
from tremula.lab.studies.default.view import HALVES

LIBRARIES = {"LightGBM": "lightgbm", "XGBoost": "xgboost"}
JUDGED_SETS, DECIDING_SETS = ("autos", "glass", "vote"), ("sonar", "vehicle")


def made_up(task: str) -> Dataset:
    """Forty rows of a numeric attribute with missing values, a nominal one, and one of no values at all."""
    random = np.random.default_rng(0)
    number, level = random.normal(size=40), random.integers(0, 3, 40)
    y = 2.0 * number + level
    X = np.column_stack([np.where(random.random(40) < 0.1, np.nan, number), level, np.full(40, np.nan)])
    answers = np.where(y > 1, "high", "low") if task == "classification" else y
    names = (None, np.array(["a", "b", "c"]), None)
    return Dataset(f"made up {task}", "here", X, answers, (1,), task, ("size [cm]", "kind:1", "unknown"), names)


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let the study know two made-up datasets alone."""
    monkeypatch.setattr(protocol, "kept_dataset", lambda name: made_up(name.removeprefix("made up ")))
    yield
    protocol._load_rows.cache_clear()
    protocol._attributes.cache_clear()


def test_half_of_the_datasets_decide_and_the_others_judge() -> None:
    assert {half(name) for name in JUDGED_SETS} == {"judged"}
    assert {half(name) for name in DECIDING_SETS} == {"deciding"}


def test_all_datasets_take_part_but_the_largest_of_classes() -> None:
    classes = [one.name for one in datasets_of("classification", protocol.SIZES["default"])]
    assert len(classes) == 58
    assert "letter" in classes
    assert "adult" not in classes
    assert len(datasets_of("regression", protocol.SIZES["default"])) == 44


def test_the_two_folds_of_a_repetition_share_no_row() -> None:
    dataset = made_up("regression")
    (train, test), (other_train, other_test) = divide(dataset, 4), divide(dataset, 5)
    assert sorted([*test, *other_test]) == list(range(40))
    assert set(train) == set(other_test)
    assert set(other_train) == set(test)
    assert set(divide(dataset, 6)[1]) not in ({*test}, {*other_test})


def test_classes_keep_their_shares_where_rows_are_drawn() -> None:
    y = np.repeat(["a", "b", "c"], [70, 20, 10])
    dataset = Dataset("hundred", "here", np.arange(100.0)[:, None], y)
    few = draw_rows(dataset, 30)
    assert np.unique(few.y, return_counts=True)[1].tolist() == [21, 6, 3]
    assert (few.X == draw_rows(dataset, 30).X).all()


def test_losses_are_those_of_scikit_learn_and_a_class_never_seen_has_probability_0() -> None:
    shares = np.array([[0.2, 0.8], [1.0, 0.0], [0.6, 0.4]])
    seen = class_losses(shares, ["a", "b"], np.array(["b", "b", "a"]))
    assert seen["log_loss"] == pytest.approx(log_loss(["b", "b", "a"], shares))
    assert seen["error"] == pytest.approx(1 / 3)
    unseen = class_losses(shares[:1], ["a", "b"], np.array(["c"]))
    assert unseen["log_loss"] == pytest.approx(-np.log(np.finfo(float).eps))
    assert unseen["brier"] == pytest.approx(0.2**2 + 0.8**2 + 1)


@pytest.mark.parametrize("method", [name for name in CLASS_LEARNERS if name not in SLOW])
def test_a_classifier_is_measured(small: None, method: str) -> None:
    pytest.importorskip(LIBRARIES.get(method, "pandas"))
    outcome = MeasureSplit(None)(Cell("made up classification", method, 0))
    assert outcome.values["error"] <= 0.5
    assert outcome.values["log_loss"] > 0
    assert outcome.values["n_train"] == outcome.n_test == 20


@pytest.mark.parametrize("method", [name for name in NUMBER_LEARNERS if name not in SLOW])
def test_a_regressor_is_measured(small: None, method: str) -> None:
    pytest.importorskip(LIBRARIES.get(method, "pandas"))
    outcome = MeasureSplit(None)(Cell("made up regression", method, 3))
    assert 0 < outcome.values["rmse"] < 3.0
    assert outcome.fit_seconds > 0


def test_a_study_that_is_stopped_has_whole_repetitions_of_all_methods() -> None:
    cells = protocol.classes_experiment("default").cells
    assert {cell.split for cell in cells[: 58 * 2 * len(CLASS_LEARNERS)]} == {0, 1}
    assert len(cells) == 58 * 10 * len(CLASS_LEARNERS)
    assert not any(cell.method in SLOW for cell in protocol.classes_experiment("quick").cells)


def result(dataset: str, method: str, split: int, values: Mapping[str, float]) -> Result:
    return Result(Cell(dataset, method, split), Outcome(values, 50, 2.0, 0.1))


def made_results(values: dict[str, float], measure: str) -> list[Result]:
    """Ten splits on which methods waver around their level: the same on every dataset."""
    random = np.random.default_rng(0)
    return [
        result(dataset, method, split, {measure: level + random.normal(0, 0.01), "n_train": 50.0})
        for dataset in JUDGED_SETS + DECIDING_SETS
        for method, level in values.items()
        for split in range(10)
    ]


def test_a_clear_difference_is_found_by_both_tests() -> None:
    found = Measured.of(made_results({ASPEN: 0.3, FOREST: 0.2, "LightGBM": 0.301}, "error"))
    assert judge(found, "glass", ASPEN, FOREST, "error").by_t == 1
    assert judge(found, "glass", FOREST, ASPEN, "error").by_f == -1
    assert judge(found, "glass", ASPEN, "LightGBM", "error").by_t == 0


def tables_of(shown: list[object]) -> dict[str, ShownTable]:
    return {one.name: one for one in shown if isinstance(one, ShownTable)}


def test_tables_rank_each_half_and_name_the_losses() -> None:
    made = made_results({ASPEN: 0.2, FOREST: 0.3, "LightGBM": 0.1}, "error")
    made = [
        result(old.dataset, old.method, old.split, {**old.values, "log_loss": 1.0, "brier": old.values["error"]})
        for old in made
    ]
    tables = tables_of(list(show_classes(made, "default")))
    assert [row[0] for row in tables["classes_ranks"].rows] == ["LightGBM", ASPEN, FOREST]
    assert tables["classes_ranks"].rows[1][1:7] == ["2.00", "2.00", "2.00", "2.00", "2.00", "2.00"]
    assert tables["classes_ranks"].rows[1][-2:] == ["1.00", "1.00"]
    lost = {(row[0], row[1]): row[2:] for row in tables["classes_error_aspen"].rows}
    assert lost["judged", FOREST] == ["3 of 3", "0.750", "3-0-0", "3-0-0", None]
    assert lost["judged", "LightGBM"][2] == "0-3-0"
    assert lost["judged", "LightGBM"][-1] == "autos, glass, vote"
    kinds = {row[0]: row[-1] for row in tables["classes_error_kinds"].rows}
    assert kinds == {"numeric": "glass, sonar, vehicle", "mixed": "autos", "nominal": "vote"}
    assert set(HALVES) == {row[1] for row in tables["classes_error"].rows}


def test_failures_are_told_and_nothing_is_shown_of_nothing() -> None:
    assert show_numbers([], "default") == []
    made = made_results({ASPEN: 1.0, FOREST: 2.0}, "rmse")
    names = np.repeat(["abalone", "stock"], 50)
    made = [result(str(name), old.method, old.split, old.values) for old, name in zip(made, names)]
    failed = Result(Cell("stock", FOREST, 0), failure="no room")
    notes = tables_of(list(show_numbers([*made, failed], "default")))["numbers_ranks"].notes
    assert f"stock, {FOREST} failed: no room" in notes


def test_times_are_compared_with_the_forest() -> None:
    made = [
        Result(Cell("vehicle", method, split), Outcome({}, 423, seconds, 0.1))
        for method, seconds in ((ASPEN, 3.0), (FOREST, 2.0))
        for split in (0, 2, 4)
    ]
    (table,) = tables_of(list(show_times(made, "default"))).values()
    assert table.rows == [["vehicle", 846, 18, "2.000", "1.50", "0.100", "1.00"]]


def test_the_command_knows_it() -> None:
    assert [part.name for part in load_paper("default").parts] == ["classes", "numbers", "times"]
