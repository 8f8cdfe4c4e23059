"""The parts of the error sum to it exactly, are unbiased, equal naive loops, known truths and Weka's numbers."""

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.dummy import DummyRegressor
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.metrics import log_loss
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from tremula import BaggingClassifier, C45Classifier
from tremula.diagnostics import bias_variance, bias_variance_curve
from tremula.diagnostics.decomposition.terms import (
    CORRECTIONS,
    spread_of_logs,
    spread_of_squares,
    terms_left_out,
    terms_of,
)
from tremula.diagnostics.significance.intervals import interval_of
from tremula.errors import ColumnMismatch, InvalidInput, InvalidParameter, OneClassTarget

SCHEMES = ["pool", "fresh", "bootstrap", "subsampled_cv"]
CLASS_LOSSES = ["error", "class_probability", "log_loss"]
GOLDEN = json.loads(
    gzip.decompress((Path(__file__).parent.parent / "golden" / "weka_bias_variance.json.gz").read_bytes())
)["datasets"]


def random_votes(random: np.random.Generator, n_models: int, n_rows: int, n_classes: int) -> np.ndarray:
    return np.eye(n_classes)[random.integers(n_classes, size=(n_models, n_rows))]


def random_probabilities(random: np.random.Generator, *shape: int) -> np.ndarray:
    return random.dirichlet(np.ones(shape[-1]), size=shape[:-1])


# --- identities on arrays ---


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("known", [False, True])
def test_error_terms_are_those_of_kohavi_and_wolpert(seed: int, known: bool) -> None:
    random = np.random.default_rng(seed)
    n_models, n_rows, n_classes = 7, 6, 3
    votes = random_votes(random, n_models, n_rows, n_classes)
    p = random_probabilities(random, n_rows, n_classes) if known else np.eye(n_classes)[random.integers(3, size=n_rows)]
    noise = 0.5 * (1 - (p**2).sum(axis=1))
    spread = spread_of_squares(votes, np.ones((n_models, n_rows), bool), p, 0.5)
    terms = terms_of(spread, noise, False, "both")
    for row in range(n_rows):
        q = [sum(votes[model, row, c] for model in range(n_models)) / n_models for c in range(n_classes)]
        error = 1 - sum(p[row, c] * q[c] for c in range(n_classes))
        bias = 0.5 * sum((p[row, c] - q[c]) ** 2 - q[c] * (1 - q[c]) / (n_models - 1) for c in range(n_classes))
        variance = n_models / (n_models - 1) * 0.5 * (1 - sum(share**2 for share in q))
        assert terms["error"][row] == pytest.approx(error, abs=1e-12)
        assert terms["bias"][row] == pytest.approx(bias, abs=1e-12)
        assert terms["variance"][row] == pytest.approx(variance, abs=1e-12)
        assert bias + variance + noise[row] == pytest.approx(error, abs=1e-12)


@pytest.mark.parametrize("correction", CORRECTIONS)
@pytest.mark.parametrize("spread_of", [spread_of_squares, spread_of_logs])
def test_terms_sum_to_the_error_unless_as_in_weka(spread_of: Callable[..., Any], correction: str) -> None:
    random = np.random.default_rng(1)
    answers = random_probabilities(random, 5, 8, 4)
    tested = random.random((5, 8)) < 0.7
    tested[:2] = True
    spread = spread_of(answers * tested[:, :, None], tested, np.eye(4)[random.integers(4, size=8)], 1.0)
    terms = terms_of(spread, np.full(8, 0.01), True, correction)
    gap = terms["error"] - terms["bias"] - terms["variance"] - terms["noise"]
    missing = spread.corrected - spread.observed if correction == "weka" else 0.0
    assert np.abs(gap - missing).max() < 1e-12


def test_weka_leaves_a_part_of_the_variance_out() -> None:
    votes = random_votes(np.random.default_rng(0), 5, 40, 2)
    spread = spread_of_squares(votes, np.ones((5, 40), bool), np.eye(2)[np.zeros(40, int)], 0.5)
    ours, weka = (terms_of(spread, np.zeros(40), True, correction) for correction in ("both", "weka"))
    assert np.allclose(ours["bias"], weka["bias"])
    assert np.allclose(weka["variance"], ours["variance"] * 4 / 5)


