"""Models in files: what is loaded is what was saved, and no broken or hostile file gets through."""

import datetime
import hashlib
import io
import json
import os
import pickle
import random
import stat
import zipfile
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pandas as pd
import pytest
import sklearn.ensemble
from sklearn.base import BaseEstimator, clone, is_classifier
from sklearn.model_selection import KFold
from sklearn.pipeline import make_pipeline
from sklearn.tree import DecisionTreeClassifier

import tremula as tm
from tremula import perturb
from tremula.errors import FileDamaged, FileTooNew, NotStorable, TremulaError, UnknownClass
from tremula.persistence.description import MAX_DEPTH, ValueDecoder
from tremula.persistence.registry import storable_classes
from tremula.perturb import AttributeSubset, Bootstrap, FlippedClasses, RandomSplits
from tremula.smoothing.models.stored import TrainedTrees

KNOWN = storable_classes()
ESTIMATORS = [  # those that can be trained; trees taken over from another library have tests of their own
    known for known in KNOWN if issubclass(known, BaseEstimator) and not issubclass(known, TrainedTrees)
]


def table(n_rows: int = 120) -> pd.DataFrame:
    """Numeric and nominal columns, some values missing."""
    numbers = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "size": numbers.normal(size=n_rows),
            "weight": numbers.normal(size=n_rows),
            "color": pd.Categorical(numbers.choice(["red", "green", "blue"], n_rows)),
            "new": numbers.random(n_rows) < 0.5,
        }
    )
    frame.loc[::7, "size"] = np.nan
    frame.loc[::11, "color"] = np.nan
    return frame


def classes() -> np.ndarray:
    """Three classes that the table explains in part."""
    frame = table()
    noise = np.random.default_rng(1).integers(2, size=len(frame))
    return np.array(["low", "mid", "high"], dtype=object)[(frame["weight"] > 0).to_numpy(int) + noise * frame["new"]]


def make_fitted(kind: type, **parameters: Any) -> tuple[Any, pd.DataFrame]:
    """Fit an estimator, small, and return it with its rows."""
    model, frame = kind(), table()
    usual = {"n_estimators": 4, "random_state": 0, "oob_score": kind.__name__.startswith(("Bagging", "RandomForest"))}
    if kind.__name__ == "ID3Classifier":
        frame = frame[["new"]].assign(color=frame["color"].astype(str))
    model.set_params(**{name: value for name, value in usual.items() if name in model.get_params()} | parameters)
    return model.fit(frame, classes() if is_classifier(model) else table()["weight"] ** 2), frame


def content_of(value: Any) -> dict[str, Any]:
    """What an object holds, without what it remembers for speed."""
    return {f.name: getattr(value, f.name) for f in fields(value)} if is_dataclass(value) else vars(value)


def same(first: Any, second: Any) -> bool:
    """Whether two values are of one type and equal, deep down and to the bit."""
    if type(first) is not type(second):
        return False
    if isinstance(first, np.ndarray):
        if first.dtype != second.dtype or first.shape != second.shape:
            return False
        return same(first.tolist(), second.tolist()) if first.dtype.hasobject else first.tobytes() == second.tobytes()
    if isinstance(first, list | tuple):
        return len(first) == len(second) and all(map(same, first, second))
    if isinstance(first, BaseEstimator) or is_dataclass(first):
        mine, theirs = content_of(first), content_of(second)
        return mine.keys() == theirs.keys() and all(same(mine[name], theirs[name]) for name in mine)
    return first == second or (first != first and second != second)


def save_and_load(model: Any, folder: Path) -> Any:
    tm.save(model, folder / "model.tremula")
    return tm.load(folder / "model.tremula")


# --- what comes back ---


@pytest.mark.parametrize("kind", ESTIMATORS, ids=lambda kind: kind.__name__)
def test_a_loaded_model_is_the_saved_one(kind: type, tmp_path: Path) -> None:
    model, X = make_fitted(kind)
    loaded = save_and_load(model, tmp_path)
    assert same(loaded, model)
    assert same(loaded.predict(X), model.predict(X))
    if is_classifier(model):
        assert same(loaded.predict_proba(X), model.predict_proba(X))


