"""Rows as people have them: what is read, what is guessed, what is said, and what is refused."""

import os
from datetime import date, datetime
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tremula.errors import ColumnMismatch, QueryFailed, UnknownTable
from tremula.lab.datasets import UnknownDataset, UnusableDataset
from tremula.lab.datasets.description import describe_dataset
from tremula.lab.datasets.formats import delimited, relation
from tremula.lab.datasets.reader import Reading, read_data
from tremula.lab.datasets.schema import conform
from tremula.lab.datasets.tables import open_table

PATIENTS = ["age,colour,outcome", "30,red,ill", "40,blue,well", "50,red,ill", "60,,well"]


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("TREMULA_DATA", raising=False)


def write(name: str, lines: list[str], encoding: str = "utf-8") -> str:
    Path(name).write_text("\n".join(lines), encoding=encoding)
    return name


def read(lines: list[str], **options: Any) -> Reading:
    return read_data(write("table.csv", lines), **options)


def numbered(header: str, *values: Any) -> list[str]:
    return [header, *(f"{number},{value}" for number, value in enumerate(values))]


# --- files of every kind give the same ---


def same_as_csv(reading: Reading) -> None:
    expected = read(PATIENTS)
    np.testing.assert_array_equal(reading.dataset.X, expected.dataset.X)
    assert reading.dataset.y.tolist() == ["ill", "well", "ill", "well"]
    assert reading.schema.names == ("age", "colour")
    assert reading.schema.kinds == ("number", "nominal")
    assert reading.schema.levels == (None, ("blue", "red"))


def patients_in_arrow() -> pa.Table:
    colours = pa.array(["red", "blue", "red", None]).dictionary_encode()
    return pa.table({"age": [30, 40, 50, 60], "colour": colours, "outcome": ["ill", "well", "ill", "well"]})


def test_parquet() -> None:
    pq.write_table(patients_in_arrow(), "table.parquet")
    same_as_csv(read_data("table.parquet"))


def test_arff() -> None:
    lines = ["% of Weka", "@relation patients", "@attribute age numeric", "@attribute 'colour' {red, blue}"]
    data = ["@attribute outcome {ill,well}", "", "@data", "30,red,ill", "40,'blue',well", "50,red,ill", "60,?,well"]
    same_as_csv(read_data(write("table.arff", [*lines, *data])))


def test_a_name_without_end_is_refused() -> None:
    with pytest.raises(UnusableDataset, match=r"column names of table\.csv cannot be read \(field larger"):
        read_data(write("table.csv", ["x" * 200_000 + ",kind", "1,a", "2,b"]))


def test_sparse_arff_leaves_out_zeros() -> None:
    lines = ["@relation r", "@attribute a numeric", "@attribute b numeric", "@attribute c {x,y}", "@data"]
    reading = read_data(write("table.arff", [*lines, "{0 5}", "{1 2, 2 y}"]))
    assert reading.dataset.X.tolist() == [[5, 0], [0, 2]]
    assert reading.dataset.y.tolist() == ["x", "y"]


SPARSE = ["@relation r", "@attribute a numeric", "@attribute b {'no, never', yes}", "@attribute c {x,y}", "@data"]


def test_sparse_arff_with_a_comma_in_a_value() -> None:
    reading = read_data(write("table.arff", [*SPARSE, "{0 5, 1 yes}", "{0 3 , 1 'no, never', 2 y}", "{}"]))
    assert reading.schema.levels[1] == ("no, never", "yes")
    assert reading.dataset.X.tolist() == [[5, 1], [3, 0], [0, 0]]


@pytest.mark.parametrize("row", ["{3 1}", "{a 1}", "{-1 x}", "{1}", "{0 5", "{0 5}, {2}", "{" + "9" * 5000 + " 1}"])
def test_sparse_arff_with_a_bad_pair_is_refused(row: str) -> None:
    with pytest.raises(UnusableDataset, match=r"row 2 of table\.arff is .* from 0 to 2"):
        read_data(write("table.arff", [*SPARSE, "{0 5, 2 y}", row]))


