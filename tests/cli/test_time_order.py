"""Folds in time order: nothing is predicted from its future, and what was done is said."""

import json
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tremula.cli.exit_codes import EXIT_BAD_INPUT
from tremula.cli.main import run
from tremula.lab.comparison.splits import Folds, InvalidFolds, check_folds, make_splits, read_folds
from tremula.lab.datasets.dataset import Dataset

TREES = ("--methods", "c45,reptree", "--no-model", "--no-store", "--quick")


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def write_days(order: list[int], n_dates: int = 1, drift: bool = True) -> None:
    """One row a day: in the last third the meaning of the attribute turns round."""
    size = np.random.default_rng(0).random(len(order)).round(3)
    turned = np.arange(len(order)) >= 2 * len(order) / 3
    kind = np.where((size > 0.5) ^ (turned & drift), "yes", "no")
    lines = ["size," + ",".join(f"day{number}" for number in range(n_dates)) + ",kind"]
    for place in order:
        days = [date(2024, 1, 1) + timedelta(days=place * (place % 7 if number else 1)) for number in range(n_dates)]
        lines.append(",".join([str(size[place]), *map(str, days), kind[place]]))
    Path("days.csv").write_text("\n".join(lines), encoding="utf-8")


def command(*words: str) -> int:
    with pytest.raises(SystemExit) as stop:
        run(list(words))
    return int(stop.value.code or 0)


def compare(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, Any]:
    assert command("compare", "days.csv", *TREES, "--no-report", *words, "--json") == 0
    return json.loads(capsys.readouterr().out)


@pytest.mark.parametrize(("text", "folds"), [("time", 5), ("time:3", 3), (" TIME:12 ", 12)])
def test_folds_in_time_order_are_read(text: str, folds: int) -> None:
    assert read_folds(text) == Folds(folds, in_time=True)
    assert read_folds(str(read_folds(text))) == read_folds(text)


@pytest.mark.parametrize("text", ["time:1", "time:0", "time5", "5xtime"])
def test_other_words_are_refused(text: str) -> None:
    with pytest.raises(InvalidFolds, match="or time for folds"):
        read_folds(text)


@pytest.mark.parametrize("seed", [0, 1])
def test_every_test_row_is_later_than_every_training_row(seed: int) -> None:
    dataset = Dataset("made", "a test", np.zeros((23, 1)), np.arange(23) % 2)
    splits = make_splits(dataset, Folds(4, in_time=True), seed)
    assert all(train.max() < test.min() for train, test in splits)
    assert np.concatenate([test for _, test in splits]).tolist() == list(range(5, 23))
    assert all(len(train) == test[0] for train, test in splits)


def test_too_few_rows_and_a_beginning_of_one_class_are_refused() -> None:
    with pytest.raises(InvalidFolds, match="5 folds in time order need 12 rows, but there are 11 rows"):
        check_folds(Dataset("made", "a test", np.zeros((11, 1)), np.arange(11) % 2), Folds(5, in_time=True))
    late = Dataset("made", "a test", np.zeros((40, 1)), np.repeat(["no", "yes"], 20))
    with pytest.raises(InvalidFolds, match="are all of class 'no': request fewer folds"):
        check_folds(late, Folds(3, in_time=True))


def test_a_change_in_time_shows_and_shuffled_folds_hide_it(capsys: pytest.CaptureFixture[str]) -> None:
    write_days(list(range(90)))
    errors = {}
    for cv in ("time:2", "3"):
        results = compare(capsys, "--drop", "day0", "--cv", cv)
        errors[cv] = results["methods"][0]["metrics"]["error"]["folds"]
    assert errors["time:2"][0] < 10
    assert errors["time:2"][1] > 90
    assert max(errors["3"]) < 80


def test_newest_first_is_turned_and_said(capsys: pytest.CaptureFixture[str]) -> None:
    write_days(list(range(90)))
    oldest_first = compare(capsys, "--cv", "time:2")
    write_days(list(range(90))[::-1])
    newest_first = compare(capsys, "--cv", "time:2")
    assert [row["metrics"] for row in newest_first["methods"]] == [row["metrics"] for row in oldest_first["methods"]]
    assert "The rows were sorted by 'day0', the oldest first; row numbers are in this order." in newest_first["notes"]
    assert "The folds are in the order of 'day0'." in oldest_first["notes"]
    assert oldest_first["protocol"]["words"] == "2-fold validation in time order, seed 0"
    assert not any("Folds mix them" in note for note in oldest_first["notes"])


def test_without_dates_the_order_of_the_file_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    write_days(list(range(90)))
    notes = compare(capsys, "--drop", "day0", "--cv", "time:2")["notes"]
    assert any("as there are no dates" in note for note in notes)


def test_time_is_proposed_where_the_rows_are_in_its_order(capsys: pytest.CaptureFixture[str]) -> None:
    write_days(list(range(60)), drift=False)
    assert command("compare", "days.csv", *TREES, "--no-report") == 0
    assert "--cv time tests each method on the future" in " ".join(capsys.readouterr().out.split())


def test_several_dates_in_no_order_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    order = np.random.default_rng(1).permutation(60).tolist()
    write_days(order, n_dates=2)
    assert command("compare", "days.csv", *TREES, "--cv", "time") == EXIT_BAD_INPUT
    assert "in the order of none of their dates 'day0', 'day1'" in capsys.readouterr().err


def test_repeating_until_clear_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    write_days(list(range(60)))
    assert command("compare", "days.csv", *TREES, "--cv", "time", "--until-clear") == EXIT_BAD_INPUT
    assert "--cv time has no others" in capsys.readouterr().err


def test_the_page_and_the_fit_tell_of_time(capsys: pytest.CaptureFixture[str]) -> None:
    write_days(list(range(60)), drift=False)
    assert command("compare", "days.csv", *TREES, "--cv", "time") == 0
    html = Path("report.html").read_text(encoding="utf-8")
    assert "each fold is predicted by the model of all rows before it" in html
    assert "50 held-out rows of 5 test folds" in html
    assert command("fit", "days.csv", "--method", "c45", "--cv", "time") == 0
    assert "5-fold validation in time order" in " ".join(capsys.readouterr().out.split())
