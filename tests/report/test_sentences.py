"""Sentences: what is said of the leader is true of all pairs."""

from itertools import combinations
from typing import Any

import pytest

from tremula.report.sentences import say_answer, say_results

ERROR = {"name": "error", "label": "error", "unit": "%", "less_is_better": True}
ROWS = [{"name": name, "label": name.upper()} for name in "abc"]


def pairs(**verdicts: str) -> list[dict[str, Any]]:
    """The pairs of a, b and c; those that are not named show no difference."""
    return [
        {
            "first": first, "second": second, "metric": "error",
            "verdict": verdicts.get(first + second, "no difference shown"), "sentence": f"{first} and {second}.",
        }
        for first, second in combinations("abc", 2)
    ]  # fmt: skip


BEATEN = {"label": "always predicting the most frequent class", "error": 40.0, "beaten_by": ["a"]}


def decision(question: str, **more: Any) -> dict[str, Any]:
    return {"question": question, "leader": "a", "baseline": None, "may_be_best": ["a", "b"], "worse": ["c"], **more}


@pytest.mark.parametrize(
    ("tested", "said"),
    [
        (pairs(), ["No method is shown to be better than the others on this data. A and b."]),
        (pairs(bc="better"), ["A has the best mean, but is not shown to differ from B and C."]),
        (pairs(ac="better"), ["A has the best mean, but is not shown to differ from B.", "A and c."]),
    ],
    ids=["none", "the others' pair", "a pair of the leader"],
)
def test_what_is_said_of_the_leader_if_all_pairs_are_tested(tested: list[dict[str, Any]], said: list[str]) -> None:
    assert say_results(ROWS, tested, decision("pairs"), ERROR, BEATEN) == said


@pytest.mark.parametrize(
    ("best", "worse", "said"),
    [
        ("ab", "c", "A and B may be the best on this data; C is worse."),
        ("a", "bc", "A is the best on this data; B and C are worse."),
        ("abc", "", "No method is shown to be better than the others on this data. A and b."),
    ],
)
def test_what_is_said_of_the_best(best: str, worse: str, said: str) -> None:
    tested = pairs(**{"a" + name: "better" for name in worse})[:2]
    asked = decision("best", may_be_best=list(best), worse=list(worse))
    assert say_results(ROWS, tested, asked, ERROR, BEATEN)[0] == said


def test_that_nothing_beats_a_constant_is_said_first() -> None:
    said = say_results(ROWS, pairs(ac="better")[:2], decision("best"), ERROR, {**BEATEN, "beaten_by": []})
    assert said[0].startswith("No method is shown to predict better than a constant: always predicting the most")
    assert said[0].endswith("has error 40 %.")
    assert "may be the best" in said[1]


@pytest.mark.parametrize(
    ("repetitions", "said"),
    [
        (5, "5 x 10 folds, about 4 minutes, would show a difference of 1 point in four of five cases (--until-clear)."),
        (None, "To show a difference of 1 point takes more rows; with these, 20 x 10 folds would show 1.7 points."),
    ],
)
def test_what_would_show_more_is_said_last(repetitions: int | None, said: str) -> None:
    plan = {
        "repetitions": repetitions, "folds": 10, "most_repetitions": 20, "seconds": 240.0, "difference": 1.0,
        "shown_difference": 1.7,
    }  # fmt: skip
    assert say_results(ROWS, pairs(), decision("best", worse=[], plan=plan), ERROR, BEATEN)[-1] == said


# --- the answer at the top of the page ---

RMSE = {"name": "rmse", "label": "RMSE", "unit": "", "less_is_better": True}
FIRST = "A has the lowest error: it is wrong for 4.0 of 100 new rows (95 % interval 0.4 to 7.6; always predicting the most frequent class: 40.0)"  # noqa: E501

NONE = "none of the other 2 methods is shown to be worse"


def measured(metric: str = "error") -> list[dict[str, Any]]:
    return [{**row, "metrics": {metric: {"mean": 4.0, "low": 0.42, "high": 7.58}}} for row in ROWS]


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (decision("best"), f"{FIRST}, and B may be as good; the other is worse."),
        (decision("best", may_be_best=["a"], worse=["b", "c"]), f"{FIRST}, and all 2 other methods are worse."),
        (decision("best", may_be_best=["a", "b", "c"], worse=[]), f"{FIRST}, and {NONE}."),
        (decision("baseline"), f"{FIRST}."),
        (None, f"{FIRST}."),
    ],
    ids=["one rival", "clear", "unclear", "baseline", "alone"],
)  # fmt: skip
def test_the_answer_agrees_with_the_decision(asked: dict[str, Any] | None, said: str) -> None:
    assert say_answer(measured(), asked, ERROR, BEATEN) == said


def test_the_answer_in_units_of_the_target() -> None:
    constant = {"label": "always predicting the mean", "error": 12.345, "beaten_by": ["a"]}
    said = say_answer(measured("rmse"), None, RMSE, constant)
    assert (
        said == "A has the lowest RMSE: 4 for new rows (95 % interval 0.42 to 7.58; always predicting the mean: 12.3)."
    )


def test_the_answer_is_that_nothing_was_learned_if_so() -> None:
    said = say_answer(measured(), decision("best"), ERROR, {**BEATEN, "beaten_by": []})
    assert said.startswith("No method is shown to predict better than a constant")


def test_a_method_that_is_better_in_every_fold_is_named_though_the_test_cannot_tell() -> None:
    constant = {**BEATEN, "beaten_by": [], "lower_in_all_splits": ["a tree"], "n_splits": 5}
    said = say_answer(measured(), decision("best"), ERROR, constant)
    assert said.endswith("A tree is better in each of the 5 test folds, by amounts that differ too much for the test.")


def test_many_rivals_are_counted() -> None:
    rows = [{**measured()[0], "name": name, "label": name.upper()} for name in "abcde"]
    said = say_answer(rows, decision("best", may_be_best=list("abcd"), worse=["e"]), ERROR, BEATEN)
    assert said.endswith(", and 3 other methods may be as good; the other is worse.")
