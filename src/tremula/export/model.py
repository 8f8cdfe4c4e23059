"""Reads a trained model for export: the sum of its members, with the names and levels of its table.

Whatever is read gives the predictions of the model, up to rounding; models of which this is not known are refused.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tremula.data.column import Floats
from tremula.data.encoding import ColumnEncoder
from tremula.data.names import attribute_names
from tremula.data.table_schema import TableSchema
from tremula.errors import UnsupportedModel
from tremula.smoothing.base import DualPerturb
from tremula.smoothing.models import read_model
from tremula.trees.learner import TreeClassifier
from tremula.trees.m5.model_tree import ModelTree
from tremula.trees.member_sum import MemberSum, as_member_sum

SCHEMA_ATTRIBUTE = "table_"  # as the laboratory calls it
TIE = 1e-12  # shares of ensembles whose difference is a smaller part of the largest are equal


@dataclass(frozen=True, eq=False)
class ExportedModel:
    """A trained model to write.

    Attributes
    ----------
    name : str
        Class of the model.
    whole : MemberSum
        Its members.
    attributes : tuple of str
        Names of the columns; x0, x1, ... if they have none.
    has_names : bool
        Whether the model was trained on columns with names.
    levels : tuple of (list or None)
        Levels of each nominal attribute, in the order of their codes; None for a numeric one.
    kinds : tuple of {'number', 'nominal', 'date'}
        Dates are numbers of days since 1970.
    classes : list or None
        Class labels; None where it predicts a number.
    target : str
        Name of the target; empty if unknown.
    tie : float
        Of shares that differ by less, relative to the largest, the first class is predicted; 0 for a single tree.
    no_missing : str
        Why rows with missing values have no answer; empty if they have one.
    """

    name: str
    whole: MemberSum
    attributes: tuple[str, ...]
    has_names: bool
    levels: tuple[list[Any] | None, ...]
    kinds: tuple[str, ...]
    classes: list[Any] | None
    target: str = ""
    tie: float = TIE
    no_missing: str = ""

    @property
    def n_answers(self) -> int:
        """Number of columns of the answers: one for each class, or 1."""
        return 1 if self.classes is None else len(self.classes)

    @property
    def has_model_trees(self) -> bool:
        """Whether some members have linear models in their leaves."""
        return any(isinstance(member, ModelTree) for member in self.whole.members)

    @property
    def used_attributes(self) -> list[int]:
        """Numbers of the attributes that some member tests, or has in a linear model."""
        return np.flatnonzero(_uses(self.whole)).tolist()

    def encode(self, X: Any) -> Floats:
        """Read a table as the members take it, before filling: numbers, codes of levels, NaN where missing."""
        levels = [None if names is None else np.array(names) for names in self.levels]
        return ColumnEncoder(self.attributes if self.has_names else None, tuple(levels)).encode(X)


def read_exported(model: Any) -> ExportedModel:
    """Read a trained model.

    Raises
    ------
    UnsupportedModel
        The model is smoothed, or is not made of trees that can be read.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tremula import C45Classifier
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> exported = read_exported(C45Classifier().fit(X, y))
    >>> exported.attributes[0], exported.classes, len(exported.whole.members)
    ('sepal length (cm)', [0, 1, 2], 1)
    """
    schema: TableSchema | None = getattr(model, SCHEMA_ATTRIBUTE, None)
    inner = _without_wrapper(model)
    if hasattr(inner, "as_member_sum") and getattr(inner, "encoder_", None) is not None:
        encoder, classes, whole, no_missing = (
            inner.encoder_,
            getattr(inner, "classes_", None),
            inner.as_member_sum(),
            "",
        )
    else:
        read = read_model(inner)
        encoder, classes, whole, no_missing = read.encoder, read.classes, as_member_sum(read.sum), read.no_missing
    levels = tuple(None if names is None else names.tolist() for names in encoder.levels)
    return ExportedModel(
        name=type(inner).__name__,
        whole=whole,
        attributes=attribute_names(encoder.names, encoder.n_columns),
        has_names=encoder.names is not None,
        levels=levels,
        kinds=_kinds(levels, schema),
        classes=None if classes is None else np.asarray(classes).tolist(),
        target="" if schema is None else schema.target,
        tie=0.0 if isinstance(inner, TreeClassifier) else TIE,
        no_missing=no_missing,
    )


def _without_wrapper(model: Any) -> Any:
    """Return the model inside a wrapper that adds no noise; refuse one that does."""
    if not isinstance(model, DualPerturb):
        return model
    if np.any(model.noise_) or model.flip > 0 or model.combine != "average" or getattr(model, "shrinkage_", 0.0) > 0:
        raise UnsupportedModel(
            f"{type(model).__name__} averages over noise, and such an average is no sum of trees: export the model "
            "that it wraps (its attribute estimator_), or predict with tremula"
        )
    return model.estimator_


def _kinds(levels: Sequence[Any], schema: TableSchema | None) -> tuple[str, ...]:
    if schema is not None and len(schema.kinds) == len(levels):
        return schema.kinds
    return tuple("number" if names is None else "nominal" for names in levels)


def _uses(whole: MemberSum) -> np.ndarray:
    used = np.zeros(whole.n_attributes, bool)
    for member in whole.members:
        tree = member.rules if isinstance(member, ModelTree) else member
        used[tree.attribute[~tree.is_leaf]] = True
        if isinstance(member, ModelTree):
            used[member.terms.attribute[(member.models[:, :-1] != 0).any(axis=0)]] = True
    return used
