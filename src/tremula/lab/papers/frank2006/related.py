"""Two other uses of artificial rows that the paper names, measured: a tree that imitates an ensemble, and SMOTE.

The first is judged by its error between that of one tree and that of the ensemble, the second by how many rows of the
smallest class are found, and at what price.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tremula import BaggingClassifier, C45Classifier, PerturbCombineClassifier, imitate
from tremula.lab.experiments.cell import Cell, Experiment, Outcome
from tremula.lab.experiments.result import Result
from tremula.lab.papers.frank2006.protocol import SEED, divide, load_rows, nominal_of
from tremula.lab.papers.frank2006.tables import gather, n_splits
from tremula.lab.papers.paper import Budget, ShownTable
from tremula.lab.papers.shared_protocol import seed_of
from tremula.perturb import BalancedBootstrap, BalancedWeights, Bootstrap, Perturbation, SyntheticMinority

MOST_ROWS = 3000
MEMBERS = 50
SPLITS = {"quick": 2, "default": 10, "full": 25}
TREE, ENSEMBLE = "one pruned tree", "bagging"
IMITATIONS = {f"imitation, {share} artificial rows for a row": share for share in (0, 1, 10, 30)}
TO_IMITATE = ("balance-scale", "glass", "ionosphere", "pendigits", "segment", "sonar", "vehicle", "waveform-5000")
PLAIN = "bootstrap"
SAMPLINGS: dict[str, Sequence[Perturbation]] = {
    PLAIN: (Bootstrap(),),
    "balanced bootstrap": (BalancedBootstrap(),),
    "balanced weights": (Bootstrap(), BalancedWeights()),
    "synthetic rows": (Bootstrap(), SyntheticMinority()),
    "synthetic rows, half as many": (Bootstrap(), SyntheticMinority(balance=0.5)),
}
SKEWED = ("hypothyroid-3163", "sick", "page-blocks", "ecoli", "glass")
QUICK = ("glass",)


def measure_related(cell: Cell) -> Outcome:
    """Train and test one method on one split."""
    dataset = load_rows(cell.dataset, MOST_ROWS, SEED)
    train, test = divide(dataset, cell.split, SEED)
    seed = seed_of(SEED, cell.dataset, cell.split, "related")
    X, y = dataset.X[train], dataset.y[train]
    start = time.process_time()
    model, ensemble = _trained(cell.method, X, y, nominal_of(dataset), seed)
    fitted = time.process_time()
    answers = model.predict(dataset.X[test])
    predicted = time.process_time()
    truth = dataset.y[test]
    values = {"error": float(np.mean(answers != truth)), **_found(answers, truth, y)}
    if hasattr(model, "tree_"):
        values["leaves"] = float(model.get_n_leaves())
    if ensemble is not None:
        values["agreement"] = float(np.mean(answers == ensemble.predict(dataset.X[test])))
    return Outcome(values, len(test), fitted - start, predicted - fitted, seed=seed)


def _found(answers: np.ndarray, truth: np.ndarray, y: np.ndarray) -> dict[str, float]:
    """Return counts of the smallest class of the training rows: rows of it, found, and answers that name it."""
    classes, counts = np.unique(y, return_counts=True)
    smallest = classes[counts.argmin()]
    shares = [np.mean(answers[truth == name] == name) for name in np.unique(truth)]
    return {
        "rare": float(np.sum(truth == smallest)),
        "found": float(np.sum((truth == smallest) & (answers == smallest))),
        "named": float(np.sum(answers == smallest)),
        "balanced_error": 1.0 - float(np.mean(shares)),
    }


def _trained(method: str, X: np.ndarray, y: np.ndarray, nominal: Any, seed: int) -> tuple[Any, Any]:
    """Return a fitted model, and the ensemble that it imitates, if any."""
    if method == TREE:
        return C45Classifier(categorical_features=nominal).fit(X, y), None
    if method in SAMPLINGS:
        perturb = list(SAMPLINGS[method])
        options: dict[str, Any] = {"categorical_features": nominal, "random_state": seed}
        return PerturbCombineClassifier(None, perturb, n_estimators=MEMBERS, **options).fit(X, y), None
    ensemble = BaggingClassifier(
        C45Classifier(confidence=None), MEMBERS, categorical_features=nominal, random_state=seed
    ).fit(X, y)
    if method == ENSEMBLE:
        return ensemble, None
    return imitate(ensemble, X, n_artificial=IMITATIONS[method], random_state=seed), ensemble


def related_experiment(budget: Budget) -> Experiment:
    """Return imitation on some datasets, and ways to sample rare classes on skewed ones."""
    quick = budget == "quick"
    kinds: Mapping[Sequence[str], Sequence[str]] = {
        (TREE, ENSEMBLE, *IMITATIONS): QUICK if quick else TO_IMITATE,
        tuple(SAMPLINGS): QUICK if quick else SKEWED,
    }
    cells = [
        Cell(dataset, method, split)
        for split in range(SPLITS[budget])
        for methods, datasets in kinds.items()
        for dataset in datasets
        for method in methods
    ]
    settings = {"members": MEMBERS, "seed": SEED, "most_rows": MOST_ROWS}
    return Experiment("frank2006/related", settings, cells, measure_related)


def show_related(results: Sequence[Result], budget: Budget) -> list[ShownTable]:
    """Show errors, sizes and agreement of imitations, and what samplings find of the smallest class."""
    imitating = (TREE, ENSEMBLE, *IMITATIONS)
    copies, failures = gather([result for result in results if result.method in imitating])
    skewed, others = gather([result for result in results if result.method in SAMPLINGS])
    return [_imitation_table(copies, failures), _rare_table(skewed, others)]


Measured = dict[str, dict[str, dict[str, np.ndarray]]]


def _imitation_table(measured: Measured, failures: Sequence[str]) -> ShownTable:
    rows: list[list[Any]] = []
    for dataset, methods in measured.items():
        if not {TREE, ENSEMBLE, *IMITATIONS} <= set(methods):
            continue
        errors = [f"{100 * methods[name]['error'].mean():.2f}" for name in (TREE, ENSEMBLE, *IMITATIONS)]
        best = list(IMITATIONS)[-1]
        leaves = " / ".join(f"{methods[name]['leaves'].mean():.0f}" for name in (TREE, best))
        rows.append([dataset, *errors, f"{100 * methods[best]['agreement'].mean():.1f}", leaves])
    shares = [str(share) for share in IMITATIONS.values()]
    columns = ["dataset", TREE, ENSEMBLE, *(f"imitation, {share}" for share in shares)]
    columns += [f"agreement, {shares[-1]} %", f"leaves: {TREE} / imitation, {shares[-1]}"]
    caption = "Error in percent of one tree that imitates an ensemble"
    return ShownTable("related_imitation", caption, columns, rows, [*_imitation_notes(rows, measured), *failures])


def _imitation_notes(rows: Sequence[Sequence[Any]], measured: Measured) -> list[str]:
    if not rows:
        return []
    first, last = 3, 2 + len(IMITATIONS)
    gained = [(float(row[1]) - float(row[last])) / (float(row[1]) - float(row[2])) for row in rows if row[1] != row[2]]
    better, plain = (sum(float(row[column]) < float(row[1]) for row in rows) for column in (last, first))
    return [
        f"With the most artificial rows the imitation errs less than one tree on {better} of {len(rows)} datasets, "
        f"without any on {plain}. It keeps {100 * float(np.median(gained)):.0f} % (median) of what the ensemble gains.",
        f"{n_splits(measured)} splits of 90 % and 10 %, at most {MOST_ROWS} rows; {MEMBERS} unpruned C4.5 trees, "
        "imitated by a pruned one. The columns give the artificial rows for each training row.",
    ]


def _rare_table(measured: Measured, failures: Sequence[str]) -> ShownTable:
    rows: list[list[Any]] = []
    for dataset, methods in measured.items():
        for name in SAMPLINGS:
            if name in methods:
                rows.append([dataset, name, *_rare_numbers(methods[name])])
    columns = ["dataset", "sampling", "smallest class found, %", "right when named, %", "balanced error, %", "error, %"]
    caption = "Skewed classes: what bagged trees find of the smallest class"
    return ShownTable("related_rare", caption, columns, rows, [*_rare_notes(measured), *failures])


def _rare_numbers(values: Mapping[str, np.ndarray]) -> list[str]:
    rare, right, named = (values[name].sum() for name in ("rare", "found", "named"))
    shown = [f"{100 * right / rare:.1f}" if rare else "", f"{100 * right / named:.1f}" if named else ""]
    return [*shown, *(f"{100 * values[name].mean():.2f}" for name in ("balanced_error", "error"))]


def _least(methods: Mapping[str, Mapping[str, np.ndarray]], measure: str) -> str:
    return min(SAMPLINGS, key=lambda name: float(methods[name][measure].mean()))


def _rare_notes(measured: Measured) -> list[str]:
    complete = [methods for methods in measured.values() if set(SAMPLINGS) <= set(methods)]
    if not complete:
        return []
    best = {measure: [_least(methods, measure) for methods in complete] for measure in ("balanced_error", "error")}
    counts = {
        measure: ", ".join(f"{name} {names.count(name)}" for name in SAMPLINGS if names.count(name))
        for measure, names in best.items()
    }
    return [
        f"Least balanced error (the mean over classes): {counts['balanced_error']} of {len(complete)} datasets. Least "
        f"error: {counts['error']}.",
        f"{n_splits(measured)} splits of 90 % and 10 %, at most {MOST_ROWS} rows, {MEMBERS} unpruned C4.5 trees that "
        "differ only in how their rows are sampled. Rows of the smallest class are counted over all splits.",
    ]
