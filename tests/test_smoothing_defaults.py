"""The page on the default choice of noise says what the stored runs say."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

REPOSITORY = Path(__file__).parents[1]
RUNS = REPOSITORY / "docs" / "results" / "smoothing_defaults" / "runs.csv"


@pytest.fixture(scope="module")
def pages() -> ModuleType:
    path = REPOSITORY / "benchmarks" / "smoothing_defaults_page.py"
    spec = importlib.util.spec_from_file_location("smoothing_defaults_page", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_is_that_of_the_stored_runs(pages: ModuleType) -> None:
    assert pages.PAGE.read_text(encoding="utf-8") == pages.page_text(RUNS)


def test_the_study_has_enough_datasets_models_and_seeds(pages: ModuleType) -> None:
    runs = pages.read_runs(RUNS)
    judged = runs[runs.half == "judged"]
    assert runs.dataset.nunique() >= 40
    assert judged.kind.nunique() >= 5
    assert (judged.groupby(["dataset", "kind"]).seed.nunique() >= 2).all()


def test_no_run_is_stored_twice(pages: ModuleType) -> None:
    assert not pages.read_runs(RUNS).duplicated(["dataset", "kind", "seed"]).any()
