"""C4.5 on tables worked by hand, most of them from Quinlan's book, and what its options do."""

from __future__ import annotations

from itertools import product
from math import log2

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer, load_iris

from tremula import C45Classifier
from tremula.errors import InvalidParameter

GOLF = pd.DataFrame(
    [
        ("sunny", 75, 70, "true", "Play"),
        ("sunny", 80, 90, "true", "Don't Play"),
        ("sunny", 85, 85, "false", "Don't Play"),
        ("sunny", 72, 95, "false", "Don't Play"),
        ("sunny", 69, 70, "false", "Play"),
        ("overcast", 72, 90, "true", "Play"),
        ("overcast", 83, 78, "false", "Play"),
        ("overcast", 64, 65, "true", "Play"),
        ("overcast", 81, 75, "false", "Play"),
        ("rain", 71, 80, "true", "Don't Play"),
        ("rain", 65, 70, "true", "Don't Play"),
        ("rain", 75, 80, "false", "Play"),
        ("rain", 68, 80, "false", "Play"),
        ("rain", 70, 96, "false", "Play"),
    ],
    columns=["outlook", "temperature", "humidity", "windy", "class"],
)
ATTRIBUTES, CLASSES = GOLF.drop(columns="class"), GOLF["class"]
ONE_UNKNOWN = ATTRIBUTES.assign(outlook=ATTRIBUTES["outlook"].where(ATTRIBUTES.index != 5))


# ---- the golf table


def test_the_tree_of_the_book() -> None:
    tree = C45Classifier().fit(ATTRIBUTES, CLASSES)
    assert tree.export_text(show_weights=False).splitlines() == [
        "outlook = overcast: Play",
        "outlook = rain",
        "|   windy = false: Play",
        "|   windy = true: Don't Play",
        "outlook = sunny",
        "|   humidity <= 75: Play",
        "|   humidity > 75: Don't Play",
    ]


def test_a_threshold_is_a_value_of_the_whole_table() -> None:
    """Where the sun shines humidity is 70 or at least 85; 75 is the largest value of any row up to halfway, 77.5."""
    tree = C45Classifier().fit(ATTRIBUTES, CLASSES).tree_
    assert tree.threshold[tree.attribute == 2].tolist() == [75.0]


def test_a_row_of_unknown_outlook_is_divided() -> None:
    """One of 14 rows does not know its outlook; of the others 5 are sunny, 3 overcast, 5 rainy."""
    fitted = C45Classifier().fit(ONE_UNKNOWN, CLASSES)
    tree = fitted.tree_
    assert list(fitted.encoder_.levels[0]) == ["overcast", "rain", "sunny"]
    assert tree.weight[1:4] == pytest.approx([3 + 3 / 13, 5 + 5 / 13, 5 + 5 / 13])
    # The book prints these leaves as 3.2, 3.0, 2.4/0.4, 2.0 and 3.4/0.4.
    weights = tree.weight[tree.is_leaf]
    assert sorted(weights) == pytest.approx([2, 2 + 5 / 13, 3, 3 + 3 / 13, 3 + 5 / 13])


def test_a_row_of_unknown_humidity_is_classified() -> None:
    """Sunny, 70, unknown, not windy: the book says Play with 44 %, Don't Play with 56 %."""
    fitted = C45Classifier().fit(ONE_UNKNOWN, CLASSES)
    asked = pd.DataFrame({"outlook": ["sunny"], "temperature": [70], "humidity": [np.nan], "windy": ["false"]})
    assert fitted.classes_.tolist() == ["Don't Play", "Play"]
    sunny = 5 + 5 / 13
    assert fitted.predict_proba(asked)[0] == pytest.approx([3 / sunny, (2 + 5 / 13) / sunny])
    assert fitted.predict_proba(asked)[0].round(2).tolist() == [0.56, 0.44]


# ---- releases


def bits(*counts: int) -> float:
    """Information in the classes of some rows."""
    return -sum(n / sum(counts) * log2(n / sum(counts)) for n in counts if n)


