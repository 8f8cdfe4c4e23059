"""Weka from Python: tables become Instances without passing through text, and fitted trees come back as plain lists.

The Weka jar is the one inside the package python-weka-wrapper3, driven by jpype. Needed only to make golden files and
to time Weka; nothing under `src` and no test imports this module.
"""

from __future__ import annotations

import importlib.util
import os
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import jpype
import numpy as np
import pandas as pd

JVM_OPTIONS = ("-Xmx2g", "-Djava.awt.headless=true")
LEAF = -1


@dataclass(frozen=True)
class Table:
    """One dataset as numbers: nominal values as level codes, missing as NaN, classes as codes.

    `levels[j]` is None for a numeric attribute, otherwise its level names in order. `classes` is None for regression.
    """

    name: str
    names: list[str]
    levels: list[list[str] | None]
    values: np.ndarray
    target: np.ndarray
    classes: list[str] | None


def start_weka() -> str:
    """Start the Java virtual machine with Weka in it (once) and return Weka's version."""
    if not jpype.isJVMStarted():
        package = importlib.util.find_spec("weka")
        if package is None or package.origin is None:
            raise ImportError("the Weka jar was not found; install it with: pip install python-weka-wrapper3")
        jars = sorted(str(jar) for jar in (Path(package.origin).parent / "lib").glob("*.jar"))
        # Weka writes its settings into a folder at start: keep that out of the home directory.
        os.environ.setdefault("WEKA_HOME", tempfile.mkdtemp(prefix="weka-"))
        jpype.startJVM(*JVM_OPTIONS, classpath=jars, convertStrings=True)
    return str(jpype.JClass("weka.core.Version").VERSION)


def java_version() -> str:
    """Vendor and version of the running Java."""
    system = jpype.JClass("java.lang.System")
    return f"{system.getProperty('java.vendor')} {system.getProperty('java.version')}"


def read_table(name: str, n_rows: int | None = None) -> Table:
    """Read the first `n_rows` rows of a dataset in the folder TREMULA_DATA; the last column is the target.

    Attribute levels keep the order of the categorical dtype, levels without rows included; strings are sorted. Class
    names are sorted as scikit-learn sorts `classes_`.
    """
    frame = pd.read_parquet(Path(os.environ["TREMULA_DATA"]) / f"{name}.parquet").iloc[:n_rows]
    levels: list[list[str] | None] = []
    columns = []
    for column in frame.columns[:-1]:
        codes, column_levels = _encode(frame[column])
        columns.append(codes)
        levels.append(column_levels)
    target, classes = _encode(frame[frame.columns[-1]])
    if classes is not None:
        sorted_classes = sorted(set(classes))
        target = np.array([sorted_classes.index(classes[int(code)]) for code in target], dtype=float)
        classes = sorted_classes
    names = [str(column) for column in frame.columns[:-1]]
    return Table(name, names, levels, np.column_stack(columns), target, classes)


def _encode(column: pd.Series) -> tuple[np.ndarray, list[str] | None]:
    if pd.api.types.is_numeric_dtype(column.dtype) and not isinstance(column.dtype, pd.CategoricalDtype):
        return column.to_numpy(dtype=float), None
    if not isinstance(column.dtype, pd.CategoricalDtype):
        column = column.astype(pd.CategoricalDtype(sorted(column.dropna().unique())))
    codes = column.cat.codes.to_numpy(dtype=float)
    codes[codes < 0] = np.nan
    return codes, [str(level) for level in column.cat.categories]


def seen_classes(table: Table, rows: np.ndarray) -> Table:
    """The same table with only the classes met in `rows` declared; the target is NaN where the class is another one."""
    if table.classes is None:
        return table
    seen = np.unique(table.target[rows]).astype(int)
    target = np.full(len(table.target), np.nan)
    for code, old in enumerate(seen):
        target[table.target == old] = code
    classes = [table.classes[old] for old in seen]
    return Table(table.name, table.names, table.levels, table.values, target, classes)


def make_instances(table: Table, rows: Sequence[int] | np.ndarray, weights: np.ndarray | None = None) -> Any:
    """Weka Instances of the given rows in the given order; the class is the last attribute."""
    instances = jpype.JClass("weka.core.Instances")(table.name, _header(table), len(rows))
    instances.setClassIndex(instances.numAttributes() - 1)
    dense = jpype.JClass("weka.core.DenseInstance")
    matrix = np.column_stack([table.values, table.target])
    for row in rows:
        weight = 1.0 if weights is None else float(weights[row])
        instances.add(dense(weight, jpype.JArray(jpype.JDouble)(matrix[row])))
    return instances


