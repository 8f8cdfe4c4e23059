"""Tables in databases: names that are wrong or hostile, columns that cannot be learned from, and lost connections."""

from __future__ import annotations

import os
import sqlite3
import traceback
from contextlib import closing
from pathlib import Path
from typing import Any

import ibis
import numpy as np
import pandas as pd
import pytest

import tremula as tm
from tremula.errors import InvalidInput, InvalidParameter, InvalidTarget, OneClassTarget, QueryFailed, UnknownTable
from tremula.queries import ArrayOracle, Question, TableOracle
from tremula.queries.arrays import quantile_cuts
from tremula.queries.question import narrow
from tremula.queries.sql.database import table_names, without_password
from tremula.queries.sql.oracle import MAX_SQL

from .tables import NOMINAL, random_table

ATTRIBUTES = ["colour", "size", "flag", "with null"]


def in_memory(**columns: Any) -> Any:
    return ibis.memtable(pd.DataFrame(columns))


def put(connection: Any, name: str, table: pd.DataFrame) -> None:
    """Write a table into a database of DuckDB."""
    connection.con.register("frame", table)
    quoted = name.replace('"', '""')
    connection.con.execute(f'CREATE TABLE "{quoted}" AS SELECT * FROM frame')
    connection.con.unregister("frame")


def stored(folder: Path, table: pd.DataFrame) -> str:
    """Write a table into a DuckDB file."""
    file = folder / "hospital.db"
    connection = ibis.duckdb.connect(file)
    put(connection, "visits", table)
    connection.disconnect()
    return str(file)


def rows_oracle(table: pd.DataFrame, target: str = "again", n_bins: int = 4) -> ArrayOracle:
    return ArrayOracle(table[ATTRIBUTES], table[target], categorical_features=NOMINAL, n_bins=n_bins)


def assert_same_counts(oracle: Any, table: pd.DataFrame, target: str = "again") -> None:
    expected, question = rows_oracle(table, target), Question((), (0, 1, 2, 3))
    np.testing.assert_allclose(oracle.count([question])[0], expected.count([question])[0], rtol=1e-12, atol=1e-12)


# --- files and addresses ---


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_file_is_a_table(tmp_path: Path, ending: str) -> None:
    table = random_table(0)
    file = tmp_path / f"visits.{ending}"
    table.to_csv(file, index=False) if ending == "csv" else table.to_parquet(file)
    assert_same_counts(tm.queries.connect(str(file), target="again", attributes=ATTRIBUTES, n_bins=4), table)


@pytest.mark.parametrize("engine", ["duckdb", "sqlite"])
def test_a_database_file_is_connected_to_by_its_address(tmp_path: Path, engine: str) -> None:
    table, file = random_table(0), tmp_path / "hospital.db"
    if engine == "duckdb":
        stored(tmp_path, table)
    else:
        with closing(sqlite3.connect(file)) as connection:
            table.to_sql("visits", connection, index=False)
    options: dict[str, Any] = {"attributes": ATTRIBUTES, "n_bins": 4, "categorical_features": ["flag"]}
    oracle = tm.queries.connect(f"{engine}://{file}", table="visits", target="again", **options)
    assert_same_counts(oracle, table)


def test_the_error_of_an_unknown_table_suggests_a_similar_name(tmp_path: Path) -> None:
    file = stored(tmp_path, random_table(0))
    with pytest.raises(UnknownTable, match=r"no table 'visit' in the database \(has 'visits'\): did you mean 'visits'"):
        tm.queries.connect(f"duckdb://{file}", table="visit", target="again")


def test_the_error_of_an_unnamed_table_lists_the_tables(tmp_path: Path) -> None:
    file = stored(tmp_path, random_table(0))
    with pytest.raises(InvalidInput, match=r"name one \(there are 'visits'\)"):
        tm.queries.connect(f"duckdb://{file}", target="again")


@pytest.mark.parametrize("url", ["nowhere.csv", "nowhere.parquet", "duckdb://nowhere.db", "sqlite://nowhere.db"])
def test_a_file_that_does_not_exist_is_refused_and_not_created(tmp_path: Path, monkeypatch: Any, url: str) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UnknownTable, match=r"no (database )?file 'nowhere"):
        tm.queries.connect(url, table="visits", target="again")
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    (tmp_path / "broken.parquet").write_text("no parquet", encoding="utf-8")
    with pytest.raises(QueryFailed, match=r"broken.parquet' cannot be read"):
        tm.queries.connect(str(tmp_path / "broken.parquet"), target="again")


