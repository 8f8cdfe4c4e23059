"""The divisions that questions want, kept up to date, are those of a search from the root of the tree."""

import pytest

import tremula as tm
from tremula.queries import ArrayOracle, GuardedOracle
from tremula.queries.disclosed_answers import regions_on
from tremula.queries.disclosed_tree import DisclosedTree
from tremula.queries.question import Path
from tremula.queries.wanted_divisions import WantedDivisions

from .tables import random_table


def votes_from_the_root(tree: DisclosedTree, paths: list[Path]) -> dict[int, dict[tuple[int, int], int]]:
    """Search all regions of all paths, with the rule for cuts written out."""
    wanted: dict[int, dict[tuple[int, int], int]] = {}
    for path in paths:
        for region, limits in regions_on(tree, path):
            for attribute, (first, last) in limits.items():
                if region.path is None:
                    continue
                values = [value for group in region.groups[attribute] for value in group]
                cut = first - 1 if first > min(values) else last
                choice = attribute, -1 if tree.schema.attributes[attribute].is_nominal else cut
                votes = wanted.setdefault(id(region), {})
                votes[choice] = votes.get(choice, 0) + 1
    return wanted


@pytest.mark.parametrize("target", ["again", "cost"])
def test_refreshed_divisions_are_those_of_a_new_search(target: str, monkeypatch: pytest.MonkeyPatch) -> None:
    table = random_table(5, 900).dropna(subset=[target])
    compared = []

    class Compared(WantedDivisions):
        def __init__(self, tree: DisclosedTree, paths: list[Path]) -> None:
            super().__init__(tree, paths)
            self.tree, self.paths = tree, paths
            self.compare()

        def refresh(self) -> None:
            super().refresh()
            self.compare()

        def compare(self) -> None:
            expected = votes_from_the_root(self.tree, self.paths)
            assert {id(own.region): own.votes for own in self} == expected
            compared.append(len(expected))

    monkeypatch.setattr("tremula.queries.disclosure.WantedDivisions", Compared)
    oracle = ArrayOracle(table[["colour", "size", "flag"]], table[target], n_bins=8)
    model = tm.SimulatedBaggingClassifier if target == "again" else tm.SimulatedBaggingRegressor
    model(4, max_depth=4, random_state=0).fit(GuardedOracle(oracle, min_count=3))
    assert sum(compared) > 10
