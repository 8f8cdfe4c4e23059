"""Stores results in a DuckDB file: each cell once, with the version of tremula that measured it.

Several runners may use a store at the same time, and a runner may be killed at any moment: a result is either
completely in the file or not at all, and a cell claimed by one runner is measured by no other.
"""

from __future__ import annotations

import os
import tempfile
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
from tremula.lab.experiments.cell_costs import settings_text
from tremula.lab.experiments.claims import Runner
from tremula.lab.experiments.duckdb_file import PATIENCE, DuckFile, StoreError
from tremula.lab.experiments.kept_cells import copy_query, insertable, read_cells
from tremula.lab.experiments.result import Result
from tremula.lab.experiments.stored_rows import (
    FRAME_COLUMNS,
    INSERT,
    MEASURED_BY,
    OF_CELL,
    RESULT_COLUMNS,
    SCHEMA,
    StoreVersionError,
    as_result,
    as_row,
    check_format,
    is_complete,
    unpack,
    value_column,
)
from tremula.persistence.atomic_write import write_atomically

FRAMES: dict[str, Callable[[Any], Any]] = {
    "pandas": lambda query: query.df(),
    "polars": lambda query: query.pl(),
    "pyarrow": lambda query: query.to_arrow_table(),
}
OTHER_VERSIONS = ("refuse", "keep")
PathLike = str | os.PathLike[str]


@dataclass(frozen=True)
class Claimed:
    """Cells claimed by a runner, and cells that other runners are measuring."""

    own: Sequence[Cell]
    elsewhere: Sequence[Cell]


