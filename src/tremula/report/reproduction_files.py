"""Writes tables and figures of a reproduction as Markdown, CSV and PNG, each with the command, date and versions.

A file is complete or absent.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tremula.display import harmless_cell
from tremula.lab.experiments.kept_cells import KeptCells
from tremula.lab.papers.paper import Part, ShownFigure, ShownTable
from tremula.persistence.atomic_write import write_atomically

DOTS_PER_INCH = 150
SPECIAL = str.maketrans({letter: "\\" + letter for letter in "\\|*_`<>"})
ORIGIN_WORDS = ("Command: ", "Date: ", "Versions: ", "Paper: ")
Shown = ShownTable | ShownFigure


@dataclass(frozen=True)
class Origin:
    """The origin of results, recorded in every file.

    Attributes
    ----------
    citation : str
        Citation of the paper.
    command : str
        The command that makes them again.
    date : str
    versions : str
        Versions of tremula and of the libraries it uses.
    cost : str
        Core-hours, and by which clock.
    partial : str
        What is missing; empty if nothing is.
    """

    citation: str
    command: str
    date: str
    versions: str
    cost: str
    partial: str = ""

    @classmethod
    def of_cells(cls, citation: str, command: str, kept: KeptCells) -> Origin:
        """Return the origin of what is made of kept cells: their versions, the date of the last, and their cost."""
        n_failed = sum(cell.result.failure is not None for cell in kept.cells)
        n_missing = kept.n_wanted - len(kept.cells) + n_failed
        left = f"; by the time of like cells they will take {kept.hours_left}" if kept.missing else ""
        partial = f"{n_missing} of {kept.n_wanted} cells are not measured{left}" if n_missing else ""
        partial += stand_in_words(kept)
        cost = f"{kept.cost.hours:.3f} core-hours, {kept.cost.clock}"
        return cls(citation, command, kept.date, kept.versions, cost, partial)

    @property
    def lines(self) -> list[str]:
        """The origin as lines of text, without the cost: the same results have the same lines."""
        return [
            f"Command: {self.command}",
            f"Date: {self.date}",
            f"Versions: {self.versions}",
            f"Paper: {self.citation}",
        ]


def stand_in_words(kept: KeptCells) -> str:
    """Say which datasets are shown with smaller sizes; empty if none is."""
    names = kept.stood_in_for
    if not names:
        return ""
    missing = {cell.dataset for cell in kept.missing}
    of = "all datasets" if missing <= set(names) and not kept.cells else "; ".join(names)
    return f". In their place stand {len(kept.stand_ins)} cells with {kept.sizes}, of {of}"


def show_cell(value: Any) -> str:
    """Return a cell of a table as text; None is empty.

    Examples
    --------
    >>> show_cell(None), show_cell(0.25), show_cell("14-0-19")
    ('', '0.25', '14-0-19')
    """
    return "" if value is None else str(value)


def table_to_markdown(table: ShownTable) -> str:
    r"""Return a table with its caption and notes.

    Parameters
    ----------
    table : ShownTable

    Examples
    --------
    >>> print(table_to_markdown(ShownTable("t", "Errors", ["domain", "error"], [["a|b", 0.5]], ["Few rows."])))
    **Errors**
    <BLANKLINE>
    | domain | error |
    |---|---|
    | a\|b | 0.5 |
    <BLANKLINE>
    - Few rows.
    """
    lines = [[show_cell(value).translate(SPECIAL) for value in row] for row in (table.columns, *table.rows)]
    written = [f"| {' | '.join(line)} |" for line in lines]
    body = [written[0], "|" + "---|" * len(table.columns), *written[1:]]
    notes = ["", *(f"- {note.translate(SPECIAL)}" for note in table.notes)] if table.notes else []
    return "\n".join([f"**{table.caption.translate(SPECIAL)}**", "", *body, *notes])


def table_to_csv(table: ShownTable, origin: Origin) -> str:
    """Return a table as CSV, preceded by ``#`` lines with its caption, notes and origin."""
    text = io.StringIO()
    for line in (table.caption, *table.notes, *origin.lines):
        text.write(f"# {line}\n")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([harmless_cell(name) for name in table.columns])
    writer.writerows([[harmless_cell(show_cell(value)) for value in row] for row in table.rows])
    return text.getvalue()


