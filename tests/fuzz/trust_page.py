"""Writes the tables of runs into `docs/develop/trust.md`, from the counts in `runs.json`.

`python -m tests.fuzz.trust_page` rewrites them; `--add FILE --kind faults` first adds the counts that `fuzz_files`,
`faults`, `memory` or `peak_memory` wrote with `--out`, or `.ci/other_python`. A test compares the page with the counts.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

Run = dict[str, Any]
RUNS = Path(__file__).parent / "runs.json"
PAGE = Path(__file__).parents[2] / "docs" / "develop" / "trust.md"
# The columns of each table; texts come first, then what is no sum, then what is added up in the last line.
COLUMNS = {
    "files": {
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
    },
    "faults": {
        "job": "what",
        "signal": "signal",
        "moments": "moments",
        "completed": "runs to the end",
        "faults": "faults",
        "seconds": "seconds",
    },
    "memory": {
        "estimator": "estimator",
        "repeats": "fits",
        "bytes": "bytes a fit",
        "blocks": "blocks a fit",
        "resident": "resident size, KiB",
    },
    "peak": {
        "pair": "fit",
        "rows": "rows",
        "tremula": "tremula, MiB",
        "scikit-learn": "scikit-learn, MiB",
    },
    "pythons": {
        "python": "Python",
        "system": "system",
        "libraries": "libraries",
        "passed": "passed",
        "skipped": "skipped",
        "failures": "failures",
        "seconds": "seconds",
    },
}
TEXTS = {"build", "job", "signal", "estimator", "pair", "python", "system", "libraries"}
NOT_ADDED = TEXTS | {"first", "bytes", "blocks", "resident"}
WITHOUT_SUM = {"peak", "pythons"}


def marks(kind: str) -> tuple[str, str]:
    """Return the lines that a table is written between."""
    return f"<!-- runs of {kind} -->", f"<!-- end of runs of {kind} -->"


def read_runs(content: Any, kind: str, build: str = "normal") -> list[Run]:
    """Return the runs that a script wrote."""
    if kind == "files":
        return [read_run(content, build)]
    return [{name: run[name] for name in COLUMNS[kind]} for run in content]


def read_run(content: Run, build: str) -> Run:
    """Return the counts of one run; an unclear error is one that is not tremula's, told apart by its place."""
    counts, kinds = content["counts"], list(content["faults"])
    crashes = counts.get("crashes", 0)
    slow = sum(kind.endswith("slow") or kind == "memory" for kind in kinds)
    shown = {name: counts.get(name, 0) for name in ("inputs", "refused", "loaded", "questions")}
    unclear = len([kind for kind in kinds if not kind.startswith("crash")]) - slow
    run = {"build": build, "first": content["first"], **shown, "crashes": crashes, "unclear": unclear, "slow": slow}
    return {**run, "seconds": content["seconds"]}


def write_table(runs: list[Run], kind: str) -> str:
    """Return the table of all runs, with their sum."""
    columns = COLUMNS[kind]
    rule = "".join("|---" if name in TEXTS else "|---:" for name in columns)
    lines = ["| " + " | ".join(columns.values()) + " |", f"{rule}|"]
    lines += ["| " + " | ".join(_shown(run[name]) for name in columns) + " |" for run in runs]
    if kind in WITHOUT_SUM:
        return "\n".join(lines)
    sums = ["" if name in NOT_ADDED else _shown(sum(run[name] for run in runs)) for name in columns]
    return "\n".join([*lines, "| " + " | ".join(["together", *sums[1:]]) + " |"])


def _shown(value: Any) -> str:
    return value if isinstance(value, str) else f"{value:,}"


def with_tables(page: str, runs: dict[str, list[Run]]) -> str:
    """Return the page with the tables of these runs."""
    for kind in COLUMNS:
        start, end = marks(kind)
        before, rest = page.split(start)
        page = f"{before}{start}\n{write_table(runs[kind], kind)}\n{end}{rest.split(end)[1]}"
    return page


def main() -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--add", type=Path, help="counts of one more run")
    parser.add_argument("--kind", choices=list(COLUMNS), default="files", help="which script wrote them")
    parser.add_argument("--build", default="normal", help="how the kernels were compiled")
    options = parser.parse_args()
    runs = json.loads(RUNS.read_text(encoding="utf-8"))
    if options.add is not None:
        content = json.loads(options.add.read_text(encoding="utf-8"))
        runs[options.kind] += read_runs(content, options.kind, options.build)
        RUNS.write_text(json.dumps(runs, indent=1) + "\n", encoding="utf-8")
    PAGE.write_text(with_tables(PAGE.read_text(encoding="utf-8"), runs), encoding="utf-8")


if __name__ == "__main__":
    main()
