"""Sphinx: the guide in Markdown, the reference from the docstrings of the installed package."""

import importlib.metadata
from typing import Any

project = "tremula"
author = "The tremula developers"
release = importlib.metadata.version("tremula")

extensions = ["myst_parser", "sphinx.ext.autodoc", "numpydoc"]
myst_enable_extensions = ["colon_fence", "dollarmath"]
myst_heading_anchors = 3
exclude_patterns = ["_build"]

numpydoc_show_class_members = False
autodoc_member_order = "bysource"

html_theme = "furo"
html_title = f"tremula {release}"


def skip_routing(app: Any, what: str, name: str, obj: Any, skip: bool, options: Any) -> bool | None:
    """Leave out scikit-learn's set_..._request: their docs point into scikit-learn's own."""
    return True if name.startswith("set_") and name.endswith("_request") else None


def setup(app: Any) -> None:
    """Connect the choice of members."""
    app.connect("autodoc-skip-member", skip_routing)
