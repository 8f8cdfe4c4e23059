"""Paths packed into covers: no row is on two paths of one cover, and the cover's tree finds the path a row is on."""

import itertools

import numpy as np
import pytest

from tremula.queries.question import Condition, Path, narrow
from tremula.queries.sql.path_covers import CoverNode, cover_paths

N_ATTRIBUTES, N_VALUES = 3, 4


def random_paths(seed: int, n_paths: int) -> list[Path]:
    random = np.random.default_rng(seed)
    paths: set[Path] = set()
    while len(paths) < n_paths:
        path: Path = ()
        for attribute in random.choice(N_ATTRIBUTES, random.integers(1, N_ATTRIBUTES + 1), replace=False).tolist():
            first, last = sorted(random.integers(N_VALUES, size=2).tolist())
            path = narrow(path, attribute, first, last)
        paths.add(path)
    return sorted(paths)


def is_on(row: tuple[int, ...], conditions: tuple[Condition, ...]) -> bool:
    return all(c.first <= row[c.attribute] <= c.last for c in conditions)


def find(node: CoverNode, row: tuple[int, ...]) -> int | None:
    if node.number is not None:
        return node.number if is_on(row, node.conditions) else None
    for conditions, child in node.branches:
        if is_on(row, conditions):
            return find(child, row)
    return None


@pytest.mark.parametrize("seed", range(30))
def test_a_cover_finds_the_one_path_that_a_row_is_on(seed: int) -> None:
    paths = random_paths(seed, 12)
    covers = cover_paths(paths, N_ATTRIBUTES)
    assert sorted(number for cover in covers for number in cover.numbers) == list(range(12))
    for cover, row in itertools.product(covers, itertools.product(range(N_VALUES), repeat=N_ATTRIBUTES)):
        on = [number for number in cover.numbers if is_on(row, paths[number])]
        assert len(on) <= 1
        assert find(cover.root, row) == (on[0] if on else None)


def test_leaves_of_one_tree_need_one_cover() -> None:
    left = narrow((), 0, 0, 1)
    leaves = [narrow(left, 1, value, value) for value in range(4)] + [narrow((), 0, 2, 2), narrow((), 0, 3, 3)]
    assert len(cover_paths(leaves, 2)) == 1
