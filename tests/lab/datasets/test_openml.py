"""Datasets of the table from the cache and from OpenML, which is stood in for: no test needs a network."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.error import URLError

import numpy as np
import pandas as pd
import pytest
from sklearn.utils import Bunch

from tremula.lab import datasets
from tremula.lab.datasets import DamagedCopy, NotFetched, OtherContent, catalog, load_dataset
from tremula.lab.datasets import openml as fetching
from tremula.lab.datasets.registry import KnownDataset, content_checksum

FRAME = pd.DataFrame(
    {
        "size": [1.5, np.nan, 2.5, 3.0],
        "colour": pd.Categorical(["red", "blue", None, "red"]),
        "empty": pd.Categorical([None] * 4),
    }
)
CLASSES = pd.Series(pd.Categorical(["yes", "no", "yes", "no"]), name="Class")
CONTENT = np.array([[1.5, 1, np.nan], [np.nan, 0, np.nan], [2.5, np.nan, np.nan], [3.0, 1, np.nan]])


def make_known(**changes: Any) -> KnownDataset:
    checksum = content_checksum(CONTENT, [1, 2], np.array(["yes", "no", "yes", "no"]), "classification")
    told = {
        **{"name": "toy", "task": "classification", "rows": 4, "numeric": 1, "nominal": 2, "classes": 2, "missing": 6},
        **{"papers": (), "openml": 5, "origin": "made here", "licence": "", "official_split": "first 3"},
        "checksum": checksum,
    }
    return KnownDataset(**{**told, **changes})


class OpenML:
    """Stands in for `fetch_openml`: gives what that gives, and counts how often it was asked."""

    def __init__(self, frame: pd.DataFrame = FRAME, target: pd.Series | None = CLASSES) -> None:
        self.answer, self.asked = Bunch(data=frame, target=target), 0

    def __call__(self, *, data_id: int, as_frame: bool, **options: Any) -> Bunch:
        self.asked += 1
        assert (data_id, as_frame) == (5, True)
        return self.answer


@pytest.fixture
def use(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[..., Path]:
    """Make `toy` a known dataset and something answer for OpenML; return the cache folder, which is not there yet."""

    def prepare(openml: Callable[..., Any], known: KnownDataset | None = None) -> Path:
        monkeypatch.delenv("TREMULA_DATA", raising=False)
        monkeypatch.setenv("TREMULA_CACHE", str(tmp_path / "a" / "cache"))
        monkeypatch.setattr(catalog, "known_datasets", lambda: {"toy": known or make_known()})
        monkeypatch.setattr(fetching, "fetch_openml", openml)
        return tmp_path / "a" / "cache"

    return prepare


def test_a_dataset_is_fetched_once_and_then_read_from_the_cache(use: Callable[..., Path]) -> None:
    openml = OpenML()
    cache = use(openml)
    fetched, cached = load_dataset("toy"), load_dataset("toy", fetch=False)
    assert openml.asked == 1
    assert [path.name for path in cache.iterdir()] == ["toy.parquet"]
    np.testing.assert_array_equal(fetched.X, CONTENT)
    np.testing.assert_array_equal(cached.X, CONTENT)
    assert (cached.nominal, cached.attributes) == ((1, 2), ("size", "colour", "empty"))
    assert cached.y.tolist() == ["yes", "no", "yes", "no"]


def test_confirmed_content_brings_the_official_split(use: Callable[..., Path]) -> None:
    use(OpenML())
    split = load_dataset("toy").official_split
    assert split is not None
    assert [rows.tolist() for rows in split] == [[0, 1, 2], [3]]


def test_the_split_may_be_a_value_of_an_attribute(use: Callable[..., Path]) -> None:
    use(OpenML(), make_known(official_split="colour is red"))
    split = load_dataset("toy").official_split
    assert split is not None
    assert [rows.tolist() for rows in split] == [[0, 3], [1, 2]]


def test_other_rows_are_told_and_have_no_official_split(use: Callable[..., Path]) -> None:
    use(OpenML(FRAME.iloc[::-1].reset_index(drop=True), CLASSES))
    with pytest.warns(OtherContent, match="another order of rows"):
        dataset = load_dataset("toy")
    assert dataset.official_split is None


def test_other_types_are_told(use: Callable[..., Path]) -> None:
    use(OpenML(FRAME.assign(size=pd.Categorical([1, 2, 2, 3]))))
    with pytest.warns(OtherContent, match="nominal attributes: 3, not 2; missing values: 5, not 6"):
        load_dataset("toy")


def test_what_is_another_dataset_is_not_kept(use: Callable[..., Path]) -> None:
    cache = use(OpenML(FRAME.iloc[:3], CLASSES.iloc[:3]))
    with pytest.raises(
        NotFetched, match=r"has \(3, 3, 2\) rows, attributes and classes, .* \(4, 3, 2\): it is not kept"
    ):
        load_dataset("toy")
    assert not cache.exists()


def test_a_target_declared_nominal_is_numbers_in_regression(use: Callable[..., Path]) -> None:
    rings = pd.Series(pd.Categorical(["10", "9", "10", "7"]), name="rings")
    checksum = content_checksum(CONTENT, [1, 2], np.array([10.0, 9, 10, 7]), "regression")
    use(OpenML(FRAME, rings), make_known(task="regression", classes=None, checksum=checksum))
    assert load_dataset("toy", task="regression").y.tolist() == [10.0, 9.0, 10.0, 7.0]


def test_an_attribute_called_target_keeps_a_name(use: Callable[..., Path]) -> None:
    use(OpenML(FRAME.rename(columns={"size": "target"})))
    assert load_dataset("toy").attributes == ("target_", "colour", "empty")


def test_a_damaged_copy_is_told_and_fetched_again(use: Callable[..., Path]) -> None:
    openml = OpenML()
    path = use(openml) / "toy.parquet"
    load_dataset("toy")
    sound = path.read_bytes()
    path.write_bytes(sound.replace(b"red", b"rad", 1))
    with pytest.warns(DamagedCopy, match="the copy of dataset 'toy' in the cache is damaged"):
        load_dataset("toy")
    assert openml.asked == 2
    assert path.read_bytes() == sound


def test_a_copy_that_was_cut_is_told_and_fetched_again(use: Callable[..., Path]) -> None:
    openml = OpenML()
    path = use(openml) / "toy.parquet"
    load_dataset("toy")
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.warns(DamagedCopy):
        load_dataset("toy")
    assert openml.asked == 2


def test_a_write_that_fails_leaves_no_file(use: Callable[..., Path], monkeypatch: pytest.MonkeyPatch) -> None:
    cache = use(OpenML())

    def fail(*arguments: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("tremula.persistence.atomic_write.os.fsync", fail)
    with pytest.raises(OSError, match=r"No space left on device.*make room there"):
        load_dataset("toy")
    assert list(cache.iterdir()) == []


def test_a_cache_that_is_no_folder_is_told(
    use: Callable[..., Path], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    use(OpenML())
    (tmp_path / "file").touch()
    monkeypatch.setenv("TREMULA_CACHE", str(tmp_path / "file"))
    with pytest.raises(OSError, match=r"cannot be kept in .*name another folder in TREMULA_CACHE"):
        load_dataset("toy")


def test_without_an_answer_the_error_says_what_to_do(use: Callable[..., Path]) -> None:
    def no_network(**options: Any) -> None:
        raise URLError("Name or service not known")

    cache = use(no_network)
    with pytest.raises(NotFetched) as raised:
        load_dataset("toy")
    message = str(raised.value)
    assert "fetching it from OpenML (5) failed: <urlopen error Name or service not known>" in message
    assert "name a folder that holds toy.parquet in TREMULA_DATA" in message
    assert f"copy it from the cache there to {cache / 'toy.parquet'}" in message


def test_scikit_learn_without_a_network_ends_as_our_error(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The real `fetch_openml`, for which every connection is refused."""

    def refuse(*arguments: Any, **options: Any) -> None:
        raise URLError("Connection refused")

    monkeypatch.delenv("TREMULA_DATA", raising=False)
    monkeypatch.setenv("TREMULA_CACHE", str(tmp_path))
    monkeypatch.setattr("urllib.request.OpenerDirector.open", refuse)
    monkeypatch.setattr("time.sleep", lambda seconds: None)
    with pytest.raises(NotFetched, match=r"OpenML \(40\) failed: .*Connection refused"):
        load_dataset("sonar")