def test_a_target_is_needed() -> None:
    with pytest.raises(InvalidInput, match="name the column to predict"):
        tm.queries.connect("duckdb://")


@pytest.mark.parametrize(
    ("url", "secret"),
    [
        ("postgresql://ann:tops3cret@127.0.0.1:1/base", "tops3cret"),
        ("postgresql://ann:t%40ps3cret@127.0.0.1:1/base", "t@ps3cret"),
        ("nosuchengine://ann:tops3cret@host/base", "tops3cret"),
        ("nosuchengine://host/base?password=tops3cret", "tops3cret"),
        ("nosuchengine://a@host/base?user=b&PWD=tops3cret&x=1", "tops3cret"),
    ],
)
def test_no_error_shows_a_password(url: str, secret: str) -> None:
    with pytest.raises(QueryFailed, match="no connection to") as caught:
        tm.queries.connect(url, table="visits", target="again")
    shown = "".join(traceback.format_exception(caught.value))
    assert secret not in shown.replace(url, "")
    assert secret not in str(caught.value)


def test_an_address_without_a_password_stays_as_it_is() -> None:
    for url in ("postgresql://ann@host:5432/base", "duckdb:///data/a:b@c.db", "duckdb://file.db?threads=2"):
        assert without_password(url) == url or "a:b" in url


# --- columns ---


def test_the_error_of_an_unknown_column_suggests_a_similar_name() -> None:
    table = in_memory(age=[1, 2], income=["a", "b"], again=[0, 1])
    with pytest.raises(UnknownTable, match=r"no column 'incme' in the table .*: did you mean 'income'"):
        TableOracle(table, "again", attributes=["incme"])
    with pytest.raises(UnknownTable, match=r"no column 'agian' in the table .*: did you mean 'again'"):
        TableOracle(table, "agian")
    with pytest.raises(UnknownTable, match="no column 'ages'"):
        TableOracle(table, "again", categorical_features=["ages"])


def test_a_table_of_the_target_alone_is_refused() -> None:
    with pytest.raises(InvalidInput, match="no column but the target 'again'"):
        TableOracle(in_memory(again=[0, 1]), "again")


def test_a_target_of_one_class_is_refused() -> None:
    with pytest.raises(OneClassTarget, match="target 'again' has rows of 1 class"):
        TableOracle(in_memory(age=[1, 2, 3], again=["yes", "yes", None]), "again")


def test_a_target_of_too_many_classes_is_refused_with_advice() -> None:
    numbers = list(range(150))
    with pytest.raises(InvalidTarget, match="more than 100 classes: use task='regression' if it is a number"):
        TableOracle(in_memory(age=numbers, again=numbers), "again")
    assert TableOracle(in_memory(age=numbers, again=numbers), "again", task="regression").schema.classes is None


def test_words_cannot_be_a_numeric_target() -> None:
    with pytest.raises(InvalidTarget, match="not a number: use task='classification'"):
        TableOracle(in_memory(age=[1, 2], again=["a", "b"]), "again", task="regression")


@pytest.mark.parametrize("empty", [[], [None, None]])
def test_a_table_without_a_target_in_any_row_is_refused(empty: list[None]) -> None:
    table = ibis.memtable(
        {"age": pd.Series([1.0] * len(empty)), "again": pd.Series(empty, dtype="object")},
        schema={"age": "float64", "again": "string"},
    )
    with pytest.raises(InvalidTarget, match="target 'again' is missing in every row"):
        TableOracle(table, "again")


def test_a_column_of_too_many_levels_is_refused_with_advice() -> None:
    table = in_memory(patient=[f"p{n}" for n in range(50)], again=[0, 1] * 25)
    with pytest.raises(InvalidInput, match="'patient' has more than 20 levels: leave it out with attributes="):
        TableOracle(table, "again", max_levels=20)
    assert TableOracle(table, "again", max_levels=50).schema.attributes[0].n_values == 50


def test_a_column_of_dates_is_refused_with_advice() -> None:
    table = in_memory(day=pd.to_datetime(["2020-01-01", "2020-01-02"]), again=[0, 1])
    with pytest.raises(InvalidInput, match=r"'day' is of type timestamp.*leave it out"):
        TableOracle(table, "again")


