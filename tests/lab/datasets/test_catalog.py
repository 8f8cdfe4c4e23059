"""Datasets by name, and `load_dataset`, which reads files as the commands do."""

import json
import sys
from datetime import date
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tremula.cli.main import run
from tremula.errors import InvalidParameter
from tremula.lab.datasets import (
    BUNDLED,
    Dataset,
    MissingLibrary,
    RowsLeftOut,
    UnknownDataset,
    UnusableDataset,
    dataset_names,
    load_dataset,
)
from tremula.lab.datasets.catalog import BUNDLED_NUMBERS
from tremula.lab.datasets.reader import read_data


@pytest.fixture(autouse=True)
def _without_data_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TREMULA_DATA", raising=False)


@pytest.mark.parametrize("name", BUNDLED)
def test_bundled(name: str) -> None:
    dataset = load_dataset(name)
    assert dataset.X.dtype == np.float64
    assert dataset.X.shape[0] == len(dataset.y)
    assert dataset.nominal == ()


def write_csv(folder: Path, *lines: str) -> str:
    path = folder / "table.csv"
    path.write_text("\n".join(lines), encoding="utf-8")
    return str(path)


def test_csv_columns_are_numbers_or_levels_with_missing(tmp_path: Path) -> None:
    path = write_csv(tmp_path, "colour,size,target", "red,1,yes", "blue,,no", "?,2.5,yes")
    dataset = load_dataset(path)
    np.testing.assert_array_equal(dataset.X, [[1, 1], [0, np.nan], [np.nan, 2.5]])
    assert dataset.nominal == (0,)
    assert dataset.y.tolist() == ["yes", "no", "yes"]


def test_parquet_gives_the_same_as_csv(tmp_path: Path) -> None:
    columns = {"colour": ["red", "blue", None], "size": [1.0, None, 2.5], "target": ["yes", "no", "yes"]}
    pq.write_table(pa.table(columns), tmp_path / "table.parquet")
    stored = load_dataset(str(tmp_path / "table.parquet"))
    written = load_dataset(write_csv(tmp_path, "colour,size,target", "red,1,yes", "blue,,no", "?,2.5,yes"))
    np.testing.assert_array_equal(stored.X, written.X)
    assert (stored.nominal, stored.y.tolist()) == (written.nominal, written.y.tolist())


TABLES = {
    "class among others": ["Class,size,day", "a,1,2024-01-01", "b,2,2024-01-02", "a,,2024-01-03"],
    "rows without a target": ["size,colour,target", "1,red,x", "2,green,", "3,blue,y", "4,red,x"],
    "a target at the end": ["size,place", "0.5,here", "1.5,there", "2.5,here"],
    "whole numbers": ["size,grade", *(f"{number},{number % 3}" for number in range(12))],
    "numbers": ["size,cost", *(f"{number},{number / 3}" for number in range(9))],
    "an empty column": ["size,nothing,kind", "1,,a", "2,NA,b", "3,?,a"],
    "semicolons": ["size;kind", "1,5;a", "2,25;b"],
}


@pytest.mark.filterwarnings("ignore::tremula.lab.datasets.RowsLeftOut")
@pytest.mark.parametrize("ending", [".csv", ".txt", ".tsv"])
@pytest.mark.parametrize("lines", TABLES.values(), ids=TABLES)
def test_a_file_is_read_alike_in_python_and_by_the_commands(
    tmp_path: Path, lines: list[str], ending: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / f"table{ending}"
    path.write_text("\n".join(lines), encoding="utf-8")
    loaded, reading = load_dataset(str(path), task=None), read_data(str(path))
    same_dataset(loaded, reading.dataset)
    with pytest.raises(SystemExit):
        run(["data", "describe", str(path), "--json"])
    described = json.loads(capsys.readouterr().out)
    assert [column["name"] for column in described["attributes"]] == list(loaded.attributes)
    assert (described["rows"], described["task"]) == (len(loaded.y), loaded.task)
    kinds = [
        "nominal" if place in loaded.nominal else "date" if place in loaded.dates else "numeric"
        for place in range(loaded.X.shape[1])
    ]
    assert [column["kind"] for column in described["attributes"]] == kinds


def same_dataset(one: Dataset, other: Dataset) -> None:
    np.testing.assert_array_equal(one.X, other.X)
    np.testing.assert_array_equal(one.y, other.y)
    assert one.y.dtype == other.y.dtype
    assert (one.task, one.nominal, one.attributes) == (other.task, other.nominal, other.attributes)
    for mine, its in zip(one.levels, other.levels, strict=True):
        assert (mine is None and its is None) or mine.tolist() == its.tolist()


def test_a_file_and_its_name_in_the_data_folder_are_read_alike(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    columns = {
        "colour": pa.array(["red", "blue", None]).dictionary_encode(),
        "day": [date(1970, 1, n) for n in (2, 3, 4)],
    }
    pq.write_table(pa.table({**columns, "class": ["yes", "no", "yes"]}), tmp_path / "tiny.parquet")
    monkeypatch.setenv("TREMULA_DATA", str(tmp_path))
    same_dataset(load_dataset("tiny"), load_dataset(str(tmp_path / "tiny.parquet")))
    same_dataset(load_dataset("tiny"), read_data("tiny").dataset)


def test_rows_without_a_target_are_left_out_with_a_warning(tmp_path: Path) -> None:
    path = write_csv(tmp_path, "size,target", "1,a", "2,", "3,b")
    with pytest.warns(RowsLeftOut, match="is missing in 1 row, which was left out"):
        assert load_dataset(path).X.tolist() == [[1], [3]]


def test_a_folder_of_parquet_files_gives_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pq.write_table(pa.table({"size": [1, 2], "target": ["a", "b"]}), tmp_path / "tiny.parquet")
    monkeypatch.setenv("TREMULA_DATA", str(tmp_path))
    assert dataset_names() == [*BUNDLED, *BUNDLED_NUMBERS, "tiny"]
    assert load_dataset("tiny").name == "tiny"
    with pytest.raises(UnknownDataset, match="did you mean 'tiny'"):
        load_dataset("tinny")


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (["size,target", "1,a", "2,a"], "1 class in 2 rows"),
        (["size,target", "1,0.5", "2,0.7"], "holds numbers, not classes"),
        (["size,target", "1,a", "2"], "line 3 of .* has 1 values"),
        (["size,size,target", "1,2,a", "2,3,b"], "has two columns named"),
        (["target", "a", "b"], "at least one attribute"),
        (["size,target", "inf,a", "2,b"], "infinit"),
        (["size,target"], "has no rows"),
    ],
)
def test_a_csv_file_that_cannot_be_used(tmp_path: Path, lines: list[str], message: str) -> None:
    with pytest.raises(UnusableDataset, match=message):
        load_dataset(write_csv(tmp_path, *lines))


