"""Class noise added on purpose, and the weights that boosting gives to noisy rows.

Exactly the rows of the returned mask change, and each of them to a class it did not have.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import floor
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from tremula.data.column import show
from tremula.data.target import read_classes, read_further_classes
from tremula.display import ShortTable, ShownAsTable
from tremula.errors import InvalidInput, InvalidParameter, InvalidTarget
from tremula.parameters import check_number
from tremula.seeds import RandomState, make_generator

A_HALF_AND_ROUNDING = 0.5 + 1e-9  # 0.285 * 100 is 28.499999999999996, but was meant as 28.5


def count_noisy_rows(n_rows: int, rate: float) -> int:
    """Return the number of rows that change class: `rate` times `n_rows`, rounded half up.

    Examples
    --------
    >>> count_noisy_rows(2800, 0.2), count_noisy_rows(10, 0.25), count_noisy_rows(10, 0.24)
    (560, 3, 2)
    """
    return floor(n_rows * rate + A_HALF_AND_ROUNDING)


def draw_shifts(n_rows: int, n_classes: int, rate: float, random: np.random.Generator) -> np.ndarray:
    """Return by how many classes the label of each row shifts, 0 if it stays; all wrong classes are equally likely."""
    shifts = np.zeros(n_rows, dtype=np.int64)
    chosen = random.choice(n_rows, size=count_noisy_rows(n_rows, rate), replace=False)
    shifts[chosen] = random.integers(1, n_classes, size=len(chosen))
    return shifts


def _count_rows(y: Any) -> int:
    if y is None or not hasattr(y, "__len__") or getattr(y, "ndim", 1) == 0:
        raise InvalidTarget(f"y={y!r} was given; expected class labels, one for each row")
    if len(y) == 0:
        raise InvalidTarget("y has no labels; expected those of at least two rows, of different classes")
    return len(y)


def add_class_noise(y: Any, rate: float, *, random_state: RandomState = None) -> tuple[np.ndarray, np.ndarray]:
    """Give a fraction of the rows a wrong class, drawn uniformly from the other classes of `y`.

    Parameters
    ----------
    y : array-like of shape (n_rows,)
        Class labels of any type, of two classes or more.
    rate : float
        Share of the rows that change class, from 0 to 1. Exactly ``rate * n_rows`` rows change, rounded to the nearest
        whole number, halves up; they are drawn without replacement.
    random_state : int, RandomState, Generator or None, default=None
        Draws the rows and their new classes.

    Returns
    -------
    noisy : ndarray of shape (n_rows,)
        The labels with noise, of the type of `y`.
    mask : ndarray of bool, of shape (n_rows,)
        The rows whose class is now wrong.

    Examples
    --------
    >>> from tremula.diagnostics import add_class_noise
    >>> noisy, mask = add_class_noise(["no", "no", "yes", "yes", "yes"], 0.4, random_state=0)
    >>> noisy, mask
    (array(['no', 'no', 'yes', 'no', 'no'], dtype='<U3'), array([False, False, False,  True,  True]))
    """
    noise = ClassNoise(rate, random_state=random_state)
    noisy = noise.fit_transform(y)
    return noisy, noise.mask_


class ClassNoise(TransformerMixin, BaseEstimator):
    """Class noise as a transformer of `y`: `fit` draws the rows and their wrong classes, `transform` applies them.

    Parameters
    ----------
    rate : float, default=0.2
        Share of the rows that change class; see `add_class_noise`.
    random_state : int, RandomState, Generator or None, default=None
        Draws the rows and their new classes, in `fit`.

    Attributes
    ----------
    mask_ : ndarray of bool, of shape (n_rows,)
        The rows that get a wrong class.
    classes_ : ndarray
        The class labels, sorted.

    Examples
    --------
    >>> from tremula.diagnostics import ClassNoise
    >>> noise = ClassNoise(0.5, random_state=1)
    >>> noisy = noise.fit_transform(["a", "b", "c", "a"])
    >>> noisy, noise.mask_
    (array(['a', 'a', 'a', 'a'], dtype='<U1'), array([False,  True,  True, False]))
    >>> noise.inverse_transform(noisy)
    array(['a', 'b', 'c', 'a'], dtype='<U1')
    """

    def __init__(self, rate: float = 0.2, *, random_state: RandomState = None) -> None:
        self.rate = rate
        self.random_state = random_state

    def fit(self, y: Any, _: Any = None) -> ClassNoise:
        """Learn the classes, and draw the rows to change and their new classes."""
        check_number("rate", self.rate, 0.0, 1.0)
        self.classes_, codes = read_classes(y, _count_rows(y))
        self._shifts = draw_shifts(len(codes), len(self.classes_), self.rate, make_generator(self.random_state))
        self.mask_ = self._shifts > 0
        return self

    def transform(self, y: Any) -> np.ndarray:
        """Return the labels of the rows of `fit` with the noise added."""
        return self._move(y, 1)

    def inverse_transform(self, y: Any) -> np.ndarray:
        """Return the labels that `transform` was given."""
        return self._move(y, -1)

    def _move(self, y: Any, direction: int) -> np.ndarray:
        check_is_fitted(self)
        n_rows = _count_rows(y)
        if n_rows != len(self.mask_):
            raise InvalidTarget(
                f"y has {n_rows} values, but fit drew noise for {len(self.mask_)} rows: transform the same rows, "
                "or fit a ClassNoise of their own for others"
            )
        known = np.arange(len(self.classes_), dtype=np.int32)
        union, _, codes = read_further_classes(y, n_rows, self.classes_, known)
        if len(union) > len(self.classes_):
            unknown = sorted(set(union.tolist()) - set(self.classes_.tolist()))
            raise InvalidTarget(
                f"y holds {show(unknown)}, but the classes of fit are {show(self.classes_.tolist())}: fit again"
            )
        return np.asarray(self.classes_[(codes + direction * self._shifts) % len(self.classes_)])


@dataclass(frozen=True, repr=False)
class WeightTrace(ShownAsTable):
    """Mean weights of rows with wrong and with right labels, round by round.

    Attributes
    ----------
    corrupted : ndarray of shape (n_rounds,)
        Mean weight of the rows with a wrong label, relative to the mean weight of all rows.
    clean : ndarray of shape (n_rounds,)
        The same for the other rows.
    n_corrupted : int
        Number of rows with a wrong label.
    """

    corrupted: np.ndarray
    clean: np.ndarray
    n_corrupted: int

    def _short_table(self) -> ShortTable:
        rounds = np.unique(np.linspace(0, len(self.corrupted) - 1, 10).astype(int))
        rows = [(str(number + 1), f"{self.corrupted[number]:.2f}", f"{self.clean[number]:.2f}") for number in rounds]
        caption = f"mean weights in units of a fair share; {self.n_corrupted} rows have a wrong label"
        return ShortTable(caption, ["round", "wrong label", "right label"], rows)

    def __str__(self) -> str:
        last = len(self.corrupted)
        return (
            f"{self.n_corrupted} corrupted rows weigh {self.corrupted[-1]:.2f} times a fair share in round {last}, "
            f"the others {self.clean[-1]:.2f} times"
        )


def weight_trace(model: Any, mask: Any) -> WeightTrace:
    """Trace the weights of noisy rows over the rounds of boosting.

    Parameters
    ----------
    model : AdaBoostM1Classifier
        Fitted with ``keep_weights=True``; or anything fitted whose `row_weights_` are of shape (n_rounds, n_rows).
    mask : array-like of bool, of shape (n_rows,)
        The rows with a wrong label, as `add_class_noise` gives them.

    Returns
    -------
    WeightTrace

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tremula import AdaBoostM1Classifier, C45Classifier
    >>> from tremula.diagnostics import add_class_noise, weight_trace
    >>> X, y = load_iris(return_X_y=True)
    >>> noisy, mask = add_class_noise(y, 0.1, random_state=0)
    >>> model = AdaBoostM1Classifier(C45Classifier(max_depth=3), n_estimators=3, keep_weights=True).fit(X, noisy)
    >>> weight_trace(model, mask).corrupted.round(1)
    array([1. , 3.9, 4.1])
    """
    weights = _kept_weights(model)
    try:
        corrupted = np.asarray(mask)
    except ValueError as error:
        raise InvalidInput(f"mask is no list of True and False: give one for each row ({error})") from error
    if corrupted.dtype.kind != "b" or corrupted.shape != weights.shape[1:]:
        raise InvalidInput(
            f"mask has type {corrupted.dtype} and shape {corrupted.shape}, but the model was fitted to "
            f"{weights.shape[1]} rows: give True or False for each, as add_class_noise returns them"
        )
    if corrupted.all() or not corrupted.any():
        raise InvalidInput(
            f"mask marks {corrupted.sum()} of {len(corrupted)} rows: some rows of each kind are needed to compare them"
        )
    shares = weights * (weights.shape[1] / weights.sum(axis=1, keepdims=True))
    means = shares[:, corrupted].mean(axis=1), shares[:, ~corrupted].mean(axis=1)
    return WeightTrace(*means, n_corrupted=int(corrupted.sum()))


def _kept_weights(model: Any) -> np.ndarray:
    weights = getattr(model, "row_weights_", None)
    if weights is None:
        raise InvalidParameter(
            f"{type(model).__name__} has no row_weights_: give an AdaBoostM1Classifier that was fitted with "
            "keep_weights=True"
        )
    return np.asarray(weights, dtype=np.float64)
