"""scikit-learn's callbacks: they are told of every member, see the ensemble so far, and can end the training."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import joblib
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.dummy import DummyClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

import tremula as tm
from tremula.ensembles.base.ensemble import Ensemble

X, Y = load_iris(return_X_y=True)
ENSEMBLES = [
    tm.BaggingClassifier(n_estimators=5, random_state=0),
    tm.BaggingClassifier(n_estimators=5, n_jobs=2, random_state=0),
    tm.BaggingClassifier(DecisionTreeClassifier(), n_estimators=5, oob_score=True, random_state=0),
    tm.BaggingRegressor(n_estimators=5, random_state=0),
    tm.AdaBoostM1Classifier(tm.C45Classifier(max_depth=1), n_estimators=5),
    tm.ThreeBoostClassifier(tm.C45Classifier(max_depth=1), random_state=0),
    tm.DecorateClassifier(n_estimators=5, random_state=0),
    tm.OutputSmearingClassifier(n_estimators=5, method="smear", random_state=0),
]


@pytest.mark.slow
def test_without_callbacks_in_scikit_learn_all_else_works() -> None:
    code = """
import sys
sys.modules["sklearn.callback"] = None  # as in scikit-learn before 1.9
import tremula as tm
from tremula.ensembles.base.callbacks import CallbackSupportMixin
assert CallbackSupportMixin.__module__ == "tremula.ensembles.base.callbacks"
table, classes = [[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1]
for kind in (tm.BaggingClassifier, tm.AdaBoostM1Classifier, tm.DecorateClassifier):
    assert not hasattr(kind(), "set_callbacks")
    assert kind(n_estimators=3, random_state=0).fit(table, classes).predict([[3.0]]) == 1
"""
    # scikit-learn's own modules of 1.9 import it; those that tremula needs do so before it is hidden.
    code = code.replace("import sys\n", "import sys, sklearn.model_selection, sklearn.pipeline, sklearn.tree\n", 1)
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr


callback = pytest.importorskip("sklearn.callback", reason="scikit-learn has callbacks since 1.9")


class Diary:
    """Writes down what it is told, and ends the training after some members."""

    def __init__(self, stop_after: int = 10**9) -> None:
        self.told: list[str] = []
        self.sizes: list[int] = []
        self.scores: list[float] = []
        self.max_subtasks: int | None = None
        self.stop_after = stop_after

    def setup(self, estimator: Any, context: Any) -> None:
        self.told.append("setup")

    def teardown(self, estimator: Any, context: Any) -> None:
        self.told.append("teardown")

    def on_fit_task_begin(self, estimator: Any, context: Any) -> None:
        self.told.append(f"begin {context.task_name}")
        self.max_subtasks = context.max_subtasks or self.max_subtasks

    def on_fit_task_end(
        self, estimator: Any, context: Any, *, X: Any, y: Any, metadata: Any, fitted_estimator: Any
    ) -> bool:
        self.told.append(f"end {context.task_name}")
        self.sizes.append(len(fitted_estimator))
        self.scores.append(fitted_estimator.score(X, y, **(metadata or {})))
        return context.task_name == "member" and len(fitted_estimator) >= self.stop_after


@pytest.mark.parametrize("ensemble", ENSEMBLES, ids=str)
def test_a_callback_is_told_of_every_member(ensemble: Ensemble) -> None:
    diary = Diary()
    model = clone(ensemble).set_callbacks(diary).fit(X, Y)
    n_told = getattr(model, "trials_", len(model))
    assert diary.told == [
        "setup",
        "begin fit",
        *["begin member", "end member"] * n_told,
        "end fit",
        "teardown",
    ]
    assert diary.max_subtasks is not None
    assert diary.max_subtasks >= n_told


@pytest.mark.parametrize("ensemble", ENSEMBLES, ids=str)
def test_a_callback_sees_the_ensemble_of_the_members_so_far(ensemble: Ensemble) -> None:
    diary = Diary()
    model = clone(ensemble).set_callbacks(diary).fit(X, Y)
    if not hasattr(model, "trials_"):
        assert diary.sizes == [*range(1, len(model) + 1), len(model)]
        stages = [np.array(stage) for stage in model.staged_predict(X)]
        if hasattr(model, "classes_"):
            assert diary.scores[:-1] == [np.mean(stage == Y) for stage in stages]
    assert diary.scores[-1] == model.score(X, Y)


@pytest.mark.parametrize("ensemble", ENSEMBLES, ids=str)
def test_a_callback_changes_nothing(ensemble: Ensemble) -> None:
    watched = clone(ensemble).set_callbacks(Diary()).fit(X, Y)
    alone = clone(ensemble).fit(X, Y)
    assert watched.predict(X).tolist() == alone.predict(X).tolist()
    assert set(vars(watched)) - set(vars(alone)) == {"_skl_callbacks"}


@pytest.mark.parametrize(
    ("backend", "n_jobs"), [("threading", 1), ("threading", 2), pytest.param("loky", 2, marks=pytest.mark.slow)]
)
def test_a_callback_ends_the_training(backend: str, n_jobs: int) -> None:
    diary = Diary(stop_after=3)
    model = tm.BaggingClassifier(n_estimators=60, oob_score=True, random_state=0).set_callbacks(diary)
    with joblib.parallel_config(backend=backend, n_jobs=n_jobs):
        model.fit(X, Y)
    expected = tm.BaggingClassifier(n_estimators=3, oob_score=True, random_state=0).fit(X, Y)
    assert model.members_ == expected.members_
    assert model.oob_score_ == expected.oob_score_
    assert model.oob_trace_.tolist() == expected.oob_trace_.tolist()
    assert diary.told[-2:] == ["end fit", "teardown"]


def test_a_callback_ends_boosting() -> None:
    ensemble = tm.AdaBoostM1Classifier(tm.C45Classifier(max_depth=1), n_estimators=10)
    model = clone(ensemble).set_callbacks(Diary(stop_after=2)).fit(X, Y)
    assert len(model) == 2
    assert model.stopped_ == "callback"


def test_a_member_that_boosting_refuses_is_ended_too() -> None:
    diary = Diary()  # a second member that is like the first errs on a half of the weight
    model = tm.AdaBoostM1Classifier(DummyClassifier(strategy="constant", constant=0), n_estimators=5)
    model.set_callbacks(diary).fit([[0.0], [1.0], [2.0]], [0, 0, 1])
    assert (len(model), model.stopped_) == (1, "error of a half or more")
    assert diary.told.count("begin member") == diary.told.count("end member") == 2
    assert diary.sizes == [1, 1, 1]


def test_weights_are_handed_to_callbacks() -> None:
    diary, weights = Diary(), np.linspace(1, 2, 150)
    model = tm.BaggingClassifier(n_estimators=3, random_state=0).set_callbacks(diary).fit(X, Y, sample_weight=weights)
    assert diary.scores[-1] == model.score(X, Y, sample_weight=weights)


def test_members_kept_are_not_told_again() -> None:
    diary = Diary()
    model = tm.BaggingClassifier(n_estimators=3, warm_start=True, random_state=0).fit(X, Y)
    model.set_params(n_estimators=5).set_callbacks(diary).fit(X, Y)
    assert diary.sizes == [4, 5, 5]
    assert diary.max_subtasks == 2


def test_training_that_fails_tears_callbacks_down() -> None:
    class Fails(Diary):
        def on_fit_task_begin(self, estimator: Any, context: Any) -> None:
            super().on_fit_task_begin(estimator, context)
            if self.told.count("begin member") == 3:
                raise ValueError("enough of it")

    diary = Fails()
    model = tm.BaggingClassifier(n_estimators=5, random_state=0).set_callbacks(diary)
    before = dict(vars(model))
    with pytest.raises(ValueError, match="enough of it"):
        model.fit(X, Y)
    assert vars(model) == before
    assert diary.told[-1] == "teardown"


def test_a_progress_bar_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    tm.BaggingClassifier(n_estimators=5, random_state=0).set_callbacks(callback.ProgressBar()).fit(X, Y)
    shown = capsys.readouterr().out
    assert "BaggingClassifier - fit" in shown
    assert "100%" in shown


def test_scores_are_monitored() -> None:
    monitor = callback.ScoringMonitor(scoring="accuracy")
    model = tm.AdaBoostM1Classifier(tm.C45Classifier(max_depth=1), n_estimators=4).set_callbacks(monitor).fit(X, Y)
    frame = monitor.get_logs().data_as_pandas
    scores = frame[frame["task_name"] == "member"]["accuracy"].tolist()
    assert scores == [np.mean(stage == Y) for stage in model.staged_predict(X)]


def test_a_search_and_a_pipeline_hand_callbacks_on(capsys: pytest.CaptureFixture[str]) -> None:
    search = GridSearchCV(
        make_pipeline(StandardScaler(), tm.BaggingClassifier(random_state=0)),
        {"baggingclassifier__n_estimators": [2, 3]},
    )
    search.set_callbacks(callback.ProgressBar(max_propagation_depth=None)).fit(X, Y)
    assert "BaggingClassifier - fit" in capsys.readouterr().out


def test_callbacks_are_not_saved(tmp_path: Any) -> None:
    model = tm.BaggingClassifier(n_estimators=3, random_state=0).set_callbacks(Diary()).fit(X, Y)
    tm.save(model, tmp_path / "model")
    assert tm.load(tmp_path / "model").predict(X).tolist() == model.predict(X).tolist()
