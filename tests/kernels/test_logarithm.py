"""x log2 x, one at a time and many at once, against the library's logarithm in more digits."""

import numpy as np
import pytest
from tremula._kernels.grow import x_log_x, x_log_x_in_place


def weights(n: int) -> np.ndarray:
    random = np.random.default_rng(n)
    spread = random.exponential(size=n) * 10.0 ** random.integers(-6, 7, size=n)
    return np.concatenate([spread, np.arange(1.0, 50.0), np.sqrt([0.5, 1.0, 2.0]), np.nextafter(1.0, [0.0, 2.0])])


def in_more_digits(x: np.ndarray) -> np.ndarray:
    return np.asarray(x, np.longdouble) * np.log2(np.asarray(x, np.longdouble))


def test_one_at_a_time() -> None:
    x = weights(2000)
    np.testing.assert_allclose([x_log_x(value) for value in x], in_more_digits(x).astype(float), rtol=1e-14, atol=1e-15)


@pytest.mark.parametrize("n", [0, 1, 2, 3, 61, 2000])
def test_many_at_once(n: int) -> None:
    x = weights(n)
    terms = x.copy()
    x_log_x_in_place(terms)
    np.testing.assert_allclose(terms, in_more_digits(x).astype(float), rtol=1e-14, atol=1e-15)


def test_nothing_and_what_rounding_leaves_of_nothing_is_nothing() -> None:
    terms = np.array([0.0, -0.0, 1e-320, -1e-12])
    x_log_x_in_place(terms)
    np.testing.assert_array_equal(terms, 0.0)
