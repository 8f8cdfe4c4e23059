"""Extreme tables: every public estimator answers them, or says clearly why not; `extreme_tables` has the cases."""

from __future__ import annotations

import os
import resource
import threading
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, clone, is_classifier

import tremula as tm
from tremula.data.target import LEAST_RANGE, largest_target, least_range
from tremula.errors import InvalidTarget, InvalidWeights, ManyLevelsWarning, TreeTooLarge, TremulaError

from .extreme_tables import CASES, Case, many_classes, many_levels

PUBLIC = [getattr(tm, name) for name in tm.__all__]
ESTIMATORS = [kind for kind in PUBLIC if isinstance(kind, type) and issubclass(kind, BaseEstimator)]
FAST = {"C45Classifier", "CARTRegressor", "M5Regressor", "RandomForestClassifier"}
FEW_CASES = ("no rows", "one row", "two rows", "weights of 0", "weights of 1e-300", "weights of 1e300", "300 classes")
SHALLOW_CLASSIFIERS = {"C45Classifier", "CARTClassifier", "REPTreeClassifier", "RandomForestClassifier"}
OVERFLOWING = {"huge when asked"}  # a linear model of a number of 1e308 may be infinite
NOT_TAKEN = "sample_weight"  # by learners from counts


def small(kind: type[BaseEstimator]) -> Any:
    model = kind()
    wanted = {"n_estimators": 3, "random_state": 0}
    return model.set_params(**{name: value for name, value in wanted.items() if name in model.get_params()})


def answer(model: Any, case: Case) -> np.ndarray:
    weights = {} if case.weights is None else {"sample_weight": case.weights}
    model.fit(case.X, case.classes if is_classifier(model) else case.numbers, **weights)
    asked = case.X if case.asked is None else case.asked
    return model.predict_proba(asked) if is_classifier(model) else model.predict(asked)


def check(kind: type[BaseEstimator], name: str) -> bool:
    return check_case(kind, CASES[name](), name)


def check_case(kind: type[BaseEstimator], case: Case, name: str, **parameters: Any) -> bool:
    """Whether a case is answered; an error must be one of tremula's, an answer finite, a warning tremula's too."""
    model = small(kind).set_params(**parameters)
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        warnings.simplefilter("ignore", UserWarning)
        warnings.simplefilter("ignore", FutureWarning)
        try:
            answers = answer(model, case)
        except TremulaError:
            return False
        except TypeError as error:
            if NOT_TAKEN not in str(error):
                raise
            return False
    assert name in OVERFLOWING or np.isfinite(answers).all(), name
    assert not is_classifier(model) or np.allclose(answers.sum(axis=1), 1.0), name
    return True


def parameters() -> list[Any]:
    return [
        pytest.param(kind, id=kind.__name__, marks=() if kind.__name__ in FAST else pytest.mark.slow)
        for kind in ESTIMATORS
    ]


@pytest.mark.parametrize("kind", parameters())
def test_extreme_tables_are_answered_or_refused(kind: type[BaseEstimator]) -> None:
    answered = [name for name in CASES if check(kind, name)]
    assert len(answered) > (0 if kind is tm.ID3Classifier else 20)  # most cases have numbers, which ID3 refuses


@pytest.mark.parametrize("kind", [kind for kind in ESTIMATORS if kind.__name__ not in FAST])
def test_fewest_rows_extreme_weights_and_many_classes_are_answered_or_refused(kind: type[BaseEstimator]) -> None:
    """The cases that every estimator gets by default; all cases are slow."""
    answered = {name for name in FEW_CASES if check(kind, name)}
    assert "no rows" not in answered
    assert not {"weights of 1e-300", "weights of 1e300"} & answered
    assert "300 classes" in answered or kind is tm.ID3Classifier


# --- more levels and classes than 16 bits hold, in a process with little memory ---


def address_space() -> int:
    """Return the bytes that this process has mapped."""
    return int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()


def outcome_in_fork(work: Callable[[], bool], gibibytes: int, seconds: int) -> str:
    """Return "answered" or "refused", or what went wrong; `work` may take so much more memory and processor time."""
    reader, writer = os.pipe()
    limit = address_space() + gibibytes * 2**30  # earlier tests of this process hold memory too
    child = os.fork()
    if child == 0:
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
        try:
            outcome = "answered" if work() else "refused"
        except BaseException as error:
            outcome = f"{type(error).__name__}: {error}"
        os.write(writer, outcome.encode())
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as pipe:
        outcome = pipe.read()
    status = os.waitpid(child, 0)[1]
    return outcome or f"ended by signal {status}"


