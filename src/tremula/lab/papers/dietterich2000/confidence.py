"""Does a weaker pruning confidence matter: C4.5 and its ensembles pruned at the paper's 0.10, weaker, and not at all.

All confidences of a fold share its rows and the seed of the ensemble. Weaker pruning is a larger confidence; C4.5's own
default is 0.25.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tremula.diagnostics import paired_t_test
from tremula.lab.experiments.cell import Cell, Experiment, Outcome
from tremula.lab.experiments.result import Result, first_failures, group_by_split, shared_splits
from tremula.lab.papers.dietterich2000.domains import FOLDS
from tremula.lab.papers.dietterich2000.protocol import C45, FEWER, METHODS, SEED, SIZES, count_errors
from tremula.lab.papers.dietterich2000.published_errors import PUBLISHED, judge_published
from tremula.lab.papers.paper import Budget, ShownTable
from tremula.lab.papers.rules import OPEN, Finding, Rows, Rule, claims_table
from tremula.lab.papers.shared_protocol import seed_of

CONFIDENCES: dict[str, float | None] = {"0.10": 0.10, "0.25": 0.25, "0.50": 0.50, "unpruned": None}
PAPERS = "0.10"
WEAKER = ("0.25", "0.50")
CELL_METHODS = {f"{method}; {name}": (method, name) for method in METHODS for name in CONFIDENCES}
# Published domains that are quick, and some that are not published.
DOMAINS = ("sonar", "glass", "soybean", "autos", "annealing", "vehicle", "hepatitis", "lymph")
SIGNIFICANCE = 0.05


@dataclass(frozen=True)
class MeasureConfidence:
    """Trains and tests one method with one confidence on one fold."""

    members: Mapping[str, int]

    def __call__(self, cell: Cell) -> Outcome:
        """Count errors."""
        method, name = CELL_METHODS[cell.method]
        seed = seed_of(SEED, cell.dataset, cell.split, "confidence")
        return count_errors(cell, (method, "pruned"), self.members, seed, {"confidence": CONFIDENCES[name]})


def confidence_experiment(budget: Budget) -> Experiment:
    """Return every confidence of every method on ten folds of eight domains."""
    members = dict(SIZES["quick"].members if budget == "quick" else FEWER)
    domains, n_folds = (("glass",), 2) if budget == "quick" else (DOMAINS, FOLDS)
    cells = [Cell(domain, method, fold) for domain in domains for fold in range(n_folds) for method in CELL_METHODS]
    settings = {"members": members, "seed": SEED}
    return Experiment("dietterich2000/confidence", settings, cells, MeasureConfidence(members))


@dataclass(frozen=True)
class Errors:
    """Wrong rows of one method on one domain, by confidence and fold."""

    n_wrong: Mapping[str, np.ndarray]
    n_test: np.ndarray
    sizes: Mapping[str, float]

    def rate(self, name: str) -> float:
        """Return the error with one confidence."""
        return float(self.n_wrong[name].sum() / self.n_test.sum())

    def outcome(self, name: str) -> int:
        """Return 1 if a confidence is better than the paper's by the paired t test of folds, -1 if worse, else 0."""
        pair = [self.n_wrong[each] / self.n_test for each in (name, PAPERS)]
        if len(self.n_test) < 2 or np.allclose(*pair):
            return 0
        low, high = paired_t_test(*pair).interval
        return 1 if high < 0 else -int(low > 0)


def gather_errors(results: Sequence[Result]) -> dict[tuple[str, str], Errors]:
    """Return the errors by domain and method, of the folds that all confidences share."""
    gathered = {}
    for domain, of_domain in group_by_split(results).items():
        for method in METHODS:
            by_name = {name: of_domain.get(f"{method}; {name}", {}) for name in CONFIDENCES}
            folds = shared_splits(by_name)
            if folds:
                chosen = {name: [by_fold[fold] for fold in folds] for name, by_fold in by_name.items()}
                gathered[domain, method] = Errors(
                    {name: np.array([r.values["n_wrong"] for r in of]) for name, of in chosen.items()},
                    np.array([r.n_test for r in chosen[PAPERS]], dtype=float),
                    {name: float(np.mean([r.size or 1 for r in of])) for name, of in chosen.items()},
                )
    return gathered


def _weaker_never_differs(rows: Rows) -> Finding:
    if not rows:
        return Finding("", None)
    differing = [row for row in rows if row["better"] or row["worse"]]
    chance = len(rows) * SIGNIFICANCE
    ours = f"{len(differing)} of {len(rows)} comparisons differ"
    return Finding(ours, bool(len(differing) <= chance + 2 * np.sqrt(chance * (1 - SIGNIFICANCE))))


