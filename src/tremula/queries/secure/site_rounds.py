"""The part of a site in secure aggregation: it masks its counts, and helps to remove the masks of a sum only.

A round adds up one batch of counts in three requests. In the first, the site draws a key pair and a seed, and divides
both secrets among the sites of its group. In the second it gets the public keys of the others and sends its counts plus
the mask of its seed plus or minus a mask that it shares with each other site; the latter cancel in the sum. In the
third it gives away, for each site, a share of the seed if the site's counts are in the sum, and a share of the private
key otherwise. Never both: together they would unmask the site. No round uses a secret of another one.
"""

from __future__ import annotations

import base64
import hashlib
import json
import secrets
from collections.abc import Callable
from dataclasses import dataclass, field
from threading import Lock
from typing import Any

from numpy.typing import NDArray

from tremula.errors import InvalidInput, QueryFailed
from tremula.queries.question import Question, Schema
from tremula.queries.remote.messages import ImpossibleQuestions, digest, read_questions, read_schema
from tremula.queries.remote.refusal import Refusal
from tremula.queries.secure.group import Group, own_key
from tremula.queries.secure.masks import (
    agreed_key,
    commitment,
    derived_key,
    mask_words,
    new_private_key,
    pair_mask,
    public_key,
    seal,
    unseal,
)
from tremula.queries.secure.messages import ROUND, WORD, check_keys, check_message, check_peers
from tremula.queries.secure.shares import SECRET_BYTES, SHARE_BYTES, share_secret
from tremula.queries.secure.words import as_words
from tremula.queries.site_schemas import SiteCodes

KEPT_ROUNDS = 4
KEPT_SCHEMAS = 8
NONCE_BYTES = 12
SELF_MASK, PAIR_MASK = b"self mask ", b"pair mask "


@dataclass
class _Round:
    """The secrets of a site in one round, what it received, and the replies that it gave."""

    private: bytes = field(default_factory=new_private_key)
    seed: bytes = field(default_factory=lambda: secrets.token_bytes(SECRET_BYTES))
    shares: dict[bytes, tuple[bytes, bytes]] = field(default_factory=dict)  # of the private key and the seed, by site
    replies: dict[str, tuple[str, dict[str, Any]]] = field(default_factory=dict)
    lock: Lock = field(default_factory=Lock)


