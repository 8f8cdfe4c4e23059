"""Answers of several sites added up: each keeps its rows, and tells counts alone."""

from __future__ import annotations

import time
from collections.abc import Sequence
from concurrent.futures import Future
from concurrent.futures import TimeoutError as TooLate
from dataclasses import dataclass, replace
from threading import Thread
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tremula.errors import BudgetExhausted, InvalidInput, QueryFailed
from tremula.parameters import check_choice, check_number
from tremula.queries.oracle import Oracle
from tremula.queries.question import EVERYWHERE, UNKNOWN, Attribute, Condition, Path, Question, Schema, joint_shape

WHEN_SILENT = ("stop", "skip")
Answering = Future[list[NDArray[Any] | None]]


@dataclass(frozen=True)
class Silence:
    """A site that did not answer: its place among the sites, the batch, and what it said."""

    site: int
    batch: int
    reason: str


class FederatedOracle:
    """Answers from several sites as if their rows were in one table.

    Parameters
    ----------
    sites : sequence of oracles
        Of tables with the same attributes, target and, for numeric attributes, cuts. Levels and classes may differ: a
        site has no rows of those it does not know.
    when_silent : {"stop", "skip"}, default="stop"
        Whether a site that fails or is late ends the work, or is left out from then on; `silences` tells of it.
    timeout : float or None, default=None
        Seconds after which a site is late with a batch.

    Attributes
    ----------
    silences : list of Silence
        Sites that did not answer.

    Notes
    -----
    With "skip", counts of deeper nodes lack the rows of sites that fell silent: trees are then grown from fewer rows
    below than above.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tremula.queries import ArrayOracle, FederatedOracle, Question
    >>> X, y = load_iris(return_X_y=True)
    >>> X = X > X.mean(axis=0)
    >>> sites = [ArrayOracle(X[part::2], y[part::2], categorical_features="all") for part in (0, 1)]
    >>> whole = ArrayOracle(X, y, categorical_features="all")
    >>> asked = [Question((), (0, 1, 2, 3))]
    >>> bool((FederatedOracle(sites).count(asked)[0] == whole.count(asked)[0]).all())
    True
    """

    def __init__(self, sites: Sequence[Oracle], when_silent: str = "stop", timeout: float | None = None) -> None:
        check_choice("when_silent", when_silent, WHEN_SILENT)
        if timeout is not None:
            check_number("timeout", timeout, 0.0, above=True)
        if not sites:
            raise InvalidInput("no sites were given: give at least one oracle")
        self.silences: list[Silence] = []
        self._sites = list(sites)
        self._skips = when_silent == "skip"
        self._timeout = timeout
        self._schema = merge_schemas([site.schema for site in sites])
        self._translations = [Translation(site.schema, self._schema) for site in sites]
        self._silent: set[int] = set()
        self._n_batches = 0

    @property
    def schema(self) -> Schema:
        """The attributes with the levels of all sites, and the classes of all."""
        return self._schema

    def count(self, questions: Sequence[Question]) -> list[NDArray[Any]]:
        """Answer a batch of questions, in their order: all sites are asked at once."""
        self._n_batches += 1
        totals = [self._empty(question) for question in questions]
        speaking = [site for site in range(len(self._sites)) if site not in self._silent]
        if not speaking:
            raise QueryFailed(f"no site is left to ask; {self.silences[-1].reason}")
        asked = {site: self._start(site, questions) for site in speaking}
        until = None if self._timeout is None else time.monotonic() + self._timeout
        for site in speaking:
            self._add_up(totals, questions, self._answers(site, asked[site], until))
        return totals

    def _start(self, site: int, questions: Sequence[Question]) -> Answering:
        """Ask a site in a thread of its own; one that never answers does not keep the program from ending."""
        answering: Answering = Future()

        def ask() -> None:
            try:
                answering.set_result(self._ask_site(site, questions))
            except BaseException as error:
                answering.set_exception(error)

        Thread(target=ask, daemon=True).start()
        return answering

    def _empty(self, question: Question) -> NDArray[Any]:
        empty = self._schema.empty_answer()
        if not question.joint:
            return empty
        return np.zeros(joint_shape(self._schema, question.attributes), dtype=empty.dtype)

    def _ask_site(self, site: int, questions: Sequence[Question]) -> list[NDArray[Any] | None]:
        translation = self._translations[site]
        asked = [translation.question(question) for question in questions]
        answers = iter(self._sites[site].count([question for question in asked if question is not None]))
        return [
            None if question is None else translation.answer(question, original, next(answers))
            for question, original in zip(asked, questions)
        ]

    def _answers(self, site: int, asked: Answering, until: float | None) -> list[NDArray[Any] | None] | None:
        """Answers of a site; None where it is silent and the work goes on."""
        try:
            return asked.result(None if until is None else max(until - time.monotonic(), 0.0))
        except BudgetExhausted as error:  # nothing is wrong with the site: growing is to end
            raise BudgetExhausted(f"site {site}: {error}") from error
        except TooLate as error:
            cause: Exception = error
            reason = f"site {site} has not answered within {self._timeout} seconds"
        except Exception as error:
            cause, reason = error, f"site {site} failed: {error}"
        self.silences.append(Silence(site, self._n_batches, reason))
        if not self._skips:
            raise QueryFailed(f"{reason}; see to it, or leave silent sites out with when_silent='go on'") from cause
        self._silent.add(site)
        if len(self._silent) == len(self._sites):
            raise QueryFailed(f"no site is left to ask; {reason}") from cause
        return None

    @staticmethod
    def _add_up(
        totals: list[NDArray[Any]], questions: Sequence[Question], answers: list[NDArray[Any] | None] | None
    ) -> None:
        for total, question, answer in zip(totals, questions, answers or [None] * len(totals)):
            if answer is not None:
                unknown = (answer == UNKNOWN) | (total == UNKNOWN)
                total += answer
                if not question.joint and np.issubdtype(total.dtype, np.integer):
                    total[unknown] = UNKNOWN


