"""Synthetic rows of small classes: on lines between drawn rows of the class, and never near rows left out."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import tremula as tm
from tremula.errors import InvalidParameter
from tremula.perturb import Bootstrap, Draw, Sample, SmearedInputs, SyntheticMinority
from tremula.perturb.sample import Values
from tremula.perturb.synthetic import TowardsNeighbors
from tremula.seeds import member_generator

FEW: dict[str, Any] = {"n_estimators": 3, "random_state": 0}
RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(120, 4))
Y = np.repeat([0, 1, 2], [90, 25, 5])
SAMPLE = Sample(Y, 3, 4)


def synthetic(values: np.ndarray, sample: Sample, n_levels: Any = None, **options: Any) -> tuple[Any, Sample]:
    """Draw the sample of one member, as an ensemble does; return the values, their rows and the sample."""
    table = Values(values, np.zeros(values.shape[1], int) if n_levels is None else np.asarray(n_levels))
    draw = Draw(0, 1, member_generator(0, 0), shared_seed=0)
    drawn = Bootstrap().apply(sample, draw)
    added = SyntheticMinority(**options).learn(sample, lambda: table).apply(drawn, draw)
    rows, alone = added.expand_copies()
    smeared = values[rows]
    for noise in added.noise:
        smeared = noise.smear(smeared, rows)
    return (smeared, rows, drawn), alone


def test_classes_become_equally_frequent_and_rows_of_the_largest_stay() -> None:
    (values, rows, drawn), alone = synthetic(X, SAMPLE)
    assert drawn.weights is not None
    largest = int(drawn.weights[Y == 0].sum())
    assert np.bincount(alone.target).tolist() == [largest] * 3
    np.testing.assert_array_equal(values[alone.target == 0], X[rows[alone.target == 0]])
    half = synthetic(X, SAMPLE, balance=0.5)[1]
    assert np.bincount(half.target).tolist()[1:] == [round(largest / 2)] * 2


def test_synthetic_rows_lie_on_lines_between_drawn_rows_of_their_class() -> None:
    (values, rows, drawn), alone = synthetic(X, SAMPLE, n_neighbors=3)
    is_new = (values != X[rows]).any(axis=1)
    assert is_new.sum() > 50
    for row, value, code in zip(rows[is_new], values[is_new], alone.target[is_new]):
        ends = np.flatnonzero((code == Y) & (drawn.weights > 0))
        steps = X[ends] - X[row]
        along = (steps @ (value - X[row])) / np.maximum((steps**2).sum(axis=1), 1e-12)
        off = np.abs(X[row] + along[:, None] * steps - value).max(axis=1)
        on_line = (off < 1e-9) & (along > 0) & (along < 1)
        assert on_line.sum() == 1
        nearer = ((X[ends] - X[row]) ** 2 / X.var(axis=0)).sum(axis=1)
        assert np.sum(nearer < nearer[on_line]) <= 4  # itself, and two that are nearer; deviations differ a little


def test_rows_left_out_change_nothing() -> None:
    """An attacker moves every out-of-bag row far away: no member may notice."""
    (first, _, drawn), _ = synthetic(X, SAMPLE)
    moved = X.copy()
    left_out = np.flatnonzero(drawn.weights == 0)
    moved[left_out] = moved[left_out][::-1]  # among themselves, so that the deviations of the columns stay
    assert (moved != X).any()
    (second, _, _), _ = synthetic(moved, SAMPLE)
    np.testing.assert_allclose(first, second, rtol=0, atol=1e-12)


def test_levels_and_missing_values_are_those_of_an_end() -> None:
    values = X.copy()
    values[:, 1] = RANDOM.integers(3, size=len(X))
    values[::3, 2] = np.nan
    (smeared, rows, drawn), alone = synthetic(values, SAMPLE, [0, 3, 0, 0])
    assert set(np.unique(smeared[:, 1])) <= {0.0, 1.0, 2.0}
    new = np.flatnonzero(smeared[:, 0] != values[rows, 0])
    for number in new:
        ends = np.flatnonzero((alone.target[number] == Y) & (drawn.weights > 0))
        assert smeared[number, 1] in values[ends, 1]
        assert np.isnan(smeared[number, 2]) or np.nanmin(values[ends, 2]) <= smeared[number, 2]
    assert np.isnan(smeared[new, 2]).any()


def test_the_only_row_of_a_class_is_copied() -> None:
    sample = Sample(np.repeat([0, 1], [10, 1]), 2, 4)
    learned = SyntheticMinority().learn(sample, lambda: Values(X[:11], np.zeros(4, int)))
    added = learned.apply(sample, Draw(0, 1, member_generator(0, 0), shared_seed=0))
    rows, alone = added.expand_copies()
    np.testing.assert_array_equal(added.noise[0].smear(X[rows], rows), X[rows])
    assert np.bincount(alone.target).tolist() == [10, 10]


@pytest.mark.parametrize("weights", [None, np.linspace(0.5, 2.0, 120), np.repeat([2, 1, 0], 40)], ids=str)
def test_a_synthetic_row_has_the_weight_of_its_start(weights: np.ndarray | None) -> None:
    sample = Sample(Y, 3, 4, weights=weights)
    (_, rows, _), alone = synthetic(X, sample)
    wanted = np.ones(len(rows)) if weights is None else weights[rows]
    given = np.ones(len(rows)) if alone.weights is None else alone.weights
    np.testing.assert_allclose(given, wanted)
    assert (given > 0).all()


def test_members_are_the_same_for_any_number_of_jobs_and_with_frames() -> None:
    perturb = [Bootstrap(), SyntheticMinority(), SmearedInputs(0.1)]
    one = tm.PerturbCombineClassifier(perturb=perturb, **FEW).fit(X, Y)
    two = tm.PerturbCombineClassifier(perturb=perturb, n_jobs=2, **FEW).fit(X, Y)
    assert one.members_ == two.members_
    frame = pd.DataFrame(X[:, :2], columns=["a", "b"]).assign(c=pd.Categorical(np.array(["x", "y"])[Y % 2]))
    assert tm.PerturbCombineClassifier(perturb=perturb, **FEW).fit(frame, Y).predict(frame).shape == (120,)


def test_they_find_more_rows_of_a_rare_class() -> None:
    random = np.random.default_rng(1)
    y = (random.random(3000) < 0.05).astype(int)
    table = random.normal(size=(3000, 3)) + 1.2 * y[:, None]
    found = {}
    for name, perturb in {"plain": [Bootstrap()], "synthetic": [Bootstrap(), SyntheticMinority()]}.items():
        model = tm.PerturbCombineClassifier(perturb=perturb, n_estimators=10, random_state=0)
        found[name] = model.fit(table[:1500], y[:1500]).predict(table[1500:])[y[1500:] == 1].mean()
    assert found["synthetic"] > found["plain"] + 0.1


def test_what_it_cannot_do_is_refused() -> None:
    with pytest.raises(InvalidParameter, match="y has numbers"):
        tm.PerturbCombineRegressor(perturb=[SyntheticMinority()], **FEW).fit(X, X[:, 0])
    with pytest.raises(InvalidParameter, match="put SyntheticMinority after"):
        tm.PerturbCombineClassifier(perturb=[SyntheticMinority(), Bootstrap()], **FEW).fit(X, Y)
    for options in ({"n_neighbors": 0}, {"balance": 1.5}):
        with pytest.raises(InvalidParameter, match=next(iter(options))):
            tm.PerturbCombineClassifier(perturb=[SyntheticMinority(**options)], **FEW).fit(X, Y)
    model = tm.PerturbCombineClassifier(tm.CARTClassifier(), [Bootstrap(), SyntheticMinority()], **FEW).fit(X, Y)
    with pytest.raises(tm.errors.UnsupportedModel, match="balanced classes"):
        model.unbiased_importances(X, Y)


def test_noise_is_kept_by_its_class() -> None:
    learned = SyntheticMinority().learn(SAMPLE, lambda: Values(X, np.zeros(4, int)))
    sample = learned.apply(SAMPLE, Draw(0, 1, member_generator(0, 0), shared_seed=0))
    assert isinstance(sample.noise[0], TowardsNeighbors)