def gain_of(labels: list[str], i: int) -> float:
    """Information gained by a cut after i rows."""
    parts = [labels[:i], labels[i:]]
    after = sum(len(part) / len(labels) * bits(part.count("A"), part.count("B")) for part in parts)
    return bits(labels.count("A"), labels.count("B")) - after


def test_release_1_does_not_pay_for_the_choice_of_a_threshold() -> None:
    """Sixteen rows in order, six of eight the same in either half: no cut gains more than 1 - bits(6, 2) = 0.189.

    There are 13 cuts that leave two rows on both sides, so that Release 8 subtracts log2(13) / 16 = 0.231 and makes no
    split. Release 1 takes the cut of best ratio among those of at least average gain. That is the first, which splits
    two As off: gain 1 - 14/16 bits(6, 8) = 0.138, ratio 0.138 / bits(2, 14) = 0.254, against 0.189 in the middle.
    """
    X, labels = np.arange(1.0, 17)[:, None], list("AABAABAABBABBABB")
    gains = [gain_of(labels, i) for i in range(2, 15)]
    assert max(gains) == pytest.approx(1 - bits(6, 2))
    assert max(gains) < log2(13) / 16
    for release in (8, "J48"):
        assert C45Classifier(confidence=None, release=release).fit(X, labels).get_n_leaves() == 1
    ratios = [gain / bits(i, 16 - i) if gain >= sum(gains) / 13 else 0.0 for i, gain in enumerate(gains, start=2)]
    assert np.argmax(ratios) == 0
    assert [round(gains[0], 3), round(ratios[0], 3), round(ratios[6], 3)] == [0.138, 0.254, 0.189]
    old = C45Classifier(confidence=None, release=1, max_depth=1).fit(X, labels)
    assert old.tree_.threshold[0] == 2.0


def test_the_choices_of_a_release_can_be_taken_apart() -> None:
    names = "filter", "threshold_criterion", "threshold_penalty"
    rules = {
        choices: C45Classifier(release=choices[0], **dict(zip(names, choices[1:], strict=True)))._rules(3)
        for choices in product((1, 8), ("average_gain", None), ("gain", "gain_ratio"), (True, False))
    }
    assert C45Classifier()._rules(3) == rules[8, "average_gain", "gain", True]
    assert C45Classifier(release=1)._rules(3) == rules[1, "average_gain", "gain_ratio", False]
    assert len(set(rules.values())) == 8  # the releases differ in nothing else
    with pytest.raises(InvalidParameter, match="filter='mean' is not known"):
        C45Classifier(filter="mean").fit([[0.0], [1.0]], [0, 1])


def test_without_the_filter_the_largest_ratio_wins() -> None:
    # The second attribute has a small gain, but the larger ratio: it sets three rows of twenty apart.
    y = [0] * 8 + [1] * 12
    many = pd.Series([*range(4), *range(4), *range(4, 10), *range(4, 10)]).astype(str).astype("category")
    few = pd.Series(["a"] * 3 + ["b"] * 17).astype("category")
    X, y = pd.concat([pd.DataFrame({"many": many, "few": few})] * 4), y * 4
    chosen = [
        C45Classifier(confidence=None, min_weight_leaf=1, filter=rule, max_depth=1).fit(X, y).tree_.attribute[0]
        for rule in ("average_gain", None)
    ]
    assert chosen == [0, 1]


def test_release_8_splits_where_the_gain_pays() -> None:
    """Sixteen rows, the classes apart: the gain of 1 bit is more than the 0.231 a choice among 13 cuts costs."""
    X, y = np.arange(1.0, 17)[:, None], np.array(list("A" * 8 + "B" * 8))
    for release in (1, 8, "J48"):
        assert C45Classifier(release=release).fit(X, y).tree_.threshold[0] == 8.0


def test_values_nearer_than_a_hundred_thousandth_are_one() -> None:
    y = np.repeat(["A", "B"], 4)
    near = np.array([0, 0, 0, 0, 1, 1, 1, 1])[:, None]
    assert C45Classifier().fit(near * 0.9e-5, y).get_n_leaves() == 1
    assert C45Classifier().fit(near * 1.1e-5, y).get_n_leaves() == 2


# ---- pruning


