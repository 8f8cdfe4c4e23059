"""`tremula fit` and `tremula predict`: a model from a file of rows to answers in another."""

import csv
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

import tremula as tm
from tremula.cli.exit_codes import EXIT_BAD_INPUT, EXIT_FILE_ERROR
from tremula.cli.main import run

ROWS = [f"{n * 2},{'red' if n % 2 else 'blue'},{'ill' if n % 2 else 'well'}" for n in range(30)]


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("rows.csv").write_text("\n".join(["age,colour,outcome", *ROWS]), encoding="utf-8")
    Path("costs.csv").write_text("\n".join(["size,cost", *(f"{n},{n * 1.5}" for n in range(30))]), encoding="utf-8")


def code_of(*words: str) -> int:
    with pytest.raises(SystemExit) as stop:
        run(words)
    return int(stop.value.code or 0)


def done(*words: str) -> None:
    assert code_of(*words) == 0


def as_json(capsys: pytest.CaptureFixture[str], *words: str) -> Any:
    done(*words, "--json")
    return json.loads(capsys.readouterr().out)


# --- fit ---


def test_a_method_is_scored_on_out_of_bag_rows_and_saved(capsys: pytest.CaptureFixture[str]) -> None:
    told = as_json(capsys, "fit", "rows.csv", "--method", "random-forest")
    assert told["score"]["by"] == "out-of-bag rows"
    assert told["score"]["low"] <= told["score"]["value"] <= told["score"]["high"]
    assert tm.load("model.tremula").table_.names == ("age", "colour")


def test_a_method_that_leaves_no_rows_out_is_judged_by_folds(capsys: pytest.CaptureFixture[str]) -> None:
    told = as_json(capsys, "fit", "rows.csv", "--method", "extra-trees", "--out", "trees.tremula")
    assert told["score"]["by"] == "5-fold stratified cross-validation, seed 0"
    assert told["file"] == "trees.tremula"


def test_columns_that_a_forest_leaves_out_are_told_by_the_check_and_by_the_model(
    capsys: pytest.CaptureFixture[str],
) -> None:
    random = np.random.default_rng(0)
    sizes, customers = random.normal(size=90), random.permutation(90) // 3
    rows = [f"{size},c{customer},{size > 0}" for size, customer in zip(sizes, customers)]
    Path("orders.csv").write_text("\n".join(["size,customer,late", *rows]), encoding="utf-8")
    described = as_json(capsys, "fit", "orders.csv", "--method", "random-forest")
    assert described["ignored"] == ["customer"] == tm.load("model.tremula").ignored_features_
    assert [each["columns"] for each in described["findings"] if each["kind"] == "ignored column"] == [["customer"]]
    done("compare", "orders.csv", "--methods", "random-forest,c45", "--cv", "2", "--no-store")
    said = "forests, extra trees and Aspen leave it out"
    assert said in " ".join(capsys.readouterr().out.split())
    assert said in next(Path().glob("*.html")).read_text(encoding="utf-8")


def test_folds_can_be_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    told = as_json(capsys, "fit", "rows.csv", "--method", "bagging", "--cv", "3")
    assert told["score"]["by"].startswith("3-fold")


def test_in_words(capsys: pytest.CaptureFixture[str]) -> None:
    done("fit", "costs.csv", "--method", "m5", "--cv", "3")
    told = " ".join(capsys.readouterr().out.split())
    assert "Target: the column 'cost' (because it is the last)" in told
    assert "M5 model tree predicts 'cost' with RMSE" in told


def test_a_regression_forest_is_scored_on_out_of_bag_rows(capsys: pytest.CaptureFixture[str]) -> None:
    told = as_json(capsys, "fit", "costs.csv", "--method", "random-forest")
    assert told["score"]["metric"] == "rmse"
    assert 0 < told["score"]["value"] < 10


