"""The table of models in the guide is what happens to tiny models; exact answers are compared with draws.

The environment variable TREMULA_WRITE_TABLE makes the test write the table.
"""

from __future__ import annotations

import os
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tremula as tm
from tremula.data.take import take_rows
from tremula.errors import InvalidInput, InvalidParameter, SamplingWarning, UnsupportedModel
from tremula.smoothing.methods import LinearSmoother, TreeSmoother

from .draws import draws_of
from .model_kinds import Kind, all_kinds

PAGE = Path(__file__).parents[3] / "docs" / "guide" / "own_models.md"
START, END = "<!-- table of models -->", "<!-- end of the table of models -->"
N_DRAWS, NOISE, FLIP = 100_000, 0.3, 0.2
ROWS = np.array([3, 40])


@dataclass(frozen=True)
class Outcome:
    """What happens to a kind of model."""

    method: str
    reason: str


def smooth(kind: Kind) -> tuple[Any, Outcome]:
    """Smooth a model with the default method; return the wrapper, None if it is refused, and the outcome."""
    estimator = kind.fitted()
    learns_classes = "Regressor" not in type(estimator).__name__ and hasattr(estimator, "classes_")
    if not hasattr(estimator, "fit"):  # a booster
        learns_classes = np.asarray(kind.target).dtype.kind == "i"
    wrapper = tm.DualPerturbClassifier if learns_classes else tm.DualPerturbRegressor
    soft = wrapper(estimator, noise=NOISE, flip=FLIP, n_draws=10, thresholds="kept", random_state=0)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            soft.fit(kind.table)
        except (UnsupportedModel, InvalidParameter, InvalidInput) as error:
            return None, Outcome("refused", short(str(error)))
    is_warned = any(issubclass(each.category, SamplingWarning) for each in caught)
    assert is_warned == (soft.method_ == "sample")
    return soft, Outcome("drawn, with a warning" if is_warned else "exact", short(soft.method_reason_))


def short(reason: str) -> str:
    """Return the first clause of a reason, without what to do about it."""
    clause = reason.split(": ")[0] if not reason.startswith("the trees of") else reason.split(". ")[0]
    return clause.split("; or ")[0].split(" (objectives")[0].split(" (a vote")[0].replace("|", "/")


def check_exact(soft: Any, kind: Kind) -> None:
    """Compare smoothed margins with means over draws, and the margins of every draw with the model itself."""
    random = np.random.default_rng(0)
    smoother, rows, noise = soft._read(take_rows(kind.table, ROWS), None)
    smoothed = smoother.smooth(rows, noise, None)
    for number in range(len(ROWS)):
        table = draws_of(soft, kind.table, int(ROWS[number]), N_DRAWS, random)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            own = soft._wrapped.unsmoothed(table)
        if isinstance(smoother, LinearSmoother):
            means, expected = own, smoothed.answers[number]
        else:
            assert isinstance(smoother, TreeSmoother)
            means = soft._wrapped.trees.margins(table)
            answers = soft._wrapped.trees.sum.link.answers(means)
            scale = max(1.0, float(np.abs(own).max()))
            np.testing.assert_allclose(answers, own, atol=2e-5 * scale, err_msg=kind.name)
            assert smoothed.margins is not None
            expected = smoothed.margins[number]
        errors = means.std(axis=0) / np.sqrt(N_DRAWS)
        apart = np.abs(means.mean(axis=0) - expected)
        assert (apart <= 5 * errors + 1e-5 * max(1.0, np.abs(means).max())).all(), (kind.name, apart, errors)


def table_of(outcomes: list[tuple[Kind, Outcome]]) -> str:
    """Write the table of models."""
    lines = ["| library | model | smoothed | reason |", "|---|---|---|---|"]
    for kind, outcome in outcomes:
        reason = "" if outcome.method == "exact" else outcome.reason
        lines.append(f"| {kind.library} | {kind.name} | {outcome.method} | {reason} |")
    return "\n".join(lines)


def measure() -> str:
    """Train and smooth every kind of model, and return the table."""
    outcomes = []
    for kind in all_kinds():
        soft, outcome = smooth(kind)
        if soft is not None and outcome.method == "exact":
            check_exact(soft, kind)
        elif soft is not None:
            assert len(soft.predict(take_rows(kind.table, ROWS))) == len(ROWS)
        outcomes.append((kind, outcome))
    return table_of(outcomes)


@pytest.mark.slow
def test_the_table_of_models_is_what_happens() -> None:
    page = PAGE.read_text(encoding="utf-8")
    before, rest = page.split(START)
    stored, after = rest.split(END)
    measured = measure()
    if "TREMULA_WRITE_TABLE" in os.environ:
        PAGE.write_text(f"{before}{START}\n\n{measured}\n\n{END}{after}", encoding="utf-8")
    else:
        assert stored.strip() == measured
