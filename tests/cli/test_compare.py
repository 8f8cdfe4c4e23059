"""`tremula compare`: the table, the page, JSON, and the same errors for the same seed."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tremula.cli.main import EXIT_BAD_INPUT, EXIT_FILE_TROUBLE, run
from tremula.lab.methods import METHODS, Method
from tremula.lab.store import Store


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("TREMULA_DATA", raising=False)


def compare(*words: str) -> None:
    with pytest.raises(SystemExit) as stop:
        run(["compare", *words])
    assert not stop.value.code


def compare_as_json(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, Any]:
    compare(*words, "--json", "--no-report")
    return json.loads(capsys.readouterr().out)


def errors_of(results: dict[str, Any]) -> dict[str, list[float]]:
    return {row["name"]: row["errors"] for row in results["methods"]}


def test_without_arguments_prints_a_table_and_writes_the_page(capsys: pytest.CaptureFixture[str]) -> None:
    compare()
    table = capsys.readouterr().out
    page = Path("report.html").read_text(encoding="utf-8")
    for label in ("C4.5", "REPTree", "CART, entropy", "scikit-learn's tree"):
        assert label in table
        assert label.replace("'", "&#39;") in page
    assert "not a test" in table
    assert sorted(path.name for path in Path().iterdir()) == ["report.html", "results.duckdb"]


def test_every_method_beats_the_most_frequent_class(capsys: pytest.CaptureFixture[str]) -> None:
    results = compare_as_json(capsys, "wine")
    for row in results["methods"]:
        assert row["error_mean"] < results["dataset"]["majority_error"] / 2, row["label"]
        assert row["leaves_mean"] is None or row["leaves_mean"] > 1


def test_same_seed_same_errors(capsys: pytest.CaptureFixture[str]) -> None:
    words = ("wine", "--methods", "reptree,c45-randomized,sklearn", "--seed", "7")
    first, second = (errors_of(compare_as_json(capsys, *words)) for _ in range(2))
    other = errors_of(compare_as_json(capsys, *words[:-1], "8"))
    assert first == second
    assert first != other


def test_methods_folds_and_output_are_taken(capsys: pytest.CaptureFixture[str]) -> None:
    compare("iris", "--methods", "sklearn, c45", "--folds", "3", "--output", "other.html")
    assert "3-fold" in capsys.readouterr().out
    assert Path("other.html").exists()
    assert not Path("report.html").exists()


def test_json_is_all_of_standard_output_and_has_every_fold(capsys: pytest.CaptureFixture[str]) -> None:
    results = compare_as_json(capsys, "iris", "--methods", "c45", "--folds", "4")
    assert len(errors_of(results)["c45"]) == 4
    assert results["dataset"]["rows"] == 150
    assert results["protocol"] == {"kind": "stratified cross-validation", "folds": 4, "seed": 0}
    assert not Path("report.html").exists()


def test_a_csv_file_with_nominal_and_missing_values(capsys: pytest.CaptureFixture[str]) -> None:
    rows = [
        f"{'red' if number % 2 else 'blue'},{'?' if number % 7 == 0 else number},{number % 2}" for number in range(60)
    ]
    Path("table.csv").write_text("\n".join(["colour,size,kind", *rows]), encoding="utf-8")
    results = compare_as_json(capsys, "table.csv", "--target", "kind")
    about = results["dataset"]
    assert (about["numeric"], about["nominal"], about["missing"], about["classes"]) == (1, 1, 9, 2)
    assert errors_of(results)["c45"] == [0.0] * 10


def test_rare_classes_are_noted(capsys: pytest.CaptureFixture[str]) -> None:
    rows = [f"{number},{'rare' if number < 3 else number % 2}" for number in range(40)]
    Path("table.csv").write_text("\n".join(["size,target", *rows]), encoding="utf-8")
    results = compare_as_json(capsys, "table.csv", "--methods", "c45")
    assert results["notes"][-1] == "1 of 3 classes have fewer than 10 rows: some folds test none of them."


@pytest.mark.data
def test_a_dataset_of_the_folder_by_its_name(
    capsys: pytest.CaptureFixture[str], data_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TREMULA_DATA", str(data_folder))
    results = compare_as_json(capsys, "vote", "--methods", "c45,id3,sklearn")
    assert results["dataset"]["nominal"] == 16
    assert all(row["error_mean"] < 15 for row in results["methods"])


@pytest.fixture
def n_trained(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The methods that were built, in turn."""
    built: list[str] = []
    for name in ("c45", "reptree"):
        method = METHODS[name]

        def build(*arguments: Any, method: Method = method) -> Any:
            built.append(method.name)
            return method.build(*arguments)

        monkeypatch.setitem(METHODS, name, replace(method, build=build))
    return built