@pytest.mark.parametrize("kind", ESTIMATORS, ids=lambda kind: kind.__name__)
def test_models_pickle_and_clone_before_and_after(kind: type, tmp_path: Path) -> None:
    model, X = make_fitted(kind)
    loaded = save_and_load(model, tmp_path)
    for each in (model, loaded):
        assert same(pickle.loads(pickle.dumps(each)), model)
        assert clone(each).get_params() == model.get_params()
        assert same(clone(each).fit(X, model.predict(X)).predict(X), clone(model).fit(X, model.predict(X)).predict(X))


def test_every_public_estimator_can_be_saved() -> None:
    public = [getattr(tm, name) for name in tm.__all__]
    assert {each for each in public if isinstance(each, type) and issubclass(each, BaseEstimator)} <= set(ESTIMATORS)


def test_every_public_perturbation_can_be_saved() -> None:
    public = [getattr(perturb, name) for name in perturb.__all__]
    perturbations = {each for each in public if issubclass(each, perturb.Perturbation)}
    assert perturbations - {perturb.Perturbation} <= set(KNOWN)


def test_an_unfitted_model_is_kept_too(tmp_path: Path) -> None:
    model = tm.BaggingClassifier(tm.C45Classifier(max_depth=3), max_samples=np.float64(0.5), random_state=np.int64(3))
    assert same(save_and_load(model, tmp_path), model)


def test_a_bare_tree_is_kept(tmp_path: Path) -> None:
    tree = make_fitted(tm.C45Classifier)[0].tree_
    assert save_and_load(tree, tmp_path) == tree


LABELS = {
    "strings": np.array(["no", "yes"]),
    "string objects": np.array(["no", "yes"], dtype=object),
    "string type": np.array(["no", "yes"], dtype=np.dtypes.StringDType()),
    "bytes": np.array([b"no", b"yes"]),
    "small integers": np.array([-1, 1], dtype=np.int8),
    "integer objects": np.array([2, 10**30], dtype=object),
    "floats": np.array([0.0, 2.0]),
    "booleans": np.array([False, True]),
    "boolean objects": np.array([False, True], dtype=object),
}


