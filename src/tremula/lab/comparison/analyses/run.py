"""Runs the analyses that explain a comparison, within a time budget.

Each analysis is an experiment of its own in the same store: measured once, stored, and resumed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tremula.lab.comparison.analyses.attributes import analyze_attributes
from tremula.lab.comparison.analyses.bias_variance import analyze_bias_variance
from tremula.lab.comparison.analyses.members import analyze_members
from tremula.lab.comparison.analyses.noise import analyze_noise
from tremula.lab.comparison.analyses.workbench import Skipped, Workbench, draw_rows, drawn_rows
from tremula.lab.comparison.methods import Method
from tremula.lab.datasets.dataset import Dataset

FEWEST_ROWS = 40
BUDGET_SECONDS = 20.0
ANALYSES = {
    "attributes": ("importance of attributes", analyze_attributes),
    "kappa": ("κ-error diagram", analyze_members),
    "bias_variance": ("bias and variance", analyze_bias_variance),
    "noise": ("noise curves", analyze_noise),
}


def run_analyses(
    dataset: Dataset,
    methods: Sequence[Method],
    *,
    seed: int = 0,
    store: Any = None,
    n_jobs: int | None = None,
    progress: bool | None = None,
    fit_seconds: Mapping[str, float] | None = None,
    predict_seconds: Mapping[str, float] | None = None,
    budget_seconds: float = BUDGET_SECONDS,
) -> dict[str, Any]:
    """Measure what the charts of a comparison need beyond its cross-validation.

    Parameters
    ----------
    dataset : Dataset
    methods : sequence of Method
        Methods that can learn from the dataset, the best first.
    seed : int, default=0
        Determines every random draw.
    store : Store, path or None, default=None
        Where results are stored; None stores nothing.
    n_jobs : int or None, default=None
        Number of cells measured at a time, as in joblib.
    progress : bool or None, default=None
        As in `run_experiment`.
    fit_seconds : mapping of str to float, default=None
        Mean time of a fit in the cross-validation, by the name of the method. Together with the budget it decides
        how much is measured. None treats every fit as free.
    predict_seconds : mapping of str to float, default=None
        Mean time to predict one row there.
    budget_seconds : float, default=20.0
        Approximate time that the analyses may take, one cell at a time.

    Returns
    -------
    dict
        Plain, with the keys ``attributes``, ``kappa``, ``bias_variance`` and ``noise`` for those that were run, and
        ``skipped``: the others with the reason.

    Examples
    --------
    >>> from tremula.lab.datasets import load_dataset
    >>> from tremula.lab.comparison.analyses.run import run_analyses
    >>> from tremula.lab.comparison.methods import choose_methods
    >>> analyses = run_analyses(load_dataset("iris"), choose_methods(["c45", "reptree"]), progress=False)
    >>> [curve["label"] for curve in analyses["noise"]["curves"]]
    ['C4.5', 'REPTree']
    >>> analyses["skipped"][0]["analysis"], analyses["skipped"][0]["reason"]
    ('κ-error diagram', 'none of the methods is an ensemble whose members each predict a class')
    """
    row_numbers = drawn_rows(len(dataset.y), seed)
    rows = draw_rows(dataset, seed)
    run_options = {"store": store, "n_jobs": n_jobs, "progress": progress}
    bench = Workbench(
        rows,
        list(methods),
        seed,
        fit_seconds or {},
        len(dataset.y),
        run_options,
        predict_seconds or {},
        row_numbers,
    )
    analyses: dict[str, Any] = {"skipped": []}
    for name, (title, analyze) in ANALYSES.items():
        try:
            _check_rows(rows)
            analyses[name] = analyze(bench, budget_seconds)
        except Skipped as reason:
            analyses["skipped"].append({"analysis": title, "reason": str(reason)})
    return analyses


def _check_rows(dataset: Dataset) -> None:
    if len(dataset.y) < FEWEST_ROWS:
        raise Skipped(f"{len(dataset.y)} rows are too few to be divided further")
