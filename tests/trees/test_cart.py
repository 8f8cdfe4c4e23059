"""CART against scikit-learn's trees on numbers, sets of levels, and the three ways to choose a pruned subtree."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest
from scipy.special import xlogy
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.model_selection import KFold, ShuffleSplit
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from tremula import CARTClassifier, CARTRegressor
from tremula.errors import InvalidInput, InvalidParameter

# ---- scikit-learn
#
# Numbers are drawn from a continuous distribution, rounded to the single precision that scikit-learn works in, so no
# two values of a column are equal. Splits may still tie: in a node of few rows two attributes often divide them alike.
# scikit-learn then draws one, tremula takes the first. So both trees are walked together: wherever they part, the two
# splits must be worth the same; where they do not, the predictions must be the same.

# Limits, and how many of twelve trees of classes and of numbers meet no tie at least.
LIMITS = [
    ({"max_depth": 3}, 12, 6),
    ({"min_samples_leaf": 20}, 4, 12),
    ({"max_depth": 5, "min_samples_leaf": 5}, 4, 10),
    ({"min_samples_split": 20}, 4, 5),
    ({}, 0, 0),
]
each_limit = pytest.mark.parametrize(
    ("limits", "n_classes_alike", "n_numbers_alike"), LIMITS, ids=[str(x) for x, *_ in LIMITS]
)


def draw(seed: int, n_rows: int, n_classes: int, weighted: bool = False) -> Rows:
    """Rows of five numbers; classes, or a number if there are none, that depend on three of them."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(n_rows, 5)).astype(np.float32).astype(float)
    signal = X[:, 0] + X[:, 1] * X[:, 2] + random.normal(scale=0.5, size=n_rows)
    weights = random.integers(1, 2**17, size=n_rows) / 2**16 if weighted else np.ones(n_rows)
    if n_classes:
        signal = np.digitize(signal, np.quantile(signal, np.arange(1, n_classes) / n_classes))
    return Rows(X, signal, weights)


class Rows(NamedTuple):
    X: np.ndarray
    y: np.ndarray
    weights: np.ndarray

    def where(self, chosen: np.ndarray) -> Rows:
        return Rows(*(column[chosen] for column in self))

    def loss(self, criterion: str) -> float:
        """Weight times impurity."""
        total = self.weights.sum()
        if criterion == "squared_error":
            return float(self.weights @ (self.y - self.weights @ self.y / total) ** 2)
        if criterion == "poisson":
            return float(-xlogy(self.weights @ self.y, self.weights @ self.y / total))
        if criterion == "absolute_error":
            return min(float(self.weights @ abs(self.y - y)) for y in self.y)
        counts = np.bincount(self.y, self.weights)
        shares = counts[counts > 0] / total
        return float(total * (1 - (shares**2).sum() if criterion == "gini" else -(shares * np.log2(shares)).sum()))


def count_partings(ours: Any, foreign: Any, rows: Rows, node: int = 0, other: int = 0) -> int:
    """Places where the trees part for no other reason than a tie; anything else fails."""
    tree, foreign_tree = ours.tree_, foreign.tree_
    assert tree.is_leaf[node] == (foreign_tree.children_left[other] < 0)
    assert tree.weight[node] == pytest.approx(rows.weights.sum())
    if tree.is_leaf[node]:
        return 0
    first = rows.X[:, tree.attribute[node]] <= tree.threshold[node]
    left = rows.X[:, foreign_tree.feature[other]] <= foreign_tree.threshold[other]
    if tree.attribute[node] != foreign_tree.feature[other] or not np.array_equal(first, left):
        losses = [sum(rows.where(side).loss(foreign.criterion) for side in (mask, ~mask)) for mask in (first, left)]
        assert losses[0] == pytest.approx(losses[1], rel=1e-9, abs=1e-9)
        return 1
    assert tree.threshold[node] == pytest.approx(foreign_tree.threshold[other], rel=1e-12)
    children = tree.first_child[node], foreign_tree.children_left[other], foreign_tree.children_right[other]
    return count_partings(ours, foreign, rows.where(first), children[0], children[1]) + count_partings(
        ours, foreign, rows.where(~first), children[0] + 1, children[2]
    )


def assert_alike(ours: Any, foreign: Any, rows: Rows) -> bool:
    """Trees that are the same but for ties; where there is none, predictions too. Whether there is none."""
    if count_partings(ours, foreign, rows):
        return False
    assert ours.tree_.n_nodes == foreign.tree_.node_count
    asked = np.random.default_rng(0).normal(size=(500, 5)).astype(np.float32).astype(float)
    assert ours.predict(asked) == pytest.approx(foreign.predict(asked))
    if hasattr(ours, "predict_proba"):
        assert ours.predict_proba(asked) == pytest.approx(foreign.predict_proba(asked))
    return True


