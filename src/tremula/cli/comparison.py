"""The work of ``tremula compare``: cross-validates methods, prints a ranked table, writes a page and the best model."""

import json
import os
import platform
import shlex
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rich.console import Console

from tremula.cli.compare_datasets import check_readings, compare_on_datasets, find_datasets
from tremula.cli.compare_options import DEFAULT_DATASET, MODEL, PAGE, STORE
from tremula.cli.comparison_table import print_data, print_results
from tremula.cli.model_files import OWN_ENDING, load_model
from tremula.cli.model_saving import OTHER_ENDING, write_fitted
from tremula.cli.options import check_task_and_jobs, split_words
from tremula.cli.output_names import free_name
from tremula.cli.start_time import start_of_command
from tremula.cli.time_order import COVERED, in_time_order, propose_time
from tremula.cli.until_clear import validate_until_clear
from tremula.cli.working import reading_of, without_identifier_warnings, working
from tremula.errors import InvalidParameter, TremulaError
from tremula.lab.comparison.analyses.run import run_analyses
from tremula.lab.comparison.best_method.description import describe_best
from tremula.lab.comparison.constant import measure_constant
from tremula.lab.comparison.cross_validation import CrossValidation, cross_validate
from tremula.lab.comparison.methods import Method, UnknownMethod, choose_methods
from tremula.lab.comparison.metrics import Metric, choose_metric, say_imbalance
from tremula.lab.comparison.peers import choose_peers
from tremula.lab.comparison.refit import fit_method, is_made_from
from tremula.lab.comparison.splits import Folds, check_folds, make_splits, most_folds, read_folds
from tremula.lab.datasets.check import short_sentences
from tremula.lab.datasets.reader import Reading, read_data
from tremula.lab.experiments.store import Store
from tremula.queries.sql.database import without_password
from tremula.report.decisions import Question, seconds_of
from tremula.report.page import render_page, write_page
from tremula.report.summary import only_finite, rank_methods, summarize
from tremula.report.vega import load_library

LEAST_BUDGET, MOST_BUDGET = 2.0, 15.0  # seconds for the analyses
SHARE_OF_BUDGET = 1 / 3


@dataclass(frozen=True)
class _Outputs:
    """Files of the page, the results and the best model; None if not wanted."""

    report: Path | None
    results: Path | None
    model: Path | None


def run_comparison(options: Mapping[str, Any]) -> None:
    """Compare methods by the options of ``tremula compare``."""
    begin, jobs, as_json = start_of_command(), options["jobs"], options["as_json"]
    check_task_and_jobs(options["task"], jobs)
    wanted_folds = None if options["cv"] is None else read_folds(options["cv"])
    readings, notes = _read_all(options, in_time=wanted_folds is not None and wanted_folds.in_time)
    check_readings(readings)
    outputs = _check_outputs(options, readings)
    plans = {
        reading.dataset.name: _plan(options, reading, wanted_folds, notes[number])
        for number, reading in enumerate(readings)
    }
    results = Store(outputs.results, other_versions="keep") if outputs.results else None

    def measure(reading: Reading) -> tuple[dict[str, Any], CrossValidation]:
        plan = plans[reading.dataset.name]
        if not as_json:
            print_data(reading, plan.notes)
        return _measure(plan, reading, results, jobs, options["until_clear"])

    if len(readings) > 1:
        compare_on_datasets(readings, measure, outputs.report, command_of(options), as_json)
        return
    reading, plan = readings[0], plans[readings[0].dataset.name]
    summary, validation = measure(reading)
    ranked = rank_methods(plan.methods, reading.dataset, validation, plan.metric)
    summary |= _analyse(reading, ranked, validation, results, options, outputs)
    with working(f"training {ranked[0].label} on all rows"):
        best, error = _try_to_write_best(ranked[0], reading, plan.seed, outputs.model)
    if error is not None:
        summary["notes"] = [*summary["notes"], f"The best model could not be written: {error}"]
    if outputs.report:
        load_library()  # the first time it takes seconds, which are part of the time spent
    _show(summary | _about_the_run(begin, jobs), outputs, best, as_json)
    if error is not None:
        raise error


def _analyse(
    reading: Reading,
    ranked: list[Method],
    validation: CrossValidation,
    results: Store | None,
    options: Mapping[str, Any],
    outputs: _Outputs,
) -> dict[str, Any]:
    """Return what the page says of the best method, and its analyses unless the user is in a hurry."""
    added: dict[str, Any] = {}
    if outputs.report and not options["quick"]:
        added["analyses"] = _run_analyses(reading, ranked, validation, results, options["jobs"])
    attributes = added.get("analyses", {}).get("attributes")
    return added | {"best_method": describe_best(ranked[0], reading.dataset, validation, attributes)}


def _read_all(options: Mapping[str, Any], in_time: bool) -> tuple[list[Reading], list[list[str]]]:
    """Read every dataset named, with notes on the order of its rows."""
    if in_time and options["until_clear"]:
        raise InvalidParameter("--until-clear repeats with other folds, and --cv time has no others: give one of them")
    choices = {"task": options["task"], "drop": split_words(options["drop"]), "use": split_words(options["use"])}
    readings = []
    for place in find_datasets(options["data"] or [DEFAULT_DATASET]):
        with working(reading_of(place)):
            readings.append(read_data(place, options["target"], table=options["table"], check=True, **choices))
    if not in_time:
        return readings, [propose_time(reading) if options["cv"] is None else [] for reading in readings]
    ordered = [in_time_order(reading) for reading in readings]
    return [reading for reading, _ in ordered], [[*notes, COVERED] for _, notes in ordered]


