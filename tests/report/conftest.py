"""A small comparison as the page gets it, made by hand and in view."""

from collections.abc import Callable
from itertools import combinations
from typing import Any

import pytest

METRICS = {
    "classification": [
        {"name": "error", "label": "error", "unit": "%", "less_is_better": True},
        {"name": "auc", "label": "area under ROC", "unit": "", "less_is_better": False},
    ],
    "regression": [
        {"name": "rmse", "label": "root mean squared error", "unit": "", "less_is_better": True},
        {"name": "r2", "label": "R²", "unit": "", "less_is_better": False},
    ],
}
FOLDS = {"forest": [2.0, 3.0, 4.0], "bagging": [3.0, 3.0, 4.5], "tree": [9.0, 8.0, 11.0]}
LABELS = {"forest": "random forest", "bagging": "bagging of 50 trees", "tree": "one tree"}
FIT = {"forest": 300.0, "bagging": 700.0, "tree": 20.0}


def _method(name: str, rank: int, metrics: list[dict[str, Any]]) -> dict[str, Any]:
    first, second = FOLDS[name], [1 - error / 100 for error in FOLDS[name]]
    return {
        "name": name,
        "label": LABELS[name],
        "rank": rank,
        "lowest": rank == 1,
        "metrics": {
            metric["name"]: {
                "mean": sum(folds) / 3, "sd": 1.0, "low": min(folds), "high": max(folds), "folds": folds,
            }
            for metric, folds in zip(metrics, (first, second))
        },
        "fit_milliseconds": FIT[name],
        "predict_milliseconds": 1.5,
        "leaves_mean": 31.5 if name == "tree" else None,
    }  # fmt: skip


def _pair(first: str, second: str, metric: str) -> dict[str, Any]:
    difference = (sum(FOLDS[first]) - sum(FOLDS[second])) / 3
    verdict = "no difference shown" if abs(difference) < 1 else "better"
    return {
        "first": first, "second": second, "metric": metric, "difference": difference, "low": difference - 1,
        "high": difference + 1, "p_value": 0.01, "p_adjusted": 0.03, "verdict": verdict,
        "sentence": f"{LABELS[first]} against {LABELS[second]}: {verdict}.",
    }  # fmt: skip


def _point(amount: float) -> dict[str, float]:
    return {"amount": amount, "error": 5 + amount, "lowest": 4 + amount, "highest": 6 + amount}


def _attributes(task: str) -> dict[str, Any]:
    """Three attributes of the forest: one number, one nominal, one that does not matter."""
    classes = ["yes"] if task == "classification" else [None]
    numbers = [
        {"class": name, "mean": [0.2, 0.5, 0.9], "low": [0.1, 0.3, 0.7], "high": [0.3, 0.7, 1.0]} for name in classes
    ]
    levels = [{"class": name, "mean": [0.4, 0.6], "low": [0.3, 0.5], "high": [0.5, 0.7]} for name in classes]
    return {
        "method": "forest", "label": LABELS["forest"], "out_of_bag": task == "classification", "train_rows": 1234,
        "shuffled_rows": 1000, "all_rows": 1234, "repeats": 3, "confidence": 0.95, "unit": "points", "n_attributes": 3,
        "averaged_rows": 200, "ranges": [],
        "importances": [
            {"attribute": "length", "mean": 12.5, "low": 10.0, "high": 15.0},
            {"attribute": "colour", "mean": 4.0, "low": 3.0, "high": 5.0},
            {"attribute": "noise", "mean": 0.0, "low": float("nan"), "high": float("nan")},
        ],
        "effects": [
            {"attribute": "length", "kind": "numeric", "values": [1.0, 2.0, 9.0], "curves": numbers},
            {"attribute": "colour", "kind": "nominal", "values": ["red", "blue"], "curves": levels},
            {"attribute": "day", "kind": "date", "curves": numbers,
             "values": ["2024-05-31", "2024-06-01", "2024-12-31"]},
        ],
    }  # fmt: skip


