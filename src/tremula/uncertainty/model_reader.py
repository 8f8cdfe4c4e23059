"""Reads a fitted ensemble and its training rows: tremula's ensembles, and scikit-learn's forests and bagging."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier, is_regressor
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from tremula.data.several_targets import check_one_target
from tremula.data.target import read_known_classes, read_target
from tremula.ensembles.base.member import PerClassMember, with_noise
from tremula.ensembles.base.training import Drawing
from tremula.errors import InvalidInput, UnsupportedModel
from tremula.perturb import (
    AttributeSubset,
    BalancedBootstrap,
    BalancedWeights,
    BlockBootstrap,
    Bootstrap,
    DisjointParts,
    RandomAttributes,
    RandomSplits,
    RandomThresholds,
)
from tremula.perturb.sample import Values
from tremula.smoothing.models import read_model
from tremula.smoothing.models.model import name_of
from tremula.trees.m5.model_tree import ModelTree
from tremula.trees.tree import Tree
from tremula.uncertainty.trained_members import Floats, MemberSample, TrainedMembers

# Perturbations by which a member depends on nothing but the rows it is trained on, and their places in the table.
OWN_ROWS_ALONE = (
    AttributeSubset,
    BalancedWeights,
    BlockBootstrap,
    Bootstrap,
    DisjointParts,
    RandomAttributes,
    RandomSplits,
    RandomThresholds,
)
NO_LEAVES = "its members are not tremula's trees, and the rows in their leaves are not known"


def check_fitted(model: Any) -> None:
    """Refuse what is no estimator, and one that was not fitted."""
    if not hasattr(model, "fit"):
        raise UnsupportedModel(f"model is of type {type(model).__name__}: give a fitted ensemble or tree")
    check_is_fitted(model)


def read_trained(model: Any, X: Any, y: Any, sample_weight: Any, n_jobs: int | None) -> TrainedMembers:
    """Read a fitted ensemble that has left rows out, and its training rows.

    Raises
    ------
    InvalidInput
        The rows are not those of training, in the same order.
    UnsupportedModel
        The model is no ensemble whose members can be told apart, or no row is out of bag.
    """
    if isinstance(model, type):
        raise UnsupportedModel(f"model is the class {model.__name__}: give an instance, fitted to rows")
    if hasattr(model, "best_estimator_"):
        return read_trained(model.best_estimator_, X, y, sample_weight, n_jobs)
    if isinstance(model, Pipeline):
        return _read_pipeline(model, X, y, sample_weight, n_jobs)
    check_fitted(model)
    check_one_target(model, "what is told from the rows that members left out")
    if hasattr(model, "_read_rows_of_fit"):
        return _read_own(model, X, y, sample_weight, n_jobs)
    if not hasattr(model, "estimators_samples_"):
        raise UnsupportedModel(
            f"{name_of(model)} does not say which rows its members left out: give a fitted ensemble of tremula, or a "
            "random forest, extra trees with bootstrap=True or bagging of scikit-learn"
        )
    return _read_foreign(model, X, y, sample_weight, n_jobs)


def _read_pipeline(model: Pipeline, X: Any, y: Any, sample_weight: Any, n_jobs: int | None) -> TrainedMembers:
    """Read the last step of a pipeline; rows go through the others first."""
    steps, last = model[:-1], model[-1]
    trained = read_trained(last, steps.transform(X) if len(steps) else X, y, sample_weight, n_jobs)
    return replace(trained, read=lambda rows: trained.read(steps.transform(rows) if len(steps) else rows))


# --- ensembles of tremula ---


def _read_own(model: Any, X: Any, y: Any, sample_weight: Any, n_jobs: int | None) -> TrainedMembers:
    if not model._draws_rows():
        raise UnsupportedModel(
            f"every member of this {type(model).__name__} was trained on all rows, so no row is out of bag: train it "
            "with bootstrap=True, or use another ensemble"
        )
    table, drawing = model._read_rows_of_fit(X, y, sample_weight)
    members = model.members_
    inbag = getattr(model, "inbag_counts_", None)
    if inbag is None:
        inbag = np.array([drawing.times_drawn(drawing.sample_of(number)[0]) for number in range(len(members))])
    sizes, weights = _groups(model)
    kept = _kept_outputs(model)
    _check_kept(model, np.asarray(inbag), kept, len(drawing.sample.target))
    return TrainedMembers(
        name=type(model).__name__,
        members=members,
        combine=getattr(model, "combine", "average"),
        group_sizes=sizes,
        group_weights=weights,
        table=table,
        target=drawing.sample.target,
        classes=getattr(model, "classes_", None),
        inbag=np.asarray(inbag),
        resampling=_resampling(drawing),
        read=model._read_table,
        outputs=model._predict_outputs,
        outputs_of_means=_outputs_of_means(model),
        adjusts_means=is_classifier(model) and (_is_blend(model) or isinstance(members[0], PerClassMember)),
        sample_of=_sampler(model, table, drawing),
        known_outputs=kept,
        learned_from_all=_learned_from_all(model, drawing),
        n_jobs=model.n_jobs if n_jobs is None else n_jobs,
        groups=drawing.sample.groups,
    )


def _groups(model: Any) -> tuple[tuple[int, ...], Floats]:
    """Return the sizes and weights of the groups of members: one, or the families of Aspen."""
    sizes = tuple(getattr(model, "_group_sizes", (len(model.members_),)))
    weights: Floats = getattr(model, "member_weights_", np.ones(len(model.members_)))
    totals = np.add.reduceat(weights, np.cumsum((0, *sizes[:-1])))
    return sizes, totals / totals.sum()


def _is_blend(model: Any) -> bool:
    """Whether the model is an Aspen, whose corrections of the mean can only be left out by what it has kept."""
    return hasattr(model, "corrections_")


def _kept_outputs(model: Any) -> Floats | None:
    """Return the out-of-bag outputs that a model has kept and that its members alone do not give."""
    if not _is_blend(model):
        return None
    outputs = getattr(model, "oob_prediction_" if is_regressor(model) else "oob_decision_function_", np.empty(0))
    return np.asarray(outputs[..., None] if is_regressor(model) else outputs)


def _check_kept(model: Any, inbag: NDArray[Any], outputs: Floats | None, n_rows: int) -> None:
    """Raise UnsupportedModel if what a model has kept about its rows, in a file perhaps, is about others."""
    n_outputs = 1 if is_regressor(model) else len(model.classes_)
    is_sound = inbag.shape == (len(model.members_), n_rows) and inbag.dtype.kind in "iuf"
    if outputs is not None:
        is_sound = is_sound and outputs.shape == (n_rows, n_outputs) and outputs.dtype == np.float64
    if not is_sound:
        raise UnsupportedModel(
            f"what this {type(model).__name__} has kept about its training rows does not fit them; its file may have "
            "been changed: train it again"
        )


def _outputs_of_means(model: Any) -> Callable[[Floats, Any], Floats]:
    if _is_blend(model):
        outputs: Callable[[Floats, Any], Floats] = model._blend().outputs_of_means
        return outputs
    return lambda means, rows: model._as_outputs(means)


def _resampling(drawing: Drawing) -> str:
    """Return how the rows of a member were drawn."""
    kinds = [each for each in drawing.perturbations if each.leaves_rows_out]
    if len(kinds) != 1 or not isinstance(kinds[0], Bootstrap):
        return "other"
    return "bootstrap" if kinds[0].bootstrap else "subsample"


def _learned_from_all(model: Any, drawing: Drawing) -> str:
    """Return what members have learned from rows that they were not trained on."""
    if _is_blend(model):
        return "the choice and the weights of its families"
    if getattr(model, "class_weight", None) == "balanced":
        return "the weights of its classes"
    if any(isinstance(each, BalancedBootstrap) for each in drawing.perturbations):
        return "how many rows of each class are drawn"
    if getattr(model, "n_estimators", 0) == "auto":
        return "the number of its members"
    if hasattr(model, "pruned_sequence_"):
        return "how far its trees are pruned together"
    if model.__dict__.get("_drawn_by", True) is None:
        return "its members in several ways, by a warm start"
    others = [each for each in drawing.perturbations if not isinstance(each, OWN_ROWS_ALONE)]
    return f"what {type(others[0]).__name__} adds" if others else ""


def _sampler(model: Any, table: Any, drawing: Drawing) -> Any:
    """Return how to draw the rows of a member again, as the member saw them; or why this is not possible."""
    if not all(isinstance(member, Tree | ModelTree) for member in model.members_):
        return NO_LEAVES
    if _is_blend(model) and is_classifier(model):
        return "its members were trained on smeared values"
    if model.__dict__.get("_drawn_by", True) is None:
        return "a warm start has drawn the rows of its members in several ways"
    values = Values(table, model.encoder_.n_levels)
    learned = [each.learn(drawing.sample, lambda: values) for each in drawing.perturbations]
    return partial(_draw_again, replace(drawing, perturbations=learned), table)


def _draw_again(drawing: Drawing, table: NDArray[np.float64], member: int) -> MemberSample:
    sample, _ = drawing.sample_of(member)
    if sample.noise:
        rows, alone = sample.expand_copies()
        weights = np.ones(len(rows)) if alone.weights is None else alone.weights.astype(np.float64)
        return MemberSample(rows, np.ones(len(rows)), weights, alone.target, with_noise(table, rows, sample.noise))
    rows = sample.eligible_rows()
    weights = np.ones(len(rows)) if sample.weights is None else sample.weights[rows].astype(np.float64)
    copies = np.ones(len(rows)) if sample.copies is None else sample.copies[rows].astype(np.float64)
    return MemberSample(rows, copies, weights, sample.target[rows], table[rows])


# --- ensembles of scikit-learn ---


def _read_foreign(model: Any, X: Any, y: Any, sample_weight: Any, n_jobs: int | None) -> TrainedMembers:
    trees = read_model(model, X)
    if not trees.knows_inbag or trees.n_members != len(trees.sum.trees):
        raise UnsupportedModel(
            f"every member of {trees.name} was trained on all rows, or is not one tree: train it with bootstrap=True, "
            "on decision trees"
        )
    inbag = trees.inbag_counts(X, y, sample_weight)
    assert inbag is not None
    if not (inbag == 0).any():
        raise UnsupportedModel(f"no row is out of bag for any member of {trees.name}: draw fewer rows (max_samples)")
    table = trees.rows(X)
    target = read_target(y, len(table)) if trees.classes is None else _known_codes(y, trees.classes)
    return TrainedMembers(
        name=trees.name,
        members=trees.sum.trees,
        combine="average",
        group_sizes=(trees.n_members,),
        group_weights=np.ones(1),
        table=table,
        target=target,
        classes=trees.classes,
        inbag=inbag,
        resampling="bootstrap" if model.bootstrap else "subsample",
        read=trees.rows,
        outputs=trees.sum.answers,
        outputs_of_means=lambda means, rows: means,
        adjusts_means=False,
        sample_of=_foreign_sampler(table, target, inbag, sample_weight),
        known_outputs=None,
        learned_from_all="",
        n_jobs=n_jobs,
    )


def _foreign_sampler(table: Floats, target: NDArray[Any], inbag: NDArray[Any], sample_weight: Any) -> Any:
    if sample_weight is not None:
        return "scikit-learn does not say how its members used sample_weight"

    def sample(member: int) -> MemberSample:
        rows = np.flatnonzero(inbag[member] > 0)
        copies = inbag[member, rows].astype(np.float64)
        return MemberSample(rows, copies, copies, target[rows], table[rows])

    return sample


def _known_codes(y: Any, classes: NDArray[Any]) -> NDArray[np.intp]:
    codes = read_known_classes(y, len(y), classes)
    if (codes < 0).any():
        raise InvalidInput(f"y has a class other than {classes.tolist()}: give the rows of training again")
    return codes
