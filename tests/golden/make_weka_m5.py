"""Make the golden file of Weka's M5P: number of rules and answers, on the division that `make_weka.py` uses.

Run with python-weka-wrapper3 (it brings the Weka jar), pandas, pyarrow, scikit-learn and Java installed; not part of
pytest:

    TREMULA_DATA=<folder of the parquet files> python tests/golden/make_weka_m5.py

It takes about five minutes; the same versions give the same bytes. `README.md` beside this file describes the fields.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from make_weka import divide, java_version, write_json
from sklearn.datasets import load_diabetes
from weka_bridge import Table, make_instances, make_learner, predict, read_table, start_weka

FILE = Path(__file__).parent / "weka_m5.json.gz"
MAX_ROWS = 2400
MAX_ANSWERS = 80
OTHER_UNITS = (0.7, 0.8, 0.9, 1.1, 1.2, 1.3, 1.4)  # near 1: M5P has constants that do not scale with the target
RUNS = {"pruned": "", "pruned_unsmoothed": "-U", "unpruned": "-N", "unpruned_unsmoothed": "-N -U"}
DATASETS = (
    *("2dplanes", "abalone", "ailerons", "auto-horse", "auto-mpg", "auto-price", "bank32nh", "bank8FM", "breast-tumor"),
    *("cal-housing", "cholesterol", "cleveland", "cloud", "cpu-act", "cpu-small", "cpu-vendor", "delta-ailerons"),
    *("delta-elevators", "diabetes-numeric", "echo-months", "elevators", "fishcatch", "fried", "house-16H", "house-8L"),
    *("housing", "hungarian", "kin8nm", "lowbwt", "machine-cpu", "mv", "ozone", "pharynx", "pol", "puma32H", "puma8NH"),
    *("pw-linear", "pyrim", "sensory", "servo", "stock", "triazines", "veteran", "wisconsin"),
)


def bundled() -> Table:
    """The diabetes rows that come with scikit-learn, for tests without the folder of datasets."""
    data = load_diabetes()
    return Table(
        "sklearn-diabetes", list(data.feature_names), [None] * data.data.shape[1], data.data, data.target, None
    )


def answers_of(table: Table, options: str, train: np.ndarray, test: np.ndarray) -> tuple[int, np.ndarray]:
    """Number of rules of a fitted M5P, and what it answers."""
    learner = make_learner("M5P", options)
    learner.buildClassifier(make_instances(table, train))
    return int(learner.measureNumRules()), predict(learner, make_instances(table, test))


def relative_error(table: Table, answers: np.ndarray, train: np.ndarray, test: np.ndarray) -> float:
    """Root of the squared error relative to that of the training mean, in percent."""
    spread = np.sum((table.target[test] - table.target[train].mean()) ** 2)
    return float(f"{100 * np.sqrt(np.sum((answers - table.target[test]) ** 2) / spread):.9g}")


def describe(table: Table, options: str, train: np.ndarray, test: np.ndarray) -> dict[str, Any]:
    """Number of rules, error on all test rows, the answers for the first of them, and whether rounding decides."""
    n_rules, answers = answers_of(table, options, train, test)
    others = [
        answers_of(replace(table, target=table.target * unit), options, train, test)[1] / unit for unit in OTHER_UNITS
    ]
    errors = [relative_error(table, other, train, test) for other in others]
    return {
        "options": options,
        "n_rules": n_rules,
        "rounding_matters": bool(np.max(np.abs(np.array(others) - answers)) > 1e-6 * table.target.std()),
        "test_rrse": relative_error(table, answers, train, test),
        "rrse_in_other_units": [min(errors), max(errors)],
        "predictions": [float(f"{answer:.10g}") for answer in answers[:MAX_ANSWERS]],
    }


def main() -> None:
    versions = {"weka": start_weka(), "java": java_version()}
    datasets = {}
    for table in [bundled(), *(read_table(name, MAX_ROWS) for name in DATASETS)]:
        train, test = divide(len(table.target))
        runs = {name: describe(table, options, train, test) for name, options in RUNS.items()}
        datasets[table.name] = {"n_rows": len(table.target), "runs": runs}
        print(table.name, {name: (run["n_rules"], run["rounding_matters"]) for name, run in runs.items()}, flush=True)
    write_json(FILE, {"versions": versions, "max_answers": MAX_ANSWERS, "datasets": datasets})


if __name__ == "__main__":
    main()
