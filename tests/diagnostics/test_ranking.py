"""Rankings over datasets: against SciPy, against published critical values, and by hand."""

import math
import sys
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn.datasets import load_iris, load_wine
from sklearn.dummy import DummyClassifier
from sklearn.naive_bayes import GaussianNB

from tremula.diagnostics import Ranking, compare, compare_over_datasets
from tremula.diagnostics.comparison.ranking import nemenyi_critical_difference
from tremula.errors import InvalidInput, InvalidParameter, MissingLibrary

# Ranks by rows: (1, 2, 3), (1, 3, 2), (1, 2, 3), (2, 1, 3), (1, 2, 3), (1, 2, 3); sums 7, 12, 17.
ERRORS = np.array(
    [[0.1, 0.2, 0.3], [0.1, 0.3, 0.2], [0.01, 0.02, 0.05], [0.2, 0.1, 0.6], [0.3, 0.4, 0.5], [0.2, 0.25, 0.3]]
)


@pytest.mark.parametrize(
    ("n_methods", "published"),
    [(2, 1.960), (3, 2.343), (4, 2.569), (5, 2.728), (6, 2.850), (7, 2.949), (8, 3.031), (9, 3.102), (10, 3.164)],
)
def test_nemenyi_has_the_critical_values_of_demsar(n_methods: int, published: float) -> None:
    factor = math.sqrt(n_methods * (n_methods + 1) / (6 * 20))
    assert nemenyi_critical_difference(n_methods, 20) / factor == pytest.approx(published, abs=1e-3)


def test_critical_difference_of_demsars_example() -> None:
    # Four methods on 14 datasets: 1.25 at 95 %, and 1.10 with q = 2.291 at 90 %.
    assert nemenyi_critical_difference(4, 14) == pytest.approx(1.25, abs=5e-3)
    assert nemenyi_critical_difference(4, 14, confidence=0.9) == pytest.approx(2.291 * math.sqrt(20 / 84), abs=1e-3)


def test_friedman_by_hand() -> None:
    # 12 / (6 * 3 * 4) * (49 + 144 + 289) - 3 * 6 * 4 = 482 / 6 - 72 = 25 / 3; F = 5 * 25/3 / (12 - 25/3) = 125 / 11
    ranking = compare_over_datasets(ERRORS)
    assert ranking.mean_ranks == pytest.approx([7 / 6, 2, 17 / 6])
    assert ranking.friedman_statistic == pytest.approx(25 / 3)
    assert ranking.friedman_p_value == pytest.approx(math.exp(-25 / 6))
    assert ranking.iman_davenport_statistic == pytest.approx(125 / 11)
    assert ranking.iman_davenport_p_value == pytest.approx(stats.f.sf(125 / 11, 2, 10))


def test_friedman_is_scipys_with_ties() -> None:
    errors = np.random.default_rng(0).integers(0, 5, size=(12, 4)) / 10
    expected = stats.friedmanchisquare(*errors.T)
    assert compare_over_datasets(errors).friedman_statistic == pytest.approx(expected.statistic)


def test_friedman_of_two_methods_is_the_sign_test() -> None:
    # 5 wins, 1 loss, 1 tie: (5 - 1)^2 / 6
    errors = [[0.1, 0.2]] * 5 + [[0.2, 0.1], [0.3, 0.3]]
    assert compare_over_datasets(errors).friedman_statistic == pytest.approx(16 / 6)


def test_wilcoxon_is_scipys_with_holm() -> None:
    errors = np.random.default_rng(1).random((10, 3))
    raw = sorted(
        (stats.wilcoxon(errors[:, one] - errors[:, other]).pvalue, one, other)
        for one, other in [(0, 1), (0, 2), (1, 2)]
    )
    p_values = compare_over_datasets(errors).p_values
    p_value, one, other = raw[0]
    assert p_values[one, other] == p_values[other, one] == pytest.approx(min(1, 3 * p_value))
    assert np.diag(p_values).tolist() == [1, 1, 1]


def test_errors_that_differ_by_rounding_tie() -> None:
    ranking = compare_over_datasets([[0.3, 0.1 + 0.2], [0.2, 0.1]])
    assert ranking.ranks.tolist() == [[1.5, 1.5], [2, 1]]


