"""Random generators derived from one `random_state`: the same seed gives the same numbers for any number of jobs."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from tremula.errors import InvalidParameter

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
    try:
        state = check_random_state(random_state)
    except (TypeError, ValueError) as error:
        raise InvalidParameter(
            f"random_state={random_state!r} was given; expected None, a whole number of 0 or more, a Generator or a "
            "RandomState"
        ) from error
    return np.random.default_rng(state.randint(2**31, size=4))


def make_root_seed(random_state: Any) -> int:
    """Return an integer seed for a random state; the generators of all members are derived from it."""
    return int(make_generator(random_state).integers(2**63))


def member_generator(root_seed: int, member: int) -> np.random.Generator:
    """Return the generator of one member; it depends on neither the worker nor the number of members.

    Examples
    --------
    >>> bool(member_generator(7, 3).random() == member_generator(7, 3).random())
    True
    """
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence(root_seed, spawn_key=(member,))))
