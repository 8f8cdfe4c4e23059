"""Ensembles for several targets: predictions, out-of-bag scores, files, and clear refusals of all that takes one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.metrics import accuracy_score, mean_absolute_error, r2_score
from sklearn.multioutput import MultiOutputClassifier
from sklearn.tree import DecisionTreeRegressor
from typer.testing import CliRunner

import tremula as tm
from tremula.cli.main import app
from tremula.errors import InvalidInput, InvalidParameter, InvalidTarget, UnsupportedModel

RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(120, 4))
NUMBERS = np.column_stack([X[:, 0] + RANDOM.normal(size=120), 40 * X[:, 1] ** 2, RANDOM.normal(size=120)])
CLASSES = np.column_stack([np.digitize(NUMBERS[:, 0], [-0.7, 0.7]), NUMBERS[:, 1] > 20]).astype(int)

REGRESSORS = [
    tm.RandomForestRegressor(8, oob_score=True, random_state=0),
    tm.ExtraTreesRegressor(8, bootstrap=True, oob_score=True, random_state=0),
    tm.BaggingRegressor(tm.CARTRegressor(), 8, oob_score=True, random_state=0),
]
CLASSIFIERS = [
    tm.RandomForestClassifier(8, oob_score=True, random_state=0),
    tm.ExtraTreesClassifier(8, criterion="entropy", bootstrap=True, oob_score=True, random_state=0),
    tm.BaggingClassifier(tm.CARTClassifier(), 8, oob_score=True, random_state=0),
]


def target_of(model: Any) -> np.ndarray:
    return CLASSES if hasattr(model, "predict_proba") else NUMBERS


@pytest.fixture(scope="module")
def forests() -> dict[str, Any]:
    return {"classes": clone(CLASSIFIERS[0]).fit(X, CLASSES), "numbers": clone(REGRESSORS[0]).fit(X, NUMBERS)}


# ---- predictions


@pytest.mark.parametrize("model", [*CLASSIFIERS, *REGRESSORS], ids=lambda model: type(model).__name__)
def test_predictions_are_the_means_of_the_members(model: Any, tmp_path: Path) -> None:
    y = target_of(model)
    model = clone(model).fit(X, y)
    assert model.n_outputs_ == y.shape[1]
    means = np.mean([member.predict_values(X) for member in model.members_], axis=0)
    stages = list(model.staged_predict(X))
    assert len(stages) == 8
    assert (stages[-1] == model.predict(X)).all()
    assert model.predict_members(X).shape == (8, *y.shape)
    if hasattr(model, "predict_proba"):
        np.testing.assert_allclose(np.hstack(model.predict_proba(X)), means)
        np.testing.assert_allclose(np.hstack(list(model.staged_predict_proba(X))[-1]), means)
        assert all(each.sum(axis=1) == pytest.approx(1.0) for each in model.predict_proba(X))
        chosen = [labels[p.argmax(axis=1)] for labels, p in zip(model.classes_, model.predict_proba(X), strict=True)]
        np.testing.assert_array_equal(model.predict(X), np.column_stack(chosen))
    else:
        np.testing.assert_allclose(model.predict(X), means)
        assert model.score(X, y) == pytest.approx(r2_score(y, means))
    assert model.feature_importances_.sum() == pytest.approx(1.0)
    tm.save(model, tmp_path / "model.tremula")
    stored = tm.load(tmp_path / "model.tremula")
    assert stored.members_ == model.members_
    assert stored.n_outputs_ == model.n_outputs_
    np.testing.assert_array_equal(stored.predict(X), model.predict(X))
    np.testing.assert_array_equal(stored.count_inbag(X, y), model.inbag_counts_)


def test_members_are_scikit_learn_s_trees() -> None:
    forest = tm.RandomForestRegressor(4, max_features=None, random_state=0).fit(X, NUMBERS)
    for member, counts in zip(forest.members_, forest.count_inbag(X, NUMBERS), strict=True):
        foreign = DecisionTreeRegressor(random_state=0).fit(X, NUMBERS, sample_weight=counts)
        np.testing.assert_allclose(member.predict_values(X)[counts > 0], foreign.predict(X[counts > 0]))


def test_any_number_of_jobs_and_a_warm_start_give_the_same_members() -> None:
    forest = tm.RandomForestClassifier(6, random_state=0).fit(X, CLASSES)
    again = tm.RandomForestClassifier(6, random_state=0, n_jobs=2).fit(X, CLASSES)
    grown = tm.RandomForestClassifier(3, warm_start=True, random_state=0).fit(X, CLASSES)
    grown.set_params(n_estimators=6).fit(X, CLASSES)
    assert forest.members_ == again.members_ == grown.members_
    with pytest.raises(ValueError, match="that warm_start=True keeps know"):
        grown.fit(X, CLASSES[:, ::-1])


def test_nominal_and_missing_values() -> None:
    """Levels that numbers stand for are sets of levels in the finished tree, and nodes are filled with their rows."""
    random = np.random.default_rng(1)
    table = pd.DataFrame({"a": X[:, 0], "level": pd.Categorical(random.choice(list("abcdefghij"), 120))})
    effect = table["level"].cat.codes.to_numpy() % 3
    table = table.mask(random.random(table.shape) < 0.1)
    y = np.column_stack([effect + NUMBERS[:, 0], -effect])
    for nominal in ("auto", "statistics", "codes", "subsets"):
        for missing in ("branch", "shares"):
            forest = tm.RandomForestRegressor(5, nominal=nominal, missing=missing, min_samples_leaf=3, random_state=0)
            forest.fit(table, y)
            assert r2_score(y[:, 1], forest.predict(table)[:, 1]) > 0.5
            rows = forest._read_table(table)
            for member, counts in zip(forest.members_, forest.count_inbag(table, y), strict=True):
                expected = [member.moments(rows, column, counts)[0] for column in y.T]
                values = member.node_values()[0]
                # Cross-fitted numbers move rows to other nodes; those divided there follow the weights before the move.
                is_exact = nominal in ("codes", "subsets")
                means = [moment[1] / moment[0] for moment in expected]
                np.testing.assert_allclose(values, means, rtol=1e-7 if is_exact else 0.01)


def test_weights_of_classes_by_member() -> None:
    y = np.column_stack([CLASSES[:, 0] > 0, NUMBERS[:, 1] > 100]).astype(int)
    forest = tm.RandomForestClassifier(20, min_samples_leaf=8, random_state=0)
    weighed = clone(forest).set_params(class_weight="balanced_subsample").fit(X, y)
    assert weighed.predict(X)[:, 1].sum() > forest.fit(X, y).predict(X)[:, 1].sum()


# ---- out-of-bag rows


@pytest.mark.parametrize("model", REGRESSORS, ids=lambda model: type(model).__name__)
def test_out_of_bag_numbers(model: Any) -> None:
    model = clone(model).fit(X, NUMBERS)
    is_out = model.inbag_counts_ == 0
    rows = np.flatnonzero(is_out.any(axis=0))
    members = np.array([member.predict_values(X) for member in model.members_])
    means = np.array([members[is_out[:, row], row].mean(axis=0) for row in rows])
    np.testing.assert_allclose(model.oob_prediction_[rows], means)
    assert np.isnan(np.delete(model.oob_prediction_, rows, axis=0)).all()
    assert model.oob_score_ == pytest.approx(r2_score(NUMBERS[rows], means))
    other = clone(model).set_params(oob_score="neg_mean_absolute_error").fit(X, NUMBERS)
    assert other.oob_score_ == pytest.approx(-mean_absolute_error(NUMBERS[rows], means))


@pytest.mark.parametrize("model", CLASSIFIERS, ids=lambda model: type(model).__name__)
def test_out_of_bag_classes(model: Any) -> None:
    """The score is the share of rows all of whose classes are right, as scikit-learn's of several labels."""
    model = clone(model).fit(X, CLASSES)
    assert model.oob_decision_function_.shape == (120, 3, 2)
    is_out = model.inbag_counts_ == 0
    rows = np.flatnonzero(is_out.any(axis=0))
    members = np.array([member.predict_values(X) for member in model.members_])
    means = np.array([members[is_out[:, row], row].mean(axis=0) for row in rows])
    np.testing.assert_allclose(model.oob_decision_function_[rows][:, :, 0], means[:, :3])
    np.testing.assert_allclose(model.oob_decision_function_[rows][:, :2, 1], means[:, 3:])
    assert (model.oob_decision_function_[rows][:, 2, 1] == 0).all()
    predicted = np.column_stack([means[:, :3].argmax(axis=1), means[:, 3:].argmax(axis=1)])
    assert model.oob_score_ == pytest.approx((predicted == CLASSES[rows]).all(axis=1).mean())
    two = CLASSES > 0
    scored = clone(model).set_params(oob_score=accuracy_score).fit(X, two)
    assert scored.oob_score_ == pytest.approx(clone(model).fit(X, two).oob_score_)


