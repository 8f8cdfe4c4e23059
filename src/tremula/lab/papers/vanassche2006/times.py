"""Ratios of the seconds of Table 1: times of 2006 cannot be compared with ours, but ratios of two programs can.

Each ratio is of two programs of one's own. Simulated bagging with and without the adapted stopping rule is one program.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from tremula.lab.papers.paper import ShownTable
from tremula.lab.papers.published import read_published
from tremula.lab.papers.vanassche2006.protocol import BAG, CELL_NAMES, SB, SB_STOP

METHODS = (SB, SB_STOP, BAG)
RATIOS = ((SB_STOP, SB), (SB, BAG))
FACTOR = 1.5  # a ratio counts as the published one up to this factor
NOTES = (
    "Published seconds are those of a computer and of Java programs of 2006: only ratios are judged.",
    f"A ratio is within if it is at most {FACTOR:g} times the published one, and no less than 1/{FACTOR:g} of it; the "
    "limit is a choice. Power: how many of the ratios published for the other datasets would not be within, for "
    "SB_stop / SB and for SB / Bag.",
    "Here bagging is a compiled program that sorts the columns once for all trees, and simulated bagging asks for "
    "counts; in the paper both are Java.",
)


def judge_ratio(ours: float, published: float) -> str:
    """Return whether a ratio is within, smaller or larger.

    Examples
    --------
    >>> judge_ratio(0.9, 0.7), judge_ratio(4.0, 0.7), judge_ratio(0.1, 0.7)
    ('within', 'larger', 'smaller')
    """
    distance = math.log(ours / published)
    return "within" if abs(distance) <= math.log(FACTOR) else "larger" if distance > 0 else "smaller"


def published_ratios() -> dict[str, list[float]]:
    """Return the published ratios of every dataset."""
    seconds = {
        (row["dataset"], row["method"]): float(row["seconds"]) for row in read_published("vanassche2006_table1").rows
    }
    datasets = dict.fromkeys(dataset for dataset, _ in seconds)
    return {name: [seconds[name, above] / seconds[name, below] for above, below in RATIOS] for name in datasets}


def _clock_note(measured: Mapping[str, tuple[Mapping[str, float], bool]]) -> str:
    """Say which seconds are processor time."""
    names = [name for name, (_, by_clock) in measured.items() if by_clock]
    of = "all datasets" if len(names) == len(measured) else "; ".join(names)
    ending = f", but by the clock, on a busy computer, of {of}" if names else ""
    return f"Seconds are processor time, of the folds of which it is known{ending}."


def seconds_table(measured: Mapping[str, tuple[Mapping[str, float], bool]], notes: Sequence[str]) -> ShownTable:
    """Show mean seconds of training and judge their ratios.

    Parameters
    ----------
    measured : mapping of str to pair of mapping of str to float, and bool
        By name in cells: mean seconds by method, and whether they are by the clock.
    notes : sequence of str
    """
    published = published_ratios()
    rows: list[list[Any]] = []
    for name, (seconds, _) in measured.items():
        dataset = CELL_NAMES[name][0]
        ours = [seconds[above] / max(seconds[below], 1e-9) for above, below in RATIOS]
        words = [judge_ratio(our, their) for our, their in zip(ours, published[dataset])]
        shown = [f"{number:.2f}" for pair in zip(ours, published[dataset]) for number in pair]
        powers = [_power(published, dataset, place) for place in range(len(RATIOS))]
        rows.append([name, *(f"{seconds[method]:.3f}" for method in METHODS), *shown, *words, "; ".join(powers)])
    names = [f"{above} / {below}" for above, below in RATIOS]
    columns = [
        "dataset",
        *(f"{method}, seconds" for method in METHODS),
        *(f"{name}, {by}" for name in names for by in ("ours", "published")),
        *(f"{name} is" for name in names),
        "power",
    ]
    return ShownTable(
        "table1_seconds",
        "Seconds of training, and their ratios judged",
        columns,
        rows,
        [*notes, _clock_note(measured), *NOTES],
    )


def _power(published: Mapping[str, Sequence[float]], dataset: str, place: int) -> str:
    others = [ratios[place] for name, ratios in published.items() if name != dataset]
    rejected = sum(judge_ratio(other, published[dataset][place]) != "within" for other in others)
    return f"{rejected} of {len(others)}"
