"""Every rule that judges a claim can fail: each has an invented table with which its claim holds, and one without."""

from __future__ import annotations

import random
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import Any

import pytest
from tests.lab.papers.open_question_examples import (
    AMOUNT_RULES,
    CONFIDENCE_RULES,
    MEMBER_RULES,
    STUDY_RULES,
    Table,
    changed,
)

from tremula.lab.papers import PAPERS
from tremula.lab.papers.dietterich2000.protocol import BAGGED, BOOSTED, C45, RANDOMIZED
from tremula.lab.papers.frank2006.protocol import BAGGING, PRUNED, UNPRUNED
from tremula.lab.papers.rules import CLAIM_COLUMNS, Finding, Rule, claims_table, exchanged, permuted
from tremula.report.results_summary import read_tables

STUDIES = ("default",)  # studies of our own judge no claims of others


def all_rules() -> dict[str, Rule]:
    """Rules of all papers by paper, group and claim: every tuple of that name in a module of a paper."""
    rules = {}
    for paper in (paper for paper in PAPERS if paper not in STUDIES):
        for found in iter_modules(import_module(PAPERS[paper]).__path__):
            module = import_module(f"{PAPERS[paper]}.{found.name}")
            for group, members in vars(module).items():
                if group.endswith("_RULES"):
                    rules |= {f"{paper}/{group}/{rule.claim}": rule for rule in members}
    return rules


RULES = all_rules()


# --- Geurts (2001) ---


def geurts_row(name: str, tree: float, tree_change: float, bagged: float, bagged_change: float) -> dict[str, Any]:
    return {
        "set": name,
        "tree": tree,
        "tree with noise": tree + tree_change,
        "tree change": tree_change,
        "tree reach": 0.3,
        "bagged": bagged,
        "bagged with noise": bagged + bagged_change,
        "bagged change": bagged_change,
        "bagged reach": 0.2,
    }


TABLE2 = [
    geurts_row("waveform", 24.6, -7.1, 18.2, -3.0),
    geurts_row("two-norm", 19.1, -9.3, 6.4, -3.1),
    geurts_row("letter", 25.3, -2.2, 16.3, -1.8),
    geurts_row("segment", 4.3, -0.1, 2.5, 0.1),
    geurts_row("satellite", 15.6, -1.5, 11.5, -0.1),
    geurts_row("pendigits", 9.0, -1.8, 5.4, -0.8),
]
ONE_OF_SIX = [
    geurts_row(row["set"], row["tree"], -7.1 if row["set"] == "waveform" else 0.1, row["bagged"], 0.0) for row in TABLE2
]
CURVE = [
    {"amount": amount, "error": e, "bias": e / 2, "variance": e / 2, "share_bias": e, "share_variance": 1 - amount / 3}
    for amount, e in zip((0.0, 0.1, 0.25, 0.5, 2.0), (0.20, 0.15, 0.12, 0.16, 0.3))
]
GEURTS_RULES = {
    "noise lowers the error of one tree": (TABLE2, ONE_OF_SIX),
    "one tree with noise beats 25 bagged trees": (TABLE2, changed(TABLE2, {"set": "letter"}, bagged=24.0)),
    "noise lowers the error of bagging": (TABLE2, ONE_OF_SIX),
    "the gains of one tree and of bagging are correlated": (
        TABLE2,
        [
            row | {"bagged change": -float(i)}
            for i, row in enumerate(sorted(TABLE2, key=lambda row: row["tree change"]))
        ],
    ),
}
CURVE_RULES = {
    "error, bias² and variance fall, then rise": (CURVE, changed(CURVE, {"amount": 0.0}, error=0.1)),
    "bias² and variance are least at about λ = 0.25": (CURVE, changed(CURVE, {"amount": 2.0}, variance=0.01)),
    "the variance of class shares falls all the way": (CURVE, changed(CURVE, {"amount": 2.0}, share_variance=0.9)),
}

# --- Frank and Pfahringer (2006) ---


def frank_rows(n_rows: int, n_wins: int, named: dict[str, float]) -> Table:
    """As many datasets, some with a win over bagging, half with one over single trees; the named have their noise."""
    names = [*named, *(f"set {number}" for number in range(n_rows - len(named)))]
    return [
        {
            "dataset": name,
            "noise": named.get(name, 0.29),
            BAGGING: int(number < n_wins),
            UNPRUNED: number % 2,
            PRUNED: number % 2,
        }
        for number, name in enumerate(names)
    ]


