"""Keeps what was measured in a DuckDB file: each cell once, with the version of tremula that measured it.

A store may be used by several runners at a time, and a runner may be killed at any moment: a result is either wholly
in the file or not at all, and a cell that one runner has claimed no other measures.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from tremula import __version__
from tremula.errors import InvalidParameter, did_you_mean
from tremula.lab.experiments import claims
from tremula.lab.experiments.cell import Cell, Experiment, Outcome
from tremula.lab.experiments.claims import Runner
from tremula.lab.experiments.duckdb_file import PATIENCE, DuckFile, StoreTrouble
from tremula.lab.experiments.stored_rows import (
    INSERT,
    MEASURED_BY,
    OF_CELL,
    RESULT_COLUMNS,
    SCHEMA,
    SHOWN,
    Measured,
    StoreOfAnotherVersion,
    as_result,
    as_row,
    check_format,
    column_of,
    suffices,
    unpack,
)
from tremula.lab.papers.paper import Result

FRAMES: dict[str, Callable[[Any], Any]] = {
    "pandas": lambda query: query.df(),
    "polars": lambda query: query.pl(),
    "pyarrow": lambda query: query.to_arrow_table(),
}
OTHER_VERSIONS = ("refuse", "beside")


@dataclass(frozen=True)
class Claimed:
    """Cells that the runner is to measure, and those that are being measured by others."""

    own: Sequence[Cell]
    elsewhere: Sequence[Cell]


class Store:
    """A file of results.

    Parameters
    ----------
    path : path
        The DuckDB file; it is made when the first result is kept.
    other_versions : {"refuse", "beside"}, default="refuse"
        What to do where the results of an experiment were measured by another version of tremula: raise an error that
        says so, or measure all again and keep the new results beside the old ones. They are never mixed.
    patience : float, default=300.0
        Seconds to wait for another program that has the file open.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from tremula.lab.experiments.cell import Cell, Experiment, Outcome
    >>> from tremula.lab.experiments.store import Store
    >>> cell = Cell("iris", "guessing", 0)
    >>> experiment = Experiment("example", {"seed": 0}, [cell], measure=lambda cell: Outcome({"error": 0.5}))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     store = Store(Path(folder) / "results.duckdb")
    ...     store.keep(experiment, cell, Outcome({"error": 0.5}, n_test=50))
    ...     store.results(experiment)
    [Result(dataset='iris', method='guessing', split=0, values={'error': 0.5}, n_test=50, ...)]
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        other_versions: Literal["refuse", "beside"] = "refuse",
        patience: float = PATIENCE,
    ) -> None:
        if other_versions not in OTHER_VERSIONS:
            hint = did_you_mean(str(other_versions), OTHER_VERSIONS) or ": give one of these"
            raise InvalidParameter(f"other_versions={other_versions!r} is none of {OTHER_VERSIONS}{hint}")
        self.path = Path(path)
        self.other_versions = other_versions
        self._file = DuckFile(self.path, SCHEMA, patience)
        self._tremula = __version__
        self._checked = False

    def __repr__(self) -> str:
        return f"Store({str(self.path)!r})"

    def results(self, experiment: Experiment, cells: Iterable[Cell] | None = None) -> list[Result]:
        """Return what is kept of an experiment, failures too.

        Parameters
        ----------
        experiment : Experiment
        cells : iterable of Cell, optional
            Which, in this order; by default all of the experiment.
        """
        if not self.path.exists():
            return []
        with self._transaction() as connection:
            self._refuse_other_versions(connection, experiment)
            kept = {Cell(*row[:3]): row for row in self._rows(connection, experiment)}
        wanted = experiment.cells if cells is None else cells
        return [as_result(kept[cell]) for cell in wanted if cell in kept]

    def wanting(self, experiment: Experiment, with_predictions: bool = False) -> list[Cell]:
        """Return the cells of an experiment that are not kept; failures count as kept."""
        if not self.path.exists():
            return list(experiment.cells)
        with self._transaction() as connection:
            self._refuse_other_versions(connection, experiment)
            kept = self._kept(connection, experiment, with_predictions)
        return [cell for cell in experiment.cells if cell not in kept]

    def predictions(self, experiment: Experiment, cell: Cell) -> np.ndarray | None:
        """Return the answers of a cell on its test rows, or None where they were not kept."""
        if not self.path.exists():
            return None
        with self._transaction() as connection:
            query = f"SELECT predictions FROM results WHERE {OF_CELL}"
            row = connection.execute(query, self._key(experiment, cell)).fetchone()
        return unpack(row[0]) if row and row[0] is not None else None

    def frame(self, experiment: Experiment | None = None, library: str = "pandas") -> Any:
        """Return results as a frame, one row a cell and one column a named number.

        Parameters
        ----------
        experiment : Experiment, optional
            Which; by default all experiments and all versions of tremula, told apart by their columns.
        library : {"pandas", "polars", "pyarrow"}, default="pandas"
        """
        if library not in FRAMES:
            hint = did_you_mean(library, FRAMES) or ": give one of these"
            raise InvalidParameter(f"library={library!r} is none of {tuple(FRAMES)}{hint}")
        if not self.path.exists():
            raise StoreTrouble(f"no results in {str(self.path)!r}, which is not there: run an experiment first")
        with self._transaction() as connection:
            where = "" if experiment is None else f"WHERE results.{MEASURED_BY}"
            arguments = [] if experiment is None else self._key(experiment)
            names = "SELECT DISTINCT unnest(map_keys(measured)) AS name FROM results ORDER BY name"
            numbers = [column_of(row[0]) for row in connection.execute(names).fetchall()]
            columns = ", ".join(["name AS experiment", "settings", *SHOWN[:3], *numbers, *SHOWN[3:]])
            query = f"SELECT {columns} FROM results JOIN experiments USING (experiment) {where} ORDER BY ALL"
            return FRAMES[library](connection.sql(query, params=arguments))

    def keep(self, experiment: Experiment, cell: Cell, outcome: Outcome, with_predictions: bool = False) -> None:
        """Keep what was measured in a cell; what is kept already stays."""
        self.keep_all(experiment, [Measured(cell, outcome)], with_predictions)

    def keep_failure(self, experiment: Experiment, cell: Cell, failure: str, traceback: str | None = None) -> None:
        """Keep the message of a cell that failed."""
        self.keep_all(experiment, [Measured(cell, None, failure, traceback)])

    def keep_all(self, experiment: Experiment, measured: Sequence[Measured], with_predictions: bool = False) -> None:
        """Keep several cells in one transaction: all of them, or with an error none."""
        with self._transaction(write=True) as connection:
            self._enter_experiment(connection, experiment)
            for one in measured:
                key = self._key(experiment, one.cell)
                connection.execute(f"DELETE FROM claims WHERE {OF_CELL}", key)
                if not self._is_kept(connection, key, with_predictions and one.failure is None):
                    connection.execute(f"DELETE FROM results WHERE {OF_CELL}", key)
                    connection.execute(INSERT, [*key, *as_row(one, with_predictions)])

    def claim(
        self, experiment: Experiment, cells: Sequence[Cell], runner: Runner, limit: int, with_predictions: bool = False
    ) -> Claimed:
        """Take the first cells that are neither kept nor claimed by a living runner.

        Parameters
        ----------
        experiment : Experiment
        cells : sequence of Cell
            Which are wanted, the most wanted first.
        runner : Runner
            For whom.
        limit : int
            How many at most.
        with_predictions : bool, default=False
            Whether results that were kept without predictions are to be measured again.
        """
        with self._transaction(write=True) as connection:
            others = runner.living_others(connection)
            runner.enter(connection)
            taken = claims.claimed_by(connection, experiment.fingerprint, self._tremula, others)
            kept = self._kept(connection, experiment, with_predictions)
            free = [cell for cell in cells if cell not in kept and cell not in taken]
            for cell in free[:limit]:
                row = [runner.name, *self._key(experiment, cell)]
                connection.execute("INSERT INTO claims VALUES (?, ?, ?, ?, ?, ?)", row)
        return Claimed(free[:limit], [cell for cell in cells if cell in taken and cell not in kept])

    def beat(self, runner: Runner) -> None:
        """Show other runners that this one lives."""
        with self._transaction(write=True) as connection:
            runner.beat(connection)

    def release(self, runner: Runner) -> None:
        """Give back what a runner has claimed and not measured."""
        if self.path.exists():
            with self._transaction(write=True) as connection:
                runner.leave(connection)

    def forget_failures(self, experiment: Experiment) -> None:
        """Remove the failures of an experiment's cells, so that these are measured again."""
        failed = [Cell(r.dataset, r.method, r.split) for r in self.results(experiment) if r.error is not None]
        if failed:
            with self._transaction(write=True) as connection:
                for cell in failed:
                    query = f"DELETE FROM results WHERE {OF_CELL} AND failure IS NOT NULL"
                    connection.execute(query, self._key(experiment, cell))

    def _key(self, experiment: Experiment, cell: Cell | None = None) -> list[Any]:
        key: list[Any] = [experiment.fingerprint, self._tremula]
        return key if cell is None else [*key, cell.dataset, cell.method, cell.split]

    @contextmanager
    def _transaction(self, write: bool = False) -> Iterator[Any]:
        with self._file.transaction(write) as connection:
            if not self._checked:
                check_format(connection, self.path)
                self._checked = True
            yield connection

    def _rows(self, connection: Any, experiment: Experiment) -> list[tuple[Any, ...]]:
        query = f"SELECT {RESULT_COLUMNS} FROM results WHERE {MEASURED_BY}"
        return connection.execute(query, self._key(experiment)).fetchall()

    def _kept(self, connection: Any, experiment: Experiment, with_predictions: bool) -> set[Cell]:
        columns = "dataset, method, split, failure, asked_for_predictions"
        rows = connection.execute(
            f"SELECT {columns} FROM results WHERE {MEASURED_BY}", self._key(experiment)
        ).fetchall()
        return {Cell(*row[:3]) for row in rows if suffices(row, with_predictions)}

    def _refuse_other_versions(self, connection: Any, experiment: Experiment) -> None:
        query = "SELECT tremula, count(*) FROM results WHERE experiment = ? GROUP BY tremula ORDER BY tremula"
        counts = dict(connection.execute(query, [experiment.fingerprint]).fetchall())
        if self.other_versions == "beside" or not counts or self._tremula in counts:
            return
        listed = ", ".join(f"{count} by tremula {name}" for name, count in counts.items())
        raise StoreOfAnotherVersion(
            f"{str(self.path)!r} holds results of {experiment.name!r} measured {listed}, but this is tremula "
            f"{self._tremula}, and results of two versions are not mixed: name another file, install the version that "
            'measured them, or open the store with other_versions="beside" to measure them again beside the old ones'
        )

    def _enter_experiment(self, connection: Any, experiment: Experiment) -> None:
        query = "SELECT 1 FROM experiments WHERE experiment = ?"
        if not connection.execute(query, [experiment.fingerprint]).fetchone():
            settings = json.dumps(dict(experiment.settings), sort_keys=True, ensure_ascii=False)
            row = [experiment.fingerprint, experiment.name, settings]
            connection.execute("INSERT INTO experiments VALUES (?, ?, ?)", row)

    def _is_kept(self, connection: Any, key: Sequence[Any], with_predictions: bool) -> bool:
        query = f"SELECT failure, asked_for_predictions FROM results WHERE {OF_CELL}"
        row = connection.execute(query, key).fetchone()
        return row is not None and row[0] is None and (row[1] or not with_predictions)
