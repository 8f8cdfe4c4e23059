"""What random forests and extra trees share: the parameters that each of their CART trees gets."""

from __future__ import annotations

from typing import Any, ClassVar

from sklearn.base import BaseEstimator

from tremula.ensembles.base.ensemble import Ensemble
from tremula.ensembles.base.groups import DrawnGroupsMixin
from tremula.trees.cart import CARTClassifier, CARTRegressor


class CARTEnsemble(DrawnGroupsMixin, Ensemble):
    """Base of the ensembles of CART trees."""

    estimator = None
    criterion: str
    max_features: int | float | str | None
    max_bins: int | None
    missing: str
    nominal: str
    max_leaf_nodes: int | None
    monotonic_cst: Any
    max_depth: int | None
    min_samples_split: float
    min_samples_leaf: float
    min_weight_fraction_leaf: float

    _tree: ClassVar[type[CARTClassifier | CARTRegressor]]
    _leaves_targets_alone = True

    def _default_estimator(self) -> BaseEstimator:
        return self._tree(
            criterion=self.criterion,
            max_depth=self.max_depth,
            min_samples_split=self.min_samples_split,
            min_samples_leaf=self.min_samples_leaf,
            min_weight_fraction_leaf=self.min_weight_fraction_leaf,
            max_bins=self.max_bins,
            missing=self.missing,
            nominal=self.nominal,
            max_leaf_nodes=self.max_leaf_nodes,
            monotonic_cst=self.monotonic_cst,
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.positive_only = self.criterion == "poisson"
        return tags
