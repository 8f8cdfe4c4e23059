"""Random forests, extra trees, randomized C4.5, output smearing: what is drawn inside the tree or of the target."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_diabetes, load_digits, load_iris
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier, RandomForestRegressor
from sklearn.model_selection import cross_val_predict

import tremula as tm
from tremula.errors import InvalidParameter
from tremula.perturb import Draw, FlippedClasses, Sample, SmearedTarget
from tremula.seeds import make_root_seed, member_generator

X, Y = load_iris(return_X_y=True)
X_NUMBERS, Y_NUMBERS = load_diabetes(return_X_y=True)
NO_LEVELS = np.zeros(4, np.int32)
DIGITS, DIGIT_CLASSES = load_digits(return_X_y=True)


def grow(learner: Any, codes: np.ndarray, counts: np.ndarray | None, random: np.random.Generator) -> Any:
    """Grow a tree for iris from a member's random stream."""
    return learner.grow(learner.sort(X, NO_LEVELS), codes, 3, counts, random)


@pytest.mark.parametrize("max_features", ["sqrt", 1, 0.75, None])
def test_a_forest_is_a_loop_over_bootstrap_samples_and_nodes_that_draw(max_features: Any) -> None:
    forest = tm.RandomForestClassifier(n_estimators=5, max_features=max_features, random_state=8).fit(X, Y)
    for number, member in enumerate(forest.members_):
        random = member_generator(make_root_seed(8), number)
        counts = np.bincount(random.integers(150, size=150), minlength=150)
        assert member == grow(tm.CARTClassifier(max_features=max_features), Y.astype(np.int32), counts, random)


def test_extra_trees_see_all_rows_and_draw_thresholds() -> None:
    forest = tm.ExtraTreesClassifier(n_estimators=5, random_state=8).fit(X, Y)
    for number, member in enumerate(forest.members_):
        random = member_generator(make_root_seed(8), number)
        learner = tm.CARTClassifier(max_features="sqrt", splitter="random")
        assert member == grow(learner, Y.astype(np.int32), None, random)


def test_randomized_c45_sees_all_rows_and_draws_among_the_best_splits() -> None:
    ensemble = tm.RandomizedC45Classifier(n_estimators=5, n_best_splits=10, random_state=8).fit(X, Y)
    for number, member in enumerate(ensemble.members_):
        random = member_generator(make_root_seed(8), number)
        learner = tm.C45Classifier(confidence=None, n_best_splits=10)
        assert member == grow(learner, Y.astype(np.int32), None, random)


def test_one_best_split_is_no_choice() -> None:
    ensemble = tm.RandomizedC45Classifier(n_estimators=3, n_best_splits=1).fit(X, Y)
    assert ensemble.members_ == [tm.C45Classifier(confidence=None).fit(X, Y).tree_] * 3


def test_a_forest_that_draws_all_attributes_is_bagging() -> None:
    forest = tm.RandomForestClassifier(n_estimators=5, max_features=None, random_state=2).fit(X, Y)
    bagging = tm.BaggingClassifier(tm.CARTClassifier(), n_estimators=5, random_state=2).fit(X, Y)
    assert forest.members_ == bagging.members_


@pytest.mark.parametrize("kind", [tm.RandomForestClassifier, tm.ExtraTreesClassifier])
def test_every_attribute_is_drawn_alike(kind: Any) -> None:
    # Where one attribute is drawn it is taken, as each of the four can split all rows of iris.
    forest = kind(n_estimators=400, max_features=1, random_state=0).fit(X, Y)
    roots = np.bincount([member.attribute[0] for member in forest.members_], minlength=4)
    assert np.abs(roots - 100).max() < 5 * np.sqrt(400 * 0.25 * 0.75)


def test_extra_trees_draw_thresholds_uniformly() -> None:
    table = np.r_[np.zeros(50), np.ones(50)][:, None] * 10.0
    classes = np.repeat([0, 1], 50)
    forest = tm.ExtraTreesClassifier(n_estimators=500, random_state=0).fit(table, classes)
    thresholds = np.sort([member.threshold[0] for member in forest.members_]) / 10.0
    assert thresholds.min() > 0.0
    assert thresholds.max() < 1.0
    uniform = (np.arange(500) + 0.5) / 500
    assert np.abs(thresholds - uniform).max() < 1.95 / np.sqrt(500)  # Kolmogorov, one in a thousand


def test_flipped_classes_train_the_members() -> None:
    ensemble = tm.OutputSmearingClassifier(n_estimators=5, rate=0.3, random_state=1).fit(X, Y)
    sample = Sample(Y.astype(np.int32), n_classes=3, n_attributes=4)
    for number, member in enumerate(ensemble.members_):
        random = member_generator(make_root_seed(1), number)
        flipped = FlippedClasses(0.3).apply(sample, Draw(number, 5, random, 0)).target
        assert member == tm.C45Classifier(confidence=None).fit(X, flipped).tree_


