"""Finds the paths that a row is on by a walk through tables of steps, one table for each condition of the paths.

A step leads from a path to one that has one condition more. Its text takes about 20 characters, and one step serves
all levels of a nominal attribute, so that thousands of paths fit into one query.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from tremula.queries.question import EVERYWHERE, Condition, Path, Schema, is_within

STAY = -1  # instead of an attribute: a row keeps its path


class Step(NamedTuple):
    """A step of a walk.

    A row at number `start` whose value of the attribute is from `first` to `last` goes on to number `end`, plus
    `stride` times its value.
    """

    start: int
    attribute: int
    first: int
    last: int
    end: int
    stride: int


@dataclass(frozen=True)
class Walk:
    """Steps that lead rows to their paths.

    Attributes
    ----------
    levels : tuple of tuples of Step
        All rows start at number 0 and take one step of each level.
    places : dict
        From the numbers after the last level to the places of the paths asked about; rows with other numbers are on
        none of them.
    values : dict
        The values that lead to a path, by attribute.
    """

    levels: tuple[tuple[Step, ...], ...]
    places: dict[int, int]
    values: dict[int, set[int]]


def walk_paths(paths: Sequence[Path], parents: Mapping[Path, Path], schema: Schema) -> Walk:
    """Return the steps to all paths.

    Parameters
    ----------
    paths : sequence of Path
        Distinct paths.
    parents : mapping of Path to Path
        Wider paths by which a path may be reached. Rows take fewest steps if these are the paths of a tree. A path
        without one is reached by its conditions in order.
    schema : Schema

    Examples
    --------
    >>> from tremula.queries.question import Attribute
    >>> schema = Schema((Attribute("ward", levels=("A", "B")), Attribute("age", cuts=(50.0,))), "again", ("no", "yes"))
    >>> walk = walk_paths([(Condition(0, 0, 0),), (Condition(0, 1, 1),)], {}, schema)
    >>> walk.levels
    ((Step(start=0, attribute=0, first=0, last=1, end=0, stride=1),),)
    >>> walk.places
    {0: 0, 1: 1}
    """
    before = predecessors(paths, parents)
    by_depth = paths_by_depth(before)
    asked = set(paths)
    numbers: dict[Path, int] = {EVERYWHERE: 0}
    levels: list[tuple[Step, ...]] = []
    for at_depth in by_depth[1:]:
        steps, reached = _steps_to(at_depth, before, numbers, schema)
        next_number = max((step.end + step.stride * step.last for step in steps), default=-1) + 1
        for path, number in numbers.items():
            if path in asked and path not in reached:  # asked about at a smaller depth
                steps.append(Step(number, STAY, 0, 0, next_number, 0))
                reached[path] = next_number
                next_number += 1
        levels.append(tuple(steps))
        numbers = reached
    return Walk(tuple(levels), {numbers[path]: place for place, path in enumerate(paths)}, _values(before))


def small_table(engine: str, name: str, columns: str, rows: Sequence[Sequence[int]]) -> str:
    """Return the SQL of a table of whole numbers, with one letter for the name of each column.

    DuckDB takes 0.1 ms to read a row of VALUES, and a lot less to read a list from a string.

    Examples
    --------
    >>> small_table("postgres", "ends", "op", [(1, 2), (3, 4)])
    '(VALUES (1, 2), (3, 4)) AS ends(o, p)'
    >>> small_table("duckdb", "ends", "op", [(1, 2), (3, 4)])
    "(SELECT unnest(CAST('[1,3]' AS INTEGER[])) AS o, unnest(CAST('[2,4]' AS INTEGER[])) AS p) AS ends"
    """
    if engine != "duckdb":
        values = ", ".join(f"({', '.join(map(str, row))})" for row in rows)
        if engine == "sqlite":  # a table has no aliases of columns
            names = ", ".join(f"column{place} AS {column}" for place, column in enumerate(columns, start=1))
            return f"(SELECT {names} FROM (VALUES {values})) AS {name}"
        return f"(VALUES {values}) AS {name}({', '.join(columns)})"
    lists = (f"[{','.join(map(str, values))}]" for values in zip(*rows, strict=True))
    unnested = (f"unnest(CAST('{words}' AS INTEGER[])) AS {column}" for words, column in zip(lists, columns))
    return f"(SELECT {', '.join(unnested)}) AS {name}"


def predecessors(paths: Sequence[Path], parents: Mapping[Path, Path]) -> dict[Path, Path]:
    """Return the path before each path of a walk; it has one condition less, or a wider one."""
    before: dict[Path, Path] = {}
    for path in paths:
        while path and path not in before:
            before[path] = predecessor(path, parents)
            path = before[path]
    return before


def predecessor(path: Path, parents: Mapping[Path, Path]) -> Path:
    """Return the path before a path: its parent, or the path without its last condition."""
    parent = parents.get(path)
    return parent if parent is not None and added_condition(path, parent) is not None else path[:-1]


def added_condition(path: Path, parent: Path) -> Condition | None:
    """Return the condition of a path that its parent lacks; None if it is not one, or the parent is not wider."""
    added = [condition for condition in path if condition not in parent]
    removed = [condition for condition in parent if condition not in path]
    if len(added) != 1 or len(removed) > 1:
        return None
    return added[0] if is_within(path, parent) else None


def _values(paths: Iterable[Path]) -> dict[int, set[int]]:
    values: dict[int, set[int]] = {}
    for attribute, first, last in {condition for path in paths for condition in path}:
        values.setdefault(attribute, set()).update(range(first, last + 1))
    return dict(sorted(values.items()))


def paths_by_depth(before: Mapping[Path, Path]) -> list[list[Path]]:
    """Return paths by the number of steps from the root, given the path before each path."""
    depths: dict[Path, int] = {EVERYWHERE: 0}
    for path in before:
        chain = [path]
        while chain[-1] not in depths:
            chain.append(before[chain[-1]])
        for place in range(len(chain) - 2, -1, -1):
            depths[chain[place]] = depths[chain[place + 1]] + 1
    by_depth: list[list[Path]] = [[] for _ in range(max(depths.values()) + 1)]
    for path, depth in depths.items():
        by_depth[depth].append(path)
    return by_depth


def _steps_to(
    paths: Sequence[Path], before: Mapping[Path, Path], numbers: Mapping[Path, int], schema: Schema
) -> tuple[list[Step], dict[Path, int]]:
    """Return the steps to the paths of one depth, and the numbers of these paths."""
    steps: list[Step] = []
    reached: dict[Path, int] = {}
    ends: dict[tuple[int, int], int] = {}  # of nominal splits: where the first level leads
    next_number = 0
    for path in paths:
        condition = added_condition(path, before[path])
        assert condition is not None
        start, (attribute, first, last) = numbers[before[path]], condition
        n_values = schema.attributes[attribute].n_values
        if first == last and schema.attributes[attribute].is_nominal:
            if (start, attribute) not in ends:
                ends[start, attribute] = next_number
                steps.append(Step(start, attribute, 0, n_values - 1, next_number, 1))
                next_number += n_values
            reached[path] = ends[start, attribute] + first
        else:
            steps.append(Step(start, attribute, first, min(last, n_values - 1), next_number, 0))
            reached[path] = next_number
            next_number += 1
    return steps, reached
