"""The JavaScript library of the charts: Vega, Vega-Lite and Vega-Embed in one bundle from an installed package.

The bundle is built once for each version of the package and cached in the user's cache folder.
"""

from __future__ import annotations

from contextlib import suppress
from importlib.metadata import version
from pathlib import Path
from typing import Any

from tremula.persistence.atomic_write import write_atomically

PACKAGE = "vl-convert-python"


def load_library() -> str:
    """Return the library as one script that makes no network requests."""
    cached = _cache_file()
    with suppress(OSError, UnicodeDecodeError):
        return cached.read_text(encoding="utf-8")
    import vl_convert

    bundle: Any = vl_convert.javascript_bundle  # its type stub requires a snippet, which only other bundles need
    script = str(bundle()).replace("</script", "<\\/script")
    with suppress(OSError):  # without the cache the next page takes longer
        cached.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(cached, script.encode())
    return script


def _cache_file() -> Path:
    import platformdirs

    return Path(platformdirs.user_cache_dir("tremula")) / f"charts-{PACKAGE}-{version(PACKAGE)}.js"
