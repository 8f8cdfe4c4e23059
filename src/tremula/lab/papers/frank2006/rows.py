"""Why chosen amounts of noise differ from those of the paper: amounts by number of rows, on datasets that it names.

Table 2 has a limit of rows in the default budget; here there are several, with amounts chosen on out-of-bag rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tremula import SmearedBaggingRegressor
from tremula.lab.experiments.cell import Cell, Experiment, Outcome
from tremula.lab.experiments.result import Result, first_failures, group_by_split
from tremula.lab.papers.frank2006.protocol import N_MEMBERS, SEED, CostOfSplit, load_rows, try_on
from tremula.lab.papers.frank2006.rules import NAMED_NOISE
from tremula.lab.papers.paper import Budget, ShownTable
from tremula.lab.papers.shared_protocol import seed_of

LIMITS: dict[str, int | None] = {"1000 rows": 1000, "4000 rows": 4000, "16000 rows": 16000, "all rows": None}
SPLITS: dict[Budget, int] = {"quick": 1, "default": 3, "full": 10}
DATASETS: dict[Budget, Sequence[str]] = {
    "quick": ("triazines",),
    "default": ("2dplanes", "house-8L"),  # those whose amounts Table 2 misses
    "full": tuple(NAMED_NOISE),
}


def measure_limit(cell: Cell) -> Outcome:
    """Train on so many rows of a dataset, and keep the amount of noise that out-of-bag rows choose."""
    dataset = load_rows(cell.dataset, LIMITS[cell.method], SEED)
    seed = seed_of(SEED, cell.dataset, cell.split, "learner")
    model = SmearedBaggingRegressor(n_estimators=N_MEMBERS, tuning="oob", search="grid", random_state=seed)
    return try_on(model, dataset, cell.split, seed)


def _cost(cell: Cell) -> float:
    return CostOfSplit(LIMITS[cell.method])(cell)


def rows_experiment(budget: Budget) -> Experiment:
    """Return datasets of which the paper names the amount, with each limit of rows; `--full` alone has all rows."""
    limits = [name for name, most in LIMITS.items() if most is not None or budget == "full"]
    cells = [
        Cell(dataset, limit, split)
        for split in range(SPLITS[budget])
        for dataset in DATASETS[budget]
        for limit in limits
    ]
    return Experiment("frank2006/rows", {"members": N_MEMBERS, "seed": SEED}, cells, measure_limit, _cost)


@dataclass(frozen=True)
class Amount:
    """Amounts of noise chosen with one limit of rows, and whether their mean is the published one."""

    amounts: np.ndarray
    is_published: bool

    def __str__(self) -> str:
        spread = f" ± {self.amounts.std(ddof=1):.2f}" if len(self.amounts) > 1 else ""
        return f"{self.amounts.mean():.2f}{spread}"


def gather_amounts(results: Sequence[Result]) -> dict[str, dict[str, Amount]]:
    """Return the amounts by dataset and limit."""
    gathered: dict[str, dict[str, Amount]] = {}
    for dataset, limits in group_by_split(results).items():
        low, high = NAMED_NOISE[dataset].low, NAMED_NOISE[dataset].high
        for limit, splits in limits.items():
            amounts = np.array([result.values["noise"] for result in splits.values()])
            gathered.setdefault(dataset, {})[limit] = Amount(amounts, bool(low <= round(amounts.mean(), 2) <= high))
    return gathered


def show_rows(results: Sequence[Result], budget: Budget) -> list[ShownTable]:
    """Show the amounts, and with which limits they are the published ones."""
    rows: list[list[Any]] = []
    gathered = gather_amounts(results)
    measured = [limit for limit in LIMITS if any(limit in limits for limits in gathered.values())]
    for dataset, limits in gathered.items():
        like_published = [limit for limit in LIMITS if limit in limits and limits[limit].is_published]
        cells = [str(limits[limit]) if limit in limits else None for limit in measured]
        rows.append([dataset, *cells, NAMED_NOISE[dataset].published, ", ".join(like_published) or "none"])
    notes = [
        f"Mean amount ± standard deviation over {SPLITS[budget]} splits of 90 % and 10 %; {N_MEMBERS} members, "
        "amounts 0, 0.05, ... 0.3, chosen on out-of-bag rows, where Table 2 and the paper have cross-validation.",
        "An amount is the published one by the rules of Table 2: at least 0.25 for the edge, at most 0.05 for close "
        "to 0.",
        *first_failures(results),
    ]
    columns = ["dataset", *measured, "published", "as published with"]
    return [ShownTable("rows", "Chosen amount of noise by number of rows", columns, rows, notes)]
