"""Decisions: which methods may be the best, probabilities as baycomp has them, plans, and looks that keep the level."""

import numpy as np
import pytest

from tremula.diagnostics import (
    Comparison,
    corrected_t_test,
    correlated_t_probabilities,
    decide,
    detectable_difference,
    plan_looks,
    planned_repetitions,
)
from tremula.diagnostics.significance.with_the_best import p_values_with_the_best
from tremula.errors import InvalidParameter

RATIO = 1 / 9


def comparison_of(errors: np.ndarray) -> Comparison:
    """A comparison of ten folds of 100 rows."""
    rows = np.arange(100)
    n_methods, n_splits = errors.shape
    tests = [rows[fold % 10 :: 10] for fold in range(n_splits)]
    return Comparison(
        names=[f"method {number}" for number in range(n_methods)],
        errors=errors,
        predictions=[[]] * n_methods,
        probabilities=[None] * n_methods,
        train_rows=[np.setdiff1d(rows, test) for test in tests],
        test_rows=tests,
        y=rows,
        classes=None,
        scoring="error",
    )


def correlated_errors(random: np.random.Generator, means: list[float], n_splits: int = 10) -> np.ndarray:
    """Errors whose splits are correlated as Nadeau and Bengio assume: a share RATIO / (1 + RATIO) is common to all."""
    share = RATIO / (1 + RATIO)
    common = np.sqrt(share) * random.normal(size=(len(means), 1))
    return np.array(means)[:, None] + 0.02 * (common + np.sqrt(1 - share) * random.normal(size=(len(means), n_splits)))


def test_two_methods_have_the_p_value_of_the_corrected_t_test() -> None:
    first, second = correlated_errors(np.random.default_rng(0), [0.1, 0.13])
    expected = corrected_t_test(first, second, n_train=90, n_test=10).p_value
    assert np.nanmax(p_values_with_the_best(np.array([first, second]), RATIO)) == pytest.approx(expected)


def test_p_values_lie_between_those_of_one_pair_and_bonferroni() -> None:
    errors = correlated_errors(np.random.default_rng(1), [0.1, 0.11, 0.12, 0.13, 0.14])
    decision = decide(comparison_of(errors))
    for verdict in decision.verdicts:
        alone = verdict.result.p_value
        assert alone <= verdict.adjusted_p_value <= min(4 * alone, 1)
    assert any(alone < v.adjusted_p_value < 4 * alone for v in decision.verdicts for alone in [v.result.p_value])


@pytest.mark.slow
def test_the_leader_is_shown_to_be_better_more_often_than_by_all_pairs() -> None:
    shown = {True: 0, False: 0}
    for seed in range(40):
        comparison = comparison_of(correlated_errors(np.random.default_rng(seed), [0.10] + [0.11] * 5 + [0.135]))
        for all_pairs in shown:
            decision = decide(comparison, all_pairs=all_pairs)
            pairs = {(verdict.first, verdict.second): verdict for verdict in decision.verdicts}
            shown[all_pairs] += pairs[decision.leader, "method 6"].better == decision.leader
    assert shown[False] > shown[True] + 5


def test_the_best_is_called_worse_at_most_as_often_as_the_level() -> None:
    n_lost = sum(
        "method 0" in decide(comparison_of(correlated_errors(np.random.default_rng(seed), [0.1, 0.1, 0.1]))).worse
        for seed in range(200)
    )
    assert n_lost <= 12  # 5 % of 200, and a little for chance


def test_every_method_may_be_best_or_is_worse_and_the_leader_may_be_best() -> None:
    decision = decide(comparison_of(correlated_errors(np.random.default_rng(3), [0.3, 0.1, 0.1])))
    assert sorted(decision.may_be_best + decision.worse) == ["method 0", "method 1", "method 2"]
    assert decision.leader == decision.may_be_best[0]
    assert "method 0" in decision.worse


def test_constant_differences_are_certain() -> None:
    errors = np.repeat([[0.1], [0.2], [0.1]], 10, axis=1)
    decision = decide(comparison_of(errors), region=0.01)
    assert decision.worse == ["method 1"]
    assert decision.verdicts[0].probabilities is not None
    assert decision.verdicts[0].probabilities.equal == 1


