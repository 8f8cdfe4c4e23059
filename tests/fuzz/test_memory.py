"""Fits and predictions give back the memory that they take."""

from __future__ import annotations

import ctypes
from typing import Any

import pytest
from sklearn.base import BaseEstimator

import tremula as tm

from . import memory
from .digests import ESTIMATORS
from .memory import fit_and_predict, growth

pytestmark = pytest.mark.skipif(not memory.CAN_COUNT, reason="the C library does not count memory")
KEPT: list[Any] = []


def lose_memory_of_c() -> None:
    memory.C_LIBRARY.malloc(ctypes.c_size_t(1000))


def keep_a_list() -> None:
    KEPT.append([object() for _ in range(10)])


@pytest.mark.parametrize("leak", [lose_memory_of_c, keep_a_list])
def test_a_leak_is_noticed(leak: Any) -> None:
    assert growth(lambda: bytearray(1000), 100, 10).is_small
    assert not growth(leak, 100, 10).is_small


def test_few_fits_leave_nothing_behind() -> None:
    assert growth(fit_and_predict(tm.RandomForestRegressor), repeats=60, warm_up=10).is_small


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", ESTIMATORS)
def test_fits_and_predictions_leave_nothing_behind(kind: type[BaseEstimator]) -> None:
    grown = growth(fit_and_predict(kind), repeats=80, warm_up=20)
    assert grown.is_small, grown
