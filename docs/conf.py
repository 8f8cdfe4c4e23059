"""Sphinx: the guide in Markdown, the reference from the docstrings of the installed package."""

import importlib.metadata
from typing import Any

project = "tremula"
author = "The tremula developers"
release = importlib.metadata.version("tremula")

extensions = ["myst_parser", "sphinx.ext.autodoc", "numpydoc", "sphinx_gallery.gen_gallery"]
myst_enable_extensions = ["colon_fence", "dollarmath"]
myst_heading_anchors = 3
exclude_patterns = ["_build"]

numpydoc_show_class_members = False
autodoc_member_order = "bysource"

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "within_subsection_order": "FileNameSortKey",
    "abort_on_example_error": True,
    "download_all_examples": False,
    "write_computation_times": False,
    "show_memory": False,
    "show_signature": False,
}

html_theme = "furo"
html_title = f"tremula {release}"


def skip_routing(app: Any, what: str, name: str, obj: Any, skip: bool, options: Any) -> bool | None:
    """Leave out scikit-learn's set_..._request: their docs point into scikit-learn's own."""
    return True if name.startswith("set_") and name.endswith("_request") else None


def setup(app: Any) -> None:
    """Connect the choice of members."""
    app.connect("autodoc-skip-member", skip_routing)