def test_less_confidence_prunes_more() -> None:
    X, y = load_breast_cancer(return_X_y=True)
    leaves = [C45Classifier(confidence=c).fit(X, y).get_n_leaves() for c in (None, 0.25, 0.01, 1e-6)]
    assert leaves == sorted(leaves, reverse=True)
    assert leaves[0] > leaves[-1]


def test_unpruned_trees_are_collapsed_all_the_same() -> None:
    """Both branches answer A, so the split is given up though it gains information."""
    X, y = np.repeat([0.0, 1.0], 20)[:, None], np.array(list("A" * 20 + "A" * 12 + "B" * 8))
    assert C45Classifier(confidence=None).fit(X, y).get_n_leaves() == 1


def test_branches_may_take_the_place_of_their_parents() -> None:
    raised = kept = 0
    for seed in range(10):
        random = np.random.default_rng(seed)
        X = random.integers(3, size=(200, 6)).astype(float)
        y = (X[:, 0] > 0) ^ (X[:, 1] > 1) ^ (random.random(200) < 0.2)
        trees = [C45Classifier(subtree_raising=raising).fit(X, y).tree_ for raising in (True, False)]
        raised += trees[0].n_nodes
        kept += trees[1].n_nodes
    assert raised < kept


def test_pruning_knows_weights() -> None:
    """A row of weight 2 is a row given twice, to the error estimate too."""
    random = np.random.default_rng(0)
    X, y = random.normal(size=(100, 3)), random.integers(2, size=100)
    weights = random.integers(1, 4, size=100)
    weighted = C45Classifier().fit(X, y, sample_weight=weights)
    copied = C45Classifier().fit(np.repeat(X, weights, axis=0), np.repeat(y, weights))
    assert weighted.tree_ == copied.tree_


# ---- randomized C4.5


def test_the_20_best_splits_are_drawn_from() -> None:
    X, y = load_iris(return_X_y=True)
    trees = [C45Classifier(n_best_splits=20, random_state=seed).fit(X, y).tree_ for seed in range(10)]
    again = [C45Classifier(n_best_splits=20, random_state=seed).fit(X, y).tree_ for seed in range(10)]
    assert trees == again
    tests = {(int(tree.attribute[0]), float(tree.threshold[0])) for tree in trees}
    assert len(tests) > 5


def test_without_a_seed_trees_are_drawn_anew() -> None:
    X, y = load_iris(return_X_y=True)
    learner = C45Classifier(n_best_splits=20)
    trees = [learner.fit(X, y).tree_ for _ in range(5)]
    assert any(tree != trees[0] for tree in trees)


def test_one_best_split_needs_no_seed() -> None:
    X, y = load_iris(return_X_y=True)
    assert C45Classifier().fit(X, y).tree_ == C45Classifier(random_state=1).fit(X, y).tree_


# ---- limits


def test_a_split_leaves_enough_weight_in_two_branches() -> None:
    X, y = load_iris(return_X_y=True)
    tree = C45Classifier(confidence=None, min_weight_leaf=20).fit(X, y).tree_
    assert tree.weight[tree.is_leaf].min() >= 20
    assert tree.n_leaves > 2


def test_depth_is_limited() -> None:
    X, y = load_breast_cancer(return_X_y=True)
    assert C45Classifier(confidence=None).fit(X, y).get_depth() > 3
    assert C45Classifier(confidence=None, max_depth=3).fit(X, y).get_depth() == 3


def test_classes_in_turn_along_one_attribute_are_noise() -> None:
    X, y = np.arange(10_000.0)[:, None], np.arange(10_000) % 2
    for release in (1, 8):
        assert C45Classifier(release=release).fit(X, y).get_n_leaves() == 1


def test_attributes_of_nearly_as_many_levels_as_rows_do_not_decide_alone() -> None:
    """Such an attribute is left out of the average gain, and alone it is still split by: all are like that then."""
    names = [f"n{i % 8}" for i in range(16)]
    y = ["A", "B"] * 8
    tree = C45Classifier(confidence=None).fit(pd.DataFrame({"name": names}), y)
    assert tree.get_n_leaves() == 8
