"""Secure aggregation: the coordinator gets the sums, exactly; single answers are masked; sites may stop on the way."""

from __future__ import annotations

import base64
import stat
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import tremula as tm
from tremula.errors import InvalidInput, MissingLibrary, QueryFailed, QueryRefused
from tremula.queries import ArrayOracle, FederatedOracle, GuardedOracle, ItemsetOracle, Question, RemoteOracle, connect
from tremula.queries.question import narrow
from tremula.queries.remote.site import Site
from tremula.queries.secure.group import Group, read_group, read_group_key
from tremula.queries.secure.masks import agreed_key, derived_key, mask_words, new_private_key, pair_mask, public_key
from tremula.queries.secure.shares import PRIME, SHARE_BYTES, join_shares, share_secret
from tremula.queries.secure.site_rounds import SELF_MASK, mask_context

from .tables import NOMINAL, ask, random_paths, random_table
from .test_remote import ALL, Running, cuts, in_memory, rows, same

Change = Callable[[str, Any], Any]


@contextmanager
def group_of(tables: Sequence[Any], missing: int = 0) -> Iterator[list[Running]]:
    """Servers of sites in one group, each with an oracle."""
    privates = [new_private_key() for _ in tables]
    group = Group(tuple(sorted(map(public_key, privates))), missing)
    running = [Running(Site(oracle, group=group, group_key=key)) for oracle, key in zip(tables, privates)]
    try:
        yield running
    finally:
        for server in running:
            server.stop()


def parts(n_sites: int) -> list[pd.DataFrame]:
    return [rows().iloc[number::n_sites] for number in range(n_sites)]


def connected(running: Sequence[Running]) -> list[RemoteOracle]:
    return [connect(server.url, retries=0) for server in running]  # type: ignore[misc]


@pytest.fixture(scope="module")
def three() -> Iterator[list[Running]]:
    """Three sites of a group with all rows, for tests that do not stop them."""
    with group_of([in_memory(part) for part in parts(3)]) as running:
        yield running


def watch(oracle: RemoteOracle, change: Change) -> None:
    """Let a function see, and change, each request to a site before it is sent."""
    send = oracle.ask
    oracle.ask = lambda path, message, *limit: send(path, change(path, message), *limit)  # type: ignore[method-assign]


def keep_replies(oracle: RemoteOracle, kept: list[tuple[str, Any]]) -> None:
    send = oracle.ask

    def keep(path: str, message: Any, *limit: int) -> Any:
        reply = send(path, message, *limit)
        kept.append((path, reply))
        return reply

    oracle.ask = keep  # type: ignore[method-assign]


# --- arithmetic ---


@pytest.mark.parametrize(("threshold", "n_shares"), [(1, 3), (2, 3), (4, 6)])
def test_enough_shares_give_the_secret_and_fewer_do_not(threshold: int, n_shares: int) -> None:
    random = np.random.default_rng(threshold)
    secret = random.bytes(32)
    shares = share_secret(secret, threshold, n_shares)
    for _ in range(10):
        numbers = (random.permutation(n_shares)[:threshold] + 1).tolist()
        assert join_shares({number: shares[number - 1] for number in numbers}) == secret
    if threshold > 1:
        with pytest.raises(ValueError, match="do not belong together"):
            join_shares({number: shares[number - 1] for number in range(1, threshold)})


def test_shares_of_one_secret_differ_each_time() -> None:
    first, second = (share_secret(bytes(32), 2, 3) for _ in range(2))
    assert all(a != b for a, b in zip(first, second))
    assert len(first[0]) == SHARE_BYTES
    assert all(int.from_bytes(share, "big") < PRIME for share in first)


def test_masks_of_two_sites_cancel() -> None:
    privates = [new_private_key() for _ in range(2)]
    publics = [public_key(private) for private in privates]
    keys = [agreed_key(privates[number], publics[1 - number], b"test") for number in range(2)]
    assert keys[0] == keys[1] != agreed_key(privates[0], publics[1], b"another purpose")
    masks = [pair_mask(publics[number], publics[1 - number], keys[number], 50) for number in range(2)]
    assert (masks[0] + masks[1] == 0).all()
    assert (masks[0] != 0).all()
    assert (mask_words(keys[0], 50)[:20] == mask_words(keys[0], 20)).all()


# --- sums ---


