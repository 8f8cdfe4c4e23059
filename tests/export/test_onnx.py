"""Graphs of ONNX, run by onnxruntime: the model's own answers, or NaN."""

from __future__ import annotations

import builtins
from typing import Any

import numpy as np
import onnxruntime
import pandas as pd
import pytest
from sklearn.datasets import load_iris

import tremula as tm
from tremula.errors import InvalidInput, InvalidParameter, MissingLibrary, UnsupportedModel
from tremula.export import expansion
from tremula.export.conversion import binary_tree
from tremula.export.onnx.graph import TREE_DOMAIN, OnnxGraph
from tremula.export.onnx.trees import PlacedTree, sum_trees
from tremula.export.thresholds import ThresholdRounding

from .tables import N_LEVELS, NAMES, answers_of, mixed_table, numeric_forest, random_rows, random_tree, trained

NO_LABEL = "missing value"
EXACT, SINGLE = {"rtol": 1e-12, "atol": 1e-12}, {"rtol": 1e-4, "atol": 2e-5}


def session_of(graph: Any) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(graph.SerializeToString(), options, providers=["CPUExecutionProvider"])


def run(graph: Any, table: Any, dtype: str = "float64") -> dict[str, np.ndarray]:
    """Outputs by name; a frame with words is given column by column."""
    session = session_of(graph)
    inputs = session.get_inputs()
    if [each.name for each in inputs] == ["X"]:
        given = {"X": np.asarray(table, dtype=dtype)}
    else:
        given = {
            each.name: _texts(table[each.name])
            if each.type == "tensor(string)"
            else table[each.name].to_numpy(dtype=dtype)[:, None]
            for each in inputs
        }
    return dict(zip([each.name for each in session.get_outputs()], session.run(None, given)))


def _texts(column: pd.Series) -> np.ndarray:
    return np.array([["" if value is None or value != value else str(value)] for value in column], dtype=object)


def answers(outputs: dict[str, np.ndarray]) -> np.ndarray:
    return outputs["probabilities"] if "probabilities" in outputs else outputs["prediction"][:, None]


@pytest.mark.parametrize("missing", [pytest.param(0.0, marks=pytest.mark.slow), 0.1])
@pytest.mark.parametrize(("kind", "name"), NAMES)
def test_answers_are_the_models_own_or_nan(kind: str, name: str, missing: float) -> None:
    model, table = trained(kind, name, missing), mixed_table(120, 1, 0.15)[0]
    outputs = run(tm.to_onnx(model), table)
    got, own = answers(outputs), answers_of(model, table)
    refused = np.isnan(got).any(axis=1)
    np.testing.assert_allclose(got[~refused], own[~refused], **EXACT)
    assert not refused[table.notna().all(axis=1)].any()
    assert (~refused).sum() > 30
    if kind == "class":
        np.testing.assert_array_equal(outputs["label"][~refused], model.predict(table)[~refused])
        assert set(outputs["label"][refused]) <= {NO_LABEL}


@pytest.mark.parametrize(("kind", "name"), NAMES)
def test_shares_answer_every_row(kind: str, name: str) -> None:
    model, table = trained(kind, name), mixed_table(120, 1, 0.15)[0]
    if model.as_member_sum().votes:
        with pytest.raises(UnsupportedModel, match=r"members of .* vote"):
            tm.to_onnx(model, missing="shares")
        return
    got = answers(run(tm.to_onnx(model, missing="shares"), table))
    refused = np.isnan(got).any(axis=1)
    assert not refused.any() or name == "bagged M5"  # its members fill in values of their own
    np.testing.assert_allclose(got[~refused], answers_of(model, table)[~refused], **EXACT)


@pytest.mark.parametrize("name", ["C4.5", "CART", "forest", "Aspen", "AdaBoost"])
def test_numbers_of_single_precision_take_the_same_branches(name: str) -> None:
    model, table = trained("class", name), mixed_table(300, 1)[0]
    table["a"] = table["a"].astype("float32")
    table["b c"] = table["b c"].astype("float32")
    outputs = run(tm.to_onnx(model, dtype="float32"), table, "float32")
    assert outputs["probabilities"].dtype == np.float32
    np.testing.assert_allclose(outputs["probabilities"], model.predict_proba(table), **SINGLE)
    np.testing.assert_array_equal(outputs["label"], model.predict(table))


