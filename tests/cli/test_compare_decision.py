"""`tremula compare` decides once: banner, table, page and JSON say the same; constants, metrics, looks."""

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tremula.cli.main import EXIT_BAD_INPUT, run
from tremula.lab.comparison.methods import METHODS
from tremula.report import page as report_page

QUICK = ("--quick", "--no-model")
TREES = ("c45", "reptree", "cart")


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("TREMULA_DATA", raising=False)
    monkeypatch.setattr(report_page, "load_library", lambda: "/* the library */")


def compare(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    with pytest.raises(SystemExit) as stop:
        run(["compare", *words, *QUICK])
    assert not stop.value.code
    return " ".join(capsys.readouterr().out.split())


def compare_as_json(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, Any]:
    return json.loads(compare(capsys, *words, "--json"))


def write_table(name: str, target: np.ndarray, seed: int = 0) -> None:
    X = np.random.default_rng(seed).normal(size=(len(target), 3)).round(3)
    rows = [",".join(map(str, [*row, value])) for row, value in zip(X, target)]
    Path(name).write_text("\n".join(["a,b,c,target", *rows]), encoding="utf-8")


def p_values_in(text: str) -> set[str]:
    return set(re.findall(r"p (?:=|&lt;|<) ([\d.]+)", text))


@pytest.mark.parametrize(
    "asked", [(), ("--baseline", "random-forest"), ("--all-pairs",)], ids=["best", "baseline", "pairs"]
)
def test_banner_table_page_and_json_have_one_p_value_for_a_pair(
    asked: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    words = ("wine", "--methods", "c45,reptree,cart,random-forest", "--cv", "5", *asked)
    summary = compare_as_json(capsys, *words)
    printed = compare(capsys, *words)
    page = Path("report.html").read_text(encoding="utf-8")
    pairs = [pair for pair in summary["pairs"] if pair["metric"] == "error"]
    assert len(pairs) == {(): 3, ("--baseline", "random-forest"): 3, ("--all-pairs",): 6}[asked]
    assert len({frozenset((pair["first"], pair["second"])) for pair in pairs}) == len(pairs)
    known = {p for pair in summary["pairs"] for p in p_values_in(pair["sentence"])}
    for text in (printed, summary["headline"], page):
        assert p_values_in(text) <= known
    assert p_values_in(page)
    reference = summary["decision"]["baseline"] or summary["decision"]["leader"]
    for pair in pairs:
        assert pair["sentence"][1:] in page
        if reference in (pair["first"], pair["second"]):
            assert f"<td>{pair['p_adjusted']:.3f}</td>" in page
    shown = {
        row["label"]
        for row in summary["methods"]
        for pair in pairs
        if pair["verdict"] != "no difference shown" and {row["name"], reference} == {pair["first"], pair["second"]}
        if row["name"] != reference
    }
    assert printed.count("* ") - printed.count("* marks") == len(shown)


def test_worse_and_may_be_best_agree_with_the_pairs(capsys: pytest.CaptureFixture[str]) -> None:
    summary = compare_as_json(capsys, "digits", "--methods", "c45,random-forest,extra-trees", "--cv", "3")
    decision = summary["decision"]
    beaten = {pair["second"] for pair in summary["pairs"] if pair["metric"] == "error" and pair["verdict"] == "better"}
    assert set(decision["worse"]) == beaten == {"c45"}
    assert summary["headline"].endswith("may be the best on this data; C4.5 is worse.")


def test_nothing_beats_a_constant_on_noise_and_that_is_said_first(capsys: pytest.CaptureFixture[str]) -> None:
    write_table("noise.csv", np.random.default_rng(1).choice(["no", "yes"], 200))
    summary = compare_as_json(capsys, "noise.csv", "--methods", "c45,reptree", "--cv", "5")
    assert summary["headline"].startswith("No method is shown to predict better than a constant: always predicting")
    assert summary["dataset"]["baseline"]["beaten_by"] == []
    assert "No method is shown to predict better" in Path("report.html").read_text(encoding="utf-8")


def test_a_method_that_learns_beats_the_constant(capsys: pytest.CaptureFixture[str]) -> None:
    summary = compare_as_json(capsys, "iris", "--methods", "c45", "--cv", "5")
    assert summary["dataset"]["baseline"]["beaten_by"] == ["c45"]
    assert summary["headline"].startswith("Only C4.5 was measured")


@pytest.mark.parametrize(
    ("data", "metric", "less_is_better"),
    [
        ("iris", "auc", False),
        ("iris", "f1", False),
        ("iris", "balanced_error", True),
        ("iris", "log_loss", True),
        ("iris", "accuracy", False),
        ("diabetes-progression", "mae", True),
        ("diabetes-progression", "r2", False),
        ("diabetes-progression", "neg_median_absolute_error", True),
    ],
)
def test_methods_are_ranked_and_decided_by_the_metric(
    data: str, metric: str, less_is_better: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    summary = compare_as_json(capsys, data, "--methods", "reptree,cart", "--cv", "3", "--metric", metric)
    assert summary["metrics"][0]["name"] == summary["decision"]["metric"] == metric
    means = [row["metrics"][metric]["mean"] for row in summary["methods"]]
    assert means == sorted(means, reverse=not less_is_better)
    pair = next(pair for pair in summary["pairs"] if pair["metric"] == metric)
    assert pair["difference"] == pytest.approx(means[0] - means[1])
    assert pair["low"] <= pair["difference"] <= pair["high"]
    if metric in ("auc", "f1"):
        assert all(0 <= row["metrics"][metric]["high"] <= 1 for row in summary["methods"])
    constant = summary["dataset"]["baseline"]["error"]
    assert all((mean < constant) == less_is_better for mean in means)


def test_balanced_error_and_accuracy_are_what_scikit_learn_measures(capsys: pytest.CaptureFixture[str]) -> None:
    words = ("iris", "--methods", "c45", "--cv", "3", "--metric")
    folds = {
        name: compare_as_json(capsys, *words, name)["methods"][0]["metrics"] for name in ("balanced_error", "accuracy")
    }
    # In iris all classes have the same number of rows in stratified folds, but for one row.
    assert folds["balanced_error"]["balanced_error"]["folds"] == pytest.approx(
        folds["balanced_error"]["error"]["folds"], abs=0.5
    )
    accuracy = np.array(folds["accuracy"]["accuracy"]["folds"])
    assert 100 * (1 - accuracy) == pytest.approx(folds["accuracy"]["error"]["folds"])


def test_imbalance_is_noticed_and_another_metric_proposed(capsys: pytest.CaptureFixture[str]) -> None:
    write_table("rare.csv", np.where(np.arange(200) % 10 == 0, "ill", "well"))
    words = ("rare.csv", "--methods", "c45", "--cv", "3")
    note = "90 % of the rows are of class 'well', so the error says little about the other classes: --metric"
    assert note in compare(capsys, *words)
    assert not any(note in told for told in compare_as_json(capsys, *words, "--metric", "balanced_error")["notes"])


def test_a_metric_that_there_is_not_is_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    for words, message in (
        (("--metric", "acuracy"), "did you mean 'accuracy'?"),
        (("--metric", "r2_score"), "is not a metric for classification"),
        (("--metric", "precision"), "precision cannot be measured: Target is multiclass"),
        (("--metric", "f1", "--baseline", "c45", "--all-pairs"), "--baseline and --all-pairs were given"),
    ):
        with pytest.raises(SystemExit) as stop:
            run(["compare", "iris", "--methods", "c45,reptree", "--cv", "3", *QUICK, *words])
        assert stop.value.code == EXIT_BAD_INPUT
        assert message in " ".join(capsys.readouterr().err.replace("│", " ").split())


def test_looking_ends_when_it_is_clear_and_says_how_often(capsys: pytest.CaptureFixture[str]) -> None:
    clear = compare_as_json(capsys, "iris", "--methods", "c45,cart", "--cv", "4x3", "--until-clear", "--rope", "50")
    assert clear["protocol"]["repeats"] == 1
    assert any(
        note.startswith("The decision was looked at after 1 of at most 4 repetitions.") for note in clear["notes"]
    )
    open_ = compare_as_json(capsys, "iris", "--methods", "c45,cart", "--cv", "4x3", "--until-clear", "--rope", "0")
    assert open_["protocol"]["repeats"] == 4
    assert any("after 1, 2 and 4 of at most 4 repetitions" in note for note in open_["notes"])
    assert open_["command"].endswith("--until-clear --seed 0")


def test_a_plan_says_what_would_show_the_difference(capsys: pytest.CaptureFixture[str]) -> None:
    summary = compare_as_json(capsys, "iris", "--methods", "c45,cart", "--cv", "5", "--rope", "1")
    plan = summary["decision"]["plan"]
    assert plan["difference"] == pytest.approx(1)
    assert (plan["repetitions"] is None) == (plan["shown_difference"] > 1)
    assert summary["sentences"][-1].startswith((f"{plan['repetitions']} x 5 folds, about", "To show a difference of 1"))


def test_a_method_that_fails_on_some_splits_is_compared_on_the_others(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    tree = METHODS["c45"]

    def build(nominal: Any, seed: int) -> Any:
        if seed == 1:
            raise ValueError("no memory left")
        return tree.build(nominal, seed)

    monkeypatch.setitem(METHODS, "c45", replace(tree, build=build))
    summary = compare_as_json(capsys, "digits", "--methods", "c45,random-forest", "--cv", "5", "--no-store")
    (entry,) = summary["unfinished"]
    assert (entry["name"], entry["splits"], entry["verdict"]) == ("c45", 4, "worse")
    assert entry["sentence"] in summary["notes"]
    assert entry["sentence"].startswith("C4.5 failed on 1 of 5 splits; on the other 4 it is worse than random forest: ")
    assert [row["rank"] for row in summary["methods"]] == [1, None]
