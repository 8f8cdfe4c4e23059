"""The families of trees that Aspen tries, as a table: which tree is grown, and how its values are smeared.

Member k of every family is trained on the same bootstrap sample, so that families differ in nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.base import clone

from tremula.combine import Member
from tremula.ensembles.base.member import Trainer, TreeTrainer
from tremula.ensembles.base.training import Drawing
from tremula.perturb import Bootstrap, Perturbation, Sample, SmearedInputs
from tremula.perturb.inputs import LearnedNoise
from tremula.perturb.sample import Values
from tremula.trees.cart import CARTClassifier, CARTRegressor
from tremula.trees.columns import Columns
from tremula.trees.learner import TreeLearner
from tremula.trees.m5.regressor import M5Regressor

MAX_ATTRIBUTES_TO_SMEAR = 50


def _always(n_levels: np.ndarray) -> bool:
    return True


def _worth_smearing(n_levels: np.ndarray) -> bool:
    """Whether there are numeric attributes, but not so many that sorting them for every tree takes most of the time."""
    return bool((n_levels == 0).any()) and len(n_levels) <= MAX_ATTRIBUTES_TO_SMEAR


@dataclass(frozen=True)
class Family:
    """One way to train members.

    Attributes
    ----------
    name : str
    learner : tree
    noise : float
        Amount of input smearing.
    coded : bool
        Whether codes of nominal levels are treated as numbers, which gives fewer and different splits.
    share : float
        Number of members as a share of `n_estimators`.
    rivals : str
        Group of rivals: only the best family of a group is kept.
    applies : callable
        Given the number of levels of each attribute, 0 if numeric, returns whether to try the family.
    """

    name: str
    learner: TreeLearner
    noise: float = 0.0
    coded: bool = False
    share: float = 1.0
    rivals: str = ""
    applies: Callable[[np.ndarray], bool] = _always

    def n_members(self, n_estimators: int) -> int:
        """Return the number of members."""
        return max(1, round(self.share * n_estimators))


def _forest(share: str | float, noise: float = 0.0) -> dict[str, Any]:
    return {"learner": CARTClassifier(max_features=share), "noise": noise}


def _extra(share: str | float) -> dict[str, Any]:
    return {"learner": CARTClassifier(max_features=share, splitter="random"), "coded": True}


# Only the best of a group of rivals is kept: so the data choose the number of attributes drawn at a node, and the
# amount of smearing.
FEW, HALF = "sqrt", 0.5
CLASS_FAMILIES = (
    Family("random forest", **_forest(FEW), rivals="forest"),
    Family("random forest, half of the attributes", **_forest(HALF), rivals="forest"),
    Family("extra trees", **_extra(FEW), rivals="extra trees"),
    Family("extra trees, half of the attributes", **_extra(HALF), rivals="extra trees"),
    Family("forest smeared by 0.1", **_forest(FEW, 0.1), rivals="smearing", applies=_worth_smearing),
    Family("forest smeared by 0.25", **_forest(FEW, 0.25), rivals="smearing", applies=_worth_smearing),
)
NUMBER_FAMILIES = (
    Family("random forest", CARTRegressor(max_features=1 / 3)),
    Family("extra trees", CARTRegressor(splitter="random")),
    Family("model trees", M5Regressor(), share=0.25),
)


def that_apply(families: Sequence[Family], n_levels: np.ndarray) -> list[Family]:
    """Return the families to try on these attributes."""
    return [family for family in families if family.applies(n_levels)]


def that_keep_order(families: Sequence[Family], directions: np.ndarray | None) -> list[Family]:
    """Return the families whose trees can keep to constraints of order, with these constraints; all if there are none.

    Examples
    --------
    >>> [family.name for family in that_keep_order(NUMBER_FAMILIES, np.array([1, 0], np.int8))]
    ['random forest', 'extra trees']
    """
    if directions is None:
        return list(families)
    able = [family for family in families if "monotonic_cst" in family.learner.get_params()]
    given = {"monotonic_cst": directions.tolist()}
    return [replace(family, learner=clone(family.learner).set_params(**given)) for family in able]


@dataclass(frozen=True)
class TrainingTable:
    """The table that all families are trained on.

    Attributes
    ----------
    columns : Columns
        Its columns with missing values filled in.
    known : Values
        Its values with missing ones as NaN, by which noise is measured.
    """

    columns: Columns
    known: Values

    @cached_property
    def of_numbers(self) -> Columns:
        """The columns with codes of levels as numbers; made once, and the same ones if no attribute has levels."""
        if not self.columns.n_levels.any():
            return self.columns
        return replace(self.columns, n_levels=np.zeros_like(self.columns.n_levels))


@dataclass(frozen=True)
class TrainedMember:
    """A member, and its predictions for its out-of-bag rows."""

    member: Member
    rows: np.ndarray
    predictions: np.ndarray


@dataclass(frozen=True)
class FamilyTraining:
    """Trains any member of a family, in any process."""

    trainer: Trainer
    drawing: Drawing

    @classmethod
    def of(cls, family: Family, table: TrainingTable, sample: Sample, root_seed: int) -> FamilyTraining:
        """Prepare the training of a family."""
        perturbations: list[Perturbation] = [Bootstrap()]
        if family.noise > 0.0:
            perturbations.append(LearnedNoise.of(SmearedInputs(family.noise), sample, table.known))
        columns = table.of_numbers if family.coded else table.columns
        return cls(TreeTrainer(family.learner, columns), Drawing(sample, perturbations, 1, root_seed))

    def __call__(self, members: range) -> list[TrainedMember]:
        """Train these members, and let each predict its out-of-bag rows."""
        trained = []
        for number in members:
            sample, random = self.drawing.sample_of(number)
            member = self.trainer.train(sample, random)
            rows = np.flatnonzero(self.drawing.times_drawn(sample) == 0)
            predictions = member.predict_values(self.trainer.rows(rows)) if len(rows) else np.zeros((0, 1))
            trained.append(TrainedMember(member, rows, predictions))
        return trained


@dataclass(frozen=True)
class GroupedDrawing(Drawing):
    """Drawing for members that stand family after family, those of each family numbered from 0."""

    sizes: tuple[int, ...] = ()

    def sample_of(self, member: int) -> tuple[Sample, np.random.Generator]:
        """Return the training sample of a member, and its random stream."""
        for size in self.sizes:
            if member < size:
                break
            member -= size
        return super().sample_of(member)
