"""Measured cells in a small Parquet file beside the page that they make: one row a cell, with versions and seconds.

A page is a function of its file, and a run starts with the cells in it. Names of machines are not kept.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tremula.errors import TremulaError
from tremula.lab.experiments.cell import Cell, Experiment, Outcome
from tremula.lab.experiments.duckdb_file import import_duckdb, quoted
from tremula.lab.experiments.result import Result

VERSION_COLUMNS = ("tremula", "python", "numpy", "scikit_learn")
COLUMNS = (
    "experiment", "settings", "dataset", "method", "split", "measured", "n_test", "fit_seconds", "predict_seconds",
    "size", "seed", "failure", *VERSION_COLUMNS, "date",
)  # fmt: skip


class KeptCellsError(TremulaError, ValueError):
    """A file that holds no measured cells."""


@dataclass(frozen=True)
class KeptCell:
    """A result, and with what and when it was measured."""

    result: Result
    python: str
    numpy: str
    scikit_learn: str
    date: str

    @property
    def versions(self) -> str:
        """The versions in one line."""
        libraries = f"tremula {self.result.tremula}, numpy {self.numpy}, scikit-learn {self.scikit_learn}"
        return f"{libraries}, Python {self.python}"


@dataclass(frozen=True)
class KeptCells:
    """The kept cells of an experiment.

    Attributes
    ----------
    cells : sequence of KeptCell
        In the order of the experiment.
    n_wanted : int
        Number of cells of the experiment.
    missing : sequence of Cell
        Those that are not kept.
    """

    cells: Sequence[KeptCell]
    n_wanted: int
    missing: Sequence[Cell] = ()

    @property
    def results(self) -> list[Result]:
        """The results, with those that failed."""
        return [cell.result for cell in self.cells]

    @property
    def versions(self) -> str:
        """The versions that measured the cells."""
        return "; ".join(dict.fromkeys(cell.versions for cell in self.cells)) or "none"

    @property
    def date(self) -> str:
        """The date of the last cell."""
        return max((cell.date for cell in self.cells), default="none")

    @property
    def core_hours(self) -> float:
        """Hours of training and prediction."""
        return math.fsum(map(_seconds, self.results)) / 3600

    @property
    def hours_left(self) -> HoursLeft:
        """Hours that the missing cells will take, by the mean of like cells: of their dataset and, if any, method."""
        seconds = self.mean_seconds
        return sum((expected_hours(cell, seconds) for cell in self.missing), HoursLeft(0.0, 0))

    @property
    def mean_seconds(self) -> dict[tuple[str, ...], float]:
        """Mean seconds of the cells of each dataset and method, and of each dataset."""
        seconds: dict[tuple[str, ...], list[float]] = {}
        for result in self.results:
            for kind in ((result.dataset, result.method), (result.dataset,)):
                seconds.setdefault(kind, []).append(_seconds(result))
        return {kind: math.fsum(like) / len(like) for kind, like in seconds.items()}


@dataclass(frozen=True)
class HoursLeft:
    """An estimate of what missing cells will take.

    Attributes
    ----------
    hours : float
        Of the cells whose dataset has measured cells.
    n_unknown : int
        Number of cells whose dataset has none; they are not in `hours`.
    """

    hours: float
    n_unknown: int

    def __add__(self, other: HoursLeft) -> HoursLeft:
        return HoursLeft(self.hours + other.hours, self.n_unknown + other.n_unknown)

    def __str__(self) -> str:
        unknown = f", and {self.n_unknown} cells of datasets with no measured cell" if self.n_unknown else ""
        return f"{self.hours:.2f} core-hours{unknown}"


def expected_hours(cell: Cell, seconds: Mapping[tuple[str, ...], float], ratio: float = 1.0) -> HoursLeft:
    """Return what a cell will take by `KeptCells.mean_seconds`: its own kind, or its dataset, times a ratio."""
    like = seconds.get((cell.dataset, cell.method), seconds.get((cell.dataset,)))
    return HoursLeft(0.0, 1) if like is None else HoursLeft(ratio * like / 3600, 0)


def _seconds(result: Result) -> float:
    return result.fit_seconds + result.predict_seconds


def settings_text(experiment: Experiment) -> str:
    """Return the settings as a store and a file of cells hold them."""
    return json.dumps(dict(experiment.settings), sort_keys=True, ensure_ascii=False)


def no_cells(experiment: Experiment) -> KeptCells:
    """Return the kept cells of an experiment of which nothing is kept."""
    return KeptCells((), len(experiment.cells), experiment.cells)


def read_cells(path: Path, experiment: Experiment) -> KeptCells:
    """Read the cells of an experiment from a file.

    Parameters
    ----------
    path : Path
        Cells of other settings in it are left out.
    experiment : Experiment

    Returns
    -------
    KeptCells
    """
    duckdb = import_duckdb()
    columns = ", ".join("map_keys(measured), map_values(measured)" if name == "measured" else name for name in COLUMNS)
    query = f"SELECT {columns} FROM read_parquet(?) WHERE experiment = ? AND settings = ?"
    try:
        with duckdb.connect() as connection:
            rows = connection.execute(query, [str(path), experiment.name, settings_text(experiment)]).fetchall()
    except duckdb.Error as error:
        first_line = str(error).split("\n")[0]
        raise KeptCellsError(
            f"{str(path)!r} holds no measured cells ({first_line}): restore it, or remove it to measure them again"
        ) from error
    kept = {(cell := _as_kept_cell(row)).result.cell: cell for row in rows}
    cells = [kept[cell] for cell in experiment.cells if cell in kept]
    return KeptCells(cells, len(experiment.cells), [cell for cell in experiment.cells if cell not in kept])


def _as_kept_cell(row: Sequence[Any]) -> KeptCell:
    _, _, dataset, method, split, names, numbers, *measures, failure, tremula, python, numpy, sklearn, date = row
    n_test, fit, predict, size, seed = measures
    # Some versions of DuckDB turn NaN within a list into NULL.
    values = {name: math.nan if number is None else number for name, number in zip(names, numbers)}
    outcome = Outcome(values, n_test, fit, predict, size, seed)
    result = Result(Cell(dataset, method, split), outcome, failure, tremula=tremula)
    return KeptCell(result, python, numpy, sklearn, str(date))


def insertable(kept: Iterable[KeptCell], tremula: str) -> list[KeptCell]:
    """Return the cells that a store of this version may take: failures are measured again."""
    return [cell for cell in kept if cell.result.tremula == tremula and cell.result.failure is None]


def copy_query(experiment: Experiment, tremula: str, path: Path, former: Path | None = None) -> str:
    """Return the SQL that writes all cells with the name of an experiment, of any settings, from a store to a file.

    Cells of a former file that the store does not have are written too.
    """
    renamed = {"experiment": "experiments.name AS experiment", "date": "CAST(time AS DATE) AS date"}
    columns = ", ".join(renamed.get(name, name) for name in COLUMNS)
    chosen = f"= {quoted(experiment.name)} AND tremula = {quoted(tremula)}"
    stored = f"SELECT {columns} FROM results JOIN experiments USING (experiment) WHERE name {chosen}"
    if former is not None:
        kept = f"SELECT {', '.join(COLUMNS)} FROM read_parquet({quoted(str(former))}) WHERE experiment {chosen}"
        same = "experiment, settings, dataset, method, split"
        stored = f"WITH stored AS ({stored}) FROM stored UNION ALL FROM ({kept}) ANTI JOIN stored USING ({same})"
    return (
        f"COPY (FROM ({stored}) ORDER BY settings, dataset, method, split) "
        f"TO {quoted(str(path))} (FORMAT parquet, COMPRESSION zstd)"
    )
