"""Engines that are services, for the tests that need them."""

import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    pyspark = pytest.importorskip("pyspark.sql", reason="pyspark is not installed")
    warnings.simplefilter("ignore")  # pyspark and ibis use each other's old ways
    folder: Path = tmp_path_factory.mktemp("spark")
    session = (
        pyspark.SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.sql.warehouse.dir", str(folder))
        .getOrCreate()
    )
    yield session
    session.stop()
