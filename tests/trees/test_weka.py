"""Against Weka's J48 and REPTree: the same trees and answers where the rules are the same, else a rule and its effect.

Every difference is listed in `tests/golden/weka_differences.csv`, and what the releases of C4.5 make of the same rows
in `c45_releases.csv`; ``pytest --rewrite-golden`` writes both anew. The made-up tables are compared always, the real
ones where the folder of datasets is.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest

from tremula import Tree
from tremula.trees.growing import grow_classification_tree
from tremula.trees.grown_tree import GrownTree
from tremula.trees.pruning import collapse_useless_splits

from .weka_golden import (
    FOLDER,
    MADE_NAMES,
    NAMES,
    Golden,
    compare,
    fit,
    make_learner,
    read_made,
    read_real,
    same_tests,
)
from .weka_ties import explain

pytestmark = pytest.mark.outside

SAME_RULES = ("j48_unpruned", "j48_pruned", "j48_pruned_10", "j48_no_raising")
WEIGHTED = ("j48_weighted", "j48_weighted_pruned")
REPTREES = ("reptree_unpruned", "reptree_pruned", "reptree_grown", "reptree_weighted")
COPIES = {"copies_unpruned": "j48_unpruned", "copies_pruned": "j48_pruned"}
COUNTING = "J48 counts rows where tremula counts weight"
ESTIMATE = "constants of the error estimate"
COLUMNS = (
    *("dataset", "run", "learner", "rule", "nodes", "nodes_weka", "test_rows", "rows_different"),
    *("error", "error_weka", "error_weka_lowest", "error_weka_highest"),
)

with gzip.open(FOLDER.parent / "weka_variants.json.gz") as file:
    VARIANTS = json.load(file)


@pytest.fixture(scope="session")
def read_golden(request: pytest.FixtureRequest) -> Callable[[str], Golden]:
    """A golden file with its table, and the learners fitted to it so far."""

    @cache
    def read(name: str) -> Golden:
        if name in MADE_NAMES:
            return read_made(name)
        return read_real(name, *request.getfixturevalue("load_dataset")(name))

    return read


def each_of(names: Iterable[str]) -> list[Any]:
    return [name if name in MADE_NAMES else pytest.param(name, marks=pytest.mark.data) for name in names]


@pytest.fixture(params=each_of(NAMES))
def golden(request: pytest.FixtureRequest, read_golden: Callable[[str], Golden]) -> Golden:
    return read_golden(request.param)


@pytest.fixture(params=each_of(VARIANTS["copies"]))
def golden_of_classes(request: pytest.FixtureRequest, read_golden: Callable[[str], Golden]) -> Golden:
    return read_golden(request.param)


def assert_same(golden: Golden, run: str) -> None:
    """Size, every test, every answer, every distribution that is stored."""
    learner, stored = fit(golden, run), golden.runs[run]
    found = compare(golden, run)
    assert (learner.tree_.n_nodes, learner.get_n_leaves()) == (stored["n_nodes"], stored["n_leaves"])
    assert found.is_same
    distributions = golden.weka_distributions(run)
    if distributions is not None:
        assert learner.classes_.astype(str).tolist() == golden.facts["classes"]
        assert learner.predict_proba(golden.X.iloc[golden.test]) == pytest.approx(distributions, abs=2e-6)


# ---- J48


def test_j48_is_the_same(golden_of_classes: Golden) -> None:
    for run in SAME_RULES:
        assert_same(golden_of_classes, run)


def grow_by_rules(golden: Golden, run: str, **changes: Any) -> GrownTree:
    """The tree as C4.5 grows it, before anything is cut off."""
    learner, rows = make_learner(golden, run), golden.growing_rows(run)
    columns = learner.sort(golden.values[rows], np.array(golden.n_levels, np.int32))
    codes, n_classes = np.array(golden.targets)[rows], len(golden.facts["classes"])
    rules = replace(learner._rules(columns.n_attributes), **changes)
    return grow_classification_tree(columns, codes, n_classes, None, rules, np.random.default_rng())


def assert_same_tree(golden: Golden, tree: Tree, stored: dict[str, Any]) -> None:
    assert same_tests(tree, stored)
    codes = tree.predict_codes(golden.values[golden.test])
    assert "".join(np.base_repr(code, 36).lower() for code in codes) == stored["predictions"]


def test_j48_grows_the_same(golden_of_classes: Golden) -> None:
    for run, grown in {
        "j48_no_collapse": grow_by_rules(golden_of_classes, "j48_no_collapse"),
        "j48_no_mdl": collapse_useless_splits(grow_by_rules(golden_of_classes, "j48_no_mdl", count_cuts=False)),
    }.items():
        n_levels = golden_of_classes.n_levels
        tree = Tree.from_node_counts(grown.nodes, grown.statistics, grown.subsets, n_levels, strict=False)
        assert_same_tree(golden_of_classes, tree, golden_of_classes.runs[run])


def test_a_weight_is_to_tremula_what_copies_are_to_j48(golden_of_classes: Golden) -> None:
    """Weka gets every row 1 to 4 times, tremula once with that weight."""
    rows = golden_of_classes.train
    for run, stored in VARIANTS["copies"][golden_of_classes.name].items():
        learner = make_learner(golden_of_classes, COPIES[run])
        learner.fit(golden_of_classes.X.iloc[rows], golden_of_classes.y.iloc[rows], sample_weight=1 + rows % 4)
        assert_same_tree(golden_of_classes, learner.tree_, stored)


def test_weighted_j48_is_close(golden_of_classes: Golden) -> None:
    for run in WEIGHTED:
        assert compare(golden_of_classes, run).is_close


def test_release_8_is_close_to_j48(golden_of_classes: Golden) -> None:
    for run in SAME_RULES:
        found = compare(golden_of_classes, run, release=8)
        assert found.is_close
        assert found.is_same or run in ("j48_pruned", "j48_no_raising")


# ---- REPTree


def own_errors(golden: Golden, run: str) -> list[float]:
    """Test errors of Weka itself on the same rows in other orders and units."""
    others = VARIANTS["rounding"].get(golden.name, {}).get(run, [])
    return [compare(golden, run).weka_error, *(error for _, error, _ in others)]


def test_reptree_is_the_same_unless_rounding_decides(golden: Golden) -> None:
    """Where Weka's own tree depends on rounding, tremula's error is within a point of those of Weka's trees."""
    for run in REPTREES:
        if golden.runs[run]["rounding_matters"]:
            errors = own_errors(golden, run)
            assert min(errors) - 1 <= compare(golden, run).error <= max(errors) + 1
        else:
            assert_same(golden, run)


