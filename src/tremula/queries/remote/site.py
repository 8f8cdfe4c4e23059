"""A site: answers questions about one table over HTTP, and nothing else. Every request is written to a log first.

Counts leave through the guard that the site's oracle is wrapped in. The log has what was asked, never a count.
"""

from __future__ import annotations

import errno
import hmac
import json
import ssl
import time
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Lock
from typing import Any

from tremula.errors import BudgetExhausted, InvalidInput, QueryRefused, TremulaError
from tremula.parameters import check_number
from tremula.queries.ledger import path_in_words
from tremula.queries.oracle import Oracle
from tremula.queries.question import Question
from tremula.queries.remote.messages import MAX_BYTES, digest, read_questions, write_answer, write_schema

MINUTE = 60.0
PATIENCE = 30.0  # seconds that a client has to send its request


class Refusal(Exception):
    """A request that is not answered: the HTTP status, a reason for the client, and further fields of the answer."""

    def __init__(self, status: int, reason: str, kind: str = "", wait: float = 0.0) -> None:
        super().__init__(reason)
        self.status, self.kind, self.wait = status, kind, wait


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
    ) -> None:
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
        """Return the schema, which is public."""
        return {"schema": write_schema(self._schema)}

    def answer_count(self, message: Any, client: str) -> dict[str, Any]:
        """Return guarded counts."""
        if not isinstance(message, dict):
            raise Refusal(400, "a request must be an object with schema and questions")
        if message.get("schema") != self._digest:
            raise Refusal(409, "the schema is another one")
        try:
            questions = read_questions(self._schema, message.get("questions"))
        except InvalidInput as error:
            raise Refusal(400, str(error)) from error
        return self._worker.submit(self._count, questions, client).result()

    def _count(self, questions: list[Question], client: str) -> dict[str, Any]:
        new = set(questions) - self._asked
        if self._max_questions is not None and self._n_asked + len(new) > self._max_questions:
            self.log(client, "refused", questions)
            raise Refusal(403, f"all {self._max_questions} questions were asked", BudgetExhausted.__name__)
        self.log(client, "asked", questions, len(new))
        self._asked |= new
        self._n_asked += len(new)
        try:
            answers = self._oracle.count(questions)
        except QueryRefused as error:
            self.log(client, "refused", questions)
            raise Refusal(403, str(error), type(error).__name__) from error
        except (TremulaError, OSError) as error:
            # What a database says may have more in it than a client should see.
            self.log(client, f"failed: {type(error).__name__}", questions)
            raise Refusal(503, "the database of the site did not answer") from error
        written = [write_answer(self._schema, *pair) for pair in zip(questions, answers, strict=True)]
        return {"answers": written}

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


class _Handler(BaseHTTPRequestHandler):
    """Answers GET /schema and POST /count; everything else is not found."""

    site: Site
    timeout = PATIENCE
    server_version, sys_version = "tremula", ""

    def do_GET(self) -> None:
        self._answer("/schema", lambda: self.site.answer_schema())

    def do_POST(self) -> None:
        self._answer("/count", lambda: self.site.answer_count(self._message(), self.client_address[0]))

    def _answer(self, path: str, answer: Any) -> None:
        try:
            self.site.check_token(self.headers.get("Authorization"))
            if self.path != path:
                raise Refusal(404, f"ask {path}")
            self.site.check_rate()
            self._send(200, answer())
        except Refusal as refusal:
            if refusal.status not in (403, 503):  # these are logged with their questions
                self._log_refusal(refusal)
            self._send(refusal.status, {"error": str(refusal), "kind": refusal.kind}, refusal.wait)
        except (ConnectionError, TimeoutError):  # the client is gone
            self.close_connection = True

    def _log_refusal(self, refusal: Refusal) -> None:
        with suppress(Refusal):  # nothing is disclosed, so that a log that cannot be written does no harm
            self.site.log(self.client_address[0], f"refused: {refusal.status}", [])

    def _message(self) -> Any:
        size = self.headers.get("Content-Length", "")
        if not size.isdecimal() or int(size) > MAX_BYTES:
            raise Refusal(413, f"a request needs its length, at most {MAX_BYTES} bytes")
        try:
            return json.loads(self.rfile.read(int(size)))
        except ValueError as error:
            raise Refusal(400, "the request is no JSON") from error
        except RecursionError as error:
            raise Refusal(400, "the request is nested too deep") from error

    def _send(self, status: int, message: Any, wait: float = 0.0) -> None:
        body = json.dumps(message).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        if wait:
            self.send_header("Retry-After", str(int(wait) + 1))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Print nothing: the log of the site has the requests."""


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    context: ssl.SSLContext | None = None

    def get_request(self) -> tuple[Any, Any]:
        connection, address = super().get_request()
        if self.context is None:
            return connection, address
        # The handshake waits for the client, so it is left to the thread of the request.
        wrapped = self.context.wrap_socket(connection, server_side=True, do_handshake_on_connect=False)
        return wrapped, address

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Print nothing: a client that breaks off, or has no certificate, is no error of the site."""


def start_server(
    site: Site,
    host: str = "127.0.0.1",
    port: int = 0,
    certificate: tuple[str, str] | None = None,
    client_ca: str | None = None,
) -> ThreadingHTTPServer:
    """Return a server that listens; `serve_forever` answers.

    Parameters
    ----------
    site : Site
    host, port : str, int
        Address; port 0 takes a free one.
    certificate : tuple of (str, str), optional
        Files of a certificate and its key: HTTPS.
    client_ca : str, optional
        File of the certificates that sign those of clients; others are refused.
    """
    if client_ca is not None and certificate is None:
        raise InvalidInput("client certificates were asked for without a certificate of the site: give both")
    handler = type("Handler", (_Handler,), {"site": site})
    try:
        server = _Server((host, port), handler)
    except OSError as error:
        reason = "is taken: give another one" if error.errno == errno.EADDRINUSE else f"cannot be opened: {error}"
        raise InvalidInput(f"port {port} of {host!r} {reason}") from error
    if certificate is not None:
        server.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        server.context.load_cert_chain(*certificate)
        if client_ca is not None:
            server.context.load_verify_locations(client_ca)
            server.context.verify_mode = ssl.CERT_REQUIRED
    return server
