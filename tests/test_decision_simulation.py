"""The table of level and power in the guide is that of the stored simulation, and the levels are kept."""

import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType

import pytest

REPOSITORY = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def decisions() -> ModuleType:
    spec = importlib.util.spec_from_file_location("decisions", REPOSITORY / "benchmarks" / "decisions.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["decisions"] = module
    spec.loader.exec_module(module)
    return module


def test_the_guide_has_the_table_of_the_stored_results(decisions: ModuleType) -> None:
    page = decisions.PAGE.read_text(encoding="utf-8")
    results = json.loads(decisions.RESULTS.read_text(encoding="utf-8"))
    assert decisions.with_table(page, results) == page
    assert len(results) == len(decisions.CASES)


def test_false_statements_are_made_no_more_often_than_said(decisions: ModuleType) -> None:
    for row in json.loads(decisions.RESULTS.read_text(encoding="utf-8")):
        if row["bound"]:
            bound = float(row["bound"].removesuffix(" %")) / 100
            assert row["share"] <= bound + 3 * (bound * (1 - bound) / row["trials"]) ** 0.5, row


def test_a_few_trials_give_shares(decisions: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    results = decisions.run(2)
    assert all(row["share"] in (0, 0.5, 1) for row in results)
    assert len(decisions.table_of(results).splitlines()) == len(results) + 2
