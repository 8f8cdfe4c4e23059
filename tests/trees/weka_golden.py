"""The golden files of Weka: the rows they were made from, what Weka answered, and what tremula answers to the same.

`tests/golden/README.md` describes the files and the runs.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from tremula import C45Classifier, REPTreeClassifier, REPTreeRegressor, Tree

FOLDER = Path(__file__).parent.parent / "golden" / "weka"
NAMES = sorted(path.name.removesuffix(".json.gz") for path in FOLDER.glob("*.json.gz"))
MADE_NAMES = [name for name in NAMES if name.startswith("made-")]
CONFIDENCES = {"-U": None, "-C 0.25": 0.25, "-C 0.1": 0.1}
LEAF = -1


@dataclass(frozen=True)
class WekaNode:
    """A node of Weka's tree; a leaf has attribute -1."""

    attribute: int
    threshold: float | None
    weight: float
    children: list[WekaNode]


@dataclass(frozen=True)
class Golden:
    """A golden file and its table: rows `train` and `test` of `X` and `y`."""

    facts: dict[str, Any]
    X: pd.DataFrame
    y: pd.Series
    fitted: dict[Any, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return self.facts["dataset"]

    @property
    def is_classification(self) -> bool:
        return self.facts["task"] == "classification"

    @property
    def runs(self) -> dict[str, Any]:
        return self.facts["runs"]

    @property
    def n_levels(self) -> list[int]:
        return [n for _, n in self.facts["attributes"]]

    @cached_property
    def train(self) -> np.ndarray:
        return np.flatnonzero(np.arange(len(self.y)) % 3 != 2)

    @cached_property
    def test(self) -> np.ndarray:
        return np.flatnonzero(np.arange(len(self.y)) % 3 == 2)

    @property
    def held_out(self) -> np.ndarray:
        """The rows Weka pruned its REPTree on."""
        return np.array(self.runs["reptree_pruned"]["hold_out_rows"])

    @cached_property
    def values(self) -> np.ndarray:
        """The table as numbers, nominal attributes as level codes."""
        columns = [column.cat.codes.where(column.notna()) if n else column for n, (_, column) in self._columns()]
        return np.column_stack([np.asarray(column, float) for column in columns])

    def _columns(self) -> Iterator[tuple[int, tuple[str, pd.Series]]]:
        return zip(self.n_levels, self.X.items())

    @cached_property
    def targets(self) -> list[float]:
        """Class codes, -1 for a class Weka did not know, or the numbers."""
        if not self.is_classification:
            return self.y.tolist()
        codes = {label: code for code, label in enumerate(self.facts["classes"])}
        return [codes.get(str(label), -1) for label in self.y]

    @cached_property
    def exact_targets(self) -> list[Fraction]:
        """The numbers to be predicted, as they are written."""
        return [Fraction(str(target)) for target in self.targets]

    def growing_rows(self, run: str) -> np.ndarray:
        """The rows a tree grows from."""
        held_out = self.held_out if run in ("reptree_pruned", "reptree_grown") else []
        return np.setdiff1d(self.train, held_out)

    def weights(self, run: str) -> np.ndarray:
        """Row weights of the whole table."""
        return (1 + np.arange(len(self.y)) % 4) / 2 if "weighted" in run else np.ones(len(self.y))

    def weka_answers(self, run: str) -> np.ndarray:
        """What Weka predicted for the test rows."""
        predictions = self.runs[run]["predictions"]
        if not self.is_classification:
            return np.array(predictions)
        return np.array(self.facts["classes"])[[int(digit, 36) for digit in predictions]]

    def weka_distributions(self, run: str) -> np.ndarray | None:
        """The class distributions Weka gave the test rows, where they are stored."""
        stored = self.runs[run]
        if "distributions" not in stored:
            return None
        return np.array(stored["distributions"])[stored["distribution_of_row"]]

    def weka_tree(self, run: str) -> WekaNode:
        """Weka's tree, from the lists of its nodes depth first."""
        stored = self.runs[run]
        nodes = iter(zip(stored["node_attribute"], stored["node_weight"], strict=True))
        thresholds = iter(stored["node_threshold"])

        def read() -> WekaNode:
            attribute, weight = next(nodes)
            if attribute == LEAF:
                return WekaNode(LEAF, None, weight, [])
            n_levels = self.n_levels[attribute]
            threshold = None if n_levels else next(thresholds)
            return WekaNode(attribute, threshold, weight, [read() for _ in range(n_levels or 2)])

        tree = read()
        assert next(nodes, None) is None
        assert next(thresholds, None) is None
        return tree


def _facts_of(name: str) -> dict[str, Any]:
    with gzip.open(FOLDER / f"{name}.json.gz") as file:
        return json.load(file)


def read_made(name: str) -> Golden:
    """A made-up table, stored whole."""
    facts = _facts_of(name)
    columns = {}
    for (attribute, n_levels), values in zip(facts["attributes"], zip(*facts["values"])):
        numbers = np.array(values, dtype=float)
        codes = np.nan_to_num(numbers, nan=-1).astype(int)
        levels = [f"v{level}" for level in range(n_levels)]
        columns[attribute] = pd.Categorical.from_codes(codes, categories=levels) if n_levels else numbers
    target = facts["target"] if facts["classes"] is None else np.array(facts["classes"])[np.int64(facts["target"])]
    return Golden(facts, pd.DataFrame(columns), pd.Series(target))


def read_real(name: str, X: pd.DataFrame, y: pd.Series) -> Golden:
    """A table of the folder of datasets."""
    facts = _facts_of(name)
    return Golden(facts, X.iloc[: facts["n_rows"]], y.iloc[: facts["n_rows"]])


def make_learner(golden: Golden, run: str, release: int | str = "J48") -> Any:
    """The learner of tremula that follows the rules of a run."""
    stored = golden.runs[run]
    if stored["learner"] == "J48":
        confidence = next(value for option, value in CONFIDENCES.items() if option in stored["options"])
        raising = "-S" not in stored["options"].split()
        return C45Classifier(confidence=confidence, release=release, subtree_raising=raising)
    family = REPTreeClassifier if golden.is_classification else REPTreeRegressor
    return family(prune="-P" not in stored["options"].split())


def fit(golden: Golden, run: str, release: int | str = "J48") -> Any:
    """That learner fitted to the rows Weka fitted its own to; kept for the next time."""
    if (run, release) not in golden.fitted:
        rows = golden.growing_rows(run)
        weights = golden.weights(run)[rows] if "weighted" in run else None
        judges = {}
        if run == "reptree_pruned":
            judges = {"X_val": golden.X.iloc[golden.held_out], "y_val": golden.y.iloc[golden.held_out]}
        learner = make_learner(golden, run, release)
        learner.fit(golden.X.iloc[rows], golden.y.iloc[rows], sample_weight=weights, **judges)
        golden.fitted[run, release] = learner
    return golden.fitted[run, release]


def depth_first(tree: Tree, node: int = 0) -> Iterator[int]:
    """Numbers of the nodes in Weka's order."""
    yield node
    for branch in range(tree.n_branches[node]):
        yield from depth_first(tree, int(tree.first_child[node]) + branch)


# ---- side by side


@dataclass(frozen=True)
class Comparison:
    """What tremula and Weka make of the same rows; errors in percent, of wrong rows or of the mean's RMSE."""

    n_nodes: int
    weka_n_nodes: int
    same_tests: bool
    n_test: int
    n_different: int
    error: float
    weka_error: float

    @property
    def is_same(self) -> bool:
        return self.same_tests and self.n_different == 0

    @property
    def is_close(self) -> bool:
        """Within a point, or two rows of a small test set."""
        return abs(self.error - self.weka_error) <= max(1.0, 200.0 / self.n_test if self.n_test < 200 else 0.0) + 1e-6


def same_tests(tree: Tree, stored: dict[str, Any]) -> bool:
    """Whether a tree tests the same attributes at the same thresholds in the same places."""
    order = list(depth_first(tree))
    is_numeric = tree.nodes["index"][order] == -1
    is_numeric &= ~tree.is_leaf[order]
    return (
        tree.attribute[order].tolist() == stored["node_attribute"]
        and tree.threshold[order][is_numeric].tolist() == stored["node_threshold"]
    )


def error_of(golden: Golden, answers: np.ndarray) -> float:
    """Percentage of wrong test rows; for a numeric target the root of the squared error relative to the mean's."""
    truth = golden.y.iloc[golden.test]
    if golden.is_classification:
        return 100 * float(np.mean(answers != truth.astype(str).to_numpy()))
    truth = truth.to_numpy(float)
    spread = truth - golden.y.iloc[golden.train].mean()
    return 100 * float(np.sqrt(np.sum((answers - truth) ** 2) / np.sum(spread**2)))


def compare(golden: Golden, run: str, release: int | str = "J48") -> Comparison:
    learner, stored = fit(golden, run, release), golden.runs[run]
    answers, weka = learner.predict(golden.X.iloc[golden.test]), golden.weka_answers(run)
    if golden.is_classification:
        answers = answers.astype(str)
        different = answers != weka
    else:
        different = ~np.isclose(answers, weka, rtol=1e-6, atol=1e-6)
    return Comparison(
        learner.tree_.n_nodes,
        stored["n_nodes"],
        same_tests(learner.tree_, stored),
        len(golden.test),
        int(different.sum()),
        error_of(golden, answers),
        error_of(golden, weka),
    )
