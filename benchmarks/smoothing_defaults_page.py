"""Writes docs/results/smoothing_defaults.md from the stored runs of `smoothing_defaults.py`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

PAGE = Path(__file__).parents[1] / "docs" / "results" / "smoothing_defaults.md"
CLEARLY = 2.0  # standard errors
GOAL = 2.0  # per cent of the runs that may be clearly worse
REGRESSION = "regression"

TEXT = """# Noise that does not hurt: the default choice of smoothing

How `DualPerturbClassifier` and `DualPerturbRegressor` choose the noise by default ([the rules](../guide/smoothing.md)),
compared with the former default (least error, or squared error, found by golden section) and with the model without
noise. Measured by `benchmarks/smoothing_defaults.py`; all runs are in `docs/results/smoothing_defaults/runs.csv`.

## Result

{summary}

## How it was measured

- **Datasets.** {n_datasets} datasets with at least 120 rows, {n_classification} with classes and {n_regression} with
  numbers. Up to 1,000 rows train the model and choose the noise, up to 2,000 others test it. Nominal attributes become
  a column for each level; classes with fewer than 10 rows are left out.
- **Seeds.** {n_seeds}, each with other rows, other splits and another model: {n_judged} runs on the judged half,
  {n_deciding} on the deciding half.
- **Two halves.** A checksum of its name puts a dataset into the half that *decides* or the half that *judges*. The
  rules were made on the deciding half, with other splits and with forests of 10 and 60 trees, then fixed. The judged
  half was measured after that, and the rules were not changed since. It was measured twice, before and after thresholds
  that are training values were moved; the second time is shown.
- **Models.** Those of scikit-learn and XGBoost, with 40 trees in a forest, 50 rounds of boosting and otherwise at their
  defaults. Validation rows are a third of the training rows.
- **Clearly worse** means that the mean loss of the test rows is above that without noise by more than two standard
  errors of the paired difference. The log loss of a row is at most 36 (no share counts as less than 2.2e-16).

## Judged half

{judged}

## Deciding half

{deciding}

## Every run that is clearly worse

With the new default, in either half:

