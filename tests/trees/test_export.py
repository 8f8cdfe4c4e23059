"""Trees in text and as a graph."""

import re
from typing import Any

import numpy as np
import pytest

from tremula.trees.export.labels import number_text
from tremula.trees.export.text import export_dot, export_text
from tremula.trees.tree import NODE_DTYPE, Tree

NAMES = ("humidity", 'wind "gusts"', "outlook")
LEVELS = (None, ["calm", "strong\\wild"], ["overcast", "rainy", "sunny"])
CLASSES = ("play", "stay")


def weather_tree(**change: Any) -> Tree:
    """A tree with a split of every kind."""
    nodes = np.array(
        [
            (75.0, 14, 0, 1, 2, -1),
            (np.nan, 5, -1, 0, 0, 0),
            (np.nan, 9, 2, 3, 2, 0),
            (np.nan, 6, 1, 5, 2, -2),
            (np.nan, 3, -1, 0, 0, 1),
            (np.nan, 4.25, -1, 0, 0, 2),
            (np.nan, 1.75, -1, 0, 0, 1),
        ],
        dtype=NODE_DTYPE,
    )
    arguments = {"values": [[1, 0], [0, 1], [0.75, 0.25]], "subsets": [0, 1, 0], "n_levels": [0, 2, 3], "strict": False}
    return Tree(nodes, **(arguments | change))


def test_text_has_a_line_for_every_branch() -> None:
    assert export_text(weather_tree(), NAMES, CLASSES, LEVELS) == (
        "humidity <= 75: play (5)\n"
        "humidity > 75\n"
        "|   outlook in {overcast, sunny}\n"
        '|   |   wind "gusts" = calm: play (4.2, p=0.75)\n'
        '|   |   wind "gusts" = strong\\wild: stay (1.8)\n'
        "|   outlook = rainy: stay (3)"
    )


def test_names_are_made_up_where_none_are_given() -> None:
    assert export_text(weather_tree(), show_weights=False) == (
        "x0 <= 75: 0\nx0 > 75\n|   x2 in {0, 2}\n|   |   x1 = 0: 0\n|   |   x1 = 1: 1\n|   x2 = 1: 1"
    )


def test_a_strict_tree_says_so() -> None:
    assert export_text(weather_tree(strict=True)).splitlines()[:2] == ["x0 < 75: 0 (5)", "x0 >= 75"]


def test_levels_that_a_split_never_saw_are_in_no_branch() -> None:
    assert "x2 = 0\n" in export_text(weather_tree(subsets=[0, 1, 2]))


def test_deep_splits_are_summed_up() -> None:
    assert export_text(weather_tree(), NAMES, CLASSES, LEVELS, max_depth=1) == (
        "humidity <= 75: play (5)\nhumidity > 75: stay (9, p=0.646) ... 3 leaves"
    )


def test_long_texts_are_cut() -> None:
    assert export_text(weather_tree(), max_lines=2).splitlines()[2:] == ["..."]
    assert not export_text(weather_tree(), max_lines=6).endswith("...")


def test_a_leaf_alone_is_its_answer() -> None:
    leaf = Tree(np.array([(0, 7, -1, 0, 0, 0)], dtype=NODE_DTYPE), [[0.25, 0.75]], [], [0], strict=False)
    assert export_text(leaf, class_names=CLASSES) == "stay (7, p=0.75)"


def test_a_regression_tree_shows_means() -> None:
    text = export_text(weather_tree(values=[[1.5], [-2.0], [0.00001234]]), decimals=2)
    assert text.splitlines()[0] == "x0 <= 75: 1.5 (5)"
    assert "1.23e-05" in text


@pytest.mark.parametrize(
    ("value", "decimals", "text"),
    [
        (0.1 + 0.2, None, "0.30000000000000004"),
        (-0.0, 2, "0"),
        (1e9, 1, "1000000000"),
        (-1e-9, 2, "-1e-09"),
        (100, 0, "100"),
    ],
)
def test_numbers_are_short_but_not_hidden(value: float, decimals: int | None, text: str) -> None:
    assert number_text(value, decimals) == text


@pytest.mark.parametrize("name", ["feature_names", "class_names", "levels"])
def test_the_wrong_number_of_names_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match=f"{name} has 1 entries"):
        export_text(weather_tree(), **{name: ["a"]})


def test_a_very_deep_tree_is_written() -> None:
    nodes = np.zeros(4001, dtype=NODE_DTYPE)
    nodes["attribute"] = -1
    nodes[:4000:2] = [(k, 1.0, 0, 2 * k + 1, 2, -1) for k in range(2000)]
    tree = Tree(nodes, np.eye(2), [], [0], strict=False)
    assert len(export_text(tree).splitlines()) == 4000
    assert export_dot(tree).count("->") == 4000


def test_the_graph_has_every_node_and_branch() -> None:
    graph = export_dot(weather_tree(), NAMES, CLASSES, LEVELS)
    assert re.findall(r"^  (\d) \[", graph, re.M) == ["0", "1", "2", "3", "5", "6", "4"]
    assert re.findall(r"^  (\d -> \d) \[", graph, re.M) == ["0 -> 1", "0 -> 2", "2 -> 3", "3 -> 5", "3 -> 6", "2 -> 4"]
    assert '  0 -> 1 [label="<= 75"];' in graph
    assert '  1 [label="play\\n5", style=rounded];' in graph


def test_quotes_and_backslashes_are_escaped_in_the_graph() -> None:
    graph = export_dot(weather_tree(), NAMES, CLASSES, LEVELS)
    assert r'[label="wind \"gusts\""]' in graph
    assert r'[label="= strong\\wild"]' in graph


def test_the_graph_stops_at_the_depth_asked_for() -> None:
    graph = export_dot(weather_tree(), NAMES, CLASSES, LEVELS, max_depth=1)
    assert graph.count("->") == 2
    assert r'2 [label="stay\n9, p=0.646\n... 3 leaves", style=dashed];' in graph
    assert export_dot(weather_tree(), max_depth=0).count("->") == 0
