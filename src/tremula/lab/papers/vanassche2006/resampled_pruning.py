"""Pruning and error assessment from resampled counts, which the paper names as other uses of its method.

The classes in the leaves of a tree divide the rows, so that a bootstrap sample of the rows is one multinomial draw from
these counts. Rows of a cell that are not drawn are out of bag, and their number follows from the draw too. No row is
asked for, and nothing is ignored, except that the tree stays as it was grown.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tremula import ID3Classifier, Tree
from tremula.diagnostics import paired_t_test
from tremula.lab.experiments.cell import Cell, Experiment, Outcome
from tremula.lab.experiments.result import Result, first_failures, group_by_split
from tremula.lab.papers.paper import Budget, ShownTable
from tremula.lab.papers.shared_protocol import kept_dataset, seed_of
from tremula.lab.papers.vanassche2006.protocol import (
    AWARE,
    CELL_NAMES,
    DATASETS,
    FOLDS,
    MIN_ROWS,
    SEED,
    cell_name,
    prepared,
)

RESAMPLES = 100
ROW_SAMPLES = 10  # trees grown anew on bootstrap samples of rows, for comparison
OUT_OF_BAG = 0.632
COUNTS, ROWS = "resampled counts", "bootstrap samples of rows"
SMALL = ("breast-cancer", "vote")

Floats = NDArray[np.float64]


def parents_of(tree: Tree) -> NDArray[np.intp]:
    """Return the parent of each node; the root is its own.

    Examples
    --------
    >>> import numpy as np
    >>> tree = ID3Classifier(categorical_features="all").fit([[0], [1], [1]], [0, 1, 1]).tree_
    >>> parents_of(tree)
    array([0, 0, 0])
    """
    parents = np.zeros(tree.n_nodes, np.intp)
    for node in np.flatnonzero(~tree.is_leaf):
        first = tree.first_child[node]
        parents[first : first + tree.n_branches[node]] = node
    return parents


def sum_up(parents: NDArray[np.intp], of_leaves: Floats) -> Floats:
    """Return counts of all nodes from those of the leaves: children come after their parent."""
    counts = of_leaves.copy()
    for node in range(len(parents) - 1, 0, -1):
        counts[parents[node]] += counts[node]
    return counts


def resample_leaves(
    counts: NDArray[np.int64], random: np.random.Generator
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Draw a bootstrap sample from counts: how often each cell is drawn, and how many of its rows are never drawn.

    Parameters
    ----------
    counts : int array
        Rows by cell, in any shape.
    random : numpy.random.Generator

    Examples
    --------
    >>> drawn, left_out = resample_leaves(np.array([[600, 0], [0, 400]]), np.random.default_rng(0))
    >>> int(drawn.sum()), bool(300 < left_out.sum() < 430), int(drawn[0, 1] + left_out[0, 1])
    (1000, True, 0)
    """
    ends = np.cumsum(counts.ravel())
    n_rows = int(ends[-1])
    times = np.bincount(random.integers(n_rows, size=n_rows), minlength=n_rows)
    cells = np.repeat(np.arange(counts.size), counts.ravel())
    drawn = np.bincount(cells, times, minlength=counts.size).astype(np.int64)
    left_out = np.bincount(cells[times == 0], minlength=counts.size)
    return drawn.reshape(counts.shape), left_out.reshape(counts.shape)


@dataclass(frozen=True)
class Assessment:
    """What resampled counts say of a tree.

    Attributes
    ----------
    is_leaf : bool array (n_nodes,)
        Leaves of the pruned tree, and nodes below them.
    error : float
        Error on rows left out, of the labels alone: the tree stays as it was grown on all rows.
    """

    is_leaf: NDArray[np.bool_]
    error: float


