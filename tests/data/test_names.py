"""Attributes without names are called x0, x1, ... everywhere, and columns are labelled in one way in messages."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.preprocessing import StandardScaler

import tremula as tm
from tremula.data.names import attribute_name, attribute_names
from tremula.diagnostics.displays.boundary import BoundaryDisplay
from tremula.errors import InfiniteValue, UnsupportedType
from tremula.lab.datasets.dataset import Dataset
from tremula.lab.datasets.description import describe_dataset
from tremula.lab.datasets.schema import schema_of
from tremula.queries.arrays import ArrayOracle
from tremula.report.data_description import describe

X, Y = load_iris(return_X_y=True)
IRIS = Dataset("iris", "a test", X, Y)
DEFAULT = ("x0", "x1", "x2", "x3")
GIVEN = ("a", "b", "c", "d")


def test_default_names_are_those_of_scikit_learn() -> None:
    assert attribute_names(None, 4) == tuple(StandardScaler().fit(X).get_feature_names_out()) == DEFAULT
    assert attribute_names((), 4) == DEFAULT


def test_names_that_are_given_are_kept() -> None:
    assert attribute_names(np.array(GIVEN, dtype=object), 4) == GIVEN
    assert attribute_name(GIVEN, 2) == "c"


@pytest.mark.parametrize(("dataset", "names"), [(IRIS, DEFAULT), (replace(IRIS, attributes=GIVEN), GIVEN)])
def test_every_view_of_a_dataset_uses_the_same_names(dataset: Dataset, names: tuple[str, ...]) -> None:
    assert dataset.attribute_names == names
    assert tuple(dataset.frame().columns) == names
    assert tuple(attribute["name"] for attribute in describe_dataset(dataset)["attributes"]) == names
    assert tuple(column["name"] for column in describe(dataset, None)["columns"]) == names
    assert schema_of(dataset).names == names
    assert all(name in dataset._repr_html_() for name in names)


def test_trees_oracles_and_displays_use_the_same_names() -> None:
    classifier, regressor = tm.C45Classifier().fit(X, Y), tm.M5Regressor().fit(X[:, :3], X[:, 3])
    assert classifier.export_text().startswith("x3 <=")
    assert "x2" in regressor.export_text()
    assert tuple(attribute.name for attribute in ArrayOracle(X, Y).schema.attributes) == DEFAULT
    display = BoundaryDisplay.from_estimator(classifier, X, Y, features=(1, 3), resolution=5)
    assert tuple(display.names) == ("x1", "x3")


def test_messages_label_a_column_by_its_number_or_name() -> None:
    frame = replace(IRIS, attributes=GIVEN).frame()
    for table, label in [(X, "column 0"), (frame, "column 'a'")]:
        with pytest.raises(UnsupportedType, match=f"^{label} is numeric"):
            tm.ID3Classifier().fit(table, Y)
        with pytest.raises(InfiniteValue, match=f"^{label} is infinite"):
            tm.C45Classifier().fit(table * np.inf, Y)
