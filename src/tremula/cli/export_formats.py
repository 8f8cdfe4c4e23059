"""The steps of ``tremula export``: a saved model for another program, or as a page for the browser."""

import io
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

from rich.console import Console

import tremula as tm
from tremula.cli.export_options import Format
from tremula.cli.model_files import check_place, load_model
from tremula.cli.options import split_words
from tremula.errors import InvalidParameter
from tremula.persistence.atomic_write import write_atomically

FORMAT_OPTIONS = ("dtype", "missing", "dialect", "table", "keep", "title")


@dataclass(frozen=True)
class Writer:
    """How a format is written: its file extension, a function, its options, and what the file is for."""

    ending: str
    write: Callable[..., bytes]
    options: tuple[str, ...]
    use: str


def _as_onnx(model: Any, **options: Any) -> bytes:
    content: bytes = tm.to_onnx(model, **options).SerializeToString()
    return content


def _as_treelite(model: Any, **options: Any) -> bytes:
    content: bytes = tm.to_treelite(model, **options).serialize_bytes()
    return content


def _as_sklearn(model: Any, **options: Any) -> bytes:
    import joblib

    buffer = io.BytesIO()
    joblib.dump(tm.to_sklearn(model, **options), buffer)
    return buffer.getvalue()


def _as_html(model: Any, **options: Any) -> bytes:
    return tm.to_html(model, **options).encode()


def _as_sql(model: Any, **options: Any) -> bytes:
    return (tm.to_sql(model, **options) + "\n").encode()


WRITERS = {
    Format.onnx: Writer(".onnx", _as_onnx, ("dtype", "missing"), "onnxruntime and others run it."),
    Format.treelite: Writer(".treelite", _as_treelite, ("dtype",), "treelite.Model.deserialize reads it."),
    Format.sklearn: Writer(".joblib", _as_sklearn, (), "joblib.load reads it, with scikit-learn alone."),
    Format.html: Writer(".html", _as_html, ("title",), "Open it in a browser: it needs neither Python nor a network."),
    Format.sql: Writer(".sql", _as_sql, ("dialect", "table", "keep", "missing"), "A database runs it."),
}


def run_export(options: Mapping[str, Any]) -> None:
    """Write a model in a format as the options say; they have the names of the parameters of the command."""
    given = SimpleNamespace(**options)
    writer = WRITERS[given.to]
    place = given.out or given.model.with_suffix(writer.ending)
    check_place(place, given.model)
    chosen = {name: options[name] for name in FORMAT_OPTIONS if options[name] is not None}
    _check_options(given.to, chosen)
    if given.keep is not None:
        chosen["keep"] = split_words(given.keep)
    content = writer.write(load_model(given.model, given.trust), **chosen)
    write_atomically(place, content)
    if given.as_json:
        print(json.dumps({"file": str(place), "format": given.to.value, "bytes": len(content)}))
        return
    Console(soft_wrap=True).print(
        f"Wrote {place} ({len(content):,} bytes). {writer.use}", markup=False, highlight=False
    )


def _check_options(to: Format, options: dict[str, Any]) -> None:
    """Refuse options of other formats."""
    for name in options:
        if name not in WRITERS[to].options:
            formats = [each.value for each, writer in WRITERS.items() if name in writer.options]
            raise InvalidParameter(f"--{name} is for --to {' or '.join(formats)}, not for {to.value}: leave it out")
