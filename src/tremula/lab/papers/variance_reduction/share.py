"""The share of distinct rows in a bootstrap sample, 1 - (1 - 1/N)^N: by the formula and as tremula draws them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tremula import BaggingClassifier, C45Classifier
from tremula.lab.experiments.cell import Cell, Experiment, Outcome
from tremula.lab.experiments.result import Result
from tremula.lab.papers.paper import Budget, ShownTable
from tremula.lab.papers.published import read_published
from tremula.lab.papers.shared_protocol import seed_of

SEED = 0
METHOD = "bootstrap"
ROWS: dict[Budget, tuple[int, ...]] = {
    "quick": (10, 100, 1000),
    "default": (10, 20, 100, 1000, 10000),
    "full": (10, 20, 100, 1000, 10000, 100000),
}
SAMPLES = 200


def distinct_share(n_rows: int) -> float:
    """Return the expected share of the rows that a bootstrap sample of as many holds.

    Examples
    --------
    >>> round(distinct_share(10), 3), round(distinct_share(10**6), 3)
    (0.651, 0.632)
    """
    return 1 - (1 - 1 / n_rows) ** n_rows


@dataclass(frozen=True)
class MeasureShare:
    """Draws bootstrap samples as bagging does, and counts what they hold."""

    samples: int
    seed: int

    def __call__(self, cell: Cell) -> Outcome:
        """Return the mean share of distinct rows and its standard error."""
        n_rows = int(cell.dataset.removesuffix(" rows"))
        seed = seed_of(self.seed, n_rows)
        X = np.random.default_rng(seed).random((n_rows, 1))
        stump = C45Classifier(confidence=None, max_depth=1)
        bagging = BaggingClassifier(stump, self.samples, oob_score=True, random_state=seed)
        bagging.fit(X, np.arange(n_rows) % 2)
        shares = (np.asarray(bagging.inbag_counts_) > 0).reshape(self.samples, n_rows).mean(axis=1)
        error = float(shares.std(ddof=1)) / math.sqrt(self.samples)
        return Outcome({"share": float(shares.mean()), "standard_error": error}, seed=seed)


def share_experiment(budget: Budget) -> Experiment:
    """Return the experiment behind the table of shares."""
    cells = [Cell(f"{n_rows} rows", METHOD, 0) for n_rows in ROWS[budget]]
    return Experiment(
        "variance_reduction/share", {"samples": SAMPLES, "seed": SEED}, cells, MeasureShare(SAMPLES, SEED)
    )


def show_share(results: Sequence[Result], budget: Budget) -> list[ShownTable]:
    """Show the drawn share beside that of the formula, and the samples that the slides print."""
    rows = []
    for result in sorted(results, key=lambda result: int(result.dataset.split()[0])):
        n_rows = int(result.dataset.split()[0])
        if result.failure is not None:
            rows.append([n_rows, None, None, round(distinct_share(n_rows), 4), result.failure, None])
            continue
        ours, reach = result.values["share"], 1.96 * result.values["standard_error"]
        verdict = "within" if abs(ours - distinct_share(n_rows)) <= reach else "outside"
        others = [distinct_share(int(other.dataset.split()[0])) for other in results if other is not result]
        power = f"{sum(abs(ours - other) > reach for other in others)} of {len(others)}"
        rows.append([n_rows, round(ours, 4), round(reach, 4), round(distinct_share(n_rows), 4), verdict, power])
    columns = ["rows", f"drawn, mean of {SAMPLES}", "± 95 %", "1 - (1 - 1/N)^N", "verdict", "power"]
    notes = [
        "The limit is 1 - 1/e = 0.632. One interval in twenty leaves out the truth by chance.",
        "Power: how many of the shares of the other numbers of rows the interval would reject.",
    ]
    return [ShownTable("share", "Share of distinct rows in a bootstrap sample", columns, rows, notes), _printed()]


def _printed() -> ShownTable:
    samples = read_published("ruozzi_bootstrap").rows
    rows = [
        [row["sample"], " ".join(draws := [value for key, value in row.items() if key != "sample"]), len(set(draws))]
        for row in samples
    ]
    expected = 10 * distinct_share(10)
    notes = [f"Expected are {expected:.2f} of 10."]
    return ShownTable(
        "share_printed", "The three samples that the slides print", ["sample", "rows", "distinct"], rows, notes
    )
