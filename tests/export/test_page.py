"""The page of a model: what is in the file, and what is refused. `test_page_in_chromium.py` runs it."""

from __future__ import annotations

import json
import re

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris

import tremula as tm
from tremula.errors import UnsupportedModel
from tremula.export.page.model import _as_script

from .tables import mixed_table, trained


def description_of(page: str) -> dict:
    return json.loads(re.search(r'<script type="application/json" id="model">(.*?)</script>', page, re.S)[1])


def test_the_page_names_attributes_levels_and_classes() -> None:
    description = description_of(tm.to_html(trained("class", "C4.5")))
    assert [each["name"] for each in description["attributes"]] == list(mixed_table(1, 0)[0])
    assert description["classes"] == ["maybe", "no", "o'hara"]
    assert "it's" in description["attributes"][2]["levels"]


def test_the_heading_is_the_kind_of_model_or_what_is_given() -> None:
    assert "<h1>C45Classifier</h1>" in tm.to_html(trained("class", "C4.5"))
    assert "<h1>A &lt; B</h1>" in tm.to_html(trained("class", "C4.5"), title="A < B")


def test_no_name_ends_a_script() -> None:
    evil = "</script><img src=x onerror=alert(1)>"
    table = pd.DataFrame({evil: [0.0, 1.0, 0.0, 1.0], "<!--": pd.Series([evil, "b"] * 2, dtype="str")})
    page = tm.to_html(tm.CARTClassifier().fit(table, [evil, "x"] * 2), title=evil)
    assert evil not in page
    assert page.count("</script>") == 3
    assert description_of(page)["classes"] == [evil, "x"]


@pytest.mark.filterwarnings("error")
def test_thresholds_whose_range_overflows_are_shown() -> None:
    X = [[-1.7e308], [-1.6e308], [1.6e308], [1.7e308]] * 5
    tree = tm.C45Classifier().fit(X, ["a", "b", "a", "b"] * 5)
    (column,) = description_of(tm.to_html(tree))["attributes"]
    assert column["low"] < -1.7e308
    assert column["high"] > 1.7e308


def test_nothing_is_asked_of_a_network() -> None:
    page = tm.to_html(trained("class", "forest"))
    assert "default-src 'none'" in page
    assert not re.search(r"(src|href)=\"(?!#)", page)


def test_a_smoothed_model_is_refused() -> None:
    X, y = load_iris(return_X_y=True)
    forest = tm.RandomForestClassifier(n_estimators=2, random_state=0).fit(X, y)
    with pytest.raises(UnsupportedModel, match="averages over noise"):
        tm.to_html(tm.DualPerturbClassifier(forest, noise=0.1).fit(X))


def test_a_model_with_an_infinite_weight_is_refused() -> None:
    with pytest.raises(UnsupportedModel, match="not finite"):
        _as_script({"weights": [1.0, -np.inf]})
