"""Files of earlier code load, predict bit for bit as they did, and can be fitted further."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tremula as tm

GOLDEN = Path(__file__).parent.parent / "golden"
TABLES = runpy.run_path(str(GOLDEN / "make_files.py"))
FRAME, LABELS = TABLES["rows"](), TABLES["classes"]()
NUMBERS = FRAME["weight"].to_numpy() ** 2


@pytest.fixture(scope="module")
def expected() -> Any:
    return np.load(GOLDEN / "aspen" / "answers.npz")


def test_a_stored_classifier_predicts_as_it_did(expected: Any) -> None:
    model = tm.load(GOLDEN / "aspen" / "classifier.tremula")
    assert (model.predict_proba(FRAME) == expected["probabilities"]).all()
    assert (model.count_inbag(FRAME, LABELS) == expected["inbag"]).all()


def test_a_stored_classifier_is_fitted_further(expected: Any) -> None:
    model = tm.load(GOLDEN / "aspen" / "classifier.tremula").set_params(n_estimators=6).fit(FRAME, LABELS)
    assert (model.predict_proba(FRAME) == expected["more"]).all()


def test_a_stored_regressor_predicts_as_it_did(expected: Any) -> None:
    model = tm.load(GOLDEN / "aspen" / "regressor.tremula")
    assert (model.predict(FRAME) == expected["numbers"]).all()
    importances = model.permutation_importances(FRAME, NUMBERS, random_state=0).importances
    assert (importances == expected["importances"]).all()
