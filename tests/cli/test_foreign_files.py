"""Damaged model files of other libraries: an error, never a crash or a hang."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from tremula.cli.model_files import load_model
from tremula.errors import FileDamaged

xgboost = pytest.importorskip("xgboost")
lightgbm = pytest.importorskip("lightgbm")

ROWS = np.random.default_rng(0).normal(size=(80, 3))
TARGET = ROWS[:, 0] + ROWS[:, 1]


@pytest.fixture(scope="module")
def xgboost_json(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    path = tmp_path_factory.mktemp("models") / "model.json"
    xgboost.XGBRegressor(n_estimators=2, max_depth=2).fit(ROWS, TARGET).save_model(path)
    content: dict[str, Any] = json.loads(path.read_text())
    return content


def first_tree(content: dict[str, Any]) -> dict[str, Any]:
    tree: dict[str, Any] = content["learner"]["gradient_booster"]["model"]["trees"][0]
    return tree


def make_cycle(tree: dict[str, Any]) -> None:
    tree["left_children"][1], tree["right_children"][1] = 0, 2


def cut_array(tree: dict[str, Any]) -> None:
    tree["split_conditions"].pop()


def test_unknown_attribute(xgboost_json: dict[str, Any], tmp_path: Path) -> None:
    content = json.loads(json.dumps(xgboost_json))
    first_tree(content)["split_indices"][0] = 10**6
    damaged(content, tmp_path, "tests an attribute outside")


@pytest.mark.parametrize(("change", "message"), [(make_cycle, "several parents"), (cut_array, "different lengths")])
def test_nodes_that_are_no_tree(xgboost_json: dict[str, Any], tmp_path: Path, change: Any, message: str) -> None:
    content = json.loads(json.dumps(xgboost_json))
    change(first_tree(content))
    damaged(content, tmp_path, message)


def leaf_with_a_child(model: dict[str, Any]) -> None:
    leaves = model["trees"][0]["left_children"]
    leaves[leaves.index(-1)] = -4


def wrong_rounds(model: dict[str, Any]) -> None:
    model["iteration_indptr"][0] = -1


def wrong_categories(model: dict[str, Any]) -> None:
    model["cats"]["sorted_idx"][0] = 8


@pytest.fixture(scope="module")
def nominal_json(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    path = tmp_path_factory.mktemp("models") / "nominal.json"
    frame = pd.DataFrame(ROWS).assign(kind=pd.Categorical(np.where(ROWS[:, 2] > 0, "b", "a")))
    frame.columns = frame.columns.astype(str)
    xgboost.XGBRegressor(n_estimators=2, max_depth=2, enable_categorical=True).fit(frame, TARGET).save_model(path)
    content: dict[str, Any] = json.loads(path.read_text())
    return content


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (leaf_with_a_child, "children other than -1"),
        (wrong_rounds, "rounds have other trees"),
        (wrong_categories, "categories do not fit together"),
    ],
)
def test_parts_that_do_not_fit_together(
    nominal_json: dict[str, Any], tmp_path: Path, change: Any, message: str
) -> None:
    content = json.loads(json.dumps(nominal_json))
    change(content["learner"]["gradient_booster"]["model"])
    damaged(content, tmp_path, message)


def test_no_booster_at_all(xgboost_json: dict[str, Any], tmp_path: Path) -> None:
    content = json.loads(json.dumps(xgboost_json))
    content["learner"]["gradient_booster"] = None
    damaged(content, tmp_path, "is not a sound XGBoost model")


def damaged(content: dict[str, Any], folder: Path, message: str) -> None:
    path = folder / "damaged.json"
    path.write_text(json.dumps(content))
    with pytest.raises(FileDamaged, match=message):
        load_model(path)


def test_a_part_of_a_file(xgboost_json: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "part.json"
    path.write_text(json.dumps(xgboost_json)[:500])
    with pytest.raises(FileDamaged):
        load_model(path)


def test_a_sound_file_with_categories_is_read(nominal_json: dict[str, Any], tmp_path: Path) -> None:
    (tmp_path / "model.json").write_text(json.dumps(nominal_json))
    assert load_model(tmp_path / "model.json").get_booster().num_boosted_rounds() == 2


@pytest.mark.slow
def test_sound_files_are_read(xgboost_json: dict[str, Any], tmp_path: Path) -> None:
    (tmp_path / "model.json").write_text(json.dumps(xgboost_json))
    model = load_model(tmp_path / "model.json")
    expected = model.predict(ROWS)
    model.save_model(tmp_path / "model.ubj")
    np.testing.assert_array_equal(load_model(tmp_path / "model.ubj").predict(ROWS), expected)


@pytest.mark.parametrize(
    ("pattern", "replacement"),
    [
        (r"left_child=(\S+)", "left_child=0"),
        (r"right_child=(\S+)", "right_child=999999"),
        (r"split_feature=(\d+)", "split_feature=77777"),
        (r"num_leaves=\d+", "num_leaves=100000"),
        (r"leaf_value=\S+", "leaf_value="),
        (r"tree_sizes=\d+", "tree_sizes=7"),
        (r"shrinkage=1\n", "shrinkage=1\nshrinkage=1\n"),
        (r"\nend of trees", "\nshrinkage=1\n\nend of trees"),
        (r"max_feature_idx=\d+", "max_feature_idx=-5"),
        (r"\[objective: ", "right_child=2 3 -4 -5 -6\n[objective: "),
        (r"\nend of parameters", ""),
    ],
)
def test_a_damaged_lightgbm_model(tmp_path: Path, pattern: str, replacement: str) -> None:
    model = lightgbm.LGBMRegressor(n_estimators=2, num_leaves=4, verbose=-1).fit(ROWS, TARGET)
    path = tmp_path / "model.txt"
    model.booster_.save_model(path)
    text = path.read_text()
    path.write_text(re.sub(pattern, replacement, text, count=1))
    assert path.read_text() != text
    with pytest.raises(FileDamaged):
        load_model(path)


@pytest.mark.slow
def test_a_sound_lightgbm_model(tmp_path: Path) -> None:
    model = lightgbm.LGBMRegressor(n_estimators=2, num_leaves=4, verbose=-1).fit(ROWS, TARGET)
    model.booster_.save_model(tmp_path / "model.txt")
    np.testing.assert_allclose(load_model(tmp_path / "model.txt").predict(ROWS), model.predict(ROWS))
