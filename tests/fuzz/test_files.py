"""Mutated model files: each is refused clearly, or loads to a model that answers; and what the fuzz once found."""

from __future__ import annotations

import contextlib
import io
import json
import random
import tracemalloc
import warnings
import zipfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tremula as tm
from tremula.errors import FileDamaged, InvalidInput, UnknownClass, UnsupportedModel
from tremula.persistence.archive import FREE_BYTES, MAX_RATIO
from tremula.persistence.hints import hints_of
from tremula.persistence.registry import storable_classes
from tremula.trees.structure import MISSING_FIRST, MISSING_SECOND, NODE_DTYPE, NUMERIC_SPLIT, check_structure

from .archive import Parts, read_parts, write_parts, zip_entries
from .fuzz_files import Findings
from .mutator import mutate
from .questions import all_questions
from .stored_models import classes, table, write_models


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models")
    write_models(folder)
    return folder


@pytest.fixture(scope="module")
def contents(folder: Path) -> list[bytes]:
    return [path.read_bytes() for path in sorted(folder.iterdir())]


@pytest.mark.filterwarnings("ignore")
def test_mutated_files_are_refused_or_answer(contents: list[bytes], tmp_path: Path) -> None:
    findings = Findings()
    with np.errstate(all="ignore"):
        for number in range(25):
            findings.try_input(contents, number, tmp_path, all_of_them=False)
    assert findings.faults == {}
    assert findings.counts["refused"] > 6
    assert findings.counts["loaded"] > 2


@pytest.mark.filterwarnings("ignore")
def test_files_as_they_are_answer_every_question(folder: Path) -> None:
    findings = Findings()
    for path in sorted(folder.iterdir())[::14]:
        loaded, model = findings._call("load", 0, lambda path=path: tm.load(path))
        assert loaded, path.name
        with np.errstate(all="ignore"):
            findings._ask(model, 0, all_of_them=True)
    assert findings.faults == {}


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_some_file_answers_each_question(folder: Path) -> None:
    findings, asked = Findings(), set[str]()
    with np.errstate(all="ignore"):
        for path in sorted(folder.iterdir()):
            model = tm.load(path)
            asked |= set(all_questions(model, np.random.default_rng(0)))
            findings._ask(model, 0, all_of_them=True)
    assert findings.faults == {}
    assert len(asked) > 60
    assert {name for name in asked if not findings.answers[name]} == set()


# These train, draw or check what was built in the program; scikit-learn's `score` is `predict` and a measure.
NOT_ASKED = {"score", "grow", "sort", "plot", "check", "check_fits", "oob_quantiles", "from_node_counts"}
NOT_ASKED |= {"from_node_means"}


def test_every_public_method_is_asked() -> None:
    kinds = [getattr(tm, name) for name in tm.__all__ if isinstance(getattr(tm, name), type)]
    methods = {name for kind in kinds for name in dir(kind) if not name.startswith(("_", "set_"))}
    functions = {name for name in methods if any(callable(getattr(kind, name, None)) for kind in kinds)}
    asked = Path(__file__).with_name("questions.py").read_text()
    unasked = {name for name in functions if f'"{name}"' not in asked and f".{name}(" not in asked}
    assert unasked == NOT_ASKED


def test_every_storable_class_is_in_a_file(contents: list[bytes]) -> None:
    def names(value: Any) -> set[str]:
        items = value.values() if isinstance(value, dict) else value if isinstance(value, list) else []
        own = {value["class"]} if isinstance(value, dict) and isinstance(value.get("class"), str) else set()
        return own.union(*map(names, items))

    seen = set().union(*(names(read_parts(content).description) for content in contents))
    assert {kind.__name__ for kind in storable_classes()} - seen == {"Tree"}  # trees are arrays


