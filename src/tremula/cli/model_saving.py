"""Saves a trained model: in tremula's own format if possible, else as a joblib file."""

from pathlib import Path
from typing import Any

from tremula.cli.model_files import OWN_ENDING, WRITERS, write_model
from tremula.errors import NotStorable

OTHER_ENDING = ".joblib"


def write_fitted(model: Any, path: Path) -> Path:
    """Write a model and return the path; without an extension, tremula's own format is used.

    Parameters
    ----------
    model : fitted estimator
    path : Path
        The extension decides the format, such as ``.skops`` or ``.joblib``. A model of another library cannot be
        stored in a ``.tremula`` file; it goes into a ``.joblib`` file of the same name.
    """
    place = path if path.suffix else path.with_suffix(OWN_ENDING)
    try:
        write_model(model, place)
    except NotStorable:
        if place.suffix in WRITERS:
            raise
        place = place.with_suffix(OTHER_ENDING)
        write_model(model, place)
    return place
