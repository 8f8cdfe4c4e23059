"""A fitted model as a sum of trees, together with its own predictor; names of models in messages."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import ArrayLike, NDArray

from tremula.data.encoding import ColumnEncoder
from tremula.errors import InvalidInput, UnsupportedModel
from tremula.trees.tree_sum import TreeSum

# Codes from 0 up to these are known to be levels or not. Of others only the library knows what it makes of them.
KNOWN_CODES = {"xgboost": 0, "sklearn": 255}


@dataclass(frozen=True, eq=False)
class TreeModel:
    """A fitted model as a sum of trees.

    Attributes
    ----------
    estimator : fitted estimator
    name : str
        Class and library, for messages.
    sum : TreeSum
        Without noise `sum.answers(rows(X))` is `unsmoothed(X)`, up to the precision of the model. Where members
        vote, every leaf gives its class a share of 1; rows with missing values may then be answered otherwise, since
        tremula's trees vote by the mixture of the leaves such a row may reach.
    predictor : callable
        The model's own `predict_proba` or `predict`.
    classes : array or None
        Class labels, None where it predicts a number.
    feature_names : tuple of str or None
        Names of the attributes, where it was trained with such.
    levels : tuple of array or None
        For each attribute its levels in the order of their codes, None where it is numeric.
    precision : float
        Relative precision of the model's own sums.
    no_missing : str
        Why rows with missing values have no exact answer; empty if they have.
    inbag_counter : callable or None
        From the training rows (X, y, sample_weight) to how often each member was trained on each row, if known.
    checks_inbag : bool
        Whether the counter notices rows in another order than in training.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from tremula.smoothing.models import read_model
    >>> X, y = load_iris(return_X_y=True)
    >>> model = read_model(RandomForestClassifier(n_estimators=5, random_state=0).fit(X, y))
    >>> model.name, model.n_members, model.sum.link.name
    ('RandomForestClassifier of sklearn', 5, 'identity')
    >>> bool(abs(model.answers(X) - model.unsmoothed(X)).max() < 1e-9)
    True
    """

    estimator: Any
    name: str
    sum: TreeSum
    predictor: Callable[[Any], Any]
    classes: NDArray[Any] | None = None
    feature_names: tuple[str, ...] | None = None
    levels: tuple[NDArray[Any] | None, ...] | None = None
    inbag_counter: Callable[[Any, Any, Any], NDArray[Any]] | None = None
    precision: float = 1e-9
    no_missing: str = ""
    checks_inbag: bool = True

    @property
    def knows_inbag(self) -> bool:
        """Whether the rows that each member was trained on are known."""
        return self.inbag_counter is not None

    @property
    def n_attributes(self) -> int:
        """Number of attributes a row must have."""
        return self.sum.n_attributes

    @property
    def n_levels(self) -> NDArray[np.int32]:
        """For every attribute its number of levels, 0 if it is numeric."""
        return self.sum.n_levels

    @property
    def n_members(self) -> int:
        """Number of members."""
        return self.sum.n_members

    @property
    def n_outputs(self) -> int:
        """Number of classes, or 1."""
        return 1 if self.classes is None else len(self.classes)

    @cached_property
    def encoder(self) -> ColumnEncoder:
        """How tables are read."""
        levels = [np.arange(n) if n else None for n in self.n_levels] if self.levels is None else self.levels
        return ColumnEncoder(self.feature_names, tuple(levels))

    def rows(self, X: Any) -> NDArray[np.float64]:
        """Read a table as the trees take it: numbers, codes of levels, NaN where missing."""
        values = self.encoder.encode(X)
        library = library_of(type(self.estimator))
        if self.n_levels.any() and library != "tremula":
            self._check_codes(X, values, KNOWN_CODES.get(library, np.inf))
        return values

    def _check_codes(self, X: Any, rows: NDArray[np.float64], n_known: float) -> None:
        """Refuse codes that libraries treat in ways of their own: fractions, and in some other unknown codes."""
        frame = nw.from_native(X, eager_only=True, pass_through=True)
        for attribute, levels in enumerate(self.encoder.levels):
            if levels is None or levels.dtype.kind not in "iuf":
                continue
            if isinstance(frame, nw.DataFrame):
                column = frame[:, attribute]
                if not column.dtype.is_numeric():
                    continue
                codes = np.asarray(column.to_numpy(), dtype=np.float64)
            else:
                codes = np.asarray(np.asarray(X)[:, attribute], dtype=np.float64)
            is_other = np.isnan(rows[:, attribute]) & ~np.isnan(codes)
            is_whole = codes == np.floor(codes)
            is_wrong = is_other & ~(is_whole & ((codes >= 0) | np.isinf(n_known)) & (codes < n_known))
            if is_wrong.any():
                raise InvalidInput(
                    f"attribute {attribute} is nominal to {self.name}, and {codes[is_wrong][0]:g} is not the code of a "
                    "level: give whole numbers that it was trained on, or use method='sample'"
                )

    def unsmoothed(self, X: Any) -> NDArray[np.float64]:
        """Return the predictions of the model itself: class shares, or numbers in one column."""
        return two_dimensional(self.predictor(X), self.n_outputs)

    def margins(self, X: Any) -> NDArray[np.float64]:
        """Sum the trees for every row, without noise."""
        return self.sum.margins(self.rows(X))

    def answers(self, X: Any) -> NDArray[np.float64]:
        """Return the predictions of the trees without noise: those of `unsmoothed`, up to rounding."""
        return self.sum.answers(self.rows(X))

    def inbag_counts(self, X: Any, y: ArrayLike, sample_weight: Any = None) -> NDArray[Any] | None:
        """Count how often each member was trained on each row; None if that is unknown.

        Parameters
        ----------
        X, y, sample_weight
            The training rows of the model, in the same order.

        Returns
        -------
        int array of shape (n_members, n_rows) or None
            0 for an out-of-bag row, -1 for a row that could not be drawn.
        """
        return None if self.inbag_counter is None else self.inbag_counter(X, y, sample_weight)


def two_dimensional(answers: Any, n_outputs: int) -> NDArray[np.float64]:
    """Answers as a table of one column an output; of one number for two classes, the share of the second.

    Examples
    --------
    >>> two_dimensional([0.25, 1.0], 2)
    array([[0.75, 0.25],
           [0.  , 1.  ]])
    """
    values = np.asarray(answers, dtype=np.float64)
    if values.size != len(values) * n_outputs and not (n_outputs == 2 and values.ndim == 1):
        raise UnsupportedModel(
            f"the model gives answers of shape {values.shape}, but {n_outputs} for each row were expected: a model of "
            "several targets is not smoothed; train a model for each target"
        )
    if n_outputs == 2 and values.ndim == 1:
        return np.column_stack([1.0 - values, values])
    return values.reshape(len(values), n_outputs)


def whole_numbers(column: NDArray[Any]) -> NDArray[np.int64]:
    """Return the distinct whole numbers from 0 on in a column.

    Examples
    --------
    >>> whole_numbers(np.array([2.0, np.nan, 0.5, -1.0, 2.0, 0.0]))
    array([0, 2])
    """
    values = np.asarray(column, dtype=np.float64)
    is_code = (values >= 0) & (values < 2**31) & (values == np.floor(values))
    return np.unique(values[is_code]).astype(np.int64)


def library_of(kind: type) -> str:
    """Library that a class comes from.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> library_of(DecisionTreeClassifier)
    'sklearn'
    """
    return kind.__module__.split(".")[0]


def name_of(estimator: Any) -> str:
    """Class and library of a model.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> name_of(DecisionTreeClassifier())
    'DecisionTreeClassifier of sklearn'
    """
    kind = estimator if isinstance(estimator, type) else type(estimator)
    return f"{kind.__name__} of {library_of(kind)}"


Read = Callable[[Any], TreeModel]
Reader = Callable[..., TreeModel]
