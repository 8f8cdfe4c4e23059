"""A request that a site does not answer."""

from __future__ import annotations


class Refusal(Exception):
    """A request that is not answered: the HTTP status, a reason for the client, and further fields of the answer."""

    def __init__(self, status: int, reason: str, kind: str = "", wait: float = 0.0) -> None:
        super().__init__(reason)
        self.status, self.kind, self.wait = status, kind, wait
