"""Readings of C4.5 Release 1, side by side: no program of it can be had, and what is known leaves four things open.

Which threshold of an attribute is taken, whether a numeric attribute pays for the choice of its threshold, whether an
attribute must have the average gain, and how many rows a branch needs. Each published number is measured with pruned or
unpruned trees, whichever the paper printed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

from tremula.lab.experiments.cell import Cell, Experiment, Outcome
from tremula.lab.experiments.result import Result, first_failures, group_by_split, shared_splits
from tremula.lab.papers.dietterich2000.domains import FOLDS, load_table, split_of
from tremula.lab.papers.dietterich2000.protocol import BAGGED, METHODS, RANDOMIZED, SEED, SIZES, build
from tremula.lab.papers.paper import Budget, ShownTable
from tremula.lab.papers.published import read_published
from tremula.lab.papers.shared_protocol import seed_of, try_classifier
from tremula.lab.papers.verdict import Judgement, judge_cross_validated

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
FOLDS_OF = {"letter": 2, "krk": 2, "segment": 3, "glass": 3, "sonar": 3, "soybean": 3}
QUICK_FOLDS = {"glass": 1}

PUBLISHED = {
    (row["domain"], row["method"]): row
    for row in read_published("dietterich2000_table1").rows
    if row["domain"] in FOLDS_OF
}
CELL_METHODS = {f"{method}; {reading}": (method, reading) for reading in READINGS for method in METHODS}


@dataclass(frozen=True)
class MeasureReading:
    """Trains and tests one method with one reading of C4.5 on one fold."""

    members: Mapping[str, int]

    def __call__(self, cell: Cell) -> Outcome:
        """Count errors of pruned or unpruned trees, as printed in the paper."""
        method, reading = CELL_METHODS[cell.method]
        pruning = "pruned" if PUBLISHED[cell.dataset, method]["pruned"] == "1" else "unpruned"
        table = load_table(cell.dataset, SEED)
        split = split_of(cell.dataset, table.y, cell.split, SEED)
        seed = seed_of(SEED, cell.dataset, cell.split, "reading")
        model = build(method, pruning, self.members[method], table.categorical_features, seed, READINGS[reading])
        if method == BAGGED:
            model.set_params(oob_score=False)
        _, outcome = try_classifier(model, table.X, table.y, split, seed)
        return replace(outcome, predictions=None)


def readings_experiment(budget: Budget) -> Experiment:
    """Return every reading of every method, fold by fold."""
    members = dict(SIZES["quick" if budget == "quick" else "default"].members)
    folds = {"quick": QUICK_FOLDS, "default": FOLDS_OF, "full": dict.fromkeys(FOLDS_OF, FOLDS)}[budget]
    cells = [
        Cell(domain, method, fold)
        for fold in range(FOLDS)
        for domain in folds
        if fold < folds[domain]
        for method in CELL_METHODS
    ]
    return Experiment("dietterich2000/readings", {"members": members, "seed": SEED}, cells, MeasureReading(members))


Judged = dict[tuple[str, str], Judgement]


def judge_readings(results: Sequence[Result]) -> dict[str, Judged]:
    """Return the verdicts of each reading by domain and method, on the folds that all readings were measured on."""
    judged: dict[str, Judged] = {reading: {} for reading in READINGS}
    for domain, of_domain in group_by_split(results).items():
        for method in METHODS:
            of_readings = {reading: of_domain.get(f"{method}; {reading}", {}) for reading in READINGS}
            folds = shared_splits(of_readings)
            for reading, by_fold in of_readings.items() if folds else ():
                n_test = sum(by_fold[fold].n_test for fold in folds)
                error = sum(by_fold[fold].values["n_wrong"] for fold in folds) / n_test
                row = PUBLISHED[domain, method]
                judged[reading][domain, method] = judge_cross_validated(
                    error, n_test, float(row["error"]), int(row["n"])
                )
    return judged


def distance(judgement: Judgement) -> float:
    """Return how far our number is outside the published band, in units of the tolerance; 1 is the end of "within".

    Examples
    --------
    >>> judgement = judge_cross_validated(0.0615, 20000, 0.0552, 20000)
    >>> round(distance(judgement), 1)
    1.9
    """
    low, high = judgement.interval
    middle, half = (low + high) / 2, (high - low) / 2
    return abs(judgement.ours - middle) / half


def fit_of(judged: Judged) -> float:
    """Return the mean square of the distances: less is nearer to the published numbers."""
    return sum(distance(judgement) ** 2 for judgement in judged.values()) / len(judged)


def show_readings(results: Sequence[Result], budget: Budget) -> list[ShownTable]:
    """Show how near each reading is to the published numbers, and the errors of all of them."""
    judged = {reading: cells for reading, cells in judge_readings(results).items() if cells}
    if not judged:
        return [ShownTable("readings", "Readings of C4.5 Release 1", ["reading"], [], first_failures(results))]
    return [_fits_table(judged, results), *(_errors_table(judged, method) for method in METHODS)]


def _fits_table(judged: Mapping[str, Judged], results: Sequence[Result]) -> ShownTable:
    order = sorted(judged, key=lambda reading: fit_of(judged[reading]))
    rows: list[list[Any]] = []
    for reading in order:
        cells = judged[reading]
        of_methods = [{pair: cell for pair, cell in cells.items() if pair[1] == method} for method in METHODS]
        n_within = sum(not cell.is_miss for cell in cells.values())
        mark = " (ours)" if reading == OURS else ""
        rows.append([reading + mark, f"{fit_of(cells):.2f}", *(f"{fit_of(column):.2f}" for column in of_methods)])
        rows[-1].append(f"{n_within} of {len(cells)}")
    columns = ["reading", "all", *METHODS, "within"]
    caption = "Mean squared distance from the published numbers, in units of the tolerance"
    return ShownTable("readings", caption, columns, rows, [*_notes(judged, order), *first_failures(results)])


def _notes(judged: Mapping[str, Judged], order: Sequence[str]) -> list[str]:
    best, n_numbers = order[0], len(judged[OURS])
    misses = [f"{domain}, {method}" for (domain, method), cell in judged[best].items() if cell.is_miss]
    n_fitting = sum(not any(cell.is_miss for cell in cells.values()) for cells in judged.values())
    verdict = f"{n_fitting or 'None'} of the {len(judged)} readings are within on all {n_numbers} numbers."
    said = f" It misses {'; '.join(misses)}." if misses else ""
    return [
        f"{verdict} The nearest is: {best}.{said}",
        "With few folds the tolerance is wide: readings that are within on all numbers are not told apart.",
        "A reading is: what chooses the threshold of an attribute; whether its gain pays for that choice, as in "
        "Release 8; whether an attribute must have the average gain of all; how many rows two branches need.",
        "A distance of 1 is the end of what counts as within: the band of the published rate, and the sampling error "
        "of the rows that were tested. Pruned or unpruned as printed in the paper. "
        f"Folds of ten: {', '.join(f'{domain} {folds}' for domain, folds in FOLDS_OF.items())}.",
        f"For {RANDOMIZED} every threshold is a split of its own: what chooses the threshold of an attribute matters "
        "there only for the average gain.",
    ]


def _errors_table(judged: Mapping[str, Judged], method: str) -> ShownTable:
    domains = [domain for domain, name in judged[OURS] if name == method]
    published = [f"{100 * judged[OURS][domain, method].published:.2f}" for domain in domains]
    intervals = [judged[OURS][domain, method].interval for domain in domains]
    rows: list[list[Any]] = [
        ["published", *published],
        ["within is", *(f"{100 * low:.2f} to {100 * high:.2f}" for low, high in intervals)],
    ]
    for reading, cells in judged.items():
        shown = [cells[domain, method] for domain in domains]
        rows.append(
            [reading, *(f"{100 * cell.ours:.2f}{' ' + cell.verdict if cell.is_miss else ''}" for cell in shown)]
        )
    name = method.split()[0].lower().replace(".", "")
    return ShownTable(f"readings_{name}", f"Error in percent, {method}", ["reading", *domains], rows)
