"""A comparison on the terminal: a description of the data, a ranked table, and the result in words."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table

from tremula.cli.fitting_tables import print_fitting
from tremula.errors import counted
from tremula.lab.datasets.check import short_sentences
from tremula.lab.datasets.reader import Reading

N_SENTENCES = 2
NOT_SHOWN = "no difference shown"


def print_data(reading: Reading, notes: Sequence[str]) -> None:
    """Print a description of the data and what was guessed about it."""
    data = reading.dataset
    n_rows, n_attributes = data.X.shape
    nominal = len(data.nominal)
    kinds = f"{n_attributes - nominal} numeric and {counted(nominal, 'nominal attribute')}"
    heading = f"{data.name} ({data.source}): {counted(n_rows, 'row')}, {kinds}."
    console = Console(highlight=False)
    for line in (heading, *reading.guesses, *reading.notes, *notes):
        console.print(line, markup=False)
    for line in short_sentences(reading.findings):
        console.print(f"Check: {line}", markup=False)


def print_results(summary: Mapping[str, Any]) -> None:
    """Print the table, its explanation, and the sentences."""
    console = Console(highlight=False)
    print_fitting(console, _table(summary))
    for line in _explanations(summary):
        console.print(line, markup=False)
    console.print()
    for sentence in summary["sentences"][:N_SENTENCES]:
        console.print(sentence, style="bold", markup=False)
    written = [path for path in summary["files"].values() if path]
    if written:
        Console(stderr=True, soft_wrap=True).print(f"wrote {', '.join(written)}", markup=False, highlight=False)


def _explanations(summary: Mapping[str, Any]) -> Iterator[str]:
    main, baseline = summary["metrics"][0], summary["dataset"]["baseline"]
    marked = any(pair["verdict"] != NOT_SHOWN for pair in _with_the_best(summary))
    yield (
        f"By {summary['protocol']['words']}. {baseline['label'].capitalize()} gives an {main['label']} of "
        f"{_number(baseline['error'], main)}{_unit(main)}. Times are medians; prediction time is per row."
        + (" * marks a significant difference from the best." if marked else "")
    )
    for row in summary["methods"]:
        if "error" in row:
            yield f"Failed: {row['label']}: {row['error']}"


def _table(summary: Mapping[str, Any]) -> Table:
    main, second = summary["metrics"][:2]
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, collapse_padding=True)
    table.add_column("method")
    for heading in (main["label"] + _unit(main), "95 % interval", "behind", second["label"], "fit", "predict"):
        table.add_column(heading, justify="right", no_wrap=True)
    behind = _behind(summary)
    for row in summary["methods"]:
        if "error" in row:
            continue
        first, other = (row["metrics"][metric["name"]] for metric in (main, second))
        table.add_row(
            row["label"],
            _number(first["mean"], main),
            f"{_number(first['low'], main)} to {_number(first['high'], main)}",
            behind.get(row["name"], ""),
            "" if other is None else f"{other['mean']:#.3g}",
            _seconds(row["fit_milliseconds"] / 1e3),
            _seconds(row["predict_microseconds_a_row"] / 1e6),
            style="bold" if row["lowest"] else None,
        )
    return table


def _with_the_best(summary: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    main, best = summary["metrics"][0]["name"], summary["methods"][0]["name"]
    return [pair for pair in summary["pairs"] if pair["metric"] == main and pair["first"] == best]


def _behind(summary: Mapping[str, Any]) -> dict[str, str]:
    """Return the difference of each method from the best, with a star if it is significant."""
    main = summary["metrics"][0]
    return {
        pair["second"]: f"{_number(abs(pair['difference']), main)}{' ' if pair['verdict'] == NOT_SHOWN else '*'}"
        for pair in _with_the_best(summary)
    }


def _unit(metric: Mapping[str, Any]) -> str:
    return " %" if metric["unit"] == "%" else ""


def _number(value: float, metric: Mapping[str, Any]) -> str:
    return f"{value:.2f}" if metric["unit"] == "%" else f"{value:#.4g}".rstrip(".")


def _seconds(seconds: float) -> str:
    for unit, size in (("s", 1.0), ("ms", 1e-3)):
        if seconds >= size:
            return f"{_two_digits(seconds / size)} {unit}"
    return f"{_two_digits(seconds / 1e-6)} µs"


def _two_digits(number: float) -> str:
    return f"{number:.0f}" if number >= 10 else f"{number:.2g}"
