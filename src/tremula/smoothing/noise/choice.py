"""Chooses the noise of a wrapped model on held-out rows, out-of-bag rows, or folds."""

from __future__ import annotations

from abc import abstractmethod
from functools import partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from tremula.data.take import take_rows
from tremula.data.target import read_weights
from tremula.errors import InvalidInput, InvalidParameter
from tremula.seeds import make_generator
from tremula.smoothing.certificate import most_tests
from tremula.smoothing.noise.amounts import Noise, read_amounts
from tremula.smoothing.noise.descent import descend_from, make_descent
from tremula.smoothing.noise.grid import accept_each, grid_search, try_amount
from tremula.smoothing.noise.out_of_bag import OutOfBagAnswers, count_inbag, out_of_bag_rows
from tremula.smoothing.noise.search import (
    ChosenNoise,
    PooledLoss,
    ValidationRows,
    golden_section,
    search_by_attribute,
)
from tremula.smoothing.noise.validation_rows import Fold, first_member, held_out_rows, make_folds
from tremula.smoothing.trained_model import WrappedModel

Floats = NDArray[np.float64]


def wants_validation(model: Any) -> bool:
    """Whether an estimator prunes itself on the validation rows."""
    return getattr(model, "ccp_alpha", None) == "validation"


def n_rows_of(y: Any) -> int:
    """Return the number of rows of a target."""
    return len(np.asarray(y))


