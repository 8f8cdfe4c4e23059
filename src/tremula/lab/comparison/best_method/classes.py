"""Predicted classes and probabilities as plain dicts: confusions, ROC and precision-recall curves, calibration."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import average_precision_score, precision_recall_curve, roc_auc_score, roc_curve

from tremula.diagnostics import binomial_interval
from tremula.lab.comparison.best_method.held_out import HeldOut

MOST_CLASSES = 30  # in the matrix of confusions
MOST_CURVES = 6
MOST_POINTS = 150  # drawn of a curve
MOST_CONFUSIONS = 10
N_BINS = 10


def describe_confusions(held_out: HeldOut) -> dict[str, Any]:
    """Count the rows of each true class by predicted class.

    Examples
    --------
    >>> truth, answers = np.array(["no", "no", "yes"]), np.array(["no", "yes", "yes"])
    >>> held_out = HeldOut(np.arange(3), truth, answers, classes=np.array(["no", "yes"]))
    >>> describe_confusions(held_out)["counts"]
    [[1, 1], [0, 1]]
    """
    classes = held_out.classes
    assert classes is not None
    counts = np.zeros((len(classes), len(classes)), dtype=int)
    np.add.at(counts, (np.searchsorted(classes, held_out.truth), np.searchsorted(classes, held_out.answers)), 1)
    wrong = counts - np.diag(np.diag(counts))
    order = np.argsort(-wrong, axis=None, kind="stable")[:MOST_CONFUSIONS]
    pairs = [divmod(int(place), len(classes)) for place in order]
    return {
        "classes": [str(label) for label in classes],
        "counts": counts.tolist() if len(classes) <= MOST_CLASSES else None,
        "rows": int(counts.sum()),
        "right": int(np.trace(counts)),
        "most_frequent": [
            {
                "truth": str(classes[truth]),
                "answer": str(classes[answer]),
                "rows": int(wrong[truth, answer]),
                "of": int(counts[truth].sum()),
            }
            for truth, answer in pairs
            if wrong[truth, answer]
        ],
        "n_other": held_out.n_other,
    }


def describe_curves(held_out: HeldOut) -> list[dict[str, Any]]:
    """Return the ROC and precision-recall curve of each class against the rest; of two classes, of the second.

    Areas are those of the whole curves; of the points, some are left out.
    """
    classes, probabilities = held_out.classes, held_out.probabilities
    if classes is None or probabilities is None or not 2 <= len(classes) <= MOST_CURVES:
        return []
    curves = []
    for place in range(1, 2) if len(classes) == 2 else range(len(classes)):
        is_class, score = held_out.truth == classes[place], probabilities[:, place]
        if not 0 < is_class.sum() < len(is_class):
            continue
        wrong_share, right_share, _ = roc_curve(is_class, score)
        precision, recall, _ = precision_recall_curve(is_class, score, drop_intermediate=True)
        curves.append(
            {
                "class": str(classes[place]),
                "rows": int(is_class.sum()),
                "share": float(is_class.mean()),
                "area": float(roc_auc_score(is_class, score)),
                "mean_precision": float(average_precision_score(is_class, score)),
                "roc": _thinned(wrong_share, right_share),
                "precision_recall": _thinned(recall[::-1], precision[::-1]),
            }
        )
    return curves


def _thinned(x: NDArray[np.float64], y: NDArray[np.float64]) -> list[list[float]]:
    places = np.unique(np.linspace(0, len(x) - 1, min(len(x), MOST_POINTS)).astype(int))
    return [[round(float(x[place]), 4), round(float(y[place]), 4)] for place in places]


def describe_calibration(held_out: HeldOut) -> dict[str, Any] | None:
    """Compare probabilities with shares: of the second of two classes, else of the predicted class being right."""
    classes, probabilities = held_out.classes, held_out.probabilities
    if classes is None or probabilities is None:
        return None
    if len(classes) == 2:
        shown, predicted, happened = str(classes[1]), probabilities[:, 1], held_out.truth == classes[1]
    else:
        shown, predicted, happened = None, probabilities.max(axis=1), held_out.answers == held_out.truth
    bins = np.minimum((predicted * N_BINS).astype(int), N_BINS - 1)
    points = [_bin(predicted[bins == number], happened[bins == number]) for number in np.unique(bins)]
    distance = sum(point["rows"] * abs(point["predicted"] - point["observed"]) for point in points)
    return {"class": shown, "bins": points, "expected_error": distance / len(predicted), "rows": len(predicted)}


def _bin(predicted: NDArray[np.float64], happened: NDArray[np.bool_]) -> dict[str, Any]:
    low, high = binomial_interval(int(happened.sum()), len(happened))
    ends = {"low": low, "high": high, "rows": len(happened)}
    return {"predicted": float(predicted.mean()), "observed": float(happened.mean()), **ends}


def least_sure(held_out: HeldOut, n_cases: int) -> list[dict[str, Any]]:
    """Return the rows whose predicted class has the smallest probability."""
    if held_out.probabilities is None or held_out.classes is None:
        return []
    confidence = held_out.probabilities.max(axis=1)
    places: Sequence[int] = np.argsort(confidence, kind="stable")[:n_cases].tolist()
    return [
        {
            "row": int(held_out.rows[place]) + 1,
            "truth": str(held_out.truth[place]),
            "answer": str(held_out.answers[place]),
            "probability": float(confidence[place]),
            "second": _second(held_out.classes, held_out.probabilities[place]),
        }
        for place in places
    ]


def _second(classes: NDArray[Any], probabilities: NDArray[np.float64]) -> dict[str, Any] | None:
    if len(classes) < 2:
        return None
    place = int(np.argsort(-probabilities, kind="stable")[1])
    return {"answer": str(classes[place]), "probability": float(probabilities[place])}
