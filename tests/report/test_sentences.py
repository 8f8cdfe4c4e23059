"""Sentences: what is said of the leader is true of all pairs."""

from itertools import combinations
from typing import Any

import pytest

from tremula.report.sentences import say_results

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


@pytest.mark.parametrize(
    ("tested", "said"),
    [
        (pairs(), ["No method is shown to be better than the others on this data. A and b."]),
        (pairs(bc="better"), ["A has the lowest mean, but is not shown to differ from B and C."]),
        (pairs(ac="better"), ["A has the lowest mean, but is not shown to differ from B.", "A and c."]),
    ],
    ids=["none", "the others' pair", "a pair of the leader"],
)
def test_what_is_said_of_the_leader(tested: list[dict[str, Any]], said: list[str]) -> None:
    assert say_results(ROWS, tested, ERROR) == said
