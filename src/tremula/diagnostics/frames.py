"""Results as pandas frames; pandas is imported only when a frame is requested."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any

from tremula.errors import MissingLibrary


def make_frame(data: Any, *, index: Sequence[str] | None = None, columns: Sequence[str] | None = None) -> Any:
    """Return a pandas frame; raise if pandas is not installed.

    Examples
    --------
    >>> make_frame({"error": [0.1, 0.2]}, index=["C4.5", "bagging"]).loc["C4.5", "error"].item()
    0.1
    """
    try:
        pandas = import_module("pandas")
    except ImportError as error:
        raise MissingLibrary(
            "to_frame gives a pandas frame, but pandas is not installed: pip install pandas"
        ) from error
    return pandas.DataFrame(data, index=index, columns=columns)
