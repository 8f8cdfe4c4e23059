"""The tables of the defaults of forests are those of the stored cells, and no cell is of the wrong half."""

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
def defaults() -> Iterator[ModuleType]:
    """The module that measures defaults."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(BENCHMARKS))
        yield importlib.import_module("forest_defaults")


def test_the_tables_are_made_of_the_cells(defaults: ModuleType) -> None:
    results = (BENCHMARKS / "RESULTS.md").read_text(encoding="utf-8")
    cells = pd.read_parquet(defaults.CELLS[DECIDING])
    for method in defaults.KINDS:
        for row in defaults.rows_of(cells, method):
            assert "| " + " | ".join(str(cell) for cell in row) + " |" in results
    assert defaults.summary_text() in (BENCHMARKS.parent / defaults.PAGE).read_text(encoding="utf-8")


@pytest.mark.parametrize("which", [DECIDING, JUDGED])
def test_cells_are_of_their_half_and_complete(defaults: ModuleType, which: str) -> None:
    cells = pd.read_parquet(defaults.CELLS[which])
    assert {half(name) for name in cells["dataset"]} == {which}
    assert set(cells["dataset"]) == set(defaults.datasets(which))
    assert not cells.duplicated(["dataset", "split", "method", "setting"]).any()
    assert (cells.groupby(["dataset", "method", "setting"]).size() == defaults.N_SPLITS[which]).all()
    settings = set(defaults.settings()) if which == DECIDING else {defaults.BASE, defaults.CANDIDATE}
    assert set(cells["setting"]) == {"", *settings}


def test_the_base_is_the_default(defaults: ModuleType) -> None:
    for kind in defaults.KINDS.values():
        given = kind().get_params()
        assert {name: given[name] for name in defaults.settings()[defaults.BASE]} == defaults.settings()[defaults.BASE]
