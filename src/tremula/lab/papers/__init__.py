"""The papers that can be reproduced, by name; the module of a paper is imported on demand.

`paper.py` defines a paper and its parts, `published.py` reads the published numbers, `verdict.py` compares ours with
them. A new paper is a module with a `Paper` called ``PAPER``, and one line of `PAPERS`. Open `paper.py` first.
"""

from __future__ import annotations

from importlib import import_module

from tremula.errors import TremulaError, did_you_mean
from tremula.lab.papers.paper import Paper, Part

PAPERS = {
    "dietterich2000": "tremula.lab.papers.dietterich2000",
    "frank2006": "tremula.lab.papers.frank2006",
    "geurts2001": "tremula.lab.papers.geurts2001",
    "vanassche2006": "tremula.lab.papers.vanassche2006",
    "variance_reduction": "tremula.lab.papers.variance_reduction",
    "default": "tremula.lab.studies.default",  # a study of tremula's own
}


class UnknownPaper(TremulaError, LookupError):
    """No paper of the given name."""


class UnknownPart(TremulaError, LookupError):
    """No table or figure of the given name in a paper."""


def load_paper(name: str) -> Paper:
    """Return a paper by its name.

    Parameters
    ----------
    name : str
        One of `PAPERS`.

    Returns
    -------
    Paper

    Examples
    --------
    >>> from tremula.lab.papers import load_paper
    >>> [part.name for part in load_paper("dietterich2000").parts]
    ['table1', 'table2', 'table3', 'kohavi', 'kappa', 'weights', 'readings', 'members', 'confidence']
    """
    if name not in PAPERS:
        hint = did_you_mean(name, PAPERS) or ": give one of these"
        raise UnknownPaper(f"no paper {name!r} (there are {', '.join(PAPERS)}){hint}")
    paper: Paper = import_module(PAPERS[name]).PAPER
    return paper


def find_parts(paper: Paper, names: list[str]) -> list[Part]:
    """Return the named parts of a paper, or all of them if no name is given.

    Parameters
    ----------
    paper : Paper
    names : list of str

    Returns
    -------
    list of Part

    Examples
    --------
    >>> from tremula.lab.papers import find_parts, load_paper
    >>> [part.title for part in find_parts(load_paper("variance_reduction"), ["share"])]
    ['Distinct rows of a bootstrap sample']
    """
    known = {part.name: part for part in paper.parts}
    for name in names:
        if name not in known:
            hint = did_you_mean(name, known) or ": give some of these"
            raise UnknownPart(f"{paper.name} has no part {name!r} (there are {', '.join(known)}){hint}")
    return [part for part in paper.parts if not names or part.name in names]
