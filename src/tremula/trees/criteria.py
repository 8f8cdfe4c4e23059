"""The names of the split criteria and the small numbers the kernel knows them by.

What each is worth is written in `_kernels/criteria.pxd`; a name here has the same meaning for every learner.
"""

from __future__ import annotations

from typing import NamedTuple

from tremula.parameters import check_choice


class Criterion(NamedTuple):
    """What the kernel is told of a criterion, and the impurity its importances are measured in."""

    code: int
    impurity: str
    is_information: bool


CLASSIFICATION: dict[str, Criterion] = {
    "entropy": Criterion(0, "entropy", True),
    "gain_ratio": Criterion(1, "entropy", True),
    "symmetric_uncertainty": Criterion(2, "entropy", True),
    "gini": Criterion(3, "gini", False),
}
REGRESSION: dict[str, Criterion] = {
    "variance": Criterion(4, "variance", False),
    "fifth_root_variance": Criterion(5, "variance", False),
}


def find_criterion(name: str, known: dict[str, Criterion]) -> Criterion:
    """Return the criterion of this name, or say which names there are."""
    check_choice("criterion", name, known)
    return known[name]
