"""`tremula predict` with intervals, quantiles and sets: the columns, the training rows, and mistakes."""

import csv
import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import tremula as tm
from tremula.cli.exit_codes import EXIT_BAD_INPUT
from tremula.cli.main import run


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with rows and two models trained on them by the command."""
    folder = tmp_path_factory.mktemp("made")
    random = np.random.default_rng(0)
    rows = pd.DataFrame({"size": random.normal(size=240), "colour": random.choice(["red", "blue"], 240)})
    rows["note"] = range(240)
    rows["cost"] = 2 * rows["size"] + (rows["colour"] == "red") + 0.3 * random.normal(size=240)
    rows["kind"] = np.where(rows["cost"] + random.normal(size=240) > 0, "dear", "cheap")
    rows.loc[5, ["cost", "kind"]] = None
    rows[:160].to_csv(folder / "rows.csv", index=False)
    rows[160:].to_csv(folder / "new.csv", index=False)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        for target, other, file in (("cost", "kind", "number.tremula"), ("kind", "cost", "class.tremula")):
            words = ("--target", target, "--drop", f"note,{other}", "--method", "random-forest", "--out", file)
            assert code_of("fit", "rows.csv", *words) == 0
    return folder


@pytest.fixture(autouse=True)
def _in_a_copy_of_the_folder(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(made, tmp_path / "here")
    monkeypatch.chdir(tmp_path / "here")


def code_of(*words: str) -> int:
    with pytest.raises(SystemExit) as stop:
        run(words)
    return int(stop.value.code or 0)


def as_json(capsys: pytest.CaptureFixture[str], *words: str) -> Any:
    assert code_of(*words, "--json") == 0
    return json.loads(capsys.readouterr().out)


def uncertainty_of(file: str, target: str) -> tuple[tm.Uncertainty, pd.DataFrame]:
    rows = pd.read_csv("rows.csv").dropna()
    kinds = {"colour": pd.CategoricalDtype(sorted(rows["colour"].unique()))}
    given, new = (frame[["size", "colour"]].astype(kinds) for frame in (rows, pd.read_csv("new.csv")))
    return tm.Uncertainty(tm.load(file), given, rows[target].to_numpy()), new


def test_intervals_and_quantiles_are_columns(capsys: pytest.CaptureFixture[str]) -> None:
    words = ("predict", "number.tremula", "new.csv", "--interval", "0.9", "--quantiles", "0.1, 0.5")
    answers = as_json(capsys, *words)
    assert list(answers) == ["prediction", "lower", "upper", "quantile 0.1", "quantile 0.5"]
    uncertainty, new = uncertainty_of("number.tremula", "cost")
    bounds = np.array([answers["lower"], answers["upper"]]).T
    np.testing.assert_allclose(bounds, uncertainty.predict_interval(new, 0.9))
    np.testing.assert_allclose(answers["quantile 0.1"], uncertainty.predict_quantiles(new, [0.1])[:, 0])


def test_sets_are_a_column(capsys: pytest.CaptureFixture[str]) -> None:
    answers = as_json(capsys, "predict", "class.tremula", "new.csv", "--set", "0.95")
    uncertainty, new = uncertainty_of("class.tremula", "kind")
    sets = uncertainty.predict_set(new, 0.95)
    assert [each == "cheap | dear" for each in answers["set"]] == sets.all(axis=1).tolist()
    assert {"cheap", "dear", "cheap | dear"} >= set(answers["set"])


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("number.tremula", "--interval", "0.9"), "The interval contains the target in "),
        (("class.tremula", "--set", "0.9"), "The set contains the target in "),
    ],
)
def test_the_share_of_covered_targets_is_told(
    words: tuple[str, ...], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert code_of("predict", words[0], "new.csv", *words[1:]) == 0
    printed = capsys.readouterr().err
    assert sentence in printed
    share = float(printed.split(sentence)[1].split(" %")[0])
    assert 80 < share <= 100
    assert "of 80 rows" in printed


def test_training_rows_may_have_moved(capsys: pytest.CaptureFixture[str]) -> None:
    Path("rows.csv").rename("moved.csv")
    assert code_of("predict", "number.tremula", "new.csv", "--interval", "0.9") == EXIT_BAD_INPUT
    assert "give --training" in capsys.readouterr().err
    assert code_of("predict", "number.tremula", "new.csv", "--interval", "0.9", "--training", "moved.csv") == 0
    rows = list(csv.DictReader(capsys.readouterr().out.splitlines()))
    assert all(float(row["lower"]) < float(row["prediction"]) < float(row["upper"]) for row in rows)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("number.tremula", "--interval", "0.9", "--training", "new.csv"), "new.csv does not have the training rows"),
        (("number.tremula", "--set", "0.9"), "--set is for classes: use --interval"),
        (("class.tremula", "--interval", "0.9"), "--interval is for numbers: use --set"),
        (("class.tremula", "--quantiles", "0.5"), "--quantiles is for numbers: use --set"),
        (("number.tremula", "--interval", "90"), "--interval 90: give a coverage between 0 and 1"),
        (("number.tremula", "--quantiles", "half"), "--quantiles half: give numbers"),
        (("number.tremula", "--quantiles", "2"), "give numbers between 0 and 1"),
        (("number.tremula", "--training", "rows.csv"), "give --interval, --quantiles or --set too"),
        (("bare.tremula", "--interval", "0.9"), "tm.Uncertainty in Python"),
    ],
)
def test_a_mistake(words: tuple[str, ...], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    rows = pd.read_csv("rows.csv").dropna()
    tm.save(tm.RandomForestRegressor(3, random_state=0).fit(rows[["size"]], rows["cost"]), "bare.tremula")
    assert code_of("predict", words[0], "new.csv", *words[1:]) == EXIT_BAD_INPUT
    assert message in " ".join(capsys.readouterr().err.split())


@pytest.mark.slow
def test_forests_of_scikit_learn_in_a_pipeline_are_taken(capsys: pytest.CaptureFixture[str]) -> None:
    words = ("--target", "cost", "--drop", "note,kind", "--method", "sklearn-random-forest", "--out", "forest.skops")
    assert code_of("fit", "rows.csv", *words) == 0
    capsys.readouterr()
    answers = as_json(capsys, "predict", "forest.skops", "new.csv", "--trust", "--interval", "0.9")
    truth = pd.read_csv("new.csv")["cost"].to_numpy()
    assert np.mean((np.array(answers["lower"]) <= truth) & (truth <= np.array(answers["upper"]))) > 0.8
