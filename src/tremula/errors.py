"""Exceptions: every error that tremula raises derives from TremulaError and from the matching builtin.

Each message says what was given, what was expected and what to do next.
"""

import difflib
from collections.abc import Iterable

DUCKDB_INTERRUPTED = "Query interrupted"


class TremulaError(Exception):
    """Base class of all errors raised by tremula."""


class InvalidParameter(TremulaError, ValueError):
    """An estimator or function was given an argument it cannot work with."""


class InvalidInput(TremulaError, ValueError):
    """Data that cannot be learned from or predicted for."""


class UnsupportedType(InvalidInput, TypeError):
    """A table, column or value of a type that is neither numeric nor nominal."""


class ColumnMismatch(InvalidInput):
    """Columns other than those seen in fit, or a column name that the table does not have."""


class InfiniteValue(InvalidInput):
    """A numeric column holds an infinite value."""


class InvalidTarget(InvalidInput):
    """A target that is absent, has missing values, or has the wrong type or length."""


class OneClassTarget(InvalidTarget):
    """Fewer than two classes have a row of positive weight."""


class ConstantTarget(InvalidTarget):
    """A numeric target has the same value in every row of positive weight."""


class InvalidWeights(InvalidInput):
    """Row weights that are negative, all zero, not finite, or of the wrong length."""


class NotStorable(TremulaError, TypeError):
    """A model, or a part of one, that cannot be written to a file of arrays and JSON."""


class FileDamaged(TremulaError, ValueError):
    """A file that was cut or changed after it was written, or that never was a model."""


class FileTooNew(TremulaError, ValueError):
    """A file in a format that only later releases can read."""


class UnknownClass(TremulaError, ValueError):
    """A file that names a class or a parameter which this release does not have."""


class UnsupportedModel(InvalidParameter, TypeError):
    """A trained model of a kind, or with an option, that cannot be read as a sum of trees."""


class UnknownTable(TremulaError, LookupError):
    """A database has no table of the given name, or a table no such column."""


class QueryFailed(TremulaError, RuntimeError):
    """A database did not answer, even after retries."""


class QueryRefused(TremulaError, PermissionError):
    """A query that the disclosure rules forbid; it was not sent."""


class BudgetExhausted(QueryRefused):
    """The privacy budget is spent."""


class BudgetWarning(UserWarning):
    """Trees are smaller than requested because the privacy budget ran out."""


class OneClassWarning(UserWarning):
    """The counts that a table answers with have rows of one class alone: the trees predict it for every row."""


class TreeTooLarge(TremulaError, MemoryError):
    """A tree does not fit into memory, or has more splits of many levels than can be numbered."""


class ModelChanged(TremulaError, RuntimeError):
    """A wrapped model was trained again, or changed, after the wrapper was fitted."""


class DecisionWarning(UserWarning):
    """A classifier decides in another way than for the class of its largest share."""


class SamplingWarning(UserWarning):
    """A model without an exact form under noise is smoothed by random draws."""


class MarginWarning(UserWarning):
    """The margins of a model are explained, to which it applies a link, and not its predictions."""


class ManyLevelsWarning(UserWarning):
    """A nominal attribute has too many levels for M5' to have a term for each, and becomes one number."""


class IdentifierWarning(UserWarning):
    """Columns that look like identifiers and do not go with the target are left out of trees."""


class ExportWarning(UserWarning):
    """An exported model that the program it was written for may refuse."""


class MissingLibrary(TremulaError, ImportError):
    """An optional library that this feature needs is not installed."""


def did_you_mean(given: str, known: Iterable[str]) -> str:
    """Return ``": did you mean 'income'?"`` for the known name closest to `given`, or an empty string.

    Examples
    --------
    >>> did_you_mean("incme", ["age", "income"])
    ": did you mean 'income'?"
    >>> did_you_mean("Y", ["x", "y"])
    ": did you mean 'y'?"
    """
    names = list(known)
    other_case = [name for name in names if name.strip().lower() == given.strip().lower()]
    closest = other_case or difflib.get_close_matches(given, names, n=1)
    return f": did you mean {closest[0]!r}?" if closest else ""


def listed(names: Iterable[str]) -> str:
    """Return names in quotes, separated by commas.

    Examples
    --------
    >>> listed(["age", "income"])
    "'age', 'income'"
    """
    return ", ".join(repr(name) for name in names)


def counted(number: int, noun: str) -> str:
    """Return a number with its noun, in the plural unless it is 1.

    Examples
    --------
    >>> counted(1, "row"), counted(0, "class"), counted(1797, "row")
    ('1 row', '0 classes', '1,797 rows')
    """
    plural = "" if number == 1 else "es" if noun.endswith("s") else "s"
    return f"{number:,} {noun}{plural}"


def is_interrupt(error: BaseException | None) -> bool:
    """Whether an error, or what it was raised from, is Ctrl-C; DuckDB reports Ctrl-C as an error of its own.

    Examples
    --------
    >>> is_interrupt(KeyboardInterrupt()), is_interrupt(RuntimeError("Query interrupted")), is_interrupt(OSError())
    (True, True, False)
    """
    seen: list[BaseException] = []
    while error is not None and error not in seen:  # an error may have been raised from itself
        if isinstance(error, KeyboardInterrupt) or str(error) == DUCKDB_INTERRUPTED:
            return True
        seen.append(error)
        error = error.__cause__
    return False
