"""Measures the speed of tremula and its peers on this machine: they take turns at the same work, in one thread.

Ratios are taken within a round, so that other load on the machine affects both sides; their spread over rounds is
reported. So are the errors: speed alone means little.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import make_classification
from sklearn.ensemble import BaggingClassifier, RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier

import tremula as tm
from tremula.errors import InvalidParameter, did_you_mean
from tremula.lab.forest_peers import OURS, forest_makers

__all__ = ["OURS", "RACES", "Race", "Timing", "choose_races", "make_rows", "measure"]

LEAST_ROUNDS = 3
N_TREES = 10  # of a forest
N_DRAWS = 100
NOISE = 0.1
FOREST_NOTE = (
    "Forests have fully grown trees; LightGBM and XGBoost grow one for each class and member, from histograms."
)


class Rows(NamedTuple):
    """Synthetic training and test rows."""

    X: NDArray[np.float64]
    y: NDArray[np.int64]
    X_test: NDArray[np.float64]
    y_test: NDArray[np.int64]


@dataclass(frozen=True)
class Race:
    """The same work by tremula and by peers.

    Attributes
    ----------
    name : str
    work : str
        Description of the work.
    jobs : mapping of str to callable
        By library, tremula first; each returns a model or its predictions.
    error : callable
        From the return value of a job to its error rate on the test rows.
    note : str
        How the work differs between libraries, if it does.
    left_out : mapping of str to str
        Libraries that are not measured, and why.
    """

    name: str
    work: str
    jobs: Mapping[str, Callable[[], Any]]
    error: Callable[[Any], float]
    note: str = ""
    left_out: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Timing:
    """The time of one library.

    Attributes
    ----------
    race, work, who, note : str
    seconds : float
        Processor time, the best round.
    ratio : float
        Its time divided by tremula's: the median over rounds. Above 1, tremula is faster.
    low, high : float
        The quartiles of the ratio over rounds.
    error : float
        Error rate on the test rows.
    rounds : int
    """

    race: str
    work: str
    who: str
    note: str
    seconds: float
    ratio: float
    low: float
    high: float
    error: float
    rounds: int


def measure(race: Race, seconds: float) -> list[Timing]:
    """Let all libraries take turns for a number of seconds, at least three rounds.

    Examples
    --------
    >>> jobs = {"tremula": lambda: sum(range(10)), "peer": lambda: sum(range(99999))}
    >>> race = Race("sum", "adding numbers", jobs, error=lambda total: 0.0)
    >>> ours, theirs = measure(race, seconds=0.0)
    >>> ours.ratio, theirs.ratio > 1
    (1.0, True)
    """
    last = {who: job() for who, job in race.jobs.items()}  # warm-up, not timed
    errors = {who: race.error(returned) for who, returned in last.items()}
    rounds: list[dict[str, float]] = []
    start = time.perf_counter()
    while len(rounds) < LEAST_ROUNDS or time.perf_counter() - start < seconds:
        rounds.append({who: _seconds(job) for who, job in race.jobs.items()})
    timings = []
    for who in race.jobs:
        low, middle, high = np.quantile([each[who] / each[OURS] for each in rounds], [0.25, 0.5, 0.75]).tolist()
        best = min(each[who] for each in rounds)
        note = "" if who == OURS else race.note
        timings.append(Timing(race.name, race.work, who, note, best, middle, low, high, errors[who], len(rounds)))
    return timings


def _seconds(job: Callable[[], Any]) -> float:
    begin = time.process_time()
    job()
    return max(time.process_time() - begin, 1e-9)


# --- the races ---


def make_rows(n_rows: int, seed: int = 0) -> Rows:
    """Make rows with 20 numbers and 3 classes, half for training and half for testing."""
    X, y = make_classification(
        2 * n_rows, 20, n_informative=10, n_classes=3, n_clusters_per_class=3, flip_y=0.05, random_state=seed
    )
    return Rows(X[:n_rows], y[:n_rows], X[n_rows:], y[n_rows:])


def _wrong(rows: Rows, model: Any) -> float:
    return _share_wrong(rows, model.predict(rows.X_test))


def _share_wrong(rows: Rows, answers: Any) -> float:
    return float(np.mean(np.asarray(answers) != rows.y_test))


def _fit(make: Callable[[], Any], rows: Rows) -> Any:
    return make().fit(rows.X, rows.y)


def tree_race(size: float) -> Race:
    """Grow one tree."""
    rows = make_rows(int(10000 * size))
    makers = {
        OURS: partial(tm.CARTClassifier, criterion="entropy"),
        "scikit-learn": partial(DecisionTreeClassifier, criterion="entropy", random_state=0),
    }
    work = f"one tree of {len(rows.X):,} rows x 20"
    return Race("tree", work, {who: partial(_fit, make, rows) for who, make in makers.items()}, partial(_wrong, rows))


def forest_race(size: float) -> Race:
    """Train a forest."""
    rows = make_rows(int(5000 * size))
    makers, left_out = forest_makers(N_TREES, *rows.X.shape)
    work = f"fit a forest of {N_TREES} trees, {len(rows.X):,} rows x 20"
    jobs = {who: partial(_fit, make, rows) for who, make in makers.items()}
    return Race("forest", work, jobs, partial(_wrong, rows), FOREST_NOTE, left_out)


def predict_race(size: float) -> Race:
    """Predict with trained forests."""
    rows = make_rows(int(5000 * size))
    makers, left_out = forest_makers(N_TREES, *rows.X.shape)
    forests = {who: _fit(make, rows) for who, make in makers.items()}
    jobs = {who: partial(forest.predict, rows.X_test) for who, forest in forests.items()}
    work = f"predict {len(rows.X_test):,} rows by a forest of {N_TREES} trees"
    return Race("predict", work, jobs, lambda answers: _share_wrong(rows, answers), FOREST_NOTE, left_out)


def smoothing_race(size: float) -> Race:
    """Smooth a forest of scikit-learn: exactly, or by the mean prediction over random draws."""
    rows = make_rows(int(2000 * size))
    forest = RandomForestClassifier(20, random_state=0, n_jobs=1).fit(rows.X, rows.y)
    soft = tm.DualPerturbClassifier(forest, noise=NOISE).fit(rows.X)
    asked, spread = rows.X_test[:200], NOISE * rows.X.std(axis=0)

    def by_drawing() -> NDArray[np.float64]:
        random = np.random.default_rng(0)
        noisy = (asked + spread * random.standard_normal(asked.shape) for _ in range(N_DRAWS))
        return np.asarray(np.mean([forest.predict_proba(each) for each in noisy], axis=0))

    jobs: dict[str, Callable[[], Any]] = {OURS: partial(soft.predict_proba, asked), "scikit-learn": by_drawing}
    work = f"a forest of 20 trees smoothed, {len(asked)} rows"
    note = f"scikit-learn averages {N_DRAWS} noisy copies of each row; tremula computes the limit exactly."

    def wrong(shares: NDArray[np.float64]) -> float:
        return float(np.mean(shares.argmax(axis=1) != rows.y_test[: len(asked)]))

    return Race("smoothing", work, jobs, wrong, note)


def counts_race(size: float) -> Race:
    """Bag trees from counts, or from rows."""
    rows = make_rows(int(40000 * size))
    levels = rows._replace(X=_cut(rows.X), X_test=_cut(rows.X_test))
    makers = {
        OURS: partial(tm.SimulatedBaggingClassifier, 20, max_depth=5, categorical_features="all", random_state=0),
        "scikit-learn": partial(BaggingClassifier, DecisionTreeClassifier(max_depth=10), 20, random_state=0),
    }
    work = f"20 bagged trees, {len(rows.X):,} rows x 10 of 4 levels"
    jobs = {who: partial(_fit, make, levels) for who, make in makers.items()}
    note = "tremula sees only counts and splits into all levels; scikit-learn sees the rows and splits in two."
    return Race("counts", work, jobs, partial(_wrong, levels), note)


def _cut(X: NDArray[np.float64]) -> NDArray[np.float64]:
    """Cut the first ten numbers into levels."""
    return np.digitize(X[:, :10], [-1.0, 0.0, 1.0]).astype(np.float64)


RACES: dict[str, Callable[[float], Race]] = {
    "tree": tree_race,
    "forest": forest_race,
    "predict": predict_race,
    "smoothing": smoothing_race,
    "counts": counts_race,
}


def choose_races(names: Sequence[str]) -> list[str]:
    """Return the names of races, all of them if none is given."""
    for name in names:
        if name not in RACES:
            hint = did_you_mean(name, RACES) or ": give some of these"
            raise InvalidParameter(f"no race {name!r} (there are {', '.join(RACES)}){hint}")
    return list(names) or list(RACES)
