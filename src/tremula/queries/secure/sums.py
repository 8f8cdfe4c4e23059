"""The part of the coordinator in secure aggregation: it carries messages between sites and learns their sums only.

A site that stops after it sent its masked counts is still in the sum: the others give away its shares. A site that
stopped before is missing from the sum, if all others allow it.
"""

from __future__ import annotations

import base64
import secrets
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tremula.errors import BudgetExhausted, InvalidInput, QueryFailed, TremulaError
from tremula.queries.question import Question, Schema, joint_shape
from tremula.queries.remote.client import RemoteOracle, RoundLost, SchemaUnknown
from tremula.queries.remote.messages import MAX_COUNT, cells_asked, digest, write_question, write_schema
from tremula.queries.remote.refusal import Refusal
from tremula.queries.secure.group import Group
from tremula.queries.secure.masks import Words, agreed_key, commitment, derived_key, mask_words, pair_mask, public_key
from tremula.queries.secure.messages import KEY, SEALED, check_keys, check_message
from tremula.queries.secure.shares import SHARE_BYTES, join_shares
from tremula.queries.secure.site_rounds import PAIR_MASK, SELF_MASK, mask_context
from tremula.queries.site_calls import call_sites

MAX_STARTS = 3  # of a round that a site has lost
WORD_BYTES = 8
SHARE = rf"[0-9a-f]{{{2 * SHARE_BYTES}}}"
Fail = Callable[[int, Exception], None]  # raises an error, or leaves a site out