@pytest.mark.parametrize("n_sites", [3, 5, pytest.param(20, marks=pytest.mark.slow)])
def test_sums_and_the_model_are_those_of_the_pooled_rows(n_sites: int) -> None:
    tables = [in_memory(part) for part in parts(n_sites)]
    union = in_memory(rows())
    questions = ask(union.schema, random_paths(union.schema, 0, 12), 0)
    with group_of(tables) as running:
        federated = FederatedOracle(connected(running), secure=True, timeout=30)
        for ours, expected in zip(federated.count(questions), union.count(questions), strict=True):
            np.testing.assert_array_equal(ours, expected)
        model = tm.SimulatedBaggingClassifier(4, max_depth=3, random_state=0).fit(federated)
    plain = tm.SimulatedBaggingClassifier(4, max_depth=3, random_state=0).fit(FederatedOracle(tables))
    assert same(model, plain)
    assert same(model, tm.SimulatedBaggingClassifier(4, max_depth=3, random_state=0).fit(union))


def test_sites_with_other_levels_and_classes() -> None:
    tables = [
        ArrayOracle([["b"], ["d"]], ["no", "yes"], categorical_features="all"),
        ArrayOracle([["c"], ["a"]], ["maybe", "yes"], categorical_features="all"),
        ArrayOracle([["a"], ["d"]], ["yes", "no"], categorical_features="all"),
    ]
    questions = [Question((), (0,)), Question(narrow((), 0, 0, 0), (0,)), Question((), (0,), joint=True)]
    with group_of(tables) as running:
        secure = FederatedOracle(connected(running), secure=True).count(questions)
    for ours, expected in zip(secure, FederatedOracle(tables).count(questions), strict=True):
        np.testing.assert_array_equal(ours, expected)
    assert secure[0].tolist() == [[0, 0, 2], [0, 1, 0], [1, 0, 0], [0, 1, 1], [0, 0, 0]]


def test_what_a_guard_withholds_is_not_in_the_sum() -> None:
    tables = [GuardedOracle(in_memory(part), min_count=20) for part in parts(3)]
    again = [GuardedOracle(in_memory(part), min_count=20) for part in parts(3)]
    with group_of(tables) as running:
        secure = FederatedOracle(connected(running), secure=True).count([ALL])[0]
    np.testing.assert_array_equal(secure, FederatedOracle(again).count([ALL])[0])
    assert (secure != in_memory(rows()).count([ALL])[0]).any()


# --- what is on the wire ---


def test_single_answers_are_masked_on_the_wire() -> None:
    """All that a site sends in two rounds of the same questions: its words are uniform, and nothing repeats."""
    tables = [in_memory(part) for part in parts(3)]
    questions = ask(tables[0].schema, random_paths(tables[0].schema, 0, 60), 0)
    kept: list[tuple[str, Any]] = []
    with group_of(tables) as running:
        for _ in range(2):
            oracles = connected(running)
            keep_replies(oracles[0], kept)
            FederatedOracle(oracles, secure=True).count(questions)
    first, second = (base64.b64decode(reply["masked"]) for path, reply in kept if path == "/secure/counts")
    words = np.frombuffer(first, dtype="<u8")
    assert len(words) > 2000
    plain = tables[0].count(questions)
    assert words.min() > max(answer.max() for answer in plain), "a count is below 2^20, a mask is not"
    bytes_ = np.frombuffer(first, dtype=np.uint8)
    assert stats.chisquare(np.bincount(bytes_, minlength=256)).pvalue > 1e-6
    plain_bytes = np.concatenate([answer.ravel() for answer in plain]).astype("<u8").view(np.uint8)
    assert stats.chisquare(np.bincount(plain_bytes, minlength=256)).pvalue < 1e-6, "the test can fail"
    assert (words != np.frombuffer(second, dtype="<u8")).all()
    assert {path for path, _ in kept} == {"/secure/schema", "/secure/keys", "/secure/counts", "/secure/shares"}
    shares = [reply["shares"] for path, reply in kept if path == "/secure/shares"]
    assert set(shares[0].values()).isdisjoint(shares[1].values())


