"""The HTTP server of a site: finds the answer to a request, and sends it or the reason why there is none, as JSON."""

from __future__ import annotations

import errno
import json
import ssl
from collections.abc import Callable
from contextlib import suppress
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tremula.errors import InvalidInput
from tremula.queries.remote.messages import MAX_BYTES
from tremula.queries.remote.refusal import Refusal
from tremula.queries.remote.site import Site

PATIENCE = 30.0  # seconds that a client has to send its request
MAX_UNREAD = 1_000_000  # bytes of a refused request that are read nevertheless, so that the client gets the answer
METHODS = {
    "/schema": "GET",
    "/openapi.json": "GET",
    "/count": "POST",
    "/secure/schema": "POST",
    "/secure/keys": "POST",
    "/secure/counts": "POST",
    "/secure/shares": "POST",
}
LOGGED = (403, 503)  # refusals that the site logs itself, with their questions


class _Handler(BaseHTTPRequestHandler):
    """Answers the requests of one connection."""

    site: Site
    timeout = PATIENCE
    server_version, sys_version = "tremula", ""
    is_read = False

    def _answer(self) -> None:
        try:
            self.site.check_token(self.headers.get("Authorization"))
            answer = self._find()
            self.site.check_rate()
            self._send(200, answer())
        except Refusal as refusal:
            if refusal.status not in LOGGED:
                self._log_refusal(refusal)
            self._send(refusal.status, {"error": str(refusal), "kind": refusal.kind}, refusal.wait)
        except (ConnectionError, TimeoutError):  # the client is gone
            self.close_connection = True

    def __getattr__(self, name: str) -> Any:
        """Let all methods of HTTP be answered, also those that are refused."""
        if name.startswith("do_"):
            return self._answer
        raise AttributeError(name)

    def _find(self) -> Callable[[], dict[str, Any]]:
        path = self.path.partition("?")[0]
        if path not in METHODS:
            raise Refusal(404, f"ask {', '.join(METHODS)}")
        if self.command != METHODS[path]:
            raise Refusal(405, f"ask {path} by {METHODS[path]}")
        if path == "/schema":
            return self.site.answer_schema
        if path == "/openapi.json":
            return self.site.answer_openapi
        client = self.client_address[0]
        if path == "/count":
            return lambda: self.site.answer_count(self._message(), client)
        return lambda: self.site.answer_round(path.removeprefix("/secure/"), self._message(), client)

    def _log_refusal(self, refusal: Refusal) -> None:
        with suppress(Refusal):  # nothing is disclosed, so that a log that cannot be written does no harm
            self.site.log(self.client_address[0], f"refused: {refusal.status}", [])

    def _message(self) -> Any:
        size = self.headers.get("Content-Length", "")
        if not (size.isascii() and size.isdecimal()):
            raise Refusal(411, "a request needs its length")
        if len(size) > 12 or int(size) > MAX_BYTES:
            raise Refusal(413, f"a request may have {MAX_BYTES} bytes")
        if self.headers.get("Content-Type", "application/json").partition(";")[0].strip() != "application/json":
            raise Refusal(415, "a request must be application/json")
        self.is_read = True
        try:
            return json.loads(self.rfile.read(int(size)), parse_constant=_refuse_constant)
        except ValueError as error:
            raise Refusal(400, "the request is no JSON") from error
        except RecursionError as error:
            raise Refusal(400, "the request is nested too deep") from error

    def _read_the_rest(self) -> None:
        """Read a short body that nobody asked for: closing the connection before would take the answer away."""
        size = self.headers.get("Content-Length", "")
        if not self.is_read and size.isascii() and size.isdecimal() and len(size) < 8 and int(size) <= MAX_UNREAD:
            with suppress(OSError):
                self.rfile.read(int(size))

    def _send(self, status: int, message: Any, wait: float = 0.0) -> None:
        self._read_the_rest()
        body = json.dumps(message).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        if status == 401:
            self.send_header("WWW-Authenticate", "Bearer")
        if status == 405:
            self.send_header("Allow", METHODS[self.path.partition("?")[0]])
        if wait:
            self.send_header("Retry-After", str(int(wait) + 1))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Answer what is no HTTP request in JSON, too."""
        body = json.dumps({"error": message or HTTPStatus(code).phrase, "kind": ""}).encode()
        self.send_response(code)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Print nothing: the log of the site has the requests."""


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is no JSON")


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
