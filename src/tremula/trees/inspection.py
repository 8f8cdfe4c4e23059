"""What every fitted single-tree estimator can do with its tree besides predicting: look at it and write it out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from sklearn.utils.validation import check_is_fitted

from tremula.data.encoding import ColumnEncoder
from tremula.data.table_input import TableInputMixin
from tremula.errors import UnsupportedModel
from tremula.trees.export.plotting import plot_tree
from tremula.trees.export.sql import export_sql
from tremula.trees.export.text import export_dot, export_text
from tremula.trees.importances import attribute_importances
from tremula.trees.tree import Tree
from tremula.trees.tree_sum import TreeSum, mean_of_trees


class FittedTreeMixin(TableInputMixin):
    """Reading and writing out `tree_`, in the words of `encoder_` and, for a classifier, `classes_`.

    A learner sets `_impurity`, the measure its importances are told in: "entropy", "gini" or "variance".
    """

    tree_: Tree
    encoder_: ColumnEncoder
    _impurity: str

    @property
    def feature_importances_(self) -> NDArray[np.float64]:
        """Share of each attribute in the decrease of impurity by the tree's splits; they sum to 1."""
        check_is_fitted(self)
        return attribute_importances(self._written()[0], self._impurity)

    def get_depth(self) -> int:
        """Return the number of splits on the longest path."""
        check_is_fitted(self)
        return self.tree_.depth

    def get_n_leaves(self) -> int:
        """Return the number of leaves."""
        check_is_fitted(self)
        return self.tree_.n_leaves

    def apply(self, X: Any) -> NDArray[np.int32]:
        """Find the leaf of every row; where a value is missing a row takes the heaviest branch, the first of equals."""
        check_is_fitted(self)
        return self.tree_.apply(self._encode_columns(self.encoder_, X))

    def decision_path(self, X: Any) -> csr_array:
        """Mark the nodes every row reaches, shape (n_rows, n_nodes); several paths where values are missing."""
        check_is_fitted(self)
        return self.tree_.decision_path(self._encode_columns(self.encoder_, X))

    def as_tree_sum(self) -> TreeSum:
        """Return the tree as a sum of one tree, which smoothing works on.

        Raises
        ------
        UnsupportedModel
            The leaves hold models, as those of `M5Regressor`, instead of constants.
        """
        check_is_fitted(self, "tree_")
        if not isinstance(self.tree_, Tree):
            raise UnsupportedModel(
                f"{type(self).__name__} has models in the leaves of its tree, so it is not a sum of trees: use another "
                "tree learner"
            )
        return mean_of_trees([self.tree_])

    def export_text(self, *, decimals: int | None = 3, max_depth: int | None = None, show_weights: bool = True) -> str:
        """Write the tree as text, one line a branch.

        Parameters
        ----------
        decimals : int or None, default=3
            Decimals of thresholds and means; None writes every digit.
        max_depth : int, optional
            Deeper splits are summed up in a line.
        show_weights : bool, default=True
            Whether leaves show their training weight and the share of the predicted class if there are others.
        """
        check_is_fitted(self)
        tree, answers = self._written()
        options: dict[str, Any] = {"decimals": decimals, "max_depth": max_depth, "show_weights": show_weights}
        return export_text(tree, *self._names(), **options, answers=answers)

    def export_dot(self, *, decimals: int | None = 3, max_depth: int | None = None) -> str:
        """Write the tree as a graph in the language of Graphviz.

        Parameters
        ----------
        decimals : int or None, default=3
            Decimals of thresholds and means; None writes every digit.
        max_depth : int, optional
            Deeper splits are summed up in a node.
        """
        check_is_fitted(self)
        tree, answers = self._written()
        return export_dot(tree, *self._names(), decimals=decimals, max_depth=max_depth, answers=answers)

    def export_sql(self, *, output: str | None = None, missing: str = "shares") -> str:
        """Write the tree as an SQL expression that gives the same prediction in the database (tested in DuckDB).

        Parameters
        ----------
        output : {"class", "probabilities", "value"}, optional
            A classifier gives its "class" unless asked for "probabilities", a regressor its "value".
        missing : {"shares", "none"}, default="shares"
            "none" promises that no value is NULL, NaN or an unseen level: the expression is then much shorter.
        """
        check_is_fitted(self)
        return export_sql(self.tree_, *self._names(), output=output, missing=missing)

    def plot(
        self, *, decimals: int | None = 3, max_depth: int | None = None, show_weights: bool = True, ax: Any = None
    ) -> Any:
        """Draw the tree with matplotlib, the root at the left; returns the axes.

        Parameters
        ----------
        decimals : int or None, default=3
            Decimals of thresholds and means; None writes every digit.
        max_depth : int, optional
            Deeper splits are drawn as one box.
        show_weights : bool, default=True
            Whether leaves show their training weight and the share of the predicted class if there are others.
        ax : matplotlib Axes, optional
            Where to draw; by default a new figure that is large enough.
        """
        check_is_fitted(self)
        tree, answers = self._written()
        options: dict[str, Any] = {"decimals": decimals, "max_depth": max_depth, "show_weights": show_weights}
        return plot_tree(tree, *self._names(), **options, answers=answers, ax=ax)

    def _written(self) -> tuple[Tree, Sequence[str] | None]:
        """Return the tree to write out, and what its leaves predict where that is more than a class or a mean."""
        return self.tree_, None

    def _names(self) -> tuple[Sequence[str] | None, Sequence[Any] | None, Sequence[Any]]:
        return self.encoder_.names, getattr(self, "classes_", None), self.encoder_.levels
