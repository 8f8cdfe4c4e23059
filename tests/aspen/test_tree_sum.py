"""Aspen as a sum of trees: equal to its predictions, and to draws of its own parts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import tremula as tm
from tremula.aspen.boosted_corrections import add_corrections
from tremula.combine import combine_members
from tremula.errors import FileDamaged, InvalidParameter, UnsupportedModel
from tremula.smoothing.models import read_model, store_trees


def table(n_rows: int, share_missing: float, seed: int) -> pd.DataFrame:
    random = np.random.default_rng(seed)
    levels = list("pqrstuvw")
    chances = [0.3, 0.2, 0.2, 0.1, 0.1, 0.05, 0.03, 0.02]
    frame = pd.DataFrame(
        {
            "a": random.normal(size=n_rows),
            "b": random.normal(size=n_rows).round(1),
            "c": pd.Categorical(random.choice(levels, n_rows, p=chances), categories=[*levels, "never"]),
            "d": random.choice(["x", "y", "z"], n_rows),
        }
    )
    for name in frame.columns:
        frame.loc[random.random(n_rows) < share_missing, name] = None
    return frame


def target(frame: pd.DataFrame) -> Any:
    score = frame.a.fillna(0) + (frame.c == "p") + (frame.d == "x") * frame.b.fillna(0)
    return (score > 0.3).astype(int) + (frame.b > 1)


@pytest.fixture(scope="module", params=[0.0, 0.2], ids=["complete", "with gaps"])
def fitted(request: pytest.FixtureRequest) -> tuple[pd.DataFrame, Any]:
    frame = table(300, request.param, 0)
    return frame, tm.AspenClassifier(n_estimators=6, random_state=0).fit(frame, target(frame))


def test_answers_are_those_of_the_blend(fitted: tuple[pd.DataFrame, Any]) -> None:
    _, model = fitted
    others = table(500, 0.25, 1)
    others.loc[:20, "d"] = "a level that training did not have"
    others.loc[20:40, "c"] = "never"
    assert len(model.corrections_) > 0
    read = read_model(model)
    np.testing.assert_allclose(read.answers(others), model.predict_proba(others), atol=1e-12)


def test_smoothed_margins_are_means_over_draws(fitted: tuple[pd.DataFrame, Any]) -> None:
    frame, model = fitted
    rows, n_draws, noise, flip = table(6, 0.25, 2), 5_000, 0.4, 0.3
    smoothed = tm.DualPerturbClassifier(model, noise=noise, flip=flip, thresholds="kept").fit(frame)
    margins = smoothed.smooth(rows).margins
    random = np.random.default_rng(0)
    for number in range(len(rows)):
        drawn = pd.concat([rows.iloc[[number]]] * n_draws, ignore_index=True)
        for place, name in enumerate(["a", "b"]):
            drawn[name] = drawn[name].astype(float) + noise * smoothed.scale_[place] * random.normal(size=n_draws)
        for name in ["c", "d"]:
            flip_levels(drawn, name, frame[name], flip, random)
        filled = model._read_table(drawn)
        means = combine_members(model.members_, filled, n_draws, 3, "average", model.member_weights_)
        both = np.hstack([means, add_corrections(model.corrections_, filled, 3)])
        errors = both.std(axis=0) / np.sqrt(n_draws)
        assert (np.abs(both.mean(axis=0) - margins[number]) <= 5 * errors + 1e-6).all()


def flip_levels(drawn: pd.DataFrame, name: str, known: Any, flip: float, random: np.random.Generator) -> None:
    """Replace the level of a column, the same in all rows, with probability `flip` by another one."""
    level = drawn[name].iloc[0]
    if pd.isna(level):
        return
    shares = known.astype(object).value_counts(normalize=True).drop(level)
    others = random.choice(shares.index.to_numpy(), len(drawn), p=(shares / shares.sum()).to_numpy())
    drawn.loc[random.random(len(drawn)) < flip, name] = pd.Series(others, index=drawn.index)


@pytest.mark.parametrize("share_missing", [0.0, 0.2])
def test_a_regressor_without_model_trees_is_a_sum(share_missing: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tm.AspenRegressor, "_families", tm.AspenRegressor._families[:2])
    frame, others = table(300, share_missing, 3), table(300, 0.2, 4)
    model = tm.AspenRegressor(n_estimators=6, random_state=0).fit(frame, target(frame) + frame.a.fillna(0))
    whole = model.as_tree_sum()
    assert whole.link.is_identity
    np.testing.assert_allclose(read_model(model).answers(others)[:, 0], model.predict(others), atol=1e-12)


def test_model_trees_in_the_blend_are_refused_with_the_reason() -> None:
    rows = np.random.default_rng(0).normal(size=(100, 3))
    model = tm.AspenRegressor(n_estimators=8, random_state=0).fit(rows, rows.sum(axis=1))
    with pytest.raises(UnsupportedModel, match="members of type ModelTree"):
        read_model(model)


def test_a_blend_has_gradients_but_no_certificate(fitted: tuple[pd.DataFrame, Any]) -> None:
    frame, model = fitted
    smoothed = tm.DualPerturbClassifier(model, noise=0.3).fit(frame)
    row, step = frame.dropna().iloc[:1], 1e-5
    slopes = smoothed.gradient(row)[0, :, 0]
    ahead, behind = (row.assign(a=row.a + sign * step) for sign in (1, -1))
    differences = (smoothed.predict_proba(ahead) - smoothed.predict_proba(behind))[0] / (2 * step)
    np.testing.assert_allclose(slopes, differences, atol=1e-5)
    with pytest.raises(InvalidParameter, match="has no certificate"):
        smoothed.certified_radius(row)


def test_a_stored_link_that_does_not_fit_is_damage(fitted: tuple[pd.DataFrame, Any]) -> None:
    stored = store_trees(read_model(fitted[1]))
    stored.link_ = stored.link_.links[0]  # six answers for three classes
    with pytest.raises(FileDamaged):
        stored.as_tree_sum()
