"""Agreement and error of the members of the best ensemble, for a κ-error diagram."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.ensemble import AdaBoostClassifier, BaggingClassifier, ExtraTreesClassifier, RandomForestClassifier

from tremula.diagnostics import kappa_error
from tremula.lab.comparison.analyses.workbench import Skipped, Workbench, estimator_of, random_halves, without_warnings
from tremula.lab.comparison.methods import Method
from tremula.lab.datasets.dataset import Dataset
from tremula.lab.experiments.cell import Cell, Experiment, Outcome

NAME = "closer/kappa"  # the key of stored results
MOST_MEMBERS = 50
VOTING = (AdaBoostClassifier, BaggingClassifier, ExtraTreesClassifier, RandomForestClassifier)


@dataclass(frozen=True, eq=False)
class MeasureMembers:
    """Trains an ensemble on one half of the rows and measures its members on the other half."""

    methods: Mapping[str, Method]
    dataset: Dataset
    seed: int

    @without_warnings()
    def __call__(self, cell: Cell) -> Outcome:
        """Measure a cell; the value of a pair of members has a name such as ``kappa 3 7``."""
        X, y = self.dataset.X, self.dataset.y
        train, test = random_halves(len(y), self.seed, cell.split)
        begin = time.perf_counter()
        model = self.methods[cell.method].build(self.dataset.nominal, self.seed).fit(X[train], y[train])
        trained = time.perf_counter()
        agreement = kappa_error(model, X[test], y[test])
        shown = min(agreement.n_members, MOST_MEMBERS)
        values = {"ensemble error": agreement.ensemble_error, "members": float(agreement.n_members)}
        for member in range(shown):
            values[f"error {member}"] = agreement.member_error[member]
            values[f"with ensemble {member}"] = agreement.ensemble_kappa[member]
        pairs = zip(agreement.pairs.tolist(), agreement.kappa)
        values |= {f"kappa {first} {second}": kappa for (first, second), kappa in pairs if second < shown}
        return Outcome(values, len(test), trained - begin, time.perf_counter() - trained, seed=self.seed)


def analyze_members(bench: Workbench, budget: float) -> dict[str, Any]:
    """Return the κ-error diagram of the best ensemble as a plain dict."""
    if bench.dataset.task != "classification":
        raise Skipped("members that predict numbers do not agree or disagree on a class")
    method = _best_voting(bench, budget / 2)
    measure = MeasureMembers(bench.by_name, bench.dataset, bench.seed)
    cells = [Cell(bench.dataset.name, method.name, 0)]
    (result,) = bench.measure(Experiment(NAME, bench.settings(), cells, measure))
    values = result.values
    shown = sum(name.startswith("with ensemble ") for name in values)
    errors = [100 * values[f"error {member}"] for member in range(shown)]
    pairs = [(first, second) for first in range(shown) for second in range(first + 1, shown)]
    kappas = [values[f"kappa {first} {second}"] for first, second in pairs]
    means = [(errors[first] + errors[second]) / 2 for first, second in pairs]
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


def _best_voting(bench: Workbench, budget: float) -> Method:
    voting = []
    for method in bench.methods:
        estimator = estimator_of(method, bench.dataset)
        if hasattr(estimator, "predict_members") or isinstance(estimator, VOTING):
            voting.append(method)
    if not voting:
        raise Skipped("none of the methods is an ensemble whose members each predict a class")
    for method in voting:
        if bench.seconds([method], 0.5) <= budget:
            return method
    raise Skipped(f"{voting[0].label} takes too long to be fitted once more")
