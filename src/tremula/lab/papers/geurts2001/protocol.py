"""Trees and bagged trees of Geurts (2001), pruned and tuned on the pruning rows, with and without noise.

All that is measured on one division shares its rows, and a softened model is the very model it is compared with.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tremula import BaggingClassifier, CARTClassifier, DualPerturbClassifier, prune_together
from tremula.lab.experiments.cell import Cell, Experiment, Outcome
from tremula.lab.papers.geurts2001.problems import PROBLEMS, SEED, Division, divide
from tremula.lab.papers.paper import Budget
from tremula.lab.papers.shared_protocol import count_nodes, seed_of

TREE, BAGGED = "tree", "bagged trees"
CRITERION = "symmetric_uncertainty"
FORMS = ("path", "exact")
PAPER_SEARCH = {"scoring": "error", "search": "golden_section"}


@dataclass(frozen=True)
class Sizes:
    """Sizes of a budget."""

    divisions: int
    members: int
    problems: Sequence[str]
    attribute_noise_methods: Sequence[str]
    learning_sets: int


SIZES: dict[Budget, Sizes] = {
    "quick": Sizes(2, 5, ("waveform", "two-norm"), (TREE,), 10),
    "default": Sizes(10, 25, tuple(PROBLEMS), (TREE,), 50),
    "full": Sizes(10, 25, tuple(PROBLEMS), (TREE, BAGGED), 50),
}


def grow_tree(division: Division, members: int, seed: int) -> Any:
    """Grow a tree, and prune it on the pruning rows."""
    tree = CARTClassifier(criterion=CRITERION, ccp_alpha="validation")
    X_val, y_val = division.rows("pruning")
    return tree.fit(*division.rows("growing"), X_val=X_val, y_val=y_val)


def grow_bagged(division: Division, members: int, seed: int) -> Any:
    """Grow trees on bootstrap samples, and prune them together."""
    bagged = BaggingClassifier(CARTClassifier(criterion=CRITERION), members, random_state=seed)
    return prune_together(bagged.fit(*division.rows("growing")), *division.rows("pruning"))


GROWERS: dict[str, Callable[[Division, int, int], Any]] = {TREE: grow_tree, BAGGED: grow_bagged}


def soften(model: Any, division: Division, **options: Any) -> DualPerturbClassifier:
    """Smooth a trained model with an amount of noise, chosen on the pruning rows unless it is given.

    Thresholds stay halfway between the values of the node, as in the paper.
    """
    growing, _ = division.rows("growing")
    options = {"thresholds": "kept"} | options
    if "noise" in options:
        return DualPerturbClassifier(model, **options).fit(growing)
    X_val, y_val = division.rows("pruning")
    options = PAPER_SEARCH | options
    return DualPerturbClassifier(model, **options).fit(growing, X_val=X_val, y_val=y_val)


def _error(model: Any, division: Division) -> float:
    X, y = division.rows("test")
    return float(np.mean(model.predict(X) != y))


def _divide_and_seed(cell: Cell) -> tuple[Division, int]:
    return divide(cell.dataset, cell.split), seed_of(SEED, cell.dataset, cell.split, "learner")


@dataclass(frozen=True)
class MeasureDivision:
    """Trains a model on one division; tests it without noise, smoothed in both forms, and with a tree's noise."""

    members: int

    def __call__(self, cell: Cell) -> Outcome:
        """Count errors on the test rows."""
        division, seed = _divide_and_seed(cell)
        start = time.process_time()
        model = GROWERS[cell.method](division, self.members, seed)
        fitted = time.process_time()
        values = {"error": _error(model, division)}
        for form in FORMS:
            soft = soften(model, division, method=form)
            values |= {f"{form}_error": _error(soft, division), f"{form}_noise": float(soft.noise_)}
        if cell.method == BAGGED:
            values |= self._shortcut(model, division, seed)
        tested = time.process_time()
        return Outcome(values, len(division.test), fitted - start, tested - fitted, count_nodes(model), seed)

    def _shortcut(self, bagged: Any, division: Division, seed: int) -> dict[str, float]:
        """Take the noise that the pruning rows choose for a single tree."""
        tree = soften(grow_tree(division, self.members, seed), division, method="path")
        soft = soften(bagged, division, method="path", noise=tree.noise_)
        return {"shortcut_error": _error(soft, division), "shortcut_noise": float(tree.noise_)}


@dataclass(frozen=True)
class MeasureDraw:
    """Trains a model on rows drawn anew and tests it, with noise and without, on test rows drawn anew."""

    members: int

    def __call__(self, cell: Cell) -> Outcome:
        """Count errors on the test rows of the draw that the number of the split stands for."""
        division = divide(cell.dataset, 0, cell.split)
        seed = seed_of(SEED, cell.dataset, cell.split, "draw")
        model = GROWERS[cell.method](division, self.members, seed)
        soft = soften(model, division, method="path")
        values = {"error": _error(model, division), "path_error": _error(soft, division), "noise": float(soft.noise_)}
        return Outcome(values, len(division.test), size=count_nodes(model), seed=seed)


@dataclass(frozen=True)
class MeasureAttributeNoise:
    """Compares one amount of noise for all attributes with one per attribute, chosen by error or by log loss."""

    members: int

    def __call__(self, cell: Cell) -> Outcome:
        """Count errors on the test rows."""
        division, seed = _divide_and_seed(cell)
        model = GROWERS[cell.method](division, self.members, seed)
        values = {}
        for scoring in ("error", "log_loss"):
            for per_attribute in (False, True):
                soft = soften(model, division, scoring=scoring, per_attribute=per_attribute)
                values[f"{scoring}_{'each' if per_attribute else 'common'}"] = _error(soft, division)
        return Outcome(values, len(division.test), size=count_nodes(model), seed=seed)


def _cost(cell: Cell) -> float:
    problem = PROBLEMS[cell.dataset]
    return (problem.n_growing + problem.n_test) * (25.0 if cell.method == BAGGED else 1.0)


def _cells(problems: Sequence[str], methods: Sequence[str], divisions: int) -> list[Cell]:
    return [Cell(name, method, split) for name in problems for method in methods for split in range(divisions)]


def table2_experiment(budget: Budget) -> Experiment:
    """Return the experiment behind Table 2."""
    sizes = SIZES[budget]
    cells = _cells(sizes.problems, (TREE, BAGGED), sizes.divisions)
    settings = {"members": sizes.members, "seed": SEED}
    return Experiment("geurts2001/table2", settings, cells, MeasureDivision(sizes.members), _cost)


def drawn_problems(budget: Budget) -> list[str]:
    """List the sets of the paper whose test rows are drawn."""
    return [name for name in SIZES[budget].problems if not PROBLEMS[name].official and PROBLEMS[name].published]


def draws_experiment(budget: Budget) -> Experiment:
    """Return what tells how much the choice of test rows matters."""
    sizes = SIZES[budget]
    cells = _cells(drawn_problems(budget), (TREE, BAGGED), sizes.divisions)
    settings = {"members": sizes.members, "seed": SEED}
    return Experiment("geurts2001/draws", settings, cells, MeasureDraw(sizes.members), _cost)


def attribute_noise_experiment(budget: Budget) -> Experiment:
    """Return the experiment behind the comparison of noise by attribute."""
    sizes = SIZES[budget]
    cells = _cells(sizes.problems, sizes.attribute_noise_methods, sizes.divisions)
    settings = {"members": sizes.members, "seed": SEED}
    return Experiment("geurts2001/levels", settings, cells, MeasureAttributeNoise(sizes.members), _cost)
