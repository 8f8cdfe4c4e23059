"""A fitted model as smoothing uses it: it encodes tables as the model does and predicts with noise or without."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import get_tags

from tremula.combine import largest
from tremula.data.encoding import ColumnEncoder
from tremula.data.take import take_rows
from tremula.errors import InvalidInput, InvalidParameter, UnsupportedModel
from tremula.smoothing.decision_threshold import (
    ROUNDING,
    DecisionThreshold,
    count_other_labels,
    is_composite,
    read_threshold,
)
from tremula.smoothing.fitted_state import FittedState, digest, fitted_state, probe_rows
from tremula.smoothing.methods import Smoother
from tremula.smoothing.models import TreeModel
from tremula.smoothing.models.model import two_dimensional
from tremula.smoothing.models.self_check import NOT_TAKEN
from tremula.smoothing.models.tables import table_like
from tremula.smoothing.noise.amounts import Noise
from tremula.smoothing.sampled import Draws, make_draws
from tremula.smoothing.shrinkage import shrink_sum, shrunken_model
from tremula.smoothing.smoother_choice import (
    MethodChoice,
    choose_for_others,
    choose_for_trees,
    read_trees,
    smoother_of_others,
    smoother_of_trees,
)
from tremula.smoothing.thresholds import move_thresholds
from tremula.trees.tree_sum import TreeSum

Floats = NDArray[np.float64]

SUM_TOLERANCE = 1e-3  # of class probabilities, which may be in single precision


@dataclass(frozen=True)
class Settings:
    """How a model is smoothed; see the parameters of `DualPerturbClassifier`."""

    method: str
    combine: str
    tol: float
    n_draws: int
    root_seed: int
    is_classifier: bool


@dataclass(frozen=True, eq=False)
class WrappedModel:
    """A fitted model, its trees if it has any, and the settings of its smoother.

    Attributes
    ----------
    model : fitted estimator
    settings : Settings
    trees : TreeModel or None
        The model as trees; None if it cannot be read as trees.
    encoder : ColumnEncoder or None
        Encodes tables, if there are no trees.
    unread : str
        Why there are no trees.
    threshold : DecisionThreshold or None
        How the model decides, unless for the class of the largest share.
    ties : float64 array (n_ties, 3)
        Thresholds on training values, which are moved under noise; see `find_ties`. The trees are those with moved
        thresholds.
    own_sum : TreeSum or None
        The sum of trees with the model's own thresholds, if some are moved.
    plain : WrappedModel or None
        The model as it was read, if its trees are shrunken.
    probes : float64 array (n_probes, n_attributes) or None
        Rows that identify the state of a booster.
    state : FittedState or None
        The state in which the trees were read.
    """

    model: Any
    settings: Settings
    trees: TreeModel | None
    encoder: ColumnEncoder | None
    unread: str = ""
    threshold: DecisionThreshold | None = None
    probes: Floats | None = None
    state: FittedState | None = None
    ties: Floats = field(default_factory=lambda: np.empty((0, 3)))
    own_sum: TreeSum | None = None
    plain: WrappedModel | None = None
    _partly_moved: dict[bytes, Smoother] = field(default_factory=dict, init=False, repr=False)

    def with_ties(self, ties: Floats) -> WrappedModel:
        """Return the model with the given thresholds moved."""
        if self.trees is None or not len(ties):
            return self
        own = self.trees.sum
        return replace(self, trees=replace(self.trees, sum=move_thresholds(own, ties)), ties=ties, own_sum=own)

    def with_shrinkage(self, node_weights: Sequence[Floats] | None, strength: float) -> WrappedModel:
        """Return the model with its trees, as they were read, shrunken by this strength; 0 for the model as it was."""
        plain = self if self.plain is None else self.plain
        if strength == 0.0:
            return plain
        if plain.trees is None or node_weights is None:
            raise InvalidInput("shrinkage needs trees and the weights of their nodes: fit the wrapper again")
        if [len(weights) for weights in node_weights] != [tree.n_nodes for tree in plain.trees.sum.trees]:
            raise InvalidInput("the weights of the nodes are those of other trees: fit the wrapper again")
        own_sum = None if plain.own_sum is None else shrink_sum(plain.own_sum, node_weights, strength)
        trees = shrunken_model(plain.trees, node_weights, strength, own_sum)
        return replace(plain, trees=trees, own_sum=own_sum, plain=plain)

    @cached_property
    def choice(self) -> MethodChoice:
        """The method by which the model is smoothed; one that it does not allow is refused."""
        method, combine = self.settings.method, self.settings.combine
        if self.trees is not None:
            return choose_for_trees(self.trees, method, combine)
        return choose_for_others(self._inner, method, combine, self.unread)

    @property
    def is_current(self) -> bool:
        """Whether the model is, as far as can be seen cheaply, as it was read; False if it must be looked into."""
        if self.trees is None:
            return False
        assert self.probes is not None
        return self.state == fitted_state(self.model, self.probes)

    @property
    def digest(self) -> str:
        """Identifies the trees; or only the classes, if the model has no trees and is asked itself."""
        if self.trees is not None:
            return digest(self.trees) if self.plain is None else self.plain.digest
        return repr([str(label) for label in self.classes.tolist()]) if self.settings.is_classifier else ""

    @property
    def n_levels(self) -> NDArray[np.int32]:
        """For every attribute its number of levels, 0 if it is numeric."""
        return self.trees.n_levels if self.trees is not None else self._encoder.n_levels

    @property
    def known_encoder(self) -> ColumnEncoder:
        """How tables are encoded, by which the model can be wrapped again without its training rows."""
        return self._encoder if self.trees is None else self.trees.encoder

    @property
    def _encoder(self) -> ColumnEncoder:
        assert self.encoder is not None
        return self.encoder

    def rows(self, X: Any) -> Floats:
        """Read a table as numbers and codes of levels, NaN where missing."""
        values = self._encoder.encode(X) if self.trees is None else self.trees.rows(X)
        if not np.isnan(values).any():
            return values
        reason = "" if self.trees is None else self.trees.no_missing
        if reason and not reason.startswith(NOT_TAKEN):
            raise InvalidInput(
                f"X contains missing values or unknown levels, and the rows given to fit had none: {reason}. Fill in "
                "missing values, give fit rows that have some, or use method='sample'"
            )
        if reason or (self.trees is None and not _takes_missing(self.model)):
            raise InvalidInput(
                f"X contains NaN, which {type(self.model).__name__} does not take: fill in missing values first"
            )
        return values

    def with_reason(self, no_missing: str | None) -> WrappedModel:
        """Return the model with the reason, known from its training rows, why it takes no missing values."""
        if self.trees is None or no_missing is None:
            return self
        return replace(self, trees=replace(self.trees, no_missing=no_missing))

    def unsmoothed(self, X: Any) -> Floats:
        """Return the predictions of the model itself: class shares (its labels with combine="vote"), or numbers."""
        if self.settings.is_classifier and self.settings.combine == "vote":
            return self._labels(X)
        if self.trees is not None:
            return self.trees.unsmoothed(X)
        if self.settings.is_classifier:
            return class_shares(self.model, X)
        return two_dimensional(self.model.predict(X), 1)

    def labels(self, X: Any) -> NDArray[Any]:
        """Return the classes that the model itself predicts."""
        if self.trees is not None and self.plain is not None:
            return np.asarray(self.classes[self.decide(self.trees.unsmoothed(X))])
        if self.trees is not None and not hasattr(self.model, "classes_"):
            return np.asarray(self.classes[self.trees.unsmoothed(X).argmax(axis=1)])
        return np.asarray(self.model.predict(X))

    def decide(self, shares: Floats) -> NDArray[np.int64]:
        """Return the class that the model predicts for given shares."""
        return largest(shares) if self.threshold is None else self.threshold.codes(shares, ROUNDING)

    @cached_property
    def _inner(self) -> Any:
        """The model whose shares are compared with the threshold."""
        return self.model if self.threshold is None else read_threshold(self.model, None)[0]

    def count_other_labels(self, X: Any) -> int:
        """Count rows whose label is not that of the largest share, of a model that may decide otherwise."""
        if self.threshold is not None or self.settings.combine == "vote" or not self.settings.is_classifier:
            return 0
        is_clear = self.trees is not None and not is_composite(self.model)
        return 0 if is_clear else count_other_labels(self.model, self.classes, X)

    @property
    def classes(self) -> NDArray[Any]:
        """Class labels."""
        listed = None if self.trees is None else self.trees.classes
        return np.asarray(self.model.classes_ if listed is None else listed)

    def _labels(self, X: Any) -> Floats:
        return np.asarray((self.labels(X)[:, None] == self.classes).astype(np.float64))

    def smoother(self, like: Any, noise: Noise) -> Smoother:
        """Return the smoother of the model for rows of a table of this kind, under this noise."""
        if self.trees is not None:
            return self._smoother_of_moved(np.asarray(noise.sd.reshape(-1, noise.sd.shape[-1]).any(axis=0)))
        settings = self.settings
        return smoother_of_others(
            self._inner,
            self.choice.method,
            settings.combine,
            settings.is_classifier,
            lambda rows: self.unsmoothed(table_like(like, self._encoder, rows)),
            self._draws,
        )

    def _smoother_of_moved(self, has_noise: NDArray[np.bool_]) -> Smoother:
        """Return the smoother of the trees; thresholds of attributes without noise are not moved."""
        is_moved = has_noise[self.ties[:, 0].astype(np.intp)]
        if self.own_sum is None or is_moved.all():
            return self._tree_smoother
        assert self.trees is not None
        key = is_moved.tobytes()
        if key not in self._partly_moved:
            trees = replace(self.trees, sum=move_thresholds(self.own_sum, self.ties[is_moved]))
            self._partly_moved[key] = self._smoother_of_trees(trees)
        return self._partly_moved[key]

    @cached_property
    def _tree_smoother(self) -> Smoother:
        assert self.trees is not None
        return self._smoother_of_trees(self.trees)

    def _smoother_of_trees(self, trees: TreeModel) -> Smoother:
        settings = self.settings
        return smoother_of_trees(trees, self.choice.method, settings.combine, settings.tol, self._draws)

    @cached_property
    def _draws(self) -> Draws:
        return make_draws(self.settings.root_seed, self.settings.n_draws, len(self.n_levels))


def _takes_missing(model: Any) -> bool:
    """Whether a model takes missing values, by its tags; those of models made of others do not say."""
    if is_composite(model):
        return True
    try:
        return bool(get_tags(model).input_tags.allow_nan)
    except (AttributeError, TypeError):  # the library has no tags
        return True


def wrap_model(
    model: Any,
    X: Any,
    settings: Settings,
    encoder: ColumnEncoder | None = None,
    known_threshold: DecisionThreshold | None = None,
    unread: str | None = None,
) -> WrappedModel:
    """Wrap a fitted model: read its trees if it has any, else learn how its tables are encoded.

    Parameters
    ----------
    model : fitted estimator
    X : table or None
        Training rows, if there are any.
    settings : Settings
    encoder : ColumnEncoder, optional
        How tables are encoded, if that is known already.
    known_threshold : DecisionThreshold, optional
        The decision threshold as it was read with the training rows.
    unread : str, optional
        Why the trees were not read with the training rows, empty if they were; None if that is not known.
    """
    inner, threshold = model, None
    if settings.combine == "average":
        inner, threshold = read_threshold(model, X, known_threshold)
    trees: TreeModel | None = None
    if not unread:
        trees, unread = read_trees(inner, settings.method, X, None if unread is None else encoder)
    if trees is not None and settings.method == "sample" and trees.no_missing:
        unread, encoder = trees.no_missing, trees.encoder
        trees = None
    if trees is not None:
        check_kind(trees, settings.is_classifier)
        probes = probe_rows(trees.sum)
        state = fitted_state(model, probes)
        return WrappedModel(model, settings, trees, None, threshold=threshold, probes=probes, state=state)
    can_answer = hasattr(model, "predict_proba") or settings.combine == "vote" or not settings.is_classifier
    if not can_answer:
        raise InvalidParameter(
            f"combine='average' needs class probabilities, which {type(model).__name__} does not give: use "
            "combine='vote', or an estimator with predict_proba"
        )
    if settings.is_classifier and not hasattr(model, "classes_"):
        raise InvalidParameter(
            f"{type(model).__name__} has no classes_, the labels of the columns of its probabilities: set the attribute"
        )
    check_predictions(model, settings, X, unread)
    known = encoder or (_encoder_of(model) if X is None else ColumnEncoder.learn(X)[0])
    return WrappedModel(model, settings, None, known, unread, threshold)


def check_kind(trees: TreeModel, is_classifier: bool) -> None:
    """Refuse trees of classes in a regressor and of numbers in a classifier; boosters have no tags that say it."""
    if is_classifier and trees.classes is None:
        raise InvalidParameter(f"{trees.name} predicts numbers: use DualPerturbRegressor")
    if not is_classifier and trees.classes is not None:
        raise InvalidParameter(f"{trees.name} predicts classes: use DualPerturbClassifier")


def check_predictions(model: Any, settings: Settings, X: Any, unread: str) -> None:
    """Refuse a model, to be drawn, that does not predict one target from a table."""
    try:
        check_one_target(model, X)
    except UnsupportedModel:
        raise
    except TypeError as error:  # a booster that takes no tables, for example
        raise UnsupportedModel(f"{type(model).__name__} cannot be asked for predictions ({error}). {unread}") from error
    if settings.is_classifier and settings.combine == "average" and X is not None:
        class_shares(model, take_rows(X, np.arange(1)))


def check_one_target(model: Any, X: Any) -> None:
    """Refuse a model that predicts several targets at once."""
    classes = getattr(model, "classes_", None)
    has_lists = isinstance(classes, list) and len(classes) > 0 and np.ndim(classes[0]) > 0
    answers: NDArray[Any] = np.empty(0) if X is None else np.asarray(model.predict(take_rows(X, np.arange(1))))
    if has_lists or (classes is not None and np.ndim(classes) > 1) or (answers.ndim > 1 and answers.shape[1] > 1):
        raise UnsupportedModel(
            f"{type(model).__name__} was trained on several targets, and smoothing takes one: train a model for each "
            "target, and smooth each"
        )


def class_shares(model: Any, X: Any) -> Floats:
    """Return class probabilities; refuse answers that are not such."""
    shares = model.predict_proba(X)
    n_classes = len(model.classes_)
    if isinstance(shares, list) or np.shape(shares)[1:] != (n_classes,):
        raise UnsupportedModel(
            f"predict_proba of {type(model).__name__} does not give a probability for each of its {n_classes} classes: "
            "smoothing takes one target; train a model for each"
        )
    values = np.asarray(shares, dtype=np.float64)
    if np.any(np.abs(values.sum(axis=1) - 1.0) > SUM_TOLERANCE):
        raise UnsupportedModel(
            f"class probabilities of {type(model).__name__} do not sum to 1: smoothing takes one target with one label "
            "for each row"
        )
    return values


def _encoder_of(model: Any) -> ColumnEncoder:
    """Return an encoder that takes all columns of a fitted model as numeric."""
    if not hasattr(model, "n_features_in_"):
        raise InvalidInput(
            f"{type(model).__name__} does not say how many attributes it was trained on: give fit its training rows X"
        )
    names = getattr(model, "feature_names_in_", None)
    return ColumnEncoder(None if names is None else tuple(names), (None,) * model.n_features_in_)
