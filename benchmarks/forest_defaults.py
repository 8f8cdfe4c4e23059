"""Which defaults random forests and extra trees for numbers should have: settings are chosen on the deciding half.

TREMULA_DATA=<folder of the parquet files> python benchmarks/forest_defaults.py --run [--seconds 500]
python benchmarks/forest_defaults.py --store

Cells are kept in `forest_defaults.parquet`; a run that was stopped goes on where it was. `--half judged` measures the
candidate beside the base on the other half, once it is chosen.
"""

from __future__ import annotations

import argparse
import os
import time
import warnings
from collections.abc import Callable, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import pandas as pd
from measure import environment, store, table
from scipy.stats import wilcoxon

import tremula as tm
from tremula.lab.comparison.peers import choose_peers
from tremula.lab.datasets import known_datasets, load_dataset
from tremula.lab.studies.default.halves import DECIDING, JUDGED, half
from tremula.lab.studies.default.protocol import divide, draw_rows
from tremula.losses import squared_errors

CELLS = {
    DECIDING: Path(__file__).with_suffix(".parquet"),
    JUDGED: Path(__file__).with_name("forest_defaults_judged.parquet"),
}
MOST_ROWS, N_SPLITS = 2000, {DECIDING: 4, JUDGED: 3}
CLEAR = 0.01  # a relative difference of the RMSE that counts
SHARES = {"√d": "sqrt", "1/3": 1 / 3, "1/2": 0.5, "2/3": 2 / 3, "all": 1.0}
LEAST_ROWS = (1, 2, 5)
KINDS = {"random forest": tm.RandomForestRegressor, "extra trees": tm.ExtraTreesRegressor}
BASE = "all, 1"  # the setting that others are compared with
CANDIDATE = "2/3, 1"  # of the lowest mean RMSE on the deciding half, for both ensembles
OTHERS: dict[str, dict[str, Any]] = {
    "all, 1, 300 trees": {"n_estimators": 300},
    "all, 1, subsets": {"nominal": "subsets"},
    "all, 1, one level against the rest": {"nominal": "one_vs_rest"},
    "all, 1, codes": {"nominal": "codes"},
}
PEERS = ("sklearn random forest", "YDF random forest", "sklearn extra trees")
PEERS_OF = {"random forest": list(PEERS[:2]), "extra trees": list(PEERS[2:])}
PAGE = "docs/results/aspen_peers.md"
Build = Callable[[Sequence[int], int], Any]


def settings() -> dict[str, dict[str, Any]]:
    """Parameters by the name of the setting: attributes drawn at a node, least rows of a leaf, then what else."""
    grid = {
        f"{share}, {least}": {"max_features": value, "min_samples_leaf": least}
        for share, value in SHARES.items()
        for least in LEAST_ROWS
    }
    return {**grid, **{name: {"max_features": 1.0, "min_samples_leaf": 1, **each} for name, each in OTHERS.items()}}


def builders() -> dict[tuple[str, str], Build]:
    """How each method with each setting is built, given nominal columns and a seed; peers have no setting."""
    own = {(method, name): _own(kind, given) for method, kind in KINDS.items() for name, given in settings().items()}
    peers = {peer.label: peer.build for peer in choose_peers(("sklearn", "ydf"), "regression")}
    return {**own, **{(name, ""): peers[name] for name in PEERS}}


def _own(kind: Any, given: dict[str, Any]) -> Build:
    return lambda nominal, seed: kind(categorical_features=list(nominal) or None, random_state=seed, **given)


def datasets(which: str) -> list[str]:
    """Names of the regression problems of a half, small ones first."""
    known = [each for each in known_datasets().values() if each.task == "regression" and half(each.name) == which]
    return [each.name for each in sorted(known, key=lambda each: each.rows * (each.numeric + each.nominal))]


def applies(data: Any, setting: str, which: str) -> bool:
    """Return whether a setting is measured on a dataset: on the judged half only the candidate, the base and peers."""
    if which == JUDGED:
        return setting in ("", BASE, CANDIDATE)
    return bool(len(data.nominal)) or "nominal" not in OTHERS.get(setting, {})


