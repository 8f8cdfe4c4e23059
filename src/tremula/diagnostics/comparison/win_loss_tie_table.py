"""Wins, losses and ties of every pair of methods over datasets: the table of Dietterich (2000), for paper or screen.

A cell counts for its row: wins are the datasets where the row's method is better than the column's.
"""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tremula.diagnostics.comparison.comparison import Comparison
from tremula.diagnostics.comparison.error_table import name_datasets, read_names
from tremula.diagnostics.comparison.method_names import place_of
from tremula.diagnostics.comparison.verdict import Verdict
from tremula.diagnostics.frames import make_frame
from tremula.diagnostics.significance.registry import TESTS
from tremula.errors import InvalidInput
from tremula.parameters import check_choice

LATEX_SPECIAL = {
    "\\": r"\textbackslash{}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
}


def win_loss_tie(
    results: Mapping[str, Comparison] | Sequence[Comparison],
    *,
    names: Sequence[str] | None = None,
    test: str = "auto",
    correction: str = "none",
    confidence: float = 0.95,
) -> WinLossTie:
    """Count the datasets on which each method is better than each other method.

    Parameters
    ----------
    results : dict of str to Comparison, or list of Comparison
        Results by dataset, all with the same methods and scoring.
    names : sequence of str, default=None
        Methods to show, in this order: the first is the first column of the table. None shows all, in their order.
    test : {'auto', 'dietterich', 'corrected t', 'paired t', '5x2 F', 'mcnemar', 'proportions'}, default='auto'
        As in `Comparison.test`; "dietterich" follows Dietterich (2000): the paired t test over folds, and the
        difference of proportions on a single test set.
    correction : {'none', 'holm', 'bonferroni', 'benjamini-hochberg'}, default='none'
        Correction for the number of pairs within a dataset; the paper uses none.
    confidence : float, default=0.95
        A difference that is not significant at this confidence is a tie.

    Returns
    -------
    WinLossTie

    Examples
    --------
    >>> from sklearn.datasets import load_iris, load_wine
    >>> from sklearn.dummy import DummyClassifier
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from tremula.diagnostics import compare, win_loss_tie
    >>> methods = {"majority": DummyClassifier(), "naive Bayes": GaussianNB()}
    >>> data = {"iris": load_iris(return_X_y=True), "wine": load_wine(return_X_y=True)}
    >>> results = {name: compare(methods, X, y, random_state=0) for name, (X, y) in data.items()}
    >>> print(win_loss_tie(results))
                 majority
    naive Bayes    2-0-0
    """
    check_choice("test", test, ["auto", "dietterich", *TESTS])
    named = name_datasets(results)
    names = read_names("names", names) if names is not None else next(iter(named.values())).names
    _check_methods(names, next(iter(named.values())))
    verdicts = {
        dataset: comparison.choose(names).verdicts(
            test=_test_for(comparison, test), correction=correction, confidence=confidence
        )
        for dataset, comparison in named.items()
    }
    wins = np.zeros((len(names), len(names)), dtype=np.int64)
    for verdict in (verdict for of_dataset in verdicts.values() for verdict in of_dataset):
        if verdict.better:
            loser = verdict.second if verdict.better == verdict.first else verdict.first
            wins[names.index(verdict.better), names.index(loser)] += 1
    return WinLossTie(names, wins, len(named), verdicts, test, confidence)


def _check_methods(names: Sequence[str], comparison: Comparison) -> None:
    for name in names:
        comparison.place(name)
    if len(names) < 2 or len(set(names)) < len(names):
        raise InvalidInput(f"names is {list(names)}: a table of pairs needs at least two methods, each once")


def _test_for(comparison: Comparison, test: str) -> str:
    if test != "dietterich":
        return test
    return "proportions" if len(comparison.test_rows) == 1 else "paired t"


def _escape_latex(text: str) -> str:
    return "".join(LATEX_SPECIAL.get(letter, letter) for letter in text)


def _escape_markdown(text: str) -> str:
    return "".join("\\" + letter if letter in "\\|*_`[]<>" else letter for letter in text)


