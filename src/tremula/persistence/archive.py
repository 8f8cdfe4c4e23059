"""Keeps a model in a file of arrays and JSON, without pickle: what is loaded answers bit for bit as what was saved.

A file is written beside its place and put there in one step, so what stands there is always whole; its last bytes are
a checksum of all others. Loading runs no code but tremula's own, and hands no unsound tree to the kernels.
"""

from __future__ import annotations

import hashlib
import inspect
import io
import json
import math
import os
import secrets
import zipfile
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tremula.errors import FileDamaged, FileTooNew, NotStorable, TremulaError, UnknownClass

FORMAT = "tremula model"
FORMAT_VERSION = 1
DESCRIPTION = "model.json"
CHECKSUM = b"sha256:"
N_DIGITS = 64
NO_DATE = (1980, 1, 1, 0, 0, 0)  # the earliest a ZIP file knows: the same model gives the same bytes on any day

# The classes that a file may name. Since all of tremula may use this module it imports none of them, but by name.
CLASSES = {
    "tremula.aspen.classifier": ("AspenClassifier",),
    "tremula.aspen.missing_values": ("Filling",),
    "tremula.aspen.regressor": ("AspenRegressor",),
    "tremula.aspen.report": ("AspenReport", "Tried"),
    "tremula.data.encoding": ("ColumnEncoder",),
    "tremula.ensembles.bagging": (
        "BaggingClassifier",
        "BaggingRegressor",
        "DaggingClassifier",
        "RandomSubspaceClassifier",
    ),
    "tremula.ensembles.adaboost": ("AdaBoostM1Classifier",),
    "tremula.ensembles.composed": ("PerturbCombineClassifier", "PerturbCombineRegressor"),
    "tremula.ensembles.decorate": ("DecorateClassifier",),
    "tremula.ensembles.forest": (
        "ExtraTreesClassifier",
        "ExtraTreesRegressor",
        "RandomForestClassifier",
        "RandomForestRegressor",
    ),
    "tremula.ensembles.base.member": ("EstimatorMember", "PerClassMember"),
    "tremula.ensembles.output_smearing": ("OutputSmearingClassifier", "OutputSmearingRegressor"),
    "tremula.ensembles.randomized_c45": ("RandomizedC45Classifier",),
    "tremula.ensembles.smearing_noise": ("NoiseCurve",),
    "tremula.ensembles.input_smearing": ("SmearedBaggingClassifier", "SmearedBaggingRegressor"),
    "tremula.ensembles.three_boost": ("ThreeBoostClassifier",),
    "tremula.lab.datasets.schema": ("TableSchema",),
    "tremula.perturb.attributes": ("AttributeSubset",),
    "tremula.perturb.inputs": ("SmearedInputs",),
    "tremula.perturb.rows": ("Bootstrap", "DisjointParts"),
    "tremula.perturb.splits": ("RandomAttributes", "RandomSplits", "RandomThresholds"),
    "tremula.perturb.targets": ("FlippedClasses", "SmearedClasses", "SmearedTarget"),
    "tremula.queries.question": ("Attribute", "Schema"),
    "tremula.queries.simulated": ("SimulatedBaggingClassifier", "SimulatedBaggingRegressor"),
    "tremula.smoothing.classifier": ("DualPerturbClassifier",),
    "tremula.smoothing.models.stored": ("TrainedTreesClassifier", "TrainedTreesRegressor"),
    "tremula.smoothing.regressor": ("DualPerturbRegressor",),
    "tremula.trees.c45": ("C45Classifier",),
    "tremula.trees.cart": ("CARTClassifier", "CARTRegressor"),
    "tremula.trees.subtree_choice": ("PrunedSequence",),
    "tremula.trees.id3": ("ID3Classifier",),
    "tremula.trees.m5.regressor": ("M5Regressor",),
    "tremula.trees.m5.model_tree": ("ModelTree",),
    "tremula.trees.reptree": ("REPTreeClassifier", "REPTreeRegressor"),
    "tremula.trees.m5.terms": ("Terms",),
    "tremula.trees.tree": ("Tree",),
}
MODULE_OF = {name: module for module, names in CLASSES.items() for name in names}
PLAIN_TYPES = (type(None), bool, int, str)
ARRAY_KINDS = "biufcmMSU"  # what NumPy stores without pickle
STRINGS = np.dtypes.StringDType()
CALLBACKS = "_skl_callbacks"  # what scikit-learn's `set_callbacks` sets: it watches training, and is no part of a model