def test_what_the_coordinator_knows_of_a_site_is_masked() -> None:
    """Masked answers alone do not give the sum; with the seeds of all sites they give the sum, and no single answer."""
    tables = [in_memory(part) for part in parts(3)]
    requests: list[tuple[str, Any]] = []
    kept: list[list[tuple[str, Any]]] = [[], [], []]
    with group_of(tables) as running:
        oracles = connected(running)
        for oracle, replies in zip(oracles, kept):
            keep_replies(oracle, replies)
        watch(oracles[0], lambda path, message: requests.append((path, message)) or message)  # type: ignore[func-returns-value]
        total = FederatedOracle(oracles, secure=True).count([ALL])[0]
    masked = [np.frombuffer(base64.b64decode(dict(replies)["/secure/counts"]["masked"]), "<u8") for replies in kept]
    assert (sum(masked[1:], masked[0]).reshape(total.shape) != total).all()
    context = mask_context(dict(requests)["/secure/counts"])
    numbers = [oracle.secure["group"].index(oracle.secure["key"]) + 1 for oracle in oracles]
    for oracle, words, table in zip(oracles, masked, tables):
        given = [bytes.fromhex(dict(replies)["/secure/shares"]["shares"][oracle.secure["key"]]) for replies in kept]
        seed = join_shares(dict(list(zip(numbers, given))[:2]))
        without_seed = words - mask_words(derived_key(seed, SELF_MASK + context), len(words))
        assert (without_seed.reshape(total.shape) != table.count([ALL])[0]).all()
        total = total - without_seed.reshape(total.shape).astype(np.int64)
    assert (total == 0).all(), "these are the seeds that the sum needs"


def test_a_site_gives_no_count_of_its_own(three: list[Running]) -> None:
    oracles = connected(three)
    with pytest.raises(QueryRefused, match="gives away sums of its group only"):
        oracles[0].count([ALL])
    with pytest.raises(QueryFailed, match="gives away sums of its group only"):
        FederatedOracle(oracles).count([ALL])


# --- a coordinator that asks for more ---


def test_a_site_masks_one_batch_and_gives_shares_for_one_sum_in_a_round() -> None:
    """Two batches under one mask, or both shares of a site, would give its counts away."""
    requests: list[tuple[str, Any]] = []
    replies: list[tuple[str, Any]] = []
    with group_of([in_memory(part) for part in parts(5)], missing=1) as running:
        oracles = connected(running)
        keep_replies(oracles[0], replies)
        watch(oracles[0], lambda path, message: requests.append((path, message)) or message)  # type: ignore[func-returns-value]
        FederatedOracle(oracles, secure=True).count([ALL])
        again = dict(requests)
        assert oracles[0].ask("/secure/shares", again["/secure/shares"]) == dict(replies)["/secure/shares"]
        other_sum = {**again["/secure/shares"], "included": again["/secure/shares"]["included"][1:]}
        with pytest.raises(QueryFailed, match="asked for something else before"):
            oracles[0].ask("/secure/shares", other_sum)
        with pytest.raises(QueryFailed, match="asked for something else before"):
            oracles[0].ask("/secure/counts", {**again["/secure/counts"], "questions": []})


def assert_refused(running: list[Running], change: Change, words: str) -> None:
    oracles = connected(running)
    watch(oracles[0], change)
    with pytest.raises(QueryFailed, match=words):
        FederatedOracle(oracles, secure=True, timeout=30).count([ALL])


def change_peer(name: str, place: int) -> Change:
    def change(path: str, message: Any) -> Any:
        if path != "/secure/counts":
            return message
        own = next(key for key, peer in message["peers"].items() if peer["share"] == "")
        other = next(key for key in message["peers"] if key != own)
        text = message["peers"][other][name]
        digit = "0" if text[place] != "0" else "1"
        changed = {**message["peers"][other], name: text[:place] + digit + text[place + 1 :]}
        return {**message, "peers": {**message["peers"], other: changed}}

    return change


@pytest.mark.parametrize(("name", "place"), [("public", 3), ("commitment", 0), ("share", 0), ("share", 100)])
def test_keys_and_shares_that_were_changed_on_their_way_are_found_out(
    three: list[Running], name: str, place: int
) -> None:
    assert_refused(three, change_peer(name, place), r"what site \w+ sent was changed on its way")


def test_sites_that_are_asked_different_questions_do_not_give_a_sum(three: list[Running]) -> None:
    other = {"path": [[0, 0, 0]], "attributes": [0, 1, 2, 3], "joint": False, "parent": []}

    def change(path: str, message: Any) -> Any:
        return {**message, "questions": [other]} if path == "/secure/counts" else message

    assert_refused(three, change, "the sum of the sites is no count")


