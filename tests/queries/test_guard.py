"""Rules of disclosure: small counts are suppressed, a budget is never exceeded, and the ledger has every question."""

from __future__ import annotations

import json
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tremula as tm
from tremula.errors import BudgetExhausted, BudgetWarning, InvalidInput, InvalidParameter, QueryRefused
from tremula.queries import ArrayOracle, Condition, GuardedOracle, ItemsetOracle, Question, Schema
from tremula.queries.question import narrow

from .tables import NOMINAL, random_table

EVERYTHING = Question((), (0, 1, 2, 3))


class Counting:
    """Counts the batches and questions that reach an oracle; fails while `fails` is set."""

    def __init__(self, oracle: Any) -> None:
        self.oracle, self.asked, self.fails = oracle, [], False

    @property
    def schema(self) -> Schema:
        return self.oracle.schema

    def count(self, questions: Sequence[Question]) -> list[np.ndarray]:
        if self.fails:
            raise OSError("gone")
        self.asked += questions
        return self.oracle.count(questions)


def behind(target: str = "again") -> Counting:
    table = random_table(0)
    return Counting(
        ArrayOracle(table.drop(columns=["again", "cost"]), table[target], categorical_features=NOMINAL, n_bins=4)
    )


# --- small cells and rounding ---


def test_counts_are_exact_or_shared_by_a_group() -> None:
    """The rows of a group are divided among its values, by the rows that the values have of all classes."""
    X, y = [["a"]] * 60 + [["b"]] * 30 + [["c"]] * 10, ["no"] * 51 + ["yes"] * 47 + ["no"] * 2
    oracle = ArrayOracle(X, y, categorical_features=[0])
    np.testing.assert_array_equal(oracle.count([Question((), (0,))])[0], [[51, 9], [0, 30], [2, 8], [0, 0]])
    answer = GuardedOracle(oracle, min_count=5).count([Question((), (0,))])[0]
    # No, c has 2 rows: it is merged with a, the smallest other level. a has 60 + 0.5 and c 8 + 26.5 rows to begin with.
    assert answer[:, 1].tolist() == [9, 30, 8, 0]
    assert answer[:, 0].tolist() == [round(53 * 35.5 / (35.5 + 34.5)), 0, round(53 * 34.5 / (35.5 + 34.5)), 0]


def test_moments_of_a_group_are_shared() -> None:
    oracle = behind("cost")
    real = oracle.oracle.count([EVERYTHING])[0]
    answer = GuardedOracle(oracle, min_count=25).count([EVERYTHING])[0]
    bins = slice(4, 9)
    assert (real[bins, 0] < 25).any()
    np.testing.assert_allclose(answer[bins].sum(axis=0), real[bins].sum(axis=0))
    assert not np.isclose(answer[bins], real[bins])[real[bins, 0] < 25].all(axis=1).any()


@pytest.mark.parametrize("round_to", [2, 5, 10])
def test_counts_are_rounded_to_the_nearest_multiple(round_to: int) -> None:
    oracle = behind()
    real = oracle.oracle.count([EVERYTHING])[0]
    answer = GuardedOracle(oracle, min_count=0, round_to=round_to).count([EVERYTHING])[0]
    assert (answer % round_to == 0).all()
    assert (2 * np.abs(answer - real) <= round_to).all()


def test_rounding_keeps_the_means_of_a_numeric_target() -> None:
    oracle = behind("cost")
    real = oracle.oracle.count([EVERYTHING])[0]
    answer = GuardedOracle(oracle, min_count=0, round_to=10).count([EVERYTHING])[0]
    left = answer[:, 0] > 0
    assert (answer[:, 0] % 10 == 0).all()
    np.testing.assert_allclose(answer[left, 1] / answer[left, 0], real[left, 1] / real[left, 0])


