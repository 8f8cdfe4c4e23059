"""What cross-validation does not show: how an ensemble's members differ, of what errors are made, what noise does.

Every look is an experiment of its own in the same store: measured once, kept, and resumed. How many methods and
repetitions there are follows from a budget of time; what is found for a given number follows from the seed alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.ensemble import AdaBoostClassifier, BaggingClassifier, ExtraTreesClassifier, RandomForestClassifier

from tremula.lab.comparison.analysis_cells import TERMS, MembersLook, NoiseLook, PartsLook, draw_rows
from tremula.lab.comparison.cross_validation import checksum, stored_name
from tremula.lab.comparison.methods import Method
from tremula.lab.datasets.dataset import Dataset
from tremula.lab.experiments.cell import Cell, Experiment
from tremula.lab.experiments.result import Result
from tremula.lab.experiments.run import run_experiment

LEVELS = {"classification": (0.0, 0.05, 0.1, 0.2), "regression": (0.0, 0.1, 0.25, 0.5)}
SCALES = {"classification": 100.0, "regression": 1.0}  # errors are shown in percent, or in units of the target
METHOD_COUNTS = (4, 3, 2, 1)
MODEL_COUNTS = (20, 10, 6)  # for bias and variance
REPETITIONS = (5, 3, 2)  # of the halves for noise
FEWEST_ROWS = 40
ROWS_OF_A_START = 500  # what a fit costs however few the rows, in rows
WITH_ANSWERS = 1.3
MOST_OF_BUDGET = 0.6
BUDGET_SECONDS = 20.0
VOTING = (AdaBoostClassifier, BaggingClassifier, ExtraTreesClassifier, RandomForestClassifier)
PARTS = {"kappa": "κ-error diagram", "bias_variance": "bias and variance", "noise": "noise curves"}


@dataclass(frozen=True, eq=False)
class _Bench:
    """Where all looks are made: the rows, the methods from the best, the store and the budget."""

    dataset: Dataset
    methods: Sequence[Method]
    seed: int
    fit_seconds: Mapping[str, float]
    whole_rows: int
    run: Mapping[str, Any]

    @property
    def by_name(self) -> dict[str, Method]:
        return {method.name: method for method in self.methods}

    def settings(self, **others: Any) -> dict[str, Any]:
        peers = [stored_name(method) for method in self.methods if method.library != "tremula"]
        versions = {"peers": sorted(peers)} if peers else {}
        return {"data": checksum(self.dataset), "seed": self.seed, **versions, **others}

    def seconds(self, methods: Sequence[Method], share: float) -> float:
        """Guess how long it takes to fit each of these once to a share of the rows, and to have it answer."""
        rows = (share * len(self.dataset.y) + ROWS_OF_A_START) / (self.whole_rows + ROWS_OF_A_START)
        return WITH_ANSWERS * rows * sum(self.fit_seconds.get(method.name, 0.0) for method in methods)

    def measure(self, experiment: Experiment) -> list[Result]:
        return run_experiment(experiment, retry_failed=True, **self.run)


class _LeftOut(Exception):
    """A look is not made; the message says why."""


def look_closer(
    dataset: Dataset,
    methods: Sequence[Method],
    *,
    seed: int = 0,
    store: Any = None,
    n_jobs: int | None = None,
    progress: bool | None = None,
    fit_seconds: Mapping[str, float] | None = None,
    budget_seconds: float = BUDGET_SECONDS,
) -> dict[str, Any]:
    """Measure what the charts of a comparison need beyond its cross-validation.

    Parameters
    ----------
    dataset : Dataset
    methods : sequence of Method
        The best first; those that could learn from the dataset.
    seed : int, default=0
        Decides every draw.
    store : Store, path or None, default=None
        Where cells are kept; None keeps nothing.
    n_jobs : int or None, default=None
        Cells at a time, as in joblib.
    progress : bool or None, default=None
        As in `run_experiment`.
    fit_seconds : mapping of str to float, default=None
        What fitting a method once took in the cross-validation, by its name; decides with the budget how much is
        measured. None takes every fit as free.
    budget_seconds : float, default=20.0
        About how long it may take, one cell at a time.

    Returns
    -------
    dict
        Plain: ``kappa``, ``bias_variance``, ``noise``, where measured, and ``left_out``: parts with the reason.

    Examples
    --------
    >>> from tremula.lab.datasets import load_dataset
    >>> from tremula.lab.comparison.analyses import look_closer
    >>> from tremula.lab.comparison.methods import choose_methods
    >>> methods = choose_methods(["c45", "reptree"])
    >>> found = look_closer(load_dataset("iris"), methods, progress=False)
    >>> [curve["label"] for curve in found["noise"]["curves"]]
    ['C4.5', 'REPTree']
    >>> found["left_out"]
    [{'part': 'κ-error diagram', 'why': 'none of the methods is an ensemble whose members each predict a class'}]
    """
    rows = draw_rows(dataset, seed)
    run = {"store": store, "n_jobs": n_jobs, "progress": progress}
    bench = _Bench(rows, list(methods), seed, fit_seconds or {}, len(dataset.y), run)
    found: dict[str, Any] = {"left_out": []}
    for name, look in LOOKS.items():
        try:
            _refuse_few_rows(rows)
            found[name] = look(bench, budget_seconds)
        except _LeftOut as why:
            found["left_out"].append({"part": PARTS[name], "why": str(why)})
    return found


def _refuse_few_rows(dataset: Dataset) -> None:
    if len(dataset.y) < FEWEST_ROWS:
        raise _LeftOut(f"{len(dataset.y)} rows are too few to be divided further")


# --- how much ---


def estimator_of(method: Method, dataset: Dataset) -> Any:
    """Return the estimator of a method, the last one where it is a pipeline."""
    built = method.build(dataset.nominal, 0)
    return built[-1] if hasattr(built, "steps") else built


def choose_contrast(methods: Sequence[Method], dataset: Dataset, most: int) -> list[Method]:
    """Choose methods that differ: the best, the best single tree, then one of each further kind of estimator.

    Examples
    --------
    >>> from tremula.lab.datasets import load_dataset
    >>> from tremula.lab.comparison.methods import choose_methods
    >>> methods = choose_methods(["bagging", "adaboost", "c45", "cart", "cart-unpruned"])
    >>> [method.name for method in choose_contrast(methods, load_dataset("iris"), 3)]
    ['bagging', 'c45', 'adaboost']
    """
    estimators = {method.name: estimator_of(method, dataset) for method in methods}
    single = [method for method in methods if method.family == "tree"]
    chosen: list[Method] = []
    for method in [*methods[:1], *single[:1], *methods]:
        kinds = {type(estimators[other.name]) for other in chosen}
        if len(chosen) < most and type(estimators[method.name]) not in kinds:
            chosen.append(method)
    return sorted(chosen[:2], key=list(methods).index) + chosen[2:]


def _plan(bench: _Bench, counts: Sequence[int], share: float, times: int, budget: float) -> tuple[list[Method], int]:
    """Choose as many methods, and then repetitions, as the budget allows, without those that alone take most of it."""

    def costs(methods: Sequence[Method], count: int) -> float:
        return bench.seconds(methods, share) * times * count

    least = min(costs([method], counts[-1]) for method in bench.methods)
    if least > budget:
        raise _LeftOut(f"it would take about {least:,.0f} s, more than the {budget:,.0f} s it may")
    within = [method for method in bench.methods if costs([method], counts[-1]) <= MOST_OF_BUDGET * budget]
    for n_methods in METHOD_COUNTS:
        methods = choose_contrast(within or bench.methods, bench.dataset, n_methods)
        for count in counts:
            if costs(methods, count) <= budget:
                return methods, count
    cheapest = min(bench.methods, key=lambda method: costs([method], counts[-1]))
    return [cheapest], counts[-1]


def _tell_slow(bench: _Bench, methods: Sequence[Method]) -> list[str]:
    """Return the methods that rank before all of these but took too long, for the caption."""
    names = {method.name for method in methods}
    places = [place for place, method in enumerate(bench.methods) if method.name in names]
    return [method.label for method in bench.methods[: min(places)]]


def _values_of(results: Sequence[Result]) -> list[Result]:
    """Return the results; where one failed there is nothing to show."""
    for result in results:
        if result.failure is not None:
            raise _LeftOut(f"{result.method} failed on a part of the rows: {result.failure}")
    return list(results)


# --- the looks ---


def _look_at_members(bench: _Bench, budget: float) -> dict[str, Any]:
    if bench.dataset.task != "classification":
        raise _LeftOut("members that predict numbers do not agree or disagree on a class")
    method = _best_voting(bench, budget / 2)
    measure = MembersLook(bench.by_name, bench.dataset, bench.seed)
    cells = [Cell(bench.dataset.name, method.name, 0)]
    (result,) = _values_of(bench.measure(Experiment("closer/kappa", bench.settings(), cells, measure)))
    values = result.values
    shown = sum(name.startswith("with ensemble ") for name in values)
    errors = [100 * values[f"error {member}"] for member in range(shown)]
    couples = [(first, second) for first in range(shown) for second in range(first + 1, shown)]
    kappas = [values[f"kappa {first} {second}"] for first, second in couples]
    means = [(errors[first] + errors[second]) / 2 for first, second in couples]
    return {
        "method": method.name,
        "label": method.label,
        "members": int(values["members"]),
        "shown": shown,
        "train_rows": len(bench.dataset.y) - result.n_test,
        "test_rows": result.n_test,
        "pairs": [[kappa, mean] for kappa, mean in zip(kappas, means)],
        "member_errors": errors,
        "with_ensemble": [values[f"with ensemble {member}"] for member in range(shown)],
        "ensemble_error": 100 * values["ensemble error"],
        "mean_error": float(np.mean(errors)),
        "mean_kappa": float(np.mean(kappas)),
    }


def _best_voting(bench: _Bench, budget: float) -> Method:
    voting = []
    for method in bench.methods:
        estimator = estimator_of(method, bench.dataset)
        if hasattr(estimator, "predict_members") or isinstance(estimator, VOTING):
            voting.append(method)
    if not voting:
        raise _LeftOut("none of the methods is an ensemble whose members each predict a class")
    for method in voting:
        if bench.seconds([method], 0.5) <= budget:
            return method
    raise _LeftOut(f"{voting[0].label} takes too long to be fitted once more")


def _look_at_parts(bench: _Bench, budget: float) -> dict[str, Any]:
    methods, n_models = _plan(bench, MODEL_COUNTS, 0.25, 1, budget / 2)
    measure = PartsLook(bench.by_name, bench.dataset, bench.seed, n_models)
    cells = [Cell(bench.dataset.name, method.name, 0) for method in methods]
    settings = bench.settings(models=n_models)
    results = _values_of(bench.measure(Experiment("closer/bias and variance", settings, cells, measure)))
    by_method = {result.method: result for result in results}
    scale = SCALES[bench.dataset.task]
    names = [*TERMS, *(f"{term} {end}" for term in TERMS for end in ("low", "high"))]
    return {
        "models": n_models,
        "too_slow": _tell_slow(bench, methods),
        "train_rows": len(bench.dataset.y) // 4,
        "test_rows": results[0].n_test,
        "methods": [
            {"name": method.name, "label": method.label}
            | {name.replace(" ", "_"): _scaled(by_method[method.name].values[name], scale) for name in names}
            for method in methods
        ],
    }


def _scaled(value: float, scale: float) -> float | None:
    return scale * value if np.isfinite(value) else None


def _look_at_noise(bench: _Bench, budget: float) -> dict[str, Any]:
    levels = LEVELS[bench.dataset.task]
    methods, repetitions = _plan(bench, REPETITIONS, 0.5, len(levels), budget / 2)
    variants = {f"{method.name}, noise {level:g}": (method.name, level) for method in methods for level in levels}
    measure = NoiseLook(bench.by_name, variants, bench.dataset, bench.seed)
    cells = [Cell(bench.dataset.name, variant, number) for number in range(repetitions) for variant in variants]
    results = _values_of(bench.measure(Experiment("closer/noise", bench.settings(), cells, measure)))
    scale = SCALES[bench.dataset.task]
    errors: dict[tuple[str, float], list[float]] = {variant: [] for variant in variants.values()}
    for result in results:
        errors[variants[result.method]].append(scale * result.values["error"])
    return {
        "kind": "class" if bench.dataset.task == "classification" else "target",
        "repetitions": repetitions,
        "too_slow": _tell_slow(bench, methods),
        "train_rows": len(bench.dataset.y) - results[0].n_test,
        "test_rows": results[0].n_test,
        "curves": [
            {
                "name": method.name,
                "label": method.label,
                "points": [_point(level, errors[method.name, level]) for level in levels],
            }
            for method in methods
        ],
    }


def _point(level: float, errors: Sequence[float]) -> dict[str, float]:
    ends = {"lowest": min(errors), "highest": max(errors)}
    return {"level": 100 * level, "error": float(np.mean(errors)), **ends}


LOOKS = {"kappa": _look_at_members, "bias_variance": _look_at_parts, "noise": _look_at_noise}
