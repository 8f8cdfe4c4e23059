"""Measured cells in a small Parquet file beside the page that they make: one row a cell, with versions and seconds.

A page is a function of its file, and a run starts with the cells in it. Names of machines are not kept.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

from tremula.errors import TremulaError
from tremula.lab.experiments.cell import Cell, Experiment, Outcome
from tremula.lab.experiments.cell_costs import (
    Cost,
    HoursLeft,
    cost_of,
    cost_ratio,
    expected_hours,
    mean_seconds,
    settings_text,
)
from tremula.lab.experiments.duckdb_file import import_duckdb, quoted
from tremula.lab.experiments.result import Result
from tremula.lab.experiments.stored_rows import as_values

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
    stand_ins : sequence of KeptCell
        Cells with smaller sizes, of the datasets of which more of them are kept, see `Experiment.stand_in`.
    sizes : str
        The smaller sizes in words.
    smaller : KeptCells or None
        All cells with smaller sizes, by which the time of missing cells is estimated.
    ratio : callable from Cell to float
        How many times as long a cell takes as with the smaller sizes.
    places : mapping of str to int
        The order of the datasets, where cells stand in.
    """

    cells: Sequence[KeptCell]
    n_wanted: int
    missing: Sequence[Cell] = ()
    stand_ins: Sequence[KeptCell] = ()
    sizes: str = ""
    smaller: KeptCells | None = None
    ratio: Callable[[Cell], float] = field(default=lambda cell: 1.0, compare=False)
    places: Mapping[str, int] = field(default_factory=dict)

    @property
    def shown(self) -> list[KeptCell]:
        """The cells that tables are made of: of each dataset those of the experiment, or those that stand in."""
        names = self.stood_in_for
        own = [cell for cell in self.cells if cell.result.dataset not in names]
        return sorted([*own, *self.stand_ins], key=lambda cell: self.places.get(cell.result.dataset, 0))

    @property
    def stood_in_for(self) -> list[str]:
        """Datasets that are shown with smaller sizes."""
        return list(dict.fromkeys(cell.result.dataset for cell in self.stand_ins))

    @property
    def results(self) -> list[Result]:
        """The results that tables are made of, with those that failed."""
        return [cell.result for cell in self.shown]

    @property
    def versions(self) -> str:
        """The versions that measured the cells."""
        return "; ".join(dict.fromkeys(cell.versions for cell in self.shown)) or "none"

    @property
    def date(self) -> str:
        """The date of the last cell."""
        return max((cell.date for cell in self.shown), default="none")

    @property
    def cost(self) -> Cost:
        """Hours of the cells, and how many of these are by the clock."""
        return cost_of(self.results)

    @property
    def hours_left(self) -> HoursLeft:
        """Hours that the missing cells will take, by the mean of like cells: of their dataset and, if any, method."""
        seconds = self.mean_seconds
        return sum((self.expected_hours(cell, seconds) for cell in self.missing), HoursLeft(0.0, 0))

    def expected_hours(self, cell: Cell, seconds: Mapping[tuple[str, ...], float], ratio: float = 1.0) -> HoursLeft:
        """Return what a cell will take: as long as like cells, or longer than those of smaller sizes by the ratio."""
        expected = expected_hours(cell, seconds, ratio)
        if expected.n_unknown and self.smaller is not None:
            return expected_hours(cell, self.smaller.mean_seconds, ratio * self.ratio(cell))
        return expected

    @cached_property
    def mean_seconds(self) -> dict[tuple[str, ...], float]:
        """Mean seconds of the cells of each dataset and method, and of each dataset."""
        return mean_seconds(cell.result for cell in self.cells)


def no_cells(experiment: Experiment) -> KeptCells:
    """Return the kept cells of an experiment of which nothing is kept."""
    return KeptCells((), len(experiment.cells), experiment.cells)


def with_stand_ins(kept: KeptCells, experiment: Experiment, smaller: KeptCells) -> KeptCells:
    """Return kept cells with those of smaller sizes that stand in: of each dataset the ones of which more are kept."""
    n_own, n_smaller = (Counter(cell.result.dataset for cell in each.cells) for each in (kept, smaller))
    stand_ins = [
        replace(cell, result=replace(cell.result, stands_in=True))
        for cell in smaller.cells
        if n_smaller[cell.result.dataset] > n_own[cell.result.dataset]
    ]
    sizes = experiment.stand_in.sizes if experiment.stand_in else ""
    ratio = partial(cost_ratio, experiment.stand_in, experiment)
    places = {name: place for place, name in enumerate(dict.fromkeys(cell.dataset for cell in experiment.cells))}
    return replace(kept, stand_ins=stand_ins, sizes=sizes, smaller=smaller, ratio=ratio, places=places)


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
        With the cells of the same file that stand in for missing ones.
    """
    kept = _read_own_cells(path, experiment)
    if experiment.stand_in is None:
        return kept
    return with_stand_ins(kept, experiment, _read_own_cells(path, experiment.stand_in))


def _read_own_cells(path: Path, experiment: Experiment) -> KeptCells:
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
    values, processor_seconds = as_values(names, numbers)
    outcome = Outcome(values, n_test, fit, predict, size, seed, processor_seconds=processor_seconds)
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
