"""Smeared classes: regressors of noisy indicators, one for each class, against a loop written out."""

from __future__ import annotations

import pickle
from typing import Any

import joblib
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.linear_model import Ridge
from sklearn.model_selection import train_test_split

import tremula as tm
from tremula.ensembles.output_smearing import as_shares
from tremula.errors import FileDamaged, InvalidParameter
from tremula.perturb import Draw, Sample
from tremula.perturb.targets import SmearedClasses
from tremula.seeds import make_root_seed, member_generator

X, Y = load_iris(return_X_y=True)
LABELS = np.array(["setosa", "versicolor", "virginica"])[Y]
SMEARED = tm.OutputSmearingClassifier(n_estimators=4, method="smear", random_state=5)


def smeared_indicators(number: int, shares: np.ndarray, scale: float) -> np.ndarray:
    """The target of a member, drawn as the library draws it."""
    noise = member_generator(make_root_seed(5), number).standard_normal((len(Y), 3))
    return np.eye(3)[Y] + noise * np.sqrt(shares * (1 - shares)) * scale


@pytest.mark.parametrize("scale", [0.0, 0.5, 1.0])
def test_members_are_trees_of_noisy_indicators(scale: float) -> None:
    model = clone(SMEARED).set_params(noise=scale).fit(X, LABELS)
    for number, member in enumerate(model.members_):
        target = smeared_indicators(number, np.full(3, 1 / 3), scale)
        assert member.regressors == [tm.CARTRegressor().fit(X, column).tree_ for column in target.T]


def test_outputs_are_averaged_and_the_largest_is_the_answer() -> None:
    rows, others, classes, _ = train_test_split(X, LABELS, random_state=0)
    model = clone(SMEARED).set_params(n_estimators=15).fit(rows, classes)
    outputs = np.mean([member.predict_values(others) for member in model.members_], axis=0)
    assert (outputs < 0).any()
    assert model.predict(others).tolist() == model.classes_[outputs.argmax(axis=1)].tolist()
    positive = np.maximum(outputs, 0)
    np.testing.assert_allclose(model.predict_proba(others), positive / positive.sum(axis=1, keepdims=True))
    last = list(model.staged_predict_proba(others))[-1]
    np.testing.assert_allclose(last, model.predict_proba(others))


def test_members_may_vote() -> None:
    model = clone(SMEARED).set_params(combine="vote", n_estimators=5).fit(X, LABELS)
    votes = np.array([[np.mean(row == name) for name in model.classes_] for row in model.predict_members(X).T])
    np.testing.assert_allclose(model.predict_proba(X), votes)


def test_outputs_none_of_which_is_positive_still_have_a_largest() -> None:
    shares = as_shares(np.array([[-0.5, -0.25], [0.0, -1.0], [0.0, 0.0]]))
    assert shares.tolist() == [[0.0, 1.0], [1.0, 0.0], [1.0, 0.0]]


def test_noise_has_the_deviation_of_the_indicators() -> None:
    codes = np.repeat([0, 1, 2], [2000, 6000, 12000])
    draw = Draw(0, 1, np.random.default_rng(0), 0)
    noise = SmearedClasses(2.0).apply(Sample(codes, 3, 1), draw).target - np.eye(3)[codes]
    np.testing.assert_allclose(noise.std(axis=0), 2 * np.sqrt([0.1 * 0.9, 0.3 * 0.7, 0.6 * 0.4]), rtol=0.03)
    np.testing.assert_allclose(noise.mean(axis=0), 0.0, atol=0.03)
    assert np.abs(np.corrcoef(noise.T) - np.eye(3)).max() < 0.03


def test_weights_count_in_the_shares_of_classes() -> None:
    weights = np.where(Y == 0, 3.0, 1.0)
    model = clone(SMEARED).fit(X, Y, sample_weight=weights)
    target = smeared_indicators(0, np.array([0.6, 0.2, 0.2]), 1.0)
    expected = [tm.CARTRegressor().fit(X, column, sample_weight=weights).tree_ for column in target.T]
    assert model.members_[0].regressors == expected


def test_other_regressors_can_be_trained() -> None:
    model = tm.OutputSmearingClassifier(Ridge(), n_estimators=20, method="smear", random_state=0).fit(X, LABELS)
    assert model.score(X, LABELS) > 0.8


@pytest.mark.parametrize("backend", ["threading", "loky"])
def test_jobs_make_no_difference(backend: str) -> None:
    alone = clone(SMEARED).fit(X, Y)
    with joblib.parallel_config(backend=backend, n_jobs=2):
        together = clone(SMEARED).fit(X, Y)
    assert together.members_ == alone.members_


def test_a_smeared_model_can_be_kept(tmp_path: Any) -> None:
    model = clone(SMEARED).fit(X, LABELS)
    tm.save(model, tmp_path / "model")
    for kept in (tm.load(tmp_path / "model"), pickle.loads(pickle.dumps(model))):
        assert kept.predict_proba(X).tobytes() == model.predict_proba(X).tobytes()


def test_trees_of_other_attributes_are_not_loaded(tmp_path: Any) -> None:
    model = clone(SMEARED).fit(X, LABELS)
    model.members_[0].regressors[1] = tm.CARTRegressor().fit(X[:, :2], Y).tree_
    tm.save(model, tmp_path / "model")
    with pytest.raises(FileDamaged, match="does not fit the attributes, levels or 1 outputs of its model"):
        tm.load(tmp_path / "model")


def test_members_are_added() -> None:
    grown = clone(SMEARED).set_params(n_estimators=2, warm_start=True).fit(X, Y)
    assert grown.set_params(n_estimators=4).fit(X, Y).members_ == clone(SMEARED).fit(X, Y).members_


def test_attributes_are_as_important_as_they_are_to_the_trees() -> None:
    model = clone(SMEARED).set_params(noise=0.0).fit(X, Y)
    trees = [tm.CARTRegressor().fit(X, code == Y) for code in range(3)]
    expected = np.mean([tree.feature_importances_ for tree in trees], axis=0)
    np.testing.assert_allclose(model.feature_importances_, expected)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"method": "smer"}, "method='smer' is not known: choose one of 'flip', 'smear': did you mean 'smear'?"),
        ({"estimator": tm.C45Classifier()}, "is a classifier, but one regressor per class is trained: give a"),
        ({"noise": -1}, "noise=-1 was given; expected a number of at least 0"),
        ({"noise": np.inf}, "noise=inf was given; expected a finite number"),
        ({"method": "flip", "estimator": Ridge()}, "is a regressor, but y has classes"),
    ],
)
def test_a_wrong_parameter_is_named(parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidParameter, match=message.replace("?", r"\?")):
        clone(SMEARED).set_params(**parameters).fit(X, Y)


def test_trees_of_smeared_classes_are_not_pruned_together() -> None:
    with pytest.raises(InvalidParameter, match="only tremula's trees can be pruned"):
        tm.prune_together(clone(SMEARED).fit(X, Y), X, Y)
