"""Make `weka_variants.json.gz`: what Weka answers when a task of `make_weka.py` is put differently.

Run as `make_weka.py` is, after it; about ten minutes:

    TREMULA_DATA=<folder of the parquet files> python tests/golden/make_weka_variants.py

- `rounding`: for every run of REPTree in which rounding matters, sizes and test errors of the trees that Weka itself
  grows when rows come in another order or all weights are multiplied by a number. In exact arithmetic they are one.
- `copies`: J48, pruned and not, on training rows repeated 1 + i % 4 times instead of weighted: row numbers mean what
  weights mean, so that a program which counts weights everywhere must answer the same.
"""

from __future__ import annotations

import gzip
import json
from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np
from make_weka import CLASSIFICATION_RUNS, DIGITS, FOLDER, REPTREE_RUNS, Run, divide, fit, tables, write_json
from weka_bridge import Table, hold_out, make_instances, predict, seen_classes, start_weka, tree_nodes

N_ORDERS = 24
SCALES = (3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53)
RUNS = {run.name: run for run in (*CLASSIFICATION_RUNS, *REPTREE_RUNS)}
COPIED = {"copies_unpruned": "j48_unpruned", "copies_pruned": "j48_pruned"}


def percent_wrong(learner: Any, table: Table, train: np.ndarray, test: np.ndarray) -> float:
    """Percentage of wrong test rows; for a numeric target the root of the squared error relative to the mean's."""
    answers, truth = predict(learner, make_instances(table, test)), table.target[test]
    if table.classes is not None:
        return 100 * float(np.mean(answers != truth))
    return 100 * float(np.sqrt(np.sum((answers - truth) ** 2) / np.sum((truth - table.target[train].mean()) ** 2)))


def equal_tasks(run: Run, table: Table, rows: Any) -> Iterator[Any]:
    """Learners fitted to the same rows put differently; where REPTree prunes, the order also decides which rows do."""
    for seed in range(0 if run.name == "reptree_pruned" else N_ORDERS):
        yield fit(run, table, np.random.default_rng(seed).permutation(rows))
    for scale in SCALES:
        yield fit(run, table, rows, scale)


def spread(run: Run, table: Table, train: np.ndarray, test: np.ndarray) -> list[list[float]]:
    """Size, error and number of the trees that Weka grows for one task."""
    rows = hold_out(table, train)[0] if run.rows == "grow" else train
    found = Counter(
        (len(tree_nodes(learner)), round(percent_wrong(learner, table, train, test), 6))
        for learner in equal_tasks(run, table, rows)
    )
    return [[n_nodes, error, number] for (n_nodes, error), number in sorted(found.items())]


def on_copies(run: Run, table: Table, train: np.ndarray, test: np.ndarray) -> dict[str, Any]:
    """One run with every row as often as its number says."""
    learner = fit(run, table, np.repeat(train, 1 + train % 4))
    nodes = tree_nodes(learner)
    answers = predict(learner, make_instances(table, test))
    return {
        "n_nodes": len(nodes),
        "node_attribute": [node[0] for node in nodes],
        "node_threshold": [node[1] for node in nodes if node[1] is not None],
        "predictions": "".join(DIGITS[int(answer)] for answer in answers),
    }


def describe(table: Table) -> tuple[dict[str, Any], dict[str, Any]]:
    with gzip.open(FOLDER / f"{table.name}.json.gz") as file:
        stored = json.load(file)["runs"]
    train, test = divide(len(table.target))
    table = seen_classes(table, train)
    rounded = [name for name, run in stored.items() if run["rounding_matters"]]
    rounding = {name: spread(RUNS[name], table, train, test) for name in rounded}
    copied = {} if table.classes is None else COPIED
    return rounding, {name: on_copies(RUNS[original], table, train, test) for name, original in copied.items()}


def main() -> None:
    content: dict[str, Any] = {"versions": {"weka": start_weka()}, "rounding": {}, "copies": {}}
    for table, _ in tables():
        rounding, copies = describe(table)
        content["rounding"] |= {table.name: rounding} if rounding else {}
        content["copies"] |= {table.name: copies} if copies else {}
        print(table.name, {name: len(trees) for name, trees in rounding.items()}, flush=True)
    write_json(FOLDER.parent / "weka_variants.json.gz", content)


if __name__ == "__main__":
    main()
