"""Van Assche and Blockeel (2006) in the laboratory: how rows are prepared, measured and judged."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import pytest

from tremula import ID3Classifier
from tremula.lab.datasets import Dataset
from tremula.lab.experiments.cell import Cell, Outcome
from tremula.lab.experiments.result import Result
from tremula.lab.papers.published import read_published
from tremula.lab.papers.vanassche2006 import sizes, times
from tremula.lab.papers.vanassche2006 import tests_by_level as levels
from tremula.lab.papers.vanassche2006.figure1 import (
    ALONE,
    AS_PRINTED,
    BEST,
    COPY,
    FIGURE,
    FIGURE_1B,
    PRINTED,
    TOGETHER,
    MeasureShare,
    joint_tables,
    margins,
    show_figure1,
)
from tremula.lab.papers.vanassche2006.preparation import class_aware_cuts, equal_frequency_cuts, prepare
from tremula.lab.papers.vanassche2006.protocol import CELL_NAMES, DATASETS, MAKERS, WITH_NUMBERS, measure_fold
from tremula.lab.papers.vanassche2006.tables import METHODS, gather, mean_seconds, show_table1


def test_the_published_table_has_every_dataset_and_method() -> None:
    rows = read_published("vanassche2006_table1").rows
    assert [(row["dataset"], row["method"]) for row in rows] == [(name, m) for m in METHODS for name in DATASETS]


def test_datasets_with_numbers_are_measured_with_every_binning() -> None:
    assert len(CELL_NAMES) == 9 + 3 * len(WITH_NUMBERS)


# --- preparation ---


def test_cuts_of_equal_frequency_do_not_part_equal_values() -> None:
    values = np.array([0.0] * 15 + [1.0, 2.0, 3.0, 4.0, 5.0])
    cuts = equal_frequency_cuts(values, np.zeros(20, dtype=int))
    assert cuts.tolist() == [1.5, 3.5]


def test_class_aware_cuts_find_where_classes_change_and_leave_noise_alone() -> None:
    random = np.random.default_rng(0)
    values = random.random(400)
    steps = np.searchsorted([0.3, 0.6], values)
    cuts = class_aware_cuts(values, steps % 2)
    assert cuts.tolist() == pytest.approx([0.3, 0.6], abs=0.01)
    assert len(class_aware_cuts(values, random.integers(2, size=400))) == 0


@pytest.mark.parametrize("cuts_of", [equal_frequency_cuts, class_aware_cuts])
def test_a_column_that_is_constant_or_missing_everywhere_has_no_cuts(cuts_of: Callable[..., np.ndarray]) -> None:
    assert len(cuts_of(np.full(12, 3.0), np.array([0, 1] * 6))) == 0
    assert len(cuts_of(np.empty(0), np.empty(0, dtype=int))) == 0


def test_bins_and_most_common_values_are_those_of_the_learning_rows() -> None:
    X = np.array([[0.0, 1.0], [1.0, 1.0], [2.0, 1.0], [3.0, 0.0], [np.nan, np.nan], [99.0, 0.0], [98.0, 0.0]])
    dataset = Dataset("made", "here", X, np.array([0, 0, 1, 1, 0, 1, 0]), nominal=(1,))
    codes = prepare(dataset, np.arange(4), lambda values, classes: np.array([values.max() - 0.5]))
    assert codes.tolist() == [[0, 1], [0, 1], [0, 1], [1, 0], [0, 1], [1, 0], [1, 0]]


# --- Table 1 ---


def made_results(name: str, errors: dict[str, float], n_folds: int = 10) -> list[Result]:
    return [
        Result(
            Cell(name, method, fold), Outcome({"error": error + 0.01 * (fold % 3), "n_train": 90.0}, 10, 0.5, 0.1, 100)
        )
        for method, error in errors.items()
        for fold in range(n_folds)
    ]


def rows_of(results: Sequence[Result], number: int) -> list[Sequence[object]]:
    return list(show_table1(results, "full")[number].rows)


def test_accuracy_is_judged_against_the_published_one() -> None:
    results = made_results("vote", {"SB": 0.04, "SB_stop": 0.01, "Bag": 0.10})
    assert [(row[1], row[3], row[-2]) for row in rows_of(results, 0)] == [
        ("SB", "95.1", "within"),
        ("SB_stop", "98.1", "better"),
        ("Bag", "89.1", "worse"),
    ]


def test_simulated_bagging_is_compared_with_bagging() -> None:
    results = made_results("vote", {"SB": 0.20, "SB_stop": 0.05, "Bag": 0.05})
    table = show_table1(results, "full")[1]
    assert [(row[1], row[4], row[5]) for row in table.rows] == [
        ("SB", "worse", "+0.7"),
        ("SB_stop", "no difference shown", "+1.1"),
    ]
    assert "significantly worse on 1 of 1" in table.caption


def test_a_fold_counts_where_all_methods_were_measured() -> None:
    results = made_results("vote", {"SB": 0.1, "SB_stop": 0.1, "Bag": 0.1})[:-4]
    measured, failures = gather(results)
    assert len(measured["vote"]["SB"]["error"]) == 6
    assert failures == []


def test_a_failed_cell_is_told() -> None:
    failed = Result(Cell("vote", "SB", 0), failure="no memory")
    assert gather([failed]) == ({}, ["vote, SB failed: no memory"])


def test_size_and_time_stand_beside_the_published_ones() -> None:
    results = made_results("vote", {"SB": 0.1, "SB_stop": 0.1, "Bag": 0.1})
    (row,) = rows_of(results, 3)
    assert row[:9] == ["vote", "100", "1400", "100", "1089", "100", "732", "1.00", "1.91"]
    assert row[9:] == ["smaller", "smaller", "smaller", "6 of 6"]
    seconds = rows_of(results, 4)[0]
    assert seconds[1:4] == ["0.500"] * 3
    assert seconds[4:8] == ["1.00", "0.84", "1.00", "0.96"]
    assert seconds[8:10] == ["within", "within"]


@pytest.mark.data
@pytest.mark.parametrize("method", MAKERS)
def test_a_fold_is_measured_by_every_method(method: str) -> None:
    outcome = measure_fold(Cell("credit-a, class-aware", method, 3))
    assert outcome.n_test == 69
    assert 0.05 < outcome.values["error"] < 0.3
    assert outcome.size is not None


# --- Figure 1 ---


def test_figure_1b_has_the_margins_of_figure_1a() -> None:
    of_a, of_b = margins(FIGURE_1B[None])
    assert of_a[0].tolist() == [[0, 20], [60, 20]]
    assert of_b[0].tolist() == [[50, 10], [10, 30]]


def test_every_joint_table_with_the_margins_of_figure_1a_is_measured() -> None:
    expected = [part[0].tolist() for part in margins(FIGURE_1B[None])]
    tables = list(joint_tables().values())
    assert len({table.tobytes() for table in tables}) == 11
    for table in tables:
        assert (table >= 0).all()
        assert [part[0].tolist() for part in margins(table[None])] == expected
    assert any((table[:, :, 0] == FIGURE_1B.sum(axis=2)).all() for table in tables)
    assert margins(AS_PRINTED[None])[1][0].tolist() != expected[1]


@pytest.mark.parametrize(
    ("table", "method", "low", "high"),
    [
        (FIGURE, ALONE, 0.70, 0.74),
        (PRINTED, TOGETHER, 0.99, 1),
        ("joint table with 0 negative rows of A and B", TOGETHER, 0.77, 0.79),
        ("joint table with 10 negative rows of A and B", TOGETHER, 0.68, 0.70),
        (COPY, ALONE, 0.5, 0.8),
        (COPY, TOGETHER, 0.99, 1),
    ],
)
def test_shares_are_those_that_are_possible(table: str, method: str, low: float, high: float) -> None:
    assert low <= MeasureShare(20_000)(Cell(table, method, 0)).values["share"] <= high


@pytest.mark.parametrize(("alone", "printed"), [(0.722, 0.994), (0.74, 0.98)])
def test_the_claims_can_fail(alone: float, printed: float) -> None:
    results = [
        Result(Cell(table, method, 0), Outcome({"share": share, "n_draws": 1e5}))
        for table, method, share in ((FIGURE, ALONE, alone), (PRINTED, TOGETHER, printed), (COPY, TOGETHER, 0.998))
    ]
    verdict = "within" if printed == 0.994 else "outside"
    assert [row[-2] for row in show_figure1(results, "full")[0].rows] == [verdict, verdict, None]


# --- ratios of times ---


def test_a_ratio_of_times_far_from_the_published_one_is_outside() -> None:
    published = times.published_ratios()["vote"]
    assert published == pytest.approx([0.180 / 0.214, 0.214 / 0.224])
    made = {"SB": 10.0, "SB_stop": 10.0 * published[0], "Bag": 0.1}
    (row,) = times.seconds_table({"vote": (made, False)}, []).rows
    assert row[-3:-1] == ["within", "larger"]
    (row,) = times.seconds_table({"vote": (made | {"SB_stop": 1.0}, False)}, []).rows
    assert row[-3] == "smaller"


def test_seconds_by_the_clock_give_way_to_processor_time_and_are_named() -> None:
    made = made_results("vote", {"SB": 0.1, "SB_stop": 0.1, "Bag": 0.1})
    timed = [
        replace(each, outcome=replace(each.outcome, fit_seconds=0.2, processor_seconds=0.3))
        if each.split == 0
        else each
        for each in made
    ]
    assert mean_seconds(gather(made)[0]["vote"]) == ({"SB": 0.5, "SB_stop": 0.5, "Bag": 0.5}, True)
    assert mean_seconds(gather(timed)[0]["vote"]) == ({"SB": 0.2, "SB_stop": 0.2, "Bag": 0.2}, False)
    clock, processor = (show_table1(each, "full")[-1].notes for each in (made, timed))
    assert any("by the clock, on a busy computer, of all datasets" in note for note in clock)
    assert not any("by the clock" in note for note in processor)


# --- sizes ---


def made_sizes(factor: dict[tuple[str, int], float]) -> list[Result]:
    """Sizes of vote in one fold: the published ones times a factor of each reading."""
    published = {row["method"]: float(row["size"]) for row in read_published("vanassche2006_table1").rows
                 if row["dataset"] == "vote"}  # fmt: skip
    made = []
    for name, (method, least) in sizes.CELL_METHODS.items():
        values = {value: published[method] * factor.get((word, least), 2.0) for word, value in sizes.COUNTED.items()}
        made.append(Result(Cell("vote", name, 0), Outcome(values)))
    return made


def test_the_reading_with_the_published_sizes_is_the_nearest() -> None:
    (table,) = sizes.show_sizes(made_sizes({("nodes with rows", 5): 1.05}), "default")
    assert table.rows[0] == ["nodes with rows", 5, "0.049", "3 of 3", "1.05 / 1.05 / 1.05"]
    assert "ours has 0." in table.notes[0]


def test_no_reading_of_the_sizes_fits_is_said() -> None:
    (table,) = sizes.show_sizes(made_sizes({sizes.OURS: 1.5}), "default")
    assert table.rows[0][0] == "all nodes (ours)"
    assert table.notes[0].endswith("It misses vote, SB; vote, SB_stop; vote, Bag.")


# --- different tests by level ---


def test_attributes_are_counted_once_for_each_level() -> None:
    X = np.array([[0, 0, 0], [0, 0, 1], [0, 1, 0], [0, 1, 1], [1, 0, 0], [1, 0, 1], [1, 1, 0], [1, 1, 1]])
    first = ID3Classifier().set_params(categorical_features="all").fit(X, [0, 0, 1, 1, 2, 3, 2, 3])
    second = ID3Classifier().set_params(categorical_features="all").fit(X, X[:, 2])
    assert levels.tests_by_level([first.tree_]) == [1, 2, 0, 0]
    assert levels.tests_by_level([first.tree_, second.tree_])[1:] == [2, 0, 0]
    assert levels.tests_by_level([second.tree_]) == [1, 0, 0, 0]


def made_counts(ratio: float) -> list[Result]:
    return [
        Result(
            Cell(f"set {number}", method, 0),
            Outcome({f"level {level}": (number + level) * factor for level in (1, 2, 3, 4)}),
        )
        for number in range(8)
        for method, factor in (("SB", ratio), ("Bag", 1.0))
    ]


def test_counts_that_differ_by_half_are_not_very_similar() -> None:
    for ratio, verdict in ((1.0, "holds"), (1.1, "holds"), (1.5, "does not hold"), (0.5, "does not hold")):
        _, claims = levels.show_tests(made_counts(ratio), "default")
        assert claims.rows[0][3] == verdict
    _, claims = levels.show_tests(made_counts(1.0), "default")
    assert float(claims.rows[0][5]) > 0.9


# --- Figure 1c ---


def test_the_best_of_three_is_measured_and_a_frequent_c_breaks_the_claim() -> None:
    measured = MeasureShare(20_000)(Cell(FIGURE, BEST, 0))
    assert sum(measured.values.values()) == pytest.approx(1.0)
    assert measured.values["A"] > measured.values["B"] > measured.values["C"]
    for share, verdict in ((measured.values["C"], "holds"), (0.3, "does not hold")):
        made = [Result(Cell(FIGURE, BEST, 0), Outcome({"A": 0.4, "B": 0.3, "C": share}))]
        _, _, claims = show_figure1(made, "default")
        assert claims.rows[0][3] == verdict