def test_training_rows_keep_their_sides_in_single_precision() -> None:
    X, y = load_iris(return_X_y=True)  # tenths, which are rounded; thresholds of C4.5 are such values
    model = tm.C45Classifier().fit(X, y)
    plain, placed = (run(tm.to_onnx(model, rows, dtype="float32"), X, "float32") for rows in (None, X))
    assert (plain["label"] != model.predict(X)).any()
    np.testing.assert_array_equal(placed["label"], model.predict(X))


def test_rows_that_cannot_keep_their_sides_are_refused() -> None:
    X = np.array([[1.0], [1.0 + 1e-12], [1.0], [1.0 + 1e-12]])
    model = tm.CARTClassifier().fit(X, [0, 1, 0, 1])
    with pytest.raises(InvalidInput, match="the same number in single precision: use dtype='float64'"):
        tm.to_onnx(model, X, dtype="float32")
    assert run(tm.to_onnx(model), X)["label"].tolist() == [0, 1, 0, 1]


@pytest.mark.slow
def test_a_hundred_thousand_rows() -> None:
    forest, rows = numeric_forest()
    outputs = run(tm.to_onnx(forest), rows)
    np.testing.assert_allclose(outputs["probabilities"], forest.predict_proba(rows), **EXACT)
    np.testing.assert_array_equal(outputs["label"], forest.predict(rows))


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "name"), [name for name in NAMES if name[1] not in ("three boost", "Decorate")])
def test_a_hundred_thousand_mixed_rows(kind: str, name: str) -> None:
    model, table = trained(kind, name), mixed_table(100_000, 1)[0]
    np.testing.assert_allclose(answers(run(tm.to_onnx(model), table)), answers_of(model, table), **EXACT)


@pytest.mark.parametrize(
    ("labels", "no_label"),
    [
        ([3, 5], np.iinfo(np.int64).min),
        ([False, True], np.iinfo(np.int64).min),
        ([1.0, 2.0], np.nan),
        (["a", NO_LABEL], f"{NO_LABEL}?"),
    ],
)
def test_labels_of_any_type(labels: list[Any], no_label: Any) -> None:
    X, codes = np.arange(20.0)[:, None], np.arange(20) // 10
    model = tm.CARTClassifier().fit(X, np.array(labels)[codes])
    outputs = run(tm.to_onnx(model), np.append(X, [[np.nan]], axis=0))
    np.testing.assert_array_equal(outputs["label"][:-1], model.predict(X))
    np.testing.assert_array_equal(outputs["label"][-1], no_label)
    assert np.isnan(outputs["probabilities"][-1]).all()


def test_nominal_numbers_stay_in_one_matrix() -> None:
    random = np.random.default_rng(0)
    X = np.column_stack([random.choice([2.0, 7.5, 11.0], 200), random.normal(size=200)])
    y = (X[:, 0] == 7.5) ^ (X[:, 1] > 0)
    model = tm.CARTClassifier(categorical_features=[0]).fit(X, y)
    rows = np.append(X, [[99.0, 0.0]], axis=0)
    outputs = run(tm.to_onnx(model), rows)
    np.testing.assert_allclose(outputs["probabilities"][:-1], model.predict_proba(X), **EXACT)
    assert np.isnan(outputs["probabilities"][-1]).all()
    shares = run(tm.to_onnx(model, missing="shares"), rows)["probabilities"]
    np.testing.assert_allclose(shares, model.predict_proba(rows), **EXACT)


def test_a_model_without_splits() -> None:
    model = tm.CARTClassifier().fit(np.zeros((4, 1)), ["a", "b", "b", "b"])
    np.testing.assert_allclose(run(tm.to_onnx(model), np.ones((3, 1)))["probabilities"], [[0.25, 0.75]] * 3)


