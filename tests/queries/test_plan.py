"""The planned queries are those that are sent, except for placeholder levels and cuts."""

from pathlib import Path

import pytest

import tremula as tm
from tremula.errors import UnknownTable
from tremula.queries import connect
from tremula.queries.sql.plan import plan_queries
from tremula.queries.sql.working_sql import is_statement

LINES = ["ward,age,fee", *(f"{'AB'[number % 2]},{number % 9},{number / 7:.3f}" for number in range(60))]


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("plan") / "visits.csv"
    path.write_text("\n".join(LINES))
    return str(path)


@pytest.mark.parametrize(("target", "kind"), [("ward", "nominal"), ("fee", "numeric")])
def test_as_many_queries_as_are_sent(target: str, kind: str, file: str) -> None:
    plan = plan_queries(file, None, target)
    sent: list[str] = []
    with connect(file, target=target, on_query=sent.append) as oracle:
        learner = tm.SimulatedBaggingClassifier if kind == "nominal" else tm.SimulatedBaggingRegressor
        learner(n_estimators=2, max_depth=1, random_state=0).fit(oracle)
    assert plan.target.kind == kind
    statements = [sql for sql in sent if is_statement(sql)]
    assert plan.n_queries(max_depth=1) == len(sent) - len(statements) == oracle.n_queries
    assert [sql.partition(" ")[0] for sql in statements] == ["CREATE", "DROP"]
    assert plan.working_table is not None


def test_without_a_working_table(file: str) -> None:
    plan, sent = plan_queries(file, None, "ward", working_table=False), []
    with connect(file, target="ward", working_table=False, on_query=sent.append) as oracle:
        tm.SimulatedBaggingClassifier(n_estimators=2, max_depth=1, random_state=0).fit(oracle)
    assert plan.working_table is None
    assert plan.n_queries(max_depth=1) == len(sent)


def test_the_queries_about_columns_are_those_sent(file: str) -> None:
    plan = plan_queries(file, None, "ward", ["age"], n_bins=4)
    sent: list[str] = []
    connect(file, target="ward", attributes=["age"], n_bins=4, on_query=sent.append).close()

    def without_table(sql: str) -> str:
        return " ".join("table" if "ibis_read" in word else word for word in sql.split())

    planned = [plan.target.query, *(column.query for column in plan.columns)]
    assert list(map(without_table, planned)) == list(map(without_table, sent))


def test_no_depth_no_number(file: str) -> None:
    assert plan_queries(file, None, "ward").n_queries(None) is None


def test_an_unknown_column_is_refused(file: str) -> None:
    with pytest.raises(UnknownTable, match="did you mean 'ward'"):
        plan_queries(file, None, "wrd")


def test_every_form_can_be_planned(file: str) -> None:
    by_column = plan_queries(file, None, "ward", form="group by")
    assert (by_column.form, by_column.queries_per_depth) == ("group by", 2)
    assert Path(file).exists()
