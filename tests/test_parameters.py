"""Signature, docstring, `get_params` and checks of every public estimator say the same about its parameters."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
from typing import Any

import pytest
from numpydoc.docscrape import ClassDoc
from sklearn.datasets import load_iris

import tremula as tm
from tremula.errors import InvalidParameter
from tremula.parameters.docstrings import insert_section, with_parameters
from tremula.parameters.kinds import quoted
from tremula.parameters.table import TABLE

ESTIMATORS = {
    name: cls for name in tm.__all__ if hasattr(cls := getattr(tm, name), "get_params") and isinstance(cls, type)
}
CHECKED = [
    (name, parameter)
    for name, cls in ESTIMATORS.items()
    for parameter, entry in cls._parameters.items()
    if entry.kind.check is not None
]
X, Y = load_iris(return_X_y=True)


def signature(cls: type) -> dict[str, inspect.Parameter]:
    return {name: entry for name, entry in inspect.signature(cls).parameters.items() if name != "self"}


def test_there_are_estimators() -> None:
    assert len(ESTIMATORS) >= 31


@pytest.mark.parametrize("name", ESTIMATORS)
def test_docstring_signature_and_get_params_agree(name: str) -> None:
    cls = ESTIMATORS[name]
    documented = ClassDoc(cls)["Parameters"]
    defaults = {key: entry.default for key, entry in signature(cls).items()}
    assert [entry.name for entry in documented] == list(defaults) == list(cls._parameters)
    assert cls().get_params(deep=False) == defaults
    for entry in documented:
        kind = cls._parameters[entry.name].kind
        assert entry.type == f"{kind.text}, default={quoted(defaults[entry.name])}"
        assert " ".join(entry.desc) == re.sub(r"\s+", " ", cls._parameters[entry.name].meaning).strip()


@pytest.mark.parametrize("name", ESTIMATORS)
def test_only_the_first_two_parameters_are_positional(name: str) -> None:
    kinds = [entry.kind for entry in signature(ESTIMATORS[name]).values()]
    assert set(kinds[:2]) == {inspect.Parameter.POSITIONAL_OR_KEYWORD}
    assert set(kinds[2:]) <= {inspect.Parameter.KEYWORD_ONLY}


@pytest.mark.parametrize("name", ESTIMATORS)
def test_every_default_passes_its_check(name: str) -> None:
    cls = ESTIMATORS[name]
    for parameter, default in cls().get_params(deep=False).items():
        check = cls._parameters[parameter].kind.check
        if check is not None:
            check(parameter, default)


@pytest.mark.parametrize(("name", "parameter"), CHECKED)
def test_fit_refuses_a_wrong_value_of_every_checked_parameter(name: str, parameter: str) -> None:
    wrong = {"noise": "no such value", "cv": 1}.get(parameter, object())
    with pytest.raises(InvalidParameter, match=rf"^{parameter}="):
        ESTIMATORS[name](**{parameter: wrong}).fit(X, Y)


def test_every_parameter_of_the_table_is_used() -> None:
    assert set(TABLE) == {parameter for cls in ESTIMATORS.values() for parameter in cls._parameters}


def test_a_parameter_that_the_table_lacks_is_an_error() -> None:
    with pytest.raises(TypeError, match="Stump has no parameter 'colour'"):

        @with_parameters()
        class Stump:
            def __init__(self, colour: str = "red") -> None: ...


def test_a_special_meaning_of_a_parameter_that_an_estimator_lacks_is_an_error() -> None:
    with pytest.raises(TypeError, match="Stump has no parameter 'prune'"):

        @with_parameters(prune="Whether to prune.")
        class Stump:
            def __init__(self, cv: int = 5) -> None: ...


def test_the_section_stands_before_the_others_or_at_the_end() -> None:
    assert insert_section("A tree.", "Parameters\n---") == "A tree.\n\nParameters\n---"
    assert insert_section("A tree.\n\nNotes\n-----\nNone.", "P") == "A tree.\n\nP\n\nNotes\n-----\nNone."


@pytest.mark.slow
def test_estimators_work_without_docstrings() -> None:
    code = "import tremula as tm; print(tm.CARTClassifier().fit([[0], [1]], [0, 1]).predict([[1]]), tm.Tree.__doc__)"
    ran: Any = subprocess.run([sys.executable, "-OO", "-W", "ignore", "-c", code], capture_output=True, text=True)
    assert ran.stdout.split() == ["[1]", "None"], ran.stderr
