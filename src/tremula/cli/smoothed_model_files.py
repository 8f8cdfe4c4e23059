"""Saves a smoothed model in tremula's own format if possible, also with the trees of other libraries.

A format that cannot hold the model raises an error before the work starts.
"""

from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from tremula.cli.model_files import OWN_ENDING, TRUST, WRITERS, check_ending, matching_columns, write_model
from tremula.data.table_schema import TableSchema
from tremula.errors import MissingLibrary, NotStorable, UnsupportedModel
from tremula.lab.comparison.refit import SCHEMA_ATTRIBUTE
from tremula.lab.datasets.reader import Reading
from tremula.smoothing.models import read_model, store_trees

FORMATS = {
    OWN_ENDING: "tremula predict and tm.load can read the file.",
    ".skops": f"This is a skops file: tremula predict can read it (with {TRUST} if it holds types that skops does not "
    "know), tm.load cannot.",
}
A_PICKLE = f"The file is a pickle, which tremula predict reads only with {TRUST}: reading it runs the code it holds."


def choose_place(model: Any, file: Path, out: Path | None) -> Path:
    """Return the file to write; raise an error before the work starts if its format cannot hold the model."""
    place = out or file.with_name(f"{file.stem}_soft{OWN_ENDING}")
    check_ending(place)
    if place.suffix.lower() in WRITERS or type(model).__module__.startswith("tremula."):
        return place
    if _can_be_read(model):
        return place
    if out is None and find_spec("skops"):
        return place.with_suffix(".skops")
    raise NotStorable(
        f"{type(model).__name__} is not a tree model that tremula can read, so {str(place)!r} cannot hold it: give "
        "--out a name that ends in .skops (which needs skops), or in .joblib for a pickle"
    )


def save_smoothed(soft: Any, model: Any, place: Path, reading: Reading, classes: NDArray[Any] | None) -> str:
    """Write the smoothed model, and return a note on the format.

    Trees of another library are copied if the format cannot hold the model, or if its classes are only numbers; the
    copy gets the names of the classes and columns of the given rows.
    """
    schema = _schema(model, reading)
    if classes is not None and [*map(str, classes)] == [*map(str, getattr(model, "classes_", ()))]:
        classes = None  # the model has these names itself
    if classes is None or not _can_be_read(model):
        if classes is not None:
            soft.classes_ = classes
        try:
            write_model(_with_schema(soft, schema), place)
            return _format_note(place)
        except NotStorable:
            pass
    trees = store_trees(read_model(model))
    if classes is not None:
        trees.classes_ = classes
    trees.name_columns(matching_columns(model, reading.dataset))
    kept = type(soft)(trees, noise=soft.noise_, scale=soft.scale_, prefit=True, n_jobs=soft.n_jobs).fit()
    write_model(_with_schema(kept, schema), place)
    library = type(model).__module__.split(".")[0]
    needless = "" if library in ("sklearn", "tremula") else f", and {library} is not needed to predict"
    return f"The file holds a copy of the trees{needless}. {_format_note(place)}"


def _can_be_read(model: Any) -> bool:
    try:
        read_model(model)
    except (UnsupportedModel, MissingLibrary):
        return False
    return True


def _with_schema(model: Any, schema: TableSchema | None) -> Any:
    if schema is not None:
        setattr(model, SCHEMA_ATTRIBUTE, schema)
    return model


def _schema(model: Any, reading: Reading) -> TableSchema | None:
    """Return the columns as the model knows them; None if its levels are unknown."""
    known: TableSchema | None = getattr(model, SCHEMA_ATTRIBUTE, None)
    if known is not None:
        return known
    names = matching_columns(model, reading.dataset)
    levels = _levels(model)
    if levels is None and reading.dataset.nominal:
        return None
    known_levels = levels or (None,) * len(names)
    kind_of = dict(zip(reading.schema.names, reading.schema.kinds))
    kinds = tuple(kind_of[name] if level_names is None else "nominal" for name, level_names in zip(names, known_levels))
    return replace(reading.schema, names=names, kinds=kinds, levels=known_levels, source="")


def _levels(model: Any) -> tuple[tuple[str, ...] | None, ...] | None:
    """Return the levels that a model knows, as strings; None if they are unknown."""
    encoder = getattr(model, "encoder_", None)
    if encoder is None:
        try:
            encoder = read_model(model).encoder
        except (UnsupportedModel, MissingLibrary):
            return None
    return tuple(
        None if level_names is None else tuple(map(str, level_names.tolist())) for level_names in encoder.levels
    )


def _format_note(place: Path) -> str:
    ending = place.suffix.lower()
    return FORMATS.get(ending, A_PICKLE if ending in WRITERS else FORMATS[OWN_ENDING])
