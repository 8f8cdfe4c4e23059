"""Aspen with one thing changed: the ideas that `aspen_ideas.py` measures, each as a change of names inside the package.

What Aspen does at its defaults is the idea called RECIPE; every other idea is compared with it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from typing import Any
from unittest.mock import patch

import numpy as np
from scipy.optimize import minimize

from tremula.aspen import (
    base,
    blend_weights,
    boosted_corrections,
    classifier,
    families,
    gradient_rounds,
    regressor,
    task,
    training,
)
from tremula.aspen.blend_weights import ROWS_FOR_EVEN, SHARE_FOR_EVEN
from tremula.aspen.boosted_corrections import FROM_BLEND
from tremula.aspen.families import CLASS_FAMILIES, NUMBER_FAMILIES, Family, FamilyTraining
from tremula.aspen.gradient_rounds import FROM_NOTHING
from tremula.aspen.task import ClassTask
from tremula.losses import log_losses
from tremula.trees import identifiers
from tremula.trees.cart import CARTClassifier
from tremula.trees.rules import Rules

RECIPE = "the recipe"
ONE_RUN = "no further runs of boosting"
NO_GRADIENT = "no gradient boosting from nothing"
IDENTIFIERS_USED = "identifiers are used"
STATISTICS = "random forest, statistics of levels"


@dataclass(frozen=True)
class Idea:
    """A change of the recipe.

    Attributes
    ----------
    name : str
    changes : sequence of (object, name, value)
        What is put in the place of a name while a model is fitted.
    tasks : sequence of str
        Tasks that it changes.
    datasets : sequence of str
        The only datasets that it changes; empty for all.
    """

    name: str
    changes: Sequence[tuple[Any, str, Any]] = ()
    tasks: Sequence[str] = ("classification",)
    datasets: Sequence[str] = ()

    @contextmanager
    def applied(self) -> Iterator[None]:
        """Change the names, and restore them at the end."""
        with ExitStack() as stack:
            for owner, name, value in self.changes:
                stack.enter_context(patch.object(owner, name, value))
            yield


def _rules(depth: int, least_rows: float, all_attributes: bool = False) -> Callable[..., Rules]:
    """Rules of the trees of boosting, with other limits."""

    def rules(criterion: int, n_attributes: int, **others: Any) -> Rules:
        usual = max(1, min(n_attributes // 2, int(3 * n_attributes**0.5)))
        drawn = n_attributes if all_attributes else usual
        limits = {"max_depth": depth, "min_side_weight": least_rows, "min_variance": 0.0, "n_drawn": drawn}
        return Rules(criterion, subsets=True, **limits, **others)

    return rules


def _with_statistics(family: Family, table: Any, sample: Any, root_seed: int) -> FamilyTraining:
    """Prepare the training of a family; one of them splits many levels by cross-fitted statistics."""
    if family.name == STATISTICS:
        table = replace(table, columns=replace(table.columns, nominal="auto"))
    return _plain_training(family, table, sample, root_seed)


_plain_training = FamilyTraining.of


def _more_members(family: Family, n_estimators: int) -> int:
    """Three times as many members of a family, in the trial as well."""
    return max(1, round(3 * family.share * n_estimators))


def _large_leaves(least_rows: int) -> tuple[Family, ...]:
    """Families of trees with more rows in a leaf, as rivals of those that are grown fully."""
    forest = CARTClassifier(max_features="sqrt", min_samples_leaf=least_rows)
    extra = CARTClassifier(max_features=0.5, min_samples_leaf=least_rows, splitter="random")
    return (
        Family(f"random forest, {least_rows} rows a leaf", forest, rivals="forest"),
        Family(f"extra trees, {least_rows} rows a leaf", extra, coded=True, rivals="extra trees"),
    )


def _no_corrections(trainer: Any, margins: Any, scoring: Any, task: Any, is_short: bool) -> Any:
    return training.Corrections([], 0, task.predictions(margins), was_tried=False)


def _has_many_levels(n_levels: np.ndarray) -> bool:
    return bool((n_levels > 10).any())


def _rival(first: Family) -> Family:
    return replace(first, name=STATISTICS, rivals="forest", applies=_has_many_levels)


def _joint_weights(chosen: Sequence[Any], scoring: Any, task: Any) -> np.ndarray:
    """Weigh families by the log loss of the formula that predicts, together with its power."""
    if len(chosen) == 1 or not scoring.can_score or not isinstance(task, ClassTask):
        return _plain_weights(chosen, scoring, task)
    means = np.array([family.sums.means(scoring.rows) for family in chosen])
    n_families = len(chosen)
    pseudo_rows = (ROWS_FOR_EVEN + SHARE_FOR_EVEN * len(scoring) / n_families) / len(scoring)

    def loss(given: np.ndarray) -> float:
        weights = np.exp(given[:-1] - given[:-1].max())
        weights /= weights.sum()
        powered = replace(task, power=float(np.exp(given[-1])))
        predictions = powered.predictions(powered.margins(np.tensordot(weights, means, axes=1)))
        losses = scoring.mean(log_losses(scoring.target, predictions))
        return float(losses - pseudo_rows * np.log(np.maximum(weights, 1e-12)).sum())

    found = minimize(loss, np.zeros(n_families + 1), method="Nelder-Mead", options={"maxfev": 150 * n_families}).x
    weights = np.exp(found[:-1] - found[:-1].max())
    return np.asarray(weights / weights.sum())


_plain_weights = base.weigh_families
SMALL_STEPS = replace(FROM_NOTHING, n_rounds=120, patience=20, rate=0.15)
LONG = (training, "FROM_BLEND", replace(FROM_BLEND, n_rounds=400, patience=40))
MANY_LEVELS = ("kddcup99-10pct", "cpu-vendor")
BOTH = ("classification", "regression")

IDEAS = (
    Idea(RECIPE, tasks=BOTH),
    Idea(ONE_RUN, [(training.PartTrainer, "_run_again", lambda *given: None)]),
    Idea(NO_GRADIENT, [(training, "MAX_CLASSES", 0)]),
    Idea("gradient boosting for any number of classes", [(training, "MAX_CLASSES", 1000)]),
    Idea("gradient boosting with trees of depth 6", [(gradient_rounds, "MAX_DEPTH", 6)]),
    Idea("gradient boosting with trees of depth 2", [(gradient_rounds, "MAX_DEPTH", 2)]),
    Idea("gradient boosting in twice as many smaller steps", [(training, "FROM_NOTHING", SMALL_STEPS)]),
    Idea("further runs in any case", [(training, "is_promising", lambda *given: True)]),
    Idea(
        "the run from a quarter with the small steps of the first, up to 400 rounds",
        [(training, "FROM_START", LONG[2])],
    ),
    Idea("the run from a quarter, from equal probabilities instead", [(training, "START", 0.0)]),
    Idea("the run from a quarter, from half of the blend instead", [(training, "START", 0.5)]),
    Idea("up to 400 rounds, patience 40", [LONG], tasks=BOTH),
    Idea(
        "boosted trees of depth 10, 2 rows a leaf", [(boosted_corrections, "tree_rules", _rules(10, 2.0))], tasks=BOTH
    ),
    Idea(
        "boosted trees that see all attributes", [(boosted_corrections, "tree_rules", _rules(6, 5.0, True))], tasks=BOTH
    ),
    Idea(
        "a fifth of the shrinkage in leaves", [(training, "FROM_BLEND", replace(FROM_BLEND, shrinkage=1.0))], tasks=BOTH
    ),
    Idea("weights and power optimized jointly", [(base, "weigh_families", _joint_weights)]),
    Idea(
        IDENTIFIERS_USED,
        [(identifiers, "find_identifiers", lambda *given: ())],
        tasks=BOTH,
        datasets=MANY_LEVELS,
    ),
    Idea(
        "statistics of more than 10 levels, as a rival of the forest",
        [
            (families.FamilyTraining, "of", staticmethod(_with_statistics)),
            (classifier.AspenClassifier, "_families", (*CLASS_FAMILIES, _rival(CLASS_FAMILIES[0]))),
            (
                regressor.AspenRegressor,
                "_families",
                (replace(NUMBER_FAMILIES[0], rivals="forest"), *NUMBER_FAMILIES[1:], _rival(NUMBER_FAMILIES[0])),
            ),
        ],
        tasks=BOTH,
        datasets=MANY_LEVELS,
    ),
)

# Ideas for few rows, each of which changes small tables alone if it is adopted: those of the deciding half decide.
SMALL = (
    "labor",
    "zoo",
    "heart-s",
    "lymph",
    "hepatitis",
    "heart-v",
    "sonar",
    "heart-h",
    "primary-tumor",
    "ionosphere",
    "balance-scale",
    "soybean",
    "breast-w",
    "diabetes",
)
SMALL_IDEAS = (
    IDEAS[0],
    Idea("three times as many members", [(families.Family, "n_members", _more_members)]),
    Idea("a power nearer to 1 (20 pseudo-rows instead of 3)", [(blend_weights, "ROWS_FOR_POWER", 20.0)]),
    Idea("a share of 3 % of the class frequencies instead of 0.8 %", [(task, "PRIOR_SHARE", 0.03)]),
    Idea("weights nearer to equal (40 pseudo-rows instead of 10)", [(blend_weights, "ROWS_FOR_EVEN", 40.0)]),
    Idea(
        "trees with 3 rows a leaf, as rivals",
        [(classifier.AspenClassifier, "_families", (*CLASS_FAMILIES, *_large_leaves(3)))],
    ),
    Idea("no corrections", [(training.PartTrainer, "correct", _no_corrections)]),
    Idea("gradient boosting with trees of depth 2, few rows", [(gradient_rounds, "MAX_DEPTH", 2)]),
    Idea(
        "gradient boosting with four times the shrinkage",
        [(training, "FROM_NOTHING", replace(FROM_NOTHING, shrinkage=4.0))],
    ),
)