def merge_schemas(schemas: Sequence[Schema]) -> Schema:
    """Return the schema of all sites together: their levels and classes in order, their cuts if they agree."""
    first = schemas[0]
    names = [attribute.name for attribute in first.attributes]
    for number, schema in enumerate(schemas):
        theirs = [attribute.name for attribute in schema.attributes]
        if theirs != names or schema.target != first.target:
            raise InvalidInput(
                f"site {number} has attributes {theirs} and target {schema.target!r}, but site 0 has {names} and "
                f"{first.target!r}: give every site the same columns in the same order"
            )
        if (schema.classes is None) != (first.classes is None):
            raise InvalidInput(f"the target has classes at one of the sites 0 and {number} and numbers at the other")
    attributes = tuple(_merge([schema.attributes[number] for schema in schemas]) for number in range(len(names)))
    if first.classes is None:
        return replace(first, attributes=attributes)
    labels = {label for schema in schemas for label in schema.classes or ()}
    return replace(first, attributes=attributes, classes=_in_order(f"target {first.target!r}", labels))


def _in_order(what: str, values: set[Any]) -> tuple[Any, ...]:
    try:
        return tuple(sorted(values))
    except TypeError as error:
        kinds = ", ".join(sorted({type(value).__name__ for value in values}))
        raise InvalidInput(
            f"{what} has values of types {kinds} at the sites: give it one type at all of them"
        ) from error


