"""Readings of C4.5 Release 1, side by side: no program of it can be had, and what is known leaves four things open.

Which threshold of an attribute is taken, whether a numeric attribute pays for the choice of its threshold, whether an
attribute must have the average gain, and how many rows a branch needs. Each published number is measured with pruned or
unpruned trees, whichever the paper printed. Ensembles, which take long, are measured with the readings whose single
trees have the published errors.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import Any

from tremula.lab.experiments.cell import Cell, Experiment, Outcome
from tremula.lab.experiments.result import Result, first_failures, group_by_split, shared_splits
from tremula.lab.papers.dietterich2000.domains import FOLDS, n_splits
from tremula.lab.papers.dietterich2000.protocol import C45, FEWER, METHODS, RANDOMIZED, SEED, SIZES, count_errors
from tremula.lab.papers.dietterich2000.published_errors import PUBLISHED, TEN, judge_published
from tremula.lab.papers.paper import Budget, ShownTable
from tremula.lab.papers.shared_protocol import seed_of
from tremula.lab.papers.verdict import Judgement

CRITERIA = {"gain ratio": "gain_ratio", "gain": "gain"}
PENALTIES = {"no penalty": False, "penalty": True}
FILTERS = {"average gain": "average_gain", "no filter": None}
LEAST_ROWS = {"2 rows": 2, "1 row": 1}
READINGS: dict[str, dict[str, Any]] = {
    ", ".join(names): {
        "threshold_criterion": CRITERIA[names[0]],
        "threshold_penalty": PENALTIES[names[1]],
        "filter": FILTERS[names[2]],
        "min_weight_leaf": LEAST_ROWS[names[3]],
    }
    for names in product(CRITERIA, PENALTIES, FILTERS, LEAST_ROWS)
}
OURS = next(iter(READINGS))  # what `C45Classifier(release=1)` does
# Readings whose single trees are nearer to the published errors than the tolerance, by `is_candidate`. Ensembles of the
# others are not measured. A test compares this list with the kept cells.
CANDIDATES = tuple(reading for reading in READINGS if reading.endswith("2 rows"))
ENSEMBLE_FOLDS = {"letter": 2, "krk": 2}  # of the default budget
OTHER_FOLDS = 3
CELL_METHODS = {f"{method}; {reading}": (method, reading) for reading in READINGS for method in METHODS}


@dataclass(frozen=True)
class MeasureReading:
    """Trains and tests one method with one reading of C4.5 on one fold."""

    members: Mapping[str, int]

    def __call__(self, cell: Cell) -> Outcome:
        """Count errors of pruned or unpruned trees, as printed in the paper."""
        method, reading = CELL_METHODS[cell.method]
        pruning = "pruned" if PUBLISHED[cell.dataset, method]["pruned"] == "1" else "unpruned"
        seed = seed_of(SEED, cell.dataset, cell.split, "reading")
        return count_errors(cell, (method, pruning), self.members, seed, READINGS[reading])


def readings_experiment(budget: Budget) -> Experiment:
    """Return single trees of every reading, and ensembles of the candidates, fold by fold."""
    members = dict(SIZES["quick"].members if budget == "quick" else FEWER)
    domains = ("glass",) if budget == "quick" else TEN
    cells = [
        Cell(domain, method, fold)
        for fold in range(1 if budget == "quick" else FOLDS)
        for domain in domains
        for method, (kind, reading) in CELL_METHODS.items()
        if fold < _n_folds(domain, kind, budget) and (kind == C45 or reading in CANDIDATES)
    ]
    return Experiment("dietterich2000/readings", {"members": members, "seed": SEED}, cells, MeasureReading(members))


def _n_folds(domain: str, method: str, budget: Budget) -> int:
    n_folds = n_splits(domain)
    return n_folds if method == C45 or budget == "full" else min(n_folds, ENSEMBLE_FOLDS.get(domain, OTHER_FOLDS))


Judged = dict[tuple[str, str], Judgement]


def judge_readings(results: Sequence[Result]) -> dict[str, Judged]:
    """Return the verdicts of each reading by domain and method, on the folds that all its readings were measured on."""
    judged: dict[str, Judged] = {reading: {} for reading in READINGS}
    for domain, of_domain in group_by_split(results).items():
        for method in METHODS:
            compared = READINGS if method == C45 else CANDIDATES
            of_readings = {reading: of_domain.get(f"{method}; {reading}", {}) for reading in compared}
            folds = shared_splits(of_readings)
            for reading, by_fold in of_readings.items() if folds else ():
                n_test = sum(by_fold[fold].n_test for fold in folds)
                error = sum(by_fold[fold].values["n_wrong"] for fold in folds) / n_test
                judged[reading][domain, method] = judge_published(error, n_test, PUBLISHED[domain, method])
    return judged


def distance(judgement: Judgement) -> float:
    """Return how far our number is outside the published band, in units of the tolerance; 1 is the end of "within".

    Examples
    --------
    >>> round(distance(judge_published(0.0615, 20000, PUBLISHED["letter", "bagged C4.5"])), 1)
    1.9
    """
    low, high = judgement.interval
    middle, half = (low + high) / 2, (high - low) / 2
    return abs(judgement.ours - middle) / half


def fit_of(judged: Judged) -> float:
    """Return the mean square of the distances: less is nearer to the published numbers."""
    return sum(distance(judgement) ** 2 for judgement in judged.values()) / len(judged)


def column_of(judged: Judged, method: str) -> Judged:
    """Return the verdicts on one method."""
    return {pair: judgement for pair, judgement in judged.items() if pair[1] == method}


def is_candidate(judged: Judged) -> bool:
    """Return whether the single trees of a reading are, in the mean square, nearer than the tolerance."""
    return fit_of(column_of(judged, C45)) <= 1.0


def adopted_reading(judged: Mapping[str, Judged]) -> str:
    """Return the nearest candidate, or ours if that is outside on a number on which ours is within."""
    nearest = min(CANDIDATES, key=lambda reading: fit_of(judged[reading]))
    return OURS if _lost(judged, nearest) else nearest


def _lost(judged: Mapping[str, Judged], reading: str) -> list[str]:
    """Name the numbers on which our reading is within and another is not."""
    return [
        f"{domain}, {method}"
        for (domain, method), judgement in judged[reading].items()
        if judgement.is_miss and not judged[OURS][domain, method].is_miss
    ]


def show_readings(results: Sequence[Result], budget: Budget) -> list[ShownTable]:
    """Show how near each reading is to the published numbers, and the errors of all of them."""
    judged = {reading: cells for reading, cells in judge_readings(results).items() if cells}
    if not judged:
        return [ShownTable("readings", "Readings of C4.5 Release 1", ["reading"], [], first_failures(results))]
    return [_fits_table(judged, results), *(_errors_table(judged, method) for method in METHODS)]


def _fits_table(judged: Mapping[str, Judged], results: Sequence[Result]) -> ShownTable:
    order = sorted(judged, key=lambda reading: (reading not in CANDIDATES, fit_of(judged[reading])))
    rows: list[list[Any]] = []
    for reading in order:
        cells = judged[reading]
        columns = [column_of(cells, method) for method in METHODS]
        fits = [f"{fit_of(column):.2f}" if column else None for column in columns]
        n_within = sum(not cell.is_miss for cell in cells.values())
        overall = f"{fit_of(cells):.2f}" if reading in CANDIDATES else None
        mark = " (ours)" if reading == OURS else ""
        rows.append([reading + mark, overall, *fits, f"{n_within} of {len(cells)}"])
    headings = ["reading", "all four", *METHODS, "within"]
    caption = "Mean squared distance from the published numbers, in units of the tolerance"
    return ShownTable("readings", caption, headings, rows, [*_verdicts(judged), *_notes(), *first_failures(results)])


def _verdicts(judged: Mapping[str, Judged]) -> list[str]:
    """Say which readings have the published errors of single trees, which is nearest in all, and which is adopted."""
    trees = {reading: column_of(cells, C45) for reading, cells in judged.items()}
    fitting = [reading for reading, column in trees.items() if not any(cell.is_miss for cell in column.values())]
    nearest = min(CANDIDATES, key=lambda reading: fit_of(judged[reading]))
    misses = [f"{domain}, {method}" for (domain, method), cell in judged[nearest].items() if cell.is_miss]
    n_all = sum(not any(cell.is_miss for cell in judged[reading].values()) for reading in CANDIDATES)
    lost = _lost(judged, nearest)
    return [
        f"Single trees, which have no luck but that of the folds: within on all {len(trees[OURS])} domains "
        f"{_are(len(fitting))} {len(fitting) or 'none'} of the {len(trees)} readings"
        f"{': ' + '; '.join(fitting) if fitting else ''}.",
        f"All four columns: {n_all or 'none'} of the {len(CANDIDATES)} candidates {_are(n_all)} within on all "
        f"{len(judged[OURS])} numbers. The nearest is: {nearest}"
        f"{', which misses ' + '; '.join(misses) if misses else ''}.",
        f"Nearest by column: {_nearest_by_column(judged)}.",
        f"Adopted: {adopted_reading(judged)}. Another reading than ours would be adopted if it were nearest in all "
        "four columns together and within wherever ours is"
        f"{'; the nearest is not on ' + '; '.join(lost) if lost else ''}.",
    ]


def _column_fit(judged: Mapping[str, Judged], method: str, reading: str) -> float:
    return fit_of(column_of(judged[reading], method))


def _nearest_by_column(judged: Mapping[str, Judged]) -> str:
    columns = {method: [r for r in CANDIDATES if column_of(judged[r], method)] for method in METHODS}
    nearest = {
        method: min(readings, key=partial(_column_fit, judged, method))
        for method, readings in columns.items()
        if readings
    }
    return "; ".join(
        f"{method}: {reading} (misses {sum(cell.is_miss for cell in column_of(judged[reading], method).values())})"
        for method, reading in nearest.items()
    )


def _are(count: int) -> str:
    return "is" if count == 1 else "are"


def _notes() -> list[str]:
    folds = ", ".join(f"{domain} {n_folds}" for domain, n_folds in ENSEMBLE_FOLDS.items())
    return [
        f"Candidates are the {len(CANDIDATES)} readings whose single trees have a mean squared distance of at most 1. "
        "Ensembles of the others were not measured.",
        "A reading is: what chooses the threshold of an attribute; whether its gain pays for that choice, as in "
        "Release 8; whether an attribute must have the average gain of all; how many rows two branches need.",
        "A distance of 1 is the end of what counts as within: the band of the published rate, and the sampling error "
        "of the rows that were tested. Pruned or unpruned as printed in the paper. Single trees are measured on all "
        f"folds, ensembles on {folds} and of the others {OTHER_FOLDS} of ten; with fewer rows the tolerance is wider.",
        f"For {RANDOMIZED} every threshold is a split of its own: what chooses the threshold of an attribute matters "
        "there only for the average gain.",
    ]


def _errors_table(judged: Mapping[str, Judged], method: str) -> ShownTable:
    domains = [domain for domain, _ in column_of(judged[OURS], method)]
    published = [f"{100 * judged[OURS][domain, method].published:.2f}" for domain in domains]
    intervals = [judged[OURS][domain, method].interval for domain in domains]
    rows: list[list[Any]] = [
        ["published", *published],
        ["within is", *(f"{100 * low:.2f} to {100 * high:.2f}" for low, high in intervals)],
    ]
    for reading in judged if method == C45 else CANDIDATES:
        shown = [judged[reading][domain, method] for domain in domains]
        rows.append(
            [reading, *(f"{100 * cell.ours:.2f}{' ' + cell.verdict if cell.is_miss else ''}" for cell in shown)]
        )
    name = method.split()[0].lower().replace(".", "")
    return ShownTable(f"readings_{name}", f"Error in percent, {method}", ["reading", *domains], rows)