{worse}
"""

TUNED_ON = {
    "tree": "a tree; validation rows",
    "tree, folds": "a tree; five folds",
    "random forest": "random forest; out of bag",
    "extra trees": "extra trees; validation rows",
    "XGBoost": "XGBoost; validation rows",
    "regression tree": "regression tree; validation rows",
    "regression forest": "regression forest; out of bag",
    "regression boosting": "histogram boosting for numbers; validation rows",
}


def read_runs(path: Path) -> pd.DataFrame:
    """Read the stored runs, with losses of numbers relative to those without noise."""
    runs = pd.read_csv(path)
    is_number = runs.kind.str.startswith(REGRESSION)
    scale = np.where(is_number, runs.none_loss, 1.0)
    for variant in ("none", "former", "new"):
        runs[f"{variant}_loss"] /= np.where(scale > 0, scale, 1.0)
    runs["is_number"] = is_number
    return runs


def _table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    return "\n".join([*lines, *("| " + " | ".join(row) + " |" for row in rows)])


def _percent(condition: Any) -> str:
    return f"{100 * np.mean(condition):.1f}"


def _share(runs: pd.DataFrame, name: str, sign: int) -> list[str]:
    """Per cent of the runs that are clearly worse (sign 1) or better (-1), with the former and the new default."""
    return [_percent(sign * runs[f"{variant}_{name}_z"] > CLEARLY) for variant in ("former", "new")]


def _kinds(runs: pd.DataFrame) -> list[str]:
    return [kind for kind in TUNED_ON if (runs.kind == kind).any()]


def loss_table(runs: pd.DataFrame) -> str:
    """Mean losses for every kind of model."""
    header = ["model; noise chosen on", "datasets", "runs", "loss without noise", "former", "new"]
    header += ["error without noise", "former", "new", "new default adds no noise"]
    rows = []
    for kind in _kinds(runs):
        part = runs[runs.kind == kind]
        losses = [f"{part[f'{variant}_loss'].mean():.3f}" for variant in ("none", "former", "new")]
        errors = ["", "", ""]
        if not part.is_number.any():
            errors = [f"{100 * part[f'{variant}_error'].mean():.2f} %" for variant in ("none", "former", "new")]
        counts = [str(part.dataset.nunique()), str(len(part))]
        rows.append([TUNED_ON[kind], *counts, *losses, *errors, _percent(part.new_noise == 0) + " %"])
    return _table(header, rows)


def harm_table(runs: pd.DataFrame) -> str:
    """How often each default is clearly worse, or better, than no noise."""
    header = ["per cent of runs", "loss worse: former", "new", "error worse: former", "new"]
    header += ["loss better: former", "new", "error better: former", "new"]
    rows = []
    for kind in [*_kinds(runs), "all"]:
        part = runs if kind == "all" else runs[runs.kind == kind]
        classes = part[~part.is_number]
        cells = []
        for sign in (1, -1):
            cells += _share(part, "loss", sign)
            cells += _share(classes, "error", sign) if len(classes) else ["", ""]
        rows.append([TUNED_ON.get(kind, "**all**"), *cells])
    return _table(header, rows)


THRESHOLDS = {
    "kept": "Thresholds are those of the models.",
    "centered": "Thresholds that are training values are moved to the middle of their gap, as by default.",
}


def half_text(runs: pd.DataFrame) -> str:
    """Both tables of one half."""
    note = "Loss is log loss for classes, and for numbers the squared error divided by that without noise. "
    note += " ".join(THRESHOLDS[name] for name in sorted(set(runs.thresholds)))
    return f"{note}\n\n{loss_table(runs)}\n\n{harm_table(runs)}"


def worse_table(runs: pd.DataFrame) -> str:
    """List the runs that the new default makes clearly worse in loss or error."""
    is_worse = (runs.new_loss_z > CLEARLY) | (runs.new_error_z > CLEARLY)
    header = [
        "dataset",
        "half",
        "model",
        "seed",
        "noise",
        "loss without noise",
        "loss",
        "z",
        "error without noise",
        "error",
        "z",
    ]
    rows = []
    for run in runs[is_worse].sort_values(["half", "dataset", "kind", "seed"]).itertuples():
        errors = ["", "", ""]
        if not run.is_number:
            errors = [f"{100 * run.none_error:.2f} %", f"{100 * run.new_error:.2f} %", f"{run.new_error_z:.1f}"]
        losses = [f"{run.none_loss:.4f}", f"{run.new_loss:.4f}", f"{run.new_loss_z:.1f}"]
        rows.append([run.dataset, run.half, run.kind, str(run.seed), f"{run.new_noise:.3g}", *losses, *errors])
    return _table(header, rows) if rows else "None."


def _harm(runs: pd.DataFrame, variant: str) -> str:
    classes = runs[~runs.is_number]
    in_loss, in_error = (
        np.sum(part[f"{variant}_{name}_z"] > CLEARLY) for part, name in ((runs, "loss"), (classes, "error"))
    )
    return (
        f"clearly worse in loss in {in_loss} of {len(runs)} runs ({100 * in_loss / len(runs):.1f} %) and in error in "
        f"{in_error} of {len(classes)} ({100 * in_error / len(classes):.1f} %)"
    )


def _means(runs: pd.DataFrame, name: str, form: str, factor: float = 1.0) -> str:
    none, former, new = (
        form.format(factor * runs[f"{variant}_{name}"].mean()) for variant in ("none", "former", "new")
    )
    return f"{none} without noise, {former} with the former default, {new} with the new one"


def summary_text(runs: pd.DataFrame) -> str:
    """Sentences on the judged half."""
    judged = runs[runs.half == "judged"]
    classes, numbers = judged[~judged.is_number], judged[judged.is_number]
    shares = [100 * np.mean(part[f"new_{name}_z"] > CLEARLY) for part, name in ((judged, "loss"), (classes, "error"))]
    verdict = "reached" if max(shares) <= GOAL else "**missed**"
    return "\n".join(
        [
            f"- On the {judged.dataset.nunique()} datasets of the judged half, the new default is",
            f"  {_harm(judged, 'new')};",
            f"  the former default is {_harm(judged, 'former')}.",
            f"- The goal was at most {GOAL:.0f} % of the runs in loss and in error: it is {verdict}.",
            f"- Mean log loss: {_means(classes, 'loss', '{:.3f}')}.",
            f"- Mean error: {_means(classes, 'error', '{:.2f} %', 100)}.",
            f"- Mean squared error of numbers, relative to no noise: {_means(numbers, 'loss', '{:.3f}')}.",
        ]
    )


def page_text(path: Path) -> str:
    """Return the whole page."""
    runs = read_runs(path)
    return TEXT.format(
        summary=summary_text(runs),
        n_datasets=runs.dataset.nunique(),
        n_seeds=runs.seed.nunique(),
        n_judged=(runs.half == "judged").sum(),
        n_deciding=(runs.half == "deciding").sum(),
        n_classification=runs[~runs.is_number].dataset.nunique(),
        n_regression=runs[runs.is_number].dataset.nunique(),
        judged=half_text(runs[runs.half == "judged"]),
        deciding=half_text(runs[runs.half == "deciding"]),
        worse=worse_table(runs),
    )


def write_page(path: Path) -> None:
    """Write the page."""
    PAGE.write_text(page_text(path), encoding="utf-8")
