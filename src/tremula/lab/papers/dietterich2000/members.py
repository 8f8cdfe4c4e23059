"""How many members the ensembles need: errors with 10 members up to those of the paper, without and with class noise.

One fit with all members gives the errors of every smaller number, so that the sizes share rows and draws.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tremula.data.take import take_rows
from tremula.lab.experiments.cell import Cell, Experiment, Outcome
from tremula.lab.experiments.result import Result, first_failures, group_by_split, shared_splits
from tremula.lab.papers.dietterich2000.domains import (
    FOLDS,
    NOISE_DOMAINS,
    NOISY_NAMES,
    noisy_name,
)
from tremula.lab.papers.dietterich2000.protocol import (
    BAGGED,
    BOOSTED,
    CONFIDENCE,
    FEWER,
    METHODS,
    RANDOMIZED,
    SEED,
    SIZES,
    VARIANTS,
    WORK,
    Sizes,
    build,
    load_fold,
)
from tremula.lab.papers.dietterich2000.published_errors import PUBLISHED, TEN, judge_published
from tremula.lab.papers.paper import Budget, ShownTable
from tremula.lab.papers.rules import CLAIM_COLUMNS, OPEN, POWER_NOTE, Finding, Rows, Rule, exchanged
from tremula.lab.papers.shared_protocol import count_nodes, seed_of

ENSEMBLES = METHODS[1:]
STAGES = {RANDOMIZED: (10, 20, 50, 100, 200), BAGGED: (10, 20, 50, 100, 200), BOOSTED: (10, 20, 40, 70, 100)}
USUAL = {method: FEWER[method] for method in ENSEMBLES}
NOISE = 20  # percent
NOISE_FOLDS = 3
# Of the default budget; --full has all folds and all nine domains with noise.
FEWER_FOLDS = {"letter": 2, "krk": 2}
DEFAULT_NOISE_DOMAINS = ("audiology", "krkp", "satimage", "segment", "vehicle")


@dataclass(frozen=True)
class MeasureStages:
    """Trains an ensemble of the paper's size, and counts the errors of its first members."""

    members: Mapping[str, int]

    def __call__(self, cell: Cell) -> Outcome:
        """Count errors after each stage; an ensemble that ended before keeps its last number."""
        method, pruning = VARIANTS[cell.method]
        table, (train, test) = load_fold(cell)
        seed = seed_of(SEED, NOISY_NAMES[cell.dataset], cell.split)
        model = build(method, pruning, self.members[method], table.categorical_features, seed)
        start = time.process_time()
        model.fit(take_rows(table.X, train), table.y[train])
        fitted = time.process_time()
        staged = model.staged_predict(take_rows(table.X, test))
        wrong = [float(np.sum(answers != table.y[test])) for answers in staged]
        predicted = time.process_time()
        stages = [stage for stage in STAGES[method] if stage <= self.members[method]]
        values = {f"wrong {stage}": wrong[min(stage, len(wrong)) - 1] for stage in stages}
        return Outcome(
            {**values, "members": float(len(wrong))},
            len(test),
            fitted - start,
            predicted - fitted,
            count_nodes(model),
            seed,
        )


def _cost(cell: Cell) -> float:
    name, rate = NOISY_NAMES[cell.dataset]
    return WORK.get(name, 1.0) * (1 + rate / 20)


def members_experiment(budget: Budget) -> Experiment:
    """Return the ten published domains without noise, and the nine of Table 3 with a fifth of the labels wrong."""
    sizes = SIZES["quick" if budget == "quick" else "full"]
    fewer = {"full": {}, "default": FEWER_FOLDS, "quick": dict.fromkeys(TEN, 1)}[budget]
    ten = [(domain, fewer.get(domain, sizes.n_splits(domain))) for domain in TEN if domain in sizes.domains]
    with_noise = DEFAULT_NOISE_DOMAINS if budget == "default" else sizes.noise_domains
    noisy = [(noisy_name(domain, NOISE), _noise_folds(budget, sizes, domain)) for domain in with_noise]
    cells = [
        Cell(name, f"{method}, {pruning}", fold)
        for name, folds in (*ten, *noisy)
        for fold in range(folds)
        for method in ENSEMBLES
        for pruning in CONFIDENCE
    ]
    members = dict(sizes.members)
    settings = {"members": members, "seed": SEED, "stages": {method: list(STAGES[method]) for method in ENSEMBLES}}
    return Experiment("dietterich2000/members", settings, cells, MeasureStages(members), _cost)


def _noise_folds(budget: Budget, sizes: Sizes, domain: str) -> int:
    return min({"full": FOLDS, "default": NOISE_FOLDS, "quick": 1}[budget], sizes.n_splits(domain))


