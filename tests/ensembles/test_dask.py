"""Members trained by a Dask cluster of two processes: the same bits, and the table is sent once to each worker."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import joblib
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

import tremula as tm
from tremula.ensembles.base import Ensemble

distributed = pytest.importorskip("distributed", reason="dask.distributed is not installed")
pytestmark = [
    pytest.mark.dask,
    # Dask and its web server speak of sockets and ports of their own.
    pytest.mark.filterwarnings("default"),
]

RANDOM = np.random.default_rng(0)
TABLE = RANDOM.normal(size=(5000, 20))
CLASSES = (TABLE[:, 0] * TABLE[:, 1] + RANDOM.normal(size=5000) > 0).astype(int)
ENSEMBLES = {
    "bagging": tm.BaggingClassifier(n_estimators=20, oob_score=True, random_state=3),
    "forest": tm.RandomForestClassifier(n_estimators=20, random_state=3),
    "dagging": tm.DaggingClassifier(n_estimators=20, random_state=3),
}


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
    ):
        client.wait_for_workers(2)
        yield client


def bytes_received(client: Any) -> dict[str, int]:
    """What each worker has read from its connections so far."""
    import psutil

    def count() -> int:
        return psutil.Process().io_counters().read_chars

    return client.run(count)


@pytest.mark.parametrize("name", ENSEMBLES)
def test_a_cluster_gives_the_same_members(client: Any, name: str) -> None:
    alone = clone(ENSEMBLES[name]).set_params(n_jobs=1).fit(TABLE, CLASSES)
    with joblib.parallel_config(backend="dask"):
        together = clone(ENSEMBLES[name]).fit(TABLE, CLASSES)
    assert together.members_ == alone.members_
    assert together.predict_proba(TABLE).tobytes() == alone.predict_proba(TABLE).tobytes()
    if alone.oob_score:
        assert together.oob_decision_function_.tobytes() == alone.oob_decision_function_.tobytes()
