"""A store can be read and continued by every DuckDB that may be installed, older or newer than the one that made it."""

import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from tremula.lab.experiments.duckdb_file import STORAGE_VERSION, DuckFile

PROJECT = tomllib.loads((Path(__file__).parents[3] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
NEWEST_FORMAT_OF_THE_LOWEST = 65  # the number in files of DuckDB 1.2.0


def lowest_version() -> str:
    match = re.search(r"'duckdb>=([\d.]+)'", str(PROJECT["dependencies"]))
    assert match
    return match[1]


def test_no_extra_asks_for_another_duckdb_than_the_package() -> None:
    extras = [each for group in PROJECT["optional-dependencies"].values() for each in group]
    assert not [each for each in extras if re.match(r"duckdb\b", each)]


def test_a_store_is_in_the_format_of_the_lowest_version(tmp_path: Path) -> None:
    assert f"v{lowest_version()}".startswith(STORAGE_VERSION.removesuffix(".0"))
    DuckFile(tmp_path / "store.duckdb", "CREATE TABLE results (error DOUBLE)").make()
    header = (tmp_path / "store.duckdb").read_bytes()[:20]
    assert header[8:12] == b"DUCK"
    assert int.from_bytes(header[12:20], "little") <= NEWEST_FORMAT_OF_THE_LOWEST


@pytest.fixture(scope="module")
def duckdbs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Folders with the lowest and the newest DuckDB."""
    folders = {}
    for name, version in (("lowest", f"=={lowest_version()}.*"), ("newest", "")):
        folders[name] = tmp_path_factory.mktemp(name)
        words = ["-q", "--no-deps", "--target", str(folders[name]), f"duckdb{version}"]
        if subprocess.run([sys.executable, "-m", "pip", "install", *words], capture_output=True).returncode:
            pytest.skip("pip cannot install other versions of DuckDB here")
    return folders


def compare(duckdb: Path, folder: Path) -> dict[str, Any]:
    words = ["iris", "--methods", "c45,reptree", "--cv", "2", "--quick", "--no-model", "--no-report", "--json"]
    program = "import duckdb, sys; print(duckdb.__version__, file=sys.stderr); from tremula.cli.main import run; run()"
    done = subprocess.run(
        [sys.executable, "-c", program, "compare", *words, "--out", str(folder)],
        env=os.environ | {"PYTHONPATH": str(duckdb)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout) | {"duckdb": done.stderr.split()[0]}


@pytest.mark.slow
@pytest.mark.parametrize(("first", "second"), [("newest", "lowest"), ("lowest", "newest")])
def test_results_stored_by_one_version_are_reused_by_another(
    duckdbs: dict[str, Path], tmp_path: Path, first: str, second: str
) -> None:
    made = compare(duckdbs[first], tmp_path)
    again = compare(duckdbs[second], tmp_path)
    assert made["duckdb"] != again["duckdb"]
    assert (made["measured"]["reused"], again["measured"]["reused"]) == (0, 4)
    assert made["methods"] == again["methods"]
