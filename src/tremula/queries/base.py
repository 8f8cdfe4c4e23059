"""Base of the two ensembles learned from counts: makes the oracle, grows the trees and combines their predictions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from tremula.combine import staged_means
from tremula.data.encoding import ColumnEncoder
from tremula.data.table_input import TableInputMixin
from tremula.errors import InvalidInput
from tremula.parallel import map_row_blocks
from tremula.parameters import check_parameters
from tremula.persistence.soundness import require
from tremula.prediction import StagedOutputsMixin
from tremula.queries.arrays import ArrayOracle, describe_columns, encode_values
from tremula.queries.growing import BOOTSTRAP_SHARE, Growth, grow_members
from tremula.queries.oracle import Oracle
from tremula.queries.question import Schema
from tremula.queries.sql.export import ensemble_sql
from tremula.seeds import make_root_seed, member_generator
from tremula.trees.combined_trees import combined_trees
from tremula.trees.importances import attribute_importances
from tremula.trees.member_sum import MemberSum, mean_of_members
from tremula.trees.rules import attributes_to_draw
from tremula.trees.tree import Tree
from tremula.trees.tree_sum import TreeSum, mean_of_trees

STOPS = {"full": 1.0, "bootstrap": BOOTSTRAP_SHARE}


def encoder_of(schema: Schema) -> ColumnEncoder:
    """Return an encoder of columns with the names and levels of a schema."""
    levels = [None if a.levels is None else np.array(a.levels) for a in schema.attributes]
    names = tuple(attribute.name for attribute in schema.attributes) if schema.has_names else None
    return ColumnEncoder(names, tuple(levels))


class SimulatedBagging(TableInputMixin, StagedOutputsMixin, BaseEstimator):
    """Base of the two ensembles learned from counts."""

    n_estimators: int
    max_depth: int | None
    min_samples_split: float
    max_features: Any
    stop: str
    leaves: str
    n_joint_features: int
    max_joint_cells: int
    n_bins: int
    combine: str
    categorical_features: Any
    random_state: Any
    draws_per_row: int = 1  # older files have none, nor the next
    n_jobs: int | None = None

    members_: list[Tree]  # type: ignore[assignment]
    schema_: Schema
    encoder_: ColumnEncoder

    def _check_stored(self) -> None:
        require(len(self.members_) > 0, "there are no members")
        for tree in self.members_:
            tree.check_fits(self.encoder_.n_levels, self._n_outputs)
        attributes, n_levels = self.schema_.attributes, self.encoder_.n_levels.tolist()
        counted = [0 if attribute.levels is None else len(attribute.levels) for attribute in attributes]
        require(counted == n_levels, "the schema has other attributes or levels")
        classes = getattr(self, "classes_", None)
        n_classes = 0 if self.schema_.classes is None else len(self.schema_.classes)
        require(n_classes == (0 if classes is None else len(classes)), "the schema has other classes")

    def _check_parameters(self) -> None:
        check_parameters(self)

    def _growth(self, n_attributes: int) -> Growth:
        return Growth(
            max_depth=self.max_depth,
            min_rows=self.min_samples_split,
            counted_share=STOPS[self.stop],
            n_attributes=n_attributes
            if self.max_features is None
            else attributes_to_draw(self.max_features, n_attributes),
            joint=self.n_joint_features,
            max_joint_cells=self.max_joint_cells,
            resampled_leaves=self.leaves == "resampled",
            draws_per_row=self.draws_per_row,
        )

    def _oracle_for(self, X: Any, y: Any) -> tuple[Oracle, ColumnEncoder, NDArray[Any] | None]:
        """Return the oracle, the encoder of rows to predict, and the class labels; labels are None for regression."""
        if isinstance(getattr(X, "schema", None), Schema):
            if y is not None:
                raise InvalidInput("y was given with an oracle, which has its own target: leave y out")
            return X, encoder_of(X.schema), None if X.schema.classes is None else np.array(X.schema.classes)
        encoder, values = ColumnEncoder.learn(X, self.categorical_features)
        labels, target = self._read_target(y, len(values))
        classes = None if labels is None else tuple(labels.tolist())
        schema = Schema(describe_columns(encoder, values, self.n_bins), "target", classes, encoder.names is not None)
        return ArrayOracle.from_codes(schema, encode_values(schema.attributes, values), target), encoder, labels

    def _read_target(self, y: Any, n_rows: int) -> tuple[NDArray[Any] | None, NDArray[Any]]:
        raise NotImplementedError

    def _grow(self, oracle: Oracle, encoder: ColumnEncoder) -> None:
        root_seed = make_root_seed(self.random_state)
        streams = [member_generator(root_seed, member) for member in range(self.n_estimators)]
        members = grow_members(oracle, self._growth(len(oracle.schema.attributes)), streams, self.n_jobs)
        # Set together at the end, so that a failed fit leaves the model as it was.
        self.members_, self.schema_, self.encoder_ = members, oracle.schema, encoder
        self._set_columns(encoder.n_columns, encoder.names)

    def _read_table(self, X: Any) -> NDArray[np.float64]:
        if "members_" not in self.__dict__:  # the check takes a good part of the time of one row
            check_is_fitted(self, "members_")
        return self._encode_columns(self.encoder_, X)

    def _predict_outputs(self, rows: NDArray[np.float64]) -> NDArray[np.float64]:
        trees = combined_trees(self, self.members_, self._n_outputs, self.combine)
        trees.expect(len(rows))
        return map_row_blocks(trees.means, rows, self.n_jobs)

    def _staged_outputs(self, rows: NDArray[np.float64]) -> Iterator[NDArray[np.float64]]:
        return staged_means(self.members_, rows, len(rows), self._n_outputs, self.combine)

    @property
    def estimators_(self) -> list[Tree]:
        """The members."""
        check_is_fitted(self, "members_")
        return list(self.members_)

    @property
    def feature_importances_(self) -> NDArray[np.float64]:
        """Mean over the members of each attribute's share of the decrease of impurity, by counts not resampled."""
        check_is_fitted(self, "members_")
        impurity = "variance" if self.schema_.classes is None else "entropy"
        return np.asarray(np.mean([attribute_importances(tree, impurity) for tree in self.members_], axis=0))

    def __len__(self) -> int:
        """Return the number of members."""
        check_is_fitted(self, "members_")
        return len(self.members_)

    def as_tree_sum(self) -> TreeSum:
        """Return the ensemble as a weighted sum of trees, which smoothing works on."""
        check_is_fitted(self, "members_")
        mean = mean_of_trees(self.members_)
        return mean.with_votes() if self.combine == "vote" else mean

    def as_member_sum(self) -> MemberSum:
        """Return the ensemble as the sum of its members, the form that exports write."""
        check_is_fitted(self, "members_")
        return mean_of_members(self.members_, self._n_outputs, votes=self.combine == "vote")

    def export_sql(
        self,
        table: str = "rows",
        dialect: str = "duckdb",
        output: str = "prediction",
        missing: str = "shares",
        form: str = "auto",
    ) -> str:
        """Return an SQL query that predicts every row of a table.

        Parameters
        ----------
        table : str, default="rows"
            Name of the table to predict; the query quotes it.
        dialect : str, default="duckdb"
            SQL dialect of the engine, as sqlglot names it: "duckdb", "postgres", "spark", "sqlite", ...
        output : {"prediction", "probabilities"}, default="prediction"
            "probabilities" adds the columns ``p0``, ``p1``, ..., one for each class in order. "prediction" adds the
            column ``prediction`` too. A regressor has only ``p0``.
        missing : {"shares", "none"}, default="shares"
            "none" promises that the table has no NULLs and no levels unseen in training. Nested CASEs are then shorter
            and several times faster.
        form : {"auto", "case", "join"}, default="auto"
            "case" writes every tree as nested CASEs; their sums are equal to those of `predict_proba` to the last bit.
            "join" joins the rows with a table of the nodes, once for each level of the trees: its text has about 20
            characters a node, its sums are rounded otherwise, and in PostgreSQL and SQLite it adds the column
            ``margin_row``. DuckDB, PostgreSQL and SQLite run it. "auto" writes the shorter one.

        Returns
        -------
        str
        """
        return ensemble_sql(self.as_member_sum(), self.schema_, table, dialect, output, missing, form)
