"""A small mixed table, models of every kind trained on it, and random trees with splits of every kind."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone

import tremula as tm
from tremula.trees.structure import NODE_DTYPE
from tremula.trees.tree import Tree

COLORS = ["red", "green", "it's", 'the "best"', "Zoë"]
CLASSES = np.array(["no", "maybe", "o'hara"])
FEW = {"n_estimators": 3, "random_state": 0}
SMALL = tm.C45Classifier(max_depth=4)

CLASSIFIERS: dict[str, Any] = {
    "C4.5": tm.C45Classifier(),
    "J48": tm.C45Classifier(release="J48"),
    "CART": tm.CARTClassifier(),
    "CART, shares": tm.CARTClassifier(max_depth=5, missing="shares"),
    "REPTree": tm.REPTreeClassifier(random_state=0),
    "bagging": tm.BaggingClassifier(SMALL, **FEW),
    "bagging, votes": tm.BaggingClassifier(tm.CARTClassifier(max_depth=4), combine="vote", **FEW),
    "forest": tm.RandomForestClassifier(max_depth=5, **FEW),
    "extra trees": tm.ExtraTreesClassifier(max_depth=5, **FEW),
    "balanced forest": tm.RandomForestClassifier(max_depth=5, bootstrap="balanced", class_weight="balanced", **FEW),
    "AdaBoost": tm.AdaBoostM1Classifier(SMALL, **FEW),
    "three boost": tm.ThreeBoostClassifier(SMALL, random_state=0),
    "Decorate": tm.DecorateClassifier(SMALL, n_estimators=3, max_trials=4, random_state=0),
    "flipped classes": tm.OutputSmearingClassifier(SMALL, **FEW),
    "smeared classes": tm.OutputSmearingClassifier(tm.CARTRegressor(max_depth=3), method="smear", **FEW),
    "smeared inputs": tm.SmearedBaggingClassifier(SMALL, **FEW),
    "randomized C4.5": tm.RandomizedC45Classifier(tm.C45Classifier(max_depth=4, n_best_splits=20), **FEW),
    "subspaces": tm.RandomSubspaceClassifier(SMALL, **FEW),
    "dagging": tm.DaggingClassifier(SMALL, **FEW),
    "Aspen": tm.AspenClassifier(**FEW),
    "counts": tm.SimulatedBaggingClassifier(max_depth=3, **FEW),
}
REGRESSORS: dict[str, Any] = {
    "CART": tm.CARTRegressor(max_depth=6),
    "REPTree": tm.REPTreeRegressor(random_state=0),
    "M5": tm.M5Regressor(),
    "bagged M5": tm.BaggingRegressor(tm.M5Regressor(), **FEW),
    "forest": tm.RandomForestRegressor(max_depth=4, **FEW),
    "extra trees": tm.ExtraTreesRegressor(max_depth=4, **FEW),
    "medians": tm.RandomForestRegressor(max_leaf_nodes=12, criterion="absolute_error", **FEW),
    "smeared target": tm.OutputSmearingRegressor(tm.REPTreeRegressor(random_state=0), **FEW),
    "Aspen": tm.AspenRegressor(**FEW),
}
NAMES = [("class", name) for name in CLASSIFIERS] + [("number", name) for name in REGRESSORS]


def mixed_table(n_rows: int, seed: int, missing: float = 0.0) -> tuple[pd.DataFrame, np.ndarray, np.ndarray]:
    """Numbers, words, codes and booleans, with classes and numbers that depend on them."""
    random = np.random.default_rng(seed)
    towns = random.integers(0, 12, n_rows)
    frame = pd.DataFrame(
        {
            "a": random.normal(size=n_rows),
            "b c": random.integers(0, 50, n_rows) / 7.0,
            "color": pd.Series(random.choice(COLORS, n_rows), dtype="str"),
            "town": pd.Categorical([f"t{town}" for town in towns], categories=[f"t{k}" for k in range(12)]),
            "flag": random.random(n_rows) < 0.3,
        }
    )
    sums = frame["a"] + (frame["b c"] > 3) + (frame["color"] == "red") + frame["flag"] * frame["a"] + towns % 3
    sums = (sums + random.normal(size=n_rows) / 2).to_numpy()
    classes = CLASSES[np.digitize(sums, np.quantile(sums, [0.3, 0.7]))]
    for name in frame if missing else ():
        gaps = random.random(n_rows) < missing
        column = frame[name].astype(object) if name == "flag" else frame[name]
        frame[name] = column.mask(gaps, None)
    return frame, classes, sums


def numeric_table(n_rows: int, seed: int, missing: float = 0.0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Numbers alone, in tenths, with classes and numbers that depend on them."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(n_rows, 4)).round(1)
    sums = X[:, 0] + X[:, 1] * X[:, 2]
    X[random.random(X.shape) < missing] = np.nan
    return X, CLASSES[np.digitize(sums, [-0.4, 0.6])], sums


def untrained(kind: str, name: str) -> Any:
    """A learner of its own, which no other test trains."""
    return clone((CLASSIFIERS if kind == "class" else REGRESSORS)[name])


@cache
def trained(kind: str, name: str, missing: float = 0.0) -> Any:
    """A model of this name; the table it learns from may have missing values."""
    frame, classes, numbers = mixed_table(80 if name == "Aspen" else 220, 0, missing)  # its trees are large
    model = untrained(kind, name)
    return model.fit(frame, classes if kind == "class" else numbers)


@cache
def numeric_forest() -> tuple[Any, np.ndarray]:
    """A forest of numbers alone, and many rows."""
    random = np.random.default_rng(0)
    X = random.normal(size=(400, 5))
    y = CLASSES[np.digitize(X[:, 0] + X[:, 1] * X[:, 2], [-0.4, 0.6])]
    return tm.RandomForestClassifier(n_estimators=20, random_state=0).fit(X, y), random.normal(size=(100_000, 5))


def answers_of(model: Any, table: Any) -> np.ndarray:
    """Probabilities, or numbers in one column."""
    return model.predict_proba(table) if hasattr(model, "classes_") else model.predict(table)[:, None]


N_LEVELS = np.array([0, 4, 0, 3], dtype=np.int32)


def random_tree(random: np.random.Generator, n_outputs: int = 3, n_levels: np.ndarray = N_LEVELS) -> Tree:
    """A tree with splits of every kind, unseen levels and branches that weigh nothing."""
    nodes = np.zeros(200, dtype=NODE_DTYPE)
    nodes["attribute"], nodes["weight"] = -1, random.choice([0.0, 1.0, 2.0, 1 / 3, 5.5], size=len(nodes))
    subsets: list[int] = []
    waiting, n_nodes = [0], 1
    for _ in range(random.integers(1, 14)):
        node = waiting.pop(int(random.integers(len(waiting))))
        attribute = int(random.integers(len(n_levels)))
        count, n_branches, index = int(n_levels[attribute]), 2, int(random.choice([-1, -3, -4]))
        kind = random.integers(3) if count else 2
        if kind == 0:
            n_branches, index = count, -2
        elif kind == 1:
            index = len(subsets)
            subsets += random.integers(0, 3, size=count).tolist()
        threshold = random.integers(-1, count) + 0.5 if count else round(random.normal(), 1)
        if kind == 1:
            threshold = random.choice([0.0, 1.0, 2.0])  # missing values take both branches, the first or the second
        elif index < -2 and not count and random.random() < 0.2:
            threshold = random.choice([-np.inf, np.inf])
        nodes[node] = (threshold, nodes["weight"][node], attribute, n_nodes, n_branches, index)
        waiting += range(n_nodes, n_nodes + n_branches)
        n_nodes += n_branches
    values = (
        random.multinomial(8, [1 / n_outputs] * n_outputs, size=5) / 8 if n_outputs > 1 else random.normal(size=(5, 1))
    )
    nodes["index"][waiting] = random.integers(0, 5, size=len(waiting))
    return Tree(nodes[:n_nodes], values, subsets, n_levels, bool(random.integers(2)))


def random_rows(random: np.random.Generator, n_rows: int = 200, missing: float = 0.0) -> np.ndarray:
    rows = random.normal(size=(n_rows, len(N_LEVELS))).round(1)
    for attribute in np.flatnonzero(N_LEVELS):
        rows[:, attribute] = random.integers(0, N_LEVELS[attribute], size=n_rows)
    rows[random.random(rows.shape) < missing] = np.nan
    return rows


LETTERS = {1: "wxyz", 3: "xyz"}  # levels of the nominal attributes of random trees


def random_forest(random: np.random.Generator, n_trees: int, **parameters: Any) -> Any:
    """A fitted forest whose members are random trees; its columns are called a, b, c and d."""
    table = pd.DataFrame({"a": [0.0, 1.0, 2.0, 3.0], "b": list("wxyz"), "c": [0.5, 1.0, 1.5, 2.0], "d": list("xyzx")})
    forest = tm.RandomForestClassifier(n_estimators=1, random_state=0, **parameters)
    forest.fit(table.astype({"b": "category", "d": "category"}), [0, 1, 2, 2])
    forest.members_ = [random_tree(random) for _ in range(n_trees)]
    return forest


def mean_values(forest: Any, rows: np.ndarray) -> np.ndarray:
    """What the trees of such a forest predict, each asked by itself."""
    if forest.combine == "vote":
        return np.mean([np.eye(3)[tree.predict_codes(rows)] for tree in forest.members_], axis=0)
    return np.mean([tree.predict_values(rows) for tree in forest.members_], axis=0)


def attacking_rows(random: np.random.Generator, forest: Any, n_rows: int, missing: float) -> np.ndarray:
    """Rows on the thresholds, and on the next number on either side of them."""
    rows = random_rows(random, n_rows)
    for attribute in np.flatnonzero(N_LEVELS == 0):
        cuts = [tree.threshold[(tree.attribute == attribute) & np.isfinite(tree.threshold)] for tree in forest.members_]
        near = np.concatenate([*cuts, [0.0]])
        around = np.concatenate([near, np.nextafter(near, -np.inf), np.nextafter(near, np.inf)])
        rows[:, attribute] = random.choice(around, n_rows)
    rows[random.random(rows.shape) < missing] = np.nan
    return rows


def as_frame(rows: np.ndarray) -> pd.DataFrame:
    """Encoded rows as the table that they came from."""
    frame = pd.DataFrame(rows, columns=list("abcd"))
    for attribute, letters in LETTERS.items():
        codes = rows[:, attribute]
        words = [None if np.isnan(code) else letters[int(code)] for code in codes]
        frame["abcd"[attribute]] = pd.Series(words, dtype=object)
    return frame
