"""Saves a model to a file of arrays and JSON, and loads it, without pickle: predictions are the same, bit for bit.

A file is a ZIP archive whose last bytes are a checksum of all others. Loading runs no code but tremula's own, and
nothing unsound reaches the kernels. What is unpacked has at most `MAX_RATIO` times the bytes of the file.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import zipfile
from collections.abc import Callable
from functools import partial
from importlib.metadata import version
from typing import Any

from numpy.typing import NDArray

from tremula.errors import FileDamaged, FileTooNew, TremulaError
from tremula.persistence.atomic_write import file_path, write_atomically
from tremula.persistence.description import ValueDecoder, ValueEncoder
from tremula.persistence.stored_arrays import array_of, bytes_of

FORMAT = "tremula model"
FORMAT_VERSION = 1
DESCRIPTION = "model.json"
CHECKSUM = b"sha256:"
N_DIGITS = 64
NO_DATE = (1980, 1, 1, 0, 0, 0)  # the earliest date of a ZIP file: the same model gives the same bytes on any day
MAX_RATIO = 100  # unpacked bytes for each byte of a file
FREE_BYTES = 2**20  # unpacked bytes that any file may have
METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)


def save(model: Any, path: str | os.PathLike[str]) -> None:
    """Write a tree or an ensemble to a file.

    Parameters
    ----------
    model : estimator of tremula, or Tree
        Its parameters are saved, and all attributes that `fit` set.
    path : str or path
        The file to create or replace. If writing fails, the previous file stays as it was.

    See Also
    --------
    load : Load it again.

    Notes
    -----
    The file is a ZIP archive of one JSON text and NumPy arrays; the guide to files describes it. An ensemble of
    estimators other than tremula's raises `NotStorable`: use skops or pickle for it.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from sklearn.datasets import load_iris
    >>> import tremula as tm
    >>> X, y = load_iris(return_X_y=True)
    >>> forest = tm.RandomForestClassifier(n_estimators=10, random_state=0).fit(X, y)
    >>> with TemporaryDirectory() as folder:
    ...     tm.save(forest, Path(folder, "iris.tremula"))
    ...     again = tm.load(Path(folder, "iris.tremula"))
    >>> bool((again.predict_proba(X) == forest.predict_proba(X)).all())
    True
    """
    write_atomically(file_path(path), _pack(model))


def load(path: str | os.PathLike[str]) -> Any:
    """Read a tree or an ensemble from a file that `save` wrote.

    Parameters
    ----------
    path : str or path
        The file.

    Returns
    -------
    estimator or Tree
        With the parameters and the fitted attributes it was saved with.

    Raises
    ------
    FileDamaged
        The file was truncated or changed, or is not a model file.
    FileTooNew
        A later release of tremula wrote it in a format that this one cannot read.
    UnknownClass
        It names a class or a parameter that this release does not have.

    See Also
    --------
    save : Write such a file.
    """
    content = file_path(path).read_bytes()
    _check_checksum(content, path)
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            _check_entries(archive, content)
            description = json.loads(archive.read(DESCRIPTION))
            names = [name.removesuffix(".npy") for name in archive.namelist() if name.endswith(".npy")]
            return model_of(description, names, partial(_read_array, archive), path)
    except TremulaError:
        raise
    except Exception as error:  # a file that tremula did not write may raise anything
        raise FileDamaged(
            f"{os.fspath(path)!r} does not contain a valid model ({error}), although its checksum "
            "matches: something other than tremula wrote it; save the model again"
        ) from error


def _pack(model: Any) -> bytes:
    """Return the content of a file."""
    encoder = ValueEncoder()
    description = {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "tremula_version": version("tremula"),
        "model": encoder.describe(model, type(model).__name__),
    }
    entries = {DESCRIPTION: json.dumps(description, indent=1, allow_nan=False).encode()}
    entries |= {f"{name}.npy": bytes_of(array) for name, array in (encoder.arrays | encoder.packed_arrays()).items()}
    summed = _zipped(entries, zipfile.ZIP_DEFLATED)
    if sum(map(len, entries.values())) > _max_unpacked(len(summed)):  # such as thousands of equal members
        summed = _zipped(entries, zipfile.ZIP_STORED)
    return summed + hashlib.sha256(summed).hexdigest().encode()


def _zipped(entries: dict[str, bytes], method: int) -> bytes:
    """Return an archive of the entries, up to the digits of the checksum."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in entries.items():
            archive.writestr(zipfile.ZipInfo(name, NO_DATE), content, method, compresslevel=6)
        archive.comment = CHECKSUM + b"0" * N_DIGITS
    return buffer.getvalue()[:-N_DIGITS]


def _max_unpacked(n_bytes: int) -> int:
    """Return the largest number of bytes that may be unpacked from a file of so many."""
    return MAX_RATIO * n_bytes + FREE_BYTES


def _check_checksum(content: bytes, path: str | os.PathLike[str]) -> None:
    name = os.fspath(path)
    if not content.startswith(b"PK"):
        raise FileDamaged(f"{name!r} was not written by tm.save: give the path of a file that was")
    summed, digits = content[:-N_DIGITS], content[-N_DIGITS:]
    if not summed.endswith(CHECKSUM):
        raise FileDamaged(f"{name!r} was not written by tm.save, or is cut short: copy it again, or save it again")
    if hashlib.sha256(summed).hexdigest().encode() != digits:
        raise FileDamaged(
            f"{name!r} was changed after it was written (wrong checksum): copy it again, or save it again"
        )


def _check_entries(archive: zipfile.ZipFile, content: bytes) -> None:
    """Raise ValueError if entries would take too much memory, or are packed in another way than `save` does."""
    entries = archive.infolist()
    if len({entry.filename for entry in entries}) != len(entries):
        raise ValueError("two entries have the same name")
    if any(entry.compress_type not in METHODS for entry in entries):
        raise ValueError("an entry is packed by another method than tm.save uses")
    check_sizes(archive, len(content))


def check_sizes(archive: zipfile.ZipFile, n_bytes: int) -> None:
    """Raise ValueError if the entries of an archive of so many bytes would unpack to far more, or share their bytes."""
    entries = archive.infolist()
    n_unpacked = sum(entry.file_size for entry in entries)
    if n_unpacked > _max_unpacked(n_bytes) or sum(entry.compress_size for entry in entries) > n_bytes:
        raise ValueError(f"it would unpack to {n_unpacked} bytes, more than {MAX_RATIO} times its size")


def model_of(
    description: Any, names: list[str], read_array: Callable[[str], NDArray[Any]], path: str | os.PathLike[str]
) -> Any:
    """Return the model of a description and arrays; what is not valid may raise anything."""
    if description["format"] != FORMAT:
        raise ValueError(f"format {description['format']!r}, expected {FORMAT!r}")
    if description["format_version"] > FORMAT_VERSION:
        raise FileTooNew(
            f"{os.fspath(path)!r} has format version {description['format_version']}, but tremula {version('tremula')} "
            f"knows only those up to {FORMAT_VERSION}: install tremula {description['tremula_version']}, which wrote it"
        )
    decoder = ValueDecoder(read_array, names, description["tremula_version"])
    return decoder.read(description["model"])


def _read_array(archive: zipfile.ZipFile, name: str) -> NDArray[Any]:
    """Read an array of plain numbers or strings."""
    return array_of(archive.read(f"{name}.npy"), name)
