"""What the two wrappers share: the wrapped estimator, the scale of the attributes, and smoothed answers.

Without noise the answers are those of the wrapped model itself, bit for bit.
"""

from __future__ import annotations

import warnings
from abc import abstractmethod
from dataclasses import replace
from typing import Any, ClassVar, Self
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.frozen import FrozenEstimator
from sklearn.utils import column_or_1d, get_tags
from sklearn.utils.validation import check_is_fitted

from tremula.data.encoding import ColumnEncoder
from tremula.data.table_schema import TableSchema
from tremula.data.take import count_rows
from tremula.data.target import check_validation_pair, read_weights
from tremula.errors import (
    DecisionWarning,
    InvalidInput,
    InvalidParameter,
    InvalidTarget,
    ModelChanged,
    SamplingWarning,
    counted,
)
from tremula.parameters import Parameter, check_parameters, read_numbers
from tremula.parameters.kinds import choice
from tremula.seeds import make_root_seed
from tremula.smoothing.answer_spread import AnswerSpreadMixin
from tremula.smoothing.bandwidths import least_noise
from tremula.smoothing.decision_threshold import DecisionThreshold
from tremula.smoothing.inner_estimator import is_fitted, train_clone
from tremula.smoothing.known_columns import KnownColumnsMixin
from tremula.smoothing.methods import NO_CERTIFICATE, Smoothed, Smoother, TreeSmoother
from tremula.smoothing.noise.amounts import (
    AMOUNTS_OF_NOISE,
    Noise,
    column_scales,
    level_shares,
    measurement_error,
    read_scale,
)
from tremula.smoothing.noise.search import SEARCHES
from tremula.smoothing.noise.validation_rows import TUNINGS
from tremula.smoothing.shrinkage_choice import ShrinkageChoiceMixin
from tremula.smoothing.soundness import check_wrapper
from tremula.smoothing.thresholds import find_ties
from tremula.smoothing.trained_model import Settings, WrappedModel, wrap_model

Floats = NDArray[np.float64]

NO_TIES = np.empty((0, 3))
# Wrapped models of fitted wrappers. They are rebuilt when needed, so neither pickles nor files hold a model twice.
WRAPPED_MODELS: WeakKeyDictionary[Any, WrappedModel] = WeakKeyDictionary()
TUNING = Parameter(
    choice(TUNINGS),
    "Rows on which the noise is chosen: `X_val` and `y_val`, the out-of-bag rows of a bagged model, or held-out folds. "
    '"auto" takes the first of these that is available.',
)

SEARCH = Parameter(
    choice(SEARCHES),
    'How the noise is chosen. "grid" tries amounts in logarithmic steps and adds noise only if its loss is below that '
    'without noise by a standard error, and if it costs no errors. "golden_section" is the search of the paper, which '
    "takes the least loss of at most 15 amounts.",
)


def _read_one_target(y: Any) -> Any:
    """Return the target as one column; refuse several."""
    try:
        shape = () if y is None else np.asarray(y).shape
    except ValueError as error:
        raise InvalidTarget(f"y is no list of values: give one for each row ({error})") from error
    if len(shape) != 2 or shape[1] == 0:
        return y
    if np.shape(y)[1] > 1:
        raise InvalidInput(
            f"y has {np.shape(y)[1]} columns, and smoothing takes one target: train a model for each target"
        )
    return column_or_1d(y, warn=True)


def _check_validation_rows(X_val: Any, y_val: Any) -> None:
    check_validation_pair(X_val, y_val)
    if X_val is not None and count_rows(X_val) != len(y_val):
        raise InvalidInput(
            f"X_val has {counted(count_rows(X_val), 'row')} and y_val {len(y_val):,} values: give one for each row"
        )


