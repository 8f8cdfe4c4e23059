"""Rows that are not one plain file: standard input, pipes, compressed files, and several files of the same columns.

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
BLOCK = 1 << 20
TEXT = (".csv", ".tsv", ".txt")


def is_packed(place: str) -> bool:
    """Tell whether a place is standard input, a pipe, a compressed file or a pattern of names.

    Examples
    --------
    >>> is_packed("-"), is_packed("rows.csv.gz"), is_packed("part-*.csv"), is_packed("rows.csv")
    (True, True, True, False)
    """
    return place == STANDARD_INPUT or Path(place).suffix.lower() in PACKED or is_pattern(place) or is_pipe(place)


def is_pipe(place: str) -> bool:
    """Tell whether a place is a pipe, such as ``/dev/stdin`` or a shell's ``<(command)``: it can be read only once."""
    try:
        return Path(place).is_fifo()
    except (OSError, ValueError):  # a name that no file can have
        return False


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
        elif place == STANDARD_INPUT or is_pipe(place):
            name = "stdin" if place == STANDARD_INPUT else Path(place).stem
            plain = Path(folder) / "rows"
            with plain.open("wb") as written:
                if place == STANDARD_INPUT:
                    _copy(sys.stdin.buffer, written, "standard input")
                else:
                    with Path(place).open("rb") as pipe:
                        _copy(pipe, written, place)
            yield _unpacked(plain, Path(folder)), name, []
        else:
            yield _unpacked(Path(place), Path(folder)), Path(Path(place).stem).stem, []


def _unpacked(path: Path, folder: Path) -> Path:
    """Return a file without compression, with the ending of its format."""
    with path.open("rb") as file:
        start = file.read(64)
    if not start.startswith((GZIP, ZSTD)):
        if path.suffix.lower() in PACKED:
            state = "not compressed by gzip or Zstandard" if start else "empty"
            raise UnusableDataset(
                f"{path.name} has the name of a compressed file but is {state}: copy it again, or rename it"
            )
        return path if path.parent != folder else path.rename(path.with_name(path.name + _ending(start)))
    inner = folder / (path.stem if path.parent != folder else "unpacked")
    with _opened(path, start) as packed, inner.open("wb") as written:
        try:
            _copy(packed, written, str(path))
        except (OSError, EOFError) as error:
            raise UnusableDataset(f"{path} cannot be unpacked: {error}") from error
    with inner.open("rb") as file:
        return inner if inner.suffix else inner.rename(inner.with_name(inner.name + _ending(file.read(64))))


def _copy(source: IO[bytes], written: IO[bytes], name: str) -> None:
    """Copy bytes; a small file can unpack to more than a disk holds, so half of what is free is the limit."""
    limit = shutil.disk_usage(Path(written.name).parent).free // 2
    while block := source.read(BLOCK):
        if written.tell() + len(block) > limit:
            raise UnusableDataset(
                f"{name} has more than {limit / 1e9:.1f} GB of rows, half of what is free in the folder for temporary "
                "files: unpack it elsewhere, or set TMPDIR to a larger folder"
            )
        written.write(block)


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
