"""What `fit` tried, its out-of-bag loss, and what was chosen, as a table to read."""

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
        Number of members trained.
    loss : float
        Out-of-bag log loss, or root mean squared error.
    error : float
        Out-of-bag error rate; NaN for numbers.
    weight : float
        Weight in the blend; 0 if the family was dropped.
    """

    name: str
    n_members: int
    loss: float
    error: float
    weight: float


@storable
@dataclass(frozen=True, repr=False)
class AspenReport(ShownAsTable):
    """What an Aspen estimator tried and chose.

    Attributes
    ----------
    tried : tuple of Tried
        The families.
    n_rows : int
        Rows that decided: those out of bag in every family.
    loss_name : str
        Loss by which families were chosen.
    blend_loss : float
        Out-of-bag loss of the blend before it is corrected.
    loss, error : float
        Out-of-bag loss and error rate of the corrected blend.
    power : float
        Power to which class probabilities are raised: above 1 they get more confident. 1 for numbers.
    n_rounds : int
        Rounds of boosting that correct the blend.
    has_boosted : bool
        Whether boosting was completed: not with ``boosting=False``, with too few rows, or if a callback stopped it.
    second_rounds : int
        Rounds of a second run of boosting, which starts from a quarter of the blend's logarithms of probabilities.
    second_share : float
        Share of the second run in the corrected blend; 0 if it does not help.
    gradient_rounds : int
        Rounds of a third run of boosting, which starts from equal probabilities, with one tree for each class.
    gradient_share : float
        Share of the third run in the corrected blend; 0 if it does not help.
    calibration_error : float
        Out-of-bag expected calibration error: mean distance between the probability of the predicted class and how
        often it is right, by ten bins of this probability. NaN for numbers.
    size : int
        Bytes that members and corrections take in memory.
    max_size : int or None
        The most bytes that were allowed.
    is_limited : bool
        Whether corrections were left out since `max_size` has no room for them.
    left_out : tuple of str
        Families that were not tried, since their trees cannot keep to `monotonic_cst`.

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
    left_out: tuple[str, ...] = ()
    second_rounds: int = 0
    second_share: float = 0.0
    calibration_error: float = math.nan
    gradient_rounds: int = 0
    gradient_share: float = 0.0
    size: int = 0
    max_size: int | None = None
    is_limited: bool = False

    @property
    def chosen(self) -> tuple[Tried, ...]:
        """The families in the blend, by decreasing weight."""
        return tuple(sorted((family for family in self.tried if family.weight > 0), key=lambda family: -family.weight))

    def sentences(self) -> list[str]:
        """Describe in sentences what was chosen and why."""
        return [
            *self._of_blend(),
            *self._of_dropped(),
            *self._of_left_out(),
            *self._of_power(),
            self._of_boosting(),
            *self._of_calibration(),
            *self._of_size(),
        ]

    def _of_blend(self) -> list[str]:
        listed = ", ".join(f"{family.name} {family.weight:.0%}" for family in self.chosen)
        if not self.n_rows:
            return [f"Blend of {listed}: no row is out of bag in every family, so the weights are equal."]
        blend = f"Blend of {listed}: these weights have the least {self.loss_name} on {self.n_rows} out-of-bag rows."
        if not math.isfinite(self.blend_loss):
            return [blend]
        best = min(self.chosen, key=lambda family: family.loss)
        return [
            blend,
            f"The blend has {self.blend_loss:.4g}; the best of its families alone, {best.name}, has {best.loss:.4g}.",
        ]

    def _of_dropped(self) -> list[str]:
        dropped = ", ".join(family.name for family in self.tried if family.weight == 0.0)
        why = (
            "a rival did at least as well, or the weight was under 5 %"
            + ", or max_size had no room" * bool(self.max_size)
            if self.n_rows
            else "one of each group of rivals is kept"
        )
        return [f"Dropped: {dropped} ({why})."] if dropped else []

    def _of_left_out(self) -> list[str]:
        names = ", ".join(self.left_out)
        return [f"Not tried: {names} (linear models in leaves cannot keep to monotonic_cst)."] if names else []

    def _of_power(self) -> list[str]:
        how = "more confident" if self.power > 1.0 else "less confident"
        sentence = f"Class probabilities are raised to the power {self.power:.2f}, which makes them {how}."
        return [sentence] if self.power != 1.0 else []

    def _of_boosting(self) -> str:
        if self.is_limited:
            return "Corrections by boosting are left out: max_size has no room for them."
        if not self.has_boosted:
            return "Boosting was not tried: there are no corrections."
        if not self.n_rounds and not self.second_share and not self.gradient_share:
            return "Boosting does not improve the blend: there are no corrections."
        runs = [f"{self.n_rounds} rounds of boosting"] if self.n_rounds else []
        if self.second_share:
            runs.append(
                f"{self.second_rounds} rounds that start from a quarter of its margins (with a share of "
                f"{self.second_share:.0%})"
            )
        if self.gradient_share:
            runs.append(
                f"{self.gradient_rounds} rounds with a tree for each class that start from equal probabilities (with a "
                f"share of {self.gradient_share:.0%})"
            )
        return f"{' and '.join(runs)} correct the blend: from {self.blend_loss:.4g} to {self.loss:.4g}."

    def _of_calibration(self) -> list[str]:
        if math.isnan(self.calibration_error):
            return []
        return [
            f"The probability of the predicted class is off by {self.calibration_error:.3f} in the mean over ten bins."
        ]

    def _of_size(self) -> list[str]:
        if self.max_size is None:
            return []
        return [f"Its trees take {self.size:,} of the {self.max_size:,} bytes that max_size allows."]

    def _short_table(self) -> ShortTable:
        n_members = sum(family.n_members for family in self.chosen)
        lines = [*self.tried, Tried("all together", n_members, self.loss, self.error, 1.0)]
        rows = [
            [
                line.name,
                str(line.n_members),
                f"{line.weight:.2f}",
                _or_nothing(line.loss, ".4g"),
                _or_nothing(line.error, ".3f"),
            ]
            for line in lines
        ]
        columns = ["family", "members", "weight", self.loss_name, "error"]
        n_columns = 5 if any(row[-1] for row in rows) else 4
        caption = f"families of trees, compared on {self.n_rows} out-of-bag rows"
        return ShortTable(caption, columns[:n_columns], [row[:n_columns] for row in rows], self.sentences())


def _or_nothing(number: float, form: str) -> str:
    """Format a number; NaN gives an empty string."""
    return "" if math.isnan(number) else format(number, form)
