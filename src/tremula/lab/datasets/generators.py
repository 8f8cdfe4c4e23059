"""Problems made to measure, whose true answers are known: as many rows as wanted, the same rows for the same seed."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tremula.errors import InvalidParameter
from tremula.lab.datasets.dataset import Dataset
from tremula.lab.datasets.one_machine import CLEARING_SECONDS, MACHINE_RANGES, critical_seconds
from tremula.seeds import make_generator

NORM_ATTRIBUTES = 20
SINE_RANGE, SINE_NOISE = (0.0, 10.0), 0.2
STANDARD_WAVEFORM_NOISE = 19
"""Attributes of noise alone that make of the 21 of a waveform the 40 of its second version."""

MOST_ROWS = 2**40  # more than any memory holds
Floats = NDArray[np.float64]


def _begin(n_rows: int, random_state: Any) -> np.random.Generator:
    if isinstance(n_rows, bool) or not isinstance(n_rows, int | np.integer) or not 1 <= n_rows <= MOST_ROWS:
        raise InvalidParameter(f"n_rows={n_rows!r}: give a whole number from 1 to {MOST_ROWS:,}")
    return make_generator(random_state)


def _numbered(n_attributes: int) -> tuple[str, ...]:
    return tuple(f"x{number}" for number in range(1, n_attributes + 1))


def _dataset(name: str, X: Floats, y: NDArray[Any], task: str = "classification") -> Dataset:
    return Dataset(name, "generated", X, y, task=task, attributes=_numbered(X.shape[1]))


# --- waves ---


def wave_shapes() -> Floats:
    """Return the three triangular waves that `waveform` mixes, one per row."""
    places = np.arange(1, 22)
    return np.asarray(np.maximum(6 - np.abs(places - np.array([[11], [15], [7]])), 0).astype(np.float64))


def waveform(n_rows: int, random_state: Any = None, *, noise_attributes: int = 0) -> Dataset:
    """Draw mixtures of two out of three triangular waves, with noise: the waveform problem of the CART book.

    Class 0 mixes waves 1 and 2, class 1 waves 1 and 3, class 2 waves 2 and 3, in a share drawn evenly from 0 to 1;
    to each of the 21 values normal noise of standard deviation 1 is added. The classes are equally likely. The best
    possible error is about 13 % by our simulation with the true densities; the book says 14 %.

    Parameters
    ----------
    n_rows : int
        How many rows.
    random_state : int, RandomState, Generator or None, default=None
        Decides them.
    noise_attributes : int, default=0
        Further attributes that are noise alone; 19 make the version with 40 attributes.

    Returns
    -------
    Dataset

    References
    ----------
    L. Breiman, J. H. Friedman, R. A. Olshen, C. J. Stone: Classification and Regression Trees. Wadsworth, 1984.

    Examples
    --------
    >>> from tremula.lab.datasets.generators import waveform
    >>> waveform(300, random_state=0).X.shape
    (300, 21)
    """
    random = _begin(n_rows, random_state)
    y = random.integers(3, size=n_rows)
    share = random.random((n_rows, 1))
    waves = wave_shapes()
    first, second = np.array([0, 0, 1])[y], np.array([1, 2, 2])[y]
    clean = share * waves[first] + (1 - share) * waves[second]
    X = np.hstack([clean, np.zeros((n_rows, noise_attributes))])
    return _dataset("waveform", X + random.standard_normal(X.shape), y)


# --- normal distributions in twenty dimensions ---


def two_norm(n_rows: int, random_state: Any = None) -> Dataset:
    """Draw two normal classes side by side, in 20 dimensions.

    Both have unit covariance; class 0 has mean (a, ..., a), class 1 mean (-a, ..., -a), with a = 2/√20. The best
    possible error is 2.3 %.

    Parameters
    ----------
    n_rows : int
        How many rows; each is of either class with probability 1/2.
    random_state : int, RandomState, Generator or None, default=None
        Decides them.

    Returns
    -------
    Dataset

    References
    ----------
    L. Breiman: Bias, variance, and arcing classifiers. Technical report 460, Statistics, Berkeley, 1996.

    Examples
    --------
    >>> from tremula.lab.datasets.generators import two_norm
    >>> bool(two_norm(500, 0).X[0, 0] == two_norm(500, 0).X[0, 0])
    True
    """
    random = _begin(n_rows, random_state)
    y = random.integers(2, size=n_rows)
    means = np.where(y == 0, 1, -1)[:, None] * np.full(NORM_ATTRIBUTES, 2 / np.sqrt(NORM_ATTRIBUTES))
    return _dataset("two-norm", means + random.standard_normal(means.shape), y)


def three_norm(n_rows: int, random_state: Any = None) -> Dataset:
    """Draw one class at two places and another between them, in 20 dimensions.

    All have unit covariance, and a = 2/√20. Class 0 is drawn with equal probability around (a, a, ..., a) and
    (-a, -a, ..., -a), class 1 around (a, -a, a, -a, ..., -a). The best possible error is about 10.5 %.

    Parameters
    ----------
    n_rows : int
        How many rows; each is of either class with probability 1/2.
    random_state : int, RandomState, Generator or None, default=None
        Decides them.

    Returns
    -------
    Dataset

    References
    ----------
    L. Breiman: Bias, variance, and arcing classifiers. Technical report 460, Statistics, Berkeley, 1996.
    """
    random = _begin(n_rows, random_state)
    y = random.integers(2, size=n_rows)
    a = 2 / np.sqrt(NORM_ATTRIBUTES)
    sides = random.choice([-1, 1], size=(n_rows, 1)) * np.full(NORM_ATTRIBUTES, a)
    between = a * (-1.0) ** np.arange(NORM_ATTRIBUTES)
    means = np.where(y[:, None] == 0, sides, between)
    return _dataset("three-norm", means + random.standard_normal(means.shape), y)


def ring_norm(n_rows: int, random_state: Any = None) -> Dataset:
    """Draw a wide normal class around a narrow one, in 20 dimensions.

    Class 0 has mean 0 and covariance 4 I, class 1 mean (a, ..., a) with a = 2/√20 and covariance I. The best
    possible error is 1.3 % by simulation; with a = 1/√20, which is found too, it would be 1.5 %.

    Parameters
    ----------
    n_rows : int
        How many rows; each is of either class with probability 1/2.
    random_state : int, RandomState, Generator or None, default=None
        Decides them.

    Returns
    -------
    Dataset

    References
    ----------
    L. Breiman: Bias, variance, and arcing classifiers. Technical report 460, Statistics, Berkeley, 1996.
    """
    random = _begin(n_rows, random_state)
    y = random.integers(2, size=n_rows)[:, None]
    spread, mean = np.where(y == 0, 2, 1), np.where(y == 0, 0, 2 / np.sqrt(NORM_ATTRIBUTES))
    return _dataset("ring-norm", mean + spread * random.standard_normal((n_rows, NORM_ATTRIBUTES)), y.ravel())


# --- in two dimensions and in one ---


def diagonal_square(n_rows: int, random_state: Any = None) -> Dataset:
    """Draw two classes on the two sides of a square's diagonal, in place of the 2-D problem of Geurts (2001).

    The paper shows its problem in a figure and does not define it. What it says of it holds here too: two
    attributes, two classes without noise, as many rows of the one as of the other (one more where `n_rows` is odd).
    Points lie evenly in the square from -1 to 1, and the class is 1 where the sum of the attributes is positive.

    Parameters
    ----------
    n_rows : int
        How many rows.
    random_state : int, RandomState, Generator or None, default=None
        Decides them.

    Returns
    -------
    Dataset

    References
    ----------
    P. Geurts: Dual perturb and combine algorithm. AISTATS 2001, figures 2 to 4.
    """
    random = _begin(n_rows, random_state)
    y = random.permutation(np.arange(n_rows) % 2)
    X = random.uniform(-1, 1, (n_rows, 2))
    wrong = (X.sum(axis=1) > 0) != (y == 1)
    X[wrong] = -X[wrong, ::-1]  # the point on the other side of the diagonal
    return _dataset("diagonal square", X, y)


def sine_value(x: Floats) -> Floats:
    """Return x + 2 sin(1.5 x), to which `sine_points` adds noise."""
    return np.asarray(x + 2 * np.sin(1.5 * x))


def sine_points(n_rows: int, random_state: Any = None) -> Dataset:
    """Draw points on a rising wave: the regression example of Ruozzi's lecture on variance reduction, 20 of them there.

    The target is x + 2 sin(1.5 x) with normal noise. The slides write the noise N(0, 0.2), read here as a standard
    deviation of 0.2, and do not give the range of x; here x is drawn evenly from 0 to 10.

    Parameters
    ----------
    n_rows : int
        How many points.
    random_state : int, RandomState, Generator or None, default=None
        Decides them.

    Returns
    -------
    Dataset

    Examples
    --------
    >>> from tremula.lab.datasets.generators import sine_points
    >>> points = sine_points(20, random_state=0)
    >>> points.task, points.X.shape
    ('regression', (20, 1))
    """
    random = _begin(n_rows, random_state)
    X = random.uniform(*SINE_RANGE, (n_rows, 1))
    return _dataset("sine", X, sine_value(X[:, 0]) + random.normal(0, SINE_NOISE, n_rows), "regression")


# --- a power station ---


def one_machine_proxy(n_rows: int, random_state: Any = None) -> Dataset:
    """Draw states of a generator that does or does not keep its step after a short circuit: our proxy for Omib.

    One machine feeds a strong grid over one line. Six quantities of its state are drawn evenly from the ranges of
    `MACHINE_RANGES` (powers in MW and Mvar, the rest relative). The class is "unstable" where a fault of 0.235
    seconds is longer than the machine can bear by the equal-area criterion: about half of the states.

    The Omib database of Geurts (2001) is not public. This proxy has its six attributes and about its difficulty,
    but it is not that database: error rates on the two cannot be set side by side.

    Parameters
    ----------
    n_rows : int
        How many states.
    random_state : int, RandomState, Generator or None, default=None
        Decides them.

    Returns
    -------
    Dataset
    """
    random = _begin(n_rows, random_state)
    low, high = np.array(list(MACHINE_RANGES.values())).T
    X = random.uniform(low, high, (n_rows, len(MACHINE_RANGES)))
    y = np.where(critical_seconds(X) < CLEARING_SECONDS, "unstable", "stable")
    return Dataset("one-machine proxy", "generated", X, y, attributes=tuple(MACHINE_RANGES))


GENERATORS: dict[str, Callable[..., Dataset]] = {
    "waveform": waveform,
    "two-norm": two_norm,
    "three-norm": three_norm,
    "ring-norm": ring_norm,
    "diagonal square": diagonal_square,
    "sine": sine_points,
    "one-machine proxy": one_machine_proxy,
}
