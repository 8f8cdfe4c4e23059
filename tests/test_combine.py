"""Votes, averages and their ties."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tremula.combine import RowSums, add_votes, combine_members, largest, staged_means


class Fixed:
    """A member with answers known beforehand."""

    def __init__(self, values: list[list[float]]) -> None:
        self.values = np.array(values)

    def predict_values(self, X: object) -> np.ndarray:
        return self.values

    def predict_codes(self, X: object) -> np.ndarray:
        return self.values.argmax(axis=1)


class Adding(Fixed):
    """A member that adds to a sum itself, as trees do."""

    def add_values(self, X: object, weight: float, out: np.ndarray) -> None:
        out += weight * self.values


ANSWERS = [[[0.9, 0.1], [0.4, 0.6]], [[0.2, 0.8], [0.3, 0.7]], [[0.45, 0.55], [1.0, 0.0]]]
MEMBERS = [Fixed(values) for values in ANSWERS]


def test_votes_are_shares_of_the_members() -> None:
    shares = combine_members(MEMBERS, None, 2, 2, "vote")
    np.testing.assert_allclose(shares, [[1 / 3, 2 / 3], [1 / 3, 2 / 3]])


def test_averages_are_means_of_the_distributions() -> None:
    shares = combine_members(MEMBERS, None, 2, 2, "average")
    np.testing.assert_allclose(shares, np.mean(ANSWERS, axis=0))


def test_votes_and_averages_can_disagree() -> None:
    votes, means = (largest(combine_members(MEMBERS, None, 2, 2, combine)) for combine in ("vote", "average"))
    assert votes.tolist() == [1, 1]
    assert means.tolist() == [0, 0]


@pytest.mark.parametrize("combine", ["vote", "average"])
def test_weights_count_as_that_many_members(combine: str) -> None:
    weighted = combine_members(MEMBERS, None, 2, 2, combine, [1.0, 3.0, 2.0])
    repeated = combine_members([MEMBERS[i] for i in (0, 1, 1, 1, 2, 2)], None, 2, 2, combine)
    np.testing.assert_allclose(weighted, repeated)


def test_members_that_add_to_the_sum_give_the_same() -> None:
    weights = [0.5, 1.5, 2.0]
    adding = combine_members([Adding(values) for values in ANSWERS], None, 2, 2, "average", weights)
    np.testing.assert_array_equal(adding, combine_members(MEMBERS, None, 2, 2, "average", weights))


def test_add_votes_adds_to_one_class_a_row() -> None:
    total = np.zeros((3, 2))
    add_votes(total, np.array([0, 1, 1]))
    add_votes(total, np.array([1, 1, 0]), weight=2.5)
    assert total.tolist() == [[1.0, 2.5], [0.0, 3.5], [2.5, 1.0]]


@pytest.mark.parametrize(
    ("shares", "code"),
    [([0.5, 0.5], 0), ([0.25, 0.375, 0.375], 1), ([0.0, 0.0, 0.0], 0), ([0.2, 0.3, 0.5], 2), ([-1.0, -1.0], 0)],
)
def test_ties_go_to_the_lowest_class(shares: list[float], code: int) -> None:
    assert largest(np.array([shares])).tolist() == [code]


def test_sums_in_another_order_are_still_a_tie() -> None:
    shares = np.array([[0.1 + 0.2 + 0.3, 0.3 + 0.2 + 0.1]])
    assert shares[0, 0] > shares[0, 1]
    assert largest(shares).tolist() == largest(shares[:, ::-1]).tolist() == [0]


@given(st.lists(st.lists(st.integers(0, 2), min_size=4, max_size=4), min_size=1, max_size=12))
def test_a_plurality_is_what_counting_gives(votes: list[list[int]]) -> None:
    members = [Fixed(np.eye(3)[codes].tolist()) for codes in votes]
    counts = [[sum(codes[row] == code for codes in votes) for code in range(3)] for row in range(4)]
    assert largest(combine_members(members, None, 4, 3, "vote")).tolist() == [row.index(max(row)) for row in counts]


@given(
    st.lists(st.tuples(st.sets(st.integers(0, 5)), st.floats(0.1, 3.0), st.integers(0, 1000)), min_size=0, max_size=6)
)
def test_sums_of_rows_are_those_of_a_naive_loop(members: list[tuple[set[int], float, int]]) -> None:
    sums = RowSums(6, 2)
    naive: list[list[tuple[float, list[float]]]] = [[] for _ in range(6)]
    for chosen, weight, seed in members:
        rows = np.array(sorted(chosen), dtype=np.intp)
        predictions = np.random.default_rng(seed).normal(size=(len(rows), 2))
        sums.add(rows, predictions, weight)
        for row, prediction in zip(rows, predictions.tolist()):
            naive[row].append((weight, prediction))
    for row, terms in enumerate(naive):
        total = sum(weight for weight, _ in terms)
        mean = [sum(w * p[column] for w, p in terms) / total for column in (0, 1)] if terms else [np.nan, np.nan]
        assert sums.means()[row] == pytest.approx(mean, nan_ok=True)
    assert sums.rows.tolist() == [row for row, terms in enumerate(naive) if terms]
    assert np.array_equal(sums.means(sums.rows), sums.means()[sums.rows])


def test_sums_go_on_from_copies() -> None:
    first = RowSums(2, 1)
    first.add(np.array([1]), np.array([[4.0]]))
    second = RowSums.of(first.total, first.weight)
    second.add(np.array([1]), np.array([[2.0]]))
    assert second.means(np.array([1])).tolist() == [[3.0]]
    assert first.means(np.array([1])).tolist() == [[4.0]]


@pytest.mark.parametrize("combine", ["vote", "average"])
@pytest.mark.parametrize("weights", [None, [0.5, 2.0, 1.0]])
def test_stages_are_the_first_members_combined(combine: str, weights: list[float] | None) -> None:
    members = [Fixed([[0.9, 0.1], [0.2, 0.8]]), Fixed([[0.3, 0.7], [0.6, 0.4]]), Fixed([[0.2, 0.8], [0.1, 0.9]])]
    stages = list(staged_means(members, None, 2, 2, combine, weights))
    for number, stage in enumerate(stages, start=1):
        first = None if weights is None else weights[:number]
        assert (stage == combine_members(members[:number], None, 2, 2, combine, first)).all()
    assert len(stages) == 3
