"""The result of a comparison in plain sentences: what the decision says, and what would show more."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

UNCLEAR = "no difference shown"
MOST_RIVALS = 2  # named in the answer


def say_results(
    rows: Sequence[Mapping[str, Any]],
    pairs: Sequence[Mapping[str, Any]],
    decision: Mapping[str, Any] | None,
    metric: Mapping[str, Any],
    constant: Mapping[str, Any],
) -> list[str]:
    """Return sentences on what a comparison shows, the answer first.

    Parameters
    ----------
    rows : sequence of mappings
        The methods, the best first.
    pairs : sequence of mappings
        The verdict on each pair tested.
    decision : mapping or None
        The decision; None for a single method.
    metric : mapping
        The metric of the ranking.
    constant : mapping
        The constant prediction, and which methods are better.

    Returns
    -------
    list of str
        First that no method beats the constant prediction, if so; then what was asked; then the shown differences, the
        closest first; then what would show more.
    """
    first = [] if constant["beaten_by"] else [_say_nothing_learned(metric, constant)]
    if decision is None:
        measured = f"Only {rows[0]['label']} was measured: {_mean_in_words(rows[0], metric)}."
        return [*first, f"{measured} Name more methods to compare it with."]
    of_metric = [pair for pair in pairs if pair["metric"] == metric["name"]]
    labels = {row["name"]: row["label"] for row in rows}
    return [*first, *SAY[decision["question"]](of_metric, decision, labels), *say_plan(decision.get("plan"), metric)]


def say_answer(
    rows: Sequence[Mapping[str, Any]],
    decision: Mapping[str, Any] | None,
    metric: Mapping[str, Any],
    constant: Mapping[str, Any],
) -> str:
    """Return one sentence for a reader who reads no other: the best method, its error, and who may be as good.

    The parameters are those of `say_results`.
    """
    if not constant["beaten_by"]:
        return _say_nothing_learned(metric, constant)
    best, measured = rows[0], rows[0]["metrics"][metric["name"]]
    first = f"{_capitalized(best['label'])} has the {'lowest' if metric['less_is_better'] else 'highest'} "
    form = ".1f" if metric["unit"] == "%" else ".3g"
    ends = f"95 % interval {measured['low']:{form}} to {measured['high']:{form}}"
    other = f"{constant['label']}: {constant['error']:{form}}"
    if metric["name"] == "error":
        size = f"error: it is wrong for {measured['mean']:{form}} of 100 new rows ({ends}; {other})"
    else:
        unit = f" {metric['unit']}" if metric["unit"] else ""
        size = f"{metric['label']}: {measured['mean']:{form}}{unit} for new rows ({ends}; {other})"
    return first + size + _say_rivals(rows, decision) + "."


def _say_rivals(rows: Sequence[Mapping[str, Any]], decision: Mapping[str, Any] | None) -> str:
    """Say which other methods may be as good, by the decision on the best method."""
    if decision is None or decision["question"] != "best":
        return ""
    best, others = rows[0]["name"], len(rows) - 1
    rivals = [row["label"] for row in rows if row["name"] in decision["may_be_best"] and row["name"] != best]
    if not rivals:
        return ", and the other method is worse" if others == 1 else f", and all {others} other methods are worse"
    if not decision["worse"]:
        subject = "the other method is not" if others == 1 else f"none of the other {others} methods is"
        return f", and {subject} shown to be worse"
    worse = "the other is worse" if len(decision["worse"]) == 1 else f"the other {len(decision['worse'])} are worse"
    named = listed(rivals) if len(rivals) <= MOST_RIVALS else f"{len(rivals)} other methods"
    return f", and {named} may be as good; {worse}"


def _say_nothing_learned(metric: Mapping[str, Any], constant: Mapping[str, Any]) -> str:
    size = f"{constant['error']:.3g}{' %' if metric['unit'] == '%' else ''}"
    predicts = "is shown to predict" if constant.get("is_tested", True) else "predicts"
    said = f"No method {predicts} better than a constant: {constant['label']} has {metric['label']} {size}."
    always = constant.get("lower_in_all_splits")
    if not always:
        return said
    amounts = f"in each of the {constant['n_splits']} test folds, by amounts that differ too much for the test"
    return f"{said} {_capitalized(always[0])} is better {amounts}."


def _say_best(pairs: Sequence[Mapping[str, Any]], decision: Mapping[str, Any], labels: Mapping[str, str]) -> list[str]:
    """Say which methods may be the best, and which are worse."""
    best, worse = ([labels[name] for name in decision[key]] for key in ("may_be_best", "worse"))
    shown = [_capitalized(pair["sentence"]) for pair in pairs if pair["verdict"] != UNCLEAR]
    if not worse:
        return [f"No method is shown to be better than the others on this data. {_capitalized(pairs[0]['sentence'])}"]
    if len(labels) == 2 or not shown:
        return shown
    is_are = "is" if len(worse) == 1 else "are"
    if len(best) == 1:
        return [f"{_capitalized(best[0])} is the best on this data; {listed(worse)} {is_are} worse.", *shown]
    return [f"{_capitalized(listed(best))} may be the best on this data; {listed(worse)} {is_are} worse.", *shown]


def _say_baseline(
    pairs: Sequence[Mapping[str, Any]], decision: Mapping[str, Any], labels: Mapping[str, str]
) -> list[str]:
    """Say which methods differ from the baseline, and from which no difference is shown."""
    shown = [_capitalized(pair["sentence"]) for pair in pairs if pair["verdict"] != UNCLEAR]
    name = decision["baseline"]
    return [*shown, *_say_unclear(name, pairs, labels, "is not shown to differ from")]


def _say_pairs(pairs: Sequence[Mapping[str, Any]], decision: Mapping[str, Any], labels: Mapping[str, str]) -> list[str]:
    """Say what the tests of all pairs show for the leader."""
    leader = decision["leader"]
    mine = [pair for pair in pairs if leader in (pair["first"], pair["second"])]
    shown = [_capitalized(pair["sentence"]) for pair in mine if pair["verdict"] != UNCLEAR]
    if all(pair["verdict"] == UNCLEAR for pair in pairs):
        return [f"No method is shown to be better than the others on this data. {_capitalized(mine[0]['sentence'])}"]
    return [*_say_unclear(leader, mine, labels, "has the best mean, but is not shown to differ from"), *shown]


SAY = {"best": _say_best, "baseline": _say_baseline, "pairs": _say_pairs}


def _say_unclear(name: str, pairs: Sequence[Mapping[str, Any]], labels: Mapping[str, str], words: str) -> list[str]:
    unclear = [pair for pair in pairs if pair["verdict"] == UNCLEAR]
    others = [labels[pair["second"] if pair["first"] == name else pair["first"]] for pair in unclear]
    return [f"{_capitalized(labels[name])} {words} {listed(others)}."] if others else []


def say_plan(plan: Mapping[str, Any] | None, metric: Mapping[str, Any]) -> list[str]:
    """Say how many repetitions would show a difference that matters, or that more rows are needed."""
    if plan is None:
        return []
    wanted = say_size(plan["difference"], metric)
    if plan["repetitions"] is None:
        folds, shown = f"{plan['most_repetitions']} x {plan['folds']} folds", say_size(plan["shown_difference"], metric)
        return [f"To show a difference of {wanted} takes more rows; with these, {folds} would show {shown}."]
    return [
        f"{plan['repetitions']} x {plan['folds']} folds, about {say_time(plan['seconds'])}, would show a difference of "
        f"{wanted} in four of five cases (--until-clear)."
    ]


def say_size(size: float, metric: Mapping[str, Any]) -> str:
    """Write a difference with its unit."""
    if metric["unit"] == "%":
        return f"{size:.2g} point" + ("s" if f"{size:.2g}" != "1" else "")
    return f"{size:.2g} in {metric['label']}"


def say_time(seconds: float) -> str:
    """Write a time in words.

    Examples
    --------
    >>> say_time(0.3), say_time(42), say_time(250), say_time(9000)
    ('1 second', '42 seconds', '4 minutes', '2.5 hours')
    """
    for unit, size, form in (("hour", 3600, ".2g"), ("minute", 60, ".0f")):
        if seconds >= 1.5 * size:
            return f"{seconds / size:{form}} {unit}s"
    whole = max(round(seconds), 1)
    return f"{whole} second" + ("s" if whole > 1 else "")


def say_time_spent(summary: Mapping[str, Any]) -> str:
    """Say how long this run took, and the fits and predictions, those of earlier runs included.

    Examples
    --------
    >>> measured = {"seconds": 250.0, "results": 70, "reused": 60}
    >>> say_time_spent({"seconds": 12.3, "measured": measured})
    'This run took 12 seconds. Training and testing took 4 minutes; 60 of its 70 results are from earlier runs.'
    """
    if not summary.get("seconds"):
        return ""
    run = f"This run took {say_time(summary['seconds'])}."
    measured = summary.get("measured")
    if not measured:
        return run
    earlier = f"; {measured['reused']} of its {measured['results']} results are from earlier runs"
    return f"{run} Training and testing took {say_time(measured['seconds'])}{earlier if measured['reused'] else ''}."


def listed(words: Sequence[str]) -> str:
    """Join words by commas and "and".

    Examples
    --------
    >>> listed(["Aspen", "bagging", "C4.5"])
    'Aspen, bagging and C4.5'
    """
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def _capitalized(sentence: str) -> str:
    """Return the sentence with a capital first letter."""
    return sentence[0].upper() + sentence[1:]


def _mean_in_words(row: Mapping[str, Any], metric: Mapping[str, Any]) -> str:
    measured = row["metrics"][metric["name"]]
    unit = f" {metric['unit']}" if metric["unit"] else ""
    interval = f"95 % interval {measured['low']:.3g} to {measured['high']:.3g}"
    return f"{metric['label']} {measured['mean']:.3g}{unit}, {interval}"
