"""`tremula compare`: the table, the files, JSON, and the same errors for the same seed."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import tremula as tm
from tremula.cli.comparison import command_of
from tremula.cli.exit_codes import EXIT_BAD_INPUT, EXIT_FILE_ERROR
from tremula.cli.main import run
from tremula.lab.comparison.cross_validation import stored_name
from tremula.lab.comparison.methods import METHODS, Method
from tremula.lab.experiments.store import Store

QUICK = ("--quick", "--no-model")
IRIS = ("iris", "--methods", "c45,reptree", "--cv", "3")


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("TREMULA_DATA", raising=False)


def compare(*words: str) -> None:
    with pytest.raises(SystemExit) as stop:
        run(["compare", *words])
    assert not stop.value.code


def compare_as_json(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, Any]:
    compare(*words, "--json", "--no-report", "--no-store", "--no-model")
    return json.loads(capsys.readouterr().out)


def errors_of(results: dict[str, Any], metric: str = "error") -> dict[str, list[float]]:
    return {row["name"]: row["metrics"][metric]["folds"] for row in results["methods"]}


def write_table(name: str, header: str, rows: list[str], **options: Any) -> None:
    Path(name).write_text("\n".join([header, *rows]), **{"encoding": "utf-8", **options})


def write_patients(n_rows: int = 60) -> None:
    rows = [
        f"{'red' if n % 2 else 'blue'},{'?' if n % 7 == 0 else n},{'ill' if n % 2 else 'well'}" for n in range(n_rows)
    ]
    write_table("patients.csv", "colour,size,outcome", rows)


def write_costs(n_rows: int = 40) -> None:
    write_table("costs.csv", "size,cost", [f"{n},{n * 1.5 + n % 3}" for n in range(n_rows)])


# --- what is printed and written ---


def test_it_prints_a_table_and_writes_page_trials_and_model(capsys: pytest.CaptureFixture[str]) -> None:
    compare(*IRIS)
    table = capsys.readouterr().out
    assert "REPTree" in table
    assert "95 % interval" in table
    assert "REPTree" in Path("report.html").read_text(encoding="utf-8")
    assert sorted(path.name for path in Path().iterdir()) == ["best.tremula", "report.html", "results.duckdb"]
    assert len(Store("results.duckdb").frame()) >= 6


def test_the_best_model_takes_a_frame_with_the_columns_it_was_trained_on() -> None:
    write_patients()
    compare("patients.csv", "--methods", "c45", "--cv", "2", "--no-report", "--no-store")
    model = tm.load("best.tremula")
    assert model.feature_names_in_.tolist() == ["colour", "size"]
    assert model.table_.target == "outcome"


def test_files_go_to_the_folder_named() -> None:
    compare(*IRIS, *QUICK, "--out", "results/iris")
    assert sorted(path.name for path in Path("results/iris").iterdir()) == ["report.html", "results.duckdb"]


def test_a_model_that_cannot_be_written_leaves_the_page(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(*arguments: Any) -> None:
        raise OSError("no space left")

    monkeypatch.setattr("tremula.cli.comparison.write_fitted", fail)
    with pytest.raises(SystemExit) as stop:
        run(["compare", *IRIS, "--quick"])
    assert stop.value.code == EXIT_FILE_ERROR
    printed = capsys.readouterr()
    assert "C4.5" in printed.out
    assert "no space left" in printed.err
    assert "The best model could not be written: no space left" in Path("report.html").read_text(encoding="utf-8")


def test_json_is_all_of_standard_output_and_has_every_fold(capsys: pytest.CaptureFixture[str]) -> None:
    results = compare_as_json(capsys, *IRIS)
    assert len(errors_of(results)["c45"]) == 3
    assert results["dataset"]["rows"] == 150
    assert (results["protocol"]["folds"], results["protocol"]["repeats"]) == (3, 1)
    assert results["command"] == "tremula compare iris --methods c45,reptree --cv 3 --seed 0"
    assert list(Path().iterdir()) == []


def test_methods_are_ranked_with_intervals_around_their_means(capsys: pytest.CaptureFixture[str]) -> None:
    rows = compare_as_json(capsys, "wine", "--methods", "c45,random-forest,sklearn-tree", "--cv", "3")["methods"]
    means = [row["metrics"]["error"]["mean"] for row in rows]
    assert means == sorted(means)
    assert all(
        row["metrics"]["error"]["low"] <= mean <= row["metrics"]["error"]["high"] for row, mean in zip(rows, means)
    )
    assert [row["rank"] for row in rows] == [1, 2, 3]


def test_a_difference_that_is_real_is_said_in_words(capsys: pytest.CaptureFixture[str]) -> None:
    results = compare_as_json(capsys, "digits", "--methods", "c45,random-forest", "--cv", "3")
    assert results["pairs"][0]["verdict"] == "better"
    assert results["headline"].startswith("Random forest is better than C4.5 on this data: ")
    assert " points, 95 % interval " in results["headline"]


def test_one_method_alone_has_no_pairs(capsys: pytest.CaptureFixture[str]) -> None:
    results = compare_as_json(capsys, "iris", "--methods", "c45", "--cv", "3")
    assert results["pairs"] == []
    assert results["headline"].startswith("Only C4.5 was measured: error")


def test_a_baseline_is_compared_with_the_others(capsys: pytest.CaptureFixture[str]) -> None:
    words = ("digits", "--methods", "c45,reptree,extra-trees", "--cv", "3", "--baseline", "extra-trees")
    sentences = compare_as_json(capsys, *words)["sentences"]
    assert all("Extra trees is" in sentence for sentence in sentences)
    assert "after Holm for 2 pairs" in sentences[0]


def test_the_command_to_redo_it_has_no_password() -> None:
    options = dict.fromkeys(["target", "task", "methods", "against", "baseline", "cv", "drop", "table"])
    told = command_of({**options, "data": ["postgresql://ann:secret@host/base#rows"], "seed": 1})
    assert told == "tremula compare 'postgresql://ann:***@host/base#rows' --seed 1"


# --- protocol ---


def test_same_seed_same_errors(capsys: pytest.CaptureFixture[str]) -> None:
    words = ("wine", "--methods", "reptree,sklearn-tree", "--cv", "3", "--seed", "7")
    first, second = (errors_of(compare_as_json(capsys, *words)) for _ in range(2))
    assert first == second
    assert first != errors_of(compare_as_json(capsys, *words[:-1], "8"))


def test_repeated_cross_validation_begins_with_the_single_one(capsys: pytest.CaptureFixture[str]) -> None:
    once = compare_as_json(capsys, "wine", "--methods", "c45", "--cv", "3")
    twice = compare_as_json(capsys, "wine", "--methods", "c45", "--cv", "2x3")
    assert len(errors_of(twice)["c45"]) == 6
    assert errors_of(twice)["c45"][:3] == errors_of(once)["c45"]


def test_five_by_two_is_tested_by_its_own_test(capsys: pytest.CaptureFixture[str]) -> None:
    results = compare_as_json(capsys, "iris", "--methods", "c45,reptree", "--cv", "5x2")
    assert {pair["test"] for pair in results["pairs"]} == {"5x2 F"}


def test_few_rows_make_fewer_folds_and_that_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    write_table("few.csv", "size,kind", [f"{n},{'ab'[n % 2]}" for n in range(12)])
    results = compare_as_json(capsys, "few.csv", "--methods", "c45")
    assert results["protocol"]["folds"] == 6
    assert "There are 6 folds instead of 10 because there are few rows." in results["notes"]


def test_rare_classes_are_noted(capsys: pytest.CaptureFixture[str]) -> None:
    write_table("table.csv", "size,target", [f"{n},{'rare' if n < 3 else n % 2}" for n in range(40)])
    results = compare_as_json(capsys, "table.csv", "--methods", "c45")
    assert results["notes"][-1] == "1 of 3 classes have fewer than 10 rows: some folds do not test them."


def test_errors_do_not_depend_on_jobs(capsys: pytest.CaptureFixture[str]) -> None:
    words = ("iris", "--methods", "c45,bagging", "--cv", "2")
    alone, together = (errors_of(compare_as_json(capsys, *words, "--jobs", jobs)) for jobs in ("1", "2"))
    assert alone == together


# --- data ---


def test_a_csv_file_with_nominal_and_missing_values(capsys: pytest.CaptureFixture[str]) -> None:
    write_patients()
    results = compare_as_json(capsys, "patients.csv", "--methods", "c45", "--cv", "3")
    about = results["dataset"]
    assert (about["numeric"], about["nominal"], about["missing"], about["classes"]) == (1, 1, 9, 2)
    assert errors_of(results)["c45"] == [0.0] * 3
    assert results["guesses"] == [
        "Target: the column 'outcome' (because it is the last); use --target to choose another.",
        "Task: classification, as the target holds words (2 classes).",
    ]


def test_regression_is_guessed_and_judged_by_rmse(capsys: pytest.CaptureFixture[str]) -> None:
    write_costs()
    results = compare_as_json(capsys, "costs.csv", "--methods", "m5,cart", "--cv", "3")
    assert results["task"] == "regression"
    assert results["guesses"][1] == "Task: regression, as the target holds numbers such as 2.5."
    assert [metric["name"] for metric in results["metrics"]] == ["rmse", "mae", "r2"]
    assert results["methods"][0]["metrics"]["rmse"]["mean"] < results["dataset"]["baseline"]["error"]
    assert len(results["predicted"][0]["points"]) == 40


def test_a_regression_has_a_page_and_a_model() -> None:
    write_costs()
    compare("costs.csv", "--methods", "m5,cart", "--cv", "2", "--quick")
    assert sorted(path.name for path in Path().glob("[br]e*")) == ["best.tremula", "report.html", "results.duckdb"]


@pytest.mark.data
def test_a_dataset_of_the_folder_by_its_name(
    capsys: pytest.CaptureFixture[str], data_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TREMULA_DATA", str(data_folder))
    results = compare_as_json(capsys, "vote", "--methods", "c45,id3,sklearn-tree")
    assert results["dataset"]["nominal"] == 16
    assert all(row["metrics"]["error"]["mean"] < 15 for row in results["methods"])


# --- other libraries ---


def test_other_libraries_take_nominal_and_missing_values(capsys: pytest.CaptureFixture[str]) -> None:
    write_patients(30)
    words = ("patients.csv", "--methods", "c45", "--against", "sklearn,lightgbm,xgboost", "--cv", "2")
    results = compare_as_json(capsys, *words)
    assert {row["library"] for row in results["methods"]} == {"tremula", "scikit-learn", "lightgbm", "xgboost"}
    assert not [row for row in results["methods"] if "error" in row]
    assert "lightgbm" in results["versions"]


def test_a_method_that_fails_is_named_with_its_error(capsys: pytest.CaptureFixture[str]) -> None:
    compare("iris", "--methods", "c45,id3", "--cv", "2", "--no-report", "--no-model")
    assert "Failed: ID3" in " ".join(capsys.readouterr().out.split())


# --- what is kept ---


@pytest.fixture
def built(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """The methods that were built, in turn."""
    names: list[str] = []
    for name in ("c45", "reptree"):
        method = METHODS[name]

        def build(*arguments: Any, method: Method = method) -> Any:
            names.append(method.name)
            return method.build(*arguments)

        monkeypatch.setitem(METHODS, name, replace(method, build=build))
    return names


ALONE = ("iris", "--methods", "c45", "--cv", "3", "--no-report")


def test_the_same_command_again_trains_nothing_and_shows_the_same(
    built: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    compare(*ALONE)
    first = capsys.readouterr().out
    compare(*ALONE)
    assert capsys.readouterr().out == first
    assert built == ["c45"] * 4  # three folds, and all rows


def test_a_method_more_is_trained_alone(built: list[str]) -> None:
    compare(*ALONE, "--no-model")
    compare("iris", "--methods", "c45,reptree", "--cv", "3", "--no-report", "--no-model")
    assert built == ["c45"] * 3 + ["reptree"] * 3


@pytest.mark.parametrize("other", [("--seed", "1"), ("--cv", "4"), ("--out", "other"), ("--no-store",)])
def test_other_options_are_another_experiment(built: list[str], other: tuple[str, ...]) -> None:
    compare(*ALONE, "--no-model")
    compare(*ALONE, "--no-model", *other)
    assert len(built) in (6, 7)


def test_a_changed_file_is_trained_on_again(built: list[str]) -> None:
    rows = [f"{number},{number % 2}" for number in range(40)]
    for last in ("40,0", "40.5,0", "40.5,1", "40.5,0"):
        write_table("table.csv", "size,target", [*rows, last])
        compare("table.csv", "--methods", "c45", "--cv", "2", "--no-report", "--no-model")
    assert len(built) == 6


def test_the_best_model_is_made_anew_for_other_names_of_the_same_codes() -> None:
    words = ("--methods", "c45", "--cv", "2", "--no-report", "--no-store")
    for header, colours in (("colour,outcome", ("blue", "red")), ("shade,outcome", ("green", "white"))):
        write_table("table.csv", header, [f"{colours[n % 2]},{'ab'[n % 2]}" for n in range(12)])
        compare("table.csv", *words)
    schema = tm.load("best.tremula").table_
    assert (schema.names, schema.levels) == (("shade",), (("green", "white"),))


def test_a_file_of_the_users_own_is_left_and_that_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    Path("best.joblib").write_bytes(b"of the user's own")
    compare("iris", "--methods", "c45", "--cv", "2", "--no-report", "--no-store")
    assert Path("best.joblib").read_bytes() == b"of the user's own"
    assert "best.joblib existed before and is unchanged" in capsys.readouterr().err


def test_another_release_of_another_library_is_measured_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    method = METHODS["sklearn-tree"]
    first = stored_name(method)
    monkeypatch.setattr("tremula.lab.comparison.cross_validation.version", lambda library: "99.0")
    assert stored_name(method) == "sklearn-tree, scikit-learn 99.0" != first


# --- mistakes ---


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (("--jobs", "0"), EXIT_BAD_INPUT, "--jobs 0"),
        (("--cv", "1"), EXIT_BAD_INPUT, "give a number of folds such as 10"),
        (("--cv", "ten"), EXIT_BAD_INPUT, "repetitions and folds such as 5x2"),
        (("--cv", "51"), EXIT_BAD_INPUT, "the largest class has 50 rows"),
        (("--task", "ranking"), 2, "classification or regression"),
        (("--task", "regression"), EXIT_BAD_INPUT, "holds classes"),
        (("--methods", "reptre"), EXIT_BAD_INPUT, "did you mean 'reptree'?"),
        (("--methods", "m5"), EXIT_BAD_INPUT, "method 'm5' is for regression"),
        (("--methods", "id3"), EXIT_BAD_INPUT, "'id3' cannot learn from 'iris'"),
        (("--against", "sklern"), EXIT_BAD_INPUT, "did you mean 'sklearn'?"),
        (("--baseline", "bagging"), EXIT_BAD_INPUT, "not one of the methods compared"),
        (("--drop", "petal"), EXIT_BAD_INPUT, "no column 'petal'"),
        (("--out", "notes.txt"), EXIT_FILE_ERROR, "is a file"),
    ],
)
def test_a_mistake_gives_a_message_and_a_code(
    words: tuple[str, ...], code: int, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("notes.txt").write_text("notes", encoding="utf-8")
    with pytest.raises(SystemExit) as stop:
        run(["compare", *IRIS, "--no-report", *words])
    assert stop.value.code == code
    told = capsys.readouterr().err
    assert message in " ".join(told.replace("│", " ").split())
    assert "Traceback" not in told
    assert Path("notes.txt").read_text(encoding="utf-8") == "notes"


def test_a_library_that_is_not_installed_is_named_with_the_command(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("tremula.lab.comparison.peers.find_spec", lambda name: None)
    with pytest.raises(SystemExit) as stop:
        run(["compare", *IRIS, "--against", "lightgbm"])
    assert stop.value.code == EXIT_BAD_INPUT
    assert "pip install lightgbm" in capsys.readouterr().err
