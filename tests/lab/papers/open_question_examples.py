"""Invented tables for the rules of questions that the papers leave open: one holds, one does not."""

from __future__ import annotations

import random
from typing import Any

from tremula.lab.papers.dietterich2000.protocol import BAGGED, C45
from tremula.lab.papers.frank2006.amounts import ASKED
from tremula.lab.papers.geurts2001.study import PREDICTORS
from tremula.lab.papers.geurts2001.study_tables import GAINS
from tremula.lab.studies.default.halves import half

Table = list[dict[str, Any]]


def changed(rows: Table, which: dict[str, Any], **values: Any) -> Table:
    """Return the table with other values in the rows that have some values."""
    matches = [all(row[name] == value for name, value in which.items()) for row in rows]
    assert any(matches)
    return [{**row, **values} if match else row for row, match in zip(rows, matches)]


CONFIDENCE = [
    {"domain": f"set {n}", "method": method, "confidence": "0.25", "change": 0.002 * (-1) ** n, "better": False,
     "worse": False}
    for n in range(10)
    for method in (C45, BAGGED)
]  # fmt: skip
CONFIDENCE_RULES = {
    "weaker pruning makes no difference on a domain": (
        CONFIDENCE,
        changed(CONFIDENCE, {"method": BAGGED}, better=True),
    ),
    "weaker pruning makes no difference to ensembles in the mean": (
        CONFIDENCE,
        changed(CONFIDENCE, {"method": BAGGED}, change=-0.01),
    ),
}


def study_table(predictor: str, sign: float) -> Table:
    """Gains that follow one predictor."""
    draw = random.Random(0)
    rows = []
    for name in (f"set {n}" for n in range(40)):
        known = {each: draw.random() for each in PREDICTORS}
        gain = sign * known[predictor]
        rows.append({"dataset": name, "half": half(name), **dict.fromkeys(GAINS.values(), gain), **known})
    return rows


def judged_turned(rows: Table) -> Table:
    """The same with the opposite gains on the judged half."""
    return [row | {gain: -row[gain] for gain in GAINS.values()} if row["half"] == "judged" else row for row in rows]


STUDY_RULES = {
    "one tree gains more where thresholds make more of its variance": (
        study_table("threshold_share", 1),
        study_table("threshold_share", -1),
    ),
    "one tree gains more where the boundary is longer": (study_table("boundary", 1), study_table("leaves", 1)),
    "one tree gains less where there is more noise": (study_table("noise", -1), study_table("noise", 1)),
    "what predicts the gain of one tree on the deciding half does so on the judged half": (
        study_table("distinct", 1),
        judged_turned(study_table("distinct", 1)),
    ),
    "what predicts the gain of 25 bagged trees on the deciding half does so on the judged half": (
        study_table("distinct", -1),
        judged_turned(study_table("distinct", -1)),
    ),
}

MEMBERS = [
    {"domain": f"set {n}", "method": BAGGED, "ten": 0.3, "usual": 0.2 + 0.001 * n, "all": 0.2, "rows": 1000}
    for n in range(8)
]
NOISY_MEMBERS = [{"domain": f"set {n}", "bagged": 0.3 + 0.01 * n, "boosted": 0.29} for n in range(5)]
MEMBER_RULES = {
    "50, 50 and 40 members are as good as 200, 200 and 100": (
        MEMBERS,
        [row | {"all": 0.15 if number % 2 else 0.2} for number, row in enumerate(MEMBERS)],
    ),
    "larger ensembles overcome class noise": (NOISY_MEMBERS, [row | {"boosted": 0.4} for row in NOISY_MEMBERS]),
}
RATIOS = [{"dataset": f"set {n}", **dict.fromkeys(ASKED, 0.9 + 0.001 * n)} for n in range(12)]
WORSE_RATIOS = [row | dict.fromkeys(ASKED, 1.1) for row in RATIOS]
AMOUNT_RULES = {
    f"{words} lowers the error of smearing": (RATIOS, WORSE_RATIOS)
    for words in ("a choice among amounts up to 1", "a distribution chosen by the data", "an amount for each attribute")
}