def test_a_site_is_not_left_out_of_a_sum_unless_sites_allow_it() -> None:
    def change(path: str, message: Any) -> Any:
        return {**message, "included": message["included"][:-1]} if path == "/secure/shares" else message

    with group_of([in_memory(part) for part in parts(5)]) as running:
        oracles = connected(running)
        watch(oracles[0], change)
        message = {"round": "0" * 32, "included": [oracles[0].secure["key"]]}
        with pytest.raises(QueryFailed, match="the round is not known here"):
            oracles[0].ask("/secure/shares", message)
        errors: list[Exception] = []
        send = oracles[0].ask

        def keep(path: str, request: Any, *limit: int) -> Any:
            try:
                return send(path, request, *limit)
            except QueryRefused as error:
                errors.append(error)
                raise

        oracles[0].ask = keep  # type: ignore[method-assign]
        FederatedOracle(oracles, secure=True).count([ALL])
    assert "a sum of 4 of 5 sites was asked for, and none may be missing" in str(errors[0])


# --- sites that stop or lie ---


def stop_before(path: str, server: Running) -> Change:
    stopped: list[str] = []

    def change(asked: str, message: Any) -> Any:
        if asked == path and not stopped:
            stopped.append(asked)
            server.stop()
        return message

    return change


def test_a_site_that_stops_after_its_masked_answer_is_in_the_sum() -> None:
    with group_of([in_memory(part) for part in parts(3)]) as running:
        oracles = connected(running)
        watch(oracles[1], stop_before("/secure/shares", running[1]))
        federated = FederatedOracle(oracles, secure=True)
        np.testing.assert_array_equal(federated.count([ALL])[0], in_memory(rows()).count([ALL])[0])
        assert federated.failures == []
        with pytest.raises(QueryFailed, match=r"site 1 failed.*a sum may lack none of the 3 sites"):
            federated.count([Question((), (0,))])
        np.testing.assert_array_equal(federated.count([ALL])[0], in_memory(rows()).count([ALL])[0])


@pytest.mark.parametrize("step", ["/secure/keys", "/secure/counts"])
def test_a_site_that_stops_before_its_answer_is_left_out_if_sites_allow_it(step: str) -> None:
    with group_of([in_memory(part) for part in parts(5)], missing=2) as running:
        oracles = connected(running)
        for number in (1, 3):
            watch(oracles[number], stop_before(step, running[number]))
        federated = FederatedOracle(oracles, secure=True, on_failure="continue")
        rest = in_memory(pd.concat([parts(5)[number] for number in (0, 2, 4)]))
        for _ in range(2):
            np.testing.assert_array_equal(federated.count([ALL])[0], rest.count([ALL])[0])
        question = Question(narrow((), 0, 1, 1), (1, 2))
        np.testing.assert_array_equal(federated.count([question])[0], rest.count([question])[0])
        assert [failure.site for failure in federated.failures] == [1, 3]


def test_a_site_that_stops_is_an_error_by_default_and_the_fit_resumes() -> None:
    tables = [in_memory(part) for part in parts(3)]
    privates = [new_private_key() for _ in tables]
    group = Group(tuple(sorted(map(public_key, privates))))
    sites = [Site(oracle, group=group, group_key=key) for oracle, key in zip(tables, privates)]
    running = [Running(site) for site in sites]
    oracles = connected(running)
    federated = FederatedOracle(oracles, secure=True, on_failure="continue")
    federated.count([ALL])
    running[2].stop()
    n_before = oracles[0].n_requests
    with pytest.raises(QueryFailed, match=r"site 2 failed.*Repair the site and call fit again"):
        tm.SimulatedBaggingClassifier(4, max_depth=3, random_state=0).fit(federated)
    running[2] = Running(Site(tables[2], group=group, group_key=privates[2]), port=running[2].port)
    model = tm.SimulatedBaggingClassifier(4, max_depth=3, random_state=0).fit(federated)
    for server in running:
        server.stop()
    assert oracles[0].n_requests - n_before == 7, "one request failed with the round; two depths took three each"
    assert same(model, tm.SimulatedBaggingClassifier(4, max_depth=3, random_state=0).fit(in_memory(rows())))


def test_a_site_that_forgets_a_round_begins_another_one(three: list[Running]) -> None:
    oracles = connected(three)
    n_forgotten = 0

    def forget(path: str, message: Any) -> Any:
        nonlocal n_forgotten
        if path == "/secure/counts" and n_forgotten < 2:
            n_forgotten += 1
            return {**message, "round": "f" * 32}
        return message

    watch(oracles[0], forget)
    answer = FederatedOracle(oracles, secure=True).count([ALL])[0]
    np.testing.assert_array_equal(answer, in_memory(rows()).count([ALL])[0])
    n_forgotten = -10
    with pytest.raises(QueryFailed, match="was started again 3 times"):
        FederatedOracle(oracles, secure=True).count([ALL])


