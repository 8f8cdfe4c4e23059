"""The OpenAPI description of a site lists every request, and generated requests get the answers that it promises."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

from tremula.queries.remote.server import METHODS
from tremula.queries.remote.site import Site
from tremula.queries.secure.group import Group
from tremula.queries.secure.masks import new_private_key, public_key

from .site_processes import TOKEN, running_sites
from .test_remote import in_memory, rows

# A range that ends before it begins fits the description, which cannot exclude it, and gets 422.
SETTINGS = """
[checks.positive_data_acceptance]
expected-statuses = ["2xx", "401", "403", "404", "409", "422", "429"]
"""


def in_group() -> Site:
    privates = [new_private_key() for _ in range(3)]
    group = Group(tuple(sorted(map(public_key, privates))))
    return Site(in_memory(rows()), token=TOKEN, group=group, group_key=privates[0])


def test_the_description_has_every_request() -> None:
    described = in_group().answer_openapi()
    methods = {path: next(iter(operations)).upper() for path, operations in described["paths"].items()}
    assert methods == METHODS
    assert described["security"] == [{"token": []}]
    alone = Site(in_memory(rows())).answer_openapi()
    assert set(alone["paths"]) == {path for path in METHODS if not path.startswith("/secure/")}
    assert "security" not in alone


def test_the_description_knows_the_values_of_the_table() -> None:
    schema = in_memory(rows()).schema
    request = Site(in_memory(rows())).answer_openapi()["paths"]["/count"]["post"]["requestBody"]
    question = request["content"]["application/json"]["schema"]["properties"]["questions"]["items"]["properties"]
    assert question["attributes"]["items"]["maximum"] == len(schema.attributes) - 1
    conditions = question["path"]["items"]["anyOf"]
    assert [condition["prefixItems"][2]["maximum"] + 1 for condition in conditions] == [
        attribute.n_values for attribute in schema.attributes
    ]


@pytest.mark.schemathesis
@pytest.mark.skipif(importlib.util.find_spec("schemathesis") is None, reason="schemathesis is not installed")
@pytest.mark.parametrize(("n_sites", "n_examples"), [(1, 40), (3, 15)])
def test_generated_requests_get_the_answers_that_are_described(tmp_path: Path, n_sites: int, n_examples: int) -> None:
    """One site that gives counts, and one of a group of three, which gives masked ones."""
    (tmp_path / "schemathesis.toml").write_text(SETTINGS)
    command = [sys.executable, "-m", "schemathesis.cli", "--config-file", "schemathesis.toml", "run"]
    options = ["--checks", "all", "--max-examples", str(n_examples), "--seed", "0", "--no-color", "--warnings", "off"]
    options += ["--header", f"Authorization: Bearer {TOKEN}"]
    with running_sites(tmp_path, n_sites, in_group=n_sites > 1, n_started=1) as urls:
        words = [*command, f"{urls[0]}/openapi.json", *options]
        run = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert run.returncode == 0, run.stdout + run.stderr
    assert "No issues found" in run.stdout
