"""Shapley values of rows, in the form that plots take."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tremula.display import ShortTable, ShownAsTable
from tremula.errors import MissingLibrary, counted

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False, repr=False)
class Explanation(ShownAsTable):
    """How far each attribute moves the prediction of each row away from the base value.

    Attributes
    ----------
    values : float64 array (n_rows, n_attributes) or (n_rows, n_attributes, n_outputs)
        Shapley values; with a last axis if there is one for each class.
    base_values : float64 array (n_rows,) or (n_rows, n_outputs)
        Prediction if no attribute is known; the same for all rows. With the values of a row it sums to its prediction.
    data : float64 array (n_rows, n_attributes)
        The rows: numbers, codes of levels, NaN where missing.
    feature_names : tuple of str
    output_names : tuple of str or None
        Class labels; None for one number.
    explains : str
        What the values sum to: "prediction", or "margin", to which the model applies a link.

    Notes
    -----
    ``explanation[rows]`` has some of the rows, ``explanation[..., output]`` one class.
    """

    values: Floats
    base_values: Floats
    data: Floats
    feature_names: tuple[str, ...]
    output_names: tuple[str, ...] | None = None
    explains: str = "prediction"

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.values)

    def __getitem__(self, place: Any) -> Explanation:
        """Return some of the rows, or after an ellipsis one of the outputs."""
        if isinstance(place, tuple):
            if len(place) != 2 or place[0] is not Ellipsis or self.output_names is None:
                raise IndexError("expected explanation[rows], or explanation[..., output] where there are several")
            output = self.output_names.index(str(place[1])) if isinstance(place[1], str) else int(place[1])
            values, base_values = self.values[..., output], self.base_values[..., output]
            return Explanation(values, base_values, self.data, self.feature_names, None, self.explains)
        rows = np.atleast_1d(np.arange(len(self))[place])
        return Explanation(
            self.values[rows],
            self.base_values[rows],
            self.data[rows],
            self.feature_names,
            self.output_names,
            self.explains,
        )

    @property
    def sums(self) -> Floats:
        """What base value and values sum to: the prediction of each row."""
        return np.asarray(self.base_values + self.values.sum(axis=1))

    def to_shap(self) -> Any:
        """Return a `shap.Explanation`, which `shap.plots` take.

        Raises
        ------
        MissingLibrary
            The package shap is not installed.
        """
        try:
            import shap
        except ImportError as error:
            raise MissingLibrary("to_shap needs the package shap: pip install shap") from error
        return shap.Explanation(
            values=self.values,
            base_values=self.base_values,
            data=self.data,
            feature_names=list(self.feature_names),
            output_names=None if self.output_names is None else list(self.output_names),
        )

    def _short_table(self) -> ShortTable:
        sizes = np.abs(self.values).mean(axis=0)
        order = np.argsort(-sizes.reshape(len(self.feature_names), -1).max(axis=1), kind="stable")
        columns = ["mean |value|"] if self.output_names is None else list(self.output_names)
        rows = [(self.feature_names[each], *(f"{size:.3g}" for size in np.atleast_1d(sizes[each]))) for each in order]
        caption = f"Shapley values of {counted(len(self), 'row')}, mean magnitude"
        return ShortTable(caption, ["attribute", *columns], rows)
