"""One estimator on one split: checks, training of a copy, and its predictions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone, is_classifier

from tremula.data.take import take_rows
from tremula.data.target import read_classes, read_target
from tremula.diagnostics.comparison.scoring import OF_PROBABILITIES, score_split
from tremula.diagnostics.decomposition.learning_sets import require_rows
from tremula.diagnostics.decomposition.retraining import ask_probabilities, require_estimator, seeded_copy
from tremula.errors import InvalidParameter
from tremula.folds import Split

Floats = NDArray[np.float64]
Estimators = Mapping[str, Any] | Iterable[tuple[str, Any]]


@dataclass(frozen=True)
class Answer:
    """Predictions of one estimator for the test rows of one split."""

    predictions: NDArray[Any]
    probabilities: Floats | None
    score: float | None


def read_estimators(estimators: Estimators) -> dict[str, Any]:
    """Return estimators by name, none twice, all of one kind."""
    given = list(estimators.items()) if isinstance(estimators, Mapping) else estimators
    pairs = list(given) if isinstance(given, Iterable) and not isinstance(given, str | np.ndarray) else [given]
    if not pairs or not all(isinstance(pair, tuple | list) and len(pair) == 2 for pair in pairs):
        first_type = type(pairs[0]).__name__ if pairs else "none"
        raise InvalidParameter(
            f"estimators must be a dict of name to estimator, or a list of (name, estimator): got {first_type}"
        )
    names = [name for name, _ in pairs]
    twice = sorted({str(name) for name in names if names.count(name) > 1})
    if twice:
        raise InvalidParameter(
            f"estimators has the name {', '.join(map(repr, twice))} more than once: give each its own"
        )
    for name, estimator in pairs:
        require_estimator(estimator, f"estimator {name!r}")
    if len({is_classifier(estimator) for _, estimator in pairs}) > 1:
        kinds = ", ".join(f"{name!r} {'yes' if is_classifier(estimator) else 'no'}" for name, estimator in pairs)
        raise InvalidParameter(f"classifiers cannot be compared with other estimators (classifier: {kinds})")
    return {str(name): estimator for name, estimator in pairs}


def read_y(named: Mapping[str, Any], X: Any, y: Any) -> tuple[NDArray[Any] | None, NDArray[Any]]:
    """Return the classes, None for regressors, and the target as an array."""
    n_rows = require_rows(X)
    if not is_classifier(next(iter(named.values()))):
        return None, read_target(y, n_rows)
    classes, codes = read_classes(y, n_rows)
    return classes, classes[codes]


def require_probabilities(named: Mapping[str, Any], scoring: Any) -> None:
    """Raise if the scoring needs probabilities that an estimator does not have."""
    without = [name for name, estimator in named.items() if not hasattr(estimator, "predict_proba")]
    if isinstance(scoring, str) and scoring in OF_PROBABILITIES and without:
        raise InvalidParameter(
            f"scoring {scoring!r} needs probabilities, but {', '.join(map(repr, without))} has no predict_proba: "
            "leave it out, give it probabilities (CalibratedClassifierCV), or take scoring='error'"
        )


def answer_split(
    name: str,
    estimator: Any,
    X: Any,
    y: NDArray[Any],
    classes: NDArray[Any] | None,
    split: Split,
    seed: int | None,
    scorer: Any,
) -> Answer:
    """Train a copy of one estimator on a split and return its predictions."""
    train, test = split
    X_test = take_rows(X, test)
    try:
        model = (clone(estimator) if seed is None else seeded_copy(estimator, seed)).fit(take_rows(X, train), y[train])
        predictions = np.asarray(model.predict(X_test)).reshape(len(test))
        probabilities = None
        if classes is not None and hasattr(model, "predict_proba"):
            probabilities = ask_probabilities(model, X_test, classes)
    except Exception as error:
        error.add_note(f"raised by estimator {name!r} in compare")
        raise
    score = None if scorer is None else score_split(name, model, scorer, X_test, y[test])
    return Answer(predictions, probabilities, score)