CLASS_TABLE = frank_rows(22, 4, {"spambase": 0.0})
NUMBER_TABLE = frank_rows(23, 9, {"2dplanes": 0.3, "ailerons": 0.0, "house-8L": 0.02, "triazines": 0.01})
LOST = changed(CLASS_TABLE, {"dataset": "set 3"}, **{BAGGING: -1})
CLASS_RULES = {
    "significant wins over bagging": (CLASS_TABLE, frank_rows(22, 0, {"spambase": 0.0})),
    "no significant loss to bagging": (CLASS_TABLE, LOST),
    "no significant loss to any method": (CLASS_TABLE, changed(CLASS_TABLE, {"dataset": "set 3"}, **{PRUNED: -1})),
    "a significant win over a single tree on about half of the datasets": (
        CLASS_TABLE,
        [row | {UNPRUNED: 1} for row in CLASS_TABLE],
    ),
    "mean noise of spambase": (CLASS_TABLE, frank_rows(22, 4, {"spambase": 0.1})),
    "no noise is chosen on spambase alone": (CLASS_TABLE, changed(CLASS_TABLE, {"dataset": "set 0"}, noise=0.0)),
    "the largest mean noise is near the end of the grid": (CLASS_TABLE, [row | {"noise": 0.2} for row in CLASS_TABLE]),
}
NUMBER_RULES = {
    "significant wins over bagging": (NUMBER_TABLE, frank_rows(23, 1, {})),
    "at most one significant loss to bagging": (NUMBER_TABLE, [row | {BAGGING: -1} for row in NUMBER_TABLE]),
    "at most three significant losses to one pruned tree": (NUMBER_TABLE, [row | {PRUNED: -1} for row in NUMBER_TABLE]),
    "mean noise of 2dplanes": (NUMBER_TABLE, frank_rows(23, 9, {"2dplanes": 0.04})),
    "mean noise of ailerons": (NUMBER_TABLE, frank_rows(23, 9, {"ailerons": 0.3})),
    "mean noise of house-8L": (NUMBER_TABLE, frank_rows(23, 9, {"house-8L": 0.11})),
    "mean noise of triazines": (NUMBER_TABLE, frank_rows(23, 9, {"triazines": 0.2})),
}
SHARES = [{"smearing share": 0.6, "bagging share": 0.5 + 0.01 * (number % 3)} for number in range(22)]
BIAS_RULES = {
    "smearing has the larger share of bias in bias and variance": (
        SHARES,
        [row | {"smearing share": 0.4} if number % 2 else row for number, row in enumerate(SHARES)],
    ),
}

# --- variance reduction ---

FITS = [
    {"method": "constant", "bias": 10.0, "variance": 0.5},
    {"method": "straight line", "bias": 2.0, "variance": 0.3},
    {"method": "polynomial of degree 9", "bias": 1.0, "variance": 100.0},
    {"method": "tree", "bias": 0.1, "variance": 0.5},
    {"method": "bagged trees", "bias": 0.2, "variance": 0.3},
]
FIT_RULES = {
    "a constant has high bias and low variance": (FITS, changed(FITS, {"method": "constant"}, variance=20.0)),
    "a straight line through highly non-linear data has high bias": (
        FITS,
        changed(FITS, {"method": "straight line"}, bias=0.2),
    ),
    "a polynomial of high degree has high variance": (
        FITS,
        changed(FITS, {"method": "polynomial of degree 9"}, bias=100.0),
    ),
    "averaging lowers the variance": (FITS, changed(FITS, {"method": "bagged trees"}, variance=0.6)),
}
NEIGHBOURS = [
    {"dataset": name, "learner": learner, "low": low, "high": low + 0.01}
    for name in ("glass", "waveform")
    for learner, low in (("tree", -0.1), ("nearest neighbour", 0.01))
]
NEIGHBOUR_RULES = {
    "bagging helps unstable learners, such as trees": (
        NEIGHBOURS,
        changed(NEIGHBOURS, {"dataset": "glass", "learner": "tree"}, high=0.02),
    ),
    "bagging can hurt stable learners, such as nearest neighbours": (
        NEIGHBOURS,
        changed(NEIGHBOURS, {"learner": "nearest neighbour"}, low=-0.01),
    ),
}

# --- Dietterich (2000) ---


def pair(method: str, against: str, wins: int, losses: int, noise: str = "0 %") -> dict[str, Any]:
    return {"method": method, "against": against, "wins": wins, "losses": losses, "noise": noise}