def save(model: Any, path: str | os.PathLike[str]) -> None:
    """Write a tree or an ensemble to a file.

    Parameters
    ----------
    model : estimator of tremula, or Tree
        What to keep: its parameters, and all that `fit` set.
    path : str or path
        The file to make or replace. Whatever goes wrong, it is never left half written.

    See Also
    --------
    load : Read it back.

    Notes
    -----
    The file is a ZIP archive of one JSON text and NumPy arrays; the guide to files describes it. An ensemble of
    estimators other than tremula's raises `NotStorable`: use skops or pickle for it.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from sklearn.datasets import load_iris
    >>> import tremula as tm
    >>> X, y = load_iris(return_X_y=True)
    >>> forest = tm.RandomForestClassifier(n_estimators=10, random_state=0).fit(X, y)
    >>> with TemporaryDirectory() as folder:
    ...     tm.save(forest, Path(folder, "iris.tremula"))
    ...     again = tm.load(Path(folder, "iris.tremula"))
    >>> bool((again.predict_proba(X) == forest.predict_proba(X)).all())
    True
    """
    write_whole(path, _pack(model))


def load(path: str | os.PathLike[str]) -> Any:
    """Read a tree or an ensemble from a file that `save` wrote.

    Parameters
    ----------
    path : str or path
        The file.

    Returns
    -------
    estimator or Tree
        With the parameters and the fitted attributes it was saved with.

    Raises
    ------
    FileDamaged
        The file was cut or changed, or is no model.
    FileTooNew
        A later release of tremula wrote it in a format that this one does not know.
    UnknownClass
        It names a class, or a parameter of one, that this release does not have.

    See Also
    --------
    save : Write it.
    """
    content = Path(path).read_bytes()
    _check_checksum(content, path)
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            return _unpack(archive, path)
    except TremulaError:
        raise
    except Exception as error:  # whatever the content of a file made by other hands may set off
        raise FileDamaged(
            f"{os.fspath(path)!r} holds no sound model ({error}), though its checksum is right: something other than "
            "tremula wrote it; save the model again"
        ) from error


