"""Groups, blocks and balanced classes: what members draw, what they leave out, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import GroupKFold, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import tremula as tm
from tremula.errors import InvalidInput, InvalidParameter, UnsupportedModel
from tremula.perturb import BalancedBootstrap, BlockBootstrap, Bootstrap, Draw, Sample

RANDOM = np.random.default_rng(0)
GROUPS = RANDOM.integers(0, 30, 200)
EFFECTS = RANDOM.normal(size=(30, 3))
X = EFFECTS[GROUPS] + 0.1 * RANDOM.normal(size=(200, 3))
NUMBERS = EFFECTS[GROUPS, 0] + RANDOM.normal(size=30)[GROUPS] + 0.1 * RANDOM.normal(size=200)
Y = np.where(NUMBERS > 1.2, "rare", np.where(NUMBERS > 0, "some", "many"))
WEIGHTS = RANDOM.integers(0, 3, 200).astype(float)
FEW: dict[str, Any] = {"n_estimators": 8, "random_state": 0}
CLASSIFIERS = [
    tm.BaggingClassifier(**FEW),
    tm.BaggingClassifier(max_samples=0.5, bootstrap=False, **FEW),
    tm.ExtraTreesClassifier(bootstrap=True, **FEW),
    tm.PerturbCombineClassifier(perturb=[Bootstrap(0.7)], **FEW),
    tm.RandomForestClassifier(class_weight="balanced_subsample", **FEW),
    tm.RandomSubspaceClassifier(bootstrap=True, **FEW),
    tm.RandomizedC45Classifier(bootstrap=True, **FEW),
    tm.SmearedBaggingClassifier(amounts=[0.0, 0.1], **FEW),
]
REGRESSORS = [
    tm.BaggingRegressor(**FEW),
    tm.BaggingRegressor(LinearRegression(), **FEW),
    tm.ExtraTreesRegressor(bootstrap=True, **FEW),
    tm.PerturbCombineRegressor(perturb=[Bootstrap()], **FEW),
    tm.RandomForestRegressor(**FEW),
    tm.SmearedBaggingRegressor(noise=0.1, **FEW),
]


def fresh(model: Any, **changes: Any) -> Any:
    return type(model)(**{**model.get_params(deep=False), **changes})


def target_of(model: Any) -> Any:
    return NUMBERS if hasattr(model, "fit") and type(model).__name__.endswith("Regressor") else Y


def counts_by_group(counts: np.ndarray) -> np.ndarray:
    """How often each member drew each group; fails if a member drew rows of a group differently often."""
    by_group = np.array([counts[:, group == GROUPS].max(axis=1) for group in np.unique(GROUPS)]).T
    assert np.array_equal(by_group[:, np.unique(GROUPS, return_inverse=True)[1]], counts)
    return by_group


# --- groups ---


@pytest.mark.parametrize("model", [*CLASSIFIERS, *REGRESSORS], ids=repr)
def test_no_group_is_both_in_the_bag_and_out_of_it(model: Any) -> None:
    fitted = fresh(model, oob_score=True).fit(X, target_of(model), groups=GROUPS)
    drawn = counts_by_group(fitted.inbag_counts_)
    n_drawn = {"max_samples=0.5": 15, "Bootstrap(max_samples=0.7": 21}
    expected = next((n for text, n in n_drawn.items() if text in repr(model)), 30)
    assert (drawn.sum(axis=1) == expected).all()
    assert ((drawn == 0).sum(axis=1) > 3).all()
    assert len(np.unique(drawn, axis=0)) == 8
    again = fresh(model).fit(X, target_of(model), groups=GROUPS)
    assert np.array_equal(again.count_inbag(X, target_of(model)), fitted.inbag_counts_)


@pytest.mark.parametrize("model", [CLASSIFIERS[0], REGRESSORS[4]], ids=repr)
def test_out_of_bag_predictions_are_those_of_members_without_the_group(model: Any) -> None:
    target = target_of(model)
    fitted = fresh(model, oob_score=True).fit(X, target, groups=GROUPS)
    kept = getattr(fitted, "oob_prediction_", None)
    kept = fitted.oob_decision_function_ if kept is None else kept[:, None]
    for row in range(0, 200, 7):
        left_out = [
            member.predict_values(X[[row]])[0]
            for member, counts in zip(fitted.members_, fitted.inbag_counts_)
            if counts[GROUPS[row] == GROUPS].sum() == 0
        ]
        assert left_out
        assert np.allclose(np.mean(left_out, axis=0), kept[row])


def test_groups_may_have_any_labels() -> None:
    by_number = tm.RandomForestRegressor(**FEW).fit(X, NUMBERS, groups=GROUPS)
    words = pd.Series(GROUPS).map(lambda group: f"patient {group:02d}")
    by_word = tm.RandomForestRegressor(**FEW).fit(X, NUMBERS, groups=words)
    assert np.array_equal(by_number.predict(X), by_word.predict(X))


def test_groups_of_one_row_are_rows() -> None:
    rows = tm.RandomForestRegressor(**FEW).fit(X, NUMBERS)
    groups = tm.RandomForestRegressor(**FEW).fit(X, NUMBERS, groups=np.arange(200))
    assert np.array_equal(rows.predict(X), groups.predict(X))


@pytest.mark.parametrize("n_jobs", [2, -1])
def test_jobs_do_not_change_what_is_drawn(n_jobs: int) -> None:
    for options in ({}, {"block_length": 5}, {"bootstrap": "balanced"}):
        groups = None if options else GROUPS
        one = tm.BaggingClassifier(**FEW, **options).fit(X, Y, groups=groups)
        more = tm.BaggingClassifier(n_jobs=n_jobs, **FEW, **options).fit(X, Y, groups=groups)
        assert np.array_equal(one.predict_proba(X), more.predict_proba(X))


def test_rows_of_weight_0_are_never_drawn() -> None:
    for options in ({}, {"block_length": 5}, {"bootstrap": "balanced"}):
        model = tm.BaggingClassifier(oob_score=True, **FEW, **options)
        model.fit(X, Y, sample_weight=WEIGHTS, groups=None if options else GROUPS)
        assert ((model.inbag_counts_ == -1) == (WEIGHTS == 0)).all()


def test_a_warm_start_adds_the_members_of_one_training() -> None:
    model = tm.RandomForestRegressor(n_estimators=3, warm_start=True, random_state=0).fit(X, NUMBERS, groups=GROUPS)
    model.set_params(n_estimators=8).fit(X, NUMBERS, groups=GROUPS)
    assert np.array_equal(model.predict(X), tm.RandomForestRegressor(**FEW).fit(X, NUMBERS, groups=GROUPS).predict(X))
    model.set_params(n_estimators=9).fit(X, NUMBERS)  # without groups: earlier members cannot be drawn again
    with pytest.raises(InvalidParameter, match="warm_start=True has added members"):
        model.count_inbag(X, NUMBERS)


def test_groups_are_kept_in_files_and_refused_if_they_are_not_sound(tmp_path: Path) -> None:
    model = tm.RandomForestRegressor(**FEW).fit(X, NUMBERS, groups=GROUPS)
    tm.save(model, tmp_path / "model.tremula")
    loaded = tm.load(tmp_path / "model.tremula")
    assert np.array_equal(loaded.count_inbag(X, NUMBERS), model.count_inbag(X, NUMBERS))
    for wrong in (model._row_groups[:-1], model._row_groups - 1, model._row_groups.astype(float)):
        model._row_groups = wrong
        tm.save(model, tmp_path / "wrong.tremula")
        with pytest.raises(ValueError, match=r"_row_groups|a wrong type"):
            tm.load(tmp_path / "wrong.tremula")


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        ([1, 2], r"groups has shape \(2,\), but X has 200 rows"),
        (np.zeros(200), "groups has one group, 0.0: give two groups or more"),
        (np.where(GROUPS == 3, np.nan, GROUPS), "groups is nan in row"),
    ],
)
def test_bad_groups_are_refused(groups: Any, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        tm.RandomForestRegressor(**FEW).fit(X, NUMBERS, groups=groups)


def test_groups_are_refused_where_rows_are_drawn_otherwise_or_not_at_all() -> None:
    with pytest.raises(InvalidParameter, match="every member is trained on all rows: set bootstrap=True"):
        tm.ExtraTreesClassifier(**FEW).fit(X, Y, groups=GROUPS)
    for options in ({"block_length": 5}, {"bootstrap": "balanced"}):
        with pytest.raises(InvalidParameter, match="Bootstrap draws rows in its own way"):
            tm.BaggingClassifier(**FEW, **options).fit(X, Y, groups=GROUPS)
    with pytest.raises(InvalidParameter, match="the folds of tuning='cv' would divide them"):
        tm.SmearedBaggingClassifier(tuning="cv", **FEW).fit(X, Y, groups=GROUPS)
    with pytest.raises(InvalidParameter, match="asks for 60 of 30 groups without replacement"):
        tm.BaggingClassifier(max_samples=60, bootstrap=False, **FEW).fit(X, Y, groups=GROUPS)


def test_groups_go_through_pipelines_and_cross_validation() -> None:
    plain = make_pipeline(StandardScaler(), tm.RandomForestRegressor(**FEW))
    expected = tm.RandomForestRegressor(**FEW).fit(StandardScaler().fit_transform(X), NUMBERS, groups=GROUPS)
    named = plain.fit(X, NUMBERS, randomforestregressor__groups=GROUPS)
    assert np.array_equal(named[-1].predict(named[:-1].transform(X)), expected.predict(named[:-1].transform(X)))
    with sklearn.config_context(enable_metadata_routing=True):
        forest = tm.RandomForestRegressor(**FEW).set_fit_request(groups=True, sample_weight=False)
        routed = make_pipeline(StandardScaler(), forest).fit(X, NUMBERS, groups=GROUPS)
        assert np.array_equal(routed.predict(X), named.predict(X))
        validated = cross_validate(
            forest, X, NUMBERS, cv=GroupKFold(3), params={"groups": GROUPS}, return_estimator=True
        )
        assert [len(np.unique(each._row_groups)) for each in validated["estimator"]] == [20, 20, 20]


# --- blocks of time ---


def test_members_draw_blocks_of_consecutive_rows() -> None:
    model = tm.RandomForestRegressor(block_length=8, oob_score=True, **FEW).fit(X, NUMBERS)
    assert (model.inbag_counts_.sum(axis=1) == 200).all()
    for counts in model.inbag_counts_:
        changes = np.flatnonzero(np.diff(np.append(counts, counts[0])))
        assert 2 <= len(changes) <= 50  # at most two for each of 25 blocks; single rows change about 130 times
    sample, random = Sample(NUMBERS, 0, 3), np.random.default_rng(1)
    often = np.array([BlockBootstrap(8).apply(sample, Draw(0, 1, random, 0)).copies for _ in range(4000)])
    assert np.abs(often.mean(axis=0) - 1).max() < 0.1  # all rows are equally likely, the first and the last too
    is_drawn = often > 0
    assert (is_drawn[:, 100] & is_drawn[:, 101]).mean() > (is_drawn[:, 100] & is_drawn[:, 150]).mean() + 0.1


def test_blocks_of_one_row_are_a_bootstrap() -> None:
    blocks = tm.RandomForestRegressor(block_length=1, **FEW).fit(X, NUMBERS)
    assert np.array_equal(blocks.predict(X), tm.RandomForestRegressor(**FEW).fit(X, NUMBERS).predict(X))


@pytest.mark.parametrize("kind", [tm.BaggingClassifier, tm.RandomForestClassifier, tm.ExtraTreesClassifier])
def test_blocks_need_a_bootstrap_of_rows(kind: Any) -> None:
    for bootstrap in (False, "balanced"):
        with pytest.raises(InvalidParameter, match=r"block_length=5 was given with bootstrap=.* set bootstrap=True"):
            kind(block_length=5, bootstrap=bootstrap, **FEW).fit(X, Y)
    with pytest.raises(InvalidParameter, match="block_length=201 was given, but there are 200 rows"):
        kind(block_length=201, bootstrap=True, **FEW).fit(X, Y)
    with pytest.raises(InvalidParameter, match="block_length=0 was given"):
        kind(block_length=0, bootstrap=True, **FEW).fit(X, Y)


# --- balanced classes ---


@pytest.mark.parametrize(
    "model",
    [
        tm.BaggingClassifier(**FEW),
        tm.RandomForestClassifier(**FEW),
        tm.ExtraTreesClassifier(**FEW),
        tm.RandomSubspaceClassifier(**FEW),
        tm.RandomizedC45Classifier(**FEW),
    ],
    ids=repr,
)
def test_every_class_is_drawn_as_often_as_the_smallest_has_rows(model: Any) -> None:
    fitted = fresh(model, bootstrap="balanced", oob_score=True).fit(X, Y)
    least = np.unique(Y, return_counts=True)[1].min()
    for counts in fitted.inbag_counts_:
        assert [counts[label == Y].sum() for label in fitted.classes_] == [least] * 3
        assert counts.max() > 1


def test_a_share_of_the_smallest_class_can_be_drawn() -> None:
    least = np.unique(Y, return_counts=True)[1].min()
    for given, expected in ((0.5, round(0.5 * least)), (4, 4)):
        model = tm.BaggingClassifier(bootstrap="balanced", max_samples=given, oob_score=True, **FEW).fit(X, Y)
        assert (model.inbag_counts_.sum(axis=1) == 3 * expected).all()


def test_a_class_without_rows_of_positive_weight_is_not_drawn() -> None:
    weights = (Y != "rare").astype(float)
    model = tm.BaggingClassifier(bootstrap="balanced", oob_score=True, **FEW).fit(X, Y, sample_weight=weights)
    assert (model.inbag_counts_[:, Y == "rare"] == -1).all()


def test_numbers_have_no_classes_to_balance() -> None:
    with pytest.raises(InvalidParameter, match="draws rows of every class, and y has numbers"):
        tm.PerturbCombineRegressor(perturb=[BalancedBootstrap()], **FEW).fit(X, NUMBERS)
    for kind in (tm.RandomForestRegressor, tm.BaggingRegressor, tm.SmearedBaggingClassifier):
        with pytest.raises(InvalidParameter, match="bootstrap='balanced' was given; expected True or False"):
            kind(bootstrap="balanced", **FEW).fit(X, NUMBERS)
    with pytest.raises(InvalidParameter, match="bootstrap='equal' was given; expected True, False or 'balanced'"):
        tm.RandomForestClassifier(bootstrap="equal").fit(X, Y)


# --- what is said of trained ensembles ---

DRAWN = [
    ({}, GROUPS, "groups"),
    ({"block_length": 8}, None, "blocks"),
    ({"bootstrap": "balanced"}, None, "balanced"),
]


@pytest.mark.parametrize(("options", "groups", "_"), DRAWN, ids=[each[2] for each in DRAWN])
def test_weights_of_training_rows_reproduce_predictions(options: Any, groups: Any, _: str) -> None:
    model = tm.RandomForestClassifier(min_samples_leaf=3, **options, **FEW).fit(X, Y, groups=groups)
    weights = tm.row_weights(model, X[:20] + 0.1, X_train=X, y_train=Y)
    shares = weights @ (Y[:, None] == model.classes_).astype(float)
    assert np.allclose(shares, model.predict_proba(X[:20] + 0.1), atol=1e-12)


@pytest.mark.parametrize(("options", "groups", "_"), DRAWN[:2], ids=[each[2] for each in DRAWN[:2]])
def test_out_of_bag_quantiles_use_members_that_left_the_group_out(options: Any, groups: Any, _: str) -> None:
    model = tm.RandomForestRegressor(min_samples_leaf=3, **options, **FEW).fit(X, NUMBERS, groups=groups)
    sure, inbag = tm.Uncertainty(model, X, NUMBERS), model.count_inbag(X, NUMBERS)
    medians = sure.oob_quantiles([0.5])[:, 0]
    for row in range(0, 200, 11):
        weights = np.zeros(200)
        for number in np.flatnonzero(inbag[:, row] == 0):
            leaf = model.members_[number].predict_values(X[[row]])[0, 0]
            together = model.members_[number].predict_values(X)[:, 0] == leaf
            weights += inbag[number] * together / (inbag[number] * together).sum()
        order = np.argsort(NUMBERS, kind="stable")
        cumulated = np.cumsum(weights[order])
        assert medians[row] == NUMBERS[order][np.searchsorted(cumulated, 0.5 * cumulated[-1] - 1e-12)]


def test_intervals_for_new_groups_are_wider_than_those_for_rows_of_known_groups() -> None:
    by_group = tm.RandomForestRegressor(random_state=0).fit(X, NUMBERS, groups=GROUPS)
    by_row = tm.RandomForestRegressor(random_state=0).fit(X, NUMBERS)
    for method in ("oob", "jackknife+"):
        wide = tm.Uncertainty(by_group, X, NUMBERS).predict_interval(X[:50], method=method)
        narrow = tm.Uncertainty(by_row, X, NUMBERS).predict_interval(X[:50], method=method)
        assert np.mean(wide[:, 1] - wide[:, 0]) > 2 * np.mean(narrow[:, 1] - narrow[:, 0])


def test_standard_errors_count_groups_and_not_their_rows() -> None:
    bagging = tm.BaggingRegressor(tm.CARTRegressor(), n_estimators=200, random_state=0)
    table, target = X[:40, :1], NUMBERS[:40]  # one attribute: no two splits are equally good
    once = fresh(bagging).fit(table, target)
    repeated = np.repeat(table, 3, axis=0), np.repeat(target, 3)
    thrice = fresh(bagging).fit(*repeated, groups=np.repeat(np.arange(40), 3))
    assert np.allclose(once.predict(X[:, :1]), thrice.predict(X[:, :1]))
    expected = tm.Uncertainty(once, table, target).predict_std(X[60:80, :1])
    assert np.allclose(tm.Uncertainty(thrice, *repeated).predict_std(X[60:80, :1]), expected)


@pytest.mark.parametrize(("options", "groups", "name"), DRAWN, ids=[each[2] for each in DRAWN])
def test_what_is_proven_of_single_rows_is_refused(options: Any, groups: Any, name: str) -> None:
    model = tm.RandomForestClassifier(combine="vote", **options, **FEW).fit(X, Y, groups=groups)
    sure = tm.Uncertainty(model, X, Y)
    with pytest.raises(UnsupportedModel, match="not trained on samples of rows drawn independently"):
        sure.predict_stable_set(X[:2])
    with pytest.raises(UnsupportedModel, match=r"drawn independently|how many rows of each class"):
        sure.certified_rows(X[:2], method="resampling")
    if name != "groups":
        with pytest.raises(UnsupportedModel, match="the standard errors of RandomForestClassifier are not known"):
            sure.predict_std(X[:2])
    if name == "balanced":
        with pytest.raises(UnsupportedModel, match="has learned from all rows how many rows of each class are drawn"):
            sure.certified_rows(X[:2])
        with pytest.raises(UnsupportedModel, match="use permutation_importances"):
            model.unbiased_importances(X, Y)
    else:
        assert (sure.certified_rows(X[:2]) >= 0).all()
        assert model.unbiased_importances(X, Y).importances.shape == (3,)
    assert model.permutation_importances(X, Y, random_state=0).importances.shape == (3,)
    assert sure.predict_set(X[:2], coverage=0.8).shape == (2, 3)


@pytest.mark.parametrize(("options", "groups", "_"), DRAWN, ids=[each[2] for each in DRAWN])
@pytest.mark.parametrize("kind", ["oob", "gap"])
def test_proximities_do_not_need_the_groups_again(kind: str, options: Any, groups: Any, _: str) -> None:
    options = {**options, "n_estimators": 100, "random_state": 0}
    table, target, groups = X[:40], Y[:40], None if groups is None else groups[:40]
    kept = tm.RandomForestClassifier(oob_score=True, **options).fit(table, target, groups=groups)
    drawn = tm.RandomForestClassifier(**options).fit(table, target, groups=groups)
    known, again = (tm.proximity(model, table, kind=kind, y=target) for model in (kept, drawn))
    assert abs(known - again).max() == 0