def test_every_attribute_in_a_file_has_an_annotation_to_be_checked_by(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    without = set()

    def check(value: Any, attributes: Iterable[str]) -> None:
        without.update(f"{type(value).__name__}.{name}" for name in set(attributes) - set(hints_of(type(value))))

    monkeypatch.setattr("tremula.persistence.soundness._check_object", check)
    for path in sorted(folder.iterdir()):
        tm.load(path)
    assert not without


def kinds_of_splits(content: bytes) -> set[str]:
    """What the splits of a file do with missing values, and whether thresholds are infinite."""
    try:
        arrays = read_parts(content).arrays
    except Exception:  # bytes were changed
        return set()
    if any(f"trees/{name}.npy" not in arrays for name in ("index", "threshold", "n_branches")):
        return set()
    index, threshold, n_branches = (arrays[f"trees/{name}.npy"] for name in ("index", "threshold", "n_branches"))
    if not index.shape == threshold.shape == n_branches.shape:
        return set()
    is_split = n_branches != 0
    on_subset = threshold[is_split & (index >= 0)]
    numeric = is_split & np.isin(index, [NUMERIC_SPLIT, MISSING_FIRST, MISSING_SECOND])
    present = {
        "missing numbers first": (index[is_split] == MISSING_FIRST).any(),
        "missing numbers second": (index[is_split] == MISSING_SECOND).any(),
        "missing levels first": (on_subset == 1.0).any(),
        "missing levels second": (on_subset == 2.0).any(),
        "threshold above all numbers": (threshold[numeric] == np.inf).any(),
        "threshold below all numbers": (threshold[numeric] == -np.inf).any(),
        "unknown kind": (index[is_split] < MISSING_SECOND).any(),
        "missing levels nowhere": np.isin(on_subset, [0.0, 3.0, 1.5]).any(),
    }
    return {name for name, is_present in present.items() if is_present}


FORGED = {"unknown kind", "missing levels nowhere"}


def test_every_kind_of_split_is_in_a_file_and_among_the_mutations(contents: list[bytes]) -> None:
    learned = set().union(*map(kinds_of_splits, contents))
    draw = random.Random(0)
    trees = [content for content in contents if kinds_of_splits(content)]
    mutated = set().union(*(kinds_of_splits(mutate(draw.choice(trees), contents, draw)) for _ in range(150)))
    assert not learned & FORGED
    assert len(learned) >= 5
    assert mutated == learned | FORGED | {"threshold above all numbers", "threshold below all numbers"}


# --- what was found ---


def change(folder: Path, name: str, changed: Path, change_parts: Callable[[Parts], Any]) -> Path:
    (source,) = folder.glob(f"*_{name}.tremula")
    parts = read_parts(source.read_bytes())
    change_parts(parts)
    changed.write_bytes(write_parts(parts))
    return changed


def fitted(parts: Parts) -> dict[str, Any]:
    return dict.__getitem__(parts.description["model"], "fitted")


def set_array(name: str, change_array: Callable[[np.ndarray], Any]) -> Callable[[Parts], None]:
    def change_parts(parts: Parts) -> None:
        parts.arrays[f"{name}.npy"] = np.asarray(change_array(parts.arrays[f"{name}.npy"].copy()))

    return change_parts


def set_fitted(**values: Any) -> Callable[[Parts], None]:
    return lambda parts: fitted(parts).update(values)


def replaced(place: Any, value: Any) -> Callable[[np.ndarray], np.ndarray]:
    def change_array(array: np.ndarray) -> np.ndarray:
        array[place] = value
        return array

    return change_array


FOUND: dict[str, tuple[str, Callable[[Parts], Any], str]] = {
    "levels of one tree only": (  # read beyond the levels of the first tree: a segmentation fault
        "smoothed_forest",
        set_array("trees/n_levels", replaced(6, 50)),
        "does not fit the attributes, levels",
    ),
    "weights of nodes of another tree": (
        "smoothed_forest",
        lambda parts: fitted(parts)["node_weights_"].pop(),
        "",
    ),
    "draws without a seed": (
        "RandomForestClassifier",
        lambda parts: fitted(parts).pop("_root_seed"),
        "rows were drawn without a seed",
    ),
    "a level that is not there": (
        "M5Regressor",
        set_array("arrays/M5Regressor.tree_.terms.fill", replaced(2, 1e9)),
        "a missing value becomes an unknown level",
    ),
    "places of levels twice": (
        "M5Regressor",
        set_array("arrays/M5Regressor.tree_.terms.places", replaced(slice(None), 0)),
        "levels are not in an order",
    ),
    "terms of other attributes": (
        "M5Regressor",
        set_array("arrays/M5Regressor.tree_.terms.attribute", replaced(0, 10**6)),
        "terms are not those of M5'",
    ),
    "a method hidden": ("C45Classifier", set_fitted(predict=1), "gives C45Classifier an attribute 'predict'"),
    "an attribute of no class": ("C45Classifier", set_fitted(note=1), "gives C45Classifier an attribute 'note'"),
    "an attribute of another class": ("C45Classifier", set_fitted(row_weights_=1), "an attribute 'row_weights_'"),
    "a word for a tree": ("C45Classifier", set_fitted(tree_="tree"), "C45Classifier.tree_ has a wrong type"),
    "classes as a table": ("C45Classifier", set_fitted(classes_={"objects": [[1], [2], [3]]}), "not distinct labels"),
    "a billion jobs": (
        "RandomForestClassifier",
        lambda parts: parts.description["model"]["parameters"].update(n_jobs=10**9),
        "jobs",
    ),
    "a billion draws": (
        "smoothed_draws",
        set_fitted(_fitted_with={"tuple": ["sample", "average", 1e-6, 10**9]}),
        "n_draws=1000000000",
    ),
    "a value that is no number": ("BaggingRegressor", set_array("trees/values", replaced(0, np.nan)), "not finite"),
    "an infinite weight": ("BaggingRegressor", set_array("trees/weight", lambda w: w * np.inf), "a weight is negative"),
    "rows of fit without a number": (
        "BaggingClassifier",
        set_fitted(_drawn_from={"tuple": []}),
        "rows of fit are not described",
    ),
    "rows of Aspen's fit without a number": (
        "AspenClassifier",
        set_fitted(_drawn_from={"tuple": []}),
        "rows of fit are not described",
    ),
    "rows divided among fewer members": (
        "DaggingClassifier",
        set_fitted(_drawn_for=1),
        "rows were divided among fewer members",
    ),
    "an array for a progress bar": (
        "BaggingClassifier",
        lambda parts: parameters(parts).update(verbose=[1, 2]),
        "verbose",
    ),
    "no members": ("BaggingClassifier", set_fitted(members_=[]), ""),
    "trees as numbers": ("BaggingClassifier", set_fitted(members_=[1, 2]), "members_ has a wrong type"),
    "a list for a reason": (
        "smoothed_paths",
        set_fitted(_no_missing=[1]),
        "_no_missing has a wrong type",
    ),
    "moved thresholds of no attribute": (
        "smoothed_paths",
        lambda parts: parts.arrays.update({_moved(parts): np.array([[99.0, 0.0, 1.0]])}),
        "a moved threshold is of an unknown attribute",
    ),
    "an array read twice": (
        "AdaBoostM1Classifier",
        lambda parts: fitted(parts).update(member_errors_=fitted(parts)["member_weights_"]),
        "is referred to twice",
    ),
    "names of columns twice": (
        "C45Classifier",
        lambda parts: fitted(parts)["encoder_"]["parameters"].update(names={"tuple": ["a", "a", "b", "c"]}),
        "columns do not have a name each",
    ),
}


def _moved(parts: Parts) -> str:
    (name,) = [name for name in parts.arrays if name.endswith("moved_thresholds_.npy")]
    return name


@pytest.mark.parametrize(("name", "change_parts", "message"), FOUND.values(), ids=FOUND)
def test_what_the_fuzz_found_is_refused(
    name: str, change_parts: Callable[[Parts], Any], message: str, folder: Path, tmp_path: Path
) -> None:
    path = change(folder, name, tmp_path / "changed", change_parts)
    with pytest.raises((FileDamaged, InvalidInput, UnknownClass), match=message or None):
        tm.load(path).predict(table())


def parameters(parts: Parts) -> dict[str, Any]:
    return dict.__getitem__(parts.description["model"], "parameters")


def test_an_unfitted_ensemble_of_numbers_is_refused(folder: Path, tmp_path: Path) -> None:
    """The page of scikit-learn clones the estimator."""
    infinite = {"float": "inf"}
    path = change(folder, "unfitted", tmp_path / "changed", lambda parts: parameters(parts).update(estimator=infinite))
    with pytest.raises(FileDamaged, match="estimator is no estimator"):
        tm.load(path)


def test_an_array_for_a_criterion_is_refused(folder: Path, tmp_path: Path) -> None:
    def change_parts(parts: Parts) -> None:
        parts.arrays["arrays/criterion.npy"] = np.zeros(2)
        parameters(parts)["estimator"] = {
            "class": "CARTClassifier",
            "parameters": {"criterion": {"array": "arrays/criterion"}},
            "fitted": {},
        }

    path = change(folder, "unfitted", tmp_path / "changed", change_parts)
    with pytest.raises(FileDamaged, match="criterion is no name"):
        tm.load(path)


def test_trees_of_another_estimator_have_no_importances(folder: Path, tmp_path: Path) -> None:
    other = {"class": "AdaBoostM1Classifier", "parameters": {}, "fitted": {}}
    path = change(folder, "BaggingClassifier", tmp_path / "x", lambda parts: parameters(parts).update(estimator=other))
    model = tm.load(path)
    assert not hasattr(model, "feature_importances_")
    assert len(model.predict(table())) == len(table())


def test_what_a_file_says_of_other_training_rows_is_not_used(folder: Path, tmp_path: Path) -> None:
    """Out-of-bag outputs of no class were indexed; counts of fewer rows would have been, too."""
    kept = "arrays/AspenClassifier.oob_decision_function_"
    path = change(folder, "AspenClassifier", tmp_path / "changed", set_array(kept, lambda array: array[:, :0]))
    with pytest.raises(UnsupportedModel, match="does not fit them"):
        tm.Uncertainty(tm.load(path), table(), classes())
    kept = "arrays/RandomForestClassifier.inbag_counts_"
    path = change(folder, "RandomForestClassifier", tmp_path / "changed", set_array(kept, lambda array: array[:, 1:]))
    with pytest.raises(UnsupportedModel, match="does not fit them"):
        tm.Uncertainty(tm.load(path), table(), classes())


# --- memory and time ---


def unpacked_size(content: bytes) -> int:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return sum(entry.file_size for entry in archive.infolist())


def test_a_bomb_is_not_unpacked(tmp_path: Path) -> None:
    bomb = zip_entries({"model.json": b" " * (20 * 2**20)})
    (tmp_path / "bomb").write_bytes(bomb)
    tracemalloc.start()
    with pytest.raises(FileDamaged, match="more than 100 times its size"):
        tm.load(tmp_path / "bomb")
    assert tracemalloc.get_traced_memory()[1] < 4 * len(bomb) + FREE_BYTES
    tracemalloc.stop()


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_other_ways_to_pack_are_refused(method: int, tmp_path: Path) -> None:
    (tmp_path / "packed").write_bytes(zip_entries({"model.json": b"{}"}, method))
    with pytest.raises(FileDamaged, match="packed by another method"):
        tm.load(tmp_path / "packed")


def test_a_model_that_packs_too_well_is_stored_as_it_is(tmp_path: Path) -> None:
    model = tm.BaggingClassifier(tm.CARTClassifier(max_depth=1), n_estimators=60, random_state=0)
    model.fit(np.random.default_rng(0).random((40, 4000)), np.arange(40) % 2)
    tm.save(model, tmp_path / "wide")
    content = (tmp_path / "wide").read_bytes()
    assert unpacked_size(content) <= MAX_RATIO * len(content) + FREE_BYTES
    assert len(tm.load(tmp_path / "wide").members_) == 60


def widest_lists() -> bytes:
    """A description of empty lists, which take most memory for their bytes."""
    return json.dumps({"format": "tremula model", "format_version": 1, "model": [[]] * 100_000}).encode()


def most_trees() -> dict[str, bytes]:
    """As many trees of one node as a file can hold."""
    n_trees = 300
    tree = tm.Tree(np.array([(0, 1, -1, 0, 0, 0)], dtype=NODE_DTYPE), [[1.0]], [], [0], False)
    from tremula.trees.packing import pack_trees

    entries = {}
    for name, array in pack_trees([tree] * n_trees).items():
        buffer = io.BytesIO()
        np.lib.format.write_array(buffer, array)
        entries[f"trees/{name}.npy"] = buffer.getvalue()
    described = {"format": "tremula model", "format_version": 1, "tremula_version": "0", "model": {"tree": 0}}
    return {"model.json": json.dumps(described).encode(), **entries}


@pytest.mark.parametrize("entries", [{"model.json": widest_lists()}, most_trees()], ids=["lists", "trees"])
def test_memory_is_bounded_by_what_is_unpacked(entries: dict[str, bytes], tmp_path: Path) -> None:
    """The guide to files states 50 bytes for each byte that is unpacked."""
    (tmp_path / "wide").write_bytes(zip_entries(entries))
    n_unpacked = sum(map(len, entries.values()))
    tracemalloc.start()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with contextlib.suppress(FileDamaged):
            tm.load(tmp_path / "wide")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 50 * n_unpacked


def test_a_chain_of_nodes_is_answered(tmp_path: Path) -> None:
    """Recursion over nodes would overflow the stack."""
    depth = 50_000
    nodes = np.zeros(2 * depth + 1, NODE_DTYPE)
    splits = 2 * np.arange(depth)
    nodes["attribute"], nodes["weight"] = -1, 1.0
    nodes["attribute"][splits], nodes["threshold"][splits], nodes["index"][splits] = 0, np.arange(depth), -1
    nodes["first_child"][splits], nodes["n_branches"][splits] = splits + 1, 2
    tm.save(tm.Tree(nodes, [[1.0], [2.0]], [], [0], False), tmp_path / "chain")
    tree = tm.load(tmp_path / "chain")
    rows = np.array([[0.0], [depth / 2], [np.nan]])
    assert tree.depth == depth
    assert tree.apply(rows)[:2].tolist() == [1, depth + 1]
    assert np.isfinite(tree.predict_values(rows)).all()
    assert tree.decision_path(rows[:1]).nnz == 2


@pytest.mark.parametrize(
    ("weight", "n_levels", "message"),
    [(1.0, 2, "a numeric split tests a nominal attribute"), (1e308, 0, "the sum of the weights is infinite")],
)
def test_trees_whose_branches_would_have_no_share_are_refused(weight: float, n_levels: int, message: str) -> None:
    """Kernels took such a split for a leaf, and read before the values: found under the sanitizers."""
    nodes = np.array([(0.5, 1, 0, 1, 2, -1), (0, weight, -1, 0, 0, 0), (0, weight, -1, 0, 0, 1)], dtype=NODE_DTYPE)
    with pytest.raises(ValueError, match=message):
        check_structure(nodes, 2, np.zeros(0, np.uint8), np.array([n_levels], np.int32))
