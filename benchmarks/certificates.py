"""Certificates against attacks, and against another verifier of tree ensembles.

    TREMULA_DATA=<folder of the parquet files> python benchmarks/certificates.py [--store] [--rows 24]

Smoothed models: radii from the range of the margins and from the boxes of the trees are compared with the shortest move
found by an attack along exact gradients, and attacked themselves. Models without noise: distances and processor time
of `tremula.certify` and of Veritas (`pip install dtai-veritas`), on the same models and rows.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from measure import environment, store, table
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier
from xgboost import XGBClassifier

import tremula as tm
from data import load
from tremula.combine import largest
from tremula.smoothing.exact import gradient, soften
from tremula.smoothing.models import read_model

NOISE = 0.3
FURTHEST = 12.0
N_REGIONS = 8
NOTE = f"""Noise of {NOISE} training standard deviations. Half of the rows trained the model; radii are of rows of
the other half, in standard deviations of the noise. Range: `n_regions=0`, the certificate of randomized smoothing;
boxes: the default; {N_REGIONS} regions: `n_regions={N_REGIONS}`. Attack: bisection of the length of a move, up to
{FURTHEST:.0f}; at each length steps up the exact gradient from two starts. Ratios are medians over rows where the
attack succeeded; above half: within a factor of 2 of the attack. Moves: those of at most 0.9999 of the radius by
{N_REGIONS} regions (random directions, corners, single attributes, gradient steps); broken: those that changed the
class."""
HARD_NOTE = """Columns are divided by their standard deviation; distance: the largest of all attributes; medians
over rows, processor seconds per row. Lower: no shorter move changes the class. Exact: rows whose two bounds differ
by less than 1 %. Veritas: its robustness search with 15 steps of bisection from twice our upper bound and at most
10 seconds a row. Lower / lower is the median ratio of our certificate and that of Veritas. Contradictions: rows
where the lower bound of one is above the upper bound of the other by more than 0.1 %. Wrong examples: rows that are
given as the nearest of another class, but have the same class by the model's own `predict`."""


@dataclass(frozen=True)
class Case:
    """A trained model and rows that it was not trained on."""

    name: str
    model: Any
    rows: np.ndarray
    scale: np.ndarray


def make_cases(n_rows: int, standardized: bool) -> Iterator[Case]:
    """Train the models: smoothed ones, or those of two classes that both verifiers read."""
    cancer = load_breast_cancer(return_X_y=True)
    diabetes, waveform = load("diabetes"), load("waveform-5000")
    tree = DecisionTreeClassifier(random_state=0, min_samples_leaf=5)
    forest = RandomForestClassifier(50, random_state=0)
    boosted = GradientBoostingClassifier(n_estimators=50, random_state=0)
    xgboost = XGBClassifier(n_estimators=50, max_depth=4, n_jobs=1, random_state=0)
    small = RandomForestClassifier(25, max_depth=6, random_state=0)
    if standardized:
        pairs = [
            ("cancer", cancer, small),
            ("cancer", cancer, xgboost),
            ("diabetes", diabetes, small),
            ("diabetes", diabetes, xgboost),
        ]
    else:
        pairs = [
            (name, data, model)
            for name, data in (("cancer", cancer), ("diabetes", diabetes))
            for model in (tree, forest, boosted)
        ]
        pairs.append(("waveform", waveform, tree))
    for name, (X, y), model in pairs:
        X, y = X[:1000], y[:1000]
        if standardized:
            X = (X / X.std(axis=0)).astype(np.float32).astype(np.float64)
        fitted = type(model)(**model.get_params()).fit(X[::2], y[::2])
        yield Case(f"{name}, {type(model).__name__}", fitted, X[1::2][:n_rows], X[::2].std(axis=0))


# --- smoothed models ---