def _header(table: Table) -> Any:
    attribute = jpype.JClass("weka.core.Attribute")
    array_list = jpype.JClass("java.util.ArrayList")
    header = array_list()
    for name, levels in [*zip(table.names, table.levels), ("class", table.classes)]:
        header.add(attribute(name) if levels is None else attribute(name, array_list(levels)))
    return header


def hold_out(table: Table, train: np.ndarray, seed: int = 1, n_folds: int = 3) -> tuple[list[int], list[int]]:
    """Rows that grow and rows that prune in REPTree, in Weka's order: its calls replayed on row numbers."""
    row_numbers = np.arange(len(table.target), dtype=float)[:, None]
    identity = replace(table, names=["row"], levels=[None], values=row_numbers)
    data = make_instances(identity, train)
    random = jpype.JClass("java.util.Random")(seed)
    data.randomize(random)
    if table.classes is not None:
        data.stratify(n_folds)
    grow = data.trainCV(n_folds, 0, random)
    prune = data.testCV(n_folds, 0)
    return _row_numbers(grow), _row_numbers(prune)


def _row_numbers(instances: Any) -> list[int]:
    return [int(instances.instance(i).value(0)) for i in range(instances.numInstances())]


def make_learner(class_name: str, options: str) -> Any:
    """An unfitted Weka classifier, e.g. `make_learner("J48", "-U -M 2")`."""
    learner = jpype.JClass(f"weka.classifiers.trees.{class_name}")()
    learner.setOptions(jpype.JArray(jpype.JString)(options.split()))
    return learner


def predict(learner: Any, instances: Any) -> np.ndarray:
    """What Weka answers for every row: the class index, or the number."""
    return np.array([learner.classifyInstance(instances.instance(i)) for i in range(instances.numInstances())])


def predict_distributions(learner: Any, instances: Any) -> np.ndarray:
    """Class distributions, one row each."""
    rows = range(instances.numInstances())
    return np.array([learner.distributionForInstance(instances.instance(row))[:] for row in rows])


def private(holder: Any, name: str) -> Any:
    """Value of a protected field, looked for in the object's class and its ancestors."""
    java_class = holder.getClass()
    while java_class is not None:
        for field in java_class.getDeclaredFields():
            if str(field.getName()) == name:
                field.setAccessible(True)
                return field.get(holder)
        java_class = java_class.getSuperclass()
    raise AttributeError(f"{holder.getClass()} has no field {name}")


def tree_nodes(learner: Any) -> list[tuple[int, float | None, float]]:
    """Nodes depth first, each (attribute or -1 for a leaf, threshold of a numeric split or None, training weight)."""
    nodes: list[tuple[int, float | None, float]] = []
    if str(learner.getClass().getSimpleName()) == "J48":
        _j48_nodes(private(learner, "m_root"), nodes)
    else:
        _reptree_nodes(private(learner, "m_Tree"), nodes)
    return nodes


def _j48_nodes(node: Any, nodes: list[tuple[int, float | None, float]]) -> None:
    model = node.getLocalModel()
    weight = float(model.distribution().total())
    if node.isLeaf():
        nodes.append((LEAF, None, weight))
        return
    threshold = float(model.splitPoint())
    # A nominal split keeps the initial value, the largest double.
    nominal = threshold == float(jpype.JClass("java.lang.Double").MAX_VALUE)
    nodes.append((int(model.attIndex()), None if nominal else threshold, weight))
    for child in node.getSons():
        _j48_nodes(child, nodes)


def _reptree_nodes(node: Any, nodes: list[tuple[int, float | None, float]]) -> None:
    attribute = int(private(node, "m_Attribute"))
    threshold = float(private(node, "m_SplitPoint"))
    numeric = attribute != LEAF and not np.isnan(threshold)
    distribution = private(node, "m_Distribution")[:]
    regression = bool(private(node, "m_Info").classAttribute().isNumeric())
    weight = float(distribution[1]) if regression else float(sum(distribution))
    nodes.append((attribute, threshold if numeric else None, weight))
    if attribute != LEAF:
        for child in private(node, "m_Successors"):
            _reptree_nodes(child, nodes)