def test_without_pandas_a_model_is_trained_and_answers(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    done("fit", "rows.csv", "--method", "c45")
    capsys.readouterr()
    answers = as_json(capsys, "predict", "model.tremula", "rows.csv")
    assert answers["prediction"] == ["ill" if n % 2 else "well" for n in range(30)]


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (("rows.csv", "--method", "forest"), EXIT_BAD_INPUT, "no method 'forest' for classification"),
        (("rows.csv", "--method", "m5"), EXIT_BAD_INPUT, "method 'm5' is for regression"),
        (("rows.csv", "--method", "sklearn-forest"), EXIT_BAD_INPUT, "no method 'sklearn-forest'"),
        (("rows.csv", "--method", "id3"), EXIT_BAD_INPUT, "'id3' cannot learn from 'rows'"),
        (("rows.csv", "--target", "age", "--task", "classification", "--cv", "9"), EXIT_BAD_INPUT, "9 folds"),
        (("rows.csv", "--out", "no/such/model.tremula"), EXIT_FILE_ERROR, "make it first"),
        (("rows.csv", "--jobs", "0"), EXIT_BAD_INPUT, "--jobs 0"),
        (("rows.csv", "--jobs", "99999999999999999999"), EXIT_BAD_INPUT, "expected None, a whole number from 1 to"),
        (("nowhere.csv", "--out", "model.json"), EXIT_BAD_INPUT, "ends in .json"),
        (("nowhere.csv",), EXIT_BAD_INPUT, "no file 'nowhere.csv'"),
    ],
)
def test_a_mistake_in_fit(words: tuple[str, ...], code: int, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert code_of("fit", *words) == code
    told = capsys.readouterr().err
    assert message in told
    assert "Traceback" not in told


@pytest.mark.parametrize("method", ["sklearn-tree", "lightgbm", "c45"])
def test_dates_are_learned_from_and_answered_for(method: str, capsys: pytest.CaptureFixture[str]) -> None:
    if method == "lightgbm":
        pytest.importorskip("lightgbm")
    days = [f"{2000 + n},2024-{n % 12 + 1:02}-01,{'late' if n % 12 > 5 else 'early'}" for n in range(48)]
    Path("days.csv").write_text("\n".join(["year,day,season", *days]), encoding="utf-8")
    told = as_json(capsys, "fit", "days.csv", "--method", method, "--cv", "2")
    done("predict", told["file"], "days.csv", "--trust")
    assert "error 0.00 %" in capsys.readouterr().err


# --- predict ---


@pytest.fixture
def model(capsys: pytest.CaptureFixture[str]) -> str:
    done("fit", "rows.csv", "--method", "c45")
    capsys.readouterr()
    return "model.tremula"


def read_rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(text.splitlines()))


