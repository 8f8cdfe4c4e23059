"""`to_treelite`: a trained model as a model of treelite, for its own library, for compiled C code and for GPUs.

treelite sends a missing value down one branch. Where a tree of tremula would send it down several, the answer is NaN:
for each such attribute one more tree adds NaN to rows that lack it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tremula.errors import MissingLibrary, UnsupportedModel
from tremula.export.binary_trees import BinaryTree, mixing_attributes
from tremula.export.conversion import binary_tree
from tremula.export.model import ExportedModel, read_exported
from tremula.export.thresholds import ThresholdRounding
from tremula.parameters import check_choice
from tremula.trees.links import ExponentialLink, IdentityLink, Link, LogisticLink, ShareLink, SoftmaxLink
from tremula.trees.tree import Tree

DTYPES = ("float64", "float32")
MANY_CLASSES, TWO_CLASSES, NUMBERS = "kMultiClf", "kBinaryClf", "kRegressor"
POSTPROCESSORS: dict[type[Link], str] = {
    IdentityLink: "identity",
    LogisticLink: "sigmoid",
    ShareLink: "sigmoid",
    SoftmaxLink: "softmax",
    ExponentialLink: "exponential",
}


def to_treelite(model: Any, X: Any = None, *, dtype: str = "float64") -> Any:
    """Return a trained model as a model of treelite.

    Parameters
    ----------
    model : fitted estimator
        A tree or an ensemble of tremula, or a model of another library that smoothing can read.
    X : table, default=None
        Rows, such as those of training, whose values are rounded to single precision. Thresholds are then placed so
        that none of these rows changes sides. Not used in double precision.
    dtype : {"float64", "float32"}, default="float64"
        Precision of thresholds and values. With "float32" and without `X`, every number takes the branches that
        tremula sends the same number down.

    Returns
    -------
    treelite.Model
        It takes numbers and, for nominal attributes, the codes of levels: ``model.encoder_.encode(table)``. Its
        outputs are class probabilities, of shape (n_rows, 1, n_classes), or numbers. A row that lacks an attribute
        whose missing values take several branches gets NaN.

    Raises
    ------
    UnsupportedModel
        The model is smoothed, its members are not trees with constants in their leaves, treelite has no
        counterpart of its link (`AspenClassifier`), or unseen levels need too many splits.
    InvalidInput
        Two values of `X` on different sides of a threshold are the same number in single precision.
    MissingLibrary
        treelite is not installed: ``pip install "tremula[models]"``.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tremula import RandomForestClassifier, to_treelite
    >>> X, y = load_iris(return_X_y=True)
    >>> forest = RandomForestClassifier(n_estimators=10, random_state=0).fit(X, y)
    >>> import treelite
    >>> shares = treelite.gtil.predict(to_treelite(forest), X)[:, 0]
    >>> bool(abs(shares - forest.predict_proba(X)).max() < 1e-12)
    True
    """
    check_choice("dtype", dtype, DTYPES)
    library = _import_treelite()
    exported = read_exported(model)
    rounding = ThresholdRounding.of(dtype, None if X is None else exported.encode(X), exported.attributes)
    shape = _Shape.of(exported)
    whole, mixes = exported.whole, mixing_attributes(exported.whole)
    guarded = np.flatnonzero(mixes | bool(exported.no_missing)).tolist()
    builder = shape.builder(library.model_builder, dtype, len(whole.members) + len(guarded))
    for member, weight, start in zip(whole.members, whole.weights, whole.starts):
        tree: Any = member
        binary = binary_tree(tree, whole.n_levels, whole.filling, mixes)
        values = np.eye(tree.n_outputs)[binary.values.argmax(axis=1)] if whole.votes else binary.values
        outputs = np.zeros((len(values), whole.n_margins))
        outputs[:, start : start + values.shape[1]] = weight * values
        _write_tree(builder, replace(binary, values=outputs), shape, rounding)
    for attribute in guarded:
        _write_guard(builder, attribute, int(whole.n_levels[attribute]), shape)
    return builder.commit()


def _import_treelite() -> Any:
    try:
        import treelite
        import treelite.model_builder
    except ImportError as error:
        raise MissingLibrary('to_treelite needs the library treelite: pip install "tremula[models]"') from error
    return treelite


@dataclass(frozen=True)
class _Shape:
    """What treelite wants to know of the outputs."""

    task: str
    n_classes: int
    n_outputs: int
    postprocessor: str
    offset: list[float]
    n_attributes: int

    @classmethod
    def of(cls, exported: ExportedModel) -> _Shape:
        """Read the shape of a model; refuse models that treelite cannot hold."""
        whole, name = exported.whole, exported.name
        if not all(isinstance(member, Tree) for member in whole.members):
            raise UnsupportedModel(
                f"{name} has model trees, and treelite has constants in leaves only: export it to ONNX, SQL or a page"
            )
        postprocessor = POSTPROCESSORS.get(type(whole.link))
        if postprocessor is None:
            raise UnsupportedModel(
                f"{name} applies the link {whole.link.name!r} to its sum of trees, which treelite does not have: "
                "export it to ONNX, SQL or a page"
            )
        if not np.isfinite(whole.offset).all():
            raise UnsupportedModel(
                f"{name} adds {whole.offset.tolist()} to its sum of trees: treelite takes finite numbers"
            )
        if exported.classes is None:
            task, n_classes = NUMBERS, 1
        elif isinstance(whole.link, LogisticLink):
            task, n_classes = TWO_CLASSES, 1
        else:
            task, n_classes = MANY_CLASSES, len(exported.classes)
            postprocessor = "identity_multiclass" if postprocessor == "identity" else postprocessor
        return cls(task, n_classes, whole.n_margins, postprocessor, whole.offset.tolist(), whole.n_attributes)

    def builder(self, library: Any, dtype: str, n_trees: int) -> Any:
        """Return an empty model."""
        metadata = library.Metadata(
            num_feature=self.n_attributes,
            task_type=self.task,
            average_tree_output=False,
            num_target=1,
            num_class=[self.n_classes],
            leaf_vector_shape=(1, self.n_classes),
        )
        annotation = library.TreeAnnotation(
            num_tree=n_trees, target_id=[0] * n_trees, class_id=[0 if self.n_classes == 1 else -1] * n_trees
        )
        return library.ModelBuilder(
            threshold_type=dtype,
            leaf_output_type=dtype,
            metadata=metadata,
            tree_annotation=annotation,
            postprocessor=library.PostProcessorFunc(name=self.postprocessor),
            base_scores=self.offset,
        )

    def leaf(self, values: NDArray[np.float64]) -> Any:
        """Return the values of a leaf as treelite takes them."""
        return float(values[0]) if self.n_classes == 1 else values.tolist()


def _write_tree(builder: Any, tree: BinaryTree, shape: _Shape, rounding: ThresholdRounding) -> None:
    is_numeric = np.array([levels is None for levels in tree.levels], bool)
    thresholds = np.zeros(tree.n_splits)
    thresholds[is_numeric] = rounding.round(tree.attribute[is_numeric], tree.threshold[is_numeric], tree.strict)
    builder.start_tree()
    for key, split in _keys(tree):
        builder.start_node(key)
        if split < 0:
            builder.leaf(shape.leaf(tree.values[-1 - split]))
        else:
            children = {
                "left_child_key": _key(tree, int(tree.left[split])),
                "right_child_key": _key(tree, int(tree.right[split])),
                "default_left": bool(tree.missing_left[split]),
            }
            attribute, levels = int(tree.attribute[split]), tree.levels[split]
            if levels is None:
                test = "<" if tree.strict else "<="
                builder.numerical_test(attribute, float(thresholds[split]), opname=test, **children)
            else:
                builder.categorical_test(
                    attribute, category_list=levels.tolist(), category_list_right_child=False, **children
                )
        builder.end_node()
    builder.end_tree()


def _keys(tree: BinaryTree) -> Iterator[tuple[int, int]]:
    """Yield the key of every node, the root first, with the number of its split or leaf."""
    for split in range(tree.n_splits):
        yield _key(tree, split), split
    for leaf in range(len(tree.values)):
        yield _key(tree, -1 - leaf), -1 - leaf


def _key(tree: BinaryTree, number: int) -> int:
    return number if number >= 0 else tree.n_splits - 1 - number


def _write_guard(builder: Any, attribute: int, n_levels: int, shape: _Shape) -> None:
    """Write a tree that is 0 where the attribute is known, and NaN where it is missing."""
    children = {"left_child_key": 1, "right_child_key": 2, "default_left": False}
    builder.start_tree()
    builder.start_node(0)
    if n_levels:
        builder.categorical_test(
            attribute, category_list=list(range(n_levels)), category_list_right_child=False, **children
        )
    else:
        builder.numerical_test(attribute, float("inf"), opname="<=", **children)
    builder.end_node()
    for key, value in ((1, 0.0), (2, float("nan"))):
        builder.start_node(key)
        builder.leaf(shape.leaf(np.full(shape.n_outputs, value)))
        builder.end_node()
    builder.end_tree()