def count_alike(ours: Any, foreign: Any, tables: list[Rows]) -> int:
    foreign.set_params(random_state=0)
    return sum(assert_alike(ours.fit(*rows), foreign.fit(*rows), rows) for rows in tables)


@each_limit
@pytest.mark.parametrize("criterion", ["gini", "entropy"])
def test_classes_as_scikit_learn_tells_them(
    criterion: str, limits: dict[str, int], n_classes_alike: int, n_numbers_alike: int
) -> None:
    tables = [draw(seed, (400, 1000, 2000)[seed % 3], (2, 3, 7)[seed % 4 % 3]) for seed in range(12)]
    foreign = DecisionTreeClassifier(criterion=criterion, **limits)
    assert count_alike(CARTClassifier(criterion, **limits), foreign, tables) >= n_classes_alike


@each_limit
def test_numbers_as_scikit_learn_tells_them(limits: dict[str, int], n_classes_alike: int, n_numbers_alike: int) -> None:
    tables = [draw(seed, (60, 300, 1000)[seed % 3], 0) for seed in range(12)]
    assert count_alike(CARTRegressor(**limits), DecisionTreeRegressor(**limits), tables) >= n_numbers_alike


@pytest.mark.parametrize("criterion", ["gini", "entropy", "squared_error"])
def test_weights_as_scikit_learn_takes_them(criterion: str) -> None:
    """Limits are weights to tremula and numbers of rows to scikit-learn, so there are none here.

    Weights are whole multiples of a small number, so that their sums are exact: of others scikit-learn may find a node
    of one class not quite pure, and split it.
    """
    limits = {"min_samples_split": 0, "min_samples_leaf": 0, "max_depth": 5}
    is_number = criterion == "squared_error"
    ours = CARTRegressor(**limits) if is_number else CARTClassifier(criterion, **limits)
    foreign = (
        DecisionTreeRegressor(max_depth=5) if is_number else DecisionTreeClassifier(criterion=criterion, max_depth=5)
    )
    tables = [draw(seed, n_rows, 0 if is_number else 3, weighted=True) for seed in range(6) for n_rows in (200, 2000)]
    assert count_alike(ours, foreign, tables) >= 1


def test_a_full_tree_knows_its_rows_by_heart() -> None:
    X, y, _ = draw(0, 500, 4)
    for criterion in ("gini", "entropy", "gain_ratio", "symmetric_uncertainty"):
        assert CARTClassifier(criterion).fit(X, y).score(X, y) == 1.0
    X, y, _ = draw(0, 500, 0)
    assert CARTRegressor().fit(X, y).score(X, y) == pytest.approx(1.0)


def test_criteria_choose_differently() -> None:
    X, y, _ = draw(3, 300, 3)
    criteria = ("gini", "entropy", "gain_ratio", "symmetric_uncertainty")
    depths = {criterion: CARTClassifier(criterion).fit(X, y).get_depth() for criterion in criteria}
    assert depths["gain_ratio"] > depths["symmetric_uncertainty"] > depths["gini"] - 3
    assert len({CARTClassifier(criterion).fit(X, y).get_n_leaves() for criterion in criteria}) > 1


# ---- nominal attributes


def test_levels_are_divided_in_two_sets() -> None:
    X = pd.DataFrame({"letter": list("abcdef") * 10})
    y = np.tile([1, 0, 1, 0, 0, 1], 10)
    for criterion in ("gini", "entropy", "symmetric_uncertainty"):
        tree = CARTClassifier(criterion).fit(X, y).tree_
        assert tree.n_nodes == 3
        assert tree.subsets.tolist() == [0, 1, 0, 1, 1, 0]
    tree = CARTRegressor().fit(X, [3.0, 9.0, 3.5, 9.5, 9.0, 3.0] * 10).tree_
    assert tree.subsets[tree.nodes["index"][0] :][:6].tolist() == [0, 1, 0, 1, 1, 0]


def test_a_level_the_node_never_saw_goes_both_ways() -> None:
    """Green rows are split off by size, so the test of colour below has never seen one."""
    X = pd.DataFrame({"size": [1, 1, 2, 2, 2, 2], "colour": ["green", "green", "red", "red", "blue", "blue"]})
    y = ["c", "c", "a", "a", "b", "b"]
    fitted = CARTClassifier().fit(X, y)
    asked = pd.DataFrame({"size": [2.0], "colour": ["green"]})
    if fitted.tree_.attribute[0] == 0:
        assert fitted.predict_proba(asked)[0] == pytest.approx([0.5, 0.5, 0.0])


# ---- pruning by a price


def test_a_price_of_nothing_prunes_nothing() -> None:
    X, y, _ = draw(0, 300, 3)
    fitted = CARTClassifier(ccp_alpha=0.0).fit(X, y)
    assert fitted.score(X, y) == 1.0
    assert not hasattr(fitted, "pruned_sequence_")


