"""The first ten rows of Table 1 of Dietterich (2000), run again: C4.5 alone, randomized, bagged and boosted.

    TREMULA_DATA=<folder of the parquet files> python benchmarks/published.py [--cells FILE] [--store]

Members are C4.5 Release 1, pruned at confidence 0.10 and unpruned; as in the paper, the better of the two on the test
data counts, for each method and domain.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import pandas as pd
from cells import Cells
from data import as_numbers, load, stratified_folds
from measure import environment, store, table

import tremula as tm

FOLDS = 10
TREES = {"pruned": 0.10, "unpruned": None}


@dataclass(frozen=True)
class Domain:
    """A row of the published table: the file, how many of its rows, how often folds are drawn, and the errors."""

    file: str
    n_rows: int
    n_splits: int
    published: tuple[float, float, float, float]
    n_train: int | None = None  # the first so many rows train; None is cross-validation
    as_numbers: bool = False  # levels are taken as numbers


# T. G. Dietterich, An experimental comparison of three methods for constructing ensembles of decision trees: bagging,
# boosting, and randomization. Machine Learning 40 (2000), 139-157, Table 1: C4.5, randomized, bagged, boosted.
DOMAINS = {
    "sonar": Domain("sonar", 208, 3, (0.3257, 0.2018, 0.2752, 0.1651)),
    "letter": Domain("letter", 20000, 1, (0.1225, 0.0285, 0.0552, 0.0271)),
    "splice": Domain("splice", 3190, 1, (0.0575, 0.0397, 0.0506, 0.0503)),
    "segment": Domain("segment", 2310, 1, (0.0328, 0.0203, 0.0263, 0.0151)),
    "glass": Domain("glass", 214, 3, (0.3437, 0.2277, 0.2723, 0.2277)),
    "soybean": Domain("soybean", 307, 3, (0.1262, 0.0852, 0.1009, 0.0757)),
    "autos": Domain("autos", 205, 3, (0.2326, 0.1581, 0.1814, 0.1814)),
    "satimage": Domain("satimage", 6435, 1, (0.1515, 0.0890, 0.1020, 0.0850), n_train=4435),
    "annealing": Domain("anneal", 898, 3, (0.0132, 0.0088, 0.0099, 0.0055)),
    "krk": Domain("krk", 28056, 1, (0.1887, 0.1309, 0.1463, 0.1026), as_numbers=True),
}
METHODS: dict[str, Callable[[Any, int, int], Any]] = {
    "C4.5": lambda tree, members, seed: tree,
    "randomized": lambda tree, members, seed: tm.RandomizedC45Classifier(tree, members, random_state=seed),
    "bagged": lambda tree, members, seed: tm.BaggingClassifier(tree, members, combine="vote", random_state=seed),
    "boosted": lambda tree, members, seed: tm.AdaBoostM1Classifier(tree, members, random_state=seed),
}
MEMBERS = {"C4.5": 1, "randomized": 200, "bagged": 200, "boosted": 100}
# Pruning takes five times as long as growing there, and unpruned trees are better by far, in the paper too.
FEWER_MEMBERS = {("letter", "randomized", "pruned"): 30}


NOTE = """Error in percent. A published cross-validated error is a count over n + 10 and stands for any in the band
(e(n + 10) - 5) / n to e(n + 10) / n; ours comes of other folds and other draws, so 1.96 sqrt(e(1 - e) / n) on either
side is within sampling error. Ours is the better of pruned and unpruned on the test data, as in the paper, with mean
and standard deviation over three divisions into folds for the small domains, one for the others; satimage has its
official test set. 200 randomized, 200 bagged, at most 100 boosted trees; pruned randomized trees on letter only 30.
Soybean is the first 307 rows. Files of the chess board in krk are taken as numbers, like its ranks: as levels C4.5
errs on 31 %."""

EXPLANATION = """The paper does not say whether C4.5's rule, that a split has at least the average gain of the
attributes' best, goes before the choice of the 20 best by gain ratio. tremula applies it. That
reading was chosen after seeing both: without the rule, which is what the words of the paper alone
say, randomized trees erred on 3.8 (letter), 4.8 (splice) and 21.4 (krk), far above the paper; the
average of all cuts came about as near as that of the attributes' best, the average of an
attribute's own cuts, the 20 best by gain, and a minimum of one row in a branch did not.

Outside: randomized trees on krk are higher by 1.1, bagged and boosted trees on letter by 0.6 and 0.5, which is not
explained (votes or averages make no difference; 200 bagged trees of Release 8 err on 6.6 where those of Release 1
err on 7.0, on two folds; the rule by which Release 1 chooses thresholds could not be checked against a program).
C4.5 on krk is below the margin by 0.04.

