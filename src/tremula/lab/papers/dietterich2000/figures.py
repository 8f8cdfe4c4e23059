"""Figures of Dietterich (2000): Kohavi plots, kappa-error diagrams of sick, and the weights of corrupted rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np

from tremula.diagnostics import (
    KappaErrorDisplay,
    KohaviDisplay,
    WeightTraceDisplay,
    add_class_noise,
    kappa_error,
    weight_trace,
)
from tremula.lab.experiments.cell import Cell, Experiment, Outcome
from tremula.lab.experiments.result import Result
from tremula.lab.papers.dietterich2000.choices import Measured, differ, gather
from tremula.lab.papers.dietterich2000.domains import DOMAINS, NOISY_NAMES, load_table, noisy_name
from tremula.lab.papers.dietterich2000.protocol import (
    BAGGED,
    BOOSTED,
    C45,
    METHODS,
    RANDOMIZED,
    SEED,
    SIZES,
    build,
)
from tremula.lab.papers.dietterich2000.rules import KAPPA_RULES, WEIGHT_RULES
from tremula.lab.papers.dietterich2000.tables import sizes_note
from tremula.lab.papers.paper import Budget, ShownFigure, ShownTable
from tremula.lab.papers.rules import claims_table
from tremula.lab.papers.shared_protocol import official_split, seed_of

SICK_TRAINING_ROWS = 2800  # of the training file; a fifth of them is the 560 of the paper
NOISE = 20  # percent
DRAWN_MEMBERS = 50  # pairs of so many members are kept, which are 1225 points


def _members(budget: Budget) -> dict[str, int]:
    """Return the paper's sizes, which one domain can afford, but for the quick budget."""
    return dict(SIZES["quick" if budget == "quick" else "full"].members)


# --- Kohavi plots ---


def _draw_kohavi(measured: Sequence[Measured], first: str, second: str, choice: str) -> Any:
    names, differences, intervals = [], [], []
    for domain in measured:
        unit = domain.chosen(C45, choice).error
        if unit > 0:  # where C4.5 makes no error there is no unit
            result = differ(domain.chosen(first, choice), domain.chosen(second, choice))
            names.append(DOMAINS[domain.domain].label)
            differences.append(result.difference / unit)
            intervals.append([end / unit for end in result.interval])
    return KohaviDisplay(names, differences, intervals, first, second, C45).plot().figure_


def show_kohavi(results: Sequence[Result], budget: Budget) -> list[ShownFigure]:
    """Show a Kohavi plot of every pair of methods, from the same cells as Table 1."""
    measured = [domain for domain in gather(results)[0].values() if set(METHODS) <= set(domain.methods)]
    pairs = [(second, first) for first, second in combinations(METHODS, 2)]
    return [
        ShownFigure(
            f"kohavi_{_short(first)}_{_short(second)}",
            f"{first} against {second} in units of the error of {C45}; pruned or unpruned chosen on the test data. "
            + sizes_note(budget, results),
            partial(_draw_kohavi, measured, first, second, "test"),
        )
        for first, second in pairs
        if measured
    ]


def _short(method: str) -> str:
    return {C45: "c45", RANDOMIZED: "randomized", BAGGED: "bagged", BOOSTED: "adaboosted"}[method]


# --- kappa and error of pairs of members ---


@dataclass(frozen=True)
class MeasureKappa:
    """Trains an ensemble on the training file of sick and compares its members on the test file."""

    members: dict[str, int]
    seed: int

    def __call__(self, cell: Cell) -> Outcome:
        """Keep the mean kappa and error of all pairs, and those of the first members one by one."""
        table = load_table(cell.dataset, self.seed)
        train, test = official_split(len(table.y), SICK_TRAINING_ROWS)
        seed = seed_of(self.seed, NOISY_NAMES[cell.dataset], "kappa")
        model = build(cell.method, "unpruned", self.members[cell.method], table.categorical_features, seed)
        model.fit(table.X[train], table.y[train])
        agreement = kappa_error(model, table.X[test], table.y[test])
        few = min(DRAWN_MEMBERS, agreement.n_members)
        values = {"kappa": float(agreement.kappa.mean()), "member_error": float(agreement.member_error.mean())}
        values |= {"error": agreement.ensemble_error, "n_members": float(agreement.n_members)}
        for (first, second), kappa, error in zip(
            agreement.pairs.tolist(), agreement.kappa.tolist(), agreement.mean_error.tolist()
        ):
            if second < few:
                values |= {f"kappa {first} {second}": kappa, f"mean_error {first} {second}": error}
        return Outcome(values, n_test=len(test), seed=seed)