@pytest.mark.parametrize("kind", [tm.C45Classifier, tm.CARTClassifier, tm.REPTreeRegressor, tm.M5Regressor])
def test_a_hundred_thousand_levels(kind: type[BaseEstimator]) -> None:
    assert check_case(kind, many_levels(), "levels")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
@pytest.mark.parametrize("kind", ESTIMATORS)
def test_a_hundred_thousand_levels_are_answered_or_refused(kind: type[BaseEstimator]) -> None:
    outcome = outcome_in_fork(lambda: check_case(kind, many_levels(), "levels"), gibibytes=5, seconds=120)
    assert outcome in ("answered", "refused")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
@pytest.mark.parametrize("kind", [kind for kind in ESTIMATORS if kind.__name__ in SHALLOW_CLASSIFIERS])
def test_seventy_thousand_classes(kind: type[BaseEstimator]) -> None:
    """With few leaves: each has a number for each class."""
    outcome = outcome_in_fork(lambda: check_case(kind, many_classes(), "classes", max_depth=2), 5, 120)
    assert outcome == "answered"


@pytest.mark.parametrize("kind", [tm.CARTRegressor, tm.RandomForestRegressor])
def test_a_tree_without_memory_says_what_to_do(kind: type[BaseEstimator], monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any) -> None:
        raise MemoryError("growing a tree")

    monkeypatch.setattr("tremula.trees.growing_sorted._grow", fail)
    monkeypatch.setattr("tremula.trees.growing_coded._grow_coded", fail)
    X = pd.DataFrame({"word": ["a", "b"] * 10})
    with pytest.raises(TreeTooLarge, match=r"an attribute with 2 levels.*set max_depth"):
        small(kind).fit(X, np.arange(20.0))


# --- what was found ---


def test_means_of_the_largest_numbers_do_not_overflow() -> None:
    """The overflow made a missing value of a replaced one, and the interpreter crashed."""
    x = np.array([1.7e308, -1.7e308, np.nan, 1.0] * 10)
    model = tm.M5Regressor().fit(x[:, None], np.arange(40.0))
    assert np.isfinite(model.predict(x[:, None])).all()


def test_models_of_large_numbers_are_those_of_small_ones() -> None:
    random = np.random.default_rng(0)
    X = random.normal(size=(80, 3))
    y = X @ [1.0, 2.0, 0.0] + np.where(X[:, 2] > 0, 5.0, 0.0) * X[:, 0]
    small_model, large = tm.M5Regressor().fit(X, y), tm.M5Regressor().fit(X * 2.0**1000, y)
    assert len(small_model.tree_.models) > 1
    assert (large.predict(X * 2.0**1000) == small_model.predict(X)).all()


@pytest.mark.parametrize("scale", [largest_target(30) / 28.9, 1e300, LEAST_RANGE / 29.1, 1e-310])
@pytest.mark.parametrize("kind", [tm.CARTRegressor, tm.REPTreeRegressor, tm.BaggingRegressor, tm.AspenRegressor])
def test_numbers_whose_squares_are_none_are_refused(kind: type, scale: float) -> None:
    X = np.arange(30.0)[:, None]
    with pytest.raises(InvalidTarget, match=r"y.*(divide|multiply) y by a constant"):
        small(kind).fit(X, X[:, 0] * scale)


def at_a_limit(y: np.ndarray, weights: np.ndarray | None, border: str) -> tuple[np.ndarray, float]:
    """Return a target near 1 and a power of two; their product lies at the limit to the last digit."""
    if border == "small unit":
        return y, 2.0**-60
    limit = largest_target(len(y), weights) if border == "largest" else least_range(weights)
    size = np.abs(y).max() if border == "largest" else y.max() - y.min()
    factor = 2.0 ** np.frexp(limit)[1]
    y = y * (limit / factor / size)
    slightly_in = 1 - 1e-15 if border == "largest" else 1 + 1e-15
    return y * slightly_in, factor


def halves() -> tuple[np.ndarray, np.ndarray]:
    """A target whose sums over branches are as large as those of any target."""
    X = np.random.default_rng(0).normal(size=(200, 3))
    return X, np.where(X[:, 0] > 0, 1.0, -1.0) * (1 - 0.01 * (X[:, 1] > 0))


def curve() -> tuple[np.ndarray, np.ndarray]:
    """A target that has its largest and smallest number several times, so that folds have the same range."""
    random = np.random.default_rng(1)
    X = random.normal(size=(80, 3))
    return X, np.clip(X[:, 0] ** 2 + X @ [1.0, 2.0, 0.0] + 0.5 * random.normal(size=80), -1.5, 4.0)


