"""Decides what a guard discloses: one tree of regions for each class, which grows with the questions.

What was disclosed once is never disclosed in another form: later questions are answered from it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tremula.errors import QueryRefused
from tremula.queries.disclosed_answers import DisclosedAnswer, answer_joint, answer_margins
from tremula.queries.disclosed_tree import DisclosedTree, Division, Region
from tremula.queries.oracle import Oracle
from tremula.queries.question import EVERYWHERE, UNKNOWN, Path, Question
from tremula.queries.wanted_divisions import WantedDivisions

Plan = tuple[int, Region, int, list[tuple[int, ...]]]  # a tree, a region, the attribute and the values of each part


class Disclosure:
    """The disclosed trees of all classes, or the one tree of a numeric target.

    Parameters
    ----------
    oracle : Oracle
        The oracle to guard.
    min_count : int
    store : function
        Is given each division before it is used for an answer.
    """

    def __init__(self, oracle: Oracle, min_count: int, store: Callable[[Division], None]) -> None:
        self._oracle = oracle
        self._schema = oracle.schema
        self._store = store
        n_trees = 1 if self._schema.classes is None else len(self._schema.classes)
        self.trees = [DisclosedTree(self._schema, min_count) for _ in range(n_trees)]
        self._started: set[int] = set()
        self._places: dict[int, tuple[int, ...]] = {}  # of regions, by identity
        self._not_divisible: set[tuple[int, int, int]] = set()

    def apply(self, division: Division) -> None:
        """Add a division, a new one or a stored one."""
        number, place = division["tree"], tuple(division["place"])
        tree = self.trees[number]
        if division.get("attribute") is None:
            tree.start(division)
            self._started.add(number)
            if tree.root is not None:
                self._places[id(tree.root)] = ()
            if len(self._started) == len(self.trees):
                self._weigh()
            return
        region = tree.locate(place)
        tree.divide(region, division)
        for part, child in enumerate(region.parts):
            self._places[id(child)] = (*place, part)

    def _weigh(self) -> None:
        """Weight each value by its rows of all classes, as far as they are disclosed."""
        weights = np.full(self._schema.n_cells, 0.01)
        for tree in self.trees:
            if tree.root is not None:
                weights += tree.root.spread(self._schema, np.ones(self._schema.n_cells))[:, 0]
        for tree in self.trees:
            tree.weigh(weights)

    def answer(self, questions: Sequence[Question]) -> list[list[DisclosedAnswer]]:
        """Answer questions for each tree, after it has grown as far as they ask for and safety allows."""
        if len(self._started) < len(self.trees):
            self._start()
        paths = list(dict.fromkeys(question.path for question in questions))
        wanted = [WantedDivisions(tree, paths) for tree in self.trees]
        while plans := self._plan(wanted):
            self._divide(plans)
            for own in wanted:
                own.refresh()
        answer_of = {True: answer_joint, False: answer_margins}
        return [[answer_of[question.joint](tree, question) for tree in self.trees] for question in questions]

    def _ask(self, paths: Sequence[Path], parents: Sequence[Path]) -> list[NDArray[np.float64]]:
        """Ask about all attributes on some paths: (n_trees, n_cells, n_outputs) for each."""
        everything = tuple(range(len(self._schema.attributes)))
        asked = [Question(path, everything, parent=parent) for path, parent in zip(paths, parents)]
        answers = self._oracle.count(asked)
        if self._schema.classes is None:
            return [answer[None] for answer in answers]
        if any((answer == UNKNOWN).any() for answer in answers):
            raise QueryRefused(
                "the guarded oracle does not know all counts, so small ones cannot be protected: guard an oracle that "
                "has the rows, or mine the itemsets with a smaller min_support"
            )
        return [answer.T[..., None].astype(np.float64) for answer in answers]

    def _start(self) -> None:
        (answer,) = self._ask([EVERYWHERE], [EVERYWHERE])
        for number in set(range(len(self.trees))) - self._started:
            tree = self.trees[number]
            self._publish(tree.describe_root(answer[number]) | {"tree": number, "place": []})

    def _publish(self, division: Division) -> None:
        self._store(division)
        self.apply(division)

    def _plan(self, wanted: Sequence[WantedDivisions]) -> list[Plan]:
        """Choose a division for each region that questions ask to divide: the one that most paths need."""
        plans: list[Plan] = []
        for number, (tree, own) in enumerate(zip(self.trees, wanted)):
            for division in own:
                region, votes = division.region, division.votes
                for attribute, cut in sorted(votes, key=lambda choice: (-votes[choice], choice)):
                    if (id(region), attribute, cut) in self._not_divisible:
                        continue
                    parts = tree.plan_parts(region, attribute, cut)
                    self._not_divisible.add((id(region), attribute, cut))
                    if parts:
                        plans.append((number, region, attribute, parts))
                        break
        return plans

    def _divide(self, plans: Sequence[Plan]) -> None:
        parents: dict[Path, Path] = {}
        for number, region, attribute, parts in plans:
            paths = [self.trees[number].path_of_part(region, attribute, values) for values in parts]
            parents |= dict.fromkeys(paths, region.path or EVERYWHERE)
        answers = dict(zip(parents, self._ask(list(parents), list(parents.values()))))
        for number, region, attribute, parts in plans:
            tree = self.trees[number]
            own = [answers[tree.path_of_part(region, attribute, values)][number] for values in parts]
            division: Any = tree.describe_division(region, attribute, parts, own)
            if division is not None:
                self._publish(division | {"tree": number, "place": list(self._places[id(region)])})