def csv_to_table(name: str, text: str) -> tuple[ShownTable, Origin]:
    """Return the table and the origin in a text of `table_to_csv`.

    Parameters
    ----------
    name : str
        Name of the table.
    text : str

    Examples
    --------
    >>> origin = Origin("A paper.", "a command", "2026-01-02", "tremula 1", cost="")
    >>> table = ShownTable("errors", "Errors", ["domain", "error"], [["a", "0.5"]], ["Few rows."])
    >>> csv_to_table("errors", table_to_csv(table, origin)) == (table, origin)
    True
    """
    lines = text.splitlines()
    comments = [line.removeprefix("# ") for line in lines if line.startswith("# ")]
    named = dict(line.split(": ", 1) for line in comments if line.startswith(ORIGIN_WORDS))
    caption, *notes = [line for line in comments if not line.startswith(ORIGIN_WORDS)]
    columns, *rows = csv.reader(lines[len(comments) :])
    rows = [[cell.removeprefix("'") if harmless_cell(cell[1:]) == cell else cell for cell in row] for row in rows]
    origin = Origin(named["Paper"], named["Command"], named["Date"], named["Versions"], cost="")
    return ShownTable(name, caption, columns, rows, notes), origin


def figure_to_png(figure: Any, origin: Origin) -> bytes:
    """Return a matplotlib figure as PNG with its origin as metadata."""
    content = io.BytesIO()
    figure.savefig(content, format="png", dpi=DOTS_PER_INCH, metadata={"Description": "\n".join(origin.lines)})
    return content.getvalue()


def part_to_markdown(part: Part, shown: Sequence[Shown], origin: Origin) -> str:
    """Return a page of all tables and figures of a part; figures are files in the same folder."""
    blocks = [f"# {part.title}", *([f"**Partial**: {origin.partial}."] if origin.partial else [])]
    for item in shown:
        if isinstance(item, ShownTable):
            blocks.append(table_to_markdown(item))
        else:
            caption = item.caption.translate(SPECIAL)
            blocks.append(f"![{caption}]({item.name}.png)\n\n{caption}")
    lines = [f"- Command: `{origin.command}`", f"- Date: {origin.date}", f"- Versions: {origin.versions}"]
    lines.append(f"- Cost: {origin.cost}")
    blocks.append("\n".join([*lines, f"- Paper: {origin.citation.translate(SPECIAL)}"]))
    return "\n\n".join(blocks) + "\n"


def write_part(folder: Path, part: Part, shown: Sequence[Shown], origin: Origin) -> list[Path]:
    """Write the page of a part, and each of its tables and figures, into a folder.

    Parameters
    ----------
    folder : Path
        Created if it does not exist.
    part : Part
    shown : sequence of ShownTable and ShownFigure
        The return value of `part.show`.
    origin : Origin

    Returns
    -------
    list of Path
        The files written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for item in shown:
        if isinstance(item, ShownTable):
            path, content = folder / f"{item.name}.csv", table_to_csv(item, origin).encode()
        else:
            path, content = folder / f"{item.name}.png", _draw(item, origin)
        write_atomically(path, content)
        written.append(path)
    page = folder / f"{part.name}.md"
    write_atomically(page, part_to_markdown(part, shown, origin).encode())
    return [page, *written]


def _draw(shown: ShownFigure, origin: Origin) -> bytes:
    from tremula.diagnostics.displays.style import import_pyplot

    figure = shown.draw()
    try:
        return figure_to_png(figure, origin)
    finally:
        import_pyplot().close(figure)
