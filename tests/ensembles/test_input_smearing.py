"""Input smearing against loops written out, bagging where there is no noise, and the choice of the amount."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_diabetes, load_iris
from sklearn.linear_model import Ridge
from sklearn.model_selection import cross_val_score
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier

import tremula as tm
from tremula.combine import largest
from tremula.ensembles.smeared_table import replace_values
from tremula.ensembles.smearing_noise import make_folds
from tremula.errors import InvalidInput, InvalidParameter
from tremula.perturb import AttributeSubset, Bootstrap, DisjointParts, RandomSplits, Sample, SmearedInputs
from tremula.perturb.sample import SEPARATE, Values
from tremula.seeds import make_root_seed, member_generator

X, Y = load_iris(return_X_y=True)
X_NUMBERS, Y_NUMBERS = (part[:200] for part in load_diabetes(return_X_y=True))
RANDOM = np.random.default_rng(0)
MIXED = pd.DataFrame(
    {
        "size": np.where(RANDOM.random(200) < 0.1, np.nan, RANDOM.normal(size=200)),
        "color": pd.Categorical(RANDOM.choice(["red", "green", "blue"], 200)),
        "age": RANDOM.integers(0, 90, 200),
    }
)
MIXED_CLASSES = np.where((MIXED["color"] == "red") | (MIXED["age"] > 60), "yes", "no")
FEW: dict[str, Any] = {"n_estimators": 6, "random_state": 0}
UNPRUNED = tm.REPTreeClassifier(prune=False)


def naive_smear(table: np.ndarray, seed: int, member: int, amount: float) -> tuple[np.ndarray, np.ndarray]:
    """The training set of a member, written out: rows drawn, and fresh noise on every value of every copy."""
    root = make_root_seed(seed)
    rows = np.sort(member_generator(root, member).integers(len(table), size=len(table)))
    seed_of_noise = np.random.SeedSequence(root, spawn_key=(member, SEPARATE, 0)).spawn(5)[0]
    noise = np.random.default_rng(seed_of_noise)
    smeared = np.empty((len(rows), table.shape[1]))
    for copy, row in enumerate(rows):
        for attribute in range(table.shape[1]):
            spread = np.nanstd(table[:, attribute], ddof=1)
            smeared[copy, attribute] = table[row, attribute] + amount * spread * noise.standard_normal()
    return rows, smeared


# --- against loops


@pytest.mark.parametrize("seed", range(3))
def test_a_member_is_the_tree_of_the_smeared_rows(seed: int) -> None:
    ensemble = tm.SmearedBaggingClassifier(noise=0.15, n_estimators=3, random_state=seed).fit(X, Y)
    for number, member in enumerate(ensemble.members_):
        rows, smeared = naive_smear(X, seed, number, 0.15)
        alone = clone(UNPRUNED).fit(smeared, Y[rows])
        assert np.array_equal(member.predict_values(X), alone.predict_proba(X))


def test_a_model_tree_is_that_of_the_smeared_rows() -> None:
    ensemble = tm.SmearedBaggingRegressor(noise=0.1, n_estimators=2, random_state=5).fit(X_NUMBERS, Y_NUMBERS)
    for number, member in enumerate(ensemble.members_):
        rows, smeared = naive_smear(X_NUMBERS, 5, number, 0.1)
        alone = tm.M5Regressor(prune=False).fit(smeared, Y_NUMBERS[rows])
        assert member.predict_values(X_NUMBERS)[:, 0] == pytest.approx(alone.predict(X_NUMBERS))


def test_another_librarys_tree_is_that_of_the_smeared_rows() -> None:
    tree = DecisionTreeClassifier(max_depth=3, random_state=0)
    ensemble = tm.PerturbCombineClassifier(tree, [Bootstrap(), SmearedInputs(0.2)], n_estimators=1, random_state=9)
    ensemble.fit(X, Y)
    rows, smeared = naive_smear(X, 9, 0, 0.2)
    seed = ensemble.estimators_[0].get_params()["random_state"]
    alone = tree.set_params(random_state=seed).fit(smeared, Y[rows])
    assert np.array_equal(ensemble.predict_proba(X), alone.predict_proba(X))


def test_answers_are_averaged() -> None:
    ensemble = tm.SmearedBaggingClassifier(noise=0.2, **FEW).fit(X, Y)
    mean = np.mean([member.predict_values(X) for member in ensemble.members_], axis=0)
    assert ensemble.predict_proba(X) == pytest.approx(mean)
    assert (ensemble.predict(X) == largest(mean)).all()


# --- no noise is bagging, bit for bit


@pytest.mark.parametrize("options", [{}, {"max_samples": 0.5}, {"oob_score": True}, {"combine": "vote"}])
def test_no_noise_is_bagging_of_classes(options: dict[str, Any]) -> None:
    smeared = tm.SmearedBaggingClassifier(noise=0, **FEW, **options).fit(X, Y)
    bagged = tm.BaggingClassifier(UNPRUNED, **FEW, **options).fit(X, Y)
    assert smeared.members_ == bagged.members_
    assert getattr(smeared, "oob_score_", None) == getattr(bagged, "oob_score_", None)


def test_no_noise_is_bagging_of_numbers() -> None:
    smeared = tm.SmearedBaggingRegressor(noise=0, **FEW).fit(X_NUMBERS, Y_NUMBERS)
    bagged = tm.BaggingRegressor(tm.M5Regressor(prune=False), **FEW).fit(X_NUMBERS, Y_NUMBERS)
    assert np.array_equal(smeared.predict(X_NUMBERS), bagged.predict(X_NUMBERS))


def test_no_noise_is_bagging_also_of_trees_that_draw() -> None:
    tree = tm.REPTreeClassifier(max_features="sqrt")
    smeared = tm.SmearedBaggingClassifier(tree, noise=0, **FEW).fit(X, Y)
    assert smeared.members_ == tm.BaggingClassifier(tree, **FEW).fit(X, Y).members_


def test_noise_leaves_the_bootstrap_samples_as_they_are() -> None:
    smeared = tm.SmearedBaggingClassifier(noise=0.2, oob_score=True, **FEW).fit(X, Y)
    bagged = tm.BaggingClassifier(UNPRUNED, oob_score=True, **FEW).fit(X, Y)
    assert (smeared.inbag_counts_ == bagged.inbag_counts_).all()


# --- what it works with


def test_it_composes_with_other_perturbations() -> None:
    shaken = [Bootstrap(0.8), AttributeSubset(2), SmearedInputs(0.1), RandomSplits(3)]
    ensemble = tm.PerturbCombineClassifier(perturb=shaken, oob_score=True, **FEW).fit(X, Y)
    assert ensemble.oob_score_ > 0.85
    assert all(len(np.unique(tree.attribute[~tree.is_leaf])) <= 2 for tree in ensemble.members_)


def test_it_smears_disjoint_parts_and_whole_tables_too() -> None:
    for first in ([DisjointParts()], []):
        ensemble = tm.PerturbCombineClassifier(perturb=[*first, SmearedInputs(0.1)], **FEW).fit(X, Y)
        assert ensemble.score(X, Y) > 0.85


def test_rows_with_weights_keep_them_with_noise() -> None:
    weights = np.where(Y == 2, 0.0, 1.5)
    ensemble = tm.SmearedBaggingClassifier(noise=0.1, **FEW).fit(X, Y, sample_weight=weights)
    assert set(ensemble.predict(X)) == {0, 1}
    assert ensemble.members_[0].nodes["weight"][0] == pytest.approx(150.0)


def test_real_weights_reach_other_libraries_members() -> None:
    ensemble = tm.SmearedBaggingClassifier(GaussianNB(), noise=0.1, **FEW)
    with pytest.raises(InvalidParameter, match="does not take sample_weight"):
        clone(ensemble).set_params(estimator=_Plain()).fit(X, Y, sample_weight=np.linspace(0.5, 1.5, 150))
    ensemble.fit(X, Y, sample_weight=np.linspace(0.5, 1.5, 150))
    assert ensemble.score(X, Y) > 0.9


class _Plain(DecisionTreeClassifier):
    def fit(self, X: Any, y: Any) -> Any:
        return super().fit(X, y)


@pytest.mark.parametrize("make", [lambda frame: frame, pl.from_pandas], ids=["pandas", "polars"])
def test_frames_with_nominal_columns_go_to_other_libraries_as_frames(make: Callable[[Any], Any]) -> None:
    columns = make_column_transformer((OneHotEncoder(), ["color"]), remainder="passthrough")
    tree = make_pipeline(columns, DecisionTreeClassifier(max_depth=4))
    ensemble = tm.SmearedBaggingClassifier(tree, noise=0.05, smear_nominal=True, **FEW)
    frame = make(MIXED)
    assert ensemble.fit(frame, MIXED_CLASSES).score(frame, MIXED_CLASSES) > 0.85


@pytest.mark.parametrize("make", [lambda frame: frame, pl.from_pandas], ids=["pandas", "polars"])
def test_values_are_put_back_into_a_frame(make: Callable[[Any], Any]) -> None:
    frame = pd.DataFrame({"size": [1.0, 2.0, None], "color": pd.Categorical(["red", "blue", "red"]), "kept": [7, 8, 9]})
    frame.index = [5, 5, 6]
    known = Values(np.array([[1.0, 1.0, 7.0], [2.0, 0.0, 8.0], [np.nan, 1.0, 9.0]]), np.array([0, 2, 0]))
    wanted = np.array([[np.nan, 1.0, 9.0], [1.5, 0.0, 7.0], [1.25, 1.0, 7.0]])
    after = replace_values(make(frame), np.array([2, 0, 0]), known, wanted)
    assert type(after) is type(make(frame))
    assert [str(kind) for kind in after.dtypes] == [str(kind) for kind in make(frame).dtypes]
    as_pandas = after if isinstance(after, pd.DataFrame) else after.to_pandas()
    assert as_pandas["color"].tolist() == ["red", "blue", "red"]
    assert as_pandas["size"].tolist()[1:] == [1.5, 1.25]
    assert as_pandas["kept"].tolist() == [9, 7, 7]


def test_sparse_tables_are_refused_and_advice_is_given() -> None:
    ensemble = tm.SmearedBaggingClassifier(DecisionTreeClassifier(), noise=0.1, **FEW)
    with pytest.raises(InvalidInput, match=r"X is sparse.*toarray"):
        ensemble.fit(csr_array(X), Y)
    assert clone(ensemble).set_params(noise=0).fit(csr_array(X), Y).score(csr_array(X), Y) > 0.9


def test_missing_and_nominal_values_in_a_frame() -> None:
    ensemble = tm.SmearedBaggingClassifier(noise=0.05, smear_nominal=True, **FEW).fit(MIXED, MIXED_CLASSES)
    assert ensemble.score(MIXED, MIXED_CLASSES) > 0.85


# --- the same seed


@pytest.mark.parametrize("tuning", ["oob", "cv"])
@pytest.mark.parametrize("search", ["grid", "halving", "golden"])
def test_the_same_seed_gives_the_same_bits_for_any_number_of_jobs(tuning: str, search: str) -> None:
    options: dict[str, Any] = {"tuning": tuning, "search": search, "cv": 2, "scoring": "log_loss"}
    one, two = (tm.SmearedBaggingClassifier(n_jobs=jobs, **FEW, **options).fit(X, Y) for jobs in (1, 3))
    assert one.members_ == two.members_
    assert one.noise_ == two.noise_
    assert np.array_equal(one.noise_curve_.losses, two.noise_curve_.losses)


@pytest.mark.parametrize("tuning", ["oob", "cv"])
def test_a_level_that_was_chosen_gives_the_members_of_one_that_was_given(tuning: str) -> None:
    chosen = tm.SmearedBaggingClassifier(tuning=tuning, oob_score=True, **FEW).fit(X, Y)
    given = tm.SmearedBaggingClassifier(noise=chosen.noise_, oob_score=True, **FEW).fit(X, Y)
    assert chosen.members_ == given.members_
    assert chosen.oob_score_ == given.oob_score_


def test_members_are_added_at_the_level_there_is() -> None:
    warm = tm.SmearedBaggingClassifier(amounts=[0.1, 0.2], warm_start=True, **FEW).fit(X, Y)
    amount = warm.noise_
    warm.set_params(n_estimators=9).fit(X, Y)
    assert warm.noise_ == amount
    assert warm.members_ == tm.SmearedBaggingClassifier(noise=amount, n_estimators=9, random_state=0).fit(X, Y).members_


def test_members_of_another_level_are_not_added() -> None:
    warm = tm.SmearedBaggingClassifier(noise=0.1, warm_start=True, **FEW).fit(X, Y)
    with pytest.raises(InvalidParameter, match=r"noise=0.2 was given.*those that warm_start=True keeps have 0.1"):
        warm.set_params(noise=0.2, n_estimators=9).fit(X, Y)


# --- the choice of the amount


def naive_losses(seed: int, amounts: list[float], n_members: int) -> list[float]:
    """Out-of-bag error of each amount, in a loop."""
    losses = []
    for amount in amounts:
        total, root = np.zeros((len(X), 3)), make_root_seed(seed)
        for member in range(n_members):
            rows, smeared = naive_smear(X, seed, member, amount)
            tree = clone(UNPRUNED).fit(smeared, Y[rows])
            out = np.setdiff1d(np.arange(len(X)), member_generator(root, member).integers(len(X), size=len(X)))
            total[out] += tree.predict_proba(X[out])
        judged = total.any(axis=1)
        losses.append(float(np.mean(largest(total[judged]) != Y[judged])))
    return losses


def test_losses_are_those_of_rows_left_out() -> None:
    amounts = [0.1, 0.3]
    ensemble = tm.SmearedBaggingClassifier(amounts=amounts, search="grid", n_estimators=4, random_state=2).fit(X, Y)
    assert ensemble.noise_curve_.losses.tolist() == naive_losses(2, amounts, 4)


def test_folds_hold_every_row_once_and_spread_the_classes() -> None:
    sample = Sample(Y, 3, 4)
    folds = make_folds(sample, 5, 0)
    assert sorted(np.concatenate(folds)) == list(range(150))
    assert all((np.bincount(Y[fold]) == 10).all() for fold in folds)


def test_cross_validated_losses_are_those_of_ensembles_of_the_other_folds() -> None:
    ensemble = tm.SmearedBaggingClassifier(amounts=[0.0], tuning="cv", cv=3, **FEW).fit(X, Y)
    folds = make_folds(Sample(Y, 3, 4), 3, make_root_seed(0))
    wrong = 0
    for fold in folds:
        rest = np.setdiff1d(np.arange(len(X)), fold)
        bagged = tm.BaggingClassifier(UNPRUNED, **FEW).fit(X[rest], Y[rest])
        wrong += int(np.sum(bagged.predict(X[fold]) != Y[fold]))
    assert ensemble.noise_curve_.losses.tolist() == [wrong / 150]


def test_the_deviation_is_that_of_a_folds_training_rows() -> None:
    table = X.copy()
    ensemble = tm.SmearedBaggingClassifier(amounts=[0.2], tuning="cv", cv=2, **FEW).fit(table, Y)
    folds = make_folds(Sample(Y, 3, 4), 2, make_root_seed(0))
    wrong = 0
    for fold in folds:
        rest = np.setdiff1d(np.arange(len(X)), fold)
        smeared = tm.SmearedBaggingClassifier(noise=0.2, **FEW).fit(X[rest], Y[rest])
        wrong += int(np.sum(smeared.predict(X[fold]) != Y[fold]))
    assert ensemble.noise_curve_.losses.tolist() == [wrong / 150]


def test_of_equal_losses_the_smaller_level_is_taken() -> None:
    apart = np.repeat([[0.0], [100.0]], 30, axis=0)
    ensemble = tm.SmearedBaggingClassifier(search="grid", **FEW).fit(apart, np.repeat([0, 1], 30))
    assert ensemble.noise_ == 0.0
    assert not ensemble.noise_curve_.losses.any()


def test_noise_is_chosen_where_it_helps_and_not_where_it_hurts() -> None:
    random = np.random.default_rng(1)
    slope = random.normal(size=(300, 4))
    smooth = tm.SmearedBaggingClassifier(n_estimators=20, random_state=0).fit(slope, slope.sum(axis=1) > 0)
    steps = random.integers(0, 40, size=(300, 1)).astype(float)
    stripes = tm.SmearedBaggingClassifier(n_estimators=20, random_state=0).fit(steps, steps[:, 0] % 2)
    assert smooth.noise_ >= 0.1
    assert stripes.noise_ == 0.0


def test_halving_costs_less_than_the_grid_and_keeps_what_it_trained() -> None:
    options = {"n_estimators": 40, "random_state": 0}
    grid, halving = (tm.SmearedBaggingClassifier(search=search, **options).fit(X, Y) for search in ("grid", "halving"))
    assert grid.noise_curve_.n_trained == 280
    assert halving.noise_curve_.n_trained < 0.5 * 280
    assert halving.noise_curve_.n_members.min() == 5


def test_a_golden_section_comes_between_levels_of_the_grid() -> None:
    ensemble = tm.SmearedBaggingClassifier(search="golden", **FEW).fit(X, Y)
    amounts = ensemble.noise_curve_.amounts
    assert amounts[0] == 0.0
    assert amounts.max() <= 0.3
    assert len(amounts) <= 7
    assert np.diff(amounts).min() > 1e-3


def test_numbers_choose_by_squared_error() -> None:
    ensemble = tm.SmearedBaggingRegressor(search="grid", **FEW).fit(X_NUMBERS, Y_NUMBERS)
    curve = ensemble.noise_curve_
    assert ensemble.noise_ == curve.amounts[np.argmin(curve.losses)]
    assert curve.losses.min() < Y_NUMBERS.var()


def test_weighted_rows_count_as_much_as_they_weigh_in_the_loss() -> None:
    weights = np.where(Y == 0, 1.0, 1e-12)
    ensemble = tm.SmearedBaggingClassifier(amounts=[0.3], **FEW).fit(X, Y, sample_weight=weights)
    assert ensemble.noise_curve_.losses[0] < 1e-6


def test_many_members_are_trained_until_the_loss_has_settled() -> None:
    options: dict[str, Any] = {"n_estimators": "auto", "max_estimators": 25, "random_state": 0, "amounts": [0, 0.2]}
    ensemble = tm.SmearedBaggingClassifier(search="grid", **options).fit(X, Y)
    assert len(ensemble) == 25
    assert ensemble.noise_curve_.n_members.tolist() == [20, 20]


def test_a_bandwidth_has_levels_of_its_own() -> None:
    ensemble = tm.SmearedBaggingClassifier(unit="rule_of_thumb", search="grid", **FEW).fit(X, Y)
    assert ensemble.noise_curve_.amounts.tolist() == [0.0, 0.25, 0.5, 0.75, 1.0, 1.25, 1.5]


@pytest.mark.parametrize("tuning", ["oob", "cv"])
def test_two_rows_are_enough(tuning: str) -> None:
    ensemble = tm.SmearedBaggingRegressor(tuning=tuning, **FEW).fit([[1.0], [2.0]], [3.0, 4.0])
    assert 3.0 <= ensemble.predict([[5.0]])[0] <= 4.0


def test_each_attribute_can_have_a_amount() -> None:
    ensemble = tm.SmearedBaggingClassifier(noise=[0.0, 0.0, 0.1, 0.1], **FEW).fit(X, Y)
    assert ensemble.noise_.tolist() == [0.0, 0.0, 0.1, 0.1]


def test_permutation_importances_find_the_rows_left_out() -> None:
    ensemble = tm.SmearedBaggingClassifier(noise=0.1, **FEW).fit(X, Y)
    found = ensemble.permutation_importances(X, Y, random_state=0)
    assert found.importances[2:].min() > found.importances[:2].max()


def test_a_model_is_kept_in_a_file_with_its_curve(tmp_path: Path) -> None:
    ensemble = tm.SmearedBaggingClassifier(amounts=[0.0, 0.1], **FEW).fit(X, Y)
    tm.save(ensemble, tmp_path / "model")
    again = tm.load(tmp_path / "model")
    assert (again.predict_proba(X) == ensemble.predict_proba(X)).all()
    assert again.noise_ == ensemble.noise_
    assert (again.noise_curve_.losses == ensemble.noise_curve_.losses).all()


def test_it_works_inside_a_cross_validation() -> None:
    assert cross_val_score(tm.SmearedBaggingRegressor(Ridge(), **FEW), X_NUMBERS, Y_NUMBERS, cv=2).mean() > 0.1


# --- what is refused


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"noise": "best"}, "noise='best' was given; expected a number, one for each attribute, or 'auto'"),
        ({"noise": -1.0}, "noise=-1.0 was given"),
        ({"noise": [0.1]}, "noise has 1 amounts, but there are 4 attributes"),
        ({"tuning": "bag"}, "tuning='bag' is not known"),
        ({"search": "random"}, "search='random' is not known"),
        ({"scoring": "auc"}, "scoring='auc' is not known"),
        ({"cv": 1}, "cv=1 was given"),
        ({"amounts": []}, "amounts is empty"),
        ({"amounts": [0.1, -0.2]}, "amounts=-0.2 was given"),
        ({"amounts": ["a"]}, "amounts='a' was given"),
        ({"bootstrap": False}, "tuning='oob' judges amounts by rows that members leave out"),
        ({"bootstrap": False, "max_samples": 150}, "leave none out: use tuning='cv', or draw fewer rows"),
        ({"unit": "inch"}, "unit='inch' is not known"),
    ],
)
def test_what_cannot_be_done_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidParameter, match=message):
        tm.SmearedBaggingClassifier(**FEW, **options).fit(X, Y)


def test_folds_can_judge_members_that_leave_no_row_out() -> None:
    options: dict[str, Any] = {"bootstrap": False, "tuning": "cv", "amounts": [0.0, 0.1], "cv": 2}
    assert tm.SmearedBaggingClassifier(**FEW, **options).fit(X, Y).noise_ in (0.0, 0.1)


def test_the_distribution_chosen_by_data_is_that_of_the_least_loss() -> None:
    options: dict[str, Any] = {"n_estimators": 8, "search": "grid", "amounts": [0.0, 0.2, 0.4], "random_state": 0}
    skewed = np.exp(X)
    alone = {
        name: tm.SmearedBaggingClassifier(distribution=name, **options).fit(skewed, Y)
        for name in ("gaussian", "uniform", "poisson", "log")
    }
    chosen = tm.SmearedBaggingClassifier(distribution="auto", **options).fit(skewed, Y)
    losses = {name: model.noise_curve_.losses.min() for name, model in alone.items()}
    assert chosen.distribution_ == min(losses, key=lambda name: losses[name])
    same = alone[chosen.distribution_]
    assert chosen.members_ == same.members_
    assert chosen.noise_ == same.noise_
    assert chosen.noise_curve_.n_trained == sum(model.noise_curve_.n_trained for model in alone.values())
    np.testing.assert_array_equal(chosen.count_inbag(skewed, Y), same.count_inbag(skewed, Y))


def test_a_distribution_is_chosen_only_with_the_amount() -> None:
    with pytest.raises(InvalidParameter, match="chosen together"):
        tm.SmearedBaggingClassifier(noise=0.1, distribution="auto").fit(X, Y)
