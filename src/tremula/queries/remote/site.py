"""A site: answers questions about one table, and nothing else. Every request is written to a log first.

Counts leave through the guard that the site's oracle is wrapped in. The log has what was asked, never a count.
"""

from __future__ import annotations

import hmac
import json
import time
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from threading import Lock
from typing import Any

from numpy.typing import NDArray

from tremula.errors import BudgetExhausted, InvalidInput, QueryRefused, TremulaError
from tremula.parameters import check_number
from tremula.queries.ledger import path_in_words
from tremula.queries.oracle import Oracle
from tremula.queries.question import Question
from tremula.queries.remote.messages import ImpossibleQuestions, digest, read_questions, write_answer, write_schema
from tremula.queries.remote.openapi import describe_site
from tremula.queries.remote.refusal import Refusal
from tremula.queries.secure.group import Group
from tremula.queries.secure.site_rounds import SiteRounds

MINUTE = 60.0


class Site:
    """Answers the requests of clients by an oracle.

    Parameters
    ----------
    oracle : Oracle
        Usually a `GuardedOracle`.
    token : str or None, default=None
        Password that clients must send.
    max_requests : int or None, default=None
        Requests answered in a minute; later ones are asked to wait.
    max_questions : int or None, default=None
        Different questions answered in all. Those in the log count, so that a new start does not renew them.
    log : path or None, default=None
        File to which every request is added, as JSON Lines: time, address, questions in words, and outcome. A request
        that cannot be logged is not answered.
    worker : concurrent.futures.ThreadPoolExecutor or None, default=None
        Its one thread asks the oracle; by default a new one. Connections to some databases belong to the thread that
        opened them.
    group : Group or None, default=None
        Sites to whose sums this one contributes. It then gives no count of its own away, only masked ones.
    group_key : bytes or None, default=None
        The private key of this site in the group.

    Examples
    --------
    >>> from tremula.queries import ArrayOracle
    >>> rows = ArrayOracle([["sun"], ["rain"], ["sun"]], ["play", "stay", "play"], categorical_features=[0])
    >>> Site(rows).answer_schema()["schema"]["classes"]
    ('play', 'stay')
    """

    def __init__(
        self,
        oracle: Oracle,
        *,
        token: str | None = None,
        max_requests: int | None = None,
        max_questions: int | None = None,
        log: Path | None = None,
        worker: ThreadPoolExecutor | None = None,
        group: Group | None = None,
        group_key: bytes | None = None,
    ) -> None:
        if (group is None) != (group_key is None):
            raise InvalidInput("group and group_key belong together: give both")
        for name, limit in (("max_requests", max_requests), ("max_questions", max_questions)):
            if limit is not None:
                check_number(name, limit, 1, whole=True)
        if max_questions is not None and log is None:
            raise InvalidInput("max_questions was given without a log, which keeps their number over a new start")
        self._oracle, self._token, self._log = oracle, token, log
        self._max_requests, self._max_questions = max_requests, max_questions
        self._worker = worker or ThreadPoolExecutor(1)
        self._schema = oracle.schema
        self._digest = digest(oracle.schema)
        self._times: deque[float] = deque()
        self._asked: set[Question] = set()
        self._n_asked = 0 if log is None else answered_before(log)
        self._lock = Lock()
        self._rounds = None if group is None or group_key is None else SiteRounds(self._schema, group, group_key)

    def check_token(self, header: str | None) -> None:
        """Refuse a client without the token."""
        expected = "" if self._token is None else f"Bearer {self._token}"
        if self._token is not None and not hmac.compare_digest((header or "").encode(), expected.encode()):
            raise Refusal(401, "a token is needed")

    def check_rate(self) -> None:
        """Ask a client to wait if there were too many requests in the last minute."""
        if self._max_requests is None:
            return
        with self._lock:
            now = time.monotonic()
            while self._times and self._times[0] <= now - MINUTE:
                self._times.popleft()
            if len(self._times) >= self._max_requests:
                wait = self._times[0] + MINUTE - now
                raise Refusal(429, f"more than {self._max_requests} requests in a minute", wait=wait)
            self._times.append(now)

    def answer_schema(self) -> dict[str, Any]:
        """Return the schema, which is public, and the keys of the group."""
        return {
            "schema": write_schema(self._schema),
            "secure": None if self._rounds is None else self._rounds.describe(),
        }

    def answer_openapi(self) -> dict[str, Any]:
        """Return a description of all requests, as OpenAPI."""
        return describe_site(self._schema, needs_token=self._token is not None, is_in_group=self._rounds is not None)

    def answer_count(self, message: Any, client: str) -> dict[str, Any]:
        """Return guarded counts."""
        if not isinstance(message, dict):
            raise Refusal(400, "a request must be an object with schema and questions")
        if message.get("schema") != self._digest:
            raise Refusal(409, "the schema is another one")
        try:
            questions = read_questions(self._schema, message.get("questions"))
        except InvalidInput as error:
            raise Refusal(422 if isinstance(error, ImpossibleQuestions) else 400, str(error)) from error
        if self._rounds is not None:
            self.log(client, "refused", questions)
            reason = "this site gives away sums of its group only: ask FederatedOracle(sites, secure=True)"
            raise Refusal(403, reason, QueryRefused.__name__)
        answers = self._count(questions, client)
        return {"answers": [write_answer(self._schema, *pair) for pair in zip(questions, answers, strict=True)]}

    def answer_round(self, step: str, message: Any, client: str) -> dict[str, Any]:
        """Return an answer of secure aggregation: to its step schema, keys, counts or shares."""
        rounds = self._rounds
        if rounds is None:
            raise Refusal(404, "this site is in no group, so there are no sums to ask for")
        if step == "schema":
            return rounds.answer_schema(message)
        if step == "keys":
            return rounds.answer_keys(message)
        if step == "counts":
            return rounds.answer_counts(message, lambda questions: self._count(questions, client))
        answer = rounds.answer_shares(message)
        self.log(client, f"gave shares for the sum of {len(message['included'])} sites", [])
        return answer

    def _count(self, questions: list[Question], client: str) -> list[NDArray[Any]]:
        return self._worker.submit(self._count_in_worker, questions, client).result()

    def _count_in_worker(self, questions: list[Question], client: str) -> list[NDArray[Any]]:
        new = set(questions) - self._asked
        if self._max_questions is not None and self._n_asked + len(new) > self._max_questions:
            self.log(client, "refused", questions)
            raise Refusal(403, f"all {self._max_questions} questions were asked", BudgetExhausted.__name__)
        self.log(client, "asked", questions, len(new))
        self._asked |= new
        self._n_asked += len(new)
        try:
            return self._oracle.count(questions)
        except QueryRefused as error:
            self.log(client, "refused", questions)
            raise Refusal(403, str(error), type(error).__name__) from error
        except (TremulaError, OSError) as error:
            # What a database says may have more in it than a client should see.
            self.log(client, f"failed: {type(error).__name__}", questions)
            raise Refusal(503, "the database of the site did not answer") from error

    def log(self, client: str, outcome: str, questions: list[Question], n_new: int = 0) -> None:
        """Add a request to the log; refuse it if that fails."""
        if self._log is None:
            return
        names = [attribute.name for attribute in self._schema.attributes]
        entry = {
            "time": datetime.now(UTC).isoformat(timespec="milliseconds"),
            "client": client,
            "outcome": outcome,
            "new_questions": n_new,
            "questions": [
                {
                    "path": path_in_words(self._schema, question.path),
                    "attributes": [names[attribute] for attribute in question.attributes],
                    "joint": question.joint,
                }
                for question in questions
            ],
        }
        try:
            with self._lock, self._log.open("a", encoding="utf-8") as file:
                file.write(json.dumps(entry, ensure_ascii=False) + "\n")
        except OSError as error:
            raise Refusal(503, "the site cannot write its log") from error


def answered_before(log: Path) -> int:
    """Return the number of questions in a log, 0 if there is none yet."""
    if not log.exists():
        return 0
    total = 0
    for number, line in enumerate(log.read_text(encoding="utf-8").splitlines(), start=1):
        try:
            total += int(json.loads(line)["new_questions"])
        except (ValueError, KeyError, TypeError) as error:
            raise InvalidInput(
                f"line {number} of {str(log)!r} is none of a log of questions: name another file for the log"
            ) from error
    return total