def measure(data: Any, split: int, build: Build) -> dict[str, float]:
    """Train and test on one split."""
    train, test = divide(data, split)
    model = build(tuple(data.nominal), split)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        start = time.process_time()
        model.fit(data.X[train], data.y[train])
        seconds = time.process_time() - start
        answers = model.predict(data.X[test])
    return {"rmse": float(np.sqrt(squared_errors(data.y[test], answers).mean())), "seconds": seconds}


def run(which: str, seconds: float) -> None:
    """Measure the cells that are missing, as long as there is time."""
    begin = time.monotonic()
    cells = pd.read_parquet(CELLS[which]).to_dict("records") if CELLS[which].exists() else []
    seen = {(cell["dataset"], cell["split"], cell["method"], cell["setting"]) for cell in cells}
    for split in range(N_SPLITS[which]):
        for name in datasets(which):
            data = draw_rows(load_dataset(name, task="regression"), MOST_ROWS)
            for (method, setting), build in builders().items():
                key = (name, split, method, setting)
                if key in seen or not applies(data, setting, which):
                    continue
                of_cell = dict(zip(("dataset", "split", "method", "setting"), key))
                cells.append({**of_cell, **measure(data, split, build), "version": version("tremula")})
            fresh = CELLS[which].with_suffix(".new")
            pd.DataFrame(cells).to_parquet(fresh)
            fresh.replace(CELLS[which])
            print(name, split, flush=True)
            if time.monotonic() - begin > seconds:
                return


def rows_of(cells: pd.DataFrame, method: str) -> list[list[Any]]:
    """A row for each setting and peer: RMSE against the base, where it is clearly lower or higher, rank, and time."""
    peers = cells[cells["setting"] == ""].assign(setting=cells["method"])
    there = pd.concat([cells[(cells["method"] == method) & (cells["setting"] != "")], peers])
    wide = {name: there.pivot_table(index="dataset", columns="setting", values=name) for name in ("rmse", "seconds")}
    grid = [name for name in settings() if name not in OTHERS]
    ranks = wide["rmse"][grid].rank(axis=1).mean()
    rows = []
    for name in [*settings(), *PEERS]:
        if name not in wide["rmse"]:
            continue
        ratios = (wide["rmse"][name] / wide["rmse"][BASE]).dropna()
        times = (wide["seconds"][name] / wide["seconds"][BASE]).dropna()
        rows.append(
            [
                name,
                len(ratios),
                f"{100 * (np.exp(np.log(ratios).mean()) - 1):+.2f} %",
                _named(ratios[ratios < 1 - CLEAR].sort_values()),
                _named(ratios[ratios > 1 + CLEAR].sort_values(ascending=False)),
                f"{ranks[name]:.1f}" if name in ranks else "",
                f"{times.median():.2f}",
            ]
        )
    return rows


def _named(ratios: pd.Series) -> str:
    named = [f"{name} {100 * (ratio - 1):+.0f} %" for name, ratio in ratios.items()]
    return f"{len(named)}: {', '.join(named[:4])}{', …' if len(named) > 4 else ''}" if named else "none"


def summary_rows() -> list[list[Any]]:
    """A row for each ensemble and half: mean ranks among the peers, then the candidate against the base."""
    halves = {which: pd.read_parquet(path) for which, path in CELLS.items()}
    halves["both"] = pd.concat(halves.values())
    return [
        [method, which, *_summary(cells, method, peers)]
        for method, peers in PEERS_OF.items()
        for which, cells in halves.items()
    ]


