"""Links as SQL: each is one step or a few, and a step is a list of expressions over the columns of the step before."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Any

from tremula.aspen.task import PRIOR_SHARE
from tremula.aspen.tree_sum import LogShareLink
from tremula.errors import UnsupportedModel
from tremula.export.model import TIE
from tremula.losses import MIN_PROBABILITY
from tremula.trees.composite_links import ChainLink, InterpolationLink, LinearLink, StretchLink
from tremula.trees.export.dialects import Dialect
from tremula.trees.links import ExponentialLink, IdentityLink, Link, LogisticLink, PositiveLink, ShareLink, SoftmaxLink

Step = Callable[[Sequence[str]], list[str]]  # from the names of columns to expressions


@dataclass(frozen=True)
class LinkSql:
    """Links in one dialect."""

    dialect: Dialect

    def steps(self, link: Link, n_columns: int) -> list[Step]:
        """Return the steps of a link of so many margins; none for the identity."""
        writers: dict[type[Link], Callable[[Any, int], list[Step]]] = {
            IdentityLink: lambda link, n_columns: [],
            LogisticLink: lambda link, n_columns: [self._share, self._both_classes],
            ShareLink: lambda link, n_columns: [self._share],
            SoftmaxLink: self._softmax,
            ExponentialLink: lambda link, n_columns: [lambda names: [f"EXP({name})" for name in names]],
            PositiveLink: self._positive,
            LinearLink: self._linear,
            StretchLink: self._stretches,
            ChainLink: self._chain,
            InterpolationLink: self._interpolation,
            LogShareLink: self._log_shares,
        }
        if type(link) not in writers:
            raise UnsupportedModel(f"the link {link.name!r} is not written to SQL: predict with tremula")
        return writers[type(link)](link, n_columns)

    def least_of_largest(self, names: Sequence[str], tie: float) -> str:
        """Return the number that a column must reach to be the largest, or to differ from it by no more than a tie."""
        largest = self.dialect.largest_of(names)
        return f"{largest} - {self.dialect.double(tie)} * ABS({largest})" if tie else largest

    def _at_least(self, number: str, bound: str) -> str:
        """Return a number, or a bound if it is smaller; NULL for NULL, which GREATEST of some engines leaves out."""
        return f"CASE WHEN {number} < {bound} THEN {bound} ELSE {number} END"

    def _both_classes(self, names: Sequence[str]) -> list[str]:
        return [f"{self.dialect.double(1.0)} - {names[0]}", names[0]]

    def _share(self, names: Sequence[str]) -> list[str]:
        """Return the logistic function of each margin, in a form that does not overflow."""
        unit, zero = self.dialect.double(1.0), self.dialect.double(0.0)
        above = [f"{unit} / ({unit} + EXP(-{margin}))" for margin in names]
        below = [f"EXP({margin}) / ({unit} + EXP({margin}))" for margin in names]
        return [f"CASE WHEN {names[k]} >= {zero} THEN {above[k]} ELSE {below[k]} END" for k in range(len(names))]

    def _softmax(self, link: Any, n_columns: int) -> list[Step]:
        def weights(names: Sequence[str]) -> list[str]:
            return [f"EXP({name} - {self.dialect.largest_of(names)})" for name in names]

        return [weights, lambda names: [f"{name} / ({' + '.join(names)})" for name in names]]

    def _positive(self, link: Any, n_columns: int) -> list[Step]:
        unit, zero = self.dialect.double(1.0), self.dialect.double(0.0)

        def shares(names: Sequence[str]) -> list[str]:
            positive = [self._at_least(name, zero) for name in names]
            total, least = f"({' + '.join(positive)})", self.least_of_largest(names, TIE)
            expressions = []
            for number, (name, part) in enumerate(zip(names, positive)):
                # If no margin is positive, the first of the largest gets all.
                before = [f"WHEN {other} >= {least} THEN {zero}" for other in names[:number]]
                alone = " ".join([*before, f"WHEN {name} >= {least} THEN {unit}"])
                shared = f"WHEN {total} > {zero} THEN {part} / {total} WHEN {names[0]} IS NULL THEN NULL"
                expressions.append(f"CASE {shared} {alone} ELSE {zero} END")
            return expressions

        return [shares]

    def _linear(self, link: Any, n_columns: int) -> list[Step]:
        def term(name: str, factor: float) -> str:
            return name if factor == 1.0 else f"{self.dialect.double(factor)} * {name}"

        def sums(names: Sequence[str]) -> list[str]:
            expressions = []
            for row, offset in zip(link.matrix.tolist(), link.offset.tolist()):
                terms = [term(name, factor) for name, factor in zip(names, row) if factor]
                expressions.append(
                    " + ".join([*terms, *([self.dialect.double(offset)] if offset or not terms else [])])
                )
            return expressions

        return [sums]

    def _log_shares(self, link: Any, n_columns: int) -> list[Step]:
        double = self.dialect.double

        def margins(names: Sequence[str]) -> list[str]:
            mixed = [
                f"{double(1.0 - PRIOR_SHARE)} * {name} + {double(PRIOR_SHARE * share)}"
                for name, share in zip(names, link.prior.tolist())
            ]
            return [f"{double(link.power)} * LN({self._at_least(share, double(MIN_PROBABILITY))})" for share in mixed]

        return [margins]

    def _interpolation(self, link: Any, n_columns: int) -> list[Step]:
        double = self.dialect.double

        def share(names: Sequence[str]) -> list[str]:
            score, points = names[0], list(zip(link.scores.tolist(), link.shares.tolist()))
            tests = [f"WHEN {score} <= {double(points[0][0])} THEN {double(points[0][1])}"]
            for (low, first), (high, second) in pairwise(points):
                slope = double((second - first) / (high - low))
                rise = f"{double(first)} + {slope} * ({score} - {double(low)})"
                tests.append(f"WHEN {score} <= {double(high)} THEN {rise}")
            return [" ".join(["CASE", *tests, f"ELSE {double(points[-1][1])} END"])]

        return [share, self._both_classes]

    def _chain(self, link: Any, n_columns: int) -> list[Step]:
        steps: list[Step] = []
        for part in link.links:
            of_part = self.steps(part, n_columns)
            for step in of_part:
                n_columns = len(step([""] * n_columns))
            steps += of_part
        return steps

    def _stretches(self, link: Any, n_columns: int) -> list[Step]:
        """Put the steps of the stretches side by side; columns of a stretch with fewer steps stay as they are."""
        parts = [self.steps(part, size) for part, size in zip(link.links, link.sizes)]
        n_steps = max(map(len, parts))

        def apply(number: int, cuts: list[list[str]]) -> list[list[str]]:
            return [part[number](cut) if number < len(part) else cut for part, cut in zip(parts, cuts)]

        widths = [list(link.sizes)]
        for number in range(n_steps):
            widths.append([len(cut) for cut in apply(number, [[""] * width for width in widths[-1]])])

        def step(number: int) -> Step:
            def expressions(names: Sequence[str]) -> list[str]:
                ends = accumulate(widths[number])
                cuts = [list(names[end - width : end]) for end, width in zip(ends, widths[number])]
                return [expression for cut in apply(number, cuts) for expression in cut]

            return expressions

        return [step(number) for number in range(n_steps)]