def test_the_log_variance_is_the_mean_divergence_from_the_geometric_mean() -> None:
    random = np.random.default_rng(2)
    answers = random_probabilities(random, 6, 3, 4)
    target = random_probabilities(random, 3, 4)
    spread = spread_of_logs(answers, np.ones((6, 3), bool), target, 1.0)
    for row in range(3):
        centre = np.exp(np.log(answers[:, row]).mean(axis=0))
        centre /= centre.sum()
        divergences = [(centre * np.log(centre / answer)).sum() for answer in answers[:, row]]
        to_centre = (target[row] * np.log(target[row] / centre)).sum()
        entropy = -(target[row] * np.log(target[row])).sum()
        assert spread.observed[row] == pytest.approx(np.mean(divergences), abs=1e-12)
        assert spread.loss[row] == pytest.approx(entropy + to_centre + np.mean(divergences), abs=1e-12)


@pytest.mark.parametrize("spread_of", [spread_of_squares, spread_of_logs])
def test_models_left_out_are_those_of_a_loop(spread_of: Callable[..., Any]) -> None:
    random = np.random.default_rng(3)
    answers = random_probabilities(random, 6, 5, 3)
    tested = np.ones((6, 5), bool)
    tested[4, :2] = False
    target = np.eye(3)[random.integers(3, size=5)]
    spread = spread_of(answers, tested, target, 1.0)
    for model in range(6):
        others = np.arange(6) != model
        again = spread_of(answers[others], tested[others], target, 1.0)
        assert np.allclose(spread.loss_left_out[model], again.loss)
        assert np.allclose(spread.observed_left_out[model], again.observed)
        if spread_of is spread_of_squares:
            assert np.allclose(spread.corrected_left_out[model], again.corrected)


# --- unbiasedness ---


def mean_terms(correction: str, n_models: int, n_draws: int = 20_000) -> dict[str, float]:
    """Mean terms over many draws of a few models, at a row where a model says 0, 1 or 2 with known chances."""
    votes = np.eye(3)[np.random.default_rng(0).choice(3, size=(n_models, n_draws), p=[0.6, 0.3, 0.1])]
    spread = spread_of_squares(votes, np.ones((n_models, n_draws), bool), np.tile([0.5, 0.5, 0.0], (n_draws, 1)), 0.5)
    terms = terms_of(spread, np.full(n_draws, 0.25), False, correction)
    return {name: float(values.mean()) for name, values in terms.items()}


TRUE_BIAS = 0.5 * ((0.5 - 0.6) ** 2 + (0.5 - 0.3) ** 2 + 0.1**2)
TRUE_VARIANCE = 0.5 * (1 - 0.6**2 - 0.3**2 - 0.1**2)


@pytest.mark.parametrize("n_models", [2, 3, 10])
def test_both_terms_are_unbiased_for_any_number_of_models(n_models: int) -> None:
    terms = mean_terms("both", n_models)
    assert terms["bias"] == pytest.approx(TRUE_BIAS, abs=0.006)
    assert terms["variance"] == pytest.approx(TRUE_VARIANCE, abs=0.006)


def test_without_correction_variance_is_taken_for_bias() -> None:
    terms = mean_terms("none", 3)
    assert terms["bias"] == pytest.approx(TRUE_BIAS + TRUE_VARIANCE / 3, abs=0.006)
    assert terms["variance"] == pytest.approx(TRUE_VARIANCE * 2 / 3, abs=0.006)