def _best_method(task: str) -> dict[str, Any]:
    """What the forest does on the rows of its three test folds."""
    best: dict[str, Any] = {"method": "forest", "label": LABELS["forest"], "rows": 1234, "folds": 3}
    bins = [
        {"predicted": 0.1, "observed": 0.05, "low": 0.03, "high": 0.08, "rows": 740},
        {"predicted": 0.9, "observed": 0.95, "low": 0.92, "high": 0.97, "rows": 490},
        {"predicted": 0.5, "observed": 0.5, "low": 0.15, "high": 0.85, "rows": 4},
    ]
    if task == "regression":
        points = [[float(number), 0.5 - number % 2] for number in range(20)]
        residuals = {
            "rows": 1234, "median_size": 0.5, "size_of_nine_in_ten": 1.5, "mean": 0.01, "mean_low": -0.1,
            "mean_high": 0.12, "too_high": 0.5, "points": points,
        }  # fmt: skip
        case = {"row": 17, "truth": 3.0, "answer": 9.5, "low": 1.0, "high": 12.0, "values": [2.5, "red", None]}
        cases = {"kind": "least sure", "cases": [case], "attributes": ["length", "colour", "noise"]}
        return best | {"residuals": residuals, "groups": bins[:2], "cases": cases}
    curve = {
        "class": "yes", "rows": 494, "share": 0.4, "area": 0.98, "mean_precision": 0.97,
        "roc": [[0.0, 0.0], [0.1, 0.9], [1.0, 1.0]], "precision_recall": [[0.0, 1.0], [0.9, 0.9], [1.0, 0.4]],
    }  # fmt: skip
    confusions = {
        "classes": ["no", "yes"], "counts": [[720, 20], [17, 477]], "rows": 1234, "right": 1197, "n_other": 0,
        "most_frequent": [{"truth": "no", "answer": "yes", "rows": 20, "of": 740}],
    }  # fmt: skip
    case = {
        "row": 17, "truth": "no", "answer": "yes", "probability": 0.51,
        "second": {"answer": "no", "probability": 0.49}, "values": [2.5, "red", None],
    }  # fmt: skip
    return best | {
        "confusions": confusions,
        "curves": [curve],
        "calibration": {"class": "yes", "bins": bins, "expected_error": 0.05, "rows": 1234},
        "cases": {"kind": "least sure", "cases": [case], "attributes": ["length", "colour", "noise"]},
    }


def _analyses(task: str) -> dict[str, Any]:
    terms = {"error": 5.0, "bias": 2.0, "variance": 3.0, "bias_low": 1.0, "bias_high": 3.0}
    analyses: dict[str, Any] = {
        "attributes": _attributes(task),
        "bias_variance": {
            "models": 6, "train_rows": 300, "test_rows": 600,
            "methods": [{"name": name, "label": LABELS[name], **terms} for name in ("forest", "tree")],
        },
        "noise": {
            "kind": "class" if task == "classification" else "target",
            "repetitions": 2, "train_rows": 600, "test_rows": 600,
            "curves": [
                {"name": name, "label": LABELS[name], "points": [_point(level) for level in (0.0, 20.0)]}
                for name in ("forest", "tree")
            ],
        },
        "skipped": [],
    }  # fmt: skip
    if task == "classification":
        analyses["kappa"] = {
            "method": "forest", "label": LABELS["forest"], "members": 3, "shown": 3,
            "train_rows": 600, "test_rows": 634,
            "pairs": [[0.7, 10.0], [0.8, 11.0], [0.75, 12.0]], "member_errors": [10.0, 11.0, 12.0],
            "with_ensemble": [0.8, 0.9, 0.85], "ensemble_error": 4.0, "mean_error": 11.0, "mean_kappa": 0.75,
        }  # fmt: skip
    return analyses


