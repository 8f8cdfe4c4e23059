"""One name has one meaning in the public API, and the guide's table of terms lists them all."""

from __future__ import annotations

import dataclasses
import inspect
import re
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import tremula as tm
from tremula import perturb
from tremula.parameters.table import TABLE

TERMS = (Path(__file__).parents[1] / "docs/guide/terms.md").read_text()
# What not to say: the word to use instead, and who alone may say it.
UNWANTED = {
    "n_folds": ("cv", {"REPTreeClassifier", "REPTreeRegressor"}),
    "replace": ("bootstrap", set()),
    "level": ("amount, depth or grade", set()),
    "levels": ("amounts", {"Attribute"}),
    "n_samples": ("n_draws or n_rows", set()),
    "seed": ("random_state", set()),
    "scale": ("noise", {"DualPerturbClassifier", "DualPerturbRegressor"}),
    "methods": ("names", set()),
    "n_trees": ("n_estimators", set()),
    "min_rows": ("min_samples_split", set()),
}
NAMES_OF_TESTS = {"paired t", "corrected t", "5x2 F"}
WORDS_OF_SQL = {"group by", "grouping sets"}


def public() -> Iterator[tuple[str, Callable[..., Any]]]:
    for module in (tm, tm.diagnostics, tm.queries, perturb):
        for name in module.__all__:
            named = getattr(module, name)
            if callable(named):
                yield name, named


PUBLIC = dict(public())
ESTIMATORS = {name: cls for name, cls in PUBLIC.items() if hasattr(cls, "_parameters")}


def parameters_of(named: Callable[..., Any]) -> list[str]:
    return [
        name
        for name, parameter in inspect.signature(named).parameters.items()
        if parameter.kind not in (parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL)
    ]


@pytest.mark.parametrize("name", PUBLIC)
def test_signatures_use_the_words_of_the_vocabulary(name: str) -> None:
    wrong = {
        parameter: f"say {UNWANTED[parameter][0]}"
        for parameter in parameters_of(PUBLIC[name])
        if parameter in UNWANTED and name not in UNWANTED[parameter][1]
    }
    assert not wrong


@pytest.mark.parametrize("name", [name for name, named in PUBLIC.items() if isinstance(named, type)])
def test_a_level_is_a_category_in_the_names_of_attributes_and_methods(name: str) -> None:
    named = {attribute for attribute in dir(PUBLIC[name]) if re.search(r"^levels?(_|$)|[a-z]_levels?(_|$)", attribute)}
    assert {attribute for attribute in named if not attribute.startswith("_")} <= {"levels", "n_levels"}
    assert "levels" not in named or name == "Attribute"


@pytest.mark.parametrize("name", TABLE)
def test_a_level_is_a_category_in_the_meaning_of_parameters(name: str) -> None:
    for cls in ESTIMATORS.values():
        meaning = cls._parameters[name].meaning if name in cls._parameters else ""
        assert "level" not in meaning or "nominal" in meaning


def test_names_of_choices_have_no_spaces() -> None:
    choices = {
        (name, choice)
        for name, named in PUBLIC.items()
        for listed in re.findall(r"^\s*\w+ : \{([^}]*)\}", named.__doc__ or "", re.MULTILINE)
        for choice in re.findall(r"[\"']([^\"']*)[\"']", listed)
    }
    assert len(choices) > 50
    assert {choice for _, choice in choices if " " in choice} <= NAMES_OF_TESTS | WORDS_OF_SQL


def test_the_guide_lists_every_term_that_two_share_and_every_parameter_of_an_estimator() -> None:
    users = defaultdict(set)
    for name, named in PUBLIC.items():
        is_result = dataclasses.is_dataclass(named) and not (
            isinstance(named, type) and issubclass(named, perturb.Perturbation)
        )
        if not is_result and name not in ("Tree", "Condition"):
            for parameter in parameters_of(named):
                users[parameter].add(name)
    shared = {parameter for parameter, names in users.items() if len(names) > 1} | set(TABLE)
    listed = set(re.findall(r"`(\w+)`", "".join(line.split(" | ")[0] for line in TERMS.splitlines() if "|" in line)))
    assert shared - listed == set()
    assert listed - set(users) == set(), "terms that no signature has"