def test_the_jackknife_frees_the_log_terms_of_most_of_their_shift() -> None:
    random = np.random.default_rng(0)
    true = spread_of_logs(
        random.dirichlet([4.0, 2.0], size=(40_000, 1)), np.ones((40_000, 1), bool), np.eye(2)[:1], 1.0
    )
    few = spread_of_logs(random.dirichlet([4.0, 2.0], size=(5, 8_000)), np.ones((5, 8_000), bool), np.eye(2)[:1], 1.0)
    shift, left = few.observed.mean() - true.observed[0], few.corrected.mean() - true.observed[0]
    assert shift < -0.01
    assert abs(left) < abs(shift) / 4


@pytest.mark.parametrize("term", ["error", "bias", "variance"])
def test_intervals_of_fifty_models_cover_about_what_they_claim(term: str) -> None:
    random = np.random.default_rng(0)
    # Answers: an effect of the model, an effect of the row, and their interaction; truth is zero everywhere.
    true = {"error": 0.25 + 1.0 + 0.25, "bias": 1.0, "variance": 0.25 + 0.25}
    hits = 0
    for _ in range(300):
        answers = 0.5 * random.normal(size=(50, 1)) + random.normal(size=(1, 60)) + 0.5 * random.normal(size=(50, 60))
        spread = spread_of_squares(answers[:, :, None], np.ones((50, 60), bool), np.zeros((60, 1)), 1.0)
        per_row = terms_of(spread, np.zeros(60), True, "both")
        left_out = terms_left_out(spread, np.zeros(60), True, "both")
        low, high = interval_of(per_row[term], left_out[term], 0.95, -np.inf)
        hits += low <= true[term] <= high
    assert 0.90 <= hits / 300 <= 0.98


def test_an_interval_of_an_error_has_no_end_below_zero() -> None:
    per_row, left_out = np.array([0.0, 0.0, 0.0, 1.0]), np.array([0.2, 0.25, 0.3])
    assert interval_of(per_row, left_out, 0.95)[0] == 0
    assert interval_of(per_row, left_out, 0.95, -np.inf)[0] < 0


# --- with estimators ---


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("loss", CLASS_LOSSES)
def test_terms_of_a_classifier_sum_to_its_error(loss: str, scheme: str) -> None:
    X, y = load_iris(return_X_y=True)
    result = bias_variance(GaussianNB(), X, y, loss=loss, scheme=scheme, n_models=6, random_state=0)
    assert result.bias + result.variance + result.noise == pytest.approx(result.error, abs=1e-12)
    assert result.error == pytest.approx(result.observed_error, abs=1e-12)
    assert result.n_models == (12 if scheme == "subsampled_cv" else 6)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_terms_of_a_regressor_sum_to_its_error(scheme: str) -> None:
    X = np.random.default_rng(0).normal(size=(90, 3))
    y = X @ [1.0, 2.0, 3.0] + 1e6
    result = bias_variance(
        DecisionTreeRegressor(max_depth=2), X, y, scheme=scheme, n_models=5, noise=0.1, random_state=0
    )
    assert result.loss == "squared_error"
    assert result.noise == pytest.approx(0.1)
    assert result.bias + result.variance + result.noise == pytest.approx(result.error, rel=1e-12)


