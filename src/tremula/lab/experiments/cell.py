"""What an experiment is made of: cells, each one dataset, one method and one split, measured on its own.

A cell's outcome depends on the cell and the experiment's settings alone, never on which others ran, when or where: so
it is measured once and kept, and an experiment that was stopped goes on with the cells that are wanting.
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
        Names, as tables show them; a variant is part of the name ("sick, 10 % noise", "bagging, pruned").
    split : int
        Number of the fold, division or repetition.
    """

    dataset: str
    method: str
    split: int


@dataclass(frozen=True)
class Outcome:
    """What was measured in a cell.

    Attributes
    ----------
    values : mapping of str to float
        Named numbers: "error" as a share, "n_wrong", "rrse", "noise", ... whatever the tables need.
    n_test : int
        Rows tested on; 0 where there are none.
    fit_seconds, predict_seconds : float
    size : int or None
        Nodes of all trees, where there are trees.
    seed : int or None
        The seed it was measured with.
    predictions : array or None
        Answers on the test rows, kept only on request.
    """

    values: Mapping[str, float]
    n_test: int = 0
    fit_seconds: float = 0.0
    predict_seconds: float = 0.0
    size: int | None = None
    seed: int | None = None
    predictions: np.ndarray | None = field(default=None, compare=False)


@dataclass(frozen=True)
class Experiment:
    """Cells, and how each is measured.

    Attributes
    ----------
    name : str
        "dietterich2000/table1"; with the settings it tells results of one experiment from those of others in a store.
    settings : mapping
        All that outcomes depend on besides the cell (members, seed, ...); must go into JSON.
    cells : sequence of Cell
    measure : callable from Cell to Outcome
        Must be picklable: a function of a module, a `functools.partial` or a frozen dataclass with ``__call__``.
    cost : callable from Cell to float, optional
        About how long a cell takes compared with others: the longest go first and the time left is told by it.
    """

    name: str
    settings: Mapping[str, Any]
    cells: Sequence[Cell]
    measure: Callable[[Cell], Outcome]
    cost: Callable[[Cell], float] | None = None

    @property
    def fingerprint(self) -> str:
        """Short checksum of name and settings, under which outcomes are kept."""
        try:
            words = json.dumps([self.name, dict(self.settings)], sort_keys=True, ensure_ascii=False)
        except TypeError as error:
            raise InvalidParameter(
                f"settings of experiment {self.name!r} do not go into JSON ({error}): give numbers and strings"
            ) from error
        return hashlib.sha256(words.encode()).hexdigest()[:16]