@pytest.mark.parametrize(
    "place",
    [
        "duckdb://h.duckdb#patients",
        "duckdb://h.duckdb/patients",
        "h.duckdb#patients",
        "duckdb://{folder}/h.duckdb#patients",
    ],
)
def test_a_table_of_duckdb(place: str) -> None:
    pq.write_table(patients_in_arrow(), "table.parquet")
    with duckdb.connect("h.duckdb") as connection:
        connection.execute("CREATE TABLE patients AS SELECT * FROM 'table.parquet'")
    reading = read_data(place.format(folder=Path().absolute()))
    same_as_csv(reading)
    assert reading.dataset.name == "patients"


def test_the_only_table_of_a_database_is_taken_and_that_is_said() -> None:
    with duckdb.connect("h.duckdb") as connection:
        connection.execute("CREATE TABLE rows AS SELECT range AS a, range % 2 AS b FROM range(10)")
    assert "The table is 'rows', the only one of h.duckdb." in read_data("h.duckdb").notes


@pytest.mark.parametrize(
    ("place", "message"),
    [
        ("duckdb://h.duckdb", "has 2 tables .* write the table behind it"),
        ("duckdb://h.duckdb#patient", "did you mean 'patients'"),
        ("duckdb://nowhere.duckdb#patients", "no database file"),
        ("sqlite://nowhere.db", "no table of .* was given"),
    ],
)
def test_a_table_that_is_not_there(place: str, message: str) -> None:
    with duckdb.connect("h.duckdb") as connection:
        connection.execute("CREATE TABLE patients AS SELECT 1 AS a; CREATE TABLE others AS SELECT 1 AS a")
    with pytest.raises(UnknownTable, match=message):
        read_data(place)


def test_a_file_that_is_no_database() -> None:
    Path("h.duckdb").write_text("nothing of the kind, but long enough to be looked at")
    with pytest.raises(QueryFailed, match="cannot be read by DuckDB"):
        read_data("h.duckdb#patients")


def test_sqlite_through_ibis() -> None:
    import sqlite3

    connection = sqlite3.connect("base.db")
    connection.execute("CREATE TABLE rows (a REAL, b TEXT)")
    connection.executemany("INSERT INTO rows VALUES (?, ?)", [(1.5, "x"), (None, "y"), (2.5, "x")])
    connection.commit()
    connection.close()
    reading = read_data(f"sqlite://{Path('base.db').absolute()}#rows")
    assert reading.dataset.y.tolist() == ["x", "y", "x"]


@pytest.mark.postgres
def test_a_table_of_postgresql() -> None:
    url = os.environ.get("TREMULA_POSTGRES")
    if not url:
        pytest.skip("TREMULA_POSTGRES is not set: it has the URL of a PostgreSQL server to test with")
    import psycopg

    with psycopg.connect(url) as connection:
        connection.execute("DROP TABLE IF EXISTS compared")
        connection.execute("CREATE TABLE compared (age integer, colour text, outcome text)")
        rows = [(30, "red", "ill"), (40, "blue", "well"), (50, "red", "ill"), (60, None, "well")]
        connection.cursor().executemany("INSERT INTO compared VALUES (%s, %s, %s)", rows)
    same_as_csv(read_data(f"{url}#compared"))


# --- text as programs write it ---


@pytest.mark.parametrize(
    ("separator", "said"), [(";", "semicolons"), ("\t", "tabs"), ("|", "bars")], ids=["semicolon", "tab", "bar"]
)
def test_other_separators_are_found(separator: str, said: str) -> None:
    reading = read([line.replace(",", separator) for line in PATIENTS])
    assert reading.dataset.X.shape == (4, 2)
    assert f"table.csv has {said} between its values." in reading.notes


def test_decimal_commas_are_read_beside_semicolons() -> None:
    reading = read(["size;kind", "1,5;a", "2;b", ";a"])
    np.testing.assert_array_equal(reading.dataset.X[:, 0], [1.5, 2, np.nan])
    assert "Decimal commas were read in 1 column: 'size'." in reading.notes


def test_windows_text_is_read_and_that_is_said() -> None:
    reading = read_data(write("table.csv", ["ville,kind", "Orléans,a", "Nîmes,b"], "cp1252"))
    assert reading.schema.levels[0] == ("Nîmes", "Orléans")
    assert "Windows-1252" in reading.notes[0]


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_marks_of_the_encoding_are_no_part_of_a_name(encoding: str) -> None:
    assert read_data(write("table.csv", PATIENTS, encoding)).schema.names == ("age", "colour")


