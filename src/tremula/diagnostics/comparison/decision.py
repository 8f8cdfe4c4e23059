"""The decision on a comparison: the one object that says what is shown, which every table, page and sentence reads.

A question fixes which pairs are tested together. Each pair then has one p-value and one verdict.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from tremula.diagnostics.comparison.method_names import place_of
from tremula.diagnostics.comparison.verdict import Verdict
from tremula.diagnostics.significance.intervals import check_confidence
from tremula.diagnostics.significance.paired import Floats
from tremula.diagnostics.significance.practical_equivalence import correlated_t_probabilities
from tremula.diagnostics.significance.with_the_best import p_values_with_the_best
from tremula.errors import InvalidInput, InvalidParameter
from tremula.parameters import check_flag, check_number

if TYPE_CHECKING:
    from tremula.diagnostics.comparison.comparison import Comparison

QUESTIONS = ("best", "baseline", "pairs")


@dataclass(frozen=True)
class Decision:
    """What is shown by a comparison; made by `decide`.

    Attributes
    ----------
    question : {'best', 'baseline', 'pairs'}
        Which methods may be the best, which differ from a baseline, or which pairs differ.
    names : list of str
        The methods, the lowest mean first.
    verdicts : list of Verdict
        One for each pair tested: those with the leader, with the baseline, or all.
    baseline : str or None
        The method that the others are compared with, if the question is 'baseline'.
    share_spent : float
        The share of the level of the tests that this look may spend, if there are several.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.dummy import DummyClassifier
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from tremula.diagnostics import compare, decide
    >>> methods = {"majority": DummyClassifier(), "tree": DecisionTreeClassifier(), "naive Bayes": GaussianNB()}
    >>> decision = decide(compare(methods, *load_iris(return_X_y=True), random_state=0))
    >>> decision.may_be_best, decision.worse
    (['tree', 'naive Bayes'], ['majority'])
    """

    question: str
    names: list[str]
    verdicts: list[Verdict]
    baseline: str | None = None
    share_spent: float = 1.0

    @property
    def leader(self) -> str:
        """The method with the lowest mean."""
        return self.names[0]

    @property
    def worse(self) -> list[str]:
        """The methods shown to be worse than another one, the best of them first."""
        beaten = {v.second if v.better == v.first else v.first for v in self.verdicts if v.better is not None}
        return [name for name in self.names if name in beaten]

    @property
    def may_be_best(self) -> list[str]:
        """The methods not shown to be worse than another one, the lowest mean first."""
        worse = self.worse
        return [name for name in self.names if name not in worse]

    @property
    def undecided(self) -> list[Verdict]:
        """The verdicts that show no difference."""
        return [verdict for verdict in self.verdicts if verdict.better is None]

    def is_clear(self, probability: float = 0.95) -> bool:
        """Return whether each pair is shown to differ, or is equal for practical purposes with this probability.

        If this is one of several looks, its share of the level asks for more: with a share of 0.1, for 99.5 % instead
        of 95 %. Methods that differ by the region or more are then called equal in at most 5 % of cases, by all looks
        together.
        """
        needed = 1 - (1 - probability) * self.share_spent
        return all(v.probabilities is not None and v.probabilities.equal >= needed for v in self.undecided)


def decide(
    comparison: Comparison,
    *,
    baseline: str | None = None,
    all_pairs: bool = False,
    correction: str = "holm",
    confidence: float = 0.95,
    region: float | None = None,
    share_of_level: float = 1.0,
) -> Decision:
    """Decide what a comparison shows: which methods may be the best, or which differ.

    Parameters
    ----------
    comparison : Comparison
    baseline : str, default=None
        Compare all others with this method; None asks which methods may be the best, by multiple comparisons with the
        best (Edwards and Hsu, 1983).
    all_pairs : bool, default=False
        Test every pair instead.
    correction : {'holm', 'bonferroni', 'benjamini-hochberg', 'none'}, default='holm'
        For the number of pairs, where a baseline or all pairs are tested.
    confidence : float, default=0.95
        A difference counts as shown if the adjusted p-value is at most 1 - confidence.
    region : float, default=None
        Differences up to this size do not matter in practice; None computes no probabilities.
    share_of_level : float, default=1.0
        The share of the level that this look may spend, if there are several; p-values are divided by it, and
        `Decision.is_clear` asks for a higher probability.

    Returns
    -------
    Decision

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from tremula import C45Classifier
    >>> from tremula.diagnostics import compare, decide
    >>> X, y = load_wine(return_X_y=True)
    >>> result = compare({"C4.5": C45Classifier(), "naive Bayes": GaussianNB()}, X, y, random_state=0)
    >>> print(decide(result, region=0.01).verdicts[0].practical_sentence)
    C4.5: 94 % worse than naive Bayes by more than 1 point, 4 % equal, 2 % better.
    """
    check_confidence(confidence)
    check_flag("all_pairs", all_pairs)
    if baseline is not None and all_pairs:
        raise InvalidParameter("a baseline and all_pairs=True were given: give one, since the pairs differ")
    check_number("share_of_level", share_of_level, 0.0, 1.0, above=True)
    if not hasattr(comparison, "mean_errors"):
        raise InvalidInput(f"{type(comparison).__name__} was given: give a Comparison, as compare() returns it")
    if len(comparison.names) < 2:
        raise InvalidInput(f"there is one method, {comparison.names[0]!r}: a decision needs two")
    order = np.argsort(comparison.mean_errors, kind="stable")
    ranked = comparison.choose([comparison.names[place] for place in order])
    if baseline is not None:
        question, verdicts = "baseline", ranked.verdicts(baseline, correction=correction, confidence=confidence)
    elif all_pairs:
        question, verdicts = "pairs", ranked.verdicts(correction=correction, confidence=confidence)
    else:
        question, verdicts = "best", _verdicts_with_the_best(ranked, confidence)
    verdicts = [
        replace(verdict, adjusted_p_value=min(verdict.adjusted_p_value / share_of_level, 1.0)) for verdict in verdicts
    ]
    if region is not None and len(ranked.test_rows) > 1:
        verdicts = [_with_probabilities(verdict, ranked, region) for verdict in verdicts]
    return Decision(question, ranked.names, verdicts, baseline, share_of_level)


def _verdicts_with_the_best(ranked: Comparison, confidence: float) -> list[Verdict]:
    """Return the verdict on the leader and each other method."""
    results = [ranked.test(ranked.names[0], name, confidence=confidence) for name in ranked.names[1:]]
    n_pairs = len(results)
    if ranked.choose_test() == "corrected t":
        p_values = p_values_with_the_best(ranked.errors, ratio_of(ranked))[1:]
    else:  # of other tests no joint distribution is known: Šidák's inequality bounds it
        p_values = 1 - (1 - np.array([result.p_value for result in results])) ** n_pairs
    return [
        Verdict(ranked.names[0], name, result, float(p_value), "hsu", n_pairs, ranked.scoring)
        for name, result, p_value in zip(ranked.names[1:], results, p_values)
    ]


def ratio_of(comparison: Comparison) -> float:
    """Return the mean over the splits of test rows to training rows."""
    return float(np.mean(comparison.n_test / comparison.n_train))


def _with_probabilities(verdict: Verdict, comparison: Comparison, region: float) -> Verdict:
    errors: list[Floats] = [
        comparison.errors[place_of(name, comparison.names)] for name in (verdict.first, verdict.second)
    ]
    sizes = {"n_train": comparison.n_train, "n_test": comparison.n_test}
    return replace(verdict, probabilities=correlated_t_probabilities(*errors, region=region, **sizes))
