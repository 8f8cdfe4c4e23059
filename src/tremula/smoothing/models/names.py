"""How models are called in messages, and what a reader of a kind of model is."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from tremula.smoothing.models.model import ForeignModel

Read: TypeAlias = "Callable[[Any], ForeignModel]"
Reader: TypeAlias = "Callable[[Any, Read], ForeignModel]"


def library_of(kind: type) -> str:
    """Library that a class comes from.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> library_of(DecisionTreeClassifier)
    'sklearn'
    """
    return kind.__module__.split(".")[0]


def name_of(estimator: Any) -> str:
    """Class and library of a model.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> name_of(DecisionTreeClassifier())
    'DecisionTreeClassifier of sklearn'
    """
    kind = estimator if isinstance(estimator, type) else type(estimator)
    return f"{kind.__name__} of {library_of(kind)}"
