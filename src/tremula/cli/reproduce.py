"""``tremula reproduce``: tables and figures of a paper, measured again and shown beside the published ones."""

import json
import shlex
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from tremula.errors import MissingLibrary, TremulaError, did_you_mean
from tremula.lab.comparison.methods import UnknownMethod
from tremula.lab.datasets import UnknownDataset
from tremula.lab.experiments.cell import Experiment
from tremula.lab.experiments.result import Result
from tremula.lab.papers import PAPERS, find_parts, load_paper
from tremula.lab.papers.paper import Budget, Paper, Part, ShownTable
from tremula.report.reproduction_files import Origin, Shown, show_cell, write_part

EXIT_CELLS_FAILED = 5
DEFAULT_STORE = Path("reproduce.duckdb")
DEFAULT_FOLDER = Path("reproduced")
MISSES = ("better", "worse", "outside", "does not hold")
VERDICTS = ("within", "holds", *MISSES, "not comparable")


def reproduce(
    paper: Annotated[
        str | None, typer.Argument(help=f"Which: {', '.join(PAPERS)}.", show_default="list what there is")
    ] = None,
    only: Annotated[
        str | None, typer.Option(help="Parts, separated by commas, such as table1,table2.", show_default="all")
    ] = None,
    datasets: Annotated[
        str | None, typer.Option(help="Only these datasets, separated by semicolons.", show_default="all")
    ] = None,
    methods: Annotated[
        str | None, typer.Option(help="Only these methods, separated by semicolons.", show_default="all")
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Minutes: few datasets, folds and members.")] = False,
    full: Annotated[bool, typer.Option("--full", help="The paper's own sizes: hours to days.")] = False,
    store: Annotated[Path, typer.Option(help="The DuckDB file that keeps what is measured.")] = DEFAULT_STORE,
    out: Annotated[Path, typer.Option(help="The folder to write Markdown, CSV and PNG files to.")] = DEFAULT_FOLDER,
    jobs: Annotated[int, typer.Option(help="Cells measured at once; -1 is all processors.")] = 1,
    retry: Annotated[bool, typer.Option("--retry", help="Measure cells again that failed before.")] = False,
    kept: Annotated[bool, typer.Option("--kept", help="Measure nothing: show what the store has so far.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the tables as JSON.")] = False,
) -> None:
    """Measure the tables and figures of a paper again and show them beside the published ones.

    What is measured is kept in the store at once: stopped at any moment, the same command goes on
    where it was. Without --quick or --full a paper takes about an hour on two cores.
    """
    if paper is None:
        _list_papers()
        return
    if quick and full:
        raise typer.BadParameter("--quick and --full exclude each other")
    if jobs == 0:
        raise typer.BadParameter("--jobs 0 measures nothing: give 1 or more, or -1 for all processors")
    budget: Budget = "quick" if quick else "full" if full else "default"
    found = load_paper(paper)
    parts = find_parts(found, _split(only, ","))
    chosen = _narrow(parts, budget, _split(datasets, ";"), _split(methods, ";"))
    command = _command(paper, budget, only=only, datasets=datasets, methods=methods)
    _check_folder(out)
    shown, n_failed = [], 0
    for part, experiment in chosen:
        results = _kept(experiment, store) if kept else _run(experiment, store, jobs, retry)
        n_failed += sum(result.failure is not None for result in results)
        shown.append((part, list(part.show(results, budget))))
        if not as_json:
            _print_part(part, shown[-1][1])
        _write(out, part, shown[-1][1], found, command)
    if as_json:
        print(json.dumps(_as_json(found, budget, command, shown), indent=2, ensure_ascii=False))
    if n_failed:
        _say(f"cells that failed: {n_failed}; the notes say why, and --retry measures them again")
        raise typer.Exit(EXIT_CELLS_FAILED)


def _list_papers() -> None:
    console = Console(highlight=False)
    for name in PAPERS:
        paper = load_paper(name)
        console.print(f"{name}: {paper.citation}", markup=False, soft_wrap=True)
        for part in paper.parts:
            console.print(f"  {part.name}: {part.title}", markup=False)
    console.print("Give one of them: tremula reproduce " + next(iter(PAPERS)), markup=False)


def _split(words: str | None, between: str) -> list[str]:
    return [word.strip() for word in (words or "").split(between) if word.strip()]


def _narrow(
    parts: Sequence[Part], budget: Budget, datasets: Sequence[str], methods: Sequence[str]
) -> list[tuple[Part, Experiment]]:
    """Return the parts with their experiments, of which only the datasets and methods named are left."""
    chosen = [(part, part.experiment(budget)) for part in parts]
    cells = [cell for _, experiment in chosen for cell in experiment.cells]
    _check_names(datasets, [cell.dataset for cell in cells], "dataset", UnknownDataset)
    _check_names(methods, [cell.method for cell in cells], "method", UnknownMethod)
    narrowed = []
    for part, experiment in chosen:
        left = [
            cell
            for cell in experiment.cells
            if (not datasets or cell.dataset in datasets) and (not methods or cell.method in methods)
        ]
        if left:
            narrowed.append((part, replace(experiment, cells=left)))
    return narrowed


def _check_names(names: Iterable[str], known: Sequence[str], kind: str, error: type[TremulaError]) -> None:
    listed = list(dict.fromkeys(known))
    for name in names:
        if name not in listed:
            hint = did_you_mean(name, listed) or ": give some of these"
            raise error(f"no {kind} {name!r} in what was asked for (there are {'; '.join(listed)}){hint}")


def _command(paper: str, budget: Budget, **options: str | None) -> str:
    """Return the command that gives the same results: what only says where they go is left out."""
    words = ["tremula", "reproduce", paper, *([] if budget == "default" else [f"--{budget}"])]
    for name, value in options.items():
        words += [] if value is None else [f"--{name}", value]
    return shlex.join(words)


def _check_folder(out: Path) -> None:
    """Find out before the work, not after it, that the files have nowhere to go."""
    if out.exists() and not out.is_dir():
        raise NotADirectoryError(f"{str(out)!r} is a file: give --out the name of a folder")
    out.mkdir(parents=True, exist_ok=True)


def _run(experiment: Experiment, store: Path, jobs: int, retry: bool) -> list[Result]:
    from tremula.lab.experiments.run import run_experiment

    return run_experiment(experiment, store, n_jobs=jobs, retry_failed=retry)


def _kept(experiment: Experiment, store: Path) -> list[Result]:
    from tremula.lab.experiments.store import Store

    results = Store(store).results(experiment)
    _say(f"{experiment.name}: {len(results)} of {len(experiment.cells)} cells are in {store}")
    return results


def _write(out: Path, part: Part, shown: Sequence[Shown], paper: Paper, command: str) -> None:
    origin = Origin.now(paper.citation, command)
    try:
        written = write_part(out / paper.name, part, shown, origin)
    except MissingLibrary as error:
        _say(f"{part.name}: no figures, since {error}")
        tables = [one for one in shown if isinstance(one, ShownTable)]
        written = write_part(out / paper.name, part, tables, origin)
    _say(f"{part.name}: wrote {written[0]} and {len(written) - 1} files beside it")


def _say(words: str) -> None:
    Console(stderr=True, soft_wrap=True).print(words, markup=False, highlight=False)


def _print_part(part: Part, shown: Sequence[Shown]) -> None:
    console = Console(highlight=False)
    console.rule(part.title)
    for one in shown:
        if isinstance(one, ShownTable):
            _print_table(console, one)


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
        told = ", ".join(f"{verdicts[word]} {word}" for word in VERDICTS if verdicts[word])
        console.print(f"Verdicts: {told}", markup=False)
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
                        "name": one.name,
                        "caption": one.caption,
                        "columns": list(one.columns),
                        "rows": [list(row) for row in one.rows],
                        "notes": list(one.notes),
                    }
                    for one in tables
                    if isinstance(one, ShownTable)
                ],
                "figures": [one.name for one in tables if not isinstance(one, ShownTable)],
            }
            for part, tables in shown
        ],
    }
