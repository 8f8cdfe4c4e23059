"""The parts of an experiment: cells, each one dataset, one method and one split, measured independently.

The outcome of a cell depends only on the cell and the settings of the experiment, never on which other cells ran, when
or where. So each cell is measured once and stored, and an interrupted experiment resumes with its pending cells.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tremula.errors import InvalidParameter


@dataclass(frozen=True, order=True)
class Cell:
    """One dataset, one method, one split.

    Attributes
    ----------
    dataset, method : str
        Names as tables show them; a variant is part of the name ("sick, 10 % noise", "bagging, pruned").
    split : int
        Number of the fold, division or repetition.
    """

    dataset: str
    method: str
    split: int


@dataclass(frozen=True)
class Outcome:
    """The measurements of one cell.

    Attributes
    ----------
    values : mapping of str to float
        Named numbers that the tables need: "error" as a share, "n_wrong", "rrse", "noise", ...
    n_test : int
        Number of test rows; 0 if there are none.
    fit_seconds, predict_seconds : float
        If a measurement leaves both at 0, the seconds of the whole cell are stored as the first. Equal outcomes may
        have taken different times.
    size : int or None
        Number of nodes of all trees, if there are trees.
    seed : int or None
        The seed used for the measurement.
    predictions : array or None
        Predictions for the test rows, stored only on request.
    processor_seconds : float or None
        Processor time of the whole cell, which a runner measures; None for cells of earlier versions.
    """

    values: Mapping[str, float]
    n_test: int = 0
    fit_seconds: float = field(default=0.0, compare=False)
    predict_seconds: float = field(default=0.0, compare=False)
    size: int | None = None
    seed: int | None = None
    predictions: np.ndarray | None = field(default=None, compare=False)
    processor_seconds: float | None = field(default=None, compare=False)


@dataclass(frozen=True)
class Experiment:
    """Cells, and the function that measures each of them.

    Attributes
    ----------
    name : str
        Such as "dietterich2000/table1". Name and settings together identify the experiment in a store.
    settings : mapping
        Everything besides the cell that outcomes depend on (number of members, seed, ...); must be JSON-serializable.
    cells : sequence of Cell
    measure : callable from Cell to Outcome
        Must be picklable: a function of a module, a `functools.partial` or a frozen dataclass with ``__call__``.
    cost : callable from Cell to float, optional
        Approximate duration of a cell relative to the others. The longest cells run first, and the remaining time is
        estimated from it.
    sizes : str, default=""
        The sizes in words, such as "50 members", where an experiment exists in several.
    stand_in : Experiment, optional
        The same with smaller sizes. Its cells are shown of a dataset of which it has more cells than this one.
    """

    name: str
    settings: Mapping[str, Any]
    cells: Sequence[Cell]
    measure: Callable[[Cell], Outcome]
    cost: Callable[[Cell], float] | None = None
    sizes: str = ""
    stand_in: Experiment | None = None

    @property
    def fingerprint(self) -> str:
        """Short checksum of name and settings, the key of the experiment in a store."""
        try:
            identity = json.dumps([self.name, dict(self.settings)], sort_keys=True, ensure_ascii=False)
        except TypeError as error:
            raise InvalidParameter(
                f"settings of experiment {self.name!r} are not JSON-serializable ({error}): use numbers and strings"
            ) from error
        return hashlib.sha256(identity.encode()).hexdigest()[:16]