def test_utf_32_is_refused() -> None:
    Path("table.csv").write_bytes("\n".join(PATIENTS).encode("utf-32"))
    with pytest.raises(UnusableDataset, match="is in UTF-32: save it as CSV in UTF-8"):
        read_data("table.csv")


def test_more_columns_than_one_query_fetches() -> None:
    numbers = np.arange(3.0 * 1203).reshape(3, 1203)
    names = [f"c{number}" for number in range(1203)]
    rows = [",".join([*("" if value == 7 else f"{value}" for value in row), "abc"[n]]) for n, row in enumerate(numbers)]
    Path("table.csv").write_text("\n".join([",".join([*names, "y"]), *rows]))
    dataset = read_data("table.csv", "y").dataset
    assert dataset.attribute_names == tuple(names)
    np.testing.assert_array_equal(dataset.X, np.where(numbers == 7, np.nan, numbers))


def test_text_in_utf_16_that_was_cut_is_refused() -> None:
    Path("table.csv").write_bytes("\n".join(PATIENTS).encode("utf-16")[:-1])
    with pytest.raises(UnusableDataset, match="in UTF-16, but damaged or cut"):
        read_data("table.csv")


def test_a_line_of_endless_letters_is_refused() -> None:
    assert len(read(["size,kind", f"{'x' * 140_000},a", "2,b"]).schema.levels[0][1]) == 140_000
    with pytest.raises(UnusableDataset, match="a line of more than two million characters"):
        read(["size,kind", f"{'x' * 3_000_000},a", "2,b"])


def test_line_ends_may_differ() -> None:
    Path("table.csv").write_bytes(b"size,kind\n1,a\r\n2,b\n\n3,b\r\n")
    assert read_data("table.csv").dataset.X.tolist() == [[1], [2], [3]]


def test_quoted_values_may_hold_separators_quotes_and_line_ends() -> None:
    reading = read(['word,"the, kind"', '"a,b",x', '"say ""a""",y', '"two', 'lines",x'])
    assert reading.schema.levels[0] == ("a,b", 'say "a"', "two\nlines")
    assert reading.schema.target == "the, kind"


def test_names_that_differ_in_case_only_are_two_columns() -> None:
    assert read(["size,Size,kind", "1,2,a", "3,4,b"]).dataset.X.tolist() == [[1, 2], [3, 4]]


