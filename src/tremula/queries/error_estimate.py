"""Estimates the error of an ensemble learned from counts: on rows held out in the database, where they stay.

The model is grown from the counts of the other rows, and the database predicts the held-out rows and counts its errors.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats
from sklearn.base import clone

from tremula.errors import InvalidInput, InvalidParameter, QueryRefused
from tremula.parameters import check_number, check_text
from tremula.queries.base import SimulatedBagging
from tremula.queries.guard import GuardedOracle
from tremula.queries.oracle import Oracle, count_rows
from tremula.queries.question import EVERYWHERE, Attribute, Question, Schema
from tremula.queries.sql.held_out import ErrorSums, HeldOutRows

HOLDOUT = 0.2  # share of the rows that are held out by default
MAX_CONFIDENCE = 0.999999  # 1 would need an interval without ends
LEAST_ROWS = 2  # on which an error with an interval can be measured


@dataclass(frozen=True)
class ErrorEstimate:
    """The error of a model on held-out rows.

    Attributes
    ----------
    measure : {"error", "rmse"}
        Error rate of a classifier, or root mean squared error of a regressor.
    value : float
    interval : tuple of two floats
        Interval of the error of the model that was grown from the other rows: Wilson's, or that of the mean squared
        error by the t distribution. If `rows_per_person` rows of a person are counted, they count as one: the interval
        is as wide as if all of them were right or wrong together.
    confidence : float
        Of the interval.
    constant : float
        Error on the same rows if the most frequent class, or the mean, of the other rows is always predicted. Behind a
        guard it is measured on the other rows.
    constant_prediction : label or float
        That class, or mean.
    p_value : float or None
        Of the one-sided test that the model is no better than the constant prediction: McNemar's exact test, or the t
        test of the differences of squared errors. None behind a guard.
    n_held_out, n_training : int
        Number of rows on which the error was measured, and of those that the model was grown from.
    confusion : int array (n_classes, n_classes) or None
        Held-out rows by class, and by predicted class; None for a regressor, or behind a guard.
    classes : tuple or None
        The class labels.
    columns : tuple of str
        Columns by whose values rows were held out.
    keeps_alike : bool
        Whether rows that are alike in these columns were held out together.
    """

    measure: str
    value: float
    interval: tuple[float, float]
    confidence: float
    constant: float
    constant_prediction: Any
    p_value: float | None
    n_held_out: int
    n_training: int
    confusion: NDArray[np.int64] | None = field(compare=False)
    classes: tuple[Any, ...] | None
    columns: tuple[str, ...]
    keeps_alike: bool


def estimate_error(
    model: Any, oracle: Any, *, holdout: float = HOLDOUT, key: str = "", confidence: float = 0.95
) -> ErrorEstimate:
    """Estimate the error of an ensemble learned from counts; no row leaves the database.

    A share of the rows is held out by a checksum of their values. A copy of the model is grown from the counts of the
    other rows. The database then predicts the held-out rows by the SQL of the copy, and returns counts of right and
    wrong predictions. The estimate is that of the copy: a model of all rows is usually a little better.

    Parameters
    ----------
    model : SimulatedBaggingClassifier or SimulatedBaggingRegressor
        Its parameters are used; it is not changed, and need not be fitted.
    oracle : TableOracle
        The table, as `connect` returns it.
    holdout : float, default=0.2
        Expected share of the rows, or persons, that are held out.
    key : str, default=""
        Another key holds out other rows.
    confidence : float, default=0.95
        Of the interval.

    Returns
    -------
    ErrorEstimate

    Notes
    -----
    This takes about as many queries as `fit`. The last one contains the whole model. Rows that are alike in all
    attributes are held out together if few rows are, so that copies of a row do not make the estimate too good; see
    `TableOracle.hold_out`.

    Examples
    --------
    >>> import ibis
    >>> import numpy as np
    >>> import tremula as tm
    >>> from tremula.queries import TableOracle, estimate_error
    >>> age = np.random.default_rng(0).normal(60, 15, 1000)
    >>> visits = ibis.memtable({"age": age, "again": np.where(age > 70, "yes", "no")})
    >>> estimate = estimate_error(tm.SimulatedBaggingClassifier(random_state=0), TableOracle(visits, "again"))
    >>> estimate.n_training + estimate.n_held_out
    1000
    >>> estimate.value < estimate.constant
    True
    """
    check_number("confidence", confidence, 0.0, MAX_CONFIDENCE, above=True)
    check_text("key", key)
    if not isinstance(model, SimulatedBagging):
        raise InvalidParameter(
            f"model is of type {type(model).__name__}: give a SimulatedBaggingClassifier or SimulatedBaggingRegressor"
        )
    hold_out = getattr(oracle, "hold_out", None)
    if hold_out is None:
        raise InvalidInput(
            f"{type(oracle).__name__} cannot hold rows out, only a table in a database can (TableOracle, connect): "
            "keep rows apart yourself, or cross-validate where the rows are in memory"
        )
    training, held_out = hold_out(holdout, key)
    return measure_error(clone(model).fit(training), training, held_out, confidence)


def measure_error(model: Any, training: Oracle, held_out: HeldOutRows, confidence: float = 0.95) -> ErrorEstimate:
    """Return the error of a model that was grown from the training rows on the held-out rows.

    Parameters
    ----------
    model : fitted SimulatedBaggingClassifier or SimulatedBaggingRegressor
    training : Oracle
        That the model was grown from.
    held_out : HeldOutRows
    confidence : float
    """
    totals = count_rows(training)
    if held_out.schema.classes is None:
        return _numeric_estimate(model, totals, held_out, confidence)
    frequent = training.schema.classes[int(np.argmax(totals))]  # type: ignore[index]
    constant = held_out.schema.classes.index(frequent)
    confusion, alike = held_out.count_predictions(model), held_out.schema.rows_per_person
    n_rows, n_right = int(confusion.sum()), int(np.trace(confusion))
    _check_rows(n_rows)
    # Rows on which one of the two is right: only these tell which is better.
    only_constant = int(confusion[constant].sum() - confusion[constant, constant])
    only_model = int(n_right - confusion[constant, constant])
    return ErrorEstimate(
        measure="error",
        value=(n_rows - n_right) / n_rows,
        interval=_wilson_interval((n_rows - n_right) / n_rows, n_rows / alike, confidence),
        confidence=confidence,
        constant=1 - float(confusion[constant].sum()) / n_rows,
        constant_prediction=frequent,
        p_value=_sign_test(only_model // alike, -(-only_constant // alike)),
        n_held_out=n_rows,
        n_training=int(totals.sum()),
        confusion=confusion,
        classes=held_out.schema.classes,
        columns=held_out.columns,
        keeps_alike=held_out.keeps_alike,
    )


def _numeric_estimate(
    model: Any, totals: NDArray[np.float64], held_out: HeldOutRows, confidence: float
) -> ErrorEstimate:
    mean = float(held_out.schema.target_at(np.array([totals[1] / totals[0]]))[0])
    sums = held_out.sum_errors(model, mean)
    _check_rows(sums.n_rows)
    return ErrorEstimate(
        measure="rmse",
        value=math.sqrt(sums.squared / sums.n_rows),
        interval=_rmse_interval(sums, confidence, held_out.schema.rows_per_person),
        confidence=confidence,
        constant=math.sqrt(sums.constant / sums.n_rows),
        constant_prediction=mean,
        p_value=_gain_p_value(sums, held_out.schema.rows_per_person),
        n_held_out=sums.n_rows,
        n_training=int(totals[0]),
        confusion=None,
        classes=None,
        columns=held_out.columns,
        keeps_alike=held_out.keeps_alike,
    )


def measure_guarded_error(
    predictions: GuardedOracle, training: Oracle, held_out: HeldOutRows, confidence: float = 0.95
) -> ErrorEstimate:
    """Return the error of a classifier on held-out rows, by counts of right and wrong predictions behind a guard.

    The held-out rows must not be counted by any other question: the difference of two counts could give a small one
    away.

    Parameters
    ----------
    predictions : GuardedOracle
        A guard of a `PredictionOracle`.
    training, held_out, confidence
        As in `measure_error`; `training` is behind a guard, too.
    """
    n_right, n_wrong = predictions.count([Question(EVERYWHERE, (0,))])[0][0].tolist()
    if predictions.ledger[-1].suppressed:
        raise QueryRefused(
            "the number of right, or of wrong, predictions of held-out rows is too small to be disclosed: hold out a "
            "larger share"
        )
    _check_rows(n_right + n_wrong)
    totals = count_rows(training)
    frequent = int(np.argmax(totals))
    return ErrorEstimate(
        measure="error",
        value=n_wrong / (n_right + n_wrong),
        interval=_wilson_interval(
            n_wrong / (n_right + n_wrong), (n_right + n_wrong) / held_out.schema.rows_per_person, confidence
        ),
        confidence=confidence,
        constant=1 - float(totals[frequent] / totals.sum()),
        constant_prediction=training.schema.classes[frequent],  # type: ignore[index]
        p_value=None,
        n_held_out=n_right + n_wrong,
        n_training=int(totals.sum()),
        confusion=None,
        classes=held_out.schema.classes,
        columns=held_out.columns,
        keeps_alike=held_out.keeps_alike,
    )


class PredictionOracle:
    """An oracle of right and wrong predictions: held-out rows are its table, which has one attribute of one level.

    Parameters
    ----------
    model : fitted SimulatedBaggingClassifier
    held_out : HeldOutRows
    """

    schema = Schema((Attribute("held-out rows", levels=("all",)),), "prediction", ("right", "wrong"))

    def __init__(self, model: Any, held_out: HeldOutRows) -> None:
        if held_out.schema.classes is None:
            raise InvalidInput("the errors of a numeric target are not protected by rules of disclosure: hold out none")
        self._model, self._held_out = model, held_out

    def count(self, questions: Sequence[Question]) -> list[NDArray[Any]]:
        """Answer the question of how many predictions are right, and how many are wrong."""
        confusion = self._held_out.count_predictions(self._model)
        n_right = int(np.trace(confusion))
        return [np.array([[n_right, confusion.sum() - n_right], [0, 0]]) for _ in questions]


def _check_rows(n_rows: int) -> None:
    if n_rows < LEAST_ROWS:
        raise InvalidInput(
            f"only {n_rows} rows are held out, too few to measure an error: hold out a larger share, or another key"
        )


def _wilson_interval(rate: float, n_rows: float, confidence: float) -> tuple[float, float]:
    """Return Wilson's interval of an error rate."""
    z = float(stats.norm.ppf((1 + confidence) / 2))
    middle = (rate + z**2 / (2 * n_rows)) / (1 + z**2 / n_rows)
    half = z / (1 + z**2 / n_rows) * math.sqrt(rate * (1 - rate) / n_rows + z**2 / (4 * n_rows**2))
    return max(middle - half, 0.0), min(middle + half, 1.0)


