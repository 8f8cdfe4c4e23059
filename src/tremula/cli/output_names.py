"""The files of a comparison: those of another dataset in the same folder are not overwritten."""

import re
from pathlib import Path

from markupsafe import escape

from tremula.lab.comparison.refit import SCHEMA_ATTRIBUTE
from tremula.lab.datasets.dataset import Dataset


def free_name(path: Path, dataset: Dataset) -> Path:
    """Return the path of a page or model, with the name of the dataset in it if the file there is of another.

    Examples
    --------
    >>> from tremula.lab.datasets import load_dataset
    >>> free_name(Path("no such folder/report.html"), load_dataset("wine")).name
    'report.html'
    """
    if not path.is_file() or _is_of(path, dataset):
        return path
    name = re.sub(r"[^\w.-]+", "-", dataset.name).strip("-.")
    return path.with_name(f"{path.stem}-{name}{path.suffix}")


def _is_of(path: Path, dataset: Dataset) -> bool:
    if path.suffix == ".html":
        text = path.read_text(encoding="utf-8", errors="replace")
        return f"on {escape(dataset.name)}" in text and str(escape(dataset.source)) in text
    from tremula.cli.model_files import load_model
    from tremula.errors import TremulaError

    try:
        schema = getattr(load_model(path), SCHEMA_ATTRIBUTE, None)
    except (TremulaError, OSError):
        return True  # a broken file is replaced
    if schema is None or schema.source != dataset.source:
        return schema is None
    # All datasets of scikit-learn have one source.
    return Path(dataset.source).is_file() or not set(schema.names).isdisjoint(dataset.attribute_names)
