"""The check of a table: what it finds, what it leaves out, and what it does not take for a fault."""

from pathlib import Path

import numpy as np
import pytest

from tremula.lab.datasets.check import check_table
from tremula.lab.datasets.column import Column
from tremula.lab.datasets.errors import UnusableDataset
from tremula.lab.datasets.reader import Reading, read_data
from tremula.lab.datasets.schema import conform
from tremula.lab.datasets.tables import open_table

N = 40
RNG = np.random.default_rng(0)
Y = np.repeat(["no", "yes"], N // 2)[RNG.permutation(N)]
AGE = RNG.permutation(np.linspace(18.0, 79.5, N))


def numbers(values: object, kind: str = "number") -> Column:
    return Column(kind, np.asarray(values, dtype=np.float64))


def words(values: object) -> Column:
    levels, codes = np.unique(np.asarray(values), return_inverse=True)
    return Column("nominal", codes.astype(np.int32), levels.astype(object))


def kinds(columns: dict[str, Column], y: object = Y, task: str = "classification") -> dict[str, str]:
    """The kind of finding of each column; "rows" where there is none."""
    found_kinds = {}
    for finding in check_table({"age": numbers(AGE), **columns}, np.asarray(y), task):
        found_kinds |= dict.fromkeys(finding.columns or ("rows",), finding.kind)
    return found_kinds


@pytest.mark.parametrize(
    ("column", "kind"),
    [
        (numbers(np.arange(N)), "identifier"),
        (numbers(RNG.permutation(N) + 1000), "identifier"),
        (words([f"name {row}" for row in range(N)]), "identifier"),
        (words([f"town {row % 9}" for row in range(N)]), "ignored column"),
        (numbers(np.ones(N)), "constant"),
        (words(["DE"] * N), "constant"),
        (numbers(AGE), "copied column"),
        (numbers(np.where(Y == "yes", 1.0, 0.0)), "target leak"),
        (words(np.where(Y == "yes", "left", "stays")), "target leak"),
        (numbers(np.where(Y == "yes", 7.0, np.nan)), "target leak"),
        (numbers(np.sort(AGE), "date"), "time order"),
    ],
)
def test_a_misleading_column_is_found(column: Column, kind: str) -> None:
    assert kinds({"x": column}) == {"x": kind}


@pytest.mark.parametrize(
    "column",
    [
        numbers(np.arange(N) * 3.0 + RNG.permutation(N) / 7),  # a measurement in the order of the rows
        numbers(np.where(np.arange(N) < 2, np.nan, 1.0)),  # missing or not may matter
        words([f"town {row % 7}" for row in range(N)]),
        numbers(RNG.permutation(AGE), "date"),
    ],
)
def test_a_sound_column_is_not_blamed(column: Column) -> None:
    assert kinds({"x": column}) == {}


def test_a_number_named_as_identifier_is_one_if_it_never_repeats() -> None:
    scattered = RNG.permutation(10_000)[:N]
    assert kinds({"order_no": numbers(scattered)}) == {"order_no": "identifier"}
    assert kinds({"income": numbers(scattered)}) == {}
    assert kinds({"house_no": numbers(scattered % 7)}) == {}


def test_the_target_in_another_unit_gives_a_number_away() -> None:
    y = np.exp(AGE / 30)
    assert kinds({"x": numbers(1000 * y[::-1])}, y[::-1], "regression") == {"x": "target leak"}
    assert kinds({"x": numbers(y**2)}, y, "regression") == {}


def test_copied_rows_and_small_classes_are_found() -> None:
    town = words([f"town {row % 4}" for row in range(N)])
    copies = check_table({"town": town}, Y, "classification")
    assert [finding.kind for finding in copies] == ["copied rows"]
    assert "32 rows of 40" in copies[0].message
    y = np.where(np.arange(N) < 3, "rare", Y)
    assert kinds({}, y) == {"rows": "small class"}


def test_few_rows_are_not_judged() -> None:
    assert check_table({"x": numbers(np.arange(10))}, np.array([0, 1] * 5), "regression") == []


# --- from a file ---


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "rows.csv"
    lines = [f"{1000 + row},{AGE[row]},DE,{Y[row]}" for row in range(N)]
    path.write_text("\n".join(["customer_id,age,country,left", *lines]))
    return path


def attributes(reading: Reading) -> tuple[str, ...]:
    assert reading.schema.names == reading.dataset.attribute_names
    return reading.schema.names


def test_compare_and_fit_leave_out_what_the_check_says(table: Path) -> None:
    reading = read_data(str(table), check=True)
    assert attributes(reading) == ("age",)
    assert [finding.left_out for finding in reading.findings] == [True, True]
    assert attributes(read_data(str(table))) == ("customer_id", "age", "country")


def test_the_user_decides_otherwise(table: Path) -> None:
    reading = read_data(str(table), check=True, use=["customer_id"], drop=["country"])
    assert attributes(reading) == ("customer_id", "age")
    assert "it is used; --drop 'customer_id' leaves it out" in reading.findings[0].message
    with pytest.raises(UnusableDataset, match="no column 'customer'"):
        read_data(str(table), check=True, use=["customer"])


def test_a_check_never_leaves_out_every_column(table: Path) -> None:
    assert attributes(read_data(str(table), check=True, drop=["age"])) == ("customer_id", "country")


# --- dates and amounts ---


def read_lines(path: Path, *lines: str) -> Reading:
    (path / "rows.csv").write_text("\n".join(lines))
    return read_data(str(path / "rows.csv"))


@pytest.mark.parametrize(
    ("first", "second", "days"),
    [
        ("31/05/2024", "01/06/2024", 1.0),
        ("5/31/2024", "6/1/2024", 1.0),
        ("31.05.2024 08:00", "01.06.2024 20:00", 1.5),
        ("31 May 2024", "2 Jun 2024", 2.0),
        ('"May 31, 2024"', '"June 1, 2024"', 1.0),
        ("2024/05/31", "2024/06/30", 30.0),
        ("31-May-24", "01-Jun-24", 1.0),
    ],
)
def test_dates_are_read_in_common_forms(first: str, second: str, days: float, tmp_path: Path) -> None:
    reading = read_lines(tmp_path, "when,y", f"{first},a", f"{second},b")
    assert reading.dataset.X[1, 0] - reading.dataset.X[0, 0] == pytest.approx(days)
    assert reading.dataset.X[0, 0] == pytest.approx(19874, abs=0.5)


def test_dates_that_can_be_read_in_two_ways_are_said(tmp_path: Path) -> None:
    reading = read_lines(tmp_path, "when,y", "03/04/2024,a", "05/06/2024,b")
    assert reading.schema.kinds == ("date %d/%m/%Y",)
    assert any("the day was taken to come first" in note for note in reading.notes)
    sure = read_lines(tmp_path, "when,y", "03/14/2024,a", "05/06/2024,b")
    assert sure.schema.kinds == ("date %m/%d/%Y",)
    assert not any("two ways" in note for note in sure.notes)


def test_a_model_reads_later_dates_in_the_form_of_its_training_rows(tmp_path: Path) -> None:
    trained = read_lines(tmp_path, "when,y", "05/31/2024,a", "04/03/2024,b")
    (tmp_path / "new.csv").write_text("when\n04/03/2024\n")
    with open_table(str(tmp_path / "new.csv")) as relation:
        columns = relation.read(dates=trained.schema.date_forms)
        rows, _ = conform(columns, trained.schema, relation.source)
    assert rows.X[0, 0] == trained.dataset.X[1, 0]
    assert not relation.notes


@pytest.mark.parametrize(
    ("first", "second", "read"),
    [
        ('"$1,200.50"', "$7", [1200.5, 7.0]),
        ("1.200,50 €", "7 €", [1200.5, 7.0]),
        ("(12.5)", "EUR 3", [-12.5, 3.0]),
        ("15 %", "2.5%", [15.0, 2.5]),
        ('"1,234,567"', '"12"', [1234567.0, 12.0]),
    ],
)
def test_amounts_are_read_as_numbers(first: str, second: str, read: list[float], tmp_path: Path) -> None:
    reading = read_lines(tmp_path, "price;y", f"{first};a", f"{second};b")
    assert reading.dataset.X[:, 0].tolist() == read
    assert any("Amounts" in note for note in reading.notes)


@pytest.mark.parametrize(
    "codes",
    [("1.234.567", "2.345.678"), ("$5", "unknown"), ("12-34", "15-99"), ("31.05.2024", "June"), ("1.2.3", "1.2.4")],
)
def test_codes_are_not_taken_for_amounts_or_dates(codes: tuple[str, str], tmp_path: Path) -> None:
    assert read_lines(tmp_path, "x;y", f"{codes[0]};a", f"{codes[1]};b").schema.kinds == ("nominal",)


def test_a_word_below_the_sample_makes_amounts_words(tmp_path: Path) -> None:
    lines = [f"${row};{'ab'[row % 2]}" for row in range(6_000)]
    assert read_lines(tmp_path, "price;y", *lines).schema.kinds == ("number",)
    assert read_lines(tmp_path, "price;y", *lines, "item 7;a").schema.kinds == ("nominal",)


def test_two_identifiers_are_no_copies_of_each_other() -> None:
    both = {name: words([f"{name} {row}" for row in RNG.permutation(N)]) for name in ("key", "mail")}
    assert kinds(both) == {"key": "identifier", "mail": "identifier"}