def test_methods_that_differ_by_rounding_alone_do_not_differ() -> None:
    ranking = compare_over_datasets([[0.3, 0.1 + 0.2], [0.6, 0.2 + 0.4], [0.7, 0.1 + 0.6], [0.8, 0.1 + 0.7]])
    assert ranking.p_values.tolist() == [[1, 1], [1, 1]]


def test_the_unit_of_a_dataset_changes_no_rank() -> None:
    small, large = [[1e-9, 2e-9, 3e-9]] * 6, [[1e6, 2e6, 3e6]]
    ranking = compare_over_datasets([*small, *large])
    assert ranking.ranks.tolist() == [[1, 2, 3]] * 7
    assert ranking.p_values[0, 1] < 0.05


def test_mean_ranks_against_a_baseline_by_hand() -> None:
    ranking = compare_over_datasets(np.tile([0.1, 0.2, 0.3], (6, 1)), names=[*"ABC"])
    step = 1 / math.sqrt(3 * 4 / (6 * 6))
    near, far = 2 * stats.norm.sf([step, 2 * step])
    assert ranking.against("A") == pytest.approx({"B": near, "C": 2 * far})
    assert list(ranking.against("B").values()) == pytest.approx([2 * near, 2 * near])


def test_a_baseline_that_is_not_there_is_refused() -> None:
    with pytest.raises(InvalidParameter, match="no method is called 'methd 0': did you mean 'method 0'"):
        compare_over_datasets(ERRORS).against("methd 0")


def test_methods_that_always_tie_do_not_differ() -> None:
    ranking = compare_over_datasets(np.full((5, 3), 0.2))
    assert (ranking.friedman_p_value, ranking.iman_davenport_p_value) == (1, 1)
    assert (ranking.p_values == 1).all()


@pytest.mark.parametrize(("n_datasets", "n_methods"), [(2, 2), (3, 2), (4, 3), (8, 3)])
def test_the_same_order_everywhere_is_as_probable_as_chance_makes_it(n_datasets: int, n_methods: int) -> None:
    ranking = compare_over_datasets(np.tile(np.arange(1.0, n_methods + 1), (n_datasets, 1)))
    exact = math.factorial(n_methods) ** (1 - n_datasets)
    assert ranking.iman_davenport_statistic == math.inf
    assert ranking.iman_davenport_p_value == pytest.approx(exact)
    assert ranking.friedman_p_value >= exact * (1 - 1e-9)


def make_ranking(mean_ranks: list[float], critical_difference: float, p_values: Any = None) -> Ranking:
    n_methods = len(mean_ranks)
    errors = np.zeros((2, n_methods))
    p_values = np.ones((n_methods, n_methods)) if p_values is None else np.array(p_values)
    tests = (1.0, 0.5, 1.0, 0.5, critical_difference)
    return Ranking([*"ABCDE"[:n_methods]], ["x", "y"], errors, errors, np.array(mean_ranks), *tests, p_values, 0.95)


@pytest.mark.parametrize(
    ("mean_ranks", "critical_difference", "expected"),
    [
        ([1.0, 2.0, 3.0, 4.0], 1.5, [["A", "B"], ["B", "C"], ["C", "D"]]),
        ([1.0, 2.0, 3.0, 4.0], 2.5, [["A", "B", "C"], ["B", "C", "D"]]),
        ([4.0, 2.0, 1.0, 3.0], 5.0, [["C", "B", "D", "A"]]),
        ([1.0, 3.0, 3.2, 5.0], 1.0, [["B", "C"]]),
        ([1.0, 2.0], 0.5, []),
    ],
)
def test_cliques_are_the_longest_stretches_within_the_critical_difference(
    mean_ranks: list[float], critical_difference: float, expected: list[list[str]]
) -> None:
    assert make_ranking(mean_ranks, critical_difference).cliques() == expected


def test_cliques_by_wilcoxon_hold_no_pair_that_differs() -> None:
    p_values = [[1, 0.5, 0.01], [0.5, 1, 0.2], [0.01, 0.2, 1]]
    assert make_ranking([1.0, 2.0, 3.0], 9.0, p_values).cliques("wilcoxon") == [["A", "B"], ["B", "C"]]


def test_false_findings_are_near_5_percent() -> None:
    draws = np.random.default_rng(2).random((400, 15, 3))
    rankings = [compare_over_datasets(draw) for draw in draws]
    tolerance = 4 * math.sqrt(0.05 * 0.95 / 400)
    assert np.mean([each.iman_davenport_p_value <= 0.05 for each in rankings]) == pytest.approx(0.05, abs=tolerance)
    assert np.mean([np.ptp(each.mean_ranks) >= each.critical_difference for each in rankings]) < 0.05 + tolerance
    assert np.mean([each.p_values.min() <= 0.05 for each in rankings]) < 0.05 + tolerance