class SecureSums:
    """Sums of the counts of a group of sites.

    Parameters
    ----------
    sites : sequence of RemoteOracle
    schema : Schema
        Of all sites together.
    """

    def __init__(self, sites: Sequence[Any], schema: Schema) -> None:
        if schema.classes is None:
            raise InvalidInput("masked sums are of whole numbers, but the target has no classes: give secure=False")
        self._sites, self._schema = list(sites), schema
        self._keys = [_key_of(number, site) for number, site in enumerate(sites)]
        groups = {tuple(site.secure["group"]) for site in sites}
        if len(groups) > 1:
            raise InvalidInput("the sites are not in the same group: start all with the same file of keys")
        self._group = Group(tuple(bytes.fromhex(key) for key in groups.pop()))
        if set(self._keys) != set(self._group.keys) or len(self._keys) > len(self._group.keys):
            raise InvalidInput(
                f"{len(self._keys)} sites were given, and their group has {len(self._group.keys)}: give every site of "
                "the group once"
            )
        self._message = {"schema": write_schema(schema)}
        self._digest = digest(schema)

    def add_up(
        self, questions: Sequence[Question], working: Sequence[int], timeout: float | None, fail: Fail
    ) -> list[NDArray[Any]]:
        """Return the sums over the working sites, or over those that are left after `fail` left some out."""
        for _ in range(MAX_STARTS):
            try:
                return self._answers(questions, self._round(questions, list(working), timeout, fail))
            except RoundLost as error:
                lost = error
        raise QueryFailed(f"a site was started again {MAX_STARTS} times during one batch of questions") from lost

    def _round(self, questions: Sequence[Question], working: list[int], timeout: float | None, fail: Fail) -> Words:
        """Carry the messages of one round, and return the sum without masks."""
        name = secrets.token_hex(16)
        n_words = sum(cells_asked(self._schema, question) for question in questions)
        written = [write_question(question) for question in questions]
        keys, errors = call_sites({site: partial(self._ask_keys, site, name) for site in working}, timeout)
        self._handle(errors, len(keys), fail)
        messages = {site: self._counts_message(name, written, keys, site) for site in keys}
        calls = {site: partial(self._ask_counts, site, message, n_words) for site, message in messages.items()}
        masked, errors = call_sites(calls, timeout)
        self._handle(errors, len(masked), fail)
        request = {"round": name, "included": [self._keys[site].hex() for site in masked]}
        shares, errors = call_sites({site: partial(self._ask_shares, site, request) for site in masked}, timeout)
        if len(shares) < self._group.threshold:
            self._handle(errors, len(shares), fail)
        return self._unmask(keys, masked, shares, mask_context(next(iter(messages.values()))))

    def _unmask(
        self, keys: dict[int, Any], masked: dict[int, Words], shares: dict[int, dict[str, Any]], context: bytes
    ) -> Words:
        """Add up masked counts, and subtract the masks that do not cancel."""
        total = np.zeros_like(next(iter(masked.values())))
        for site, words in masked.items():
            seed = self._join(site, shares, lambda secret: commitment(secret).hex(), keys[site]["commitment"])
            total += words
            total -= mask_words(derived_key(seed, SELF_MASK + context), len(words))
        for site in set(keys) - set(masked):  # what the sites in the sum added for a site that is not
            private = self._join(site, shares, lambda secret: public_key(secret).hex(), keys[site]["public"])
            for other in masked:
                key = agreed_key(private, bytes.fromhex(keys[other]["public"]), PAIR_MASK + context)
                total -= pair_mask(self._keys[other], self._keys[site], key, len(total))
        return total

    def _handle(self, errors: dict[int, Exception], n_left: int, fail: Fail) -> None:
        """Raise an error if the sum would lack too many sites; otherwise report the errors to `fail`."""
        for site, error in errors.items():
            if isinstance(error, RoundLost):
                raise error
            if isinstance(error, BudgetExhausted) or not isinstance(error, (TremulaError, OSError)):
                fail(site, error)
        allowed = min(site.secure["missing"] for site in self._sites)
        for site, error in errors.items():
            if len(self._sites) - n_left > allowed:
                reason = str(error) or "it has not answered in time"
                raise QueryFailed(
                    f"site {site} failed: {reason}; a sum may lack {allowed or 'none'} of the {len(self._sites)} "
                    "sites. Repair the site and call fit again with this oracle: earlier sums are kept"
                ) from error
            fail(site, error)

    def _ask_keys(self, site: int, name: str) -> dict[str, Any]:
        message = {"round": name, "schema": self._digest}
        oracle: RemoteOracle = self._sites[site]
        try:
            reply = oracle.ask("/secure/keys", message)
        except SchemaUnknown:
            oracle.ask("/secure/schema", {**self._message, "site": oracle.schema_digest})
            reply = oracle.ask("/secure/keys", message)
        return _checked(reply, {"public": KEY, "commitment": KEY}, SEALED, len(self._keys) - 1, oracle)

    def _counts_message(self, name: str, written: list[Any], keys: dict[int, Any], site: int) -> dict[str, Any]:
        own = self._keys[site].hex()
        peers = {
            self._keys[other].hex(): {
                "public": sent["public"],
                "commitment": sent["commitment"],
                "share": sent["shares"].get(own, ""),
            }
            for other, sent in keys.items()
        }
        return {"round": name, "schema": self._digest, "questions": written, "peers": peers}

    def _ask_counts(self, site: int, message: dict[str, Any], n_words: int) -> Words:
        oracle: RemoteOracle = self._sites[site]
        try:
            reply = oracle.ask("/secure/counts", message, 1_000_000 + 2 * WORD_BYTES * n_words)
        except SchemaUnknown as error:
            raise RoundLost(str(error)) from error
        try:
            words = base64.b64decode(reply["masked"], validate=True)
        except (KeyError, TypeError, ValueError):
            words = b"?"
        if len(words) != WORD_BYTES * n_words:
            raise QueryFailed(f"site {oracle.address} did not send {n_words} masked counts: do not trust it")
        return np.frombuffer(words, dtype="<u8").astype(np.uint64)

    def _ask_shares(self, site: int, request: dict[str, Any]) -> dict[str, Any]:
        oracle: RemoteOracle = self._sites[site]
        reply = oracle.ask("/secure/shares", request)
        shares: dict[str, Any] = _checked(reply, {}, SHARE, len(self._keys), oracle)["shares"]
        return shares

    def _join(
        self, site: int, shares: dict[int, dict[str, Any]], check: Callable[[bytes], str], expected: str
    ) -> bytes:
        """Return the secret of a site from the shares that the others gave; raise an error if it is another one."""
        key = self._keys[site].hex()
        numbered = {
            self._group.number(self._keys[giver]): bytes.fromhex(given[key])
            for giver, given in sorted(shares.items())
            if key in given
        }
        try:
            secret = join_shares(dict(list(numbered.items())[: self._group.threshold]))
            is_right = len(numbered) >= self._group.threshold and check(secret) == expected
        except ValueError:
            is_right = False
        if not is_right:
            raise QueryFailed(
                f"the shares for site {self._sites[site].address} do not belong together: a site gave a wrong one, or "
                "it was changed on its way. Do not trust the sum"
            )
        return secret

    def _answers(self, questions: Sequence[Question], total: Words) -> list[NDArray[Any]]:
        if (total > MAX_COUNT).any():
            raise QueryFailed(
                "the sum of the sites is no count: a site masked something else than the others, or an answer was "
                "changed on its way. Do not trust it"
            )
        answers, start = [], 0
        for question in questions:
            size = cells_asked(self._schema, question)
            cells = total[start : start + size].astype(np.int64)
            answers.append(self._answer(question, cells))
            start += size
        return answers

    def _answer(self, question: Question, cells: NDArray[np.int64]) -> NDArray[Any]:
        if question.joint:
            return cells.reshape(joint_shape(self._schema, question.attributes))
        answer, start = self._schema.empty_answer(), 0
        rows = cells.reshape(-1, self._schema.n_outputs)
        for attribute in question.attributes:
            size = self._schema.attributes[attribute].n_values + 1
            answer[self._schema.cells(attribute)] = rows[start : start + size]
            start += size
        return answer


def _key_of(number: int, site: Any) -> bytes:
    """Return the public key of a site; raise an error if it does not take part in masked sums."""
    if not isinstance(site, RemoteOracle) or site.secure is None:
        raise InvalidInput(
            f"site {number} does not give masked counts: start it by `tremula serve --group ... --group-key ...`"
        )
    described = site.secure
    try:
        check_message(described, {"key": KEY, "group": None, "missing": None})
        check_keys(described["group"])
        if type(described["missing"]) is not int:
            raise ValueError("no number of sites")
    except (Refusal, TypeError, ValueError) as error:
        raise QueryFailed(f"site {site.address} sent no keys of its group: do not trust it") from error
    return bytes.fromhex(described["key"])


def _checked(reply: Any, fields: dict[str, str], share: str, n_shares: int, oracle: RemoteOracle) -> dict[str, Any]:
    try:
        check_message(reply, {**fields, "shares": None})
        check_message(reply["shares"], dict.fromkeys(reply["shares"], share))
        if len(reply["shares"]) > n_shares:
            raise Refusal(400, "too many shares")
    except (Refusal, TypeError) as refusal:
        raise QueryFailed(
            f"site {oracle.address} sent something else than keys and shares: do not trust it"
        ) from refusal
    checked: dict[str, Any] = reply
    return checked