class SiteRounds:
    """Answers the requests of secure aggregation for one site.

    Parameters
    ----------
    schema : Schema
        Of the site's own table.
    group : Group
    private : bytes
        The private key of the site.
    """

    def __init__(self, schema: Schema, group: Group, private: bytes) -> None:
        if schema.classes is None:
            raise InvalidInput(
                "masked sums are of whole numbers, but the target has no classes: give task='classification', or serve "
                "the table without a group"
            )
        self._schema, self._group, self._private = schema, group, private
        self._key = own_key(group, private)
        self._codes: dict[str, tuple[Schema, SiteCodes]] = {}
        self._rounds: dict[str, _Round] = {}
        self._lock = Lock()

    def describe(self) -> dict[str, Any]:
        """Return what a coordinator must know: the keys, and how many sites a sum may lack."""
        return {
            "key": self._key.hex(),
            "group": [key.hex() for key in self._group.keys],
            "missing": self._group.missing,
        }

    def answer_schema(self, message: Any) -> dict[str, Any]:
        """Learn the schema of all sites together, in whose value numbers the sums are."""
        check_message(message, {"site": WORD, "schema": None})
        if message["site"] != digest(self._schema):
            raise Refusal(409, "the schema is another one")
        try:
            merged = read_schema(message["schema"])
            codes = SiteCodes(self._schema, merged)
            if [a.name for a in merged.attributes] != [a.name for a in self._schema.attributes]:
                raise ValueError("other attributes")
            if any(own.cuts != all_.cuts for own, all_ in zip(self._schema.attributes, merged.attributes)):
                raise ValueError("other cuts")
        except (QueryFailed, LookupError, TypeError, ValueError) as error:
            raise Refusal(422, f"the schema does not cover that of the site: {error}") from error
        with self._lock:
            self._codes[digest(merged)] = merged, codes
            _forget(self._codes, KEPT_SCHEMAS)
        return {"schema": digest(merged)}

    def answer_keys(self, message: Any) -> dict[str, Any]:
        """First request of a round: draw its secrets, and return their shares, sealed for each site."""
        check_message(message, {"round": ROUND, "schema": WORD})
        with self._lock:
            if message["schema"] not in self._codes:
                raise Refusal(409, "the schema of all sites is not known here: send it first", "SchemaUnknown")
            current = self._rounds.setdefault(message["round"], _Round())
            _forget(self._rounds, KEPT_ROUNDS)
        return self._once(current, "keys", message, lambda: self._sealed_shares(message["round"], current))

    def _sealed_shares(self, name: str, current: _Round) -> dict[str, Any]:
        group = self._group
        halves = [share_secret(secret, group.threshold, len(group.keys)) for secret in (current.private, current.seed)]
        public, bound = public_key(current.private), commitment(current.seed)
        sealed = {}
        for peer, of_private, of_seed in zip(group.keys, *halves):
            if peer == self._key:
                current.shares[peer] = of_private, of_seed
                continue
            nonce = secrets.token_bytes(NONCE_BYTES)
            context = _share_context(name, self._key, peer, public, bound)
            key = agreed_key(self._private, peer, b"shares " + context)
            sealed[peer.hex()] = (nonce + seal(key, nonce, of_private + of_seed, context)).hex()
        return {"public": public.hex(), "commitment": bound.hex(), "shares": sealed}

    def answer_counts(self, message: Any, count: Callable[[list[Question]], list[NDArray[Any]]]) -> dict[str, Any]:
        """Second request: check what the other sites sent, and return the counts under all masks."""
        check_message(message, {"round": ROUND, "schema": WORD, "questions": None, "peers": None})
        check_peers(message["peers"])
        return self._once(
            self._round(message), "counts", message, lambda: self._masked(self._round(message), message, count)
        )

    def _masked(
        self, current: _Round, message: Any, count: Callable[[list[Question]], list[NDArray[Any]]]
    ) -> dict[str, Any]:
        if message["schema"] not in self._codes:
            raise Refusal(409, "the schema of all sites is not known here: send it first", "SchemaUnknown")
        merged, codes = self._codes[message["schema"]]
        try:
            questions = read_questions(merged, message["questions"])
        except InvalidInput as error:
            raise Refusal(422 if isinstance(error, ImpossibleQuestions) else 400, str(error)) from error
        publics = self._open_shares(current, message)
        words = as_words(merged, codes, questions, count)
        context = mask_context(message)
        words += mask_words(derived_key(current.seed, SELF_MASK + context), len(words))
        for peer, public in publics.items():
            key = agreed_key(current.private, public, PAIR_MASK + context)
            words += pair_mask(self._key, peer, key, len(words))
        return {"masked": base64.b64encode(words.astype("<u8").tobytes()).decode()}

    def _open_shares(self, current: _Round, message: Any) -> dict[bytes, bytes]:
        """Keep the shares that the other sites sent to this one, and return their public keys of the round."""
        peers = {_hex(key): peer for key, peer in message["peers"].items()}
        own = peers.pop(self._key, None)
        expected = public_key(current.private).hex(), commitment(current.seed).hex()
        if own is None or (own["public"], own["commitment"]) != expected:
            raise Refusal(422, "this site is not among the sites, or its keys were changed on their way")
        self._check_sites([self._key, *peers])
        for peer, sent in peers.items():
            public, sealed = _hex(sent["public"]), _hex(sent["share"])
            context = _share_context(message["round"], peer, self._key, public, _hex(sent["commitment"]))
            try:
                key = agreed_key(self._private, peer, b"shares " + context)
                text = unseal(key, sealed[:NONCE_BYTES], sealed[NONCE_BYTES:], context)
            except ValueError as error:
                raise Refusal(422, f"what site {peer.hex()} sent was changed on its way") from error
            current.shares[peer] = text[:SHARE_BYTES], text[SHARE_BYTES:]
        return {peer: _hex(sent["public"]) for peer, sent in peers.items()}

    def answer_shares(self, message: Any) -> dict[str, Any]:
        """Third request: give away shares that remove the masks of the sum over the sites named."""
        check_message(message, {"round": ROUND, "included": None})
        check_keys(message["included"])
        current = self._round(message)
        return self._once(current, "shares", message, lambda: self._shares_of(current, message))

    def _shares_of(self, current: _Round, message: Any) -> dict[str, Any]:
        if "counts" not in current.replies:
            raise Refusal(422, "shares are given away after the masked counts")
        included = [_hex(key) for key in message["included"]]
        self._check_sites(included)
        if not set(included) <= set(current.shares):
            raise Refusal(422, "a site is in the sum that did not take part")
        shares = {
            key.hex(): (of_seed if key in included else of_private).hex()
            for key, (of_private, of_seed) in current.shares.items()
        }
        return {"shares": shares}

    def _check_sites(self, keys: list[bytes]) -> None:
        if len(set(keys)) < len(keys) or not set(keys) <= set(self._group.keys):
            raise Refusal(422, "the sites must be different ones of the group")
        n_missing = len(self._group.keys) - len(keys)
        if n_missing > self._group.missing:
            raise Refusal(
                403,
                f"a sum of {len(keys)} of {len(self._group.keys)} sites was asked for, and "
                f"{self._group.missing or 'none'} may be missing",
                "QueryRefused",
            )

    def _round(self, message: Any) -> _Round:
        with self._lock:
            current = self._rounds.get(message["round"])
        if current is None:
            raise Refusal(409, "the round is not known here: begin another one", "RoundLost")
        return current

    @staticmethod
    def _once(current: _Round, step: str, message: Any, answer: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        """Answer a step of a round once: the same request gets the same reply, another one is refused.

        Two different batches under one mask would give away their difference.
        """
        request = hashlib.sha256(json.dumps(message, sort_keys=True).encode()).hexdigest()
        with current.lock:
            if step not in current.replies:
                current.replies[step] = request, answer()
            known, reply = current.replies[step]
        if known != request:
            raise Refusal(409, "the round was asked for something else before: begin another one", "RoundLost")
        return reply


def mask_context(message: Any) -> bytes:
    """Return a word for all that the sites of a round must agree on; masks of sites that do not agree do not cancel."""
    sites = {key: [peer["public"], peer["commitment"]] for key, peer in message["peers"].items()}
    text = json.dumps([message["round"], message["schema"], message["questions"], sites], sort_keys=True)
    return hashlib.sha256(text.encode()).digest()


def _share_context(name: str, sender: bytes, receiver: bytes, public: bytes, bound: bytes) -> bytes:
    return b"|".join((name.encode(), sender, receiver, public, bound))


def _hex(text: str) -> bytes:
    return bytes.fromhex(text)


def _forget(kept: dict[str, Any], n_kept: int) -> None:
    """Remove the oldest entries."""
    while len(kept) > n_kept:
        del kept[next(iter(kept))]
