"""Pruning all trees of an ensemble at one price, against the same done by brute force, in fractions."""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from fractions import Fraction
from math import isnan
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_diabetes, make_classification
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression

import tremula as tm
from tremula.ensembles.cost_complexity import PricedTree
from tremula.errors import InvalidInput, InvalidParameter
from tremula.trees.pruning import cut_tree

# ---- pruning written out: a tree of whole counts, cut by the definition of minimal cost-complexity

Cut = frozenset[int]


class CountedTree:
    """A tree with the class counts of its training rows in every node."""

    def __init__(self, tree: tm.Tree, X: np.ndarray, codes: np.ndarray, times_drawn: np.ndarray) -> None:
        self.tree = tree
        self.counts = [[Fraction(int(n)) for n in node] for node in tree.class_weights(X, codes, times_drawn).tolist()]

    def branches(self, node: int) -> range:
        record = self.tree.nodes[node]
        return range(record["first_child"], record["first_child"] + record["n_branches"])

    def errors(self, node: int) -> Fraction:
        return (sum(self.counts[node]) - max(self.counts[node])) / sum(self.counts[0])

    def leaves(self, cut: Cut, node: int = 0) -> list[int]:
        if node in cut or not self.branches(node):
            return [node]
        return [leaf for branch in self.branches(node) for leaf in self.leaves(cut, branch)]

    def splits(self, cut: Cut, node: int = 0) -> Iterator[int]:
        if node not in cut and self.branches(node):
            yield node
            for branch in self.branches(node):
                yield from self.splits(cut, branch)

    def cut_at(self, alpha: Fraction) -> Cut:
        """Where to cut for the smallest of the subtrees of least errors plus alpha per leaf."""
        cut = set()

        def least_cost(node: int) -> Fraction:
            as_leaf = self.errors(node) + alpha
            if not self.branches(node):
                return as_leaf
            below = sum((least_cost(branch) for branch in self.branches(node)), Fraction(0))
            if as_leaf <= below:
                cut.add(node)
            return min(as_leaf, below)

        least_cost(0)
        return frozenset(cut)

    def prices(self) -> Iterator[Fraction]:
        """At which something is cut: every time where the weakest link of what is left breaks."""
        cut = self.cut_at(Fraction(0))
        while splits := list(self.splits(cut)):
            alpha = min(self.strength(cut, node) for node in splits)
            yield alpha
            cut = self.cut_at(alpha)

    def strength(self, cut: Cut, node: int) -> Fraction:
        leaves = self.leaves(cut, node)
        return (self.errors(node) - sum(map(self.errors, leaves))) / (len(leaves) - 1)

    def distribution(self, cut: Cut, row: np.ndarray, node: int = 0, inherited: Any = None) -> list[Fraction]:
        """Answer for a row; one without a value goes down every branch, by the rows in each."""
        total = sum(self.counts[node])
        own = [count / total for count in self.counts[node]] if total else inherited
        if node in cut or not self.branches(node):
            return own
        branches = self.branches(node)
        taken = self.branch_taken(node, row[self.tree.attribute[node]])
        if taken is not None:
            return self.distribution(cut, row, branches[taken], own)
        answers = [(sum(self.counts[b]) / total, self.distribution(cut, row, b, own)) for b in branches]
        return [sum(share * answer[k] for share, answer in answers) for k in range(len(own))]

    def branch_taken(self, node: int, value: float) -> int | None:
        record = self.tree.nodes[node]
        if isnan(value):
            return None
        if record["index"] == -2:
            return int(value)
        if record["index"] == -1:
            return int(value > record["threshold"])
        branch = int(self.tree.subsets[record["index"] + int(value)])
        return None if branch == 2 else branch


