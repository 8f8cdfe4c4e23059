"""The ten published rows of Table 1, and the verdict on an error of ours."""

from __future__ import annotations

from collections.abc import Mapping

from tremula.lab.papers.published import read_published
from tremula.lab.papers.verdict import Judgement, judge_cross_validated, judge_on_test_set

PUBLISHED = {(row["domain"], row["method"]): row for row in read_published("dietterich2000_table1").rows}
TEN = tuple(dict.fromkeys(domain for domain, _ in PUBLISHED))


def judge_published(error: float, n_test: int, row: Mapping[str, str]) -> Judgement:
    """Judge an error of ours on so many rows against a published one.

    Examples
    --------
    >>> judge_published(0.0619, 20000, PUBLISHED["letter", "bagged C4.5"]).verdict
    'worse'
    """
    judge = judge_cross_validated if row["estimate"] == "cv10" else judge_on_test_set
    return judge(error, n_test, float(row["error"]), int(row["n"]))
