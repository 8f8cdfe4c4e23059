"""The steps of ``tremula reproduce``: measures the tables and figures of a paper again.

The results are compared with the published ones.
"""

import json
import shlex
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import typer
from rich.console import Console
from rich.table import Table

from tremula.cli.exit_codes import EXIT_CELLS_FAILED
from tremula.cli.options import split_words
from tremula.errors import MissingLibrary, TremulaError, did_you_mean
from tremula.lab.comparison.methods import UnknownMethod
from tremula.lab.datasets import UnknownDataset
from tremula.lab.experiments.cell import Cell, Experiment
from tremula.lab.experiments.kept_cells import KeptCells, no_cells, read_cells
from tremula.lab.papers import PAPERS, find_parts, load_paper
from tremula.lab.papers.paper import Budget, Paper, Part, ShownTable
from tremula.report.reproduction_files import Origin, Shown, show_cell, write_part
from tremula.report.results_summary import update_pages

MISSES = ("better", "worse", "smaller", "larger", "outside", "does not hold")
VERDICTS = ("within", "holds", *MISSES, "not comparable")


def run_reproduction(options: Mapping[str, Any]) -> None:
    """Reproduce a paper by the options; they have the names of the parameters of the command."""
    given = SimpleNamespace(**options)
    if given.paper is None:
        _list_papers()
        return
    budget = _budget(given.quick, given.full, given.jobs)
    if given.splits is not None and given.splits < 1:
        raise typer.BadParameter(f"--splits {given.splits} leaves nothing to measure: give 1 or more")
    chosen_paper = load_paper(given.paper)
    parts = find_parts(chosen_paper, split_words(given.only))
    chosen = _narrow(parts, budget, split_words(given.datasets, ";"), split_words(given.methods, ";"), given.splits)
    limits = {name: getattr(given, name) for name in ("only", "datasets", "methods", "splits")}
    command = _command(given.paper, budget, limits)
    _check_folder(given.out)
    shown, n_failed = [], 0
    for part, experiment in chosen:
        cells_file = given.out / chosen_paper.name / f"{experiment.name.rpartition('/')[2]}.parquet"
        _take_cells(experiment, given.results, cells_file)
        if not given.stored:
            _run(experiment, given.results, given.jobs, given.retry)
        kept = _keep_cells(experiment, given.results, cells_file)
        n_failed += sum(result.failure is not None for result in kept.results)
        shown.append((part, list(part.show(kept.results, budget))))
        if not given.as_json:
            _print_part(part, shown[-1][1])
        _write(cells_file.parent, part, shown[-1][1], Origin.of_cells(chosen_paper.citation, command, kept))
    for page in update_pages(given.out):
        _print_status(f"updated {page}")
    if given.as_json:
        print(json.dumps(_as_json(chosen_paper, budget, command, shown), indent=2, ensure_ascii=False))
    _leave_if_failed(n_failed)


def _budget(quick: bool, full: bool, jobs: int) -> Budget:
    """Return the budget; raise an error for options that exclude each other, and for zero jobs."""
    if quick and full:
        raise typer.BadParameter("--quick and --full exclude each other")
    if jobs == 0:
        raise typer.BadParameter("--jobs 0 is not possible: give 1 or more, or -1 for all processors")
    return "quick" if quick else "full" if full else "default"


def _leave_if_failed(n_failed: int) -> None:
    if n_failed:
        _print_status(f"failed cells: {n_failed}; the notes give the reasons, and --retry measures them again")
        raise typer.Exit(EXIT_CELLS_FAILED)


def _list_papers() -> None:
    console = Console(highlight=False)
    for name in PAPERS:
        paper = load_paper(name)
        console.print(f"{name}: {paper.citation}", markup=False, soft_wrap=True)
        for part in paper.parts:
            console.print(f"  {part.name}: {part.title}", markup=False)
    console.print("To reproduce one of them: tremula reproduce " + next(iter(PAPERS)), markup=False)


def _narrow(
    parts: Sequence[Part], budget: Budget, datasets: Sequence[str], methods: Sequence[str], n_splits: int | None
) -> list[tuple[Part, Experiment]]:
    """Return the parts with their experiments, limited to the named datasets and methods and the first splits."""
    chosen = [(part, part.experiment(budget)) for part in parts]
    cells = [cell for _, experiment in chosen for cell in experiment.cells]
    _check_names(datasets, [cell.dataset for cell in cells], "dataset", UnknownDataset)
    _check_names(methods, [cell.method for cell in cells], "method", UnknownMethod)

    def is_wanted(cell: Cell) -> bool:
        named = (not datasets or cell.dataset in datasets) and (not methods or cell.method in methods)
        return named and (n_splits is None or cell.split < n_splits)

    narrowed = [(part, _limit(experiment, is_wanted)) for part, experiment in chosen]
    return [(part, experiment) for part, experiment in narrowed if experiment.cells]


