"""Datasets from OpenML: fetched once, kept in a cache folder, never half written.

The folder is ``TREMULA_CACHE``, else that of the platform. The files are Parquet with a checksum of every page.
"""

import io
import os
import warnings
from pathlib import Path
from types import ModuleType
from typing import Any

from sklearn.datasets import fetch_openml

from tremula.errors import MissingLibrary
from tremula.lab.datasets.errors import DamagedCopy, NotFetched, UnusableDataset
from tremula.lab.datasets.formats.parquet import import_pyarrow
from tremula.lab.datasets.registry import KnownDataset
from tremula.persistence.atomic_write import write_atomically

CACHE_FOLDER_VARIABLE = "TREMULA_CACHE"
DATA_FOLDER_VARIABLE = "TREMULA_DATA"
TARGET = "target"  # the column of the target in a file of the cache


def cache_folder() -> Path:
    """Return the folder of fetched datasets: ``TREMULA_CACHE``, or else one where the platform has its caches."""
    chosen = os.environ.get(CACHE_FOLDER_VARIABLE)
    if chosen:
        return Path(chosen)
    import platformdirs

    return platformdirs.user_cache_path("tremula") / "datasets"


def cached_file(known: KnownDataset, fetch: bool = True) -> Path:
    """Return the file of a known dataset in the cache; where it is absent or damaged, the dataset is fetched.

    Parameters
    ----------
    known : KnownDataset
    fetch : bool, default=True
        Whether it may be fetched.
    """
    path = cache_folder() / f"{known.name}.parquet"
    if path.is_file():
        damage = _damage(path)
        if damage is None:
            return path
        warnings.warn(f"the copy of dataset {known.name!r} in the cache is damaged: {damage}", DamagedCopy, 5)
    frame = _fetch(known, path, fetch)
    _check_shape(frame, known, path)
    _keep(path, _as_parquet(frame))
    return path


def _damage(path: Path) -> Exception | None:
    """Return what is wrong with a file by the checksums of its pages; without pyarrow, they are not looked at."""
    try:
        pyarrow, parquet = import_pyarrow("checking a file")
    except MissingLibrary:
        return None
    try:
        parquet.read_table(path, page_checksum_verification=True)
    except (pyarrow.ArrowException, OSError) as error:  # a wrong checksum of a page is an OSError
        return error
    return None


def _keep(path: Path, content: bytes) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, content)
    except OSError as error:
        raise OSError(
            error.errno,
            f"a fetched dataset cannot be kept in {str(path.parent)!r} ({error.strerror}): make room there, or name "
            f"another folder in {CACHE_FOLDER_VARIABLE}",
        ) from error


def _fetch(known: KnownDataset, path: Path, allowed: bool) -> Any:
    """Return the dataset as a pandas frame with its target as the last column."""
    if known.openml is None:
        raise NotFetched(
            f"dataset {known.name!r} is not on this machine and has no public source that tremula can fetch "
            f"({known.origin}): name a folder that holds {known.name}.parquet in {DATA_FOLDER_VARIABLE}"
        )
    if not allowed:
        raise NotFetched(f"dataset {known.name!r} is not on this machine, and fetch=False was given{_advice(path)}")
    try:
        with _showing(f"fetching {known.name} (OpenML {known.openml})"):
            bunch = _ask_openml(known.openml)
    except ImportError as error:
        raise MissingLibrary("fetching datasets needs pandas, which is not installed: pip install pandas") from error
    except (OSError, ValueError) as error:  # no network, no answer, or an answer that cannot be read
        raise NotFetched(
            f"dataset {known.name!r} is not on this machine, and fetching it from OpenML ({known.openml}) failed: "
            f"{error}{_advice(path)}"
        ) from error
    return _with_target(bunch, known)


def _advice(path: Path) -> str:
    return (
        f": name a folder that holds {path.name} in {DATA_FOLDER_VARIABLE}, or load it on a machine with a network "
        f"and copy it from the cache there to {path}"
    )


def _ask_openml(number: int) -> Any:
    """Fetch past scikit-learn's own cache, by its older parser: that which uses pandas fails on classes 1, 2, ..."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="A network error occurred|DataFrame is highly fragmented")
        return fetch_openml(data_id=number, as_frame=True, cache=False, n_retries=1, delay=0.5, parser="liac-arff")


def _showing(task: str) -> Any:
    """Show on a terminal what is being done, and for how long."""
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    console = Console(stderr=True)
    columns = SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn()
    progress = Progress(*columns, console=console, transient=True, disable=not console.is_terminal)
    progress.add_task(task, total=None)
    return progress


def _with_target(bunch: Any, known: KnownDataset) -> Any:
    """Return attributes and target as one frame, the target last and called ``target``."""
    import pandas

    target = bunch.target
    if target is None or target.ndim != 1:
        raise UnusableDataset(f"OpenML ({known.openml}) does not say which column of {known.name!r} is its target")
    if known.task == "regression":  # whole numbers are declared as nominal here and there
        target = target.astype("float64")
    renamed = bunch.data.rename(columns={TARGET: f"{TARGET}_"})
    return pandas.concat([renamed, target.rename(TARGET)], axis=1)


def _check_shape(frame: Any, known: KnownDataset, path: Path) -> None:
    """Refuse another dataset before it gets into the cache."""
    n_classes = frame[TARGET].nunique() if known.task == "classification" else None
    shape = len(frame), frame.shape[1] - 1, n_classes
    expected = known.rows, known.numeric + known.nominal, known.classes
    if shape != expected:
        raise NotFetched(
            f"OpenML ({known.openml}) now has {shape} rows, attributes and classes, but dataset {known.name!r} "
            f"has {expected}: it is not kept{_advice(path)}"
        )


def _as_parquet(frame: Any) -> bytes:
    pyarrow, parquet = import_pyarrow("keeping a fetched dataset")
    nominal = [str(dtype) == "category" for dtype in frame.dtypes]
    arrays = [
        _as_words(pyarrow, frame[name]) if is_nominal else pyarrow.Array.from_pandas(frame[name])
        for name, is_nominal in zip(frame, nominal)
    ]
    buffer = io.BytesIO()
    parquet.write_table(pyarrow.table(arrays, names=list(frame)), buffer, write_page_checksum=True)
    return buffer.getvalue()


def _as_words(pyarrow: ModuleType, column: Any) -> Any:
    """Return levels as text, so that a column whose values are all missing stays nominal too."""
    values = [None if missing else str(value) for value, missing in zip(column, column.isna())]
    return pyarrow.array(values, pyarrow.string()).dictionary_encode()
