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
from tremula.report.sentences import say_plan

N_SENTENCES, N_PRACTICAL = 2, 2
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
    said = summary["sentences"]
    for sentence in said[:N_SENTENCES]:
        console.print(sentence, style="bold", markup=False)
    for sentence in [*_practical(summary), *_plan(summary)]:
        console.print(sentence, markup=False)
    written = [path for path in summary["files"].values() if path]
    if written:
        Console(stderr=True, soft_wrap=True).print(f"wrote {', '.join(written)}", markup=False, highlight=False)


def _practical(summary: Mapping[str, Any]) -> list[str]:
    """Return the probabilities of the closest methods that are not shown to differ."""
    if summary["decision"] is None:
        return []
    main = summary["decision"]["metric"]
    unclear = [pair for pair in summary["pairs"] if pair["metric"] == main and pair["verdict"] == NOT_SHOWN]
    said = [pair["practical_sentence"] for pair in unclear[:N_PRACTICAL] if pair["practical_sentence"]]
    return [sentence[0].upper() + sentence[1:] for sentence in said]


def _plan(summary: Mapping[str, Any]) -> list[str]:
    """Return what would show more, unless it was printed already."""
    said = say_plan((summary["decision"] or {}).get("plan"), summary["metrics"][0])
    return [sentence for sentence in said if sentence not in summary["sentences"][:N_SENTENCES]]


def _explanations(summary: Mapping[str, Any]) -> Iterator[str]:
    main, baseline = summary["metrics"][0], summary["dataset"]["baseline"]
    yield (
        f"By {summary['protocol']['words']}. {baseline['label'].capitalize()} has {main['label']} "
        f"{_number(baseline['error'], main)}{_unit(main)}. Times are medians; prediction time is per row."
        f"{_star(summary)}"
    )
    for row in summary["methods"]:
        if "error" in row:
            yield f"Failed: {row['label']}: {row['error']}"


def _star(summary: Mapping[str, Any]) -> str:
    """Say what a star means, if there is one."""
    if not _marked(summary):
        return ""
    baseline = (summary["decision"] or {}).get("baseline")
    labels = {row["name"]: row["label"] for row in summary["methods"]}
    return f" * marks a significant difference from {'the best' if baseline is None else labels[baseline]}."


def _table(summary: Mapping[str, Any]) -> Table:
    main, second = summary["metrics"][:2]
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, collapse_padding=True)
    table.add_column("method")
    for heading in (
        main["label"] + _unit(main),
        "95 % interval",
        "behind",
        second["label"] + _unit(second),
        "fit",
        "predict",
    ):
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


def _marked(summary: Mapping[str, Any]) -> set[str]:
    """Return the methods that differ from the best, or from the baseline, by the decision."""
    decision = summary["decision"]
    if decision is None:
        return set()
    reference = decision["baseline"] or decision["leader"]
    shown = [pair for pair in summary["pairs"] if pair["metric"] == decision["metric"] and pair["verdict"] != NOT_SHOWN]
    others = {name for pair in shown for name in (pair["first"], pair["second"]) if reference in pair.values()}
    return others - {reference}


def _behind(summary: Mapping[str, Any]) -> dict[str, str]:
    """Return the difference of each method from the best, with a star if the decision shows one."""
    main, marked = summary["metrics"][0], _marked(summary)
    means = {row["name"]: row["metrics"][main["name"]]["mean"] for row in summary["methods"] if "error" not in row}
    leader, *others = means
    sizes = {leader: "", **{name: _number(abs(means[name] - means[leader]), main) for name in others}}
    return {name: f"{size}{'*' if name in marked else ' '}" for name, size in sizes.items()}


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