def test_terms_are_those_of_models_trained_by_hand() -> None:
    X, y = load_wine(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    random = np.random.default_rng(4)
    rows = random.permutation(len(y))
    test = np.sort(rows[:60])
    splits = [(random.choice(rows[60:], size=50, replace=False), test) for _ in range(4)]
    model = LogisticRegression()
    answers = np.array([model.fit(X[learn], y[learn]).predict_proba(X[test]) for learn, _ in splits])
    error = np.mean([(answer.argmax(axis=1) != y[test]).mean() for answer in answers])
    variance = answers.var(axis=0, ddof=1).mean()
    result = bias_variance(model, X, y, scheme=splits)
    by_probability = bias_variance(model, X, y, scheme=splits, loss="class_probability")
    by_logarithm = bias_variance(model, X, y, scheme=splits, loss="log_loss")
    assert result.scheme == "given"
    assert result.error == pytest.approx(error, abs=1e-12)
    assert by_probability.variance == pytest.approx(variance, abs=1e-12)
    mean_gap = (answers.mean(axis=0) - np.eye(3)[y[test]]) ** 2
    assert by_probability.bias == pytest.approx(mean_gap.mean() - variance / 4, abs=1e-12)
    assert by_logarithm.error == pytest.approx(np.mean([log_loss(y[test], a) for a in answers]), rel=1e-3)


def test_a_row_has_its_terms_at_its_place() -> None:
    X, y = load_iris(return_X_y=True)
    result = bias_variance(GaussianNB(), X, y, scheme="bootstrap", n_models=3, random_state=0)
    assert set(result.per_row) == {"error", "bias", "variance", "noise"}
    assert all(len(values) == len(result.test_rows) < 150 for values in result.per_row.values())
    assert result.per_row["error"].mean() == result.error


@pytest.mark.parametrize("scheme", SCHEMES)
def test_work_on_two_threads_gives_the_same(scheme: str) -> None:
    X, y = load_iris(return_X_y=True)
    forest = ExtraTreesClassifier(n_estimators=2)
    one, two = (
        bias_variance(forest, X, y, scheme=scheme, n_models=4, n_jobs=n_jobs, random_state=7) for n_jobs in (1, 2)
    )
    assert str(one) == str(two)
    assert all((one.per_row[term] == two.per_row[term]).all() for term in one.per_row)


def test_frames_and_classes_of_text_give_the_same_as_arrays() -> None:
    X, y = load_iris(return_X_y=True, as_frame=True)
    names = pd.Series(["setosa", "versicolor", "virginica"])[y].reset_index(drop=True)
    arrays = bias_variance(C45Classifier(), X.to_numpy(), y.to_numpy(), n_models=5, random_state=0)
    frames = bias_variance(C45Classifier(), X, names, n_models=5, random_state=0)
    assert str(arrays) == str(frames)


def test_the_learners_own_randomness_counts_unless_it_has_a_seed() -> None:
    X, y = load_wine(return_X_y=True)
    splits = [(np.arange(0, 178, 2), np.arange(1, 178, 2))] * 5
    free = bias_variance(ExtraTreesClassifier(n_estimators=1), X, y, scheme=splits, random_state=0)
    seeded = bias_variance(ExtraTreesClassifier(n_estimators=1, random_state=1), X, y, scheme=splits, random_state=0)
    assert free.variance > 0
    assert seeded.variance == 0


@pytest.mark.parametrize("loss", CLASS_LOSSES)
def test_a_class_that_a_learning_set_lacks_has_no_chance(loss: str) -> None:
    X, y = load_iris(return_X_y=True)
    without_last, first_alone = np.arange(0, 100, 2), np.arange(0, 50, 2)
    splits = [(without_last, [101, 103]), (first_alone, [101, 103])]
    result = bias_variance(C45Classifier(), X, y, scheme=splits, loss=loss)
    # Both models are sure of a wrong class: a loss of 1, of 2 / 3, and of the least probability.
    expected = {"error": 1.0, "class_probability": 2 / 3, "log_loss": -np.log(1e-6)}
    assert result.error == pytest.approx(expected[loss], rel=1e-6)
    assert result.variance > 0


# --- known truth ---


def make_two_points(n_rows: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows at 0 and 1; class 1 has chance 0.2 at 0 and 0.9 at 1."""
    random = np.random.default_rng(seed)
    X = random.integers(2, size=(n_rows, 1)).astype(float)
    return X, (random.random(n_rows) < chance_at(X)).astype(int)


def chance_at(X: np.ndarray) -> np.ndarray:
    return np.where(X[:, 0] == 0, 0.2, 0.9)


def probabilities_at(X: np.ndarray) -> np.ndarray:
    return np.column_stack([1 - chance_at(X), chance_at(X)])


def test_known_probabilities_give_the_noise() -> None:
    result = bias_variance(
        DecisionTreeClassifier(),
        make_two_points,
        n_models=20,
        train_size=300,
        test_size=400,
        truth=probabilities_at,
        random_state=0,
    )
    at_zero, at_one = 0.2 * 0.8, 0.9 * 0.1
    assert set(result.per_row["noise"].round(12)) == {round(at_zero, 12), round(at_one, 12)}
    # With 300 rows every tree finds the likelier class: no variance, and the bias of a sure answer.
    assert result.variance == 0
    assert result.error == pytest.approx(result.bias + result.noise, abs=1e-12)
    assert set(result.per_row["error"].round(12)) == {0.2, 0.1}
    assert result.observed_error == pytest.approx(result.error, abs=0.06)


def test_the_log_loss_of_known_probabilities_has_their_entropy_in_it() -> None:
    result = bias_variance(
        DecisionTreeClassifier(),
        make_two_points,
        loss="log_loss",
        n_models=20,
        train_size=400,
        truth=probabilities_at,
        random_state=0,
    )
    entropies = [-(p * np.log(p) + (1 - p) * np.log(1 - p)) for p in (0.2, 0.9)]
    assert set(result.per_row["noise"].round(9)) == set(np.round(entropies, 9))
    assert result.bias + result.variance + result.noise == pytest.approx(result.error, abs=1e-12)
    # Frequencies in about 200 rows: almost no bias, and a variance of about 1 / (2 * 200).
    assert abs(result.bias) < 0.002
    assert result.variance == pytest.approx(1 / 400, rel=0.5)


def test_the_mean_of_ten_numbers_has_a_tenth_of_their_variance() -> None:
    def generate(n_rows: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
        return np.zeros((n_rows, 1)), 3 + 2 * np.random.default_rng(seed).normal(size=n_rows)

    result = bias_variance(
        DummyRegressor(),
        generate,
        n_models=200,
        train_size=10,
        truth=lambda X: np.full(len(X), 5.0),
        noise=4,
        random_state=0,
    )
    assert result.variance == pytest.approx(4 / 10, rel=0.3)
    assert result.bias == pytest.approx((3 - 5) ** 2, rel=0.1)
    assert result.error == pytest.approx(result.bias + result.variance + 4, rel=1e-12)


def test_without_truth_or_noise_the_noise_is_in_the_bias() -> None:
    random = np.random.default_rng(0)
    X = random.integers(5, size=(600, 1)).astype(float)
    y = X[:, 0] + random.normal(size=600)
    line = LinearRegression()
    unknown, told, found = (
        bias_variance(line, X, y, n_models=10, noise=noise, random_state=0) for noise in (None, 1.0, "replicates")
    )
    assert unknown.noise == 0
    assert unknown.bias == pytest.approx(1.0, abs=0.2)
    assert told.bias == pytest.approx(unknown.bias - 1.0)
    assert found.noise == pytest.approx(1.0, abs=0.15)
    assert found.bias + found.variance + found.noise == pytest.approx(found.error, abs=1e-12)


def test_replicates_tell_the_noise_of_classes_too() -> None:
    X, y = make_two_points(2000, 0)
    frame = pd.DataFrame({"x": np.where(X[:, 0] == 0, "a", "b")})
    result = bias_variance(C45Classifier(), frame, y, noise="replicates", n_models=5, random_state=0)
    assert result.noise == pytest.approx((0.2 * 0.8 + 0.9 * 0.1) / 2, abs=0.015)


def test_replicates_are_found_in_a_sparse_matrix() -> None:
    X, y = load_iris(return_X_y=True)
    options = {"noise": "replicates", "n_models": 3, "random_state": 0}
    dense, sparse = (
        bias_variance(LogisticRegression(max_iter=500), table, y, **options) for table in (X, csr_matrix(X))
    )
    assert sparse.noise == dense.noise


def test_truth_can_be_given_row_by_row() -> None:
    X, y = make_two_points(200, 0)
    options = {"n_models": 4, "random_state": 0}
    by_row = bias_variance(DecisionTreeClassifier(), X, y, truth=probabilities_at(X), **options)
    by_function = bias_variance(DecisionTreeClassifier(), X, y, truth=probabilities_at, **options)
    assert str(by_row) == str(by_function)


@pytest.mark.parametrize("truth", [0.5, "half", ["a"] * 200, object(), lambda _: "half"])
def test_a_truth_without_numbers_is_refused(truth: Any) -> None:
    X, y = make_two_points(200, 0)
    with pytest.raises(InvalidInput, match=r"truth is .* for each row"):
        bias_variance(DecisionTreeClassifier(), X, y, truth=truth, n_models=4, random_state=0)


def test_columns_of_the_same_name_are_refused() -> None:
    X, y = make_two_points(200, 0)
    twice = pd.DataFrame(np.column_stack([X, X]), columns=["a"] * 2 * np.shape(X)[1])
    with pytest.raises(ColumnMismatch, match="several columns of the same name"):
        bias_variance(DecisionTreeClassifier(), twice, y, n_models=4, random_state=0)


def test_models_without_end_are_refused() -> None:
    X, y = make_two_points(200, 0)
    with pytest.raises(InvalidParameter, match=r"n_models=.* at most 1e\+06"):
        bias_variance(DecisionTreeClassifier(), X, y, n_models=10**18)
    with pytest.raises(InvalidParameter, match="scheme=array"):
        bias_variance(DecisionTreeClassifier(), X, y, scheme=np.array(3))


# --- curves ---


def test_a_curve_shares_its_learning_sets() -> None:
    X, y = load_wine(return_X_y=True)
    options = {"n_models": 5, "random_state": 3}
    curve = bias_variance_curve(DecisionTreeClassifier(), X, y, parameter="max_depth", values=[1, 3, 1], **options)
    alone = bias_variance(DecisionTreeClassifier(max_depth=3), X, y, **options)
    assert str(curve.results[1]) == str(alone)
    assert curve.error[0] == curve.error[2]
    assert curve.bias.shape == curve.variance.shape == curve.noise.shape == (3,)
    assert str(curve).splitlines()[0].split() == ["max_depth", "error", "bias", "variance", "noise"]


def test_deeper_trees_have_less_bias_and_more_variance() -> None:
    def generate(n_rows: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
        X = np.random.default_rng(seed).uniform(-3, 3, size=(n_rows, 1))
        return X, wave(X) + np.random.default_rng(seed + 1).normal(size=n_rows)

    def wave(X: np.ndarray) -> np.ndarray:
        return X[:, 0] + 2 * np.sin(1.5 * X[:, 0])

    curve = bias_variance_curve(
        DecisionTreeRegressor(),
        generate,
        parameter="max_depth",
        values=[1, 8],
        train_size=20,
        truth=wave,
        random_state=0,
    )
    assert curve.bias[0] > 2 * curve.bias[1]
    assert curve.variance[1] > 1.5 * curve.variance[0]


def test_more_members_have_less_variance() -> None:
    X, y = load_breast_cancer(return_X_y=True)
    bagging = BaggingClassifier(DecisionTreeClassifier())
    curve = bias_variance_curve(bagging, X, y, parameter="n_estimators", values=[1, 15], n_models=10, random_state=0)
    assert curve.variance[1] < 0.7 * curve.variance[0]


def test_a_curve_of_a_parameter_that_is_not_there_is_refused() -> None:
    X, y = load_iris(return_X_y=True)
    with pytest.raises(InvalidParameter, match="did you mean 'max_depth'"):
        bias_variance_curve(DecisionTreeClassifier(), X, y, parameter="max_dept", values=[1])
    with pytest.raises(InvalidParameter, match="values is empty"):
        bias_variance_curve(DecisionTreeClassifier(), X, y, parameter="max_depth", values=[])
    with pytest.raises(InvalidParameter, match="values is 3: give a list"):
        bias_variance_curve(DecisionTreeClassifier(), X, y, parameter="max_depth", values=3)  # type: ignore[arg-type]


# --- Weka ---

LOADERS = {"wine": load_wine, "breast-cancer-wisconsin": load_breast_cancer}


@pytest.mark.parametrize("name", LOADERS)
def test_weka_has_the_same_numbers_from_the_same_rows(name: str) -> None:
    X, y = LOADERS[name](return_X_y=True)
    splits = [(rows, GOLDEN[name]["test_rows"]) for rows in GOLDEN[name]["learning_sets"]]
    weka = GOLDEN[name]["runs"][0]
    tree = C45Classifier(release="J48")
    same, corrected = (bias_variance(tree, X, y, scheme=splits, bias_correction=c) for c in ("weka", "both"))
    assert same.error == pytest.approx(weka["error"], abs=1e-12)
    assert same.bias == pytest.approx(weka["bias"], abs=1e-12)
    assert same.variance == pytest.approx(weka["variance"], abs=1e-12)
    # Weka's terms sum to less than its error: its variance lacks the factor 50 / 49.
    assert weka["bias"] + weka["variance"] < weka["error"] - 1e-4
    assert corrected.variance == pytest.approx(weka["variance"] * 50 / 49, abs=1e-12)
    assert corrected.bias + corrected.variance == pytest.approx(weka["error"], abs=1e-12)


# What Weka calls a run of the scheme, and how many models judge a row in it.
WEKA_SCHEMES = {"pool": ("runs", "n_models"), "subsampled_cv": ("subsampled_cv", "n_rounds")}


def assert_within_sampling_error(name: str, scheme: str, X: Any, y: Any) -> None:
    """Compare means over the learning sets that both draw, each its own."""
    runs, n_models = (GOLDEN[name][key] for key in WEKA_SCHEMES[scheme])
    options = {"scheme": scheme, "n_models": n_models, "train_size": GOLDEN[name]["pool_size"] // 2}
    tree = C45Classifier(release="J48")
    results = [bias_variance(tree, X, y, bias_correction="weka", random_state=seed, **options) for seed in range(8)]
    for term in ("error", "bias", "variance"):
        ours = np.array([getattr(result, term) for result in results])
        wekas = np.array([run[term] for run in runs])
        error_of_difference = np.sqrt(ours.var(ddof=1) / len(ours) + wekas.var(ddof=1) / len(wekas))
        assert abs(ours.mean() - wekas.mean()) < 3.5 * error_of_difference, term


@pytest.mark.parametrize("scheme", WEKA_SCHEMES)
def test_weka_and_tremula_agree_within_sampling_error(scheme: str) -> None:
    assert_within_sampling_error("wine", scheme, *load_wine(return_X_y=True))


@pytest.mark.data
@pytest.mark.parametrize("scheme", WEKA_SCHEMES)
@pytest.mark.parametrize("name", ["vehicle", "credit-g"])
def test_weka_and_tremula_agree_on_a_dataset_of_the_folder(
    name: str, scheme: str, load_dataset: Callable[[str], Any]
) -> None:
    assert_within_sampling_error(name, scheme, *load_dataset(name))


# --- bad input ---


class Echo(ClassifierMixin, BaseEstimator):
    """Answers with a label that nobody has seen."""

    def fit(self, X: Any, y: Any) -> "Echo":
        self.classes_ = np.unique(y)
        return self

    def predict(self, X: Any) -> np.ndarray:
        return np.full(len(X), 99)


@pytest.mark.parametrize(
    ("estimator", "options", "message"),
    [
        (LinearSVC(), {"loss": "log_loss"}, "LinearSVC has no predict_proba, which loss='log_loss' needs"),
        (LinearSVC(), {"loss": "class_probability"}, "CalibratedClassifierCV"),
        (GaussianNB(), {"loss": "squared_error"}, "GaussianNB is a classifier"),
        (LinearRegression(), {"loss": "error"}, "LinearRegression is a regressor"),
        (GaussianNB(), {"loss": "errors"}, "did you mean 'error'"),
        (GaussianNB(), {"n_models": 1}, "n_models=1"),
        (GaussianNB(), {"train_size": 150}, "train_size=150 asks for more rows"),
        (GaussianNB(), {"bias_correction": "all"}, "bias_correction='all'"),
        (GaussianNB(), {"noise": "guess"}, "noise='guess'"),
        (GaussianNB(), {"noise": -1}, "noise=-1"),
        (GaussianNB(), {"noise": "replicates", "loss": "log_loss"}, "noise='replicates' is for squares"),
        (GaussianNB(), {"truth": np.full((150, 3), 1 / 3), "noise": 0.1}, "leave noise out"),
        (GaussianNB(), {"confidence": 95}, "confidence=95"),
        (GaussianNB(), {"confidence": 1.0}, "between 0 and 1"),
        (GaussianNB(), {"confidence": "0.95"}, "confidence='0.95'"),
        (GaussianNB, {}, "give an object with fit"),
        ("tree", {}, "estimator is 'tree'"),
    ],
)
def test_parameters_that_cannot_be_are_refused(estimator: Any, options: dict[str, Any], message: str) -> None:
    X, y = load_iris(return_X_y=True)
    with pytest.raises(InvalidParameter, match=message):
        bias_variance(estimator, X, y, **{"n_models": 3, "random_state": 0, **options})


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"truth": np.full((149, 3), 1 / 3)}, "truth has 149 rows, but X has 150"),
        ({"truth": np.full((150, 2), 1 / 2)}, "expected probabilities of the 3 classes"),
        ({"truth": np.full((150, 3), 1 / 2)}, "do not sum to 1"),
        ({"truth": np.full((150, 3), np.nan)}, "missing or infinite"),
        ({"scheme": [([0, 60], [1]), ([0, 60], [2])]}, "no row was answered by 2 of 2 models"),
    ],
)
def test_data_that_do_not_fit_are_refused(options: dict[str, Any], message: str) -> None:
    X, y = load_iris(return_X_y=True)
    with pytest.raises(InvalidInput, match=message):
        bias_variance(GaussianNB(), X, y, **{"n_models": 3, "random_state": 0, **options})


def test_noise_of_replicates_needs_replicates() -> None:
    X = np.arange(40.0)[:, None]
    with pytest.raises(InvalidInput, match="no two rows of X are the same"):
        bias_variance(LinearRegression(), X, X[:, 0], noise="replicates", n_models=3)


def test_a_label_that_is_no_class_is_refused() -> None:
    X, y = load_iris(return_X_y=True)
    with pytest.raises(InvalidInput, match="Echo predicts 99"):
        bias_variance(Echo(), X, y, n_models=3)


def test_one_class_is_refused() -> None:
    with pytest.raises(OneClassTarget):
        bias_variance(KNeighborsClassifier(), np.zeros((10, 1)), np.zeros(10, int))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"y": [1]}, "leave y out"),
        ({"scheme": "pool"}, "only 'fresh' sets"),
        ({"train_size": None}, "say how many rows"),
        ({"train_size": 0.5}, "train_size=0.5"),
        ({"truth": np.zeros((9, 2))}, "truth must be a function of X"),
    ],
)
def test_a_generator_is_asked_for_what_it_can_give(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidParameter, match=message):
        bias_variance(GaussianNB(), make_two_points, **{"n_models": 3, "train_size": 20, "random_state": 0, **options})


def test_a_truth_of_too_few_rows_is_refused() -> None:
    with pytest.raises(InvalidInput, match=r"for each of 5 rows.*each of the 1000 rows"):
        bias_variance(
            GaussianNB(),
            make_two_points,
            truth=lambda X: np.full((5, 2), 0.5),
            n_models=3,
            train_size=20,
            random_state=0,
        )


def test_no_rows_are_refused() -> None:
    with pytest.raises(InvalidInput, match="X has no rows"):
        bias_variance(GaussianNB(), np.zeros((0, 2)), [])


def test_two_models_have_terms_but_no_intervals() -> None:
    X, y = load_iris(return_X_y=True)
    result = bias_variance(GaussianNB(), X, y, n_models=2, random_state=0)
    assert result.bias + result.variance == pytest.approx(result.error, abs=1e-12)
    assert np.isnan(result.intervals["bias"]).all()
