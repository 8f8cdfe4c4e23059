"""The split criteria by name, with the small numbers that the kernel knows them by.

`_kernels/criteria.pxd` says what each is worth; a name here has the same meaning for every learner.
"""

from __future__ import annotations

from typing import NamedTuple

from tremula._kernels.grow import CRITERIA, INFORMATION
from tremula.parameters import check_choice


class Criterion(NamedTuple):
    """A criterion's number in the kernel, and the impurity that its importances are measured in."""

    code: int
    impurity: str
    is_information: bool


def _criterion(name: str, impurity: str) -> Criterion:
    return Criterion(CRITERIA[name], impurity, name in INFORMATION)


CLASSIFICATION: dict[str, Criterion] = {
    "entropy": _criterion("entropy", "entropy"),
    "gain_ratio": _criterion("gain_ratio", "entropy"),
    "symmetric_uncertainty": _criterion("symmetric_uncertainty", "entropy"),
    "gini": _criterion("gini", "gini"),
}
REGRESSION: dict[str, Criterion] = {
    "variance": _criterion("variance", "variance"),
    "fifth_root_variance": _criterion("fifth_root_variance", "variance"),
    "poisson": _criterion("poisson", "poisson"),
    "absolute_error": _criterion("absolute_error", "absolute_error"),
}
ALIASES = {"squared_error": "variance"}  # scikit-learn's name
REGRESSION_NAMES = [*REGRESSION, *ALIASES]


def find_criterion(name: str, known: dict[str, Criterion]) -> Criterion:
    """Return the criterion of this name, or say which names there are."""
    if type(name) is str and name in known:  # for each member of an ensemble
        return known[name]
    check_choice("criterion", name, [*known, *(alias for alias, own in ALIASES.items() if own in known)])
    return known[ALIASES.get(name, name)]
