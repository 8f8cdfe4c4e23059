"""A withheld count cannot be computed from the answers: an attacker tries by integer programming over all of them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import tremula as tm
from tremula.queries import ArrayOracle, Attribute, FederatedOracle, GuardedOracle, Question, Schema
from tremula.queries.disclosed_tree import DisclosedTree

from .attacker import Attacker, box, disclosed_counts, domain, regions
from .tables import NOMINAL, random_paths, random_table

ATTRIBUTES = (
    Attribute("ward", levels=("p", "q", "r")),
    Attribute("age", cuts=(1.0, 2.0, 3.0)),
    Attribute("alone", levels=("x", "y")),
)
SCHEMA = Schema(ATTRIBUTES, "again", ("no", "yes"))
ROWS = domain(SCHEMA)
EVERYTHING = Question((), (0, 1, 2))


def small_table(seed: int, n_rows: int) -> tuple[ArrayOracle, np.ndarray]:
    """Return a random table, and how many rows of each class there are of each possible kind."""
    random = np.random.default_rng(seed)
    shares = [random.dirichlet(np.full(attribute.n_values + 1, 2.0)) for attribute in ATTRIBUTES]
    codes = np.stack([random.choice(len(share), n_rows, p=share) for share in shares]).astype(np.int32)
    is_yes = (codes[0] == 1) ^ (codes[1] > 1) ^ (random.random(n_rows) < 0.15)
    same = (codes.T[None] == ROWS[:, None]).all(axis=2)
    counts = np.stack([same @ (is_yes == label).astype(np.int64) for label in (False, True)])
    return ArrayOracle.from_codes(SCHEMA, codes, is_yes.astype(np.int32)), counts


def trees_of(guarded: GuardedOracle) -> Sequence[DisclosedTree]:
    assert guarded._disclosure is not None
    return guarded._disclosure.trees


def attack(guarded: GuardedOracle, counts: np.ndarray, seed: int, n_targets: int, min_count: int) -> int:
    """Attack random counts of up to three attributes, and return how many small ones were among them."""
    n_small = 0
    for tree, real in zip(trees_of(guarded), counts):
        if tree.root is None:
            continue
        about, given = disclosed_counts(tree, ROWS)
        np.testing.assert_array_equal(about @ real, given)
        attacker = Attacker(about, given)
        for path in random_paths(SCHEMA, seed, n_targets):
            target = box(ROWS, path)
            low, high = attacker.bounds(target)
            assert low <= target @ real <= high
            known_and_large = low == high and (low == 0 or low >= min_count)
            assert known_and_large or high - low >= min_count, (path, low, high)
            n_small += 0 < target @ real < min_count
    return n_small


def test_the_attacker_defeats_mere_suppression() -> None:
    """Small counts are withheld and all others given: of most tables the attacker then computes a withheld one."""
    defeated = 0
    for seed in range(5):
        _, counts = small_table(seed, 150)
        targets = [
            box(ROWS, [(attribute, value, value)])
            for attribute in range(3)
            for value in range(ATTRIBUTES[attribute].n_values + 1)
        ]
        given = np.array([target for target in targets if target @ counts[0] >= 5])
        attacker = Attacker(given, given @ counts[0])
        small = [target for target in targets if 0 < target @ counts[0] < 5]
        bounds = [attacker.bounds(target) for target in small]
        defeated += any(high - low < 5 for low, high in bounds)
    assert defeated >= 2


@pytest.mark.parametrize("seed", range(4))
def test_random_questions_give_no_small_count_away(seed: int) -> None:
    """Paths overlap, exclude and contain one another, and are asked one at a time."""
    oracle, counts = small_table(seed, 250)
    guarded = GuardedOracle(oracle, min_count=3)
    for path in random_paths(SCHEMA, seed, 25):
        guarded.count([Question(path, (0, 1, 2))])
    assert max(sum(1 for _ in regions(tree)) for tree in trees_of(guarded)) > 3
    assert attack(guarded, counts, seed + 100, 8, 3) > 0


@pytest.mark.slow
@pytest.mark.parametrize("n_rows", [100, 300, 1000])
@pytest.mark.parametrize("min_count", [2, 3, 5, 10])
@pytest.mark.parametrize("seed", range(10, 15))
def test_many_random_questions_give_no_small_count_away(n_rows: int, min_count: int, seed: int) -> None:
    oracle, counts = small_table(seed, n_rows)
    guarded = GuardedOracle(oracle, min_count=min_count)
    for path in random_paths(SCHEMA, seed, 60):
        guarded.count([Question(path, (0, 1, 2))])
    attack(guarded, counts, seed + 100, 30, min_count)


@pytest.mark.parametrize("seed", range(2))
def test_fits_with_several_seeds_give_no_small_count_away(seed: int) -> None:
    oracle, counts = small_table(seed, 400)
    guarded = GuardedOracle(oracle, min_count=4)
    for random_state in range(3):
        tm.SimulatedBaggingClassifier(n_estimators=4, random_state=random_state).fit(guarded)
    assert attack(guarded, counts, seed + 200, 8, 4) > 0


def test_two_sites_give_no_small_count_away() -> None:
    tables = [small_table(seed, 250) for seed in (20, 21)]
    sites = [GuardedOracle(oracle, min_count=3) for oracle, _ in tables]
    tm.SimulatedBaggingClassifier(n_estimators=4, random_state=0).fit(FederatedOracle(sites))
    assert sum(attack(site, counts, 300, 6, 3) for site, (_, counts) in zip(sites, tables)) > 0


def test_two_guards_of_one_table_give_no_small_count_away(tmp_path: Path) -> None:
    """With one ledger file they disclose one tree, though they are asked different questions by turns."""
    pytest.importorskip("fcntl")
    oracle, counts = small_table(22, 250)
    guards = [GuardedOracle(oracle, min_count=3, ledger_file=tmp_path / "ledger") for _ in range(2)]
    for number, path in enumerate(random_paths(SCHEMA, 22, 20)):
        guards[number % 2].count([Question(path, (0, 1, 2))])
    repeated = [guard.count([EVERYTHING])[0].tolist() for guard in guards for _ in range(2)]
    assert repeated.count(repeated[0]) == 4
    assert attack(guards[0], counts, 122, 8, 3) + attack(guards[1], counts, 123, 8, 3) > 0
    first, second = ([disclosed_counts(tree, ROWS)[1].tolist() for tree in trees_of(guard)] for guard in guards)
    assert first == second


@pytest.mark.parametrize("target", ["again", "cost"])
def test_every_disclosed_count_is_zero_or_large(target: str) -> None:
    table = random_table(1, 1500)
    X = table.drop(columns=["again", "cost"])
    guarded = GuardedOracle(ArrayOracle(X, table[target], categorical_features=NOMINAL, n_bins=8), min_count=6)
    kind = tm.SimulatedBaggingClassifier if target == "again" else tm.SimulatedBaggingRegressor
    for seed in range(2):
        kind(n_estimators=5, random_state=seed).fit(guarded)
    disclosed = [table[:, 0] for tree in trees_of(guarded) for region in regions(tree) for table in region.totals]
    counts = np.concatenate(disclosed)
    assert ((counts == 0) | (counts >= 6)).all()
    assert len(disclosed) > 20


def test_groups_only_grow_from_a_region_to_its_parts() -> None:
    """The proof needs this: otherwise a region less its other parts could be a small count."""
    guarded = GuardedOracle(small_table(3, 2000)[0], min_count=3)
    tm.SimulatedBaggingClassifier(n_estimators=5, random_state=0).fit(guarded)
    for tree in trees_of(guarded):
        for region in regions(tree):
            for part in region.parts:
                others = [number for number in range(3) if number != region.attribute]
                assert all(part.groups[number] == region.parts[0].groups[number] for number in others)
                for number in range(3):
                    for group in part.groups[number]:
                        inside = [set(wider) <= set(group) for wider in region.groups[number]]
                        apart = [not set(wider) & set(group) for wider in region.groups[number]]
                        assert all(np.logical_or(inside, apart))


# --- two tables that differ in small counts only ---


def ward_table(n_rare: int) -> pd.DataFrame:
    """Seven visits are on two wards together, `n_rare` of them on the smaller."""
    random = np.random.default_rng(0)
    table = pd.DataFrame({"ward": ["skin"] * 300 + ["heart"] * 300, "age": random.integers(20, 90, 600)})
    rare = pd.DataFrame({"ward": ["eye"] * n_rare + ["bone"] * (7 - n_rare), "age": [50] * 7})
    table = pd.concat([table, rare], ignore_index=True)
    table["again"] = np.where((table["ward"] == "skin") ^ (table["age"] > 60), "yes", "no")
    table.loc[600:, "again"] = "no"
    return table


def everything_written(table: pd.DataFrame, folder: Path) -> dict[str, Any]:
    oracle = ArrayOracle(table[["ward", "age"]], table["again"], categorical_features=["ward"], n_bins=8)
    guarded = GuardedOracle(oracle, min_count=5)
    model = tm.SimulatedBaggingClassifier(n_estimators=3, random_state=0).fit(guarded)
    tm.save(model, folder / "model.tremula")
    return {
        "answers": [answer.tolist() for answer in guarded._answers.values()],
        "model": (folder / "model.tremula").read_bytes().hex(),
        "sql": model.export_sql("visits"),
        "ledger": [entry.__dict__ | {"time": ""} for entry in guarded.ledger],
        "shown": repr(guarded),
    }


def test_nothing_that_is_written_depends_on_withheld_counts(tmp_path: Path) -> None:
    first, second = (everything_written(ward_table(n_rare), tmp_path) for n_rare in (1, 2))
    assert json.dumps(first) == json.dumps(second)
    other = everything_written(ward_table(0), tmp_path)  # no eye at all, so nothing is to be withheld
    assert other["answers"] != first["answers"]
