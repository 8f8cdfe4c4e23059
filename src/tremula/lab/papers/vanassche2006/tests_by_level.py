"""How many different tests the members of an ensemble have at each level: by the paper very similar for both methods.

A test is an attribute, since trees of ID3 have a branch for each of its levels. Rows, folds and members are those of
Table 1.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from tremula.lab.experiments.cell import Cell, Experiment, Outcome
from tremula.lab.experiments.result import Result, first_failures, group_by_split, shared_splits
from tremula.lab.papers.paper import Budget, ShownTable
from tremula.lab.papers.rules import Finding, Rows, Rule, claims_table, permuted
from tremula.lab.papers.shared_protocol import count_nodes, kept_dataset, seed_of
from tremula.lab.papers.vanassche2006.protocol import BAG, MAKERS, N_MEMBERS, SB, SEED, prepared

LEVELS = 4
FOLDS: dict[Budget, int] = {"quick": 1, "default": 5, "full": 50}
DATASETS = ("breast-cancer", "vote", "mushroom", "nursery", "primary-tumor", "kr-vs-kp", "soybean", "splice")
NEAR, SHARE = 0.2, 0.8  # "very similar": no more than so much apart, on so many of the counts
PUBLISHED = "very similar"


def tests_by_level(trees: Sequence[Any]) -> list[int]:
    """Return the number of different attributes that all trees together test at each of the first levels.

    Parameters
    ----------
    trees : sequence of Tree

    Returns
    -------
    list of int
        For the root first; 0 where no tree is so deep.
    """
    attributes_by_level: list[set[int]] = [set() for _ in range(LEVELS)]
    for tree in trees:
        nodes = [0]
        for attributes in attributes_by_level:
            inner = [node for node in nodes if not tree.is_leaf[node]]
            attributes.update(int(tree.attribute[node]) for node in inner)
            nodes = [int(tree.first_child[node]) + branch for node in inner for branch in range(tree.n_branches[node])]
    return [len(attributes) for attributes in attributes_by_level]


def measure_tests(cell: Cell) -> Outcome:
    """Train one method on one fold, and count its tests by level."""
    X, (train, _) = prepared(cell.dataset, cell.split)
    seed = seed_of(SEED, cell.dataset, cell.split, "learner")
    start = time.process_time()
    model = MAKERS[cell.method](seed).fit(X[train], kept_dataset(cell.dataset).y[train])
    seconds = time.process_time() - start
    counts = tests_by_level(model.members_)
    values = {f"level {level}": float(count) for level, count in enumerate(counts, start=1)}
    return Outcome(values, fit_seconds=seconds, size=count_nodes(model), seed=seed)


def tests_experiment(budget: Budget) -> Experiment:
    """Return simulated bagging and bagging on the datasets without numbers."""
    datasets = DATASETS[:2] if budget == "quick" else DATASETS
    cells = [
        Cell(dataset, method, fold) for fold in range(FOLDS[budget]) for dataset in datasets for method in (SB, BAG)
    ]
    settings = {"members": N_MEMBERS, "seed": SEED, "levels": LEVELS}
    return Experiment("vanassche2006/tests_by_level", settings, cells, measure_tests)


def _very_similar(rows: Rows) -> Finding:
    if not rows:
        return Finding("", None)
    near = sum(abs(row[SB] - row[BAG]) <= NEAR * row[BAG] for row in rows)
    return Finding(f"{near} of {len(rows)} counts are within {100 * NEAR:.0f} %", near >= SHARE * len(rows))


TEST_RULES = (
    Rule(
        "both methods have as many different tests at a level",
        PUBLISHED,
        f"fewer than {100 * SHARE:.0f} % of the counts, by dataset and level, were within {100 * NEAR:.0f} % of those "
        "of bagging",
        _very_similar,
        permuted(BAG),
    ),
)


def count_rows(results: Sequence[Result]) -> list[dict[str, Any]]:
    """Return the mean counts of both methods by dataset and level, over the folds that both have."""
    rows = []
    for dataset, methods in group_by_split(results).items():
        folds = shared_splits(methods)
        if set(methods) != {SB, BAG} or not folds:
            continue
        for level in range(1, LEVELS + 1):
            means = {
                method: float(np.mean([methods[method][fold].values[f"level {level}"] for fold in folds]))
                for method in (SB, BAG)
            }
            if means[BAG] > 0:
                rows.append({"dataset": dataset, "level": level, "folds": len(folds), **means})
    return rows


def show_tests(results: Sequence[Result], budget: Budget) -> list[ShownTable]:
    """Show the counts and the claim."""
    rows = count_rows(results)
    lines = [
        [row["dataset"], row["folds"], row["level"], f"{row[SB]:.1f}", f"{row[BAG]:.1f}", f"{row[SB] / row[BAG]:.2f}"]
        for row in rows
    ]
    columns = ["dataset", "folds", "level", SB, BAG, f"{SB} / {BAG}"]
    notes = [
        f"Different attributes that the {N_MEMBERS} members together test at a level; the root is level 1. Means over "
        "folds.",
        *first_failures(results),
    ]
    caption = "Different tests at each level"
    table = ShownTable("tests_by_level", caption, columns, lines, notes)
    shuffled = "the counts of bagging go to other datasets and levels."
    about = "Claim of the paper about different tests"
    limits = [f"What counts as very similar is our choice, made before the counts were known: {100 * NEAR:.0f} %."]
    return [table, claims_table("tests_by_level_claims", about, TEST_RULES, rows, shuffled, limits)]
