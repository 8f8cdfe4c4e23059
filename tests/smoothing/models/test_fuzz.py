"""Random models of all libraries; `python -m tests.smoothing.models.fuzz_models 10000` tries more."""

from __future__ import annotations

import pytest

for library in ("xgboost", "lightgbm", "catboost", "treelite", "pandas"):
    pytest.importorskip(library)


@pytest.mark.slow
def test_no_misread_model_is_called_exact() -> None:
    from .fuzz_models import attacks

    outcomes = attacks(0, 100)
    assert set(outcomes) <= {"exact", "refused", "rows refused", "not trained"}, outcomes
    assert outcomes["exact"] > 50
