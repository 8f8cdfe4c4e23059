"""`tremula serve` before it listens: who could ask, and what is served. Its answers are tested with the oracles."""

from __future__ import annotations

import json
import socket
from pathlib import Path

import pandas as pd
import pytest

from tremula.cli.main import run


def complaint(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    with pytest.raises(SystemExit) as stop:
        run(["serve", *words])
    assert stop.value.code not in (0, None)
    return " ".join(capsys.readouterr().err.split())


@pytest.fixture
def visits(tmp_path: Path) -> str:
    file = tmp_path / "visits.csv"
    file.write_text("ward,again\nA,yes\nA,no\nB,no\nB,no\n")
    return str(file)


def test_other_machines_are_not_listened_to_without_encryption_and_a_token(
    visits: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    open_to_all = [visits, "--target", "again", "--host", "0.0.0.0", "--port", "0"]
    assert "would listen to other machines" in complaint(capsys, *open_to_all)
    token = tmp_path / "token"
    token.write_text("0123456789abcdef")
    assert "would listen to other machines" in complaint(capsys, *open_to_all, "--token-file", str(token))
    files = ["--certificate", "site.pem", "--key", "site.key"]
    assert "would listen to other machines" in complaint(capsys, *open_to_all, *files)
    assert "belong together" in complaint(capsys, visits, "--target", "again", "--key", "site.key")


def test_a_budget_needs_a_table_whose_columns_no_row_decides(
    visits: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("opendp")
    budget = ["--target", "again", "--port", "0", "--epsilon", "1"]
    assert "its rows decide the types of the columns" in complaint(capsys, visits, *budget)
    file = tmp_path / "visits.parquet"
    pd.read_csv(visits).to_parquet(file)
    assert "the levels of 'ward', the classes of 'again' were read" in complaint(capsys, str(file), *budget)
    assert "the classes of 'again' were read" in complaint(capsys, str(file), *budget, "--public", "ward")


def test_a_short_token_is_refused(visits: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    token = tmp_path / "token"
    token.write_text("secret\n")
    words = complaint(capsys, visits, "--target", "again", "--token-file", str(token))
    assert "has 6 characters: at least 16 are needed" in words


def test_files_that_are_not_what_they_should_be(
    visits: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = tmp_path / "other.json"
    other.write_text("[1, 2]")
    assert "is no JSON object of lists of cuts" in complaint(capsys, visits, "--target", "again", "--cuts", str(other))
    audit = complaint(capsys, visits, "--target", "again", "--port", "0", "--audit", str(other), "--max-questions", "5")
    assert "line 1 of" in audit
    assert "name another file" in audit


def test_a_port_that_is_taken(visits: str, capsys: pytest.CaptureFixture[str]) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        words = complaint(capsys, visits, "--target", "again", "--port", str(taken.getsockname()[1]))
    assert "is taken" in words


def test_what_is_not_there(visits: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert "no column 'agian'" in complaint(capsys, visits, "--target", "agian")


def test_the_key_of_a_site_is_made_and_printed(visits: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["serve", visits, "--target", "again", "--group-key", str(tmp_path / "site.key")]
    with pytest.raises(SystemExit):
        run([*words, "--json"])
    key = json.loads(capsys.readouterr().out)["key"]
    with pytest.raises(SystemExit):
        run(words)
    assert capsys.readouterr().out.splitlines()[0] == key
    assert len(key) == 64
    assert key not in (tmp_path / "site.key").read_text()


def test_groups_that_are_none(visits: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    group = tmp_path / "group"
    group.write_text("".join(f"{number:064x}\n" for number in range(3)))
    words = [visits, "--target", "again", "--port", "0", "--group", str(group)]
    assert "without --group-key" in complaint(capsys, *words)
    words += ["--group-key", str(tmp_path / "site.key")]
    assert "is not in its group" in complaint(capsys, *words)
    assert "but a sum needs 3" in complaint(capsys, *words, "--group-missing", "1")
