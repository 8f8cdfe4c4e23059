"""Several sites answer like one table; a site that fails or is late raises an error or is left out."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

import ibis
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tremula as tm
from tremula.errors import BudgetExhausted, BudgetWarning, InvalidInput, InvalidParameter, QueryFailed
from tremula.queries import (
    ArrayOracle,
    FederatedOracle,
    GuardedOracle,
    ItemsetOracle,
    Question,
    Schema,
    TableOracle,
    agree_on_cuts,
)
from tremula.queries.question import UNKNOWN, narrow

from .tables import NOMINAL, ask, random_paths, random_table

CUTS = {"size": (-0.5, 0.0, 0.7)}


def site(table: pd.DataFrame, target: str = "again", cuts: Any = CUTS) -> ArrayOracle:
    return ArrayOracle(table.drop(columns=["again", "cost"]), table[target], categorical_features=NOMINAL, cuts=cuts)


class Site:
    """A site that fails, or waits, from a certain batch on."""

    def __init__(self, oracle: Any, healthy_batches: int, waits_for: threading.Event | None = None) -> None:
        self.oracle, self.healthy_batches, self.waits_for = oracle, healthy_batches, waits_for
        self.n_batches = 0

    @property
    def schema(self) -> Schema:
        return self.oracle.schema

    def count(self, questions: Sequence[Question]) -> list[np.ndarray]:
        self.n_batches += 1
        if self.n_batches > self.healthy_batches:
            if self.waits_for is None:
                raise OSError("the line is dead")
            self.waits_for.wait(10)
        return self.oracle.count(questions)


# --- sums ---


@settings(max_examples=25)
@given(st.lists(st.integers(0, 2), min_size=40, max_size=40), st.sampled_from(["again", "cost"]))
def test_however_rows_are_divided_sites_answer_as_their_union(places: list[int], target: str) -> None:
    """Sites lack levels and classes that others have; each has at least one row of two classes."""
    table = random_table(0, 46)
    places = [*places, 0, 0, 1, 1, 2, 2]
    table.loc[40:, "again"] = ["yes", "no"] * 3
    sites = [site(table[[place == number for place in places]], target) for number in range(3)]
    federated, union = FederatedOracle(sites), site(table, target)
    assert federated.schema.attributes == union.schema.attributes
    assert federated.schema.classes == union.schema.classes
    questions = ask(union.schema, random_paths(union.schema, 0, 5), 0)
    for ours, expected in zip(federated.count(questions), union.count(questions), strict=True):
        np.testing.assert_allclose(ours, expected, rtol=1e-9, atol=1e-9)


def test_levels_and_classes_that_differ_are_merged_in_order() -> None:
    north = ArrayOracle([["b"], ["d"]], ["no", "yes"], categorical_features="all")
    south = ArrayOracle([["c"], ["a"]], ["maybe", "yes"], categorical_features="all")
    federated = FederatedOracle([north, south])
    assert federated.schema.attributes[0].levels == ("a", "b", "c", "d")
    assert federated.schema.classes == ("maybe", "no", "yes")
    assert federated.count([Question((), (0,))])[0].tolist() == [[0, 0, 1], [0, 1, 0], [1, 0, 0], [0, 0, 1], [0, 0, 0]]


def test_a_site_without_a_level_is_not_asked_about_it() -> None:
    north, south = (
        Site(ArrayOracle([["b"], ["d"]], [0, 1], categorical_features="all"), 9),
        Site(ArrayOracle([["c"], ["a"]], [0, 1], categorical_features="all"), 9),
    )
    federated = FederatedOracle([north, south])
    answer = federated.count([Question(narrow((), 0, 0, 0), (0,))])[0]  # level a
    assert answer.tolist() == [[0, 1], [0, 0], [0, 0], [0, 0], [0, 0]]


def test_trees_are_those_of_the_union() -> None:
    table = random_table(1)
    model = tm.SimulatedBaggingClassifier(n_estimators=3, max_depth=4, random_state=0)
    trees = model.fit(FederatedOracle([site(table[:50]), site(table[50:])])).members_
    assert trees == model.fit(site(table)).members_


def test_sites_may_share_a_connection() -> None:
    table = random_table(1)
    sites = [
        TableOracle(ibis.memtable(part), "again", ["colour", "size", "flag", "with null"], cuts=CUTS)
        for part in (table[:50], table[50:])
    ]
    federated, union = FederatedOracle(sites), site(table)
    for path in [(), narrow((), 0, 1, 1), narrow((), 0, 2, 2), narrow((), 2, 1, 1)]:
        asked = [Question(path, (0, 1, 2, 3))]
        np.testing.assert_array_equal(federated.count(asked)[0], union.count(asked)[0])


def test_counts_that_one_site_does_not_know_are_unknown() -> None:
    X, y = [["a"]] * 6 + [["b"]] * 4, [0, 1] * 5
    knows, does_not = (
        ArrayOracle(X, y, categorical_features="all"),
        ItemsetOracle.mine(X, y, categorical_features="all", min_support=1.0),
    )
    federated = FederatedOracle([knows, does_not])
    assert (federated.count([Question((), (0,))])[0] == UNKNOWN).all()


# --- failures ---


def test_a_failing_site_raises_an_error_and_is_asked_again_next_time() -> None:
    table = random_table(2)
    broken = Site(site(table[50:]), 1)
    federated = FederatedOracle([site(table[:50]), broken])
    model = tm.SimulatedBaggingClassifier(n_estimators=2, max_depth=3, random_state=0)
    with pytest.raises(QueryFailed, match="site 1 failed: the line is dead; repair the site, or leave out sites"):
        model.fit(federated)
    assert not hasattr(model, "members_")
    assert federated.failures[0].site == 1
    broken.healthy_batches = 100
    assert model.fit(federated).members_ == model.fit(site(table)).members_


def test_a_fit_continues_without_a_failing_site() -> None:
    table = random_table(2)
    broken = Site(site(table[50:]), 3)
    federated = FederatedOracle([site(table[:50]), broken], on_failure="continue")
    model = tm.SimulatedBaggingClassifier(n_estimators=2, random_state=0).fit(federated)
    assert len(model.members_) == 2
    assert [(failure.site, failure.batch, failure.reason) for failure in federated.failures] == [
        (1, 4, "site 1 failed: the line is dead")
    ]
    assert broken.n_batches == 4


def test_a_late_site_is_left_out() -> None:
    table, event = random_table(3), threading.Event()
    federated = FederatedOracle(
        [site(table[:50]), Site(site(table[50:]), 0, event)], on_failure="continue", timeout=0.05
    )
    asked = [Question((), (0,))]
    alone = site(table[:50]).count(asked)[0]
    assert federated.count(asked)[0].sum() == alone.sum()
    event.set()
    assert federated.failures[0].reason == "site 1 has not answered within 0.05 seconds"


def test_a_late_site_raises_an_error() -> None:
    table, event = random_table(3), threading.Event()
    federated = FederatedOracle([site(table[:50]), Site(site(table[50:]), 0, event)], timeout=0.05)
    with pytest.raises(QueryFailed, match="site 1 has not answered within"):
        federated.count([Question((), (0,))])
    event.set()


def test_no_site_is_left_to_ask() -> None:
    federated = FederatedOracle([Site(site(random_table(3)), 0)], on_failure="continue")
    for _ in range(2):
        with pytest.raises(QueryFailed, match="no site is left to ask; site 0 failed"):
            federated.count([Question((), (0,))])


def test_the_budget_of_a_site_ends_growing_and_keeps_the_trees() -> None:
    pytest.importorskip("opendp")
    table = random_table(4)
    guarded = GuardedOracle(site(table[50:]), min_count=0, public="all", epsilon=4.0, epsilon_per_table=1.0)
    federated = FederatedOracle([site(table[:50]), guarded], on_failure="continue")
    model = tm.SimulatedBaggingClassifier(n_estimators=2, random_state=0)
    with pytest.warns(BudgetWarning, match="the trees end at depth 1: site 1: a batch of"):
        model.fit(federated)
    assert len(model.members_) == 2
    assert federated.failures == []
    with pytest.raises(BudgetExhausted):
        federated.count([Question(narrow((), 0, 0, 0), (1,))])


# --- what must agree ---


def test_sites_with_different_cuts_are_refused() -> None:
    table = random_table(5)
    with pytest.raises(InvalidInput, match="'size' has different cuts at different sites: agree on them first"):
        FederatedOracle([site(table[:60], cuts=None), site(table[60:], cuts=None)])


def test_sites_agree_on_cuts_from_their_own() -> None:
    parts = [random_table(6)[:40], random_table(7)]
    own = [site(part, cuts=None).schema.attributes[1].cuts for part in parts]
    cuts = agree_on_cuts(own, [len(part) for part in parts], 8)
    assert len(cuts) == 7
    assert set(cuts) <= set(own[0]) | set(own[1])
    FederatedOracle([site(part, cuts={"size": cuts}) for part in parts])


def test_agreed_cuts_part_the_rows_of_all_sites_about_evenly() -> None:
    random = np.random.default_rng(0)
    samples = [random.normal(0, 1, 4000), random.normal(2, 1, 1000)]
    own = [np.quantile(sample, np.arange(1, 32) / 32) for sample in samples]
    cuts = agree_on_cuts([tuple(site_cuts) for site_cuts in own], [4000, 1000], 4)
    shares = np.bincount(np.searchsorted(cuts, np.concatenate(samples))) / 5000
    np.testing.assert_allclose(shares, 0.25, atol=0.04)


def test_no_cuts_agree_on_none() -> None:
    assert agree_on_cuts([(), ()], [3, 4], 5) == ()


def test_sites_with_other_columns_are_refused() -> None:
    table = random_table(5)
    with pytest.raises(InvalidInput, match="give every site the same columns in the same order"):
        FederatedOracle([site(table), site(table[["size", "colour", "flag", "with null", "again", "cost"]])])


def test_a_column_nominal_here_and_numeric_there_is_refused() -> None:
    table = random_table(5).drop(columns=["with null", "colour", "flag"])
    numeric = ArrayOracle(table[["size"]], table["again"], cuts=CUTS)
    nominal = ArrayOracle(table[["size"]], table["again"], categorical_features=["size"])
    with pytest.raises(InvalidInput, match="'size' is nominal at some sites and numeric at others"):
        FederatedOracle([numeric, nominal])


def test_levels_of_several_types_are_refused() -> None:
    strings, numbers = (
        ArrayOracle([["a"], ["b"]], [0, 1], categorical_features="all"),
        ArrayOracle([[1], [2]], [0, 1], categorical_features="all"),
    )
    with pytest.raises(InvalidInput, match="'x0' has values of types float, str at the sites"):
        FederatedOracle([strings, numbers])


def test_classes_here_and_numbers_there_are_refused() -> None:
    table = random_table(5)
    with pytest.raises(InvalidInput, match="classes at one of the sites 0 and 1 and numbers at the other"):
        FederatedOracle([site(table), site(table, "cost")])


def test_no_sites_are_refused() -> None:
    with pytest.raises(InvalidInput, match="no sites were given"):
        FederatedOracle([])


@pytest.mark.parametrize("options", [{"on_failure": "wait"}, {"timeout": 0.0}])
def test_options_are_checked(options: dict[str, Any]) -> None:
    with pytest.raises(InvalidParameter, match=next(iter(options))):
        FederatedOracle([site(random_table(5))], **options)
