"""Every script of the gallery runs, in a small way, and draws at least one figure."""

import runpy
from pathlib import Path

import matplotlib.pyplot as plt
import pytest

EXAMPLES = sorted((Path(__file__).parent.parent / "examples").glob("plot_*.py"))

NEED_SICK = {"plot_kappa_error", "plot_boosting_weights"}


def run(script: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TREMULA_QUICK", "1")
    with plt.rc_context():
        monkeypatch.setattr(plt, "show", lambda: None)
        runpy.run_path(str(script), run_name="__main__")
    assert plt.get_fignums()


@pytest.mark.slow
@pytest.mark.parametrize("script", EXAMPLES, ids=lambda script: script.stem)
def test_example_runs_and_says_which_dataset_it_lacks(
    script: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("TREMULA_DATA", raising=False)
    run(script, monkeypatch)
    assert ("no folder with sick.parquet" in capsys.readouterr().out) == (script.stem in NEED_SICK)


@pytest.mark.data
def test_kappa_error_is_drawn_for_sick(
    data_folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run(next(script for script in EXAMPLES if script.stem == "plot_kappa_error"), monkeypatch)
    assert "no folder" not in capsys.readouterr().out


@pytest.mark.data
def test_560_rows_of_sick_are_corrupted(
    data_folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run(next(script for script in EXAMPLES if script.stem == "plot_boosting_weights"), monkeypatch)
    assert "560 corrupted rows" in capsys.readouterr().out


def test_there_is_a_script_for_each_figure() -> None:
    names = {script.stem.removeprefix("plot_") for script in EXAMPLES}
    papers = {"sine_fits", "bias_variance_noise", "boundary", "kappa_error", "boosting_weights", "comparison"}
    assert papers | {"four_ways"} <= names
