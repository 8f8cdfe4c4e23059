"""The command as a whole: version, help, exit codes, messages instead of tracebacks."""

from importlib.metadata import entry_points, version

import pytest

from tremula.cli.main import EXIT_BAD_INPUT, EXIT_FILE_TROUBLE, EXIT_INTERRUPTED, run


def exit_code(*words: str) -> int:
    with pytest.raises(SystemExit) as stop:
        run(words)
    return int(stop.value.code or 0)


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert exit_code("--version") == 0
    assert capsys.readouterr().out == f"tremula {version('tremula')}\n"


def test_the_installed_command_is_this_one() -> None:
    (command,) = entry_points(group="console_scripts", name="tremula")
    assert command.load() is run


@pytest.mark.parametrize("words", [("--help",), ("compare", "--help")])
def test_help(words: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    assert exit_code(*words) == 0
    assert "Usage: tremula" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (("compare", "irsi"), EXIT_BAD_INPUT, "no dataset 'irsi'"),
        (("compare", "irsi"), EXIT_BAD_INPUT, "did you mean 'iris'?"),
        (("compare", "nowhere.csv"), EXIT_BAD_INPUT, "no file 'nowhere.csv'"),
        (("compare", "iris", "--target", "class"), EXIT_BAD_INPUT, "comes with its target"),
        (("compare", "iris", "--methods", "c45,reptre"), EXIT_BAD_INPUT, "did you mean 'reptree'?"),
        (("compare", "iris", "--methods", "id3", "--no-report"), EXIT_BAD_INPUT, "'id3' cannot learn from 'iris'"),
        (("compare", "iris", "--folds", "51"), EXIT_BAD_INPUT, "the largest class has 50 rows"),
        (("compare", "iris", "--output", "no/such/folder.html"), EXIT_FILE_TROUBLE, "make it first"),
        (("compare", "iris", "--output", "."), EXIT_FILE_TROUBLE, "is a folder"),
        (("compare", "iris", "--folds", "1"), 2, "--folds"),
        (("compare", "iris", "--seed", "-1"), 2, "--seed"),
        (("compare", "iris", "--colour"), 2, "--colour"),
        (("contrast",), 2, "contrast"),
    ],
)
def test_a_mistake_gives_a_message_and_a_code(
    words: tuple[str, ...], code: int, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert exit_code(*words) == code
    errors = capsys.readouterr().err
    assert message in errors
    assert "Traceback" not in errors


def test_ctrl_c_has_a_code_of_its_own(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("tremula.cli.compare.cross_validate", interrupt)
    assert exit_code("compare", "iris", "--no-report") == EXIT_INTERRUPTED
    assert "Traceback" not in capsys.readouterr().err