@pytest.mark.parametrize("late", ["", "?", " NA ", "word", "7", "2024-01-01"])
def test_what_stands_far_down_counts_as_much(late: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The kinds of columns are guessed by a sample, and that must not show."""
    lines = ["empty,size,day,kind", *(f",{n},2024-01-0{n},{'ab'[n % 2]}" for n in range(1, 9))]
    lines.append(f"{late},{late},{late},a")
    expected = read(lines)
    monkeypatch.setattr(relation, "SAMPLE", 4)
    sampled = read(lines)
    assert vars(sampled.schema) == vars(expected.schema)
    assert sampled.notes == expected.notes
    np.testing.assert_array_equal(sampled.dataset.X, expected.dataset.X)


NASTY_VALUES = (
    " 12 ", '"12"', '" 12"', "1e3", "+4", "-0", ".5", "5.", "1_000", "0x1F", "12abc", "1 000", "infinity", "1e400",
    "NA", " NA ", '"NA"', "?", "nan", "NaN", "null", "", '""', " ", "true", "2024-05-31", "0.10000000000000005",
)  # fmt: skip


@pytest.mark.parametrize("rare", [pytest.param(False, marks=pytest.mark.slow), True])
def test_numbers_that_the_scan_parses_are_those_that_are_looked_at_one_by_one(
    rare: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A rare value is not in the sample, nor its word for a missing value at the beginning of the file.
    monkeypatch.setattr(relation, "SAMPLE", 3)
    monkeypatch.setattr(delimited, "BLOCK", 16)
    for value in NASTY_VALUES:
        rows = ["1,a", "2,b", "3,c", "4.5,b", f"{value},a"]
        path = Path(write("table.csv", ["x,word", *(rows if rare else rows[::-1])]))
        with delimited.open_delimited(path) as quick:
            columns = quick.read()
        with delimited.open_delimited(path) as careful:
            careful.parsed = lambda numeric: []
            expected = careful.read()
        for name, column in columns.items():
            assert column.kind == expected[name].kind, value
            np.testing.assert_array_equal(column.values, expected[name].values, value)
            assert (column.levels is None) == (expected[name].levels is None)
            assert column.levels is None or column.levels.tolist() == expected[name].levels.tolist(), value


def test_words_are_cleaned_and_missing_ones_have_no_level() -> None:
    reading = read(["word,y", " a,1", "a ,2", "NA,1", " NA ,2", "b,1", '" b",2', ",1", "?,2"])
    assert [level.tolist() for level in reading.dataset.levels] == [["a", "b"]]
    np.testing.assert_array_equal(reading.dataset.X[:, 0], [0, 0, np.nan, np.nan, 1, 1, np.nan, np.nan])


def test_long_lines_of_short_values_are_read() -> None:
    names = ",".join(f"c{number}" for number in range(300))
    one, two = (f"{digit}.{'0' * 450}," * 299 for digit in (1, 2))
    assert read([names, f"{one}a", f"{two}b"]).dataset.X.shape == (2, 299)


def test_numbers_of_rows_that_pandas_writes_are_left_out() -> None:
    reading = read([",size,kind", "0,5,a", "1,6,b"])
    assert reading.schema.names == ("size",)


# --- what columns are ---


def test_dates_become_days() -> None:
    reading = read(["day,kind", "1970-01-02,a", "1970-01-03 12:00,b", ",a"])
    np.testing.assert_array_equal(reading.dataset.X[:, 0], [1, 2.5, np.nan])
    assert reading.schema.kinds == ("date",)
    assert "Column 'day' holds dates: trees divide it into earlier and later." in reading.notes


def test_dates_are_told_and_shown_as_dates() -> None:
    reading = read(["day,size,kind", "31/05/2024,1,a", "01/06/2024,2,b", ",3,a", "13/06/2024,3,a"])
    dataset = reading.dataset
    assert dataset.dates == (0,)
    assert [dataset.value(row, 0) for row in range(3)] == ["2024-05-31", "2024-06-01", None]
    described = describe_dataset(dataset)["attributes"][0]
    assert (described["kind"], described["smallest"], described["median"]) == ("date", "2024-05-31", "2024-06-01")
    assert read_data("table.csv", drop=["day"]).dataset.dates == ()


@pytest.mark.parametrize("dash", ["-", "--", ".", "\N{EN DASH}"])
def test_a_dash_among_numbers_is_a_missing_one(dash: str) -> None:
    reading = read(["size,kind", "1.5,a", f"{dash},b", "2,a"])
    np.testing.assert_array_equal(reading.dataset.X[:, 0], [1.5, np.nan, 2])
    assert "A dash or point alone counts as missing in 1 column: 'size'." in reading.notes


def test_a_dash_among_words_or_in_most_rows_is_a_level() -> None:
    reading = read(["answer,often,kind", "yes,-,a", "-,-,b", "no,1,a"])
    assert reading.dataset.nominal == (0, 1)
    assert "-" in reading.dataset.level_names(0)


def test_a_column_without_a_name_gets_one_that_can_be_given() -> None:
    lines = ["size,,column2,kind", "1,4,x,a", "2,9,y,b", "3,1,x,a"]
    reading = read(lines)
    assert reading.dataset.attribute_names == ("size", "column2_", "column2")
    assert "Column 2 has no name: it is called 'column2_'." in reading.notes
    assert read(lines, drop=["column2_"]).dataset.attribute_names == ("size", "column2")


def test_dates_and_truth_values_of_parquet() -> None:
    columns = {
        "day": [date(1970, 1, 2), None],
        "at": [datetime(1970, 1, 1, 6), None],
        "on": [True, False],
        "y": ["a", "b"],
    }
    pq.write_table(pa.table(columns), "table.parquet")
    reading = read_data("table.parquet")
    assert reading.schema.kinds == ("date", "date", "nominal")
    np.testing.assert_array_equal(reading.dataset.X[0], [1, 0.25, 1])


def test_a_column_of_missing_values_is_left_out_and_that_is_said() -> None:
    reading = read(["empty,size,kind", ",1,a", "NA,2,b"])
    assert reading.schema.names == ("size",)
    assert "Column 'empty' is missing in every row: it was left out." in reading.notes


def test_huge_whole_numbers_are_read_and_noted() -> None:
    reading = read(["key,kind", f"{10**25},a", f"{10**25 + 1},b"])
    assert reading.dataset.X[0, 0] == 1e25
    assert "above 2^53" in reading.notes[0]


def test_a_name_of_the_row_is_noted() -> None:
    reading = read(["name,kind", *(f"person {number},{'ab'[number % 2]}" for number in range(30))])
    assert "--drop 'name' removes it" in reading.notes[0]


def test_a_word_among_numbers_is_noted() -> None:
    reading = read(["size,kind", "much,a", *(f"{number},{'ab'[number % 2]}" for number in range(9))])
    assert reading.schema.kinds == ("nominal",)
    assert "Column 'size' holds numbers, but also 'much'" in reading.notes[0]


def test_columns_can_be_left_out() -> None:
    assert read(PATIENTS, drop=["colour"]).schema.names == ("age",)


def test_rows_without_a_target_are_left_out_and_that_is_said() -> None:
    reading = read(["size,kind", "1,a", "2,", "3,b"])
    assert reading.dataset.y.tolist() == ["a", "b"]
    assert "is missing in 1 row, which was left out" in reading.notes[0]


def test_a_category_of_numbers_in_parquet_is_nominal() -> None:
    grades = pa.DictionaryArray.from_arrays(pa.array([1, 0, 1, None]), pa.array([10, 9]))
    pq.write_table(pa.table({"grade": grades, "size": [1, 2, 3, 4], "kind": ["a", "b", "a", "b"]}), "table.parquet")
    reading = read_data("table.parquet")
    assert reading.schema.levels == (("10", "9"), None)
    np.testing.assert_array_equal(reading.dataset.X[:, 0], [1, 0, 1, np.nan])


def test_text_in_parquet_is_nominal_though_it_holds_digits() -> None:
    pq.write_table(pa.table({"code": ["1", "2", "NA"], "kind": ["a", "b", "a"]}), "table.parquet")
    assert read_data("table.parquet").schema.levels == (("1", "2", "NA"),)


# --- what is guessed ---


@pytest.mark.parametrize(("header", "target"), [("a,Class,b", "Class"), ("target,class,b", "target"), ("a,b,c", "c")])
def test_the_target_is_guessed(header: str, target: str) -> None:
    reading = read([header, "1,1,1", "2,2,2", "3,1,2", "4,2,1"])
    assert reading.schema.target == target
    assert repr(target) in reading.guesses[0]


@pytest.mark.parametrize(
    ("values", "task", "said"),
    [
        (["a", "b"], "classification", "holds words"),
        ([0, 1], "classification", "2 different whole numbers"),
        ([0.5, 1, 2], "regression", "numbers such as 0.5"),
        ([1, 2, 3] * 3, "classification", "3 different whole numbers in 9 rows"),
        ([1, 2, 3], "regression", "--task classification makes each a class"),
        (range(30), "regression", "30 different whole numbers"),
        ([1.0, 0.0], "classification", "whole numbers"),
    ],
)
def test_the_task_is_guessed(values: list[Any], task: str, said: str) -> None:
    reading = read(numbered("size,kind", *values))
    assert reading.dataset.task == task
    assert said in reading.guesses[1]


def test_a_task_that_is_given_is_not_guessed() -> None:
    reading = read(numbered("size,kind", 0, 1), task="regression", target="kind")
    assert reading.dataset.y.dtype == np.float64
    assert reading.guesses == ()


# --- what is refused ---


@pytest.mark.parametrize(
    ("lines", "options", "message"),
    [
        (PATIENTS, {"target": "outcom"}, "did you mean 'outcome'"),
        (PATIENTS, {"target": "price"}, r"no column 'price' in table.csv \(has 'age', 'colour', 'outcome'\)"),
        (PATIENTS, {"drop": ["shape"]}, "no column 'shape'"),
        (
            PATIENTS,
            {"task": "regression"},
            r"\(such as 'ill'\) holds classes, not numbers",
        ),
        (
            numbered("size,kind", 0.5, 1.5),
            {"task": "classification"},
            "holds numbers, not classes: ask for .*'regression'",
        ),
        (numbered("size,kind", "a", "a"), {}, "has 1 class in 2 rows"),
        (numbered("size,kind", 2.5, 2.5), {}, "is 2.5 in every row"),
        (numbered("size,kind", "", "NA"), {}, "is missing in every row"),
        (numbered("size,day", "2024-01-01", "2024-01-02"), {"target": "day"}, "."),
        (["kind", "a", "b"], {}, "has 1 column: a target and at least one attribute"),
        (["empty,kind", ",a", ",b"], {}, "no attribute with a value"),
        (["size,size,kind", "1,2,a", "2,3,b"], {}, "has two columns named 'size'"),
        (["size,kind", "1,a", "2"], {}, "line 3 of table.csv has 1 values, but there are 2 columns"),
        (["size,kind", "inf,a", "2,b"], {}, "column 'size' of table.csv is infinite .* in row 1"),
        (["size,kind", '1,"a', "2,b"], {}, "quotation mark"),
        (["size,kind"], {}, "has no rows"),
        ([""], {}, "has no lines"),
    ],
)
def test_what_cannot_be_used_is_refused(lines: list[str], options: dict[str, Any], message: str) -> None:
    if message == ".":  # dates in words are classes like other words
        assert read(lines, **options).dataset.task == "classification"
        return
    with pytest.raises(UnusableDataset, match=message):
        read(lines, **options)


def test_dates_of_parquet_are_no_target() -> None:
    pq.write_table(pa.table({"a": [1, 2], "day": [date(2024, 1, 1), date(2024, 1, 2)]}), "table.parquet")
    with pytest.raises(UnusableDataset, match="holds dates"):
        read_data("table.parquet")


def test_lists_are_no_values() -> None:
    pq.write_table(pa.table({"a": [[1], [2]], "b": ["x", "y"]}), "table.parquet")
    with pytest.raises(UnusableDataset, match=r"column 'a' .* has the type BIGINT\[\].* --drop 'a'"):
        read_data("table.parquet")


def test_files_that_are_not_there_or_of_another_kind() -> None:
    with pytest.raises(UnknownDataset, match=r"no file 'nowhere\.csv'"):
        read_data("nowhere.csv")
    Path("table.xlsx").write_bytes(b"PK")
    with pytest.raises(UnusableDataset, match=r"ends in '\.xlsx'"):
        read_data("table.xlsx")
    Path("table.csv").write_bytes(b"a\0b\0")
    with pytest.raises(UnusableDataset, match="not a text file"):
        read_data("table.csv")
    with pytest.raises(UnusableDataset, match="--table rows was given"):
        read_data("table.csv", table="rows")
    with pytest.raises(UnusableDataset, match="download the file"):
        read_data("https://example.org/table.csv")


# --- rows to predict for ---


def schema_of_patients() -> Any:
    return read(["age,colour,seen,outcome", "30,red,2024-01-01,ill", "40,blue,2024-01-02,well"]).schema


def conformed(lines: list[str]) -> tuple[Any, list[str]]:
    schema = schema_of_patients()
    with open_table(write("new.csv", lines)) as relation:
        return conform(relation.read(as_words=["colour"]), schema, "new.csv")


def test_columns_are_found_by_name_and_levels_by_word() -> None:
    rows, notes = conformed(["seen,colour,more,age", "1970-01-02,red,x,5", ",blue,y,"])
    np.testing.assert_array_equal(rows.X, [[5, 1, 1], [np.nan, 0, np.nan]])
    assert notes == []


def test_a_level_that_is_new_counts_as_missing_and_that_is_said() -> None:
    rows, notes = conformed(["age,colour,seen", "5,green,"])
    assert np.isnan(rows.X[0, 1])
    assert notes == ["Column 'colour' has levels that training did not have ('green'): they count as missing."]


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (
            ["ages,colour,seen", "5,red,"],
            "new.csv lacks column 'age', which the model was trained on: did you mean 'ages'",
        ),
        (["x", "5"], "lacks columns 'age', 'colour', 'seen', which the model was trained on: add them"),
        (["age,colour,seen", "5,red,", "old,red,"], "column 'age' of new.csv has 'old' in row 2, but .* numbers"),
        (["age,colour,seen", "5,red,soon"], "column 'seen' of new.csv has 'soon' in row 1, but .* dates"),
        (["age,colour,seen", "inf,red,"], "infinite in row 1"),
    ],
)
def test_rows_that_do_not_fit_are_refused(lines: list[str], message: str) -> None:
    with pytest.raises(ColumnMismatch, match=message):
        conformed(lines)
