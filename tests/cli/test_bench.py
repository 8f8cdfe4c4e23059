"""`tremula bench`: everybody does the same work, and what is told of it can be checked."""

import json
import re

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier

from tremula.cli.exit_codes import EXIT_BAD_INPUT
from tremula.cli.main import run
from tremula.lab import forest_peers
from tremula.lab.forest_peers import forest_makers
from tremula.lab.speed import RACES, Race, make_rows, measure


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


def test_forests_are_compared_in_plain_words(capsys: pytest.CaptureFixture[str]) -> None:
    assert bench("--only", "forest,predict", "--size", "0.03", "--seconds", "0") == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert re.search(r"Fitting a forest, tremula is [\d.]+ times as fast as scikit-learn", printed)
    assert re.search(r"Predicting with a forest, tremula is [\d.]+ times as fast as scikit-learn", printed)


def test_every_library_is_measured_or_named_with_the_reason(capsys: pytest.CaptureFixture[str]) -> None:
    assert bench("--only", "forest", "--size", "0.03", "--seconds", "0", "--json") == 0
    report = json.loads(capsys.readouterr().out)
    measured = [timing["who"] for timing in report["timings"]]
    assert sorted([*measured, *report["left_out"]]) == [
        "LightGBM", "XGBoost", "YDF", "scikit-learn", "scikit-learn-intelex", "tremula",
    ]  # fmt: skip


def test_a_library_that_is_not_installed_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forest_peers, "find_spec", lambda name: None)
    peers = forest_makers(5, 100, 20)
    assert list(peers.makers) == ["tremula", "scikit-learn"]
    assert set(peers.left_out.values()) == {"not installed"}
    assert len(peers.left_out) == 4


def test_an_intelex_that_runs_scikit_learns_code_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("sklearnex")
    monkeypatch.setattr("sklearnex.ensemble.RandomForestClassifier", RandomForestClassifier)
    peers = forest_makers(5, 100, 20)
    assert "scikit-learn-intelex" not in peers.makers
    assert "scikit-learn's own code" in peers.left_out["scikit-learn-intelex"]


def test_forests_have_equal_members_and_full_trees() -> None:
    rows = make_rows(400)
    sizes = {}
    for who, make in forest_makers(5, *rows.X.shape).makers.items():
        model = make().fit(rows.X, rows.y)
        right = np.mean(np.asarray(model.predict(rows.X)) == rows.y)
        assert right > 0.9, who  # full trees nearly know their training rows
        sizes[who] = [getattr(model, "n_estimators", 5), getattr(model, "max_features", 4)]
    assert sizes["tremula"] == sizes["scikit-learn"] == [5, 4]


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
