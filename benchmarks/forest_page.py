"""Writes docs/results/forests.md from stored measurements of `forests.py`.

The page is a function of docs/results/forests/cells.json: the best turn of every library, table and task.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from forest_libraries import BOOSTED, BOOSTED_DEPTH, LIBRARIES, TASKS
from forest_scaling import write_scaling
from forest_tables import title
from measure import table as markdown

PAGE = Path(__file__).parents[1] / "docs" / "results" / "forests.md"
FOLDER = PAGE.with_suffix("")
CELLS = FOLDER / "cells.json"
GROUP = ("series", "size", "task", "table", "library", "members", "jobs")
BEST = ("seconds", "wall", "memory", "predict_seconds", "row_seconds")
GOALS = {
    "forest": {"sklearn": 5.0, "sklearnex": 2.0, "ydf": 5.0, "ranger": 4.0},
    "extra-trees": {"sklearn": 3.0},
    "bagging": {"sklearn": 8.0},
    "bagging-entropy": {"sklearn": 8.0},
    "stumps": {"sklearn": 6.0},
    "boosting": {"sklearn": 6.0},
    "tree": {"sklearn": 5.0},
    "tree-entropy": {"sklearn": 5.0},
}
TITLES = {
    "forest": "Random forests",
    "extra-trees": "Extra trees",
    "bagging": "Bagged CART",
    "bagging-entropy": "Bagged CART, entropy",
    "stumps": "AdaBoost of stumps",
    "boosting": f"AdaBoost of trees of depth {BOOSTED_DEPTH}",
    "tree": "One tree",
    "tree-entropy": "One tree, entropy",
}
INTRODUCTION = """# Forests against other libraries

Measured by `benchmarks/forests.py`; the numbers are in `docs/results/forests/cells.json`. A ratio is the time of a
library divided by that of tremula: above 1, tremula is faster.

- **Time** is processor time in one thread, the best of up to {turns} turns in which the libraries alternate. Every fit
  runs in a process of its own, after a small one; reading the table and bringing it into the form that a library takes
  are not timed. A fit of a minute and more is not repeated.
- **Models** have as many members, fully grown trees, and draw the root of the number of attributes at each node; seeds
  are fixed. AdaBoost may stop early, so its ratios are per member.
- **Rows.** A quarter of a dataset is held out for the test error; generated tables have the stated number of training
  rows. The error is the percentage of wrong classes, or the root mean squared error in per cent of the standard
  deviation of the target.
- **Memory** is what `fit` needs at its peak above the table it is given, the model included.
- **Nominal attributes** are passed as such to tremula, YDF, LightGBM and XGBoost. The others get codes, in the order of
  the levels; those that take no missing values get a code below all others.
- **One row** is the wall time of `predict` for one row, from arrays or frames as above.
"""


def best_turns(cells: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """One cell for all turns, with the best of each quantity."""
    groups: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for cell in cells:
        groups.setdefault(tuple(cell[name] for name in GROUP), []).append(cell)
    return [_best_turn(turns) for turns in groups.values()]


def _best_turn(turns: list[dict[str, Any]]) -> dict[str, Any]:
    measured = [turn for turn in turns if "error" in turn]
    if not measured:
        return turns[0]
    best = {name: value for name, value in measured[0].items() if name != "turn"}
    for name in BEST:
        values = [turn[name] for turn in measured if turn.get(name) is not None]
        if values:
            best[name] = float(f"{min(values):.4g}")
    best["error"] = float(f"{best['error']:.4g}")
    return best | {"turns": sum(turn.get("turns", 1) for turn in measured)}


def page_text(cells: Iterable[dict[str, Any]]) -> str:
    """The page for cells of any number of turns."""
    best = best_turns(cells)
    tables = [cell for cell in best if not cell["series"]]
    parts = [INTRODUCTION.format(turns=max((cell.get("turns", 0) for cell in best), default=0))]
    for task in TASKS:
        part = [cell for cell in tables if cell["task"] == task]
        if part:
            parts += [f"## {TITLES[task]}", _task_text(task, part)]
    if any(cell["jobs"] == 2 for cell in tables):
        parts += ["## Two threads", _threads_text(tables)]
    if any(cell["series"] for cell in best):
        parts += ["## Cost against size", SCALING_TEXT]
    return "\n\n".join(part.strip() for part in [*parts, _notes(best), _environment(best)]) + "\n"


SCALING_TEXT = """![Time and memory against rows, attributes, classes and members](forests/scaling.png)