def test_answers_go_to_standard_output(model: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("new.csv").write_text("colour,age,key\nred,3,x\nblue,,y\n", encoding="utf-8")
    done("predict", model, "new.csv", "--keep", "key", "--probabilities")
    assert read_rows(capsys.readouterr().out) == [
        {"key": "x", "prediction": "ill", "probability of ill": "1.0", "probability of well": "0.0"},
        {"key": "y", "prediction": "well", "probability of ill": "0.0", "probability of well": "1.0"},
    ]


def test_answers_go_to_files(model: str) -> None:
    done("predict", model, "rows.csv", "--out", "answers.csv")
    done("predict", model, "rows.csv", "--out", "answers.parquet")
    written = [row["prediction"] for row in read_rows(Path("answers.csv").read_text(encoding="utf-8"))]
    assert written == pq.read_table("answers.parquet").column("prediction").to_pylist()
    assert len(written) == 30


def test_a_known_target_is_compared_with_the_answers(model: str, capsys: pytest.CaptureFixture[str]) -> None:
    done("predict", model, "rows.csv")
    assert "'outcome' is known in 30 rows: error 0.00 %" in capsys.readouterr().err


def test_a_new_level_is_said(model: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("new.csv").write_text("colour,age\ngreen,3\n", encoding="utf-8")
    done("predict", model, "new.csv")
    assert "levels that training did not have ('green')" in capsys.readouterr().err


def test_a_model_of_another_library_must_be_trusted(capsys: pytest.CaptureFixture[str]) -> None:
    told = as_json(capsys, "fit", "rows.csv", "--method", "sklearn-extra-trees", "--cv", "2")
    assert told["file"] == "model.joblib"
    assert code_of("predict", "model.joblib", "rows.csv") == EXIT_BAD_INPUT
    assert "--trust" in capsys.readouterr().err
    done("predict", "model.joblib", "rows.csv", "--trust")
    assert "error 0.00 %" in capsys.readouterr().err


def test_a_model_saved_in_python_takes_its_columns_by_name(capsys: pytest.CaptureFixture[str]) -> None:
    import pandas as pd

    rows = pd.read_csv("rows.csv")
    tm.save(tm.C45Classifier().fit(rows[["colour", "age"]], rows["outcome"]), "own.tremula")
    answers = as_json(capsys, "predict", "own.tremula", "rows.csv")
    assert answers["prediction"] == rows["outcome"].tolist()


def test_a_bare_booster_of_xgboost_answers_with_classes(capsys: pytest.CaptureFixture[str]) -> None:
    xgboost = pytest.importorskip("xgboost")
    ages, is_odd = [[n % 2, 7] for n in range(30)], [n % 2 for n in range(30)]
    matrix = xgboost.DMatrix(ages, is_odd, feature_names=["odd", "seven"])
    xgboost.train({"objective": "binary:logistic", "nthread": 1}, matrix, 5).save_model("booster.json")
    Path("new.csv").write_text("seven,odd\n7,0\n7,1\n", encoding="utf-8")
    answers = as_json(capsys, "predict", "booster.json", "new.csv", "--probabilities")
    assert answers["prediction"] == [0, 1]
    assert answers["probability of 1"][0] < 0.5 < answers["probability of 1"][1]


def test_a_bare_booster_of_lightgbm_answers_with_classes(capsys: pytest.CaptureFixture[str]) -> None:
    lightgbm = pytest.importorskip("lightgbm")
    rows = [[n % 2, 7] for n in range(60)]
    data = lightgbm.Dataset(np.array(rows, dtype=float), [n % 2 for n in range(60)], feature_name=["is odd", "seven"])
    lightgbm.train({"objective": "binary", "num_threads": 1, "verbosity": -1}, data, 5).save_model("booster.txt")
    Path("new.csv").write_text("seven,is odd\n7,0\n7,1\n", encoding="utf-8")
    assert as_json(capsys, "predict", "booster.txt", "new.csv") == {"prediction": [0, 1]}


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (("rows.csv", "--out", "answers.txt"), EXIT_BAD_INPUT, "ends in .csv or .parquet"),
        (("rows.csv", "--out", "no/such/answers.csv"), EXIT_FILE_ERROR, "make it first"),
        (("rows.csv", "--keep", "keys"), EXIT_BAD_INPUT, "no column 'keys'"),
        (("clash.csv", "--keep", "prediction"), EXIT_BAD_INPUT, "--keep 'prediction'"),
        (("clash.csv", "--probabilities", "--keep", "probability of ill"), EXIT_BAD_INPUT, "rename yours"),
        (("costs.csv",), EXIT_BAD_INPUT, "lacks columns 'age', 'colour'"),
        (("iris",), EXIT_BAD_INPUT, "is not a file of rows"),
        (("nowhere.csv",), EXIT_BAD_INPUT, "no file 'nowhere.csv'"),
    ],
)
def test_a_mistake_in_predict(
    words: tuple[str, ...], code: int, message: str, model: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("clash.csv").write_text("age,colour,prediction,probability of ill\n3,red,a,b\n", encoding="utf-8")
    assert code_of("predict", model, *words) == code
    told = capsys.readouterr().err
    assert message in told
    assert "Traceback" not in told


def test_numbers_have_no_probabilities(capsys: pytest.CaptureFixture[str]) -> None:
    done("fit", "costs.csv", "--method", "m5", "--cv", "2")
    assert code_of("predict", "model.tremula", "costs.csv", "--probabilities") == EXIT_BAD_INPUT
    assert "leave out --probabilities" in capsys.readouterr().err
    assert code_of("predict", "nowhere.tremula", "costs.csv") == EXIT_FILE_ERROR


@pytest.mark.parametrize(
    "words",
    [
        ("fit", "rows.csv", "--target", "outcome", "--method", "cart", "--out", "rows.csv"),
        ("fit", "rows.csv", "--target", "outcome", "--method", "cart", "--out", "link.csv"),
        ("predict", "model.tremula", "rows.csv", "--out", "rows.csv"),
        ("query", "rows.csv", "--target", "outcome", "--out", "rows.csv"),
        ("query", "rows.csv", "--target", "outcome", "--log", "rows.csv"),
        ("smooth", "model.tremula", "--data", "rows.csv", "--out", "rows.csv"),
        ("export", "model.tremula", "--to", "sql", "--out", "model.tremula"),
    ],
    ids=lambda words: " ".join(words),
)
def test_what_is_read_is_not_written_over(words: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    """`predict --out` with the name of the table left nothing of the table."""
    Path("link.csv").symlink_to("rows.csv")
    done("fit", "rows.csv", "--target", "outcome", "--method", "cart", "--out", "model.tremula")
    before = Path("rows.csv").read_bytes(), Path("model.tremula").read_bytes()
    assert code_of(*words) == EXIT_BAD_INPUT
    assert "would be lost" in capsys.readouterr().err
    assert (Path("rows.csv").read_bytes(), Path("model.tremula").read_bytes()) == before
