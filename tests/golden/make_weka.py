"""Make the golden files of Weka's J48 and REPTree: sizes, nodes and answers on a fixed division of each dataset.

Run with python-weka-wrapper3 (it brings the Weka jar), pandas, pyarrow and Java installed; not part of pytest:

    TREMULA_DATA=<folder of the parquet files> python tests/golden/make_weka.py

Every file is written anew; the same versions give the same bytes. `README.md` beside this file describes the fields.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import jpype
import numpy as np
from made_tables import MADE_TABLES
from weka_bridge import (
    LEAF,
    Table,
    hold_out,
    java_version,
    make_instances,
    make_learner,
    predict,
    predict_distributions,
    private,
    read_table,
    seen_classes,
    start_weka,
    tree_nodes,
)

FOLDER = Path(__file__).parent / "weka"
DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"
SMALL_TEST = 400  # class distributions are stored up to this many test rows
TREES_TO_READ = ("iris", "labor", "vote", "servo")
REPTREE = "-M 2 -V 0.001 -N 3 -S 1"

CLASSIFICATION: dict[str, int | None] = {
    **dict.fromkeys(["iris", "glass", "diabetes", "ionosphere", "sonar", "vehicle", "segment", "vowel", "breast-w"]),
    **dict.fromkeys(["heart-statlog", "heart-c", "heart-h", "credit-a", "credit-g", "hepatitis", "labor", "vote"]),
    **dict.fromkeys(["soybean", "audiology", "lymph", "zoo", "anneal", "anneal.ORIG", "autos", "primary-tumor"]),
    **dict.fromkeys(["colic", "sick", "hypothyroid", "kr-vs-kp", "splice", "breast-cancer", "balance-scale", "ecoli"]),
    **{"mushroom": None, "waveform-5000": 3000, "letter": 4500, "adult": 4500, "page-blocks": 3000},
}
REGRESSION: dict[str, int | None] = {
    **dict.fromkeys(["housing", "auto-mpg", "servo", "machine-cpu", "cpu-vendor", "auto-horse", "fishcatch", "ozone"]),
    **dict.fromkeys(["echo-months", "breast-tumor", "lowbwt", "stock"]),
    **{"abalone": 1500, "kin8nm": 1500, "cpu-act": 1500},
}


@dataclass(frozen=True)
class Run:
    """One learner with its options; `rows` says which training rows it sees, `weighted` whether they have weights."""

    name: str
    learner: str
    options: str
    rows: str = "train"
    weighted: bool = False


CLASSIFICATION_RUNS = (
    Run("j48_unpruned", "J48", "-U -M 2"),
    Run("j48_pruned", "J48", "-C 0.25 -M 2"),
    Run("j48_pruned_10", "J48", "-C 0.1 -M 2"),
    Run("j48_no_raising", "J48", "-S -C 0.25 -M 2"),
    Run("j48_no_mdl", "J48", "-U -J -M 2"),
    Run("j48_no_collapse", "J48", "-U -O -M 2"),
    Run("j48_weighted", "J48", "-U -M 2", weighted=True),
    Run("j48_weighted_pruned", "J48", "-C 0.25 -M 2", weighted=True),
)
REPTREE_RUNS = (
    Run("reptree_unpruned", "REPTree", f"{REPTREE} -P"),
    Run("reptree_pruned", "REPTree", REPTREE),
    Run("reptree_grown", "REPTree", f"{REPTREE} -P", rows="grow"),
    Run("reptree_weighted", "REPTree", f"{REPTREE} -P", weighted=True),
)


def divide(n_rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Training and test rows: every third row, beginning with row 2, is a test row."""
    rows = np.arange(n_rows)
    return rows[rows % 3 != 2], rows[rows % 3 == 2]


def row_weights(n_rows: int) -> np.ndarray:
    """The weights of the weighted runs: 0.5, 1.0, 1.5, 2.0, 0.5, ... by row number (exact in binary)."""
    return (1 + np.arange(n_rows) % 4) / 2


def fit(run: Run, table: Table, rows: list[int] | np.ndarray, scale: int = 1) -> Any:
    """A fitted Weka learner; `scale` multiplies all weights and, with them, the minimum weight of a leaf."""
    learner = make_learner(run.learner, run.options.replace("-M 2", f"-M {2 * scale}"))
    weights = row_weights(len(table.target)) if run.weighted else np.ones(len(table.target))
    learner.buildClassifier(make_instances(table, rows, scale * weights))
    return learner


def equivalent_trees(run: Run, table: Table, rows: list[int] | np.ndarray) -> Iterator[Any]:
    """The same learning task put differently: other rows first, other units of weight, classes named in reverse.

    In exact arithmetic each gives the same tree; only rounding can make a difference.
    """
    one_order = run.name == "reptree_pruned"  # there the order also decides which rows prune
    for seed in range(0 if one_order else 6):
        yield fit(run, table, np.random.default_rng(seed).permutation(rows))
    if run.learner == "REPTree":  # J48 has constants that do not scale with the weights
        for scale in (3, 5, 7, 11, 13, 17, 19):
            yield fit(run, table, rows, scale)
        if table.classes is not None and not one_order:
            target = len(table.classes) - 1 - table.target
            yield fit(run, replace(table, target=target, classes=table.classes[::-1]), rows)


def depends_on_rounding(run: Run, table: Table, rows: list[int] | np.ndarray, nodes: list[Any]) -> bool:
    """Whether a tie somewhere in the tree is decided by the last bits of sums, so that another program may differ."""
    tests = [node[:2] for node in nodes]
    return any([node[:2] for node in tree_nodes(other)] != tests for other in equivalent_trees(run, table, rows))