10,000 generated rows, 20 attributes, 2 classes and 10 members but for what varies. A line ends where a fit failed or
took too long. All points are in `docs/results/forests/scaling.csv`."""


# --- one task ---


def _task_text(task: str, cells: list[dict[str, Any]]) -> str:
    cells = [cell for cell in cells if cell["jobs"] == 1]
    kinds = {cell["table"]: cell["kind"] for cell in cells if "kind" in cell}
    parts = []
    for kind in ("classification", "regression"):
        part = [cell for cell in cells if kinds.get(cell["table"]) == kind]
        if part:
            parts += [f"Ratios of the time of `fit`, {kind}:", _matrix(task, part, "seconds", is_fit=True)]
            if task == "forest":
                parts += ["Ratios of the time of `predict`:", _matrix(task, part, "predict_seconds", is_fit=False)]
    parts += [_memory_text(cells), "All measurements:", _details(cells)]
    return "\n\n".join(parts)


def _memory_text(cells: list[dict[str, Any]]) -> str:
    """Where `fit` needs more memory than scikit-learn's, by a megabyte or more."""
    needed = {(cell["table"], cell["library"]): cell["memory"] for cell in cells if cell.get("memory") is not None}
    pairs = [(table, own, needed.get((table, "sklearn"))) for (table, name), own in needed.items() if name == "tremula"]
    compared = [(table, own, theirs) for table, own, theirs in pairs if theirs is not None]
    more = [f"{title(table)} ({own:.0f} and {theirs:.0f} MB)" for table, own, theirs in compared if own >= theirs + 1]
    if not compared:
        return "Memory was not compared with scikit-learn's."
    count = f"{len(more)} of {len(compared)} tables"
    return f"tremula needs at least a megabyte more memory than scikit-learn on {count}{_listed(more)}."


def _listed(words: list[str]) -> str:
    return f": {', '.join(words)}" if words else ""


def _per_member(cell: dict[str, Any], quantity: str) -> float | None:
    value = cell.get(quantity)
    if value is None or "error" not in cell:
        return None
    return float(value) / cell["trained"] if cell["task"] in BOOSTED else float(value)


def ratio(cell: dict[str, Any], cells: list[dict[str, Any]], quantity: str) -> float | None:
    """Time of a cell divided by that of tremula on the same table with as many members."""
    same = ("task", "table", "members", "jobs", "series", "size")
    ours = [c for c in cells if c["library"] == "tremula" and all(c[name] == cell[name] for name in same)]
    theirs, own = _per_member(cell, quantity), _per_member(ours[0], quantity) if ours else None
    return None if theirs is None or not own else theirs / own


def _matrix(task: str, cells: list[dict[str, Any]], quantity: str, is_fit: bool) -> str:
    libraries = [
        name
        for name in LIBRARIES
        if name != "tremula" and any(c["library"] == name and c.get(quantity) is not None for c in cells)
    ]
    goals = GOALS.get(task, {}) if is_fit else {}
    least: dict[str, float] = {}
    rows = []
    for table in dict.fromkeys(cell["table"] for cell in cells):
        row = [title(table)]
        for name in libraries:
            cell = next((c for c in cells if (c["table"], c["library"]) == (table, name)), None)
            number = None if cell is None else ratio(cell, cells, quantity)
            row.append(_problem(cell) if number is None else f"{number:.1f}")
            if number is not None:
                least[name] = min(number, least.get(name, number))
        rows.append(row)
    rows.append(["**least**", *(f"**{least[name]:.1f}**" if name in least else "" for name in libraries)])
    if any(name in goals for name in libraries):
        rows.append(["goal", *(_verdict(goals[name], least.get(name)) if name in goals else "" for name in libraries)])
    return markdown(["table", *(LIBRARIES[name].label for name in libraries)], rows)


