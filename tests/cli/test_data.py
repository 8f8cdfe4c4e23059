"""`tremula data`: what is known, what is here, and what it holds."""

import json
from pathlib import Path
from typing import Any

import pytest

from tremula.cli.exit_codes import EXIT_BAD_INPUT
from tremula.cli.main import run


@pytest.fixture(autouse=True)
def _without_data_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("TREMULA_DATA", raising=False)
    monkeypatch.setenv("TREMULA_CACHE", str(tmp_path / "cache"))


def tell(capsys: pytest.CaptureFixture[str], *words: str, code: int = 0) -> str:
    with pytest.raises(SystemExit) as stop:
        run(["data", *words])
    printed = capsys.readouterr()
    assert int(stop.value.code or 0) == code
    assert "Traceback" not in printed.err
    return printed.err if code else printed.out


def as_json(capsys: pytest.CaptureFixture[str], *words: str) -> Any:
    return json.loads(tell(capsys, *words, "--json"))


def test_the_list_is_narrowed_by_task_and_rows(capsys: pytest.CaptureFixture[str]) -> None:
    rows = as_json(capsys, "list", "--task", "regression", "--max-rows", "500", "--min-rows", "100")
    assert rows
    assert all(row["task"] == "regression" and 100 <= row["rows"] <= 500 for row in rows)


def test_the_list_says_where_each_is_found(capsys: pytest.CaptureFixture[str]) -> None:
    found = {row["name"]: row["found"] for row in as_json(capsys, "list")}
    assert found["iris"] == "scikit-learn"
    assert found["sonar"] == "OpenML 40"


def test_only_what_is_on_this_machine(capsys: pytest.CaptureFixture[str]) -> None:
    assert {row["found"] for row in as_json(capsys, "list", "--here")} == {"scikit-learn"}


def test_the_table_names_a_dataset_and_how_to_fetch_others(capsys: pytest.CaptureFixture[str]) -> None:
    printed = tell(capsys, "list", "--max-rows", "200")
    assert "iris" in printed
    assert "tremula data fetch NAME" in " ".join(printed.split())


def test_a_file_is_described_by_its_columns(capsys: pytest.CaptureFixture[str]) -> None:
    Path("rows.csv").write_text("size,colour,kind\n1,red,a\n2,red,b\n?,blue,b\n4,,b\n")
    told = as_json(capsys, "describe", "rows.csv", "--target", "kind")
    size, colour = told["attributes"]
    assert (size["kind"], size["missing"], size["median"], size["largest"]) == ("numeric", 1, 2.0, 4.0)
    assert (colour["kind"], colour["missing"], colour["levels"]) == ("nominal", 1, {"red": 2, "blue": 1})
    assert told["target"]["classes"] == {"b": 3, "a": 1}


def test_a_numeric_target_has_quartiles(capsys: pytest.CaptureFixture[str]) -> None:
    Path("rows.csv").write_text("size,target\n" + "\n".join(f"{number},{number / 4}" for number in range(9)))
    assert as_json(capsys, "describe", "rows.csv")["target"]["median"] == 1.0
    assert "0 to 2, median 1" in tell(capsys, "describe", "rows.csv")


def test_nothing_is_fetched_to_describe(capsys: pytest.CaptureFixture[str]) -> None:
    printed = tell(capsys, "describe", "sonar")
    assert "208 rows" in printed
    assert "tremula data fetch sonar" in printed
    assert not Path("cache").exists()


@pytest.mark.parametrize("words", [("describe", "irsi"), ("fetch", "irsi")])
def test_a_wrong_name_gets_a_hint(words: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    assert "did you mean 'iris'?" in tell(capsys, *words, code=EXIT_BAD_INPUT)


def test_what_is_here_is_not_fetched_again(capsys: pytest.CaptureFixture[str]) -> None:
    assert as_json(capsys, "fetch", "iris", "wine") == [
        {"name": "iris", "source": "scikit-learn", "rows": 150},
        {"name": "wine", "source": "scikit-learn", "rows": 178},
    ]


def test_a_file_cannot_be_fetched(capsys: pytest.CaptureFixture[str]) -> None:
    assert "is a file" in tell(capsys, "fetch", "rows.csv", code=EXIT_BAD_INPUT)