def test_no_branch_is_for_levels_with_fewer_rows() -> None:
    table = random_table(0, 600)
    X, y = table[NOMINAL], table["again"]
    guarded = GuardedOracle(ArrayOracle(X, y, categorical_features="all"), min_count=6)
    model = tm.SimulatedBaggingClassifier(n_estimators=5, random_state=0).fit(guarded)
    sizes = np.concatenate([tree.weight for tree in model.members_])
    assert sizes[sizes > 0].min() >= 6
    assert model.score(X, y) > 0.5


def test_a_path_with_few_rows_is_not_asked_about() -> None:
    oracle = behind()
    guarded = GuardedOracle(oracle, min_count=20)
    small = Question(narrow((), 0, 0, 0), (1,))  # a colour has about 40 rows of all classes
    guarded.count([EVERYTHING, small])
    assert [question.path for question in oracle.asked] == [()]
    assert guarded.ledger[-1].outcome == "estimated"


def test_joint_sums_of_a_numeric_target_are_refused() -> None:
    guarded = GuardedOracle(behind("cost"), min_count=5)
    with pytest.raises(QueryRefused, match="joint sums of a numeric target are not protected by min_count"):
        guarded.count([Question((), (1, 2), joint=True)])


def test_an_oracle_that_does_not_know_all_counts_is_refused() -> None:
    table = random_table(0)
    mined = ItemsetOracle.mine(table[NOMINAL].astype(str), table["again"], min_support=0.2)
    with pytest.raises(QueryRefused, match="does not know all counts, so small ones cannot be protected"):
        GuardedOracle(mined, min_count=5).count([Question((), (0,))])


def test_joint_questions_can_be_forbidden() -> None:
    oracle = behind()
    guarded = GuardedOracle(oracle, allow_joint=False)
    with pytest.raises(QueryRefused, match="set n_joint_features=1"):
        guarded.count([Question((), (0, 1), joint=True)])
    assert oracle.asked == []
    assert [entry.outcome for entry in guarded.ledger] == ["refused"]


# --- the ledger ---


def test_every_question_is_in_the_ledger_in_words() -> None:
    guarded = GuardedOracle(behind(), min_count=0)
    path = narrow(narrow((), 0, 1, 1), 1, 1, 2)
    guarded.count([EVERYTHING, Question(path, (2,))])
    first, second = guarded.ledger
    cuts = guarded.schema.attributes[1].cuts
    assert first.attributes == ("colour", "size", "flag", "with null")
    assert (first.number, first.path, second.number) == (0, "", 1)
    assert second.path == f"colour = green and {cuts[0]} < size <= {cuts[2]}"
    assert second.time.endswith("+00:00")


def test_a_question_is_asked_once() -> None:
    oracle = behind()
    guarded = GuardedOracle(oracle)
    first, second = guarded.count([EVERYTHING, EVERYTHING])
    (again,) = guarded.count([EVERYTHING])
    assert len(oracle.asked) == 1
    assert len(guarded.ledger) == 1
    np.testing.assert_array_equal(first, again)
    np.testing.assert_array_equal(second, again)


def test_the_ledger_is_a_file_of_json_lines(tmp_path: Path) -> None:
    guarded = GuardedOracle(behind(), min_count=5)
    tm.SimulatedBaggingClassifier(n_estimators=2, max_depth=2, random_state=0).fit(guarded)
    guarded.export_ledger(tmp_path / "ledger.jsonl")
    lines = [json.loads(line) for line in (tmp_path / "ledger.jsonl").read_text(encoding="utf-8").splitlines()]
    assert [line["number"] for line in lines] == list(range(len(guarded.ledger)))
    assert {line["outcome"] for line in lines} == {"answered", "estimated"}
    assert sum(line["suppressed"] for line in lines) > 0


def test_a_ledger_of_no_questions_has_no_lines(tmp_path: Path) -> None:
    GuardedOracle(behind()).export_ledger(tmp_path / "ledger.jsonl")
    assert (tmp_path / "ledger.jsonl").read_text(encoding="utf-8") == ""


