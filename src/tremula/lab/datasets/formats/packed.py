"""Rows that are not one plain file: standard input, compressed files, and several files of the same columns.

Each becomes a plain file in a temporary folder, which the reader of its format opens.
"""

import gzip
import io
import shutil
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from glob import glob, has_magic
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO

from tremula.errors import MissingLibrary
from tremula.lab.datasets.errors import UnusableDataset

STANDARD_INPUT = "-"
PACKED = (".gz", ".zst")
GZIP, ZSTD, PARQUET, ARFF = b"\x1f\x8b", b"\x28\xb5\x2f\xfd", b"PAR1", b"@relation"
TEXT = (".csv", ".tsv", ".txt")


def is_packed(place: str) -> bool:
    """Tell whether a place is standard input, a compressed file or a pattern of names.

    Examples
    --------
    >>> is_packed("-"), is_packed("rows.csv.gz"), is_packed("part-*.csv"), is_packed("rows.csv")
    (True, True, True, False)
    """
    return place == STANDARD_INPUT or Path(place).suffix.lower() in PACKED or is_pattern(place)


def is_pattern(place: str) -> bool:
    """Tell whether a place names several files, as ``part-*.csv`` does."""
    return has_magic(place) and not Path(place).exists() and Path(place).suffix.lower() in (*TEXT, *PACKED)


@contextmanager
def plain_file(place: str) -> Iterator[tuple[Path, str, list[str]]]:
    """Give the path of a plain file with the same rows, the name of the table, and notes."""
    with TemporaryDirectory(prefix="tremula-") as folder:
        if is_pattern(place):
            paths = sorted(map(Path, glob(place)))
            if not paths:
                raise UnusableDataset(f"no file matches {place!r}: check the pattern and the folder")
            plain = _joined([_unpacked(path, Path(folder)) for path in paths], paths, Path(folder))
            name = paths[0].name.partition(".")[0].rstrip("0123456789-_") or paths[0].stem
            yield plain, name, [f"{len(paths)} files were read as one table: {paths[0].name} to {paths[-1].name}."]
        elif place == STANDARD_INPUT:
            plain = Path(folder) / "stdin"
            with plain.open("wb") as written:
                shutil.copyfileobj(sys.stdin.buffer, written)
            yield _unpacked(plain, Path(folder)), "stdin", []
        else:
            yield _unpacked(Path(place), Path(folder)), Path(Path(place).stem).stem, []


def _unpacked(path: Path, folder: Path) -> Path:
    """Return a file without compression, with the ending of its format."""
    with path.open("rb") as file:
        start = file.read(64)
    if not start.startswith((GZIP, ZSTD)):
        return path if path.parent != folder else path.rename(path.with_name(path.name + _ending(start)))
    inner = folder / (path.stem if path.parent != folder else "unpacked")
    with _opened(path, start) as packed, inner.open("wb") as written:
        try:
            shutil.copyfileobj(packed, written)
        except (OSError, EOFError) as error:
            raise UnusableDataset(f"{path} cannot be unpacked: {error}") from error
    with inner.open("rb") as file:
        return inner if inner.suffix else inner.rename(inner.with_name(inner.name + _ending(file.read(64))))


def _ending(start: bytes) -> str:
    if start.startswith(PARQUET):
        return ".parquet"
    return ".arff" if start.lower().lstrip().startswith((ARFF, b"%")) else ".csv"


def _opened(path: Path, start: bytes) -> IO[bytes]:
    if start.startswith(GZIP):
        return gzip.open(path)  # type: ignore[return-value]
    try:
        from pyarrow import input_stream
    except ImportError as error:
        raise MissingLibrary(f"unpacking {path} needs pyarrow, which is not installed: pip install pyarrow") from error
    return io.BufferedReader(input_stream(str(path), compression="zstd"))


def _joined(plain: Sequence[Path], paths: Sequence[Path], folder: Path) -> Path:
    """Write files of text one after another, the line of names once."""
    joined = folder / f"joined{plain[0].suffix}"
    with joined.open("wb") as written:
        for number, (path, given) in enumerate(zip(plain, paths, strict=True)):
            with path.open("rb") as file:
                line = file.readline()
                if number == 0:
                    header = line
                    written.write(line)
                elif line.strip() != header.strip():
                    raise UnusableDataset(f"{given} has other columns than {paths[0]}: read them separately")
                shutil.copyfileobj(file, written)
            if written.tell():
                written.write(b"\n")
    return joined
