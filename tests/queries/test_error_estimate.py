"""The error on rows held out in a database: what was measured, that no row left, and that none of them was learned."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from tests.queries.tables import random_table

import tremula as tm
from tremula.errors import InvalidInput, InvalidParameter, QueryRefused
from tremula.queries import ArrayOracle, GuardedOracle, TableOracle, connect, estimate_error
from tremula.queries.error_estimate import PredictionOracle, measure_error, measure_guarded_error

ibis = pytest.importorskip("ibis")
duckdb = pytest.importorskip("duckdb")

NAMES = ["colour", "size", "flag", "with null", "weight"]
KINDS = {"again": tm.SimulatedBaggingClassifier, "cost": tm.SimulatedBaggingRegressor}


def model_for(target: str) -> Any:
    return KINDS[target](2, max_depth=2, random_state=0)


def different_rows(seed: int = 0, n_rows: int = 400) -> pd.DataFrame:
    """Make a table in which no two rows are alike."""
    table = random_table(seed, n_rows)
    return table.assign(size=table["size"] + 0.0, weight=np.random.default_rng(seed).normal(70, 9, n_rows))


@pytest.fixture(params=["duckdb", pytest.param("sqlite", marks=pytest.mark.slow)])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return write_table(request.param, tmp_path, different_rows())


def write_table(engine: str, folder: Path, table: pd.DataFrame) -> str:
    if engine == "duckdb":
        with duckdb.connect(str(folder / "rows.duckdb")) as connection:
            connection.register("frame", table)
            connection.execute("CREATE OR REPLACE TABLE rows AS SELECT * FROM frame")
        return f"duckdb://{folder}/rows.duckdb"
    connection = sqlite3.connect(folder / "rows.sqlite")
    table.to_sql("rows", connection, index=False, if_exists="replace")
    connection.close()
    return f"sqlite://{folder}/rows.sqlite"


def fetched(database: Any) -> pd.DataFrame:
    rows = database.table.to_pandas()
    return rows.assign(flag=rows["flag"].astype(bool)) if "flag" in rows else rows


def sorted_rows(table: pd.DataFrame) -> list[tuple[Any, ...]]:
    plain = table.astype(object).where(table.notna(), None)
    return sorted(tuple(map(str, row)) for row in plain.itertuples(index=False))


@pytest.mark.parametrize("target", list(KINDS))
def test_the_error_is_that_on_the_rows_held_out(url: str, target: str) -> None:
    with connect(url, "rows", target=target, attributes=NAMES) as oracle:
        training, held_out = oracle.hold_out(0.3, "a key")
        model = model_for(target).fit(training)
        estimate = measure_error(model, training, held_out)
        assert estimate == estimate_error(model, oracle, holdout=0.3, key="a key")
        rows, others = fetched(held_out._database), fetched(training._database)
    assert sorted_rows(pd.concat([rows, others])) == sorted_rows(different_rows())
    assert (estimate.n_held_out, estimate.n_training) == (len(rows), len(others))
    assert 80 < len(rows) < 160
    predicted, truth = predict(model, rows), rows[target]
    if target == "cost":
        squares = (truth - predicted) ** 2
        assert estimate.value == pytest.approx(np.sqrt(squares.mean()))
        low, high = np.square(estimate.interval)
        expected = stats.t.interval(0.95, len(rows) - 1, squares.mean(), stats.sem(squares))
        np.testing.assert_allclose([low, high], expected)
        constant = (truth - others[target].mean()) ** 2
        assert estimate.constant == pytest.approx(np.sqrt(constant.mean()))
        assert estimate.p_value == pytest.approx(stats.ttest_rel(constant, squares, alternative="greater").pvalue)
        return
    counts = pd.crosstab(truth, predicted).reindex(index=estimate.classes, columns=estimate.classes, fill_value=0)
    np.testing.assert_array_equal(estimate.confusion, counts)
    n_wrong = int((truth != predicted).sum())
    assert estimate.value == pytest.approx(n_wrong / len(rows))
    interval = stats.binomtest(n_wrong, len(rows)).proportion_ci(0.95, method="wilson")
    np.testing.assert_allclose(estimate.interval, interval)
    frequent = others[target].mode()[0]
    assert estimate.constant_prediction == frequent
    assert estimate.constant == pytest.approx((truth != frequent).mean())
    better, worse = (predicted == truth) & (truth != frequent), (predicted != truth) & (truth == frequent)
    n_decided = int(better.sum() + worse.sum())
    assert estimate.p_value == pytest.approx(
        stats.binomtest(int(better.sum()), n_decided, alternative="greater").pvalue
    )


def predict(model: Any, rows: pd.DataFrame) -> Any:
    return model.predict(rows[[attribute.name for attribute in model.schema_.attributes]])


@pytest.mark.parametrize("target", list(KINDS))
def test_rows_held_out_have_no_influence_on_the_model(target: str, tmp_path: Path) -> None:
    """Neither the targets of held-out rows, nor their values: the model is that of a table without them."""
    table = different_rows()
    oracle = TableOracle(ibis.memtable(table), target, NAMES)
    training, held_out = oracle.hold_out()
    model = model_for(target).fit(training)
    others = fetched(training._database)
    alone = model_for(target).fit(TableOracle(ibis.memtable(others), target, NAMES))
    assert model.members_ == alone.members_
    is_held_out = ~table["weight"].isin(others["weight"])
    assert is_held_out.sum() == len(fetched(held_out._database))
    permuted = table.copy()
    permuted.loc[is_held_out, target] = np.random.default_rng(0).permutation(permuted.loc[is_held_out, target])
    attacked = TableOracle(ibis.memtable(permuted), target, NAMES)
    other_training, other_rows = attacked.hold_out()
    assert model_for(target).fit(other_training).members_ == model.members_
    assert measure_error(model, other_training, other_rows).value > measure_error(model, training, held_out).value


@pytest.mark.parametrize("target", list(KINDS))
def test_only_counts_of_predictions_leave(url: str, target: str, monkeypatch: pytest.MonkeyPatch) -> None:
    answers: list[Any] = []
    from tremula.queries.sql import database

    for name in ("_run", "run_sql"):
        run = getattr(database.Database, name)

        def record(self: Any, *words: Any, run: Any = run) -> Any:
            answers.append(run(self, *words))
            return answers[-1]

        monkeypatch.setattr(database.Database, name, record)
    with connect(url, "rows", target=target, attributes=NAMES) as oracle:
        training, held_out = oracle.hold_out()
        model = model_for(target).fit(training)
        answers.clear()
        measure_error(model, training, held_out)
    assert len(answers) == 1
    if target == "again":
        assert answers[0].column_names == ["y", "prediction", "c"]
        assert answers[0].num_rows <= 9
        assert set(answers[0].column("prediction").to_pylist()) <= {"yes", "no", "maybe"}
    else:
        assert (answers[0].num_rows, answers[0].num_columns) == (1, 5)


def test_persons_are_held_out_whole_and_the_interval_is_wider() -> None:
    table = different_rows().assign(person=np.arange(400) // 4)
    options = {"attributes": NAMES, "person_id": "person"}
    oracle = TableOracle(ibis.memtable(table), "again", rows_per_person=4, **options)
    training, held_out = oracle.hold_out()
    persons = set(fetched(held_out._database)["person"])
    assert persons
    assert not persons & set(fetched(training._database)["person"])
    estimate = estimate_error(model_for("again"), oracle)
    n_rows = estimate.n_held_out
    assert n_rows == 4 * len(persons)
    z = stats.norm.ppf(0.975)
    roots = np.roots([1 + z**2 / len(persons), -2 * estimate.value - z**2 / len(persons), estimate.value**2])
    np.testing.assert_allclose(sorted(estimate.interval), sorted(roots.real))
    first = estimate_error(model_for("again"), TableOracle(ibis.memtable(table), "again", rows_per_person=1, **options))
    assert first.n_held_out == len(persons)


def test_a_bounded_target_is_measured_in_its_own_unit() -> None:
    table = different_rows()
    oracle = TableOracle(ibis.memtable(table), "cost", NAMES, target_bounds=(-1.0, 4.0))
    training, held_out = oracle.hold_out()
    model = model_for("cost").fit(training)
    estimate = measure_error(model, training, held_out)
    rows = held_out._database.source.to_pandas()
    places = np.floor((rows["cost"].clip(-1, 4) - 1.5) / 2.5 * 1000 + 0.5)
    errors = 1.5 + places / 1000 * 2.5 - model.predict(rows[NAMES])
    assert estimate.value == pytest.approx(np.sqrt((errors**2).mean()))


def test_rows_that_are_alike_are_told_apart_only_if_there_are_many() -> None:
    table = different_rows()
    few = pd.concat([table, table[:15]])
    training, held_out = TableOracle(ibis.memtable(few), "again", NAMES).hold_out()
    assert held_out.keeps_alike
    assert not set(fetched(held_out._database)["weight"]) & set(fetched(training._database)["weight"])
    many = pd.concat([table[["colour", "flag", "again"]]] * 5)
    oracle = TableOracle(ibis.memtable(many), "again")
    training, held_out = oracle.hold_out(0.3)
    assert (held_out.keeps_alike, held_out.n_rows, held_out.n_different) == (False, 2000, 6)
    rows, others = fetched(held_out._database), fetched(training._database)
    assert sorted_rows(pd.concat([rows, others])) == sorted_rows(many)
    assert len(rows) == pytest.approx(600, abs=3 * np.sqrt(2000 * 0.3 * 0.7))
    for _, group in rows.groupby(list(rows.columns)):
        n_all = (many == group.iloc[0]).all(axis=1).sum()
        assert stats.binomtest(len(group), int(n_all), 0.3).pvalue > 1e-4


def test_levels_and_classes_of_held_out_rows_only() -> None:
    table = different_rows()
    _, held_out = TableOracle(ibis.memtable(table), "again", NAMES).hold_out()
    row = table["weight"] == fetched(held_out._database)["weight"].iloc[0]
    table.loc[row, "again"] = "never seen"
    estimate = estimate_error(model_for("again"), TableOracle(ibis.memtable(table), "again", NAMES))
    place = estimate.classes.index("never seen")
    assert estimate.confusion[place].sum() == 1
    assert estimate.confusion[:, place].sum() == 0


def test_names_of_the_query_may_be_names_of_columns() -> None:
    new_names = dict(zip(NAMES, ["prediction", "p0", "y", "margin_n", "C"]))
    connection = ibis.duckdb.connect()
    table = connection.create_table("rows held out by tremula", different_rows().rename(columns=new_names))
    estimate = estimate_error(model_for("again"), TableOracle(table, "again", list(new_names.values())))
    expected = estimate_error(model_for("again"), TableOracle(ibis.memtable(different_rows()), "again", NAMES))
    assert estimate.confusion.tolist() == expected.confusion.tolist()


def test_a_lost_connection_is_opened_again(tmp_path: Path) -> None:
    url = write_table("sqlite", tmp_path, different_rows())
    with connect(url, "rows", target="again", attributes=NAMES) as oracle:
        expected = estimate_error(model_for("again"), oracle)
        training, held_out = oracle.hold_out()
        oracle._database.backend.con.close()
        model = model_for("again").fit(training)
        training._database.backend.con.close()
        assert measure_error(model, training, held_out) == expected


class TestGuard:
    @pytest.fixture
    def parts(self) -> Any:
        return TableOracle(ibis.memtable(different_rows(n_rows=800)), "again", NAMES).hold_out(0.5, keep_alike=False)

    def test_right_and_wrong_predictions_go_through_the_guard(self, parts: Any) -> None:
        training, held_out = parts
        guarded = GuardedOracle(training, min_count=5)
        model = model_for("again").fit(guarded)
        exact = measure_error(model, training, held_out)
        guard = GuardedOracle(PredictionOracle(model, held_out), min_count=5)
        estimate = measure_guarded_error(guard, guarded, held_out)
        assert (estimate.value, estimate.n_held_out, estimate.confusion) == (exact.value, exact.n_held_out, None)
        rounding = GuardedOracle(PredictionOracle(model, held_out), min_count=5, round_to=10)
        assert measure_guarded_error(rounding, guarded, held_out).n_held_out % 10 == 0

    def test_few_errors_are_not_disclosed(self, parts: Any) -> None:
        training, held_out = parts
        model = model_for("again").fit(training)
        n_wrong = int(measure_error(model, training, held_out).value * 400)
        guard = GuardedOracle(PredictionOracle(model, held_out), min_count=n_wrong + 50)
        with pytest.raises(QueryRefused, match="too small to be disclosed"):
            measure_guarded_error(guard, training, held_out)

    def test_a_numeric_target_is_refused(self) -> None:
        training, held_out = TableOracle(ibis.memtable(different_rows()), "cost", NAMES).hold_out()
        with pytest.raises(InvalidInput, match="numeric target"):
            PredictionOracle(model_for("cost").fit(training), held_out)


@pytest.mark.parametrize("share", [0.0, -1, 1.0, "half"])
def test_a_share_is_above_0_and_leaves_rows(share: Any) -> None:
    with pytest.raises(InvalidParameter, match="share="):
        TableOracle(ibis.memtable(different_rows()), "again", NAMES).hold_out(share)


def test_other_oracles_say_that_they_hold_out_no_rows() -> None:
    table = different_rows()
    oracle = ArrayOracle(table[["colour"]], table["again"])
    with pytest.raises(InvalidInput, match="ArrayOracle cannot hold rows out"):
        estimate_error(model_for("again"), oracle)
    with pytest.raises(InvalidInput, match="GuardedOracle cannot hold rows out"):
        estimate_error(model_for("again"), GuardedOracle(oracle))


def test_too_few_rows_held_out() -> None:
    oracle = TableOracle(ibis.memtable(different_rows(n_rows=30)), "again", NAMES)
    with pytest.raises(InvalidInput, match="hold out a larger share"):
        estimate_error(model_for("again"), oracle, holdout=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("is_nominal", [False, True])
def test_the_estimate_is_unbiased_and_its_interval_covers(is_nominal: bool) -> None:
    """Tables drawn anew: the estimate against the error of the same model on fresh rows."""
    covered, differences = [], []
    for seed in range(24):
        table, fresh = visits(3 * seed, 500, is_nominal), visits(3 * seed + 1, 20000, is_nominal)
        training, held_out = TableOracle(ibis.memtable(table), "again").hold_out(0.3, str(seed))
        assert held_out.keeps_alike is not is_nominal
        model = tm.SimulatedBaggingClassifier(2, max_depth=2, random_state=seed).fit(training)
        estimate, truth = measure_error(model, training, held_out), (predict(model, fresh) != fresh["again"]).mean()
        differences.append(estimate.value - truth)
        covered.append(estimate.interval[0] <= truth <= estimate.interval[1])
    assert abs(np.mean(differences)) < 3 * stats.sem(differences)
    assert stats.binomtest(int(np.sum(covered)), len(covered), 0.95).pvalue > 0.001


def visits(seed: int, n_rows: int, is_nominal: bool) -> pd.DataFrame:
    random = np.random.default_rng(seed)
    table = pd.DataFrame(
        {"ward": random.choice(["heart", "bone", "skin"], n_rows), "alone": random.random(n_rows) < 0.4}
    )
    if not is_nominal:
        table["age"] = random.normal(60, 15, n_rows)
    risk = 0.1 + 0.4 * (table["ward"] == "heart") + 0.3 * table["alone"]
    return table.assign(again=np.where(random.random(n_rows) < risk, "yes", "no"))


@pytest.fixture
def postgres_url() -> Iterator[str]:
    psycopg = pytest.importorskip("psycopg", reason="psycopg is not installed")
    url = os.environ.get("TREMULA_POSTGRES")
    if not url:
        pytest.skip("TREMULA_POSTGRES is not set: it has the URL of a PostgreSQL server to test with")
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("DROP TABLE IF EXISTS held_out_rows")
        connection.execute(
            'CREATE TABLE held_out_rows (colour text, size float8, flag bool, "with null" text, again text, '
            "cost float8, weight float8)"
        )
        for row in different_rows().itertuples(index=False):
            values = [None if pd.isna(value) else value for value in row]
            connection.execute("INSERT INTO held_out_rows VALUES (%s, %s, %s, %s, %s, %s, %s)", values)
        yield url
        connection.execute("DROP TABLE held_out_rows")


def assert_counted_alike(oracle: TableOracle, target: str, keep_alike: bool) -> None:
    training, held_out = oracle.hold_out(0.3, keep_alike=keep_alike)
    model = model_for(target).fit(training)
    estimate = measure_error(model, training, held_out)
    rows = fetched(held_out._database)
    assert estimate.n_held_out == len(rows)
    assert estimate.n_held_out + estimate.n_training == 400
    wrong = predict(model, rows) - rows[target] if target == "cost" else predict(model, rows) != rows[target]
    assert estimate.value == pytest.approx(np.sqrt((wrong**2).mean()) if target == "cost" else wrong.mean())


@pytest.mark.postgres
@pytest.mark.parametrize("keep_alike", [True, False])
@pytest.mark.parametrize("target", list(KINDS))
def test_postgres(postgres_url: str, target: str, keep_alike: bool) -> None:
    with connect(postgres_url, "held_out_rows", target=target, attributes=NAMES) as oracle:
        assert_counted_alike(oracle, target, keep_alike)


@pytest.mark.spark
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("target", "keep_alike"), [("again", True), ("cost", False)])
def test_spark(spark: Any, tmp_path: Path, target: str, keep_alike: bool) -> None:
    different_rows().to_parquet(tmp_path / "rows.parquet")
    table = ibis.pyspark.connect(spark).read_parquet(str(tmp_path / "rows.parquet"), table_name="held_out_rows")
    assert_counted_alike(TableOracle(table, target, NAMES), target, keep_alike)


@pytest.mark.parametrize("confidence", [0.0, 1.0, 1.5, np.nan, np.inf, "0.9", None])
def test_a_confidence_without_an_interval_is_refused(confidence: Any) -> None:
    """Above 1 the bounds were NaN."""
    with pytest.raises(InvalidParameter, match="confidence="):
        estimate_error(None, None, confidence=confidence)
