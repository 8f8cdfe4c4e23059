"""Reads the targets and weights given to `fit`, and checks those given once more to a fitted ensemble."""

from __future__ import annotations

from typing import Any

import numpy as np

from tremula.data.class_weights import weigh_classes
from tremula.data.column import show
from tremula.data.target import read_classes, read_target, read_weights
from tremula.errors import InvalidInput
from tremula.persistence.soundness import require
from tremula.perturb.sample import Sample


def is_by_member(class_weight: Any) -> bool:
    """Whether classes are weighed by the rows drawn for each member."""
    return isinstance(class_weight, str) and class_weight == "balanced_subsample"


class ClassTargetMixin:
    """Mixin for estimators that learn classes."""

    class_weight: Any = None
    classes_: np.ndarray
    n_classes_: int
    n_features_in_: int

    def _check_stored(self) -> None:
        require(self.n_classes_ == len(self.classes_), "n_classes_ is wrong")

    def _read_sample(
        self, y: Any, sample_weight: Any, n_rows: int, n_attributes: int, keeps_members: bool = False
    ) -> Sample:
        """Read the target of `fit` and set `classes_`; members that are kept must know the same classes."""
        weights = read_weights(sample_weight, n_rows)
        classes, codes = read_classes(y, n_rows, weights)
        if keeps_members and classes.tolist() != self.classes_.tolist():
            raise InvalidInput(
                f"y has classes {show(classes.tolist())}, but the members that warm_start=True keeps know "
                f"{show(self.classes_.tolist())}: give the same classes, or set warm_start=False"
            )
        self.classes_, self.n_classes_ = classes, len(classes)
        return Sample(codes, self.n_classes_, n_attributes, self._weigh(codes, weights))

    def _read_known_sample(self, y: Any, sample_weight: Any, n_rows: int) -> Sample:
        """Read the target of `fit` once more."""
        weights = read_weights(sample_weight, n_rows)
        classes, codes = read_classes(y, n_rows, weights)
        if classes.tolist() != self.classes_.tolist():
            raise InvalidInput(
                f"y has classes {show(classes.tolist())}, but y had {show(self.classes_.tolist())} in fit: give the "
                "rows of fit again"
            )
        return Sample(codes, self.n_classes_, self.n_features_in_, self._weigh(codes, weights))

    def _weigh(self, codes: np.ndarray, weights: np.ndarray | None) -> np.ndarray | None:
        """Multiply the weights of rows by those of their classes, unless each member does so by its own rows."""
        if is_by_member(self.class_weight):
            return weights
        return weigh_classes(self.class_weight, self.classes_, codes, weights)


class NumberTargetMixin:
    """Mixin for estimators that learn numbers."""

    n_features_in_: int

    def _read_sample(
        self, y: Any, sample_weight: Any, n_rows: int, n_attributes: int, keeps_members: bool = False
    ) -> Sample:
        """Read the target of `fit`."""
        weights = read_weights(sample_weight, n_rows)
        return Sample(read_target(y, n_rows, weights), 0, n_attributes, weights)

    def _read_known_sample(self, y: Any, sample_weight: Any, n_rows: int) -> Sample:
        """Read the target of `fit` once more."""
        return self._read_sample(y, sample_weight, n_rows, self.n_features_in_)