def _verdict(goal: float, least: float | None) -> str:
    return f"{goal:.0f}: {'met' if least is not None and least >= goal else 'missed'}"


def _problem(cell: dict[str, Any] | None) -> str:
    if cell is None:
        return ""
    return f"over {cell['over']:.0f} s" if "over" in cell else "failed" if "failure" in cell else ""


def _details(cells: list[dict[str, Any]]) -> str:
    header = ["table", "library", "members", "fit, s", "ratio", "test error, %", "memory, MB", "leaves a member"]
    header += ["predict, us a row", "ratio", "one row, us"]
    rows = []
    for cell in cells:
        library = LIBRARIES[cell["library"]]
        uses_codes = cell.get("is_nominal") and library.form not in ("frame", "columns")
        name = f"{library.label}{', codes' if uses_codes else ''}"
        if "error" not in cell:
            rows.append([title(cell["table"]), name, cell["members"], _problem(cell), *[""] * 7])
            continue
        ratios = [_number(ratio(cell, cells, quantity), ".1f") for quantity in ("seconds", "predict_seconds")]
        leaves = None if cell["leaves"] is None else cell["leaves"] / cell["trained"]
        predict, row = cell.get("predict_seconds"), cell.get("row_seconds")
        rows.append([
            title(cell["table"]), name, cell["trained"], _number(cell["seconds"], ".3g"), ratios[0],
            _number(cell["error"], ".2f"), _number(cell["memory"], ".0f"), _number(leaves, ".0f"),
            _number(None if predict is None else 1e6 * predict / cell["n_test"], ".2f"), ratios[1],
            _number(None if row is None else 1e6 * row, ".0f"),
        ])  # fmt: skip
    return markdown(header, rows)


def _number(value: float | None, form: str) -> str:
    return "" if value is None else format(value, form)


# --- the rest of the page ---


def _threads_text(cells: list[dict[str, Any]]) -> str:
    rows = []
    for cell in cells:
        if cell["jobs"] != 2 or "error" not in cell:
            continue
        same = ("task", "table", "library", "members")
        single = [c for c in cells if c["jobs"] == 1 and "error" in c and all(c[name] == cell[name] for name in same)]
        if single:
            speed_up = f"{single[0]['wall'] / cell['wall']:.2f}"
            label = LIBRARIES[cell["library"]].label
            rows.append([TITLES[cell["task"]], title(cell["table"]), label, speed_up])
    header = ["task", "table", "library", "times as fast"]
    return "Wall time of `fit` with one thread, divided by that with two.\n\n" + markdown(header, rows)


def _notes(cells: list[dict[str, Any]]) -> str:
    used = [library for name, library in LIBRARIES.items() if any(cell["library"] == name for cell in cells)]
    lines = [f"- {library.label}: {library.note}." for library in used if library.note]
    failures = sorted({f"- {c['library']} on {title(c['table'])}: {c['failure']}" for c in cells if "failure" in c})
    return "\n".join(["## Notes", "", *lines, *failures])


def _environment(cells: list[dict[str, Any]]) -> str:
    versions = {name: number for cell in cells for name, number in cell.get("versions", {}).items()}
    listed = ", ".join(f"{name} {number}" for name, number in sorted(versions.items()))
    commits = sorted({cell["commit"] for cell in cells if cell["library"].startswith("tremula")})
    processors = sorted({cell["processor"] for cell in cells})
    loads = [cell["load"] for cell in cells]
    return (
        f"{listed}; tremula's commit {', '.join(commits) or 'unknown'}; {', '.join(processors)}. The load of the "
        f"machine was {min(loads, default=0)} to {max(loads, default=0)} when a measurement began."
    )


def store_page(cells: Iterable[dict[str, Any]]) -> None:
    """Write the page, and the files it is made of."""
    FOLDER.mkdir(exist_ok=True)
    best = best_turns(cells)
    lines = ",\n".join(json.dumps(cell) for cell in best)
    CELLS.write_text(f"[\n{lines}\n]\n", encoding="utf-8")
    scaling = [cell for cell in best if cell["series"]]
    if scaling:
        write_scaling(scaling, FOLDER)
    PAGE.write_text(page_text(best), encoding="utf-8")