class Attacker:
    """Moves rows of a smoothed model, in standard deviations of the noise, and counts the moves."""

    def __init__(self, case: Case) -> None:
        self.model, self.rows, self.sd = read_model(case.model).sum, case.rows, NOISE * case.scale
        margins = soften(self.model, self.rows, self.sd).margins
        self.labels = largest(self.model.link.answers(margins))
        order = np.argsort(-margins, axis=1)
        eye = np.eye(margins.shape[1])
        self.directions = -np.sign(margins) if margins.shape[1] == 1 else eye[order[:, 1]] - eye[order[:, 0]]
        self.random = np.random.default_rng(0)
        self.n_moves = 0

    def changed(self, moves: np.ndarray) -> np.ndarray:
        """Whether each move changes the class."""
        self.n_moves += len(moves)
        margins = soften(self.model, self.rows + moves * self.sd, self.sd, tol=0.0).margins
        return np.asarray(largest(self.model.link.answers(margins)) != self.labels)

    def climbed(self, radii: np.ndarray, n_steps: int) -> np.ndarray:
        """Whether steps up the gradient, of at most the radii, change the class."""
        broken = np.zeros(len(radii), dtype=bool)
        for start in (np.zeros(self.rows.shape), self.random.standard_normal(self.rows.shape)):
            move = shortened(start, 0.3 * radii)
            for step in range(n_steps):
                slopes = gradient(self.model, self.rows + move * self.sd, self.sd)
                climb = np.einsum("rm,rma->ra", self.directions, slopes) * self.sd
                move = shortened(move + shortened(1e9 * climb, radii * 0.7 / (1 + 0.3 * step)), radii)
                broken |= self.changed(move)
        return broken

    def attacked_radii(self, certified: np.ndarray) -> np.ndarray:
        """Return the shortest length at which a move changes the class; infinite where none does."""
        low, high = certified.copy(), np.full(len(certified), FURTHEST)
        is_broken = self.climbed(high, 12)
        for _ in range(7):
            middle = (low + high) / 2
            broken = self.climbed(middle, 12)
            is_broken |= broken
            high, low = np.where(broken, middle, high), np.where(broken, low, middle)
        return np.where(is_broken, high, np.inf)

    def broken_moves(self, radii: np.ndarray, n_random: int) -> int:
        """Count the moves of at most the radii that change the class."""
        self.n_moves, n_broken = 0, int(self.climbed(radii, 20).sum())
        for _ in range(n_random):
            for moves in (
                self.random.standard_normal(self.rows.shape),
                self.random.choice([-1.0, 1.0], self.rows.shape),
            ):
                n_broken += int(self.changed(shortened(1e9 * moves, radii)).sum())
        for attribute in range(self.rows.shape[1]):
            for sign in (-1.0, 1.0):
                moves = np.zeros(self.rows.shape)
                moves[:, attribute] = sign * radii
                n_broken += int(self.changed(moves).sum())
        return n_broken


def shortened(moves: np.ndarray, radii: np.ndarray) -> np.ndarray:
    lengths = np.linalg.norm(moves, axis=1)
    return moves * np.minimum(1.0, radii / np.maximum(lengths, 1e-300))[:, None]


def measure_smoothed(case: Case) -> list[object]:
    """One line of the table of smoothed models."""
    soft = tm.DualPerturbClassifier(case.model, noise=NOISE, scale=case.scale).fit()
    by_range = soft.certified_radius(case.rows, n_regions=0)
    begin = time.process_time()
    radii = soft.certified_radius(case.rows)
    milliseconds = 1e3 * (time.process_time() - begin) / len(case.rows)
    finer = soft.certified_radius(case.rows, n_regions=N_REGIONS)
    longer = 1e3 * (time.process_time() - begin) / len(case.rows) - milliseconds
    attacker = Attacker(case)
    attacked = attacker.attacked_radii(np.minimum(by_range, FURTHEST))
    n_broken = attacker.broken_moves(0.9999 * np.minimum(finer, 30.0), 300)
    met = np.isfinite(attacked)
    before, after, finest = (each[met] / attacked[met] for each in (by_range, radii, finer))
    return [
        case.name, f"{sum(tree.n_leaves for tree in attacker.model.trees):,}", f"{np.median(attacked[met]):.2f}",
        f"{np.median(before):.2f}", f"**{np.median(after):.2f}**", f"**{np.median(finest):.2f}**",
        f"{np.quantile(finest, 0.1):.2f}", f"{np.mean(finest >= 0.5):.0%}", f"{milliseconds:.0f}", f"{longer:.0f}",
        f"{attacker.n_moves:,}", n_broken,
    ]  # fmt: skip