IRIS = ("iris", "--methods", "c45", "--folds", "3")


def test_the_same_command_again_trains_nothing_and_shows_the_same(
    n_trained: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    compare(*IRIS)
    first = capsys.readouterr().out
    compare(*IRIS)
    assert capsys.readouterr().out == first
    assert n_trained == ["c45"] * 3


def test_a_method_more_is_trained_alone(n_trained: list[str]) -> None:
    compare(*IRIS)
    compare("iris", "--methods", "c45,reptree", "--folds", "3")
    assert n_trained == ["c45"] * 3 + ["reptree"] * 3


@pytest.mark.parametrize("other", [("--seed", "1"), ("--folds", "4"), ("--store", "other.duckdb"), ("--no-store",)])
def test_other_options_are_another_experiment(n_trained: list[str], other: tuple[str, ...]) -> None:
    compare(*IRIS)
    compare(*IRIS, *other)
    assert len(n_trained) in (6, 7)


def test_a_changed_file_is_trained_on_again(n_trained: list[str]) -> None:
    rows = [f"{number},{number % 2}" for number in range(40)]
    for last in ("40,0", "40.5,0", "40.5,1", "40.5,0"):
        Path("table.csv").write_text("\n".join(["size,target", *rows, last]), encoding="utf-8")
        compare("table.csv", "--methods", "c45", "--folds", "2")
    assert len(n_trained) == 6


def test_without_a_page_nothing_is_kept_unless_asked_for(n_trained: list[str]) -> None:
    compare(*IRIS, "--no-report")
    assert list(Path().iterdir()) == []
    compare(*IRIS, "--no-report", "--store", "trials.duckdb")
    assert [path.name for path in Path().iterdir()] == ["trials.duckdb"]
    assert len(n_trained) == 6


def test_trials_are_kept_beside_the_page() -> None:
    Path("pages").mkdir()
    compare(*IRIS, "--output", "pages/iris.html")
    assert sorted(path.name for path in Path("pages").iterdir()) == ["iris.html", "results.duckdb"]
    assert len(Store("pages/results.duckdb").frame()) == 3


def test_errors_do_not_depend_on_jobs(capsys: pytest.CaptureFixture[str]) -> None:
    words = ("iris", "--methods", "c45,random-forest", "--folds", "2")
    alone, together = (errors_of(compare_as_json(capsys, *words, "--jobs", jobs)) for jobs in ("1", "2"))
    assert alone == together


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (("--store", "trials.duckdb", "--no-store"), 2, "exclude each other"),
        (("--store", "no/such/trials.duckdb"), EXIT_FILE_TROUBLE, "make it first"),
        (("--store", "notes.txt"), EXIT_BAD_INPUT, "is not a file of results"),
        (("--jobs", "0"), EXIT_BAD_INPUT, "n_jobs=0"),
    ],
)
def test_a_store_that_cannot_be_used(
    words: tuple[str, ...], code: int, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("notes.txt").write_text("notes", encoding="utf-8")
    with pytest.raises(SystemExit) as stop:
        run(["compare", *IRIS, *words])
    assert stop.value.code == code
    assert message in capsys.readouterr().err
    assert Path("notes.txt").read_text(encoding="utf-8") == "notes"
