"""Asks a loaded model everything that its public methods answer, on rows that fit it and on extreme ones."""

from __future__ import annotations

import copy
import importlib.util
import io
import pickle
import tempfile
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, clone, is_classifier

import tremula as tm

from .stored_models import classes, table
from .stored_models import numbers as numeric_target

N_ROWS = 6
EXTREME = [0.0, 1.0, -1.0, 2.0, 3.0, 0.3, -0.7, 1e300, -1e300, 1e-310, 2.0**31, np.nan, np.nan]

Question = Callable[[], Any]


class Rows:
    """Rows and a target to ask a model about; they are made when a question needs them."""

    def __init__(self, model: Any, numbers: np.random.Generator) -> None:
        self._model, self._numbers = model, numbers

    @cached_property
    def X(self) -> Any:
        return make_table(self._model, self._numbers)

    @property
    def errors(self) -> np.ndarray:
        return np.full(self.X.shape[1], 0.1)

    @cached_property
    def y(self) -> np.ndarray:
        return _target(self._model, self._numbers)


def all_questions(model: Any, numbers: np.random.Generator) -> dict[str, Question]:
    """Return all questions that a model has a method for, by name."""
    if isinstance(model, tm.Tree):
        return _about_tree(model, numbers)
    if not isinstance(model, BaseEstimator):
        return {"repr": lambda: repr(model)}
    questions: dict[str, Question] = {
        "repr": lambda: (repr(model), str(model), model.get_params(), model.get_metadata_routing()),
        "page": lambda: model._repr_html_() if hasattr(model, "_repr_html_") else None,
        "clone": lambda: clone(model),
        "pickle": lambda: pickle.loads(pickle.dumps(model)),
        "save": lambda: _save(model),
    }
    if not hasattr(model, "encoder_"):
        return questions
    rows = Rows(model, numbers)
    for name in ("predict", "predict_proba", "apply", "decision_path", "predict_members", "smooth", "spread"):
        questions[name] = lambda name=name: getattr(model, name)(rows.X)
    for name in ("staged_predict", "staged_predict_proba"):
        questions[name] = lambda name=name: list(getattr(model, name)(rows.X))
    for name in (
        "export_text",
        "export_sql",
        "export_dot",
        "get_depth",
        "get_n_leaves",
        "as_tree_sum",
        "as_member_sum",
    ):
        questions[name] = lambda name=name: getattr(model, name)()
    for name in ("feature_importances_", "estimators_", "can_count_inbag", "oob_score_", "report_", "split_shares_"):
        questions[name] = lambda name=name: repr(getattr(model, name, None))
    for name in ("count_inbag", "permutation_importances", "unbiased_importances"):
        questions[name] = lambda name=name: getattr(model, name)(*training_rows(model))
    questions |= _about_smoothing(model, rows)
    questions["fit"] = lambda: copy.deepcopy(model).fit(rows.X, rows.y).predict(rows.X)
    questions["members"] = lambda: _ask_members(model, numbers)
    questions["certify"] = lambda: tm.certify(model, rows.X, max_boxes=20)
    questions["prune_together"] = lambda: tm.prune_together(model, rows.X, rows.y)
    questions["prune_each"] = lambda: tm.prune_each(model, rows.X, rows.y)
    questions |= _by_functions(model, rows)
    return {name: question for name, question in questions.items() if _has(model, name)}


def _has(model: Any, name: str) -> bool:
    method = name.split()[0]
    return method in ALWAYS or hasattr(type(model), method) or method in vars(model)


ALWAYS = {"repr", "page", "clone", "pickle", "save", "members", "certify", "prune_together", "prune_each", "smoothed"}
ALWAYS |= {"explained", "exported", "imitated", "sure"}
CONVERTERS = {"sklearn": "sklearn", "onnx": "onnx", "treelite": "treelite"}  # and the library that each needs


def _by_functions(model: Any, rows: Rows) -> dict[str, Question]:
    """Questions to the functions that explain, export and judge a model."""
    questions: dict[str, Question] = {
        "explained by shares": lambda: tm.explain(model, rows.X),
        "explained by proximity": lambda: tm.proximity(model, rows.X),
        "explained by weights": lambda: _weigh_rows(model, rows),
        "explained by leaves": lambda: tm.leaf_distribution(model, rows.X),
        "exported to a page": lambda: tm.to_html(model),
        "exported to SQL": lambda: tm.to_sql(model),
        "imitated": lambda: tm.imitate(model, rows.X, random_state=0),
        "sure": lambda: _ask_uncertainty(model),
    }
    for name, library in CONVERTERS.items():
        if importlib.util.find_spec(library) is not None:
            questions[f"exported to {name}"] = lambda name=name: getattr(tm, f"to_{name}")(model)
    return questions


def _weigh_rows(model: Any, rows: Rows) -> Any:
    X_train, y_train = training_rows(model)
    return tm.row_weights(model, rows.X, X_train=X_train, y_train=y_train)


def _ask_uncertainty(model: Any) -> None:
    """Ask how sure a model is, as its owner would, with the rows that the fuzz fits its models on."""
    rows, target = training_rows(model)
    uncertainty = tm.Uncertainty(model, rows, target)
    for name in (
        ("predict_set", "predict_stable_set") if is_classifier(model) else ("predict_interval", "predict_quantiles")
    ):
        getattr(uncertainty, name)(rows)
    uncertainty.predict_std(rows)
    uncertainty.certified_rows(rows)


