"""``tremula compare`` on several datasets: every method on each, ranks over all, one page."""

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table

from tremula.errors import InvalidInput, InvalidParameter
from tremula.lab.datasets.reader import Reading
from tremula.lab.datasets.tables import FORMATS
from tremula.report.datasets_page import render_datasets_page
from tremula.report.datasets_summary import summarize_datasets
from tremula.report.page import write_page
from tremula.report.summary import only_finite

IN_FOLDERS = [ending for ending in FORMATS if ending != ".txt"]  # which may be notes


def find_datasets(places: Sequence[str]) -> list[str]:
    """Return the places of the datasets, a folder being that of all its files that can be read.

    Examples
    --------
    >>> find_datasets(["iris", "wine"])
    ['iris', 'wine']
    """
    datasets: list[str] = []
    for place in places:
        if not Path(place).is_dir():
            datasets.append(place)
            continue
        inside = sorted(str(path) for path in Path(place).iterdir() if path.suffix.lower() in IN_FOLDERS)
        if not inside:
            raise InvalidInput(
                f"the folder {place!r} has no file to compare on: files ending in {', '.join(IN_FOLDERS)} are read"
            )
        datasets += inside
    return datasets


def check_readings(readings: Sequence[Reading]) -> None:
    """Raise an error if the datasets cannot be ranked together."""
    tasks = {reading.dataset.task for reading in readings}
    if len(tasks) > 1:
        names = {task: [r.dataset.name for r in readings if r.dataset.task == task] for task in sorted(tasks)}
        listed = "; ".join(f"{task}: {', '.join(of_task)}" for task, of_task in names.items())
        raise InvalidParameter(f"the datasets are of different tasks ({listed}): compare on those of one task")
    twice = [name for name, count in Counter(reading.dataset.name for reading in readings).items() if count > 1]
    if twice:
        raise InvalidParameter(f"several datasets are called {', '.join(map(repr, twice))}: rename the files")


def compare_on_datasets(
    readings: Sequence[Reading],
    measure: Callable[[Reading], tuple[dict[str, Any], Any]],
    page: Path | None,
    command: str,
    as_json: bool,
) -> None:
    """Measure on each dataset, rank over all, write the page, and print the ranks or JSON."""
    summaries = {reading.dataset.name: measure(reading)[0] for reading in readings}
    summary = only_finite(summarize_datasets(summaries, command))
    if page is not None:
        write_page(page, render_datasets_page(summary))
    if as_json:
        print(json.dumps(summary, indent=2, ensure_ascii=False, allow_nan=False))
        return
    print_ranking(summary)
    if page is not None:
        Console(stderr=True, soft_wrap=True).print(f"wrote {page}", markup=False, highlight=False)


def print_ranking(summary: Mapping[str, Any]) -> None:
    """Print mean ranks, the means of each dataset, and what is shown."""
    console, ranking, metric = Console(highlight=False), summary["ranking"], summary["metric"]
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, collapse_padding=True)
    table.add_column("method", overflow="fold")
    for heading in ("mean rank", *summary["datasets"]):
        table.add_column(heading, justify="right")
    for method in ranking["methods"]:
        means = ["failed" if mean is None else f"{mean:#.4g}".rstrip(".") for mean in method["means"]]
        table.add_row(method["label"], f"{method['mean_rank']:.2f}", *means)
    console.print(table)
    unit = " in %" if metric["unit"] == "%" else ""
    difference = f"critical difference of mean ranks {ranking['critical_difference']:.2f} (Nemenyi)"
    console.print(f"Means are {metric['label']}{unit}; {difference}.", markup=False)
    console.print()
    console.print(summary["headline"], style="bold", markup=False)
    for name, of_dataset in summary["datasets"].items():
        console.print(f"{name}: {of_dataset['headline']}", markup=False)
