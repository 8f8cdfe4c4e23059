"""``tremula compare``: cross-validate methods on one dataset, print a ranked table, write a page and the best model."""

import json
import os
import platform
import shlex
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from tremula.cli.comparison_table import print_data, print_results
from tremula.cli.model_files import OWN_ENDING, load_model
from tremula.cli.model_saving import OTHER_ENDING, write_fitted
from tremula.cli.options import DropOption, TableOption, TargetOption, TaskOption, check_task_and_jobs, split_words
from tremula.errors import TremulaError
from tremula.lab.comparison.analyses.run import run_analyses
from tremula.lab.comparison.cross_validation import CrossValidation, cross_validate
from tremula.lab.comparison.methods import METHODS, REGRESSION_METHODS, Method, UnknownMethod, choose_methods
from tremula.lab.comparison.peers import LIBRARIES, choose_peers
from tremula.lab.comparison.refit import fit_method, is_made_from
from tremula.lab.comparison.splits import DEFAULT_FOLDS, Folds, check_folds, most_folds, read_folds
from tremula.lab.datasets.by_name import BUNDLED, BUNDLED_NUMBERS
from tremula.lab.datasets.reader import Reading, read_data
from tremula.lab.experiments.store import Store
from tremula.queries.sql.database import without_password
from tremula.report.page import render_page, write_page
from tremula.report.summary import only_finite, rank_methods, summarize

DEFAULT_DATASET = "digits"
PAGE, STORE, MODEL = "report.html", "results.duckdb", "best"
LEAST_BUDGET, MOST_BUDGET = 2.0, 15.0  # seconds for the closer look
SHARE_OF_BUDGET = 1 / 3


@dataclass(frozen=True)
class _Outputs:
    """Where the page, the trials and the best model go; None where they are not wanted."""

    report: Path | None
    results: Path | None
    model: Path | None


def compare(
    data: Annotated[
        str,
        typer.Argument(
            metavar="DATA",
            help="A CSV, TSV, ARFF or Parquet file, a table of a database (duckdb:///folder/file.duckdb#table, "
            "postgresql://user@host/base#table), or the name of a dataset: one that comes with scikit-learn "
            f"({', '.join([*BUNDLED, *BUNDLED_NUMBERS])}), lies in the folder TREMULA_DATA, or is fetched from OpenML "
            "(see tremula data list).",
        ),
    ] = DEFAULT_DATASET,
    target: TargetOption = None,
    task: TaskOption = None,
    methods: Annotated[
        str | None,
        typer.Option(
            help=f"Which, separated by commas. Classification: {', '.join(METHODS)}. Regression: "
            f"{', '.join(REGRESSION_METHODS)}.",
            show_default=f"{', '.join(name for name, method in METHODS.items() if method.usual)}",
        ),
    ] = None,
    against: Annotated[
        str | None,
        typer.Option(help=f"Also methods of other libraries, at their defaults: {', '.join(LIBRARIES)}, by commas."),
    ] = None,
    baseline: Annotated[
        str | None, typer.Option(help="Say how the others compare with this method.", show_default="the best")
    ] = None,
    cv: Annotated[
        str | None,
        typer.Option(
            help="Folds (10), or repetitions and folds (5x2, 10x10).",
            show_default=f"{DEFAULT_FOLDS}, fewer if there are few rows",
        ),
    ] = None,
    drop: DropOption = None,
    table: TableOption = None,
    out: Annotated[
        Path, typer.Option("--out", "-o", help=f"The folder for {PAGE}, {STORE} and {MODEL}.tremula.")
    ] = Path(),
    report: Annotated[bool, typer.Option("--report/--no-report", help="Write the page, or do not.")] = True,
    store: Annotated[
        bool,
        typer.Option("--store/--no-store", help="Keep each trial, so that the same command goes on where it was."),
    ] = True,
    model: Annotated[bool, typer.Option("--model/--no-model", help="Train the best on all rows and write it.")] = True,
    quick: Annotated[
        bool, typer.Option("--quick", help="Skip the closer look (members, bias and variance, noise) of the page.")
    ] = False,
    seed: Annotated[
        int,
        typer.Option(min=0, max=2**32 - 1, help="Decides the folds and every random choice: same seed, same errors."),
    ] = 0,
    jobs: Annotated[
        int, typer.Option(help="Trials at a time; -1 is all processors. With more than one the times to fit grow.")
    ] = 1,
    as_json: Annotated[bool, typer.Option("--json", help="Print the results as JSON instead of a table.")] = False,
) -> None:
    """Compare methods on your rows by cross-validation.

    Prints a ranked table with intervals and says which differences are real; writes a page, the trials and the best
    method trained on all rows. Each trial is kept as soon as it is measured: stopped at any moment, the same command
    goes on where it was.
    """
    begin = time.monotonic()
    command = command_of(locals())
    check_task_and_jobs(task, jobs)
    wanted = None if cv is None else read_folds(cv)
    reading = read_data(data, target, task=task, drop=split_words(drop), table=table)
    chosen = _choose(split_words(methods), split_words(against), baseline, reading.dataset.task)
    outputs = _places(out, report, store, model)
    folds, told = choose_folds(Folds(), reading) if wanted is None else (wanted, [])
    check_folds(reading.dataset, folds)
    if not as_json:
        print_data(reading, told)
    kept = Store(outputs.results, other_versions="keep") if outputs.results else None
    found = cross_validate(chosen, reading.dataset, folds, seed, store=kept, n_jobs=jobs)
    summary = summarize(
        reading.dataset,
        chosen,
        found,
        target=reading.schema.target,
        baseline=baseline,
        guesses=reading.guesses,
        notes=(*reading.notes, *told),
        command=command,
    )
    ranked = rank_methods(chosen, reading.dataset, found)
    if report and not quick:
        summary["analyses"] = _run_analyses(reading, ranked, found, kept, jobs)
    best, trouble = None, None
    try:
        best = _write_best(ranked[0], reading, seed, outputs.model) if outputs.model else None
    except Exception as error:  # the trials were dear: the page comes first, then what went wrong
        trouble = error
        summary["notes"] = [*summary["notes"], f"The best model could not be written: {error}"]
    _show(summary | _about_the_run(begin, jobs), outputs, best, as_json)
    if trouble is not None:
        raise trouble


