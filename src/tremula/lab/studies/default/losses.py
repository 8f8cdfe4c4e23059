"""Wins and losses of the study: every pair by a corrected test, every loss of the default estimator by name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tremula.lab.papers.paper import ShownTable
from tremula.lab.studies.default.comparing import count_wins, judge, rank
from tremula.lab.studies.default.halves import JUDGED
from tremula.lab.studies.default.learners import ASPEN, FOREST, PEERS
from tremula.lab.studies.default.view import HALVES, KINDS, Measure, View, kind_of, rank_of, show_number

BOOSTING = PEERS[2:]


def _named(names: Sequence[str]) -> str | None:
    return ", ".join(names) or None


def _losses_row(view: View, which: str, other: str, measure: Measure) -> list[Any]:
    pair = (ASPEN, other)
    there = view.measured.datasets(view.datasets[which], pair)
    means = view.measured.means(there, pair, measure.name)
    tested = view.measured.tested(view.datasets[which], pair)
    verdicts = {name: judge(view.measured, name, *pair, measure.name) for name in tested}
    counts: list[str | None] = []
    lost: set[str] = set()
    for test in ("by_t", "by_f"):
        wins, losses = ([n for n in tested if getattr(verdicts[n], test) == sign] for sign in (-1, 1))
        counts.append(f"{len(wins)}-{len(losses)}-{len(tested) - len(wins) - len(losses)}" if tested else None)
        lost |= set(losses)
    lower = f"{int((means[:, 0] < means[:, 1]).sum())} of {len(there)}"
    return [which, other, lower, _over_datasets(view, which, other, measure), *counts, _named(sorted(lost))]


def _over_datasets(view: View, which: str, other: str, measure: Measure) -> str | None:
    """Return the p-value of Wilcoxon's test over the datasets of a half."""
    ranking = view.rank(which, measure)
    if ranking is None:
        return None
    p_value = ranking.p_values[ranking.names.index(ASPEN), ranking.names.index(other)]
    return f"{p_value:.3f}" if p_value >= 0.001 else "< 0.001"


def losses_table(view: View, measure: Measure) -> ShownTable:
    """Show Aspen against each other method: significant wins, and losses by name, in both halves."""
    rows = [
        _losses_row(view, which, other, measure)
        for which in HALVES
        for other in view.methods
        if other != ASPEN and view.measured.datasets(view.datasets[which], (ASPEN, other))
    ]
    tests = ["corrected t: wins-losses-ties", "5 x 2 F: wins-losses-ties"]
    notes = [
        "Tests at 5 %, two-sided, on datasets with all ten splits; not adjusted for the number of datasets: some wins "
        "and losses are chance.",
        "A dataset is named as lost if either test says so. p over datasets: Wilcoxon's signed ranks of the means, "
        "Holm-adjusted over all pairs of methods.",
    ]
    columns = ["half", "against", "lower mean on", "p over datasets", *tests, "lost on"]
    return ShownTable(f"{view.file}_{measure.name}_aspen", f"{ASPEN} by {measure.caption}", columns, rows, notes)


def wins_table(view: View, measure: Measure) -> list[ShownTable]:
    """Show significant wins, losses and ties of every pair over the judged half."""
    counted = count_wins(view.measured, view.datasets[JUDGED], view.methods, measure.name)
    if counted is None:
        return []
    rows = [
        [row, *("-".join(map(str, counted.cell(row, column))) if row != column else None for column in counted.names)]
        for row in counted.names
    ]
    caption = f"Wins-losses-ties of the row against the column by {measure.label}, judged half"
    notes = [f"Corrected resampled t test at 5 % on {counted.n_datasets} datasets."]
    return [ShownTable(f"{view.file}_{measure.name}_wins", caption, ["method", *counted.names], rows, notes)]


def kinds_table(view: View, measure: Measure) -> ShownTable:
    """Show on which kind of data boosting has the lower mean, dataset by dataset named."""
    methods = view.methods
    names = [method for method in (ASPEN, FOREST, *BOOSTING) if method in methods]
    boosting = [place for place, method in enumerate(methods) if method in BOOSTING]
    every = view.measured.datasets(view.every_dataset, methods)
    rows: list[list[Any]] = []
    for kind in KINDS:
        there = [name for name in every if kind_of(name) == kind]
        means = view.measured.means(there, methods, measure.name)
        ours = means[:, methods.index(ASPEN)]
        ahead = [name for name, own, others in zip(there, ours, means[:, boosting]) if (others < own).any()]
        ranking = rank(view.measured, there, methods, measure.name)
        ranks = [show_number(rank_of(ranking, method)) for method in names]
        rows.append([kind, len(there), *ranks, len(ahead), _named(ahead)])
    columns = ["attributes", "datasets", *(f"rank of {name}" for name in names), "some boosting is ahead on", "which"]
    notes = [
        f"Both halves; ranks among {len(methods)} methods. The best of {len(boosting)} boosting libraries, known only "
        "from the test rows, has an advantage in the last two columns.",
    ]
    return ShownTable(f"{view.file}_{measure.name}_kinds", f"Kinds of data, by {measure.label}", columns, rows, notes)
