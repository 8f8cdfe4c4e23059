"""Coverage and width of 90 % intervals, and size of 90 % sets of classes, on many datasets; crepes and MAPIE as peers.

TREMULA_DATA=<folder of the parquet files> python benchmarks/intervals.py numbers|peers|classes [--store]

`numbers` measures tremula's ensembles, `peers` crepes and MAPIE and tremula on forests and trees of scikit-learn, and
`classes` sets of classes. Each writes its runs into its own rows of `intervals.csv`; `--store` also writes RESULTS.md.
"""

from __future__ import annotations

import argparse
import os
import time
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import pandas as pd
from measure import environment, store, table
from sklearn.ensemble import RandomForestRegressor
from sklearn.tree import DecisionTreeRegressor

import tremula as tm
from data import as_numbers, load
from tremula.smoothing.models.sklearn import tree_of
from tremula.uncertainty.intervals import Intervals
from tremula.uncertainty.trained_members import TrainedMembers

FILE = Path(__file__).parent / "intervals.csv"
COVERAGE = 0.9
N_TRAINING, N_TEST, N_TREES = 1000, 1000, 100
NUMBERS = (
    *("2dplanes", "abalone", "ailerons", "auto-mpg", "bank32nh", "bank8FM", "cal-housing", "cpu-act", "cpu-small"),
    *("delta-ailerons", "delta-elevators", "elevators", "fried", "house-16H", "house-8L", "housing", "kin8nm", "mv"),
    *("ozone", "pol", "puma32H", "puma8NH", "sensory", "stock"),
)
CLASSES = (
    *("credit-a", "credit-g", "diabetes", "letter", "optdigits", "pendigits", "satimage", "segment", "spambase"),
    *("splice", "vehicle", "vowel", "waveform-5000"),
)
METHODS = ("scaled", "oob", "jackknife+")
N_SPLITS = {"random forest": 10, "bagging": 4, "Aspen": 2}
MORE = 3  # times as many splits of tables with fewer than 1500 rows, whose test rows are few

Run = dict[str, Any]


