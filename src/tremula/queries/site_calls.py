"""Calls to several sites at the same time, in threads that do not keep the program running."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from threading import Thread
from typing import TypeVar

Reply = TypeVar("Reply")


def start_call(call: Callable[[], Reply]) -> Future[Reply]:
    """Call a function in a daemon thread, so that a site that never answers does not keep the program running."""
    pending: Future[Reply] = Future()

    def run() -> None:
        try:
            pending.set_result(call())
        except BaseException as error:
            pending.set_exception(error)

    Thread(target=run, daemon=True).start()
    return pending


def call_sites(
    calls: Mapping[int, Callable[[], Reply]], timeout: float | None
) -> tuple[dict[int, Reply], dict[int, Exception]]:
    """Call the functions of all sites; return what they return, and the errors of the others.

    Parameters
    ----------
    calls : mapping
        Functions by number of the site.
    timeout : float or None
        Seconds after which a site is late, which is a TimeoutError.
    """
    deadline = None if timeout is None else time.monotonic() + timeout
    pending = {site: start_call(call) for site, call in calls.items()}
    replies: dict[int, Reply] = {}
    errors: dict[int, Exception] = {}
    for site, reply in pending.items():
        try:
            replies[site] = reply.result(None if deadline is None else max(deadline - time.monotonic(), 0.0))
        except Exception as error:
            errors[site] = error
    return replies, errors
