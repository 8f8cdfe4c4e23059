"""The columns that a model was trained on, by name and kind; a model carries them as `table_`, through files too."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

from tremula.persistence.registry import storable
from tremula.persistence.soundness import require

KINDS = {"number", "nominal", "date"}
TASKS = {"classification", "regression"}


@storable
@dataclass(frozen=True, eq=False)
class TableSchema:
    """The columns that a model was trained on.

    Attributes
    ----------
    names : tuple of str
        The attributes, in their order.
    kinds : tuple of {'number', 'nominal', 'date'}
        Dates are read as days since 1970. Behind ``date`` stands their form where it is not that of ISO dates, as in
        ``date %d/%m/%Y``.
    levels : tuple of (tuple of str, or None)
        Levels of each nominal attribute, in the order of their codes; None for the others.
    target : str
        Name of the target.
    task : {'classification', 'regression'}
    source : str
        Where the rows came from.
    made_from : str
        Differs between models that were trained on other rows, by other methods or with other seeds.
    """

    names: tuple[str, ...]
    kinds: tuple[str, ...]
    levels: tuple[tuple[str, ...] | None, ...]
    target: str
    task: str
    source: str
    made_from: str = ""

    def _check_stored(self) -> None:
        is_even = len(self.names) == len(self.kinds) == len(self.levels)
        require(is_even, "the schema has other numbers of names, kinds and levels")
        require(
            {kind.partition(" ")[0] for kind in self.kinds} <= KINDS and self.task in TASKS,
            "the schema has an unknown kind or task",
        )
        for kind, levels in zip(self.kinds, self.levels):
            require(levels is None or kind == "nominal", "a column of numbers has levels")

    @property
    def date_forms(self) -> dict[str, str]:
        """The form of the dates of each column that has other than ISO dates."""
        forms = {name: kind.partition(" ")[2] for name, kind in zip(self.names, self.kinds)}
        return {name: form for name, form in forms.items() if form}

    def as_read(self) -> Self:
        """Return the schema of the columns once they are read: dates are numbers of days by then."""
        return replace(self, kinds=tuple("number" if kind.startswith("date") else kind for kind in self.kinds))