WINS = [pair(RANDOMIZED, C45, 14, 0), pair(BAGGED, C45, 11, 0), pair(BOOSTED, C45, 17, 0), pair(BAGGED, BOOSTED, 1, 8)]
NOISY_WINS = [
    pair(BOOSTED, C45, 6, 0),
    pair(BOOSTED, C45, 3, 3, "5 %"),
    pair(BOOSTED, C45, 3, 6, "20 %"),
    pair(BAGGED, BOOSTED, 6, 0, "20 %"),
]
DIETTERICH2 = {
    "no ensemble is significantly worse than C4.5 on any domain": (
        WINS,
        changed(WINS, {"method": BOOSTED, "against": C45}, losses=1),
    ),
    "boosting is ahead of bagging without noise": (WINS, changed(WINS, {"against": BOOSTED}, wins=8, losses=1)),
}
DIETTERICH3 = {
    "with 20 % noise bagging is ahead of boosting": (
        NOISY_WINS,
        changed(NOISY_WINS, {"against": BOOSTED}, wins=3, losses=3),
    ),
    "the lead of boosting over C4.5 shrinks with noise": (
        NOISY_WINS,
        changed(NOISY_WINS, {"against": C45, "noise": "20 %"}, wins=3, losses=3),
    ),
}
WEIGHTS = [
    {"round": number, "corrupted": share, "other": 0.6}
    for number, share in ((1, 0.6), (5, 0.5), (10, 2.0), (20, 2.5), (40, 2.4), (100, 2.5))
]
WEIGHT_RULES = {
    "AdaBoost puts more weight on corrupted rows": (WEIGHTS, changed(WEIGHTS, {"round": 20}, corrupted=0.5)),
}
KAPPA = [
    {"method": method, "noisy": noisy, "kappa": kappa + noisy, "member": error, "error": error + noisy}
    for noisy in (False, True)
    for method, kappa, error in ((RANDOMIZED, 0.7, 0.02), (BAGGED, 0.8, 0.01), (BOOSTED, 0.3, 0.1))
]
KAPPA_RULES = {
    "boosting has the most diverse members": (KAPPA, changed(KAPPA, {"method": BAGGED, "noisy": False}, kappa=0.1)),
    "boosting has the least accurate members": (KAPPA, changed(KAPPA, {"method": BAGGED, "noisy": False}, member=0.2)),
    "with 20 % noise boosting is the worst of the three": (
        KAPPA,
        changed(KAPPA, {"method": RANDOMIZED, "noisy": True}, error=2.0),
    ),
}

# --- Van Assche and Blockeel (2006) ---

AGAINST = [
    {"dataset": name, "method": "SB", "outcome": int(name == "soybean")} for name in ("vote", "soybean", "splice")
]
SIZES = [{"dataset": name, "SB": 3000, "SB_stop": 2000, "Bag": 1000} for name in ("vote", "soybean", "splice")]
AGAINST_RULES = {
    "simulated bagging is as accurate as bagging": (AGAINST, changed(AGAINST, {"dataset": "vote"}, outcome=-1)),
}
SIZE_RULES = {
    "simulated bagging has larger trees than bagging": (SIZES, changed(SIZES, {"dataset": "vote"}, Bag=3000)),
    "the adapted stopping rule makes trees smaller": (SIZES, changed(SIZES, {"dataset": "vote"}, SB_stop=3000)),
    "with the adapted stopping rule trees stay larger than those of bagging": (
        SIZES,
        [row | {"Bag": 2000} for row in SIZES],
    ),
}

LEVELS = [{"dataset": f"set {n}", "level": 1, "SB": 1.0 + n, "Bag": 1.0 + n} for n in range(10)]
TEST_RULES = {
    "both methods have as many different tests at a level": (LEVELS, [row | {"SB": 2 * row["Bag"]} for row in LEVELS]),
}
BEST = [{"attribute": name, "best": share} for name, share in (("A", 0.7), ("B", 0.29), ("C", 0.01))]
FIGURE_RULES = {
    "C is hardly ever the best test": (BEST, changed(BEST, {"attribute": "C"}, best=0.2)),
}

