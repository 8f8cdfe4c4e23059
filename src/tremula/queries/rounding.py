"""Rounds counts to multiples: to the nearest one, or up and down at random, as a secret key decides for each cell.

The same cell is rounded in the same way for ever, in any process and by any question.
"""

from __future__ import annotations

import hmac
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tremula.queries.question import Path, Question, Schema, narrow


def round_answer(
    schema: Schema, question: Question, answer: NDArray[Any], known: NDArray[np.bool_], step: int, key: bytes | None
) -> None:
    """Round the known counts of an answer to multiples of `step`, in place."""
    if schema.classes is not None:
        if key is None:
            answer[known] = (answer[known] + step // 2) // step * step
            return
        draws = _draws(schema, question, answer, known, key)
        answer[known] = np.floor(answer[known] / step + draws).astype(np.int64) * step
        return
    counts = answer[..., 0].copy()
    draws = np.full(counts.shape, 0.5)
    if key is not None:
        has_rows = counts > 0
        draws[has_rows] = _draws(schema, question, counts[..., None], has_rows[..., None], key)
    rounded = np.floor(counts / step + draws) * step
    # Sums are scaled with their counts, which keeps the means.
    answer *= np.where(counts > 0, rounded / np.maximum(counts, 1), 0.0)[..., None]


def _draws(
    schema: Schema, question: Question, answer: NDArray[Any], known: NDArray[np.bool_], key: bytes
) -> NDArray[np.float64]:
    """Return a number from 0 to 1 for each known cell: a count is rounded up with the share that it is beyond."""
    draws = []
    for *place, output in np.argwhere(known).tolist():
        path = question.path
        if question.joint:
            for attribute, value in zip(question.attributes, place):
                path = narrow(path, attribute, value, value)
        else:
            attribute = int(np.searchsorted(schema.starts, place[0], side="right")) - 1
            value = place[0] - int(schema.starts[attribute])
            path = narrow(path, attribute, value, value)
        draws.append(_draw(key, path, output))
    return np.array(draws)


def _draw(key: bytes, path: Path, output: int) -> float:
    message = repr(([tuple(condition) for condition in path], output)).encode()
    return int.from_bytes(hmac.digest(key, message, "sha256")[:8], "big") / 2**64
