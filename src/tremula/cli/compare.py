"""``tremula compare``: cross-validates methods, prints a ranked table, writes a page and the best model."""

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
from tremula.cli.options import (
    DropOption,
    TableOption,
    TargetOption,
    TaskOption,
    UseOption,
    check_task_and_jobs,
    split_words,
)
from tremula.cli.output_names import free_name
from tremula.cli.working import reading_of, working
from tremula.errors import TremulaError
from tremula.lab.comparison.analyses.run import run_analyses
from tremula.lab.comparison.cross_validation import CrossValidation, cross_validate
from tremula.lab.comparison.methods import METHODS, REGRESSION_METHODS, Method, UnknownMethod, choose_methods
from tremula.lab.comparison.peers import LIBRARIES, choose_peers
from tremula.lab.comparison.refit import fit_method, is_made_from
from tremula.lab.comparison.splits import DEFAULT_FOLDS, Folds, check_folds, most_folds, read_folds
from tremula.lab.datasets.catalog import BUNDLED, BUNDLED_NUMBERS
from tremula.lab.datasets.check import short_sentences
from tremula.lab.datasets.dataset import Dataset
from tremula.lab.datasets.reader import Reading, read_data
from tremula.lab.experiments.store import Store
from tremula.queries.sql.database import without_password
from tremula.report.page import render_page, write_page
from tremula.report.summary import only_finite, rank_methods, summarize

DEFAULT_DATASET = "digits"
PAGE, STORE, MODEL = "report.html", "results.duckdb", "best"
LEAST_BUDGET, MOST_BUDGET = 2.0, 15.0  # seconds for the analyses
SHARE_OF_BUDGET = 1 / 3


@dataclass(frozen=True)
class _Outputs:
    """Files of the page, the results and the best model; None if not wanted."""

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
            help=f"Methods to compare, comma-separated. Classification: {', '.join(METHODS)}. Regression: "
            f"{', '.join(REGRESSION_METHODS)}.",
            show_default=f"{', '.join(name for name, method in METHODS.items() if method.usual)}",
        ),
    ] = None,
    against: Annotated[
        str | None,
        typer.Option(
            help=f"Also compare with other libraries at their defaults, comma-separated: {', '.join(LIBRARIES)}."
        ),
    ] = None,
    baseline: Annotated[
        str | None, typer.Option(help="Method to compare the others with.", show_default="the best")
    ] = None,
    cv: Annotated[
        str | None,
        typer.Option(
            help="Number of folds (10), or repetitions and folds (5x2, 10x10).",
            show_default=f"{DEFAULT_FOLDS}, or fewer for few rows",
        ),
    ] = None,
    drop: DropOption = None,
    use: UseOption = None,
    table: TableOption = None,
    out: Annotated[Path, typer.Option("--out", "-o", help=f"Folder for {PAGE}, {STORE} and {MODEL}.tremula.")] = Path(),
    report: Annotated[bool, typer.Option("--report/--no-report", help="Write the report page.")] = True,
    store: Annotated[
        bool,
        typer.Option(
            "--store/--no-store", help="Store each result, so that the same command resumes an interrupted comparison."
        ),
    ] = True,
    model: Annotated[
        bool, typer.Option("--model/--no-model", help="Train the best method on all rows and save it.")
    ] = True,
    quick: Annotated[
        bool, typer.Option("--quick", help="Skip the analyses in the report (members, bias and variance, noise).")
    ] = False,
    seed: Annotated[
        int,
        typer.Option(
            min=0, max=2**32 - 1, help="Determines the folds and every random choice: same seed, same errors."
        ),
    ] = 0,
    jobs: Annotated[
        int,
        typer.Option(help="Number of parallel fits; -1 uses all processors. Fit times are longer with more than one."),
    ] = 1,
    as_json: Annotated[bool, typer.Option("--json", help="Print the results as JSON instead of a table.")] = False,
) -> None:
    """Compare methods on your data by cross-validation.

    Prints a ranked table with intervals and says which differences are significant. Writes a report page, the results,
    and the best method trained on all rows. Each result is stored immediately: if interrupted, run the same command
    again to resume.
    """
    begin = time.monotonic()
    command = command_of(locals())
    check_task_and_jobs(task, jobs)
    wanted_folds = None if cv is None else read_folds(cv)
    with working(reading_of(data)):
        reading = read_data(
            data, target, task=task, drop=split_words(drop), table=table, check=True, use=split_words(use)
        )
    chosen = _choose(split_words(methods), split_words(against), baseline, reading.dataset.task)
    outputs = _check_outputs(out, report, store, model, reading.dataset)
    folds, notes = choose_folds(Folds(), reading) if wanted_folds is None else (wanted_folds, [])
    check_folds(reading.dataset, folds)
    if not as_json:
        print_data(reading, notes)
    results = Store(outputs.results, other_versions="keep") if outputs.results else None
    validation = cross_validate(chosen, reading.dataset, folds, seed, store=results, n_jobs=jobs)
    summary = summarize(
        reading.dataset,
        chosen,
        validation,
        target=reading.schema.target,
        baseline=baseline,
        guesses=reading.guesses,
        notes=(*reading.notes, *notes, *short_sentences(reading.findings)),
        command=command,
    )
    ranked = rank_methods(chosen, reading.dataset, validation)
    if report and not quick:
        summary["analyses"] = _run_analyses(reading, ranked, validation, results, jobs)
    with working(f"training {ranked[0].label} on all rows"):
        best, error = _try_to_write_best(ranked[0], reading, seed, outputs.model)
    if error is not None:
        summary["notes"] = [*summary["notes"], f"The best model could not be written: {error}"]
    _show(summary | _about_the_run(begin, jobs), outputs, best, as_json)
    if error is not None:
        raise error