def splits(name: str, n_splits: int) -> Iterator[tuple[int, Any, np.ndarray, Any, np.ndarray]]:
    """Yield numbers of splits, training rows and test rows."""
    frame = pd.read_parquet(Path(os.environ["TREMULA_DATA"]) / f"{name}.parquet")
    X, y = frame.drop(columns="target"), frame["target"].to_numpy()
    for number in range(n_splits * (MORE if len(y) < 1500 else 1)):
        rows = np.random.default_rng(number).permutation(len(y))
        n_training = min(N_TRAINING, 2 * len(y) // 3)
        train, test = rows[:n_training], rows[n_training : n_training + N_TEST]
        yield number, X.iloc[train], y[train], X.iloc[test], y[test]


def judged(bounds: np.ndarray, truth: np.ndarray, unit: float) -> Run:
    """Coverage, mean width and mean interval score, in standard deviations of the target."""
    low, high = bounds.T
    beyond = np.maximum(low - truth, 0.0) + np.maximum(truth - high, 0.0)
    return {
        "coverage": float(np.mean((low <= truth) & (truth <= high))),
        "width": float(np.mean(high - low) / unit),
        "score": float(np.mean(high - low + 2.0 / (1.0 - COVERAGE) * beyond) / unit),
    }


def timed(job: Callable[[], Any]) -> tuple[Any, float]:
    begin = time.process_time()
    answer = job()
    return answer, time.process_time() - begin


# --- tremula's ensembles ---


def ensembles(seed: int) -> dict[str, Any]:
    return {
        "random forest": tm.RandomForestRegressor(N_TREES, max_features=1 / 3, random_state=seed),
        "bagging": tm.BaggingRegressor(n_estimators=N_TREES, random_state=seed),
        "Aspen": tm.AspenRegressor(n_estimators=N_TREES, random_state=seed),
    }


def ask(uncertainty: tm.Uncertainty, X: Any, method: str) -> np.ndarray:
    if method == "quantiles":
        return uncertainty.predict_quantiles(X, [0.05, 0.95])
    return uncertainty.predict_interval(X, COVERAGE, method=method)


def numbers(name: str) -> Iterator[Run]:
    for number, X, y, X_test, y_test in splits(name, max(N_SPLITS.values())):
        for model, estimator in ensembles(number).items():
            if number >= N_SPLITS[model] * (MORE if len(X) < N_TRAINING else 1):
                continue
            estimator.fit(X, y.astype(float))
            uncertainty = tm.Uncertainty(estimator, X, y.astype(float))
            for method in (*METHODS, "quantiles"):
                bounds, seconds = timed(partial(ask, uncertainty, X_test, method))
                yield {"model": model, "method": method, "split": number, "seconds": seconds} | judged(
                    bounds, y_test, y.std()
                )


# --- crepes and MAPIE ---


def peers(name: str) -> Iterator[Run]:
    for number, X, y, X_test, y_test in splits(name, 3):
        given = as_numbers(X), y.astype(float), as_numbers(X_test)
        for pair in (on_a_forest(*given, number), on_trees_of_mapie(*given, number)):
            for method, (bounds, seconds) in pair.items():
                yield {"model": "scikit-learn", "method": method, "split": number, "seconds": seconds} | judged(
                    bounds, y_test, y.std()
                )


def on_a_forest(X: np.ndarray, y: np.ndarray, X_test: np.ndarray, seed: int) -> dict[str, tuple[np.ndarray, float]]:
    """Intervals of one forest of scikit-learn by crepes and by tremula."""
    from crepes import WrapRegressor
    from crepes.extras import DifficultyEstimator

    forest = RandomForestRegressor(N_TREES, max_features=1 / 3, oob_score=True, random_state=seed).fit(X, y)

    def with_crepes(is_scaled: bool) -> np.ndarray:
        wrapped = WrapRegressor(forest)
        difficulty = DifficultyEstimator().fit(X=X, learner=forest, oob=True) if is_scaled else None
        wrapped.calibrate(X, y, oob=True, de=difficulty)
        return wrapped.predict_int(X_test, confidence=COVERAGE)

    def with_tremula(method: str) -> np.ndarray:
        return tm.Uncertainty(forest, X, y).predict_interval(X_test, COVERAGE, method=method)

    return {
        "crepes, out of bag": timed(lambda: with_crepes(False)),
        "tremula, oob": timed(lambda: with_tremula("oob")),
        "crepes, out of bag, by the variance of the trees": timed(lambda: with_crepes(True)),
        "tremula, scaled": timed(lambda: with_tremula("scaled")),
    }


def on_trees_of_mapie(
    X: np.ndarray, y: np.ndarray, X_test: np.ndarray, seed: int
) -> dict[str, tuple[np.ndarray, float]]:
    """Intervals of the same bootstrapped trees by MAPIE and by tremula."""
    from mapie.regression import JackknifeAfterBootstrapRegressor

    tree = DecisionTreeRegressor(max_features=1 / 3, random_state=seed)
    jackknife = JackknifeAfterBootstrapRegressor(tree, confidence_level=COVERAGE, resampling=N_TREES, random_state=seed)
    jackknife.fit_conformalize(X, y)
    inner = jackknife._mapie_regressor.estimator_
    trained = TrainedMembers(
        name="trees of MAPIE",
        members=[tree_of(member) for member in inner.estimators_],
        combine="average",
        group_sizes=(N_TREES,),
        group_weights=np.ones(1),
        table=X,
        target=y,
        classes=None,
        inbag=np.where(inner.k_.T == 1, 0, 1),
        resampling="bootstrap",
        read=lambda rows: rows,
        outputs=lambda rows: np.mean([tree_of(m).predict_values(rows) for m in inner.estimators_], axis=0),
        outputs_of_means=lambda means, rows: means,
        adjusts_means=False,
        sample_of="not needed",
        known_outputs=None,
        learned_from_all="",
        n_jobs=None,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return {
            "MAPIE, jackknife+ after bootstrap": timed(lambda: jackknife.predict_interval(X_test)[1][:, :, 0]),
            "tremula, jackknife+": timed(lambda: Intervals(trained).predict(X_test, COVERAGE, "jackknife+")),
            "tremula, scaled, the same trees": timed(lambda: Intervals(trained).predict(X_test, COVERAGE, "scaled")),
        }


# --- classes ---


def classes(name: str) -> Iterator[Run]:
    for number, X, y, X_test, y_test in splits(name, 5):
        X_numbers = X if not isinstance(load(name)[0], np.ndarray) else X.to_numpy(float)
        estimator = tm.RandomForestClassifier(N_TREES, random_state=number).fit(X_numbers, y)
        uncertainty = tm.Uncertainty(estimator, X_numbers, y)
        new = X_test if X_numbers is X else X_test.to_numpy(float)
        is_known = np.isin(y_test, estimator.classes_)
        codes = np.searchsorted(estimator.classes_, y_test[is_known])
        for method in ("oob", "jackknife+"):
            sets, seconds = timed(partial(uncertainty.predict_set, new, COVERAGE, method=method))
            covered = sets[is_known][np.arange(len(codes)), codes]
            yield {
                "model": "random forest",
                "method": method,
                "split": number,
                "coverage": float(covered.sum() / len(y_test)),
                "width": float(sets.sum(axis=1).mean()),
                "score": float(np.mean(estimator.predict(new) != y_test)),
                "seconds": seconds,
            }


PARTS: dict[str, tuple[Callable[[str], Iterator[Run]], tuple[str, ...]]] = {
    "numbers": (numbers, NUMBERS),
    "peers": (peers, NUMBERS),
    "classes": (classes, CLASSES),
}


# --- tables ---


def means_of(runs: pd.DataFrame, value: str) -> pd.DataFrame:
    """Means over splits, by dataset and method."""
    return runs.groupby(["dataset", "method"], sort=False)[value].mean().unstack()


def text_of_numbers(runs: pd.DataFrame) -> str:
    methods, blocks = [*METHODS, "quantiles"], []
    for model, part in runs.groupby("model", sort=False):
        coverage, width, score = (means_of(part, value)[methods] for value in ("coverage", "width", "score"))
        rows = [
            [name, *(f"{100 * c:.1f}" for c in coverage.loc[name]), *(f"{w:.2f}" for w in width.loc[name])]
            for name in coverage.index
        ]
        inside = [f"{((each >= 0.88) & (each <= 0.92)).sum()} of {len(each)}" for _, each in coverage.items()]
        ratio = [f"{geometric_mean(width[m] / width['oob']):.3f}" for m in methods]
        rows.append(["**between 88 and 92; width / oob**", *inside, *ratio])
        rows.append(
            [
                "**mean; interval score / oob**",
                *(f"{100 * each.mean():.1f}" for _, each in coverage.items()),
                *(f"{geometric_mean(score[m] / score['oob']):.3f}" for m in methods),
            ]
        )
        header = ["dataset", *(f"{m}, %" for m in methods), *(f"{m}, width" for m in methods)]
        n_splits = part.groupby("dataset")["split"].nunique()
        blocks.append(
            f"**{model}** ({n_splits.min()} splits, {n_splits.max()} of small tables)\n\n{table(header, rows)}"
        )
    return "\n\n".join(blocks)


def text_of_peers(runs: pd.DataFrame) -> str:
    coverage, width, seconds = (means_of(runs, value) for value in ("coverage", "width", "seconds"))
    rows = []
    for ours, theirs in (
        ("tremula, oob", "crepes, out of bag"),
        ("tremula, scaled", "crepes, out of bag, by the variance of the trees"),
        ("tremula, scaled", "crepes, out of bag"),
        ("tremula, jackknife+", "MAPIE, jackknife+ after bootstrap"),
        ("tremula, scaled, the same trees", "MAPIE, jackknife+ after bootstrap"),
    ):
        ratio = width[ours] / width[theirs]
        rows.append(
            [
                ours,
                theirs,
                f"{100 * coverage[ours].mean():.1f}",
                f"{100 * coverage[theirs].mean():.1f}",
                f"{geometric_mean(ratio):.3f}",
                f"{(ratio < 1 - 1e-9).sum()}, {(np.abs(ratio - 1) <= 1e-9).sum()}, {(ratio > 1 + 1e-9).sum()}",
                f"{geometric_mean(seconds[ours] / seconds[theirs]):.2f}",
            ]
        )
    header = [
        "tremula",
        "peer",
        "coverage, %",
        "of the peer, %",
        "width / peer",
        "narrower, equal, wider",
        "time / peer",
    ]
    return table(header, rows)


def text_of_classes(runs: pd.DataFrame) -> str:
    coverage, size, error = (means_of(runs, value) for value in ("coverage", "width", "score"))
    rows = [
        [
            name,
            f"{100 * error.loc[name, 'oob']:.1f}",
            *(f"{100 * c:.1f}" for c in coverage.loc[name]),
            *(f"{s:.2f}" for s in size.loc[name]),
        ]
        for name in coverage.index
    ]
    return table(["dataset", "error, %", *(f"{m}, %" for m in coverage), *(f"{m}, size" for m in size)], rows)


def geometric_mean(ratios: pd.Series) -> float:
    return float(np.exp(np.log(ratios).mean()))


NOTES = {
    "numbers": f"""90 % intervals of test rows (at most {N_TEST}) of random splits with {N_TRAINING} training rows,
or two thirds of smaller tables; {N_TREES} members. Coverage is the mean over splits, width in standard deviations of
the target. Quantiles are the uncalibrated 5 % and 95 % ones. The interval score adds twenty times what a target lies
outside. Last lines: number of datasets with a coverage between 88 and 92 %, and geometric mean of the widths relative
to those of oob; mean coverage, and the same of the scores.""",
    "peers": f"""The same datasets, 3 splits (9 of small tables), nominal levels as codes. crepes and tremula take the
same random forest of scikit-learn ({N_TREES} trees, a third of the attributes), MAPIE and tremula the same trees, which
MAPIE has trained on its bootstrap samples. Ratios of widths and processor times are geometric means over datasets; the
times are those of calibration and prediction (MAPIE: of prediction alone). tremula first compares the trees that it has
read with the forest, and the rows with the leaves; crepes takes the out-of-bag predictions that the forest keeps.""",
    "classes": f"""90 % sets of a random forest of {N_TREES} trees; rows as above, 5 splits (15 of small tables). Size:
mean number of classes in a set. A test row of a class without training rows counts as not covered.""",
}
TITLES = {
    "numbers": ("Intervals: coverage", text_of_numbers, ["tremula", "scikit-learn", "numpy"]),
    "peers": ("Intervals: against crepes and MAPIE", text_of_peers, ["tremula", "crepes", "mapie", "scikit-learn"]),
    "classes": ("Label sets: coverage", text_of_classes, ["tremula", "scikit-learn", "numpy"]),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("part", choices=PARTS)
    parser.add_argument("--store", action="store_true")
    parser.add_argument("--only", nargs="*", help="datasets to measure; of the others the stored runs are taken")
    given = parser.parse_args()
    measure, names = PARTS[given.part]
    runs = []
    for name in given.only or names:
        runs += [{"part": given.part, "dataset": name, **run} for run in measure(name)]
        print(name, flush=True)
    measured = pd.DataFrame(runs)
    title, text, packages = TITLES[given.part]
    print(text(measured))
    if given.store:
        before = pd.read_csv(FILE) if FILE.exists() else pd.DataFrame(columns=measured.columns)
        is_old = (before["part"] == given.part) & before["dataset"].isin(measured["dataset"])
        runs_of_all = pd.concat([part for part in (before[~is_old], measured.round(5)) if len(part)])
        runs_of_all = runs_of_all.sort_values(["part", "dataset"], kind="stable")
        runs_of_all.to_csv(FILE, index=False)
        measured = runs_of_all[runs_of_all["part"] == given.part]
        command = (
            f"Command: `python benchmarks/intervals.py {given.part} --store`; all runs: `benchmarks/intervals.csv`"
        )
        store(title, f"{text(measured)}\n\n{NOTES[given.part]}\n\n{environment(*packages)}\n\n{command}")


if __name__ == "__main__":
    main()