@pytest.mark.parametrize("labels", LABELS.values(), ids=LABELS)
def test_class_labels_keep_their_type(labels: np.ndarray, tmp_path: Path) -> None:
    X = np.arange(20.0)[:, None]
    model = tm.BaggingClassifier(n_estimators=2, random_state=0).fit(X, labels[np.arange(20) // 10])
    loaded = save_and_load(model, tmp_path)
    assert same(loaded.classes_, labels)
    assert same(loaded.predict(X), model.predict(X))


LEVELS = {
    "strings": pd.Series(["a", "b", None, "ß…"] * 6),
    "ordered strings": pd.Series(pd.Categorical(["low", "mid", "high"] * 8, ["low", "mid", "high"], ordered=True)),
    "whole numbers": pd.Series(pd.Categorical([3, 1, 2] * 8)),
    "floats": pd.Series(pd.Categorical([0.5, np.nan, -2.0] * 8)),
    "booleans": pd.Series([True, False, True] * 8),
    "mixed": pd.Series(pd.Categorical(["a", 1, 2.5] * 8)),
    "none at all": pd.Series(pd.Categorical([None] * 24, ["a"])),
}


@pytest.mark.parametrize("column", LEVELS.values(), ids=LEVELS)
def test_levels_keep_their_type(column: pd.Series, tmp_path: Path) -> None:
    X = pd.DataFrame({"kind": column, "number": np.arange(24.0) % 5})
    model = tm.CARTClassifier().fit(X, np.arange(24) % 3 == 0)
    loaded = save_and_load(model, tmp_path)
    assert same(loaded.encoder_, model.encoder_)
    assert same(loaded.predict_proba(X), model.predict_proba(X))


def test_training_goes_on_after_loading_as_if_never_stopped(tmp_path: Path) -> None:
    parameters = {"oob_score": True, "warm_start": True, "random_state": 5}
    half, X = make_fitted(tm.BaggingClassifier, n_estimators=3, **parameters)
    resumed = save_and_load(half, tmp_path).set_params(n_estimators=6).fit(X, classes())
    assert same(resumed, half.set_params(n_estimators=6).fit(X, classes()))


VARIANTS = {
    "weights of rounds": (tm.AdaBoostM1Classifier, {"keep_weights": True, "resample": True}),
    "pruned sequence": (tm.CARTClassifier, {"ccp_alpha": "cv", "cv": 3}),
    "folds given": (tm.CARTRegressor, {"ccp_alpha": "cv", "cv": [(np.arange(60), np.arange(60, 120))]}),
    "mask of columns": (tm.C45Classifier, {"categorical_features": np.array([False, False, True, True])}),
    "names of columns": (tm.C45Classifier, {"categorical_features": ("color", "new")}),
    "estimator given": (tm.RandomSubspaceClassifier, {"estimator": tm.CARTClassifier(min_samples_leaf=3)}),
    "ensemble of ensembles": (tm.BaggingClassifier, {"estimator": tm.AdaBoostM1Classifier(n_estimators=3)}),
    "perturbations": (
        tm.PerturbCombineClassifier,
        {"perturb": [Bootstrap(0.5), AttributeSubset(2), FlippedClasses(0.1), RandomSplits(5)]},
    ),
}


@pytest.mark.parametrize(("kind", "parameters"), VARIANTS.values(), ids=VARIANTS)
def test_parameters_and_what_they_make_fit_keep(kind: type, parameters: dict[str, Any], tmp_path: Path) -> None:
    model, X = make_fitted(kind, **parameters)
    loaded = save_and_load(model, tmp_path)
    assert same(loaded, model)
    assert same(loaded.predict(X), model.predict(X))


def test_the_same_model_gives_the_same_bytes(tmp_path: Path) -> None:
    for name in ("one", "two"):
        tm.save(make_fitted(tm.RandomForestClassifier)[0], tmp_path / name)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


def test_a_file_is_a_plain_archive_of_json_and_arrays(tmp_path: Path) -> None:
    model, _ = make_fitted(tm.RandomForestClassifier)
    tm.save(model, tmp_path / "model")
    with zipfile.ZipFile(tmp_path / "model") as archive:
        assert archive.testzip() is None
        description = json.loads(archive.read("model.json"))
        assert {Path(name).suffix for name in archive.namelist()} == {".json", ".npy"}
    assert list(description) == ["format", "format_version", "tremula_version", "model"]
    assert description["format_version"] == 1
    with np.load(tmp_path / "model", allow_pickle=False) as stored:
        assert stored["trees/sizes"][:, 0].tolist() == [tree.n_nodes for tree in model.members_]


# --- what cannot be saved ---


class Mine(tm.C45Classifier):
    """A class that a file cannot name."""


def with_note(model: Any) -> Any:
    """Give a model an attribute that no class has."""
    model.note = "by hand"
    return model


REFUSED: dict[str, tuple[Callable[[], Any], str]] = {
    "estimator of another library": (
        lambda: tm.BaggingClassifier(DecisionTreeClassifier()),
        r"BaggingClassifier\.estimator .*skops",
    ),
    "model of another library": (lambda: DecisionTreeClassifier(), "sklearn.*not one of tremula's own classes.*skops"),
    "pipeline": (lambda: make_pipeline(tm.C45Classifier()), "Pipeline.*not one of tremula's own"),
    "own subclass": (lambda: Mine(), "Mine.*not one of tremula's own"),
    "generator": (lambda: tm.C45Classifier(random_state=np.random.default_rng(0)), r"set_params\(random_state=None\)"),
    "random state inside": (
        lambda: tm.BaggingClassifier(tm.C45Classifier(random_state=np.random.RandomState(0))),
        r"BaggingClassifier\.estimator\.random_state is of type numpy.random.*RandomState",
    ),
    "splitter": (lambda: tm.CARTClassifier(cv=KFold(3)), r"CARTClassifier\.cv is of type .*KFold: tm\.save saves"),
    "object array": (
        lambda: tm.C45Classifier(categorical_features=np.array([[None]])),
        r"categorical_features is an array of object and shape \(1, 1\)",
    ),
    "dates": (
        lambda: tm.C45Classifier().fit(
            np.arange(4.0)[:, None], np.array([datetime.date(2000, 1, day // 2 + 1) for day in range(4)], dtype=object)
        ),
        r"C45Classifier\.classes_\[0\] is of type datetime\.date",
    ),
    "attribute of the user": (
        lambda: with_note(tm.C45Classifier()),
        r"C45Classifier\.note is not an attribute of C45Classifier, .*: delete it",
    ),
    "nothing of a model": (lambda: {"a"}, "set is of type builtins.set"),
}


@pytest.mark.parametrize(("make", "message"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_kept_is_named(make: Callable[[], Any], message: str, tmp_path: Path) -> None:
    with pytest.raises(NotStorable, match=message):
        tm.save(make(), tmp_path / "model")
    assert list(tmp_path.iterdir()) == []


def test_an_ensemble_of_members_of_another_library_is_refused(tmp_path: Path) -> None:
    X = np.arange(20.0)[:, None]
    model = tm.BaggingClassifier(DecisionTreeClassifier(), n_estimators=2, random_state=0).fit(X, X[:, 0] > 9)
    with pytest.raises(NotStorable, match=r"members_\[0\]\.estimator is of type sklearn"):
        tm.save(model.set_params(estimator=None), tmp_path / "model")


# --- files that are not what they should be ---


@pytest.fixture
def small_file(tmp_path: Path) -> Path:
    path = tmp_path / "small.tremula"
    tm.save(tm.C45Classifier().fit(np.arange(8.0)[:, None], np.arange(8) > 3), path)
    return path


def rewrite(path: Path, change: Callable[[dict[str, bytes]], Any]) -> None:
    """Change the entries of a file and give it the checksum that goes with them, as a forger would."""
    with zipfile.ZipFile(path) as archive:
        entries = {name: archive.read(name) for name in archive.namelist()}
    change(entries)
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in entries.items():
            archive.writestr(name, content)
        archive.comment = b"sha256:" + b"0" * 64
    summed = buffer.getvalue()[:-64]
    path.write_bytes(summed + hashlib.sha256(summed).hexdigest().encode())


def redescribe(path: Path, change: Callable[[Any], Any]) -> None:
    def change_description(entries: dict[str, bytes]) -> None:
        description = json.loads(entries["model.json"])
        change(description)
        entries["model.json"] = json.dumps(description).encode()

    rewrite(path, change_description)


def stored(array: Any, allow_pickle: bool = False) -> bytes:
    buffer = io.BytesIO()
    np.lib.format.write_array(buffer, np.asarray(array), allow_pickle=allow_pickle)
    return buffer.getvalue()


def test_a_changed_byte_is_noticed(small_file: Path) -> None:
    content = small_file.read_bytes()
    for place in range(0, len(content), 7):
        changed = bytearray(content)
        changed[place] ^= 1 << place % 8
        small_file.write_bytes(changed)
        with pytest.raises(FileDamaged):
            tm.load(small_file)


def test_a_lost_end_is_noticed(small_file: Path) -> None:
    content = small_file.read_bytes()
    for length in [*range(0, len(content), 13), *range(len(content) - 80, len(content))]:
        small_file.write_bytes(content[:length])
        with pytest.raises(FileDamaged):
            tm.load(small_file)


@pytest.mark.parametrize("content", [b"", b"hello", pickle.dumps([1]), b"PK\x05\x06" + b"\0" * 18], ids=len)
def test_other_files_are_refused(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "other").write_bytes(content)
    with pytest.raises(FileDamaged, match=r"other' was not written by tm\.save"):
        tm.load(tmp_path / "other")


def test_a_missing_file_is_said_to_be_missing(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        tm.load(tmp_path / "nowhere")


def test_a_newer_format_says_what_to_install(small_file: Path) -> None:
    redescribe(small_file, lambda description: description.update(format_version=2, tremula_version="9.1"))
    with pytest.raises(FileTooNew, match=r"format version 2, but .* up to 1: install tremula 9\.1"):
        tm.load(small_file)


@pytest.mark.parametrize("name", ["M6Regressor", "os.system", "Tree", "__builtins__"])
def test_an_unknown_class_is_named(name: str, small_file: Path) -> None:
    redescribe(small_file, lambda description: description["model"].update({"class": name}))
    with pytest.raises(UnknownClass, match=f"names the class '{name}', which tremula .* does not have"):
        tm.load(small_file)


def test_an_unknown_parameter_is_named(small_file: Path) -> None:
    redescribe(small_file, lambda description: description["model"]["parameters"].update(colour=1))
    with pytest.raises(UnknownClass, match="gives C45Classifier a parameter 'colour'"):
        tm.load(small_file)


def test_an_unknown_attribute_is_named(small_file: Path) -> None:
    redescribe(small_file, lambda description: description["model"]["fitted"].update(note_="new"))
    with pytest.raises(UnknownClass, match=r"C45Classifier an attribute 'note_', which tremula .* does not have"):
        tm.load(small_file)


def test_a_parameter_that_came_later_takes_its_default(small_file: Path) -> None:
    redescribe(small_file, lambda description: description["model"]["parameters"].pop("subtree_raising"))
    assert tm.load(small_file).subtree_raising is True


FORGED: dict[str, Callable[[dict[str, bytes]], Any]] = {
    "no description": lambda entries: entries.pop("model.json"),
    "no JSON": lambda entries: entries.update({"model.json": b"{"}),
    "endless JSON": lambda entries: entries.update({"model.json": b"[" * 100_000}),
    "another format": lambda entries: entries.update({"model.json": b'{"format": "x"}'}),
    "no array": lambda entries: entries.pop("arrays/C45Classifier.classes_.npy"),
    "a pickle": lambda entries: entries.update(
        {"arrays/C45Classifier.classes_.npy": stored(np.array([{}, []], dtype=object), allow_pickle=True)}
    ),
    "records": lambda entries: entries.update({"arrays/C45Classifier.classes_.npy": stored(np.zeros(2, "i4,i4"))}),
    "other classes": lambda entries: entries.update({"arrays/C45Classifier.classes_.npy": stored([1, 2, 3])}),
    "no trees": lambda entries: [entries.pop(name) for name in list(entries) if name.startswith("trees/")],
    "half a tree": lambda entries: entries.pop("trees/weight.npy"),
    "no numbers": lambda entries: entries.update({"trees/weight.npy": stored(["a", "b", "c"])}),
    "too much promised": lambda entries: entries.update(
        {"trees/values.npy": stored([0.0]).replace(b"(1,), }" + b" " * 15, b"(" + b"9" * 16 + b",), }")}
    ),
    "negative sizes": lambda entries: entries.update({"trees/sizes.npy": stored([[-3, 2, 2, 0, 1, 0]])}),
    "other attributes": lambda entries: entries.update(
        {"trees/n_levels.npy": stored([0, 0]), "trees/sizes.npy": stored([[3, 2, 2, 0, 2, 0]])}
    ),
    "child outside": lambda entries: entries.update({"trees/first_child.npy": stored([100, 0, 0])}),
    "loop": lambda entries: entries.update({"trees/first_child.npy": stored([0, 0, 0])}),
    "attribute outside": lambda entries: entries.update({"trees/attribute.npy": stored([2**30, -1, -1])}),
    "leaf outside": lambda entries: entries.update({"trees/index.npy": stored([-1, 2**30, 1])}),
    "subset outside": lambda entries: entries.update(
        {"trees/index.npy": stored([2**31 - 1, 0, 1]), "trees/n_levels.npy": stored([3])}
    ),
}


@pytest.mark.parametrize("change", FORGED.values(), ids=FORGED)
def test_a_forged_file_is_refused(change: Callable[[dict[str, bytes]], Any], small_file: Path) -> None:
    rewrite(small_file, change)
    with pytest.raises(FileDamaged, match="does not contain a valid model"):
        tm.load(small_file)


@pytest.mark.parametrize("tag", ["list", "dict", "object", ""])
def test_an_unknown_description_is_refused(tag: str, small_file: Path) -> None:
    redescribe(small_file, lambda description: description["model"]["fitted"].update(tree_={tag: 1}))
    with pytest.raises(FileDamaged, match="a value described by"):
        tm.load(small_file)


@pytest.mark.slow
def test_random_forgeries_are_refused_or_harmless(tmp_path: Path) -> None:
    model, X = make_fitted(tm.BaggingClassifier)
    path, draw = tmp_path / "model", random.Random(0)
    outcomes = set()
    for _ in range(100):
        tm.save(model, path)

        def change(entries: dict[str, bytes]) -> None:
            name = draw.choice([name for name in entries if name.startswith("trees/")])
            content = bytearray(entries[name])
            for _ in range(draw.choice([1, 1, 4])):
                content[draw.randrange(min(len(content) - 1, 100), len(content))] = draw.randrange(256)
            entries[name] = bytes(content)

        rewrite(path, change)
        try:
            outcomes.add(tm.load(path).predict(X).shape)
        except TremulaError as error:
            outcomes.add(type(error))
    assert outcomes == {(len(X),), FileDamaged}


# --- writing ---


@pytest.mark.parametrize("failure", [OSError, KeyboardInterrupt])
@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_a_failed_save_leaves_the_good_file_and_nothing_else(
    step: str, failure: type[BaseException], small_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = small_file.read_bytes()

    def fail(*_: Any) -> None:
        raise failure

    monkeypatch.setattr(os, step, fail)
    with pytest.raises(failure):
        tm.save(make_fitted(tm.C45Classifier)[0], small_file)
    assert small_file.read_bytes() == before
    assert list(small_file.parent.iterdir()) == [small_file]


def test_a_file_is_replaced(small_file: Path) -> None:
    model, _ = make_fitted(tm.REPTreeRegressor)
    tm.save(model, str(small_file))
    assert same(tm.load(str(small_file)), model)
    assert list(small_file.parent.iterdir()) == [small_file]


def test_a_file_has_the_rights_of_any_new_file(small_file: Path) -> None:
    (small_file.parent / "plain").write_bytes(b"")
    rights = [stat.S_IMODE(path.stat().st_mode) for path in (small_file, small_file.parent / "plain")]
    assert rights[0] == rights[1]


def test_a_link_stays_a_link(small_file: Path) -> None:
    link = small_file.parent / "link"
    link.symlink_to(small_file)
    tm.save(tm.C45Classifier(max_depth=7), link)
    assert link.is_symlink()
    assert tm.load(small_file).max_depth == 7


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"the folder '.*nowhere' does not exist: create it first"):
        tm.save(tm.C45Classifier(), tmp_path / "nowhere" / "model")


# --- sizes ---


@pytest.mark.data
def test_forests_on_letter_take_a_quarter_of_scikit_learns_at_most(load_dataset: Callable, tmp_path: Path) -> None:
    X, y = load_dataset("letter")
    ours = tm.RandomForestClassifier(n_estimators=10, criterion="entropy", random_state=0).fit(X, y)
    theirs = sklearn.ensemble.RandomForestClassifier(n_estimators=10, criterion="entropy", random_state=0).fit(X, y)
    tm.save(ours, tmp_path / "ours")
    joblib.dump(theirs, tmp_path / "theirs", compress=3)
    states = [estimator.tree_.__getstate__() for estimator in theirs.estimators_]
    in_memory = sum(tree.nbytes for tree in ours.members_)
    assert in_memory <= sum(state["nodes"].nbytes + state["values"].nbytes for state in states) / 4
    assert (tmp_path / "ours").stat().st_size <= (tmp_path / "theirs").stat().st_size / 4


# --- skops ---


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", [tm.C45Classifier, tm.CARTRegressor, tm.BaggingClassifier, tm.RandomForestRegressor])
def test_skops_keeps_models_too(kind: type) -> None:
    skops = pytest.importorskip("skops.io")
    model, X = make_fitted(kind)
    content = skops.dumps(model)
    untrusted = skops.get_untrusted_types(data=content)
    assert all(name.startswith("tremula.") for name in untrusted)
    loaded = skops.loads(content, trusted=untrusted)
    assert same(loaded.predict(X), model.predict(X))
    assert loaded.get_params() == model.get_params()


def test_values_nested_very_deep_are_refused() -> None:
    """They would load, but could not be cloned or printed."""
    reader = ValueDecoder(lambda _: np.zeros(1), [], "0.1.0")
    shallow: Any = 1
    for _ in range(MAX_DEPTH - 1):
        shallow = [shallow]
    assert reader.read(shallow) == shallow
    with pytest.raises(ValueError, match="nested more than"):
        reader.read([shallow])
    assert reader.read(shallow) == shallow