@dataclass(frozen=True, eq=False, repr=False)
class WinLossTie:
    """Wins, losses and ties of every pair of methods; made by `win_loss_tie`.

    As in the paper, each pair is shown once: with methods A, B, C the columns are A, B and the rows C, B.

    Attributes
    ----------
    names : list of str
        Names of the methods.
    wins : array of shape (n_methods, n_methods)
        Datasets where the method of the row is better than that of the column.
    n_datasets : int
    verdicts : dict of str to list of Verdict
        Verdicts on every pair, by dataset.
    test : str
        Name of the test, as given.
    confidence : float

    Examples
    --------
    >>> import numpy as np
    >>> wins = np.array([[0, 0, 0], [17, 0, 8], [11, 1, 0]])
    >>> table = WinLossTie(["C4.5", "Adaboost C4.5", "Bagged C4.5"], wins, 33, {}, "dietterich", 0.95)
    >>> print(table.to_markdown())
    |  | C4.5 | Adaboost C4.5 |
    |---|---|---|
    | Bagged C4.5 | 11-0-22 | 1-8-24 |
    | Adaboost C4.5 | 17-0-16 |  |
    >>> table.cell("Bagged C4.5", "C4.5")
    (11, 0, 22)
    """

    names: list[str]
    wins: NDArray[np.int64]
    n_datasets: int
    verdicts: dict[str, list[Verdict]]
    test: str
    confidence: float

    def cell(self, row: str, column: str) -> tuple[int, int, int]:
        """Return wins, losses and ties of one method against another."""
        first, second = place_of(row, self.names), place_of(column, self.names)
        wins, losses = int(self.wins[first, second]), int(self.wins[second, first])
        return wins, losses, self.n_datasets - wins - losses

    @property
    def columns(self) -> list[str]:
        """Methods of the columns, as they were given."""
        return self.names[:-1]

    @property
    def rows(self) -> list[str]:
        """Methods of the rows, the last given first."""
        return self.names[:0:-1]

    def _cells(self, between: str = "-") -> list[list[str]]:
        """Return the counts row by row, empty where a pair is shown elsewhere or is not a pair."""
        places = {name: place for place, name in enumerate(self.names)}
        return [
            [
                between.join(map(str, self.cell(row, column))) if places[column] < places[row] else ""
                for column in self.columns
            ]
            for row in self.rows
        ]

    def to_text(self) -> str:
        """Return the table in columns of equal width."""
        lines = [["", *self.columns], *([row, *cells] for row, cells in zip(self.rows, self._cells()))]
        widths = [max(map(len, column)) for column in zip(*lines)]
        first = [line[0].ljust(widths[0]) for line in lines]
        rest = [[cell.center(width) for cell, width in zip(line[1:], widths[1:])] for line in lines]
        return "\n".join("  ".join([start, *cells]).rstrip() for start, cells in zip(first, rest))

    def to_latex(self) -> str:
        """Return a LaTeX tabular; it needs the package booktabs."""
        head = " & ".join(["", *map(_escape_latex, self.columns)])
        body = [" & ".join([_escape_latex(row), *cells]) + r" \\" for row, cells in zip(self.rows, self._cells("--"))]
        start = rf"\begin{{tabular}}{{l{'c' * len(self.columns)}}}"
        return "\n".join(
            [start, r"\toprule", head.strip() + r" \\", r"\midrule", *body, r"\bottomrule", r"\end{tabular}"]
        )

    def to_html(self) -> str:
        """Return an HTML table."""
        head = "".join(f'<th scope="col">{html.escape(name)}</th>' for name in self.columns)
        body = [
            f'<tr><th scope="row">{html.escape(row)}</th>{"".join(f"<td>{cell}</td>" for cell in cells)}</tr>'
            for row, cells in zip(self.rows, self._cells("&ndash;"))
        ]
        start = "<table><thead><tr><td></td>" + head + "</tr></thead><tbody>"
        return "\n".join([start, *body, "</tbody></table>"])

    def to_markdown(self) -> str:
        """Return a Markdown table."""
        lines = [["", *map(_escape_markdown, self.columns)]]
        lines += [[_escape_markdown(row), *cells] for row, cells in zip(self.rows, self._cells())]
        written = [f"| {' | '.join(line)} |" for line in lines]
        return "\n".join([written[0], "|" + "---|" * len(self.names), *written[1:]])

    def to_frame(self) -> Any:
        """Return a pandas frame of one row for each pair: the methods, and wins, losses and ties of the first."""
        pairs = [(row, column) for place, row in enumerate(self.names) for column in self.names[:place]]
        counts = [(row, column, *self.cell(row, column)) for row, column in pairs]
        return make_frame(counts, columns=["method", "against", "wins", "losses", "ties"])

    def _repr_html_(self) -> str:
        return self.to_html()

    def __str__(self) -> str:
        return self.to_text()

    def __repr__(self) -> str:
        return self.to_text()