class NoiseChoiceMixin:
    """Chooses the noise of a wrapper when it is fitted."""

    noise: Any
    method: str
    combine: str
    tuning: str
    scoring: str
    search: str
    max_noise: float
    tune_on: str
    per_attribute: bool
    per_tree: bool
    cv: Any
    tol: float
    shrinkage: Any
    n_jobs: int | None

    shrinkage_: float
    classes_: NDArray[Any]
    estimator_: Any
    scale_: Floats
    noise_: float | Floats
    noise_curve_: Floats
    noise_loss_: float
    n_features_in_: int
    _root_seed: int
    _fold_copies: list[tuple[Fold, Any]]
    _is_classifier: ClassVar[bool]

    @property
    @abstractmethod
    def _wrapped(self) -> WrappedModel:
        """Return the wrapped model."""

    @abstractmethod
    def _given(self) -> Any:
        """Return the estimator to wrap, or to clone and train."""

    @abstractmethod
    def _read_target(self, y: Any, n_rows: int) -> NDArray[Any]:
        """Return class codes, -1 for a class that is unknown to the model; or numbers."""

    @abstractmethod
    def _noise_at(self, amounts: float | Floats) -> Noise:
        """Return the noise of given amounts."""

    def _choose_noise(self, X: Any, y: Any, sample_weight: Any, X_val: Any, y_val: Any) -> None:
        for name in ("noise_curve_", "noise_loss_"):
            self.__dict__.pop(name, None)
        if not isinstance(self.noise, str):
            if X_val is not None and not wants_validation(self._given()) and self.shrinkage != "auto":
                raise InvalidParameter(
                    f"X_val and y_val were given, but noise={self.noise!r} is not chosen on them: omit them, or "
                    "set noise='auto'"
                )
            self.noise_ = read_amounts("noise", self.noise, self.n_features_in_, self._n_trees())
            return
        self._check_per_tree()
        loss = PooledLoss(self._validation_rows(X, y, sample_weight, X_val, y_val), self.scoring, self.n_features_in_)
        chosen = self._search_grid(loss) if self.search == "grid" else self._search_golden_section(loss)
        self.noise_, self.noise_curve_, self.noise_loss_ = chosen.amount, chosen.curve, chosen.loss

    def _search_grid(self, loss: PooledLoss) -> ChosenNoise:
        common = grid_search(partial(try_amount, loss), loss.weights, self.max_noise)
        if not self.per_attribute and not self.per_tree:
            return common
        is_free = self._attributes_to_try()
        descent = make_descent(loss, is_free, self.max_noise)
        if descent is not None:
            return descend_from(loss, descent, common, self._n_trees() if self.per_tree else None)
        if self.per_tree:
            raise InvalidParameter(
                f"per_tree=True was given, but the loss of {type(self.estimator_).__name__} has no derivative by the "
                "noise of each tree: it needs a model of trees that is not sampled, and flip=0"
            )
        return accept_each(loss, common, search_by_attribute(loss, common, is_free))

    def _search_golden_section(self, loss: PooledLoss) -> ChosenNoise:
        common = golden_section(loss, self.max_noise)
        return search_by_attribute(loss, common, self._attributes_to_try()) if self.per_attribute else common

    def _check_per_tree(self) -> None:
        for name, other, given in (("tune_on", "tree", self.tune_on), ("search", "golden_section", self.search)):
            if self.per_tree and given == other:
                raise InvalidParameter(
                    f"per_tree=True and {name}={other!r} were given, but an amount for each tree is fitted to the "
                    f"whole model, by descent: use the default of {name}"
                )

    def _n_trees(self) -> int | None:
        """Return the number of trees, or None if the model is not smoothed tree by tree."""
        trees = self._wrapped.trees
        return None if trees is None or self._wrapped.choice.method == "sample" else len(trees.sum.trees)

    def _attributes_to_try(self) -> NDArray[np.bool_]:
        trees = self._wrapped.trees
        return (self.scale_ > 0) & (True if trees is None else most_tests(trees.sum) > 0)

    def _validation_rows(self, X: Any, y: Any, sample_weight: Any, X_val: Any, y_val: Any) -> list[ValidationRows]:
        tuning = self.tuning
        if tuning == "validation" or (tuning == "auto" and X_val is not None):
            if X_val is None:
                raise InvalidParameter("tuning='validation' needs validation rows: give fit X_val and y_val")
            target = self._read_target(y_val, n_rows_of(y_val))
            return [held_out_rows(self._part(self._wrapped), X_val, target, self._noise_at, self.n_jobs)]
        if X is None or y is None:
            raise InvalidInput(
                "noise='auto' needs rows to choose the noise on, as does shrinkage='auto': give fit X_val and y_val, "
                "or the training rows X and y"
            )
        if tuning in ("auto", "oob") and self.method != "sample" and self.combine == "average":
            out_of_bag = self._out_of_bag_rows(X, y, sample_weight)
            if out_of_bag is not None:
                return [out_of_bag]
        if tuning == "oob":
            raise InvalidParameter(
                f"tuning='oob' was given, but {type(self.estimator_).__name__} has no out-of-bag rows, or "
                "the order of its training rows cannot be checked, or its members are not averaged: use "
                "tuning='cv', or give X_val and y_val"
            )
        return self._rows_of_folds(X, y, sample_weight)

    def _part(self, wrapped: WrappedModel) -> WrappedModel:
        return first_member(wrapped) if self.tune_on == "tree" else wrapped

    def _out_of_bag_rows(self, X: Any, y: Any, sample_weight: Any) -> ValidationRows | None:
        inbag = count_inbag(self._wrapped.trees, X, y, sample_weight)
        if inbag is None:
            return None
        part = self._part(self._wrapped)
        assert part.trees is not None
        form = "path" if self.method == "path" else "exact"
        members = inbag[: part.trees.n_members]
        answers = OutOfBagAnswers(part.trees, part.rows(X), members, self._noise_at, form, self.tol, self.n_jobs)
        weights = read_weights(sample_weight, n_rows_of(y))
        return out_of_bag_rows(answers, self._read_target(y, n_rows_of(y)), weights, corrected=self.search == "grid")

    def _rows_of_folds(self, X: Any, y: Any, sample_weight: Any) -> list[ValidationRows]:
        if self.per_tree:
            raise InvalidParameter(
                "per_tree=True was given, but the trees of another fold are not those of the model: give X_val and "
                "y_val, use a bagged model, which has out-of-bag rows, or per_attribute=True"
            )
        target = self._read_target(y, n_rows_of(y))
        weights = read_weights(sample_weight, len(target))
        if not self._fold_copies:
            folds = make_folds(target, self._is_classifier, self.cv, make_generator(self._root_seed))
            self._fold_copies = [(fold, self._trained_copy(X, y, sample_weight, fold)) for fold in folds]
        return [self._rows_of_fold(X, target, weights, fold, copy) for fold, copy in self._fold_copies]

    def _trained_copy(self, X: Any, y: Any, sample_weight: Any, fold: Fold) -> Any:
        """Train on the training rows of a fold, with their scale."""
        copy: Any = self._untrained_copy()
        given = [None if each is None else np.asarray(each)[fold.training] for each in (y, sample_weight)]
        table = take_rows(X, fold.training)
        try:
            copy.fit(table, *given)
        except (ValueError, TypeError) as error:
            raise InvalidInput(
                f"noise='auto' trains copies of {type(self._given()).__name__} on folds, which failed ({error}): give "
                "fit X_val and y_val, or an amount of noise"
            ) from error
        if self.shrinkage != 0.0:
            copy._find_node_weights(table, *given)
        return copy

    def _untrained_copy(self) -> Any:
        """Return a copy of the wrapper that trains its estimator anew."""
        given = self._given()
        if not hasattr(given, "get_params"):
            raise InvalidInput(
                f"noise='auto' trains copies of the model on folds, but a {type(given).__name__} cannot be trained "
                "again: give fit X_val and y_val, or an amount of noise"
            )
        return clone(self).set_params(noise=0.0, shrinkage=0.0, prefit=False, estimator=clone(given))

    def _rows_of_fold(
        self, X: Any, target: NDArray[Any], weights: Floats | None, fold: Fold, copy: Any
    ) -> ValidationRows:
        """Validate the model of a fold on the rows that did not train it."""
        part = self._part(copy._wrapped.with_shrinkage(copy.node_weights_, self.shrinkage_))
        table, fold_target = take_rows(X, fold.validation), target[fold.validation]
        if self._is_classifier:
            place = {label: code for code, label in enumerate(copy.classes_.tolist())}
            codes = np.array([place.get(label, -1) for label in self.classes_.tolist()])
            fold_target = np.where(fold_target >= 0, codes[fold_target], -1)
        fold_weights = None if weights is None else weights[fold.validation]
        return held_out_rows(part, table, fold_target, copy._noise_at, self.n_jobs, fold_weights)
