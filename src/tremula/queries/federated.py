"""Adds up the answers of several sites: each site keeps its rows and returns counts only."""

from __future__ import annotations

import time
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from threading import Thread
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tremula.errors import BudgetExhausted, InvalidInput, QueryFailed, TremulaError
from tremula.parameters import check_choice, check_number
from tremula.queries.oracle import Oracle
from tremula.queries.question import UNKNOWN, Question, Schema, joint_shape
from tremula.queries.site_schemas import SiteCodes, merge_schemas

ON_FAILURE = ("raise", "continue")
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
        Seconds that a site has for a batch; after that it is late. None waits without limit.

    Attributes
    ----------
    failures : list of SiteFailure
        The sites that failed or were late.

    Notes
    -----
    With "continue", later counts lack the rows of the sites that failed. Deeper nodes are then grown from fewer rows
    than the nodes above them.

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

    def __init__(self, sites: Sequence[Oracle], *, on_failure: str = "raise", timeout: float | None = None) -> None:
        check_choice("on_failure", on_failure, ON_FAILURE)
        if timeout is not None:
            check_number("timeout", timeout, 0.0, above=True)
        if not sites:
            raise InvalidInput("no sites were given: give at least one oracle")
        self.failures: list[SiteFailure] = []
        self._sites = list(sites)
        self._on_failure = on_failure
        self._timeout = timeout
        self._schema = merge_schemas([site.schema for site in sites])
        self._codes = [SiteCodes(site.schema, self._schema) for site in sites]
        self._failed: set[int] = set()
        self._n_batches = 0

    @property
    def schema(self) -> Schema:
        """The attributes and classes, with the levels of all sites."""
        return self._schema

    def count(self, questions: Sequence[Question]) -> list[NDArray[Any]]:
        """Answer a batch of questions, in their order; all sites are asked at the same time."""
        self._n_batches += 1
        totals = [self._empty(question) for question in questions]
        working = [site for site in range(len(self._sites)) if site not in self._failed]
        if not working:
            raise QueryFailed(f"no site is left to ask; {self.failures[-1].reason}")
        pending = {site: self._start(site, questions) for site in working}
        deadline = None if self._timeout is None else time.monotonic() + self._timeout
        for site in working:
            answers = self._wait_for(site, pending[site], deadline)
            if answers is not None:
                _add_up(totals, questions, answers)
        return totals

    def _start(self, site: int, questions: Sequence[Question]) -> Future[SiteAnswers]:
        """Ask a site in a daemon thread, so that a site that never answers does not keep the program running."""
        pending: Future[SiteAnswers] = Future()

        def ask() -> None:
            try:
                pending.set_result(self._ask_site(site, questions))
            except BaseException as error:
                pending.set_exception(error)

        Thread(target=ask, daemon=True).start()
        return pending

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

    def _wait_for(self, site: int, pending: Future[SiteAnswers], deadline: float | None) -> SiteAnswers | None:
        """Return the answers of a site; None if it failed and the others continue."""
        try:
            return pending.result(None if deadline is None else max(deadline - time.monotonic(), 0.0))
        except BudgetExhausted as error:  # the site works: growing ends, and the trees are kept
            raise BudgetExhausted(f"site {site}: {error}") from error
        except TimeoutError as error:
            cause: Exception = error
            reason = f"site {site} has not answered within {self._timeout} seconds"
        except (TremulaError, OSError) as error:  # any other error is one of the program, and is raised
            cause, reason = error, f"site {site} failed: {error}"
        self.failures.append(SiteFailure(site, self._n_batches, reason))
        if self._on_failure == "raise":
            raise QueryFailed(
                f"{reason}; repair the site, or leave out sites that fail with on_failure='continue'"
            ) from cause
        self._failed.add(site)
        if len(self._failed) == len(self._sites):
            raise QueryFailed(f"no site is left to ask; {reason}") from cause
        return None


def _add_up(totals: list[NDArray[Any]], questions: Sequence[Question], answers: SiteAnswers) -> None:
    """Add the answers of a site to the totals; a count that any site does not know stays unknown."""
    for total, question, answer in zip(totals, questions, answers):
        if answer is None:
            continue
        is_unknown = (answer == UNKNOWN) | (total == UNKNOWN)
        total += answer
        if not question.joint and np.issubdtype(total.dtype, np.integer):
            total[is_unknown] = UNKNOWN
