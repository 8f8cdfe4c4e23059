"""Simulated bagging: an ensemble grown from counts alone, as if its members had seen bootstrap samples of the rows."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from tremula.columns import ColumnEncoder, read_columns, read_training_columns
from tremula.combine import COMBINERS, combine_members, largest
from tremula.errors import InvalidInput, InvalidTarget, OneClassTarget
from tremula.parameters import check_choice, check_number
from tremula.queries.arrays import DEFAULT_BINS, ArrayOracle, describe_columns, encode_values
from tremula.queries.growing import BOOTSTRAP_SHARE, Growth, grow_members
from tremula.queries.oracle import Oracle, count_rows
from tremula.queries.question import Schema
from tremula.queries.sql import ensemble_sql
from tremula.seeds import RandomState, make_root_seed, member_generator
from tremula.targets import read_classes, read_target
from tremula.trees.growing import attributes_to_draw
from tremula.trees.tree import Tree

STOPS = {"full": 1.0, "bootstrap": BOOTSTRAP_SHARE}
LEAVES = ("counts", "resampled")


def encoder_of(schema: Schema) -> ColumnEncoder:
    """Read columns by the levels of a schema."""
    levels = [None if a.levels is None else np.array(a.levels) for a in schema.attributes]
    names = tuple(attribute.name for attribute in schema.attributes) if schema.has_names else None
    return ColumnEncoder(names, tuple(levels))


class SimulatedBagging(BaseEstimator):
    """Base of the two ensembles from counts."""

    n_estimators: int
    max_depth: int | None
    min_samples_split: float
    max_features: Any
    stop: str
    leaves: str
    joint_depth: int
    max_joint_cells: int
    n_bins: int
    categorical_features: Any
    random_state: Any

    members_: list[Tree]
    schema_: Schema
    encoder_: ColumnEncoder

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    def _check_parameters(self) -> None:
        check_number("n_estimators", self.n_estimators, 1, whole=True)
        if self.max_depth is not None:
            check_number("max_depth", self.max_depth, 0, whole=True)
        check_number("min_samples_split", self.min_samples_split, 0.0)
        check_choice("stop", self.stop, STOPS)
        check_choice("leaves", self.leaves, LEAVES)
        check_number("joint_depth", self.joint_depth, 1, whole=True)
        check_number("max_joint_cells", self.max_joint_cells, 1, whole=True)
        check_number("n_bins", self.n_bins, 2, whole=True)

    def _growth(self, n_attributes: int) -> Growth:
        return Growth(
            max_depth=self.max_depth,
            min_rows=self.min_samples_split,
            counted_share=STOPS[self.stop],
            n_attributes=n_attributes
            if self.max_features is None
            else attributes_to_draw(self.max_features, n_attributes),
            joint=self.joint_depth,
            max_joint_cells=self.max_joint_cells,
            resampled_leaves=self.leaves == "resampled",
        )

    def _oracle_for(self, X: Any, y: Any) -> tuple[Oracle, ColumnEncoder, NDArray[Any] | None]:
        """Return who answers, how columns are read when rows are to be predicted, and the class labels."""
        if isinstance(getattr(X, "schema", None), Schema):
            if y is not None:
                raise InvalidInput("y was given beside an oracle, which has a target of its own: leave y out")
            return X, encoder_of(X.schema), None if X.schema.classes is None else np.array(X.schema.classes)
        encoder, values = read_training_columns(self, X, self.categorical_features)
        labels, target = self._read_target(y, len(values))
        classes = None if labels is None else tuple(labels.tolist())
        schema = Schema(describe_columns(encoder, values, self.n_bins), "target", classes, encoder.names is not None)
        return ArrayOracle.from_codes(schema, encode_values(schema.attributes, values), target), encoder, labels

    def _read_target(self, y: Any, n_rows: int) -> tuple[NDArray[Any] | None, NDArray[Any]]:
        raise NotImplementedError

    def _grow(self, oracle: Oracle, encoder: ColumnEncoder) -> None:
        root_seed = make_root_seed(self.random_state)
        streams = [member_generator(root_seed, member) for member in range(self.n_estimators)]
        members = grow_members(oracle, self._growth(len(oracle.schema.attributes)), streams)
        # Only now, when nothing can fail any more: a model is never half fitted.
        self.members_, self.schema_, self.encoder_ = members, oracle.schema, encoder
        self.n_features_in_ = len(encoder.levels)
        if encoder.names is not None:
            self.feature_names_in_ = np.array(encoder.names, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_

    def _answers(self, X: Any, combine: str) -> NDArray[np.float64]:
        check_is_fitted(self, "members_")
        rows = read_columns(self, self.encoder_, X)
        return combine_members(self.members_, rows, len(rows), self.members_[0].n_outputs, combine)

    def export_sql(
        self, table: str = "rows", dialect: str = "duckdb", output: str = "prediction", missing: str = "shares"
    ) -> str:
        """Return a query that gives every row of a table with its prediction.

        Parameters
        ----------
        table : str, default="rows"
            Name of the table to predict for; it is quoted.
        dialect : str, default="duckdb"
            Of the engine, as sqlglot names it: "duckdb", "postgres", "spark", "sqlite", ...
        output : {"prediction", "probabilities"}, default="prediction"
            A column ``prediction`` beside the shares it was decided by; or only these, ``p0``, ``p1``, ... in the order
            of the classes. A regressor has one, ``p0``.
        missing : {"shares", "none"}, default="shares"
            "none" promises that there are no NULLs or levels that training did not see: the query is then shorter and
            several times faster.

        Returns
        -------
        str
        """
        check_is_fitted(self, "members_")
        combine = getattr(self, "combine", "average")
        return ensemble_sql(self.members_, self.schema_, combine, table, dialect, output, missing)


class SimulatedBaggingClassifier(ClassifierMixin, SimulatedBagging):
    """Bagging simulated from counts: at every node the counts are resampled, not the rows.

    Parameters
    ----------
    n_estimators : int, default=20
        Trees.
    max_depth : int or None, default=None
        Splits on a path at most.
    min_samples_split : float, default=2
        A node with fewer rows is a leaf.
    max_features : int, float, "sqrt", "log2" or None, default=None
        Attributes drawn at each node, as in a random forest; None is all of them.
    stop : {"full", "bootstrap"}, default="full"
        Whether `min_samples_split` is compared with all rows of a node or with the 63.2 % of them that a bootstrap
        sample would have, which gives smaller trees.
    leaves : {"counts", "resampled"}, default="counts"
        Whether leaves predict by the counts themselves or by counts resampled once more.
    joint_depth : int, default=1
        How many of the best attributes of a node are counted and resampled together, so that what depends on one
        another stays so; 1 resamples each on its own. Tables grow with the product of the attributes' values.
    max_joint_cells : int, default=100000
        Fewer attributes are taken together where a joint table would have more cells.
    n_bins : int, default=32
        Bins of a numeric attribute, where `fit` is given rows; an oracle has its own.
    combine : {"average", "vote"}, default="average"
        Whether class distributions are averaged, or members vote.
    categorical_features : "from_dtype", "all", list, mask or None, default="from_dtype"
        Which columns are nominal, where `fit` is given rows.
    random_state : int, RandomState, Generator or None, default=None
        The same seed gives the same trees, whoever answers.

    Attributes
    ----------
    members_ : list of Tree
        The trees.
    classes_ : array
        The class labels.
    schema_ : Schema
        The attributes that were asked about, and their values.

    Notes
    -----
    A. Van Assche and H. Blockeel, Bagging using statistical queries, ECML 2006. Draws are independent for each
    attribute and node, as in the paper, unless `joint_depth` is larger. Rows where the attribute of a split is missing
    are counted at the split but not below it; to be predicted, they take every branch in proportion to its rows.

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
        min_samples_split: float = 2,
        max_features: Any = None,
        stop: str = "full",
        leaves: str = "counts",
        joint_depth: int = 1,
        max_joint_cells: int = 100000,
        n_bins: int = DEFAULT_BINS,
        combine: str = "average",
        categorical_features: Any = "from_dtype",
        random_state: RandomState = None,
    ) -> None:
        self.n_estimators = n_estimators
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.max_features = max_features
        self.stop = stop
        self.leaves = leaves
        self.joint_depth = joint_depth
        self.max_joint_cells = max_joint_cells
        self.n_bins = n_bins
        self.combine = combine
        self.categorical_features = categorical_features
        self.random_state = random_state

    def _read_target(self, y: Any, n_rows: int) -> tuple[NDArray[Any] | None, NDArray[Any]]:
        return read_classes(y, n_rows, None)

    def fit(self, X: Any, y: Any = None) -> Self:
        """Grow the trees from counts.

        Parameters
        ----------
        X : oracle, or array, data frame or table of shape (n_rows, n_attributes)
            Who answers questions about the table; or rows, which are then counted in memory.
        y : array of shape (n_rows,), optional
            Class labels, where rows are given.

        Returns
        -------
        self
        """
        self._check_parameters()
        check_choice("combine", self.combine, COMBINERS)
        oracle, encoder, labels = self._oracle_for(X, y)
        if labels is None:
            raise InvalidTarget(
                f"target {oracle.schema.target!r} is numeric: use SimulatedBaggingRegressor, or tell the oracle that "
                'its numbers are classes with task="classification"'
            )
        present = np.count_nonzero(count_rows(oracle))
        if present < 2:
            raise OneClassTarget(
                f"target {oracle.schema.target!r} has rows of {present} class: at least 2 are needed to learn"
            )
        self._grow(oracle, encoder)
        self.classes_ = labels
        self.n_classes_ = len(self.classes_)
        return self

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Class distribution of each row: the mean of the members', or their shares of the votes.

        Parameters
        ----------
        X : array, data frame or table of shape (n_rows, n_attributes)

        Returns
        -------
        array of shape (n_rows, n_classes)
        """
        return self._answers(X, self.combine)

    def predict(self, X: Any) -> NDArray[Any]:
        """Class of each row, the first of equals.

        Parameters
        ----------
        X : array, data frame or table of shape (n_rows, n_attributes)

        Returns
        -------
        array of shape (n_rows,)
        """
        places = largest(self.predict_proba(X))
        return self.classes_[places]


class SimulatedBaggingRegressor(RegressorMixin, SimulatedBagging):
    """Bagging simulated from counts, sums and sums of squares.

    Parameters
    ----------
    n_estimators : int, default=20
        Trees.
    max_depth : int or None, default=None
        Splits on a path at most.
    min_samples_split : float, default=5
        A node with fewer rows is a leaf.
    max_features : int, float, "sqrt", "log2" or None, default=None
        Attributes drawn at each node, as in a random forest; None is all of them.
    stop : {"full", "bootstrap"}, default="full"
        Whether `min_samples_split` is compared with all rows of a node or with the 63.2 % of them that a bootstrap
        sample would have.
    leaves : {"counts", "resampled"}, default="counts"
        Whether leaves predict by the moments themselves or by moments resampled once more.
    joint_depth : int, default=1
        How many of the best attributes of a node are counted and resampled together.
    max_joint_cells : int, default=100000
        Fewer attributes are taken together where a joint table would have more cells.
    n_bins : int, default=32
        Bins of a numeric attribute, where `fit` is given rows; an oracle has its own.
    categorical_features : "from_dtype", "all", list, mask or None, default="from_dtype"
        Which columns are nominal, where `fit` is given rows.
    random_state : int, RandomState, Generator or None, default=None
        The same seed gives the same trees, whoever answers.

    Attributes
    ----------
    members_ : list of Tree
        The trees.
    schema_ : Schema
        The attributes that were asked about, and their values.

    Notes
    -----
    How many rows of a bin are drawn is a multinomial, as for classes; the sum of their targets is drawn from the normal
    distribution that is its limit, since the targets themselves are not known.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from tremula import SimulatedBaggingRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> SimulatedBaggingRegressor(max_depth=4, random_state=0).fit(X, y).predict(X[:3]).shape
    (3,)
    """

    def __init__(
        self,
        n_estimators: int = 20,
        max_depth: int | None = None,
        min_samples_split: float = 5,
        max_features: Any = None,
        stop: str = "full",
        leaves: str = "counts",
        joint_depth: int = 1,
        max_joint_cells: int = 100000,
        n_bins: int = DEFAULT_BINS,
        categorical_features: Any = "from_dtype",
        random_state: RandomState = None,
    ) -> None:
        self.n_estimators = n_estimators
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.max_features = max_features
        self.stop = stop
        self.leaves = leaves
        self.joint_depth = joint_depth
        self.max_joint_cells = max_joint_cells
        self.n_bins = n_bins
        self.categorical_features = categorical_features
        self.random_state = random_state

    def _read_target(self, y: Any, n_rows: int) -> tuple[NDArray[Any] | None, NDArray[Any]]:
        return None, read_target(y, n_rows, None)

    def fit(self, X: Any, y: Any = None) -> Self:
        """Grow the trees from counts, sums and sums of squares.

        Parameters
        ----------
        X : oracle, or array, data frame or table of shape (n_rows, n_attributes)
            Who answers questions about the table; or rows, which are then counted in memory.
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
                f"target {oracle.schema.target!r} has classes: use SimulatedBaggingClassifier, or tell the oracle that "
                'its values are numbers with task="regression"'
            )
        self._grow(oracle, encoder)
        return self

    def predict(self, X: Any) -> NDArray[np.float64]:
        """Mean of the members' values for each row.

        Parameters
        ----------
        X : array, data frame or table of shape (n_rows, n_attributes)

        Returns
        -------
        array of shape (n_rows,)
        """
        return self._answers(X, "average")[:, 0]
