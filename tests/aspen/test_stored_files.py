"""Files of earlier code load, predict as they did, and can be fitted further.

Probabilities are compared up to the last bits, which depend on the processor: NumPy's exponentials do.
"""

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
    np.testing.assert_allclose(model.predict_proba(FRAME), expected["probabilities"], rtol=1e-12)
    assert (model.count_inbag(FRAME, LABELS) == expected["inbag"]).all()


def test_a_stored_classifier_is_fitted_further(expected: Any) -> None:
    model = tm.load(GOLDEN / "aspen" / "classifier.tremula").set_params(n_estimators=6).fit(FRAME, LABELS)
    np.testing.assert_allclose(model.predict_proba(FRAME), expected["more"], rtol=1e-9)


def test_a_stored_regressor_predicts_as_it_did(expected: Any) -> None:
    model = tm.load(GOLDEN / "aspen" / "regressor.tremula")
    np.testing.assert_allclose(model.predict(FRAME), expected["numbers"], rtol=1e-12)
    importances = model.permutation_importances(FRAME, NUMBERS, random_state=0).importances
    np.testing.assert_allclose(importances, expected["importances"], rtol=1e-9, atol=1e-12)
