"""The steps of ``tremula bench``: measures the speed of tremula and its peers on this machine."""

import json
import os
import platform
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from importlib.metadata import PackageNotFoundError, version
from types import SimpleNamespace
from typing import Any

from rich.console import Console
from rich.table import Table
from threadpoolctl import threadpool_limits

from tremula.cli.options import split_words
from tremula.lab.speed import OURS, RACES, Timing, choose_races, measure

PACKAGES = (
    "tremula", "scikit-learn", "numpy", "scikit-learn-intelex", "lightgbm", "xgboost", "xgboost-cpu", "ydf",
)  # fmt: skip
VERBS = {"forest": "Fitting a forest", "predict": "Predicting with a forest"}
BUSY = 1.0  # load per processor above which a warning is printed


def run_benchmark(options: Mapping[str, Any]) -> None:
    """Measure by the options; they have the names of the parameters of the command."""
    given = SimpleNamespace(**options)
    names = choose_races(split_words(given.only))
    timings: list[Timing] = []
    left_out: dict[str, str] = {}
    with threadpool_limits(1):
        for name in names:
            race = RACES[name](given.size)
            left_out |= race.left_out
            timings += measure(race, given.seconds / len(names))
            _print_status(f"{name}: {timings[-1].rounds} rounds")
    report = _machine() | {"timings": [asdict(timing) for timing in timings], "left_out": left_out}
    if given.as_json:
        print(json.dumps(report, indent=2, ensure_ascii=False))
        return
    _print(report, timings)


def _print_status(text: str) -> None:
    console = Console(stderr=True)
    if console.is_terminal:
        console.print(text, markup=False, highlight=False)


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


def _print(report: Mapping[str, Any], timings: Sequence[Timing]) -> None:
    console = Console(highlight=False)
    table = Table()
    table.add_column("task")
    table.add_column("library", no_wrap=True)
    for heading in ("ms", "ratio", "quartiles", "error %"):
        table.add_column(heading, justify="right", no_wrap=True)
    for timing in timings:
        is_ours = timing.who == OURS
        ratio, spread = ("", "") if is_ours else (f"{timing.ratio:.1f}", f"{timing.low:.1f} to {timing.high:.1f}")
        cells = (f"{1e3 * timing.seconds:.1f}", ratio, spread, f"{100 * timing.error:.1f}")
        table.add_row(timing.work if is_ours else "", timing.who, *cells, style="bold" if is_ours else None)
    console.print(table)
    console.print(
        "Times are processor times of the best round in one thread. A ratio is the time of the peer divided by that of "
        "tremula, the median over rounds: above 1, tremula is faster.",
        markup=False,
    )
    for name, verb in VERBS.items():
        sentence = _sentence(verb, [timing for timing in timings if timing.race == name])
        if sentence:
            console.print(sentence, markup=False)
    for note in dict.fromkeys(timing.note for timing in timings if timing.note):
        console.print(note, markup=False)
    if report["left_out"]:
        reasons = "; ".join(f"{name}: {reason}" for name, reason in report["left_out"].items())
        console.print(f"Not measured: {reasons}.", markup=False)
    versions = ", ".join(f"{name} {number}" for name, number in report["versions"].items())
    console.print(f"Python {report['python']} on {report['machine']}, {versions}.", markup=False)
    if report["load"] is not None and report["load"] > BUSY * (report["processors"] or 1):
        console.print(
            f"The machine is busy (load {report['load']:.1f} on {report['processors']} processors): the times are "
            "unreliable, the ratios less so.",
            markup=False,
        )


def _sentence(verb: str, timings: Sequence[Timing]) -> str:
    """Say how many times as fast tremula is as each library, in one sentence."""
    parts = [f"{timing.ratio:.1f} times as fast as {timing.who}" for timing in timings if timing.who != OURS]
    if len(parts) > 1:
        parts[-2:] = [f"{parts[-2]} and {parts[-1]}"]
    return f"{verb}, tremula is {', '.join(parts)}." if parts else ""