class DualPerturb(KnownColumnsMixin, ShrinkageChoiceMixin, AnswerSpreadMixin, BaseEstimator):
    """Base of the two wrappers, which add how a target is read and the form of the answers."""

    estimator: Any
    combine: str = "average"
    flip: float
    n_draws: int
    thresholds: str
    scale: Any
    prefit: bool | str
    random_state: Any

    moved_thresholds_: Floats
    method_: str
    method_reason_: str
    level_shares_: list[Floats | None]
    encoder_: ColumnEncoder | None
    estimator_: Any
    n_features_in_: int
    feature_names_in_: NDArray[Any]
    table_: TableSchema
    scale_: Floats
    _root_seed: int
    _fitted_with: tuple[str, str, float, int]
    _threshold: DecisionThreshold | None
    _unread: str
    _no_missing: str | None
    _model_digest: str

    _is_classifier: ClassVar[bool]

    @abstractmethod
    def _default_estimator(self) -> BaseEstimator:
        """Return the estimator that is wrapped by default."""

    @abstractmethod
    def _check_kind(self, model: Any) -> None:
        """Refuse a regressor in a classifier, and the other way round."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = self._given()
        if hasattr(inner, "__sklearn_tags__"):
            tags.input_tags.allow_nan = get_tags(inner).input_tags.allow_nan
        return tags

    def _given(self) -> Any:
        """Return the estimator to wrap, or to clone and train."""
        if self.estimator is None:
            return self._default_estimator()
        return self.estimator.estimator if isinstance(self.estimator, FrozenEstimator) else self.estimator

    def _check_parameters(self) -> None:
        check_parameters(self)
        self._check_kind(self._given())

    def _check_stored(self) -> None:
        check_wrapper(self)

    # --- fit ---

    def fit(
        self, X: Any = None, y: Any = None, sample_weight: Any = None, X_val: Any = None, y_val: Any = None
    ) -> Self:
        """Train the estimator if it is not fitted, learn the scale of the attributes, and choose the noise.

        Parameters
        ----------
        X : array, data frame or table of shape (n_rows, n_attributes), optional
            Training rows. A fitted estimator is not trained again: they then give the scale, and may be omitted if
            `scale` is given.
        y : array of shape (n_rows,), optional
            Class labels, or finite numbers. With a fitted estimator only needed to choose the noise by "oob" or "cv".
        sample_weight : array of shape (n_rows,), optional
            Row weights.
        X_val, y_val : optional
            Validation rows to choose the noise on; also given to an estimator with ``ccp_alpha="validation"``, which
            prunes on them.

        Returns
        -------
        self
        """
        self._check_parameters()
        y = _read_one_target(y)
        _check_validation_rows(X_val, y_val)
        trains = not self._is_prefit()
        self.estimator_ = train_clone(self._given(), X, y, sample_weight, X_val, y_val) if trains else self._given()
        self._note_columns(X)
        self._root_seed, self._fitted_with = make_root_seed(self.random_state), self._given_settings()
        WRAPPED_MODELS[self] = wrap_model(self.estimator_, X, self._settings())
        self.encoder_, self._model_digest = self._wrapped.known_encoder, self._wrapped.digest
        self._threshold, self._unread = self._wrapped.threshold, self._wrapped.unread
        self._no_missing = None if self._wrapped.trees is None else self._wrapped.trees.no_missing
        if self._is_classifier:
            self.classes_ = self._wrapped.classes
        rows = None if X is None else self._wrapped.rows(X)
        self._move_thresholds(rows)
        self._learn_scale(rows, None if rows is None else read_weights(sample_weight, len(rows)))
        self._check_decisions(X)
        self.method_, self.method_reason_ = self._wrapped.choice.method, self._wrapped.choice.reason
        self._shrink_and_choose_noise(X, y, sample_weight, X_val, y_val)
        if not self._noise_at(self.noise_).is_none or isinstance(self.noise, str):
            self._warn_if_sampled(stacklevel=3)
        return self

    def _check_decisions(self, X: Any) -> None:
        """Refuse a loss that does not know the model's decision threshold; warn if a model decides in its own way."""
        name = type(self.estimator_).__name__
        if self._wrapped.threshold is not None and isinstance(self.noise, str) and self.scoring == "error":
            raise InvalidParameter(
                f"scoring='error' was given, which counts errors of the class of the largest share, but {name} has a "
                "decision threshold: use scoring='log_loss'"
            )
        is_used = isinstance(self.noise, str) or bool(read_numbers("noise", self.noise, AMOUNTS_OF_NOISE).any())
        n_others = self._wrapped.count_other_labels(X) if is_used and X is not None else 0
        if n_others:
            warnings.warn(
                f"{name} does not predict the class of its largest share for {counted(n_others, 'row')} of X. Under "
                "noise, predict gives the class of the largest smoothed share: combine='vote' averages the labels",
                DecisionWarning,
                stacklevel=3,
            )

    def _warn_if_sampled(self, stacklevel: int) -> None:
        """Warn if the model has no exact form and answers are therefore drawn, unless that was asked for."""
        if self.method != "auto" or self.method_ != "sample":
            return
        warnings.warn(
            f"method='auto' draws: {self.method_reason_}. Answers are means over n_draws={self.n_draws} draws, and "
            "`smooth(X).bound` is their standard error. Set method='sample' to draw without this warning",
            SamplingWarning,
            stacklevel=stacklevel,
        )

    def _is_prefit(self) -> bool:
        if isinstance(self.estimator, FrozenEstimator):
            return True
        if self.prefit != "auto" or self.estimator is None:
            return self.prefit is True and self.estimator is not None
        return is_fitted(self.estimator)

    def _settings(self) -> Settings:
        """Return the settings of the last fit: parameters set afterwards have no effect before the next one."""
        method, combine, tol, n_draws = getattr(self, "_fitted_with", self._given_settings())
        return Settings(method, combine, tol, n_draws, self._root_seed, self._is_classifier)

    def _given_settings(self) -> tuple[str, str, float, int]:
        return self.method, self.combine, self.tol, self.n_draws

    def _move_thresholds(self, rows: Floats | None) -> None:
        """Move thresholds that lie on training values, unless they are to be kept or no rows are given."""
        trees = self._wrapped.trees
        self.moved_thresholds_ = NO_TIES
        if self.thresholds == "centered" and rows is not None and trees is not None:
            self.moved_thresholds_ = find_ties(trees.sum, rows)
        WRAPPED_MODELS[self] = self._wrapped.with_ties(self.moved_thresholds_)

    def _learn_scale(self, rows: Floats | None, weights: Floats | None) -> None:
        n_levels = self._wrapped.n_levels
        self.n_features_in_ = len(n_levels)
        if rows is None and self.scale is None:
            raise InvalidInput(
                "noise is given in standard deviations of the training values, which "
                f"{type(self.estimator_).__name__} does not store: give fit the training rows X, or set scale= to one "
                "standard deviation an attribute"
            )
        if rows is None and self.flip > 0 and n_levels.any():
            raise InvalidInput("flip needs the training shares of the levels: give fit the training rows X")
        if self.scale is not None:
            self.scale_ = read_scale(self.scale, n_levels)
        elif rows is not None:
            self.scale_ = column_scales(rows, weights, n_levels)
        self.level_shares_ = [None] * len(n_levels) if rows is None else level_shares(rows, weights, n_levels)

    # --- answers ---

    def _noise_at(self, amounts: float | Floats) -> Noise:
        sd = self.scale_ * amounts
        return Noise(sd[:, None, :] if sd.ndim == 2 else sd, self.flip, tuple(self.level_shares_))

    def _ready(self) -> WrappedModel:
        check_is_fitted(self, "noise_")
        wrapped = self._wrapped
        if wrapped.is_current:
            return wrapped
        if wrapped.trees is not None or wrapped.threshold is not None:
            return self._wrap_again()
        self._check_unchanged(wrapped)
        return wrapped

    @property
    def _wrapped(self) -> WrappedModel:
        return WRAPPED_MODELS[self] if self in WRAPPED_MODELS else self._wrap_again()

    def _wrap_again(self) -> WrappedModel:
        """Read the model once more: in a copy of the wrapper, or if the model may have changed."""
        threshold, unread = getattr(self, "_threshold", None), getattr(self, "_unread", None)
        wrapped = wrap_model(self.estimator_, None, self._settings(), self.encoder_, threshold, unread)
        self._check_unchanged(wrapped)
        wrapped = wrapped.with_reason(getattr(self, "_no_missing", None))  # files of earlier releases have none
        ties = getattr(self, "moved_thresholds_", NO_TIES)  # files of earlier releases have none
        wrapped = wrapped.with_ties(ties)
        if getattr(self, "shrinkage_", 0.0) > 0:
            wrapped = wrapped.with_shrinkage(self.node_weights_, self.shrinkage_)
        self._replace_wrapped(wrapped)
        return wrapped

    def _replace_wrapped(self, wrapped: WrappedModel) -> None:
        WRAPPED_MODELS[self] = wrapped

    def _check_unchanged(self, wrapped: WrappedModel) -> None:
        """Refuse a model that is not the one that was wrapped; files of earlier releases do not say."""
        if wrapped.digest != getattr(self, "_model_digest", wrapped.digest):
            raise ModelChanged(
                f"{type(self.estimator_).__name__} was trained again, or changed, after {type(self).__name__} was "
                "fitted: the noise, the scale and the classes belong to the model before. Fit the wrapper again"
            )

    def _read(self, X: Any, X_std: Any) -> tuple[Smoother, Floats, Noise]:
        """Return the smoother, the encoded rows and the noise on them."""
        wrapped = self._ready()
        self._check_columns(X)
        rows = wrapped.rows(X)
        noise = self._noise_at(self.noise_)
        if X_std is not None:
            error = measurement_error(X_std, rows.shape, wrapped.n_levels)
            if noise.is_none and error.any():
                self._warn_if_sampled(stacklevel=4)
            noise = replace(noise, sd=np.sqrt(noise.sd**2 + error**2))
        return wrapped.smoother(X, noise), rows, noise

    def smooth(self, X: Any, X_std: Any = None) -> Smoothed:
        """Smoothed answers with a bound on their error.

        Parameters
        ----------
        X : array, data frame or table of shape (n_rows, n_attributes)
        X_std : array of shape (n_attributes,) or (n_rows, n_attributes), optional
            Standard deviation of the measurement error of each attribute or value, in its own units.

        Returns
        -------
        Smoothed
            `answers`, and `bound`, the largest error caused by the parts of trees that `tol` cut off.
        """
        return self._smoothed(X, *self._read(X, X_std))

    def _smoothed(self, X: Any, smoother: Smoother, rows: Floats, noise: Noise) -> Smoothed:
        if noise.is_none:
            return Smoothed(self._wrapped.unsmoothed(X), np.zeros(len(rows)))
        return smoother.smooth(rows, noise, self.n_jobs)

    def _smoothed_margins(self, smoother: Smoother, rows: Floats, noise: Noise) -> tuple[TreeSmoother, Floats, Floats]:
        """Return the smoother of trees, their smoothed margins and the largest error of these, for a certificate."""
        if not isinstance(smoother, TreeSmoother):
            raise InvalidParameter(NO_CERTIFICATE)
        smoothed = smoother.smooth(rows, noise, self.n_jobs)
        assert smoothed.margins is not None
        assert smoothed.margin_bound is not None
        return smoother, smoothed.margins, smoothed.margin_bound

    def _spread(self, smoother: Smoother, rows: Floats, noise: Noise) -> Floats:
        """Return the unit in which a move of each row is measured, (n_rows, n_attributes)."""
        sd = noise.sd
        if noise.is_per_tree and isinstance(smoother, TreeSmoother):
            sd = least_noise(smoother.model, sd)
        return np.broadcast_to(sd, rows.shape)

    def _slopes(self, X: Any, X_std: Any) -> Floats:
        smoother, rows, noise = self._read(X, X_std)
        return smoother.gradient(rows, noise, self.n_jobs)