def test_a_higher_price_leaves_a_smaller_tree() -> None:
    X, y = load_breast_cancer(return_X_y=True)
    prices = [0.0, 0.002, 0.005, 0.02, 0.2, 1.0]
    leaves = [CARTClassifier(ccp_alpha=price).fit(X, y).get_n_leaves() for price in prices]
    assert leaves == sorted(leaves, reverse=True)
    assert leaves[0] > 10
    assert leaves[-1] == 1


def test_the_price_is_a_share_of_errors_per_leaf() -> None:
    """Ten rows: the first split saves four errors, the second one; pruning goes by 0.1 and 0.4 a leaf."""
    X, y = np.arange(10.0)[:, None], np.array([0, 0, 0, 0, 0, 1, 1, 1, 1, 2])
    leaves = {price: CARTClassifier(ccp_alpha=price).fit(X, y).get_n_leaves() for price in (0.09, 0.11, 0.39, 0.41)}
    assert leaves == {0.09: 3, 0.11: 2, 0.39: 2, 0.41: 1}


def test_the_price_of_a_number_is_in_units_of_squared_error() -> None:
    """Eight rows of variance 26: a first split leaves 1, a second on either side saves a half of it."""
    X, y = np.arange(8.0)[:, None], np.array([0.0, 0, 2, 2, 10, 10, 12, 12])
    saved = [0.5, 25.0]
    assert y.var() == 26
    leaves = [CARTRegressor(ccp_alpha=price).fit(X, y).get_n_leaves() for price in (0.49, 0.51, 24.9, 25.1)]
    assert leaves == [4, 2, 2, 1]
    assert saved[0] < saved[1]


# ---- pruning on held-out rows


@pytest.mark.parametrize(
    ("learner", "n_classes"),
    [(CARTClassifier("entropy", ccp_alpha="validation"), 3), (CARTRegressor(ccp_alpha="validation"), 0)],
    ids=repr,
)
def test_held_out_rows_choose_the_subtree(learner: Any, n_classes: int) -> None:
    X, y, _ = draw(0, 300, n_classes)
    X_val, y_val, _ = draw(1, 100, n_classes)
    fitted = learner.fit(X, y, X_val=X_val, y_val=y_val)
    sequence = fitted.pruned_sequence_
    for alpha, loss in zip(sequence.alphas[1:], sequence.losses[1:]):
        predicted = learner.__class__(learner.criterion, ccp_alpha=float(alpha)).fit(X, y).predict(X_val)
        expected = (predicted != y_val).mean() if n_classes else ((predicted - y_val) ** 2).mean()
        assert loss == pytest.approx(expected)
    best = sequence.losses.min()
    assert sequence.alpha == sequence.alphas[sequence.losses <= best + 1e-12].max()
    assert fitted.get_n_leaves() < learner.__class__(learner.criterion).fit(X, y).get_n_leaves()
    own = (fitted.predict(X_val) != y_val).mean() if n_classes else ((fitted.predict(X_val) - y_val) ** 2).mean()
    assert own == pytest.approx(best)


def test_a_class_of_the_held_out_rows_alone_is_a_class() -> None:
    X, y, _ = draw(0, 60, 2)
    y_val = np.append(y, 7)
    fitted = CARTClassifier(ccp_alpha="validation").fit(X, y, X_val=np.vstack([X, X[:1]]), y_val=y_val)
    assert fitted.classes_.tolist() == [0, 1, 7]
    assert fitted.predict_proba(X)[:, 2].max() == 0
    assert fitted.pruned_sequence_.losses.min() >= 1 / 61


@pytest.mark.parametrize("family", [CARTClassifier, CARTRegressor])
def test_held_out_rows_and_the_choice_belong_together(family: Any) -> None:
    X, y, _ = draw(0, 60, 2)
    with pytest.raises(InvalidParameter, match=r"'validation' needs held-out rows: give X_val and y_val to fit"):
        family(ccp_alpha="validation").fit(X, y)
    with pytest.raises(InvalidParameter, match=r"ccp_alpha=0\.0 does not use them"):
        family().fit(X, y, X_val=X, y_val=y)
    with pytest.raises(InvalidInput, match="X_val was given without y_val"):
        family(ccp_alpha="validation").fit(X, y, X_val=X)
    with pytest.raises(InvalidInput, match="y_val was given without X_val"):
        family(ccp_alpha="validation").fit(X, y, y_val=y)
    with pytest.raises(InvalidInput, match="59"):
        family(ccp_alpha="validation").fit(X, y, X_val=X, y_val=y[1:])


# ---- pruning by cross-validation


