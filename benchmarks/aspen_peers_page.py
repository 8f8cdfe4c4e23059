"""The page of what `aspen_peers.py` measured: losses first, kinds of tables apart, and what is missing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
from forest_defaults import summary_text
from measure import environment, store, table

from tremula.lab.datasets.registry import KnownDataset, known_datasets
from tremula.lab.studies.default.view import kind_of

PAGE = Path(__file__).parents[1] / "docs" / "results" / "aspen_peers.md"
ASPEN = "Aspen"
MEASURES = {"error": "classification", "log_loss": "classification", "rmse": "regression"}
NAMES = {"error": "error", "log_loss": "log loss", "rmse": "RMSE"}
Belongs = Callable[[KnownDataset], bool]
KINDS: dict[str, Belongs] = {
    "all": lambda known: True,
    "nominal": lambda known: kind_of(known.name) == "nominal",
    "mixed": lambda known: kind_of(known.name) == "mixed",
    "numeric": lambda known: kind_of(known.name) == "numeric",
    "25 attributes or more": lambda known: known.numeric + known.nominal >= 25,
    "6 classes or more": lambda known: (known.classes or 0) >= 6,
    "fewer than 400 rows": lambda known: known.rows < 400,
    "2,000 rows or more": lambda known: known.rows >= 2000,
}
CHEAP = (
    "tremula random forest",
    "YDF random forest",
    "sklearn random forest",
    "YDF boosting",
    "sklearn boosting",
    "LightGBM",
    "XGBoost",
)
PLANNED = (ASPEN, *CHEAP, "CatBoost", "EBM", "LightGBM, tuned", "XGBoost, tuned", "CatBoost, tuned")
GROUPS = {
    "At their defaults": CHEAP,
    "With CatBoost": ("CatBoost", *CHEAP),
    "With CatBoost and EBM": ("CatBoost", "EBM", *CHEAP),
}


def means_of(cells: pd.DataFrame, methods: Sequence[str], measure: str) -> pd.DataFrame:
    """Mean of a measure by dataset and method, over the splits that all of these methods have."""
    chosen = cells[(cells["task"] == MEASURES[measure]) & cells["method"].isin(methods)]
    wide = chosen.pivot_table(index=["dataset", "split"], columns="method", values=measure)
    if not set(methods) <= set(wide.columns):
        return pd.DataFrame(columns=list(methods))
    return wide[list(methods)].dropna().groupby("dataset").mean()


def rank_rows(cells: pd.DataFrame, methods: Sequence[str]) -> list[list[Any]]:
    """A row for each measure and kind: where another is better than Aspen, then mean ranks."""
    rows = []
    for measure, label in NAMES.items():
        means = means_of(cells, [ASPEN, *methods], measure)
        for kind, belongs in KINDS.items():
            chosen = means[[belongs(known_datasets()[name]) for name in means.index]] if len(means) else means
            if not len(chosen):
                continue
            best = chosen.idxmin(axis=1)
            lost = [f"{name} ({best[name]})" for name in chosen.index[chosen.min(axis=1) < chosen[ASPEN]]]
            ranks = chosen.rank(axis=1).mean()
            shown = [f"**{each:.2f}**" if each == ranks.min() else f"{each:.2f}" for each in ranks]
            rows.append([label, kind, f"{len(lost)} of {len(chosen)}: {', '.join(lost) or 'none'}", *shown])
    return rows


def tuned_rows(cells: pd.DataFrame) -> list[list[Any]]:
    """A row for each tuned method and measure: the ratio of Aspen's loss to its loss, and of the seconds to fit."""
    rows = []
    for method in sorted(name for name in cells["method"].unique() if name.endswith(", tuned")):
        for measure, label in NAMES.items():
            means = means_of(cells, [ASPEN, method], measure)
            if not len(means):
                continue
            ratios = (means[ASPEN] / means[method]).dropna()
            seconds = cells[cells["dataset"].isin(means.index)].pivot_table("seconds", "dataset", "method")
            cost = (seconds[ASPEN] / seconds[method]).median()
            lost = [
                f"{name} {100 * (ratio - 1):+.0f} %" for name, ratio in ratios.sort_values()[::-1].items() if ratio > 1
            ]
            shown = f"{len(lost)} of {len(means)}: {', '.join(lost) or 'none'}"
            rows.append([method, label, shown, f"{100 * (ratios.median() - 1):+.1f} %", f"1/{1 / cost:.0f}"])
    return rows


