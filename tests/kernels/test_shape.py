"""The size of every function of the kernels: at most 60 lines and 8 arguments."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

MAX_LINES = 60
MAX_ARGUMENTS = 8
KERNELS = Path(__file__).parents[2] / "src" / "tremula" / "_kernels"
SOURCES = sorted(path for path in KERNELS.iterdir() if path.suffix in (".pyx", ".pxd", ".h"))

CYTHON_HEADER = re.compile(r"^(\s*)(?:def|cdef|cpdef)\s[^=#\n]*?(\w+)\(", re.MULTILINE)
C_HEADER = re.compile(r"^(?:static|IN_PLACE|__attribute__)[^;={}]*?(\w+)\(([^;{}]*)\)\s*\{", re.MULTILINE)


def closing(text: str, start: int) -> int:
    """Place of the bracket that closes the one before `start`."""
    depth = 1
    for place in range(start, len(text)):
        depth += (text[place] in "([") - (text[place] in ")]")
        if depth == 0:
            return place
    raise ValueError("a bracket is never closed")


def arguments_of(text: str) -> list[str]:
    """Arguments of a signature; a comma inside brackets separates none."""
    arguments, depth = [""], 0
    for letter in text:
        depth += (letter in "([") - (letter in ")]")
        if letter == "," and depth == 0:
            arguments.append("")
        else:
            arguments[-1] += letter
    return [each.strip() for each in arguments if each.strip() not in ("", "self", "void")]


def cython_functions(text: str) -> Iterator[tuple[str, int, int]]:
    """Name, number of lines and number of arguments of every function with a body."""
    for header in CYTHON_HEADER.finditer(text):
        end = closing(text, header.end())
        tail = text[end + 1 : text.index("\n", end)]
        if not tail.rstrip().split("#")[0].rstrip().endswith(":"):
            continue
        lines = text[header.start() :].lstrip("\n").split("\n")
        signature = text[header.start() : end].count("\n") + 1
        indent, length = len(header[1].lstrip("\n")), signature
        for number, line in enumerate(lines[signature:], signature + 1):
            if line.strip() and len(line) - len(line.lstrip()) <= indent:
                break
            length = number if line.strip() else length
        yield header[2], length, len(arguments_of(text[header.end() : end]))


def c_functions(text: str) -> Iterator[tuple[str, int, int]]:
    """Name, number of lines and number of arguments of every function with a body."""
    for header in C_HEADER.finditer(text):
        depth, place = 1, header.end()
        while depth:
            depth += (text[place] == "{") - (text[place] == "}")
            place += 1
        arguments = arguments_of(header[2])
        yield header[1], text[header.start() : place].count("\n") + 1, len(arguments)


def functions(path: Path) -> list[tuple[str, int, int]]:
    return list((c_functions if path.suffix == ".h" else cython_functions)(path.read_text()))


def test_no_function_is_too_long_or_has_too_many_arguments() -> None:
    too_large = {
        f"{path.name}:{name}": (n_lines, n_arguments)
        for path in SOURCES
        for name, n_lines, n_arguments in functions(path)
        if n_lines > MAX_LINES or n_arguments > MAX_ARGUMENTS
    }
    assert too_large == {}


def test_the_walks_are_among_the_functions_that_are_measured() -> None:
    names = {name for path in SOURCES for name, _, _ in functions(path)}
    assert {"walk_counted_gains", "split_node", "grow", "sort_column", "run_steps", "quick_log2"} <= names


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("cdef inline int f(int a, double[:, ::1] b) noexcept nogil:\n    return 1\n\n\nx = 2\n", ("f", 2, 2)),
        ("class A:\n    def g(self,\n          a, b):\n        pass\n\n        return 1\n", ("g", 5, 2)),
    ],
)
def test_lines_and_arguments_of_cython_are_counted(source: str, expected: tuple[str, int, int]) -> None:
    assert list(cython_functions(source)) == [expected]


def test_lines_and_arguments_of_c_are_counted() -> None:
    source = "static inline int f(int a, const double *b) {\n    if (a) { return 1; }\n    return 0;\n}\n"
    assert list(c_functions(source)) == [("f", 4, 2)]
