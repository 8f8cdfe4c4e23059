"""A verdict on two methods in plain words: which is better, by how much, and how certain that is."""

from __future__ import annotations

import math
from dataclasses import dataclass

from tremula.diagnostics.significance.paired import TestResult, say_p
from tremula.diagnostics.significance.practical_equivalence import Probabilities

IN_POINTS = ("error", "balanced error")


@dataclass(frozen=True, repr=False)
class Verdict:
    """Result of a test of two methods, corrected for the number of pairs tested.

    The interval is that of this pair alone; whether the difference is significant is decided by the adjusted p-value.

    Attributes
    ----------
    first, second : str
        Names of the methods.
    result : TestResult
        Test of the errors of the first method minus those of the second.
    adjusted_p_value : float
        p-value after correction.
    correction : str
        Name of the correction.
    n_pairs : int
        Number of pairs tested together.
    scoring : str
        Loss that the difference is measured in.
    probabilities : Probabilities or None
        How probable it is that the first method is better, equal for practical purposes, or worse.

    Examples
    --------
    >>> from tremula.diagnostics import paired_t_test
    >>> result = paired_t_test([0.20, 0.24, 0.22], [0.17, 0.20, 0.20])
    >>> print(Verdict("C4.5", "bagging", result, result.p_value, "none", 1, "error"))
    bagging is better than C4.5 on this data: 3.0 points, 95 % interval 0.5 to 5.5 (paired t, p = 0.035).
    """

    first: str
    second: str
    result: TestResult
    adjusted_p_value: float
    correction: str
    n_pairs: int
    scoring: str
    probabilities: Probabilities | None = None

    @property
    def better(self) -> str | None:
        """Name of the method that is better, None if no difference is shown."""
        if self.adjusted_p_value > 1 - self.result.confidence + 1e-12 or self.result.difference == 0:
            return None
        return self._ahead[0]

    @property
    def sentence(self) -> str:
        """The verdict in words."""
        ahead, behind = self._ahead
        evidence = f"{self._amounts} ({self.result.test}, p {say_p(self.adjusted_p_value)}{self._corrected})."
        if self.better:
            return f"{ahead} is better than {behind} on this data: {evidence}"
        if self.result.difference == 0:
            return f"{ahead} and {behind} are not shown to differ on this data: a difference of {evidence}"
        return f"{ahead} and {behind} are not shown to differ on this data: {ahead} leads by {evidence}"

    def __str__(self) -> str:
        return self.sentence

    def __repr__(self) -> str:
        return self.sentence

    @property
    def _ahead(self) -> tuple[str, str]:
        return (self.first, self.second) if self.result.difference <= 0 else (self.second, self.first)

    @property
    def practical_sentence(self) -> str:
        """The probabilities in words, of the method behind; empty without them."""
        if self.probabilities is None:
            return ""
        scale, unit = self._unit
        size = f"{scale * self.probabilities.region:.3g}"
        region = "1 point" if (size, unit) == ("1", " points") else f"{size}{unit}"
        ahead, behind = self._ahead
        worse, better = self.probabilities.worse, self.probabilities.better
        if behind == self.second:
            worse, better = better, worse
        shares = {
            f"worse than {ahead} by more than {region}": worse,
            "equal": self.probabilities.equal,
            "better": better,
        }
        said = ", ".join(f"{say_percent(share)} {words}" for words, share in shares.items())
        return f"{behind}: {said}."

    @property
    def _unit(self) -> tuple[int, str]:
        """What a difference is multiplied by, and the words after it."""
        return (100, " points") if self.scoring in IN_POINTS else (1, f" in {self.scoring.replace('_', ' ')}")

    @property
    def _amounts(self) -> str:
        """The lead and its interval, in points of a percent for errors."""
        low, high = self.result.interval
        lead, ends = abs(self.result.difference), (low, high) if self.result.difference > 0 else (-high, -low)
        scale, unit = self._unit
        form = "#.3g" if scale == 1 else (".1f" if 100 * (high - low) >= 1 else ".2f")
        if math.isnan(low):
            return f"{scale * lead:{form}}{unit}, no interval"
        interval = " to ".join(f"{scale * end + 0.0:{form}}" for end in ends)
        alone = " of this pair alone" if self._corrected else ""
        return f"{scale * lead:{form}}{unit}, {100 * self.result.confidence:g} % interval{alone} {interval}"

    @property
    def _corrected(self) -> str:
        if self.n_pairs == 1 or self.correction == "none":
            return ""
        return f" after {self.correction.title()} for {self.n_pairs} pairs"


def say_percent(share: float) -> str:
    """Write a probability in percent; only certainty is 0 or 100.

    Examples
    --------
    >>> say_percent(0.93), say_percent(0.999), say_percent(0.0004)
    ('93 %', 'over 99 %', 'under 1 %')
    """
    if 0 < share < 0.01:
        return "under 1 %"
    return "over 99 %" if 0.99 < share < 1 else f"{100 * share:.0f} %"
