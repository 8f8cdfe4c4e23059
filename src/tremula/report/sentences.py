"""The result of a comparison in plain sentences: the best method, and which differences are shown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

UNCLEAR = "no difference shown"


def say_results(
    rows: Sequence[Mapping[str, Any]],
    pairs: Sequence[Mapping[str, Any]],
    metric: Mapping[str, Any],
    baseline: str | None = None,
) -> list[str]:
    """Return sentences on what the tests of pairs show for the best method, or for a baseline.

    Parameters
    ----------
    rows : sequence of mappings
        The methods, the best first.
    pairs : sequence of mappings
        The verdict on each pair.
    metric : mapping
        The metric of the ranking.
    baseline : str, default=None
        The name of a method; None means the best method.

    Returns
    -------
    list of str
        First the methods from which no difference is shown, if any; then the shown differences, the closest first.
    """
    if len(rows) == 1:
        measured = f"Only {rows[0]['label']} was measured: {_mean_in_words(rows[0], metric)}."
        return [f"{measured} Name more methods to compare it with."]
    of_metric = [pair for pair in pairs if pair["metric"] == metric["name"]]
    named: str = rows[0]["name"] if baseline is None else baseline
    mine = [pair for pair in of_metric if named in (pair["first"], pair["second"])]
    shown = [_capitalized(pair["sentence"]) for pair in mine if pair["verdict"] != UNCLEAR]
    unclear = [pair for pair in mine if pair["verdict"] == UNCLEAR]
    labels = {row["name"]: row["label"] for row in rows}
    if baseline is not None:
        return [*shown, *_say_unclear(named, unclear, labels, lead=False)]
    if all(pair["verdict"] == UNCLEAR for pair in of_metric):
        return [f"No method is shown to be better than the others on this data. {_capitalized(unclear[0]['sentence'])}"]
    return [*_say_unclear(named, unclear, labels, lead=True), *shown]


def _say_unclear(name: str, unclear: Sequence[Mapping[str, Any]], labels: Mapping[str, str], lead: bool) -> list[str]:
    others = [labels[pair["second"] if pair["first"] == name else pair["first"]] for pair in unclear]
    if not others:
        return []
    listed = others[0] if len(others) == 1 else f"{', '.join(others[:-1])} and {others[-1]}"
    if lead:
        return [f"{_capitalized(labels[name])} has the lowest mean, but is not shown to differ from {listed}."]
    return [f"{_capitalized(labels[name])} is not shown to differ from {listed}."]


def _capitalized(sentence: str) -> str:
    """Return the sentence with a capital first letter."""
    return sentence[0].upper() + sentence[1:]


def _mean_in_words(row: Mapping[str, Any], metric: Mapping[str, Any]) -> str:
    measured = row["metrics"][metric["name"]]
    unit = f" {metric['unit']}" if metric["unit"] else ""
    interval = f"95 % interval {measured['low']:.3g} to {measured['high']:.3g}"
    return f"{metric['label']} {measured['mean']:.3g}{unit}, {interval}"
