"""What goes beyond the paper, measured: other noise, nominal attributes, and cheaper ways to find the level.

All variants of a split have the same rows; each differs from the first in one thing.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import clone

from tremula import DualPerturbClassifier, SmearedBaggingClassifier, SmearedBaggingRegressor, tune_together
from tremula.diagnostics import corrected_t_test
from tremula.ensembles.smeared_bagging import DEVIATIONS
from tremula.lab.datasets import known_datasets
from tremula.lab.experiments.cell import Cell, Experiment, Outcome
from tremula.lab.experiments.result import Result
from tremula.lab.papers.frank2006.protocol import N_MEMBERS, SEED, SIZES, load_rows, try_on
from tremula.lab.papers.frank2006.tables import gather, n_splits
from tremula.lab.papers.paper import Budget, ShownTable
from tremula.lab.papers.shared_protocol import seed_of

BASE = "Gaussian, levels by out-of-bag rows"
MOST_ROWS = 1000
MULTIPLES = (0.0, 0.5, 1.0, 2.0)  # of the common amount, for an amount for each attribute
VARIANTS: dict[str, dict[str, Any]] = {
    BASE: {},
    "no noise: bagging": {"noise": 0.0},
    "levels by cross-validation": {"tuning": "cv"},
    "levels by halving": {"search": "halving"},
    "levels by golden section": {"search": "golden"},
    "levels by log loss": {"scoring": "log_loss"},
    "uniform": {"distribution": "uniform"},
    "Poisson": {"distribution": "poisson"},
    "log scale": {"distribution": "log"},
    "within bounds": {"within_bounds": True},
    "integers stay": {"keep_integers": True},
    "bandwidth, rule of thumb": {"unit": "rule_of_thumb"},
    "bandwidth, likelihood": {"unit": "likelihood"},
    "nominal attributes too": {"smear_nominal": True},
    "amounts up to 1": {"amounts": (*DEVIATIONS, 0.4, 0.5, 0.7, 1.0)},
    "distribution by out-of-bag rows": {"distribution": "auto"},
    # These are not options of one estimator: see `EachAttribute` and `Joined`.
    "an amount for each attribute": {},
    "dual perturb and combine, no noise in training": {},
    "joined with dual perturb and combine": {},
}
EACH = "an amount for each attribute"
JOINED = "joined with dual perturb and combine"
SOFTENED = "dual perturb and combine, no noise in training"
TEST_TIME = {JOINED: (0.0, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3), SOFTENED: (0.0,)}
CLASSES = ("balance-scale", "glass", "ionosphere", "page-blocks", "segment", "sonar", "spambase", "vehicle", "vowel")
NUMBERS = ("abalone", "auto-mpg", "auto-price", "housing", "machine-cpu", "servo", "stock", "triazines")
QUICK = ("glass", "vowel", "machine-cpu", "servo")


class EachAttribute:
    """Smeared bagging with an amount for each attribute: the best of random designs on out-of-bag rows.

    The search costs five times that of one amount for all: that search, and as many members as four more.
    """

    def __init__(self, kind: type[Any], seed: int) -> None:
        self.plain = kind(n_estimators=N_MEMBERS, tuning="oob", search="grid", random_state=seed)
        self.seed = seed

    def set_params(self, **options: Any) -> EachAttribute:
        """Tell the members which attributes are nominal."""
        self.plain.set_params(**options)
        return self

    def fit(self, X: np.ndarray, y: np.ndarray) -> None:
        """Choose the amounts and train."""
        common = clone(self.plain).fit(X, y)
        random = np.random.default_rng(self.seed)
        base = common.noise_ or DEVIATIONS[1]
        designs = [np.full(X.shape[1], common.noise_)]
        designs += [base * random.choice(MULTIPLES, X.shape[1]) for _ in range(4 * len(DEVIATIONS))]
        tried = [clone(self.plain).set_params(noise=design, oob_score=True) for design in designs]
        with warnings.catch_warnings():  # of rows that none of the few members left out
            warnings.simplefilter("ignore", UserWarning)
            self.model = max((model.fit(X, y) for model in tried), key=lambda model: model.oob_score_)
        self.noise_ = float(np.mean(self.model.noise_))
        self.noise_curve_ = replace(common.noise_curve_, n_trained=5 * common.noise_curve_.n_trained)

    def predict(self, X: np.ndarray) -> Any:
        """Return the classes or numbers."""
        return self.model.predict(X)


class Joined:
    """Smeared bagging within dual perturb and combine, both amounts of noise chosen together on out-of-bag rows."""

    def __init__(self, amounts: Sequence[float], seed: int) -> None:
        self.amounts = amounts
        self.smeared = SmearedBaggingClassifier(n_estimators=N_MEMBERS, random_state=seed)

    def set_params(self, **options: Any) -> Joined:
        """Tell the members which attributes are nominal."""
        self.smeared.set_params(**options)
        return self

    def fit(self, X: np.ndarray, y: np.ndarray) -> None:
        """Choose both amounts of noise and train."""
        wrapper = DualPerturbClassifier(
            self.smeared, scoring="error", search="golden_section", thresholds="kept", random_state=0
        )
        self.tuned = tune_together(wrapper, X, y, amounts=self.amounts)
        self.noise_, self.noise_curve_ = self.tuned.training_noise, None

    def predict(self, X: np.ndarray) -> Any:
        """Return the classes."""
        return self.tuned.model.predict(X)


@dataclass(frozen=True)
class MeasureVariant:
    """Trains and tests one variant on one split."""

    def __call__(self, cell: Cell) -> Outcome:
        """Measure the error and the chosen amount of noise."""
        dataset = load_rows(cell.dataset, MOST_ROWS, SEED)
        seed = seed_of(SEED, cell.dataset, cell.split, "learner")
        if cell.method == EACH:
            kind = SmearedBaggingRegressor if dataset.task == "regression" else SmearedBaggingClassifier
            return try_on(EachAttribute(kind, seed), dataset, cell.split, seed)
        if cell.method in TEST_TIME:
            return try_on(Joined(TEST_TIME[cell.method], seed), dataset, cell.split, seed)
        kind = SmearedBaggingRegressor if dataset.task == "regression" else SmearedBaggingClassifier
        options = {"n_estimators": N_MEMBERS, "tuning": "oob", "search": "grid", **VARIANTS[cell.method]}
        return try_on(kind(random_state=seed, **options), dataset, cell.split, seed)


def suits(variant: str, dataset: str) -> bool:
    """Return whether a variant makes a difference on a dataset."""
    known, options = known_datasets()[dataset], VARIANTS[variant]
    if variant in TEST_TIME:
        return known.task == "classification"
    if "smear_nominal" in options:
        return known.nominal > 0
    return known.numeric > 0 and not ("scoring" in options and known.task == "regression")


def options_experiment(budget: Budget) -> Experiment:
    """Return every variant on every dataset that it suits."""
    datasets = QUICK if budget == "quick" else (*CLASSES, *NUMBERS)
    cells = [
        Cell(dataset, variant, split)
        for split in range(SIZES[budget].option_splits)
        for dataset in datasets
        for variant in VARIANTS
        if variant == BASE or suits(variant, dataset)
    ]
    settings = {"members": N_MEMBERS, "seed": SEED, "most_rows": MOST_ROWS}
    return Experiment("frank2006/options", settings, cells, MeasureVariant())


def show_options(results: Sequence[Result], budget: Budget) -> list[ShownTable]:
    """Show for each variant how its error compares with the first's, dataset by dataset and in the mean."""
    measured, failures = gather(results)
    shown = [_table("classes", "error", CLASSES, measured), _table("numbers", "rrse", NUMBERS, measured)]
    notes = [
        f"{n_splits(measured)} splits of 90 % and 10 %, {N_MEMBERS} members, at most {MOST_ROWS} rows of a "
        f"dataset. Every variant differs in one thing from the first, {BASE!r}, to which it is compared: the ratio of "
        "the mean errors, of which the geometric mean over datasets is taken; wins and losses are significant "
        "differences by the corrected resampled t test at 5 %.",
        "Cost is the number of members trained, compared with the first variant's.",
        *failures,
    ]
    columns = ["variant", "datasets", "error compared", "wins", "losses", "mean noise", "cost", "best on", "worst on"]
    captions = {"classes": "Error on classes", "numbers": "Root relative squared error on numbers"}
    return [ShownTable(f"options-{name}", captions[name], columns, rows, notes) for name, rows in shown if rows]


