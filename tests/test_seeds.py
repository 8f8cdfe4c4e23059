"""One random state gives the same streams wherever and whenever they are asked for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tremula import BaggingClassifier
from tremula.errors import InvalidParameter
from tremula.seeds import make_generator, make_root_seed, member_generator

X = np.random.default_rng(0).normal(size=(80, 3))
Y = (X[:, 0] + X[:, 1] > 0).astype(int)
RANDOM_OBJECTS = [np.random.RandomState, np.random.default_rng]


def fit(random_state: Any) -> BaggingClassifier:
    return BaggingClassifier(n_estimators=5, random_state=random_state).fit(X, Y)


@pytest.mark.parametrize("seed", [0, 7, np.int64(7), 2**40])
def test_an_integer_gives_the_same_numbers_each_time(seed: int) -> None:
    assert make_root_seed(seed) == make_root_seed(seed)
    assert make_generator(seed).integers(2**62) == make_generator(int(seed)).integers(2**62)


def test_seeds_differ_in_their_numbers() -> None:
    assert len({make_root_seed(seed) for seed in range(1000)}) == 1000


def test_none_gives_other_numbers_each_time() -> None:
    assert make_root_seed(None) != make_root_seed(None)


@pytest.mark.parametrize("make", RANDOM_OBJECTS)
def test_a_random_object_is_advanced(make: Callable[[int], Any]) -> None:
    random, same = make(3), make(3)
    first, second = make_root_seed(random), make_root_seed(random)
    assert first != second
    assert [first, second] == [make_root_seed(same), make_root_seed(same)]


@pytest.mark.parametrize("given", [-1, "seed", 1.5])
def test_what_is_no_random_state_is_refused(given: Any) -> None:
    with pytest.raises(InvalidParameter, match="expected None, a whole number of 0 or more"):
        make_generator(given)


def test_a_member_has_the_same_stream_whoever_asks() -> None:
    streams = [member_generator(99, member).random(4).tolist() for member in range(50)]
    assert streams[17] == member_generator(99, 17).random(4).tolist()
    assert len({tuple(stream) for stream in streams}) == 50
    assert member_generator(98, 17).random(4).tolist() != streams[17]


def test_neighbouring_members_are_uncorrelated() -> None:
    draws = np.array([member_generator(5, member).standard_normal(2000) for member in range(20)])
    correlations = np.corrcoef(draws)[np.triu_indices(20, 1)]
    assert np.abs(correlations).max() < 5 / np.sqrt(2000)


def test_the_same_seed_gives_the_same_ensemble() -> None:
    assert fit(4).members_ == fit(4).members_
    assert fit(4).members_ != fit(5).members_


def test_fitting_again_with_an_integer_gives_the_same_members() -> None:
    ensemble = fit(4)
    before = ensemble.members_
    assert ensemble.fit(X, Y).members_ == before


@pytest.mark.parametrize("make", RANDOM_OBJECTS)
def test_fitting_again_with_a_random_object_gives_other_members(make: Callable[[int], Any]) -> None:
    ensemble = fit(make(4))
    before = ensemble.members_
    assert ensemble.fit(X, Y).members_ != before
    assert fit(make(4)).members_ == before