def write_whole(path: str | os.PathLike[str], content: bytes) -> None:
    """Put a file in place in one step; a failure leaves what was there before, and nothing else."""
    place = Path(os.path.realpath(path))
    if not place.parent.is_dir():
        raise FileNotFoundError(f"{os.fspath(place.parent)!r}, where the file is to go, is no folder: make it first")
    beside = place.with_name(f".{place.name}.{secrets.token_hex(4)}.part")
    try:
        with beside.open("xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(beside, place)
    finally:
        beside.unlink(missing_ok=True)


# --- the archive ---


def _pack(model: Any) -> bytes:
    """Return the content of a file."""
    writer = _Writer()
    description = {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "tremula_version": version("tremula"),
        "model": writer.describe(model, type(model).__name__),
    }
    arrays = writer.arrays
    if writer.trees:
        packed = import_module("tremula.trees.packing").pack_trees(writer.trees)
        arrays |= {f"trees/{name}": array for name, array in packed.items()}
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        _add(archive, DESCRIPTION, json.dumps(description, indent=1, allow_nan=False).encode())
        for name, array in arrays.items():
            entry = io.BytesIO()
            np.lib.format.write_array(entry, array, allow_pickle=False)
            _add(archive, f"{name}.npy", entry.getvalue())
        archive.comment = CHECKSUM + b"0" * N_DIGITS
    summed = buffer.getvalue()[:-N_DIGITS]
    return summed + hashlib.sha256(summed).hexdigest().encode()


def _add(archive: zipfile.ZipFile, name: str, content: bytes) -> None:
    archive.writestr(zipfile.ZipInfo(name, NO_DATE), content, zipfile.ZIP_DEFLATED, compresslevel=6)


def _check_checksum(content: bytes, path: str | os.PathLike[str]) -> None:
    name = os.fspath(path)
    if not content.startswith(b"PK"):
        raise FileDamaged(f"{name!r} is no file that tm.save wrote: give the path of one")
    summed, digits = content[:-N_DIGITS], content[-N_DIGITS:]
    if not summed.endswith(CHECKSUM):
        raise FileDamaged(f"{name!r} is no file that tm.save wrote, or its end was lost: copy it again, or save anew")
    if hashlib.sha256(summed).hexdigest().encode() != digits:
        raise FileDamaged(f"{name!r} was changed after it was written (wrong checksum): copy it again, or save anew")


def _unpack(archive: zipfile.ZipFile, path: str | os.PathLike[str]) -> Any:
    """Return the model in an archive."""
    description = json.loads(archive.read(DESCRIPTION))
    if description["format"] != FORMAT:
        raise ValueError(f"format {description['format']!r}, expected {FORMAT!r}")
    if description["format_version"] > FORMAT_VERSION:
        raise FileTooNew(
            f"{os.fspath(path)!r} has format version {description['format_version']}, but tremula {version('tremula')} "
            f"knows only those up to {FORMAT_VERSION}: install tremula {description['tremula_version']}, which wrote it"
        )
    return _Reader(archive, description["tremula_version"]).read(description["model"])


def _array(archive: zipfile.ZipFile, name: str) -> NDArray[Any]:
    """Read an array of plain numbers or strings."""
    array = np.lib.format.read_array(io.BytesIO(archive.read(f"{name}.npy")), allow_pickle=False)
    if array.dtype.kind not in ARRAY_KINDS:
        raise ValueError(f"array {name} has dtype {array.dtype}")
    return array


# --- values as JSON: what JSON does not know is an object whose first key says what it is ---


class _Writer:
    """Describes values in JSON; their arrays and trees are put aside."""

    def __init__(self) -> None:
        self.arrays: dict[str, NDArray[Any]] = {}
        self.trees: list[Any] = []

    def describe(self, value: Any, place: str) -> Any:
        """Describe a value; `place` is how the model's owner would write it."""
        kind = type(value)
        if kind in PLAIN_TYPES or (kind is float and math.isfinite(value)):
            return value
        if kind is float:
            return {"float": repr(value)}
        if kind in (list, tuple):
            items = [self.describe(item, f"{place}[{number}]") for number, item in enumerate(value)]
            return items if kind is list else {"tuple": items}
        if isinstance(value, np.ndarray | np.generic):
            return self._describe_array(value, place)
        if MODULE_OF.get(kind.__name__) != kind.__module__:
            raise _not_storable(value, place)
        if kind.__name__ == "Tree":
            self.trees.append(value)
            return {"tree": len(self.trees) - 1}
        return self._describe_object(value, place)

    def _describe_array(self, value: Any, place: str) -> dict[str, Any]:
        if value.dtype.kind in ARRAY_KINDS:
            self.arrays[f"arrays/{place}"] = np.asarray(value)
            return {"array" if isinstance(value, np.ndarray) else "scalar": f"arrays/{place}"}
        if value.ndim != 1 or (value.dtype != object and value.dtype != STRINGS):
            raise _not_storable(value, place)
        return {"objects" if value.dtype == object else "strings": self.describe(value.tolist(), place)}

    def _describe_object(self, value: Any, place: str) -> dict[str, Any]:
        if is_dataclass(value):
            parameters = {field.name: getattr(value, field.name) for field in fields(value)}
            fitted = {}
        else:
            parameters = value.get_params(deep=False)
            fitted = {n: content for n, content in vars(value).items() if n not in parameters and n != CALLBACKS}
        return {
            "class": type(value).__name__,
            "parameters": {name: self.describe(content, f"{place}.{name}") for name, content in parameters.items()},
            "fitted": {name: self.describe(content, f"{place}.{name}") for name, content in fitted.items()},
        }


def _not_storable(value: Any, place: str) -> NotStorable:
    """Say why a value cannot be written, and what to do."""
    what = f"{place} is of type {type(value).__module__}.{type(value).__qualname__}"
    if isinstance(value, np.random.RandomState | np.random.Generator):
        name = place.rpartition(".")[2]
        return NotStorable(
            f"{what}, whose state is not kept: give a whole number or None, such as model.set_params({name}=None); "
            "predictions do not depend on it"
        )
    if hasattr(value, "get_params"):
        return NotStorable(
            f"{what}, which is none of tremula's own classes: tm.save keeps those alone; use skops.io.dump or pickle"
        )
    if isinstance(value, np.ndarray):
        what = f"{place} is an array of {value.dtype} and shape {value.shape}"
    return NotStorable(
        f"{what}: tm.save keeps numbers, strings, lists, arrays and trees; change it, or use skops.io.dump or pickle"
    )


class _Reader:
    """Makes values of their descriptions."""

    def __init__(self, archive: zipfile.ZipFile, written_by: str) -> None:
        self.archive = archive
        self.written_by = written_by
        names = [name[: -len(".npy")] for name in archive.namelist() if name.startswith("trees/")]
        packed = {name.removeprefix("trees/"): _array(archive, name) for name in names}
        self.trees = import_module("tremula.trees.packing").unpack_trees(packed) if packed else []

    def read(self, described: Any) -> Any:
        """Return the value described."""
        match described:
            case list():
                return [self.read(item) for item in described]
            case {"float": text}:
                return float(text)
            case {"tuple": items}:
                return tuple(self.read(items))
            case {"array": name}:
                return _array(self.archive, name)
            case {"scalar": name}:
                return _array(self.archive, name)[()]
            case {"objects": items}:
                return np.fromiter(self.read(items), dtype=object, count=len(items))
            case {"strings": items}:
                return np.array(items, dtype=STRINGS)
            case {"tree": number}:
                return self.trees[number]
            case {"class": name, "parameters": dict(parameters), "fitted": dict(fitted)}:
                return self._read_object(name, parameters, fitted)
            case dict():
                raise ValueError(f"a value described by {', '.join(map(repr, described))}")
        return described

    def _read_object(self, name: str, parameters: Mapping[str, Any], fitted: Mapping[str, Any]) -> Any:
        if name not in MODULE_OF or name == "Tree":
            raise UnknownClass(f"the file names the class {name!r}, which {self._advice()}")
        kind = getattr(import_module(MODULE_OF[name]), name)
        unknown = [parameter for parameter in parameters if parameter not in inspect.signature(kind).parameters]
        if unknown:
            raise UnknownClass(f"the file gives {name} a parameter {unknown[0]!r}, which {self._advice()}")
        value = kind(**{parameter: self.read(content) for parameter, content in parameters.items()})
        if fitted:
            vars(value).update({attribute: self.read(content) for attribute, content in fitted.items()})
            check_trees_fit(value)
        return value

    def _advice(self) -> str:
        return f"tremula {version('tremula')} does not have: install tremula {self.written_by}, which wrote it"


def check_trees_fit(model: Any) -> None:
    """Refuse trees of other attributes or classes than the model's."""
    n_classes = len(getattr(model, "classes_", [0]))
    members = [part for member in getattr(model, "members_", []) for part in getattr(member, "regressors", [member])]
    for tree in [getattr(model, "tree_", None), *members]:
        if type(tree).__name__ != "Tree":
            continue
        if tree.n_attributes != model.n_features_in_ or tree.n_outputs not in (1, n_classes):
            raise ValueError(f"{tree} in a model of {model.n_features_in_} attributes and {n_classes} classes")
