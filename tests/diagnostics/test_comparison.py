"""Comparisons on one dataset: what is stored, which test is chosen, what the verdicts say, what is refused."""

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import stats
from scipy.sparse import csr_matrix
from sklearn.cluster import KMeans
from sklearn.datasets import load_diabetes, load_iris, make_classification
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.metrics import log_loss, make_scorer, mean_absolute_error
from sklearn.model_selection import (
    GroupKFold,
    KFold,
    RepeatedStratifiedKFold,
    ShuffleSplit,
    StratifiedKFold,
    cross_val_predict,
    cross_val_score,
)
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from tremula import BaggingClassifier, C45Classifier
from tremula.diagnostics import compare, mcnemar_test, paired_t_test
from tremula.diagnostics.comparison.verdict import Verdict
from tremula.errors import InvalidInput, InvalidParameter

X, Y = load_iris(return_X_y=True)
FOLDS = StratifiedKFold(5, shuffle=True, random_state=3)
ONE_SPLIT = [(np.arange(0, 150, 2), np.arange(1, 150, 2))]


def tree(**parameters: Any) -> DecisionTreeClassifier:
    return DecisionTreeClassifier(random_state=0, **parameters)


PAIR = {"stump": tree(max_depth=1), "tree": tree()}


def test_stored_predictions_are_those_of_cross_val_predict() -> None:
    result = compare(PAIR, X, Y, cv=FOLDS)
    pooled = np.empty_like(Y)
    pooled[np.concatenate(result.test_rows)] = np.concatenate(result.predictions[1])
    assert (pooled == cross_val_predict(tree(), X, Y, cv=FOLDS)).all()


def test_stored_probabilities_are_those_of_cross_val_predict() -> None:
    result = compare({"nb": GaussianNB()}, X, Y, cv=FOLDS)
    pooled = np.empty((150, 3))
    pooled[np.concatenate(result.test_rows)] = np.concatenate(result.probabilities[0] or [])
    assert (pooled == cross_val_predict(GaussianNB(), X, Y, cv=FOLDS, method="predict_proba")).all()


def test_errors_are_one_minus_cross_validated_accuracies() -> None:
    result = compare(PAIR, X, Y, cv=FOLDS)
    assert result.errors[0] == pytest.approx(1 - cross_val_score(tree(max_depth=1), X, Y, cv=FOLDS))
    assert result.n_train.tolist() == [120] * 5
    assert result.n_test.tolist() == [30] * 5


def test_errors_of_regressors_are_squared() -> None:
    X, y = load_diabetes(return_X_y=True)
    result = compare({"line": LinearRegression(), "mean": DummyRegressor()}, X, y, cv=KFold(4))
    expected = -cross_val_score(LinearRegression(), X, y, cv=KFold(4), scoring="neg_mean_squared_error")
    assert result.scoring == "squared_error"
    assert result.errors[0] == pytest.approx(expected)


def test_log_loss_is_that_of_scikit_learn() -> None:
    result = compare({"nb": GaussianNB()}, X, Y, cv=ONE_SPLIT, scoring="log_loss")
    train, test = ONE_SPLIT[0]
    expected = log_loss(Y[test], GaussianNB().fit(X[train], Y[train]).predict_proba(X[test]))
    assert result.errors[0, 0] == pytest.approx(expected)


def test_brier_score_is_the_squared_distance_from_the_truth() -> None:
    result = compare({"uniform": DummyClassifier(strategy="uniform")}, X, Y, cv=ONE_SPLIT, scoring="brier")
    assert result.errors[0, 0] == pytest.approx((2 / 3) ** 2 + 2 * (1 / 3) ** 2)


@pytest.mark.parametrize("scoring", ["f1_macro", make_scorer(mean_absolute_error, greater_is_better=False)])
def test_scorer_of_scikit_learn_is_turned_so_that_less_is_better(scoring: Any) -> None:
    result = compare(PAIR, X, Y, cv=FOLDS, scoring=scoring)
    assert result.errors[1] == pytest.approx(-cross_val_score(tree(), X, Y, cv=FOLDS, scoring=scoring))