@pytest.mark.parametrize(
    ("path", "change", "words"),
    [
        ("/secure/counts", lambda reply: {"masked": "AAAA" + reply["masked"][4:]}, "the sum of the sites is no count"),
        ("/secure/counts", lambda reply: {"masked": reply["masked"][:-12]}, "masked counts: do not trust it"),
        ("/secure/counts", lambda reply: {"masked": 7}, "masked counts: do not trust it"),
        ("/secure/counts", lambda reply: {}, "masked counts: do not trust it"),
        ("/secure/keys", lambda reply: {**reply, "public": "xy"}, "something else than keys and shares"),
        ("/secure/keys", lambda reply: {**reply, "shares": None}, "something else than keys and shares"),
        ("/secure/keys", lambda reply: {**reply, "shares": {}}, "was changed on its way"),
        ("/secure/shares", lambda reply: {"shares": dict.fromkeys(reply["shares"], "0" * 132)}, "do not belong"),
    ],
)  # fmt: skip
def test_a_lying_site_is_found_out(three: list[Running], path: str, change: Callable[[Any], Any], words: str) -> None:
    oracles = connected(three)
    send = oracles[0].ask
    oracles[0].ask = lambda asked, *rest: (  # type: ignore[method-assign]
        change(send(asked, *rest)) if asked == path else send(asked, *rest)
    )
    with pytest.raises(QueryFailed, match=words):
        FederatedOracle(oracles, secure=True).count([ALL])


# --- groups ---


def test_groups_are_checked() -> None:
    keys = tuple(sorted(public_key(new_private_key()) for _ in range(4)))
    with pytest.raises(InvalidInput, match="at least 3 sites, 2 were given"):
        Group(keys[:2])
    with pytest.raises(InvalidInput, match="twice"):
        Group((*keys[:2], keys[0]))
    with pytest.raises(InvalidInput, match="2 of 4 sites may be missing, but a sum needs 3"):
        Group(keys, 2)
    with pytest.raises(InvalidInput, match="is not in its group"):
        Site(in_memory(rows()), group=Group(keys), group_key=new_private_key())
    with pytest.raises(InvalidInput, match="belong together"):
        Site(in_memory(rows()), group=Group(keys))


def test_sites_are_checked() -> None:
    tables = [in_memory(part) for part in parts(3)]
    with group_of(tables) as first, group_of(tables) as second, Running(Site(tables[0])) as plain:
        oracles = connected(first)
        with pytest.raises(InvalidInput, match="2 sites were given, and their group has 3"):
            FederatedOracle(oracles[:2], secure=True)
        with pytest.raises(InvalidInput, match="not in the same group"):
            FederatedOracle([*oracles[:2], *connected(second)[2:]], secure=True)
        for other in (connect(plain.url), tables[0]):
            with pytest.raises(InvalidInput, match="site 2 does not give masked counts"):
                FederatedOracle([*oracles[:2], other], secure=True)


def test_numbers_and_unknown_counts_are_refused() -> None:
    table = random_table(0).drop(columns="again")
    numeric = ArrayOracle(table.drop(columns="cost"), table["cost"], categorical_features=NOMINAL, cuts=cuts())
    with pytest.raises(InvalidInput, match="masked sums are of whole numbers"), group_of([numeric] * 3):
        pass
    X, y = [["a"]] * 6 + [["b"]] * 4, [0, 1] * 5
    known = ArrayOracle(X, y, categorical_features="all")
    unknown = ItemsetOracle.mine(X, y, categorical_features="all", min_support=1.0)
    with group_of([known, known, unknown]) as running, pytest.raises(QueryFailed, match="does not know all counts"):
        FederatedOracle(connected(running), secure=True).count([Question((), (0,))])


def test_key_files(tmp_path: Path) -> None:
    file = tmp_path / "site.key"
    key = read_group_key(file)
    assert read_group_key(file) == key
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    group = tmp_path / "group.txt"
    group.write_text("".join(public_key(new_private_key()).hex() + "\n" for _ in range(3)))
    assert len(read_group(group).keys) == 3
    group.write_text("abc\n")
    with pytest.raises(InvalidInput, match="a line that is no key of 64 hexadecimal digits"):
        read_group(group)


def test_the_library_that_is_needed_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cryptography.hazmat.primitives", None)
    with pytest.raises(MissingLibrary, match=r"pip install 'tremula\[secure\]'"):
        new_private_key()
