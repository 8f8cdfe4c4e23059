"""Notices that a wrapped model was trained again or changed after it was read.

`fitted_state` is compared before every prediction and is cheap: it looks at the identity of the parts of a model and at
checksums of small arrays. It may change where no prediction does, so the trees are then read again: their `digest`
decides.
"""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tremula.smoothing.models import TreeModel
from tremula.smoothing.models.model import library_of
from tremula.trees.tree import Tree
from tremula.trees.tree_sum import TreeSum

SCALARS = (type(None), bool, int, str, bytes)
MOST_BYTES = 1 << 16  # of an array whose content is compared; larger ones are compared by identity
N_PROBES = 8


# --- the state of a model ---


@dataclass(frozen=True, eq=False)
class FittedState:
    """What identifies the fitted state of a model.

    Attributes
    ----------
    tokens : tuple
        Nested tuples of numbers and strings.
    parts : list of objects
        The objects whose identity is in the tokens; as they are kept, no other object gets their identity.
    """

    tokens: Any
    parts: list[Any]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FittedState) and bool(self.tokens == other.tokens)

    __hash__ = None  # type: ignore[assignment]


def fitted_state(model: Any, probes: NDArray[np.float64]) -> FittedState:
    """Return the state of a fitted model.

    Parameters
    ----------
    model : fitted estimator or booster
    probes : float64 array (n_probes, n_attributes)
        Rows that boosters, which cannot be looked into cheaply, predict.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> tree = DecisionTreeClassifier(random_state=0).fit([[0.0], [1.0]], [0, 1])
    >>> before = fitted_state(tree, np.zeros((1, 1)))
    >>> before == fitted_state(tree, np.zeros((1, 1)))
    True
    >>> before == fitted_state(tree.fit([[0.0], [2.0]], [0, 1]), np.zeros((1, 1)))
    False
    """
    walk = _Walk(probes)
    return FittedState(walk.token(model), walk.parts)


class _Walk:
    """Visits the parts of a model, each once."""

    def __init__(self, probes: NDArray[np.float64]) -> None:
        self.probes = probes
        self.parts: list[Any] = []
        self._seen: set[int] = set()

    def token(self, value: Any) -> Any:
        if isinstance(value, SCALARS):
            return value
        if isinstance(value, float | complex | np.generic):
            return repr(value)
        if isinstance(value, np.ndarray):
            return self._array(value)
        if isinstance(value, list | tuple):
            return tuple(self.token(each) for each in value)
        if isinstance(value, Mapping):
            return tuple((str(key), self.token(each)) for key, each in value.items())
        if id(value) in self._seen:
            return id(value)
        self._seen.add(id(value))
        self.parts.append(value)
        return (id(value), *self._content(value))

    def _content(self, value: Any) -> tuple[Any, ...]:
        if isinstance(value, Tree | type):
            return ()  # its arrays are read-only
        if hasattr(value, "n_node_samples"):  # the compiled tree of scikit-learn
            arrays = (value.value, value.threshold, value.feature, value.children_left)
            return tuple(map(_checksum, arrays))
        inner = getattr(value, "tree_", None)
        if hasattr(inner, "n_node_samples"):
            return (self.token(inner),)
        reader = _booster_reader(type(value))
        if reader is not None:
            return tuple(reader(value, self.probes))
        return tuple((name, self.token(each)) for name, each in getattr(value, "__dict__", {}).items())

    def _array(self, values: NDArray[Any]) -> Any:
        if values.dtype.hasobject or values.dtype.kind == "T":
            return values.shape, tuple(self.token(each) for each in values.ravel().tolist())
        if values.nbytes <= MOST_BYTES:
            return values.shape, _checksum(values)
        self.parts.append(values)
        return id(values)


def _checksum(values: Any) -> int:
    return zlib.adler32(np.ascontiguousarray(values).view(np.uint8).data if values.size else b"")


# --- boosters of other libraries ---


def _xgboost_state(booster: Any, probes: NDArray[np.float64]) -> tuple[Any, ...]:
    try:
        margins = booster.inplace_predict(probes, predict_type="margin", validate_features=False)
    except Exception:  # nominal attributes, or a library of another release
        margins = np.frombuffer(booster.save_raw("ubj"), dtype=np.uint8)
    return booster.num_boosted_rounds(), str(sorted(booster.attributes().items())), _checksum(margins)


def _lightgbm_state(booster: Any, probes: NDArray[np.float64]) -> tuple[Any, ...]:
    if probes.shape[1] != booster.num_feature():  # a step before it adds or drops columns
        probes = np.resize(probes, (len(probes), booster.num_feature()))
    margins = np.asarray(booster.predict(probes, raw_score=True, validate_features=False))
    return booster.num_trees(), booster.best_iteration, _checksum(margins)


def _catboost_state(model: Any, probes: NDArray[np.float64]) -> tuple[Any, ...]:
    metadata = model.get_metadata()
    identity = metadata["model_guid"] if "model_guid" in metadata.keys() else ""  # noqa: SIM118  it is no mapping
    return identity, model.tree_count_, _checksum(model.get_leaf_values()), str(model.get_scale_and_bias())


BOOSTERS = {
    ("xgboost", "Booster"): _xgboost_state,
    ("lightgbm", "Booster"): _lightgbm_state,
    ("catboost", "CatBoost"): _catboost_state,
}


def _booster_reader(kind: type) -> Any:
    for each in kind.__mro__:
        if (library_of(each), each.__name__) in BOOSTERS:
            return BOOSTERS[library_of(each), each.__name__]
    return None


def probe_rows(model: TreeSum) -> NDArray[np.float64]:
    """Return rows around the thresholds of a model, always the same; nominal attributes have their first levels.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tremula import C45Classifier
    >>> probe_rows(C45Classifier().fit(*load_iris(return_X_y=True)).as_tree_sum()).shape
    (8, 4)
    """
    random = np.random.default_rng(0)
    rows = np.zeros((N_PROBES, model.n_attributes))
    tested = np.concatenate([tree.attribute[~tree.is_leaf] for tree in model.trees])
    thresholds = np.concatenate([tree.threshold[~tree.is_leaf] for tree in model.trees])
    is_used = np.isfinite(thresholds) & (model.n_levels[tested] == 0)
    for attribute in np.unique(tested[is_used]):
        known = np.sort(thresholds[is_used & (tested == attribute)])
        rows[:, attribute] = np.quantile(known, random.random(N_PROBES))
    return rows


# --- the trees of a model ---


def digest(trees: TreeModel) -> str:
    """Return a digest of the trees and classes of a model; it is the same for a copy, in any process.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from tremula.smoothing.models import read_model
    >>> tree = DecisionTreeClassifier(random_state=0).fit([[0.0], [1.0]], [0, 1])
    >>> digest(read_model(tree)) == digest(read_model(tree))
    True
    """
    content = hashlib.blake2b(digest_size=16)
    whole = trees.sum
    for tree in whole.trees:
        for array in (tree.nodes, tree.values, tree.subsets):
            content.update(np.ascontiguousarray(array).tobytes())
    # Offsets are computed from predictions of the model, which may differ in the last digits on another machine.
    numbers = [f"{number:.5g}" for number in (*whole.offset, *whole.weights)]
    classes = [] if trees.classes is None else [str(label) for label in np.asarray(trees.classes).tolist()]
    content.update(repr((numbers, whole.outputs.tolist(), whole.link.name, classes)).encode())
    return content.hexdigest()