def training_rows(model: Any) -> tuple[Any, np.ndarray]:
    """Return the rows and the target that the fuzz fitted a model on, as far as its columns tell."""
    rows, target = table(), classes() if is_classifier(model) else numeric_target()
    if rows.shape[1] == getattr(model, "n_features_in_", None):
        return rows, target
    return rows[["size", "weight"]].to_numpy(), target


def make_table(model: Any, numbers: np.random.Generator) -> Any:
    """Make rows with the columns and levels that a model says it has, some values extreme, missing or unknown."""
    encoder = model.encoder_
    levels = getattr(encoder, "levels", None)
    n_columns = len(levels) if isinstance(levels, tuple) else int(getattr(model, "n_features_in_", 1))
    if n_columns > 1000:
        return np.zeros((1, n_columns % 1000))
    columns = [_column(None if levels is None else levels[column], numbers) for column in range(n_columns)]
    names = getattr(encoder, "names", None)
    if all(column.dtype == np.float64 for column in columns) and names is None:
        return np.column_stack(columns) if columns else np.empty((N_ROWS, 0))
    frame = pd.DataFrame(dict(enumerate(columns)))
    frame.columns = list(names) if names is not None and len(names) == n_columns else range(n_columns)
    return frame


def _column(levels: Any, numbers: np.random.Generator) -> Any:
    if levels is None:
        return numbers.choice(EXTREME, N_ROWS)
    values = np.asarray(levels)
    if values.ndim != 1 or not len(values):
        return np.full(N_ROWS, np.nan)
    chosen = values[numbers.integers(len(values), size=N_ROWS)]
    return chosen if numbers.random() < 0.7 else np.array([*chosen[1:].tolist(), "unknown"], dtype=object)


def _target(model: Any, numbers: np.random.Generator) -> np.ndarray:
    labels = getattr(model, "classes_", None)
    if getattr(model, "n_outputs_", 1) == 2:
        return numbers.normal(size=(N_ROWS, 2))
    if is_classifier(model) and isinstance(labels, np.ndarray) and labels.ndim == 1 and len(labels):
        return np.asarray(labels[numbers.integers(len(labels), size=N_ROWS)])
    return numbers.normal(size=N_ROWS)


def _save(model: Any) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        tm.save(model, Path(folder, "again"))
        return tm.load(Path(folder, "again"))


def _about_smoothing(model: Any, rows: Rows) -> dict[str, Question]:
    """Questions about a smoothed model, or about a model that is smoothed."""
    kind = tm.DualPerturbClassifier if is_classifier(model) else tm.DualPerturbRegressor

    def smoothed(method: str) -> Any:
        wrapper = kind(
            model, noise=0.1, method=method, scale=np.ones(rows.X.shape[1]), prefit=True, random_state=0, n_draws=3
        )
        return wrapper.fit(rows.X).predict(rows.X)

    questions: dict[str, Question] = {f"smoothed by {method}": lambda m=method: smoothed(m) for method in METHODS}
    if not isinstance(model, tm.DualPerturbClassifier | tm.DualPerturbRegressor):
        return questions
    for name in ("predict", "predict_proba", "gradient", "certified_radius", "certified_interval", "smooth"):
        questions[f"{name} with errors"] = lambda name=name: getattr(model, name)(
            rows.X, X_std=np.full(rows.X.shape[1], 0.1)
        )
    for name in ("gradient", "certified_radius", "certified_interval"):
        questions[name] = lambda name=name: getattr(model, name)(rows.X)
    answers = "predict_proba" if is_classifier(model) else "predict"
    questions[f"{answers} and deviations"] = lambda: getattr(model, answers)(rows.X, return_std=True)
    questions["answer_distribution"] = lambda: model.answer_distribution(rows.X, n_draws=3)
    return questions


METHODS = ("exact", "path", "sample", "auto")


def _ask_members(model: Any, numbers: np.random.Generator) -> None:
    """Ask the trees inside a model directly."""
    parts = [getattr(model, "tree_", None), *getattr(model, "members_", []), *getattr(model, "trees_", [])]
    for part in parts:
        tree = getattr(part, "rules", part)
        if isinstance(tree, tm.Tree):
            for question in _about_tree(tree, numbers).values():
                question()


def _about_tree(tree: Any, numbers: np.random.Generator) -> dict[str, Question]:
    if tree.n_attributes > 1000:
        return {"repr": lambda: repr(tree)}
    X = numbers.choice(EXTREME, (N_ROWS, tree.n_attributes))
    codes = numbers.integers(tree.n_outputs, size=N_ROWS)
    return {
        "repr": lambda: (repr(tree), tree._repr_html_()),
        "predict_values": lambda: tree.predict_values(X),
        "predict_codes": lambda: tree.predict_codes(X),
        "apply": lambda: tree.apply(X),
        "decision_path": lambda: tree.decision_path(X),
        "node_values": tree.node_values,
        "class_weights": lambda: tree.class_weights(X, codes, np.ones(N_ROWS)),
        "moments": lambda: tree.moments(X, numbers.normal(size=N_ROWS), np.ones(N_ROWS)),
        "pickle": lambda: pickle.loads(pickle.dumps(tree)),
        "save": lambda: _save(tree),
        "add_values": lambda: tree.add_values(X, 0.5, np.zeros((N_ROWS, tree.n_outputs))),
        "fortran": lambda: tree.predict_values(np.asfortranarray(X)),
        "text": lambda: io.StringIO(repr(tree.values)),
    }
