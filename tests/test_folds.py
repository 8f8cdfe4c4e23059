"""Folds keep the shares of classes; every part of tremula that cuts rows gets the same ones as a naive twin."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.model_selection import KFold, StratifiedKFold

from tremula.aspen.boosted_corrections import N_PARTS, STREAM, make_parts
from tremula.ensembles.smearing_noise import FOLDS, make_folds
from tremula.folds import max_folds, shuffled_folds, stratified_order, stratified_parts
from tremula.perturb import DisjointParts, Sample
from tremula.perturb.sample import Draw
from tremula.smoothing.noise.validation_rows import make_folds as make_tuning_folds

CLASSES = np.array([2, 0, 1, 1, 0, 2, 2, 0, 1, 1, 1, 0, 2])


def naive_parts(rows: list[int], classes: Any, n_parts: int, random: np.random.Generator) -> list[list[int]]:
    """Deal the shuffled rows of one class after the other, like cards."""
    shuffled = [int(row) for row in random.permutation(rows)]
    strata = sorted({classes[row] for row in rows}) if classes is not None else [None]
    dealt = [row for each in strata for row in shuffled if classes is None or classes[row] == each]
    parts: list[list[int]] = [[] for _ in range(n_parts)]
    for place, row in enumerate(dealt):
        parts[place % n_parts].append(row)
    return parts


@given(
    classes=st.lists(st.integers(0, 3), min_size=1, max_size=30),
    n_parts=st.integers(1, 8),
    seed=st.integers(0, 1000),
    is_stratified=st.booleans(),
)
def test_parts_are_those_of_the_naive_twin(classes: list[int], n_parts: int, seed: int, is_stratified: bool) -> None:
    rows, strata = np.arange(len(classes))[::2], np.array(classes) if is_stratified else None
    parts = stratified_parts(rows, strata, n_parts, np.random.default_rng(seed))
    expected = naive_parts(rows.tolist(), strata, n_parts, np.random.default_rng(seed))
    assert [part.tolist() for part in parts] == expected


def test_the_order_has_the_rows_of_a_class_together() -> None:
    order = stratified_order(np.arange(13), CLASSES, np.random.default_rng(0))
    assert CLASSES[order].tolist() == sorted(CLASSES)
    assert sorted(order) == list(range(13))


@pytest.mark.parametrize("n_classes", [3, 0])
def test_estimators_cut_rows_as_the_naive_twin(n_classes: int) -> None:
    target = CLASSES if n_classes else CLASSES.astype(float)
    sample, classes = Sample(target, n_classes, 1), CLASSES if n_classes else None

    def stream(*spawn_key: int) -> np.random.Generator:
        return np.random.default_rng(np.random.SeedSequence(5, spawn_key=spawn_key))

    expected = naive_parts(list(range(13)), classes, N_PARTS, stream(0, STREAM))
    assert [part.tolist() for part in make_parts(sample, np.arange(13), 5)] == [sorted(part) for part in expected]
    expected = naive_parts(list(range(13)), classes, 3, stream(*FOLDS))
    assert [fold.tolist() for fold in make_folds(sample, 3, 5)] == [sorted(part) for part in expected]
    draw = Draw(1, 4, stream(1), 5)
    part = naive_parts(list(range(13)), classes, 4, draw.shared())[1]
    assert np.flatnonzero(DisjointParts().apply(sample, draw).weights).tolist() == sorted(part)


def test_noise_is_tuned_on_the_folds_of_the_naive_twin() -> None:
    folds = make_tuning_folds(CLASSES, True, 4, np.random.default_rng(3))
    expected = naive_parts(list(range(13)), CLASSES, 4, np.random.default_rng(3))
    assert [fold.validation.tolist() for fold in folds] == [sorted(part) for part in expected]
    assert all(sorted([*fold.training, *fold.validation]) == list(range(13)) for fold in folds)


@pytest.mark.parametrize("stratified", [True, False])
def test_shuffled_folds_are_those_of_scikit_learn(stratified: bool) -> None:
    splitter = (StratifiedKFold if stratified else KFold)(3, shuffle=True, random_state=7)
    expected = splitter.split(np.zeros((13, 2)), CLASSES)
    for fold, other in zip(shuffled_folds(CLASSES, 3, 7, stratified), expected, strict=True):
        assert [rows.tolist() for rows in fold] == [rows.tolist() for rows in other]


def test_folds_test_every_row_once_and_keep_the_shares_of_classes() -> None:
    y = np.array(["a"] * 20 + ["b"] * 10)
    folds = shuffled_folds(y, 10, seed=1)
    assert sorted(np.concatenate([test for _, test in folds])) == list(range(30))
    assert {tuple(sorted(y[test])) for _, test in folds} == {("a", "a", "b")}


def test_folds_allow_a_class_with_fewer_rows_than_folds() -> None:
    assert len(shuffled_folds(["a"] * 10 + ["b"] * 2, 5, seed=0)) == 5


def test_the_largest_class_limits_stratified_folds() -> None:
    assert max_folds(CLASSES, stratified=True) == 5
    assert max_folds(CLASSES, stratified=False) == 13
    with pytest.raises(ValueError, match="n_splits"):
        shuffled_folds(CLASSES, 6, 0)
