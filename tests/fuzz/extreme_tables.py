"""Extreme tables for every public estimator: what each is asked to learn from, by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

LARGEST = np.finfo(np.float64).max
SMALLEST = 5e-324


class Case(NamedTuple):
    """Rows, classes, numbers and weights to learn from, and rows to predict (by default the same)."""

    X: Any
    classes: Any
    numbers: Any
    weights: Any = None
    asked: Any = None


def _plain(n_rows: int = 24, n_columns: int = 3) -> Case:
    draw = np.random.default_rng(n_rows)
    X = draw.normal(size=(n_rows, n_columns))
    classes = np.where(X[:, 0] + 0.5 * draw.normal(size=n_rows) > 0, "b", "a").astype(object)
    if n_rows > 1:
        classes[:2] = ["a", "b"]
    return Case(X, classes, X[:, 0] ** 2 + draw.normal(size=n_rows))


def _with_columns(*columns: Any) -> Case:
    case = _plain(len(columns[0]))
    return case._replace(X=np.column_stack(columns))


def _repeated(*values: float) -> Case:
    column = np.array(values * (24 // len(values) + 1))[:24]
    return _with_columns(column, np.arange(24.0))


def _with_numbers(scale: float) -> Case:
    case = _plain()
    return case._replace(numbers=case.numbers * scale)


def _frame(case: Case | None = None) -> pd.DataFrame:
    case = _plain() if case is None else case
    frame = pd.DataFrame(np.asarray(case.X), columns=["x", "y", "z"])
    return frame.assign(word=pd.Categorical(np.where(frame["x"] > 0, "up", "down")))


def _levels(n_levels: int) -> Case:
    n_rows = 2 * n_levels
    case = _plain(n_rows)
    words = np.array([f"level {number % n_levels}" for number in range(n_rows)], dtype=object)
    return case._replace(X=pd.DataFrame({"word": words, "x": case.X[:, 0]}))


def _classes(n_classes: int) -> Case:
    return _plain(2 * n_classes)._replace(classes=np.arange(2 * n_classes) % n_classes)


def _weights(*values: float) -> Case:
    return _plain()._replace(weights=np.resize(np.array(values), 24))


def _asked(change: Callable[[pd.DataFrame], Any]) -> Case:
    frame = _frame()
    return _plain()._replace(X=frame, asked=change(frame.copy()))


def many_levels() -> Case:
    """100,000 levels, and few rows to predict."""
    case = _levels(100_000)
    return case._replace(asked=case.X[:100])


def many_classes() -> Case:
    """70,000 classes, more than 16 bits hold, and few rows to predict."""
    case = _classes(70_000)
    return case._replace(asked=case.X[:50])


CASES: dict[str, Callable[[], Case]] = {
    "no rows": lambda: _plain(0),
    "one row": lambda: _plain(1),
    "two rows": lambda: _plain(2),
    "no columns": lambda: _plain()._replace(X=np.empty((24, 0))),
    "all missing": lambda: _plain()._replace(X=np.full((24, 3), np.nan)),
    "one column missing": lambda: _with_columns(np.full(24, np.nan), np.arange(24.0)),
    "constant columns": lambda: _plain()._replace(X=np.ones((24, 3))),
    "largest numbers": lambda: _repeated(LARGEST, -LARGEST, np.nan, 1.0),
    "1.7e308": lambda: _repeated(1.7e308, -1.7e308, np.nan, 1.0),
    "1e160": lambda: _repeated(1e160, 2e160, -3e160, np.nan, 0.0),
    "subnormal": lambda: _repeated(SMALLEST, 2 * SMALLEST, 0.0, -SMALLEST),
    "1e-200": lambda: _repeated(1e-200, 2e-200, 3e-200, 0.0),
    "neighbours": lambda: _with_columns(1.0 + np.arange(24) * np.finfo(np.float64).eps),
    "infinite": lambda: _repeated(np.inf, 1.0),
    "signed zeros": lambda: _repeated(0.0, -0.0, 1.0),
    "large whole numbers": lambda: _repeated(2.0**53, 2.0**53 + 2, 2.0**31, 2.0**24 + 1),
    "numbers of 1e155": lambda: _with_numbers(1e155),
    "numbers of 1e300": lambda: _with_numbers(1e300),
    "largest number": lambda: _plain()._replace(numbers=np.resize([LARGEST, -LARGEST, 0.0], 24)),
    "numbers of 1e-200": lambda: _with_numbers(1e-200),
    "numbers of 1e-310": lambda: _with_numbers(1e-310),
    "infinite number": lambda: _plain()._replace(numbers=np.resize([1.0, np.inf], 24)),
    "far numbers": lambda: _plain()._replace(numbers=1e12 + np.arange(24.0)),
    "weights of 0": lambda: _weights(0.0, 1.0, 1.0),
    "all weights 0": lambda: _weights(0.0),
    "one weight": lambda: _weights(*[0.0] * 23, 1.0),
    "weights of 1e-300": lambda: _weights(1e-300, 2e-300),
    "weights of 1e300": lambda: _weights(1e300, 2e300),
    "weights of both": lambda: _weights(1e-300, 1e300, 1.0),
    "largest weights": lambda: _weights(LARGEST),
    "negative weight": lambda: _weights(1.0, -1.0),
    "float16": lambda: _plain()._replace(X=_plain().X.astype(np.float16)),
    "float32": lambda: _plain()._replace(X=_plain().X.astype(np.float32)),
    "integers": lambda: _plain()._replace(X=(_plain().X * 10).astype(np.int8)),
    "long integers": lambda: _plain()._replace(X=(_plain().X * 1e18).astype(np.int64)),
    "booleans": lambda: _plain()._replace(X=_plain().X > 0),
    "big-endian": lambda: _plain()._replace(X=_plain().X.astype(">f8")),
    "complex": lambda: _plain()._replace(X=_plain().X.astype(complex)),
    "read-only": lambda: _plain()._replace(X=_read_only(_plain().X)),
    "columns in memory": lambda: _plain()._replace(X=np.asfortranarray(_plain().X)),
    "every second row": lambda: _plain()._replace(X=np.repeat(_plain().X, 2, axis=0)[::2]),
    "reversed": lambda: _plain()._replace(X=_plain().X[::-1, ::-1]),
    "broadcast": lambda: _plain()._replace(X=np.broadcast_to(np.arange(24.0)[:, None], (24, 3))),
    "unaligned": lambda: _plain()._replace(X=_unaligned(_plain().X)),
    "lists": lambda: _plain()._replace(X=_plain().X.tolist()),
    "three dimensions": lambda: _plain()._replace(X=_plain().X[:, :, None]),
    "1,000 levels": lambda: _levels(1000),
    "300 classes": lambda: _classes(300),
    "frame": lambda: _plain()._replace(X=_frame()),
    "columns in another order": lambda: _asked(lambda frame: frame[["word", "z", "y", "x"]]),
    "column left out": lambda: _asked(lambda frame: frame[["x", "y", "z"]]),
    "column renamed": lambda: _asked(lambda frame: frame.rename(columns={"x": "X"})),
    "numbers as words": lambda: _asked(lambda frame: frame.assign(x=frame["x"].astype(str))),
    "words as numbers": lambda: _asked(lambda frame: frame.assign(word=1.0)),
    "unseen level": lambda: _asked(lambda frame: frame.assign(word="sideways")),
    "other category type": lambda: _asked(lambda frame: frame.assign(word=frame["word"].astype(str))),
    "missing where none was": lambda: _asked(lambda frame: frame.assign(x=np.nan)),
    "infinite when asked": lambda: _asked(lambda frame: frame.assign(x=np.inf)),
    "no rows asked": lambda: _asked(lambda frame: frame.iloc[:0]),
    "array asked": lambda: _asked(lambda frame: frame[["x", "y", "z"]].to_numpy()),
    "huge when asked": lambda: _plain()._replace(asked=np.full((3, 3), LARGEST)),
    "names of columns": lambda: _plain()._replace(X=pd.DataFrame(_plain().X, columns=["", "\x1b[31m", "a" * 10000])),
    "equal names": lambda: _plain()._replace(X=pd.DataFrame(_plain().X, columns=["a", "a", "b"])),
    "numbered names": lambda: _plain()._replace(X=pd.DataFrame(_plain().X)),
    "objects": lambda: _plain()._replace(X=np.array([[1, "a", None]] * 24, dtype=object)),
    "dates": lambda: _plain()._replace(X=pd.DataFrame({"day": pd.date_range("2000-01-01", periods=24)})),
    "target with gaps": lambda: _plain()._replace(
        classes=np.array(["a", None, "b"] * 8, dtype=object), numbers=np.resize([1.0, np.nan], 24)
    ),
    "target too short": lambda: _plain()._replace(classes=_plain().classes[:5], numbers=_plain().numbers[:5]),
    "one class": lambda: _plain()._replace(classes=np.full(24, "a"), numbers=np.ones(24)),
    "class of one row": lambda: _plain()._replace(classes=np.array(["a"] * 23 + ["b"])),
}


def _read_only(array: np.ndarray) -> np.ndarray:
    array = array.copy()
    array.flags.writeable = False
    return array


def _unaligned(array: np.ndarray) -> np.ndarray:
    raw = np.zeros(array.nbytes + 1, np.uint8)
    moved = raw[1:].view(np.float64).reshape(array.shape)
    moved[:] = array
    return moved
