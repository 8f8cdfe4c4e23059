"""A process that pretends to be a site and answers in every wrong way: `python lying_site.py SCHEMA`, a JSON file.

The first part of the address is the name of the lie: http://127.0.0.1:port/negative.
"""

from __future__ import annotations

import json
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

SCHEMA = json.loads(Path(sys.argv[1]).read_text())
N_CELLS = sum(
    (len(a["levels"]) if a["levels"] is not None else len(a["cuts"]) + 1) + 1 for a in SCHEMA["attributes"]
) * len(SCHEMA["classes"])
ATTRIBUTE = {"name": "a", "levels": ["x", "y"], "cuts": None}


def counts(*first: Any) -> str:
    return json.dumps({"answers": [[*first, *[3] * (N_CELLS - len(first))]]})


LIES = {
    "honest": counts(),
    "negative": counts(-2),
    "fraction": counts(0.5),
    "not_a_number": counts().replace("3", "NaN", 1),
    "infinite": counts().replace("3", "1e999", 1),
    "truth": counts(True),
    "word": counts("3"),
    "null": counts(None),
    "above_int64": counts(10**30),
    "above_2_53": counts(2**60),
    "thousand_digits": counts().replace("3", "9" * 5000, 1),
    "too_few": json.dumps({"answers": [[3] * (N_CELLS - 1)]}),
    "too_many": json.dumps({"answers": [[3] * (N_CELLS + 1)]}),
    "nested": json.dumps({"answers": [[[3]] * N_CELLS]}),
    "no_answers": json.dumps({"answers": []}),
    "list": "[]",
    "deep": "[" * 100_000,
    "page": "<html></html>",
    "nothing": "",
}
SCHEMAS = {
    "twice": {"attributes": [ATTRIBUTE, ATTRIBUTE], "target": "t", "classes": [0, 1]},
    "both": {"attributes": [{**ATTRIBUTE, "cuts": [1.0]}], "target": "t", "classes": [0, 1]},
    "huge_cut": {"attributes": [{"name": "a", "levels": None, "cuts": [10**400]}], "target": "t", "classes": [0, 1]},
    "falling": {"attributes": [{"name": "a", "levels": None, "cuts": [2.0, 1.0]}], "target": "t", "classes": [0, 1]},
    "empty": {"attributes": [], "target": "t", "classes": [0, 1]},
    "number": 7,
}


class Handler(BaseHTTPRequestHandler):
    """Tells the lie of the address."""

    def do_GET(self) -> None:
        name = self.path.split("/")[1].removeprefix("schema_")
        self._send(json.dumps({"schema": SCHEMAS.get(name, SCHEMA), "secure": None}))

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        name = self.path.split("/")[1]
        if name == "huge":
            self._send_in_pieces(b"3, " * 100_000, 0.0)
        elif name == "drip":
            self._send_in_pieces(b" ", 0.05)
        elif name == "cut_off":
            self._send(counts()[:50], size=len(counts()))
        elif name == "wait":
            self._send("{}", status=429, headers={"Retry-After": "nan"})
        elif name == "kind":
            self._send(json.dumps({"error": ["no"], "kind": {"a": 1}}), status=403)
        else:
            self._send(LIES[name])

    def _send_in_pieces(self, piece: bytes, pause: float) -> None:
        self.send_response(200)
        self.end_headers()
        for _ in range(2000):
            self.wfile.write(piece)
            self.wfile.flush()
            time.sleep(pause)

    def _send(self, text: str, status: int = 200, size: int | None = None, headers: Any = None) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(text) if size is None else size))
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, format: str, *args: Any) -> None:
        """Print nothing."""


class Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Print nothing: clients break off."""


if __name__ == "__main__":
    server = Server(("127.0.0.1", 0), Handler)
    print(server.server_port, flush=True)
    server.serve_forever()
