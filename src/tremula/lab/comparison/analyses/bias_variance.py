"""Error, bias and variance of a few contrasting methods."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from tremula.diagnostics import bias_variance
from tremula.lab.comparison.analyses.workbench import SCALES, Workbench, plan, too_slow, without_warnings
from tremula.lab.comparison.methods import Method
from tremula.lab.datasets.dataset import Dataset
from tremula.lab.experiments.cell import Cell, Experiment, Outcome

NAME = "closer/bias and variance"  # the key of stored results
MODEL_COUNTS = (20, 10, 6)
TERMS = ("error", "bias", "variance")


@dataclass(frozen=True, eq=False)
class MeasureBiasVariance:
    """Decomposes the error of a method, from models that are each trained on a quarter of the rows."""

    methods: Mapping[str, Method]
    dataset: Dataset
    seed: int
    n_models: int

    @without_warnings()
    def __call__(self, cell: Cell) -> Outcome:
        """Measure a cell; the intervals are those of `bias_variance`."""
        X, y = self.dataset.X, self.dataset.y
        estimator = _without_seed(self.methods[cell.method].build(self.dataset.nominal, self.seed))
        begin = time.perf_counter()
        parts = bias_variance(estimator, X, y, n_models=self.n_models, random_state=self.seed)
        values = {term: getattr(parts, term) for term in TERMS}
        for term in TERMS:
            values[f"{term} low"], values[f"{term} high"] = parts.intervals[term]
        return Outcome(values, len(parts.test_rows), time.perf_counter() - begin, seed=self.seed)


def _without_seed(estimator: Any) -> Any:
    """Remove the seeds of an estimator, so that its own randomness is part of the variance."""
    seeds = [name for name in estimator.get_params(deep=True) if name.split("__")[-1] == "random_state"]
    return estimator.set_params(**dict.fromkeys(seeds)) if seeds else estimator


def analyze_bias_variance(bench: Workbench, budget: float) -> dict[str, Any]:
    """Return error, bias and variance of a few methods as a plain dict."""
    methods, n_models = plan(bench, MODEL_COUNTS, share=0.25, times=1, budget=budget / 2)
    measure = MeasureBiasVariance(bench.by_name, bench.dataset, bench.seed, n_models)
    cells = [Cell(bench.dataset.name, method.name, 0) for method in methods]
    results = bench.measure(Experiment(NAME, bench.settings(models=n_models), cells, measure))
    by_method = {result.method: result for result in results}
    scale = SCALES[bench.dataset.task]
    names = [*TERMS, *(f"{term} {end}" for term in TERMS for end in ("low", "high"))]
    return {
        "models": n_models,
        "too_slow": too_slow(bench, methods),
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
