"""One `random_state` in, streams of random numbers out: the same seed, the same numbers, however work is spread."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import check_random_state

RandomState = int | np.random.RandomState | np.random.Generator | None


def make_generator(random_state: Any) -> np.random.Generator:
    """Return a generator for anything that scikit-learn calls a random state.

    A RandomState or Generator is advanced, so that two calls with the same object give two streams.

    Examples
    --------
    >>> from tremula.seeds import make_generator
    >>> bool(make_generator(3).random() == make_generator(3).random())
    True
    """
    if random_state is None or (isinstance(random_state, int | np.integer) and random_state >= 0):
        return np.random.default_rng(random_state)
    if isinstance(random_state, np.random.Generator):
        return np.random.default_rng(random_state.integers(2**63))
    return np.random.default_rng(check_random_state(random_state).randint(2**31, size=4))


def make_root_seed(random_state: Any) -> int:
    """Return one whole number that stands for a random state; from it every member's stream is derived."""
    return int(make_generator(random_state).integers(2**63))


def member_generator(root_seed: int, member: int) -> np.random.Generator:
    """Return the stream of one member, the same whichever worker asks and however many members there are.

    Examples
    --------
    >>> bool(member_generator(7, 3).random() == member_generator(7, 3).random())
    True
    """
    return np.random.default_rng(np.random.SeedSequence(root_seed, spawn_key=(member,)))
