"""The page on trust has the counts of the stored runs, and no others."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tremula.data import target
from tremula.trees.m5 import terms

from . import fuzz_files
from .trust_page import COLUMNS, END, PAGE, RUNS, START, read_run, with_table

STORED: list[dict[str, Any]] = json.loads(RUNS.read_text(encoding="utf-8"))


def cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip("|").split("|")]


def test_the_page_is_written_from_the_runs() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert page == with_table(page, STORED)


def test_each_number_of_the_table_is_that_of_a_run() -> None:
    """Read the table as a reader does, without the code that wrote it."""
    page = PAGE.read_text(encoding="utf-8")
    header, _, *lines, last = page.split(START)[1].split(END)[0].strip().splitlines()
    assert cells(header) == list(COLUMNS.values())
    shown = [[cell.replace(",", "") for cell in cells(line)] for line in lines]
    assert shown == [[str(run[name]) for name in COLUMNS] for run in STORED]
    assert cells(last)[2].replace(",", "") == str(sum(run["inputs"] for run in STORED))


@pytest.mark.parametrize("name", ["inputs", "crashes", "seconds"])
def test_another_count_is_noticed(name: str) -> None:
    page = PAGE.read_text(encoding="utf-8")
    others = [{**STORED[0], name: STORED[0][name] + 1}, *STORED[1:]]
    assert page != with_table(page, others)


@pytest.mark.parametrize("run", STORED, ids=lambda run: f"{run['build']} {run['first']}")
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
