"""Hierarchical shrinkage against an obvious twin on scikit-learn's own arrays, against imodels, and in the wrappers."""

import copy
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.ensemble import (
    BaggingRegressor,
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import tremula as tm
from tremula.errors import InvalidInput, InvalidParameter, ModelChanged
from tremula.smoothing.models import read_model, store_trees
from tremula.smoothing.shrinkage import find_node_weights, node_means, shrink_tree
from tremula.smoothing.shrinkage_choice import STRENGTHS
from tremula.trees.structure import parents_of

IRIS = load_iris(return_X_y=True)
DIABETES = load_diabetes(return_X_y=True)


# --- the slow twin: from the node values and counts that scikit-learn stores ---


def twin_values(tree: Any, strength: float) -> np.ndarray:
    """Shrunken value of every node of a tree of scikit-learn."""
    out = np.array(tree.value[:, 0, :])

    def visit(node: int, value: np.ndarray) -> None:
        out[node] = value
        for child in (tree.children_left[node], tree.children_right[node]):
            if child >= 0:
                change = tree.value[child, 0] - tree.value[node, 0]
                visit(child, value + change / (1 + strength / tree.weighted_n_node_samples[node]))

    visit(0, tree.value[0, 0])
    return out


def twin_answers(model: Any, rows: np.ndarray, strength: float) -> np.ndarray:
    trees = np.ravel(getattr(model, "estimators_", [model]))
    values = [twin_values(each.tree_, strength)[each.apply(rows.astype(np.float32))] for each in trees]
    if hasattr(model, "init_"):
        return model.init_.predict(rows)[:, None] + model.learning_rate * np.sum(values, axis=0)
    return np.mean(values, axis=0)


REGRESSORS = [
    DecisionTreeRegressor(min_samples_leaf=3, random_state=0),
    RandomForestRegressor(8, random_state=0),
    ExtraTreesRegressor(5, random_state=0),
    GradientBoostingRegressor(n_estimators=10, random_state=0),
]
CLASSIFIERS = [DecisionTreeClassifier(random_state=0), RandomForestClassifier(8, random_state=0)]


@pytest.mark.parametrize("strength", [0.1, 10.0, 1e6])
@pytest.mark.parametrize("model", REGRESSORS, ids=lambda model: type(model).__name__)
def test_numbers_are_those_of_the_twin(model: Any, strength: float) -> None:
    rows, target = DIABETES
    fitted = clone(model).fit(rows, target)
    soft = tm.DualPerturbRegressor(fitted, noise=0.0, shrinkage=strength).fit(rows, target)
    np.testing.assert_allclose(soft.predict(rows), twin_answers(fitted, rows, strength)[:, 0], rtol=1e-10)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("model", CLASSIFIERS, ids=lambda model: type(model).__name__)
def test_shares_are_those_of_the_twin(model: Any, weighted: bool) -> None:
    rows, target = IRIS
    weights = np.random.default_rng(0).integers(1, 4, len(rows)).astype(float) if weighted else None
    fitted = clone(model).fit(rows, target, sample_weight=weights)
    soft = tm.DualPerturbClassifier(fitted, noise=0.0, shrinkage=10.0).fit(rows, target, sample_weight=weights)
    expected = twin_answers(fitted, rows, 10.0)
    np.testing.assert_allclose(soft.predict_proba(rows), expected, rtol=0, atol=1e-12)
    np.testing.assert_array_equal(soft.predict(rows), expected.argmax(axis=1))
    assert np.abs(soft.predict_proba(rows) - fitted.predict_proba(rows)).max() > 0.02


@pytest.mark.slow
@pytest.mark.parametrize("strength", [1.0, 10.0, 100.0])
def test_answers_are_those_of_imodels(strength: float) -> None:
    imodels = pytest.importorskip("imodels")
    rows, target = DIABETES
    for model in REGRESSORS:
        fitted = clone(model).fit(rows, target)
        soft = tm.DualPerturbRegressor(fitted, noise=0.0, shrinkage=strength).fit(rows, target)
        other = imodels.HSTreeRegressor(estimator_=copy.deepcopy(fitted), reg_param=strength)
        np.testing.assert_allclose(soft.predict(rows), np.ravel(other.predict(rows)), rtol=1e-9)
    rows, target = load_breast_cancer(return_X_y=True)
    for model in CLASSIFIERS:
        fitted = clone(model).fit(rows, target)
        shares = tm.DualPerturbClassifier(fitted, noise=0.0, shrinkage=strength).fit(rows, target).predict_proba(rows)
        other = imodels.HSTreeClassifier(estimator_=copy.deepcopy(fitted), reg_param=strength)
        np.testing.assert_allclose(shares, other.predict_proba(rows), rtol=0, atol=1e-12)


def test_weights_of_rows_sent_down_the_trees_are_those_that_are_stored() -> None:
    rows, target = DIABETES
    model = read_model(GradientBoostingRegressor(n_estimators=5, random_state=0).fit(rows, target))
    stored, source = find_node_weights(model, None, None, None)
    unknown = read_model(store_trees(model))
    routed, other_source = find_node_weights(unknown, rows, target, None)
    assert (source, other_source) == ("stored in the trees", "all rows given to fit")
    for each, other in zip(stored, routed, strict=True):
        np.testing.assert_array_equal(each, other)


def test_members_of_another_library_in_an_ensemble_of_tremula() -> None:
    rows, target = DIABETES
    bagged = tm.BaggingRegressor(DecisionTreeRegressor(random_state=0), n_estimators=4, random_state=0)
    weights, _ = find_node_weights(read_model(bagged.fit(rows, target)), rows, target, None)
    for member, each in zip(bagged.members_, weights, strict=True):
        given = member.estimator.tree_.weighted_n_node_samples
        assert np.sort(each).tolist() == np.sort(given).tolist()


def test_rows_of_each_member_are_sent_down_its_tree() -> None:
    pytest.importorskip("treelite")
    rows, target = DIABETES
    boosting = HistGradientBoostingRegressor(max_iter=1, max_leaf_nodes=4)
    model = read_model(bagged := BaggingRegressor(boosting, n_estimators=3, random_state=0).fit(rows, target))
    weights, source = find_node_weights(model, rows, target, None)
    assert source == "the training rows of each member"
    for sample, tree, each, member in zip(bagged.estimators_samples_, model.sum.trees, weights, bagged.estimators_):
        _, counts = np.unique(member.predict(rows[sample]), return_counts=True)
        assert sorted(each[tree.is_leaf]) == sorted(counts)


# --- tremula's own trees ---


def test_nominal_trees_use_the_weights_that_they_store() -> None:
    random = np.random.default_rng(0)
    table = pd.DataFrame({"level": random.choice(list("abcd"), 200), "number": random.normal(size=200)})
    target = (table["level"] == "b") * 2.0 + table["number"] + random.normal(size=200)
    table = table.mask(random.random(table.shape) < 0.1)
    tree = tm.CARTRegressor().fit(table, target)
    soft = tm.DualPerturbRegressor(tree, noise=0.0, shrinkage=20.0, scale=[0.0, 1.0]).fit()
    assert soft.node_weights_source_ == "stored in the trees"
    given = tree.tree_
    means, parents = node_means(given, given.weight), parents_of(given.nodes)
    expected = np.empty((given.n_leaves, 1))
    for number, leaf in enumerate(np.flatnonzero(given.is_leaf)):
        node, value = leaf, 0.0
        while node > 0:
            value += (means[node] - means[parents[node]]) / (1 + 20.0 / given.weight[parents[node]])
            node = parents[node]
        expected[number] = means[0] + value
    np.testing.assert_allclose(shrink_tree(given, given.weight, 20.0).values, expected, rtol=1e-12)
    assert np.isfinite(soft.predict(table)).all()
    assert soft.predict(table).std() < tree.predict(table).std()


def test_means_of_nodes_are_those_of_their_rows() -> None:
    rows, target = DIABETES
    tree = tm.CARTRegressor(max_depth=4).fit(rows, target).tree_
    moments = tree.moments(rows, target, np.ones(len(rows)))
    np.testing.assert_allclose(node_means(tree, tree.weight)[:, 0], moments[:, 1] / moments[:, 0])


def test_a_branch_without_rows_has_the_value_above_it() -> None:
    rows, target = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([0.0, 1.0, 5.0, 9.0])
    tree = tm.CARTRegressor(min_samples_split=2).fit(rows, target).tree_
    weights = tree.weight * (np.arange(tree.n_nodes) < 1)
    shrunken = shrink_tree(tree, weights, 1.0)
    assert np.isfinite(shrunken.values).all()
    assert shrink_tree(tree, weights, 0.0).predict_values(rows)[:, 0].tolist() == target.tolist()


# --- in the wrappers ---


def test_no_shrinkage_is_the_model_itself() -> None:
    rows, target = IRIS
    forest = RandomForestClassifier(8, random_state=0).fit(rows, target)
    soft = tm.DualPerturbClassifier(forest, noise=0.0).fit(rows)
    assert soft.predict_proba(rows).tobytes() == forest.predict_proba(rows).tobytes()
    assert soft.node_weights_ is None


def test_shrinkage_and_noise_together() -> None:
    rows, target = DIABETES
    forest = RandomForestRegressor(8, random_state=0).fit(rows, target)
    soft = tm.DualPerturbRegressor(forest, noise=0.3, shrinkage=10.0).fit(rows, target)
    draws = 0.3 * rows.std(axis=0) * np.random.default_rng(0).normal(size=(3000, 10))
    drawn = twin_answers(forest, rows[5] + draws, 10.0)[:, 0]
    mean, deviation = soft.predict(rows[5:6], return_std=True)
    assert abs(mean[0] - drawn.mean()) <= 4.5 * drawn.std() / np.sqrt(len(drawn))
    assert deviation[0] == pytest.approx(drawn.std(), rel=0.1)


def test_boosting_of_classes_is_shrunken_before_the_link() -> None:
    rows, target = load_breast_cancer(return_X_y=True)
    model = GradientBoostingClassifier(n_estimators=10, random_state=0).fit(rows, target)
    soft = tm.DualPerturbClassifier(model, noise=0.0, shrinkage=1e9).fit(rows, target)
    shares = soft.predict_proba(rows)[:, 1]
    assert np.ptp(shares) < 1e-4  # nothing is left but the roots
    assert np.ptp(model.predict_proba(rows)[:, 1]) > 0.5


@pytest.mark.parametrize("noise", [0.0, "auto"])
def test_strength_is_chosen_on_validation_rows(noise: Any) -> None:
    rows, target = DIABETES
    tree = tm.CARTRegressor().fit(rows[:200], target[:200])
    options = {"X_val": rows[200:320], "y_val": target[200:320]}
    soft = tm.DualPerturbRegressor(tree, noise=noise, shrinkage="auto").fit(rows[:200], target[:200], **options)
    plain = tm.DualPerturbRegressor(tree, noise=noise).fit(rows[:200], **(options if noise == "auto" else {}))
    assert soft.shrinkage_ in STRENGTHS
    if noise == 0.0:
        assert soft.shrinkage_ > 0
    np.testing.assert_array_equal(soft.shrinkage_curve_[:, 0], STRENGTHS)
    hard, shrunken = (np.mean((each.predict(rows[320:]) - target[320:]) ** 2) for each in (plain, soft))
    assert shrunken <= 1.02 * hard
    for strength, loss in soft.shrinkage_curve_ if noise == 0.0 else []:
        each = tm.DualPerturbRegressor(tree, noise=0.0, shrinkage=strength).fit(rows[:200], target[:200])
        assert np.mean((each.predict(rows[200:320]) - target[200:320]) ** 2) == pytest.approx(loss)


@pytest.mark.parametrize("tuning", ["oob", "cv"])
def test_strength_is_chosen_without_further_rows(tuning: str) -> None:
    rows, target = DIABETES
    forest = RandomForestRegressor(10, random_state=0)
    soft = tm.DualPerturbRegressor(forest, noise=0.0, shrinkage="auto", tuning=tuning, cv=2, random_state=0)
    soft.fit(rows[:150], target[:150])
    assert soft.shrinkage_ in STRENGTHS
    assert "_fold_copies" not in vars(soft)
    again = clone(soft).fit(rows[:150], target[:150])
    np.testing.assert_array_equal(again.shrinkage_curve_, soft.shrinkage_curve_)


def test_copies_and_files_are_shrunken_alike(tmp_path: Path) -> None:
    rows, target = DIABETES
    stored = store_trees(read_model(RandomForestRegressor(5, random_state=0).fit(rows, target)))
    for model in (tm.BaggingRegressor(n_estimators=5, random_state=0).fit(rows, target), stored):
        soft = tm.DualPerturbRegressor(model, noise=0.1, shrinkage=10.0).fit(rows, target)
        tm.save(soft, tmp_path / "soft.tremula")
        for each in (pickle.loads(pickle.dumps(soft)), tm.load(tmp_path / "soft.tremula")):
            assert each.predict(rows).tobytes() == soft.predict(rows).tobytes()
    assert soft.node_weights_source_ == "all rows given to fit"


def test_same_bits_for_any_number_of_jobs() -> None:
    rows, target = DIABETES
    model = tm.BaggingRegressor(n_estimators=5, random_state=0).fit(rows, target)
    alone, together = (
        tm.DualPerturbRegressor(model, shrinkage="auto", n_jobs=n_jobs).fit(rows, target) for n_jobs in (1, 2)
    )
    assert alone.shrinkage_curve_.tobytes() == together.shrinkage_curve_.tobytes()
    assert alone.predict(rows).tobytes() == together.predict(rows).tobytes()


def test_a_shrunken_model_that_is_trained_again_is_noticed() -> None:
    rows, target = DIABETES
    forest = RandomForestRegressor(3, random_state=0, warm_start=True).fit(rows, target)
    soft = tm.DualPerturbRegressor(forest, noise=0.1, shrinkage=10.0).fit(rows, target)
    forest.set_params(n_estimators=5).fit(rows, target)
    with pytest.raises(ModelChanged):
        soft.predict(rows)


# --- refusals ---


def test_a_model_without_weights_needs_its_training_rows() -> None:
    rows, target = IRIS
    stored = store_trees(read_model(DecisionTreeClassifier().fit(rows, target)))
    soft = tm.DualPerturbClassifier(stored, noise=0.1, shrinkage=1.0, scale=np.ones(4))
    with pytest.raises(InvalidInput, match="DecisionTreeClassifier of sklearn does not hand over: give fit"):
        soft.fit()


@pytest.mark.parametrize("model", [GaussianNB(), LogisticRegression(max_iter=1000)])
def test_only_trees_can_be_shrunken(model: Any) -> None:
    soft = tm.DualPerturbClassifier(model, noise=0.1, method="auto", shrinkage=1.0)
    with pytest.raises(InvalidParameter, match=f"{type(model).__name__} cannot be read as trees"):
        soft.fit(*IRIS)


@pytest.mark.parametrize("shrinkage", [-1.0, "much", np.nan])
def test_strengths_that_make_no_sense(shrinkage: Any) -> None:
    with pytest.raises(InvalidParameter, match="shrinkage"):
        tm.DualPerturbClassifier(noise=0.1, shrinkage=shrinkage).fit(*IRIS)