def test_a_ledger_that_cannot_be_written_leaves_the_old_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = tmp_path / "ledger.jsonl"
    place.write_text("old", encoding="utf-8")
    guarded = GuardedOracle(behind())

    def full(*_: Any) -> None:
        raise OSError("no space left")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(OSError, match="no space"):
        guarded.export_ledger(place)
    assert place.read_text(encoding="utf-8") == "old"
    assert list(tmp_path.iterdir()) == [place]


# --- the budget ---


def private(oracle: Any, epsilon: float, per_table: float | None = None, **options: Any) -> GuardedOracle:
    pytest.importorskip("opendp")
    return GuardedOracle(oracle, public="all", epsilon=epsilon, epsilon_per_table=per_table, **options)


def test_a_table_costs_its_price_and_paths_that_exclude_one_another_share_it() -> None:
    guarded = private(behind(), 10.0, 0.5)
    guarded.count([Question((), (0, 1, 2))])
    assert guarded.spent == pytest.approx(1.5)
    guarded.count([Question(narrow((), 0, value, value), (1,)) for value in range(3)])
    assert guarded.spent == pytest.approx(2.0)
    guarded.count([Question(narrow((), 0, 0, 0), (2,)), Question(narrow((), 2, 0, 0), (3,))])  # rows may be on both
    assert guarded.spent == pytest.approx(3.0)
    assert guarded.left == pytest.approx(7.0)
    assert sum(entry.cost for entry in guarded.ledger) == pytest.approx(guarded.spent)


def test_asking_the_same_in_other_words_is_paid_for_and_repeating_tells_nothing() -> None:
    """An attacker who averages noise away must phrase a question anew, and pays for each phrase."""
    guarded = private(behind(), 1.9, 0.25, min_count=0)
    whole = narrow((), 0, 0, behind().schema.attributes[0].n_values)  # all values: no condition at all
    phrases = [
        Question((), (0,)),
        Question(whole, (0,)),
        Question((), (0, 1)),
        Question((), (1, 0)),
        Question((), (0, 2)),
    ]
    drawn = []
    for number, phrase in enumerate(phrases):
        if number == 4:
            with pytest.raises(BudgetExhausted):
                guarded.count([phrase])
            break
        drawn.append(guarded.count([phrase])[0][guarded.schema.cells(0)].tolist())
        assert guarded.count([phrase])[0][guarded.schema.cells(0)].tolist() == drawn[-1]
    assert guarded.spent == pytest.approx(0.25 + 0.25 + 0.5 + 0.5)
    assert len({json.dumps(answer) for answer in drawn}) > 1


def test_a_joint_table_costs_one_price() -> None:
    guarded = private(behind(), 10.0, 0.5)
    guarded.count([Question((), (0, 2), joint=True)])
    assert guarded.spent == pytest.approx(0.5)


def test_a_batch_that_costs_more_than_is_left_is_not_sent() -> None:
    oracle = behind()
    guarded = private(oracle, 1.0, 0.4)
    guarded.count([Question((), (0, 1))])
    with pytest.raises(BudgetExhausted, match=r"costs 0.8 of a privacy budget of 1, of which 0.2 is left: nothing"):
        guarded.count([Question((), (2, 3))])
    assert len(oracle.asked) == 1
    assert guarded.spent == pytest.approx(0.8)
    assert [entry.outcome for entry in guarded.ledger] == ["answered", "refused"]
    guarded.count([Question((), (0, 1))])  # a cached answer is free


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 2.5])
@pytest.mark.parametrize("n_joint_features", [1, 2])
def test_a_fit_never_spends_more_than_the_budget(epsilon: float, n_joint_features: int) -> None:
    guarded = private(behind(), epsilon, 0.25)
    model = tm.SimulatedBaggingClassifier(n_estimators=4, n_joint_features=n_joint_features, random_state=0)
    if epsilon < 1:  # the tables of the root cost more
        with pytest.raises(BudgetExhausted):
            model.fit(guarded)
    else:
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            model.fit(guarded)
        # With the larger budget, the noise on the counts decides whether it is used up.
        assert epsilon > 1 or any(issubclass(warning.category, BudgetWarning) for warning in warned)
        assert len(model.members_) == 4
    assert guarded.spent <= epsilon * (1 + 1e-9)
    assert sum(entry.cost for entry in guarded.ledger) == pytest.approx(guarded.spent)


