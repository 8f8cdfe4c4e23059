"""Arguments that no one should give to public functions: the error is one of tremula's and names the argument."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from pathlib import Path
from pydoc import locate
from typing import Any

import numpy as np
import pytest

import tremula as tm
from tremula import queries
from tremula.diagnostics import compare, stability, win_loss_tie
from tremula.errors import TremulaError

from .hostile_calls import HOSTILE, Trial, quiet_folder, trials, try_argument
from .public_calls import GROUPS, all_calls, array_oracle

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
    "no model to be uncertain of": (lambda model: tm.Uncertainty(3, X, Y), "model is of type int: give a fitted"),
    "half a job": (lambda model: tm.Uncertainty(model, X, Y, n_jobs=0.5), "n_jobs=0.5 was given; expected None"),
    "no job": (
        lambda model: tm.explain(model, X, n_jobs=0),
        "n_jobs=0 was given; expected None, a whole number from 1",
    ),
    "a million jobs": (lambda model: tm.proximity(model, X, n_jobs=10**6), "n_jobs=1000000 was given"),
    "words for quantiles": (
        lambda model: tm.Uncertainty(regressor(), X, X[:, 0]).predict_quantiles(X, ["a"]),
        r"quantiles=\['a'\] was given; expected numbers between 0 and 1",
    ),
    "a table that is none": (
        lambda model: queries.connect(3, target="y"),
        "the table is of type int: give a table of ibis, or connect to a URL or a file",
    ),
    "a number for a target": (
        lambda model: queries.connect("rows.csv", target=3),
        "target is of type int: give a text",
    ),
    "a number for a key": (lambda model: queries.limit_rows([1, 2], 1, key=3), "key is of type int: give a word"),
    "persons in lists": (lambda model: queries.limit_rows([[1], [2, 3]], 1), "person_id is no list of labels"),
    "cuts of no oracle": (lambda model: queries.private_cuts(model, 4), "oracle is of type BaggingClassifier: give an"),
    "cuts of letters": (
        lambda model: queries.private_cuts(array_oracle(), 4, "ab"),
        "attributes='ab' was given; expected a list of names",
    ),
    "cuts of one site": (
        lambda model: queries.agree_on_cuts([1.0, 2.0], [1, 1], 4),
        "expected a list of numbers for each",
    ),
    "cuts that are not known": (lambda model: queries.agree_on_cuts([[np.nan]], [1], 4), "for each site.*, all finite"),
    "sites without rows": (
        lambda model: queries.agree_on_cuts([[1.0]], [0], 4),
        "a number of rows above 0 for each site",
    ),
    "rows of other sites": (lambda model: queries.agree_on_cuts([[1.0]], [1, 2], 4), "rows above 0 for each site"),
    "half a bin": (lambda model: queries.agree_on_cuts([[1.0]], [1], 2.5), "n_bins=2.5 was given"),
    "endless retries": (
        lambda model: queries.RemoteOracle("http://127.0.0.1:9", retries=10**9),
        "retries=1000000000 was given; expected a whole number of at least 0 and at most 1000",
    ),
    "a number for a path": (lambda model: tm.load(0), "path is of type int: give the name of a file"),
    "NUL in a path": (lambda model: tm.save(model, "a\0b"), "has a NUL"),
    "a number for names": (
        lambda model: win_loss_tie([compare({"a": tm.CARTClassifier()}, X, Y, cv=2)], names=3),
        "names is int: give a list",
    ),
}


def regressor() -> Any:
    return tm.RandomForestRegressor(n_estimators=3, max_depth=2, random_state=0).fit(X, X[:, 0])


@pytest.mark.parametrize(("call", "message"), CALLS.values(), ids=CALLS)
def test_arguments_of_other_types_are_refused(call: Callable[[Any], Any], message: str, model: Any) -> None:
    with pytest.raises(TremulaError, match=message):
        call(model)


def test_a_small_type_of_number_does_not_overflow(model: Any) -> None:
    """Three times 100 rows are no number of eight bits."""
    rows = np.random.default_rng(1).normal(size=(100, 3))
    plain, small = (tm.imitate(model, rows, n_artificial=n, random_state=0) for n in (3, np.int8(3)))
    assert small.tree_ == plain.tree_


# --- every public call, one hostile argument at a time ---


def described(faults: list[Trial]) -> list[str]:
    return [f"{found.call}({found.argument}={found.value}): {found.fault}" for found in faults]


@pytest.mark.parametrize("group", GROUPS)
def test_good_arguments_are_answered(group: str) -> None:
    """What is spoilt below is good before; nothing listens where the remote oracle asks."""
    with quiet_folder():
        for name, call in GROUPS[group]().items():
            if name == "RemoteOracle":
                with pytest.raises(TremulaError, match="cannot be reached"):
                    call.make()(**call.arguments)
            else:
                call.make()(**call.arguments)


def test_one_hostile_value_of_each_argument_is_refused_or_answered() -> None:
    """Another value for each argument in turn; the slow test tries all."""
    values = list(HOSTILE)
    found = []
    with quiet_folder():
        arguments = [(name, call, argument) for name, call in all_calls().items() for argument in call.arguments]
        for number, (name, call, argument) in enumerate(arguments):
            found.append(try_argument(name, call, argument, values[number * 7 % len(values)]))
    assert len(found) > 700
    assert described([each for each in found if each.fault]) == []


@pytest.mark.slow
@pytest.mark.parametrize("group", GROUPS)
def test_every_hostile_value_is_refused_or_answered(group: str) -> None:
    with quiet_folder():
        faults = [found for found in trials(GROUPS[group]()) if found.fault]
    assert described(faults) == []


def test_every_public_function_is_called() -> None:
    """Functions and estimators that the API reference lists, but for those that take no argument from outside."""
    listed = re.findall(
        r"~tremula\.([\w.]+)", (Path(__file__).parents[2] / "docs/api/index.md").read_text(encoding="utf-8")
    )
    public = {name.rpartition(".")[2] for name in listed if _is_function_or_estimator(name)}
    assert public - {name.partition(".")[0] for name in all_calls()} - NOT_CALLED == set()


NOT_CALLED = {
    "shap_trees",  # takes a model alone, as `explain` does
    "dataset_names",
    "known_datasets",
    "content_checksum",
    "one_machine_proxy",
    "run_experiment",  # of objects that are written in Python
}


def _is_function_or_estimator(name: str) -> bool:
    found = locate(f"tremula.{name}")
    is_estimator = isinstance(found, type) and name in tm.__all__ and hasattr(found, "get_params")
    return is_estimator or inspect.isfunction(found)
