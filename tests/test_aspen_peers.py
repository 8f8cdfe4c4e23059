"""The page of Aspen and other libraries is made of the stored cells, which are all of the judged half."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import numpy as np
import pandas as pd
import pytest

from tremula.lab.studies.default.halves import JUDGED, half

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"


@pytest.fixture(scope="module")
def page() -> Iterator[ModuleType]:
    """The module that writes the page."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(BENCHMARKS))
        yield importlib.import_module("aspen_peers_page")


def test_the_page_is_made_of_the_cells(page: ModuleType) -> None:
    cells = pd.read_parquet(BENCHMARKS / "aspen_peers.parquet")
    assert page.PAGE.read_text(encoding="utf-8") == page.page_text(cells)


def test_cells_are_of_the_judged_half_and_measured_once() -> None:
    cells = pd.read_parquet(BENCHMARKS / "aspen_peers.parquet")
    assert {half(name) for name in cells["dataset"]} == {JUDGED}
    assert not cells.duplicated(["dataset", "split", "method"]).any()
    assert (cells["seconds"] > 0).all()


def test_ranks_name_the_datasets_that_aspen_loses(page: ModuleType) -> None:
    losses = {"iris": (0.1, 0.2), "glass": (0.4, 0.3)}
    cells = pd.DataFrame(
        [
            {"dataset": name, "task": "classification", "split": 0, "method": method, "error": loss, "log_loss": loss}
            for name, both in losses.items()
            for method, loss in zip(("Aspen", "other"), both)
        ]
    ).assign(rmse=np.nan)
    rows = page.rank_rows(cells, ["other"])
    assert rows[0] == ["error", "all", "1 of 2: glass (other)", "**1.50**", "**1.50**"]


@pytest.mark.slow
def test_a_tuned_peer_is_the_best_setting_of_its_inner_folds() -> None:
    pytest.importorskip("lightgbm")
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(BENCHMARKS))
        tuned = importlib.import_module("tuned_peers")
    random = np.random.default_rng(0)
    X = random.normal(size=(60, 2))
    y = (X[:, 0] > 0).astype(int)
    n_leaves: set[int] = set()

    class FewLeaves(tuned.TunedPeer):  # type: ignore[misc, name-defined]
        """Inner folds that prefer few leaves; the default has 31."""

        def _loss(self, setting: dict[str, float], *_: object) -> float:
            n_leaves.add(int(setting.get("num_leaves", 31)))
            return float(setting.get("num_leaves", 31))

    peer = FewLeaves("lightgbm", "classification", (), 0, n_settings=8).fit(X, y)
    assert len(n_leaves) > 4
    assert peer.setting_["num_leaves"] == min(n_leaves)
    by_loss = tuned.TunedPeer("lightgbm", "classification", (), 0, n_settings=8).fit(X, y)
    assert set(by_loss.setting_) in (set(), set(tuned.SPACES["lightgbm"]))
    assert by_loss.predict_proba(X).shape == (60, 2)