def assess(tree: Tree, counts: NDArray[np.int64], random: np.random.Generator) -> Assessment:
    """Prune a tree by the errors of its nodes on the rows that resamples leave out, and estimate its error.

    Parameters
    ----------
    tree : Tree
    counts : int array (n_nodes, n_classes)
        Training rows of each class in each node.
    random : numpy.random.Generator
    """
    parents = parents_of(tree)
    of_leaves = np.where(tree.is_leaf[:, None], counts, 0)
    as_leaf, n_left_out, wrong = np.zeros(tree.n_nodes), 0.0, 0.0
    for _ in range(RESAMPLES):
        drawn, left_out = (sum_up(parents, cells.astype(float)) for cells in resample_leaves(of_leaves, random))
        labels = _labels(drawn, parents)
        errors = left_out.sum(axis=1) - left_out[np.arange(tree.n_nodes), labels]
        as_leaf += errors
        wrong += float(errors[tree.is_leaf].sum())
        n_left_out += float(left_out[0].sum())
    best, is_leaf = as_leaf.copy(), tree.is_leaf.copy()
    below = np.zeros(tree.n_nodes)
    for node in range(tree.n_nodes - 1, -1, -1):
        if not tree.is_leaf[node]:
            is_leaf[node] = as_leaf[node] <= below[node]
            best[node] = min(as_leaf[node], below[node])
        if node:
            below[parents[node]] += best[node]
    return Assessment(is_leaf, wrong / max(n_left_out, 1.0))


