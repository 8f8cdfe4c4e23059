"""Learning sets and test rows of each model; no row tests a model that was trained on it.

A scheme is a list of divisions. The models of one round answer each of their test rows once, so that the answers of
all rounds to one row are those of so many learning sets.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from math import ceil
from typing import Any, TypeAlias

import narwhals.stable.v2 as nw
import numpy as np

from tremula.diagnostics.comparison.splits import read_split
from tremula.errors import InvalidInput, InvalidParameter
from tremula.parameters import check_choice, check_number
from tremula.seeds import make_generator

USUAL_GENERATED_TEST = 1_000
FEWEST_MODELS = 2
MOST_MODELS = 1_000_000
MOST_ROWS = 2**31 - 1


@dataclass(frozen=True)
class Division:
    """Training rows of one model, in order and with repetitions, and its test rows within its round."""

    round: int
    learn: np.ndarray
    test: np.ndarray


@dataclass(frozen=True)
class Sizes:
    """Requested numbers of models (rounds), training rows and test rows; None leaves the choice to the scheme."""

    n_models: int
    train: int | None = None
    test: int | None = None

    @classmethod
    def of(cls, n_models: int, train_size: Any, test_size: Any, n_rows: int) -> Sizes:
        """Return the sizes for a table; those of rows are counts or fractions of all rows."""
        return cls(n_models, read_size("train_size", train_size, n_rows), read_size("test_size", test_size, n_rows))


Generate: TypeAlias = Callable[[int, int], tuple[Any, Any]]

# --- tables of rows ---


def count_rows(X: Any) -> int:
    """Return the number of rows of an array, a frame, a sparse matrix or a list of rows.

    Examples
    --------
    >>> count_rows([[1, 2], [3, 4], [5, 6]])
    3
    """
    shape = getattr(X, "shape", None)
    if shape is None and not hasattr(X, "__len__"):
        raise InvalidInput(f"X is of type {type(X).__name__}; expected an array or a frame with one row for each case")
    if shape == ():
        raise InvalidInput("X is a single number; expected an array or a frame with one row for each case")
    return int(shape[0]) if shape else len(X)


def require_rows(X: Any) -> int:
    """Return the number of rows; raise if there are none."""
    n_rows = count_rows(X)
    if n_rows == 0:
        raise InvalidInput("X has no rows; expected at least one row to learn from and one to judge by")
    return n_rows


def _join_tables(tables: list[Any]) -> Any:
    frames = [nw.from_native(table, eager_only=True, pass_through=True) for table in tables]
    if isinstance(frames[0], nw.DataFrame):
        return nw.concat(frames).to_native()
    return np.concatenate([np.asarray(table) for table in tables])


# --- sizes ---


def read_size(name: str, given: Any, n_rows: int) -> int | None:
    """Return a number of rows, given as a count or as a fraction of all rows; None stays None.

    Examples
    --------
    >>> read_size("train_size", 0.5, 11), read_size("train_size", 20, 100)
    (5, 20)
    """
    if given is None:
        return None
    if isinstance(given, int | np.integer) and not isinstance(given, bool):
        check_number(name, given, 1, MOST_ROWS, whole=True)
        return int(given)
    if not isinstance(given, float | np.floating) or not 0.0 < given < 1.0:
        raise InvalidParameter(
            f"{name}={given!r} was given; expected a number of rows, or a share of all rows between 0 and 1"
        )
    return max(1, int(n_rows * given))


def _refuse_size(name: str, given: int, most: int, where: str) -> None:
    if given > most:
        raise InvalidParameter(
            f"{name}={given} asks for more rows than there are: {where}, so take at most {max(most, 0)}"
        )


def _split_off_pool(n_rows: int, test_size: int, random: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    _refuse_size("test_size", test_size, n_rows - 1, f"X has {n_rows} rows and some must be left to learn from")
    shuffled = random.permutation(n_rows)
    return shuffled[test_size:], np.sort(shuffled[:test_size])


# --- the schemes ---


def from_pool(n_rows: int, sizes: Sizes, random: np.random.Generator) -> list[Division]:
    """Draw each learning set without replacement from a pool; all models are tested on the other rows.

    The pool has twice as many rows as a learning set, or leaves half of the rows that are not in one to judge by.
    """
    train = sizes.train or max(1, n_rows // 4)
    # One row to judge by, and one that can take the place of another in the learning set.
    _refuse_size("train_size", train, n_rows - 2, f"X has {n_rows} rows; one must judge, and learning sets must differ")
    others = n_rows - train
    test_size = sizes.test or max(others - train, others // 2)
    pool, test = _split_off_pool(n_rows, test_size, random)
    where = f"the pool has {len(pool)} rows beside {test_size} test rows, and learning sets must differ"
    _refuse_size("train_size", train, len(pool) - 1, where)
    return [Division(number, random.choice(pool, size=train, replace=False), test) for number in range(sizes.n_models)]


def in_disjoint_sets(n_rows: int, sizes: Sizes, random: np.random.Generator) -> list[Division]:
    """Divide the pool into disjoint learning sets; all models are tested on the other rows."""
    pool, test = _split_off_pool(n_rows, sizes.test or max(1, n_rows // 3), random)
    train = sizes.train or max(1, len(pool) // sizes.n_models)
    most = len(pool) // sizes.n_models
    _refuse_size("train_size", train, most, f"{sizes.n_models} learning sets share {len(pool)} rows")
    return [Division(number, pool[number * train : (number + 1) * train], test) for number in range(sizes.n_models)]


def by_bootstrap(n_rows: int, sizes: Sizes, random: np.random.Generator) -> list[Division]:
    """Draw learning sets with replacement; test each model out of bag, or all on `test_size` held-out rows."""
    every_row = np.arange(n_rows)
    pool, apart = (every_row, None) if sizes.test is None else _split_off_pool(n_rows, sizes.test, random)
    divisions = []
    for number in range(sizes.n_models):
        drawn = random.choice(pool, size=sizes.train or len(pool), replace=True)
        test = np.setdiff1d(every_row, drawn) if apart is None else apart
        divisions.append(Division(number, drawn, test))
    return divisions


def by_subsampled_folds(n_rows: int, sizes: Sizes, random: np.random.Generator) -> list[Division]:
    """Repeat cross-validation, each model trained on a sample of the rows outside its fold (Webb and Conilione).

    There are as few folds as leave enough rows to learn from; in each round every row is answered once.
    """
    if sizes.test is not None:
        raise InvalidParameter(
            f"test_size={sizes.test} was given, but with scheme='subsampled_cv' every row is a test row: leave it out"
        )
    train = sizes.train or max(1, n_rows // 2)
    _refuse_size("train_size", train, n_rows - 1, f"X has {n_rows} rows and a fold has one at least")
    n_folds = max(2, ceil(n_rows / (n_rows - train)))
    # The largest fold is rounded up, and may then leave too few.
    while n_rows - ceil(n_rows / n_folds) < train:
        n_folds += 1
    divisions = []
    for number in range(sizes.n_models):
        shuffled = random.permutation(n_rows)
        for fold in np.array_split(shuffled, n_folds):
            others = np.setdiff1d(shuffled, fold)
            divisions.append(Division(number, random.choice(others, size=train, replace=False), np.sort(fold)))
    return divisions


SCHEMES: dict[str, Callable[[int, Sizes, np.random.Generator], list[Division]]] = {
    "pool": from_pool,
    "fresh": in_disjoint_sets,
    "bootstrap": by_bootstrap,
    "subsampled_cv": by_subsampled_folds,
}


def divide(scheme: Any, n_rows: int, sizes: Sizes, random: np.random.Generator) -> list[Division]:
    """Return the divisions of a named scheme, or the given ones."""
    if isinstance(scheme, str):
        check_choice("scheme", scheme, SCHEMES)
        if n_rows < 2:
            raise InvalidInput(f"X has {n_rows} rows; expected at least 2: one to learn from and one to judge by")
        divisions = SCHEMES[scheme](n_rows, sizes, random)
    elif isinstance(scheme, Iterable) and not (isinstance(scheme, np.ndarray) and scheme.ndim == 0):
        splits = [read_split(number, split, n_rows) for number, split in enumerate(scheme)]
        divisions = [Division(number, learn, np.sort(test)) for number, (learn, test) in enumerate(splits)]
    else:
        raise InvalidParameter(
            f"scheme={scheme!r} was given; expected one of {', '.join(map(repr, SCHEMES))}, or pairs of row numbers"
        )
    if len({division.round for division in divisions}) < FEWEST_MODELS:
        raise InvalidParameter(
            f"{len(divisions)} learning sets were given; at least {FEWEST_MODELS} are needed to see how models differ"
        )
    return divisions


def generate_sets(generate: Generate, sizes: Sizes, random_state: Any) -> tuple[Any, np.ndarray, list[Division]]:
    """Draw learning sets and one test set from a generator, as one table with the divisions that tell them apart."""
    if sizes.train is None:
        raise InvalidParameter(
            "train_size=None was given with a generator of data: say how many rows a model learns from"
        )
    random = make_generator(random_state)
    wanted = [sizes.train] * sizes.n_models + [sizes.test or USUAL_GENERATED_TEST]
    drawn = [generate(n_rows, int(random.integers(2**31))) for n_rows in wanted]
    if not all(isinstance(pair, tuple | list) and len(pair) == 2 for pair in drawn):
        raise InvalidInput(f"the generator gave {type(drawn[0]).__name__}; expected a pair of X and y")
    for n_rows, (X, y) in zip(wanted, drawn, strict=True):
        if count_rows(X) != n_rows or len(y) != n_rows:
            raise InvalidInput(
                f"the generator was asked for {n_rows} rows and gave {count_rows(X)} of X and {len(y)} of y"
            )
    ends = np.cumsum(wanted)
    test = np.arange(ends[-2], ends[-1])
    divisions = [Division(number, np.arange(end - sizes.train, end), test) for number, end in enumerate(ends[:-1])]
    return _join_tables([X for X, _ in drawn]), np.concatenate([np.asarray(y) for _, y in drawn]), divisions