def test_as_many_members_as_needed() -> None:
    forest = tm.RandomForestRegressor("auto", max_estimators=140, max_depth=2, random_state=0).fit(X, NUMBERS)
    assert 100 < len(forest) <= 140


# ---- refusals


def test_the_way_out_that_refusals_name() -> None:
    by_target = MultiOutputClassifier(tm.C45Classifier()).fit(X, CLASSES)
    np.testing.assert_array_equal(by_target.predict(X)[:, 1], tm.C45Classifier().fit(X, CLASSES[:, 1]).predict(X))


OTHERS = [
    tm.AdaBoostM1Classifier(),
    tm.AspenClassifier(),
    tm.AspenRegressor(),
    tm.BaggingClassifier(),
    tm.BaggingRegressor(),
    tm.BaggingRegressor(DecisionTreeRegressor()),
    tm.C45Classifier(),
    tm.DaggingClassifier(tm.CARTClassifier()),
    tm.DecorateClassifier(),
    tm.DualPerturbClassifier(tm.C45Classifier()),
    tm.DualPerturbRegressor(tm.REPTreeRegressor()),
    tm.ID3Classifier(),
    tm.M5Regressor(),
    tm.OutputSmearingClassifier(),
    tm.OutputSmearingRegressor(tm.CARTRegressor()),
    tm.PerturbCombineClassifier(tm.CARTClassifier()),
    tm.PerturbCombineRegressor(),
    tm.REPTreeClassifier(),
    tm.REPTreeRegressor(),
    tm.RandomSubspaceClassifier(tm.CARTClassifier()),
    tm.RandomizedC45Classifier(),
    tm.SimulatedBaggingClassifier(),
    tm.SimulatedBaggingRegressor(),
    tm.SmearedBaggingClassifier(tm.CARTClassifier()),
    tm.SmearedBaggingRegressor(),
    tm.ThreeBoostClassifier(),
]


