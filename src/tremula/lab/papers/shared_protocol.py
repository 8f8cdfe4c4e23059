"""Protocols that papers share: seeds, datasets, random divisions, and one timed training of a classifier.

Every random draw depends only on the seed and the names given, never on earlier draws.
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
    """Return a seed below 2**31 derived from words and numbers, the same on any machine.

    Parameters
    ----------
    *words
        Such as the seed of an experiment, the name of a dataset and the number of a split.

    Examples
    --------
    >>> from tremula.lab.papers.shared_protocol import seed_of
    >>> seed_of(0, "sonar", 3) == seed_of(0, "sonar", 3), seed_of(0, "sonar", 3) == seed_of(0, "sonar", 4)
    (True, False)
    """
    digest = hashlib.sha256("\x1f".join(map(str, words)).encode()).digest()
    return int.from_bytes(digest[:4], "big") >> 1


@lru_cache(maxsize=64)
def _try_to_load(name: str) -> Dataset | TremulaError:
    try:
        return load_dataset(name, task=None)
    except TremulaError as error:
        return error


def kept_dataset(name: str) -> Dataset:
    """Load a dataset with `load_dataset`, once per process; an error is cached too."""
    loaded = _try_to_load(name)
    if isinstance(loaded, TremulaError):
        raise loaded
    return loaded


def random_division(n_rows: int, n_test: int, seed: int) -> Split:
    """Draw test rows without replacement; the others are training rows.

    Parameters
    ----------
    n_rows, n_test : int
    seed : int
        Use another seed for every repetition.

    Examples
    --------
    >>> from tremula.lab.papers.shared_protocol import random_division
    >>> train, test = random_division(10, 3, seed=0)
    >>> len(train), len(test), sorted([*train, *test]) == list(range(10))
    (7, 3, True)
    """
    if not 0 < n_test < n_rows:
        raise InvalidParameter(
            f"{n_test} of {n_rows} rows were requested as test rows: leave at least one training row and one test row"
        )
    order = np.random.default_rng(seed).permutation(n_rows)
    return np.sort(order[n_test:]), np.sort(order[:n_test])


def official_split(n_rows: int, n_train: int) -> Split:
    """Return the split of data that was published as two files, here concatenated."""
    return np.arange(n_train), np.arange(n_train, n_rows)


def count_nodes(model: Any) -> int | None:
    """Return the number of nodes of a tree or of all trees of an ensemble, None if there are no trees.

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
    """Train a classifier on the training rows, test it on the test rows, and measure errors and times.

    Parameters
    ----------
    model : classifier
        It is fitted in place.
    X : array or frame of shape (n_rows, n_attributes)
    y : array of shape (n_rows,)
    split : pair of arrays
        Training rows and to test on.
    seed : int or None, default=None
        The seed of the model, stored with the outcome.

    Returns
    -------
    model
        The fitted model.
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
    start = time.process_time()
    model.fit(take_rows(X, train), y[train])
    fitted = time.process_time()
    answers = np.asarray(model.predict(take_rows(X, test)))
    predicted = time.process_time()
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
