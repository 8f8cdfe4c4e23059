"""The rules a tree is grown by, and the parameters of learners as such rules."""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Integral

import numpy as np

from tremula.parameters import check_number
from tremula.parameters.kinds import check_max_features
from tremula.trees.criteria import CLASSIFICATION, REGRESSION, Criterion

NO_LIMIT = np.iinfo(np.int64).max
# Worths of classes closer than this are equal up to rounding, and the first split is taken.
ROUNDING = 1e-9
CRITERION_OF_CODE = {each.code: each for each in [*CLASSIFICATION.values(), *REGRESSION.values()]}


@dataclass(frozen=True)
class Rules:
    """How a tree is grown, as numbers for the kernel; `_kernels/rules.pxd` says what each does."""

    criterion: int
    subsets: bool = False
    one_level: bool = False
    strict: bool = False
    observed_threshold: bool = False
    random_threshold: bool = False
    n_best: int = 1
    n_drawn: int = NO_LIMIT
    max_depth: int = NO_LIMIT
    min_split_weight: float = 2.0
    min_side_weight: float = 0.0
    min_side_share: float = 0.0
    min_side_fifth: float = 0.0
    min_branch_weight: float = 0.0
    branch_veto: bool = False
    average_gain: bool = False
    count_cuts: bool = False
    cut_by_ratio: bool = False
    spread_missing: bool = False
    min_worth: float = -np.inf
    tolerance: float = 0.0
    min_variance: float = -1.0


def depth_limit(max_depth: int | None) -> int:
    """Return the kernel's number for `max_depth`."""
    if max_depth is None:
        return NO_LIMIT
    check_number("max_depth", max_depth, 1, whole=True)
    return int(max_depth)


def attributes_to_draw(max_features: int | float | str | None, n_attributes: int) -> int:
    """Return how many attributes a node draws.

    Examples
    --------
    >>> attributes_to_draw("sqrt", 16), attributes_to_draw(0.5, 16), attributes_to_draw(3, 16)
    (4, 8, 3)
    """
    if max_features is None:
        return NO_LIMIT
    check_max_features("max_features", max_features)
    if isinstance(max_features, str):
        count = math.sqrt(n_attributes) if max_features == "sqrt" else math.log2(n_attributes)
        return max(1, int(count))
    if isinstance(max_features, Integral):
        return int(max_features)
    return max(1, int(max_features * n_attributes))


def criterion_of(rules: Rules) -> Criterion:
    """Return the criterion of the rules."""
    return CRITERION_OF_CODE[rules.criterion]
