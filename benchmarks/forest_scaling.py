"""Time and memory of forests against the number of rows, attributes, classes and members, as CSV and as a picture."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from forest_libraries import LIBRARIES

MEMBERS = 10
SERIES: dict[str, Sequence[int]] = {
    "rows": (1_000, 10_000, 100_000, 1_000_000, 10_000_000),
    "attributes": (5, 20, 100, 500, 2_000),
    "classes": (2, 5, 20, 100, 300),
    "members": (1, 10, 100, 1_000),
}
SHOWN = ("tremula", "tremula-bins", "sklearn", "sklearnex", "ydf", "xgboost", "lightgbm", "ranger")
LONG = 10.0  # seconds of a fit that is not repeated
COLUMNS = ("series", "size", "table", "members", "library", "seconds", "memory", "error", "problem")


def point(series: str, size: int) -> tuple[str, int]:
    """Table and members of a point: 10,000 rows, 20 attributes, 2 classes and 10 members but for what varies."""
    rows, attributes, classes = (
        size if series == name else usual for name, usual in (("rows", 10_000), ("attributes", 20), ("classes", 2))
    )
    return f"made-{rows}x{attributes}-{classes}", size if series == "members" else MEMBERS


def measure_scaling(runner: Any, cell_type: Any, libraries: list[str], most_rows: int, turns: int) -> None:
    """Measure all series; a library that fails, or takes too long, is left out of the larger sizes of a series."""
    runner.long = LONG
    for series, sizes in SERIES.items():
        left = [library for library in libraries if library in SHOWN]
        for size in sizes:
            if series == "rows" and size > most_rows:
                break
            table, members = point(series, size)
            cells = [
                cell_type("forest", table, library, members, predicts=False, series=series, size=size)
                for library in left
            ]
            runner.take_turns(cells, turns)
            left = [cell.library for cell in cells if "error" in runner.measure(cell)]


def scaling_rows(cells: list[dict[str, Any]]) -> Iterator[list[Any]]:
    """Lines of the CSV file, of cells that are the best of their turns."""
    for cell in cells:
        problem = next((f"{name} {cell[name]}" for name in ("failure", "over") if name in cell), "")
        yield [f"{cell.get(name, ''):.6g}" if isinstance(cell.get(name), float) else cell.get(name, "")
               for name in COLUMNS[:-1]] + [problem]  # fmt: skip


def write_scaling(cells: list[dict[str, Any]], folder: Path) -> None:
    """Write scaling.csv and scaling.png."""
    with (folder / "scaling.csv").open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(COLUMNS)
        writer.writerows(scaling_rows(cells))
    plot_scaling(cells, folder / "scaling.png")


def plot_scaling(cells: list[dict[str, Any]], path: Path) -> None:
    """Draw processor seconds above and megabytes below, a column for each series, both axes in logarithms."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(2, len(SERIES), figsize=(15, 7), sharex="col", layout="constrained")
    names = list(dict.fromkeys(cell["library"] for cell in cells))
    colours = dict(zip(names, plt.get_cmap("tab10").colors))
    for column, series in enumerate(SERIES):
        for row, quantity in enumerate(("seconds", "memory")):
            axis = axes[row, column]
            for name in names:
                points = [cell for cell in cells if (cell["series"], cell["library"]) == (series, name)]
                line = sorted((cell["size"], cell[quantity]) for cell in points if "error" in cell)
                if line:
                    thick = 2.5 if name.startswith("tremula") else 1.2
                    axis.plot(*zip(*line), marker="o", lw=thick, color=colours[name], label=LIBRARIES[name].label)
            axis.set(xscale="log", yscale="log")
            if quantity == "memory":
                axis.set_ylim(bottom=1.0)  # less is not measured well
            axis.grid(alpha=0.3)
        axes[1, column].set_xlabel(series)
    axes[0, 0].set_ylabel("processor seconds of fit")
    axes[1, 0].set_ylabel("peak memory of fit, MB")
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=len(names), frameon=False)
    figure.savefig(path, dpi=110)
    plt.close(figure)
