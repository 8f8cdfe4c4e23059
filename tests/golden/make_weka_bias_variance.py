"""Make the golden file of Weka's BVDecompose and BVDecomposeSegCVSub: error, bias and variance of J48, with the rows.

Run with python-weka-wrapper3 (it brings the Weka jar), pandas, pyarrow, scikit-learn and Java installed; not part of
pytest:

    TREMULA_DATA=<folder of the parquet files> python tests/golden/make_weka_bias_variance.py

`README.md` beside this file describes the fields.
"""

from __future__ import annotations

import gzip
import json
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import jpype
import numpy as np
from sklearn.datasets import load_breast_cancer, load_wine
from weka_bridge import Table, java_version, make_instances, read_table, start_weka

FILE = Path(__file__).parent / "weka_bias_variance.json.gz"
BUNDLED = {"wine": load_wine, "breast-cancer-wisconsin": load_breast_cancer}
POOL_SIZES = {"wine": 88, "breast-cancer-wisconsin": 100, "vehicle": 400, "credit-g": 400}
N_MODELS = 50
N_ROUNDS = 10
SEEDS = range(1, 13)
J48 = "weka.classifiers.trees.J48"


def read_bundled(name: str) -> Table:
    """A dataset of scikit-learn as a table of numbers."""
    bunch = BUNDLED[name]()
    names = [f"a{number}" for number in range(bunch.data.shape[1])]
    classes = [f"c{number}" for number in range(len(bunch.target_names))]
    return Table(name, names, [None] * len(names), bunch.data, bunch.target.astype(float), classes)


def save_arff(table: Table, folder: Path) -> Path:
    """Write a table as ARFF, its doubles to the last bit: BVDecompose reads nothing else."""
    path = folder / f"{table.name}.arff"
    levels = [*table.levels, table.classes]
    lines = ["@relation t"]
    for number, known in enumerate(levels):
        lines.append(f"@attribute a{number} " + ("numeric" if known is None else _listed(len(known))))
    lines.append("@data")
    for row in np.column_stack([table.values, table.target]):
        lines.append(",".join(_written(value, known is not None) for value, known in zip(row, levels)))
    path.write_text("\n".join(lines) + "\n")
    return path


def _listed(n_levels: int) -> str:
    return "{" + ",".join(f"v{level}" for level in range(n_levels)) + "}"


def _written(value: float, nominal: bool) -> str:
    if np.isnan(value):
        return "?"
    return f"v{int(value)}" if nominal else repr(float(value))


def decompose(arff: Path, pool_size: int, seed: int) -> dict[str, float]:
    """What BVDecompose says."""
    tool = jpype.JClass("weka.classifiers.BVDecompose")()
    options = f"-c last -t {arff} -T {pool_size} -s {seed} -x {N_MODELS} -W {J48}"
    tool.setOptions(jpype.JArray(jpype.JString)(options.split()))
    tool.decompose()
    return {
        "seed": seed,
        "error": float(tool.getError()),
        "bias": float(tool.getBias()),
        "variance": float(tool.getVariance()),
        "sigma": float(tool.getSigma()),
    }


def decompose_by_folds(arff: Path, train_size: int, seed: int) -> dict[str, float]:
    """What BVDecomposeSegCVSub, sub-sampled cross-validation, says."""
    tool = jpype.JClass("weka.classifiers.BVDecomposeSegCVSub")()
    options = f"-c last -t {arff} -T {train_size} -s {seed} -l {N_ROUNDS} -W {J48}"
    tool.setOptions(jpype.JArray(jpype.JString)(options.split()))
    tool.decompose()
    return {
        "seed": seed,
        "error": float(tool.getError()),
        "bias": float(tool.getKWBias()),
        "variance": float(tool.getKWVariance()),
        "sigma": float(tool.getKWSigma()),
    }


def replay_rows(table: Table, pool_size: int, seed: int) -> tuple[list[list[int]], list[int]]:
    """Learning sets, in their order, and test rows: BVDecompose's calls repeated on row numbers."""
    n_rows = len(table.target)
    numbers = np.arange(n_rows, dtype=float)[:, None]
    data = make_instances(replace(table, names=["row"], levels=[None], values=numbers), np.arange(n_rows))
    random = jpype.JClass("java.util.Random")(seed)
    instances = jpype.JClass("weka.core.Instances")
    data.randomize(random)
    pool = instances(data, 0, pool_size)
    test = instances(data, pool_size, n_rows - pool_size)
    learning_sets = []
    for _ in range(N_MODELS):
        pool.randomize(random)
        learning_sets.append(_rows(instances(pool, 0, pool_size // 2)))
    return learning_sets, sorted(_rows(test))


def _rows(data: Any) -> list[int]:
    return [int(data.instance(number).value(0)) for number in range(data.numInstances())]


def main() -> None:
    """Write the file."""
    versions = {"weka": start_weka(), "java": java_version()}
    datasets = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, pool_size in POOL_SIZES.items():
            table = read_bundled(name) if name in BUNDLED else read_table(name)
            arff = save_arff(table, Path(folder))
            runs = [decompose(arff, pool_size, seed) for seed in SEEDS]
            folds = [decompose_by_folds(arff, pool_size // 2, seed) for seed in SEEDS]
            datasets[name] = {"pool_size": pool_size, "n_models": N_MODELS, "runs": runs}
            datasets[name] |= {"n_rounds": N_ROUNDS, "subsampled_cv": folds}
            if name in BUNDLED:
                learning_sets, test_rows = replay_rows(table, pool_size, SEEDS[0])
                datasets[name] |= {"learning_sets": learning_sets, "test_rows": test_rows}
    text = json.dumps({"versions": versions, "datasets": datasets})
    FILE.write_bytes(gzip.compress(text.encode(), mtime=0))


if __name__ == "__main__":
    main()
