"""Files written by earlier code load, and their models give the answers that they gave then, bit for bit."""

import runpy
from pathlib import Path

import numpy as np
import pytest

import tremula as tm

GOLDEN = Path(__file__).parent.parent / "golden"
FILES = sorted((GOLDEN / "files").glob("*.tremula"))
answers = runpy.run_path(str(GOLDEN / "make_files.py"))["answers"]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_stored_file_gives_the_answers_of_its_time(path: Path) -> None:
    expected = np.load(GOLDEN / "files" / "answers.npz")[path.stem]
    assert answers(tm.load(path)).tobytes() == expected.tobytes()


def test_every_stored_answer_has_its_file() -> None:
    with np.load(GOLDEN / "files" / "answers.npz") as expected:
        assert sorted(expected) == [path.stem for path in FILES]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_model_loaded_and_saved_again_loads_alike(path: Path, tmp_path: Path) -> None:
    tm.save(tm.load(path), tmp_path / "again")
    assert answers(tm.load(tmp_path / "again")).tobytes() == answers(tm.load(path)).tobytes()