@dataclass(frozen=True)
class Curve:
    """Errors of one method on one domain by number of members.

    Attributes
    ----------
    stages : sequence of int
    wrong : array (n_stages, n_folds)
        Wrong rows, of pruned or unpruned trees, whichever are better on the test rows with so many members.
    n_test : array (n_folds,)
    """

    stages: Sequence[int]
    wrong: np.ndarray
    n_test: np.ndarray

    @property
    def errors(self) -> list[float]:
        """The error with each number of members."""
        return [float(row.sum() / self.n_test.sum()) for row in self.wrong]

    def error_with(self, members: int) -> float:
        """Return the error with the largest stage of at most so many members."""
        return self.errors[max(i for i, stage in enumerate(self.stages) if stage <= members)]


def gather_curves(results: Sequence[Result]) -> dict[tuple[str, str], Curve]:
    """Return the curves by domain and method, of the folds on which all variants of the domain were measured."""
    curves = {}
    for domain, variants in group_by_split(results).items():
        folds = shared_splits(variants)
        for method in ENSEMBLES:
            pair = [variants.get(f"{method}, {pruning}") for pruning in CONFIDENCE]
            if not folds or None in pair:
                continue
            both = [[by_fold[fold] for fold in folds] for by_fold in pair if by_fold]
            stages = [stage for stage in STAGES[method] if f"wrong {stage}" in both[0][0].values]
            wrong = np.array([[[r.values[f"wrong {stage}"] for r in of] for stage in stages] for of in both])
            chosen = wrong.sum(axis=2).argmin(axis=0)  # ties go to pruned trees
            taken = wrong[chosen, np.arange(len(stages))]
            curves[domain, method] = Curve(stages, taken, np.array([r.n_test for r in both[0]]))
    return curves


def show_members(results: Sequence[Result], budget: Budget) -> list[ShownTable]:
    """Show the errors by number of members, with verdicts at the usual and at the paper's number, and the claims."""
    curves = gather_curves(results)
    failures = first_failures(results)
    clean = {pair: curve for pair, curve in curves.items() if not NOISY_NAMES[pair[0]][1]}
    noisy = {pair: curve for pair, curve in curves.items() if NOISY_NAMES[pair[0]][1]}
    return [_published_table(clean, failures), _noise_table(noisy, failures), _claims(clean, noisy)]


def _claims(clean: Mapping[tuple[str, str], Curve], noisy: Mapping[tuple[str, str], Curve]) -> ShownTable:
    tables = {MEMBER_RULES[0]: size_rows(clean), MEMBER_RULES[1]: noise_rows(noisy)}
    lines = [rule.line(rows) for rule, rows in tables.items() if rows]
    shuffled = (
        "domain by domain, with probability a half, 10 members stand for 50 or 40; for noise, bagging and boosting are "
        "exchanged."
    )
    caption = "Are 50, 50 and 40 members enough, and do more overcome noise"
    return ShownTable("members_claims", caption, CLAIM_COLUMNS, lines, [POWER_NOTE + shuffled])


def size_rows(curves: Mapping[tuple[str, str], Curve]) -> list[dict[str, Any]]:
    """Return the errors with 10, with the usual and with all members, and the rows tested."""
    return [
        {
            "domain": domain,
            "method": method,
            "ten": curve.errors[0],
            "usual": curve.error_with(USUAL[method]),
            "all": curve.errors[-1],
            "rows": int(curve.n_test.sum()),
        }
        for (domain, method), curve in curves.items()
        if curve.stages[-1] > USUAL[method]
    ]


def noise_rows(curves: Mapping[tuple[str, str], Curve]) -> list[dict[str, Any]]:
    """Return the errors of bagging with the usual and of boosting with all members, by domain."""
    domains = dict.fromkeys(domain for domain, _ in curves)
    return [
        {
            "domain": domain,
            "bagged": curves[domain, BAGGED].error_with(USUAL[BAGGED]),
            "boosted": curves[domain, BOOSTED].errors[-1],
        }
        for domain in domains
        if {(domain, BAGGED), (domain, BOOSTED)} <= set(curves)
    ]


def _as_good_as_all(rows: Rows) -> Finding:
    """Judge whether the usual number errs no more than all members do, by one standard error of the error."""
    good = [row for row in rows if row["usual"] - row["all"] <= np.sqrt(row["all"] * (1 - row["all"]) / row["rows"])]
    return Finding(f"on {len(good)} of {len(rows)} domains and methods", bool(2 * len(good) > len(rows)))


def _boosting_reaches_bagging(rows: Rows) -> Finding:
    n_reached = sum(row["boosted"] <= row["bagged"] for row in rows)
    ours = f"boosting with all members errs no more than bagging with {USUAL[BAGGED]} on {n_reached} of {len(rows)}"
    return Finding(ours, 2 * n_reached > len(rows))


