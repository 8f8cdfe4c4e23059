"""Losses of rows equal naive twins, and scikit-learn where it has them; every part of tremula uses these."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import log_loss

from tremula.aspen.boosted_corrections import ClassRounds
from tremula.diagnostics.comparison.scoring import OF_PREDICTIONS, OF_PROBABILITIES
from tremula.ensembles.smearing_noise import CLASS_LOSSES
from tremula.lab.comparison.model_pair import compare_classes
from tremula.lab.studies.default.protocol import class_losses
from tremula.losses import (
    MIN_PROBABILITY,
    absolute_errors,
    brier_losses,
    log_losses,
    log_probabilities,
    squared_errors,
    zero_one_losses,
)
from tremula.perturb import Sample
from tremula.smoothing.noise.search import LOSSES
from tremula.trees.columns import read_columns

PROBABILITIES = np.array([[0.7, 0.2, 0.1], [0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.25, 0.25, 0.5]])
CODES = np.array([0, 1, 2, -1])


def naive_log_loss(code: int, probabilities: list[float]) -> float:
    probability = probabilities[code] if code >= 0 else 0.0
    return -math.log(min(max(probability, 2.220446049250313e-16), 1.0))


def naive_brier(code: int, probabilities: list[float]) -> float:
    squares = [(p - (number == code)) ** 2 for number, p in enumerate(probabilities)]
    return sum(squares) + (1.0 if code < 0 else 0.0)


rows = st.lists(
    st.tuples(st.integers(-1, 2), st.lists(st.floats(0.0, 1.0), min_size=3, max_size=3)), min_size=1, max_size=20
)


@given(rows)
def test_losses_of_classes_are_those_of_the_naive_twins(given_rows: list[tuple[int, list[float]]]) -> None:
    codes, shares = np.array([code for code, _ in given_rows]), np.array([each for _, each in given_rows])
    assert log_losses(codes, shares) == pytest.approx([naive_log_loss(*row) for row in given_rows], abs=1e-15)
    assert brier_losses(codes, shares) == pytest.approx([naive_brier(*row) for row in given_rows], abs=1e-15)


def test_log_loss_is_that_of_scikit_learn_floor_included() -> None:
    known = CODES >= 0
    expected = log_loss(CODES[known], PROBABILITIES[known], labels=[0, 1, 2])
    assert log_losses(CODES, PROBABILITIES)[known].mean() == pytest.approx(expected)


def test_no_row_loses_more_than_the_floor_allows() -> None:
    assert log_losses(np.array([1]), np.array([[1.0, 0.0]])) == [-math.log(MIN_PROBABILITY)]
    assert log_probabilities(np.array([0.0, 1.0 + 1e-9])).tolist() == [math.log(MIN_PROBABILITY), 0.0]


def test_losses_of_numbers_and_labels() -> None:
    assert squared_errors(np.array([1.0, -2.0]), np.array([3.0, -2.0])).tolist() == [4.0, 0.0]
    assert absolute_errors(np.array([1.0, -2.0]), np.array([3.0, -2.0])).tolist() == [2.0, 0.0]
    assert zero_one_losses(np.array(["a", "b"]), np.array(["b", "b"])).tolist() == [1.0, 0.0]


# --- who uses them: each once had a log loss of its own ---

NAIVE_LOG_LOSSES = [naive_log_loss(code, row) for code, row in zip(CODES, PROBABILITIES.tolist())]


def test_comparisons_and_smoothing_lose_the_same() -> None:
    known = CODES >= 0
    for losses in (OF_PROBABILITIES["log_loss"], LOSSES["log_loss"]):
        assert losses(CODES[known], PROBABILITIES[known]).tolist() == NAIVE_LOG_LOSSES[:3]
    assert LOSSES["log_loss"](CODES, PROBABILITIES).tolist() == NAIVE_LOG_LOSSES
    assert LOSSES["error"](CODES, PROBABILITIES).tolist() == [0.0, 0.0, 1.0, 1.0]
    assert OF_PREDICTIONS["squared_error"] is squared_errors


def test_pairs_of_models_and_the_study_lose_the_same() -> None:
    change = compare_classes((PROBABILITIES, PROBABILITIES[::-1]), CODES)[1]
    assert change.before == pytest.approx(np.mean(NAIVE_LOG_LOSSES))
    studied = class_losses(PROBABILITIES, np.array(["a", "b", "c"]), np.array(["a", "b", "c", "d"]))
    assert studied["log_loss"] == pytest.approx(np.mean(NAIVE_LOG_LOSSES))
    naive = [naive_brier(code, row) for code, row in zip(CODES, PROBABILITIES.tolist())]
    assert studied["brier"] == pytest.approx(np.mean(naive))
    assert studied["error"] == 0.5


def test_boosted_corrections_lose_the_same() -> None:
    codes, weights = CODES[:3], np.array([1.0, 2.0, 3.0])
    rounds = ClassRounds(read_columns(np.zeros((3, 1)), np.array([0])), Sample(codes, 3, 1, weights), weights)
    with np.errstate(divide="ignore"):
        margins = np.log(PROBABILITIES[:3])
    expected = np.average(NAIVE_LOG_LOSSES[:3], weights=weights)
    assert rounds.loss(margins, np.arange(3)) == pytest.approx(expected)


def test_the_search_for_noise_mixes_an_even_distribution_in() -> None:
    n_members, codes, weights = np.array([1, 3, 4]), CODES[:3], np.array([1.0, 2.0, 3.0])
    mixed = [(PROBABILITIES[row] * n + 1 / 3) / (n + 1) for row, n in enumerate(n_members)]
    expected = np.average([naive_log_loss(code, row.tolist()) for code, row in zip(codes, mixed)], weights=weights)
    assert CLASS_LOSSES["log_loss"](PROBABILITIES[:3], n_members, codes, weights) == pytest.approx(expected)
