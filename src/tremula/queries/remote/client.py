"""An oracle that asks a site over HTTP or HTTPS; answers are checked and kept, and a lost connection is tried again."""

from __future__ import annotations

import http.client
import json
import ssl
import time
from collections.abc import Sequence
from typing import Any
from urllib.parse import urlsplit

from numpy.typing import NDArray

from tremula.errors import BudgetExhausted, InvalidInput, InvalidParameter, QueryFailed, QueryRefused
from tremula.parameters import check_number, check_text
from tremula.queries.oracle import MOST_RETRIES
from tremula.queries.question import Question, Schema
from tremula.queries.remote.messages import (
    cells_asked,
    digest,
    questions_in,
    read_answer,
    read_schema,
    write_question,
)

LOCAL = ("127.0.0.1", "localhost", "::1")
PART = 500  # questions of one request
PART_CELLS = 2_000_000  # and the cells of their answers
MAX_SCHEMA = 64_000_000  # bytes
CELL_BYTES = 32  # at most, of a number in an answer
OTHER_BYTES = 1_000_000  # at most, of everything else in an answer
PIECE = 65_536  # bytes read at once
MOST_SECONDS = 1e6  # of a timeout
LONGEST_PAUSE = 5.0  # seconds before a request is sent again
REFUSALS = {"QueryRefused": QueryRefused, "BudgetExhausted": BudgetExhausted}


class RoundLost(QueryFailed):
    """A site does not know a round of secure aggregation: it was started again."""


class SchemaUnknown(QueryFailed):
    """A site does not know the schema of all sites: it was started again."""


LOST = {"RoundLost": RoundLost, "SchemaUnknown": SchemaUnknown}