def describe_answers(learner: Any, table: Table, test: np.ndarray, truth: np.ndarray) -> dict[str, Any]:
    """Answers on the test rows: class digits (and distributions on small tables), or numbers to nine digits."""
    instances = make_instances(table, test)
    answers = predict(learner, instances)
    if table.classes is None:
        error = float(np.sqrt(np.mean((answers - truth[test]) ** 2)))
        return {"test_rmse": _short(error), "predictions": [_short(answer) for answer in answers]}
    result: dict[str, Any] = {"test_error": _short(float(np.mean(answers != truth[test])))}
    result["predictions"] = "".join(DIGITS[int(answer)] for answer in answers)
    if len(test) <= SMALL_TEST:
        distributions = np.round(predict_distributions(learner, instances), 6) + 0.0
        distinct, which = np.unique(distributions, axis=0, return_inverse=True)
        result["distributions"] = distinct.tolist()
        result["distribution_of_row"] = which.ravel().tolist()
    return result


def _short(number: float) -> float:
    return float(f"{number:.9g}")


def describe_run(run: Run, table: Table, rows: list[int] | np.ndarray, test: np.ndarray) -> tuple[dict[str, Any], str]:
    """Everything stored about one run, and Weka's drawing of the tree."""
    learner = fit(run, table, rows)
    nodes = tree_nodes(learner)
    assert len(nodes) == int(learner.measureTreeSize() if run.learner == "J48" else learner.numNodes())
    result = {
        "learner": run.learner,
        "options": run.options,
        "n_nodes": len(nodes),
        "n_leaves": sum(node[0] == LEAF for node in nodes),
        "rounding_matters": depends_on_rounding(run, table, rows, nodes),
        **describe_answers(learner, table, test, table.target),
        "node_attribute": [node[0] for node in nodes],
        "node_threshold": [node[1] for node in nodes if node[1] is not None],
        "node_weight": [_short(node[2]) for node in nodes],
    }
    if run.learner == "J48":
        assert result["n_leaves"] == int(learner.measureNumLeaves())
    if run.name == "reptree_pruned":
        result["hold_out_weight"] = _short(_hold_out_weight(learner, table))
    return result, f"{run.learner} {run.options}\n{learner}"


def _hold_out_weight(learner: Any, table: Table) -> float:
    distribution = private(private(learner, "m_Tree"), "m_HoldOutDist")[:]
    return float(distribution[0] if table.classes is None else sum(distribution))


def check_hold_out(runs: dict[str, Any], n_hold_out: int) -> None:
    """The pruned tree must be the tree grown on the growing rows with branches cut off, and the hold-out complete."""
    pruned, grown = runs["reptree_pruned"], runs["reptree_grown"]
    assert pruned["hold_out_weight"] == n_hold_out
    assert pruned["node_weight"][0] == grown["node_weight"][0]
    if not grown["rounding_matters"]:
        remaining = iter(zip(grown["node_attribute"], grown["node_weight"]))
        for attribute, weight in zip(pruned["node_attribute"], pruned["node_weight"]):
            # Depth-first order: what was cut off is skipped until a node of the same weight and test comes.
            assert any(w == weight and attribute in (a, LEAF) for a, w in remaining), "not a pruning of the grown tree"


def describe_dataset(table: Table) -> tuple[dict[str, Any], str]:
    """All runs on one table."""
    train, test = divide(len(table.target))
    table = seen_classes(table, train)
    grow, prune = hold_out(table, train)
    runs, drawings = {}, []
    for run in (*(CLASSIFICATION_RUNS if table.classes is not None else ()), *REPTREE_RUNS):
        runs[run.name], drawing = describe_run(run, table, grow if run.rows == "grow" else train, test)
        drawings.append(drawing)
    check_hold_out(runs, len(prune))
    runs["reptree_pruned"]["hold_out_rows"] = prune
    facts = {
        "dataset": table.name,
        "n_rows": len(table.target),
        "task": "regression" if table.classes is None else "classification",
        "attributes": [[name, 0 if levels is None else len(levels)] for name, levels in zip(table.names, table.levels)],
        "classes": table.classes,
        "runs": runs,
    }
    return facts, f"=== {table.name}\n" + "\n".join(drawings)


def tables() -> Iterator[tuple[Table, bool]]:
    """Every table, and whether its values must be stored with the answers."""
    for make in MADE_TABLES:
        yield make(), True
    for name, n_rows in {**CLASSIFICATION, **REGRESSION}.items():
        yield read_table(name, n_rows), False


def write_json(path: Path, content: dict[str, Any]) -> None:
    """Write JSON, compressed with no time stamp so that equal content is equal bytes."""
    text = json.dumps(content, separators=(",", ":"))
    path.write_bytes(gzip.compress(text.encode(), compresslevel=9, mtime=0))


def main() -> None:
    versions = {"weka": start_weka(), "java": java_version(), "jpype": jpype.__version__}
    FOLDER.mkdir(exist_ok=True)
    drawings = []
    for table, store_values in tables():
        facts, drawing = describe_dataset(table)
        if store_values:
            facts["values"] = [[None if np.isnan(x) else x for x in row] for row in table.values.tolist()]
            facts["target"] = table.target.tolist()
        write_json(FOLDER / f"{table.name}.json.gz", {"versions": versions, **facts})
        if table.name in TREES_TO_READ:
            drawings.append(drawing)
        sizes = {name: run["n_nodes"] for name, run in facts["runs"].items()}
        rounding = [name for name, run in facts["runs"].items() if run["rounding_matters"]]
        print(table.name, sizes, "rounding matters:", rounding, flush=True)
    (FOLDER / "trees.txt").write_text("\n".join(drawings))


if __name__ == "__main__":
    main()