def _labels(counts: Floats, parents: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return the class of most rows in each node; that of its parent where there is no row."""
    labels: NDArray[np.intp] = counts.argmax(axis=1)
    for node in np.flatnonzero(counts.sum(axis=1) == 0):
        labels[node] = labels[parents[node]]
    return labels


def tree_error(
    tree: Tree, counts: NDArray[Any], tested: Floats, is_leaf: NDArray[np.bool_], n_tested: int
) -> tuple[float, int]:
    """Return the error on test rows, given by class in each node, and the number of leaves of a pruned tree."""
    parents = parents_of(tree)
    is_inner = ~is_leaf
    for node in range(1, tree.n_nodes):
        is_inner[node] &= is_inner[parents[node]]
    ends = ~is_inner
    ends[1:] &= is_inner[parents[1:]]
    labels = _labels(counts.astype(float), parents)
    right = tested[ends, labels[ends]].sum()
    return 1.0 - float(right / n_tested), int(ends.sum())


def measure_pruning(cell: Cell) -> Outcome:
    """Grow one tree on a fold, prune it and estimate its error by counts alone, and measure both on the test rows."""
    X, (train, test) = prepared(cell.dataset, cell.split)
    y = kept_dataset(CELL_NAMES[cell.dataset][0]).y
    classes, codes = np.unique(y[train], return_inverse=True)
    seed = seed_of(SEED, cell.dataset, cell.split, "pruning")
    start = time.process_time()
    tree = _grow(X[train], codes)
    counts = np.rint(_by_node(tree, X[train], codes)).astype(np.int64)
    assessment = assess(tree, counts, np.random.default_rng(seed))
    seconds = time.process_time() - start
    known = test[np.isin(y[test], classes)]  # a class without training rows is never answered
    tested = _by_node(tree, X[known], np.searchsorted(classes, y[known]))
    error, leaves = tree_error(tree, counts, tested, tree.is_leaf, len(test))
    pruned_error, pruned_leaves = tree_error(tree, counts, tested, assessment.is_leaf, len(test))
    apparent = 1.0 - float(counts[tree.is_leaf].max(axis=1).sum() / len(train))
    by_rows = _error_by_rows(X[train], codes, np.random.default_rng(seed))
    values = {"error": error, "pruned": pruned_error, "leaves": leaves, "pruned_leaves": pruned_leaves}
    values |= {
        "apparent": apparent,
        "by_counts": _mixed(apparent, assessment.error),
        "by_rows": _mixed(apparent, by_rows),
    }
    return Outcome(values, len(test), seconds, seed=seed)


def _grow(X: NDArray[Any], codes: NDArray[Any]) -> Tree:
    model = ID3Classifier(min_weight_split=MIN_ROWS, categorical_features="all").fit(X, codes)
    return model.tree_


def _by_node(tree: Tree, X: NDArray[Any], codes: NDArray[Any]) -> Floats:
    return tree.class_weights(np.asarray(X, np.float64), codes, np.ones(len(codes)))


def _mixed(apparent: float, out_of_bag: float) -> float:
    """Return the .632 estimate."""
    return (1.0 - OUT_OF_BAG) * apparent + OUT_OF_BAG * out_of_bag


def _error_by_rows(X: NDArray[Any], codes: NDArray[Any], random: np.random.Generator) -> float:
    """Return the out-of-bag error of trees grown anew on bootstrap samples of rows."""
    wrong = n_tested = 0
    for _ in range(ROW_SAMPLES):
        rows = random.integers(len(codes), size=len(codes))
        left_out = np.setdiff1d(np.arange(len(codes)), rows)
        model = ID3Classifier(min_weight_split=MIN_ROWS, categorical_features="all").fit(X[rows], codes[rows])
        wrong += int(np.sum(model.predict(X[left_out]) != codes[left_out]))
        n_tested += len(left_out)
    return wrong / max(n_tested, 1)


def pruning_experiment(budget: Budget) -> Experiment:
    """Return ten folds of every dataset but the largest; numbers have class-aware cuts."""
    datasets = SMALL if budget == "quick" else [name for name in DATASETS if budget == "full" or name != "connect-4"]
    folds = 3 if budget == "quick" else FOLDS
    cells = [Cell(cell_name(dataset, AWARE), COUNTS, fold) for dataset in datasets for fold in range(folds)]
    settings = {"resamples": RESAMPLES, "row_samples": ROW_SAMPLES, "seed": SEED, "min_rows": MIN_ROWS}
    return Experiment("vanassche2006/resampled_pruning", settings, cells, measure_pruning)


def show_pruning(results: Sequence[Result], budget: Budget) -> list[ShownTable]:
    """Show what pruning by resampled counts does, and how near its estimate of the error is."""
    rows: list[list[Any]] = []
    estimates: list[list[Any]] = []
    for dataset, methods in group_by_split(results).items():
        folds = list(methods[COUNTS].values())
        measured = {name: np.array([fold.values[name] for fold in folds]) for name in folds[0].values}
        sizes = [f"{measured[name].mean():.0f}" for name in ("leaves", "pruned_leaves")]
        shares = [f"{100 * measured[name].mean():.2f}" for name in ("error", "pruned")]
        rows.append([dataset, *shares, *sizes, _better(measured["error"], measured["pruned"])])
        estimates.append(
            [dataset, *(f"{100 * measured[name].mean():.2f}" for name in ("error", "apparent", "by_counts", "by_rows"))]
        )
    columns = ["dataset", "full tree", "pruned", "leaves", "leaves, pruned", "better by the paired t test"]
    caption = "One ID3 tree pruned by resampled counts: error in percent"
    titles = ["dataset", "error on the test rows", "apparent", f".632 by {COUNTS}", f".632 by {ROWS}"]
    about = "The error of the full tree in percent, and estimates of it"
    return [
        ShownTable("resampled_pruning", caption, columns, rows, [*_pruning_notes(rows), *first_failures(results)]),
        ShownTable("resampled_error", about, titles, estimates, _estimate_notes(estimates)),
    ]


def _better(full: Floats, pruned: Floats) -> str:
    if len(full) < 2 or np.allclose(full, pruned):
        return "no difference"
    low, high = paired_t_test(pruned, full).interval
    return "pruned" if high < 0 else "full" if low > 0 else "no difference"


def _pruning_notes(rows: Sequence[Sequence[Any]]) -> list[str]:
    if not rows:
        return []
    words = [row[-1] for row in rows]
    smaller = float(np.median([float(row[4]) / float(row[3]) for row in rows]))
    return [
        f"Pruned better on {words.count('pruned')}, worse on {words.count('full')} of {len(rows)} datasets; it leaves "
        f"{100 * smaller:.0f} % (median) of the leaves.",
        f"{RESAMPLES} resamples of the counts of classes in leaves. A node becomes a leaf where its label, by the rows "
        "drawn, errs on the rows not drawn no more than the leaves below it. Numbers have class-aware cuts.",
    ]


def _estimate_notes(rows: Sequence[Sequence[Any]]) -> list[str]:
    if not rows:
        return []
    numbers = np.array([[float(number) for number in row[1:]] for row in rows])
    apparent, counts, by_rows = np.mean(numbers[:, 1:] - numbers[:, :1], axis=0)
    return [
        f"Mean distance from the error on the test rows, in points: apparent {apparent:+.2f}, by counts {counts:+.2f}, "
        f"by rows {by_rows:+.2f}.",
        "Counts resample only the labels of leaves: the splits were chosen on the same rows, and no count tells what "
        f"other splits would have been chosen. {ROWS.capitalize()} grow {ROW_SAMPLES} trees anew, which needs the "
        "rows.",
    ]
