"""SQL expressions, run in DuckDB: the same answers as the tree's own, to the last bit."""

from collections.abc import Iterator
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pytest

from tremula.trees.export.sql import double, export_sql, literal
from tremula.trees.tree import NODE_DTYPE, Tree

COLUMNS = ["width", 'a "quoted" name', "it's; DROP", "kind"]
LEVELS: list[list[Any] | None] = [None, ["low", "it's", 'the "best"', ""], None, [10, 20, 30]]
N_LEVELS = np.array([0, 4, 0, 3], dtype=np.int32)
CLASSES = ["o'hara", 'say "a"', "plain"]


@pytest.fixture
def database() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as connection:
        yield connection


def random_tree(rng: np.random.Generator, n_outputs: int) -> Tree:
    """A tree with splits of every kind and branches that weigh nothing; distributions in eighths make ties likely."""
    nodes = np.zeros(100, dtype=NODE_DTYPE)
    nodes["attribute"], nodes["weight"] = -1, rng.choice([0.0, 1.0, 2.0, 1 / 3, 5.5], size=len(nodes))
    subsets: list[int] = []
    waiting, n_nodes = [0], 1
    for _ in range(rng.integers(0, 9)):
        node = waiting.pop(int(rng.integers(len(waiting))))
        attribute = int(rng.integers(len(N_LEVELS)))
        n_levels, n_branches, index = int(N_LEVELS[attribute]), 2, int(rng.choice([-1, -3, -4]))
        threshold = round(rng.normal(), 2) if index == -1 or rng.random() < 0.7 else {-3: -np.inf, -4: np.inf}[index]
        if n_levels and rng.random() < 0.5:
            n_branches, index = n_levels, -2
        elif n_levels:
            index = len(subsets)
            subsets += rng.integers(0, 3, size=n_levels).tolist()
            threshold = float(rng.choice([np.nan, 0.0, 1.0, 2.0]))
        nodes[node] = (threshold, nodes["weight"][node], attribute, n_nodes, n_branches, index)
        waiting += range(n_nodes, n_nodes + n_branches)
        n_nodes += n_branches
    values = rng.multinomial(8, [1 / n_outputs] * n_outputs, size=5) / 8 if n_outputs > 1 else rng.normal(size=(5, 1))
    nodes["index"][waiting] = rng.integers(0, 5, size=len(waiting))
    return Tree(nodes[:n_nodes], values, subsets, N_LEVELS, bool(rng.integers(2)))


def random_rows(rng: np.random.Generator, n_rows: int = 300) -> np.ndarray:
    rows = rng.normal(size=(n_rows, 4)).round(2)
    for column in (1, 3):
        rows[:, column] = rng.integers(0, N_LEVELS[column], size=n_rows)
    rows[rng.random(rows.shape) < 0.2] = np.nan
    return rows


def as_table(rows: np.ndarray) -> pd.DataFrame:
    """The rows as a user has them: NULL, NaN and unseen levels are all missing."""
    words = levels_held(rows[:, 1], LEVELS[1], "unseen")
    numbers = levels_held(rows[:, 3], LEVELS[3], 99)
    columns = [rows[:, 0], pd.Series(words, dtype="str"), rows[:, 2], pd.array(numbers, dtype="Int64")]
    return pd.DataFrame(dict(zip(COLUMNS, columns, strict=True))).assign(place=np.arange(len(rows)))


def levels_held(codes: np.ndarray, levels: list[Any] | None, unseen: Any) -> list[Any]:
    """Level of every code; a missing one is an unseen level and None by turns."""
    assert levels is not None
    missing = [unseen, None]
    return [missing[place % 2] if np.isnan(code) else levels[int(code)] for place, code in enumerate(codes)]


def store(database: duckdb.DuckDBPyConnection, rows: np.ndarray) -> None:
    """Fill the table t; where the first column is missing it holds NULL and NaN by turns."""
    database.register("frame", as_table(rows))
    database.execute("CREATE TABLE t AS SELECT * FROM frame")
    database.execute("UPDATE t SET width = CAST('NaN' AS DOUBLE) WHERE width IS NULL AND place % 2 = 0")


def ask(database: duckdb.DuckDBPyConnection, expression: str) -> list[tuple[Any, ...]]:
    return database.execute(f"SELECT {expression} FROM t ORDER BY place").fetchall()


@pytest.mark.parametrize("seed", range(40))
def test_classes_and_probabilities_are_those_of_the_tree(database: duckdb.DuckDBPyConnection, seed: int) -> None:
    rng = np.random.default_rng(seed)
    tree, rows = random_tree(rng, 3), random_rows(rng)
    store(database, rows)
    labels = ask(database, export_sql(tree, COLUMNS, CLASSES, LEVELS))
    assert [label for (label,) in labels] == [CLASSES[code] for code in tree.predict_codes(rows)]
    columns = ask(database, export_sql(tree, COLUMNS, CLASSES, LEVELS, output="probabilities"))
    np.testing.assert_array_equal(np.array(columns), tree.predict_values(rows))