def test_result_does_not_depend_on_n_jobs() -> None:
    methods = {"forest": BaggingClassifier(n_estimators=3), "tree": DecisionTreeClassifier(splitter="random")}
    one, two = (compare(methods, X, Y, cv=3, n_jobs=n_jobs, random_state=5) for n_jobs in (1, 2))
    assert (one.errors == two.errors).all()
    assert all((a == b).all() for a, b in zip(one.probabilities[0] or [], two.probabilities[0] or [], strict=True))


def test_same_seed_gives_the_same_splits_and_answers_and_another_does_not() -> None:
    methods = {"tree": DecisionTreeClassifier(splitter="random")}
    first, again, other = (compare(methods, X, Y, cv=3, random_state=seed) for seed in (0, 0, 1))
    assert (first.predictions[0][0] == again.predictions[0][0]).all()
    assert (first.test_rows[0] == again.test_rows[0]).all()
    assert not np.array_equal(first.test_rows[0], other.test_rows[0])


def test_estimator_keeps_its_own_random_state() -> None:
    random_tree = DecisionTreeClassifier(splitter="random", random_state=7)
    result = compare({"tree": random_tree}, X, Y, cv=ONE_SPLIT, random_state=0)
    train, test = ONE_SPLIT[0]
    assert (result.predictions[0][0] == random_tree.fit(X[train], Y[train]).predict(X[test])).all()


@pytest.mark.parametrize("make_frame", [pd.DataFrame, lambda X: pl.DataFrame(X, schema=[*"abcd"])])
def test_frames_with_string_classes(make_frame: Any) -> None:
    names = np.array(["setosa", "versicolor", "virginica"])[Y]
    result = compare(
        {"C4.5": C45Classifier(), "majority": DummyClassifier()}, make_frame(X), pd.Series(names), cv=FOLDS
    )
    plain = compare({"C4.5": C45Classifier(), "majority": DummyClassifier()}, X, Y, cv=FOLDS)
    assert (result.errors == plain.errors).all()
    assert set(result.predictions[0][0]) <= set(names)
    assert list(result.classes if result.classes is not None else []) == ["setosa", "versicolor", "virginica"]


def test_nominal_columns_reach_the_estimators() -> None:
    frame = pd.DataFrame({"colour": pd.Categorical(["red", "blue"] * 30)})
    y = ["no", "yes"] * 30
    assert compare({"C4.5": C45Classifier()}, frame, y, cv=3, random_state=0).errors.max() == 0


def test_sparse_matrices() -> None:
    sparse, dense = (compare({"tree": tree()}, table, Y, cv=FOLDS) for table in (csr_matrix(X), X))
    assert (sparse.errors == dense.errors).all()


def test_groups_reach_the_splitter() -> None:
    groups = np.arange(150) % 5
    result = compare({"nb": GaussianNB()}, X, Y, cv=GroupKFold(5), groups=groups)
    assert all(len(set(groups[rows])) == 1 for rows in result.test_rows)


def test_class_with_fewer_rows_than_folds() -> None:
    rows = np.r_[0:50, 50:53]
    result = compare(PAIR, X[rows], Y[rows], cv=5, random_state=0)
    assert sorted(np.concatenate(result.test_rows)) == list(range(53))


def test_function_that_is_called_like_a_loss_is_not_taken_for_it() -> None:
    def error(model: Any, X: Any, y: Any) -> float:
        return 7.0

    result = compare(PAIR, X, Y, cv=ONE_SPLIT, scoring=error)
    assert (result.errors == -7).all()
    assert result.scoring == "scorer error"


# --- tests by name ---


def test_paired_t_is_scipys_over_folds() -> None:
    result = compare(PAIR, X, Y, cv=FOLDS)
    expected = stats.ttest_rel(result.errors[0], result.errors[1])
    assert result.test("stump", "tree", "paired t").p_value == pytest.approx(expected.pvalue)


def test_corrected_t_knows_the_sizes_of_the_folds() -> None:
    result = compare(PAIR, X, Y, cv=FOLDS)
    plain, corrected = (result.test("stump", "tree", test).statistic for test in ("paired t", "corrected t"))
    assert plain / corrected == pytest.approx(np.sqrt((1 / 5 + 30 / 120) / (1 / 5)))


