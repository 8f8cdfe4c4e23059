"""How often each test, interval and sequential rule errs, simulated; writes docs/guide/error_rates.md.

    python benchmarks/error_rates.py --run     # the trials that are not stored, some minutes for all
    python benchmarks/error_rates.py           # the page from the stored results

`rates_of_tests`, `rates_of_intervals`, `rates_of_models` and `rates_of_queries` have the trials. A rate is kept if what
was simulated is within three standard errors of what is stated, or on the safe side of it. Where it is not, the page
says why.
"""

from __future__ import annotations

import argparse
import json
import os
import time
import warnings
from pathlib import Path
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from rates_of_intervals import INTERVALS
from rates_of_models import OF_MODELS
from rates_of_queries import OF_QUERIES
from rates_of_tests import TESTS
from stated_rate import COVERAGE, ERROR, StatedRate

RESULTS = Path(__file__).parent / "error_rates.json"
PAGE = Path(__file__).parents[1] / "docs" / "guide" / "error_rates.md"
MARKS = "<!-- error rates -->", "<!-- end of error rates -->"
STANDARD_ERRORS = 3.0
RATES = [*TESTS, *INTERVALS, *OF_MODELS, *OF_QUERIES]
Cell = dict[str, Any]


def simulate(rate: StatedRate, n_trials: int | None = None) -> Cell:
    """Return the mean over trials, and its standard error."""
    values = np.array([float(rate.trial(seed)) for seed in range(n_trials or rate.n_trials)])
    return {
        "statement": rate.statement,
        "data": rate.data,
        "kind": rate.kind,
        "stated": rate.stated,
        "rate": round(float(values.mean()), 5),
        "standard_error": round(float(values.std(ddof=1)) / len(values) ** 0.5, 5),
        "trials": len(values),
    }


def is_kept(cell: Cell) -> bool | None:
    """Whether a stated rate is kept; None if none is stated."""
    stated = cell["stated"]
    if stated is None:
        return None
    # The error of the stated rate counts too: trials that all end alike have no spread.
    expected = (stated * (1 - stated) / cell["trials"]) ** 0.5
    excess = cell["rate"] - stated if cell["kind"] == ERROR else stated - cell["rate"]
    return bool(excess <= STANDARD_ERRORS * max(cell["standard_error"], expected))


def read_cells() -> list[Cell]:
    """Return the stored cells."""
    return list(json.loads(RESULTS.read_text(encoding="utf-8"))) if RESULTS.exists() else []


def run() -> None:
    """Simulate every rate that is not stored, and store it at once; what is no longer stated is left out."""
    warnings.simplefilter("ignore")
    stored = {_key(cell): cell for cell in read_cells()}
    wanted = [(rate.statement, rate.data, rate.kind, rate.stated, rate.n_trials) for rate in RATES]
    for rate, key in zip(RATES, wanted):
        if key not in stored:
            begin = time.process_time()
            stored[key] = simulate(rate)
            print(stored[key], f"{time.process_time() - begin:.0f} s", flush=True)
        cells = [stored[each] for each in wanted if each in stored]
        RESULTS.write_text(json.dumps(cells, indent=1) + "\n", encoding="utf-8")


def _key(cell: Cell) -> tuple[Any, ...]:
    return tuple(cell[name] for name in ("statement", "data", "kind", "stated", "trials"))


# --- the page ---


def table_of(cells: list[Cell]) -> str:
    """Return the table of the page, tests first."""
    reasons = {(rate.statement, rate.data): rate.reason for rate in RATES}
    lines = []
    for kind, head in ((ERROR, "said although false"), (COVERAGE, "interval holds the truth")):
        limit = "at most" if kind == ERROR else "at least"
        lines += [f"| {head} | data | {limit} | simulated | trials | |", "|---|---|---:|---:|---:|---|"]
        for cell in (cell for cell in cells if cell["kind"] == kind):
            stated = "" if cell["stated"] is None else f"{100 * cell['stated']:g} %"
            simulated = f"{100 * cell['rate']:.1f} ± {100 * cell['standard_error']:.1f} %"
            note = f"**not kept**: {reasons[cell['statement'], cell['data']]}" if is_kept(cell) is False else ""
            words = [cell["statement"], cell["data"], stated, simulated, f"{cell['trials']:,}", note]
            lines.append("| " + " | ".join(words).rstrip() + " |")
        lines.append("")
    return "\n".join(lines).rstrip()


def with_table(page: str, cells: list[Cell]) -> str:
    """Return the page with the tables between their marks."""
    begin, end = MARKS
    before, rest = page.split(begin)
    return f"{before}{begin}\n{table_of(cells)}\n{end}{rest.split(end)[1]}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--run", action="store_true", help="simulate what is not stored; delete the file to begin anew")
    options = parser.parse_args()
    if options.run:
        run()
    PAGE.write_text(with_table(PAGE.read_text(encoding="utf-8"), read_cells()), encoding="utf-8")


if __name__ == "__main__":
    main()