# --- what is to be done ---


def command_of(options: Mapping[str, Any]) -> str:
    """Return the command that gives the same results: what only says where they go is left out."""
    words = ["tremula", "compare", without_password(str(options["data"]))]
    for name in ("target", "task", "methods", "against", "baseline", "cv", "drop", "table"):
        words += [] if options[name] is None else [f"--{name}", str(options[name])]
    return shlex.join([*words, "--seed", str(options["seed"])])


def _choose(names: Sequence[str], libraries: Sequence[str], baseline: str | None, task: str) -> list[Method]:
    chosen = [*choose_methods(names, task), *choose_peers(libraries, task)]
    if baseline is not None and baseline not in [method.name for method in chosen]:
        listed = ", ".join(method.name for method in chosen)
        raise UnknownMethod(f"--baseline {baseline!r} is none of the methods compared ({listed}): name one of them")
    return chosen


def choose_folds(usual: Folds, reading: Reading) -> tuple[Folds, list[str]]:
    """Return the usual folds, or as many as there can be, and say so."""
    most = max(most_folds(reading.dataset), 2)
    if most >= usual.folds:
        return usual, []
    return Folds(most), [f"There are {most} folds instead of {usual.folds}, as there are few rows."]


def _places(out: Path, report: bool, store: bool, model: bool) -> _Outputs:
    """Find out before the work, not after it, that files have nowhere to go."""
    if out.exists() and not out.is_dir():
        raise NotADirectoryError(f"{str(out)!r} is a file: give --out the name of a folder")
    if report or store or model:
        out.mkdir(parents=True, exist_ok=True)
        if not os.access(out, os.W_OK):
            raise PermissionError(f"the folder {str(out)!r} cannot be written to: give --out another")
    if report and (out / PAGE).is_dir():
        raise IsADirectoryError(f"{str(out / PAGE)!r} is a folder: give --out another folder, or use --no-report")
    return _Outputs(out / PAGE if report else None, out / STORE if store else None, out / MODEL if model else None)


def _run_analyses(
    reading: Reading, ranked: Sequence[Method], found: CrossValidation, kept: Store | None, jobs: int
) -> dict[str, Any]:
    trials = [result for results in found.results.values() for result in results]
    spent = sum(trial.fit_seconds + trial.predict_seconds for trial in trials)
    seconds = {name: sum(t.fit_seconds for t in mine) / len(mine) for name, mine in found.results.items()}
    budget = min(max(SHARE_OF_BUDGET * spent, LEAST_BUDGET), MOST_BUDGET)
    return run_analyses(
        reading.dataset,
        ranked,
        seed=found.seed,
        store=kept,
        n_jobs=jobs,
        fit_seconds=seconds,
        budget_seconds=budget,
    )


def _write_best(method: Method, reading: Reading, seed: int, path: Path) -> Path:
    """Train the best on all rows and write it, unless the file that is there is the same."""
    own = path.with_suffix(OWN_ENDING)
    if own.is_file():
        try:
            if is_made_from(load_model(own), method, reading.dataset, reading.schema, seed):
                return own
        except (TremulaError, OSError):
            pass  # whatever it is, it is replaced
    written = write_fitted(fit_method(method, reading.dataset, reading.schema, seed), path)
    for other in (path.with_suffix(ending) for ending in (OWN_ENDING, OTHER_ENDING)):
        if other != written and other.exists():  # it may be the user's own, so it stays
            told = f"{other} was there before and is left as it is; the best of this comparison is {written}"
            Console(stderr=True, soft_wrap=True).print(told, markup=False, highlight=False)
    return written


def _show(summary: dict[str, Any], outputs: _Outputs, best: Path | None, as_json: bool) -> None:
    """Write the page, and print the table or the JSON."""
    files = {"report": outputs.report, "results": outputs.results, "model": best}
    summary["files"] = {name: None if path is None else str(path) for name, path in files.items()}
    summary = only_finite(summary)
    if outputs.report:
        write_page(outputs.report, render_page(summary))
    if as_json:
        print(json.dumps(summary, indent=2, ensure_ascii=False, allow_nan=False))
    else:
        print_results(summary)


def _about_the_run(begin: float, jobs: int) -> dict[str, Any]:
    return {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "seconds": time.monotonic() - begin,
        "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} processors, {jobs} used",
    }
