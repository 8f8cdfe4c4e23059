"""Small made-up tables, stored whole in their golden files so that they can be checked without a folder of datasets.

Values are rounded so that ties between values are common; missing values, a level without rows and a constant column
are there on purpose.
"""

from __future__ import annotations

import numpy as np
from weka_bridge import Table

N_ROWS = 240


def _blank(random: np.random.Generator, values: np.ndarray, share: float) -> np.ndarray:
    values = values.astype(float)
    values[random.random(values.shape) < share] = np.nan
    return values


def made_numeric() -> Table:
    """Six numeric attributes with ties, one of them constant; three classes."""
    random = np.random.default_rng(1)
    values = np.round(random.normal(size=(N_ROWS, 6)), 1)
    values[:, 3] = 7.0
    noise = random.normal(scale=0.6, size=N_ROWS)
    target = np.digitize(values[:, 0] + values[:, 1] * values[:, 2] + noise, [-0.5, 0.6]).astype(float)
    return Table("made-numeric", [f"a{j}" for j in range(6)], [None] * 6, values, target, ["c0", "c1", "c2"])


def made_nominal() -> Table:
    """Five nominal attributes of 2 to 12 levels, a tenth of the values missing, the last level of each without rows."""
    random = np.random.default_rng(2)
    n_levels = [3, 4, 5, 8, 12]
    values = np.column_stack([random.integers(0, n - 1, size=N_ROWS) for n in n_levels])
    score = (values[:, 0] == values[:, 1]).astype(int) + (values[:, 3] > 3) + (random.random(N_ROWS) < 0.2)
    levels = [[f"v{level}" for level in range(n)] for n in n_levels]
    target = np.minimum(score, 2).astype(float)
    values = _blank(random, values, 0.1)
    return Table("made-nominal", [f"a{j}" for j in range(5)], levels, values, target, ["c0", "c1", "c2"])


def _mixed(random: np.random.Generator) -> tuple[np.ndarray, list[list[str] | None], np.ndarray]:
    numeric = np.round(random.normal(size=(N_ROWS, 4)), 2)
    nominal = random.integers(0, 4, size=(N_ROWS, 3))
    score = numeric[:, 0] + np.where(nominal[:, 0] > 1, numeric[:, 1], -numeric[:, 2]) + 0.5 * nominal[:, 1]
    values = np.column_stack([numeric[:, :2], nominal[:, :2], numeric[:, 2:], nominal[:, 2:]])
    letters = [f"v{level}" for level in range(4)]
    levels = [None, None, letters, letters, None, None, letters]
    return _blank(random, values, 0.15), levels, score + random.normal(scale=0.4, size=N_ROWS)


def made_mixed() -> Table:
    """Numeric and nominal attributes, a seventh of the values missing, four classes of unequal size."""
    values, levels, score = _mixed(np.random.default_rng(3))
    target = np.digitize(score, [-1.0, 0.8, 2.0]).astype(float)
    return Table("made-mixed", [f"a{j}" for j in range(7)], levels, values, target, ["c0", "c1", "c2", "c3"])


def made_regression() -> Table:
    """The same kind of table with the score itself as the target."""
    values, levels, score = _mixed(np.random.default_rng(4))
    return Table("made-regression", [f"a{j}" for j in range(7)], levels, values, np.round(score, 3), None)


MADE_TABLES = (made_numeric, made_nominal, made_mixed, made_regression)
