"""The table of datasets, its checksums, and the copies in the folder of datasets."""

from pathlib import Path

import numpy as np
import pytest

from tremula.lab.datasets import BUNDLED, KnownDataset, UnusableDataset, known_datasets, load_dataset
from tremula.lab.datasets.registry import content_checksum

KNOWN = known_datasets()
PAPERS = {"breiman1996", "dietterich2000", "frank2006", "geurts2001", "vanassche2006"}
X = np.array([[1.5, 0.0], [np.nan, 1.0], [-2.0, 0.0], [4.0, np.nan]])
Y = np.array(["b", "a", "a", "b"])


def checksum_of(X: np.ndarray = X, y: np.ndarray = Y, nominal: tuple[int, ...] = (1,)) -> str:
    return content_checksum(X, nominal, y, "classification")


def test_names_of_levels_and_classes_have_no_part_in_the_checksum() -> None:
    recoded = X.copy()
    recoded[:, 1] = [7, 3, 7, np.nan]
    assert checksum_of(recoded, np.array([0, 1, 1, 0])) == checksum_of()


def test_the_last_digit_of_a_number_has_no_part_in_the_checksum() -> None:
    assert checksum_of(np.nextafter(X, np.inf, where=[True, False], out=X.copy())) == checksum_of()


def test_minus_zero_and_other_bits_for_missing_have_no_part_in_the_checksum() -> None:
    zeros, others = np.array([[0.0, np.nan]]), np.array([[-0.0, -np.nan]])
    label = np.array(["a"])
    assert checksum_of(zeros, label, ()) == checksum_of(others, label, ())


@pytest.mark.parametrize(
    "changed",
    [
        checksum_of(X[::-1], Y[::-1]),
        checksum_of(X[:3], Y[:3]),
        checksum_of(X[:, ::-1], Y, (0,)),
        checksum_of(X, np.array(["b", "a", "b", "b"])),
        checksum_of(np.where(X == 4, 4.001, X)),
        checksum_of(np.nan_to_num(X)),
        checksum_of(X, Y, ()),
        content_checksum(X, (1,), np.array([1.0, 0, 0, 1]), "regression"),
    ],
)
def test_rows_their_order_values_and_types_have_a_part_in_the_checksum(changed: str) -> None:
    assert changed != checksum_of()


@pytest.mark.parametrize("known", KNOWN.values(), ids=KNOWN)
def test_a_row_of_the_table_is_sound(known: KnownDataset) -> None:
    assert known.task in ("classification", "regression")
    assert (known.classes is None) == (known.task == "regression")
    assert set(known.papers) <= PAPERS
    assert known.origin
    assert known.licence
    assert len(known.checksum) == 32


def test_no_two_datasets_are_the_same() -> None:
    assert len({known.checksum for known in KNOWN.values()}) == len(KNOWN)
    numbers = [known.openml for known in KNOWN.values() if known.openml]
    assert len(set(numbers)) == len(numbers)


@pytest.mark.parametrize(
    ("paper", "classification", "regression"),
    [
        ("breiman1996", 8, 2),
        ("dietterich2000", 36, 0),  # 33 domains, three of them in two versions
        ("frank2006", 24, 29),  # candidates: the paper takes 22 and 23 without naming them all
        ("geurts2001", 6, 0),  # of nine; Omib, VST and Dig44 are not to be had
        ("vanassche2006", 12, 0),
    ],
)
def test_every_paper_has_its_datasets(paper: str, classification: int, regression: int) -> None:
    tasks = [known.task for known in KNOWN.values() if paper in known.papers]
    assert (tasks.count("classification"), tasks.count("regression")) == (classification, regression)


def test_the_bundled_iris_is_that_of_the_table() -> None:
    iris = load_dataset("iris")
    assert content_checksum(iris.X, iris.nominal, iris.y, iris.task) == KNOWN["iris"].checksum


@pytest.mark.data
@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.slow if known.rows > 100_000 else ())
        for name, known in KNOWN.items()
        if name not in BUNDLED
    ],
)
def test_the_copy_in_the_folder_is_that_of_the_table(name: str, data_folder: Path) -> None:
    dataset, known = load_dataset(name, task=None), KNOWN[name]  # other content would be a warning, which is an error
    assert (dataset.task, len(dataset.y)) == (known.task, known.rows)
    assert (dataset.official_split is None) == (not known.official_split)


@pytest.mark.data
@pytest.mark.parametrize(
    ("name", "n_train", "n_test"),
    [("satimage", 4435, 2000), ("letter", 16000, 4000), ("pendigits", 7494, 3498), ("vowel", 528, 462)],
)
def test_official_splits(name: str, n_train: int, n_test: int, data_folder: Path) -> None:
    split = load_dataset(name).official_split
    assert split is not None
    train, test = split
    assert (len(train), len(test)) == (n_train, n_test)
    np.testing.assert_array_equal(np.sort([*train, *test]), np.arange(n_train + n_test))


@pytest.mark.data
def test_a_regression_problem_is_refused_where_classes_are_needed(data_folder: Path) -> None:
    with pytest.raises(UnusableDataset, match="dataset 'abalone' holds numbers, not classes"):
        load_dataset("abalone")