@pytest.mark.parametrize("model", OTHERS, ids=str)
def test_other_estimators_say_who_takes_several_targets(model: Any) -> None:
    message = r"shape \(120, [23]\), that is .*MultiOutputClassifier|smoothing takes one target: train a model for each"
    for y in (target_of(model), target_of(model).tolist(), pd.DataFrame(target_of(model))):
        with pytest.raises(InvalidInput, match=message):
            clone(model).fit(X, y)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (tm.RandomForestClassifier(2, combine="vote"), "combine='average'"),
        (tm.RandomForestClassifier(2, bootstrap="balanced"), "use bootstrap=True"),
        (tm.RandomForestClassifier(2, class_weight={0: 2.0}), "a list with a dict for"),
        (tm.RandomForestRegressor(2, max_bins=8), "max_bins=None"),
        (tm.ExtraTreesRegressor(2, criterion="absolute_error"), "criterion='squared_error'"),
    ],
    ids=str,
)
def test_options_of_one_target_are_refused(model: Any, message: str) -> None:
    with pytest.raises(InvalidParameter, match=message):
        model.fit(X, target_of(model))


USES: dict[str, Callable[[Any, np.ndarray], Any]] = {
    "as_tree_sum": lambda model, y: model.as_tree_sum(),
    "as_member_sum": lambda model, y: model.as_member_sum(),
    "certify": lambda model, y: tm.certify(model, X[:2]),
    "explain": lambda model, y: tm.explain(model, X[:2]),
    "permutation_importances": lambda model, y: model.permutation_importances(X, y),
    "proximity": lambda model, y: tm.proximity(model, X),
    "proximity out of bag": lambda model, y: tm.proximity(model, X, kind="oob", y=y),
    "prune_each": lambda model, y: tm.prune_each(model, X, y),
    "prune_together": lambda model, y: tm.prune_together(model, X, y),
    "row_weights": lambda model, y: tm.row_weights(model, X, X_train=X, y_train=y),
    "to_html": lambda model, y: tm.to_html(model),
    "to_onnx": lambda model, y: tm.to_onnx(model),
    "to_sklearn": lambda model, y: tm.to_sklearn(model),
    "to_sql": lambda model, y: tm.to_sql(model),
    "to_treelite": lambda model, y: tm.to_treelite(model),
    "unbiased_importances": lambda model, y: model.unbiased_importances(X, y),
    "uncertainty": lambda model, y: tm.Uncertainty(model, X, y),
}