MEMBER_RULES = (
    Rule(
        "50, 50 and 40 members are as good as 200, 200 and 100",
        "on most domains",
        "on half of the domains and methods they erred more than all members by over a standard error",
        _as_good_as_all,
        exchanged(lambda row: {**row, "usual": row["ten"]}),
    ),
    Rule(
        "larger ensembles overcome class noise",
        OPEN,
        f"with {NOISE} % noise boosting with all members erred more than bagging with 50 on half of the domains",
        _boosting_reaches_bagging,
        exchanged(lambda row: {**row, "bagged": row["boosted"], "boosted": row["bagged"]}),
    ),
)


def _verdict(pair: tuple[str, str], curve: Curve, error: float) -> str:
    return judge_published(error, int(curve.n_test.sum()), PUBLISHED[pair]).verdict


def _stage_columns() -> list[str]:
    return [f"{few}" if few == other else f"{few} / {other}" for few, other in zip(STAGES[BAGGED], STAGES[BOOSTED])]


def _published_table(curves: Mapping[tuple[str, str], Curve], failures: Sequence[str]) -> ShownTable:
    rows: list[list[Any]] = []
    for (domain, method), curve in curves.items():
        errors = [f"{100 * error:.2f}" for error in curve.errors]
        errors += [""] * (len(STAGES[method]) - len(errors))
        usual, most = curve.error_with(USUAL[method]), curve.errors[-1]
        published = f"{100 * float(PUBLISHED[domain, method]['error']):.2f}"
        words = [_verdict((domain, method), curve, error) for error in (usual, most)]
        rows.append([domain, method, len(curve.n_test), *errors, published, *words])
    changed = [f"{row[0]}, {row[1]}" for row in rows if row[-1] != row[-2]]
    counts = [sum(row[place] == "within" for row in rows) for place in (-2, -1)]
    notes = [
        f"{counts[0]} of {len(rows)} are within with 50, 50 and 40 members, {counts[1]} with all. The verdict changes "
        f"on: {'; '.join(changed) or 'none'}.",
        "Members of randomized and bagged C4.5 / of AdaBoost, which may end before. Pruned or unpruned is chosen on "
        "the test rows for each number of members, as in the paper.",
        *failures,
    ]
    columns = ["domain", "method", "folds", *_stage_columns(), "published", "verdict, 50 or 40", "verdict, all"]
    return ShownTable("members", "Error in percent by number of members", columns, rows, notes)


def _noise_table(curves: Mapping[tuple[str, str], Curve], failures: Sequence[str]) -> ShownTable:
    rows: list[list[Any]] = []
    for (domain, method), curve in curves.items():
        errors = [f"{100 * error:.2f}" for error in curve.errors]
        errors += [""] * (len(STAGES[method]) - len(errors))
        rows.append([NOISY_NAMES[domain][0], method, len(curve.n_test), *errors, _gain(curve, USUAL[method])])
    columns = ["domain", "method", "folds", *_stage_columns(), "last less 50 or 40"]
    caption = f"The same with {NOISE} % of the labels wrong, in training and in testing"
    return ShownTable("members_noise", caption, columns, rows, [*_noise_notes(curves), *failures])


def _gain(curve: Curve, usual: int) -> str:
    """Return the change of the error from the usual number of members to all, in points."""
    return f"{100 * (curve.errors[-1] - curve.error_with(usual)):+.2f}"


def _noise_notes(curves: Mapping[tuple[str, str], Curve]) -> list[str]:
    """Say whether more members overcome the noise: whether boosting with all of them is as good as bagging with few."""
    pairs = [
        (domain, curves[domain, BOOSTED].errors[-1], curves[domain, BAGGED].error_with(USUAL[BAGGED]))
        for domain in dict.fromkeys(domain for domain, _ in curves)
        if {(domain, BOOSTED), (domain, BAGGED)} <= set(curves)
    ]
    if not pairs:
        return []
    behind = [NOISY_NAMES[domain][0] for domain, boosted, bagged in pairs if boosted > bagged]
    changes = {
        method: [c.errors[-1] - c.error_with(USUAL[method]) for (_, name), c in curves.items() if name == method]
        for method in ENSEMBLES
    }
    means = ", ".join(f"{method} {100 * float(np.mean(change)):+.2f}" for method, change in changes.items() if change)
    return [
        f"Boosting with all its members errs more than bagging with {USUAL[BAGGED]} on {len(behind)} of {len(pairs)} "
        f"domains ({', '.join(behind) or 'none'}). Mean change from 50 or 40 members to all, in points: {means}.",
        f"At most {NOISE_FOLDS} of ten folds. Table 3 has {len(NOISE_DOMAINS)} domains.",
    ]
