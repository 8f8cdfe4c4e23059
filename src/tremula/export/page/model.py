"""`to_html`: a trained model as one page that predicts a typed row and shows why, without Python or a network."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tremula.errors import UnsupportedModel, counted
from tremula.export.model import ExportedModel, read_exported
from tremula.export.page.packing import describe_link, pack_arrays
from tremula.parameters import check_text
from tremula.trees.m5.model_tree import ModelTree
from tremula.trees.structure import numeric_splits

PROGRAM = "tremula"
LARGEST = float(np.finfo(np.float64).max)
MARGIN_SHARE = 0.05  # of the range of thresholds, shown on both sides of it


def to_html(model: Any, *, title: str | None = None) -> str:
    """Return a trained model as a page for the browser, in one file.

    Parameters
    ----------
    model : fitted estimator
        A tree or an ensemble of tremula, or a model of another library that smoothing can read.
    title : str, default=None
        Heading of the page; by default the target, if it is known, or the kind of model.

    Returns
    -------
    str
        HTML with the model inside. It predicts a typed row, shows the path through a single tree, how the answer would
        change if a value were not known, and how it depends on each value; and it predicts pasted rows. It makes no
        network requests.

    Raises
    ------
    UnsupportedModel
        The model is smoothed, or its members are not trees.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tremula import RandomForestClassifier, to_html
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> page = to_html(RandomForestClassifier(n_estimators=20, random_state=0).fit(X, y), title="Which iris is it?")
    >>> page[:15], len(page) < 100_000
    ('<!doctype html>', True)
    """
    import jinja2

    if title is not None:
        check_text("title", title)
    exported = read_exported(model)
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent / "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
    )
    entries, arrays = pack_arrays(exported)
    return environment.get_template("page.html").render(
        title=title or (f"Predict {exported.target}" if exported.target else exported.name),
        summary=_summary(exported),
        version=version(PROGRAM),
        description=_as_script(_description(exported, entries)),
        arrays=arrays,
        part=partial(_read_part, environment),
    )


def _summary(exported: ExportedModel) -> str:
    """Return what kind of model it is, in a few words."""
    n_members, n_used = len(exported.whole.members), len(exported.used_attributes)
    trees = "one tree" if n_members == 1 else counted(n_members, "tree")
    return f"{exported.name}: {trees}, {counted(n_used, 'attribute')}"


def _description(exported: ExportedModel, entries: list[dict[str, Any]]) -> dict[str, Any]:
    """Return everything but the arrays."""
    used = set(exported.used_attributes)
    ranges = _ranges(exported)
    attributes = [
        {
            "name": name,
            "kind": kind,
            "levels": None if levels is None else [str(level) for level in levels],
            "is_used": place in used,
            "low": ranges[place][0],
            "typical": 0 if levels is not None else ranges[place][1],
            "high": ranges[place][2],
        }
        for place, (name, kind, levels) in enumerate(zip(exported.attributes, exported.kinds, exported.levels))
    ]
    return {
        "attributes": attributes,
        "classes": None if exported.classes is None else [str(label) for label in exported.classes],
        "link": describe_link(exported.whole.link),
        "votes": exported.whole.votes,
        "tie": exported.tie,
        "no_missing": bool(exported.no_missing),
        "arrays": entries,
    }


def _ranges(exported: ExportedModel) -> list[tuple[float | None, float, float | None]]:
    """Return for each attribute a low, a usual and a high value, from its thresholds and what replaces missing ones."""
    thresholds: dict[int, list[float]] = {}
    usual: dict[int, float] = {}
    for member in exported.whole.members:
        tree: Any = member.rules if isinstance(member, ModelTree) else member
        splits = numeric_splits(tree.nodes)
        for attribute, threshold in zip(tree.attribute[splits].tolist(), tree.threshold[splits].tolist()):
            thresholds.setdefault(attribute, []).append(threshold)
        if isinstance(member, ModelTree):
            usual |= dict(enumerate(member.terms.fill.tolist()))
    ranges: list[tuple[float | None, float, float | None]] = []
    for attribute in range(exported.whole.n_attributes):
        values = _without_gaps(np.array(thresholds.get(attribute, [])), float(exported.whole.filling[attribute]))
        middle = usual.get(attribute, float(np.median(values)) if len(values) else 0.0)
        if not len(values):
            ranges.append((None, middle, None))
            continue
        with np.errstate(over="ignore"):
            spread = float(np.ptp(values)) or abs(middle) or 1.0
        low, high = float(values.min()) - MARGIN_SHARE * spread, float(values.max()) + MARGIN_SHARE * spread
        low, middle, high = np.clip([low, middle, high], -LARGEST, LARGEST).tolist()  # JSON has no infinity
        ranges.append((low, middle, high))
    return ranges


def _without_gaps(thresholds: NDArray[np.float64], filled: float) -> NDArray[np.float64]:
    """Leave out thresholds that only separate a number for missing values, far below all others, from the others."""
    values = thresholds[np.isfinite(thresholds)]
    return values if np.isnan(filled) or not len(values) else values[values >= (filled + values.max()) / 2]


def _as_script(content: Mapping[str, Any]) -> str:
    """Return JSON for a script element; no string inside it can end the element."""
    try:
        text = json.dumps(content, ensure_ascii=True, separators=(",", ":"), allow_nan=False)
    except ValueError as error:  # as in a file that tremula did not write
        raise UnsupportedModel("a weight of the model is not finite: it cannot be written as a page") from error
    return text.replace("<", "\\u003c")


def _read_part(environment: Any, name: str) -> str:
    """Return a template file unchanged."""
    text: str = environment.loader.get_source(environment, name)[0]
    return text
