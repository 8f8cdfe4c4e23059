"""The JavaScript that draws: Vega, Vega-Lite and Vega-Embed in one piece, taken from an installed package.

It is put together once for each version of the package and kept in the user's cache folder.
"""

from __future__ import annotations

from contextlib import suppress
from importlib.metadata import version
from pathlib import Path
from typing import Any

from tremula.persistence.atomic_write import write_atomically

PACKAGE = "vl-convert-python"


def load_library() -> str:
    """Return the library as one script that needs no other and asks the network for nothing."""
    kept = _place()
    with suppress(OSError, UnicodeDecodeError):
        return kept.read_text(encoding="utf-8")
    import vl_convert

    bundle: Any = vl_convert.javascript_bundle  # its types want a snippet, which is for bundles of another content
    script = str(bundle()).replace("</script", "<\\/script")
    with suppress(OSError):  # a folder that cannot be written to costs time, not the page
        kept.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(kept, script.encode())
    return script


def _place() -> Path:
    import platformdirs

    return Path(platformdirs.user_cache_dir("tremula")) / f"charts-{PACKAGE}-{version(PACKAGE)}.js"
