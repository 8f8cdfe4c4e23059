"""Looks at a comparison while it is repeated: how much of the level each look may spend."""

from __future__ import annotations

from dataclasses import dataclass

from tremula.parameters import check_number

TIMES = (1, 2, 5, 10, 20)


@dataclass(frozen=True)
class Look:
    """A look after some repetitions, and the share of the level that it may spend."""

    repetitions: int
    share_of_level: float


def plan_looks(most_repetitions: int) -> list[Look]:
    """Plan looks after 1, 2, 5, 10, 20 repetitions, or those of them that are not too many, and after the last.

    A look spends its share of the level: the repetitions since the look before, of all. The shares add up to 1, so
    the probability of any false finding is at most the level, however the looks depend on each other.

    Parameters
    ----------
    most_repetitions : int
        Repetitions after which the comparison ends in any case.

    Examples
    --------
    >>> [(look.repetitions, round(look.share_of_level, 2)) for look in plan_looks(10)]
    [(1, 0.1), (2, 0.1), (5, 0.3), (10, 0.5)]
    """
    check_number("most_repetitions", most_repetitions, 1, whole=True)
    ends = [*(count for count in TIMES if count < most_repetitions), most_repetitions]
    return [Look(end, (end - before) / most_repetitions) for before, end in zip([0, *ends], ends)]