@pytest.mark.parametrize("seed", range(20))
def test_values_are_those_of_the_tree(database: duckdb.DuckDBPyConnection, seed: int) -> None:
    rng = np.random.default_rng(seed)
    tree, rows = random_tree(rng, 1), random_rows(rng)
    store(database, rows)
    values = ask(database, export_sql(tree, COLUMNS, None, LEVELS))
    np.testing.assert_array_equal(np.array(values), tree.predict_values(rows))


@pytest.mark.parametrize("seed", range(20))
def test_without_missing_values_one_case_is_enough(database: duckdb.DuckDBPyConnection, seed: int) -> None:
    rng = np.random.default_rng(seed)
    tree, rows = random_tree(rng, 3), random_rows(rng)
    tree = Tree(tree.nodes, tree.values, tree.subsets % 2, tree.n_levels, tree.strict)
    rows = rows[~np.isnan(rows).any(axis=1)]
    store(database, rows)
    sql = export_sql(tree, COLUMNS, CLASSES, LEVELS, missing="none")
    assert "COALESCE" not in sql
    assert [label for (label,) in ask(database, sql)] == [CLASSES[code] for code in tree.predict_codes(rows)]


def stump(threshold: float, strict: bool = False) -> Tree:
    nodes = np.array([(threshold, 3, 0, 1, 2, -1), (0, 2, -1, 0, 0, 0), (0, 1, -1, 0, 0, 1)], dtype=NODE_DTYPE)
    return Tree(nodes, np.eye(2), [], [0], strict)


def test_a_tree_reads_well_as_sql() -> None:
    assert export_sql(stump(0.8), ["petal width"], ["setosa", "virginica"]) == (
        "COALESCE(CASE\n"
        "  WHEN \"petal width\" <= 0.8e0 THEN 'setosa'\n"
        "  WHEN \"petal width\" <= 1.7976931348623157e308 THEN 'virginica'\n"
        "END,\n"
        "(SELECT CASE GREATEST(class_0, class_1) WHEN class_0 THEN 'setosa' WHEN class_1 THEN 'virginica' END\n"
        "FROM (SELECT (branch_1 * 1.0e0) AS class_0,\n"
        "  (branch_2 * 1.0e0) AS class_1\n"
        'FROM (SELECT CASE WHEN "petal width" <= 0.8e0 THEN 1e0 WHEN "petal width" <= 1.7976931348623157e308 THEN 0e0 '
        "ELSE 0.6666666666666666e0 END AS branch_1,\n"
        '  CASE WHEN "petal width" <= 0.8e0 THEN 0e0 WHEN "petal width" <= 1.7976931348623157e308 THEN 1e0 '
        "ELSE 0.3333333333333333e0 END AS branch_2) AS branches) AS classes))"
    )


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("threshold", [0.1, -1e-300, 123456789.123456789, 1e22, 0.1 + 0.2, 5e-324, 0.0, 2.0**53])
def test_a_threshold_divides_its_neighbours(
    database: duckdb.DuckDBPyConnection, threshold: float, strict: bool
) -> None:
    rows = np.array([[np.nextafter(threshold, -np.inf)], [threshold], [np.nextafter(threshold, np.inf)]])
    database.register("t", pd.DataFrame({"x0": rows[:, 0], "place": range(3)}))
    tree = stump(threshold, strict)
    assert [code for (code,) in ask(database, export_sql(tree))] == tree.predict_codes(rows).tolist()


@pytest.mark.parametrize("kind", ["FLOAT", "DECIMAL(10, 3)", "DOUBLE", "INTEGER", "BIGINT", "UTINYINT"])
def test_columns_of_any_numeric_type_are_compared_as_doubles(database: duckdb.DuckDBPyConnection, kind: str) -> None:
    given = "(VALUES (0), (0.1), (1), (NULL)) AS given (x)"
    database.execute(f"CREATE TABLE t AS SELECT CAST(x AS {kind}) AS x0, x AS place FROM {given}")
    rows = np.array(database.execute("SELECT CAST(x0 AS DOUBLE) FROM t ORDER BY place").fetchall(), dtype=float)
    for threshold in (0.1, 0.5, 1.0):
        tree = stump(threshold)
        assert [code for (code,) in ask(database, export_sql(tree))] == tree.predict_codes(rows).tolist()


