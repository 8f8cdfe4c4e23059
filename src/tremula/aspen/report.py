"""What was tried in `fit`, how it did on rows left out, and what was chosen: a table to read."""

from __future__ import annotations

import math
from dataclasses import dataclass

from tremula.display import ShortTable, ShownAsTable
from tremula.persistence.registry import storable


@storable
@dataclass(frozen=True)
class Tried:
    """One family of trees.

    Attributes
    ----------
    name : str
    n_members : int
        Trained in all.
    loss : float
        On rows its members left out: log loss, or root mean squared error.
    error : float
        Share of wrong classes on these rows; NaN for numbers.
    weight : float
        In the blend; 0 if it was left out of it.
    """

    name: str
    n_members: int
    loss: float
    error: float
    weight: float


@storable
@dataclass(frozen=True, repr=False)
class AspenReport(ShownAsTable):
    """What an Aspen has tried and chosen.

    Attributes
    ----------
    tried : tuple of Tried
        The families.
    n_rows : int
        Rows that judged: those that members of every family left out.
    loss_name : str
        Which loss chose.
    blend_loss : float
        Of the blend before it is corrected, on the same rows.
    loss, error : float
        Of the whole, on the same rows.
    power : float
        To which class shares are raised: above 1 they are made surer. 1 for numbers.
    n_rounds : int
        Rounds of boosting that correct the blend.
    has_boosted : bool
        Whether boosting was tried: not with ``boosting=False``, too few rows that judge, or after a callback's end.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tremula import AspenClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> report = AspenClassifier(n_estimators=10, random_state=0).fit(X, y).report_
    >>> report.tried[0].name
    'random forest'
    """

    tried: tuple[Tried, ...]
    n_rows: int
    loss_name: str
    blend_loss: float
    loss: float
    error: float
    power: float
    n_rounds: int
    has_boosted: bool = True

    @property
    def chosen(self) -> tuple[Tried, ...]:
        """The families in the blend, the heaviest first."""
        return tuple(sorted((one for one in self.tried if one.weight > 0), key=lambda one: -one.weight))

    def sentences(self) -> list[str]:
        """Say in words what was chosen and why."""
        return [*self._of_blend(), *self._of_those_left_out(), *self._of_power(), self._of_boosting()]

    def _of_blend(self) -> list[str]:
        listed = ", ".join(f"{one.name} {one.weight:.0%}" for one in self.chosen)
        if not self.n_rows:
            return [f"Blend of {listed}: no row was left out by members of every family, so the weights are even."]
        said = f"Blend of {listed}: weights of the least {self.loss_name} on {self.n_rows} rows that members left out."
        if not math.isfinite(self.blend_loss):
            return [said]
        best = min(self.chosen, key=lambda one: one.loss)
        return [
            said,
            f"The blend has {self.blend_loss:.4g}; the best of its families alone, {best.name}, has {best.loss:.4g}.",
        ]

    def _of_those_left_out(self) -> list[str]:
        dropped = ", ".join(one.name for one in self.tried if one.weight == 0.0)
        why = "a rival did at least as well, or under 5 % of the blend" if self.n_rows else "of rivals one is kept"
        return [f"Left out: {dropped} ({why})."] if dropped else []

    def _of_power(self) -> list[str]:
        how = "surer" if self.power > 1.0 else "less sure"
        said = f"Class shares are raised to the power {self.power:.2f}, which makes them {how}."
        return [said] if self.power != 1.0 else []

    def _of_boosting(self) -> str:
        if not self.has_boosted:
            return "Boosting was not tried: there are no corrections."
        if not self.n_rounds:
            return "Boosting does not improve the blend: there are no corrections."
        return f"{self.n_rounds} rounds of boosting correct the blend: from {self.blend_loss:.4g} to {self.loss:.4g}."

    def _short_table(self) -> ShortTable:
        n_members = sum(one.n_members for one in self.chosen)
        lines = [*self.tried, Tried("all together", n_members, self.loss, self.error, 1.0)]
        rows = [
            [
                one.name,
                str(one.n_members),
                f"{one.weight:.2f}",
                _or_nothing(one.loss, ".4g"),
                _or_nothing(one.error, ".3f"),
            ]
            for one in lines
        ]
        columns = ["family", "members", "weight", self.loss_name, "error"]
        n_columns = 5 if any(row[-1] for row in rows) else 4
        caption = f"families of trees, judged by {self.n_rows} rows that members left out"
        return ShortTable(caption, columns[:n_columns], [row[:n_columns] for row in rows], self.sentences())


def _or_nothing(number: float, form: str) -> str:
    """Write a number; nothing for NaN."""
    return "" if math.isnan(number) else format(number, form)