@pytest.mark.parametrize("kind", ["classes", "numbers"])
@pytest.mark.parametrize("use", USES)
def test_uses_of_one_target_say_what_to_do(use: str, kind: str, forests: dict[str, Any]) -> None:
    model = forests[kind]
    with pytest.raises(UnsupportedModel, match=r"was fitted to [23] targets, but .* MultiOutput"):
        USES[use](model, target_of(model))


@pytest.mark.parametrize("method", ["auto", "exact", "sample"])
def test_smoothing_refuses_several_targets(method: str, forests: dict[str, Any]) -> None:
    smoothers = {"classes": tm.DualPerturbClassifier, "numbers": tm.DualPerturbRegressor}
    for kind, smoother in smoothers.items():
        with pytest.raises(UnsupportedModel, match=r"was (fitted to [23]|trained on several) targets"):
            smoother(forests[kind], noise=0.1, method=method, prefit=True).fit(X)
        with pytest.raises(InvalidInput, match=r"y has [23] columns, and smoothing takes one target"):
            smoother(forests[kind], prefit=True).fit(X, target_of(forests[kind]))


def test_single_trees_refuse_the_same() -> None:
    tree = tm.CARTClassifier(max_depth=2).fit(X, CLASSES)
    for method in ("export_text", "export_dot", "export_sql", "plot", "as_tree_sum", "as_member_sum"):
        with pytest.raises(UnsupportedModel, match="was fitted to 2 targets"):
            getattr(tree, method)()


def test_diagnostics_refuse_several_targets(forests: dict[str, Any]) -> None:
    with pytest.raises(UnsupportedModel, match="but kappa"):
        tm.diagnostics.kappa_error(forests["classes"], X, CLASSES[:, 0])
    with pytest.raises(UnsupportedModel, match="but a decision boundary"):
        tm.diagnostics.BoundaryDisplay.from_estimator(forests["classes"], X, features=(0, 1))
    with pytest.raises(InvalidTarget, match="MultiOutput"):
        tm.diagnostics.compare({"forest": clone(forests["classes"])}, X, CLASSES)


@pytest.mark.parametrize("command", ["predict", "export", "smooth"])
def test_the_command_line_refuses_several_targets(command: str, forests: dict[str, Any], tmp_path: Path) -> None:
    model, table = tmp_path / "model.tremula", tmp_path / "rows.csv"
    tm.save(forests["classes"], model)
    pd.DataFrame(X, columns=[f"x{number}" for number in range(4)]).to_csv(table, index=False)
    options = {"predict": [str(table)], "export": ["--to", "sql"], "smooth": ["--data", str(table)]}
    result = CliRunner().invoke(app, [command, str(model), *options[command]])
    assert result.exit_code != 0
    assert "was fitted to 2 targets" in " ".join((result.output + str(result.exception)).split())
