"""Which attributes matter to the best method, how its predictions depend on the first three, and its widest ranges."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

import tremula as tm
from tremula.data.column import date_text
from tremula.errors import InvalidParameter, UnsupportedModel
from tremula.lab.comparison.analyses.effects import partial_effect, shown_classes, values_to_try
from tremula.lab.comparison.analyses.shuffling import (
    CONFIDENCE,
    REPEATS,
    Trained,
    rises,
    train_for_shuffling,
)
from tremula.lab.comparison.analyses.workbench import Skipped, Workbench, drawn_rows, without_warnings
from tremula.lab.comparison.methods import Method
from tremula.lab.datasets.dataset import Dataset
from tremula.lab.experiments.cell import Cell, Experiment, Outcome

NAME = "closer/attributes"  # the key of stored results
N_EFFECTS, N_CASES = 3, 5
MOST_SHUFFLED, FEWEST_SHUFFLED = 1000, 50
OUT_OF_BAG = 8  # as many rows take the time of one held-out row: a third are out of bag, and shuffled once
MOST_AVERAGED = 200  # rows of a partial effect
MOST_SHOWN = 200  # attributes in the result
RANGE = (0.05, 0.95)  # quantiles
PARTS = ("mean", "low", "high")


@dataclass(frozen=True, eq=False)
class MeasureAttributes:
    """Trains a method once and measures its attributes."""

    methods: Mapping[str, Method]
    dataset: Dataset
    seed: int
    most_rows: int

    @without_warnings()
    def __call__(self, cell: Cell) -> Outcome:
        """Measure a cell; all that is found has a name of its own, such as ``rise 3 low``."""
        begin = time.perf_counter()
        trained = train_for_shuffling(self.methods[cell.method], self.dataset, self.seed, self.most_rows)
        fitted = time.perf_counter()
        rise = rises(trained, self.dataset, self.seed)
        values = {f"rise {place} {part}": rise[row, place] for row, part in enumerate(PARTS) for place in self._all}
        for attribute in _first(rise[0]):
            values |= self._effect(trained, attribute)
        values |= _widest_ranges(trained, self.dataset)
        values |= {"train rows": len(trained.train), "out of bag": trained.is_out_of_bag}
        numbers = {name: float(value) for name, value in values.items()}
        spent = time.perf_counter() - fitted
        return Outcome(numbers, len(trained.shuffled), fitted - begin, spent, seed=self.seed)

    @property
    def _all(self) -> range:
        return range(self.dataset.X.shape[1])

    def _effect(self, trained: Trained, attribute: int) -> dict[str, Any]:
        tried = values_to_try(self.dataset, attribute)
        rows = np.random.default_rng([self.seed, 6]).permutation(trained.shuffled)[:MOST_AVERAGED]
        measured = partial_effect(trained.model, self.dataset, rows, attribute, tried)
        values = {f"value {attribute} {place}": value for place, value in enumerate(tried)}
        for place in range(len(tried)):
            for output in range(measured.shape[2]):
                for part, number in zip(PARTS, measured[:, place, output]):
                    values[f"effect {attribute} {place} {output} {part}"] = number
        return values


def _first(mean_rises: NDArray[np.float64]) -> list[int]:
    """Return the attributes with the largest rises, those that have one."""
    order = np.argsort(-mean_rises, kind="stable")[:N_EFFECTS]
    return [int(place) for place in order if mean_rises[place] > 0]


def _widest_ranges(trained: Trained, dataset: Dataset) -> dict[str, float]:
    """Return the rows with the widest range between two quantiles, by members that were not trained on them."""
    if dataset.task == "classification" or not trained.is_out_of_bag:
        return {}
    try:
        low, high = tm.Uncertainty(trained.model, dataset.X, dataset.y).oob_quantiles(RANGE).T
    except (InvalidParameter, UnsupportedModel):
        return {}
    widths = np.where(np.isnan(high - low), -np.inf, high - low)
    values: dict[str, float] = {}
    for number, row in enumerate(np.argsort(-widths, kind="stable")[:N_CASES]):
        if np.isfinite(widths[row]):
            values |= {f"case {number} row": row, f"case {number} low": low[row], f"case {number} high": high[row]}
    return values


def analyze_attributes(bench: Workbench, budget: float) -> dict[str, Any]:
    """Return importances, partial effects and the widest ranges of the best method as a plain dict."""
    method = bench.methods[0]
    if not bench.dataset.X.shape[1]:
        raise Skipped("there are no attributes")
    most_rows = _affordable_rows(bench, method, budget / 2)
    rows = drawn_rows(len(bench.dataset.y), bench.seed, OUT_OF_BAG * most_rows)
    dataset = bench.dataset.take(rows)
    measure = MeasureAttributes(bench.by_name, dataset, bench.seed, most_rows)
    cells = [Cell(dataset.name, method.name, 0)]
    settings = bench.settings(most_rows=measure.most_rows)
    (result,) = bench.measure(Experiment(NAME, settings, cells, measure))
    values = result.values
    mean = np.array([values[f"rise {place} mean"] for place in range(dataset.X.shape[1])])
    order = np.argsort(-mean, kind="stable")[:MOST_SHOWN]
    return {
        "method": method.name,
        "label": method.label,
        "out_of_bag": bool(values["out of bag"]),
        "train_rows": int(values["train rows"]),
        "shuffled_rows": result.n_test,
        "all_rows": bench.all_rows,
        "repeats": 1 if values["out of bag"] else REPEATS,
        "confidence": CONFIDENCE,
        "unit": "points" if dataset.task == "classification" else "% of the target's variance",
        "importances": [_importance(dataset, values, int(place)) for place in order],
        "n_attributes": dataset.X.shape[1],
        "averaged_rows": min(MOST_AVERAGED, result.n_test),
        "effects": [_effect(dataset, values, place) for place in _first(mean)],
        "ranges": _ranges(values, bench.numbers_of(rows)),
    }


def _affordable_rows(bench: Workbench, method: Method, budget: float) -> int:
    """Return how many held-out rows can be shuffled in time."""
    seconds = bench.seconds([method], 1.0)
    if seconds > budget:
        raise Skipped(f"{method.label} takes too long to be fitted once more")
    n_predictions = (REPEATS * bench.dataset.X.shape[1]) * bench.predict_seconds.get(method.name, 0.0)
    affordable = MOST_SHUFFLED if n_predictions == 0 else int((budget - seconds) / n_predictions)
    if affordable < FEWEST_SHUFFLED:
        raise Skipped(f"shuffling {bench.dataset.X.shape[1]} attributes of {method.label} takes too long")
    return min(affordable, MOST_SHUFFLED) // FEWEST_SHUFFLED * FEWEST_SHUFFLED


def _importance(dataset: Dataset, values: Mapping[str, float], place: int) -> dict[str, Any]:
    parts = {part: 100 * values[f"rise {place} {part}"] for part in PARTS}
    return {"attribute": dataset.attribute_names[place], **parts}


def _effect(dataset: Dataset, values: Mapping[str, float], attribute: int) -> dict[str, Any]:
    is_nominal, is_date = attribute in dataset.nominal, attribute in dataset.dates
    n_values = sum(name.startswith(f"value {attribute} ") for name in values)
    tried = [values[f"value {attribute} {place}"] for place in range(n_values)]
    names = dataset.level_names(attribute) if is_nominal else []
    shown: list[Any] = list(map(date_text, tried)) if is_date else tried
    classes = shown_classes(dataset) if dataset.task == "classification" else [None]
    return {
        "attribute": dataset.attribute_names[attribute],
        "kind": "nominal" if is_nominal else "date" if is_date else "numeric",
        "values": [str(names[int(value)]) for value in tried] if is_nominal else shown,
        "curves": [
            {
                "class": None if label is None else str(label),
                **{
                    part: [values[f"effect {attribute} {place} {output} {part}"] for place in range(n_values)]
                    for part in PARTS
                },
            }
            for output, label in enumerate(classes)
        ],
    }


def _ranges(values: Mapping[str, float], row_numbers: NDArray[np.intp]) -> list[dict[str, Any]]:
    """Return the ranges with the numbers of their rows in the whole dataset."""
    numbers = [number for number in range(N_CASES) if f"case {number} row" in values]
    return [
        {
            "row": int(row_numbers[int(values[f"case {number} row"])]),
            "low": values[f"case {number} low"],
            "high": values[f"case {number} high"],
        }
        for number in numbers
    ]
