"""Published numbers as printed, read from small CSV files.

Each file starts with its citation in lines that begin with ``#``; numbers are kept as printed.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

FOLDER = "tremula.lab.papers"


@dataclass(frozen=True)
class PublishedTable:
    """A published table.

    Attributes
    ----------
    citation : str
        Where it was published, and what its columns are.
    rows : tuple of dict of str to str
        Values by column.
    """

    citation: str
    rows: tuple[dict[str, str], ...]


@cache
def read_published(name: str) -> PublishedTable:
    """Read a published table by its file name without extension.

    Parameters
    ----------
    name : str
        Such as ``"dietterich2000_table2"``.

    Returns
    -------
    PublishedTable

    Examples
    --------
    >>> from tremula.lab.papers.published import read_published
    >>> table = read_published("dietterich2000_table2")
    >>> table.citation[:24], table.rows[0]["wins"]
    ('T. G. Dietterich, An exp', '14')
    """
    text = (files(FOLDER) / "tables" / f"{name}.csv").read_text(encoding="utf-8")
    lines = text.splitlines()
    citation = " ".join(line.removeprefix("#").strip() for line in lines if line.startswith("#"))
    return PublishedTable(citation, tuple(csv.DictReader(line for line in lines if not line.startswith("#"))))
