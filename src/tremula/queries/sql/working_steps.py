"""The steps that lead the rows of a working table from the paths that they are on to the paths of the next depth.

A row takes one step for each split of its path, so that the table has as many copies of a row as it has paths.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from tremula.queries.question import EVERYWHERE, Path, Schema
from tremula.queries.sql.path_walks import STAY, added_condition, paths_by_depth, predecessor, predecessors

NO_CUT = 2**31 - 1  # above every value


class Split(NamedTuple):
    """A row at number `start` goes on if its value v of the attribute is from `first` to `last`.

    Its number is then ``end + stride * v``, plus 1 if v is above `cut`.
    """

    start: int
    attribute: int
    first: int
    last: int
    cut: int
    stride: int
    end: int


@dataclass(frozen=True)
class Advance:
    """The steps of one depth, and the numbers of the paths that are kept, by the number after the step."""

    splits: tuple[Split, ...]
    numbers: dict[int, int]


def plan_stages(
    paths: Sequence[Path], parents: Mapping[Path, Path], placed: Container[Path]
) -> tuple[list[list[Path]], dict[Path, Path]]:
    """Return the paths that rows are brought to, one stage after the other, and the path before each path.

    Parameters
    ----------
    paths : sequence of Path
        Distinct paths, which are the last stage.
    parents : mapping of Path to Path
        Wider paths by which a path may be reached.
    placed : container of Path
        The paths that the rows are on. If one step from these does not reach all paths, the stages start at the root.

    Examples
    --------
    >>> from tremula.queries.question import Condition
    >>> inner = (Condition(0, 0, 0), Condition(1, 1, 1))
    >>> [len(stage) for stage in plan_stages([inner], {}, [EVERYWHERE])[0]]
    [1, 1]
    >>> [len(stage) for stage in plan_stages([inner], {}, [inner[:1]])[0]]
    [1]
    """
    before = {path: predecessor(path, parents) for path in paths if path not in placed}
    if all(parent in placed for parent in before.values()):
        return [list(paths)], before
    before = predecessors(paths, parents)
    by_depth = paths_by_depth(before)
    stages: list[list[Path]] = []
    reached: Container[Path] = [EVERYWHERE]
    for at_depth in by_depth[1:-1]:
        stages.append([*at_depth, *(path for path in paths if path in reached)])
        reached = set(stages[-1])
    return [*stages, list(paths)], before


def starts_at_root(stages: Sequence[Sequence[Path]], before: Mapping[Path, Path], placed: Container[Path]) -> bool:
    """Whether rows have to start at the root to be brought to the first stage."""
    return not all(path in placed or before[path] in placed for path in stages[0])


def plan_advance(
    wanted: Sequence[Path], before: Mapping[Path, Path], placed: Mapping[Path, int], schema: Schema
) -> Advance:
    """Return the steps to the wanted paths, which are then numbered in their order; paths that are placed stay.

    Examples
    --------
    >>> from tremula.queries.question import Attribute, Condition
    >>> schema = Schema((Attribute("age", cuts=(30.0, 50.0)),), "again", ("no", "yes"))
    >>> young, old = (Condition(0, 0, 1),), (Condition(0, 2, 2),)
    >>> plan_advance([young, old], {young: EVERYWHERE, old: EVERYWHERE}, {EVERYWHERE: 0}, schema).splits
    (Split(start=0, attribute=0, first=0, last=2, cut=1, stride=0, end=0),)
    """
    splits: dict[Split, Split] = {}  # without and with the number where they end
    numbers: dict[int, int] = {}
    next_end = 0
    for number, path in enumerate(wanted):
        split, branch = split_to(path, before, placed, schema)
        if split not in splits:
            splits[split] = split._replace(end=next_end)
            next_end += split.last + 1 if split.stride else 2
        numbers[splits[split].end + branch] = number
    return Advance(tuple(splits.values()), numbers)


def split_to(path: Path, before: Mapping[Path, Path], placed: Mapping[Path, int], schema: Schema) -> tuple[Split, int]:
    """Return the split that leads to a path, and the branch that the path is. Where the split ends is not known yet."""
    if path in placed:
        return Split(placed[path], STAY, 0, 0, NO_CUT, 0, 0), 0
    parent = before[path]
    condition = added_condition(path, parent)
    assert condition is not None
    attribute, first, last = condition
    largest = schema.attributes[attribute].n_values - 1
    if first == last and schema.attributes[attribute].is_nominal:
        return Split(placed[parent], attribute, 0, largest, NO_CUT, 1, 0), first
    own = next((c for c in parent if c.attribute == attribute), None)
    lowest, highest = (0, largest) if own is None else (own.first, min(own.last, largest))
    last = min(last, highest)
    if first > lowest and last == highest:
        return Split(placed[parent], attribute, lowest, highest, first - 1, 0, 0), 1
    if first == lowest and last < highest:
        return Split(placed[parent], attribute, lowest, highest, last, 0, 0), 0
    return Split(placed[parent], attribute, first, last, NO_CUT, 0, 0), 0