def _limit(experiment: Experiment, is_wanted: Callable[[Cell], bool]) -> Experiment:
    """Return an experiment, and what stands in for it, with some of the cells."""
    stand_in = experiment.stand_in and _limit(experiment.stand_in, is_wanted)
    return replace(experiment, cells=list(filter(is_wanted, experiment.cells)), stand_in=stand_in)


def _check_names(names: Iterable[str], known: Sequence[str], kind: str, error: type[TremulaError]) -> None:
    listed = list(dict.fromkeys(known))
    for name in names:
        if name not in listed:
            hint = did_you_mean(name, listed) or ": give some of these"
            raise error(f"no {kind} {name!r} in these parts (there are {'; '.join(listed)}){hint}")


def _command(paper: str, budget: Budget, options: Mapping[str, object]) -> str:
    """Return the command that gives the same results; options about output files are omitted."""
    words = ["tremula", "reproduce", paper, *([] if budget == "default" else [f"--{budget}"])]
    for name, value in options.items():
        words += [] if value is None else [f"--{name}", str(value)]
    return shlex.join(words)


def _check_folder(out: Path) -> None:
    """Create the output folder; raise an error before the work starts if that is not possible."""
    if out.exists() and not out.is_dir():
        raise NotADirectoryError(f"{str(out)!r} is a file: give --out the name of a folder")
    out.mkdir(parents=True, exist_ok=True)


def _run(experiment: Experiment, store: Path, jobs: int, retry: bool) -> None:
    from tremula.lab.experiments.run import run_experiment

    run_experiment(experiment, store, n_jobs=jobs, retry_failed=retry)


def _take_cells(experiment: Experiment, store: Path, cells_file: Path) -> None:
    """Start with the cells that are kept beside the page."""
    from tremula.lab.experiments.store import Store

    if cells_file.exists():
        n_taken = Store(store).take_cells(experiment, cells_file)
        _print_status(f"{experiment.name}: {n_taken} cells were taken from {cells_file}")


def _keep_cells(experiment: Experiment, store: Path, cells_file: Path) -> KeptCells:
    """Write the stored cells beside the page, and read them again: the page is made of this file."""
    from tremula.lab.experiments.store import Store

    if not store.exists():
        return no_cells(experiment)
    cells_file.parent.mkdir(parents=True, exist_ok=True)
    opened = Store(store)
    opened.results(experiment)  # raises an error if they are of another version
    opened.write_cells(experiment, cells_file)
    kept = read_cells(cells_file, experiment)
    _print_status(f"{experiment.name}: {len(kept.cells)} of {kept.n_wanted} cells are in {cells_file}")
    return kept


def _write(out: Path, part: Part, shown: Sequence[Shown], origin: Origin) -> None:
    try:
        written = write_part(out, part, shown, origin)
    except MissingLibrary as error:
        _print_status(f"{part.name}: no figures: {error}")
        tables = [item for item in shown if isinstance(item, ShownTable)]
        written = write_part(out, part, tables, origin)
    _print_status(f"{part.name}: wrote {written[0]} and {len(written) - 1} more files")


def _print_status(text: str) -> None:
    Console(stderr=True, soft_wrap=True).print(text, markup=False, highlight=False)


def _print_part(part: Part, shown: Sequence[Shown]) -> None:
    console = Console(highlight=False)
    console.rule(part.title)
    for item in shown:
        if isinstance(item, ShownTable):
            _print_table(console, item)


def _print_table(console: Console, shown: ShownTable) -> None:
    table = Table(title=shown.caption, title_justify="left")
    for heading in shown.columns:
        table.add_column(heading, overflow="fold")
    for row in shown.rows:
        miss = any(value in MISSES for value in row)
        table.add_row(*(show_cell(value).replace("[", r"\[") for value in row), style="bold red" if miss else None)
    console.print(table)
    verdicts = Counter(value for row in shown.rows for value in row if value in VERDICTS)
    if verdicts:
        counts = ", ".join(f"{verdicts[word]} {word}" for word in VERDICTS if verdicts[word])
        console.print(f"Verdicts: {counts}", markup=False)
    for note in shown.notes:
        console.print(f"- {note}", markup=False)


def _as_json(
    paper: Paper, budget: Budget, command: str, shown: Sequence[tuple[Part, Sequence[Shown]]]
) -> dict[str, Any]:
    return {
        "paper": paper.name,
        "citation": paper.citation,
        "budget": budget,
        "command": command,
        "parts": [
            {
                "name": part.name,
                "title": part.title,
                "tables": [
                    {
                        "name": item.name,
                        "caption": item.caption,
                        "columns": list(item.columns),
                        "rows": [list(row) for row in item.rows],
                        "notes": list(item.notes),
                    }
                    for item in tables
                    if isinstance(item, ShownTable)
                ],
                "figures": [item.name for item in tables if not isinstance(item, ShownTable)],
            }
            for part, tables in shown
        ],
    }
