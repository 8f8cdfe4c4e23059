"""The steps of ``tremula data``: which datasets are known, where each comes from, what is here, what it holds."""

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from rich.console import Console
from rich.table import Table

from tremula.cli.comparison_table import print_data
from tremula.cli.fitting_tables import print_fitting
from tremula.cli.options import check_task_and_jobs, split_words
from tremula.errors import counted
from tremula.lab.datasets import (
    BUNDLED,
    KnownDataset,
    NotFetched,
    UnknownDataset,
    dataset_names,
    known_datasets,
    load_dataset,
)
from tremula.lab.datasets.check import IGNORED, check_table
from tremula.lab.datasets.description import describe_dataset
from tremula.lab.datasets.openml import DATA_FOLDER_VARIABLE, cache_folder
from tremula.lab.datasets.reader import read_data
from tremula.lab.datasets.schema import columns_of

# --- list ---


def print_list(options: Mapping[str, Any]) -> None:
    """List the datasets known by name, narrowed by the options, which have the names of the parameters."""
    given = SimpleNamespace(**options)
    chosen = [
        {**asdict(known), "found": location}
        for known, location in ((known, _where(known)) for known in known_datasets().values())
        if (given.task is None or known.task == given.task)
        and (given.max_rows is None or known.rows <= given.max_rows)
        and known.rows >= given.min_rows
        and (given.paper is None or given.paper in known.papers)
        and (not given.here or _is_here(location))
    ]
    if given.as_json:
        print(json.dumps(chosen, indent=2, ensure_ascii=False))
        return
    console = Console(highlight=False)
    print_fitting(console, _table_of(chosen))
    n_here = sum(_is_here(row["found"]) for row in chosen)
    console.print(f"{counted(len(chosen), 'dataset')}, {n_here} of them on this machine. {_advice()}", markup=False)


def _where(known: KnownDataset) -> str:
    """Return where a dataset is, in the order in which it is looked for."""
    if known.name in BUNDLED:
        return "scikit-learn"
    if known.name in dataset_names():
        return "data folder"
    if (cache_folder() / f"{known.name}.parquet").is_file():
        return "cache"
    return "nowhere" if known.openml is None else f"OpenML {known.openml}"


def _is_here(location: str) -> bool:
    return location in ("scikit-learn", "data folder", "cache")


def _advice() -> str:
    return (
        f"One that is not is fetched by: tremula data fetch NAME (into {cache_folder()}); {DATA_FOLDER_VARIABLE} names "
        "a folder of Parquet files to look in first."
    )


def _table_of(rows: Iterable[Mapping[str, Any]]) -> Table:
    table = Table()
    table.add_column("name", no_wrap=True)
    for heading in ("rows", "numeric", "nominal"):
        table.add_column(heading, justify="right", no_wrap=True, min_width=len(heading))
    for heading in ("target", "found"):
        table.add_column(heading, no_wrap=True)
    for row in rows:
        numbers = [_number(row[name]) for name in ("rows", "numeric", "nominal")]
        target = "number" if row["classes"] is None else f"{row['classes']} classes"
        table.add_row(row["name"], *numbers, target, row["found"])
    return table


def _number(value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:,}" if isinstance(value, int) else f"{value:.5g}"


# --- describe ---


def print_description(options: Mapping[str, Any]) -> None:
    """Describe the dataset that the options name."""
    given = SimpleNamespace(**options)
    known = known_datasets().get(given.name)
    origin = None if known is None else {**asdict(known), "found": _where(known)}
    described = _describe(given.name, given.target)
    if given.as_json:
        print(json.dumps({**described, "known": origin}, indent=2, ensure_ascii=False))
        return
    console = Console(highlight=False, soft_wrap=True)
    if described:
        _print_columns(console, described)
    if origin is not None:
        _print_origin(console, origin, bool(described))


def _describe(place: str, target: str | None) -> dict[str, Any]:
    """Describe a dataset; one that would have to be fetched has no description."""
    try:
        reading = read_data(place, target, fetch=False)
    except NotFetched:
        return {}
    return describe_dataset(reading.dataset) | {"notes": [*reading.guesses, *reading.notes]}


