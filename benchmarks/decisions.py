"""Level and power of what `tremula compare` says, on simulated data; made for docs/guide/comparing.md.

    python benchmarks/decisions.py --run [--trials 1000]   simulates, and stores benchmarks/decisions.json
    python benchmarks/decisions.py                         writes the table into the page, from the stored results

Made errors are normal, with splits that are correlated as the corrected t test assumes: 10 folds, or repetitions of
them, and a standard deviation of 2 points for each method. The nearest class mean is trained: 200 rows of two classes,
and each method has attributes of its own, equally good. The shift is how much worse the last method is, in points.
In time, the folds are those of `--cv time`, on 2,000 rows. Either rows do not depend on time; or attributes drift, each
by a random walk that moves it by one standard deviation over all rows; or the distance of the classes, which decides
how good a method is, drifts by half a standard deviation. Methods are then equal in the mean over many such tables.
"""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from scipy.stats import norm
from sklearn.model_selection import RepeatedStratifiedKFold

from tremula.diagnostics import Comparison, Decision, decide, plan_looks, planned_repetitions, skillings_mack_test
from tremula.folds import Split
from tremula.lab.comparison.splits import make_splits, read_folds
from tremula.lab.datasets import Dataset

RESULTS = Path(__file__).parent / "decisions.json"
PAGE = Path(__file__).parents[1] / "docs" / "guide" / "comparing.md"
MARKS = "<!-- level and power -->", "<!-- end of level and power -->"
FOLDS, RATIO, DEVIATION, N_ROWS, N_ROWS_IN_TIME = 10, 1 / 9, 0.02, 200, 2000
Errors = np.ndarray
TRAIN = [np.setdiff1d(np.arange(100), np.arange(100)[fold::FOLDS]) for fold in range(FOLDS)]


SHUFFLED: list[Split] = [(train, np.arange(100)[fold::FOLDS]) for fold, train in enumerate(TRAIN)]
CLASSES = np.arange(N_ROWS_IN_TIME) % 2
IN_TIME = make_splits(Dataset("rows", "made", np.zeros((N_ROWS_IN_TIME, 1)), CLASSES), read_folds("time"), seed=0)


def comparison_of(errors: Errors, names: list[str] | None = None, splits: list[Split] = SHUFFLED) -> Comparison:
    repetitions = errors.shape[1] // len(splits)
    n_rows = 1 + max(int(test.max()) for _, test in splits)
    return Comparison(
        names=names or [f"method {number}" for number in range(len(errors))],
        errors=errors,
        predictions=[[] for _ in errors],
        probabilities=[None for _ in errors],
        train_rows=[train for train, _ in splits] * repetitions,
        test_rows=[test for _, test in splits] * repetitions,
        y=np.arange(n_rows),
        classes=None,
        scoring="error",
    )


def made_errors(seed: int, n_methods: int, shift: float, repetitions: int = 1) -> Errors:
    """Errors of which a share RATIO / (1 + RATIO) of the variance is common to all splits."""
    random, share = np.random.default_rng(seed), RATIO / (1 + RATIO)
    common = np.sqrt(share) * random.normal(size=(n_methods, 1))
    own = np.sqrt(1 - share) * random.normal(size=(n_methods, FOLDS * repetitions))
    errors = 0.2 + DEVIATION * (common + own)
    errors[-1] += shift
    return errors


