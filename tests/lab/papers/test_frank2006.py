"""The protocol of input smearing's paper: its datasets, splits and tests, and what is said of made-up results."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pytest

from tremula.lab.datasets import known_datasets, load_dataset
from tremula.lab.experiments.cell import Cell, Outcome
from tremula.lab.experiments.result import Result
from tremula.lab.papers import load_paper
from tremula.lab.papers.frank2006 import amounts, rows
from tremula.lab.papers.frank2006.bias import CROSS_VALIDATED, MeasureBias, show_bias
from tremula.lab.papers.frank2006.options import BASE, VARIANTS, options_experiment, show_options
from tremula.lab.papers.frank2006.protocol import (
    BAGGING,
    CLASSES,
    NUMBERS,
    PRUNED,
    SMEARING,
    UNPRUNED,
    MeasureSplit,
    classes_experiment,
    divide,
    load_rows,
    numbers_experiment,
    try_regressor,
)
from tremula.lab.papers.frank2006.tables import compare, gather, show_classes, show_numbers

SPLITS = 10


def result(dataset: str, method: str, split: int, values: Mapping[str, float], error: str | None = None) -> Result:
    return Result(Cell(dataset, method, split), Outcome(values, 20, 1.0, 0.1), error)


def results_of(dataset: str, measure: str, levels: Mapping[str, float], noise: float = 0.1) -> list[Result]:
    """Results of all methods whose values waver around a level."""
    random = np.random.default_rng(0)
    shared, made = random.normal(0.0, 0.01, SPLITS), []
    for method, level in levels.items():
        own = random.normal(0.0, 0.002, SPLITS)
        for split in range(SPLITS):
            values = {measure: level + shared[split] + own[split], "n_train": 180.0}
            if method == SMEARING:
                values |= {"noise": noise, "n_trained": 350.0}
            made.append(result(dataset, method, split, values))
    return made


def test_there_are_22_and_23_datasets_of_numeric_attributes_alone() -> None:
    known = known_datasets()
    assert len(set(CLASSES)) == 22
    assert len(set(NUMBERS)) == 23
    assert all(known[name].nominal == 0 and "frank2006" in known[name].papers for name in CLASSES + NUMBERS)
    assert {known[name].task for name in CLASSES} == {"classification"}
    assert {known[name].task for name in NUMBERS} == {"regression"}


def test_full_sizes_are_the_papers() -> None:
    assert len(classes_experiment("full").cells) == 100 * 22 * 4
    assert len(numbers_experiment("full").cells) == 100 * 23 * 4
    assert classes_experiment("full").settings["members"] == 10


def test_the_default_budget_has_25_splits_of_all_rows_and_fewer_rows_stand_in() -> None:
    classes, numbers = classes_experiment("default"), numbers_experiment("default")
    assert (len(classes.cells), len(numbers.cells)) == (25 * 22 * 4, 25 * 23 * 4)
    assert classes.settings["most_rows"] is None
    assert numbers.settings["most_rows"] is None
    assert numbers.stand_in is not None
    assert (len(numbers.stand_in.cells), numbers.stand_in.settings["most_rows"]) == (5 * 23 * 4, 1000)


def test_a_note_names_the_datasets_with_fewer_rows() -> None:
    made = [each for name in ("stock", "pyrim") for each in results_of(name, "rrse", {SMEARING: 0.5, BAGGING: 0.6})]
    fewer = [replace(each, stands_in=each.dataset == "stock") for each in made]
    assert any(note.endswith("stand in: stock.") for note in show_numbers(fewer, "default")[0].notes)
    assert not any("stand in" in note for note in show_numbers(made, "default")[0].notes)


def test_a_tenth_of_the_rows_tests_with_the_classes_evenly_spread() -> None:
    iris = load_dataset("iris")
    train, test = divide(iris, 3, 0)
    assert np.unique(iris.y[test], return_counts=True)[1].tolist() == [5, 5, 5]
    assert sorted([*train, *test]) == list(range(150))
    assert (divide(iris, 3, 0)[1] == test).all()
    assert (divide(iris, 4, 0)[1] != test).any()


def test_so_many_rows_stand_for_a_larger_dataset() -> None:
    few = load_rows("wine", 50, 0)
    assert few.X.shape == (50, 13)
    assert (few.X == load_rows("wine", 50, 0).X).all()
    assert len(load_rows("wine", None, 0).y) == 178


@pytest.mark.parametrize("method", [SMEARING, BAGGING, UNPRUNED, PRUNED])
def test_a_cell_is_measured(method: str) -> None:
    values = MeasureSplit(100)(Cell("iris", method, 0)).values
    assert values["error"] <= 0.3
    assert values["n_train"] == 90.0
    assert ("noise" in values) == (method == SMEARING)


def test_the_error_of_numbers_is_relative_to_the_mean_of_the_training_rows() -> None:
    class Mean:
        def fit(self, X: np.ndarray, y: np.ndarray) -> None:
            self.mean = y.mean()

        def predict(self, X: np.ndarray) -> np.ndarray:
            return np.full(len(X), self.mean)

    y = np.arange(20.0)
    _, outcome = try_regressor(Mean(), np.zeros((20, 1)), y, (np.arange(15), np.arange(15, 20)), 0)
    assert outcome.values["rrse"] == pytest.approx(100.0)


def test_significant_differences_are_found_and_named() -> None:
    made = results_of("glass", "error", {SMEARING: 0.20, BAGGING: 0.30, UNPRUNED: 0.20, PRUNED: 0.10})
    found, _ = gather(made)
    assert {one.other: one.outcome for one in compare(found, "error")} == {BAGGING: 1, UNPRUNED: 0, PRUNED: -1}
    table, claims = show_classes(made, "quick")
    assert "(worse)" in table.rows[0][2]
    assert "(" not in table.rows[0][3]
    assert "(better)" in table.rows[0][4]
    said = {row[0]: row[2:4] for row in claims.rows}
    assert said["significant wins over bagging"] == ["1 of 1: glass", "does not hold"]
    assert said["no significant loss to any method"] == ["1 of 1: glass", "does not hold"]
    assert said["mean noise of spambase"] == ["", "not measured"]


def test_amounts_of_noise_are_compared_with_the_paper() -> None:
    same = {SMEARING: 50.0, BAGGING: 50.0, UNPRUNED: 50.0, PRUNED: 50.0}
    made = results_of("2dplanes", "rrse", same, noise=0.3) + results_of("ailerons", "rrse", same, noise=0.2)
    said = {row[0]: row[2:4] for row in show_numbers(made, "quick")[1].rows}
    assert said["mean noise of 2dplanes"] == ["0.30", "holds"]
    assert said["mean noise of ailerons"] == ["0.20", "does not hold"]


def test_failures_are_told() -> None:
    made = results_of("iris", "error", {SMEARING: 0.1, BAGGING: 0.1})
    failed = result("sonar", BAGGING, 0, {}, error="ValueError: no")
    assert "sonar, bagging failed: ValueError: no" in show_classes([*made, failed], "quick")[0].notes


def test_bias_and_variance_sum_to_the_error_and_shares_are_compared() -> None:
    values = MeasureBias(100, 6)(Cell("iris", BAGGING, 0)).values
    assert values["bias"] + values["variance"] == pytest.approx(values["error"])
    made = [
        result("iris", SMEARING, 0, {"bias": 0.06, "variance": 0.02, "error": 0.08}),
        result("iris", BAGGING, 0, {"bias": 0.05, "variance": 0.05, "error": 0.10}),
    ]
    table, claims = show_bias(made, "quick")
    assert table.rows[0][-3:] == ["0.750", None, "0.500"]
    made.append(result("iris", CROSS_VALIDATED, 0, {"bias": 0.02, "variance": 0.06, "error": 0.08}))
    _, both = show_bias(made, "quick")
    assert [line[2] for line in both.rows] == ["on 0 of 1", "on 1 of 1"]
    assert claims.rows[0][2:4] == ["on 1 of 1", "does not hold"]  # one dataset may be chance


def test_variants_are_measured_where_they_suit() -> None:
    cells = options_experiment("default").cells
    nominal = {cell.dataset for cell in cells if cell.method == "nominal attributes too"}
    assert nominal == {"vowel", "abalone", "auto-mpg", "housing", "servo"}
    assert {cell.method for cell in cells} == set(VARIANTS)
    assert {cell.method for cell in cells if cell.dataset == "servo"} == {BASE, "nominal attributes too"}


def test_variants_are_compared_with_the_first() -> None:
    found = {"noise": 0.1, "n_trained": 70.0}
    names = {SMEARING: BASE, "uniform": "uniform"}
    made = results_of("glass", "error", {SMEARING: 0.2, "uniform": 0.1})
    made = [result(one.dataset, names[one.method], one.split, {**found, **one.values}) for one in made]
    (table,) = show_options(made, "quick")
    first, uniform = table.rows
    assert first[2] == "1.000"
    assert float(uniform[2]) == pytest.approx(0.5, abs=0.05)
    assert uniform[3:5] == [1, 0]


def test_the_paper_is_known_by_its_name() -> None:
    assert [part.name for part in load_paper("frank2006").parts] == [
        "table1",
        "table2",
        "bias",
        "options",
        "amounts",
        "rows",
        "related",
    ]


# --- amounts above 0.3, a distribution by the data, an amount for each attribute ---


def made_amounts(ratio: float, datasets: int = 12) -> list[Result]:
    errors = {
        variant: 50.0 * (ratio if variant == amounts.WIDER else 1.0) for variant in (amounts.BASE, *amounts.ASKED)
    }
    return [
        result(f"set {number}", variant, split, {"rrse": error, "noise": 0.3})
        for number in range(datasets)
        for variant, error in errors.items()
        for split in range(2)
    ]


def test_a_variant_is_better_only_if_most_datasets_say_so() -> None:
    for ratio, verdict in ((0.9, "holds"), (1.1, "does not hold"), (1.0, "does not hold")):
        claims, table = amounts.show_amounts(made_amounts(ratio), "default")
        assert [row[3] for row in claims.rows] == [verdict, "does not hold", "does not hold"]
        assert table.rows[0][:3] == ["set 0", 2, f"{ratio:.3f}"]


def test_a_dataset_without_all_variants_is_left_out() -> None:
    made = made_amounts(0.9, 2)
    left = [r for r in made if (r.dataset, r.method) != ("set 1", amounts.EACH)]
    assert [row["dataset"] for row in amounts.ratio_rows(left)] == ["set 0"]


# --- chosen amounts by number of rows ---


def test_a_limit_of_rows_agrees_with_the_paper_by_the_rules_of_table_2() -> None:
    chosen = {"2dplanes": (0.05, 0.2, 0.25, 0.3), "house-8L": (0.1, 0.05, 0.0, 0.1)}
    made = [
        result(dataset, limit, split, {"noise": amount, "rrse": 50.0})
        for dataset, by_limit in chosen.items()
        for limit, amount in zip(rows.LIMITS, by_limit)
        for split in range(3)  # the mean of three times 0.05 is above 0.05 by rounding
    ]
    (table,) = rows.show_rows(made, "default")
    assert [row[-1] for row in table.rows] == ["16000 rows, all rows", "4000 rows, 16000 rows"]
    assert table.rows[0][1] == "0.05 ± 0.00"
    (table,) = rows.show_rows([one for one in made if one.method != "all rows"], "default")
    assert "all rows" not in table.columns
    assert [row[-1] for row in table.rows] == ["16000 rows", "4000 rows, 16000 rows"]
    (table,) = rows.show_rows(made[:3], "default")
    assert table.rows[0][-1] == "none"


def test_the_sizes_of_the_paper_have_all_rows() -> None:
    default, full = ({cell.method for cell in rows.rows_experiment(budget).cells} for budget in ("default", "full"))
    assert full - default == {"all rows"}


@pytest.mark.data
def test_a_cell_has_no_more_rows_than_its_limit() -> None:
    outcomes = {limit: rows.measure_limit(Cell("stock", limit, 0)) for limit in ("1000 rows", "all rows")}
    assert outcomes["1000 rows"].values == outcomes["all rows"].values  # it has 950
    assert outcomes["all rows"].n_test == 95
