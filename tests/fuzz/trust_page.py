"""Writes the table of runs into `docs/develop/trust.md`, from the counts in `runs.json`.

`python -m tests.fuzz.trust_page` rewrites it; `--add FILE --build NAME` first adds the counts that `fuzz_files --out`
wrote. A test compares the page with the counts.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

RUNS = Path(__file__).parent / "runs.json"
PAGE = Path(__file__).parents[2] / "docs" / "develop" / "trust.md"
START, END = "<!-- runs -->", "<!-- end of runs -->"
COLUMNS = {
    "build": "build",
    "first": "first input",
    "inputs": "inputs",
    "refused": "refused",
    "loaded": "loaded",
    "questions": "questions",
    "crashes": "crashes",
    "unclear": "unclear errors",
    "slow": "slow or large",
    "seconds": "seconds",
}


def read_run(content: dict[str, Any], build: str) -> dict[str, Any]:
    """Return the counts of one run; an unclear error is one that is not tremula's, told apart by its place."""
    counts, kinds = content["counts"], list(content["faults"])
    crashes = counts.get("crashes", 0)
    slow = sum(kind.endswith("slow") or kind == "memory" for kind in kinds)
    shown = {name: counts.get(name, 0) for name in ("inputs", "refused", "loaded", "questions")}
    unclear = len([kind for kind in kinds if not kind.startswith("crash")]) - slow
    run = {"build": build, "first": content["first"], **shown, "crashes": crashes, "unclear": unclear, "slow": slow}
    return {**run, "seconds": content["seconds"]}


def write_table(runs: list[dict[str, Any]]) -> str:
    """Return the table of all runs, with their sum."""
    lines = ["| " + " | ".join(COLUMNS.values()) + " |", "|---" + "|---:" * (len(COLUMNS) - 1) + "|"]
    for run in runs:
        cells = [run[name] if name == "build" else f"{run[name]:,}" for name in COLUMNS]
        lines.append("| " + " | ".join(cells) + " |")
    sums = {name: sum(run[name] for run in runs) for name in COLUMNS if name not in ("build", "first")}
    lines.append("| together | | " + " | ".join(f"{sums[name]:,}" for name in sums) + " |")
    return "\n".join(lines)


def with_table(page: str, runs: list[dict[str, Any]]) -> str:
    """Return the page with the table of these runs."""
    before, rest = page.split(START)
    return f"{before}{START}\n{write_table(runs)}\n{END}{rest.split(END)[1]}"


def main() -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--add", type=Path, help="counts of one more run")
    parser.add_argument("--build", default="normal", help="how the kernels were compiled")
    options = parser.parse_args()
    runs = json.loads(RUNS.read_text(encoding="utf-8"))
    if options.add is not None:
        runs.append(read_run(json.loads(options.add.read_text(encoding="utf-8")), options.build))
        RUNS.write_text(json.dumps(runs, indent=1) + "\n", encoding="utf-8")
    PAGE.write_text(with_table(PAGE.read_text(encoding="utf-8"), runs), encoding="utf-8")


if __name__ == "__main__":
    main()