# --- options ---


def command_of(options: Mapping[str, Any]) -> str:
    """Return the command that gives the same results; options about output files are omitted."""
    words = ["tremula", "compare", without_password(str(options["data"]))]
    for name in ("target", "task", "methods", "against", "baseline", "cv", "drop", "use", "table"):
        words += [] if options[name] is None else [f"--{name}", str(options[name])]
    return shlex.join([*words, "--seed", str(options["seed"])])


def _choose(names: Sequence[str], libraries: Sequence[str], baseline: str | None, task: str) -> list[Method]:
    chosen = [*choose_methods(names, task), *choose_peers(libraries, task)]
    if baseline is not None and baseline not in [method.name for method in chosen]:
        listed = ", ".join(method.name for method in chosen)
        raise UnknownMethod(f"--baseline {baseline!r} is not one of the methods compared ({listed}): name one of them")
    return chosen


def choose_folds(default: Folds, reading: Reading) -> tuple[Folds, list[str]]:
    """Return the default folds, or as many as possible for few rows, with a note."""
    most = max(most_folds(reading.dataset), 2)
    if most >= default.folds:
        return default, []
    return Folds(most), [f"There are {most} folds instead of {default.folds} because there are few rows."]


def _check_outputs(out: Path, report: bool, store: bool, model: bool, dataset: Dataset) -> _Outputs:
    """Return the files to write; raise an error before the work starts if they cannot be written."""
    if out.exists() and not out.is_dir():
        raise NotADirectoryError(f"{str(out)!r} is a file: give --out the name of a folder")
    if report or store or model:
        out.mkdir(parents=True, exist_ok=True)
        if not os.access(out, os.W_OK):
            raise PermissionError(f"the folder {str(out)!r} is not writable: give --out another folder")
    if report and (out / PAGE).is_dir():
        raise IsADirectoryError(f"{str(out / PAGE)!r} is a folder: give --out another folder, or use --no-report")
    page, best = free_name(out / PAGE, dataset), free_name((out / MODEL).with_suffix(OWN_ENDING), dataset)
    return _Outputs(page if report else None, out / STORE if store else None, best.with_suffix("") if model else None)


# --- analyses and the best model ---


def _run_analyses(
    reading: Reading, ranked: Sequence[Method], validation: CrossValidation, store: Store | None, jobs: int
) -> dict[str, Any]:
    """Run the analyses of the report, with a budget in proportion to the time of the cross-validation."""
    by_method = validation.results.items()
    spent = sum(result.fit_seconds + result.predict_seconds for _, results in by_method for result in results)
    seconds = {name: sum(result.fit_seconds for result in results) / len(results) for name, results in by_method}
    budget = min(max(SHARE_OF_BUDGET * spent, LEAST_BUDGET), MOST_BUDGET)
    return run_analyses(
        reading.dataset,
        ranked,
        seed=validation.seed,
        store=store,
        n_jobs=jobs,
        fit_seconds=seconds,
        budget_seconds=budget,
    )


def _try_to_write_best(
    method: Method, reading: Reading, seed: int, path: Path | None
) -> tuple[Path | None, Exception | None]:
    """Return the file of the best model, or the error: the page must be written even if the model cannot be."""
    try:
        return (None if path is None else _write_best(method, reading, seed, path)), None
    except Exception as error:
        return None, error


def _write_best(method: Method, reading: Reading, seed: int, path: Path) -> Path:
    """Train the best method on all rows and save it, unless the file already holds the same model."""
    own = path.with_suffix(OWN_ENDING)
    if own.is_file():
        try:
            if is_made_from(load_model(own), method, reading.dataset, reading.schema, seed):
                return own
        except (TremulaError, OSError):
            pass  # an unreadable file is replaced
    written = write_fitted(fit_method(method, reading.dataset, reading.schema, seed), path)
    for other in (path.with_suffix(ending) for ending in (OWN_ENDING, OTHER_ENDING)):
        if other != written and other.exists():  # it may be the user's own file
            note = f"{other} existed before and is unchanged; the best model of this comparison is {written}"
            Console(stderr=True, soft_wrap=True).print(note, markup=False, highlight=False)
    return written


def _show(summary: dict[str, Any], outputs: _Outputs, best: Path | None, as_json: bool) -> None:
    """Write the page and print the table or the JSON."""
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
