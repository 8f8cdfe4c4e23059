"""Counts the errors of a model on held-out rows inside the database: only counts and sums of errors are fetched."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tremula.errors import UnsupportedModel
from tremula.queries.question import GRID, Schema
from tremula.queries.sql.columns import number, with_target
from tremula.queries.sql.database import Database
from tremula.queries.sql.export import ensemble_sql
from tremula.trees.export.dialects import DIALECTS

ENGINE_DIALECTS = {"pyspark": "spark"}  # names of dialects where they differ from the engine's
ROWS = "rows held out by tremula"  # name of the held-out rows in a query


@dataclass(frozen=True)
class ErrorSums:
    """Sums over held-out rows of a numeric target.

    Attributes
    ----------
    n_rows : int
    squared, fourth : float
        Sums of the second and the fourth powers of the errors.
    constant : float
        Sum of the squared errors of the constant prediction.
    gain_squared : float
        Sum of the squared differences between the squared errors of the constant prediction and of the model.
    """

    n_rows: int
    squared: float
    fourth: float
    constant: float
    gain_squared: float


class HeldOutRows:
    """Rows of a database table that a model was not grown from, as `TableOracle.hold_out` returns them.

    Parameters
    ----------
    database : Database
        Whose table has the held-out rows only.
    schema : Schema
        Of the whole table.
    columns : tuple of str
        The columns by whose values rows are held out.
    n_rows, n_different : int or None
        Number of rows of the whole table, and of those that differ in these columns; None if they were not counted.
    keeps_alike : bool
        Whether rows that are alike in these columns are held out together.
    """

    def __init__(
        self,
        database: Database,
        schema: Schema,
        columns: Sequence[str],
        n_rows: int | None,
        n_different: int | None,
        keeps_alike: bool,
    ) -> None:
        self._database = database
        self._schema = schema
        self.columns = tuple(columns)
        self.n_rows, self.n_different, self.keeps_alike = n_rows, n_different, keeps_alike

    @property
    def schema(self) -> Schema:
        """The attributes, their values and the classes of the whole table."""
        return self._schema

    def count_predictions(self, model: Any) -> NDArray[np.int64]:
        """Return the number of held-out rows of each class that the model predicts to be of each class.

        Parameters
        ----------
        model : SimulatedBaggingClassifier
            Grown from the other rows.

        Returns
        -------
        int array (n_classes, n_classes)
            By class, and by predicted class; both in the order of the whole table's classes.
        """
        classes = self._schema.classes
        assert classes is not None
        groups = self._fetch(model, "SELECT y, prediction, COUNT(*) AS c FROM ({}) AS predicted GROUP BY y, prediction")
        place = {label: number for number, label in enumerate(classes)}
        counts = np.zeros((len(classes), len(classes)), dtype=np.int64)
        for truth, predicted, n_rows in zip(*(groups.column(name).to_pylist() for name in ("y", "prediction", "c"))):
            if truth in place:  # a class that was added after the schema was read is not counted
                counts[place[truth], place[predicted]] += n_rows
        return counts

    def sum_errors(self, model: Any, constant: float) -> ErrorSums:
        """Return sums over the errors of a model, and over those of a constant prediction.

        Parameters
        ----------
        model : SimulatedBaggingRegressor
            Grown from the other rows.
        constant : float
        """
        dialect = DIALECTS[self._dialect]
        double = "DOUBLE PRECISION" if self._database.engine == "postgres" else "DOUBLE"
        truth = f"CAST(y AS {double})"
        if self._schema.target_bounds is not None:  # the target is its place on a grid
            low, high = self._schema.target_bounds
            middle, step = dialect.double((low + high) / 2), dialect.double((high - low) / 2 / GRID)
            truth = f"({middle} + {truth} * {step})"
        errors = f"SELECT {truth} - prediction AS e, {truth} - {dialect.double(constant)} AS b FROM ({{}}) AS predicted"
        sums = self._fetch(
            model,
            "SELECT COUNT(*) AS n, SUM(e * e) AS s, SUM(e * e * e * e) AS f, SUM(b * b) AS c, "
            f"SUM((b * b - e * e) * (b * b - e * e)) AS g FROM ({errors}) AS errors",
        )
        n_rows, *others = (sums.column(name)[0].as_py() for name in ("n", "s", "f", "c", "g"))
        return ErrorSums(int(n_rows), *(float(other or 0.0) for other in others))

    @property
    def _dialect(self) -> str:
        engine = self._database.engine
        dialect = ENGINE_DIALECTS.get(engine, engine)
        if dialect not in DIALECTS:
            raise UnsupportedModel(
                f"predictions are written in SQL for {', '.join(DIALECTS)}, not for {engine!r}: the error of the model "
                "cannot be counted there"
            )
        return dialect

    def _fetch(self, model: Any, query: str) -> Any:
        """Run a query over the held-out rows, with their target ``y`` and the model's ``prediction``."""
        attributes = tuple(
            replace(attribute, name=f"x{place}") for place, attribute in enumerate(model.schema_.attributes)
        )
        schema = replace(model.schema_, attributes=attributes, target="y")
        dialect = self._dialect
        predicted = ensemble_sql(model.as_member_sum(), schema, ROWS, dialect, "prediction", "shares", "auto")

        def sql(table: Any) -> str:
            rows = self._database.compile(self._named_rows(table))
            return f"WITH {DIALECTS[dialect].identifier(ROWS)} AS ({rows}) {query.format(predicted)}"

        return self._database.fetch_sql(sql)

    def _named_rows(self, table: Any) -> Any:
        """Return the rows with names of the query's own: ``x0``, ``x1``, ... for the attributes, ``y`` for the target.

        Names of the user may be those of results.
        """
        database = self._database
        known = with_target(database, table, self._schema.target)
        values = {
            f"x{place}": known[attribute.name] if attribute.is_nominal else number(database, known, attribute.name)
            for place, attribute in enumerate(self._schema.attributes)
        }
        return known.select(**values, y=known[self._schema.target])
