"""Checks a smoothed model from a file: noise, scale and moved thresholds belong to the attributes of the wrapped model.

The trees themselves are checked where they are read, and must be those that were wrapped.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tremula.parameters import check_choice, check_number
from tremula.parameters.table import MOST_DRAWS
from tremula.persistence.soundness import require, require_labels, require_numbers
from tremula.smoothing.methods import METHODS

COMBINERS = ("average", "vote")


def check_wrapper(wrapper: Any) -> None:
    """Raise an error unless the attributes of a fitted wrapper fit together."""
    n_attributes = wrapper.n_features_in_
    require(n_attributes >= 1, "there are no columns")
    _check_columns(wrapper, n_attributes)
    _check_noise(wrapper, n_attributes)
    _check_trees(wrapper, n_attributes)
    require(wrapper._root_seed >= 0, "the seed is negative")
    method, combine, tol, n_draws = getattr(wrapper, "_fitted_with", wrapper._given_settings())
    check_choice("method", method, METHODS)
    check_choice("combine", combine, COMBINERS)
    check_number("tol", tol, 0.0)
    check_number("n_draws", n_draws, 1, MOST_DRAWS, whole=True)
    if wrapper._is_classifier:
        require_labels("classes", wrapper.classes_, sortable=True)
        known = getattr(wrapper.estimator_, "classes_", wrapper.classes_)
        require(np.array_equal(known, wrapper.classes_), "the wrapped model has other classes")


def _check_columns(wrapper: Any, n_attributes: int) -> None:
    names, encoder = getattr(wrapper, "feature_names_in_", None), wrapper.encoder_
    require(hasattr(wrapper.estimator_, "predict"), "the wrapped model does not predict")
    require(getattr(wrapper.estimator_, "n_features_in_", 0) == n_attributes, "the wrapped model has other columns")
    require(encoder is None or encoder.n_columns == n_attributes, "the encoder has other columns")
    if names is not None:
        require(np.shape(names) == (n_attributes,), "there are not as many names as columns")
        require(all(isinstance(name, str) for name in names.tolist()), "a name of a column is not a word")


def _check_noise(wrapper: Any, n_attributes: int) -> None:
    require_numbers("scale_", wrapper.scale_, (n_attributes,), low=0.0)
    amounts = np.asarray(wrapper.noise_, dtype=np.float64)
    require(amounts.ndim <= 2 and amounts.shape[-1:] in ((), (n_attributes,)), "noise_ has another shape")
    is_finite = np.isfinite(amounts).all() and np.isfinite(wrapper.scale_).all()
    require(is_finite and (amounts >= 0).all(), "noise_ or scale_ is negative or infinite")
    shares = wrapper.level_shares_
    require(len(shares) == n_attributes, "level_shares_ are those of other columns")
    for share in shares:
        if share is not None:
            require_numbers("level_shares_", share, (None,), low=0.0)
    if wrapper.flip > 0 and wrapper.encoder_ is not None:
        n_levels = wrapper.encoder_.n_levels.tolist()
        given = [0 if share is None else len(share) for share in shares]
        require(given == n_levels, "level_shares_ are those of other levels")


def _check_trees(wrapper: Any, n_attributes: int) -> None:
    ties = getattr(wrapper, "moved_thresholds_", np.empty((0, 3)))
    require_numbers("moved_thresholds_", ties, (None, 3))
    attributes = ties[:, 0]
    is_known = (attributes >= 0) & (attributes < n_attributes) & (attributes == np.floor(attributes))
    require(is_known.all(), "a moved threshold is of an unknown attribute")
    shrinkage, weights = getattr(wrapper, "shrinkage_", 0.0), getattr(wrapper, "node_weights_", None)
    require(0.0 <= shrinkage < np.inf and (shrinkage == 0.0 or weights is not None), "shrinkage has no weights")
    for node_weights in weights or []:
        require_numbers("node_weights_", node_weights, (None,), low=0.0)