def test_a_column_of_real_numbers_cannot_be_nominal() -> None:
    with pytest.raises(InvalidInput, match="'size' is of type float64, which cannot be nominal"):
        TableOracle(in_memory(size=[1.5, 2.5], again=[0, 1]), "again", categorical_features=["size"])


def test_whole_numbers_taken_as_nominal_are_levels_to_predict_by() -> None:
    frame = pd.DataFrame({"code": [7, 3, 3, 7] * 5, "again": [0, 1, 1, 0] * 5})
    oracle = TableOracle(ibis.memtable(frame), "again", categorical_features=["code"])
    assert oracle.schema.attributes[0].levels == (3, 7)
    model = tm.SimulatedBaggingClassifier(n_estimators=2, random_state=0).fit(oracle)
    assert model.predict(frame[["code"]][:3]).tolist() == [0, 1, 1]


def test_null_and_nan_are_missing() -> None:
    con = ibis.duckdb.connect()
    con.raw_sql(
        "CREATE TABLE t AS SELECT * FROM "
        "(VALUES (1.0::DOUBLE, 'a', 0), ('NaN', NULL, 1), (NULL, 'b', 1), (2.0, 'b', 0)) AS t(x, word, again)"
    )
    oracle = TableOracle(con.table("t"), "again", n_bins=2)
    assert [attribute.n_values for attribute in oracle.schema.attributes] == [2, 2]
    answer = oracle.count([Question((), (0, 1))])[0]
    assert answer.tolist() == [[1, 0], [1, 0], [0, 2], [1, 0], [1, 1], [0, 1]]
    on_a_path = oracle.count([Question(narrow((), 0, 0, 1), (1,))])[0]  # neither NULL nor NaN is on it
    assert on_a_path.tolist() == [[0, 0], [0, 0], [0, 0], [1, 0], [1, 0], [0, 0]]


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_rows_whose_target_is_null_or_nan_are_left_out(task: str) -> None:
    con = ibis.duckdb.connect()
    con.raw_sql(
        "CREATE TABLE t AS SELECT * FROM "
        "(VALUES ('a', 1.0::DOUBLE), ('b', 'NaN'), ('c', NULL), ('b', 3.0)) AS t(word, y)"
    )
    oracle = TableOracle(con.table("t"), "y", task=task)
    assert oracle.schema.attributes[0].levels == ("a", "b")
    expected = {"classification": [[1, 0], [0, 1], [0, 0]], "regression": [[1, 1, 1], [1, 3, 9], [0, 0, 0]]}
    assert oracle.count([Question((), (0,))])[0].tolist() == expected[task]
    if task == "classification":
        assert oracle.schema.classes == (1.0, 3.0)


def test_a_level_called_like_the_stand_in_for_null_is_a_level() -> None:
    oracle = TableOracle(in_memory(word=["missing", None, "missing_", "x"], again=[0, 1, 1, 1]), "again")
    assert oracle.count([Question((), (0,))])[0].tolist() == [[1, 0], [0, 1], [0, 1], [0, 1]]


@pytest.mark.parametrize("n_bins", [2, 7, 32, 100])
@pytest.mark.parametrize("n_rows", [2, 7, 64, 700])
def test_cuts_are_the_same_in_every_engine(n_rows: int, n_bins: int) -> None:
    """Ranks that are whole numbers, ties, missing and infinite numbers: DuckDB selects, SQLite and memory count."""
    random = np.random.default_rng(n_rows)
    frame = pd.DataFrame({"plain": random.normal(size=n_rows), "ties": random.integers(0, 9, n_rows).astype(float)})
    frame["gaps"] = np.where(random.random(n_rows) < 0.3, np.nan, frame["plain"].round(1))
    frame.loc[0, "gaps"] = np.inf
    frame.loc[1, "gaps"] = -np.inf
    frame["again"] = np.arange(n_rows) % 2
    connection = ibis.sqlite.connect()
    connection.con.execute("CREATE TABLE visits (plain REAL, ties REAL, gaps REAL, again INTEGER)")
    rows = [[None if value != value else value for value in row] for row in frame.itertuples(index=False)]
    connection.con.executemany("INSERT INTO visits VALUES (?, ?, ?, ?)", rows)
    expected = [
        tuple(cut for cut in quantile_cuts(frame[name].to_numpy(), n_bins) if np.isfinite(cut))
        for name in ("plain", "ties", "gaps")
    ]
    for table in (ibis.memtable(frame), connection.table("visits")):
        oracle = TableOracle(table, "again", n_bins=n_bins)
        cuts = [attribute.cuts for attribute in oracle.schema.attributes]
        assert repr(cuts) == repr(expected)  # which tells -0.0 from 0.0


