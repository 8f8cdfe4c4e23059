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


def time_ranger(rscript: str, numbers: np.ndarray, codes: np.ndarray, members: int) -> dict[str, Any]:
    """Processor seconds of `ranger()` with as many attributes at a node as the root of all, and versions."""
    table = np.column_stack([numbers, codes]).astype(np.float64)
    with tempfile.NamedTemporaryFile(suffix=".bin") as file:
        table.T.tofile(file.name)
        sizes = [str(size) for size in (*numbers.shape, members)]
        return ask([rscript, str(FOLDER / "ranger_peer.R"), file.name, *sizes])


def ask_weka(python: str, what: str, name: str, method: str, members: int, *more: str) -> dict[str, Any]:
    """What weka_ensembles.py answers."""
    return ask([python, str(FOLDER / "weka_ensembles.py"), what, name, method, str(members), *more])
