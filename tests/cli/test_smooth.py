"""`tremula smooth`: models of several libraries from their files, what they lose before and after, and the file."""

import json
import zipfile
from importlib import import_module
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import tremula as tm
from tremula.cli.class_names import doubtful_names
from tremula.cli.exit_codes import EXIT_BAD_INPUT, EXIT_FILE_ERROR
from tremula.cli.main import run
from tremula.cli.model_files import HARMLESS, _read_pickle, load_model, own_levels
from tremula.cli.smoothing import Problem, _divide
from tremula.errors import FileDamaged, InvalidInput


def make_rows(seed: int) -> pd.DataFrame:
    """Two numbers of which the sum decides, with some noise: a single tree answers in steps, smoothing helps it."""
    random = np.random.default_rng(seed)
    rows = pd.DataFrame(random.normal(size=(300, 2)), columns=["a size", "b"])
    rows["sum"] = rows["a size"] + rows["b"] + random.normal(scale=0.3, size=300)
    rows["kind"] = np.where(rows["sum"] > 0, "large", "small")
    return rows


ROWS = make_rows(0)
X, KIND = ROWS[["a size", "b"]], ROWS["kind"]


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    make_rows(1).drop(columns="sum").to_csv("held_out.csv", index=False)
    make_rows(1).drop(columns="kind").to_csv("numbers.csv", index=False)


class Touch:
    """What a pickle can do: here, make a file."""

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (Path("touched"),)


def smooth(capsys: pytest.CaptureFixture[str], model: str, *words: str, code: int = 0) -> str:
    with pytest.raises(SystemExit) as stop:
        run(["smooth", model, *words])
    printed = capsys.readouterr()
    assert int(stop.value.code or 0) == code, printed.err
    assert "Traceback" not in printed.err
    return printed.err if code else printed.out


def as_json(capsys: pytest.CaptureFixture[str], model: str, *words: str) -> dict[str, Any]:
    return json.loads(smooth(capsys, model, *words, "--json"))


HELD_OUT = ("--data", "held_out.csv", "--target", "kind")


def test_a_tree_of_tremula(capsys: pytest.CaptureFixture[str]) -> None:
    tm.save(tm.CARTClassifier().fit(X, KIND), "tree.tremula")
    printed = smooth(capsys, "tree.tremula", *HELD_OUT)
    assert "CARTClassifier of tremula" in printed
    assert "the smoothed model is better by" in printed
    assert "must not be training rows of the model" in printed
    soft = tm.load("tree_soft.tremula")
    assert soft.noise_ > 0
    assert set(soft.predict(X)) == {"large", "small"}


def test_rows_that_choose_the_noise_are_not_tested_on(capsys: pytest.CaptureFixture[str]) -> None:
    tm.save(tm.C45Classifier().fit(X, KIND), "tree.tremula")
    told = as_json(capsys, "tree.tremula", *HELD_OUT, "--test-share", "0.4")
    assert (told["rows_choosing"], told["rows_judging"]) == (180, 120)
    error, log_loss = told["changes"]
    assert (error["measure"], log_loss["measure"]) == ("error", "log loss")
    assert log_loss["before"] - log_loss["after"] == pytest.approx(log_loss["gain"])


def test_the_trees_of_a_pickle_are_kept_without_pickle(capsys: pytest.CaptureFixture[str]) -> None:
    tree = DecisionTreeRegressor(random_state=0).fit(X, ROWS["sum"])
    joblib.dump(tree, "tree.joblib")
    words = ("--data", "numbers.csv", "--target", "sum", "--noise", "0.2", "--out", "soft.tremula")
    told = as_json(capsys, "tree.joblib", *words, "--trust")
    assert told["changes"][0]["verdict"] == "after"
    expected = tm.DualPerturbRegressor(tree, noise=0.2).fit(make_rows(1)[["a size", "b"]]).predict(X)
    np.testing.assert_array_equal(tm.load("soft.tremula").predict(X), expected)


def test_a_pickle_is_not_read_unless_trusted(capsys: pytest.CaptureFixture[str]) -> None:
    joblib.dump(tm.C45Classifier().fit(X, KIND), "tree.pkl")
    message = smooth(capsys, "tree.pkl", *HELD_OUT, code=EXIT_BAD_INPUT)
    assert "can run any program" in message
    assert "--trust" in message


