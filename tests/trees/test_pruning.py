"""The compiled pruners against the naive ones on hundreds of small trees, and against numbers known from elsewhere."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pytest
from scipy.stats import beta, norm
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from tremula import REPTreeClassifier, REPTreeRegressor
from tremula.errors import InvalidInput
from tremula.trees.grown_tree import GrownTree
from tremula.trees.pruning import (
    collapse_useless_splits,
    cut_at,
    held_out_errors,
    held_out_squared_errors,
    normal_estimate,
    prune_by_error,
    prune_by_reduced_error,
    quinlan_estimate,
    subtree_losses,
    training_errors,
    weakest_link_alphas,
)
from tremula.trees.rules import Rules
from tremula.trees.structure import NODE_DTYPE, depths_of

from . import naive_pruning as naive
from .naive_pruning import ErrorBasedPruning, Subtree, extra_errors, read_tree
from .naive_splits import Table
from .tiny_tables import C45, ENTROPY, RATIO, draw_column, draw_weights, grow

# Rules under which trees grow too large, so that there is much to cut off.
OVERGROWN = {
    "entropy": Rules(ENTROPY),
    "entropy, subsets": Rules(ENTROPY, subsets=True),
    "gain ratio": Rules(RATIO, min_side_weight=1.0),
    "C4.5": replace(C45, count_cuts=False, min_side_weight=1.0, min_side_share=0.0, min_split_weight=2.0),
}


class Case(NamedTuple):
    table: Table
    grown: GrownTree
    tree: Subtree


def draw_case(seed: int, rules: Rules) -> Case:
    """A tree grown from a table whose classes depend a little on its columns: numeric, nominal, missing, weighted."""
    random = np.random.default_rng(seed)
    n_rows, n_classes = int(random.integers(20, 70)), int(random.integers(2, 5))
    n_levels = [int(n) for n in random.choice([0, 0, 2, 3, 5], size=4)]
    values = np.column_stack([draw_column(random, n_rows, n, coarse=bool(seed % 2)) for n in n_levels])
    signal = values[:, 0] + values[:, 1] + random.normal(scale=0.8, size=n_rows)
    targets = np.digitize(signal, np.quantile(signal, np.arange(1, n_classes) / n_classes))
    values[random.random(values.shape) < (0.0, 0.1, 0.3)[seed % 3]] = np.nan
    weights = draw_weights(random, n_rows, ("ones", "counts", "halves", "reals")[seed % 4])
    table = Table(values.tolist(), n_levels, targets.tolist(), weights.tolist(), n_classes)
    grown = grow(table, rules, seed)
    return Case(table, grown, read_tree(grown, n_levels))


CASES = {name: [draw_case(seed, rules) for seed in range(120)] for name, rules in OVERGROWN.items()}
each_way_to_grow = pytest.mark.parametrize("cases", CASES.values(), ids=CASES)


def assert_same_tests(found: Subtree, expected: Subtree) -> None:
    assert (found.attribute, found.subset, len(found.branches)) == (
        expected.attribute,
        expected.subset,
        len(expected.branches),
    )
    assert np.array_equal(found.threshold, expected.threshold, equal_nan=True)
    for pair in zip(found.branches, expected.branches):
        assert_same_tests(*pair)


def numbers(tree: Subtree) -> list[int]:
    return [node.number for node in tree.nodes()]


# ---- C4.5


@each_way_to_grow
def test_useless_splits_are_collapsed(cases: list[Case]) -> None:
    for case in cases:
        expected = naive.collapse(case.tree, training_errors(case.grown))
        found = collapse_useless_splits(case.grown)
        assert_same_tests(read_tree(found, case.table.n_levels), expected)
        assert np.array_equal(
            found.statistics[numbers(read_tree(found, case.table.n_levels))], case.grown.statistics[numbers(expected)]
        )


def prune(case: Case, confidence: float, raising: bool, like_weka: bool) -> tuple[GrownTree, ErrorBasedPruning]:
    """The engine's pruned tree, and the naive pruner with the same settings."""
    estimate = normal_estimate(confidence) if like_weka else quinlan_estimate(confidence)
    values, n_levels = np.array(case.table.values), np.array(case.table.n_levels, np.int32)
    codes, weights = np.array(case.table.targets), np.array(case.table.weights)
    pruned = prune_by_error(case.grown, values, n_levels, codes, weights, estimate, raising)
    return pruned, ErrorBasedPruning(case.table, estimate, raising, [])


