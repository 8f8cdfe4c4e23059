"""Readings of the sizes of Table 1: the paper says neither which nodes it counts nor how few rows are still split.

A level without rows in a node has a branch that ends in an empty leaf; these leaves are counted or not. Rows, folds
and members are those of Table 1.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np

from tremula.lab.experiments.cell import Cell, Experiment, Outcome
from tremula.lab.experiments.result import Result, first_failures, group_by_split, shared_splits
from tremula.lab.papers.paper import Budget, ShownTable
from tremula.lab.papers.published import read_published
from tremula.lab.papers.shared_protocol import kept_dataset, seed_of
from tremula.lab.papers.vanassche2006.protocol import BAG, MAKERS, MIN_ROWS, N_MEMBERS, SB, SB_STOP, SEED, prepared
from tremula.lab.papers.vanassche2006.tables import NEAR

METHODS = (SB, SB_STOP, BAG)
LEAST_ROWS = (2, 3, 5, 10)
COUNTED = {"all nodes": "nodes", "nodes with rows": "nodes_with_rows"}
FOLDS: dict[Budget, int] = {"quick": 1, "default": 2, "full": 10}
DATASETS = ("breast-cancer", "vote", "mushroom", "nursery", "primary-tumor", "kr-vs-kp", "soybean", "splice")
CELL_METHODS = {f"{method}, {rows} rows": (method, rows) for method in METHODS for rows in LEAST_ROWS}
OURS = ("all nodes", MIN_ROWS)


def measure_sizes(cell: Cell) -> Outcome:
    """Train one method with one least number of rows on one fold, and count its nodes in both ways."""
    method, least = CELL_METHODS[cell.method]
    X, (train, _) = prepared(cell.dataset, cell.split)
    seed = seed_of(SEED, cell.dataset, cell.split, "learner")
    name = "estimator__min_weight_split" if method == BAG else "min_samples_split"
    model = MAKERS[method](seed).set_params(**{name: least})
    start = time.process_time()
    model.fit(X[train], kept_dataset(cell.dataset).y[train])
    seconds = time.process_time() - start
    values = {
        "nodes": float(sum(tree.n_nodes for tree in model.members_)),
        "nodes_with_rows": float(sum(np.count_nonzero(np.asarray(tree.weight) > 0) for tree in model.members_)),
    }
    return Outcome(values, fit_seconds=seconds, seed=seed)


def sizes_experiment(budget: Budget) -> Experiment:
    """Return all methods with all least numbers of rows on the datasets without numbers."""
    datasets = DATASETS[:2] if budget == "quick" else DATASETS
    cells = [
        Cell(dataset, method, fold) for fold in range(FOLDS[budget]) for dataset in datasets for method in CELL_METHODS
    ]
    settings = {"members": N_MEMBERS, "seed": SEED}
    return Experiment("vanassche2006/sizes", settings, cells, measure_sizes)


def size_ratios(results: Sequence[Result]) -> dict[tuple[str, int], dict[tuple[str, str], float]]:
    """Return by reading the mean sizes relative to the published ones, by dataset and method."""
    published = {
        (row["dataset"], row["method"]): float(row["size"]) for row in read_published("vanassche2006_table1").rows
    }
    ratios: dict[tuple[str, int], dict[tuple[str, str], float]] = {}
    for dataset, methods in group_by_split(results).items():
        folds = shared_splits(methods)
        if set(methods) != set(CELL_METHODS) or not folds:
            continue
        for (counted, value), least, method in product(COUNTED.items(), LEAST_ROWS, METHODS):
            sizes = [methods[f"{method}, {least} rows"][fold].values[value] for fold in folds]
            ratio = float(np.mean(sizes)) / published[dataset, method]
            ratios.setdefault((counted, least), {})[dataset, method] = ratio
    return ratios


def n_within(ratios: Mapping[tuple[str, str], float]) -> int:
    """Count the sizes that are within the limit of Table 1."""
    return sum(abs(ratio - 1.0) <= NEAR for ratio in ratios.values())


def mean_distance(ratios: Mapping[tuple[str, str], float]) -> float:
    """Return the mean absolute logarithm of the ratios: less is nearer to the published sizes."""
    return float(np.mean([abs(math.log(ratio)) for ratio in ratios.values()]))


def show_sizes(results: Sequence[Result], budget: Budget) -> list[ShownTable]:
    """Show how near each reading is to the published sizes."""
    ratios = size_ratios(results)
    order = sorted(ratios, key=lambda reading: mean_distance(ratios[reading]))
    datasets = list(dict.fromkeys(dataset for of in ratios.values() for dataset, _ in of))
    rows: list[list[Any]] = []
    for counted, least in order:
        of = ratios[counted, least]
        mark = " (ours)" if (counted, least) == OURS else ""
        shown = [" / ".join(f"{of[dataset, method]:.2f}" for method in METHODS) for dataset in datasets]
        rows.append([counted + mark, least, f"{mean_distance(of):.3f}", f"{n_within(of)} of {len(of)}", *shown])
    columns = ["counted", "least rows", "distance", "within", *datasets]
    caption = f"Sizes relative to the published ones: {', '.join(METHODS)}"
    return [ShownTable("sizes", caption, columns, rows, [*_notes(ratios, order), *first_failures(results)])]


def _notes(
    ratios: Mapping[tuple[str, int], Mapping[tuple[str, str], float]], order: Sequence[tuple[str, int]]
) -> list[str]:
    explained = [
        "Least rows: a node with fewer is a leaf. Nodes with rows: leaves of levels that no row of the node has do not "
        "count. Distance: the mean absolute logarithm of the ratios. Within: at most 10 % from the published size.",
    ]
    if OURS not in ratios:
        return explained
    counted, least = order[0]
    best, n_numbers = ratios[counted, least], len(ratios[OURS])
    outside = [f"{dataset}, {method}" for (dataset, method), ratio in best.items() if abs(ratio - 1.0) > NEAR]
    said = f" It misses {'; '.join(outside)}." if outside else ""
    return [
        f"The nearest reading is: {counted}, {least} rows, with {n_within(best)} of {n_numbers} sizes within; ours has "
        f"{n_within(ratios[OURS])}.{said}",
        *explained,
    ]