def _print_columns(console: Console, described: Mapping[str, Any]) -> None:
    console.print(
        f"{described['name']} ({described['source']}): {counted(described['rows'], 'row')}, "
        f"{counted(len(described['attributes']), 'attribute')}, {counted(described['missing'], 'missing value')}; "
        f"{described['task']}.",
        markup=False,
    )
    console.print(f"Target: {_words_of_target(described['target'])}", markup=False)
    table = Table()
    for heading in ("attribute", "kind"):
        table.add_column(heading)
    table.add_column("missing", justify="right")
    table.add_column("values", overflow="fold")
    for column in described["attributes"]:
        table.add_row(column["name"], column["kind"], _number(column["missing"]), WORDS[column["kind"]](column))
    console.print(table, soft_wrap=False)
    for note in described["notes"]:
        console.print(note, markup=False)


def _words_of_target(target: Mapping[str, Any]) -> str:
    if target["kind"] == "numeric":
        return _words_of_numbers(target)
    n_rows = sum(target["classes"].values())
    shares = [f"{label} {count:,} ({count / n_rows:.1%})" for label, count in target["classes"].items()]
    return _some(shares, len(shares))


def _words_of_numbers(column: Mapping[str, Any]) -> str:
    if column["median"] is None:
        return "all missing"
    different = f", {column['different']:,} different" if "different" in column else ""
    return f"{column['smallest']:.5g} to {column['largest']:.5g}, median {column['median']:.5g}{different}"


def _words_of_levels(column: Mapping[str, Any]) -> str:
    return _some([f"{level} {count:,}" for level, count in column["levels"].items()], column["n_levels"])


def _some(words: list[str], n_all: int) -> str:
    shown = words[:8]
    return ", ".join(shown) + (f" and {n_all - len(shown)} more" if n_all > len(shown) else "")


def _words_of_dates(column: Mapping[str, Any]) -> str:
    if column["median"] is None:
        return "all missing"
    return f"{column['smallest']} to {column['largest']}, median {column['median']}, {column['different']:,} different"


WORDS: dict[str, Callable[[Mapping[str, Any]], str]] = {
    "numeric": _words_of_numbers,
    "date": _words_of_dates,
    "nominal": _words_of_levels,
}


def _print_origin(console: Console, origin: Mapping[str, Any], is_here: bool) -> None:
    if not is_here:
        console.print(
            f"{origin['name']}: {counted(origin['rows'], 'row')}, {origin['numeric']} numeric and "
            f"{counted(origin['nominal'], 'nominal attribute')}; {origin['task']}. It is not on this machine: "
            f"tremula data fetch {origin['name']}",
            markup=False,
        )
    openml = "" if origin["openml"] is None else f"; OpenML {origin['openml']}"
    papers = f"; used by {', '.join(origin['papers'])}" if origin["papers"] else ""
    console.print(f"From: {origin['origin']}; licence: {origin['licence']}{openml}{papers}.", markup=False)


# --- check ---


def print_check(options: Mapping[str, Any]) -> None:
    """Check the table that the options name."""
    given = SimpleNamespace(**options)
    check_task_and_jobs(given.task, 1)
    drop, use = split_words(given.drop), split_words(given.use)
    reading = read_data(given.name, given.target, task=given.task, drop=drop, table=given.table, check=True, use=use)
    dataset = reading.dataset
    if all(finding.kind == IGNORED for finding in reading.findings):  # a known dataset keeps all its columns
        findings = check_table(columns_of(dataset), dataset.y, dataset.task, leave_out=False)
        reading = replace(reading, findings=tuple(findings))
    if given.as_json:
        words = {"guesses": reading.guesses, "notes": reading.notes}
        described = [asdict(finding) for finding in reading.findings]
        print(json.dumps({**words, "findings": described}, indent=2, ensure_ascii=False))
        return
    print_data(reading, ())
    if not reading.findings:
        Console(highlight=False).print("Check: nothing found that would mislead a learner.", markup=False)


# --- fetch ---


def fetch_datasets(options: Mapping[str, Any]) -> None:
    """Fetch the datasets that the options name."""
    given = SimpleNamespace(**options)
    console = Console(stderr=True, soft_wrap=True, highlight=False)
    fetched = []
    for name in given.names:
        if Path(name).suffix:
            raise UnknownDataset(f"{name!r} is a file and not a name: tremula data list shows the names")
        dataset = load_dataset(name, task=None)
        fetched.append({"name": name, "source": dataset.source, "rows": len(dataset.X)})
        if not given.as_json:
            console.print(f"{name}: {counted(len(dataset.X), 'row')}, {dataset.source}", markup=False)
    if given.as_json:
        print(json.dumps(fetched, indent=2, ensure_ascii=False))
