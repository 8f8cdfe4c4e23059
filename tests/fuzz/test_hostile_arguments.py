"""Arguments that no one should give to public functions: the error is one of tremula's and names the argument."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tremula as tm
from tremula.diagnostics import compare, stability, win_loss_tie
from tremula.errors import TremulaError

X = np.random.default_rng(0).normal(size=(40, 3))
Y = np.arange(40) % 2


@pytest.fixture(scope="module")
def model() -> Any:
    return tm.BaggingClassifier(tm.CARTClassifier(max_depth=2), n_estimators=2, random_state=0).fit(X, Y)


CALLS: dict[str, tuple[Callable[[Any], Any], str]] = {
    "imitate from no rows": (lambda model: tm.imitate(model, 3), "X is"),
    "imitate by no estimator": (lambda model: tm.imitate(model, X, "x"), "estimator is 'x': give an estimator"),
    "imitate by a class": (lambda model: tm.imitate(model, X, tm.C45Classifier), "give an estimator"),
    "infinitely many artificial rows": (lambda model: tm.imitate(model, X, n_artificial=np.inf), "n_artificial=inf"),
    "certify without numbers": (lambda model: tm.certify(model, X, scale="x"), "scale is str without numbers"),
    "SQL of no table": (lambda model: tm.to_sql(model, 3), "table is of type int"),
    "SQL that keeps numbers": (lambda model: tm.to_sql(model, keep=[1]), "keep is of type list"),
    "SQL that keeps a word": (lambda model: tm.to_sql(model, keep="abc"), "keep is of type str"),
    "dates for classes": (
        lambda model: tm.prune_each(model, X, np.full(40, "2020-01-01", dtype="M8[D]")),
        "give labels of one type",
    ),
    "bytes for classes": (lambda model: tm.prune_together(model, X, np.zeros(40, dtype="V4")), "y |type"),
    "more rows than there are": (
        lambda model: stability(tm.CARTClassifier(), X, Y, train_size=2**70),
        "train_size=",
    ),
    "a number for names": (
        lambda model: win_loss_tie([compare({"a": tm.CARTClassifier()}, X, Y, cv=2)], names=3),
        "names is int: give a list",
    ),
}


@pytest.mark.parametrize(("call", "message"), CALLS.values(), ids=CALLS)
def test_arguments_of_other_types_are_refused(call: Callable[[Any], Any], message: str, model: Any) -> None:
    with pytest.raises(TremulaError, match=message):
        call(model)


def test_a_small_type_of_number_does_not_overflow(model: Any) -> None:
    """Three times 100 rows are no number of eight bits."""
    rows = np.random.default_rng(1).normal(size=(100, 3))
    plain, small = (tm.imitate(model, rows, n_artificial=n, random_state=0) for n in (3, np.int8(3)))
    assert small.tree_ == plain.tree_
