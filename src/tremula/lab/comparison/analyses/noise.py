"""Error of a few contrasting methods when noise is added to the training targets."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tremula.diagnostics import add_class_noise
from tremula.lab.comparison.analyses.workbench import (
    SCALES,
    Workbench,
    plan,
    random_halves,
    too_slow,
    without_warnings,
)
from tremula.lab.comparison.methods import Method
from tremula.lab.datasets.dataset import Dataset
from tremula.lab.experiments.cell import Cell, Experiment, Outcome

NAME = "closer/noise"  # the key of stored results
AMOUNTS = {"classification": (0.0, 0.05, 0.1, 0.2), "regression": (0.0, 0.1, 0.25, 0.5)}
REPETITIONS = (5, 3, 2)


@dataclass(frozen=True, eq=False)
class MeasureNoise:
    """Trains a method on one half of the rows with noisy targets; tests it on the clean targets of the other half."""

    methods: Mapping[str, Method]
    variants: Mapping[str, tuple[str, float]]
    dataset: Dataset
    seed: int

    @without_warnings()
    def __call__(self, cell: Cell) -> Outcome:
        """Measure a cell; its variant is a method with an amount of noise."""
        name, amount = self.variants[cell.method]
        X, y = self.dataset.X, self.dataset.y
        train, test = random_halves(len(y), self.seed, cell.split)
        add_noise, loss = TARGETS[self.dataset.task]
        target = add_noise(y[train], amount, np.random.default_rng([self.seed, 3, cell.split]))
        begin = time.perf_counter()
        model = self.methods[name].build(self.dataset.nominal, self.seed).fit(X[train], target)
        trained = time.perf_counter()
        values = {"error": loss(y[test], model.predict(X[test]))}
        return Outcome(values, len(test), trained - begin, time.perf_counter() - trained, seed=self.seed)


def _noisy_classes(y: NDArray[Any], amount: float, random: np.random.Generator) -> NDArray[Any]:
    return np.asarray(add_class_noise(y, amount, random_state=random)[0])


def _noisy_numbers(y: NDArray[Any], amount: float, random: np.random.Generator) -> NDArray[Any]:
    return np.asarray(y + amount * np.std(y) * random.standard_normal(len(y)))


def _error_rate(truth: NDArray[Any], answers: Any) -> float:
    return float(np.mean(np.asarray(answers) != truth))


def _root_mean_square(truth: NDArray[Any], answers: Any) -> float:
    return float(np.sqrt(np.mean((np.asarray(answers, dtype=float) - truth) ** 2)))


TARGETS = {"classification": (_noisy_classes, _error_rate), "regression": (_noisy_numbers, _root_mean_square)}


def analyze_noise(bench: Workbench, budget: float) -> dict[str, Any]:
    """Return the error by amount of noise of a few methods as a plain dict."""
    amounts = AMOUNTS[bench.dataset.task]
    methods, repetitions = plan(bench, REPETITIONS, share=0.5, times=len(amounts), budget=budget / 2)
    variants = {f"{method.name}, noise {amount:g}": (method.name, amount) for method in methods for amount in amounts}
    measure = MeasureNoise(bench.by_name, variants, bench.dataset, bench.seed)
    cells = [Cell(bench.dataset.name, variant, number) for number in range(repetitions) for variant in variants]
    results = bench.measure(Experiment(NAME, bench.settings(), cells, measure))
    scale = SCALES[bench.dataset.task]
    errors: dict[tuple[str, float], list[float]] = {variant: [] for variant in variants.values()}
    for result in results:
        errors[variants[result.method]].append(scale * result.values["error"])
    return {
        "kind": "class" if bench.dataset.task == "classification" else "target",
        "repetitions": repetitions,
        "too_slow": too_slow(bench, methods),
        "train_rows": len(bench.dataset.y) - results[0].n_test,
        "test_rows": results[0].n_test,
        "curves": [
            {
                "name": method.name,
                "label": method.label,
                "points": [_point(amount, errors[method.name, amount]) for amount in amounts],
            }
            for method in methods
        ],
    }


def _point(amount: float, errors: Sequence[float]) -> dict[str, float]:
    ends = {"lowest": min(errors), "highest": max(errors)}
    return {"amount": 100 * amount, "error": float(np.mean(errors)), **ends}
