"""How Dietterich (2000) measured, and the sizes of each budget.

Trees are C4.5's of Release 1, pruned at confidence 0.10 and unpruned. A cell also measures, within its training rows,
what the choice between the two can honestly be based on.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tremula import AdaBoostM1Classifier, BaggingClassifier, C45Classifier, RandomizedC45Classifier
from tremula.folds import Split, shuffled_folds
from tremula.lab.experiments.cell import Cell, Experiment, Outcome
from tremula.lab.papers.dietterich2000.domains import (
    DOMAINS,
    NOISE_DOMAINS,
    NOISE_RATES,
    NOISY_NAMES,
    Table,
    load_table,
    n_splits,
    noisy_name,
    split_of,
)
from tremula.lab.papers.paper import Budget
from tremula.lab.papers.shared_protocol import seed_of, try_classifier

SEED = 0
C45, RANDOMIZED, BAGGED, BOOSTED = METHODS = ("C4.5", "randomized C4.5", "bagged C4.5", "AdaBoosted C4.5")
CONFIDENCE = {"pruned": 0.10, "unpruned": None}
VARIANTS = {f"{method}, {pruning}": (method, pruning) for method in METHODS for pruning in CONFIDENCE}

# Pruned or unpruned, chosen within the training rows: folds, and the share of the members that is enough for it.
INNER_FOLDS = {C45: 5, RANDOMIZED: 3, BOOSTED: 3}
INNER_SHARE = 5
LEAST_INNER_MEMBERS = 5


@dataclass(frozen=True)
class Sizes:
    """Sizes of a budget.

    Attributes
    ----------
    members : mapping of str to int
        Number of members, by kind of ensemble.
    domains : sequence of str
        Of Table 1.
    folds : int
        Folds of the ten that are measured; the training sets are those of ten folds in any case.
    noise_domains : sequence of str
        Of Table 3.
    noise_rates : sequence of int
    """

    members: Mapping[str, int]
    domains: Sequence[str]
    folds: int
    noise_domains: Sequence[str]
    noise_rates: Sequence[int]

    def n_splits(self, domain: str) -> int:
        """Return the number of folds of a domain that are measured."""
        return n_splits(domain, self.folds)


def members_of(randomized: int, bagged: int, boosted: int) -> dict[str, int]:
    """Return the members of each method."""
    return {C45: 1, RANDOMIZED: randomized, BAGGED: bagged, BOOSTED: boosted}


QUICK_DOMAINS = ("sonar", "glass", "soybean", "autos", "annealing", "iris", "labor", "lymph", "hepatitis")
SIZES: dict[Budget, Sizes] = {
    "quick": Sizes(members_of(20, 20, 15), QUICK_DOMAINS, 3, ("audiology", "vehicle"), (0, 20)),
    "default": Sizes(members_of(200, 200, 100), tuple(DOMAINS), 10, NOISE_DOMAINS, NOISE_RATES),
    "full": Sizes(members_of(200, 200, 100), tuple(DOMAINS), 10, NOISE_DOMAINS, NOISE_RATES),
}
# The paper found as many as good as 200, 200 and 100 on most domains. They stand in for what is not measured, and
# measure what goes beyond the paper.
FEWER = members_of(50, 50, 40)


def build(
    method: str,
    pruning: str,
    members: int,
    categorical_features: Any,
    seed: int,
    tree_options: Mapping[str, Any] | None = None,
    oob_score: bool = False,
) -> Any:
    """Return an estimator: one tree, or an ensemble of so many; options of the trees differ from the paper's."""
    tree = C45Classifier(**{"release": 1, "confidence": CONFIDENCE[pruning], **(tree_options or {})})
    columns = {"categorical_features": categorical_features}
    if method == C45:
        return tree.set_params(**columns)
    common = {"estimator": tree, "n_estimators": members, "random_state": seed, **columns}
    makers: dict[str, Callable[[], Any]] = {
        RANDOMIZED: lambda: RandomizedC45Classifier(**common),
        BAGGED: lambda: BaggingClassifier(**common, combine="vote", oob_score=oob_score),
        BOOSTED: lambda: AdaBoostM1Classifier(**common),
    }
    return makers[method]()


def load_fold(cell: Cell, seed: int = SEED) -> tuple[Table, Split]:
    """Return the rows of the domain of a cell, and its fold."""
    table = load_table(cell.dataset, seed)
    return table, split_of(cell.dataset, table.y, cell.split, seed)


def count_errors(
    cell: Cell, variant: tuple[str, str], members: Mapping[str, int], seed: int, tree_options: Mapping[str, Any]
) -> Outcome:
    """Train a method with pruned or unpruned trees on the fold of a cell, and count its errors."""
    method, pruning = variant
    table, split = load_fold(cell)
    model = build(method, pruning, members[method], table.categorical_features, seed, tree_options)
    _, outcome = try_classifier(model, table.X, table.y, split, seed)
    return replace(outcome, predictions=None)