def test_differences_of_reptree_start_at_ties(golden: Golden) -> None:
    for run in REPTREES:
        assert None not in explain(golden, run)


# ---- the list


def differences(golden: Golden) -> Iterator[list[str]]:
    """A line for each run in which trees or answers differ."""
    for run in golden.runs:
        if run in SAME_RULES:
            yield from line(golden, run, "C4.5 Release 8", ESTIMATE, release=8)
        if run in (*SAME_RULES, *WEIGHTED):
            yield from line(golden, run, "J48", COUNTING)
        if run in REPTREES and not compare(golden, run).is_same:
            yield from line(golden, run, "REPTree", " and ".join(sorted(map(str, explain(golden, run)))))


def line(golden: Golden, run: str, learner: str, rule: str, release: int | str = "J48") -> Iterator[list[str]]:
    found = compare(golden, run, release)
    if not found.is_same:
        counts = found.n_nodes, found.weka_n_nodes, found.n_test, found.n_different
        errors = own_errors(golden, run)
        percents = found.error, found.weka_error, min(errors), max(errors)
        yield [golden.name, run, learner, rule, *map(str, counts), *(f"{percent:.2f}" for percent in percents)]


def as_text(columns: Iterable[str], lines: Iterable[Iterable[str]]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([columns, *lines])
    return text.getvalue()


@pytest.mark.data
def test_every_difference_is_listed(
    read_golden: Callable[[str], Golden], assert_golden: Callable[[str, str], None]
) -> None:
    lines = [each for name in NAMES for each in differences(read_golden(name))]
    assert_golden("weka_differences.csv", as_text(COLUMNS, lines))


def test_differences_on_made_up_tables_are_listed(read_golden: Callable[[str], Golden]) -> None:
    stored = (FOLDER.parent / "weka_differences.csv").read_text(encoding="utf-8").splitlines()
    lines = [each for name in MADE_NAMES for each in differences(read_golden(name))]
    assert as_text(COLUMNS, lines).splitlines() == [stored[0], *(each for each in stored if each.startswith("made-"))]


@pytest.mark.data
def test_releases_differ_as_listed(
    read_golden: Callable[[str], Golden], assert_golden: Callable[[str, str], None]
) -> None:
    """Leaves and test error of the pruned tree by each release, on every table of classes."""
    releases = (1, 8, "J48")
    columns = ["dataset", *(f"{what}_{release}" for release in releases for what in ("leaves", "error"))]
    lines = []
    for name in VARIANTS["copies"]:
        golden = read_golden(name)
        found = [compare(golden, "j48_pruned", release) for release in releases]
        leaves = [fit(golden, "j48_pruned", release).get_n_leaves() for release in releases]
        lines.append([name, *(text for n, each in zip(leaves, found) for text in (str(n), f"{each.error:.2f}"))])
    assert_golden("c45_releases.csv", as_text(columns, lines))
