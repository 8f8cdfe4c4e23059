"""Rules for the conclusions of Van Assche and Blockeel (2006): accuracy as that of bagging, and sizes of trees."""

from __future__ import annotations

from collections.abc import Callable

from tremula.lab.papers.rules import Finding, Rows, Rule, exchanged
from tremula.lab.papers.vanassche2006.protocol import BAG, SB, SB_STOP

SHUFFLED = "dataset by dataset, with probability a half, the two methods are exchanged."


def _never_worse(rows: Rows) -> Finding:
    tested = [row for row in rows if row["outcome"] is not None]
    worse = [f"{row['dataset']} ({row['method']})" for row in tested if row["outcome"] < 0]
    ours = f"worse on {len(worse)} of {len(tested)}" + (f": {', '.join(worse)}" if worse else "")
    return Finding(ours, not worse if tested else None)


AGAINST_RULES = (
    Rule(
        "simulated bagging is as accurate as bagging",
        "no significant loss",
        "it were significantly worse on any dataset (corrected resampled t test, 5 %)",
        _never_worse,
        exchanged(lambda row: {**row, "outcome": None if row["outcome"] is None else -row["outcome"]}),
    ),
)


def _larger(first: str, second: str, exceptions: int = 0) -> Callable[[Rows], Finding]:
    """Judge whether the trees of one method are larger than those of another, on all datasets but a few."""

    def judge(rows: Rows) -> Finding:
        larger = [row["dataset"] for row in rows if row[first] > row[second]]
        others = [row["dataset"] for row in rows if row["dataset"] not in larger]
        ours = f"on {len(larger)} of {len(rows)}" + (f", not on {', '.join(others)}" if others else "")
        return Finding(ours, len(others) <= exceptions if rows else None)

    return judge


def _size_rule(claim: str, published: str, fails_if: str, pair: tuple[str, str], exceptions: int = 0) -> Rule:
    first, second = pair
    shuffle = exchanged(lambda row: {**row, first: row[second], second: row[first]})
    return Rule(claim, published, fails_if, _larger(first, second, exceptions), shuffle)


SIZE_RULES = (
    _size_rule(
        "simulated bagging has larger trees than bagging",
        "on 12 of 12",
        "there were a dataset on which its trees are not larger",
        (SB, BAG),
    ),
    _size_rule(
        "the adapted stopping rule makes trees smaller",
        "on 12 of 12",
        "there were a dataset on which they are not smaller",
        (SB, SB_STOP),
    ),
    _size_rule(
        "with the adapted stopping rule trees stay larger than those of bagging",
        "on 11 of 12, not on nursery",
        "there were two datasets on which they are not larger",
        (SB_STOP, BAG),
        exceptions=1,
    ),
)
