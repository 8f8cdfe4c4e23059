"""`tremula export`: the files that it writes give the model's own answers; options, defaults and mistakes."""

import json
import shutil
import sqlite3
import sys
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import onnxruntime
import pandas as pd
import pytest
import treelite

import tremula as tm
from tremula.cli.main import EXIT_BAD_INPUT, EXIT_FILE_ERROR, run


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with rows and two models trained on them by the command, one of numbers alone."""
    folder = tmp_path_factory.mktemp("made")
    random = np.random.default_rng(0)
    rows = pd.DataFrame({"size": random.normal(size=120), "colour": random.choice(["red", "blue"], 120)})
    rows["width"] = random.normal(size=120)
    rows["kind"] = np.where(rows["size"] + (rows["colour"] == "red") * rows["width"] > 0, "dear", "cheap")
    rows.to_csv(folder / "rows.csv", index=False)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        for file, dropped in (("mixed.tremula", ()), ("numbers.tremula", ("--drop", "colour"))):
            words = ("--target", "kind", "--method", "cart", "--out", file)
            assert code_of("fit", "rows.csv", *words, *dropped) == 0
    return folder


@pytest.fixture(autouse=True)
def _in_a_copy_of_the_folder(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(made, tmp_path / "here")
    monkeypatch.chdir(tmp_path / "here")


def code_of(*words: str) -> int:
    with pytest.raises(SystemExit) as stop:
        run(words)
    return int(stop.value.code or 0)


def export(*words: str) -> None:
    assert code_of("export", *words) == 0


def rows_of(*columns: str) -> Any:
    return pd.read_csv("rows.csv")[list(columns)]


def test_onnx() -> None:
    export("numbers.tremula", "--to", "onnx")
    rows = rows_of("size", "width").to_numpy()
    label, shares = onnxruntime.InferenceSession("numbers.onnx").run(None, {"X": rows})
    model = tm.load("numbers.tremula")
    np.testing.assert_allclose(shares, model.predict_proba(rows_of("size", "width")), atol=1e-12)
    np.testing.assert_array_equal(label, model.predict(rows_of("size", "width")))


def test_onnx_takes_columns_by_name_if_levels_are_words() -> None:
    export("mixed.tremula", "--to", "onnx", "--missing", "shares", "--dtype", "float32", "-o", "other.onnx")
    session = onnxruntime.InferenceSession("other.onnx")
    assert {each.name: each.type for each in session.get_inputs()} == {
        "size": "tensor(float)",
        "colour": "tensor(string)",
        "width": "tensor(float)",
    }


def test_treelite() -> None:
    export("numbers.tremula", "--to", "treelite")
    rows = rows_of("size", "width")
    got = treelite.gtil.predict(treelite.Model.deserialize("numbers.treelite"), rows.to_numpy())[:, 0]
    np.testing.assert_allclose(got, tm.load("numbers.tremula").predict_proba(rows), atol=1e-12)


def test_sklearn() -> None:
    export("numbers.tremula", "--to", "sklearn")
    rows = rows_of("size", "width").astype(np.float32)
    other, model = joblib.load("numbers.joblib"), tm.load("numbers.tremula")
    assert type(other).__module__.startswith("sklearn.")
    np.testing.assert_allclose(other.predict_proba(rows), model.predict_proba(rows), atol=1e-12)


def test_sql() -> None:
    words = ("--dialect", "sqlite", "--table", "my rows", "--keep", "key", "--missing", "null", "-o", "query.sql")
    export("mixed.tremula", "--to", "sql", *words)
    with sqlite3.connect(":memory:") as connection:
        rows_of("size", "colour", "width").assign(key=range(120)).to_sql("my rows", connection, index=False)
        got = pd.read_sql(Path("query.sql").read_text(encoding="utf-8"), connection)
    connection.close()
    assert list(got) == ["key", "p0", "p1", "prediction"]
    columns = rows_of("size", "colour", "width").astype({"colour": "category"})
    assert got.sort_values("key")["prediction"].tolist() == tm.load("mixed.tremula").predict(columns).tolist()


def test_html() -> None:
    export("mixed.tremula", "--to", "html")
    assert "<h1>Predict kind</h1>" in Path("mixed.html").read_text(encoding="utf-8")
    export("mixed.tremula", "--to", "html", "--title", "Dear or cheap?", "-o", "page.html")
    assert "<h1>Dear or cheap?</h1>" in Path("page.html").read_text(encoding="utf-8")


def test_json(capsys: pytest.CaptureFixture[str]) -> None:
    export("numbers.tremula", "--to", "sql", "--json")
    report = json.loads(capsys.readouterr().out)
    assert report == {"file": "numbers.sql", "format": "sql", "bytes": Path("numbers.sql").stat().st_size}


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (("mixed.tremula", "--to", "sklearn"), "nominal attributes ('colour')"),
        (("mixed.tremula", "--to", "onnx", "--table", "t"), "--table is for --to sql, not for onnx"),
        (("mixed.tremula", "--to", "html", "--dtype", "float32"), "--dtype is for --to onnx or treelite"),
        (("mixed.tremula", "--to", "sql", "--dialect", "oracle"), "dialect"),
    ],
)
def test_mistakes(words: tuple[str, ...], complaint: str, capsys: pytest.CaptureFixture[str]) -> None:
    before = sorted(Path().iterdir())
    assert code_of("export", *words) == EXIT_BAD_INPUT
    assert complaint in " ".join(capsys.readouterr().err.split())
    assert sorted(Path().iterdir()) == before


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (("nowhere.tremula", "--to", "sql"), "nowhere.tremula"),
        (("mixed.tremula", "--to", "html", "-o", "no/such/folder.html"), "no/such"),
    ],
)
def test_files_that_are_not_there(words: tuple[str, ...], complaint: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert code_of("export", *words) == EXIT_FILE_ERROR
    assert complaint in " ".join(capsys.readouterr().err.split())


@pytest.mark.parametrize(("library", "extra"), [("onnx", "onnx"), ("treelite", "models")])
def test_a_missing_library_is_named_with_its_extra(
    library: str, extra: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, library, None)
    assert code_of("export", "numbers.tremula", "--to", library) != 0
    assert f'pip install "tremula[{extra}]"' in " ".join(capsys.readouterr().err.split())
