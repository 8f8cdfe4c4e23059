"""Models with a decision threshold decide by it under noise too; models that decide otherwise are pointed out."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import make_classification
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score, make_scorer
from sklearn.model_selection import FixedThresholdClassifier, TunedThresholdClassifierCV
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

import tremula as tm
from tremula.errors import DecisionWarning, InvalidParameter, UnsupportedModel

X, CODES = make_classification(300, 5, n_informative=4, n_redundant=0, flip_y=0.2, weights=[0.8], random_state=0)
y = np.where(CODES == 1, "sick", "well")  # "sick" is the first class
FOREST = RandomForestClassifier(n_estimators=10, max_depth=4, random_state=0)
MODELS = [FOREST, GradientBoostingClassifier(n_estimators=5), LogisticRegression(), tm.CARTClassifier(max_depth=4)]


def expected_labels(shares: np.ndarray, classes: np.ndarray, positive: str, threshold: float) -> np.ndarray:
    place = classes.tolist().index(positive)
    return np.where(shares[:, place] >= threshold, classes[place], classes[1 - place])


@pytest.mark.parametrize("positive", ["sick", "well", None])
@pytest.mark.parametrize("threshold", [0.15, 0.8, "auto"])
@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_a_fixed_threshold_decides_under_noise(model: Any, threshold: Any, positive: str | None) -> None:
    hard = FixedThresholdClassifier(model, threshold=threshold, pos_label=positive).fit(X, y)
    soft = tm.DualPerturbClassifier(hard, noise=0.3).fit(X)
    assert soft.method_ == "exact"
    inside = tm.DualPerturbClassifier(hard.estimator_, noise=0.3).fit(X)
    shares = soft.predict_proba(X)
    assert np.array_equal(shares, inside.predict_proba(X))
    value = 0.5 if threshold == "auto" else threshold
    assert np.array_equal(soft.predict(X), expected_labels(shares, soft.classes_, positive or "well", value))
    without = tm.DualPerturbClassifier(hard, noise=0.0).fit(X)
    assert np.array_equal(without.predict(X), hard.predict(X))


def test_shares_on_the_threshold_reach_it_with_little_noise() -> None:
    forest = RandomForestClassifier(n_estimators=10, random_state=0)
    hard = FixedThresholdClassifier(forest, threshold=0.9).fit(X, CODES)
    assert (hard.predict_proba(X)[:, 1] == 0.9).sum() > 10
    soft = tm.DualPerturbClassifier(hard, noise=1e-7).fit(X)
    assert np.array_equal(soft.predict(X), hard.predict(X))


@pytest.mark.parametrize("model", [FOREST, LogisticRegression(), GaussianNB()], ids=lambda model: type(model).__name__)
def test_a_threshold_set_after_the_model_was_wrapped_is_the_one_that_decides(model: Any) -> None:
    hard = FixedThresholdClassifier(model, threshold=0.1).fit(X, CODES)
    soft = tm.DualPerturbClassifier(hard, noise=1e-7, method="sample", n_draws=3).fit(X)
    before = soft.predict(X)
    hard.set_params(threshold=0.95)
    assert np.array_equal(soft.predict(X), hard.predict(X))
    assert not np.array_equal(before, hard.predict(X))
    if model is not FOREST:  # trees that were trained again are refused
        hard.fit(X, 1 - CODES)
        assert np.array_equal(soft.predict(X), hard.predict(X))


@pytest.mark.parametrize("positive", ["sick", "well"])
def test_a_tuned_threshold_decides_under_noise_and_in_copies(positive: str) -> None:
    scoring = make_scorer(f1_score, pos_label=positive)
    hard = TunedThresholdClassifierCV(FOREST, scoring=scoring, cv=3, random_state=0).fit(X, y)
    soft = tm.DualPerturbClassifier(hard, noise=0.2).fit(X)
    expected = expected_labels(soft.predict_proba(X), soft.classes_, positive, hard.best_threshold_)
    assert soft.method_ == "exact"
    assert not np.array_equal(expected, soft.classes_[soft.predict_proba(X).argmax(axis=1)])
    for again in (soft, copy.deepcopy(soft), pickle.loads(pickle.dumps(soft))):
        assert np.array_equal(again.predict(X), expected)


def test_a_frozen_model_inside_a_threshold_is_read() -> None:
    frozen = FixedThresholdClassifier(FrozenEstimator(FOREST.fit(X, y)), threshold=0.3).fit(X, y)
    assert tm.DualPerturbClassifier(frozen, noise=0.2).fit(pd.DataFrame(X).to_numpy()).method_ == "exact"


def test_votes_of_a_model_with_a_threshold_are_its_labels() -> None:
    hard = FixedThresholdClassifier(FOREST, threshold=0.3).fit(X, y)
    options: dict[str, Any] = {"method": "sample", "combine": "vote", "n_draws": 400, "random_state": 0}
    soft = tm.DualPerturbClassifier(hard, noise=0.3, **options).fit(X)
    random = np.random.default_rng(1)
    drawn = [hard.predict(X[:20] + 0.3 * X.std(axis=0) * random.standard_normal((20, 5))) for _ in range(400)]
    shares = np.mean(np.array(drawn) == "well", axis=0)
    assert soft.predict_proba(X[:20])[:, 1] == pytest.approx(shares, abs=0.15)


def test_a_threshold_of_the_decision_function_is_refused() -> None:
    hard = FixedThresholdClassifier(LogisticRegression(), threshold=1.0, response_method="decision_function").fit(X, y)
    with pytest.raises(UnsupportedModel, match="compares the decision function of LogisticRegression"):
        tm.DualPerturbClassifier(hard, noise=0.2).fit(X)


def test_a_threshold_has_no_certificate() -> None:
    soft = tm.DualPerturbClassifier(FixedThresholdClassifier(FOREST, threshold=0.3).fit(X, y), noise=0.2).fit(X)
    with pytest.raises(InvalidParameter, match=r"decision threshold of 0\.3"):
        soft.certified_radius(X)


def test_errors_cannot_choose_the_noise_of_a_model_with_a_threshold() -> None:
    hard = FixedThresholdClassifier(FOREST, threshold=0.3).fit(X, y)
    with pytest.raises(InvalidParameter, match="use scoring='log_loss'"):
        tm.DualPerturbClassifier(hard, scoring="error").fit(X, y)
    chosen = tm.DualPerturbClassifier(hard).fit(X, y).noise_  # out of bag
    assert chosen == tm.DualPerturbClassifier(hard.estimator_).fit(X, y).noise_


class Cautious(ClassifierMixin, BaseEstimator):
    """A classifier with a threshold of its own."""

    def fit(self, X: Any, y: Any) -> Any:
        self.tree_inside_ = DecisionTreeClassifier(max_depth=3).fit(X, y)
        self.classes_ = self.tree_inside_.classes_
        return self

    def predict_proba(self, X: Any) -> Any:
        return self.tree_inside_.predict_proba(X)

    def predict(self, X: Any) -> Any:
        return np.where(self.predict_proba(X)[:, 0] > 0.05, *self.classes_)


@pytest.mark.parametrize(
    "model", [Cautious(), make_pipeline(StandardScaler(), FixedThresholdClassifier(FOREST, threshold=0.1))]
)
def test_labels_that_are_not_of_the_largest_share_are_pointed_out(model: Any) -> None:
    hard = model.fit(X, y)
    with pytest.warns(DecisionWarning, match=r"does not predict the class of its largest share for \d+ rows of X"):
        tm.DualPerturbClassifier(hard, noise=0.2, method="sample", n_draws=3).fit(X)
    tm.DualPerturbClassifier(hard, noise=0.2, method="sample", n_draws=3, combine="vote").fit(X)
    tm.DualPerturbClassifier(hard, noise=0.0, method="sample").fit(X)
