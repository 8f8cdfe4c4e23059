"""`tremula compare` on several datasets: a list or a folder, ranks, one page, methods that fail on some."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tremula.cli.main import EXIT_BAD_INPUT, run
from tremula.diagnostics import compare_over_datasets
from tremula.report import page as report_page


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("TREMULA_DATA", raising=False)
    monkeypatch.setattr(report_page, "load_library", lambda: "/* the library */")


def write_table(path: str, seed: int, nominal: bool = False) -> None:
    random = np.random.default_rng(seed)
    y = random.integers(0, 2, 60)
    values = [
        f"{'ab'[(label + (random.random() < 0.2)) % 2]}" if nominal else f"{label + random.normal():.3f}" for label in y
    ]
    rows = [f"{value},{'no' if label else 'yes'}" for value, label in zip(values, y)]
    Path(path).parent.mkdir(exist_ok=True)
    Path(path).write_text("\n".join(["a,target", *rows]), encoding="utf-8")


def compare(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    with pytest.raises(SystemExit) as stop:
        run(["compare", *words, "--cv", "3"])
    assert not stop.value.code
    return capsys.readouterr().out


def test_ranks_are_those_of_the_means_of_each_dataset(capsys: pytest.CaptureFixture[str]) -> None:
    words = ("iris", "wine", "breast-cancer-wisconsin", "--methods", "c45,reptree,cart", "--no-store")
    summary = json.loads(compare(capsys, *words, "--json"))
    means = {method["name"]: method["means"] for method in summary["ranking"]["methods"]}
    for name, one in summary["datasets"].items():
        place = list(summary["datasets"]).index(name)
        for row in one["methods"]:
            assert row["metrics"]["error"]["mean"] == means[row["name"]][place]
    ranking = compare_over_datasets(np.array(list(means.values())).T, names=list(means))
    assert [method["mean_rank"] for method in summary["ranking"]["methods"]] == ranking.mean_ranks.tolist()
    assert summary["headline"] == str(ranking).splitlines()[0]
    page = Path("report.html").read_text(encoding="utf-8")
    assert summary["headline"] in page
    assert all(one["headline"] in page for one in summary["datasets"].values())
    assert not Path("best.tremula").exists()
    assert summary["command"].startswith("tremula compare iris wine breast-cancer-wisconsin --methods")


def test_a_folder_is_all_its_files_and_one_page(capsys: pytest.CaptureFixture[str]) -> None:
    for seed, name in enumerate(("north", "south", "west")):
        write_table(f"wards/{name}.csv", seed)
    Path("wards/notes.txt").write_text("not a table", encoding="utf-8")
    printed = compare(capsys, "wards", "--methods", "c45,cart", "--out", "results")
    assert all(name in printed for name in ("north", "south", "west", "mean rank", "2 methods over 3 datasets"))
    assert sorted(path.name for path in Path("results").iterdir()) == ["report.html", "results.duckdb"]


def test_a_method_that_fails_on_a_dataset_makes_the_table_incomplete(capsys: pytest.CaptureFixture[str]) -> None:
    for seed in range(4):
        write_table(f"wards/{seed}.csv", seed, nominal=seed > 0)  # ID3 takes nominal attributes only
    summary: dict[str, Any] = json.loads(
        compare(capsys, "wards", "--methods", "c45,id3,reptree", "--json", "--no-store")
    )
    assert "(Skillings-Mack chi-square = " in summary["headline"]
    id3 = next(method for method in summary["ranking"]["methods"] if method["name"] == "id3")
    assert id3["means"][0] is None
    assert "Some methods failed on some datasets." in Path("report.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("iris", "diabetes-progression"), "of different tasks"),
        (("empty",), "has no file to compare on"),
        (("a/one.csv", "b/one.csv"), "several datasets are called 'one'"),
    ],
)
def test_what_cannot_be_ranked_together_is_refused(
    words: tuple[str, ...], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("empty").mkdir()
    for folder in "ab":
        write_table(f"{folder}/one.csv", 0)
    with pytest.raises(SystemExit) as stop:
        run(["compare", *words, "--methods", "cart,reptree", "--cv", "3"])
    assert stop.value.code == EXIT_BAD_INPUT
    assert message in " ".join(capsys.readouterr().err.replace("│", " ").split())
