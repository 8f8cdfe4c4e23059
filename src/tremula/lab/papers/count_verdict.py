"""Compares our wins, losses and ties over datasets with published ones, and says how much such a verdict tells."""

from __future__ import annotations

import math

from tremula.lab.papers.verdict import TWO_SIDED, Judgement, judge_by_interval, not_comparable


def judge_counts(ours: tuple[int, int, int], published: tuple[int, int, int]) -> Judgement:
    """Judge wins, losses and ties by the share of wins less the share of losses, as losses less wins.

    Parameters
    ----------
    ours, published : tuple of three int
        Wins, losses and ties over datasets.

    Returns
    -------
    Judgement
        Less is better: "better" means that the method wins more against the other than in the paper. Within if the
        shares differ by no more than those of two independent samples of datasets would.

    Examples
    --------
    >>> from tremula.lab.papers.count_verdict import judge_counts
    >>> judge_counts((16, 0, 17), (14, 0, 19)).verdict
    'within'
    >>> judge_counts((1, 0, 2), (14, 0, 19)).verdict
    'not comparable'
    """
    n_ours, n_published = sum(ours), sum(published)
    lead = (published[1] - published[0]) / n_published
    our_lead = (ours[1] - ours[0]) / n_ours if n_ours else math.nan
    if n_ours != n_published:
        return not_comparable(our_lead, lead, f"{n_ours} domains of ours, {n_published} of theirs")
    decided = (published[0] + published[1]) / n_published
    margin = TWO_SIDED * math.sqrt(max(decided - lead**2, 1 / n_published) * (1 / n_ours + 1 / n_published))
    reason = f"sampling error of two samples of {n_ours} domains"
    return judge_by_interval(our_lead, lead, lead - margin, lead + margin, reason, signed=True)


def count_power(published: tuple[int, int, int]) -> float:
    """Return the share of all wins, losses and ties over as many domains that `judge_counts` would not call within.

    Examples
    --------
    >>> from tremula.lab.papers.count_verdict import count_power
    >>> round(count_power((3, 3, 3)), 2), round(count_power((14, 0, 19)), 2)
    (0.15, 0.74)
    """
    n_domains = sum(published)
    outcomes = [
        (wins, losses, n_domains - wins - losses)
        for wins in range(n_domains + 1)
        for losses in range(n_domains + 1 - wins)
    ]
    return sum(judge_counts(outcome, published).is_miss for outcome in outcomes) / len(outcomes)
