"""Rows from standard input, compressed files and several files; files without a line of names; names of outputs."""

import gzip
import io
import os
import threading
from pathlib import Path
from types import SimpleNamespace

import pyarrow
import pytest

from tremula.cli.main import run
from tremula.cli.output_names import free_name
from tremula.lab.datasets.errors import UnusableDataset
from tremula.lab.datasets.formats.delimited import _holds_values
from tremula.lab.datasets.reader import load_dataset, read_data

TEXT = "size,kind\n1.5,a\n2.5,b\n3.5,a\n"


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def give(monkeypatch: pytest.MonkeyPatch, content: bytes) -> None:
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(content)))


@pytest.mark.parametrize("is_packed", [False, True])
def test_standard_input_is_read(is_packed: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    give(monkeypatch, gzip.compress(TEXT.encode()) if is_packed else TEXT.encode())
    dataset = read_data("-").dataset
    assert (dataset.name, dataset.source, dataset.X[:, 0].tolist()) == ("stdin", "standard input", [1.5, 2.5, 3.5])


def test_parquet_comes_through_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    import pyarrow.parquet

    pyarrow.parquet.write_table(pyarrow.table({"size": [1.0, 2.0], "kind": ["a", "b"]}), "rows.parquet")
    give(monkeypatch, Path("rows.parquet").read_bytes())
    assert read_data("-").dataset.X.tolist() == [[1.0], [2.0]]


@pytest.mark.parametrize("name", ["pipe.csv", "63"])
def test_a_pipe_is_read_once(name: str) -> None:
    os.mkfifo(name)
    writer = threading.Thread(target=Path(name).write_text, args=(TEXT,), daemon=True)
    writer.start()
    dataset = read_data(name).dataset
    assert (dataset.name, dataset.X[:, 0].tolist()) == (Path(name).stem, [1.5, 2.5, 3.5])


@pytest.mark.parametrize("place", ["-", "rows.csv.gz"])
def test_rows_that_fill_half_of_the_disk_are_refused(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    packed = gzip.compress(b"size,kind\n" + b"1.5,a\n" * 1_000_000)
    assert len(packed) < 20_000
    give(monkeypatch, packed)
    Path("rows.csv.gz").write_bytes(packed)
    monkeypatch.setattr("shutil.disk_usage", lambda _: SimpleNamespace(free=4_000_000))
    with pytest.raises(UnusableDataset, match="half of what is free in the folder for temporary files"):
        read_data(place)


def test_compressed_files_are_read() -> None:
    Path("rows.csv.gz").write_bytes(gzip.compress(TEXT.encode()))
    with pyarrow.output_stream("rows.csv.zst", compression="zstd") as file:
        file.write(TEXT.encode())
    for place in ("rows.csv.gz", "rows.csv.zst"):
        dataset = read_data(place).dataset
        assert (dataset.name, dataset.source, len(dataset.y)) == ("rows", place, 3)


def test_a_damaged_file_is_named_as_the_user_named_it(monkeypatch: pytest.MonkeyPatch) -> None:
    Path("rows.csv.gz").write_bytes(gzip.compress(TEXT.encode())[:-12])
    with pytest.raises(UnusableDataset, match=r"^rows\.csv\.gz cannot be unpacked"):
        read_data("rows.csv.gz")
    give(monkeypatch, TEXT.encode() + b"4\n")
    with pytest.raises(UnusableDataset, match="line 5 of standard input has 1 values"):
        read_data("-")


@pytest.mark.parametrize("name", ["rows.gz", "rows.csv.gz", "rows.csv.zst"])
@pytest.mark.parametrize(("content", "state"), [(b"", "is empty"), (TEXT.encode(), "is not compressed")])
def test_a_file_that_is_only_named_as_a_compressed_one_is_refused(name: str, content: bytes, state: str) -> None:
    """Its plain file was itself, which was unpacked again without end."""
    Path(name).write_bytes(content)
    with pytest.raises(UnusableDataset, match=f"{name} has the name of a compressed file but {state}"):
        read_data(name)
    Path("twice.csv.gz.gz").write_bytes(gzip.compress(content))
    with pytest.raises(UnusableDataset, match=f"twice.csv.gz has the name of a compressed file but {state}"):
        read_data("twice.csv.gz.gz")


def test_several_files_are_one_table() -> None:
    Path("part-1.csv").write_text(TEXT)
    Path("part-2.csv").write_text("size,kind\n9,b")
    reading = read_data("part-*.csv")
    assert reading.dataset.X[:, 0].tolist() == [1.5, 2.5, 3.5, 9.0]
    assert reading.dataset.name == "part"
    assert "2 files were read as one table: part-1.csv to part-2.csv." in reading.notes
    Path("part-3.csv").write_text("length,kind\n9,b")
    with pytest.raises(UnusableDataset, match=r"part-3\.csv has other columns than part-1\.csv"):
        read_data("part-*.csv")
    with pytest.raises(UnusableDataset, match="no file matches"):
        read_data("other-*.csv")


# --- without names ---


def test_a_file_without_names_is_recognised() -> None:
    Path("rows.csv").write_text("5.1,3.5,a\n4.9,3.0,b\n")
    reading = read_data("rows.csv")
    assert reading.dataset.attribute_names == ("x1", "x2")
    assert reading.dataset.X.tolist() == [[5.1, 3.5], [4.9, 3.0]]
    assert any("holds values, not names" in note for note in reading.notes)


@pytest.mark.parametrize(
    ("first", "second", "holds_values"),
    [
        ("5,3,0", "4,1,1", True),
        ("5,red,0", "4,red,1", True),
        ("5.5,red,0", "4,blue,1", True),
        ("size,kind", "1,a", False),
        ("a,b", "c,d", False),  # nothing tells names from values
        ("2023,2024", "1,2", False),
        ("id,2024", "7,1", False),
        ("grade,1", "a,2", False),  # levels of a pivoted table
    ],
)
def test_names_and_values_are_told_apart(first: str, second: str, holds_values: bool) -> None:
    assert _holds_values(first.split(","), second.split(",")) == holds_values


# --- what is written ---


def test_a_second_dataset_does_not_overwrite_the_files_of_the_first() -> None:
    words = ("--methods", "reptree", "--cv", "2", "--quick", "--no-store")
    for name in ("wine", "iris", "wine"):
        with pytest.raises(SystemExit) as stop:
            run(["compare", name, *words])
        assert not stop.value.code
    files = {path.name for path in Path().iterdir()}
    assert files == {"report.html", "best.tremula", "report-iris.html", "best-iris.tremula"}
    assert "compared on wine" in Path("report.html").read_text()
    assert free_name(Path("best.tremula"), load_dataset("iris")).name == "best-iris.tremula"