# --- the plan ---


@dataclass(frozen=True)
class _Plan:
    """What is measured and asked."""

    methods: list[Method]
    metric: Metric
    question: Question
    folds: Folds
    seed: int
    notes: list[str]
    command: str


def _plan(
    options: Mapping[str, Any], reading: Reading, wanted_folds: Folds | None, notes_on_order: Sequence[str]
) -> _Plan:
    dataset = reading.dataset
    baseline = options["baseline"]
    if baseline is not None and options["all_pairs"]:
        raise InvalidParameter("--baseline and --all-pairs were given: give one, since they test other pairs")
    methods = _choose(split_words(options["methods"]), split_words(options["against"]), baseline, dataset.task)
    metric = choose_metric(options["metric"], dataset)
    folds, notes = choose_folds(Folds(), reading) if wanted_folds is None else (wanted_folds, [])
    check_folds(dataset, folds)
    if metric.scorer:  # a scorer that does not fit the data is told before anything is trained
        measure_constant(dataset, make_splits(dataset, folds, options["seed"])[:1], metric)
    question = Question(baseline, options["all_pairs"], options["rope"])
    notes = [*notes_on_order, *notes, *say_imbalance(dataset, metric)]
    return _Plan(methods, metric, question, folds, options["seed"], notes, command_of(options))


def _measure(
    plan: _Plan, reading: Reading, store: Store | None, jobs: int, until_clear: bool
) -> tuple[dict[str, Any], CrossValidation]:
    """Cross-validate, once or until the decision is clear, and summarize."""
    dataset, question, notes = (
        reading.dataset,
        plan.question,
        [*reading.notes, *plan.notes, *short_sentences(reading.findings)],
    )

    known, reused = 0, 0

    def validate(folds: Folds) -> CrossValidation:
        nonlocal known, reused
        validation = cross_validate(
            plan.methods, dataset, folds, plan.seed, store=store, n_jobs=jobs, metric=plan.metric
        )
        reused += max(validation.n_reused - known, 0)  # without those of this run's earlier looks
        known = validation.n_results
        return validation

    if until_clear:
        validation, question, note = validate_until_clear(
            validate, plan.methods, dataset, plan.metric, plan.folds, question
        )
        notes.append(note)
    else:
        validation = validate(plan.folds)
    if question.baseline in validation.failures:
        notes.append(f"The baseline {question.baseline} failed, so it was tested which methods may be the best.")
        question = replace(question, baseline=None)
    summary = summarize(
        dataset,
        plan.methods,
        validation,
        target=reading.schema.target,
        metric=plan.metric,
        question=question,
        guesses=reading.guesses,
        notes=notes,
        command=plan.command,
    )
    spent = {"seconds": seconds_of(validation), "results": validation.n_results, "reused": reused}
    return summary | {"measured": spent, "check": short_sentences(reading.findings)}, validation


# --- options ---


def command_of(options: Mapping[str, Any]) -> str:
    """Return the command that gives the same results; options about output files are omitted."""
    words = ["tremula", "compare", *map(without_password, options["data"] or [DEFAULT_DATASET])]
    for name in ("target", "task", "methods", "against", "metric", "baseline", "rope", "cv", "drop", "use", "table"):
        words += [] if options.get(name) is None else [f"--{name}", str(options[name])]
    words += [f"--{name.replace('_', '-')}" for name in ("all_pairs", "until_clear") if options.get(name)]
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


def _check_outputs(options: Mapping[str, Any], readings: Sequence[Reading]) -> _Outputs:
    """Return the files to write; raise an error before the work starts if they cannot be written."""
    out, report, store = options["out"], options["report"], options["store"]
    dataset = readings[0].dataset if len(readings) == 1 else None
    model = options["model"] and dataset is not None
    if out.exists() and not out.is_dir():
        raise NotADirectoryError(f"{str(out)!r} is a file: give --out the name of a folder")
    if report or store or model:
        out.mkdir(parents=True, exist_ok=True)
        if not os.access(out, os.W_OK):
            raise PermissionError(f"the folder {str(out)!r} is not writable: give --out another folder")
    if report and (out / PAGE).is_dir():
        raise IsADirectoryError(f"{str(out / PAGE)!r} is a folder: give --out another folder, or use --no-report")
    page, best = out / PAGE, (out / MODEL).with_suffix(OWN_ENDING)
    if dataset is not None:
        page, best = free_name(page, dataset), free_name(best, dataset)
    return _Outputs(page if report else None, out / STORE if store else None, best.with_suffix("") if model else None)


# --- analyses and the best model ---


def _run_analyses(
    reading: Reading, ranked: Sequence[Method], validation: CrossValidation, store: Store | None, jobs: int
) -> dict[str, Any]:
    """Run the analyses of the report, with a budget in proportion to the time of the cross-validation."""
    by_method = validation.results.items()
    spent = sum(result.fit_seconds + result.predict_seconds for _, results in by_method for result in results)
    seconds = {name: sum(result.fit_seconds for result in results) / len(results) for name, results in by_method}
    rows = {name: sum(result.n_test for result in results) for name, results in by_method}
    asking = {name: sum(result.predict_seconds for result in results) / rows[name] for name, results in by_method}
    budget = min(max(SHARE_OF_BUDGET * spent, LEAST_BUDGET), MOST_BUDGET)
    return run_analyses(
        reading.dataset,
        ranked,
        seed=validation.seed,
        store=store,
        n_jobs=jobs,
        fit_seconds=seconds,
        predict_seconds=asking,
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
    with without_identifier_warnings():
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
