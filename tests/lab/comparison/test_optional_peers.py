"""CatBoost, YDF, EBM and scikit-learn-intelex as peers: they learn from nominal attributes, and are named if absent."""

from importlib.util import find_spec
from typing import Any

import numpy as np
import pytest

from tremula.errors import MissingLibrary
from tremula.lab.comparison.peers import LIBRARIES, choose_peers

OPTIONAL = ("catboost", "ydf", "interpret", "sklearnex")


def table(task: str) -> tuple[np.ndarray, Any]:
    random = np.random.default_rng(0)
    X = np.column_stack([random.normal(size=120), random.integers(0, 3, 120)]).astype(float)
    level = X[:, 1] == 2
    X[::11, 0] = np.nan
    y = np.where(level, "ill", "well") if task == "classification" else 5.0 * level + 0.01 * random.normal(size=120)
    return X, y


@pytest.mark.slow  # importing these libraries takes seconds
@pytest.mark.parametrize("task", ["classification", "regression"])
@pytest.mark.parametrize("library", OPTIONAL)
def test_a_peer_learns_from_a_nominal_attribute(library: str, task: str) -> None:
    pytest.importorskip(LIBRARIES[library][0], reason=f"{library} is not installed")
    X, y = table(task)
    if library == "sklearnex":
        X = np.nan_to_num(X)
    for method in choose_peers([library], task):
        model = method.build([1], 0).fit(X, y)
        answers = model.predict(X)
        if task == "classification":
            assert np.mean(answers == y) > 0.95
            probabilities = model.predict_proba(X)
            assert probabilities.sum(axis=1) == pytest.approx(1, abs=1e-5)
            assert (model.classes_[probabilities.argmax(axis=1)] == answers).all()
        else:
            assert np.mean((answers - y) ** 2) < 0.2 * y.var()


@pytest.mark.parametrize("library", OPTIONAL)
def test_a_library_that_is_absent_is_named_with_the_command(library: str, monkeypatch: pytest.MonkeyPatch) -> None:
    absent = LIBRARIES[library][0]
    monkeypatch.setattr(
        "tremula.lab.comparison.peers.find_spec", lambda name: None if name == absent else find_spec(name)
    )
    with pytest.raises(MissingLibrary, match=f"pip install {LIBRARIES[library][1]}"):
        choose_peers([library])
