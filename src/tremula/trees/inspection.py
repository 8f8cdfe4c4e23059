"""Methods of every fitted tree estimator besides prediction: importances, size, leaves of rows, and exports."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from sklearn.utils.validation import check_is_fitted

from tremula.data.encoding import ColumnEncoder
from tremula.data.several_targets import check_one_target
from tremula.data.table_input import TableInputMixin
from tremula.errors import UnsupportedModel
from tremula.parameters import check_flag, check_number
from tremula.trees.export.plotting import plot_tree
from tremula.trees.export.sql import export_sql
from tremula.trees.export.text import export_dot, export_text
from tremula.trees.importances import attribute_importances
from tremula.trees.member_sum import MemberSum, mean_of_members
from tremula.trees.tree import Tree
from tremula.trees.tree_sum import TreeSum, mean_of_trees

MOST_DECIMALS = 300  # of thresholds and means; float64 has no more than 324


class FittedTreeMixin(TableInputMixin):
    """Inspects and exports `tree_`, with the names and levels of `encoder_` and the labels of `classes_`.

    A learner sets `_impurity`, by which importances are measured, see `attribute_importances`.
    """

    tree_: Tree
    encoder_: ColumnEncoder
    _impurity: str

    @property
    def feature_importances_(self) -> NDArray[np.float64]:
        """Each attribute's share of the decrease of impurity over all splits; the shares sum to 1."""
        check_is_fitted(self)
        return attribute_importances(self._exported_tree()[0], self._impurity)

    def get_depth(self) -> int:
        """Return the depth of the tree: the number of splits on its longest path."""
        check_is_fitted(self)
        return self.tree_.depth

    def get_n_leaves(self) -> int:
        """Return the number of leaves."""
        check_is_fitted(self)
        return self.tree_.n_leaves

    def apply(self, X: Any) -> NDArray[np.int32]:
        """Return the leaf of each row.

        A row with a missing value takes the branch of the largest training weight, the first of equals.
        """
        check_is_fitted(self)
        return self.tree_.apply(self._encode_rows(self.encoder_, X))

    def decision_path(self, X: Any) -> csr_array:
        """Return the nodes that each row reaches, as a sparse matrix of shape (n_rows, n_nodes).

        A row with missing values can reach several leaves.
        """
        check_is_fitted(self)
        return self.tree_.decision_path(self._encode_rows(self.encoder_, X))

    def as_tree_sum(self) -> TreeSum:
        """Return the tree as a sum of one tree, which smoothing works on.

        Raises
        ------
        UnsupportedModel
            The leaves hold models, as those of `M5Regressor`, instead of constants.
        """
        check_is_fitted(self, "tree_")
        check_one_target(self, "a sum of trees, which smoothing and explanations need,")
        if not isinstance(self.tree_, Tree):
            raise UnsupportedModel(
                f"{type(self).__name__} has models in the leaves of its tree, so it is not a sum of trees: use another "
                "tree learner"
            )
        return mean_of_trees([self.tree_])

    def as_member_sum(self) -> MemberSum:
        """Return the tree as a sum of one member, the form that exports write; also of `M5Regressor`."""
        check_is_fitted(self, "tree_")
        check_one_target(self, "export")
        return mean_of_members([self.tree_], getattr(self.tree_, "n_outputs", 1))

    def export_text(self, *, decimals: int | None = 3, max_depth: int | None = None, show_weights: bool = True) -> str:
        """Return the tree as text, with one line for each branch.

        Parameters
        ----------
        decimals : int or None, default=3
            Number of decimals of thresholds and means; None writes all digits.
        max_depth : int, optional
            Deeper splits are summarized in one line.
        show_weights : bool, default=True
            Whether leaves show their training weight, and the share of the predicted class if it is below 1.
        """
        return str(self._export(export_text, decimals=decimals, max_depth=max_depth, show_weights=show_weights))

    def export_dot(self, *, decimals: int | None = 3, max_depth: int | None = None) -> str:
        """Return the tree as a graph in the DOT language of Graphviz.

        Parameters
        ----------
        decimals : int or None, default=3
            Number of decimals of thresholds and means; None writes all digits.
        max_depth : int, optional
            Deeper splits are summarized in one node.
        """
        return str(self._export(export_dot, decimals=decimals, max_depth=max_depth))

    def export_sql(self, *, output: str | None = None, missing: str = "shares") -> str:
        """Return the tree as an SQL expression that gives the same predictions (tested in DuckDB).

        Parameters
        ----------
        output : {"class", "probabilities", "value"}, optional
            By default "class" for a classifier, which can also give "probabilities", and "value" for a regressor.
        missing : {"shares", "none"}, default="shares"
            "shares" follows several branches where a value is missing. "none" assumes that no value is NULL, NaN or a
            level that training did not see; the expression is then much shorter.
        """
        check_is_fitted(self)
        check_one_target(self, "export_sql")
        return export_sql(self.tree_, *self._names(), output=output, missing=missing)

    def plot(
        self, *, decimals: int | None = 3, max_depth: int | None = None, show_weights: bool = True, ax: Any = None
    ) -> Any:
        """Draw the tree with matplotlib, the root at the left, and return the axes.

        Parameters
        ----------
        decimals : int or None, default=3
            Number of decimals of thresholds and means; None writes all digits.
        max_depth : int, optional
            Deeper splits are drawn as one box.
        show_weights : bool, default=True
            Whether leaves show their training weight, and the share of the predicted class if it is below 1.
        ax : matplotlib Axes, optional
            The axes to draw on; by default those of a new figure that is large enough.
        """
        return self._export(plot_tree, decimals=decimals, max_depth=max_depth, show_weights=show_weights, ax=ax)

    def _export(self, export: Callable[..., Any], **options: Any) -> Any:
        check_is_fitted(self)
        for name, most in (("decimals", MOST_DECIMALS), ("max_depth", np.inf)):
            if options[name] is not None:
                check_number(name, options[name], 0, most, whole=True)
        check_flag("show_weights", options.get("show_weights", True))
        check_one_target(self, "a tree as text, graph or figure")
        tree, answers = self._exported_tree()
        return export(tree, *self._names(), **options, answers=answers)

    def _exported_tree(self) -> tuple[Tree, Sequence[str] | None]:
        """Return the tree to export, and texts for its leaves if they predict more than a class or a mean."""
        return self.tree_, None

    def _names(self) -> tuple[Sequence[str] | None, Sequence[Any] | None, Sequence[Any]]:
        return self.encoder_.names, getattr(self, "classes_", None), self.encoder_.levels