def test_mcnemar_pools_the_folds_of_one_cross_validation() -> None:
    result = compare(PAIR, X, Y, cv=FOLDS)
    wrong = [cross_val_predict(estimator, X, Y, cv=FOLDS) != Y for estimator in PAIR.values()]
    assert result.test("stump", "tree", "mcnemar").p_value == pytest.approx(mcnemar_test(*wrong).p_value)


def test_paired_t_on_one_test_set_is_over_its_rows() -> None:
    X, y = load_diabetes(return_X_y=True)
    one_split = [(np.arange(300), np.arange(300, 442))]
    result = compare({"line": LinearRegression(), "mean": DummyRegressor()}, X, y, cv=one_split)
    losses = [result.row_losses(name)[0] for name in result.names]
    assert result.test("line", "mean").p_value == pytest.approx(stats.ttest_rel(*losses).pvalue)
    assert result.test("line", "mean").test == "paired t over rows"


@pytest.mark.parametrize(
    ("cv", "expected"),
    [
        (10, "corrected t"),
        (ShuffleSplit(12, random_state=0), "corrected t"),
        (RepeatedStratifiedKFold(n_splits=5, n_repeats=2, random_state=0), "corrected t"),
        ("5x2", "5x2 F"),
        (RepeatedStratifiedKFold(n_splits=2, n_repeats=5, random_state=0), "5x2 F"),
        (ONE_SPLIT, "McNemar"),
    ],
    ids=str,
)
def test_auto_chooses_by_the_form_of_the_splits(cv: Any, expected: str) -> None:
    assert compare(PAIR, X, Y, cv=cv, random_state=0).test("stump", "tree").test == expected


# --- verdicts ---


def test_verdict_says_who_is_better_and_by_how_much() -> None:
    verdict = compare(PAIR, X, Y, cv=FOLDS).verdicts()[0]
    assert verdict.better == "tree"
    assert verdict.sentence.startswith("tree is better than stump on this data: 26.0 points, 95 % interval ")


def test_verdict_is_the_same_in_either_order() -> None:
    forward = compare(PAIR, X, Y, cv=FOLDS).verdicts()[0]
    backward = compare(dict(reversed(PAIR.items())), X, Y, cv=FOLDS).verdicts()[0]
    assert (forward.first, backward.first) == ("stump", "tree")
    assert forward.sentence == backward.sentence


def test_verdict_on_methods_that_are_the_same() -> None:
    verdict = compare({"one": GaussianNB(), "other": GaussianNB()}, X, Y, cv=FOLDS).verdicts()[0]
    assert verdict.better is None
    assert verdict.sentence == (
        "one and other are not shown to differ on this data: a difference of 0.00 points, 95 % interval 0.00 to 0.00 "
        "(corrected t, p = 1)."
    )


def test_verdicts_are_corrected_for_the_number_of_pairs() -> None:
    result = compare({**PAIR, "nb": GaussianNB()}, X, Y, cv=FOLDS)
    holm, bonferroni = (result.verdicts(correction=correction) for correction in ("holm", "bonferroni"))
    raw = [verdict.result.p_value for verdict in holm]
    assert len(holm) == 3
    assert [verdict.adjusted_p_value for verdict in bonferroni] == pytest.approx(np.minimum(1, 3 * np.array(raw)))
    assert min(verdict.adjusted_p_value for verdict in holm) == pytest.approx(3 * min(raw))


def test_a_corrected_verdict_says_that_its_interval_is_not() -> None:
    result = paired_t_test([0.20, 0.24, 0.22], [0.17, 0.20, 0.20])
    sentence = Verdict("C4.5", "bagging", result, 3 * result.p_value, "holm", 3, "error").sentence
    assert "not shown to differ" in sentence
    assert "95 % interval of this pair alone 0.5 to 5.5 (paired t, p = 0.11 after Holm for 3 pairs)" in sentence


def test_verdicts_against_a_baseline() -> None:
    result = compare({**PAIR, "nb": GaussianNB()}, X, Y, cv=FOLDS)
    assert [(v.first, v.second) for v in result.verdicts("tree")] == [("stump", "tree"), ("nb", "tree")]


