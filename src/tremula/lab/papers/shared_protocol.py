"""Pieces of protocol that papers share: folds, divisions, seeds, and one training timed and counted.

Whatever is drawn here follows from the seed and the names given, never from what was drawn before.
"""

from __future__ import annotations

import hashlib
import time
from functools import lru_cache
from typing import Any

import numpy as np

from tremula.data.take import take_rows
from tremula.errors import InvalidParameter, TremulaError
from tremula.folds import Split
from tremula.lab.datasets import Dataset, load_dataset
from tremula.lab.experiments.cell import Outcome


def seed_of(*words: Any) -> int:
    """Return a seed below 2**31 that follows from words and numbers: the same ones, the same seed, on any machine.

    Parameters
    ----------
    *words
        What the seed is for, such as an experiment's seed, a dataset's name and the number of a split.

    Examples
    --------
    >>> from tremula.lab.papers.shared_protocol import seed_of
    >>> seed_of(0, "sonar", 3) == seed_of(0, "sonar", 3), seed_of(0, "sonar", 3) == seed_of(0, "sonar", 4)
    (True, False)
    """
    told = hashlib.sha256("\x1f".join(map(str, words)).encode()).digest()
    return int.from_bytes(told[:4], "big") >> 1


@lru_cache(maxsize=64)
def _try_to_load(name: str) -> Dataset | TremulaError:
    try:
        return load_dataset(name, task=None)
    except TremulaError as error:
        return error


def kept_dataset(name: str) -> Dataset:
    """Load a dataset as `load_dataset` does, once for all cells of a process; an error is kept too."""
    found = _try_to_load(name)
    if isinstance(found, TremulaError):
        raise found
    return found


def random_division(n_rows: int, n_test: int, seed: int) -> Split:
    """Draw so many rows to test on, without replacement; the others are to learn from.

    Parameters
    ----------
    n_rows, n_test : int
    seed : int
        Another seed for every repetition.

    Examples
    --------
    >>> from tremula.lab.papers.shared_protocol import random_division
    >>> train, test = random_division(10, 3, seed=0)
    >>> len(train), len(test), sorted([*train, *test]) == list(range(10))
    (7, 3, True)
    """
    if not 0 < n_test < n_rows:
        raise InvalidParameter(f"{n_test} of {n_rows} rows were to be tested on: leave some rows of each kind")
    order = np.random.default_rng(seed).permutation(n_rows)
    return np.sort(order[n_test:]), np.sort(order[:n_test])


def official_split(n_rows: int, n_train: int) -> Split:
    """Return the split of data that comes in two files, put one after the other."""
    return np.arange(n_train), np.arange(n_train, n_rows)


def count_nodes(model: Any) -> int | None:
    """Return the nodes of a tree or of all trees of an ensemble, None where there are none to count.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tremula import C45Classifier
    >>> count_nodes(C45Classifier().fit(*load_iris(return_X_y=True)))
    9
    """
    trees: list[Any] = [model.tree_] if hasattr(model, "tree_") else getattr(model, "members_", [])
    if not trees or not all(hasattr(tree, "n_nodes") for tree in trees):
        return None
    return int(sum(tree.n_nodes for tree in trees))


def try_classifier(model: Any, X: Any, y: Any, split: Split, seed: int | None = None) -> tuple[Any, Outcome]:
    """Train a classifier on some rows, test it on others, and count and time what happens.

    Parameters
    ----------
    model : classifier
        Is fitted.
    X : array or frame of shape (n_rows, n_attributes)
    y : array of shape (n_rows,)
    split : pair of arrays
        Rows to learn from and to test on.
    seed : int or None, default=None
        What the model was given, to be kept with the outcome.

    Returns
    -------
    model
        As it was fitted.
    Outcome
        With the values ``error`` and ``n_wrong``.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tremula import C45Classifier
    >>> from tremula.folds import shuffled_folds
    >>> from tremula.lab.papers.shared_protocol import try_classifier
    >>> X, y = load_iris(return_X_y=True)
    >>> _, outcome = try_classifier(C45Classifier(), X, y, shuffled_folds(y, 3, seed=0)[0])
    >>> outcome.n_test, sorted(outcome.values)
    (50, ['error', 'n_wrong'])
    """
    train, test = split
    y = np.asarray(y)
    start = time.perf_counter()
    model.fit(take_rows(X, train), y[train])
    fitted = time.perf_counter()
    answers = np.asarray(model.predict(take_rows(X, test)))
    predicted = time.perf_counter()
    n_wrong = int(np.sum(answers != y[test]))
    return model, Outcome(
        values={"error": n_wrong / len(test), "n_wrong": float(n_wrong)},
        n_test=len(test),
        fit_seconds=fitted - start,
        predict_seconds=predicted - fitted,
        size=count_nodes(model),
        seed=seed,
        predictions=answers,
    )