def test_smeared_targets_train_the_members() -> None:
    learner = tm.CARTRegressor(max_depth=3)
    ensemble = tm.OutputSmearingRegressor(learner, n_estimators=5, noise=0.5, random_state=1).fit(X_NUMBERS, Y_NUMBERS)
    sample = Sample(Y_NUMBERS, n_classes=0, n_attributes=10)
    for number, member in enumerate(ensemble.members_):
        random = member_generator(make_root_seed(1), number)
        smeared = SmearedTarget(0.5).apply(sample, Draw(number, 5, random, 0)).target
        assert member == learner.fit(X_NUMBERS, smeared).tree_


def test_a_rate_that_the_rarest_class_cannot_bear_is_refused() -> None:
    classes = np.r_[np.zeros(148, int), 1, 1]
    with pytest.raises(
        InvalidParameter, match="would flip more rows of the rarest class than there are: give at most"
    ) as raised:
        tm.OutputSmearingClassifier(rate=0.2).fit(X, classes)
    advised = float(str(raised.value).split("at most ")[1].split()[0])
    tm.OutputSmearingClassifier(rate=advised, n_estimators=3).fit(X, classes)


@pytest.mark.parametrize("n_best_splits", [0, -3, 1.5, "all", None])
def test_splits_are_drawn_among_some(n_best_splits: Any) -> None:
    with pytest.raises(InvalidParameter, match=r"n_best_splits=.* was given; expected a whole number of at least 1"):
        tm.RandomizedC45Classifier(n_best_splits=n_best_splits).fit(X, Y)


@pytest.mark.parametrize("max_features", [0, -1, 0.0, 1.5, "half"])
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_attributes_are_drawn_among_some(max_features: Any, n_jobs: int) -> None:
    with pytest.raises(InvalidParameter, match="max_features="):
        tm.RandomForestClassifier(max_features=max_features, n_jobs=n_jobs).fit(X, Y)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"criterion": "ginni"}, "criterion='ginni' is not known.*did you mean 'gini'"),
        ({"max_depth": 0}, "max_depth=0 was given"),
        ({"min_samples_leaf": -1}, "min_samples_leaf=-1 was given"),
        ({"min_samples_split": -1}, "min_samples_split=-1 was given"),
    ],
)
def test_a_wrong_parameter_of_the_trees_is_named(parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidParameter, match=message):
        tm.RandomForestClassifier(**parameters).fit(X, Y)


def test_importances_are_shares_and_find_what_matters() -> None:
    random = np.random.default_rng(0)
    table = random.normal(size=(400, 5))
    forest = tm.RandomForestClassifier(n_estimators=30, random_state=0).fit(table, table[:, 2] + 0.5 * table[:, 4] > 0)
    importances = forest.feature_importances_
    assert importances.sum() == pytest.approx(1.0)
    assert importances.argsort()[-2:].tolist() == [4, 2]


# --- against scikit-learn


@pytest.mark.parametrize(
    ("own", "other"),
    [
        (tm.RandomForestClassifier(n_estimators=40, random_state=0), RandomForestClassifier(40, random_state=0)),
        (tm.ExtraTreesClassifier(n_estimators=40, random_state=0), ExtraTreesClassifier(40, random_state=0)),
    ],
    ids=["random forest", "extra trees"],
)
def test_digits_are_told_apart_as_well_as_by_scikit_learn(own: Any, other: Any) -> None:
    right = [cross_val_predict(model, DIGITS, DIGIT_CLASSES, cv=3) == DIGIT_CLASSES for model in (own, other)]
    difference = right[0].astype(float) - right[1]
    assert difference.mean() > -3 * difference.std() / np.sqrt(len(difference))


def test_diabetes_is_predicted_as_well_as_by_scikit_learn() -> None:
    models = tm.RandomForestRegressor(n_estimators=40, random_state=0), RandomForestRegressor(40, random_state=0)
    errors = [(cross_val_predict(model, X_NUMBERS, Y_NUMBERS, cv=3) - Y_NUMBERS) ** 2 for model in models]
    difference = errors[1] - errors[0]
    assert difference.mean() > -3 * difference.std() / np.sqrt(len(difference))


@pytest.mark.parametrize(
    "make",
    [tm.RandomForestClassifier, tm.ExtraTreesClassifier, tm.RandomForestRegressor, tm.ExtraTreesRegressor],
    ids=lambda make: make.__name__,
)
def test_nodes_of_fewer_rows_are_not_split(make: Any) -> None:
    X, y = load_iris(return_X_y=True)
    for tree in make(5, min_samples_split=30, random_state=0).fit(X, y).members_:
        is_split = tree.nodes["n_branches"] > 0
        assert is_split.sum() > 2
        assert tree.nodes["weight"][is_split].min() >= 30
        assert (tree.nodes["weight"][~is_split] < 30).any()