def test_verdict_of_another_scoring_names_it() -> None:
    X, y = load_diabetes(return_X_y=True)
    verdict = compare({"line": LinearRegression(), "mean": DummyRegressor()}, X, y, random_state=0).verdicts()[0]
    assert verdict.better == "line"
    assert " in squared error, 95 % interval " in verdict.sentence


def test_one_split_has_no_spread() -> None:
    assert str(compare({"nb": GaussianNB()}, X, Y, cv=ONE_SPLIT)).startswith("error on one split\nnb  0.")
    assert "sd" not in str(compare({"nb": GaussianNB()}, X, Y, cv=ONE_SPLIT))


def test_frame_has_a_row_for_each_method_and_split() -> None:
    result = compare(PAIR, X, Y, cv=FOLDS)
    frame = result.to_frame()
    assert frame.shape == (10, 5)
    assert frame.groupby("method")["error"].mean()["tree"] == pytest.approx(result.mean_errors[1])


def test_joined_comparisons_are_one() -> None:
    parts = [compare({name: estimator}, X, Y, cv=FOLDS) for name, estimator in PAIR.items()]
    together = compare(PAIR, X, Y, cv=FOLDS)
    joined = parts[0].join(parts[1])
    assert joined.names == together.names
    assert joined.test("stump", "tree") == together.test("stump", "tree")


# --- what is refused ---


def test_unequal_splits_cannot_be_joined() -> None:
    first = compare({"stump": tree(max_depth=1)}, X, Y, cv=FOLDS)
    for cv in (10, StratifiedKFold(5, shuffle=True, random_state=4)):
        second = compare({"tree": tree()}, X, Y, cv=cv, random_state=0)
        with pytest.raises(InvalidInput, match=r"different splits.*same cv and random_state"):
            first.join(second)


def test_other_scoring_target_or_names_cannot_be_joined() -> None:
    first = compare({"nb": GaussianNB()}, X, Y, cv=FOLDS)
    with pytest.raises(InvalidInput, match="'error', the other by 'log_loss'"):
        first.join(compare({"tree": tree()}, X, Y, cv=FOLDS, scoring="log_loss"))
    with pytest.raises(InvalidInput, match="different targets"):
        first.join(compare({"tree": tree()}, X, Y[::-1], cv=FOLDS))
    with pytest.raises(InvalidInput, match="method called 'nb'"):
        first.join(first)


def test_fold_without_a_class_to_learn_from() -> None:
    with pytest.raises(
        InvalidInput, match=r"split 0 has no row of class 0 to learn from .50 in all rows.*allow_missing"
    ):
        compare(PAIR, X, Y, cv=KFold(3))


def test_missing_classes_can_be_allowed() -> None:
    result = compare({"nb": GaussianNB()}, X, Y, cv=KFold(3), allow_missing_classes=True)
    assert result.errors.tolist() == [[1, 1, 1]]
    assert (result.probabilities[0] or [])[0][:, 0].max() == 0


def test_estimator_without_probabilities() -> None:
    methods = {"svm": LinearSVC(), "nb": GaussianNB()}
    with pytest.raises(InvalidParameter, match="needs probabilities, but 'svm' has no predict_proba"):
        compare(methods, X, Y, scoring="log_loss")
    with pytest.raises(InvalidInput, match="'svm' cannot be judged by 'neg_log_loss'"):
        compare(methods, X, Y, cv=2, scoring="neg_log_loss")


def test_estimator_without_probabilities_is_judged_by_its_errors() -> None:
    result = compare({"svm": LinearSVC(), "nb": GaussianNB()}, X, Y, cv=2, random_state=0)
    assert [probabilities is None for probabilities in result.probabilities] == [True, False]


def test_score_that_is_not_a_number() -> None:
    X, y = make_classification(40, random_state=0)
    one_class = [(np.arange(20), 20 + np.flatnonzero(y[20:] == 1))]
    with (
        pytest.warns(UserWarning, match="Only one class"),
        pytest.raises(InvalidInput, match="'roc_auc' of 'logistic' is nan"),
    ):
        compare({"logistic": LogisticRegression()}, X, y, cv=one_class, scoring="roc_auc")