def learned_errors(seed: int, n_methods: int, shift: float, repetitions: int = 1) -> Errors:
    """Errors of the nearest class mean, each method with three attributes of its own; the last ones have some noise."""
    random = np.random.default_rng(seed)
    y = np.repeat([0, 1], N_ROWS // 2)
    X = random.normal(size=(n_methods, N_ROWS, 3)) + 0.5 * y[:, None]
    X[-1] += 10 * shift * random.normal(size=(N_ROWS, 3))
    splitter = RepeatedStratifiedKFold(n_splits=FOLDS, n_repeats=repetitions, random_state=seed)
    return nearest_mean_errors(X, y, list(splitter.split(X[0], y)))


def errors_in_time(seed: int, n_methods: int, shift: float, drift: float = 0.0, change: float = 0.0) -> Errors:
    """Errors of the nearest class mean in time; the last method errs more by the shift, were all rows known."""
    random = np.random.default_rng(seed)
    distance = np.full((n_methods, 1, 1), 0.5)
    distance[-1] = -2 / np.sqrt(3) * norm.ppf(norm.cdf(-0.5 * np.sqrt(3) / 2) + shift)
    distance = distance + change * random_walks(random, (n_methods, N_ROWS_IN_TIME, 1))
    noise = random.normal(size=(n_methods, N_ROWS_IN_TIME, 3))
    X = noise + distance * CLASSES[:, None] + drift * random_walks(random, noise.shape)
    return nearest_mean_errors(X, CLASSES, IN_TIME)


def random_walks(random: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    return np.cumsum(random.normal(size=shape), axis=1) / np.sqrt(shape[1])


def errors_with_drift(seed: int, n_methods: int, shift: float) -> Errors:
    return errors_in_time(seed, n_methods, shift, drift=1.0)


def errors_with_change(seed: int, n_methods: int, shift: float) -> Errors:
    return errors_in_time(seed, n_methods, shift, change=0.5)


def nearest_mean_errors(X: np.ndarray, y: np.ndarray, splits: list[Split]) -> Errors:
    errors = []
    for train, test in splits:
        means = np.stack([X[:, train[y[train] == label]].mean(axis=1) for label in (0, 1)])
        distances = ((X[:, test][None] - means[:, :, None]) ** 2).sum(axis=3)
        errors.append((distances.argmin(axis=0) != y[test]).mean(axis=1))
    return np.array(errors).T


SHUFFLED_MAKERS: dict[str, Callable[..., Errors]] = {"made errors": made_errors, "nearest mean": learned_errors}
TIME_MAKERS: dict[str, Callable[..., Errors]] = {
    "nearest mean, in time": errors_in_time,
    "attributes drift": errors_with_drift,
    "methods get better or worse": errors_with_change,
}
MAKERS = SHUFFLED_MAKERS | TIME_MAKERS


# --- what is said: each returns whether it is said in one trial ---


def best_is_worse(make: Callable[..., Errors], seed: int, n_methods: int, shift: float) -> bool:
    return "method 0" in decide(comparison_of(make(seed, n_methods, shift))).worse


def any_is_worse(make: Callable[..., Errors], seed: int, n_methods: int, shift: float) -> bool:
    return bool(decide(comparison_of(make(seed, n_methods, shift))).worse)


def leader_beats_last(decision: Decision, n_methods: int) -> bool:
    last = f"method {n_methods - 1}"
    return any(
        {v.first, v.second} == {decision.leader, last} and v.better == decision.leader for v in decision.verdicts
    )


def last_is_worse(make: Callable[..., Errors], seed: int, n_methods: int, shift: float) -> bool:
    return leader_beats_last(decide(comparison_of(make(seed, n_methods, shift))), n_methods)


def last_is_worse_by_all_pairs(make: Callable[..., Errors], seed: int, n_methods: int, shift: float) -> bool:
    return leader_beats_last(decide(comparison_of(make(seed, n_methods, shift)), all_pairs=True), n_methods)


def beats_constant(make: Callable[..., Errors], seed: int, n_methods: int, shift: float) -> bool:
    """The constant is the last method, of 50 % error in every split as with two equal classes."""
    errors = make(seed, n_methods, 0.0)
    errors += 0.5 - shift - (0.2 if make is made_errors else errors.mean())
    names = [*(f"method {number}" for number in range(n_methods)), "constant"]
    comparison = comparison_of(np.vstack([errors, np.full((1, errors.shape[1]), 0.5)]), names)
    return any(v.better == v.first for v in decide(comparison, baseline="constant").verdicts)


def probably_worse(make: Callable[..., Errors], seed: int, n_methods: int, shift: float) -> bool:
    verdict = decide(comparison_of(make(seed, n_methods, shift)), region=0.01).verdicts[0]
    assert verdict.probabilities is not None
    return max(verdict.probabilities.better, verdict.probabilities.worse) >= 0.95


def shown_until_clear(make: Callable[..., Errors], seed: int, n_methods: int, shift: float) -> bool:
    errors = make(seed, n_methods, shift, 10)
    for look in plan_looks(10):
        seen = comparison_of(errors[:, : FOLDS * look.repetitions])
        decision = decide(seen, region=0.005, share_of_level=look.share_of_level)
        if decision.is_clear():
            break
    return bool(decision.worse)


def shown_as_planned(make: Callable[..., Errors], seed: int, n_methods: int, shift: float) -> bool:
    deviation = float(np.std(np.subtract(*make(seed, 2, shift)[[0, 1]]), ddof=1))
    repetitions = planned_repetitions(deviation, RATIO, cv=FOLDS, difference=shift) or 20
    return bool(decide(comparison_of(make(seed, n_methods, shift, repetitions))).worse)


def incomplete_differ(make: Callable[..., Errors], seed: int, n_methods: int, shift: float) -> bool:
    """Twenty datasets in place of splits, a fifth of the errors missing."""
    random = np.random.default_rng(seed)
    errors = 0.2 + DEVIATION * random.normal(size=(20, n_methods))
    errors[:, -1] += shift
    errors[2:][random.random((18, n_methods)) < 0.2] = np.nan
    return skillings_mack_test(errors)[1] <= 0.05


def worse_in_time(make: Callable[..., Errors], seed: int, n_methods: int, shift: float) -> bool:
    return bool(decide(comparison_of(make(seed, n_methods, shift), splits=IN_TIME)).worse)


# What is said, the function, data, methods, shift in points, and the bound where the statement is false.
CASES: list[tuple[str, Callable[..., bool], str, int, float, str]] = [
    *(
        ("the best is worse", best_is_worse, data, n_methods, 0.0, "5 %")
        for data in SHUFFLED_MAKERS
        for n_methods in (2, 3, 7)
    ),
    *(
        ("some method is worse", any_is_worse, data, n_methods, 0.0, "5 %" if n_methods == 2 else "")
        for data in SHUFFLED_MAKERS
        for n_methods in (2, 3, 7)
    ),
    ("the last is worse", last_is_worse, "made errors", 7, 0.03, ""),
    ("the last is worse, by all pairs", last_is_worse_by_all_pairs, "made errors", 7, 0.03, ""),
    ("a method beats the constant", beats_constant, "made errors", 7, 0.0, "5 %"),
    ("a method beats the constant", beats_constant, "made errors", 7, 0.03, ""),
    ("a difference above 1 point has probability 95 %", probably_worse, "made errors", 2, 0.0, ""),
    ("a difference above 1 point has probability 95 %", probably_worse, "made errors", 2, 0.04, ""),
    *(("a method is worse, until clear", shown_until_clear, data, 2, 0.0, "5 %") for data in SHUFFLED_MAKERS),
    ("a method is worse, until clear", shown_until_clear, "made errors", 2, 0.03, ""),
    ("a method is worse, as planned", shown_as_planned, "made errors", 2, 0.03, ""),
    ("methods differ, table incomplete", incomplete_differ, "made errors", 4, 0.0, "5 %"),
    ("methods differ, table incomplete", incomplete_differ, "made errors", 4, 0.02, ""),
    ("a method is worse, `--cv time`", worse_in_time, "nearest mean, in time", 2, 0.0, "5 %"),
    ("a method is worse, `--cv time`", worse_in_time, "attributes drift", 2, 0.0, "5 %"),
    ("a method is worse, `--cv time`", worse_in_time, "methods get better or worse", 2, 0.0, ""),
    ("a method is worse, `--cv time`", worse_in_time, "nearest mean, in time", 2, 0.1, ""),
]


def run(trials: int) -> list[dict[str, Any]]:
    results = []
    for statement, judge, data, n_methods, shift, bound in CASES:
        said = [judge(MAKERS[data], seed, n_methods, shift) for seed in range(trials)]
        share = float(np.mean(said))
        results.append(
            {
                "statement": statement,
                "data": data,
                "methods": n_methods,
                "shift": 100 * shift,
                "bound": bound,
                "trials": trials,
                "share": share,
            }
        )
        print(results[-1], flush=True)
    return results


# --- the table ---


def table_of(results: list[dict[str, Any]]) -> str:
    """Return the table of the page."""
    lines = [
        "| what is said | data | methods | shift, points | said in | if false, at most |",
        "|---|---|---:|---:|---:|---:|",
    ]
    for row in results:
        share = f"{100 * row['share']:.1f} %"
        lines.append(
            f"| {row['statement']} | {row['data']} | {row['methods']} | {row['shift']:g} | {share} | {row['bound']} |"
        )
    return "\n".join(lines)


def with_table(page: str, results: list[dict[str, Any]]) -> str:
    """Return the page with the table between its marks."""
    begin, end = MARKS
    before, rest = page.split(begin)
    return f"{before}{begin}\n{table_of(results)}\n{end}{rest.split(end)[1]}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--run", action="store_true")
    parser.add_argument("--trials", type=int, default=1000)
    options = parser.parse_args()
    if options.run:
        RESULTS.write_text(json.dumps(run(options.trials), indent=1) + "\n", encoding="utf-8")
    results = json.loads(RESULTS.read_text(encoding="utf-8"))
    PAGE.write_text(with_table(PAGE.read_text(encoding="utf-8"), results), encoding="utf-8")


if __name__ == "__main__":
    main()
