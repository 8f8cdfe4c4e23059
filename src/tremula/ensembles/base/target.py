"""Reads the targets and weights given to `fit`, and checks those given once more to a fitted ensemble."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from tremula.data.class_weights import weigh_classes
from tremula.data.column import show
from tremula.data.several_targets import (
    read_class_targets,
    read_number_targets,
    target_columns,
    weigh_class_targets,
)
from tremula.data.target import read_classes, read_target, read_weights
from tremula.errors import InvalidInput, InvalidParameter
from tremula.perturb.sample import Sample


def is_by_member(class_weight: Any) -> bool:
    """Whether classes are weighed by the rows drawn for each member."""
    return isinstance(class_weight, str) and class_weight == "balanced_subsample"


def listed(classes: Any) -> list[Any]:
    """Return the classes as a list; of several targets, as a list of lists."""
    return [each.tolist() for each in classes] if isinstance(classes, list) else list(classes.tolist())


class TargetsMixin:
    """Mixin for estimators, some of which learn several targets."""

    # Whether several targets may be given: no perturbation looks at the target.
    _leaves_targets_alone: ClassVar[bool] = False

    def _takes_targets(self) -> bool:
        """Return whether members learn several targets: trees that take them, in ensembles that leave targets alone."""
        if not self._leaves_targets_alone:
            return False
        estimator: Any = self._member_estimator()  # type: ignore[attr-defined]
        return bool(getattr(estimator, "_takes_several_targets", False))


class ClassTargetMixin(TargetsMixin):
    """Mixin for estimators that learn classes."""

    class_weight: Any = None
    combine: str
    classes_: Any
    n_classes_: Any
    n_features_in_: int

    def _read_target(self, y: Any, weights: np.ndarray | None, n_rows: int) -> tuple[Any, np.ndarray]:
        """Return the classes, and the codes of rows; of several targets a list of classes, and the outputs of rows."""
        columns = target_columns(y) if self._takes_targets() else None
        if columns is None:
            return read_classes(y, n_rows, weights)
        if self.combine == "vote":
            raise InvalidParameter(
                f"combine='vote' was given, but y has {len(columns)} targets, and members vote on one: set "
                "combine='average'"
            )
        return read_class_targets(columns, n_rows, weights)

    def _read_sample(
        self, y: Any, sample_weight: Any, n_rows: int, n_attributes: int, keeps_members: bool = False
    ) -> Sample:
        """Read the target of `fit` and set `classes_`; members that are kept must know the same classes."""
        weights = read_weights(sample_weight, n_rows)
        classes, codes = self._read_target(y, weights, n_rows)
        if keeps_members and listed(classes) != listed(self.classes_):
            raise InvalidInput(
                f"y has classes {show(listed(classes))}, but the members that warm_start=True keeps know "
                f"{show(listed(self.classes_))}: give the same classes, or set warm_start=False"
            )
        counts = [len(each) for each in classes] if isinstance(classes, list) else [len(classes)]
        self.classes_, self.n_classes_ = classes, counts if isinstance(classes, list) else counts[0]
        return Sample(codes, sum(counts), n_attributes, self._weigh(codes, weights))

    def _read_known_sample(self, y: Any, sample_weight: Any, n_rows: int) -> Sample:
        """Read the target of `fit` once more."""
        weights = read_weights(sample_weight, n_rows)
        classes, codes = self._read_target(y, weights, n_rows)
        if listed(classes) != listed(self.classes_):
            raise InvalidInput(
                f"y has classes {show(listed(classes))}, but y had {show(listed(self.classes_))} in fit: give the "
                "rows of fit again"
            )
        n_classes = sum(map(len, classes)) if isinstance(classes, list) else len(classes)
        return Sample(codes, n_classes, self.n_features_in_, self._weigh(codes, weights))

    def _weigh(self, codes: np.ndarray, weights: np.ndarray | None) -> np.ndarray | None:
        """Multiply the weights of rows by those of their classes, unless each member does so by its own rows."""
        if is_by_member(self.class_weight):
            return weights
        if isinstance(self.classes_, list):
            return weigh_class_targets(self.class_weight, self.classes_, codes, weights)
        return weigh_classes(self.class_weight, self.classes_, codes, weights)


class NumberTargetMixin(TargetsMixin):
    """Mixin for estimators that learn numbers."""

    n_features_in_: int

    def _read_sample(
        self, y: Any, sample_weight: Any, n_rows: int, n_attributes: int, keeps_members: bool = False
    ) -> Sample:
        """Read the target of `fit`."""
        weights = read_weights(sample_weight, n_rows)
        columns = target_columns(y) if self._takes_targets() else None
        if columns is not None:
            return Sample(read_number_targets(columns, n_rows, weights), 0, n_attributes, weights)
        return Sample(read_target(y, n_rows, weights), 0, n_attributes, weights)

    def _read_known_sample(self, y: Any, sample_weight: Any, n_rows: int) -> Sample:
        """Read the target of `fit` once more."""
        return self._read_sample(y, sample_weight, n_rows, self.n_features_in_)