Found = dict[str, dict[str, dict[str, np.ndarray]]]


def _table(name: str, measure: str, datasets: Sequence[str], measured: Found) -> tuple[str, list[list[Any]]]:
    rows = []
    for variant in VARIANTS:
        there = [
            d
            for d in datasets
            if d in measured and {BASE, variant} <= set(measured[d]) and len(measured[d][BASE][measure]) > 1
        ]
        if there:
            rows.append(_row(variant, there, measure, measured))
    return name, rows


def _row(variant: str, datasets: Sequence[str], measure: str, measured: Found) -> list[Any]:
    ratios, wins, losses, amounts, costs = [], 0, 0, [], []
    for dataset in datasets:
        ours, base = measured[dataset][variant], measured[dataset][BASE]
        # Half a wrong row more in each, where there may be none.
        rest = 0.5 / ours["n_test"].sum() if measure == "error" else 0.0
        ratios.append((ours[measure].mean() + rest) / (base[measure].mean() + rest))
        test = corrected_t_test(ours[measure], base[measure], n_train=ours["n_train"], n_test=ours["n_test"])
        wins += test.p_value <= 0.05 and test.difference < 0
        losses += test.p_value <= 0.05 and test.difference > 0
        amounts.append(ours["noise"].mean())
        costs.append(ours["n_trained"].mean() / base["n_trained"].mean())
    best, worst = datasets[int(np.argmin(ratios))], datasets[int(np.argmax(ratios))]
    mean = float(np.exp(np.mean(np.log(ratios))))
    extremes = [None, None] if variant == BASE else [f"{best} {min(ratios):.2f}", f"{worst} {max(ratios):.2f}"]
    cost = f"{np.mean(costs):.2f}" if np.mean(costs) else None
    return [variant, len(datasets), f"{mean:.3f}", wins, losses, f"{np.mean(amounts):.2f}", cost, *extremes]
