"""Adds up the answers of several sites: each site keeps its rows and returns counts only."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tremula.errors import BudgetExhausted, InvalidInput, QueryFailed, TremulaError
from tremula.parameters import check_choice, check_flag, check_number
from tremula.queries.oracle import Oracle, schema_of
from tremula.queries.question import UNKNOWN, Question, Schema, joint_shape
from tremula.queries.remote.messages import questions_in
from tremula.queries.secure.sums import SecureSums
from tremula.queries.site_calls import call_sites
from tremula.queries.site_schemas import SiteCodes, merge_schemas

ON_FAILURE = ("raise", "continue")
PART, PART_CELLS = 2000, 1_000_000  # questions of one masked sum, and the cells of their answers
SiteAnswers = list[NDArray[Any] | None]  # None for a question about levels that the site does not have


@dataclass(frozen=True)
class SiteFailure:
    """A site that failed or was late: its index among the sites, the number of the batch, and the reason."""

    site: int
    batch: int
    reason: str


class FederatedOracle:
    """Answers from several sites as if their rows were in one table.

    Parameters
    ----------
    sites : sequence of oracles
        Oracles of tables with the same attributes, the same target and the same cuts of numeric attributes. Levels and
        classes may differ: a site has no rows of a level that it does not know.
    on_failure : {"raise", "continue"}, default="raise"
        What happens if a site fails or is late: "raise" raises an error, "continue" leaves the site out from then on
        and adds it to `failures`.
    timeout : float or None, default=None
        Seconds that a site has for a batch, with `secure` for each of its three requests; after that it is late. None
        waits without limit.
    secure : bool, default=False
        Whether sites mask their counts, so that only the sums of all become known here. The sites must be those of one
        group (``tremula serve --group``), each asked over the network.

    Attributes
    ----------
    failures : list of SiteFailure
        The sites that failed or were late.

    Notes
    -----
    With "continue", later counts lack the rows of the sites that failed. Deeper nodes are then grown from fewer rows
    than the nodes above them.

    With `secure`, sums are kept: a fit that ended in an error continues where it stopped if it is called again with the
    same oracle and seed. Sites decide how many of them a sum may lack, by default none.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tremula.queries import ArrayOracle, FederatedOracle, Question
    >>> X, y = load_iris(return_X_y=True)
    >>> X = X > X.mean(axis=0)
    >>> sites = [ArrayOracle(X[part::2], y[part::2], categorical_features="all") for part in (0, 1)]
    >>> union = ArrayOracle(X, y, categorical_features="all")
    >>> questions = [Question((), (0, 1, 2, 3))]
    >>> bool((FederatedOracle(sites).count(questions)[0] == union.count(questions)[0]).all())
    True
    """

    def __init__(
        self,
        sites: Sequence[Oracle],
        *,
        on_failure: str = "raise",
        timeout: float | None = None,
        secure: bool = False,
    ) -> None:
        check_choice("on_failure", on_failure, ON_FAILURE)
        if timeout is not None:
            check_number("timeout", timeout, 0.0, above=True)
        check_flag("secure", secure)
        if not isinstance(sites, list | tuple):
            raise InvalidInput(f"sites is of type {type(sites).__name__}: give a list of oracles")
        if not sites:
            raise InvalidInput("no sites were given: give at least one oracle")
        self.failures: list[SiteFailure] = []
        self._sites = list(sites)
        self._on_failure = on_failure
        self._timeout = timeout
        self._schema = merge_schemas([schema_of(site) for site in sites])
        self._codes = [SiteCodes(site.schema, self._schema) for site in sites]
        self._failed: set[int] = set()
        self._n_batches = 0
        self._secure = SecureSums(sites, self._schema) if secure else None
        self._sums: dict[Question, NDArray[Any]] = {}

    @property
    def schema(self) -> Schema:
        """The attributes and classes, with the levels of all sites."""
        return self._schema

    @property
    def leaves_unknown(self) -> bool:
        """Whether a site does not know the counts of rare values."""
        return any(getattr(site, "leaves_unknown", False) for site in self._sites)

    def count(self, questions: Sequence[Question]) -> list[NDArray[Any]]:
        """Answer a batch of questions, in their order; all sites are asked at the same time."""
        self._n_batches += 1
        if self._secure is None:
            return self._sums_of(questions)
        new = [question for question in dict.fromkeys(questions) if question not in self._sums]
        for part in questions_in(self._schema, new, PART, PART_CELLS):
            sums = self._secure.add_up(part, self._working, self._timeout, self._fail)
            self._sums.update(zip(part, sums))
        return [self._sums[question] for question in questions]

    @property
    def _working(self) -> list[int]:
        working = [site for site in range(len(self._sites)) if site not in self._failed]
        if not working:
            raise QueryFailed(f"no site is left to ask; {self.failures[-1].reason}")
        return working

    def _sums_of(self, questions: Sequence[Question]) -> list[NDArray[Any]]:
        totals = [self._empty(question) for question in questions]
        calls = {site: partial(self._ask_site, site, questions) for site in self._working}
        replies, errors = call_sites(calls, self._timeout)
        for site, error in errors.items():
            self._fail(site, error)
        for answers in replies.values():
            _add_up(totals, questions, answers)
        return totals

    def _empty(self, question: Question) -> NDArray[Any]:
        empty = self._schema.empty_answer()
        if not question.joint:
            return empty
        return np.zeros(joint_shape(self._schema, question.attributes), dtype=empty.dtype)

    def _ask_site(self, site: int, questions: Sequence[Question]) -> SiteAnswers:
        codes = self._codes[site]
        for_site = [codes.to_site(question) for question in questions]
        answers = iter(self._sites[site].count([question for question in for_site if question is not None]))
        return [
            None if translated is None else codes.from_site(question, next(answers))
            for translated, question in zip(for_site, questions)
        ]

    def _fail(self, site: int, error: Exception) -> None:
        """Raise the error of a site, or leave the site out."""
        if isinstance(error, BudgetExhausted):  # the site works: growing ends, and the trees are kept
            raise BudgetExhausted(f"site {site}: {error}") from error
        if isinstance(error, TimeoutError):
            reason = f"site {site} has not answered within {self._timeout} seconds"
        elif isinstance(error, (TremulaError, OSError)):
            reason = f"site {site} failed: {error}"
        else:  # an error of the program
            raise error
        self.failures.append(SiteFailure(site, self._n_batches, reason))
        if self._on_failure == "raise":
            raise QueryFailed(
                f"{reason}; repair the site, or leave out sites that fail with on_failure='continue'"
            ) from error
        self._failed.add(site)
        if len(self._failed) == len(self._sites):
            raise QueryFailed(f"no site is left to ask; {reason}") from error


def _add_up(totals: list[NDArray[Any]], questions: Sequence[Question], answers: SiteAnswers) -> None:
    """Add the answers of a site to the totals; a count that any site does not know stays unknown."""
    for total, question, answer in zip(totals, questions, answers):
        if answer is None:
            continue
        is_unknown = (answer == UNKNOWN) | (total == UNKNOWN)
        total += answer
        if not question.joint and np.issubdtype(total.dtype, np.integer):
            total[is_unknown] = UNKNOWN
