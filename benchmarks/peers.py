"""Ensembles of other languages, timed where they run: R's ranger and Weka's Bagging of J48."""

from __future__ import annotations

import json
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

FOLDER = Path(__file__).parent


def ask(command: list[str]) -> dict[str, Any]:
    """The JSON that a command prints last."""
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return dict(json.loads(done.stdout.splitlines()[-1]))


def ask_ranger(rscript: str, training: np.ndarray, members: int, *options: str, test: np.ndarray) -> dict[str, Any]:
    """What ranger_peer.R answers; the target is the last column of the training and test rows."""
    n_rows, n_columns = training.shape
    with tempfile.NamedTemporaryFile(suffix=".bin") as file:
        np.vstack([training, test]).T.tofile(file.name)
        sizes = [str(size) for size in (n_rows, n_columns - 1, members)]
        return ask([rscript, str(FOLDER / "ranger_peer.R"), file.name, *sizes, *options])


def time_ranger(rscript: str, numbers: np.ndarray, codes: np.ndarray, members: int) -> dict[str, Any]:
    """Processor seconds of `ranger()` with as many attributes at a node as the root of all, and versions."""
    table = np.column_stack([numbers, codes]).astype(np.float64)
    answer = ask_ranger(rscript, table, members, test=table[:0])
    return {key: answer[key] for key in ("seconds", "ranger", "R")}


def ask_weka(python: str, what: str, name: str, method: str, members: int, *more: str) -> dict[str, Any]:
    """What weka_ensembles.py answers."""
    return ask([python, str(FOLDER / "weka_ensembles.py"), what, name, method, str(members), *more])