def test_many_unseen_levels_are_followed_row_by_row(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(expansion, "SMALLEST_LIMIT", 24)
    monkeypatch.setattr(expansion, "LARGEST_GROWTH", 0)
    model, table = trained("class", "forest"), mixed_table(120, 1)[0]
    graph = tm.to_onnx(model)
    assert any(node.op_type == "If" for node in graph.graph.node)
    np.testing.assert_allclose(run(graph, table)["probabilities"], model.predict_proba(table), **EXACT)


@pytest.mark.parametrize("seed", range(25))
def test_random_trees_of_levels(seed: int) -> None:
    """onnxruntime merges tests of levels that it should not; the graph must not give it the occasion."""
    random = np.random.default_rng(seed)
    tree, rows = random_tree(random), random_rows(random)
    binary = binary_tree(tree, N_LEVELS, np.full(4, np.nan), np.ones(4, bool))
    if not binary.n_splits:
        return
    graph = OnnxGraph("float64", ("X",))
    rounding = ThresholdRounding.of("float64", None, ())
    name = sum_trees(graph, "X", [PlacedTree(binary, 1.0, 0)], 3, N_LEVELS, rounding)
    helper, double = graph.onnx.helper, graph.number_type
    ends = [helper.make_tensor_value_info(each, double, ["rows", size]) for each, size in (("X", 4), (name, 3))]
    model = helper.make_model(
        helper.make_graph(graph.nodes, "trees", ends[:1], ends[1:]),
        opset_imports=[helper.make_opsetid("", 21), helper.make_opsetid(TREE_DOMAIN, 5)],
        ir_version=10,
    )
    got = session_of(model).run(None, {"X": rows})[0]
    np.testing.assert_allclose(got, tree.predict_values(rows), atol=1e-12)


def test_models_of_other_libraries() -> None:
    from sklearn.ensemble import GradientBoostingClassifier, RandomForestRegressor

    X, y = load_iris(return_X_y=True)
    boosted = GradientBoostingClassifier(n_estimators=5).fit(X, y)
    np.testing.assert_allclose(run(tm.to_onnx(boosted), X)["probabilities"], boosted.predict_proba(X), **EXACT)
    forest = RandomForestRegressor(5, random_state=0).fit(X, y)
    rows = X.astype(np.float32)
    np.testing.assert_allclose(run(tm.to_onnx(forest), rows)["prediction"], forest.predict(rows), **EXACT)


def test_a_smoothed_model_is_refused_unless_it_adds_no_noise() -> None:
    X, y = load_iris(return_X_y=True)
    forest = tm.RandomForestClassifier(n_estimators=3, random_state=0).fit(X, y)
    with pytest.raises(UnsupportedModel, match="averages over noise"):
        tm.to_onnx(tm.DualPerturbClassifier(forest, noise=0.1).fit(X))
    plain = tm.DualPerturbClassifier(forest, noise=0.0).fit(X)
    np.testing.assert_allclose(run(tm.to_onnx(plain), X)["probabilities"], plain.predict_proba(X), **EXACT)


def test_graphs_with_sets_are_refused_by_releases_that_confuse_them() -> None:
    forest = numeric_forest()[0]
    assert (tm.to_onnx(forest).ir_version, tm.to_onnx(trained("class", "forest")).ir_version) == (10, 12)


def test_parameters_are_checked() -> None:
    model = trained("class", "C4.5")
    with pytest.raises(InvalidParameter, match="dtype"):
        tm.to_onnx(model, dtype="float16")
    with pytest.raises(InvalidParameter, match="missing"):
        tm.to_onnx(model, missing="null")


def test_a_missing_library_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def without_onnx(name: str, *rest: Any) -> Any:
        if name == "onnx":
            raise ImportError(name)
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without_onnx)
    with pytest.raises(MissingLibrary, match=r'pip install "tremula\[onnx\]"'):
        tm.to_onnx(trained("class", "C4.5"))
