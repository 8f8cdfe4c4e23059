"""`max_size`: the blend keeps to it, says what it left out, and refuses what is impossible."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes

import tremula as tm
from tremula.aspen.size_limit import LEAST_MEMBERS, limit_members, size_of
from tremula.errors import InvalidParameter


class Named:
    """A family with members of one size."""

    def __init__(self, name: str, n_bytes: int) -> None:
        self.name, self.members = name, [np.zeros(n_bytes, np.uint8)] * 3


@pytest.mark.parametrize(
    ("max_size", "expected"),
    [
        (10_000, {"a": 20, "b": 10}),
        (1_500, {"a": 10, "b": 5}),
        (1_400, {"a": 14}),
        (500, {"a": 5}),
    ],
)
def test_families_lose_the_same_share_and_the_lightest_goes_first(max_size: int, expected: dict[str, int]) -> None:
    families: Any = [Named("b", 100), Named("a", 100)]
    assert limit_members(families, [0.3, 0.7], {"a": 20, "b": 10}, max_size) == expected


@pytest.mark.parametrize("share", [0.6, 0.2, 0.05])
@pytest.mark.parametrize("is_class", [True, False])
def test_a_blend_keeps_to_its_size(is_class: bool, share: float) -> None:
    X, y = (load_breast_cancer if is_class else load_diabetes)(return_X_y=True)
    make = tm.AspenClassifier if is_class else tm.AspenRegressor
    free = make(n_estimators=30, random_state=0).fit(X, y)
    limit = int(share * free.report_.size)
    model = make(n_estimators=30, max_size=limit, random_state=0).fit(X, y)
    assert model.report_.size == size_of(model.members_) + size_of(model.corrections_) <= limit
    assert min(model._group_sizes) >= LEAST_MEMBERS
    assert f"of the {limit:,} bytes that max_size allows" in str(model.report_)
    assert model.member_weights_.sum() == pytest.approx(1.0)
    assert model.score(X, y) > 0.5


def test_a_size_that_nothing_exceeds_changes_nothing() -> None:
    X, y = load_breast_cancer(return_X_y=True)
    free = tm.AspenClassifier(n_estimators=20, random_state=0).fit(X, y)
    limited = tm.AspenClassifier(n_estimators=20, max_size=10**9, random_state=0).fit(X, y)
    assert limited.predict_proba(X).tobytes() == free.predict_proba(X).tobytes()


def test_corrections_without_room_are_left_out_and_the_report_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tremula.aspen.base.SHARE_OF_MEMBERS", 1.0)
    X, y = load_breast_cancer(return_X_y=True)
    X, y = X[:, :4], (X[:, 0] * X[:, 1] > np.median(X[:, 0] * X[:, 1])).astype(int)
    free = tm.AspenClassifier(n_estimators=30, random_state=0).fit(X, y)
    assert free.corrections_
    model = tm.AspenClassifier(n_estimators=30, max_size=size_of(free.members_) // 3, random_state=0).fit(X, y)
    assert not model.corrections_
    assert model.report_.size <= model.max_size
    assert model.report_.is_limited
    assert "max_size has no room for them" in str(model.report_)


def test_too_few_bytes_are_refused_with_what_is_needed() -> None:
    X, y = load_breast_cancer(return_X_y=True)
    with pytest.raises(InvalidParameter, match=r"trees of the smallest blend .* take [\d,]+: allow more bytes"):
        tm.AspenClassifier(n_estimators=20, max_size=100, random_state=0).fit(X, y)
    with pytest.raises(InvalidParameter, match="cannot grow"):
        tm.AspenClassifier(max_size=10**6, warm_start=True).fit(X, y)
    with pytest.raises(InvalidParameter, match="max_size"):
        tm.AspenClassifier(max_size=0).fit(X, y)