def test_given_cuts_are_taken() -> None:
    oracle = TableOracle(in_memory(age=[1, 2, 3, 4], again=[0, 1, 0, 1]), "again", cuts={"age": [2, 3.5]})
    assert oracle.schema.attributes[0].cuts == (2.0, 3.5)
    assert oracle.count([Question((), (0,))])[0].tolist() == [[1, 1], [1, 0], [0, 1], [0, 0]]


@pytest.mark.parametrize("engine", ["duckdb", "sqlite"])
def test_hostile_names_are_only_names(engine: str) -> None:
    table_name, column, level = 'x"; DROP TABLE other; --', "a`'\"; drop", "'); DROP TABLE other; --"
    frame = pd.DataFrame({column: [level, "b", level, None], 'n"0': [1, 2, 3, 4], "y); --": ["'yes", "no", "no", "no"]})
    connection = ibis.duckdb.connect() if engine == "duckdb" else ibis.sqlite.connect()
    for name, content in ((table_name, frame), ("other", pd.DataFrame({"z": [1]}))):
        put(connection, name, content) if engine == "duckdb" else content.to_sql(name, connection.con, index=False)
    oracle = TableOracle(connection.table(table_name), "y); --", n_bins=2)
    path = narrow((), 0, 0, 0)
    assert oracle.schema.attributes[0].levels[0] == level
    assert oracle.count([Question(path, (0, 1))])[0].tolist()[0] == [1, 1]
    assert oracle.count([Question(path, (1, 0), joint=True)])[0].sum() == 2
    model = tm.SimulatedBaggingClassifier(n_estimators=2, random_state=0).fit(oracle)
    assert model.predict(frame[[column, 'n"0']]).shape == (4,)
    assert any(name.startswith("tremula_") for name in table_names(connection))
    oracle.close()
    assert table_names(connection) == sorted(["other", table_name])


@pytest.mark.parametrize(
    "options",
    [
        {"n_bins": 1},
        {"max_levels": 0},
        {"retries": -1},
        {"task": "x"},
        {"form": "x"},
        {"cube_rows": -1},
        {"cube_rows": "all"},
    ],
)
def test_options_are_checked(options: dict[str, Any]) -> None:
    with pytest.raises(InvalidParameter, match=next(iter(options))):
        TableOracle(in_memory(age=[1, 2], again=[0, 1]), "again", **options)


# --- one pass, and none twice ---


def test_a_depth_of_all_trees_is_one_query() -> None:
    oracle = TableOracle(ibis.memtable(random_table(1)), "again", ATTRIBUTES, n_bins=4)
    before = oracle.n_queries
    model = tm.SimulatedBaggingClassifier(n_estimators=10, max_depth=3, random_state=0).fit(oracle)
    assert oracle.n_queries - before <= 4
    model.fit(oracle)
    assert oracle.n_queries - before <= 4