def kappa_experiment(budget: Budget) -> Experiment:
    """Return the experiment behind the kappa-error diagrams."""
    members = _members(budget)
    cells = [Cell(noisy_name("sick", rate), method, 0) for rate in (0, NOISE) for method in METHODS[1:]]
    settings = {"members": members, "seed": SEED, "drawn": DRAWN_MEMBERS}
    return Experiment("dietterich2000/kappa", settings, cells, MeasureKappa(members, SEED))


def _draw_kappa(result: Result) -> Any:
    pairs = [key.removeprefix("kappa ") for key in result.values if key.startswith("kappa ")]
    kappa = np.array([result.values[f"kappa {pair}"] for pair in pairs])
    error = np.array([result.values[f"mean_error {pair}"] for pair in pairs])
    return KappaErrorDisplay(kappa, error, name=result.method).plot().figure_


def show_kappa(results: Sequence[Result], budget: Budget) -> list[ShownTable | ShownFigure]:
    """Show a diagram for each method with and without noise, and their means as a table."""
    measured = [result for result in results if result.failure is None]
    rows = [
        [result.dataset, result.method, int(result.values["n_members"])]
        + [round(result.values[name], digits) for name, digits in (("kappa", 3), ("member_error", 4), ("error", 4))]
        for result in measured
    ]
    notes = [
        "Unpruned trees, trained on the first 2800 rows of sick, compared on the other 972; labels of both are noisy.",
        f"Diagrams show the pairs of the first {DRAWN_MEMBERS} members, means are of all pairs.",
        "The slides show diagrams and no numbers; nearer the origin is better there, so the second axis is the error.",
        *(result.failure_note for result in results if result.failure),
    ]
    columns = ["domain", "method", "members", "mean kappa", "mean error of a member", "error of the ensemble"]
    table = ShownTable("kappa", "Agreement and error of members on sick", columns, rows, notes)
    figures = [_kappa_figure(result) for result in measured if result.values["n_members"] > 1]
    return [table, _kappa_claims(measured), *figures]


def _kappa_claims(measured: Sequence[Result]) -> ShownTable:
    rows = [
        {"method": result.method, "noisy": NOISY_NAMES[result.dataset][1] > 0}
        | {name: result.values[key] for name, key in (("kappa", "kappa"), ("member", "member_error"))}
        | {"error": result.values["error"]}
        for result in measured
    ]
    shuffled = "the three numbers of a method, together, go to other methods and amounts of noise."
    return claims_table("kappa_claims", "What the diagrams show", KAPPA_RULES, rows, shuffled)


def _kappa_figure(result: Result) -> ShownFigure:
    rate = NOISY_NAMES[result.dataset][1]
    name = f"kappa_{_short(result.method)}" + (f"_noise{rate}" if rate else "")
    caption = f"Pairs of members of {result.method} on {result.dataset}: kappa and mean error"
    return ShownFigure(name, caption, partial(_draw_kappa, result))


# --- weights of corrupted rows ---