def test_files_of_other_kinds_are_refused(tmp_path: Path) -> None:
    (tmp_path / "table.xlsx").write_bytes(b"PK")
    with pytest.raises(UnusableDataset, match=r"ends in '\.xlsx'"):
        load_dataset(str(tmp_path / "table.xlsx"))
    (tmp_path / "table.parquet").write_bytes(b"PAR?")
    with pytest.raises(UnusableDataset, match="cannot be read as Parquet"):
        load_dataset(str(tmp_path / "table.parquet"))
    (tmp_path / "table.csv").write_bytes(b"a\0b,target\n1,a\n")
    with pytest.raises(UnusableDataset, match="not a text file"):
        load_dataset(str(tmp_path / "table.csv"))


def test_parquet_is_read_without_pyarrow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pq.write_table(pa.table({"size": [1, 2], "target": ["a", "b"]}), tmp_path / "table.parquet")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert load_dataset(str(tmp_path / "table.parquet")).y.tolist() == ["a", "b"]


def test_a_numeric_target_is_loaded_when_asked_for(tmp_path: Path) -> None:
    path = write_csv(tmp_path, "size,target", "1,0.5", "2,0.7")
    assert load_dataset(path, task="regression").y.tolist() == [0.5, 0.7]
    assert load_dataset(path, task=None).task == "regression"
    assert load_dataset(write_csv(tmp_path, "size,target", "1,a", "2,b"), task=None).task == "classification"


@pytest.mark.parametrize(
    ("values", "message"), [(("a", "b"), "holds classes, not numbers"), (("1", "inf"), "infinite value")]
)
def test_a_target_that_is_no_number_is_refused_in_regression(
    tmp_path: Path, values: tuple[str, str], message: str
) -> None:
    path = write_csv(tmp_path, "size,target", f"1,{values[0]}", f"2,{values[1]}")
    with pytest.raises(UnusableDataset, match=message):
        load_dataset(path, task="regression")


def test_classes_that_come_with_scikit_learn_are_no_numbers() -> None:
    with pytest.raises(UnusableDataset, match="dataset 'wine' holds classes, not numbers"):
        load_dataset("wine", task="regression")


def test_an_unknown_task_is_refused() -> None:
    message = "task='ranking' is not known: choose one of 'classification', 'regression', None"
    with pytest.raises(InvalidParameter, match=message):
        load_dataset("wine", task="ranking")


def test_a_known_name_is_hinted_at() -> None:
    with pytest.raises(UnknownDataset, match="did you mean 'pendigits'"):
        load_dataset("pendigit")


def test_attributes_and_levels_have_names(tmp_path: Path) -> None:
    dataset = load_dataset(write_csv(tmp_path, "colour,size,target", "red,1,yes", "blue,,no"))
    assert dataset.attributes == ("colour", "size")
    assert [None if levels is None else levels.tolist() for levels in dataset.levels] == [["blue", "red"], None]


def test_a_frame_has_category_columns_with_all_levels(tmp_path: Path) -> None:
    dataset = load_dataset(write_csv(tmp_path, "colour,size,target", "red,1,yes", "blue,,no", "?,2.5,yes"))
    frame = dataset.take([0, 2]).frame()
    assert frame["colour"].cat.categories.tolist() == ["blue", "red"]
    assert frame["colour"].isna().tolist() == [False, True]
    assert frame["colour"][0] == "red"
    assert frame["size"].tolist() == [1.0, 2.5]


def test_a_frame_without_names_has_codes_as_levels() -> None:
    frame = Dataset("made", "here", np.array([[2.0, 0.5], [0.0, 1.5]]), np.array([0, 1]), (0,)).frame()
    assert frame.columns.tolist() == ["x0", "x1"]
    assert frame["x0"].tolist() == [2, 0]
    assert frame["x0"].cat.categories.tolist() == [0, 1, 2]


def test_a_frame_without_pandas_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(MissingLibrary, match="pip install pandas"):
        load_dataset("wine").frame()
