"""A ledger file outlives guards and processes: no budget is spent twice, and nothing is disclosed in two forms."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tremula as tm
from tremula.errors import BudgetExhausted, FileDamaged, InvalidInput
from tremula.queries import ArrayOracle, Condition, GuardedOracle, Question
from tremula.queries.question import narrow

from .test_differencing import SCHEMA, attack, small_table

EVERYTHING = Question((), (0, 1, 2))
COST = 0.01


@pytest.fixture
def place(tmp_path: Path) -> Path:
    pytest.importorskip("fcntl")
    return tmp_path / "visits.ledger"


def private(place: Path, **options: Any) -> GuardedOracle:
    pytest.importorskip("opendp")
    rules: dict[str, Any] = {"min_count": 0, "epsilon": 2.0, "epsilon_per_table": 0.25}
    return GuardedOracle(small_table(0, 200)[0], ledger_file=place, **rules | options)


def test_a_new_guard_continues_with_the_budget_and_the_answers(place: Path) -> None:
    first = private(place)
    (answer,) = first.count([EVERYTHING])
    second = private(place)
    assert second.spent == pytest.approx(0.75)
    np.testing.assert_array_equal(second.count([EVERYTHING])[0], answer)
    assert second.spent == pytest.approx(0.75)
    second.count([Question(narrow((), 0, 1, 1), (1, 2))])
    assert second.spent == pytest.approx(1.25)
    with pytest.raises(BudgetExhausted, match=r"of which 0.75 is left"):
        first.count(
            [Question(narrow((), 0, attribute, attribute), (1, 2)) for attribute in range(2)]
            + [Question(narrow((), 2, 0, 0), (0, 1))]
        )


def test_a_cost_is_on_disk_before_noise_is_drawn(place: Path) -> None:
    guarded = private(place)

    def crash(counts: Any) -> Any:
        raise MemoryError("no memory for noise")

    object.__setattr__(guarded._budget, "add_noise", crash)
    for n_times in (1, 2):
        with pytest.raises(MemoryError):
            guarded.count([EVERYTHING])
        assert private(place).spent == pytest.approx(0.75 * n_times)


def test_a_line_that_was_cut_is_removed(place: Path) -> None:
    private(place).count([EVERYTHING])
    whole = place.read_bytes()
    place.write_bytes(whole + b'{"schema": "x", "co')
    guarded = private(place)
    assert guarded.spent == pytest.approx(0.75)
    guarded.count([Question((), (0, 1), joint=True)])
    assert place.read_bytes().startswith(whole + b'{"schema"')
    assert private(place).spent == pytest.approx(1.0)


@pytest.mark.parametrize("options", [{"epsilon": 3.0}, {"rows_per_person": 2}, {"min_count": 1}])
def test_other_rules_are_refused(place: Path, options: dict[str, Any]) -> None:
    private(place)
    (name,) = options
    with pytest.raises(InvalidInput, match=f"belongs to other rules: {name} was .* and is {options[name]}"):
        private(place, **options)


@pytest.mark.parametrize("content", [b"[]\n", b"{}\n", b"visits\n"])
def test_another_file_is_refused(place: Path, content: bytes) -> None:
    place.write_bytes(content)
    with pytest.raises(FileDamaged, match=r"is not a ledger|not JSON"):
        private(place)
    assert place.read_bytes() == content


def test_a_file_that_became_shorter_is_refused(place: Path) -> None:
    guarded = private(place)
    guarded.count([EVERYTHING])
    place.write_bytes(place.read_bytes().splitlines(keepends=True)[0])
    with pytest.raises(FileDamaged, match="has become shorter"):
        guarded.count([EVERYTHING])


def test_a_file_that_was_replaced_is_refused(place: Path) -> None:
    guarded = private(place)
    guarded.count([EVERYTHING])
    other = place.with_name("other")
    other.write_bytes(place.read_bytes().splitlines(keepends=True)[0] + b"{}\n" * 4000)
    other.replace(place)
    with pytest.raises(FileDamaged, match="was replaced while it was in use"):
        guarded.count([Question((Condition(0, 0, 1),), (1,))])


def test_a_deleted_file_does_not_renew_the_budget_of_a_guard(place: Path) -> None:
    guarded = private(place)
    guarded.count([EVERYTHING])
    place.unlink()
    for _ in range(2):
        with pytest.raises(FileDamaged):
            guarded.count([Question((Condition(0, 0, 1),), (1,))])


def test_a_full_disk_gives_no_answer_and_no_budget(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    guarded = private(place)
    write = os.pwrite

    def write_half(descriptor: int, line: bytes, offset: int) -> int:
        write(descriptor, line[: len(line) // 2], offset)
        raise OSError("no space left on device")

    with monkeypatch.context() as context:
        context.setattr(os, "pwrite", write_half)
        with pytest.raises(OSError, match="no space"):
            guarded.count([EVERYTHING])
    assert private(place).spent == 0.0
    guarded.count([EVERYTHING])
    assert private(place).spent == pytest.approx(0.75)
    assert guarded.spent >= 0.75 - 1e-9


def test_a_fit_that_is_repeated_pays_once(place: Path) -> None:
    model = tm.SimulatedBaggingClassifier(n_estimators=3, max_depth=2, random_state=0)
    rules: dict[str, Any] = {"epsilon": 100.0, "epsilon_per_table": 1.0}
    with pytest.MonkeyPatch.context() as context:
        context.setattr("tremula.queries.growing._make_branches", _fail)
        with pytest.raises(KeyboardInterrupt):
            model.fit(private(place, **rules))
    first = private(place, **rules).spent
    trees = model.fit(private(place, **rules)).members_
    spent = private(place, **rules).spent
    assert 0 < first < spent
    assert model.fit(private(place, **rules)).members_ == trees
    assert private(place, **rules).spent == spent


def _fail(*_: Any) -> Any:
    raise KeyboardInterrupt


class Interruption:
    """Raises KeyboardInterrupt at one of the lines that the guard and its ledger run, counted from the first."""

    FILES = ("queries/guard.py", "queries/ledger_file.py", "queries/ledger.py")

    def __init__(self, number: int) -> None:
        self.number, self.n_lines = number, 0

    def __enter__(self) -> Interruption:
        sys.settrace(self._follow)
        return self

    def __exit__(self, *_: object) -> None:
        sys.settrace(None)

    def _follow(self, frame: Any, event: str, _: Any) -> Any:
        return self._count if frame.f_code.co_filename.endswith(self.FILES) else None

    def _count(self, frame: Any, event: str, _: Any) -> Any:
        if event == "line":
            self.n_lines += 1
            if self.n_lines == self.number:
                raise KeyboardInterrupt
        return self._count


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")
def test_an_interruption_at_any_line_does_not_give_budget_back(tmp_path: Path) -> None:
    """The budget is for four tables. Whoever is interrupted and asks on never gets a fifth."""
    pytest.importorskip("fcntl")
    questions = [Question((Condition(0, 0, last),), (1,)) for last in range(1, 7)]
    number, is_over = 0, False
    while not is_over:
        number += 1
        place = tmp_path / f"{number}.ledger"
        rules: dict[str, Any] = {"epsilon": 1.0, "epsilon_per_table": 0.25, "shrink": False}
        first, second = private(place, **rules), private(place, **rules)
        second.count(questions[:1])
        answered = {questions[0]}
        with Interruption(number) as interruption:
            try:
                first.count([questions[1]])
                answered.add(questions[1])
            except KeyboardInterrupt:
                pass
        is_over = interruption.n_lines < number
        for guarded in (first, second, private(place, **rules)):
            for question in questions:
                try:
                    guarded.count([question])
                    answered.add(question)
                except (BudgetExhausted, FileDamaged):
                    continue
        assert len(answered) <= 4, number
        assert private(place, **rules).spent <= 1.0 + 1e-9
    assert number > 30


# --- disclosed trees ---


def test_guards_of_one_file_disclose_one_tree(place: Path) -> None:
    oracle, counts = small_table(1, 400)
    guards = [GuardedOracle(oracle, min_count=4, ledger_file=place) for _ in range(2)]
    questions = [Question(narrow((), attribute, 0, 1), (0, 1, 2)) for attribute in (0, 2, 1)]
    answers = [guards[turn % 2].count([question])[0] for turn, question in enumerate(questions)]
    for number, guarded in enumerate(guards):
        tm.SimulatedBaggingClassifier(n_estimators=3, random_state=number).fit(guarded)
    later = GuardedOracle(oracle, min_count=4, ledger_file=place)
    for answer, again in zip(answers, later.count(questions)):
        np.testing.assert_array_equal(again, answer)
    assert attack(later, counts, 400, 6, 4) > 0


def test_a_start_that_was_cut_is_completed(place: Path) -> None:
    oracle, _ = small_table(1, 400)
    (answer,) = GuardedOracle(oracle, min_count=4, ledger_file=place).count([EVERYTHING])
    header, first, *_ = place.read_bytes().splitlines(keepends=True)
    place.write_bytes(header + first)
    (again,) = GuardedOracle(oracle, min_count=4, ledger_file=place).count([EVERYTHING])
    np.testing.assert_array_equal(again, answer)


def test_a_guard_that_meets_other_cuts_never_answers_again(place: Path) -> None:
    X, y = np.arange(100.0)[:, None], np.arange(100) % 2
    first, second = (GuardedOracle(ArrayOracle(X, y, n_bins=n_bins), ledger_file=place) for n_bins in (4, 5))
    first.count([Question((), (0,))])
    for _ in range(2):
        with pytest.raises(InvalidInput, match="has counts of other levels or cuts"):
            second.count([Question((), (0,))])


def test_stored_answers_need_no_rows(place: Path) -> None:
    oracle, _ = small_table(1, 400)
    model = tm.SimulatedBaggingClassifier(n_estimators=3, random_state=0)
    members = model.fit(GuardedOracle(oracle, min_count=4, ledger_file=place)).members_
    empty = ArrayOracle.from_codes(SCHEMA, np.empty((3, 0), dtype=np.int32), np.empty(0, dtype=np.int32))
    assert model.fit(GuardedOracle(empty, min_count=4, ledger_file=place)).members_ == members


def test_no_small_count_is_in_the_file(place: Path) -> None:
    guarded = GuardedOracle(small_table(1, 600)[0], min_count=4, ledger_file=place)
    tm.SimulatedBaggingClassifier(n_estimators=3, random_state=0).fit(guarded)
    records = [json.loads(line) for line in place.read_text(encoding="utf-8").splitlines()]
    divisions = [record["division"] for record in records if "division" in record]
    tables = [table for division in divisions for part in division["parts"] for table in part["totals"]]
    counts = np.concatenate([np.array(table)[:, 0] for table in tables])
    assert len(counts) > 50
    assert ((counts == 0) | (counts >= 4)).all()


def test_other_cuts_are_refused(place: Path) -> None:
    X, y = np.arange(100.0)[:, None], np.arange(100) % 2
    GuardedOracle(ArrayOracle(X, y, n_bins=4), ledger_file=place).count([Question((), (0,))])
    with pytest.raises(InvalidInput, match="has counts of other levels or cuts"):
        GuardedOracle(ArrayOracle(X, y, n_bins=5), ledger_file=place)


def test_a_budget_is_kept_with_other_cuts(place: Path) -> None:
    pytest.importorskip("opendp")
    X, y = np.arange(100.0)[:, None], np.arange(100) % 2
    for number, n_bins in enumerate((4, 5), start=1):
        guarded = GuardedOracle(
            ArrayOracle(X, y, n_bins=n_bins), public="all", epsilon=1.0, epsilon_per_table=0.2, ledger_file=place
        )
        guarded.count([Question((), (0,))])
        assert guarded.spent == pytest.approx(0.2 * number)


# --- processes ---


def start(place: Path, first: int) -> subprocess.Popen[str]:
    job = [sys.executable, "-m", "tests.queries.ledger_job", str(place), str(first)]
    root = Path(__file__).parents[2]
    return subprocess.Popen(job, stdout=subprocess.PIPE, text=True, cwd=root)


def run_jobs(place: Path, n_jobs: int, kill_after: int | None) -> int:
    """Run processes at the same time, kill the first once it has some answers, and count the answers of all."""
    jobs = [start(place, 1000 * number) for number in range(n_jobs)]
    n_answers = 0
    if kill_after is not None:
        assert jobs[0].stdout is not None
        jobs[0].stdout.readline()
        for _ in range(kill_after):  # lines are empty if the other process has spent the budget before
            n_answers += "True" in jobs[0].stdout.readline()
        jobs[0].kill()
    for job in jobs:
        told, _ = job.communicate(timeout=60)
        n_answers += told.count("True")
        assert "False" not in told
    return n_answers


def test_guards_in_two_threads_do_not_spend_more_than_the_budget(place: Path) -> None:
    guards = [private(place, epsilon_per_table=0.1) for _ in range(2)]

    def spend(number: int) -> int:
        for n_answers in range(100):
            try:
                guards[number].count([Question((Condition(0, number, n_answers + 2),), (1,))])
            except BudgetExhausted:
                return n_answers
        return 100

    with ThreadPoolExecutor(2) as pool:
        assert sum(pool.map(spend, range(2))) == 20
    assert private(place, epsilon_per_table=0.1).spent == pytest.approx(2.0)


@pytest.mark.slow
def test_two_processes_do_not_spend_more_than_the_budget(place: Path) -> None:
    pytest.importorskip("opendp")
    n_answers = run_jobs(place, 2, kill_after=3)
    guarded = private(place, epsilon_per_table=COST)
    assert 0 < n_answers * COST <= guarded.spent + 1e-9 <= 2.0 + 2e-9
    assert guarded.spent == pytest.approx(2.0)


@pytest.mark.slow
def test_kills_do_not_give_budget_back(place: Path) -> None:
    pytest.importorskip("opendp")
    n_answers = 0
    for number in range(12):
        job = start(place, 1000 * number)
        assert job.stdout is not None
        lines = [job.stdout.readline() for _ in range(3 + number)]
        job.kill()
        told, _ = job.communicate()
        n_answers += "".join([*lines, told]).count("True")
        assert n_answers * COST <= private(place, epsilon_per_table=COST).spent + 1e-9
    assert private(place, epsilon_per_table=COST).spent <= 2.0 + 1e-9


def test_a_question_after_the_budget_is_refused_without_asking(place: Path) -> None:
    guarded = private(place, epsilon=0.3)
    guarded.count([Question((), (0,))])
    with pytest.raises(BudgetExhausted):
        private(place, epsilon=0.3).count([Question((Condition(0, 0, 1),), (1,))])
