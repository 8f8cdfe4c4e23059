"""Weka's ensembles on one dataset: errors on given folds, or how long they take to learn.

Run by the benchmarks with a Python that has python-weka-wrapper3 (it brings the Weka jar), pandas, pyarrow and Java:

    TREMULA_DATA=<folder of the parquet files> python benchmarks/weka_ensembles.py seconds letter bagging 10
    TREMULA_DATA=<folder of the parquet files> python benchmarks/weka_ensembles.py errors glass forest 50 <folds.json>

The folds are lists of test rows; every other row trains. It prints JSON. Only `buildClassifier` is timed.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "golden"))
import jpype
from weka_bridge import Table, java_version, make_instances, predict, read_table, start_weka

LEARNERS = {
    "bagging": ("meta.Bagging", "-I {members} -W weka.classifiers.trees.J48 -- -U -M 2"),
    "boosting": ("meta.AdaBoostM1", "-I {members} -W weka.classifiers.trees.J48 -- -C 0.25 -M 2"),
    "forest": ("trees.RandomForest", "-I {members}"),
}


def make_ensemble(method: str, members: int) -> Any:
    """An unfitted ensemble of Weka."""
    class_name, options = LEARNERS[method]
    learner = jpype.JClass(f"weka.classifiers.{class_name}")()
    learner.setOptions(jpype.JArray(jpype.JString)(options.format(members=members).split()))
    return learner


def errors_on(table: Table, method: str, members: int, folds: list[list[int]]) -> list[float]:
    """Share of wrong answers on each fold."""
    every_row = np.arange(len(table.target))
    errors = []
    for test in folds:
        learner = make_ensemble(method, members)
        learner.buildClassifier(make_instances(table, np.setdiff1d(every_row, test)))
        answers = predict(learner, make_instances(table, test))
        errors.append(float(np.mean(answers != table.target[test])))
    return errors


def seconds_for(table: Table, method: str, members: int) -> float:
    """Processor time of the thread that learns all rows, after a warm-up on as many."""
    instances = make_instances(table, np.arange(len(table.target)))
    make_ensemble(method, 2).buildClassifier(instances)
    learner = make_ensemble(method, members)
    begin = time.thread_time()
    learner.buildClassifier(instances)
    return time.thread_time() - begin


def main() -> None:
    parser = argparse.ArgumentParser(description="Errors or training time of Weka's ensembles on one dataset.")
    parser.add_argument("what", choices=["errors", "seconds"])
    parser.add_argument("dataset", help="name of a parquet file of the folder TREMULA_DATA, without its ending")
    parser.add_argument("method", choices=list(LEARNERS))
    parser.add_argument("members", type=int)
    parser.add_argument("folds", nargs="?", type=Path, help="JSON file: lists of test rows")
    arguments = parser.parse_args()
    versions = {"weka": start_weka(), "java": java_version()}
    table = read_table(arguments.dataset)
    if arguments.what == "errors":
        folds = json.loads(arguments.folds.read_text())
        result: Any = errors_on(table, arguments.method, arguments.members, folds)
    else:
        result = seconds_for(table, arguments.method, arguments.members)
    print(json.dumps({arguments.what: result, **versions}))


if __name__ == "__main__":
    main()
