"""Class noise changes exactly the rows of its mask, uniformly; boosting's weights of those rows are followed."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.ensemble import AdaBoostClassifier

from tremula import AdaBoostM1Classifier, C45Classifier
from tremula.diagnostics.class_noise import ClassNoise, WeightTrace, add_class_noise, count_noisy_rows, weight_trace
from tremula.errors import InvalidInput, InvalidParameter, InvalidTarget, OneClassTarget


@given(st.integers(2, 60), st.integers(2, 5), st.floats(0, 1), st.integers(0, 2**31))
def test_exactly_the_rows_of_the_mask_change_and_all_of_them(
    n_rows: int, n_classes: int, rate: float, seed: int
) -> None:
    y = np.arange(n_rows) % n_classes
    noisy, mask = add_class_noise(y, rate, random_state=seed)
    assert ((noisy != y) == mask).all()
    assert mask.sum() == count_noisy_rows(n_rows, rate)
    assert set(noisy) <= set(y)


@pytest.mark.parametrize(
    ("n_rows", "rate", "expected"),
    [(2800, 0.2, 560), (10, 0.05, 1), (10, 0.25, 3), (10, 0.24, 2), (100, 0.285, 29), (200, 0.2825, 57), (7, 1.0, 7)],
)
def test_halves_are_rounded_up_as_the_rate_is_written(n_rows: int, rate: float, expected: int) -> None:
    assert count_noisy_rows(n_rows, rate) == expected


def test_wrong_classes_are_as_likely_as_each_other() -> None:
    noisy, mask = add_class_noise(np.repeat([0, 1, 2, 3], 3000), 1.0, random_state=0)
    assert mask.all()
    counts = np.bincount(noisy[:3000], minlength=4)
    assert counts[0] == 0
    assert np.abs(counts[1:] - 1000).max() < 4 * np.sqrt(3000 * (1 / 3) * (2 / 3))


def test_rows_are_as_likely_as_each_other() -> None:
    hits = sum(add_class_noise([0, 1, 0, 1, 1], 0.4, random_state=seed)[1].astype(int) for seed in range(500))
    assert np.abs(hits - 200).max() < 4 * np.sqrt(500 * 0.4 * 0.6)


def test_labels_keep_their_type() -> None:
    text, _ = add_class_noise(pd.Series(["a", "b", "a", "b"], index=[9, 8, 7, 6]), 0.5, random_state=0)
    numbers, _ = add_class_noise(np.array([3, 7, 3], dtype=np.int16), 0.5, random_state=0)
    assert set(text) <= {"a", "b"}
    assert numbers.dtype == np.int16


def test_the_labels_given_are_left_as_they_are() -> None:
    y = np.array([0, 1, 0, 1])
    add_class_noise(y, 1.0, random_state=0)
    assert y.tolist() == [0, 1, 0, 1]


def test_the_transformer_does_what_the_function_does_and_undoes_it() -> None:
    y = np.array(list("abcab" * 4))
    noise = ClassNoise(0.3, random_state=5)
    noisy = noise.fit(y).transform(y)
    expected, mask = add_class_noise(y, 0.3, random_state=5)
    assert (noisy == expected).all()
    assert (noise.mask_ == mask).all()
    assert (noise.inverse_transform(noisy) == y).all()


def test_the_transformer_can_be_cloned() -> None:
    assert clone(ClassNoise(0.1, random_state=3)).get_params() == {"rate": 0.1, "random_state": 3}


def test_the_transformer_refuses_rows_it_drew_no_noise_for() -> None:
    noise = ClassNoise(0.5, random_state=0).fit(["a", "b", "a"])
    with pytest.raises(InvalidTarget, match=r"2 values, but fit drew noise for 3 rows"):
        noise.transform(["a", "b"])
    with pytest.raises(InvalidTarget, match=r"y holds 'c', but the classes of fit are 'a', 'b'"):
        noise.transform(["a", "b", "c"])


@pytest.mark.parametrize("rate", [-0.1, 1.1, np.nan, "0.2", True])
def test_a_rate_that_is_no_share_is_refused(rate: object) -> None:
    with pytest.raises(InvalidParameter, match="rate="):
        add_class_noise([0, 1], rate)  # type: ignore[arg-type]


def test_a_single_class_has_no_wrong_label() -> None:
    with pytest.raises(OneClassTarget, match="one class"):
        add_class_noise([1, 1, 1], 0.5)


def test_labels_of_no_rows_are_refused() -> None:
    with pytest.raises(InvalidTarget, match="y has no labels"):
        add_class_noise([], 0.1)


def test_no_labels_are_refused() -> None:
    with pytest.raises(InvalidTarget, match="expected class labels"):
        add_class_noise(None, 0.5)


def test_mean_weights_are_those_of_a_loop() -> None:
    weights = np.array([[1.0, 1.0, 1.0, 1.0], [2.0, 1.0, 0.5, 0.5]]) * 3
    trace = weight_trace(SimpleNamespace(row_weights_=weights), [True, False, False, True])
    assert trace.corrupted.tolist() == [1.0, 1.25]
    assert trace.clean.tolist() == [1.0, 0.75]
    assert trace.n_corrupted == 2
    assert str(trace).startswith("2 corrupted rows weigh 1.25 times a fair share in round 2")


def boost_with_noise(keep_weights: bool = True) -> tuple[AdaBoostM1Classifier, np.ndarray]:
    X, y = make_classification(300, n_features=6, class_sep=1.5, random_state=0)
    noisy, mask = add_class_noise(y, 0.2, random_state=0)
    booster = AdaBoostM1Classifier(C45Classifier(max_depth=3), n_estimators=10, keep_weights=keep_weights)
    return booster.fit(X, noisy), mask


def test_boosting_puts_its_weight_on_corrupted_rows() -> None:
    model, mask = boost_with_noise()
    trace = weight_trace(model, mask)
    assert trace.corrupted[0] == pytest.approx(1.0)
    assert trace.corrupted[-1] > 1.5 > trace.clean[-1]
    # The two means, each times its rows, are the weight of all rows.
    assert np.allclose(0.2 * trace.corrupted + 0.8 * trace.clean, 1.0)


def test_weights_that_were_not_kept_are_asked_for() -> None:
    model, mask = boost_with_noise(keep_weights=False)
    with pytest.raises(InvalidParameter, match="keep_weights=True"):
        weight_trace(model, mask)
    with pytest.raises(InvalidParameter, match="AdaBoostClassifier has no row_weights_"):
        weight_trace(AdaBoostClassifier(), mask)


@pytest.mark.parametrize("mask", [np.zeros(4, dtype=bool), np.ones(4, dtype=bool), np.array([0, 1, 0, 0]), [True]])
def test_a_mask_of_no_use_is_refused(mask: object) -> None:
    with pytest.raises(InvalidInput, match="mask"):
        weight_trace(SimpleNamespace(row_weights_=np.ones((2, 4))), mask)


def test_a_trace_cannot_be_changed() -> None:
    trace = WeightTrace(np.ones(2), np.ones(2), 1)
    with pytest.raises(AttributeError):
        trace.n_corrupted = 3  # type: ignore[misc]
