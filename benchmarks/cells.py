"""Results of long runs, kept by name in a JSON file: a run that was stopped goes on where it was."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any


class Cells:
    """What was computed before, and whatever is computed now; without a path nothing is kept."""

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self.known: dict[str, Any] = json.loads(path.read_text()) if path is not None and path.exists() else {}

    def get(self, key: str, job: Callable[[], Any]) -> Any:
        """The result of that name; the job is run only if there is none."""
        if key not in self.known:
            self.known[key] = job()
            if self.path is not None:
                fresh = self.path.with_suffix(".new")
                fresh.write_text(json.dumps(self.known, indent=1))
                fresh.replace(self.path)
        return self.known[key]
