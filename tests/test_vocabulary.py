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
from typer.main import get_command

import tremula as tm
from tremula import perturb
from tremula.cli.main import app
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
    "scale": ("noise", {"DualPerturbClassifier", "DualPerturbRegressor", "certify"}),
    "methods": ("names", set()),
    "n_trees": ("n_estimators", set()),
    "min_rows": ("min_samples_split", set()),
}
MAX_POSITIONAL = 3
# Words of the command line that are not parameters of estimators, and the parameters they set if any.
WORDS_OF_OPTIONS = {"seed": "random_state", "methods": None, "min_rows": None}
NAMES_OF_TESTS = {"paired t", "corrected t", "5x2 F"}
WORDS_OF_SQL = {"cell lists", "group by", "grouping sets"}


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


def is_result(named: Callable[..., Any]) -> bool:
    """Whether tremula makes it and users read it: a dataclass or a tree."""
    made = dataclasses.is_dataclass(named) and not (isinstance(named, type) and issubclass(named, perturb.Perturbation))
    return made or named.__name__ in ("Tree", "Condition")


@pytest.mark.parametrize(
    "name", [name for name, named in PUBLIC.items() if not is_result(named) and not name.endswith("Display")]
)
def test_only_the_first_parameters_may_be_given_without_their_names(name: str) -> None:
    kinds = [parameter.kind for parameter in inspect.signature(PUBLIC[name]).parameters.values()]
    assert kinds.count(inspect.Parameter.POSITIONAL_OR_KEYWORD) <= MAX_POSITIONAL


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
        if not is_result(named):
            for parameter in parameters_of(named):
                users[parameter].add(name)
    shared = {parameter for parameter, names in users.items() if len(names) > 1} | set(TABLE)
    parameters, _ = TERMS.split("## Command line")
    listed = set(
        re.findall(r"`(\w+)`", "".join(line.split(" | ")[0] for line in parameters.splitlines() if "|" in line))
    )
    assert shared - listed == set()
    assert listed - set(users) == set(), "terms that no signature has"


# --- the command line ---


def options_of(command: Any, path: str = "tremula") -> Iterator[tuple[str, Any]]:
    """Every option of a command and its subcommands, with the command it belongs to."""
    for parameter in command.params:
        if parameter.param_type_name == "option":
            yield path, parameter
    for name, subcommand in getattr(command, "commands", {}).items():
        yield from options_of(subcommand, f"{path} {name}")


OPTIONS = [(path, option) for path, option in options_of(get_command(app)) if path != "tremula"]


def test_options_use_the_words_of_the_vocabulary() -> None:
    words = {option.opts[0].removeprefix("--").replace("-", "_") for _, option in OPTIONS}
    assert len(words) > 30
    assert words & set(UNWANTED) == set(WORDS_OF_OPTIONS)
    assert {parameter for parameter in WORDS_OF_OPTIONS.values() if parameter} <= set(TABLE)


def test_an_option_is_a_flag_in_every_command_or_in_none() -> None:
    kinds = defaultdict(set)
    for _, option in OPTIONS:
        kinds[option.opts[0]].add(option.is_flag)
    assert {name for name, kind in kinds.items() if len(kind) > 1} == set()


def test_the_guide_lists_every_option_that_two_commands_share() -> None:
    users = defaultdict(set)
    for path, option in OPTIONS:
        users[option.opts[0]].add(path)
    listed = set(re.findall(r"`(--[\w-]+)`", TERMS.split("## Command line")[1]))
    assert {name for name, paths in users.items() if len(paths) > 1} - listed == set()
    assert listed - set(users) == set(), "options that no command has"
