"""What Aspen loses or gains by each idea: fits of datasets of the deciding half, with one thing changed at a time.

TREMULA_DATA=<folder of the parquet files> python benchmarks/aspen_ideas.py --run [--seconds 500]
python benchmarks/aspen_ideas.py --store

Cells are kept in `aspen_ideas.parquet`; a run that was stopped goes on where it was. `--store` writes the tables of the
guide from them. `--half judged` measures the recipe without its latest parts on the other half, once it is fixed.
"""

from __future__ import annotations

import argparse
import os
import re
import time
import warnings
from collections.abc import Sequence
from importlib.metadata import version
from itertools import groupby
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import pandas as pd
from aspen_variants import IDEAS, IDENTIFIERS_USED, NO_GRADIENT, RECIPE, SMALL, SMALL_IDEAS, Idea
from measure import table

import tremula as tm
from tremula.errors import IdentifierWarning
from tremula.lab.datasets import known_datasets, load_dataset
from tremula.lab.studies.default.halves import DECIDING, JUDGED, half
from tremula.lab.studies.default.protocol import SIZES, class_losses, datasets_of, divide, draw_rows
from tremula.losses import squared_errors

CELLS = {
    DECIDING: Path(__file__).with_suffix(".parquet"),
    JUDGED: Path(__file__).with_name("aspen_judged.parquet"),
}
GUIDE = Path(__file__).parents[1] / "docs" / "guide" / "aspen.md"
MOST_ROWS, N_SPLITS, N_SMALL_SPLITS = 3000, 2, 6
CLASSES = [
    "zoo",
    "lymph",
    "balance-scale",
    "heart-h",
    "primary-tumor",
    "vehicle",
    "soybean",
    "anneal",
    "phoneme",
    "nursery",
    "kr-vs-kp",
    "splice",
    "dna",
    "connect-4",
    "krk",
    "shuttle",
    "waveform-21",
    "spambase",
    "mfeat-zernike",
    "pendigits",
    "kddcup99-10pct",
]
NUMBERS = [
    "servo",
    "cpu-vendor",
    "auto-mpg",
    "sensory",
    "housing",
    "stock",
    "triazines",
    "cal-housing",
    "elevators",
    "pol",
]
CLEAR = 0.01  # a relative difference of the loss that counts


def measure(idea: Idea, name: str, task: str, split: int) -> dict[str, Any]:
    """Fit Aspen on one half of the rows, with the idea, and test it on the other."""
    data = draw_rows(load_dataset(name, task=task), MOST_ROWS)
    train, test = divide(data, split)
    make = tm.AspenClassifier if task == "classification" else tm.AspenRegressor
    model = make(categorical_features=list(data.nominal) or None, random_state=split)
    with idea.applied(), warnings.catch_warnings():
        warnings.simplefilter("ignore", IdentifierWarning)
        start = time.process_time()
        model.fit(data.X[train], data.y[train])
        seconds = time.process_time() - start
        answers = (model.predict_proba if task == "classification" else model.predict)(data.X[test])
    if task == "classification":
        losses = class_losses(answers, model.classes_, data.y[test])
        measured = {"loss": losses["log_loss"], "error": losses["error"]}
    else:
        rmse = np.sqrt(squared_errors(data.y[test], answers).mean())
        measured = {"loss": float(rmse), "error": np.nan}
    versions = {name: version(name) for name in ("tremula", "numpy", "scikit-learn")}
    of_cell = {"dataset": name, "task": task, "split": split, "idea": idea.name}
    return {**of_cell, **measured, "seconds": seconds, "versions": str(versions)}


def plan(which: str) -> list[tuple[str, str, Idea]]:
    """Dataset, task and idea of what is measured on a half."""
    if which == JUDGED:
        names = [each.name for each in datasets_of("classification", SIZES["default"]) if half(each.name) == JUDGED]
        by_name = {idea.name: idea for idea in IDEAS}
        of_classes = [(name, "classification", by_name[idea]) for name in names for idea in (RECIPE, NO_GRADIENT)]
        return of_classes + [("pharynx", "regression", by_name[idea]) for idea in (RECIPE, IDENTIFIERS_USED)]
    planned = [(name, known_datasets()[name].task, idea) for name in NUMBERS + CLASSES for idea in IDEAS]
    large = [
        (name, task, idea) for name, task, idea in planned if task in idea.tasks and name in (idea.datasets or [name])
    ]
    small = [(name, "classification", idea) for name in SMALL for idea in SMALL_IDEAS]
    return large + [each for each in small if each not in large]


