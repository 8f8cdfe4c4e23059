"""Splits into training and test rows: made, checked and classified.

A split is a pair of arrays of row numbers, those to learn from and those to test on.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import RepeatedKFold, RepeatedStratifiedKFold

from tremula.data.column import show
from tremula.errors import InvalidInput, InvalidParameter, counted
from tremula.folds import Rows, Split, max_folds, no_warning_of_rare_classes, shuffled_folds

FIVE_BY_TWO = "5x2"


def make_splits(cv: Any, X: Any, y: NDArray[Any], groups: Any, stratified: bool, seed: int | None) -> list[Split]:
    """Return the splits that `cv` stands for: a number of folds, "5x2", a splitter, or the splits themselves."""
    if isinstance(cv, str) and cv == FIVE_BY_TWO:
        cv = (RepeatedStratifiedKFold if stratified else RepeatedKFold)(n_splits=2, n_repeats=5, random_state=seed)
    elif isinstance(cv, int | np.integer):
        cv = _folds(int(cv), y, stratified, seed)
    elif isinstance(cv, str | bytes) or not (hasattr(cv, "split") or _is_iterable(cv)):
        raise InvalidParameter(f"cv is {cv!r}: give a number of folds, {FIVE_BY_TWO!r}, a splitter or a list of splits")
    with no_warning_of_rare_classes():  # what matters is whether a class can be learned, which is checked
        given = list(cv.split(X, y, groups) if hasattr(cv, "split") else cv)
    splits = [read_split(number, split, len(y)) for number, split in enumerate(given)]
    if not splits:
        raise InvalidParameter("cv gives no split: give at least one pair of rows to learn from and rows to test on")
    return splits


def _is_iterable(given: Any) -> bool:
    return isinstance(given, Iterable) and getattr(given, "ndim", 1) > 0


def _folds(n_folds: int, y: NDArray[Any], stratified: bool, seed: int | None) -> list[Split]:
    most = max_folds(y, stratified)
    if not 2 <= n_folds <= most:
        limit = f"the largest class has {counted(most, 'row')}" if stratified else f"there are {most} rows"
        raise InvalidParameter(f"cv is {n_folds} folds, but {limit}: give a number from 2 to {most}")
    return shuffled_folds(y, n_folds, seed, stratified)


def _read_rows(rows: Any) -> Rows:
    given = np.asarray(rows)
    if given.ndim != 1:
        raise ValueError(f"rows of {given.ndim} dimensions")
    if given.dtype == bool:
        return np.flatnonzero(given)
    return given.astype(np.intp, casting="same_kind") if len(given) else np.zeros(0, dtype=np.intp)


def read_split(number: int, split: Any, n_rows: int) -> Split:
    """Return training and test rows as indices; training rows may repeat, and masks are converted."""
    try:
        train, test = (_read_rows(rows) for rows in split)
    except (TypeError, ValueError) as error:
        raise InvalidParameter(
            f"split {number} is {type(split).__name__} ({error}): give pairs of row numbers (to learn from, to test on)"
        ) from error
    if not len(train) or not len(test):
        raise InvalidParameter(
            f"split {number} has {counted(len(train), 'row')} to learn from and {len(test)} to test on: both need some"
        )
    if max(train.max(), test.max()) >= n_rows or min(train.min(), test.min()) < 0:
        raise InvalidParameter(f"split {number} names rows outside 0 to {n_rows - 1}: X has {n_rows} rows")
    shared = np.intersect1d(train, test)
    if len(shared):
        raise InvalidParameter(f"split {number} learns from its test row {shared[0]}: take it out of one of the two")
    return train, test


def refuse_missing_classes(splits: Sequence[Split], codes: NDArray[Any], classes: NDArray[Any]) -> None:
    """Raise if a split has no training row of some class, and name the class."""
    for number, (train, _) in enumerate(splits):
        missing = np.flatnonzero(np.bincount(codes[train], minlength=len(classes)) == 0)
        if len(missing):
            count = int((codes == missing[0]).sum())
            raise InvalidInput(
                f"split {number} has no row of class {show(classes[missing].tolist())} to learn from ({count} in all "
                "rows): take stratified or fewer folds, join rare classes, or give allow_missing_classes=True to count "
                "such rows as they fall"
            )


def is_five_by_two(splits: Sequence[Split]) -> bool:
    """Whether there are five pairs of splits whose halves swap training and test rows."""
    if len(splits) != 10:
        return False
    return all(
        np.array_equal(np.sort(train), np.sort(other_test)) and np.array_equal(np.sort(test), np.sort(other_train))
        for (train, test), (other_train, other_test) in zip(splits[::2], splits[1::2])
    )


def tests_each_row_once(splits: Sequence[Split]) -> bool:
    """Whether no row is tested twice, as in one cross-validation or on one test set."""
    tested = np.concatenate([test for _, test in splits])
    return len(np.unique(tested)) == len(tested)