def make_summary(task: str = "classification") -> dict[str, Any]:
    metrics = METRICS[task]
    summary: dict[str, Any] = {
        "task": task,
        "headline": "random forest is better than one tree on this data: 6.3 points, 95 % interval 5.3 to 7.3.",
        "command": "tremula compare made.csv --target answer",
        "date": "2026-01-02",
        "seconds": 12.3,
        "machine": "two cores",
        "dataset": {
            "name": "made", "source": "a test", "target": "answer",
            "rows": 1234, "attributes": 5, "numeric": 3, "nominal": 2, "missing": 5,
            "classes": 2 if task == "classification" else None,
            "majority_error": 40.0 if task == "classification" else None,
            "columns": [
                {"name": "length", "kind": "numeric", "missing": 5, "low": 1.0, "middle": 2.0, "high": 9.0},
            ],
        },
        "protocol": {
            "kind": "stratified cross-validation", "folds": 3, "repeats": 1, "seed": 0, "confidence": 0.95,
            "test": "corrected t", "correction": "holm",
        },
        "metrics": metrics,
        "methods": [_method(name, rank, metrics) for rank, name in enumerate(FOLDS, 1)],
        "pairs": [_pair(*pair, metrics[0]["name"]) for pair in combinations(FOLDS, 2)],
        "notes": ["A note."], "check": ["Column 'day' looks like an identifier: it was left out."],
        "versions": {"tremula": "1.2.3", "python": "3.11"},
        "analyses": _analyses(task),
        "answer": "Random forest has the lowest error: it is wrong for 3.0 of 100 new rows.",
        "best_method": _best_method(task),
        "measured": {"seconds": 250.0, "results": 9, "reused": 6},
    }  # fmt: skip
    if task == "classification":
        summary["dataset"]["class_counts"] = [{"label": "no", "rows": 740}, {"label": "yes", "rows": 494}]
        bins = [{"low": 0.9, "high": 1.0, "predicted": 0.95, "observed": 0.9, "rows": 800}]
        summary["calibration"] = [
            {"method": name, "label": LABELS[name], "rows": 800, "bins": bins, "expected_error": 0.05} for name in FOLDS
        ]
    else:
        summary["dataset"]["target_range"] = {"low": 0.0, "mean": 5.0, "high": 9.0, "sd": 2.0}
        points = [[float(number), number + 0.5] for number in range(20)]
        summary["predicted"] = [{"method": "forest", "label": LABELS["forest"], "points": points}]
    return summary


def asked_for_the_best(summary: dict[str, Any]) -> dict[str, Any]:
    """The same comparison if it was asked which methods may be the best."""
    metric = summary["metrics"][0]["name"]
    shares = {"better": 0.8, "equal": 0.15, "worse": 0.05, "region": 1.0}
    pairs = [{**pair, "probabilities": shares} for pair in summary["pairs"] if pair["first"] == "forest"]
    decision = {
        "question": "best", "metric": metric, "baseline": None, "leader": "forest",
        "may_be_best": ["forest", "bagging"], "worse": ["tree"], "clear": False, "plan": None,
    }  # fmt: skip
    return {**summary, "pairs": pairs, "decision": decision, "sentences": [summary["headline"], "Another sentence."]}


def on_two_datasets() -> dict[str, Any]:
    """Two comparisons as one, the methods ranked; one failed on the second dataset."""
    one = make_summary()
    means = {"forest": [3.0, 2.0], "bagging": [3.5, None], "tree": [9.3, 4.0]}
    methods = [
        {
            "name": name, "label": LABELS[name], "mean_rank": float(rank), "ranks": [float(rank)] * 2,
            "means": means[name],
        }
        for rank, name in enumerate(FOLDS, 1)
    ]  # fmt: skip
    ranking = {
        "critical_difference": 2.3, "is_complete": False, "groups": [[LABELS[name] for name in FOLDS]],
        "methods": methods, "left_out": ["ID3"],
    }  # fmt: skip
    return {
        "headline": "3 methods over 2 datasets are not shown to differ.",
        "metric": METRICS["classification"][0],
        "ranking": ranking,
        "datasets": {"east": one, "west": one},
        "versions": one["versions"],
        "command": "tremula compare east.csv west.csv",
    }


@pytest.fixture
def summary() -> dict[str, Any]:
    """A comparison of three classifiers."""
    return make_summary()


@pytest.fixture
def summary_of_numbers() -> dict[str, Any]:
    """A comparison of three regressors."""
    return make_summary("regression")


@pytest.fixture(scope="session")
def summary_of() -> Callable[[str], dict[str, Any]]:
    """A comparison of either task, for fixtures that live long."""
    others = {"best": lambda: asked_for_the_best(make_summary()), "datasets": on_two_datasets}
    return lambda task: others[task]() if task in others else make_summary(task)
