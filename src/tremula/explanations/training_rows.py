"""The training rows of any model of trees, in the form in which ensembles that leave rows out have them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tremula.data.class_weights import weigh_classes
from tremula.data.target import read_known_classes, read_target
from tremula.ensembles.base.target import is_by_member
from tremula.errors import InvalidInput, UnsupportedModel
from tremula.explanations.tree_reader import read_trees
from tremula.parameters import check_jobs
from tremula.smoothing.models import TreeModel
from tremula.trees.m5.model_tree import ModelTree
from tremula.uncertainty.model_reader import check_fitted, read_trained
from tremula.uncertainty.trained_members import Floats, MemberSample, TrainedMembers


def read_training_rows(model: Any, X: Any, y: Any, sample_weight: Any, n_jobs: int | None) -> TrainedMembers:
    """Read a fitted model and its training rows; its members may all have been trained on all of them."""
    if isinstance(model, type):
        raise UnsupportedModel(f"model is the class {model.__name__}: give an instance, fitted to rows")
    last = getattr(model, "best_estimator_", model)
    last = last[-1] if hasattr(last, "named_steps") else last
    check_jobs("n_jobs", n_jobs)
    check_fitted(last)
    if leaves_rows_out(last):
        trained = read_trained(model, X, y, sample_weight, n_jobs)
    else:
        _check_leaves(last)
        trained = _trained_on_all(read_trees(model, X), X, y, sample_weight, n_jobs, _class_weight(last))
    _check_members(trained)
    return trained


def leaves_rows_out(model: Any) -> bool:
    """Whether the members of a fitted ensemble leave rows out."""
    if hasattr(model, "_draws_rows"):
        return bool(model._draws_rows())
    return hasattr(model, "estimators_samples_") and bool(getattr(model, "bootstrap", True))


def _check_leaves(model: Any) -> None:
    if isinstance(getattr(model, "tree_", None), ModelTree):
        raise _no_means(type(model).__name__)


def _check_members(trained: TrainedMembers) -> None:
    if isinstance(trained.sample_of, str):
        raise UnsupportedModel(f"the training rows behind {trained.name} are not known, since {trained.sample_of}")
    if any(isinstance(member, ModelTree) for member in trained.members):
        raise _no_means(trained.name)


def _no_means(name: str) -> UnsupportedModel:
    return UnsupportedModel(
        f"{name} has linear models in its leaves, and its predictions are no means of the rows there: use another tree "
        "learner"
    )


def _class_weight(model: Any) -> Any:
    """Return the class weights of a model whose members were all trained on all rows."""
    class_weight = getattr(model, "class_weight", None)
    return "balanced" if is_by_member(class_weight) else class_weight


def _trained_on_all(
    trees: TreeModel, X: Any, y: Any, sample_weight: Any, n_jobs: int | None, class_weight: Any
) -> TrainedMembers:
    table = trees.rows(X)
    target = read_target(y, len(table)) if trees.classes is None else _codes(y, trees.classes)
    weights = np.ones(len(table)) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    if weights.shape != (len(table),):
        raise InvalidInput(
            f"sample_weight has shape {weights.shape}: expected one weight for each of {len(table)} rows"
        )
    if trees.classes is not None and class_weight is not None:
        weights = np.asarray(weigh_classes(class_weight, trees.classes, target.astype(np.int32), weights))
    rows = np.flatnonzero(weights > 0)
    sample = MemberSample(rows, np.ones(len(rows)), weights[rows], target[rows], table[rows])
    n_members = len(trees.sum.trees)
    return TrainedMembers(
        name=trees.name,
        members=trees.sum.trees,
        combine="average",
        group_sizes=(n_members,),
        group_weights=np.ones(1),
        table=table,
        target=target,
        classes=trees.classes,
        inbag=np.tile(np.where(weights > 0, 1, -1), (n_members, 1)),
        resampling="other",
        read=trees.rows,
        outputs=trees.sum.answers,
        outputs_of_means=lambda means, rows: means,
        adjusts_means=False,
        sample_of=lambda member: sample,
        known_outputs=None,
        learned_from_all="",
        n_jobs=n_jobs,
    )


def _codes(y: Any, classes: NDArray[Any]) -> NDArray[np.intp]:
    codes = read_known_classes(y, len(y), classes)
    if (codes < 0).any():
        raise InvalidInput(f"y has a class other than {classes.tolist()}: give the rows of training again")
    return codes


def targets_in_columns(trained: TrainedMembers) -> Floats:
    """Return the targets as the outputs of a model: numbers in one column, or a column of 0 and 1 for each class."""
    if trained.classes is None:
        return np.asarray(trained.target, dtype=np.float64)[:, None]
    return np.asarray(np.eye(len(trained.classes))[trained.target])
