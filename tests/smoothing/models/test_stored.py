"""Trees taken over from another library: they answer alike, go through a file, and are checked."""

from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.ensemble import GradientBoostingClassifier, GradientBoostingRegressor, RandomForestClassifier

import tremula as tm
from tremula.errors import FileDamaged, InvalidInput
from tremula.smoothing.models import read_model, store_trees

X, Y = load_iris(return_X_y=True)
NAMES = np.array(["setosa", "versicolor", "virginica"])[Y]


@pytest.mark.parametrize(
    "model",
    [
        RandomForestClassifier(3, random_state=0).fit(X, NAMES),
        GradientBoostingClassifier(n_estimators=3, random_state=0).fit(X, NAMES),
        GradientBoostingClassifier(n_estimators=3, random_state=0).fit(X, Y == 1),
        GradientBoostingRegressor(n_estimators=3, random_state=0).fit(X, X[:, 3]),
    ],
    ids=["forest", "three classes", "two classes", "numbers"],
)
def test_a_file_answers_as_the_model(model: object, tmp_path: Path) -> None:
    tm.save(store_trees(read_model(model)), tmp_path / "kept.tremula")
    kept = tm.load(tmp_path / "kept.tremula")
    answers = "predict_proba" if hasattr(model, "predict_proba") else "predict"
    np.testing.assert_allclose(getattr(kept, answers)(X), getattr(model, answers)(X), atol=1e-12)
    if hasattr(model, "classes_"):
        assert (kept.predict(X) == model.predict(X)).all()


def test_smoothed_they_answer_as_the_model_smoothed() -> None:
    forest = RandomForestClassifier(3, random_state=0).fit(X, NAMES)
    soft = tm.DualPerturbClassifier(forest, noise=0.2).fit(X)
    kept = tm.DualPerturbClassifier(store_trees(read_model(forest)), noise=0.2).fit(X)
    np.testing.assert_array_equal(kept.predict_proba(X), soft.predict_proba(X))


def test_columns_can_be_named() -> None:
    kept = store_trees(read_model(RandomForestClassifier(3, random_state=0).fit(X, NAMES)))
    kept.name_columns(["a", "b", "c", "d"])
    assert list(kept.feature_names_in_) == ["a", "b", "c", "d"]


def test_they_are_not_trained() -> None:
    with pytest.raises(InvalidInput, match="cannot be trained"):
        store_trees(read_model(RandomForestClassifier(3, random_state=0).fit(X, NAMES))).fit(X, Y)


@pytest.mark.parametrize(
    ("attribute", "value"),
    [("outputs_", np.array([0, 0, 9])), ("weights_", np.ones(2)), ("link_", "none"), ("n_features_in_", 3)],
)
def test_what_does_not_fit_together_is_refused(attribute: str, value: object) -> None:
    kept = store_trees(read_model(RandomForestClassifier(3, random_state=0).fit(X, NAMES)))
    setattr(kept, attribute, value)
    with pytest.raises(FileDamaged, match="do not fit together"):
        kept.predict(X)
