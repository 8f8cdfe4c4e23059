"""What an estimator gets from its fitted tree, in its own words."""

import duckdb
import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import NotFittedError

from tremula.trees.inspection import FittedTreeMixin
from tremula.trees.tree import NODE_DTYPE, Tree

TABLE = pd.DataFrame({"size": [1.0, 2.0, None, 4.0], "color": ["red", "blue", "red", None]})


class Stump(ClassifierMixin, FittedTreeMixin, BaseEstimator):
    """Splits the first table it sees by color, whatever the classes."""

    _impurity = "gini"

    def fit(self, X: pd.DataFrame, y: np.ndarray) -> "Stump":
        self.encoder_, _ = self._learn_columns(X)
        self.classes_ = np.unique(y)
        nodes = np.array([(0, 3, 1, 1, 2, -2), (0, 1, -1, 0, 0, 0), (0, 2, -1, 0, 0, 1)], dtype=NODE_DTYPE)
        self.tree_ = Tree(nodes, np.eye(2), [], self.encoder_.n_levels, strict=False)
        return self


@pytest.fixture
def model() -> Stump:
    return Stump().fit(TABLE, np.array(["b", "a", "b", "b"]))


def test_size_and_importances(model: Stump) -> None:
    assert (model.get_depth(), model.get_n_leaves()) == (1, 2)
    assert model.feature_importances_.tolist() == [0.0, 1.0]


def test_leaves_and_paths_of_a_table(model: Stump) -> None:
    assert model.apply(TABLE).tolist() == [2, 1, 2, 2]
    assert model.decision_path(TABLE).toarray().tolist() == [[1, 0, 1], [1, 1, 0], [1, 0, 1], [1, 1, 1]]


def test_texts_use_the_names_of_the_table_and_the_classes(model: Stump) -> None:
    assert model.export_text() == "color = blue: a (1)\ncolor = red: b (2)"
    assert 'label="= blue"' in model.export_dot()
    assert [text.get_text() for text in model.plot().texts if "(" in text.get_text()] == ["b (2)", "a (1)"]


def test_sql_predicts_for_the_table(model: Stump) -> None:
    frame = TABLE  # noqa: F841
    labels = duckdb.sql(f"SELECT {model.export_sql()} FROM frame").fetchall()
    assert labels == [("b",), ("a",), ("b",), ("b",)]
    assert model.export_sql(missing="none").count("CASE") == 1


@pytest.mark.parametrize("name", ["get_depth", "get_n_leaves", "export_text", "export_dot", "export_sql", "plot"])
def test_an_unfitted_estimator_says_so(name: str) -> None:
    with pytest.raises(NotFittedError):
        getattr(Stump(), name)()


def test_an_unfitted_estimator_has_no_importances() -> None:
    with pytest.raises(NotFittedError):
        Stump().feature_importances_  # noqa: B018