@pytest.mark.parametrize(
    ("confidence", "raising", "like_weka"), [(0.25, True, False), (0.1, False, True), (0.5, True, True)]
)
@each_way_to_grow
def test_pruning_by_error(cases: list[Case], confidence: float, raising: bool, like_weka: bool) -> None:
    n_raised = n_kept = 0
    for case in cases:
        pruned, pruner = prune(case, confidence, raising, like_weka)
        expected = pruner.prune(case.tree, case.table.root)
        found = read_tree(pruned, case.table.n_levels)
        assert_same_tests(found, expected)
        statistics = np.array(pruner.statistics(expected, case.table.root))
        assert pruned.statistics[numbers(found)] == pytest.approx(statistics, rel=1e-9, abs=1e-9)
        assert pruned.nodes["weight"][numbers(found)] == pytest.approx(statistics.sum(axis=1), rel=1e-9, abs=1e-9)
        n_raised += len(pruner.raised)
        n_kept += len(expected.splits())
    assert n_kept > 50
    assert n_raised > 5 or not raising


def test_a_tree_is_pruned_in_place_of_its_parent() -> None:
    """Ten rows of class 1 at x = 0 are undone by the test of y; raised, the test of x alone is left."""
    x = [0.0] * 10 + [1.0] * 10
    y = [0.0] * 9 + [1.0] + [0.0] * 9 + [1.0]
    nodes = np.array(
        [(0.5, 20, 1, 1, 2, -1), (0.5, 18, 0, 3, 2, -1), *[(0, n, -1, 0, 0, -1) for n in (2, 9, 9)]], dtype=NODE_DTYPE
    )
    grown = GrownTree(nodes, np.zeros((5, 2)), np.empty(0, np.uint8))
    codes = np.array([1] * 10 + [0] * 10)
    rows = np.column_stack([x, y]), np.zeros(2, np.int32), codes, None
    pruned = prune_by_error(grown, *rows, quinlan_estimate(0.25))
    assert pruned.nodes["attribute"].tolist() == [0, -1, -1]
    assert pruned.statistics.tolist() == [[10, 10], [0, 10], [10, 0]]
    kept = prune_by_error(grown, *rows, quinlan_estimate(0.25), raising=False)
    assert kept.nodes["attribute"].tolist() == [1, 0, -1, -1, -1]


@pytest.mark.parametrize(
    ("confidence", "deviate"), [(0.001, 3.09), (0.05, 1.65), (0.1, 1.28), (0.25, 0.6925), (0.4, 0.25), (0.5, 5 / 24)]
)
def test_deviates_of_quinlan_come_from_his_table(confidence: float, deviate: float) -> None:
    assert quinlan_estimate(confidence).z_squared == pytest.approx(deviate**2)


def test_deviates_of_weka_are_the_normal_ones() -> None:
    for confidence in (0.01, 0.1, 0.25, 0.5):
        assert normal_estimate(confidence).z_squared == pytest.approx(norm.isf(confidence) ** 2, abs=1e-12)


def test_without_errors_the_estimate_is_the_binomial_limit() -> None:
    for n in (1, 2, 6, 9, 100):
        for confidence in (0.1, 0.25, 0.5):
            exact = n * beta.ppf(1 - confidence, 1, n)
            assert extra_errors(n, 0.0, quinlan_estimate(confidence)) == pytest.approx(exact)


def test_the_example_in_quinlans_book() -> None:
    """Leaves of 6, 9 and 1 rows without error are worse than one leaf of 16 rows with one error (C4.5, page 42)."""
    estimate = quinlan_estimate(0.25)
    leaves = [extra_errors(n, 0.0, estimate) for n in (6, 9, 1)]
    assert [round(extra / n, 3) for extra, n in zip(leaves, (6, 9, 1))] == [0.206, 0.143, 0.75]
    assert sum(leaves) == pytest.approx(3.273, abs=2e-3)
    together = 1 + extra_errors(16, 1.0, estimate)
    assert round(together / 16, 3) == 0.157
    assert together == pytest.approx(16 * beta.ppf(0.75, 2, 15), abs=0.1)