@pytest.mark.parametrize("ending", ["json", pytest.param("ubj", marks=pytest.mark.slow)])
def test_a_booster_of_xgboost_learns_the_names_of_its_classes(ending: str, capsys: pytest.CaptureFixture[str]) -> None:
    xgboost = pytest.importorskip("xgboost")
    booster = xgboost.XGBClassifier(n_estimators=5, n_jobs=1).fit(X, KIND == "small")
    booster.save_model(f"booster.{ending}")
    assert "--classes" in smooth(capsys, f"booster.{ending}", *HELD_OUT, code=EXIT_BAD_INPUT)
    smooth(capsys, f"booster.{ending}", *HELD_OUT, "--classes", "large,small", "--noise", "0.1")
    soft = tm.load("booster_soft.tremula")
    assert (soft.predict(X) == KIND).mean() > 0.9


def test_a_booster_of_lightgbm_finds_columns_with_spaces(capsys: pytest.CaptureFixture[str]) -> None:
    lightgbm = pytest.importorskip("lightgbm")
    booster = lightgbm.LGBMRegressor(n_estimators=5, verbose=-1, n_jobs=1).fit(X, ROWS["sum"]).booster_
    booster.save_model("booster.txt")
    smooth(capsys, "booster.txt", "--data", "numbers.csv", "--target", "sum", "--noise", "0.1")
    soft = tm.load("booster_soft.tremula")
    assert list(soft.feature_names_in_) == ["a size", "b"]
    assert np.corrcoef(soft.predict(X), ROWS["sum"])[0, 1] > 0.8


