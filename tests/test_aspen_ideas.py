"""The tables of ideas in the guide to Aspen are those of the stored cells, and no cell is of the wrong half."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pandas as pd
import pytest

from tremula.lab.studies.default.halves import DECIDING, JUDGED, half

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"


@pytest.fixture(scope="module")
def ideas() -> Iterator[ModuleType]:
    """The module that measures ideas."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(BENCHMARKS))
        yield importlib.import_module("aspen_ideas")


def test_the_tables_of_the_guide_are_made_of_the_cells(ideas: ModuleType) -> None:
    page = ideas.GUIDE.read_text(encoding="utf-8")
    assert ideas.page_text() in page


@pytest.mark.parametrize("which", [DECIDING, JUDGED])
def test_cells_are_of_their_half_and_planned(ideas: ModuleType, which: str) -> None:
    cells = pd.read_parquet(ideas.CELLS[which])
    assert {half(name) for name in cells["dataset"]} == {which}
    planned = {(name, idea.name) for name, _, idea in ideas.plan(which)}
    assert set(zip(cells["dataset"], cells["idea"])) <= planned
    assert not cells.duplicated(["dataset", "split", "idea"]).any()


def test_an_idea_changes_names_only_while_it_is_applied(ideas: ModuleType) -> None:
    for idea in ideas.IDEAS:
        before = [getattr(owner, name) for owner, name, _ in idea.changes]
        with idea.applied():
            changed = [getattr(owner, name) is not old for (owner, name, _), old in zip(idea.changes, before)]
        assert all(changed)
        assert [getattr(owner, name) for owner, name, _ in idea.changes] == before