@dataclass(frozen=True)
class MeasureError:
    """Measures one cell of Tables 1 to 3."""

    members: Mapping[str, int]
    seed: int

    def __call__(self, cell: Cell) -> Outcome:
        """Train on a fold and count errors; and tell what the training rows alone say of this variant."""
        method, pruning = VARIANTS[cell.method]
        table, split = load_fold(cell, self.seed)
        seed = seed_of(self.seed, NOISY_NAMES[cell.dataset], cell.split)
        model = build(method, pruning, self.members[method], table.categorical_features, seed, oob_score=True)
        with warnings.catch_warnings():  # of rows that no member left out, when members are few
            warnings.simplefilter("ignore", UserWarning)
            model, outcome = try_classifier(model, table.X, table.y, split, seed)
        inner = 1 - model.oob_score_ if method == BAGGED else self._inner_error(method, pruning, table, split, seed)
        return replace(outcome, values={**outcome.values, "inner_error": float(inner)}, predictions=None)

    def _inner_error(self, method: str, pruning: str, table: Table, split: Split, seed: int) -> float:
        """Cross-validate a variant, with fewer members, within the training rows."""
        train, _ = split
        members = max(self.members[method] // INNER_SHARE, LEAST_INNER_MEMBERS)
        wrong = 0.0
        for inner_train, inner_test in shuffled_folds(table.y[train], INNER_FOLDS[method], seed):
            model = build(method, pruning, members, table.categorical_features, seed)
            _, outcome = try_classifier(model, table.X, table.y, (train[inner_train], train[inner_test]))
            wrong += outcome.values["n_wrong"]
        return wrong / len(train)


# About how long a tree of a large domain takes, compared with one of the small domains.
WORK = {"letter": 25.0, "krk": 18.0, "shuttle": 12.0, "satimage": 10.0, "waveform": 12.0, "splice": 8.0, "sick": 5.0}
WORK |= {"hypo": 5.0, "krkp": 4.0, "phoneme": 3.0, "segment": 3.0, "credit-g": 2.0, "annealing": 2.0, "vehicle": 1.5}


@dataclass(frozen=True)
class CostOfError:
    """About how long a cell takes: what a tree of its domain takes, for each member."""

    members: Mapping[str, int]

    def __call__(self, cell: Cell) -> float:
        """Return it in no particular unit."""
        name, rate = NOISY_NAMES[cell.dataset]
        method, pruning = VARIANTS[cell.method]
        work = WORK.get(name, 1.0) * self.members[method] * (1 + rate / 20)
        return work * (2.0 if pruning == "pruned" else 1.0) * (1.4 if method in INNER_FOLDS else 1.0)


def error_cells(sizes: Sizes, domains: Sequence[str], rates: Sequence[int]) -> list[Cell]:
    """Return a cell for every domain, noise rate, variant and fold."""
    return [
        Cell(noisy_name(domain, rate), variant, split)
        for domain in domains
        for rate in rates
        for variant in VARIANTS
        for split in range(sizes.n_splits(domain))
    ]


def members_words(members: Mapping[str, int]) -> str:
    """Return the number of members of each ensemble in words.

    Examples
    --------
    >>> members_words(FEWER)
    '50 randomized, 50 bagged and at most 40 boosted trees'
    """
    return f"{members[RANDOMIZED]} randomized, {members[BAGGED]} bagged and at most {members[BOOSTED]} boosted trees"


def _error_experiment(name: str, members: Mapping[str, int], cells: Sequence[Cell]) -> Experiment:
    settings = {
        "members": dict(members),
        "seed": SEED,
        "release": 1,
        "confidence": CONFIDENCE["pruned"],
        "inner": [INNER_FOLDS, INNER_SHARE, LEAST_INNER_MEMBERS],
    }
    measure, cost = MeasureError(members, SEED), CostOfError(members)
    return Experiment(f"dietterich2000/{name}", settings, cells, measure, cost, members_words(members))


def _with_stand_in(name: str, budget: Budget, cells: Sequence[Cell]) -> Experiment:
    """Return the experiment of a budget; for what is not measured with the paper's sizes, fewer members stand in."""
    experiment = _error_experiment(name, SIZES[budget].members, cells)
    if budget == "quick":
        return experiment
    return replace(experiment, stand_in=_error_experiment(name, FEWER, cells))


def table1_experiment(budget: Budget) -> Experiment:
    """Return the experiment behind Tables 1 and 2 and the Kohavi plots."""
    sizes = SIZES[budget]
    return _with_stand_in("errors", budget, error_cells(sizes, sizes.domains, [0]))


def table3_experiment(budget: Budget) -> Experiment:
    """Return what Table 3 is made of; without noise its cells are measured as those of Table 1, and kept apart."""
    sizes = SIZES[budget]
    return _with_stand_in("errors_with_noise", budget, error_cells(sizes, sizes.noise_domains, sizes.noise_rates))
