"""Simulated bagging: ensembles grown from counts alone, as if each member had seen a bootstrap sample of the rows."""

from __future__ import annotations

import warnings
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin, RegressorMixin

from tremula.data.target import read_classes, read_target
from tremula.errors import InvalidTarget, OneClassTarget, OneClassWarning
from tremula.parameters import with_parameters
from tremula.parameters.kinds import number
from tremula.persistence.registry import storable
from tremula.prediction import StagedClassPredictionMixin, StagedNumberPredictionMixin
from tremula.queries.arrays import DEFAULT_BINS
from tremula.queries.base import SimulatedBagging
from tremula.queries.oracle import count_rows
from tremula.seeds import RandomState


@storable
@with_parameters(
    max_depth=number(0, whole=True, none=True),
    min_samples_split="Minimum number of rows in a node to split it.",
    max_features="Number of attributes drawn at each node, as in a random forest; None is all.",
    categorical_features="Which columns are nominal, where `fit` is given rows.",
    random_state="The same seed gives the same trees, whichever oracle answers.",
    n_jobs="Number of threads that choose the splits of members and predict rows, as in joblib.",
)
class SimulatedBaggingClassifier(ClassifierMixin, StagedClassPredictionMixin, SimulatedBagging):
    """Bagging simulated from counts: at every node the counts are resampled, not the rows.

    Attributes
    ----------
    members_ : list of Tree
        The trees.
    classes_ : array
        The class labels.
    schema_ : Schema
        The attributes and their values.
    feature_importances_ : array of shape (n_attributes,)
        Mean over the members of each attribute's share of the decrease of impurity.

    Notes
    -----
    A. Van Assche and H. Blockeel, Bagging using statistical queries, ECML 2006. Draws are independent for each
    attribute and node, as in the paper, unless `n_joint_features` is above 1. In training, rows whose value of the
    split's attribute is missing are counted at the split but not below it. In prediction, they take every branch in
    proportion to its rows.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tremula import SimulatedBaggingClassifier
    >>> from tremula.queries import ArrayOracle
    >>> X, y = load_iris(return_X_y=True)
    >>> model = SimulatedBaggingClassifier(random_state=0).fit(ArrayOracle(X, y))
    >>> model.predict(X[:3])
    array([0, 0, 0])
    """

    def __init__(
        self,
        n_estimators: int = 20,
        max_depth: int | None = None,
        *,
        min_samples_split: float = 2,
        max_features: Any = None,
        stop: str = "full",
        leaves: str = "counts",
        n_joint_features: int = 1,
        draws_per_row: int = 1,
        max_joint_cells: int = 100000,
        n_bins: int = DEFAULT_BINS,
        combine: str = "average",
        categorical_features: Any = "from_dtype",
        random_state: RandomState = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_estimators = n_estimators
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.max_features = max_features
        self.stop = stop
        self.leaves = leaves
        self.n_joint_features = n_joint_features
        self.draws_per_row = draws_per_row
        self.max_joint_cells = max_joint_cells
        self.n_bins = n_bins
        self.combine = combine
        self.categorical_features = categorical_features
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _read_target(self, y: Any, n_rows: int) -> tuple[NDArray[Any] | None, NDArray[Any]]:
        return read_classes(y, n_rows, None)

    def fit(self, X: Any, y: Any = None) -> Self:
        """Grow the trees from counts.

        Parameters
        ----------
        X : oracle, or array, data frame or table of shape (n_rows, n_attributes)
            An oracle that answers questions about a table; or rows, which are then counted in memory.
        y : array of shape (n_rows,), optional
            Class labels, if `X` are rows.

        Returns
        -------
        self
        """
        self._check_parameters()
        oracle, encoder, labels = self._oracle_for(X, y)
        if labels is None:
            raise InvalidTarget(
                f"target {oracle.schema.target!r} is numeric: use SimulatedBaggingRegressor, or make the oracle with "
                'task="classification" to treat its numbers as classes'
            )
        present = int(np.count_nonzero(count_rows(oracle)))
        if present == 0:
            raise OneClassTarget(f"target {oracle.schema.target!r} has rows of 0 classes: at least 2 are needed")
        if present == 1:  # noise or a guard can hide a class, and the budget is spent: an error would lose it
            warnings.warn(
                f"by its counts, target {oracle.schema.target!r} has rows of 1 class: the trees predict it for every "
                "row; allow a larger privacy budget or a lower min_count, or use a larger table",
                OneClassWarning,
                stacklevel=2,
            )
        self._grow(oracle, encoder)
        self.classes_ = labels
        self.n_classes_ = len(self.classes_)
        return self


@storable
@with_parameters(
    max_depth=number(0, whole=True, none=True),
    min_samples_split="Minimum number of rows in a node to split it.",
    max_features="Number of attributes drawn at each node, as in a random forest; None is all.",
    leaves="Whether leaves predict by the moments themselves, or by moments resampled once more.",
    categorical_features="Which columns are nominal, where `fit` is given rows.",
    random_state="The same seed gives the same trees, whichever oracle answers.",
    n_jobs="Number of threads that choose the splits of members and predict rows, as in joblib.",
)
class SimulatedBaggingRegressor(RegressorMixin, StagedNumberPredictionMixin, SimulatedBagging):
    """Bagging simulated from counts, sums and sums of squares.

    Attributes
    ----------
    members_ : list of Tree
        The trees.
    schema_ : Schema
        The attributes and their values.
    feature_importances_ : array of shape (n_attributes,)
        Mean over the members of each attribute's share of the decrease of impurity.

    Notes
    -----
    The number of rows drawn from each bin is a multinomial, as for classes. The targets themselves are not known, so
    the sum of the drawn targets is drawn from its limit, a normal distribution.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from tremula import SimulatedBaggingRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> SimulatedBaggingRegressor(max_depth=4, random_state=0).fit(X, y).predict(X[:3]).shape
    (3,)
    """

    combine = "average"

    def __init__(
        self,
        n_estimators: int = 20,
        max_depth: int | None = None,
        *,
        min_samples_split: float = 5,
        max_features: Any = None,
        stop: str = "full",
        leaves: str = "counts",
        n_joint_features: int = 1,
        draws_per_row: int = 1,
        max_joint_cells: int = 100000,
        n_bins: int = DEFAULT_BINS,
        categorical_features: Any = "from_dtype",
        random_state: RandomState = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_estimators = n_estimators
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.max_features = max_features
        self.stop = stop
        self.leaves = leaves
        self.n_joint_features = n_joint_features
        self.draws_per_row = draws_per_row
        self.max_joint_cells = max_joint_cells
        self.n_bins = n_bins
        self.categorical_features = categorical_features
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _read_target(self, y: Any, n_rows: int) -> tuple[NDArray[Any] | None, NDArray[Any]]:
        return None, read_target(y, n_rows, None)

    def fit(self, X: Any, y: Any = None) -> Self:
        """Grow the trees from counts, sums and sums of squares.

        Parameters
        ----------
        X : oracle, or array, data frame or table of shape (n_rows, n_attributes)
            An oracle that answers questions about a table; or rows, which are then counted in memory.
        y : array of shape (n_rows,), optional
            Numbers, where rows are given.

        Returns
        -------
        self
        """
        self._check_parameters()
        oracle, encoder, labels = self._oracle_for(X, y)
        if labels is not None:
            raise InvalidTarget(
                f"target {oracle.schema.target!r} has classes: use SimulatedBaggingClassifier, or make the oracle with "
                'task="regression" to treat its values as numbers'
            )
        self._grow(oracle, encoder)
        return self
