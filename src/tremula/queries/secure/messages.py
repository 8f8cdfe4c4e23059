"""Checks of the requests of secure aggregation, before they are used."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from tremula.queries.remote.refusal import Refusal
from tremula.queries.secure.shares import SHARE_BYTES

ROUND = r"[0-9a-f]{32}"
WORD = r"[0-9a-f]{16}"
KEY = r"[0-9a-f]{64}"
SEALED = rf"[0-9a-f]{{{2 * (12 + 2 * SHARE_BYTES + 16)}}}"  # nonce, two shares and the checksum
PEER = {"public": KEY, "commitment": KEY, "share": f"({SEALED})?"}  # no site seals a share for itself


def check_message(message: Any, fields: Mapping[str, str | None]) -> None:
    """Refuse a message that lacks a field, or whose text does not match its pattern."""
    if not isinstance(message, dict) or not set(fields) <= set(message):
        raise Refusal(400, f"a request must be an object with {', '.join(fields)}")
    for name, pattern in fields.items():
        if pattern is not None and not _matches(pattern, message[name]):
            raise Refusal(400, f"{name} must match {pattern}")


def check_keys(keys: Any) -> None:
    """Refuse anything but a list of keys of sites."""
    if not isinstance(keys, list) or not all(_matches(KEY, key) for key in keys):
        raise Refusal(400, f"included must be a list of keys that match {KEY}")


def check_peers(peers: Any) -> None:
    """Refuse anything but the public keys, commitments and sealed shares of sites, by their keys."""
    if not isinstance(peers, dict) or not all(_matches(KEY, key) for key in peers):
        raise Refusal(400, f"peers must be an object whose names match {KEY}")
    for peer in peers.values():
        check_message(peer, PEER)


def _matches(pattern: str, text: Any) -> bool:
    return isinstance(text, str) and re.fullmatch(pattern, text) is not None