@dataclass(frozen=True)
class MeasureWeights:
    """Boosts on the training file of sick with a fifth of the labels wrong, and follows their weights."""

    members: int
    seed: int

    def __call__(self, cell: Cell) -> Outcome:
        """Keep the mean weight of corrupted and of clean rows in every round, in units of a fair share."""
        table = load_table("sick", self.seed)
        X, clean = table.X[:SICK_TRAINING_ROWS], table.y[:SICK_TRAINING_ROWS]
        seed = seed_of(self.seed, "weights")
        y, mask = add_class_noise(clean, NOISE / 100, random_state=seed)
        model = build(BOOSTED, "unpruned", self.members, table.categorical_features, seed)
        trace = weight_trace(model.set_params(keep_weights=True).fit(X, y), mask)
        values = {"n_corrupted": float(trace.n_corrupted), "n_rows": float(len(y))}
        for number, (corrupted, other) in enumerate(zip(trace.corrupted.tolist(), trace.clean.tolist()), start=1):
            values |= {f"corrupted {number}": corrupted, f"clean {number}": other}
        return Outcome(values, seed=seed)


def weights_experiment(budget: Budget) -> Experiment:
    """Return the experiment behind the weight trace."""
    members = _members(budget)[BOOSTED]
    cells = [Cell(noisy_name("sick", NOISE), BOOSTED, 0)]
    settings = {"members": members, "seed": SEED}
    return Experiment("dietterich2000/weights", settings, cells, MeasureWeights(members, SEED))


def _trace(result: Result) -> tuple[list[float], list[float]]:
    n_rounds = sum(key.startswith("clean ") for key in result.values)
    rounds = range(1, n_rounds + 1)
    return [result.values[f"corrupted {number}"] for number in rounds], [
        result.values[f"clean {number}"] for number in rounds
    ]


def _draw_weights(result: Result) -> Any:
    return WeightTraceDisplay(*_trace(result)).plot().figure_


def show_weights(results: Sequence[Result], budget: Budget) -> list[ShownTable | ShownFigure]:
    """Show the mean weights of corrupted and clean rows by round."""
    shown: list[ShownTable | ShownFigure] = []
    for result in results:
        if result.failure is not None:
            columns = ["round", "corrupted rows", "other rows", "share of all weight on corrupted rows, %"]
            shown.append(ShownTable("weights", "Weights of corrupted rows", columns, [], [f"failed: {result.failure}"]))
            continue
        corrupted, clean = _trace(result)
        share = result.values["n_corrupted"] / result.values["n_rows"]
        marks = sorted({1, 2, 3, 5, 10, 20, 40, 60, 80, 100, len(clean)} & set(range(1, len(clean) + 1)))
        rows = [
            [
                mark,
                round(corrupted[mark - 1], 3),
                round(clean[mark - 1], 3),
                round(100 * share * corrupted[mark - 1], 1),
            ]
            for mark in marks
        ]
        shown.append(_weights_table(result, rows, budget))
        claim_rows = [{"round": row[0], "corrupted": row[1], "other": row[2]} for row in rows]
        shuffled = "round by round, with probability a half, the weights of corrupted and other rows are exchanged."
        shown.append(claims_table("weights_claims", "The paper's hypothesis", WEIGHT_RULES, claim_rows, shuffled))
        caption = "Mean weight of corrupted and of other training rows of sick by round of boosting"
        shown.append(ShownFigure("weights", caption, partial(_draw_weights, result)))
    return shown


def _weights_table(result: Result, rows: list[list[Any]], budget: Budget) -> ShownTable:
    n_corrupted, n_rows = int(result.values["n_corrupted"]), int(result.values["n_rows"])
    columns = ["round", "corrupted rows", "other rows", "share of all weight on corrupted rows, %"]
    caption = (
        f"Mean weight, 1 being a fair share: {n_corrupted} corrupted and {n_rows - n_corrupted} other rows of sick"
    )
    notes = [
        "The paper's hypothesis: AdaBoost places more weight on the noisy rows. The slides show a figure without "
        "numbers, of 560 corrupted and 2,240 other rows.",
        f"Unpruned trees, the first {SICK_TRAINING_ROWS} rows of sick, at most {_members(budget)[BOOSTED]} rounds.",
    ]
    return ShownTable("weights", caption, columns, rows, notes)