def is_small(name: str, idea: Idea) -> bool:
    """Return whether a cell belongs to the comparison on few rows."""
    return name in SMALL and idea in SMALL_IDEAS


def run(which: str, seconds: float, only_small: bool) -> None:
    """Measure the cells that are missing, as long as there is time."""
    begin = time.monotonic()
    cells = pd.read_parquet(CELLS[which]).to_dict("records") if CELLS[which].exists() else []
    known = {(cell["dataset"], cell["split"], cell["idea"]) for cell in cells}
    for split in range(N_SMALL_SPLITS):
        planned = [
            (name, task, idea)
            for name, task, idea in plan(which)
            if is_small(name, idea) or (split < N_SPLITS and not only_small)
        ]
        missing = [each for each in planned if (each[0], split, each[2].name) not in known]
        for name, of_dataset in groupby(missing, lambda each: each[0]):
            assert half(name) == which
            cells += [measure(idea, name, task, split) for _, task, idea in of_dataset]
            fresh = CELLS[which].with_suffix(".new")
            pd.DataFrame(cells).to_parquet(fresh)
            fresh.replace(CELLS[which])
            print(name, split, flush=True)
            if time.monotonic() - begin > seconds:
                return


def beside_recipe(cells: pd.DataFrame, idea: str, measure: str) -> pd.DataFrame:
    """Mean of a measure by dataset, of the recipe and an idea, over the splits that both have."""
    wide = cells.pivot_table(index=["dataset", "split"], columns="idea", values=measure)
    return wide[[RECIPE, idea]].dropna().groupby("dataset").mean()


def compare(cells: pd.DataFrame, task: str, ideas: Sequence[Idea] = IDEAS) -> list[list[Any]]:
    """A row for each idea: the loss, error and time against the recipe, and where it is clearly better or worse."""
    there = cells[cells["task"] == task]
    rows = []
    for idea in ideas:
        if idea.name == RECIPE or idea.name not in set(there["idea"]):
            continue
        losses, seconds = (beside_recipe(there, idea.name, measure) for measure in ("loss", "seconds"))
        ratios = (losses[idea.name] / losses[RECIPE]).sort_values()
        times = seconds[idea.name] / seconds[RECIPE]
        rows.append(
            [
                idea.name,
                f"{100 * (np.exp(np.log(ratios).mean()) - 1):+.1f} %",
                *_errors(there, idea.name),
                _named(ratios[ratios < 1 - CLEAR]),
                _named(ratios[ratios > 1 + CLEAR][::-1]),
                f"{times.median():.2f} ({times.min():.2f} to {times.max():.2f})",
            ]
        )
    return rows


def _errors(cells: pd.DataFrame, idea: str) -> list[str]:
    if cells["error"].isna().all():
        return []
    means = 100 * beside_recipe(cells, idea, "error").mean()
    return [f"{means[RECIPE]:.2f} → {means[idea]:.2f}"]


def _named(ratios: pd.Series) -> str:
    """Name datasets with the change of their loss, the largest changes first."""
    named = [f"{name} {100 * (ratio - 1):+.0f} %" for name, ratio in ratios.items()]
    return f"{len(named)}: {', '.join(named[:6])}{', …' if len(named) > 6 else ''}" if named else "none"


def _n_splits(cells: pd.DataFrame) -> str:
    """Say how many folds were measured on how many datasets."""
    n_splits = cells[cells["idea"] != RECIPE].groupby("dataset")["split"].nunique()
    n_twice = int((n_splits == N_SPLITS).sum())
    if n_twice == len(n_splits):
        return "both folds"
    return f"one fold (both of {n_twice} datasets)" if n_twice else "one fold"


