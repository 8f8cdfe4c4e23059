"""Sphinx: the guide in Markdown, the reference from docstrings of the installed package, a gallery of scripts."""

import importlib.metadata
from typing import Any

project = "tremula"
author = "The tremula developers"
copyright = author
release = importlib.metadata.version("tremula")

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "numpydoc",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
]
myst_enable_extensions = ["colon_fence", "dollarmath"]
myst_heading_anchors = 3
exclude_patterns = ["_build"]

numpydoc_show_class_members = False
autodoc_member_order = "bysource"
autodoc_typehints = "none"  # the docstrings tell the types
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

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

html_theme = "pydata_sphinx_theme"
html_title = f"tremula {release}"
html_static_path = ["_static"]
html_css_files = ["tremula.css"]
html_favicon = "_static/leaf.svg"
html_show_sourcelink = False
html_sidebars = {"index": [], "quickstart": [], "gallery/**": []}
html_context = {"default_mode": "auto"}
html_theme_options = {
    "logo": {"text": "tremula", "image_light": "_static/leaf.svg", "image_dark": "_static/leaf.svg"},
    "navbar_align": "left",
    "header_links_before_dropdown": 6,
    "secondary_sidebar_items": ["page-toc"],
    "show_toc_level": 2,
    "show_nav_level": 1,
    "navigation_with_keys": False,
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}


def skip_routing(app: Any, what: str, name: str, obj: Any, skip: bool, options: Any) -> bool | None:
    """Leave out scikit-learn's set_..._request: their docs point into scikit-learn's own."""
    return True if name.startswith("set_") and name.endswith("_request") else None


def setup(app: Any) -> None:
    """Connect the choice of members."""
    app.connect("autodoc-skip-member", skip_routing)
