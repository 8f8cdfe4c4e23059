"""What was tried in `fit`, how it did on rows left out, and what was chosen: a table to read."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape


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


@dataclass(frozen=True)
class AspenReport:
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

    @property
    def chosen(self) -> tuple[Tried, ...]:
        """The families in the blend, the heaviest first."""
        return tuple(sorted((one for one in self.tried if one.weight > 0), key=lambda one: -one.weight))

    def sentences(self) -> list[str]:
        """Say in words what was chosen and why."""
        best = min(self.tried, key=lambda one: one.loss)
        listed = ", ".join(f"{one.name} {one.weight:.0%}" for one in self.chosen)
        said = [
            f"Blend of {listed}: weights of the least {self.loss_name} on {self.n_rows} rows that members left out.",
            f"The blend has {self.blend_loss:.4g}; the best family alone, {best.name}, has {best.loss:.4g}.",
        ]
        dropped = [one.name for one in self.tried if one.weight == 0.0]
        if dropped:
            said.append(f"Left out, since they add nothing: {', '.join(dropped)}.")
        if self.power != 1.0:
            said.append(
                f"Class shares are raised to the power {self.power:.2f}, which makes them "
                f"{'surer' if self.power > 1.0 else 'less sure'}."
            )
        if self.n_rounds:
            said.append(
                f"{self.n_rounds} rounds of boosting correct the blend: from {self.blend_loss:.4g} to {self.loss:.4g}."
            )
        else:
            said.append("Boosting does not improve the blend: there are no corrections.")
        return said

    def __str__(self) -> str:
        width = max(len(one.name) for one in self.tried)
        is_class = self.error == self.error
        lines = [f"{'family':{width}}  members  weight  {self.loss_name}{'   error' if is_class else ''}"]
        for one in (
            *self.tried,
            Tried("all together", sum(t.n_members for t in self.chosen), self.loss, self.error, 1.0),
        ):
            error = f"  {one.error:6.3f}" if is_class else ""
            lines.append(
                f"{one.name:{width}}  {one.n_members:7d}  {one.weight:6.2f}  {one.loss:{len(self.loss_name)}.4g}{error}"
            )
        return "\n".join([*lines, *self.sentences()])

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td>{escape(one.name)}</td><td>{one.n_members}</td><td>{one.weight:.2f}</td><td>{one.loss:.4g}</td>"
            f"<td>{'' if one.error != one.error else format(one.error, '.3f')}</td></tr>"
            for one in self.tried
        )
        head = "".join(f"<th>{escape(name)}</th>" for name in ("family", "members", "weight", self.loss_name, "error"))
        said = "".join(f"<p>{escape(sentence)}</p>" for sentence in self.sentences())
        return f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>{said}"
