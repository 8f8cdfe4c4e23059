"""REPTree's own rules: the best cut or none, strict thresholds, rows held out and filled back."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_diabetes, load_iris

from tremula import CARTClassifier, REPTreeClassifier, REPTreeRegressor
from tremula.errors import InvalidInput


def noisy(seed: int, n_rows: int = 300) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    X = random.normal(size=(n_rows, 3))
    return X, (X[:, 0] > 0) ^ (random.random(n_rows) < 0.2)


# ---- growing


def test_if_the_best_cut_is_not_admissible_no_other_is_tried() -> None:
    """The best cut splits the single B off, which is too light; CART would cut elsewhere."""
    X, y = np.arange(10.0)[:, None], list("AAAAAAAAAB")
    assert REPTreeClassifier(prune=False).fit(X, y).get_n_leaves() == 1
    assert REPTreeClassifier(prune=False, min_weight_leaf=1).fit(X, y).get_n_leaves() == 2
    assert CARTClassifier(min_samples_leaf=2).fit(X, y).get_n_leaves() > 1


def test_a_value_on_the_threshold_goes_to_the_second_branch() -> None:
    fitted = REPTreeClassifier(prune=False).fit(np.array([1.0, 1, 1, 2, 2, 2])[:, None], list("AAABBB"))
    assert fitted.tree_.threshold[0] == 1.5
    assert fitted.predict([[1.5], [np.nextafter(1.5, 0)]]).tolist() == ["B", "A"]


def test_of_equal_splits_the_first_is_taken() -> None:
    """All columns divide the rows alike; sums in another order must not decide."""
    random = np.random.default_rng(0)
    for _ in range(50):
        column = random.permutation(30).astype(float)
        X, target = np.column_stack([column, -column, 2 * column]), random.normal(size=30) * 1e3 + 1 / 3
        tree = REPTreeRegressor(prune=False, min_weight_leaf=1).fit(X, target).tree_
        assert set(tree.attribute) == {0, -1}


def test_a_node_of_little_variance_is_a_leaf() -> None:
    """A tenth of the rows is far away: what varies among the others is a millionth of it all."""
    X = np.arange(100.0)[:, None]
    y = np.where(X[:, 0] < 90, X[:, 0] // 10 % 2, 1000.0)
    assert REPTreeRegressor(prune=False).fit(X, y).get_n_leaves() == 2
    assert REPTreeRegressor(prune=False, min_variance_share=0).fit(X, y).get_n_leaves() > 2


def test_rows_of_missing_value_go_down_both_branches() -> None:
    """Six known rows split evenly, a seventh is unknown: 3.5 in each branch."""
    X = np.array([1.0, 1, 1, 2, 2, 2, np.nan])[:, None]
    fitted = REPTreeClassifier(prune=False).fit(X, list("AAABBBA"))
    assert fitted.tree_.weight.tolist() == [7, 3.5, 3.5]
    assert fitted.predict_proba([[1.0], [2.0]]) == pytest.approx(np.array([[1, 0], [1 / 7, 6 / 7]]))


def test_a_branch_of_no_rows_answers_as_its_parent() -> None:
    levels = pd.CategoricalDtype(["a", "b", "c"])
    X = pd.DataFrame({"level": pd.Series(list("aaaabbbb"), dtype=levels)})
    fitted = REPTreeClassifier(prune=False).fit(X, list("XXXYYYYY"))
    assert fitted.tree_.n_nodes == 4
    assert fitted.tree_.weight.tolist() == [8, 4, 4, 0]
    asked = pd.DataFrame({"level": pd.Series(["c"], dtype=levels)})
    assert fitted.predict_proba(asked)[0] == pytest.approx([3 / 8, 5 / 8])


def test_held_out_rows_fill_a_branch_of_no_rows() -> None:
    levels = pd.CategoricalDtype(["a", "b", "c"])
    X = pd.DataFrame({"level": pd.Series(list("aaaabbbb"), dtype=levels)})
    X_val = pd.DataFrame({"level": pd.Series(list("aabbc"), dtype=levels)})
    fitted = REPTreeClassifier().fit(X, list("XXXYYYYY"), X_val=X_val, y_val=list("XXYYX"))
    assert fitted.predict_proba(X_val)[-1] == pytest.approx([1, 0])
    assert fitted.tree_.weight.tolist() == [8, 4, 4, 0]


# ---- holding out


@pytest.mark.parametrize("learner", [REPTreeClassifier(), REPTreeRegressor()], ids=repr)
def test_pruning_makes_trees_smaller(learner: Any) -> None:
    X, y = noisy(0)
    pruned = learner.set_params(random_state=0).fit(X, y.astype(float))
    full = learner.__class__(prune=False).fit(X, y.astype(float))
    assert pruned.get_n_leaves() < full.get_n_leaves() / 3


def test_a_third_of_every_class_is_held_out() -> None:
    """The root of the pruned tree still has the weight it grew with."""
    X, y = load_iris(return_X_y=True)
    for n_folds, grown in ((3, 100), (5, 120), (10, 135)):
        fitted = REPTreeClassifier(n_folds=n_folds, random_state=0).fit(X, y)
        assert fitted.tree_.weight[0] == grown
    unfilled = REPTreeClassifier(backfit=False, random_state=0).fit(X, y)
    root = unfilled.tree_.node_values()[0]
    assert root == pytest.approx([0.34, 0.33, 0.33], abs=0.011)


def test_the_seed_says_which() -> None:
    X, y = noisy(1)
    trees = [REPTreeClassifier(random_state=seed).fit(X, y).tree_ for seed in (0, 0, 1)]
    assert trees[0] == trees[1]
    assert trees[0] != trees[2]


def test_without_pruning_no_seed_is_needed() -> None:
    X, y = noisy(1)
    assert (
        REPTreeClassifier(prune=False, random_state=1).fit(X, y).tree_ == REPTreeClassifier(prune=False).fit(X, y).tree_
    )


def test_rows_of_weight_zero_are_not_held_out() -> None:
    X, y = noisy(2)
    weights = np.where(np.arange(300) < 30, 1.0, 0.0)
    fitted = REPTreeClassifier(random_state=0).fit(X, y, sample_weight=weights)
    assert fitted.tree_.weight[0] == 20


def test_held_out_weight_counts() -> None:
    """Doubling every weight changes nothing but the units."""
    X, y = noisy(3)
    single = REPTreeClassifier(random_state=0, min_weight_leaf=2).fit(X, y, sample_weight=np.full(300, 1.0))
    double = REPTreeClassifier(random_state=0, min_weight_leaf=4).fit(X, y, sample_weight=np.full(300, 2.0))
    assert np.array_equal(single.predict_proba(X), double.predict_proba(X))
    assert np.array_equal(2 * single.tree_.weight, double.tree_.weight)


# ---- rows given to prune on


def test_given_rows_prune_and_all_others_grow() -> None:
    X, y = noisy(4)
    X_val, y_val = noisy(5, 100)
    fitted = REPTreeClassifier().fit(X, y, X_val=X_val, y_val=y_val)
    assert fitted.tree_.weight[0] == 300
    assert fitted.tree_ == REPTreeClassifier(random_state=7).fit(X, y, X_val=X_val, y_val=y_val).tree_


def test_a_class_of_the_held_out_rows_alone_is_a_class() -> None:
    X, y = np.repeat([0.0, 1.0], 10)[:, None], np.repeat(["a", "b"], 10)
    X_val, y_val = np.array([0.0] * 3 + [1.0] * 20)[:, None], ["a"] * 3 + ["b"] * 5 + ["c"] * 15
    fitted = REPTreeClassifier().fit(X, y, X_val=X_val, y_val=y_val)
    assert fitted.classes_.tolist() == ["a", "b", "c"]
    assert fitted.predict_proba([[1.0]])[0] == pytest.approx([0, 15 / 30, 15 / 30])
    assert REPTreeClassifier(backfit=False).fit(X, y, X_val=X_val, y_val=y_val).predict([[1.0]]).tolist() == ["b"]


def test_rows_to_prune_on_come_with_their_targets() -> None:
    X, y = noisy(6)
    with pytest.raises(InvalidInput, match="X_val was given without y_val: give both, or neither"):
        REPTreeClassifier().fit(X, y, X_val=X)
    with pytest.raises(InvalidInput, match="y_val was given without X_val"):
        REPTreeRegressor().fit(X, y.astype(float), y_val=y)
    with pytest.raises(InvalidInput, match=r"299|300"):
        REPTreeClassifier().fit(X, y, X_val=X, y_val=y[1:])
    with pytest.raises(InvalidInput, match=r"2 features|2 columns|columns"):
        REPTreeClassifier().fit(X, y, X_val=X[:, :2], y_val=y)


def test_numbers_far_from_zero_keep_their_digits() -> None:
    X, y = load_diabetes(return_X_y=True)
    far = REPTreeRegressor(random_state=0).fit(X, y + 2.0**40)
    near = REPTreeRegressor(random_state=0).fit(X, y)
    assert np.array_equal(far.tree_.attribute, near.tree_.attribute)
    assert far.predict(X) - 2.0**40 == pytest.approx(near.predict(X), abs=1e-3)