def _summary(cells: pd.DataFrame, method: str, peers: list[str]) -> list[Any]:
    own = cells[cells["method"] == method].pivot_table(index="dataset", columns="setting", values="rmse")
    others = cells[cells["setting"] == ""].pivot_table(index="dataset", columns="method", values="rmse")[peers]
    ranks = [others.assign(own=own[setting])[["own", *peers]].rank(axis=1).mean() for setting in (BASE, CANDIDATE)]
    ratios = own[CANDIDATE] / own[BASE]
    return [
        len(ratios),
        *(" / ".join(f"{rank:.2f}" for rank in of_setting) for of_setting in ranks),
        f"{100 * (np.exp(np.log(ratios).mean()) - 1):+.2f} %",
        _named(ratios[ratios < 1 - CLEAR].sort_values()),
        _named(ratios[ratios > 1 + CLEAR].sort_values(ascending=False)),
        f"{wilcoxon(np.log(ratios)).pvalue:.3f}",
    ]


def summary_text() -> str:
    """What the page says of the attributes that a node draws."""
    head = [
        "ensemble",
        "half",
        "tables",
        "ranks: tremula / peers, all attributes",
        "the same, two thirds",
        "RMSE of two thirds against all",
        "lower on",
        "higher on",
        "p",
    ]
    return "\n\n".join(
        [
            "For numbers, tremula's random forest and scikit-learn's choose among all attributes at each node, YDF's "
            "among a third with at least 5 rows in a leaf and 300 trees. `benchmarks/forest_defaults.py` compares five "
            "numbers of attributes and three sizes of leaves on the half that may decide (tables in "
            "`benchmarks/RESULTS.md`). Two thirds of the attributes have the lowest mean RMSE there. Then the judged "
            f"half was read once: at most {MOST_ROWS:,} rows, {N_SPLITS[JUDGED]} splits. The peers are, in this order, "
            f"{' and '.join(PEERS_OF['random forest'])} for forests, {PEERS_OF['extra trees'][0]} for extra trees; p "
            "is that of Wilcoxon's test, not corrected for the number of settings tried.",
            table(head, summary_rows()),
            "The defaults stay as they are. Two thirds would have the better mean rank on either half, but the judged "
            "half does not confirm the lower RMSE: on mv and puma32H both ensembles would lose more than they gain "
            "elsewhere, and for forests the first half shows no clear difference. With all attributes, the order of "
            "the three forests on the judged half is the reverse of that on the first half, at the same settings; on "
            "both together they are nearly level.",
        ]
    )


def results_text(cells: pd.DataFrame) -> str:
    """The section of RESULTS.md."""
    head = ["attributes, least rows of a leaf", "tables", "RMSE", "lower on", "higher on", "rank in the grid", "time"]
    n_splits = cells.groupby("dataset")["split"].nunique()
    parts = [
        f"{len(n_splits)} regression problems of the deciding half, at most {MOST_ROWS:,} rows, "
        f"{n_splits.min()} splits of two-fold cross-validation. RMSE against all attributes and leaves of one row, "
        f"geometric mean over datasets; datasets where it is lower or higher by more than {100 * CLEAR:.0f} %; mean "
        "rank among the settings of the grid; processor time to fit, median. Cells are in "
        f"`{CELLS[DECIDING].name}`."
    ]
    for method in KINDS:
        parts += [f"{method.capitalize()}:", table(head, rows_of(cells, method))]
    parts.append(f"Ranks among the peers and what the judged half says are in `{PAGE}`.")
    parts.append(
        "`python benchmarks/forest_defaults.py --run --store`; "
        + environment("tremula", "scikit-learn", "ydf", "numpy")
    )
    return "\n\n".join(parts)


def main() -> None:
    """Measure if asked, print the tables, and store them."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--run", action="store_true", help="measure missing cells")
    parser.add_argument("--seconds", type=float, default=np.inf, help="stop after so many seconds")
    parser.add_argument("--half", choices=[DECIDING, JUDGED], default=DECIDING)
    parser.add_argument("--store", action="store_true", help="write RESULTS.md")
    arguments = parser.parse_args()
    if arguments.run:
        run(arguments.half, arguments.seconds)
    text = results_text(pd.read_parquet(CELLS[DECIDING]))
    print(text)
    if arguments.store:
        store("Defaults of forests for numbers", text)


if __name__ == "__main__":
    main()
