"""A comparison in plain sentences: who leads, from whom the leader is shown to differ, and from whom it is not."""

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
    """Say what the tests of the pairs show of the leading method, or of a baseline.

    Parameters
    ----------
    rows : sequence of mappings
        The methods, ranked.
    pairs : sequence of mappings
        The verdict on each pair of them.
    metric : mapping
        The one they are ranked by.
    baseline : str, default=None
        The name of a method; None is the one that leads.

    Returns
    -------
    list of str
        From whom the leader is not shown to differ, where there are such; then from whom it is, the closest first.
    """
    if len(rows) == 1:
        measured = f"{_begun(rows[0]['label'])} alone was measured: {_amount(rows[0], metric)}."
        return [f"{measured} Name other methods to compare it with."]
    of_metric = [pair for pair in pairs if pair["metric"] == metric["name"]]
    named: str = rows[0]["name"] if baseline is None else baseline
    mine = [pair for pair in of_metric if named in (pair["first"], pair["second"])]
    shown = [_begun(pair["sentence"]) for pair in mine if pair["verdict"] != UNCLEAR]
    unclear = [pair for pair in mine if pair["verdict"] == UNCLEAR]
    labels = {row["name"]: row["label"] for row in rows}
    if baseline is not None:
        return [*shown, *_say_unclear(named, unclear, labels, lead=False)]
    if all(pair["verdict"] == UNCLEAR for pair in of_metric):
        return [f"No method is shown to be better than the others on this data. {_begun(unclear[0]['sentence'])}"]
    return [*_say_unclear(named, unclear, labels, lead=True), *shown]


def _say_unclear(name: str, unclear: Sequence[Mapping[str, Any]], labels: Mapping[str, str], lead: bool) -> list[str]:
    others = [labels[pair["second"] if pair["first"] == name else pair["first"]] for pair in unclear]
    if not others:
        return []
    listed = others[0] if len(others) == 1 else f"{', '.join(others[:-1])} and {others[-1]}"
    if lead:
        return [f"{_begun(labels[name])} has the lowest mean, but is not shown to differ from {listed}."]
    return [f"{_begun(labels[name])} is not shown to differ from {listed}."]


def _begun(sentence: str) -> str:
    """Begin with a capital letter."""
    return sentence[0].upper() + sentence[1:]


def _amount(row: Mapping[str, Any], metric: Mapping[str, Any]) -> str:
    found = row["metrics"][metric["name"]]
    unit = f" {metric['unit']}" if metric["unit"] else ""
    interval = f"95 % interval {found['low']:.3g} to {found['high']:.3g}"
    return f"{metric['label']} {found['mean']:.3g}{unit}, {interval}"