EXAMPLES: dict[str, tuple[Table, Table]] = {
    f"{group}/{claim}": tables
    for group, examples in {
        "geurts2001/TABLE2_RULES": GEURTS_RULES,
        "geurts2001/CURVE_RULES": CURVE_RULES,
        "frank2006/CLASS_RULES": CLASS_RULES,
        "frank2006/NUMBER_RULES": NUMBER_RULES,
        "frank2006/BIAS_RULES": BIAS_RULES,
        "frank2006/AMOUNT_RULES": AMOUNT_RULES,
        "variance_reduction/FIT_RULES": FIT_RULES,
        "variance_reduction/NEIGHBOUR_RULES": NEIGHBOUR_RULES,
        "dietterich2000/TABLE2_RULES": DIETTERICH2,
        "dietterich2000/TABLE3_RULES": DIETTERICH3,
        "dietterich2000/WEIGHT_RULES": WEIGHT_RULES,
        "dietterich2000/KAPPA_RULES": KAPPA_RULES,
        "vanassche2006/AGAINST_RULES": AGAINST_RULES,
        "vanassche2006/SIZE_RULES": SIZE_RULES,
        "vanassche2006/TEST_RULES": TEST_RULES,
        "vanassche2006/FIGURE_RULES": FIGURE_RULES,
        "dietterich2000/CONFIDENCE_RULES": CONFIDENCE_RULES,
        "dietterich2000/MEMBER_RULES": MEMBER_RULES,
        "geurts2001/STUDY_RULES": STUDY_RULES,
    }.items()
    for claim, tables in examples.items()
}


@pytest.mark.parametrize("name", RULES)
def test_a_rule_fails_on_an_invented_result(name: str) -> None:
    holding, failing = EXAMPLES[name]  # a rule without examples fails here
    assert RULES[name].judge(holding).verdict == "holds"
    assert RULES[name].judge(failing).verdict == "does not hold"


@pytest.mark.parametrize("name", RULES)
def test_a_rule_rejects_some_shuffled_tables(name: str) -> None:
    power = RULES[name].power(EXAMPLES[name][0])
    assert power is not None
    assert 0 < power <= 1
    assert RULES[name].power(EXAMPLES[name][0]) == power


def test_every_example_belongs_to_a_rule() -> None:
    assert set(EXAMPLES) == set(RULES)


def test_every_claim_on_a_page_is_judged_by_one_of_these_rules() -> None:
    results = Path(__file__).parents[3] / "docs" / "results"
    for paper in (paper for paper in PAPERS if paper not in STUDIES):
        tables = [table for table in read_tables(results / paper) if tuple(table.columns) == CLAIM_COLUMNS]
        assert tables, paper
        claims = tuple(rule.claim for name, rule in RULES.items() if name.startswith(paper))
        for row in (row for table in tables for row in table.rows):
            assert row[0].startswith(claims)  # after the claim there may be words on which form or reading was judged


def test_leads_over_different_numbers_of_domains_are_not_compared() -> None:
    rule = RULES["dietterich2000/TABLE3_RULES/the lead of boosting over C4.5 shrinks with noise"]
    rows = [row | {"domains": 9 if row["noise"] == "0 %" else 5} for row in NOISY_WINS]
    assert rule.judge(rows).holds is None
    assert rule.judge([row | {"domains": 9} for row in NOISY_WINS]).holds is True


def test_noise_that_helps_one_set_alone_confirms_none_of_the_claims_about_noise() -> None:
    rules = [rule for name, rule in RULES.items() if name.startswith("geurts2001/TABLE2_RULES")]
    holding = [rule.claim for rule in rules if rule.judge(ONE_OF_SIX).holds]
    assert holding == ["one tree with noise beats 25 bagged trees"]  # true of the waveform of this table


def test_power_is_the_share_of_wrong_outcomes_that_are_rejected() -> None:
    rows = [{"error": error} for error in (0.1, 0.2)]
    swap = permuted("error")
    strict = Rule("first is best", "", "", lambda rows: Finding("", rows[0]["error"] < rows[1]["error"]), swap)
    idle = Rule("anything", "", "", lambda rows: Finding("", True), swap)
    assert strict.power(rows) == 1.0
    assert idle.power(rows) == 0.0
    assert Rule("one", "", "", strict.judge, swap).power([{"error": 0.1}]) is None


def test_an_exchange_leaves_half_of_the_rows() -> None:
    shuffle = exchanged(lambda row: {"sign": -row["sign"]})
    signs = [row["sign"] for row in shuffle([{"sign": 1}] * 1000, random.Random(0))]
    assert 400 < signs.count(-1) < 600


def test_a_claim_is_shown_with_what_would_break_it_and_its_power() -> None:
    rule = RULES["geurts2001/TABLE2_RULES/noise lowers the error of one tree"]
    table = claims_table("claims", "Claims", [rule], TABLE2, "errors are exchanged.")
    assert table.rows[0][3:5] == ["holds", rule.fails_if]
    assert float(table.rows[0][5]) > 0.9
    assert table.notes[-1].endswith("errors are exchanged.")
    assert claims_table("claims", "Claims", [rule], [], "").rows == []