# --- models without noise ---


def veritas_bounds(case: Case, furthest: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
    """Lower and upper bounds of Veritas, whether its nearest example has another class, and seconds per row."""
    import veritas

    labels = case.model.predict(case.rows)
    trees = veritas.get_addtree(case.model, silent=True)
    bounds, examples = [], case.rows.copy()
    begin = time.process_time()
    for example, row, label, start in zip(examples, case.rows, labels, furthest):
        sides = (trees, None) if label == 1 else (None, trees)
        search = veritas.VeritasRobustnessSearch(row, 2.0 * start, *sides, num_steps=15, max_time=10, silent=True)
        _, lower, upper = search.search()
        bounds.append((lower, upper))
        if search.generated_examples:
            nearest = search.generated_examples[-1][: len(row)]
            example[: len(nearest)] = nearest
    seconds = (time.process_time() - begin) / len(case.rows)
    return *np.array(bounds).T, case.model.predict(examples) != labels, seconds


def measure_hard(case: Case) -> list[object]:
    """One line of the table of models without noise."""
    begin = time.process_time()
    ours = tm.certify(case.model, case.rows)
    seconds = (time.process_time() - begin) / len(case.rows)
    met = np.isfinite(ours.upper)
    part = Case(case.name, case.model, case.rows[met], case.scale)
    lower, upper, is_other, theirs = veritas_bounds(part, ours.upper[met])
    own_lower, own_upper = ours.lower[met], ours.upper[met]
    wrong = (own_lower > 1.001 * upper + 2e-4) | (lower > 1.001 * own_upper + 2e-4)
    return [
        case.name, f"{np.median(own_lower):.3f}", f"{np.median(own_upper):.3f}",
        f"{np.mean(own_upper - own_lower <= 0.01 * own_upper):.0%}", f"{seconds:.3f}",
        f"{np.median(lower):.3f}", f"{np.median(upper):.3f}", f"{np.mean(upper - lower <= 0.01 * upper):.0%}",
        f"{theirs:.3f}", f"{np.median(own_lower / np.maximum(lower, 1e-12)):.2f}", int(wrong.sum()),
        int(np.sum(case.model.predict(ours.nearest[met]) == case.model.predict(part.rows))), int(np.sum(~is_other)),
    ]  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description="Attack certificates, and compare them with Veritas.")
    parser.add_argument("--store", action="store_true", help="write the tables into RESULTS.md")
    parser.add_argument("--rows", type=int, default=24, help="rows per model")
    arguments = parser.parse_args()
    header = [
        "smoothed model", "leaves", "attacked radius", "range / attacked", "boxes / attacked",
        f"{N_REGIONS} regions / attacked", "its tenth percentile", "its rows above half", "boxes, ms a row",
        f"{N_REGIONS} regions, ms a row", "moves", "broken",
    ]  # fmt: skip
    smoothed = [measure_smoothed(case) for case in make_cases(arguments.rows, standardized=False)]
    text = table(header, smoothed) + f"\n\n{NOTE}\n\n"
    header = [
        "model without noise", "lower", "upper", "exact", "s a row", "Veritas lower", "Veritas upper", "Veritas exact",
        "Veritas s a row", "lower / lower", "contradictions", "wrong examples", "Veritas wrong examples",
    ]  # fmt: skip
    text += table(header, [measure_hard(case) for case in make_cases(arguments.rows, standardized=True)])
    text += f"\n\n{HARD_NOTE}\n\n{environment('tremula', 'dtai-veritas', 'scikit-learn', 'xgboost-cpu', 'numpy')}"
    text += "\n\nCommand: `python benchmarks/certificates.py --store`"
    print(text)
    if arguments.store:
        store("Certificates", text)


if __name__ == "__main__":
    main()
