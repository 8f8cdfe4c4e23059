"""Make the golden file of proximities by R's randomForest.

Run with R and its package randomForest installed; not part of pytest:

    python tests/golden/make_proximity.py

It takes a few seconds. `README.md` beside this file describes the fields.
"""

from __future__ import annotations

import gzip
import json
import subprocess
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.datasets import load_iris

HERE = Path(__file__).parent
FILE = HERE / "proximity.json.gz"
N_TREES = 25


def main() -> None:
    """Let R grow the forest and write the file."""
    X, y = load_iris(return_X_y=True)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        pd.DataFrame(X, columns=list("abcd")).assign(target=y).to_csv(folder / "train.csv", index=False)
        subprocess.run(["Rscript", str(HERE / "make_proximity.R"), name], check=True)
        stored = {
            "version": (folder / "version.txt").read_text().strip(),
            **{part: np.loadtxt(folder / f"{part}.txt").tolist() for part in ("oob", "plain")},
            "counts": np.loadtxt(folder / "counts.txt").astype(int).T.tolist(),
            "trees": [np.loadtxt(folder / f"tree{number + 1}.txt").tolist() for number in range(N_TREES)],
        }
    FILE.write_bytes(gzip.compress(json.dumps(stored).encode(), mtime=0))


if __name__ == "__main__":
    main()