def naive_sequence(
    trees: list[CountedTree], rows: np.ndarray, codes: np.ndarray, vote: bool
) -> list[tuple[Fraction, Fraction]]:
    """Every price at which some tree changes, and the error of all trees pruned at it."""
    sequence = []
    for alpha in sorted({Fraction(0)}.union(*(tree.prices() for tree in trees))):
        cuts = [tree.cut_at(alpha) for tree in trees]
        n_wrong = 0
        for row, code in zip(rows, codes):
            answers = [tree.distribution(cut, row) for tree, cut in zip(trees, cuts)]
            if vote:
                answers = [[int(k == answer.index(max(answer))) for k in range(len(answer))] for answer in answers]
            total = [sum(column) for column in zip(*answers)]
            n_wrong += total.index(max(total)) != code
        sequence.append((alpha, Fraction(int(n_wrong), len(codes))))
    return sequence


def small_table(seed: int, nominal: bool, missing: bool) -> tuple[np.ndarray, np.ndarray]:
    """120 rows of three classes, the last 30 of them for validation; values are missing among these alone."""
    X, y = make_classification(
        120, 4, n_informative=3, n_redundant=0, n_classes=3, n_clusters_per_class=1, random_state=seed
    )
    random = np.random.default_rng(seed)
    y = np.where(random.random(120) < 0.25, random.integers(3, size=120), y)
    X = X.round(1)
    if nominal:
        X[:, 0] = np.digitize(X[:, 0], [-1, 0, 1])
    if missing:
        X[90:][random.random((30, 4)) < 0.15] = np.nan
    return X, y


@pytest.mark.parametrize("combine", ["average", "vote"])
@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("estimator", [tm.CARTClassifier(), tm.C45Classifier(confidence=None, min_weight_leaf=1)])
@pytest.mark.parametrize("seed", range(3))
def test_prices_and_errors_are_those_of_brute_force(seed: int, estimator: Any, missing: bool, combine: str) -> None:
    X, y = small_table(seed, nominal=seed > 0, missing=missing)
    nominal = {"categorical_features": [0] if seed > 0 else None}
    bagged = tm.BaggingClassifier(
        estimator, n_estimators=3, combine=combine, oob_score=True, random_state=seed, **nominal
    )
    bagged.fit(X[:90], y[:90])
    pruned = tm.prune_together(bagged, X[90:], y[90:])
    trees = [CountedTree(*each) for each in zip(bagged.members_, 3 * [X[:90]], 3 * [y[:90]], bagged.inbag_counts_)]
    expected = naive_sequence(trees, X[90:], y[90:], combine == "vote")
    sequence = pruned.pruned_sequence_
    np.testing.assert_allclose(sequence.alphas, [float(alpha) for alpha, _ in expected], rtol=1e-9)
    losses = np.array([float(loss) for _, loss in expected])
    if missing and combine == "vote":
        # A tree's own vote may be a tie, which rounding decides: a row may be judged otherwise here and there.
        assert np.abs(sequence.losses - losses).max() <= 1 / 30 + 1e-9
        return
    np.testing.assert_allclose(sequence.losses, losses, atol=1e-9)
    alpha = max(alpha for alpha, loss in expected if loss == min(loss for _, loss in expected))
    assert sequence.alpha == pytest.approx(float(alpha))
    assert [tree.n_leaves for tree in pruned.members_] == [len(tree.leaves(tree.cut_at(alpha))) for tree in trees]


# ---- any ensemble: the losses are those of the ensembles pruned at each price


def frame_of_many_kinds(n_rows: int = 400) -> tuple[pd.DataFrame, np.ndarray, np.ndarray]:
    random = np.random.default_rng(3)
    X = random.normal(size=(n_rows, 4)).round(1)
    frame = pd.DataFrame(X).rename(columns=str).assign(color=random.choice(["red", "green", "blue"], size=n_rows))
    value = X[:, 0] + (frame["color"] == "red") * X[:, 1] + random.normal(size=n_rows)
    frame.iloc[random.random(n_rows) < 0.1, 0] = np.nan
    return frame, np.digitize(value, [-0.7, 0.7]), np.asarray(value)