@pytest.mark.parametrize(("family", "n_classes"), [(CARTClassifier, 3), (CARTRegressor, 0)])
def test_folds_choose_the_subtree(family: Any, n_classes: int) -> None:
    """Every fold grows its own tree, cut at the mean (geometric) of each two prices; the losses are added up."""
    X, y, _ = draw(2, 200, n_classes)
    folds = list(KFold(5).split(X))
    fitted = family(ccp_alpha="cv", cv=folds, min_samples_leaf=5).fit(X, y)
    sequence = fitted.pruned_sequence_
    between = np.sqrt(sequence.alphas * np.append(sequence.alphas[1:], np.inf))
    expected = np.zeros(len(between))
    for train, test in folds:
        for k in range(1, len(between)):
            tree = family(ccp_alpha=float(between[k]), min_samples_leaf=5).fit(X[train], y[train])
            wrong = tree.predict(X[test]) != y[test] if n_classes else (tree.predict(X[test]) - y[test]) ** 2
            expected[k] += wrong.sum() / len(y)
    assert sequence.losses[1:] == pytest.approx(expected[1:])
    assert sequence.alpha == sequence.alphas[sequence.losses <= sequence.losses.min() + 1e-12].max()
    assert fitted.tree_ == family(ccp_alpha=sequence.alpha, min_samples_leaf=5).fit(X, y).tree_


def test_folds_are_drawn_by_the_seed() -> None:
    X, y, _ = draw(4, 200, 3)
    losses = [CARTClassifier(ccp_alpha="cv", random_state=seed).fit(X, y).pruned_sequence_.losses for seed in (0, 0, 1)]
    assert np.array_equal(losses[0], losses[1])
    assert not np.array_equal(losses[0], losses[2])


@pytest.mark.parametrize("cv", [2, 5, KFold(3), ShuffleSplit(4, random_state=0)], ids=str)
def test_folds_may_be_a_number_or_a_splitter(cv: Any) -> None:
    X, y = load_iris(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(y))
    fitted = CARTClassifier(ccp_alpha="cv", cv=cv, random_state=0).fit(X[order], y[order])
    assert 3 <= fitted.get_n_leaves() <= 6


def test_noise_is_pruned_away() -> None:
    random = np.random.default_rng(0)
    X, y = random.normal(size=(400, 4)), random.random(size=400) < 0.3
    assert CARTClassifier().fit(X, y).get_n_leaves() > 50
    assert CARTClassifier(ccp_alpha="cv", random_state=0).fit(X, y).get_n_leaves() < 5
    assert CARTRegressor(ccp_alpha="cv", random_state=0).fit(X, y.astype(float)).get_n_leaves() < 5


def test_a_pruned_tree_is_as_good_as_the_full_one_and_smaller() -> None:
    X, y = load_diabetes(return_X_y=True)
    train, test = np.arange(len(y)) % 3 < 2, np.arange(len(y)) % 3 == 2
    full = CARTRegressor().fit(X[train], y[train])
    pruned = CARTRegressor(ccp_alpha="cv", random_state=0).fit(X[train], y[train])
    assert pruned.get_n_leaves() < full.get_n_leaves() / 5
    assert pruned.score(X[test], y[test]) > full.score(X[test], y[test])


# ---- limits


def test_a_tree_may_be_as_deep_as_it_has_rows() -> None:
    X, y = np.arange(3000.0)[:, None], np.arange(3000) % 2
    fitted = CARTClassifier().fit(X, y)
    assert fitted.get_depth() > 1000
    assert fitted.score(X, y) == 1.0
    assert CARTClassifier(ccp_alpha=0.01).fit(X, y).get_n_leaves() == 1


@pytest.mark.parametrize("scale", [1 / 200, 1.0, 1e6])
@pytest.mark.parametrize("limits", [{}, {"min_samples_leaf": 5}, {"min_samples_split": 20}])
def test_the_unit_of_real_weights_does_not_matter(scale: float, limits: dict[str, int]) -> None:
    random = np.random.default_rng(0)
    X, weights = random.random((200, 3)), random.uniform(0.5, 1.5, 200)
    y = (X[:, 0] + 0.3 * random.random(200) > 0.6).astype(int)
    tree, scaled = (CARTClassifier(**limits).fit(X, y, sample_weight=w) for w in (weights, scale * weights))
    assert scaled.get_n_leaves() == tree.get_n_leaves() > 2
    assert (scaled.tree_.threshold == tree.tree_.threshold).all()


@pytest.mark.parametrize(("family", "y"), [(CARTClassifier, np.arange(30) % 2), (CARTRegressor, np.arange(30.0))])
def test_a_tree_without_splits_has_nothing_to_prune(family: Any, y: np.ndarray) -> None:
    """Geometric means of alphas would be 0 times infinity, a warning and no number."""
    fitted = family(ccp_alpha="cv", random_state=0).fit(np.ones((30, 1)), y)
    assert fitted.tree_.n_nodes == 1
    assert fitted.pruned_sequence_.alpha == 0.0