def test_trees_are_kept_when_the_budget_runs_out() -> None:
    guarded = private(behind(), 2.0, 0.5, min_count=0)
    model = tm.SimulatedBaggingClassifier(n_estimators=3, random_state=0)
    with pytest.warns(BudgetWarning, match="the trees end at depth 1: a batch of"):
        model.fit(guarded)
    assert {tree.depth for tree in model.members_} == {1}


def test_noise_has_the_scale_of_its_price() -> None:
    """A discrete Laplace variable of scale b has variance 2 q / (1 - q)² with q = exp(-1 / b)."""
    X, y = np.full((2000, 1), "a", dtype=object), [0, 1] * 1000
    ratio = np.exp(-0.5)
    noisy = []
    guarded = private(ArrayOracle(X, y, categorical_features="all"), 1e6, 0.5, min_count=0, shrink=False)
    for last in range(600):  # paths that all rows are on
        noisy += guarded.count([Question((Condition(0, 0, last),), (0,))])[0][0].tolist()
    expected = np.sqrt(2 * ratio / (1 - ratio) ** 2)
    assert np.mean(noisy) == pytest.approx(1000, abs=5 * expected / np.sqrt(1200))
    assert np.std(noisy) == pytest.approx(expected, rel=0.2)


def test_a_question_that_fails_costs_nothing_and_is_in_the_ledger() -> None:
    oracle = behind()
    guarded = private(oracle, 1.0, 0.4)
    oracle.fails = True
    with pytest.raises(OSError, match="gone"):
        guarded.count([Question((), (0,))])
    assert guarded.spent == 0
    assert [entry.outcome for entry in guarded.ledger] == ["failed"]
    oracle.fails = False
    guarded.count([Question((), (0,))])
    assert guarded.spent == pytest.approx(0.4)


def test_private_counts_are_not_negative() -> None:
    guarded = private(behind(), 4.0, 0.1, min_count=0)
    assert (guarded.count([EVERYTHING])[0] >= 0).all()


def test_values_that_a_path_rules_out_have_no_noise() -> None:
    """Otherwise a tree could split where no row can be."""
    guarded = private(behind(), 4.0, 0.01, min_count=0)
    path = narrow(narrow((), 0, 1, 1), 1, 1, 2)
    margins, joint = guarded.count([Question(path, (0, 1)), Question(path, (1, 0), joint=True)])
    assert set(np.flatnonzero(margins.any(axis=1)).tolist()) <= {1, 5, 6}
    assert set(zip(*(axis.tolist() for axis in joint.any(axis=2).nonzero()))) <= {(1, 1), (2, 1)}


def test_private_trees_of_full_depth_are_grown() -> None:
    guarded = private(behind(), 1000.0, 1.0, min_count=0)  # with much more noise a root may find nothing to split
    model = tm.SimulatedBaggingClassifier(n_estimators=5, random_state=0).fit(guarded)
    assert max(tree.depth for tree in model.members_) > 3


def test_a_budget_with_a_numeric_target_is_refused() -> None:
    with pytest.raises(InvalidInput, match="the target is numeric and its sums are not bounded"):
        GuardedOracle(behind("cost"), public="all", epsilon=1.0)


def test_a_cost_per_table_without_a_budget_is_refused() -> None:
    with pytest.raises(InvalidInput, match="give epsilon, the total budget, too"):
        GuardedOracle(behind(), epsilon_per_table=1.0)


@pytest.mark.parametrize("options", [{"min_count": -1}, {"round_to": 0}, {"epsilon": 0.0}, {"allow_joint": 1}])
def test_options_are_checked(options: dict[str, Any]) -> None:
    with pytest.raises(InvalidParameter, match=next(iter(options))):
        GuardedOracle(behind(), **options)
