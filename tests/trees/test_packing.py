"""Trees packed for a file come back bit for bit, and none that is unsound."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from tremula import C45Classifier, CARTClassifier, REPTreeRegressor, Tree
from tremula.trees.packing import KINDS, narrowed, pack_trees, unpack_trees
from tremula.trees.structure import NODE_DTYPE


def table() -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(0)
    X = np.c_[random.normal(size=(200, 2)), random.integers(5, size=200)]
    X[random.random(X.shape) < 0.1] = np.nan
    return X, (X[:, 0] > 0) + 2 * (random.random(200) < 0.3)


def trees() -> list[Tree]:
    X, y = table()
    learners: list[Any] = [
        C45Classifier(categorical_features=[2], confidence=None),
        CARTClassifier(categorical_features=[2]),
        REPTreeRegressor(random_state=0),
        CARTClassifier(max_depth=1),
    ]
    return [learner.fit(X, y).tree_ for learner in learners]


def test_trees_of_all_kinds_come_back_bit_for_bit() -> None:
    packed = pack_trees(trees())
    assert unpack_trees(packed) == trees()
    assert set(packed) == set(KINDS)


def test_a_strict_tree_stays_strict() -> None:
    nodes = np.array([(0.5, 3, 0, 1, 2, -1), (0, 2, -1, 0, 0, 0), (0, 1, -1, 0, 0, 1)], dtype=NODE_DTYPE)
    strict = Tree(nodes, [[1, 0], [0, 1]], [], [0], strict=True)
    assert unpack_trees(pack_trees([strict]))[0].strict


def test_equal_levels_are_kept_once() -> None:
    first, second = unpack_trees(pack_trees(trees()[:2]))
    assert first.n_levels is not second.n_levels
    assert first.n_levels.base is second.n_levels.base


@given(arrays.arrays(np.float64, st.integers(0, 5), elements=st.one_of(st.integers(-300, 300), st.floats())))
def test_narrowed_numbers_are_the_same_numbers(numbers: np.ndarray) -> None:
    narrow = narrowed(numbers)
    assert narrow.astype(np.float64).tobytes() == numbers.tobytes()


@pytest.mark.parametrize(
    ("numbers", "dtype"),
    [([0, 255], "u1"), ([0, 256], "u2"), ([-1, 127], "i1"), ([-1, 128], "i2"), ([-(2**31), 0], "i4"), ([0.5], "f8")],
)
def test_whole_numbers_take_the_smallest_type(numbers: list[float], dtype: str) -> None:
    assert narrowed(np.array(numbers)).dtype == np.dtype(dtype)


@pytest.mark.parametrize("name", KINDS)
def test_an_array_of_another_kind_is_refused(name: str) -> None:
    packed = pack_trees(trees())
    packed[name] = packed[name].astype("U8")
    with pytest.raises(ValueError, match=f"{name} of the trees has dtype <U8"):
        unpack_trees(packed)


@pytest.mark.parametrize("name", [name for name in KINDS if name != "sizes"])
def test_an_array_of_another_length_is_refused(name: str) -> None:
    packed = pack_trees(trees())
    packed[name] = packed[name][:-1]
    with pytest.raises(ValueError, match=r"expected|announced"):
        unpack_trees(packed)


@pytest.mark.parametrize(
    ("name", "number"), [("attribute", 3), ("first_child", 0), ("first_child", 127), ("index", 5), ("n_branches", 3)]
)
def test_an_unsound_tree_is_refused(name: str, number: int) -> None:
    packed = pack_trees(trees()[-1:])
    packed[name] = packed[name].copy()
    packed[name][0] = number
    with pytest.raises(ValueError, match=r"not a valid tree|attribute outside"):
        unpack_trees(packed)


def test_a_subset_so_far_away_that_its_end_overflows_is_refused() -> None:
    nodes = np.array([(np.nan, 3, 0, 1, 2, 2**31 - 1), (0, 2, -1, 0, 0, 0), (0, 1, -1, 0, 0, 1)], dtype=NODE_DTYPE)
    tree = Tree(nodes, [[1, 0], [0, 1]], [0, 1, 1], [3], strict=False)
    with pytest.raises(ValueError, match="reads beyond the subsets"):
        tree.check()