def test_levels_may_be_those_of_an_enum_and_booleans(database: duckdb.DuckDBPyConnection) -> None:
    nodes = np.array(
        [(0, 3, 0, 1, 2, -2), (0, 2, -1, 0, 0, 0), (0, 1, 1, 3, 2, -2), (0, 1, -1, 0, 0, 1), (0, 0, -1, 0, 0, 2)],
        dtype=NODE_DTYPE,
    )
    tree = Tree(nodes, np.eye(3), [], [2, 2], strict=False)
    frame = pd.DataFrame(
        {"kind": pd.Categorical(["a", "b", "b", "z"]), "flag": [True, False, True, True], "place": range(4)}
    )
    database.register("t", frame)
    sql = export_sql(tree, ["kind", "flag"], [False, True, None], [["a", "never there"], np.array([False, True])])
    assert "TRUE" in sql
    rows = np.array([[0, 1], [np.nan, 0], [np.nan, 1], [np.nan, 1]])
    expected = [(False, True, "None")[code] for code in tree.predict_codes(rows)]
    assert [str(label) for (label,) in ask(database, sql.replace("'None'", "NULL"))] == [str(each) for each in expected]


def test_columns_may_have_the_names_made_up_in_the_subquery(database: duckdb.DuckDBPyConnection) -> None:
    rng = np.random.default_rng(7)
    columns = ["Branch_1", "branch_2", "class_0", "branches"]
    tree, rows = random_tree(rng, 3), random_rows(rng)
    frame = as_table(rows).rename(columns=dict(zip(COLUMNS, columns, strict=True)))
    database.register("branches", frame)
    labels = database.execute(f"SELECT {export_sql(tree, columns, CLASSES, LEVELS)} FROM branches").fetchall()
    assert [label for (label,) in labels] == [CLASSES[code] for code in tree.predict_codes(rows)]


def test_probabilities_are_named_after_the_classes(database: duckdb.DuckDBPyConnection) -> None:
    database.execute("CREATE TABLE t AS SELECT 0.5 AS x0, 0 AS place")
    sql = export_sql(stump(0.8), None, ['say "a"', "b"], output="probabilities")
    result = database.execute(f"SELECT {sql} FROM t")
    assert [column[0] for column in result.description] == ['say "a"', "b"]


def test_a_leaf_alone_is_a_literal() -> None:
    leaf = Tree(np.array([(0, 1, -1, 0, 0, 0)], dtype=NODE_DTYPE), [[0.0, 1.0]], [], [0], strict=False)
    assert export_sql(leaf, None, ["a", "b"]) == "'b'"
    assert export_sql(leaf, output="probabilities") == '0.0e0 AS "0",\n1.0e0 AS "1"'


def test_a_large_tree_is_read_by_the_database(database: duckdb.DuckDBPyConnection) -> None:
    n_splits = 511
    nodes = np.zeros(2 * n_splits + 1, dtype=NODE_DTYPE)
    nodes["attribute"], nodes["weight"] = -1, 1.0
    nodes["index"][n_splits:] = np.arange(n_splits + 1)
    rng = np.random.default_rng(0)
    for node in range(n_splits):
        nodes[node] = (rng.normal(), 1.0, rng.integers(8), 2 * node + 1, 2, -1)
    tree = Tree(nodes, rng.normal(size=(n_splits + 1, 1)), [], np.zeros(8), strict=False)
    rows = rng.normal(size=(200, 8))
    rows[rng.random(rows.shape) < 0.1] = np.nan
    frame = pd.DataFrame(rows, columns=[f"x{column}" for column in range(8)])
    database.register("t", frame.assign(place=range(200)))
    np.testing.assert_array_equal(np.array(ask(database, export_sql(tree))), tree.predict_values(rows))


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (True, "TRUE"),
        (np.False_, "FALSE"),
        (3, "3"),
        (np.int8(-3), "-3"),
        (0.5, "0.5e0"),
        (np.float32(0.5), "0.5e0"),
        ("a'b", "'a''b'"),
    ],
)
def test_literals_are_of_their_kind(value: Any, text: str) -> None:
    assert literal(value) == text


def test_doubles_keep_every_bit(database: duckdb.DuckDBPyConnection) -> None:
    values = np.frombuffer(np.random.default_rng(0).bytes(8 * 500))
    values = values[np.isfinite(values)]
    found = database.execute("SELECT " + ", ".join(map(double, values))).fetchall()[0]
    np.testing.assert_array_equal(found, values)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"output": "label"}, "'class', 'probabilities'"),
        ({"output": "value"}, "'class', 'probabilities'"),
        ({"missing": "ignore"}, "'shares', 'none'"),
    ],
)
def test_unknown_choices_are_refused(arguments: dict[str, str], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        export_sql(stump(0.0), **arguments)