@pytest.mark.parametrize("max_distinct", [0, 10_000])
def test_answers_are_the_same_whether_identical_rows_are_counted_first(
    max_distinct: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tremula.queries.sql.batch.MAX_DISTINCT", max_distinct)
    table, sent = random_table(1), []
    oracle = TableOracle(ibis.memtable(table), "again", ATTRIBUTES, n_bins=4, on_query=sent.append, working_table=False)
    model = tm.SimulatedBaggingClassifier(n_estimators=5, max_depth=3, random_state=0)
    assert model.fit(oracle).members_ == model.fit(rows_oracle(table)).members_
    assert ('COUNT(*) AS "w"' in sent[-1]) == (max_distinct > 0)


def deep_table(n_rows: int = 400, n_attributes: int = 12) -> pd.DataFrame:
    random = np.random.default_rng(0)
    columns: dict[str, Any] = {f"ward {n}": random.choice(list("abcdefgh"), n_rows) for n in range(n_attributes)}
    columns["age"] = np.round(random.normal(size=n_rows), 2)
    return pd.DataFrame({**columns, "again": random.choice(["no", "yes"], n_rows)})


@pytest.mark.slow
def test_no_query_of_deep_trees_is_longer_than_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    assert MAX_SQL <= 100_000
    monkeypatch.setattr("tremula.queries.sql.oracle.MAX_SQL", 8_000)  # the queries of two depths are longer
    table, sent = deep_table(), []
    oracle = TableOracle(ibis.memtable(table), "again", working_table=False, on_query=sent.append)
    model = tm.SimulatedBaggingClassifier(10, random_state=0)
    trees = model.fit(oracle).members_
    assert 6_000 < max(len(sql.encode()) for sql in sent) <= 8_000
    assert trees == model.fit(table.drop(columns="again"), table["again"]).members_


@pytest.mark.slow
def test_no_query_of_deep_trees_on_a_wide_table_is_longer_than_100_kb() -> None:
    table, sent = deep_table(6_000, 25), []
    oracle = TableOracle(ibis.memtable(table), "again", on_query=sent.append)
    model = tm.SimulatedBaggingClassifier(5, random_state=0)
    trees = model.fit(oracle).members_
    assert 50_000 < max(len(sql.encode()) for sql in sent) <= 100_000
    assert trees == model.fit(table.drop(columns="again"), table["again"]).members_


@pytest.mark.parametrize("form", ["cell lists", "grouping sets", "group by"])
def test_a_batch_that_is_too_long_is_divided_by_paths_and_then_by_attributes(
    form: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    table, sent = random_table(1), []
    oracle = TableOracle(ibis.memtable(table), "again", ATTRIBUTES, n_bins=4, form=form, on_query=sent.append)
    expected, paths = rows_oracle(table), [(), narrow((), 0, 0, 0), narrow(narrow((), 0, 1, 1), 1, 0, 2)]
    questions = [Question(path, (0, 1, 2, 3)) for path in paths]
    monkeypatch.setattr("tremula.queries.sql.oracle.MAX_SQL", 1)  # every single count is a query of its own
    before = oracle.n_queries
    for answer, wanted in zip(oracle.count(questions), expected.count(questions), strict=True):
        assert (answer == wanted).all()
    assert oracle.n_queries - before == len(paths) * len(ATTRIBUTES) == len(sent) - before


# --- different rows instead of counts ---


def test_the_different_rows_are_fetched_once_counts_cost_more() -> None:
    table, sent = deep_table(), []
    oracle = TableOracle(ibis.memtable(table), "again", cube_rows="auto", on_query=sent.append, working_table=False)
    before = len(sent)
    model = tm.SimulatedBaggingClassifier(10, max_depth=1, random_state=0).fit(oracle)
    assert not any("unnest(a)" not in sql for sql in sent[before + 1 :])  # the first counts the rows
    model.set_params(max_depth=None).fit(oracle)
    assert sum("unnest(a)" not in sql for sql in sent[before + 1 :]) == 1
    assert model.members_ == model.fit(table.drop(columns="again"), table["again"]).members_


def test_a_table_of_too_many_values_is_not_fetched_unasked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tremula.queries.sql.cube.MAX_AUTO_CELLS", 400 * 13 - 1)
    sent: list[str] = []
    oracle = TableOracle(
        ibis.memtable(deep_table()), "again", cube_rows="auto", on_query=sent.append, working_table=False
    )
    before = len(sent)
    tm.SimulatedBaggingClassifier(5, random_state=0).fit(oracle)
    assert all("unnest(a)" in sql for sql in sent[before + 1 :])


@pytest.mark.parametrize("cube_rows", [1000, "auto"])
def test_sums_from_different_rows_do_not_depend_on_their_order(cube_rows: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr("tremula.queries.sql.cube.NUMBERS_OF_A_COUNT", 1000)  # pays after the first count
    table = random_table(1)
    question = Question(narrow((), 0, 0, 0), (0, 1, 2, 3))
    answers = []
    for rows in (table, table[::-1]):
        oracle = TableOracle(ibis.memtable(rows), "cost", ATTRIBUTES, n_bins=4, cube_rows=cube_rows)
        oracle.count([Question((), (0, 1, 2, 3))])
        answers.append(oracle.count([question])[0])
    assert (answers[0] == answers[1]).all()
    np.testing.assert_allclose(answers[0], rows_oracle(table, "cost").count([question])[0], rtol=1e-12, atol=1e-12)


def test_the_rows_are_read_once_in_a_query() -> None:
    connection, sent = ibis.duckdb.connect(), []
    put(connection, "visits", random_table(1))
    oracle = TableOracle(connection.table("visits"), "again", ATTRIBUTES, on_query=sent.append, working_table=False)
    crossing = [narrow((), 0, 0, 0), narrow((), 2, 0, 0), narrow((), 1, 0, 3)]
    oracle.count([Question(path, (0, 1, 2, 3)) for path in crossing])
    assert sent[-1].count('"visits"') == 1


# --- a lost connection ---


class Server:
    """A database file that can be connected to unless it is down; knows its connections."""

    def __init__(self, folder: Path, table: pd.DataFrame) -> None:
        self.file, self.is_down, self.connections = stored(folder, table), False, []

    def open(self) -> Any:
        if self.is_down:
            raise OSError("connection refused")
        self.connections.append(ibis.duckdb.connect(self.file, read_only=True))
        return self.connections[-1].table("visits")

    def cut(self) -> None:
        self.connections[-1].con.close()


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Server:
    monkeypatch.setattr("tremula.queries.sql.database.LONGEST_PAUSE", 0.01)
    return Server(tmp_path, random_table(2))


def make_oracle(server: Server, **options: Any) -> TableOracle:
    return TableOracle(server.open, "again", ATTRIBUTES, n_bins=4, **options)


def test_a_lost_connection_is_opened_again(server: Server) -> None:
    oracle = make_oracle(server)
    server.cut()
    assert_same_counts(oracle, random_table(2))
    assert len(server.connections) == 2


def test_a_connection_that_stays_lost_raises_an_error_after_some_attempts(server: Server) -> None:
    oracle = make_oracle(server, retries=3)
    before = oracle.n_queries
    server.cut()
    server.is_down = True
    with pytest.raises(QueryFailed, match=r"asked 4 times: connection refused\. Earlier answers are kept"):
        oracle.count([Question((), (0,))])
    assert oracle.n_queries == before + 1


def test_a_fit_that_lost_its_connection_goes_on_where_it_was(server: Server) -> None:
    oracle = make_oracle(server, retries=1)
    shallow, deep = (tm.SimulatedBaggingClassifier(5, max_depth=depth, random_state=0) for depth in (2, 4))
    shallow.fit(oracle)
    server.cut()
    server.is_down = True
    with pytest.raises(QueryFailed):
        deep.fit(oracle)
    assert not hasattr(deep, "members_")
    server.is_down = False
    before = oracle.n_queries
    deep.fit(oracle)
    assert oracle.n_queries == before + 2  # depths 3 and 4; the first two were answered before
    table = random_table(2)
    assert deep.members_ == deep.fit(rows_oracle(table)).members_


@pytest.mark.parametrize("retries", [0, 2])
def test_the_next_question_opens_the_connection_again(server: Server, retries: int) -> None:
    oracle = make_oracle(server, retries=retries)
    server.cut()
    server.is_down = True
    with pytest.raises(QueryFailed):
        oracle.count([Question((), (0,))])
    server.is_down = False
    assert_same_counts(oracle, random_table(2))


def test_a_table_that_cannot_be_opened_again_is_asked_once() -> None:
    connection = ibis.duckdb.connect()
    put(connection, "visits", random_table(2))
    oracle = TableOracle(connection.table("visits"), "again", ATTRIBUTES, n_bins=4)
    connection.con.close()
    with pytest.raises(QueryFailed, match="it was asked once"):
        oracle.count([Question((), (0,))])


@pytest.mark.postgres
def test_a_killed_backend_of_postgres_is_survived(monkeypatch: pytest.MonkeyPatch) -> None:
    url = os.environ.get("TREMULA_POSTGRES")
    if not url:
        pytest.skip("TREMULA_POSTGRES is not set: it has the URL of a PostgreSQL server to test with")
    monkeypatch.setattr("tremula.queries.sql.database.LONGEST_PAUSE", 0.1)
    table, name = random_table(3), "visits to be cut off"
    admin = ibis.connect(url)
    admin.create_table(name, table, overwrite=True)
    try:
        oracle = tm.queries.connect(url, table=name, target="again", attributes=ATTRIBUTES, n_bins=4)
        with oracle._database.backend.raw_sql("SELECT pg_backend_pid()") as asked:
            ((backend,),) = asked.fetchall()
        with admin.raw_sql(f"SELECT pg_terminate_backend({backend})") as killed:
            assert killed.fetchall() == [(True,)]
        assert_same_counts(oracle, table)
        oracle.close()
    finally:
        admin.drop_table(name, force=True)
        admin.disconnect()