REGRESSORS = {kind.__name__: small(kind) for kind in ESTIMATORS if kind.__name__.endswith("Regressor")}
REGRESSORS |= {
    "cross-validated": tm.CARTRegressor(ccp_alpha="cv", cv=3, random_state=0),
    "out-of-bag": tm.BaggingRegressor(tm.M5Regressor(), n_estimators=8, oob_score=True, random_state=0),
}


def has_equal_answers(model: Any, rows: tuple[np.ndarray, np.ndarray], border: str, weights: Any = None) -> bool:
    """Whether a target at a limit has the answers of one near 1, without any overflow."""
    X, y = rows
    y, factor = at_a_limit(y, weights, border)
    given = {} if weights is None else {"sample_weight": weights}
    plain = clone(model).fit(X, y, **given).predict(X)
    assert len(np.unique(plain)) > 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        scaled = clone(model).fit(X, y * factor, **given).predict(X)
    return bool((scaled == plain * factor).all())


@pytest.mark.parametrize("border", ["largest", "least", "small unit"])
@pytest.mark.parametrize("model", REGRESSORS.values(), ids=REGRESSORS)
def test_the_unit_of_the_target_does_not_matter(model: Any, border: str) -> None:
    assert has_equal_answers(model, curve(), border)
    assert has_equal_answers(model, halves(), border)


@pytest.mark.parametrize("weight", [1e-30, 1e30])
@pytest.mark.parametrize("border", ["largest", "least"])
@pytest.mark.parametrize("kind", [tm.CARTRegressor, tm.RandomForestRegressor, tm.AspenRegressor])
def test_nor_does_it_with_extreme_weights(kind: type, border: str, weight: float) -> None:
    X, y = halves()
    weights = weight * np.append(1.0, np.random.default_rng(0).uniform(0.5, 1.0, len(y) - 1))
    assert has_equal_answers(small(kind), (X, y), border, weights)


@pytest.mark.parametrize("weight", [1e31, 1e300, 1e-31, 1e-300])
@pytest.mark.parametrize("kind", [tm.C45Classifier, tm.RandomForestClassifier, tm.CARTRegressor])
def test_weights_whose_squares_are_none_are_refused(kind: type, weight: float) -> None:
    X = np.arange(30.0)[:, None]
    with pytest.raises(InvalidWeights, match="multiply all weights by a constant"):
        small(kind).fit(X, np.arange(30) % 2, sample_weight=np.full(30, weight))


def test_many_levels_become_one_number_in_m5() -> None:
    codes = np.random.default_rng(0).integers(2000, size=6000)
    frame = pd.DataFrame({"word": pd.Categorical([f"w{code}" for code in codes]), "x": np.arange(6000.0)})
    target = np.sin(codes) + 0.001 * frame["x"].to_numpy()
    with pytest.warns(ManyLevelsWarning, match="word has 1[0-9]{3} levels, too many for a term each"):
        model = tm.M5Regressor().fit(frame, target)
    assert model.tree_.terms.n_terms == 2
    assert model.score(frame, target) > 0.9
    assert "[place of word]" in model.export_text()
    assert (model.predict(frame[:100]) == model.predict(frame)[:100]).all()


@pytest.mark.parametrize("kind", [tm.CARTClassifier, tm.C45Classifier, tm.ExtraTreesRegressor, tm.M5Regressor])
def test_rows_that_another_thread_changes_do_no_harm(kind: type) -> None:
    """What is learned is then worth nothing, but no memory is read or written that is not the rows'."""
    draw, stop = np.random.default_rng(0), threading.Event()
    X = draw.normal(size=(2000, 3))
    target, versions = X[:, 0] > 0 if "Classifier" in kind.__name__ else X[:, 0], [X.copy(), np.round(X)]

    def change() -> None:
        while not stop.wait(2e-4):
            X[:] = versions[0]
            versions.reverse()

    thread = threading.Thread(target=change)
    thread.start()
    try:
        for _ in range(10):
            assert len(small(kind).fit(X, target).predict(X)) == len(X)
    finally:
        stop.set()
        thread.join()


@pytest.mark.slow
def test_more_rows_than_float32_can_count() -> None:
    n_rows = 2**24 + 3
    column = np.zeros(n_rows, np.float32)
    column[-2:] = 1.0
    tree = tm.CARTClassifier(max_depth=1, min_samples_leaf=2).fit(column[:, None], column > 0).tree_
    assert tree.nodes["weight"].tolist() == [n_rows, n_rows - 2, 2]
    assert tree.nodes["threshold"][0] == 0.5
