"""`tremula bench`: everybody does the same work, and what is told of it can be checked."""

import json

import pytest

from tremula.cli.main import EXIT_BAD_INPUT, run
from tremula.lab.speed import RACES, Race, measure


def bench(*words: str) -> int:
    with pytest.raises(SystemExit) as stop:
        run(["bench", *words])
    return int(stop.value.code or 0)


def test_times_ratios_and_errors_are_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert bench("--only", "tree", "--size", "0.03", "--seconds", "0", "--json") == 0
    ours, theirs = json.loads(capsys.readouterr().out)["timings"]
    assert (ours["who"], theirs["who"]) == ("tremula", "scikit-learn")
    assert (ours["work"], ours["ratio"], ours["rounds"]) == ("one tree of 300 rows x 20", 1.0, 3)
    assert theirs["low"] <= theirs["ratio"] <= theirs["high"]


def test_the_table_says_what_a_ratio_is(capsys: pytest.CaptureFixture[str]) -> None:
    assert bench("--only", "tree", "--size", "0.02", "--seconds", "0") == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert "scikit-learn" in printed
    assert "above 1, tremula is faster" in printed


@pytest.mark.parametrize("name", [name for name in RACES if name != "tree"])
def test_everybody_learns_in_every_race(name: str) -> None:
    race = RACES[name](0.1)
    errors = {who: race.error(job()) for who, job in race.jobs.items()}
    assert list(errors)[:2] == ["tremula", "scikit-learn"]
    assert all(error < 0.6 for error in errors.values()), errors  # of three classes: better than guessing


def test_an_unknown_race_gets_a_hint(capsys: pytest.CaptureFixture[str]) -> None:
    assert bench("--only", "tre") == EXIT_BAD_INPUT
    assert "did you mean 'tree'?" in capsys.readouterr().err


def test_all_take_turns() -> None:
    order: list[str] = []
    jobs = {"tremula": lambda: order.append("ours"), "peer": lambda: order.append("theirs")}
    measure(Race("turns", "nothing", jobs, lambda _: 0.0), seconds=0.0)
    assert order == ["ours", "theirs"] * 4
