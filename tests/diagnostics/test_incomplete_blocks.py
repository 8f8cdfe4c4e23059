"""Tables with missing errors: Skillings and Mack's test is Friedman's if nothing is missing, and keeps its level."""

import numpy as np
import pytest
from scipy import stats

from tremula.diagnostics import compare_over_datasets, skillings_mack_test
from tremula.errors import InvalidInput


def table_of(
    seed: int, shift: float = 0.0, n_datasets: int = 20, n_methods: int = 4, missing: float = 0.2
) -> np.ndarray:
    random = np.random.default_rng(seed)
    errors = random.normal(size=(n_datasets, n_methods)) + random.normal(size=(n_datasets, 1))
    errors[:, 0] -= shift
    errors[random.random(errors.shape) < missing] = np.nan
    errors[:2] = random.normal(size=(2, n_methods))
    return errors[(~np.isnan(errors)).sum(axis=1) > 1]


def test_it_is_friedmans_if_nothing_is_missing() -> None:
    errors = table_of(0, missing=0.0)
    assert skillings_mack_test(errors) == pytest.approx(tuple(stats.friedmanchisquare(*errors.T)))


def test_it_keeps_its_level_and_finds_a_shift() -> None:
    null = np.mean([skillings_mack_test(table_of(seed))[1] <= 0.05 for seed in range(300)])
    shifted = np.mean([skillings_mack_test(table_of(seed, shift=1.5))[1] <= 0.05 for seed in range(100)])
    assert null <= 0.09
    assert shifted > 0.65


def test_a_dataset_with_one_method_says_nothing() -> None:
    errors = table_of(1)
    alone = np.full((1, errors.shape[1]), np.nan)
    alone[0, 0] = 0.0
    assert skillings_mack_test(np.vstack([errors, alone])) == skillings_mack_test(errors)


def test_methods_that_share_no_dataset_are_refused() -> None:
    nothing = np.nan
    errors = np.array([[1, 2, nothing, nothing], [2, 1, nothing, nothing], [nothing, nothing, 1, 2.0]])
    with pytest.raises(InvalidInput, match="share no dataset"):
        skillings_mack_test(errors)


def test_a_ranking_of_an_incomplete_table_says_which_test_it_is() -> None:
    ranking = compare_over_datasets(table_of(2, shift=3.0), names=["a", "b", "c", "d"])
    assert "differ (Skillings-Mack chi-square = " in str(ranking)
    assert ranking.mean_ranks.argmin() == 0
    assert ((ranking.p_values > 0) & (ranking.p_values <= 1)).all()
    whole = compare_over_datasets(table_of(2, shift=3.0, missing=0.0))
    assert ranking.critical_difference > whole.critical_difference


def test_what_cannot_be_ranked_is_refused_by_name() -> None:
    errors = np.array([[0.1, np.nan], [0.2, np.nan], [0.3, 0.1]])
    with pytest.raises(InvalidInput, match="'dataset 0' has 1 error"):
        compare_over_datasets(errors)
    with pytest.raises(InvalidInput, match="is inf"):
        compare_over_datasets([[0.1, np.inf], [0.2, 0.1]])