def _mean_change_small(rows: Rows) -> Finding:
    """Judge whether the mean change of the ensembles of a domain is, over domains, within 1.96 standard errors of 0."""
    of_domains: dict[str, list[float]] = {}
    for row in rows:
        if row["method"] != C45:
            of_domains.setdefault(row["domain"], []).append(row["change"])
    changes = np.array([np.mean(of) for of in of_domains.values()])
    if len(changes) < 3:
        return Finding("", None)
    reach = 1.96 * changes.std(ddof=1) / np.sqrt(len(changes))
    ours = f"{100 * changes.mean():+.2f} ± {100 * reach:.2f} points"
    return Finding(ours, bool(abs(changes.mean()) <= reach))


def _shifted(rows: Rows, draw: Any) -> Rows:
    """Make weaker pruning cost a point, or gain one, on every domain, significantly on half of them."""
    sign = draw.choice((-1, 1))
    return [
        {**row, "change": row["change"] + 0.01 * sign, "better": sign < 0 and draw.random() < 0.5,
         "worse": sign > 0 and draw.random() < 0.5}
        for row in rows
    ]  # fmt: skip


CONFIDENCE_RULES = (
    Rule(
        "weaker pruning makes no difference on a domain",
        OPEN,
        "more comparisons of 0.25 or 0.50 with 0.10 differed at 5 % than chance makes likely (two standard errors)",
        _weaker_never_differs,
        _shifted,
    ),
    Rule(
        "weaker pruning makes no difference to ensembles in the mean",
        OPEN,
        "the mean change of the error of ensembles were further from 0 than 1.96 standard errors over domains",
        _mean_change_small,
        _shifted,
    ),
)


def claim_rows(gathered: Mapping[tuple[str, str], Errors]) -> list[dict[str, Any]]:
    """Return a row for each domain, method and weaker confidence."""
    return [
        {
            "domain": domain,
            "method": method,
            "confidence": name,
            "change": errors.rate(name) - errors.rate(PAPERS),
            "better": errors.outcome(name) > 0,
            "worse": errors.outcome(name) < 0,
        }
        for (domain, method), errors in gathered.items()
        for name in WEAKER
    ]


def show_confidence(results: Sequence[Result], budget: Budget) -> list[ShownTable]:
    """Show errors by confidence, the mean change of each method, and what follows."""
    gathered = gather_errors(results)
    rows = claim_rows(gathered)
    shuffled = "every domain gains, or loses, a point by weaker pruning, half of them significantly."
    claims = claims_table(
        "confidence_claims", "Does a weaker pruning confidence matter", CONFIDENCE_RULES, rows, shuffled
    )
    return [_means_table(rows, gathered), claims, _errors_table(gathered, first_failures(results))]


def _means_table(rows: Rows, gathered: Mapping[tuple[str, str], Errors]) -> ShownTable:
    lines: list[list[Any]] = []
    for method in METHODS:
        for name in WEAKER:
            of = [row for row in rows if row["method"] == method and row["confidence"] == name]
            if of:
                sizes = [errors.sizes for (_, each), errors in gathered.items() if each == method]
                ratio = np.exp(np.mean([np.log(size[name] / size[PAPERS]) for size in sizes]))
                change = f"{100 * float(np.mean([row['change'] for row in of])):+.2f}"
                counts = [sum(row[word] for row in of) for word in ("better", "worse")]
                lines.append([method, name, len(of), change, *counts, f"{ratio:.2f}"])
    columns = ["method", "confidence", "domains", "mean change", "better", "worse", "nodes compared"]
    caption = "Weaker confidences against the paper's 0.10: change of the error in points"
    notes = [
        "Better and worse: domains on which the weaker confidence differs by the paired t test of the folds at 5 %. "
        "Nodes compared: the geometric mean over domains of the nodes of all trees, relative to confidence 0.10.",
    ]
    return ShownTable("confidence", caption, columns, lines, notes)


def _errors_table(gathered: Mapping[tuple[str, str], Errors], failures: Sequence[str]) -> ShownTable:
    lines: list[list[Any]] = []
    for (domain, method), errors in gathered.items():
        rates = [f"{100 * errors.rate(name):.2f}" for name in CONFIDENCES]
        row = PUBLISHED.get((domain, method))
        n_test = int(errors.n_test.sum())
        words = [judge_published(errors.rate(name), n_test, row).verdict if row else None for name in WEAKER]
        published = f"{100 * float(row['error']):.2f}" if row else None
        lines.append([domain, method, len(errors.n_test), *rates, published, *words])
    columns = ["domain", "method", "folds", *CONFIDENCES, "published", *(f"verdict, {name}" for name in WEAKER)]
    return ShownTable("confidence_errors", "Error in percent by pruning confidence", columns, lines, list(failures))
