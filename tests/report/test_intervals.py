"""The interval of an error where the folds leave no spread to estimate it from."""

import pytest

from tremula.diagnostics import binomial_interval
from tremula.lab.experiments.cell import Cell, Outcome
from tremula.lab.experiments.result import Result
from tremula.report import summary


def results(*counts: tuple[int, int]) -> list[Result]:
    return [
        Result(Cell("made", "tree", split), Outcome({"error": n_wrong / n_rows}, n_test=n_rows))
        for split, (n_wrong, n_rows) in enumerate(counts)
    ]


def test_folds_with_equally_many_errors_have_the_interval_of_one_test_set() -> None:
    ends = summary._within_percent(0.556, 0.557, results((7, 1258), (7, 1257), (7, 1257)))
    assert ends == pytest.approx([100 * end for end in binomial_interval(21, 3772)])


def test_other_folds_keep_theirs_within_0_and_100() -> None:
    assert summary._within_percent(-1.0, 3.0, results((0, 100), (2, 100))) == (0.0, 3.0)