def _sign_test(n_for: int, n_against: int) -> float:
    """Return the one-sided p-value of so many pairs for the model and against it, each as likely as the other."""
    return float(stats.binom.sf(n_for - 1, n_for + n_against, 0.5))


def _rmse_interval(sums: ErrorSums, confidence: float, alike: int) -> tuple[float, float]:
    """Return the interval of a root mean squared error, by the t distribution of the mean of the squares."""
    mean, n_rows = sums.squared / sums.n_rows, max(sums.n_rows / alike, LEAST_ROWS)
    variance = max(sums.fourth / sums.n_rows - mean**2, 0.0) / (n_rows - 1)
    half = float(stats.t.ppf((1 + confidence) / 2, n_rows - 1)) * math.sqrt(variance)
    return math.sqrt(max(mean - half, 0.0)), math.sqrt(mean + half)


def _gain_p_value(sums: ErrorSums, alike: int) -> float:
    """Return the p-value that the model's squared errors are no smaller than those of the constant prediction."""
    gain, n_rows = (sums.constant - sums.squared) / sums.n_rows, max(sums.n_rows / alike, LEAST_ROWS)
    variance = max(sums.gain_squared / sums.n_rows - gain**2, 0.0) / (n_rows - 1)
    if variance == 0.0:
        return 0.0 if gain > 0 else 1.0
    return float(stats.t.sf(gain / math.sqrt(variance), n_rows - 1))