ENSEMBLES = {
    "bagging": tm.BaggingClassifier(tm.CARTClassifier(), n_estimators=8, random_state=0),
    "bagged C4.5": tm.BaggingClassifier(n_estimators=8, random_state=0),
    "voting forest": tm.RandomForestClassifier(n_estimators=8, combine="vote", random_state=0),
    "weighted votes": tm.AdaBoostM1Classifier(tm.CARTClassifier(max_depth=5), n_estimators=6),
    "three members": tm.ThreeBoostClassifier(tm.CARTClassifier(), random_state=0),
    "subspaces": tm.RandomSubspaceClassifier(n_estimators=6, random_state=0),
    "one leaf": tm.BaggingClassifier(tm.CARTClassifier(min_samples_split=1000), n_estimators=3, random_state=0),
    "bagged REPTrees": tm.BaggingRegressor(n_estimators=8, random_state=0),
    "regression forest": tm.RandomForestRegressor(n_estimators=8, random_state=0),
}


@pytest.mark.parametrize("name", ENSEMBLES)
def test_losses_are_those_of_ensembles_pruned_at_each_price(name: str) -> None:
    X, classes, values = frame_of_many_kinds()
    model = clone(ENSEMBLES[name])
    is_classifier = hasattr(model, "predict_proba")
    y = classes if is_classifier else values
    if getattr(model, "combine", "") == "vote":
        X = X.fillna(0.0)  # else a tree's own vote may be a tie, which rounding decides
    model.fit(X[:250], y[:250])
    sequence = tm.prune_together(model, X[250:], y[250:]).pruned_sequence_
    trees = [PricedTree.of(tree, is_classifier) for tree in model.members_]
    for alpha, loss in list(zip(sequence.alphas, sequence.losses))[:: max(1, len(sequence.alphas) // 60)]:
        model.members_ = [tree.at(alpha) for tree in trees]
        predicted = model.predict(X[250:])
        again = np.mean(predicted != y[250:]) if is_classifier else np.mean((predicted - y[250:]) ** 2)
        assert loss == pytest.approx(again, rel=1e-9)
    assert sequence.alpha == sequence.alphas[np.flatnonzero(sequence.losses <= sequence.losses.min() + 1e-12)[-1]]


def test_one_tree_is_pruned_as_cart_prunes_it_on_validation_rows() -> None:
    X, y = make_classification(600, flip_y=0.2, random_state=1)
    alone = tm.CARTClassifier(ccp_alpha="validation").fit(X[:400], y[:400], X_val=X[400:], y_val=y[400:])
    single = tm.PerturbCombineClassifier(tm.CARTClassifier(), n_estimators=1).fit(X[:400], y[:400])
    for prune in (tm.prune_together, tm.prune_each):
        (tree,) = prune(single, X[400:], y[400:]).members_
        assert 1 < tree.n_leaves == alone.get_n_leaves() < single.members_[0].n_leaves
        assert (tree.predict_values(X) == alone.predict_proba(X)).all()


def test_each_tree_is_pruned_by_its_own_errors() -> None:
    X, y = make_classification(600, flip_y=0.2, random_state=1)
    bagged = tm.BaggingClassifier(tm.CARTClassifier(), n_estimators=5, random_state=0).fit(X[:400], y[:400])
    each = tm.prune_each(bagged, X[400:], y[400:])
    for number, (tree, sequence) in enumerate(zip(each.members_, each.pruned_sequences_)):
        alone = copy(bagged)
        alone.members_ = [bagged.members_[number]]
        together = tm.prune_together(alone, X[400:], y[400:])
        assert together.members_ == [tree]
        assert together.pruned_sequence_.alpha == sequence.alpha


def test_regression_trees_have_the_prices_of_cart() -> None:
    X, y = load_diabetes(return_X_y=True)
    alone = tm.CARTRegressor(ccp_alpha="validation").fit(X[:300], y[:300], X_val=X[300:], y_val=y[300:])
    single = tm.PerturbCombineRegressor(tm.CARTRegressor(), n_estimators=1).fit(X[:300], y[:300])
    pruned = tm.prune_together(single, X[300:], y[300:])
    assert pruned.members_[0].n_leaves == alone.get_n_leaves()
    assert pruned.pruned_sequence_.alpha == pytest.approx(alone.pruned_sequence_.alpha)
    assert pruned.pruned_sequence_.losses.min() == pytest.approx(alone.pruned_sequence_.losses.min())


def test_rows_are_judged_alike_however_few_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y, _ = frame_of_many_kinds()
    bagged = tm.BaggingClassifier(n_estimators=5, random_state=0).fit(X[:250], y[:250])
    at_once = tm.prune_together(bagged, X[250:], y[250:]).pruned_sequence_
    monkeypatch.setattr("tremula.ensembles.cost_complexity.MAX_NUMBERS", 1000)
    in_parts = tm.prune_together(bagged, X[250:], y[250:]).pruned_sequence_
    np.testing.assert_allclose(in_parts.losses, at_once.losses, rtol=1e-12)


# ---- the ensemble that comes back


@pytest.fixture
def bagged() -> tm.BaggingClassifier:
    X, y = make_classification(300, flip_y=0.3, random_state=1)
    return tm.BaggingClassifier(tm.CARTClassifier(), n_estimators=5, oob_score=True, random_state=0).fit(X, y)


VALIDATION = make_classification(300, flip_y=0.3, random_state=1)


def test_the_ensemble_given_stays_as_it_is(bagged: tm.BaggingClassifier) -> None:
    before = list(bagged.members_), bagged.oob_score_, bagged.predict_proba(VALIDATION[0])
    pruned = tm.prune_together(bagged, VALIDATION[0], ~VALIDATION[1].astype(bool))
    assert pruned.members_ != bagged.members_
    assert (bagged.members_, bagged.oob_score_) == before[:2]
    assert (bagged.predict_proba(VALIDATION[0]) == before[2]).all()
    assert not hasattr(bagged, "pruned_sequence_")


def test_what_rows_left_out_said_does_not_hold_for_pruned_trees(bagged: tm.BaggingClassifier) -> None:
    pruned = tm.prune_each(bagged, *VALIDATION)
    assert not hasattr(pruned, "oob_score_")
    assert not hasattr(pruned, "oob_decision_function_")
    assert pruned.oob_score is True


def test_a_class_that_training_did_not_have_is_always_wrong(bagged: tm.BaggingClassifier) -> None:
    X, y = VALIDATION
    known = tm.prune_together(bagged, X, y).pruned_sequence_
    with_new = tm.prune_together(bagged, np.vstack([X, X]), np.append(y, np.full(300, 7))).pruned_sequence_
    np.testing.assert_allclose(with_new.losses, (known.losses + 1) / 2)


def test_a_tree_is_cut_where_asked(bagged: tm.BaggingClassifier) -> None:
    X, _ = VALIDATION
    tree = bagged.members_[0]
    first = int(tree.first_child[0])
    for node in (0, first, first + 1):
        chosen = np.arange(tree.n_nodes) == node
        cut = cut_tree(tree, chosen)
        cut.check()
        passes = tree.decision_path(X).toarray()[:, node] > 0
        assert np.allclose(cut.predict_values(X[passes]), tree.node_values()[node])
        assert (cut.predict_values(X[~passes]) == tree.predict_values(X[~passes])).all()
        assert cut.n_leaves < tree.n_leaves
    assert cut_tree(tree, np.zeros(tree.n_nodes, bool)).predict_values(X).tolist() == tree.predict_values(X).tolist()


# ---- bad input


@pytest.mark.parametrize("prune", [tm.prune_together, tm.prune_each])
def test_what_cannot_be_pruned_is_refused(prune: Any, bagged: tm.BaggingClassifier) -> None:
    X, y = VALIDATION
    with pytest.raises(InvalidParameter, match="LogisticRegression: give a fitted ensemble"):
        prune(LogisticRegression(), X, y)
    with pytest.raises(InvalidParameter, match="members of model are LogisticRegressions"):
        prune(tm.BaggingClassifier(LogisticRegression(), n_estimators=2).fit(X, y), X, y)
    with pytest.raises(NotFittedError):
        prune(tm.BaggingClassifier(), X, y)
    with pytest.raises(InvalidInput, match="299"):
        prune(bagged, X, y[:299])
    with pytest.raises(InvalidInput, match="features"):
        prune(bagged, X[:, :3], y)
