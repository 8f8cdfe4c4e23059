"""Annotations as checks of stored values: NumPy's alias of arrays has had several forms."""

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from tremula.persistence.hints import fits


@pytest.mark.parametrize(
    ("value", "hint", "expected"),
    [
        (np.zeros(2), npt.NDArray[np.float64], True),
        (np.zeros(2, dtype=np.int64), npt.NDArray[np.float64], False),
        ([0.0, 0.0], npt.NDArray[np.float64], False),
        (np.zeros(2), npt.NDArray[Any], True),
        (None, npt.NDArray[Any] | None, True),
        ([np.zeros(2)], list[npt.NDArray[np.float64]], True),
        ([np.zeros(2), 1.0], list[npt.NDArray[np.float64]], False),
    ],
)
def test_the_alias_of_arrays_is_checked_like_the_array_it_names(value: Any, hint: Any, expected: bool) -> None:
    assert fits(value, hint) == expected
