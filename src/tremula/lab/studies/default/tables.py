"""Tables and diagrams of the study: ranks on the half that judges and the half that decided, times, and all means.

All numbers are of test rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tremula.diagnostics import CriticalDifferenceDisplay, Ranking
from tremula.lab.datasets.registry import known_datasets
from tremula.lab.experiments.result import Result
from tremula.lab.papers.paper import Budget, ShownFigure, ShownTable
from tremula.lab.studies.default.comparing import Measured, times_of
from tremula.lab.studies.default.learners import ASPEN, FOREST
from tremula.lab.studies.default.losses import kinds_table, losses_table, wins_table
from tremula.lab.studies.default.protocol import SIZES, TIMED_METHODS
from tremula.lab.studies.default.view import (
    BRIER,
    ERROR,
    HALVES,
    LOG_LOSS,
    RMSE,
    Measure,
    Shown,
    View,
    kind_of,
    rank_of,
    show_number,
)

WIDTH = 9.0  # inches, of a diagram
Rankings = dict[tuple[str, str], Ranking | None]


def _rankings(view: View, measures: Sequence[Measure]) -> Rankings:
    return {(which, measure.name): view.rank(which, measure) for which in HALVES for measure in measures}


def _by_rank(methods: Sequence[str], rankings: Rankings) -> list[str]:
    """Return the methods in the order of the first available ranking."""
    first = next((ranking for ranking in rankings.values() if ranking is not None), None)
    return sorted(methods, key=lambda method: rank_of(first, method) or 0.0)


def _headings(measures: Sequence[Measure]) -> list[str]:
    return [f"{measure.label}, {which}" for which in HALVES for measure in measures]


def _sizes(rankings: Rankings) -> str:
    """Return the number of ranked datasets and the critical difference of the ranks."""
    words = {
        which: f"{len(ranking.dataset_names)} {which} (critical difference {ranking.critical_difference:.2f})"
        for (which, _), ranking in rankings.items()
        if ranking is not None
    }
    return " and ".join(words.values()) or "none"


def _splits(view: View) -> str:
    """Say how many splits the comparisons of a half stand on."""
    words = []
    for which in HALVES:
        names = view.measured.datasets(view.datasets[which], view.methods)
        counts = [len(view.measured.splits(name, view.methods)) for name in names]
        words += [f"{which} {min(counts)} to {max(counts)}"] if counts else []
    return ", ".join(words) or "none"


def ranks_table(view: View, measures: Sequence[Measure]) -> ShownTable:
    """Show mean ranks in both halves, and times compared with scikit-learn's random forest."""
    rankings, every = _rankings(view, measures), view.every_dataset
    rows: list[list[Any]] = []
    for method in _by_rank(view.methods, rankings):
        times = [times_of(view.measured, every, method, FOREST, name) for name in ("fit_seconds", "predict_seconds")]
        rows.append(
            [
                method,
                *(show_number(rank_of(ranking, method)) for ranking in rankings.values()),
                *map(show_number, times),
            ]
        )
    notes = [
        f"Mean ranks of {len(rows)} methods, 1 the best; datasets: {_sizes(rankings)}.",
        f"Times are seconds of one processor, compared with {FOREST} on the same rows: the median over datasets.",
        f"On splits that all of these methods have: {_splits(view)}.",
        *view.measured.failures,
    ]
    columns = ["method", *_headings(measures), "fit time", "predict time"]
    return ShownTable(f"{view.file}_ranks", "Mean ranks and times", columns, rows, notes)


def diagram(view: View, which: str, measure: Measure) -> list[ShownFigure]:
    """Return the critical difference diagram of a half."""
    ranking = view.rank(which, measure)
    if ranking is None:
        return []
    caption = f"Mean ranks by {measure.label} over the {len(ranking.dataset_names)} datasets of the {which} half"
    name = f"{view.file}_{measure.name}_{which}"
    return [ShownFigure(name, caption, lambda: _wide(CriticalDifferenceDisplay.from_results(ranking).figure_))]


def _wide(figure: Any) -> Any:
    """Give long names of methods room beside the scale."""
    figure.set_size_inches(WIDTH, figure.get_figheight())
    return figure


def means_table(view: View, measure: Measure) -> ShownTable:
    """Show the mean of every method on every dataset."""
    rows: list[list[Any]] = []
    for which in HALVES:
        for name in sorted(view.measured.datasets(view.datasets[which], view.methods)):
            means = view.measured.means([name], view.methods, measure.name)[0]
            about = [which, known_datasets()[name].rows, kind_of(name), len(view.measured.splits(name, view.methods))]
            rows.append([name, *about, *map(measure.show, means)])
    columns = ["dataset", "half", "rows", "attributes", "splits", *view.methods]
    return ShownTable(f"{view.file}_{measure.name}", f"Mean {measure.caption}", columns, rows)


def _show(view: View, measures: Sequence[Measure], further: Sequence[Measure] = ()) -> list[Shown]:
    """Show ranks by all measures, and more by the main ones."""
    if FOREST not in view.methods or len(view.methods) < 2:
        return []
    shown: list[Shown] = [ranks_table(view, [*measures, *further])]
    for which in HALVES:
        shown += [figure for measure in measures for figure in diagram(view, which, measure)]
    for measure in measures:
        if ASPEN in view.methods:
            shown += [losses_table(view, measure), kinds_table(view, measure)]
        shown += wins_table(view, measure)
    return [*shown, *(means_table(view, measure) for measure in measures)]


def _width(name: str) -> int:
    return known_datasets()[name].numeric + known_datasets()[name].nominal


def show_times(results: Sequence[Result], budget: Budget) -> list[Shown]:
    """Show seconds of the forest, and how many times as long others take."""
    measured = Measured.of(results)
    others = [method for method in measured.methods(TIMED_METHODS) if method != FOREST]
    rows: list[list[Any]] = []
    for name in measured.datasets(SIZES[budget].timed, [FOREST, *others]):
        row: list[Any] = [name, known_datasets()[name].rows, _width(name)]
        for measure in ("fit_seconds", "predict_seconds"):
            seconds = np.median(measured.values(name, FOREST, measure, measured.splits(name, [FOREST])))
            ratios = [times_of(measured, [name], method, FOREST, measure) for method in others]
            row += [f"{seconds:.3f}", *map(show_number, ratios)]
        rows.append(row)
    headings = [f"{FOREST}, seconds", *(f"{method}, times that" for method in others)]
    columns = [
        "dataset",
        "rows",
        "attributes",
        *(f"{verb}: {heading}" for verb in ("fit", "predict") for heading in headings),
    ]
    notes = [
        "Half of all rows is learned from, the other half predicted. Seconds of one processor, the median of three.",
        *measured.failures,
    ]
    return [ShownTable("times", "Times on all rows", columns, rows, notes)] if rows else []


def show_classes(results: Sequence[Result], budget: Budget) -> list[Shown]:
    """Show the classifiers by error and log loss, and their ranks by Brier score."""
    return _show(View.of("classification", "classes", results, budget), (ERROR, LOG_LOSS), (BRIER,))


def show_numbers(results: Sequence[Result], budget: Budget) -> list[Shown]:
    """Show the regressors by root mean squared error."""
    return _show(View.of("regression", "numbers", results, budget), (RMSE,))
