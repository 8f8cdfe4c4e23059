"""The command as a whole: version, help, exit codes, messages instead of tracebacks."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import entry_points, version

import pytest

from tremula.cli.entry import run_and_ignore_later_interrupts
from tremula.cli.exit_codes import EXIT_BAD_INPUT, EXIT_FILE_ERROR, EXIT_INTERRUPTED, EXIT_UNEXPECTED
from tremula.cli.main import COMMANDS, run


def exit_code(*words: str) -> int:
    with pytest.raises(SystemExit) as stop:
        run(words)
    return int(stop.value.code or 0)


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert exit_code("--version") == 0
    assert capsys.readouterr().out == f"tremula {version('tremula')}\n"


def test_the_installed_command_is_this_one() -> None:
    (command,) = entry_points(group="console_scripts", name="tremula")
    assert command.load() is run_and_ignore_later_interrupts


def test_help_names_the_commands_and_the_exit_codes(capsys: pytest.CaptureFixture[str]) -> None:
    assert exit_code("--help") == 0
    printed = " ".join(capsys.readouterr().out.split())
    for command in COMMANDS:
        assert f" {command.name} " in printed
    assert "Exit codes: 0 success" in printed
    assert "--install-completion" in printed


WITH_EXAMPLES = [(command.name,) for command in COMMANDS if command.examples] + [
    ("data", name) for name in ("list", "describe", "check", "fetch")
]


@pytest.mark.parametrize("words", WITH_EXAMPLES, ids=" ".join)
def test_the_help_of_a_command_has_examples(words: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    assert exit_code(*words, "--help") == 0
    printed = capsys.readouterr().out
    assert f"Usage: tremula {' '.join(words)}" in printed
    assert f"tremula {' '.join(words)} " in printed.partition("Examples:")[2] + " "
    assert "--json" in printed


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (("compare", "irsi"), EXIT_BAD_INPUT, "no dataset 'irsi'"),
        (("compare", "irsi"), EXIT_BAD_INPUT, "did you mean 'iris'?"),
        (("compare", "nowhere.csv"), EXIT_BAD_INPUT, "no file 'nowhere.csv'"),
        (("compare", "iris", "--target", "class"), EXIT_BAD_INPUT, "comes with its target"),
        (("compare", "iris", "--methods", "c45,reptre"), EXIT_BAD_INPUT, "did you mean 'reptree'?"),
        (
            ("compare", "iris", "--methods", "id3", "--no-report", "--no-store"),
            EXIT_BAD_INPUT,
            "'id3' cannot learn from 'iris'",
        ),
        (("compare", "iris", "--cv", "51"), EXIT_BAD_INPUT, "the largest class has 50 rows"),
        (("compare", "iris", "--out", __file__), EXIT_FILE_ERROR, "is a file"),
        (("compare", "iris", "--cv", "1"), EXIT_BAD_INPUT, "give a number of folds"),
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

    monkeypatch.setattr("tremula.cli.comparison.cross_validate", interrupt)
    assert exit_code("compare", "iris", "--no-report", "--no-store", "--no-model") == EXIT_INTERRUPTED
    assert "Traceback" not in capsys.readouterr().err


@pytest.mark.parametrize("raised", [KeyboardInterrupt(), RuntimeError("Query interrupted")], ids=["Python", "DuckDB"])
def test_ctrl_c_before_a_command_or_in_duckdb_is_one_line(
    raised: BaseException, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupt(*_: object, **__: object) -> None:
        raise raised

    monkeypatch.setattr("tremula.cli.main.app", interrupt)
    assert exit_code("compare", "iris") == EXIT_INTERRUPTED
    assert capsys.readouterr().err == "tremula: interrupted\n"


def test_ctrl_c_after_a_command_is_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    @contextmanager
    def interrupted_output() -> Iterator[None]:
        yield
        raise KeyboardInterrupt

    monkeypatch.setattr("tremula.cli.main.printable_output", interrupted_output)
    monkeypatch.setattr("tremula.cli.main.app", lambda **_: None)
    assert exit_code("compare", "iris") == EXIT_INTERRUPTED
    assert capsys.readouterr().err == "tremula: interrupted\n"


def fail_with(error: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr("tremula.cli.datasets.known_datasets", fail)


def test_an_unexpected_error_is_one_sentence_with_advice(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    fail_with(KeyError("a\nb"), monkeypatch)
    assert exit_code("data", "list") == EXIT_UNEXPECTED
    assert (
        capsys.readouterr().err
        == "tremula: KeyError: 'a\\nb'. This is unexpected: run again with --debug for details\n"
    )


@pytest.mark.parametrize("words", [("--debug", "data", "list"), ("data", "list", "--debug")])
def test_debug_anywhere_shows_the_traceback(
    words: tuple[str, ...], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    fail_with(ValueError("broken"), monkeypatch)
    assert exit_code(*words) == EXIT_UNEXPECTED
    assert "Traceback" in capsys.readouterr().err


def test_trouble_with_a_file_is_told_without_its_number(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    fail_with(PermissionError(13, "Permission denied", "/root/rows.csv"), monkeypatch)
    assert exit_code("data", "list") == EXIT_FILE_ERROR
    assert capsys.readouterr().err == "tremula: '/root/rows.csv': Permission denied\n"


def test_a_warning_is_told_without_its_line_of_code(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def warn(*_: object, **__: object) -> dict[str, object]:
        warnings.simplefilter("always")
        warnings.warn("the copy is old", UserWarning, stacklevel=2)
        return {}

    monkeypatch.setattr("tremula.cli.datasets.known_datasets", warn)
    assert exit_code("data", "list", "--json") == 0
    assert capsys.readouterr().err == "tremula: note: the copy is old\n"