def ideas_text(all_cells: pd.DataFrame) -> str:
    """The tables of the guide."""
    names = {idea.name for idea in IDEAS}
    is_large = (all_cells["split"] < N_SPLITS) & all_cells["idea"].isin(names)
    cells = all_cells[is_large & all_cells["dataset"].isin(NUMBERS + CLASSES)]
    head = ["idea", "loss", "error in %", "clearly better", "clearly worse", "time to fit"]
    of_numbers = [column for column in head if column != "error in %"]
    n_datasets = cells.groupby("task")["dataset"].nunique()
    return "\n\n".join(
        [
            f"{n_datasets.get('classification', 0)} classification problems of the first half, at most {MOST_ROWS:,} "
            f"rows, {_n_splits(cells)} of a two-fold cross-validation. Each line changes one thing of the recipe: "
            "mean change of the log loss (geometric over datasets), mean error of the recipe and of the idea, datasets "
            f"whose log loss changes by more than {100 * CLEAR:.0f} %, and the ratio of times to fit, median (least to "
            "most). A change of one dataset by a few per cent may be chance.",
            table(head, compare(cells, "classification")),
            f"{n_datasets.get('regression', 0)} regression problems, RMSE instead of log loss:",
            table(of_numbers, compare(cells, "regression")),
            *_small_text(all_cells, head),
            "The cells are in `benchmarks/aspen_ideas.parquet`; `python benchmarks/aspen_ideas.py --store` writes "
            "these tables.",
        ]
    )


def _small_text(all_cells: pd.DataFrame, head: list[str]) -> list[str]:
    names = {idea.name for idea in SMALL_IDEAS}
    cells = all_cells[all_cells["dataset"].isin(SMALL) & all_cells["idea"].isin(names)]
    if cells["idea"].nunique() < 2:
        return []
    others = cells[cells["idea"] != RECIPE]
    return [
        f"Ideas for few rows: {others['dataset'].nunique()} classification problems of the first half with at most 800 "
        f"rows, {others['split'].nunique()} splits of two-fold cross-validation:",
        table(head, compare(cells, "classification", SMALL_IDEAS)),
    ]


def judged_text(cells: pd.DataFrame) -> str:
    """What the latest parts of the recipe do on the half that did not decide them."""
    head = ["without", "loss", "error in %", "clearly better", "clearly worse", "time to fit"]
    n_datasets = cells.groupby("task")["dataset"].nunique()
    rows = compare(cells, "classification")
    for row in compare(cells, "regression"):
        rows.append([f"{row[0]} (pharynx, RMSE)", row[1], "", *row[2:]])
    return "\n\n".join(
        [
            f"The **test** half, {n_datasets.get('classification', 0)} classification problems and pharynx, "
            f"{_n_splits(cells)}, measured once after these parts of the recipe were fixed:",
            table(head, rows),
        ]
    )


def page_text() -> str:
    """What the guide has of both halves."""
    text = ideas_text(pd.read_parquet(CELLS[DECIDING]))
    return f"{text}\n\n{judged_text(pd.read_parquet(CELLS[JUDGED]))}" if CELLS[JUDGED].exists() else text


def store(text: str) -> None:
    """Put the tables into the guide."""
    page = GUIDE.read_text()
    marks = "<!-- ideas -->", "<!-- end of ideas -->"
    pattern = re.compile(f"{marks[0]}.*{marks[1]}", re.DOTALL)
    GUIDE.write_text(pattern.sub(lambda _: f"{marks[0]}\n\n{text}\n\n{marks[1]}", page))


def main() -> None:
    """Measure if asked, print the tables, and store them."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--run", action="store_true", help="measure missing cells")
    parser.add_argument("--seconds", type=float, default=np.inf, help="stop after so many seconds")
    parser.add_argument("--small", action="store_true", help="only the ideas for few rows")
    parser.add_argument("--half", choices=[DECIDING, JUDGED], default=DECIDING)
    parser.add_argument("--store", action="store_true", help="write the tables of the guide")
    arguments = parser.parse_args()
    if arguments.run:
        run(arguments.half, arguments.seconds, arguments.small)
    text = page_text()
    print(text)
    if arguments.store:
        store(text)


if __name__ == "__main__":
    main()
