"""The table of a file that `tremula query` counts in has the columns that `read_data` gives."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tremula.lab.datasets import UnusableDataset
from tremula.lab.datasets.reader import read_data
from tremula.lab.datasets.typed_table import open_typed_table
from tremula.queries import TableOracle
from tremula.queries.sql.database import duckdb_table

NASTY = {
    "missing words": "size,word,empty,y\n1,a,,u\nNA,?,,v\n 3 , NA ,NA,u\n,b,?,v\n",
    "missing target": "size,word,y\n1,a,u\n2,only here,\n3,b,v\n4,a,NA\n",
    "decimal commas": "size;word;y\n1,5;a;u\n2;b;v\n,5;a;u\n",
    "dates": "day,word,y\n2024-05-31,2024-05-31,u\n2024-06-01 12:00,later,v\n,x,u\n",
    "quoted numbers": 'size,code,y\n"1","01",u\n"2","x2",v\n" 3","03",u\n',
    "mixed column": "size,y\n1,u\n2,v\nmany,u\n",
    "row numbers": ",size,y\n0,1,u\n1,2,v\n2,3,u\n",
    "truth values": "flag,y\ntrue,u\nfalse,v\nTrue,u\n",
    "whole classes": "size,y\n" + "".join(f"{n}.5,{n % 3}\n" for n in range(12)),
    "real target": "size,y\n1,0.5\n2,1.5\n3,2.5\n",
    "many whole numbers": "size,y\n" + "".join(f"{n % 4},{n}\n" for n in range(30)),
    "text of dates as target": "size,y\n1,2024-05-31\n2,2024-06-01\n3,2024-05-31\n",
    "words after a thousand rows": "word,y\n" + "".join(f"{'w' * (n > 1500)},{n % 2}\n" for n in range(2000)),
}


@pytest.mark.parametrize("text", NASTY.values(), ids=NASTY)
def test_the_schema_is_that_of_the_reader(text: str, tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text(text, encoding="utf-8")
    reading = read_data(str(path), "y")
    with open_typed_table(str(path), "y") as typed:
        schema = TableOracle(duckdb_table(typed.connection, typed.name), "y", task=typed.task).schema
        n_rows = typed.connection.execute(f"SELECT count(*) FROM {typed.name}").fetchall()[0][0]
    assert n_rows == len(reading.dataset.y)
    assert tuple(attribute.name for attribute in schema.attributes) == reading.schema.names
    assert tuple(attribute.levels for attribute in schema.attributes) == reading.schema.levels
    is_classes = reading.dataset.task == "classification"
    assert schema.classes == (tuple(np.unique(reading.dataset.y).tolist()) if is_classes else None)
    assert set(reading.guesses + reading.notes).issuperset(typed.notes)


def test_values_and_types(tmp_path: Path) -> None:
    flags = pa.table({"flag": [True, False, None], "age": [1, None, 3], "fee": [0.5, 1.0, None], "y": ["u", "v", "u"]})
    pq.write_table(flags, tmp_path / "rows.parquet")
    with open_typed_table(str(tmp_path / "rows.parquet"), "y") as typed:
        described = typed.connection.execute(f"DESCRIBE {typed.name}").fetchall()
        rows = typed.connection.execute(f"SELECT * FROM {typed.name}").fetchall()
    assert [row[1] for row in described] == ["BOOLEAN", "BIGINT", "DOUBLE", "VARCHAR"]
    assert rows == [(True, 1, 0.5, "u"), (False, None, 1.0, "v"), (None, 3, None, "u")]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("size,Size,y\n1,2,u\n", "which SQL cannot tell apart"),
        ("size,y\n1,\n2,?\n", "is missing in every row"),
        ("size,z\n1,2\n", "no column 'y'"),
        ("size,y\n1,u,3\n", "line 2 of .* has 3 values"),
    ],
)
def test_a_file_that_cannot_be_queried_is_refused(text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text(text, encoding="utf-8")
    with pytest.raises(UnusableDataset, match=message), open_typed_table(str(tmp_path / "rows.csv"), "y"):
        pass
