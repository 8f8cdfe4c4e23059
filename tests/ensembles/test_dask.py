"""Members trained by a Dask cluster of two processes: the same bits, and the table is sent once."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.tree import DecisionTreeClassifier

import tremula as tm
from tremula.ensembles.base.training import Training
from tremula.errors import InvalidParameter
from tremula.perturb import RandomSplits

distributed = pytest.importorskip("distributed", reason="dask.distributed is not installed: pip install '.[test]'")
pytestmark = [pytest.mark.dask, pytest.mark.usefixtures("no_waiting_for_ever")]

RANDOM = np.random.default_rng(0)
TABLE = RANDOM.normal(size=(2000, 20))
CLASSES = (TABLE[:, 0] * TABLE[:, 1] + RANDOM.normal(size=2000) > 0).astype(int)
ENSEMBLES = {
    "bagging": tm.BaggingClassifier(n_estimators=20, oob_score=True, random_state=3),
    "forest": tm.RandomForestClassifier(n_estimators=20, random_state=3),
    "dagging": tm.DaggingClassifier(n_estimators=20, random_state=3),
    "auto": tm.BaggingClassifier(tm.C45Classifier(max_depth=3), "auto", max_estimators=60, random_state=3),
}


@pytest.fixture(autouse=True)
def idle_cluster(dask_client: Any) -> Iterator[None]:
    """Wait for tasks that were given up and still run: some tests count."""
    yield
    while any(dask_client.processing().values()):
        time.sleep(0.01)


@pytest.mark.parametrize("name", ENSEMBLES)
def test_a_cluster_gives_the_same_members(dask_client: Any, name: str) -> None:
    alone = clone(ENSEMBLES[name]).set_params(n_jobs=1).fit(TABLE, CLASSES)
    with joblib.parallel_config(backend="dask"):
        together = clone(ENSEMBLES[name]).fit(TABLE, CLASSES)
    assert together.members_ == alone.members_
    assert together.predict_proba(TABLE).tobytes() == alone.predict_proba(TABLE).tobytes()
    if alone.oob_score:
        assert together.oob_decision_function_.tobytes() == alone.oob_decision_function_.tobytes()


def test_a_cluster_trains_estimators_of_other_libraries_on_frames(dask_client: Any) -> None:
    frame = pd.DataFrame(TABLE[:, :3], columns=["a", "b", "c"])
    ensemble = tm.BaggingClassifier(DecisionTreeClassifier(max_depth=4), n_estimators=6, random_state=3)
    alone = clone(ensemble).fit(frame, CLASSES).predict_proba(frame)
    with joblib.parallel_config(backend="dask"):
        together = clone(ensemble).fit(frame, CLASSES).predict_proba(frame)
    assert together.tobytes() == alone.tobytes()


def test_an_error_of_a_member_comes_back(dask_client: Any) -> None:
    with joblib.parallel_config(backend="dask"), pytest.raises(InvalidParameter, match="sets 'n_best_splits'"):
        tm.PerturbCombineClassifier(tm.CARTClassifier(), [RandomSplits()], n_estimators=4).fit(TABLE, CLASSES)


def count_arrivals(dask_client: Any) -> None:
    """Make every worker count the tables it unpacks."""

    def install() -> None:
        from tremula.ensembles.base.training import Training

        Training.n_arrived = 0  # type: ignore[attr-defined]

        def unpack(training: Any, state: dict[str, Any]) -> None:
            Training.n_arrived += 1  # type: ignore[attr-defined]
            training.__dict__.update(state)

        Training.__setstate__ = unpack  # type: ignore[attr-defined]

    dask_client.run(install)


def arrivals(dask_client: Any) -> list[int]:
    def count() -> int:
        from tremula.ensembles.base.training import Training

        return Training.n_arrived  # type: ignore[attr-defined]

    return list(dask_client.run(count).values())


@pytest.mark.parametrize("n_estimators", [60, "auto"])
def test_the_table_is_sent_once(dask_client: Any, monkeypatch: pytest.MonkeyPatch, n_estimators: int | str) -> None:
    n_packed = 0

    def pack(training: Training) -> dict[str, Any]:
        nonlocal n_packed
        n_packed += 1
        return dict(vars(training))

    count_arrivals(dask_client)
    monkeypatch.setattr(Training, "__getstate__", pack)
    with joblib.parallel_config(backend="dask"):
        tm.BaggingClassifier(n_estimators=n_estimators, max_estimators=60, random_state=3).fit(TABLE, CLASSES)
    assert n_packed == 1
    # Dask copies it from worker to worker; a worker that asks for it while its copy is under way gets it twice.
    assert max(arrivals(dask_client)) <= 2


def test_importances_come_from_a_cluster_too(dask_client: Any) -> None:
    ensemble = tm.BaggingClassifier(n_estimators=6, random_state=3).fit(TABLE, CLASSES)
    alone = ensemble.permutation_importances(TABLE, CLASSES, random_state=0)
    with joblib.parallel_config(backend="dask"):
        together = ensemble.permutation_importances(TABLE, CLASSES, random_state=0)
    assert together.by_member.tobytes() == alone.by_member.tobytes()


def test_a_cluster_is_sent_a_few_tasks(dask_client: Any) -> None:
    with distributed.get_task_stream(dask_client) as stream, joblib.parallel_config(backend="dask"):
        tm.BaggingClassifier(n_estimators=60, random_state=3).fit(TABLE, CLASSES)
    assert [record["key"].rsplit("-", 1)[0] for record in stream.data] == ["batch_of__train_chunk_1_calls"] * 2


@pytest.mark.slow
def test_a_cluster_stops_where_the_loss_has_settled(dask_client: Any) -> None:
    ensemble = tm.BaggingClassifier(tm.C45Classifier(max_depth=1), "auto", max_estimators=2000, random_state=3)
    alone = clone(ensemble).fit(TABLE, CLASSES)
    assert len(alone) < 1000
    with distributed.get_task_stream(dask_client) as stream, joblib.parallel_config(backend="dask"):
        together = clone(ensemble).fit(TABLE, CLASSES)
    assert together.members_ == alone.members_
    assert together.oob_trace_.tolist() == alone.oob_trace_.tolist()
    assert len(stream.data) < 200  # ten members each