class Store:
    """A file of results.

    Parameters
    ----------
    path : path
        The DuckDB file; it is created when the first result is stored.
    other_versions : {"refuse", "keep"}, default="refuse"
        What to do if all results of an experiment were measured by other versions of tremula: raise an error, or
        measure everything again and keep the old results too. Results of two versions are never mixed.
    patience : float, default=300.0
        Seconds to wait while another program has the file open.

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
    [Result(cell=Cell(dataset='iris', method='guessing', split=0), outcome=Outcome(values={'error': 0.5}, ...)]
    """

    def __init__(
        self,
        path: PathLike,
        other_versions: Literal["refuse", "keep"] = "refuse",
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

    def results(
        self, experiment: Experiment, cells: Iterable[Cell] | None = None, with_predictions: bool = False
    ) -> list[Result]:
        """Return the stored results of an experiment, including failures.

        Parameters
        ----------
        experiment : Experiment
        cells : iterable of Cell, optional
            The cells wanted, in this order; all cells of the experiment by default.
        with_predictions : bool, default=False
            Read the stored predictions into ``outcome.predictions`` too.
        """
        if not self.path.exists():
            return []
        with self._transaction() as connection:
            self._refuse_other_versions(connection, experiment)
            columns = f"{RESULT_COLUMNS}, predictions" if with_predictions else RESULT_COLUMNS
            stored = {Cell(*row[:3]): row for row in self._select(connection, columns, experiment)}
        wanted = experiment.cells if cells is None else cells
        return [as_result(stored[cell]) for cell in wanted if cell in stored]

    def pending(self, experiment: Experiment, with_predictions: bool = False) -> list[Cell]:
        """Return the cells of an experiment that are not stored yet; failures count as stored."""
        if not self.path.exists():
            return list(experiment.cells)
        with self._transaction() as connection:
            self._refuse_other_versions(connection, experiment)
            stored = self._stored_cells(connection, experiment, with_predictions)
        return [cell for cell in experiment.cells if cell not in stored]

    def predictions(self, experiment: Experiment, cell: Cell) -> np.ndarray | None:
        """Return the predictions of a cell for its test rows, or None if they were not stored."""
        if not self.path.exists():
            return None
        with self._transaction() as connection:
            query = f"SELECT predictions FROM results WHERE {OF_CELL}"
            row = connection.execute(query, self._key(experiment, cell)).fetchone()
        return unpack(row[0]) if row and row[0] is not None else None

    def frame(self, experiment: Experiment | None = None, library: str = "pandas") -> Any:
        """Return results as a frame with one row per cell and one column per named number.

        Parameters
        ----------
        experiment : Experiment, optional
            The experiment wanted. By default the frame holds all experiments and all versions of tremula; its columns
            tell them apart.
        library : {"pandas", "polars", "pyarrow"}, default="pandas"
        """
        if library not in FRAMES:
            hint = did_you_mean(library, FRAMES) or ": give one of these"
            raise InvalidParameter(f"library={library!r} is none of {tuple(FRAMES)}{hint}")
        if not self.path.exists():
            raise StoreError(f"no file {str(self.path)!r} with results: run an experiment first")
        with self._transaction() as connection:
            where = "" if experiment is None else f"WHERE results.{MEASURED_BY}"
            arguments = [] if experiment is None else self._key(experiment)
            names = "SELECT DISTINCT unnest(map_keys(measured)) AS name FROM results ORDER BY name"
            numbers = [value_column(row[0]) for row in connection.execute(names).fetchall()]
            columns = ", ".join(["name AS experiment", "settings", *FRAME_COLUMNS[:3], *numbers, *FRAME_COLUMNS[3:]])
            query = f"SELECT {columns} FROM results JOIN experiments USING (experiment) {where} ORDER BY ALL"
            return FRAMES[library](connection.sql(query, params=arguments))

    def keep(self, experiment: Experiment, cell: Cell, outcome: Outcome, with_predictions: bool = False) -> None:
        """Store the outcome of a cell; a stored outcome is never replaced."""
        self.keep_all(experiment, [Result(cell, outcome)], with_predictions)

    def keep_failure(self, experiment: Experiment, cell: Cell, failure: str, traceback: str | None = None) -> None:
        """Store the error message of a cell that failed."""
        self.keep_all(experiment, [Result(cell, failure=failure, traceback=traceback)])

    def keep_all(self, experiment: Experiment, results: Sequence[Result], with_predictions: bool = False) -> None:
        """Store several results in one transaction: all of them, or none if there is an error."""
        with self._transaction(write=True) as connection:
            self._enter_experiment(connection, experiment)
            for result in results:
                key = self._key(experiment, result.cell)
                connection.execute(f"DELETE FROM claims WHERE {OF_CELL}", key)
                if not self._is_stored(connection, key, with_predictions and result.failure is None):
                    connection.execute(f"DELETE FROM results WHERE {OF_CELL}", key)
                    connection.execute(INSERT, [*key, *as_row(result, with_predictions)])

    def take_cells(self, experiment: Experiment, path: Path) -> int:
        """Store the cells of an experiment that a file of `write_cells` has and this store has not.

        Parameters
        ----------
        experiment : Experiment
        path : Path
            Its cells that failed, and those of other versions of tremula, are left out.

        Returns
        -------
        int
            Number of cells taken.
        """
        kept = insertable(read_cells(path, experiment).cells, self._tremula)
        stored = {result.cell for result in self.results(experiment) if result.failure is None}
        new = [cell for cell in kept if cell.result.cell not in stored]
        if not new:
            return 0
        with self._transaction(write=True) as connection:
            self._enter_experiment(connection, experiment)
            for cell in new:
                key = self._key(experiment, cell.result.cell)
                connection.execute(f"DELETE FROM results WHERE {OF_CELL}", key)
                origin = [cell.python, cell.numpy, cell.scikit_learn, cell.date, "", 0]
                connection.execute(INSERT, [*key, *as_row(cell.result, False)[: -len(origin)], *origin])
        return len(new)

    def write_cells(self, experiment: Experiment, path: Path) -> None:
        """Write all cells with the name of an experiment, without predictions, to a Parquet file.

        Parameters
        ----------
        experiment : Experiment
            Cells of its other settings are written too.
        path : Path
            Cells that it holds already, and the store does not, stay in it.
        """
        with tempfile.TemporaryDirectory(prefix="tremula-") as folder, self._transaction() as connection:
            temporary = Path(folder) / "cells.parquet"
            connection.execute(copy_query(experiment, self._tremula, temporary, path if path.exists() else None))
            write_atomically(path, temporary.read_bytes())

    def claim(
        self, experiment: Experiment, cells: Sequence[Cell], runner: Runner, limit: int, with_predictions: bool = False
    ) -> Claimed:
        """Claim the first cells that are neither stored nor claimed by a living runner.

        Parameters
        ----------
        experiment : Experiment
        cells : sequence of Cell
            The cells wanted, the most urgent first.
        runner : Runner
            The runner that will measure them.
        limit : int
            Maximum number of cells.
        with_predictions : bool, default=False
            Also claim cells whose results were stored without predictions.
        """
        with self._transaction(write=True) as connection:
            others = runner.living_others(connection)
            runner.enter(connection)
            taken = claims.claimed_by(connection, experiment.fingerprint, self._tremula, others)
            stored = self._stored_cells(connection, experiment, with_predictions)
            free = [cell for cell in cells if cell not in stored and cell not in taken]
            for cell in free[:limit]:
                row = [runner.name, *self._key(experiment, cell)]
                connection.execute("INSERT INTO claims VALUES (?, ?, ?, ?, ?, ?)", row)
        return Claimed(free[:limit], [cell for cell in cells if cell in taken and cell not in stored])

    def beat(self, runner: Runner) -> None:
        """Show other runners that this one is alive."""
        with self._transaction(write=True) as connection:
            runner.beat(connection)

    def release(self, runner: Runner) -> None:
        """Release the cells that a runner has claimed and not measured."""
        if self.path.exists():
            with self._transaction(write=True) as connection:
                runner.leave(connection)

    def forget_failures(self, experiment: Experiment) -> None:
        """Remove the failures of an experiment, so that their cells are measured again."""
        failed = [result.cell for result in self.results(experiment) if result.failure is not None]
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

    def _select(self, connection: Any, columns: str, experiment: Experiment) -> list[tuple[Any, ...]]:
        query = f"SELECT {columns} FROM results WHERE {MEASURED_BY}"
        rows: list[tuple[Any, ...]] = connection.execute(query, self._key(experiment)).fetchall()
        return rows

    def _stored_cells(self, connection: Any, experiment: Experiment, with_predictions: bool) -> set[Cell]:
        rows = self._select(connection, "dataset, method, split, failure, asked_for_predictions", experiment)
        return {Cell(*row[:3]) for row in rows if is_complete(row, with_predictions)}

    def _refuse_other_versions(self, connection: Any, experiment: Experiment) -> None:
        query = "SELECT tremula, count(*) FROM results WHERE experiment = ? GROUP BY tremula ORDER BY tremula"
        counts = dict(connection.execute(query, [experiment.fingerprint]).fetchall())
        if self.other_versions == "keep" or not counts or self._tremula in counts:
            return
        listed = ", ".join(f"{count} by tremula {name}" for name, count in counts.items())
        raise StoreVersionError(
            f"{str(self.path)!r} holds results of {experiment.name!r} measured {listed}, but this is tremula "
            f"{self._tremula}, and results of two versions are not mixed: name another file, install the version that "
            'measured them, or open the store with other_versions="keep" to measure them again and keep the old ones'
        )

    def _enter_experiment(self, connection: Any, experiment: Experiment) -> None:
        query = "SELECT 1 FROM experiments WHERE experiment = ?"
        if not connection.execute(query, [experiment.fingerprint]).fetchone():
            row = [experiment.fingerprint, experiment.name, settings_text(experiment)]
            connection.execute("INSERT INTO experiments VALUES (?, ?, ?)", row)

    def _is_stored(self, connection: Any, key: Sequence[Any], with_predictions: bool) -> bool:
        query = f"SELECT failure, asked_for_predictions FROM results WHERE {OF_CELL}"
        row = connection.execute(query, key).fetchone()
        return row is not None and row[0] is None and (row[1] or not with_predictions)


@contextmanager
def open_store(store: Store | PathLike | None) -> Iterator[Store]:
    """Give a store, one for a path, or one that is deleted afterwards for None."""
    if store is None:
        with tempfile.TemporaryDirectory(prefix="tremula-") as folder:
            yield Store(Path(folder) / "results.duckdb")
    else:
        yield store if isinstance(store, Store) else Store(store)
