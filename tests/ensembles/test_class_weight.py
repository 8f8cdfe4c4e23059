"""Class weights are row weights: held to scikit-learn's weights of rows, and to sums of the rows that members drew."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from sklearn.utils.class_weight import compute_sample_weight

import tremula as tm
from tremula.errors import InvalidParameter, UnsupportedModel
from tremula.perturb import BalancedWeights, Bootstrap, Draw, Sample

X, CODES = make_classification(
    300, 6, n_informative=4, n_redundant=0, n_classes=3, weights=[0.75, 0.2, 0.05], flip_y=0.1, random_state=3
)
Y = np.array(["common", "rare", "rarest"])[CODES]
OWN = np.random.default_rng(0).integers(0, 3, len(Y)).astype(float)
NEW = np.random.default_rng(1).normal(size=X.shape)
GIVEN = {"common": 0.5, "rare": 2.0, "rarest": 7.25}
FEW: dict[str, Any] = {"n_estimators": 6, "random_state": 0}
TREES = [
    tm.C45Classifier(),
    tm.CARTClassifier(),
    tm.CARTClassifier(ccp_alpha="cv"),
    tm.REPTreeClassifier(random_state=0),
]
ENSEMBLES = [
    tm.BaggingClassifier(**FEW),
    tm.BaggingClassifier(GaussianNB(), **FEW),
    tm.DaggingClassifier(**FEW),
    tm.ExtraTreesClassifier(**FEW),
    tm.PerturbCombineClassifier(perturb=[Bootstrap()], **FEW),
    tm.RandomForestClassifier(**FEW),
    tm.RandomForestClassifier(min_samples_leaf=5, **FEW),
    tm.RandomSubspaceClassifier(**FEW),
    tm.RandomizedC45Classifier(**FEW),
    tm.SmearedBaggingClassifier(noise=0.1, **FEW),
    tm.SmearedBaggingClassifier(amounts=[0.0, 0.2], tuning="cv", cv=2, **FEW),
]


def fresh(model: Any, **changes: Any) -> Any:
    return type(model)(**{**model.get_params(deep=False), **changes})


def seeded(model: Any, **changes: Any) -> Any:
    seeds = {"random_state": 0} if "random_state" in model.get_params() else {}
    return fresh(model, **seeds, **changes)


@pytest.mark.parametrize("own", [None, OWN], ids=["rows of weight 1", "rows of other weights"])
@pytest.mark.parametrize("class_weight", ["balanced", GIVEN], ids=["balanced", "given"])
@pytest.mark.parametrize("model", [*TREES, *ENSEMBLES], ids=repr)
def test_class_weights_are_the_weights_of_rows_that_scikit_learn_computes(
    model: Any, class_weight: Any, own: Any
) -> None:
    of_rows = compute_sample_weight(class_weight, Y)
    weighed = seeded(model, class_weight=class_weight).fit(X, Y, sample_weight=own)
    expected = seeded(model).fit(X, Y, sample_weight=of_rows if own is None else own * of_rows)
    unweighed = seeded(model).fit(X, Y, sample_weight=own)
    assert np.array_equal(weighed.predict_proba(NEW), expected.predict_proba(NEW))
    assert not np.array_equal(weighed.predict_proba(NEW), unweighed.predict_proba(NEW))


def test_id3_weighs_classes() -> None:
    levels = np.round(X[:, :2]).astype(int).astype(str).astype(object)
    weighed = tm.ID3Classifier(class_weight=GIVEN, categorical_features="all").fit(levels, Y)
    of_rows = compute_sample_weight(GIVEN, Y)
    expected = tm.ID3Classifier(categorical_features="all").fit(levels, Y, sample_weight=of_rows)
    assert np.array_equal(weighed.predict_proba(levels), expected.predict_proba(levels))


# --- by the rows of each member ---


@pytest.mark.parametrize("own", [None, OWN], ids=["rows of weight 1", "rows of other weights"])
def test_each_member_weighs_the_classes_of_the_rows_it_drew(own: Any) -> None:
    model = tm.BaggingClassifier(tm.CARTClassifier(), class_weight="balanced_subsample", oob_score=True, **FEW)
    model.fit(X, Y, sample_weight=own)
    for counts, member in zip(model.inbag_counts_, model.members_):
        rows = np.repeat(np.arange(len(Y)), np.maximum(counts, 0))
        weights = np.maximum(counts, 0) * compute_sample_weight("balanced", Y, indices=rows)
        tree = tm.CARTClassifier().fit(X, Y, sample_weight=weights if own is None else weights * own)
        assert np.array_equal(tree.predict_proba(X), member.predict_values(X))


def test_weights_do_not_count_as_rows_drawn() -> None:
    plain = tm.BaggingClassifier(oob_score=True, **FEW).fit(X, Y)
    for class_weight in ("balanced", "balanced_subsample", GIVEN):
        weighed = tm.BaggingClassifier(oob_score=True, class_weight=class_weight, **FEW).fit(X, Y)
        assert np.array_equal(weighed.inbag_counts_, plain.inbag_counts_)
        assert np.array_equal(
            tm.BaggingClassifier(class_weight=class_weight, **FEW).fit(X, Y).count_inbag(X, Y), plain.inbag_counts_
        )


def test_without_a_bootstrap_the_rows_of_a_member_are_all_rows() -> None:
    by_member = tm.ExtraTreesClassifier(class_weight="balanced_subsample", **FEW).fit(X, Y)
    of_all = tm.ExtraTreesClassifier(class_weight="balanced", **FEW).fit(X, Y)
    assert np.array_equal(by_member.predict_proba(X), of_all.predict_proba(X))


def test_the_search_for_noise_trains_the_members_of_the_ensemble() -> None:
    model = tm.SmearedBaggingClassifier(amounts=[0.0, 0.2], class_weight="balanced_subsample", **FEW).fit(X, Y)
    given = tm.SmearedBaggingClassifier(noise=model.noise_, class_weight="balanced_subsample", **FEW).fit(X, Y)
    assert np.array_equal(model.predict_proba(X), given.predict_proba(X))


def test_a_class_that_a_member_did_not_draw_has_no_weight() -> None:
    sample = Sample(np.array([0, 0, 1, 2]), 3, 1).with_copies(np.array([1, 2, 1, 0]))
    weights = BalancedWeights().apply(sample, Draw(0, 1, np.random.default_rng(0), 0)).weights
    assert weights is not None
    assert weights.tolist() == pytest.approx([2 / 3, 4 / 3, 2.0, 0.0])


def test_numbers_have_no_classes_to_weigh() -> None:
    with pytest.raises(InvalidParameter, match="BalancedWeights weighs classes, and y has numbers"):
        tm.PerturbCombineRegressor(perturb=[BalancedWeights()], **FEW).fit(X, X[:, 0])


# --- what leaves rows out ---


@pytest.mark.parametrize("own", [None, OWN], ids=["rows of weight 1", "rows of other weights"])
@pytest.mark.parametrize("class_weight", ["balanced", "balanced_subsample", GIVEN], ids=str)
@pytest.mark.parametrize("kind", [tm.RandomForestClassifier, tm.ExtraTreesClassifier])
def test_weights_of_training_rows_reproduce_the_prediction(kind: Any, class_weight: Any, own: Any) -> None:
    model = kind(class_weight=class_weight, min_samples_leaf=4, **FEW).fit(X, Y, sample_weight=own)
    weights = tm.row_weights(model, NEW[:20], X_train=X, y_train=Y, sample_weight=own)
    assert np.allclose(weights @ np.eye(3)[CODES], model.predict_proba(NEW[:20]), atol=1e-12)


def test_weights_of_training_rows_reproduce_the_prediction_of_a_tree() -> None:
    tree = tm.CARTClassifier(class_weight="balanced", max_depth=3).fit(X, Y)
    weights = tm.row_weights(tree, NEW[:20], X_train=X, y_train=Y)
    assert np.allclose(weights @ np.eye(3)[CODES], tree.predict_proba(NEW[:20]), atol=1e-12)


def test_certified_rows_are_refused_where_one_class_changes_all_weights() -> None:
    forest = tm.RandomForestClassifier(class_weight="balanced", **FEW).fit(X, Y)
    with pytest.raises(UnsupportedModel, match="has learned from all rows the weights of its classes"):
        tm.Uncertainty(forest, X, Y).certified_rows(X[:2])
    with pytest.raises(UnsupportedModel, match="has learned from all rows the weights of its classes"):
        tm.Uncertainty(forest, X, Y).predict_stable_set(X[:2])
    forest = tm.RandomForestClassifier(class_weight="balanced_subsample", **FEW).fit(X, Y)
    assert (tm.Uncertainty(forest, X, Y).certified_rows(X[:2]) >= 0).all()


def test_other_weights_than_those_of_fit_are_refused() -> None:
    forest = tm.RandomForestClassifier(class_weight=GIVEN, **FEW).fit(X, Y).set_params(class_weight=None)
    with pytest.raises(ValueError, match="are not those of fit"):
        forest.count_inbag(X, Y)


# --- errors ---


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("balance", "class_weight='balance' was given; expected None, 'balanced'"),
        ([1, 2], r"class_weight=\[1, 2\] was given"),
        ({"common": -1}, r"class_weight\['common'\]=-1 was given; expected a number of at least 0"),
        ({"common": "many"}, r"class_weight\['common'\]='many' was given"),
        ({"common": np.inf}, "expected a finite number"),
        ({"frequent": 2}, "class_weight has weights of 'frequent', and y has the classes 'common', 'rare', 'rarest'"),
        ({"common": 0, "rare": 0}, "leaves rows of positive weight to only the class 'rarest'"),
        ({"common": 0, "rare": 0, "rarest": 0}, "leaves rows of positive weight to no class"),
        (dict.fromkeys(GIVEN, 1e31), "the largest weight of a row is 1e"),
    ],
    ids=str,
)
@pytest.mark.parametrize("kind", [tm.CARTClassifier, tm.RandomForestClassifier])
def test_bad_weights_are_refused(kind: Any, given: Any, message: str) -> None:
    with pytest.raises(InvalidParameter, match=message):
        kind(class_weight=given).fit(X, Y)


@pytest.mark.parametrize("kind", [tm.CARTClassifier, tm.DaggingClassifier])
def test_only_ensembles_that_draw_rows_weigh_by_member(kind: Any) -> None:
    with pytest.raises(InvalidParameter, match="expected None, 'balanced', or a dict"):
        kind(class_weight="balanced_subsample").fit(X, Y)


def test_classes_that_a_fold_lacks_may_have_weights() -> None:
    rows = Y != "rarest"
    fold = tm.CARTClassifier(class_weight=GIVEN).fit(X[rows], Y[rows])
    assert fold.classes_.tolist() == ["common", "rare"]


def test_a_tree_with_class_weights_is_no_member() -> None:
    with pytest.raises(InvalidParameter, match="set class_weight of BaggingClassifier, or give sample_weight to fit"):
        tm.BaggingClassifier(tm.CARTClassifier(class_weight="balanced")).fit(X, Y)
    weighed = tm.BaggingClassifier(DecisionTreeClassifier(class_weight="balanced"), **FEW).fit(X, Y)
    assert len(weighed.members_) == 6


# --- files ---


@pytest.mark.parametrize(
    "class_weight", ["balanced_subsample", GIVEN, {np.int64(0): 1.0, np.int64(2): 3.0, 1: 2}], ids=str
)
def test_weights_are_stored(class_weight: Any, tmp_path: Path) -> None:
    target = Y if class_weight in ("balanced_subsample", GIVEN) else CODES
    model = tm.RandomForestClassifier(class_weight=class_weight, **FEW).fit(X, target)
    tm.save(model, tmp_path / "model.tremula")
    loaded = tm.load(tmp_path / "model.tremula")
    assert loaded.class_weight == class_weight
    assert list(loaded.class_weight) == list(class_weight)
    assert np.array_equal(loaded.count_inbag(X, target), model.count_inbag(X, target))


# --- the least share of the weight ---


@pytest.mark.parametrize("fraction", [0.02, 0.1])
@pytest.mark.parametrize("weights", [None, np.random.default_rng(5).uniform(0.1, 3.0, len(Y))], ids=["one", "other"])
def test_trees_with_a_least_share_of_the_weight_are_those_of_scikit_learn(weights: Any, fraction: float) -> None:
    options: dict[str, Any] = {"min_weight_fraction_leaf": fraction, "random_state": 0}
    target = X[:, 0] + X[:, 1]
    tree = tm.CARTRegressor(**options).fit(X, target, weights)
    expected = DecisionTreeRegressor(**options).fit(X, target, weights)
    assert tree.tree_.n_nodes == expected.tree_.node_count < 200
    assert np.allclose(tree.predict(NEW), expected.predict(NEW))
    tree = tm.CARTClassifier(**options).fit(X, Y, weights)
    expected = DecisionTreeClassifier(**options).fit(X, Y, weights)  # draws one of equal splits
    assert np.average(1 - (tree.predict_proba(X) ** 2).sum(axis=1), weights=weights) == pytest.approx(
        np.average(1 - (expected.predict_proba(X) ** 2).sum(axis=1), weights=weights)
    )
    grown = tm.RandomForestClassifier(**options, n_estimators=5).fit(X, Y, weights)
    assert all(min(member.weight[member.is_leaf]) >= fraction * member.weight[0] * 0.999 for member in grown.members_)