@pytest.mark.parametrize("shift", [0.0, 0.1])
def test_wilcoxon_with_ties_is_the_normal_approximation(shift: float) -> None:
    differences = np.array([0.1, 0.1, 0.2, -0.1, 0.3, 0.4, 0.2, 0.5]) - shift
    errors = np.column_stack([0.5 + differences, np.full(8, 0.5)])
    expected = stats.wilcoxon(differences.round(9), zero_method="zsplit", method="approx").pvalue
    assert compare_over_datasets(errors).p_values[0, 1] == pytest.approx(expected)


def test_comparisons_are_ranked_by_their_mean_errors() -> None:
    methods = {"majority": DummyClassifier(), "nb": GaussianNB()}
    data = {"iris": load_iris(return_X_y=True), "wine": load_wine(return_X_y=True)}
    results = {name: compare(methods, X, y, cv=3, random_state=0) for name, (X, y) in data.items()}
    ranking = compare_over_datasets(results)
    assert (ranking.names, ranking.dataset_names) == (["majority", "nb"], ["iris", "wine"])
    assert ranking.errors[1].tolist() == results["wine"].mean_errors.tolist()
    assert ranking.mean_ranks.tolist() == [2, 1]
    assert compare_over_datasets(list(results.values())).dataset_names == ["dataset 0", "dataset 1"]


def test_frame_goes_in_and_out() -> None:
    frame = pd.DataFrame(ERRORS, columns=[*"ABC"], index=[f"d{place}" for place in range(6)])
    pd.testing.assert_frame_equal(compare_over_datasets(frame).to_frame(), frame)


def test_frame_needs_pandas(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(MissingLibrary, match="pip install pandas"):
        compare_over_datasets(ERRORS).to_frame()


@pytest.mark.parametrize(
    ("errors", "message"),
    [
        ([[0.1, 0.2]], "1 dataset given: a ranking needs at least 2"),
        ([[0.1], [0.2]], "1 method given: a ranking needs at least 2"),
        ([[], []], "0 methods given"),
        ([[0.1, 0.2], [math.nan, 0.1]], "'dataset 1' has 1 error that is not NaN"),
        ([0.1, 0.2], "1 dimension: give a table"),
        (pd.DataFrame({"dataset": ["iris", "wine"], "A": [0.1, 0.2]}), "not a table of numbers"),
    ],
)
def test_tables_that_cannot_be_ranked(errors: Any, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        compare_over_datasets(errors)


def test_names_may_be_an_index_of_pandas() -> None:
    frame = pd.DataFrame(ERRORS, columns=[*"ABC"])
    assert compare_over_datasets(ERRORS, names=frame.columns).names == [*"ABC"]


def test_names_must_fit() -> None:
    with pytest.raises(InvalidInput, match="give 3 distinct names"):
        compare_over_datasets(ERRORS, names=["A", "B"])
    with pytest.raises(InvalidInput, match="give 6 distinct names"):
        compare_over_datasets(ERRORS, dataset_names=["d"] * 6)


def test_comparisons_of_different_methods_or_scorings() -> None:
    X, y = load_iris(return_X_y=True)
    first = compare({"nb": GaussianNB()}, X, y, cv=2, random_state=0)
    other = compare({"majority": DummyClassifier()}, X, y, cv=2, random_state=0)
    by_log_loss = compare({"nb": GaussianNB()}, X, y, cv=2, random_state=0, scoring="log_loss")
    with pytest.raises(InvalidInput, match="others have"):
        compare_over_datasets([first, other])
    with pytest.raises(InvalidInput, match="'log_loss', others by 'error'"):
        compare_over_datasets([first, by_log_loss])
    with pytest.raises(InvalidInput, match="give a Comparison"):
        compare_over_datasets({"iris": first, "wine": 0.1})
    with pytest.raises(InvalidInput, match="no comparison was given"):
        compare_over_datasets({})


def test_unknown_kind_of_cliques() -> None:
    with pytest.raises(InvalidParameter, match="'wilcoxon'"):
        compare_over_datasets(ERRORS).cliques("wilcoxn")