@pytest.mark.parametrize(
    ("estimators", "message"),
    [
        ([("tree", tree()), ("tree", tree(max_depth=1))], "'tree' more than once"),
        ({}, "got none"),
        ([tree()], "list of .name, estimator.: got DecisionTreeClassifier"),
        (tree(), "got DecisionTreeClassifier"),
        ("tree", "got str"),
        ({"tree": DecisionTreeClassifier}, "object with fit and predict"),
        ({"groups": KMeans()}, "'groups' is KMeans, which finds groups"),
        ({"tree": tree(), "line": LinearRegression()}, "classifier: 'tree' yes, 'line' no"),
    ],
)
def test_estimators_that_cannot_be_compared(estimators: Any, message: str) -> None:
    with pytest.raises(InvalidParameter, match=message):
        compare(estimators, X, Y)


@pytest.mark.parametrize(
    ("cv", "message"),
    [
        (1, "cv is 1 folds.*from 2 to 50"),
        (51, "largest class has 50 rows"),
        ("10x10", "cv is '10x10'"),
        (None, "cv is None"),
        (5.0, "cv is 5.0"),
        ([([0.5, 60, 110], [1])], "give pairs of row numbers"),
        ([], "gives no split"),
        ([np.arange(3)], "give pairs"),
        ([(np.arange(100), np.arange(90, 150))], "learns from its test row 90"),
        ([(np.arange(100), np.arange(100, 151))], "outside 0 to 149"),
        ([(np.arange(150), [])], "0 to test on"),
    ],
)
def test_splits_that_cannot_be(cv: Any, message: str) -> None:
    with pytest.raises((InvalidParameter, InvalidInput), match=message):
        compare(PAIR, X, Y, cv=cv)


@pytest.mark.parametrize(
    ("scoring", "message"),
    [("accurracy", "did you mean 'accuracy'"), ("squared_error", "regressors"), (["error"], "give one name")],
)
def test_scoring_that_cannot_be(scoring: Any, message: str) -> None:
    with pytest.raises(InvalidParameter, match=message):
        compare(PAIR, X, Y, scoring=scoring)


@pytest.mark.parametrize(
    ("cv", "test", "message"),
    [
        (5, "5x2 F", "cv='5x2'"),
        ("5x2", "mcnemar", "tested once"),
        (5, "t", "choose one of 'auto'"),
        (ONE_SPLIT, "corrected t", "1 split was given"),
    ],
)
def test_tests_that_do_not_fit_the_splits(cv: Any, test: str, message: str) -> None:
    result = compare(PAIR, X, Y, cv=cv, random_state=0)
    with pytest.raises((InvalidParameter, InvalidInput), match=message):
        result.test("stump", "tree", test)


def test_mcnemar_counts_errors_only() -> None:
    result = compare({"nb": GaussianNB(), "tree": tree()}, X, Y, cv=FOLDS, scoring="log_loss")
    with pytest.raises(InvalidParameter, match="counts errors, but the scoring is 'log_loss'"):
        result.test("nb", "tree", "mcnemar")


def test_unknown_method_is_answered_with_the_nearest() -> None:
    with pytest.raises(InvalidParameter, match="did you mean 'stump'"):
        compare(PAIR, X, Y, cv=ONE_SPLIT).test("stmp", "tree")


def test_no_rows_are_refused() -> None:
    with pytest.raises(InvalidInput, match="X has no rows"):
        compare(PAIR, X[:0], Y[:0])


def test_one_method_has_no_verdict() -> None:
    with pytest.raises(InvalidInput, match="one method, 'nb'"):
        compare({"nb": GaussianNB()}, X, Y, cv=2, random_state=0).verdicts()


def test_error_of_an_estimator_says_whose_it_is() -> None:
    with pytest.raises(ValueError, match="max_depth") as caught:
        compare({"bad tree": tree(max_depth=-1)}, X, Y, cv=2)
    assert "raised by estimator 'bad tree' in compare" in caught.value.__notes__
