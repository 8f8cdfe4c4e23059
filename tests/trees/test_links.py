"""Links: derivatives against differences, bounds against the worst of random errors, and storage."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tremula as tm
from tremula.aspen.tree_sum import LogShareLink
from tremula.errors import FileDamaged, InvalidParameter
from tremula.smoothing.models import read_model, store_trees
from tremula.trees.composite_links import ChainLink, LinearLink, StretchLink, blend_link
from tremula.trees.links import EXPONENTIAL, IDENTITY, LINKS, LOGISTIC, POSITIVE, SHARE, SOFTMAX, Link, as_link
from tremula.trees.tree_sum import tree_with_values

PRIOR = np.array([0.5, 0.3, 0.2])
STACKED = ChainLink(
    (
        StretchLink((LOGISTIC, SOFTMAX), (1, 3)),
        LinearLink(np.random.default_rng(0).normal(size=(3, 5)), np.array([0.1, -0.2, 0.3])),
        SOFTMAX,
    )
)
ASPEN = blend_link([LogShareLink(PRIOR, 1.3), IDENTITY], [3, 3], [1.0, 1.0], 3, SOFTMAX)
CASES: list[tuple[Link, int]] = [
    (IDENTITY, 3),
    (LOGISTIC, 1),
    (SOFTMAX, 3),
    (EXPONENTIAL, 1),
    (SHARE, 1),
    (blend_link([LOGISTIC, IDENTITY, LOGISTIC], [1, 2, 1], [0.2, 0.5, 0.3], 2), 4),
    (STACKED, 4),
    (ASPEN, 6),
]


def margins_of(n_margins: int, n_rows: int = 40) -> np.ndarray:
    return np.random.default_rng(1).dirichlet(np.ones(max(n_margins, 2)), n_rows)[:, :n_margins]


@pytest.mark.parametrize(("link", "n_margins"), CASES, ids=lambda case: getattr(case, "name", ""))
def test_slopes_are_differences(link: Link, n_margins: int) -> None:
    margins, step = margins_of(n_margins), 1e-6
    directions = np.random.default_rng(2).normal(size=(len(margins), n_margins, 2))
    slopes = link.slopes(margins, directions)
    for attribute in range(2):
        ahead, behind = (link.answers(margins + sign * step * directions[:, :, attribute]) for sign in (1, -1))
        np.testing.assert_allclose(slopes[:, :, attribute], (ahead - behind) / (2 * step), rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize(("link", "n_margins"), CASES, ids=lambda case: getattr(case, "name", ""))
@pytest.mark.parametrize("size", [1e-3, 0.05, 0.3])
def test_no_error_of_the_margins_exceeds_the_bound(link: Link, n_margins: int, size: float) -> None:
    random = np.random.default_rng(3)
    margins = margins_of(n_margins)
    bound = link.answer_bound(margins, np.full(len(margins), size))
    for _ in range(300):
        error = size * random.choice([-1.0, 1.0], margins.shape)
        # Margins of class probabilities are such before and after an error.
        moved = margins + error if link is not ASPEN else np.maximum(margins + error, [0.0] * 3 + [-np.inf] * 3)
        apart = np.abs(link.answers(moved) - link.answers(margins)).max(axis=1)
        assert (apart <= bound * (1 + 1e-9) + 1e-15).all()


def test_a_blend_is_the_weighted_sum_of_its_parts() -> None:
    margins = np.random.default_rng(0).normal(size=(5, 4))
    blended = blend_link([LOGISTIC, SOFTMAX], [1, 3], [0.25, 0.75], 2)
    with pytest.raises(ValueError, match="matmul"):
        blended.answers(margins)  # two classes and three
    blended = blend_link([LOGISTIC, SOFTMAX], [1, 2], [0.25, 0.75], 2)
    expected = 0.25 * LOGISTIC.answers(margins[:, :1]) + 0.75 * SOFTMAX.answers(margins[:, 1:3])
    np.testing.assert_allclose(blended.answers(margins[:, :3]), expected, rtol=1e-14)
    with pytest.raises(InvalidParameter, match="4 margins were given to a link of 3"):
        blended.answers(margins)


def test_a_link_is_found_by_its_name() -> None:
    assert all(as_link(name) is link for name, link in LINKS.items())
    with pytest.raises(InvalidParameter, match="link='probit': expected one of identity"):
        as_link("probit")


def test_kinks_have_no_slope() -> None:
    with pytest.raises(InvalidParameter, match="'positive' is not differentiable"):
        POSITIVE.slopes(np.ones((1, 2)), np.ones((1, 2, 1)))


def test_the_links_of_a_blend_are_stored(tmp_path: Path) -> None:
    rows = np.random.default_rng(0).normal(size=(80, 3))
    model = tm.AspenClassifier(n_estimators=4, random_state=0).fit(rows, (rows[:, 0] > 0).astype(int))
    stored = store_trees(read_model(model))
    assert isinstance(stored.link_, ChainLink)
    tm.save(stored, tmp_path / "blend.tremula")
    loaded: Any = tm.load(tmp_path / "blend.tremula")
    np.testing.assert_array_equal(loaded.predict_proba(rows), stored.predict_proba(rows))
    np.testing.assert_allclose(loaded.predict_proba(rows), model.predict_proba(rows), atol=1e-12)


def stored_model(link: Link, n_margins: int) -> Any:
    """Trees with a value for each margin, stored with a link."""
    rows = np.random.default_rng(0).normal(size=(60, 2))
    n_answers = link.answers(margins_of(n_margins)).shape[1]
    if n_answers == 1:
        stored: Any = store_trees(read_model(tm.CARTRegressor(max_depth=2).fit(rows, rows[:, 0])))
    else:
        stored = store_trees(read_model(tm.CARTClassifier(max_depth=2).fit(rows, np.arange(60) % n_answers)))
    (tree,) = stored.trees_
    stored.trees_ = [tree_with_values(tree, margins_of(n_margins, len(tree.values)))]
    stored.offset_, stored.link_ = np.zeros(n_margins), link
    return stored


@pytest.mark.parametrize(("link", "n_margins"), CASES, ids=lambda case: getattr(case, "name", ""))
def test_a_stored_link_gives_the_same_answers(link: Link, n_margins: int, tmp_path: Path) -> None:
    tm.save(stored_model(link, n_margins), tmp_path / "model")
    loaded: Any = tm.load(tmp_path / "model")
    margins = margins_of(n_margins)
    np.testing.assert_array_equal(loaded.link_.answers(margins), link.answers(margins))


@pytest.mark.parametrize(("link", "n_margins"), CASES, ids=lambda case: getattr(case, "name", ""))
def test_a_link_of_other_answers_is_not_loaded(link: Link, n_margins: int, tmp_path: Path) -> None:
    stored = stored_model(link, n_margins)
    other = SHARE if len(getattr(stored, "classes_", [0])) > 1 else LOGISTIC
    stored.link_ = ChainLink((link, StretchLink((other,), (1,))))
    tm.save(stored, tmp_path / "model")
    with pytest.raises(FileDamaged, match="do not fit together"):
        tm.load(tmp_path / "model")


def test_a_stored_link_with_an_infinite_number_is_refused() -> None:
    with pytest.raises(ValueError, match="a link is not finite"):
        LinearLink(np.array([[1.0, -np.inf]]), np.zeros(1))._check_stored()