class RemoteOracle:
    """Answers of a site that `tremula serve` runs.

    Parameters
    ----------
    url : str
        Address of the site, ``https://host:port``. Without encryption (``http://``) only a site on this machine is
        asked.
    token : str or None, default=None
        Password of the site.
    timeout : float, default=60.0
        Seconds to wait for an answer.
    retries : int, default=4
        Number of times that a request is sent again if the site cannot be reached or asks to wait.
    ca_file : str or None, default=None
        File of the certificates to trust, if the site's is not signed by a public authority.
    certificate : tuple of (str, str) or None, default=None
        Files of this client's certificate and its key, if the site asks for one.

    Attributes
    ----------
    n_requests, n_bytes : int
        Requests sent, and bytes of them and of their answers without the headers of HTTP.

    Notes
    -----
    Answers are kept. A fit that ended in an error continues where it stopped if it is called again with the same
    oracle and seed, also after the site was started again, if its columns, levels, cuts and classes are the same.

    Examples
    --------
    >>> from threading import Thread
    >>> import tremula as tm
    >>> from tremula.queries import ArrayOracle
    >>> from tremula.queries.remote.server import start_server
    >>> from tremula.queries.remote.site import Site
    >>> rows = ArrayOracle([["sun"]] * 9 + [["rain"]], ["play"] * 8 + ["stay"] * 2, categorical_features=[0])
    >>> server = start_server(Site(rows, token="secret"), port=0)
    >>> Thread(target=server.serve_forever, daemon=True).start()
    >>> oracle = tm.queries.connect(f"http://127.0.0.1:{server.server_port}", token="secret")
    >>> oracle.schema.attributes[0].levels
    ('rain', 'sun')
    >>> server.shutdown()
    >>> server.server_close()
    """

    def __init__(
        self,
        url: str,
        *,
        token: str | None = None,
        timeout: float = 60.0,
        retries: int = 4,
        ca_file: str | None = None,
        certificate: tuple[str, str] | None = None,
    ) -> None:
        check_text("url", url)
        if token is not None and not (isinstance(token, str) and token.isascii() and token.isprintable()):
            raise InvalidParameter("token is no text of ASCII characters in one line: give the token of the site")
        check_number("timeout", timeout, 0.0, MOST_SECONDS, above=True)
        check_number("retries", retries, 0, MOST_RETRIES, whole=True)
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise InvalidInput(f"{url!r} is no address of a site: give https://host:port")
        if parts.scheme == "http" and parts.hostname not in LOCAL:
            raise InvalidInput(
                f"{url!r} is not encrypted, so that others could read the counts and the token: use https://, or "
                "http:// only for a site on this machine"
            )
        self._host, self._port, self._prefix = parts.hostname, parts.port, parts.path.rstrip("/")
        self._site = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"
        self._token, self._timeout, self._retries = token, timeout, retries
        self._context = None
        if parts.scheme == "https":
            self._context = ssl.create_default_context(cafile=ca_file)
            if certificate is not None:
                self._context.load_cert_chain(*certificate)
        self.n_requests = 0
        self.n_bytes = 0
        self._answers: dict[Question, NDArray[Any]] = {}
        answer = self._request("GET", "/schema", None, MAX_SCHEMA)
        self._schema = read_schema(answer.get("schema"))
        self._digest = digest(self._schema)
        self._secure = answer.get("secure")

    @property
    def schema(self) -> Schema:
        """The attributes, their values and the classes."""
        return self._schema

    @property
    def secure(self) -> Any:
        """The site's key and group if it contributes to masked sums only, None otherwise."""
        return self._secure

    @property
    def address(self) -> str:
        """The address of the site."""
        return self._site

    @property
    def schema_digest(self) -> str:
        """A short word for the schema of the site."""
        return self._digest

    def ask(self, path: str, message: Any, max_bytes: int = OTHER_BYTES) -> dict[str, Any]:
        """Send a request of secure aggregation, and return its answer."""
        return self._request("POST", path, message, max_bytes)

    def count(self, questions: Sequence[Question]) -> list[NDArray[Any]]:
        """Answer a batch of questions, in their order; questions answered before are not sent again."""
        new = [question for question in dict.fromkeys(questions) if question not in self._answers]
        for part in questions_in(self._schema, new, PART, PART_CELLS):
            message = {"schema": self._digest, "questions": [write_question(question) for question in part]}
            n_cells = sum(cells_asked(self._schema, question) for question in part)
            answers = self._request("POST", "/count", message, OTHER_BYTES + CELL_BYTES * n_cells).get("answers")
            if not isinstance(answers, list) or len(answers) != len(part):
                raise QueryFailed(f"site {self._site} did not answer all {len(part)} questions: do not trust it")
            read = [read_answer(self._schema, *pair, self._site) for pair in zip(part, answers)]
            self._answers.update(zip(part, read))
        return [self._answers[question] for question in questions]

    def _request(self, method: str, path: str, message: Any, max_bytes: int) -> dict[str, Any]:
        """Send a request, again if the site is not there or asks to wait, and return its answer."""
        body = None if message is None else json.dumps(message).encode()
        problem = ""
        for attempt in range(self._retries + 1):
            pause = min(0.2 * 2**attempt, LONGEST_PAUSE)
            try:
                status, headers, text = self._send(method, path, body, max_bytes)
            except (OSError, http.client.HTTPException) as error:
                if isinstance(error, ssl.SSLCertVerificationError):
                    raise QueryFailed(f"site {self._site} has a certificate that is not trusted: {error}") from error
                problem = f"it cannot be reached ({type(error).__name__}: {error})"
            else:
                answer = self._read(text)
                if status == 200:
                    return answer
                self._refuse(status, answer)
                problem = f"it answered {status} {answer.get('error', '')}".strip()
                pause = max(pause, min(_seconds(headers.get("Retry-After", "")), self._timeout))
            if attempt < self._retries:
                time.sleep(pause)
        raise QueryFailed(
            f"site {self._site} was asked {self._retries + 1} times, and {problem}. Earlier answers are kept: call fit "
            "again with this oracle to continue"
        )

    def _send(self, method: str, path: str, body: bytes | None, max_bytes: int) -> tuple[int, Any, bytes]:
        self.n_requests += 1
        self.n_bytes += len(body or b"")
        options: dict[str, Any] = {"timeout": self._timeout}
        connection = (
            http.client.HTTPConnection(self._host, self._port, **options)
            if self._context is None
            else http.client.HTTPSConnection(self._host, self._port, context=self._context, **options)
        )
        headers = {"Content-Type": "application/json"}
        if self._token is not None:
            headers["Authorization"] = f"Bearer {self._token}"
        deadline = time.monotonic() + self._timeout
        try:
            connection.request(method, self._prefix + path, body, headers)
            with connection.getresponse() as response:
                text = self._read_body(response, max_bytes, deadline)
            self.n_bytes += len(text)
            return response.status, response.headers, text
        finally:
            connection.close()

    def _read_body(self, response: http.client.HTTPResponse, max_bytes: int, deadline: float) -> bytes:
        """Read an answer, unless it has too many bytes or comes too slowly."""
        pieces, size = [], 0
        while piece := response.read1(PIECE):
            pieces.append(piece)
            size += len(piece)
            if size > max_bytes:
                raise QueryFailed(f"site {self._site} answered with more than {max_bytes} bytes: do not trust it")
            if time.monotonic() > deadline:
                raise TimeoutError(f"no whole answer within {self._timeout} seconds")
        if response.length:
            raise http.client.IncompleteRead(b"", response.length)
        return b"".join(pieces)

    def _read(self, text: bytes) -> dict[str, Any]:
        try:
            answer = json.loads(text)
        except (ValueError, RecursionError):
            answer = None
        if not isinstance(answer, dict):
            raise QueryFailed(f"{self._site} did not answer in JSON: check that `tremula serve` runs there")
        return answer

    def _refuse(self, status: int, answer: dict[str, Any]) -> None:
        """Raise the error of an answer that would be the same if the request were sent again."""
        text = str(answer.get("error", ""))
        if status == 401:
            raise QueryRefused(f"site {self._site} wants a token: give token='...', as its owner told you")
        kind = str(answer.get("kind"))
        if kind in LOST:
            raise LOST[kind](f"site {self._site}: {text}")
        if status == 409:
            raise QueryFailed(
                f"site {self._site} was started again with other columns, levels, cuts or classes: connect to it again "
                "and start the fit anew"
            )
        if status == 403:
            raise REFUSALS.get(kind, QueryRefused)(f"site {self._site}: {text}")
        if 400 <= status < 500 and status != 429:
            raise QueryFailed(f"site {self._site} cannot answer: {status} {text}")


def _seconds(text: str) -> float:
    """Return the number of seconds in the header Retry-After, 0 if there is none."""
    return float(text) if text.isascii() and text.isdecimal() else 0.0