def test_with_errors_the_estimate_is_near_the_binomial_limit() -> None:
    estimate = normal_estimate(0.25)
    for n in (5, 20, 100, 1000):
        for errors in range(1, n - 1, max(1, n // 10)):
            exact = n * beta.ppf(0.75, errors + 1, n - errors)
            assert errors + extra_errors(n, errors, estimate) == pytest.approx(exact, abs=0.12)


# ---- reduced errors


@each_way_to_grow
def test_pruning_by_reduced_error(cases: list[Case]) -> None:
    random = np.random.default_rng(0)
    for case in cases:
        errors = random.integers(0, 6, size=len(case.grown.nodes)) * (1.0 + 3.0 * (case.grown.nodes["n_branches"] > 0))
        pruned, origin = prune_by_reduced_error(case.grown, errors)
        expected = naive.reduce_errors(case.tree, errors)
        found = read_tree(pruned, case.table.n_levels)
        assert_same_tests(found, expected)
        assert origin[numbers(found)].tolist() == numbers(expected)
        assert np.array_equal(pruned.statistics, case.grown.statistics[origin])


def test_errors_that_differ_by_rounding_alone_are_equal() -> None:
    nodes = np.array([(0.5, 3, 0, 1, 2, -1), (0, 2, -1, 0, 0, -1), (0, 1, -1, 0, 0, -1)], dtype=NODE_DTYPE)
    grown = GrownTree(nodes, np.zeros((3, 2)), np.empty(0, np.uint8))
    assert 0.1 + 0.7 < 0.8
    assert len(prune_by_reduced_error(grown, np.array([0.8, 0.1, 0.7]))[0].nodes) == 1
    assert len(prune_by_reduced_error(grown, np.array([0.8, 0.1, 0.69]))[0].nodes) == 3


@pytest.mark.parametrize("seed", range(5))
def test_held_out_rows_prune_and_then_fill_a_reptree(seed: int) -> None:
    """Two classes and two columns of numbers, done by hand: no path of the grown tree that errs more is left."""
    random = np.random.default_rng(seed)
    X, X_val = random.normal(size=(120, 2)), random.normal(size=(60, 2))
    y, y_val = ((rows[:, 0] > 0) ^ (random.random(len(rows)) < 0.2) for rows in (X, X_val))
    grown = REPTreeClassifier(prune=False).fit(X, y)
    pruned = REPTreeClassifier().fit(X, y, X_val=X_val, y_val=y_val)
    assert pruned.get_n_leaves() < grown.get_n_leaves()
    assert (pruned.predict(X_val) != y_val).sum() <= (grown.predict(X_val) != y_val).sum()
    # Backfitting: a leaf answers with the share of all rows, growing or held out, that it gets.
    leaves, leaves_val = pruned.apply(X), pruned.apply(X_val)
    for leaf in np.unique(leaves):
        share = np.concatenate([y[leaves == leaf], y_val[leaves_val == leaf]]).mean()
        assert pruned.predict_proba(X[leaves == leaf])[:, 1] == pytest.approx(share)
    unfilled = REPTreeClassifier(backfit=False).fit(X, y, X_val=X_val, y_val=y_val)
    assert unfilled.get_n_leaves() == pruned.get_n_leaves()
    for leaf in np.unique(leaves):
        assert unfilled.predict_proba(X[leaves == leaf])[:, 1] == pytest.approx(y[leaves == leaf].mean())


@pytest.mark.parametrize("seed", range(5))
def test_held_out_rows_prune_a_regression_tree(seed: int) -> None:
    random = np.random.default_rng(seed)
    X, X_val = random.normal(size=(120, 2)), random.normal(size=(60, 2))
    y, y_val = (np.sign(rows[:, 0]) * 3 + random.normal(size=len(rows)) for rows in (X, X_val))
    grown = REPTreeRegressor(prune=False).fit(X, y)
    pruned = REPTreeRegressor().fit(X, y, X_val=X_val, y_val=y_val)
    unfilled = REPTreeRegressor(backfit=False).fit(X, y, X_val=X_val, y_val=y_val)
    assert pruned.get_n_leaves() == unfilled.get_n_leaves() < grown.get_n_leaves()
    assert ((unfilled.predict(X_val) - y_val) ** 2).sum() < ((grown.predict(X_val) - y_val) ** 2).sum()
    leaves, leaves_val = pruned.apply(X), pruned.apply(X_val)
    for leaf in np.unique(leaves):
        together = np.concatenate([y[leaves == leaf], y_val[leaves_val == leaf]])
        assert pruned.predict(X[leaves == leaf]) == pytest.approx(together.mean())


# ---- weakest links


@each_way_to_grow
def test_weakest_links(cases: list[Case]) -> None:
    for case in cases:
        risk = training_errors(case.grown)
        alphas = weakest_link_alphas(case.grown.nodes, risk)
        expected = naive.weakest_links(case.tree, risk)
        assert {split.number for split in case.tree.splits()} == set(np.flatnonzero(np.isfinite(alphas)))
        assert {number: alphas[number] for number in expected} == pytest.approx(expected, abs=1e-9)


@each_way_to_grow
def test_subtrees_of_the_sequence_are_nested_and_their_losses_right(cases: list[Case]) -> None:
    random = np.random.default_rng(0)
    for case in cases[:60]:
        alphas = weakest_link_alphas(case.grown.nodes, training_errors(case.grown))
        losses = random.integers(0, 9, size=len(alphas)).astype(float)
        sequence, totals = subtree_losses(case.grown.nodes, alphas, losses)
        assert sequence[0] == 0
        assert np.all(np.diff(sequence) > 0)
        by_number = dict(enumerate(alphas))
        for alpha, total in zip(sequence, totals):
            assert total == pytest.approx(naive.subtree_loss(case.tree, by_number, losses, alpha))
            left = cut_at(case.grown, (alphas <= alpha) & (case.grown.nodes["n_branches"] > 0))
            is_cut = dict(enumerate(alphas <= alpha))
            expected = naive.cut_where(case.tree, lambda split, is_cut=is_cut: is_cut[split.number])
            assert_same_tests(read_tree(left, case.table.n_levels), expected)


def foreign_nodes(tree: object) -> tuple[np.ndarray, np.ndarray]:
    """A tree of scikit-learn, its nodes renumbered so that siblings are neighbours; also the numbers they had."""
    order, nodes = [0], []
    for number in order:
        first = tree.children_left[number]
        if first < 0:
            nodes.append((0, tree.weighted_n_node_samples[number], -1, 0, 0, -1))
        else:
            nodes.append((tree.threshold[number], tree.weighted_n_node_samples[number], 0, len(order), 2, -1))
            order += [first, tree.children_right[number]]
    return np.array(nodes, dtype=NODE_DTYPE), np.array(order)


@pytest.mark.parametrize(
    ("learner", "load"),
    [
        (DecisionTreeClassifier(random_state=0), load_breast_cancer),
        (DecisionTreeClassifier(criterion="entropy", random_state=0), load_wine),
        (DecisionTreeRegressor(min_samples_leaf=3, random_state=0), load_diabetes),
    ],
)
def test_alphas_are_those_of_scikit_learn_where_the_risk_is_impurity(learner: object, load: object) -> None:
    X, y = load(return_X_y=True)
    expected = learner.cost_complexity_pruning_path(X, y).ccp_alphas
    nodes, order = foreign_nodes(learner.fit(X, y).tree_)
    risk = (learner.tree_.impurity * learner.tree_.weighted_n_node_samples)[order] / len(y)
    alphas = weakest_link_alphas(nodes, risk)
    finite = np.unique(alphas[np.isfinite(alphas)])
    distinct = finite[np.append(True, np.diff(finite) > 1e-9 * finite.max())]
    assert distinct == pytest.approx(expected[1:][np.diff(expected) > 1e-9 * expected.max()], rel=1e-6)


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_a_risk_of_any_unit_or_sign_has_alphas(sign: float) -> None:
    """Changed files have negative risks: the search for the weakest link must end."""
    learner = DecisionTreeClassifier(max_depth=3, random_state=0).fit(*load_wine(return_X_y=True))
    nodes, order = foreign_nodes(learner.tree_)
    risk = sign * (learner.tree_.impurity * learner.tree_.weighted_n_node_samples)[order]
    alphas = weakest_link_alphas(nodes, risk)
    assert np.isfinite(alphas[nodes["n_branches"] > 0]).all()
    assert (weakest_link_alphas(nodes, risk * 2.0**-80) == alphas * 2.0**-80).all()


# ---- depth


def chain(depth: int) -> tuple[GrownTree, np.ndarray, np.ndarray]:
    """A tree that splits four rows off at a time, of the two classes in turn, and its rows."""
    nodes, counts = np.zeros(2 * depth + 1, NODE_DTYPE), np.zeros((2 * depth + 1, 2))
    values = np.repeat(np.arange(depth + 1.0), 4)
    codes = values.astype(np.int64) % 2
    for step in range(depth):
        nodes[2 * step] = (step, len(values) - 4 * step, 0, 2 * step + 1, 2, -1)
        nodes[2 * step + 1] = (0, 4, -1, 0, 0, -1)
        counts[2 * step] = np.bincount(codes[4 * step :], minlength=2)
        counts[2 * step + 1, step % 2] = 4
    nodes[-1], counts[-1, depth % 2] = (0, 4, -1, 0, 0, -1), 4
    return GrownTree(nodes, counts, np.empty(0, np.uint8)), values[:, None], codes


@pytest.mark.parametrize(("depth", "raising"), [(2000, False), (2000, True), (6000, True)])
def test_deep_trees_are_pruned_by_error(depth: int, raising: bool) -> None:
    grown, values, codes = chain(depth)
    pruned = prune_by_error(grown, values, np.zeros(1, np.int32), codes, None, quinlan_estimate(0.25), raising)
    assert depths_of(pruned.nodes).max() == depth


def test_a_chain_of_many_rows_is_pruned() -> None:
    """With the square of the depth this would take minutes."""
    grown, values, _ = chain(1000)
    random = np.random.default_rng(0)
    x = np.sort(random.choice(values[:, 0], 200_000))
    codes = np.where(random.random(len(x)) < 0.3, 1 - x % 2, x % 2).astype(np.int64)
    pruned = prune_by_error(grown, x[:, None], np.zeros(1, np.int32), codes, None, quinlan_estimate(0.25))
    assert 500 < depths_of(pruned.nodes).max() <= 1000


def test_deep_trees_with_missing_values_are_refused_instead_of_crashing() -> None:
    grown, values, codes = chain(6000)
    values[-1] = np.nan
    with pytest.raises(InvalidInput, match="depth 6000 with missing values cannot be pruned: set max_depth"):
        prune_by_error(grown, values, np.zeros(1, np.int32), codes, None, quinlan_estimate(0.25))


def draw_chain(seed: int) -> Case:
    """A chain and rows with wrong classes, some with missing values or of no weight."""
    random = np.random.default_rng(seed)
    depth = int(random.integers(3, 22))
    grown, values, codes = chain(depth)
    codes = np.where(random.random(len(codes)) < (0.1, 0.3, 0.5)[seed % 3], 1 - codes, codes)
    values = values + random.choice([0.0, 0.0, 0.0, 1.0, -2.0], values.shape)
    values[random.random(values.shape) < (0.0, 0.0, 0.02, 0.2)[seed % 4]] = np.nan
    weights = draw_weights(random, len(codes), ("ones", "counts", "halves", "reals")[seed % 4])
    table = Table(values.tolist(), [0], codes.tolist(), weights.tolist(), 2)
    return Case(table, grown, read_tree(grown, [0]))


def test_chains_are_pruned_as_the_naive_pruner_does() -> None:
    n_raised = n_kept = 0
    for seed in range(60):
        case = draw_chain(seed)
        pruned, pruner = prune(case, 0.25, True, False)
        expected = pruner.prune(case.tree, case.table.root)
        found = read_tree(pruned, case.table.n_levels)
        assert_same_tests(found, expected)
        statistics = np.array(pruner.statistics(expected, case.table.root))
        assert pruned.statistics[numbers(found)] == pytest.approx(statistics, rel=1e-9, abs=1e-9)
        n_raised += len(pruner.raised)
        n_kept += len(expected.splits())
    assert n_raised > 30
    assert n_kept > 100


def test_deep_trees_are_pruned_in_the_other_ways() -> None:
    grown, _, _ = chain(5000)
    errors = training_errors(grown)
    assert len(collapse_useless_splits(grown).nodes) == len(grown.nodes)
    assert len(prune_by_reduced_error(grown, errors)[0].nodes) == len(grown.nodes)
    alphas = weakest_link_alphas(grown.nodes, errors)
    assert np.isfinite(alphas).sum() == 5000


def test_held_out_errors_are_those_of_each_node_as_a_leaf() -> None:
    random = np.random.default_rng(0)
    codes, target, weights = random.integers(3, size=40), random.standard_normal(40), random.integers(1, 4, 40)
    label, mean = 1, 0.25
    class_weights = np.bincount(codes, weights, minlength=3)[None]
    moments = np.array([[weights.sum(), (weights * target).sum(), (weights * target**2).sum()]])
    assert held_out_errors(class_weights, np.array([label])) == [weights[codes != label].sum()]
    expected = (weights * (target - mean) ** 2).sum()
    assert held_out_squared_errors(moments, np.array([mean])) == pytest.approx([expected], rel=1e-12)