def test_a_decision_is_clear_if_what_is_not_shown_does_not_matter() -> None:
    comparison = comparison_of(correlated_errors(np.random.default_rng(4), [0.1, 0.1, 0.5]))
    assert not decide(comparison, region=0.0).is_clear()
    assert decide(comparison, region=0.2).is_clear()


def test_a_look_needs_a_probability_of_equal_for_its_share_of_the_level() -> None:
    comparison = comparison_of(correlated_errors(np.random.default_rng(4), [0.1, 0.1]))
    regions = np.linspace(0.001, 0.2, 400)
    decisions = [decide(comparison, region=region, share_of_level=0.1) for region in regions]
    equal = np.array([each.verdicts[0].probabilities.equal for each in decisions])  # type: ignore[union-attr]
    assert [each.is_clear() for each in decisions] == (equal >= 0.995).tolist()
    assert ((equal >= 0.95) & (equal < 0.995)).any()


def test_looks_together_seldom_call_methods_equal_that_differ_by_the_region() -> None:
    """Without shares of the level, four looks do so in about 10 % of cases."""
    looks, n_trials = plan_looks(10), 200
    mistaken = {"by shares": 0, "without": 0}
    for seed in range(n_trials):
        first, second = correlated_errors(np.random.default_rng(seed), [0.1, 0.13], 100)
        sizes = {"n_train": 90, "n_test": 10, "region": 0.03}
        ends = [10 * look.repetitions for look in looks]
        equal = [correlated_t_probabilities(first[:end], second[:end], **sizes).equal for end in ends]
        mistaken["without"] += max(equal) >= 0.95
        seen = [comparison_of(np.array([first[:end], second[:end]])) for end, p in zip(ends, equal) if p >= 0.95]
        shares = [look.share_of_level for look, p in zip(looks, equal) if p >= 0.95]
        decisions = [decide(each, region=0.03, share_of_level=share) for each, share in zip(seen, shares)]
        mistaken["by shares"] += any(each.undecided and each.is_clear() for each in decisions)
    assert mistaken["by shares"] <= 0.05 * n_trials < mistaken["without"]


@pytest.mark.parametrize("options", [{"baseline": "method 0", "all_pairs": True}, {"share_of_level": 0}])
def test_a_question_that_makes_no_sense_is_refused(options: dict) -> None:
    with pytest.raises(InvalidParameter):
        decide(comparison_of(np.zeros((2, 10))), **options)


@pytest.mark.parametrize("region", [0.0, 0.01, 0.05])
@pytest.mark.parametrize("runs", [1, 3])
def test_probabilities_are_those_of_baycomp(region: float, runs: int) -> None:
    baycomp = pytest.importorskip("baycomp", reason="baycomp is not installed")
    first, second = correlated_errors(np.random.default_rng(5), [0.1, 0.12], 10 * runs)
    ours = correlated_t_probabilities(first, second, n_train=90, n_test=10, region=region)
    theirs = baycomp.CorrelatedTTest.probs(first, second, rope=region, runs=runs)
    # baycomp has scores, of which more is better; without a region it gives two probabilities.
    expected = theirs if region else (theirs[0], 0.0, theirs[1])
    assert (ours.worse, ours.equal, ours.better) == pytest.approx(expected, abs=1e-12)


def test_the_planned_repetitions_show_the_difference_and_one_fewer_does_not() -> None:
    repetitions = planned_repetitions(0.02, RATIO, cv=10, difference=0.021)
    assert repetitions is not None
    assert repetitions > 1
    sizes = [detectable_difference(0.02, RATIO, 10 * number) for number in (repetitions, repetitions - 1)]
    assert sizes[0] <= 0.021 < sizes[1]


@pytest.mark.parametrize("most", [1, 2, 3, 10, 50])
def test_looks_spend_the_level_once(most: int) -> None:
    looks = plan_looks(most)
    assert looks[-1].repetitions == most
    assert sum(look.share_of_level for look in looks) == pytest.approx(1)
