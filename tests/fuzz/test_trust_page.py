"""The page on trust has the counts of the stored runs, and no others."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tremula.data import target
from tremula.trees import size_limit
from tremula.trees.m5 import terms

from . import fuzz_files, memory, peak_memory
from .fault_jobs import JOBS
from .other_pythons import count_tests
from .trust_page import COLUMNS, PAGE, RUNS, marks, read_run, with_tables

STORED: dict[str, list[dict[str, Any]]] = json.loads(RUNS.read_text(encoding="utf-8"))


def cells(line: str) -> list[str]:
    return [cell.strip().replace(",", "") for cell in line.removeprefix("|").removesuffix("|").split("|")]


def test_the_page_is_written_from_the_runs() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert page == with_tables(page, STORED)


@pytest.mark.parametrize(("kind", "added"), [("files", "inputs"), ("faults", "moments"), ("memory", "repeats")])
def test_each_number_of_a_table_is_that_of_a_run(kind: str, added: str) -> None:
    """Read the table as a reader does, without the code that wrote it."""
    page = PAGE.read_text(encoding="utf-8")
    start, end = marks(kind)
    header, _, *lines, last = page.split(start)[1].split(end)[0].strip().splitlines()
    assert cells(header) == [name.replace(",", "") for name in COLUMNS[kind].values()]
    assert [cells(line) for line in lines] == [[str(run[name]) for name in COLUMNS[kind]] for run in STORED[kind]]
    assert cells(last)[list(COLUMNS[kind]).index(added)] == str(sum(run[added] for run in STORED[kind]))


def test_each_peak_is_that_of_a_run() -> None:
    start, end = marks("peak")
    _, _, *lines = PAGE.read_text(encoding="utf-8").split(start)[1].split(end)[0].strip().splitlines()
    assert [cells(line) for line in lines] == [[str(run[name]) for name in COLUMNS["peak"]] for run in STORED["peak"]]
    assert {(run["pair"], run["rows"]) for run in STORED["peak"]} == {(pair, 1_000_000) for pair in peak_memory.PAIRS}


@pytest.mark.parametrize(
    ("kind", "name"),
    [("files", "inputs"), ("files", "crashes"), ("faults", "faults"), ("memory", "bytes"), ("peak", "tremula")],
)
def test_another_count_is_noticed(kind: str, name: str) -> None:
    page = PAGE.read_text(encoding="utf-8")
    first, *others = STORED[kind]
    assert page != with_tables(page, {**STORED, kind: [{**first, name: first[name] + 1}, *others]})


def test_each_run_of_another_python_is_on_the_page() -> None:
    start, end = marks("pythons")
    _, _, *lines = PAGE.read_text(encoding="utf-8").split(start)[1].split(end)[0].strip().splitlines()
    shown = [line.strip("| ").split(" | ") for line in lines]
    assert [[cell.replace(",", "") for cell in cells] for cells in shown] == [
        [str(run[name]).replace(",", "") for name in COLUMNS["pythons"]] for run in STORED["pythons"]
    ]
    assert [run for run in STORED["pythons"] if run["failures"] or run["passed"] < 100] == []


def test_tests_under_another_python_are_counted() -> None:
    suite = '<testsuite tests="9" skipped="2" failures="1" errors="1" time="3.6"/>'
    run = count_tests(f"<testsuites>{suite}{suite}</testsuites>", "trixie")
    assert (run["passed"], run["skipped"], run["failures"], run["seconds"]) == (10, 4, 4, 7)
    assert set(run) == set(COLUMNS["pythons"])


@pytest.mark.parametrize("job", JOBS)
def test_each_job_was_killed_at_200_moments(job: str) -> None:
    assert sum(run["moments"] for run in STORED["faults"] if run["job"] == job and run["signal"] == "kill") >= 200


def test_no_stored_run_has_a_fault_or_a_leak() -> None:
    assert [run for run in STORED["faults"] if run["faults"]] == []
    assert [
        run for run in STORED["memory"] if run["bytes"] > memory.MAX_BYTES or run["blocks"] > memory.MAX_BLOCKS
    ] == []
    assert {run["estimator"] for run in STORED["memory"]} == {kind.__name__ for kind in memory.ESTIMATORS}


@pytest.mark.parametrize("run", STORED["files"], ids=lambda run: f"{run['build']} {run['first']}")
def test_the_counts_of_a_run_add_up(run: dict[str, Any]) -> None:
    counted = run["refused"] + run["loaded"] + run["crashes"]
    assert run["inputs"] == counted or (run["crashes"] and run["inputs"] > counted)  # a crash loses those before it


def test_faults_of_a_run_are_counted_by_their_kind() -> None:
    faults = {"crash, code -11 []": 1, "memory": 2, "load: slow": 3, "predict: KeyError at tree.py:7": 4}
    counts = {"inputs": 9, "refused": 5, "loaded": 3, "questions": 20, "crashes": 1}
    run = read_run({"first": 7, "counts": counts, "faults": faults, "seconds": 60}, "normal")
    assert (run["crashes"], run["slow"], run["unclear"]) == (1, 2, 1)


def test_the_limits_of_the_page_are_those_of_the_code() -> None:
    page = " ".join(PAGE.read_text(encoding="utf-8").split())
    assert f"more than {fuzz_files.MAX_SECONDS:g} s of processor time" in page
    assert f"grows by more than {fuzz_files.MAX_GROWTH} MiB" in page
    least, largest = f"{target.LEAST_WEIGHT:g}", f"{target.LARGEST_WEIGHT:.0e}".replace("+", "")
    assert f"| largest row weight from {least} to {largest} |" in page
    largest_sum = f"{target.LARGEST_SUM:.0e}".replace("+", "")
    assert f"targets up to {largest_sum} / (rows times largest weight), with {target.FEW_ROWS} rows" in page
    assert f"targets that range over {target.LEAST_RANGE:g} /" in page
    assert f"| {terms.MAX_TERMS} numbers for the levels" in page
    assert f"{memory.MAX_BYTES:g} bytes or {memory.MAX_BLOCKS:g} blocks a fit is a leak" in page
    assert f"beyond {size_limit.MAX_SUBSETS:,} bytes it is refused" in page
