"""Walks to paths: a row ends at the paths that it is on, and at no other, whatever parents are known."""

import numpy as np
import pytest

from tremula.queries.question import EVERYWHERE, Attribute, Condition, Path, Schema
from tremula.queries.sql.path_walks import STAY, Walk, walk_paths

from .tables import random_paths

SCHEMA = Schema(
    (
        Attribute("colour", levels=("blue", "green", "red")),
        Attribute("size", cuts=(0.0, 1.0, 2.0)),
        Attribute("flag", levels=(False, True)),
        Attribute("age", cuts=(30.0, 50.0)),
    ),
    "again",
    ("no", "yes"),
)


def find(walk: Walk, row: tuple[int, ...]) -> list[int]:
    """Walk step by step, as the joins do; return the places of the paths that the row ends at."""
    numbers = [0]
    for level in walk.levels:
        reached = []
        for number in numbers:
            for step in level:
                value = 0 if step.attribute == STAY else row[step.attribute]
                if step.start == number and step.first <= value <= step.last:
                    reached.append(step.end + step.stride * value)
        numbers = reached
    return sorted(walk.places[number] for number in numbers if number in walk.places)


def is_on(row: tuple[int, ...], path: Path) -> bool:
    return all(c.first <= row[c.attribute] <= c.last for c in path)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("with_parents", [False, True])
def test_a_row_ends_at_the_paths_that_it_is_on(seed: int, with_parents: bool) -> None:
    random = np.random.default_rng(seed)
    paths = random_paths(SCHEMA, seed, 25)
    parents = {path: path[1:] for path in paths if path and random.random() < 0.5} if with_parents else {}
    walk = walk_paths(paths, parents, SCHEMA)
    n_values = [attribute.n_values + 1 for attribute in SCHEMA.attributes]  # the last one is missing
    for row in np.ndindex(*n_values):
        assert find(walk, row) == [place for place, path in enumerate(paths) if is_on(row, path)]


def test_a_parent_that_is_not_wider_is_not_used() -> None:
    path = random_paths(SCHEMA, 0, 5)[-1]
    for parent in (path, (Condition(0, 0, 0), Condition(1, 0, 1), Condition(2, 0, 0)), (Condition(3, 9, 9),)):
        assert walk_paths([path], {path: parent}, SCHEMA) == walk_paths([path], {}, SCHEMA)


def test_the_whole_table_needs_no_step() -> None:
    assert walk_paths([EVERYWHERE], {}, SCHEMA) == Walk((), {0: 0}, {})


def test_one_step_serves_all_levels() -> None:
    walk = walk_paths([(Condition(0, level, level),) for level in range(3)], {}, SCHEMA)
    assert [len(level) for level in walk.levels] == [1]
