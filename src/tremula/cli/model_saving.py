"""Where a trained model goes: tremula's own format where it can, a joblib file where it cannot."""

from pathlib import Path
from typing import Any

from tremula.cli.model_files import OWN_ENDING, WRITERS, write_model
from tremula.errors import NotStorable

OTHER_ENDING = ".joblib"


def write_fitted(model: Any, path: Path) -> Path:
    """Write a model and return the path, whose ending says the format where none was given.

    Parameters
    ----------
    model : fitted estimator
    path : Path
        An ending such as ``.skops`` or ``.joblib`` is obeyed; a model that is not tremula's and is to go into a
        ``.tremula`` file goes into a ``.joblib`` file beside it.
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