def _merge(same: Sequence[Attribute]) -> Attribute:
    first = same[0]
    if any(attribute.is_nominal != first.is_nominal for attribute in same):
        raise InvalidInput(f"attribute {first.name!r} is nominal at some sites and numeric at others")
    if first.is_nominal:
        levels = {level for attribute in same for level in attribute.levels or ()}
        return Attribute(first.name, levels=_in_order(f"attribute {first.name!r}", levels))
    if any(attribute.cuts != first.cuts for attribute in same):
        raise InvalidInput(
            f"attribute {first.name!r} has other cuts at some sites: agree on them first, for example with "
            "`agree_on_cuts`, and give them to every site's oracle as cuts={...}"
        )
    return first


def agree_on_cuts(cuts: Sequence[Sequence[float]], n_rows: Sequence[float], n_bins: int) -> tuple[float, ...]:
    """Cuts that suit all sites, from those each would choose: quantiles of their quantiles, weighted by rows.

    Parameters
    ----------
    cuts : sequence of sequences of float
        Of one attribute, from each site's own schema.
    n_rows : sequence of float
        Rows of each site.
    n_bins : int

    Examples
    --------
    >>> agree_on_cuts([(1.0, 2.0, 3.0), (2.0, 4.0, 6.0)], [100, 100], 3)
    (2.0, 3.0)
    """
    values = np.concatenate([np.asarray(some, dtype=np.float64) for some in cuts])
    weights = np.concatenate([np.full(len(some), rows / max(len(some), 1)) for some, rows in zip(cuts, n_rows)])
    if not len(values):
        return ()
    order = np.argsort(values, kind="stable")
    upto = np.cumsum(weights[order]) / weights.sum()
    places = np.searchsorted(upto, np.arange(1, n_bins) / n_bins - 1e-12)
    return tuple(np.unique(values[order][np.minimum(places, len(values) - 1)]).tolist())


class Translation:
    """Between the numbers of one site's values and those of all sites together."""

    def __init__(self, site: Schema, whole: Schema) -> None:
        self._site, self._whole = site, whole
        self._values = [_places(one, all_of_them) for one, all_of_them in zip(site.attributes, whole.attributes)]
        labels = {label: number for number, label in enumerate(whole.classes or ())}
        self._outputs = [labels[label] for label in site.classes] if site.classes else list(range(whole.n_outputs))

    def question(self, question: Question) -> Question | None:
        """Put a question in the site's numbers; None where the site has no such level, and so no such row."""
        path = self._path(question.path)
        if path is None:
            return None
        return Question(path, question.attributes, question.joint, self._path(question.parent) or EVERYWHERE)

    def _path(self, path: Path) -> Path | None:
        translated = []
        for condition in path:
            places = self._values[condition.attribute][:-1]
            inside = [own for own, place in enumerate(places) if condition.first <= place <= condition.last]
            if not inside:
                return None
            translated.append(Condition(condition.attribute, inside[0], inside[-1]))
        return tuple(translated)

    def answer(self, asked: Question, question: Question, answer: NDArray[Any]) -> NDArray[Any]:
        """Put the site's answer in the numbers of all sites."""
        if question.joint:
            shape = joint_shape(self._whole, question.attributes)
            translated = np.zeros(shape, dtype=answer.dtype)
            axes = [self._values[attribute] for attribute in question.attributes]
            translated[np.ix_(*axes, self._outputs)] = answer
            return translated
        translated = self._whole.empty_answer()
        for attribute in asked.attributes:
            cells = self._whole.cells(attribute)
            own = answer[self._site.cells(attribute)]
            if (own == UNKNOWN).all() and np.issubdtype(own.dtype, np.integer):
                translated[cells] = UNKNOWN
            else:
                translated[np.ix_(cells.start + np.array(self._values[attribute]), self._outputs)] = own
        return translated


def _places(site: Attribute, whole: Attribute) -> list[int]:
    """For each value of a site, missing last, its number among those of all sites."""
    if site.levels is None or whole.levels is None:
        return list(range(whole.n_values + 1))
    place = {level: number for number, level in enumerate(whole.levels)}
    return [*(place[level] for level in site.levels), whole.n_values]
