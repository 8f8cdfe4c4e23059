"""Compares families on out-of-bag rows: which are kept, and what each weighs in the blend."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from tremula.aspen.family_members import FamilyMembers, ScoringRows
from tremula.aspen.report import Tried
from tremula.aspen.task import Task
from tremula.perturb import Sample

MIN_WEIGHT = 0.05  # a family of less weight in the blend is dropped


def calibrated_predictions(family: FamilyMembers, scoring: ScoringRows, task: Task) -> np.ndarray:
    """Predict with one family alone, calibrated by itself."""
    means = family.sums.means(scoring.rows)
    calibrated = task.calibrated(means, scoring)
    return calibrated.predictions(calibrated.margins(means))


def weigh_families(families: Sequence[FamilyMembers], scoring: ScoringRows, task: Task) -> np.ndarray:
    """Weigh families by rows that are out of bag for all of them; evenly without such rows."""
    if len(families) == 1 or not scoring.can_score:
        return np.full(len(families), 1.0 / len(families))
    return task.weigh(np.array([calibrated_predictions(family, scoring, task) for family in families]), scoring)


def choose_families(
    families: Sequence[FamilyMembers], rivals: Mapping[str, str], sample: Sample, task: Task
) -> list[FamilyMembers]:
    """Keep the best of each group of rivals, then the families that weigh enough.

    Parameters
    ----------
    families : sequence of FamilyMembers
    rivals : dict
        From the name of a family to that of its group of rivals; empty for a family without rivals.
    sample : Sample
    task : Task
    """
    scoring = ScoringRows.common_to(families, sample)
    losses = {each.name: task.loss(calibrated_predictions(each, scoring, task), scoring) for each in families}
    best = {rivals[name]: name for name in sorted(losses, key=lambda name: -losses[name])}
    kept = [family for family in families if not rivals[family.name] or best[rivals[family.name]] == family.name]
    weights = weigh_families(kept, scoring, task)
    return [family for family, weight in zip(kept, weights) if weight >= MIN_WEIGHT]


def describe_family(family: FamilyMembers, scoring: ScoringRows, task: Task, weight: float) -> Tried:
    """Score a family alone, on those of the rows that it predicts."""
    scoring = scoring.part(family.sums.is_predicted[scoring.rows])
    predictions = calibrated_predictions(family, scoring, task)
    loss, error_rate = task.loss(predictions, scoring), task.error_rate(predictions, scoring)
    return Tried(family.name, len(family.members), loss, error_rate, weight)