def test_fetching_can_be_forbidden(use: Callable[..., Path]) -> None:
    openml = OpenML()
    use(openml)
    with pytest.raises(NotFetched, match="fetch=False was given: name a folder"):
        load_dataset("toy", fetch=False)
    assert openml.asked == 0


def test_a_dataset_without_a_public_source_says_so(use: Callable[..., Path]) -> None:
    openml = OpenML()
    use(openml, make_known(openml=None))
    with pytest.raises(NotFetched, match=r"no public source that tremula can fetch \(made here\)"):
        load_dataset("toy")
    assert openml.asked == 0


def test_without_a_column_to_predict_nothing_is_kept(use: Callable[..., Path]) -> None:
    cache = use(OpenML(target=None))
    with pytest.raises(datasets.UnusableDataset, match="does not say which column"):
        load_dataset("toy")
    assert not cache.exists()


def test_the_folder_of_datasets_comes_before_the_cache(
    use: Callable[..., Path], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    openml = OpenML()
    cache = use(openml)
    load_dataset("toy")
    shutil.copy(cache / "toy.parquet", tmp_path)
    monkeypatch.setenv("TREMULA_DATA", str(tmp_path))
    assert load_dataset("toy").source == str(tmp_path / "toy.parquet")


def test_the_cache_is_where_the_platform_has_its_caches(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("TREMULA_CACHE", raising=False)
    monkeypatch.setattr("platformdirs.user_cache_path", lambda name: tmp_path / name)
    assert fetching.cache_folder() == tmp_path / "tremula" / "datasets"
