"""Training that is broken off leaves the model as it was, and nothing running."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.tree import DecisionTreeClassifier

import tremula as tm
from tremula.ensembles.base.ensemble import Ensemble

X, Y = load_iris(return_X_y=True)

LONG_FIT = """
import sys, joblib, numpy as np, tremula as tm
random = np.random.default_rng(0)
X = random.normal(size=(5000, 10))
y = random.integers(2, size=5000)
model = tm.BaggingClassifier(n_estimators=1_000_000, n_jobs=2)
print("begins", flush=True)
try:
    with joblib.parallel_config(backend=sys.argv[1]):
        model.fit(X, y)
finally:
    print([name for name in vars(model) if name.endswith("_")], flush=True)
"""


class FailsLater(DecisionTreeClassifier):
    """A tree, one of which cannot be fitted."""

    n_fits_until_error = 0
    error: type[BaseException] = KeyboardInterrupt

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> FailsLater:
        type(self).n_fits_until_error -= 1
        if type(self).n_fits_until_error == 0:
            raise self.error("stop")
        return super().fit(X, y, sample_weight=sample_weight)


@pytest.fixture(params=[KeyboardInterrupt, MemoryError])
def failing(request: pytest.FixtureRequest) -> FailsLater:
    FailsLater.n_fits_until_error, FailsLater.error = 4, request.param
    return FailsLater(max_depth=1)


@pytest.mark.parametrize(
    "ensemble",
    [
        tm.BaggingClassifier(n_estimators=10, oob_score=True),
        tm.BaggingClassifier(n_estimators=10, oob_score=True, n_jobs=2),
        tm.AdaBoostM1Classifier(n_estimators=10),
        tm.AdaBoostM1Classifier(n_estimators=10, resample=True),
    ],
    ids=str,
)
def test_a_first_training_broken_off_leaves_no_model(ensemble: Ensemble, failing: FailsLater) -> None:
    ensemble = clone(ensemble).set_params(estimator=failing)
    before = dict(vars(ensemble))
    with pytest.raises(FailsLater.error, match="stop"):
        ensemble.fit(X, Y)
    assert vars(ensemble) == before


@pytest.mark.parametrize("warm_start", [False, True])
def test_a_later_training_broken_off_leaves_the_model_there_was(failing: FailsLater, warm_start: bool) -> None:
    FailsLater.n_fits_until_error = 5 + 4
    ensemble = tm.BaggingClassifier(failing, 5, oob_score=True, warm_start=warm_start, random_state=0).fit(X, Y)
    members, shares, score = ensemble.members_, ensemble.predict_proba(X), ensemble.oob_score_
    table, classes = (X, Y) if warm_start else (X[:, :2], np.where(Y == 0, "a", "b"))
    with pytest.raises(FailsLater.error, match="stop"):
        ensemble.set_params(n_estimators=20).fit(table, classes)
    assert ensemble.members_ is members
    assert len(members) == 5
    assert ensemble.oob_score_ == score
    assert ensemble.n_features_in_ == 4
    assert ensemble.predict_proba(X).tobytes() == shares.tobytes()
    assert ensemble.classes_.tolist() == [0, 1, 2]


def test_wrong_data_leaves_the_model_there_was() -> None:
    ensemble = tm.BaggingRegressor(n_estimators=5, random_state=0).fit(X, Y)
    predicted = ensemble.predict(X)
    with pytest.raises(ValueError, match="y has 149 values, but X has 150 rows"):
        ensemble.fit(X[:, :2], Y[1:])
    assert ensemble.predict(X).tolist() == predicted.tolist()


def is_running(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.skipif(sys.platform == "win32", reason="needs groups of processes, as POSIX has them")
@pytest.mark.parametrize(("backend", "until_trained"), [("threading", 0.5), ("loky", 1.5)])
def test_ctrl_c_ends_training_and_all_workers(backend: str, until_trained: float) -> None:
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    process = subprocess.Popen([sys.executable, "-c", LONG_FIT, backend], start_new_session=True, **pipes)  # type: ignore[call-overload]
    try:
        assert process.stdout.readline() == "begins\n"
        time.sleep(until_trained)
        assert process.poll() is None
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does it: to all processes of the group
        learned, error = process.communicate(timeout=60)  # a million members would take hours
        assert process.returncode != 0
        assert "KeyboardInterrupt" in error
        assert learned == "[]\n"
        until = time.monotonic() + 60
        while is_running(process.pid) and time.monotonic() < until:
            time.sleep(0.05)
        assert not is_running(process.pid)
    finally:
        if is_running(process.pid):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
