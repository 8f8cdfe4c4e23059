"""What the papers' own sizes (``tremula reproduce --full``) would cost, by the cells that are kept.

A cell takes what like cells of the default budget took, times the ratio of the costs that both experiments expect.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tremula.lab.experiments.cell import Experiment
from tremula.lab.experiments.cell_costs import HoursLeft, cost_ratio
from tremula.lab.experiments.kept_cells import no_cells, read_cells

COLUMNS = ("paper", "cells of `--full`", "kept", "core-hours of the others, estimated")


@dataclass(frozen=True)
class OwnSizes:
    """The cells of a paper's own sizes: how many there are and are kept, and what the others will take."""

    n_cells: int
    n_kept: int
    left: HoursLeft

    def __add__(self, other: OwnSizes) -> OwnSizes:
        return OwnSizes(self.n_cells + other.n_cells, self.n_kept + other.n_kept, self.left + other.left)


NO_CELLS = OwnSizes(0, 0, HoursLeft(0.0, 0))


def estimate(default: Experiment, full: Experiment, path: Path) -> OwnSizes:
    """Estimate the hours of the cells of one experiment that are not kept with these settings.

    Parameters
    ----------
    default, full : Experiment
        The same with the default budget and with the sizes of the paper.
    path : Path
        File of the kept cells.
    """
    kept_default, kept_full = (read_cells(path, each) if path.exists() else no_cells(each) for each in (default, full))
    seconds = kept_default.mean_seconds
    hours = (kept_default.expected_hours(cell, seconds, cost_ratio(default, full, cell)) for cell in kept_full.missing)
    return OwnSizes(len(full.cells), len(kept_full.cells), sum(hours, HoursLeft(0.0, 0)))


def own_sizes_table(rows: Sequence[tuple[str, OwnSizes]]) -> str:
    """Return the estimates as Markdown."""
    lines = [f"| {name} | {sizes.n_cells} | {sizes.n_kept} | {_words(sizes.left)} |" for name, sizes in rows]
    return "\n".join([f"| {' | '.join(COLUMNS)} |", "|" + "---|" * len(COLUMNS), *lines])


def _words(left: HoursLeft) -> str:
    return f"{left.hours:.1f}" + (f", and {left.n_unknown} cells of datasets never measured" if left.n_unknown else "")
