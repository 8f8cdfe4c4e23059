"""Counts a run of the tests under another Python: `python -m tests.fuzz.other_pythons trixie counts.xml`.

`.ci/other_python` runs it there, with the file that `pytest --junitxml` wrote.
"""

from __future__ import annotations

import json
import platform
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

LIBRARIES = ("numpy", "scipy", "scikit-learn", "pandas")


def count_tests(content: str, system: str) -> dict[str, Any]:
    """Return the counts of a file of pytest, with the versions of this Python and its libraries."""
    suites = list(ElementTree.fromstring(content).iter("testsuite"))
    total = {
        name: sum(int(suite.get(name, 0)) for suite in suites) for name in ("tests", "skipped", "failures", "errors")
    }
    return {
        "python": platform.python_version(),
        "system": system,
        "libraries": ", ".join(f"{name} {version(name)}" for name in LIBRARIES),
        "passed": total["tests"] - total["skipped"] - total["failures"] - total["errors"],
        "skipped": total["skipped"],
        "failures": total["failures"] + total["errors"],
        "seconds": round(sum(float(suite.get("time", 0)) for suite in suites)),
    }


if __name__ == "__main__":
    print(json.dumps([count_tests(Path(sys.argv[2]).read_text(encoding="utf-8"), sys.argv[1])]))
