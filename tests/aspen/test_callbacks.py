"""scikit-learn's callbacks see Aspen grow, and can end it."""

from __future__ import annotations

from typing import Any

import pytest
from sklearn.datasets import load_iris

import tremula as tm

pytest.importorskip("sklearn.callback", reason="scikit-learn has callbacks since 1.9")
X, Y = load_iris(return_X_y=True)


class Counting:
    """Counts what it is told of, asks for an answer each time, and ends the training after some members."""

    def __init__(self, stop_after: int = 10**9) -> None:
        self.n_begun, self.n_ended, self.most, self.stop_after = 0, 0, 0, stop_after
        self.scores: list[float] = []

    def setup(self, estimator: Any, context: Any) -> None:
        """Nothing is to be prepared."""

    def teardown(self, estimator: Any, context: Any) -> None:
        """Nothing is to be put away."""

    def on_fit_task_begin(self, estimator: Any, context: Any) -> None:
        self.n_begun += context.task_name == "member"
        self.most = context.max_subtasks or self.most

    def on_fit_task_end(
        self, estimator: Any, context: Any, *, X: Any, y: Any, metadata: Any, fitted_estimator: Any
    ) -> bool:
        self.n_ended += context.task_name == "member"
        self.scores.append(fitted_estimator.score(X, y))
        return self.n_ended >= self.stop_after


def test_a_callback_is_told_of_members_and_corrections() -> None:
    counting = Counting()
    model = tm.AspenClassifier(n_estimators=4, random_state=0).set_callbacks(counting).fit(X, Y)
    n_trained = sum(one.n_members for one in model.report_.tried) + 4
    assert counting.n_begun == counting.n_ended == n_trained <= counting.most
    assert counting.scores[-1] == model.score(X, Y)


def test_a_callback_changes_nothing() -> None:
    watched = tm.AspenRegressor(n_estimators=4, random_state=0).set_callbacks(Counting()).fit(X, Y)
    assert (watched.predict(X) == tm.AspenRegressor(n_estimators=4, random_state=0).fit(X, Y).predict(X)).all()


@pytest.mark.parametrize("stop_after", [1, 7, 30])
def test_a_callback_ends_the_training(stop_after: int) -> None:
    counting = Counting(stop_after)
    model = tm.AspenClassifier(n_estimators=5, random_state=0).set_callbacks(counting).fit(X, Y)
    assert counting.n_ended == stop_after
    assert model.score(X, Y) > 0.8


def test_a_callback_sees_the_members_that_a_warm_start_keeps() -> None:
    model = tm.AspenClassifier(n_estimators=4, warm_start=True, random_state=0).fit(X, Y)
    counting = Counting()
    model.set_callbacks(counting).fit(X, Y)  # nothing but corrections is trained again
    assert counting.n_ended == 4
    assert min(counting.scores) > 0.8
