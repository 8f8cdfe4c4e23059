"""Members trained by Ray, through its backend for joblib: the same bits."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator

import joblib
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.naive_bayes import GaussianNB

import tremula as tm
from tremula.ensembles.base.ensemble import Ensemble

pytest.importorskip("ray", reason="Ray is not installed: pip install ray")
pytestmark = pytest.mark.ray

RANDOM = np.random.default_rng(0)
TABLE = RANDOM.normal(size=(500, 5))
CLASSES = (TABLE[:, 0] * TABLE[:, 1] + RANDOM.normal(size=500) > 0).astype(int)


@pytest.fixture(scope="module", autouse=True)
def two_workers() -> Iterator[None]:
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import ray
        from ray.util.joblib import register_ray

        ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, configure_logging=False)
        register_ray()
    yield
    ray.shutdown()


@pytest.mark.filterwarnings("ignore")  # of Ray's own doing
@pytest.mark.parametrize(
    "ensemble",
    [
        tm.BaggingClassifier(n_estimators=10, oob_score=True, random_state=3),
        tm.BaggingClassifier(tm.C45Classifier(max_depth=3), "auto", max_estimators=40, random_state=3),
        tm.BaggingClassifier(GaussianNB(), n_estimators=6, random_state=3),
    ],
    ids=str,
)
def test_ray_gives_the_same_members(ensemble: Ensemble) -> None:
    alone = clone(ensemble).fit(TABLE, CLASSES)
    with joblib.parallel_config(backend="ray", n_jobs=2):
        together = clone(ensemble).fit(TABLE, CLASSES)
    assert len(together) == len(alone)
    assert together.predict_proba(TABLE).tobytes() == alone.predict_proba(TABLE).tobytes()
    assert alone.permutation_importances(TABLE, CLASSES, random_state=0).by_member.tobytes() == (
        together.permutation_importances(TABLE, CLASSES, random_state=0).by_member.tobytes()
    )