The margin is that of another sample. The spread over divisions into folds is narrower, and by it C4.5 and bagging
on glass, C4.5, randomized and bagged trees on sonar, and boosting on autos are lower than the paper's, C4.5 on
soybean higher."""


def tests_of(domain: Domain, codes: np.ndarray, seed: int) -> list[np.ndarray]:
    """Rows to test on, one array for each training."""
    if domain.n_train is not None:
        return [np.arange(domain.n_train, len(codes))]
    return stratified_folds(codes, seed, FOLDS)


def count_errors(name: str, method: str, pruning: str, seed: int, fold: int) -> int:
    """Wrong answers on one fold."""
    domain = DOMAINS[name]
    attributes, codes = load(domain.file)
    attributes, codes = attributes[: domain.n_rows], codes[: domain.n_rows]
    attributes = as_numbers(attributes) if domain.as_numbers else attributes
    take = attributes.iloc.__getitem__ if isinstance(attributes, pd.DataFrame) else attributes.__getitem__
    test = tests_of(domain, codes, seed)[fold]
    train = np.setdiff1d(np.arange(len(codes)), test)
    tree = tm.C45Classifier(release=1, confidence=TREES[pruning])
    members = FEWER_MEMBERS.get((name, method, pruning), MEMBERS[method])
    model = METHODS[method](tree, members, fold).fit(take(train), codes[train])
    return int(np.sum(model.predict(take(test)) != codes[test]))


def error_of(name: str, method: str, pruning: str, seed: int, cells: Cells) -> float:
    """Share of wrong answers over all folds."""
    domain = DOMAINS[name]
    wrong = 0
    for fold in range(FOLDS if domain.n_train is None else 1):
        key = f"{name} {method} {pruning} {seed} {fold}"
        wrong += cells.get(key, lambda fold=fold: count_errors(name, method, pruning, seed, fold))
    return wrong / n_tested(domain)


def n_tested(domain: Domain) -> int:
    return domain.n_rows - (domain.n_train or 0)


def band_of(error: float, domain: Domain) -> tuple[float, float]:
    """Raw errors that a published one may stand for: cross-validated ones have ten cases too many below the line."""
    if domain.n_train is not None:
        return error, error
    n = domain.n_rows
    return max(0.0, (error * (n + FOLDS) - 5) / n), error * (n + FOLDS) / n


def verdict(ours: float, error: float, domain: Domain) -> str:
    """Inside the band, within the sampling error around it, or outside."""
    low, high = band_of(error, domain)
    margin = 1.96 * np.sqrt(error * (1 - error) / n_tested(domain))
    if low <= ours <= high:
        return "in the band"
    if low - margin <= ours <= high + margin:
        return "within sampling error"
    return "**lower**" if ours < low else "**higher**"


def line_of(name: str, method: str, cells: Cells) -> list[str]:
    domain = DOMAINS[name]
    by_tree = {
        pruning: np.array([error_of(name, method, pruning, seed, cells) for seed in range(domain.n_splits)])
        for pruning in TREES
    }
    best = np.minimum(*by_tree.values())
    error = domain.published[list(METHODS).index(method)]
    low, high = band_of(error, domain)
    spread = f" ± {100 * best.std(ddof=1):.1f}" if domain.n_splits > 1 else ""
    both = " / ".join(f"{100 * errors.mean():.2f}" for errors in by_tree.values())
    band = f"{100 * low:.2f} to {100 * high:.2f}"
    return [name, method, both, f"{100 * best.mean():.2f}{spread}", f"{100 * error:.2f}", band,
            verdict(float(best.mean()), error, domain)]  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description="Ten rows of a published table, run again.")
    parser.add_argument("--store", action="store_true", help="write the table into RESULTS.md")
    parser.add_argument("--cells", type=Path, help="a JSON file that keeps finished cells")
    parser.add_argument("--domains", nargs="*", default=list(DOMAINS))
    parser.add_argument("--methods", nargs="*", default=list(METHODS), choices=list(METHODS))
    arguments = parser.parse_args()
    cells = Cells(arguments.cells)
    lines = [line_of(n, method, cells) for n in arguments.domains for method in arguments.methods]
    header = ["domain", "method", "pruned / unpruned", "ours", "published", "band", ""]
    text = table(header, lines)
    text += f"\n\n{NOTE}\n\n{EXPLANATION}\n\n{environment('tremula', 'scikit-learn', 'numpy')}"
    text += "\n\nCommand: `python benchmarks/published.py --store`"
    print(text)
    if arguments.store:
        store("Published errors", text)


if __name__ == "__main__":
    main()
