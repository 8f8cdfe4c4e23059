"""Future work of the paper, measured: noise on the row to predict, with boosting, neural networks and numeric targets.

Also how many trees bagging needs once it is smoothed. Rows, and the choice of the noise on the pruning rows, are those
of Table 2.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm
from sklearn.exceptions import ConvergenceWarning
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from tremula import (
    AdaBoostM1Classifier,
    BaggingClassifier,
    BaggingRegressor,
    CARTClassifier,
    CARTRegressor,
    DualPerturbRegressor,
)
from tremula.diagnostics import paired_t_test
from tremula.lab.experiments.cell import Cell, Experiment, Outcome
from tremula.lab.experiments.result import Result, first_failures, group_by_split, shared_splits
from tremula.lab.papers.geurts2001.problems import PROXY, SEED, Division, divide
from tremula.lab.papers.geurts2001.protocol import CRITERION, soften
from tremula.lab.papers.paper import Budget, ShownTable
from tremula.lab.papers.shared_protocol import kept_dataset, seed_of

BOOSTED, NETWORK, NETWORK_FORM = "boosted trees", "neural network, drawn", "neural network, closed form"
NUMBER_TREE, NUMBER_BAGGED = "regression tree", "bagged regression trees"
MEMBERS, DEPTH, HIDDEN, DRAWS = 25, 6, 20, 100
BAGGED_SIZES = {f"{count} bagged trees": count for count in (1, 2, 5, 10, 25, 50)}
AMOUNTS = tuple(np.round(np.linspace(0.0, 2.0, 21), 2).tolist())
CLASS_PROBLEMS = ("waveform", "two-norm", "segment", PROXY)
BAGGED_PROBLEMS = ("waveform", "two-norm", "segment", PROXY)
NUMBER_PROBLEMS = ("bank8FM", "cpu-small", "delta-ailerons", "fried", "kin8nm", "puma8NH")
NUMBER_ROWS = (1000, 500, 2000)  # growing, pruning, test
DIVISIONS: dict[Budget, int] = {"quick": 1, "default": 5, "full": 10}
NETWORK_DIVISIONS = 3

Floats = NDArray[np.float64]


def closed_form(network: Any, X: Floats, amount: float) -> Floats:
    """Return class shares of a network with one hidden layer of rectified units, under noise on standardized inputs.

    The mean of each hidden unit is exact: with z normal around m with deviation s, the mean of max(z, 0) is
    m Phi(m / s) + s phi(m / s). The outputs are those of the mean units, which is a first-order approximation.
    """
    scaler, layers = network[0], network[-1]
    into, out = layers.coefs_
    means = scaler.transform(X) @ into + layers.intercepts_[0]
    deviations = amount * np.sqrt((into**2).sum(axis=0))
    if amount > 0.0:
        ratios = means / deviations
        units = means * norm.cdf(ratios) + deviations * norm.pdf(ratios)
    else:
        units = np.maximum(means, 0.0)
    scores = units @ out + layers.intercepts_[1]
    if scores.shape[1] == 1:
        positive = 1.0 / (1.0 + np.exp(-scores))
        return np.column_stack([1.0 - positive[:, 0], positive[:, 0]])
    exponentials = np.exp(scores - scores.max(axis=1, keepdims=True))
    return np.asarray(exponentials / exponentials.sum(axis=1, keepdims=True))


def _network(division: Division, seed: int) -> Any:
    network = make_pipeline(StandardScaler(), MLPClassifier((HIDDEN,), max_iter=300, random_state=seed))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return network.fit(*division.rows("growing"))


def _boosted(division: Division, seed: int) -> Any:
    tree = CARTClassifier(criterion=CRITERION, max_depth=DEPTH)
    return AdaBoostM1Classifier(tree, MEMBERS, random_state=seed).fit(*division.rows("growing"))


def _error(model: Any, division: Division, kind: str = "test") -> float:
    X, y = division.rows(kind)
    return float(np.mean(model.predict(X) != y))


def _smoothed_error(method: str, model: Any, division: Division, seed: int) -> tuple[float, float]:
    """Return the error under noise, and its amount, chosen on the pruning rows."""
    if method == NETWORK:
        soft = soften(model, division, method="sample", n_draws=DRAWS, random_state=seed)
        return _error(soft, division), float(soft.noise_)
    if method == NETWORK_FORM:
        errors = [_form_error(model, division, amount, "pruning") for amount in AMOUNTS]
        amount = AMOUNTS[int(np.argmin(errors))]
        return _form_error(model, division, amount, "test"), amount
    soft = soften(model, division, method="path")
    return _error(soft, division), float(soft.noise_)


def _form_error(model: Any, division: Division, amount: float, kind: str) -> float:
    X, y = division.rows(kind)
    return float(np.mean(model.classes_[closed_form(model, X, amount).argmax(axis=1)] != y))


def _measure_classes(cell: Cell, seed: int) -> dict[str, float]:
    division = divide(cell.dataset, cell.split)
    if cell.method in BAGGED_SIZES:
        tree = CARTClassifier(criterion=CRITERION)
        bagged = BaggingClassifier(tree, BAGGED_SIZES[cell.method], random_state=seed)
        model = bagged.fit(*division.rows("growing"))
    else:
        model = _boosted(division, seed) if cell.method == BOOSTED else _network(division, seed)
    smoothed, amount = _smoothed_error(cell.method, model, division, seed)
    return {"error": _error(model, division), "smoothed": smoothed, "noise": amount, "n_test": len(division.test)}


def _measure_numbers(cell: Cell, seed: int) -> dict[str, float]:
    """Return root relative squared errors in percent of the deviation of the test rows."""
    dataset = kept_dataset(cell.dataset)
    order = np.random.default_rng(seed_of(SEED, cell.dataset, cell.split, "rows")).permutation(len(dataset.y))
    growing, pruning, test = np.split(order[: sum(NUMBER_ROWS)], np.cumsum(NUMBER_ROWS)[:-1])
    X, y = dataset.X, dataset.y.astype(np.float64)
    tree = CARTRegressor(ccp_alpha="validation")
    if cell.method == NUMBER_TREE:
        model: Any = tree.fit(X[growing], y[growing], X_val=X[pruning], y_val=y[pruning])
    else:
        model = BaggingRegressor(CARTRegressor(), MEMBERS, random_state=seed).fit(X[growing], y[growing])
    soft = DualPerturbRegressor(model, search="golden_section", thresholds="kept")
    soft.fit(X[growing], X_val=X[pruning], y_val=y[pruning])
    spread = float(np.std(y[test]))
    plain, smoothed = (float(np.sqrt(np.mean((m.predict(X[test]) - y[test]) ** 2)) / spread) for m in (model, soft))
    return {"error": plain, "smoothed": smoothed, "noise": float(np.mean(soft.noise_)), "n_test": len(test)}


@dataclass(frozen=True)
class MeasureModel:
    """Trains one kind of model on one division, and tests it without noise and with."""

    def __call__(self, cell: Cell) -> Outcome:
        """Count errors, or measure the root relative squared error."""
        seed = seed_of(SEED, cell.dataset, cell.split, "other")
        measure = _measure_numbers if cell.dataset in NUMBER_PROBLEMS else _measure_classes
        start = time.process_time()
        values = measure(cell, seed)
        n_test = int(values.pop("n_test"))
        return Outcome(values, n_test, time.process_time() - start, seed=seed)


def _n_divisions(method: str, budget: Budget) -> int:
    most = NETWORK_DIVISIONS if method in (NETWORK, NETWORK_FORM) and budget == "default" else DIVISIONS[budget]
    return min(most, DIVISIONS[budget])


def other_models_experiment(budget: Budget) -> Experiment:
    """Return every kind of model on every problem that suits it."""
    kinds: list[tuple[Sequence[str], Sequence[str]]] = [
        ((BOOSTED, NETWORK, NETWORK_FORM), CLASS_PROBLEMS),
        (tuple(BAGGED_SIZES), BAGGED_PROBLEMS),
        ((NUMBER_TREE, NUMBER_BAGGED), NUMBER_PROBLEMS),
    ]
    n_problems = 1 if budget == "quick" else None
    cells = [
        Cell(problem, method, split)
        for methods, problems in kinds
        for problem in problems[:n_problems]
        for method in methods
        for split in range(_n_divisions(method, budget))
    ]
    settings = {"members": MEMBERS, "depth": DEPTH, "hidden": HIDDEN, "draws": DRAWS, "seed": SEED}
    return Experiment("geurts2001/other_models", settings, cells, MeasureModel())


@dataclass(frozen=True)
class Pair:
    """Errors of one kind of model on one problem, without noise and with, division by division."""

    plain: Floats
    smoothed: Floats
    noise: Floats

    @property
    def difference(self) -> str:
        """Who is better by the paired t test at 5 %."""
        if len(self.plain) < 2:
            return "one division, not tested"
        if np.allclose(self.plain, self.smoothed):
            return "no difference"
        low, high = paired_t_test(self.smoothed, self.plain).interval
        return "smoothed" if high < 0 else "plain" if low > 0 else "no difference"


def gather_pairs(results: Sequence[Result]) -> dict[tuple[str, str], Pair]:
    """Return the errors by problem and method."""
    pairs = {}
    for problem, methods in group_by_split(results).items():
        for method, by_split in methods.items():
            chosen = [by_split[split] for split in shared_splits({method: by_split})]
            columns = [np.array([r.values[name] for r in chosen]) for name in ("error", "smoothed", "noise")]
            pairs[problem, method] = Pair(*columns)
    return pairs


def show_other_models(results: Sequence[Result], budget: Budget) -> list[ShownTable]:
    """Show errors without noise and with, for each kind of model, and by number of bagged trees."""
    pairs, failures = gather_pairs(results), first_failures(results)
    classes = {key: pair for key, pair in pairs.items() if key[1] in (BOOSTED, NETWORK, NETWORK_FORM)}
    numbers = {key: pair for key, pair in pairs.items() if key[1] in (NUMBER_TREE, NUMBER_BAGGED)}
    bagged = {key: pair for key, pair in pairs.items() if key[1] in BAGGED_SIZES}
    caption = "Error in percent without noise and with, boosting and neural networks"
    of_numbers = "Root relative squared error in percent without noise and with, numeric targets"
    return [
        _pairs_table("other_models", caption, classes, [*_class_notes(), *failures]),
        _pairs_table("other_numbers", of_numbers, numbers, _number_notes()),
        _bagged_table(bagged),
    ]


def _pairs_table(name: str, caption: str, pairs: dict[tuple[str, str], Pair], notes: Sequence[str]) -> ShownTable:
    rows = [
        [problem, method, *_means(pair), f"{pair.noise.mean():.2f}", pair.difference]
        for (problem, method), pair in pairs.items()
    ]
    columns = ["problem", "model", "plain", "smoothed", "mean λ", "better by the paired t test"]
    return ShownTable(name, caption, columns, rows, [*_counts(pairs), *notes])


def _means(pair: Pair) -> list[str]:
    return [f"{100 * errors.mean():.2f}" for errors in (pair.plain, pair.smoothed)]


def _counts(pairs: dict[tuple[str, str], Pair]) -> list[str]:
    """Say for each kind of model where smoothing is better and where worse."""
    sentences = []
    for method in dict.fromkeys(method for _, method in pairs):
        words = [pair.difference for (_, name), pair in pairs.items() if name == method]
        count: Callable[[str], int] = words.count
        sentences.append(
            f"{method}: smoothed better on {count('smoothed')}, worse on {count('plain')} of {len(words)} problems."
        )
    return sentences


def _class_notes() -> list[str]:
    return [
        f"AdaBoost.M1 of {MEMBERS} trees of depth {DEPTH}; a network of one hidden layer of {HIDDEN} rectified units "
        f"on standardized attributes, smoothed by {DRAWS} draws, and in closed form: the mean of each hidden unit is "
        "exact, the output is that of the mean units.",
        "Growing, pruning and test rows as in Table 2; the amount of noise is chosen on the pruning rows. "
        f"{DIVISIONS['default']} divisions, {NETWORK_DIVISIONS} for networks, that share their test rows: the t test "
        "judges these rows, and not others.",
    ]


def _number_notes() -> list[str]:
    growing, pruning, test = NUMBER_ROWS
    return [
        f"{growing} rows to grow on, {pruning} to prune the tree and to choose the noise, {test} to test on, drawn "
        f"anew each time; one tree pruned on the pruning rows, and {MEMBERS} bagged full trees.",
    ]


def _bagged_table(pairs: dict[tuple[str, str], Pair]) -> ShownTable:
    rows: list[list[Any]] = []
    enough = {}
    for problem in dict.fromkeys(problem for problem, _ in pairs):
        of = {method: pairs[problem, method] for method in BAGGED_SIZES if (problem, method) in pairs}
        for kind in ("plain", "smoothed"):
            means = [float(getattr(pair, kind).mean()) for pair in of.values()]
            rows.append([problem, kind, *(f"{100 * mean:.2f}" for mean in means)])
        most = [float(pair.plain.mean()) for pair in of.values()][-1]
        few = [name for name, pair in of.items() if float(pair.smoothed.mean()) <= most]
        enough[problem] = few[0] if few else None
    said = "; ".join(f"{problem} {name or 'none of these'}" for problem, name in enough.items())
    last = list(BAGGED_SIZES)[-1]
    notes = [f"The fewest smoothed trees that err no more than {last} without noise: {said}."] if enough else []
    columns = ["problem", "prediction", *BAGGED_SIZES]
    caption = "How many trees bagging needs: error in percent"
    return ShownTable("other_bagged", caption, columns, rows, [*notes, "Full trees, combined by averaging."])