def test_a_model_without_trees_goes_into_a_skops_file(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("skops")
    line = make_pipeline(StandardScaler(), LogisticRegression()).fit(X, KIND)
    joblib.dump(line, "line.joblib")
    message = smooth(capsys, "line.joblib", *HELD_OUT, "--trust", "--out", "line.tremula", code=EXIT_BAD_INPUT)
    assert "ends in .skops" in message
    told = as_json(capsys, "line.joblib", *HELD_OUT, "--trust", "--noise", "0.5")
    assert told["out"] == "line_soft.skops"
    assert "tm.load cannot" in " ".join(told["notes"])
    assert told["method"] == "sample"
    assert "The model is smoothed by 100 random draws, not exactly: " in " ".join(told["notes"])
    soft = load_model(Path("line_soft.skops"))
    assert (soft.noise_, type(soft.estimator_)) == (0.5, type(line))
    assert abs(soft.predict_proba(X[:9]) - line.predict_proba(X[:9])).max() < 0.2


def test_a_skops_file_has_no_function_of_tremula_called_unless_trusted(capsys: pytest.CaptureFixture[str]) -> None:
    skops = pytest.importorskip("skops.io")
    joblib.dump(Touch(), "notes.bin")
    unpickle = FunctionTransformer(_read_pickle, kw_args={"trust": True})
    steps = [FunctionTransformer(own_levels, kw_args={"table": "notes.bin"}), unpickle, DummyClassifier()]
    attack = make_pipeline(*steps)
    attack.steps[-1][1].fit(X, KIND)
    skops.dump(attack, "attack.skops")
    message = smooth(capsys, "attack.skops", *HELD_OUT, code=EXIT_BAD_INPUT)
    assert "tremula.cli.model_files._read_pickle" in message
    assert "--trust" in message
    assert not Path("touched").exists()


def test_a_skops_file_with_a_model_of_tremula_needs_no_trust() -> None:
    skops = pytest.importorskip("skops.io")
    tree = tm.C45Classifier().fit(X, KIND)
    skops.dump(tree, "tree.skops")
    assert load_model(Path("tree.skops")).tree_ == tree.tree_


def test_a_skops_file_with_an_unsound_tree_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    skops = pytest.importorskip("skops.io")
    forest = tm.RandomForestClassifier(n_estimators=2, random_state=0).fit(X, KIND)
    tree = forest.members_[1]
    nodes = tree.nodes.copy()
    nodes["first_child"][0] = 10**9
    forest.members_[1] = tm.Tree(nodes, tree.values, tree.subsets, tree.n_levels, tree.strict)
    skops.dump(forest, "forest.skops")
    assert "does not contain a valid skops model" in smooth(capsys, "forest.skops", *HELD_OUT, code=EXIT_BAD_INPUT)


def test_a_skops_file_that_unpacks_to_far_more_is_refused() -> None:
    skops = pytest.importorskip("skops.io")
    skops.dump(tm.C45Classifier().fit(X, KIND), "tree.skops")
    with zipfile.ZipFile("tree.skops", "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("zeros.npy", bytes(50_000_000))
    with pytest.raises(FileDamaged, match=r"would unpack to .* bytes, more than 100 times its size"):
        load_model(Path("tree.skops"))
    assert load_model(Path("tree.skops"), trust=True).classes_.tolist() == sorted(set(KIND))


def test_what_is_taken_for_harmless_is_a_class() -> None:
    for name in HARMLESS:
        module, _, last = name.rpartition(".")
        kind = getattr(import_module(module), last)
        assert isinstance(kind, type)
        assert f"{kind.__module__}.{kind.__qualname__}" == name


def test_a_smoothed_model_that_is_smoothed_again_keeps_its_table(capsys: pytest.CaptureFixture[str]) -> None:
    tm.save(tm.C45Classifier().fit(X.to_numpy(), KIND), "tree.tremula")
    smooth(capsys, "tree.tremula", *HELD_OUT, "--noise", "0.1", "--out", "once.tremula")
    make_rows(1)[["kind", "b", "a size", "sum"]].to_csv("other_order.csv", index=False)
    told = as_json(capsys, "once.tremula", "--data", "other_order.csv", "--noise", "0.2", "--out", "twice.tremula")
    assert told["target"] == "kind"
    assert tm.load("twice.tremula").table_.names == ("a size", "b")


@pytest.mark.parametrize("ending", ["joblib", "skops", "tremula"])
def test_names_of_classes_are_in_a_file_of_any_kind(ending: str, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("skops" if ending == "skops" else "joblib")
    joblib.dump(DecisionTreeClassifier(random_state=0).fit(X, KIND == "small"), "tree.joblib")
    words = ("--classes", "large,small", "--noise", "0.1", "--trust", "--out", f"soft.{ending}")
    smooth(capsys, "tree.joblib", *HELD_OUT, *words)
    assert (load_model(Path(f"soft.{ending}"), trust=True).predict(X) == KIND).mean() > 0.9


def test_names_of_classes_of_a_model_without_trees(capsys: pytest.CaptureFixture[str]) -> None:
    joblib.dump(LogisticRegression().fit(X, KIND == "small"), "line.joblib")
    words = ("--classes", "large,small", "--noise", "0.1", "--trust", "--out", "soft.joblib")
    smooth(capsys, "line.joblib", *HELD_OUT, *words)
    assert (load_model(Path("soft.joblib"), trust=True).predict(X) == KIND).mean() > 0.8


@pytest.mark.parametrize(("n_rare", "test_share", "in_parts"), [(2, 0.5, [1, 1]), (4, 0.25, [1, 3]), (1, 0.5, [0, 1])])
def test_rare_classes_are_in_both_parts(n_rare: int, test_share: float, in_parts: list[int]) -> None:
    y = np.zeros(100, dtype=int)
    y[:n_rare] = 1
    problem = Problem(np.zeros((100, 1)), y, np.array(["often", "rare"]))
    for seed in range(5):
        assert sorted(int(y[part].sum()) for part in _divide(problem, test_share, seed)) == in_parts


def test_numbers_and_too_many_classes_are_divided_at_random() -> None:
    many = np.repeat(np.arange(12), 2)
    for problem in (Problem(many[:, None], many, np.arange(12)), Problem(many[:, None], many.astype(float), None)):
        choosing, test = _divide(problem, 0.1, 0)
        assert (len(choosing), len(test)) == (21, 3)


def test_training_rows_are_suspected(capsys: pytest.CaptureFixture[str]) -> None:
    rows = make_rows(1)
    tm.save(tm.CARTClassifier().fit(rows[["a size", "b"]], rows["kind"]), "tree.tremula")
    assert "are they its training rows?" in smooth(capsys, "tree.tremula", *HELD_OUT)


def test_what_was_saved_predicts(capsys: pytest.CaptureFixture[str]) -> None:
    joblib.dump(DecisionTreeClassifier(random_state=0).fit(X.to_numpy(), KIND), "tree.joblib")
    smooth(capsys, "tree.joblib", *HELD_OUT, "--trust", "--noise", "0.2")
    with pytest.raises(SystemExit) as stop:
        run(["predict", "tree_soft.tremula", "held_out.csv", "--out", "answers.csv"])
    assert not stop.value.code
    expected = tm.load("tree_soft.tremula").predict(make_rows(1)[["a size", "b"]])
    assert pd.read_csv("answers.csv")["prediction"].tolist() == expected.tolist()
    assert "error" in capsys.readouterr().err


def test_levels_of_a_model_are_known_to_predict(capsys: pytest.CaptureFixture[str]) -> None:
    rows = make_rows(1).drop(columns="sum").assign(b=lambda rows: rows["b"] > 0, c="x")[["c", "b", "a size", "kind"]]
    rows.to_csv("held_out.csv", index=False)
    tm.save(tm.CARTClassifier().fit(rows[["a size", "b"]], rows["kind"]), "tree.tremula")
    smooth(capsys, "tree.tremula", *HELD_OUT, "--noise", "0.1")
    with pytest.raises(SystemExit) as stop:
        run(["predict", "tree_soft.tremula", "held_out.csv", "--out", "answers.csv"])
    assert not stop.value.code, capsys.readouterr().err
    expected = tm.load("tree_soft.tremula").predict(rows[["a size", "b"]])
    assert pd.read_csv("answers.csv")["prediction"].tolist() == expected.tolist()


@pytest.mark.parametrize("method", ["lightgbm", "xgboost", "sklearn-random-forest"])
def test_what_fit_wrote_of_another_library_is_read_as_trees(method: str, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip(method.split("-")[0])
    words = ("held_out.csv", "--target", "kind", "--method", method, "--cv", "2", "--out", "model.joblib")
    with pytest.raises(SystemExit) as stop:
        run(["fit", *words])
    assert not stop.value.code
    smooth(capsys, "model.joblib", "--data", "held_out.csv", "--trust", "--noise", "0.1")
    soft = tm.load("model_soft.tremula")
    assert list(soft.classes_) == ["large", "small"]
    assert (soft.predict(X) == KIND).mean() > 0.8


@pytest.mark.parametrize(
    ("model", "words", "code", "message"),
    [
        ("nowhere.tremula", HELD_OUT, EXIT_FILE_ERROR, "no file 'nowhere.tremula'"),
        (".", HELD_OUT, EXIT_FILE_ERROR, "is a folder"),
        ("held_out.csv", HELD_OUT, EXIT_BAD_INPUT, "was not written by tm.save"),
        ("wrong.json", HELD_OUT, EXIT_BAD_INPUT, "is not a sound XGBoost model"),
        ("wrong.txt", HELD_OUT, EXIT_BAD_INPUT, "is not a LightGBM model"),
        ("tree.tremula", ("--data", "iris"), EXIT_BAD_INPUT, "needs a column 'a size'"),
        ("tree.tremula", ("--data", "nowhere.csv"), EXIT_BAD_INPUT, "no file 'nowhere.csv'"),
        ("tree.tremula", (*HELD_OUT, "--classes", "one"), EXIT_BAD_INPUT, "the model has 2 classes"),
        ("tree.tremula", (*HELD_OUT, "--classes", "on,off"), EXIT_BAD_INPUT, "the model knows 'on', 'off'"),
        ("tree.tremula", (*HELD_OUT, "--out", "no/soft.tremula"), EXIT_FILE_ERROR, "make it first"),
        ("tree.tremula", (*HELD_OUT, "--out", "soft.json"), EXIT_BAD_INPUT, "for models of another library"),
        ("tree.tremula", (*HELD_OUT, "--noise", "loud"), 2, "give auto, or a number"),
        ("tree.tremula", (), 2, "--data"),
        ("array.tremula", ("--data", "iris"), EXIT_BAD_INPUT, "was trained on 2"),
        ("small.tremula", ("--data", "small.csv"), EXIT_BAD_INPUT, "at least 20 are needed"),
        ("bare.tremula", HELD_OUT, EXIT_BAD_INPUT, "save the fitted estimator itself"),
    ],
)
def test_a_mistake_gives_a_message(
    model: str, words: tuple[str, ...], code: int, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    tree = tm.CARTClassifier(max_depth=2).fit(X, KIND)
    tm.save(tree, "tree.tremula")
    tm.save(tree, "small.tremula")
    tm.save(tree.tree_, "bare.tremula")
    tm.save(tm.CARTClassifier(max_depth=2).fit(X.to_numpy(), KIND), "array.tremula")
    make_rows(2).drop(columns="sum")[:19].to_csv("small.csv", index=False)
    Path("wrong.json").write_text("{}")
    Path("wrong.txt").write_text("hello")
    assert message in " ".join(smooth(capsys, model, *words, code=code).split())


# --- files of scikit-learn's trees ---


SKLEARN_TREES = [
    DecisionTreeClassifier(max_depth=4),
    RandomForestClassifier(n_estimators=3, random_state=0),
    BaggingClassifier(n_estimators=3, max_features=0.5, random_state=0),
    AdaBoostClassifier(n_estimators=3),
    GradientBoostingClassifier(n_estimators=3),
    HistGradientBoostingClassifier(max_iter=3),
    make_pipeline(StandardScaler(), RandomForestClassifier(n_estimators=3, random_state=0)),
]


@pytest.mark.parametrize("model", SKLEARN_TREES, ids=lambda model: type(model).__name__)
def test_a_skops_file_of_scikit_learns_trees_needs_no_trust(model: Any) -> None:
    skops = pytest.importorskip("skops.io")
    skops.dump(model.fit(X, KIND), "model.skops")
    assert np.array_equal(load_model(Path("model.skops")).predict(X), model.predict(X))


def test_a_forest_in_a_skops_file_is_smoothed_without_trust(capsys: pytest.CaptureFixture[str]) -> None:
    skops = pytest.importorskip("skops.io")
    skops.dump(RandomForestClassifier(n_estimators=5, random_state=0).fit(X, KIND), "forest.skops")
    assert as_json(capsys, "forest.skops", *HELD_OUT)["method"] == "exact"


class Foreign(DecisionTreeClassifier):
    """A type that skops does not know."""


def test_other_types_in_a_skops_file_still_need_trust() -> None:
    skops = pytest.importorskip("skops.io")
    skops.dump(Foreign(max_depth=2).fit(X, KIND), "foreign.skops")
    with pytest.raises(InvalidInput, match="--trust"):
        load_model(Path("foreign.skops"))


def manipulated(tree: Any, **changes: tuple[int, int]) -> Any:
    """Return a tree of scikit-learn with a number of one node replaced, as a file could hold it."""
    state = tree.tree_.__getstate__()
    nodes = state["nodes"].copy()
    for field, (node, value) in changes.items():
        nodes[field][node] = value
    again = type(tree.tree_)(tree.tree_.n_features, tree.tree_.n_classes, tree.tree_.n_outputs)
    again.__setstate__(state | {"nodes": nodes})
    tree.tree_ = again
    return tree


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("left_child", 10**6, "a child out of range"),
        ("right_child", 0, "a child out of range"),
        ("left_child", -1, "a node with one child"),
        ("feature", 10**6, "an attribute out of range"),
        ("feature", -5, "an attribute out of range"),
    ],
)
@pytest.mark.parametrize("is_member", [False, True])
def test_manipulated_trees_of_scikit_learn_are_refused(field: str, value: int, said: str, is_member: bool) -> None:
    skops = pytest.importorskip("skops.io")
    model: Any = RandomForestClassifier(n_estimators=3, random_state=0) if is_member else DecisionTreeClassifier()
    model.fit(X, KIND)
    manipulated(model.estimators_[1] if is_member else model, **{field: (0, value)})
    skops.dump(model, "model.skops")
    with pytest.raises(FileDamaged, match=said):
        load_model(Path("model.skops"))


def test_members_that_read_more_attributes_than_given_are_refused() -> None:
    skops = pytest.importorskip("skops.io")
    wide = np.tile(X.to_numpy(), (1, 50))
    model = RandomForestClassifier(n_estimators=3, random_state=0).fit(X.to_numpy(), KIND)
    model.estimators_[1] = DecisionTreeClassifier(random_state=0).fit(wide, (KIND == "large").astype(float))
    skops.dump(model, "model.skops")
    with pytest.raises(FileDamaged, match="other attributes than its ensemble"):
        load_model(Path("model.skops"))
    tree = DecisionTreeClassifier(random_state=0).fit(wide, KIND)
    tree.n_features_in_ = 2
    skops.dump(tree, "model.skops")
    with pytest.raises(FileDamaged, match="other attributes than its estimator"):
        load_model(Path("model.skops"))


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("left", 10**6),
        pytest.param("right", 0, marks=pytest.mark.slow),
        pytest.param("feature_idx", 10**6, marks=pytest.mark.slow),
    ],
)
def test_manipulated_trees_of_histogram_boosting_are_refused(field: str, value: int) -> None:
    skops = pytest.importorskip("skops.io")
    model = HistGradientBoostingClassifier(max_iter=3).fit(X, KIND)
    model._predictors[1][0].nodes[field][0] = value
    skops.dump(model, "model.skops")
    with pytest.raises(FileDamaged, match="out of range"):
        load_model(Path("model.skops"))


# --- names of classes in a wrong order ---


@pytest.mark.slow
def test_swapped_classes_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    xgboost = pytest.importorskip("xgboost")
    table = xgboost.DMatrix(X.to_numpy(), (KIND == "small").astype(int))
    xgboost.train({"objective": "binary:logistic", "max_depth": 3}, table, 10).save_model("booster.json")
    message = smooth(capsys, "booster.json", *HELD_OUT, "--classes", "small,large", code=EXIT_BAD_INPUT)
    assert "--classes is in a wrong order" in message
    assert "Give --classes large,small" in message
    report = as_json(capsys, "booster.json", *HELD_OUT, "--classes", "large,small")
    assert report["changes"][0]["before"] < 25
    assert not any("order of the classes" in note for note in report["notes"])


def test_a_model_with_swapped_labels_is_pointed_out(capsys: pytest.CaptureFixture[str]) -> None:
    swapped = np.where(KIND == "large", "small", "large")
    joblib.dump(DecisionTreeClassifier(max_depth=3).fit(X, swapped), "tree.joblib")
    report = as_json(capsys, "tree.joblib", *HELD_OUT, "--trust")
    assert any(note.startswith("Check the order of the classes: ") for note in report["notes"])


def test_two_of_five_classes_swapped_are_pointed_out_with_the_right_order() -> None:
    random = np.random.default_rng(0)
    codes = random.integers(0, 5, 400)
    model_codes = np.where(random.random(400) < 0.1, random.integers(0, 5, 400), codes)
    assert doubtful_names(codes, model_codes, list("abcde"), are_given=True) is None
    swapped = np.array([0, 1, 4, 3, 2])[model_codes]
    message = doubtful_names(codes, swapped, list("abcde"), are_given=True)
    assert message is not None
    assert "a,b,e,d,c" in message
    turned = np.array([1, 2, 3, 4, 0])[model_codes]
    with pytest.raises(InvalidInput, match="Give --classes e,a,b,c,d"):
        doubtful_names(codes, turned, list("abcde"), are_given=True)


def test_a_model_that_guesses_is_not_suspected() -> None:
    random = np.random.default_rng(0)
    for seed in range(20):
        codes, guesses = np.random.default_rng(seed).integers(0, 2, 100), random.integers(0, 2, 100)
        assert doubtful_names(codes, guesses, ["a", "b"], are_given=True) is None


# --- intervals ---


def test_no_interval_is_a_point(capsys: pytest.CaptureFixture[str]) -> None:
    joblib.dump(DecisionTreeClassifier(max_depth=3).fit(X, KIND), "tree.joblib")
    printed = smooth(capsys, "tree.joblib", *HELD_OUT, "--trust", "--noise", "0")
    assert "0 to 0" not in printed
    assert "nothing changes: both models predict the same for all 300 rows" in printed
