"""ID3 on the table of Quinlan's paper of 1986, and what it does with what ID3 had no rule for."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from tremula import ID3Classifier
from tremula.errors import UnsupportedType

SATURDAYS = pd.DataFrame(
    [
        ("sunny", "hot", "high", "false", "N"),
        ("sunny", "hot", "high", "true", "N"),
        ("overcast", "hot", "high", "false", "P"),
        ("rain", "mild", "high", "false", "P"),
        ("rain", "cool", "normal", "false", "P"),
        ("rain", "cool", "normal", "true", "N"),
        ("overcast", "cool", "normal", "true", "P"),
        ("sunny", "mild", "high", "false", "N"),
        ("sunny", "cool", "normal", "false", "P"),
        ("rain", "mild", "normal", "false", "P"),
        ("sunny", "mild", "normal", "true", "P"),
        ("overcast", "mild", "high", "true", "P"),
        ("overcast", "hot", "normal", "false", "P"),
        ("rain", "mild", "high", "true", "N"),
    ],
    columns=["outlook", "temperature", "humidity", "windy", "class"],
)
ATTRIBUTES, CLASSES = SATURDAYS.drop(columns="class"), SATURDAYS["class"]


def test_the_tree_of_the_paper() -> None:
    fitted = ID3Classifier().fit(ATTRIBUTES, CLASSES)
    assert fitted.export_text(show_weights=False).splitlines() == [
        "outlook = overcast: P",
        "outlook = rain",
        "|   windy = false: P",
        "|   windy = true: N",
        "outlook = sunny",
        "|   humidity = high: N",
        "|   humidity = normal: P",
    ]
    assert fitted.score(ATTRIBUTES, CLASSES) == 1.0


@pytest.mark.parametrize(
    ("columns", "chosen"),
    [
        (["outlook", "temperature", "humidity", "windy"], "outlook"),  # .246 bits
        (["temperature", "humidity", "windy"], "humidity"),  # .151
        (["temperature", "windy"], "windy"),  # .048
        (["temperature"], "temperature"),  # .029
    ],
)
def test_gains_are_ordered_as_in_the_paper(columns: list[str], chosen: str) -> None:
    tree = ID3Classifier(max_depth=1).fit(ATTRIBUTES[columns], CLASSES).tree_
    assert columns[tree.attribute[0]] == chosen


def test_an_attribute_is_tested_once_on_a_path() -> None:
    random = np.random.default_rng(0)
    X = random.integers(3, size=(300, 4))
    tree = ID3Classifier(categorical_features="all").fit(X, random.integers(2, size=300)).tree_
    assert tree.depth == 4


# ---- columns


def test_numbers_are_refused_with_a_hint() -> None:
    X = ATTRIBUTES.assign(temperature=np.arange(14.0))
    with pytest.raises(
        UnsupportedType, match=r"column 'temperature' is numeric, but ID3 splits nominal .* discretise it"
    ):
        ID3Classifier().fit(X, CLASSES)
    with pytest.raises(UnsupportedType, match=r"column 1 is numeric.*categorical_features.*C45Classifier"):
        ID3Classifier(categorical_features=[0]).fit(np.zeros((14, 2)) + np.arange(14)[:, None], CLASSES)


@pytest.mark.parametrize("choice", ["all", [0, 1], [True, True]], ids=str)
def test_codes_in_an_array_can_be_declared_nominal(choice: object) -> None:
    X = np.array([[0, 3], [0, 7], [1, 3], [1, 7]] * 3)
    y = [0, 1, 1, 0] * 3
    fitted = ID3Classifier(categorical_features=choice).fit(X, y)
    # Neither attribute alone gains anything, which is where ID3 stops.
    assert fitted.get_n_leaves() == 1
    fitted = ID3Classifier(categorical_features=choice).fit(X, [0, 1, 1, 1] * 3)
    assert fitted.predict(X).tolist() == [0, 1, 1, 1] * 3


def test_an_empty_column_is_no_obstacle() -> None:
    X = ATTRIBUTES.assign(notes=pd.Series([None] * 14, dtype=object))
    assert ID3Classifier().fit(X, CLASSES).score(X, CLASSES) == 1.0


# ---- no rule in ID3


def test_a_branch_of_no_rows_answers_as_its_parent() -> None:
    levels = pd.CategoricalDtype(["calm", "breezy", "stormy"])
    X = pd.DataFrame({"wind": pd.Series(["calm", "calm", "breezy", "breezy", "breezy"], dtype=levels)})
    fitted = ID3Classifier().fit(X, ["P", "P", "N", "N", "N"])
    asked = pd.DataFrame({"wind": pd.Series(["stormy"], dtype=levels)})
    assert fitted.predict_proba(asked)[0] == pytest.approx([0.6, 0.4])


def test_missing_values_go_down_every_branch() -> None:
    fitted = ID3Classifier().fit(ATTRIBUTES, CLASSES)
    asked = ATTRIBUTES.iloc[[0]].assign(outlook=None)  # high humidity, no wind: N if sunny, else P
    assert fitted.predict_proba(asked)[0] == pytest.approx([5 / 14, 9 / 14])


def test_rows_of_missing_value_are_learned_from() -> None:
    X = ATTRIBUTES.assign(outlook=ATTRIBUTES["outlook"].where(ATTRIBUTES.index != 2))
    tree = ID3Classifier().fit(X, CLASSES).tree_
    assert tree.weight[1:4] == pytest.approx([3 + 3 / 13, 5 + 5 / 13, 5 + 5 / 13])


# ---- limits


def test_light_nodes_are_leaves() -> None:
    assert ID3Classifier(min_weight_split=5.5).fit(ATTRIBUTES, CLASSES).get_depth() == 1
    assert ID3Classifier(min_weight_split=15).fit(ATTRIBUTES, CLASSES).get_depth() == 0
    assert ID3Classifier(max_depth=1).fit(ATTRIBUTES, CLASSES).get_depth() == 1