def calibration_rows(cells: pd.DataFrame) -> list[list[Any]]:
    """Calibration error, seconds to fit and to predict of each method, against those of scikit-learn's forest."""
    there = cells[cells["split"] < 2]
    calibration = there.pivot_table("calibration_error", "dataset", "method")
    complete = calibration[[name for name in calibration if calibration[name].notna().all()]]
    seconds = there.pivot_table("seconds", "dataset", "method")
    predicting = there.pivot_table("predict_seconds", "dataset", "method")
    rows = []
    for name in complete.mean().sort_values().index:
        ratios = (seconds[name] / seconds["sklearn random forest"]).dropna()
        asked = (predicting[name] / predicting["sklearn random forest"]).dropna()
        worst = f"{ratios.median():.1f} (at most {ratios.max():.1f}, {ratios.idxmax()})"
        rows.append([name, f"{complete[name].mean():.3f}", worst, f"{asked.median():.1f} (at most {asked.max():.1f})"])
    return rows


def forest_rows(cells: pd.DataFrame) -> list[list[Any]]:
    """The three forests among themselves: mean ranks, and on how many datasets tremula's is better than YDF's."""
    forests = ["tremula random forest", "YDF random forest", "sklearn random forest"]
    rows = []
    for measure, label in NAMES.items():
        means = means_of(cells, forests, measure)
        if len(means):
            better = [int((means[one] < means[other]).sum()) for one, other in (forests[:2], forests[1::-1])]
            ranks = means.rank(axis=1).mean()
            rows.append([label, len(means), *(f"{ranks[name]:.2f}" for name in forests), *better])
    return rows


def missing_text(cells: pd.DataFrame) -> str:
    """Say how many datasets and splits each method has."""
    datasets = cells["dataset"].nunique()
    counts = cells.groupby("method")["dataset"].nunique().reindex(PLANNED, fill_value=0)
    splits = cells.groupby("method").size().reindex(PLANNED, fill_value=0)
    listed = "; ".join(f"{name} {counts[name]} of {datasets} datasets, {splits[name]} splits" for name in PLANNED)
    return (
        "**Partial.** Ten splits of each dataset are planned, all rows, and tuned peers on all datasets; most methods "
        f"have the first two splits. Measured so far: {listed}. No difference of a single dataset was tested: two "
        "splits are too few. Histogram boosting of scikit-learn cannot learn from sick and hypothyroid, which have a "
        "column without values; they are left out of tables with it."
    )


def page_text(cells: pd.DataFrame) -> str:
    """The whole page."""
    sections = []
    for title, methods in GROUPS.items():
        rows = rank_rows(cells, methods)
        if rows:
            n_datasets = sum(len(means_of(cells, [ASPEN, *methods], name)) for name in ("error", "rmse"))
            head = ["measure", "tables", "another is better on (the best)", ASPEN, *methods]
            sections += [f"## {title}: {n_datasets} datasets", table(head, rows)]
    tuned = ["against", "measure", "the tuned one is better on", "Aspen's loss, median", "Aspen's seconds, median"]
    times = ["method", "calibration error, mean", "time to fit", "time to predict"]
    forests = ["measure", "datasets", "tremula", "YDF", "scikit-learn", "tremula better than YDF", "YDF better"]
    return "\n\n".join([*HEAD, missing_text(cells), *sections, *_end(cells, tuned, times, forests)]) + "\n"


HEAD = (
    "# Aspen and other libraries",
    "`AspenClassifier`, `AspenRegressor` and tremula's random forest beside CatBoost, YDF, EBM, LightGBM, XGBoost and "
    "scikit-learn, on the half of the [datasets](default.md) that no choice of the recipe has seen. All have their "
    "defaults and one thread; two-fold cross-validation of at most 2,000 rows of each dataset. First the datasets "
    "where another method is better than Aspen, with the best one; then mean ranks, 1 is best. This page is written by "
    "`python benchmarks/aspen_peers.py --store` from the cells in `benchmarks/aspen_peers.parquet`.",
)


def _end(cells: pd.DataFrame, tuned: list[str], times: list[str], forests: list[str]) -> list[str]:
    return [
        "## Tuned peers",
        "The best of 50 settings (the default and 49 random ones) by three inner folds, on the smallest datasets. The "
        "search has its own folds within the training rows; its seconds count.",
        table(tuned, tuned_rows(cells)),
        "## Calibration and time",
        "Mean over the classification problems of the expected calibration error on test rows, in ten bins of the "
        "probability of the predicted class; datasets that all of these methods have. Times are processor seconds "
        "against scikit-learn's random forest of 100 trees on the same rows, the median over all datasets; the machine "
        "did other work at the same time.",
        table(times, calibration_rows(cells)),
        "## Random forests",
        table(forests, forest_rows(cells)),
        summary_text(),
    ]


def store_page(cells: pd.DataFrame) -> None:
    """Write the page, and what it was measured with into RESULTS.md."""
    PAGE.write_text(page_text(cells))
    packages = ("tremula", "catboost", "ydf", "interpret-core", "lightgbm", "xgboost-cpu", "scikit-learn", "numpy")
    store(
        "Aspen and other libraries",
        "The tables are on the page `docs/results/aspen_peers.md`, made of the cells in `aspen_peers.parquet`.\n\n"
        f"`python benchmarks/aspen_peers.py --run --store`; {environment(*packages)}",
    )
