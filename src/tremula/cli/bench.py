"""``tremula bench``: how fast tremula is beside its peers, on this machine and now."""

import json
import os
import platform
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from importlib.metadata import PackageNotFoundError, version
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table
from threadpoolctl import threadpool_limits

from tremula.cli.options import split_words
from tremula.lab.speed import OURS, RACES, Timing, choose_races, measure

PACKAGES = ("tremula", "scikit-learn", "numpy", "lightgbm", "xgboost", "xgboost-cpu")
BUSY = 1.0  # of what others may take of each processor before it is told


def bench(
    only: Annotated[
        str | None, typer.Option(help=f"Which, separated by commas: {', '.join(RACES)}.", show_default="all")
    ] = None,
    seconds: Annotated[
        float, typer.Option(min=0.0, help="About how long in all; each is run three times at least.")
    ] = 20,
    size: Annotated[float, typer.Option(min=0.02, max=100, help="How many rows, as a multiple of the usual.")] = 1.0,
    as_json: Annotated[bool, typer.Option("--json", help="Print the results as JSON instead of a table.")] = False,
) -> None:
    """Time tremula beside scikit-learn, and LightGBM and XGBoost where they are installed, on made-up rows.

    All take turns in one thread, and ratios are taken within a round: what else the machine does slows both. The
    spread over rounds is shown; a ratio whose quartiles are far apart says little. The numbers are those of this
    machine: benchmarks/RESULTS.md has measured ones on real data.
    """
    names = choose_races(split_words(only))
    timings = []
    with threadpool_limits(1):
        for name in names:
            timings += measure(RACES[name](size), seconds / len(names))
            _say(f"{name}: {timings[-1].rounds} rounds")
    told = _machine() | {"timings": [asdict(timing) for timing in timings]}
    if as_json:
        print(json.dumps(told, indent=2, ensure_ascii=False))
        return
    _print(told, timings)


def _say(words: str) -> None:
    console = Console(stderr=True)
    if console.is_terminal:
        console.print(words, markup=False, highlight=False)


def _machine() -> dict[str, Any]:
    versions = {}
    for package in PACKAGES:
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            continue
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else None
    return {
        "python": platform.python_version(),
        "machine": platform.machine(),
        "processors": os.cpu_count(),
        "load": load,
        "versions": versions,
    }


def _print(told: Mapping[str, Any], timings: Sequence[Timing]) -> None:
    console = Console(highlight=False)
    table = Table()
    table.add_column("work")
    table.add_column("who", no_wrap=True)
    for heading in ("ms", "ratio", "quartiles", "error %"):
        table.add_column(heading, justify="right", no_wrap=True)
    for timing in timings:
        is_ours = timing.who == OURS
        ratio, spread = ("", "") if is_ours else (f"{timing.ratio:.1f}", f"{timing.low:.1f} to {timing.high:.1f}")
        cells = (f"{1e3 * timing.seconds:.1f}", ratio, spread, f"{100 * timing.error:.1f}")
        table.add_row(timing.work if is_ours else "", timing.who, *cells, style="bold" if is_ours else None)
    console.print(table)
    console.print(
        "Times are processor time of the best round, one thread. A ratio is the peer's time divided by tremula's, the "
        "median over rounds: above 1, tremula is faster.",
        markup=False,
    )
    for note in dict.fromkeys(timing.note for timing in timings if timing.note):
        console.print(note, markup=False)
    versions = ", ".join(f"{name} {number}" for name, number in told["versions"].items())
    console.print(f"Python {told['python']} on {told['machine']}, {versions}.", markup=False)
    if told["load"] is not None and told["load"] > BUSY * (told["processors"] or 1):
        console.print(
            f"The machine is busy (load {told['load']:.1f} on {told['processors']} processors): trust the ratios a "
            "little, the times less.",
            markup=False,
        )
