"""Charts: what is drawn is what was measured, in the right order."""

from typing import Any

import pytest

from tremula.report import analysis_charts, difference_charts, prediction_charts, ranking_charts
from tremula.report.attribute_charts import effect
from tremula.report.page import draw_charts
from tremula.report.pair_matrix import matrices, sentences
from tremula.report.summary_access import joined, mean_ranks, pairs_of, ranked

ERROR = {"name": "error", "label": "error", "unit": "%", "less_is_better": True}
AREA = {"name": "auc", "label": "area under ROC", "unit": "", "less_is_better": False}


def values(chart: Any, metric: str = "") -> list[dict[str, Any]]:
    return chart.specs[metric]["data"]["values"]


def test_the_ranking_follows_the_metric(summary: dict[str, Any]) -> None:
    summary["methods"][2]["metrics"]["auc"]["mean"] = 0.99
    chart = ranking_charts.ranking(summary)
    assert [row["label"] for row in values(chart, "error")] == ["random forest", "bagging of 50 trees", "one tree"]
    assert values(chart, "auc")[0]["label"] == "one tree"


def test_the_ranking_shows_who_is_told_from_the_best(summary: dict[str, Any]) -> None:
    standings = [row["standing"] for row in values(ranking_charts.ranking(summary), "error")]
    assert standings == ["best", "no difference shown", "worse than the best"]


def test_a_pair_is_found_in_both_directions(summary: dict[str, Any]) -> None:
    verdicts = pairs_of(summary, "error")
    there, back = verdicts["forest", "tree"], verdicts["tree", "forest"]
    assert (there["verdict"], back["verdict"]) == ("better", "worse")
    assert (back["difference"], back["low"]) == (-there["difference"], -there["high"])


def test_kohavi_divides_by_the_error_of_the_other(summary: dict[str, Any]) -> None:
    rows = values(difference_charts.kohavi(summary), "error")
    (row,) = (row for row in rows if (row["label"], row["against"]) == ("one tree", "random forest"))
    assert row["ratio"] == pytest.approx(100 * (28 / 3 - 3) / 3, abs=1e-3)
    assert row["verdict"] == "worse"


def test_kohavi_leaves_out_an_error_of_zero_as_unit(summary: dict[str, Any]) -> None:
    summary["methods"][0]["metrics"]["error"]["mean"] = 0.0
    rows = values(difference_charts.kohavi(summary), "error")
    assert "random forest" not in {row["against"] for row in rows}


def test_ties_share_their_rank(summary: dict[str, Any]) -> None:
    assert mean_ranks(summary, ERROR) == {
        "forest": pytest.approx(3.5 / 3),
        "bagging": pytest.approx(5.5 / 3),
        "tree": 3,
    }


def test_more_is_better_turns_the_ranks(summary: dict[str, Any]) -> None:
    assert mean_ranks(summary, AREA)["tree"] == 3


def test_a_coverage_is_best_where_it_is_as_asked_for(summary: dict[str, Any]) -> None:
    coverage = {"name": "coverage", "label": "coverage", "unit": "%", "less_is_better": True, "aim": 90.0}
    for method, mean in zip(summary["methods"], (97.0, 89.0, 92.0)):
        method["metrics"]["coverage"] = {"mean": mean, "folds": [mean, mean, mean]}
    summary["metrics"] = [*summary["metrics"], coverage]
    assert mean_ranks(summary, coverage) == {"forest": 3, "bagging": 1, "tree": 2}
    assert [method["name"] for method in ranked(summary, coverage)] == ["bagging", "tree", "forest"]
    times = values(ranking_charts.time_against_error(summary), "coverage")
    assert {row["label"]: row["front"] for row in times} == {
        "one tree": True,
        "random forest": False,
        "bagging of 50 trees": True,
    }


def test_runs_that_lie_within_others_are_not_drawn() -> None:
    same = {"verdict": "no difference shown"}
    everyone = {(first, second): same for first in "abc" for second in "abc"}
    assert joined(["a", "b", "c"], everyone) == [(0, 2)]


def test_ranks_of_two_methods_are_not_drawn(summary: dict[str, Any]) -> None:
    summary["methods"].pop()
    assert difference_charts.critical_difference(summary) is None


def test_a_method_that_is_slower_and_worse_is_not_on_the_front(summary: dict[str, Any]) -> None:
    rows = values(ranking_charts.time_against_error(summary), "error")
    assert [(row["label"], row["front"]) for row in rows] == [
        ("one tree", True),
        ("random forest", True),
        ("bagging of 50 trees", False),
    ]


def test_no_probabilities_no_calibration(summary: dict[str, Any]) -> None:
    summary["calibration"] = None
    assert prediction_charts.calibration(summary) is None


def test_captions_say_how_much_was_measured(summary: dict[str, Any]) -> None:
    assert "6 models" in analysis_charts.bias_and_variance(summary).caption
    assert "2 random halves: 600 training rows" in analysis_charts.noise(summary).caption
    assert "tested once on 634" in analysis_charts.kappa(summary).caption


def test_errors_of_zero_can_be_drawn(summary: dict[str, Any]) -> None:
    for method in summary["methods"]:
        method["metrics"]["error"] = {"mean": 0.0, "sd": 0.0, "low": None, "high": None, "folds": [0.0, 0.0, 0.0]}
    assert values(draw_charts(summary)["ranking"], "error")[0]["interval"] == "–"  # noqa: RUF001


def test_the_matrix_has_no_verdict_on_the_diagonal(summary: dict[str, Any]) -> None:
    rows = matrices(summary)["error"]
    assert [row["cells"][place] for place, row in enumerate(rows)] == [None, None, None]
    assert rows[2]["cells"][0]["kind"] == "worse"


def test_sentences_of_the_best_come_first(summary: dict[str, Any]) -> None:
    found = sentences(summary)["error"]
    assert len(found["best"]) == 2
    assert found["others"] == ["bagging of 50 trees against one tree: better."]


def test_an_effect_of_dates_is_drawn_over_time(summary: dict[str, Any]) -> None:
    shown = summary["analyses"]["attributes"]["effects"][0]
    shown |= {"kind": "date", "values": ["2024-05-31", "2024-06-01 12:00", "2024-12-31"]}
    chart = effect(summary, 0)
    assert [row["moment"] for row in values(chart)] == [1717113600000, 1717243200000, 1735603200000]
    assert [row[0] for row in chart.rows] == ["2024-05-31", "2024-06-01 12:00", "2024-12-31"]
    assert chart.specs[""]["layer"][0]["encoding"]["x"]["scale"]["type"] == "utc"
