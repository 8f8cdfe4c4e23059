"""The schemes give the sizes they promise and never let a row judge a model that learned from it."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.sparse import csr_matrix

from tremula.data.take import take_rows
from tremula.diagnostics.decomposition.learning_sets import Sizes, count_rows, divide, generate_sets, read_size
from tremula.errors import InvalidInput, InvalidParameter

SCHEMES = ["pool", "fresh", "bootstrap", "subsampled_cv"]


def draw(scheme: object, n_rows: int, n_models: int = 6, train: int | None = None, test: int | None = None) -> list:
    return divide(scheme, n_rows, Sizes(n_models, train, test), np.random.default_rng(0))


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("n_rows", [20, 41])
def test_no_row_judges_a_model_that_learned_from_it(scheme: str, n_rows: int) -> None:
    for division in draw(scheme, n_rows):
        assert len(np.intersect1d(division.learn, division.test)) == 0
        assert len(division.learn) > 0


def test_pool_is_that_of_weka_unless_told_otherwise() -> None:
    divisions = draw("pool", 100, train=20)
    learned = np.unique(np.concatenate([division.learn for division in divisions]))
    assert all(len(np.unique(division.learn)) == 20 for division in divisions)
    assert all(len(division.test) == 60 for division in divisions)
    assert len(np.union1d(learned, divisions[0].test)) <= 100
    assert len(learned) <= 40


@pytest.mark.parametrize("train", [40, 50, 80])
def test_a_pool_of_large_learning_sets_leaves_half_of_the_other_rows_to_judge(train: int) -> None:
    divisions = draw("pool", 100, train=train)
    assert all(len(division.test) == (100 - train) // 2 for division in divisions)
    assert len({tuple(np.sort(division.learn)) for division in divisions}) > 1


@pytest.mark.parametrize(("train", "test"), [(19, None), (15, 5)])
def test_a_pool_that_gives_the_same_learning_set_again_is_refused(train: int, test: int | None) -> None:
    with pytest.raises(InvalidParameter, match="learning sets must differ"):
        draw("pool", 20, train=train, test=test)


def test_pool_of_paper_1_is_all_but_the_test_rows() -> None:
    divisions = draw("pool", 200, n_models=30, train=50, test=20)
    assert all((division.test == divisions[0].test).all() for division in divisions)
    assert len(np.unique(np.concatenate([division.learn for division in divisions]))) == 180


def test_fresh_sets_share_no_row() -> None:
    divisions = draw("fresh", 90, n_models=6)
    together = np.concatenate([division.learn for division in divisions])
    assert len(together) == len(np.unique(together)) == 60
    assert len(divisions[0].test) == 30


def test_bootstrap_judges_by_the_rows_not_drawn() -> None:
    for division in draw("bootstrap", 50):
        assert len(division.learn) == 50
        assert sorted({*division.learn, *division.test}) == list(range(50))


def test_bootstrap_can_judge_by_rows_kept_apart() -> None:
    divisions = draw("bootstrap", 50, test=10)
    assert all((division.test == divisions[0].test).all() and len(division.learn) == 40 for division in divisions)


@pytest.mark.parametrize(
    ("n_rows", "train", "n_folds"), [(30, 15, 2), (30, 20, 3), (31, 20, 3), (30, 29, 30), (10, 3, 2)]
)
def test_subsampled_folds_are_the_fewest_that_leave_enough(n_rows: int, train: int, n_folds: int) -> None:
    divisions = draw("subsampled_cv", n_rows, n_models=4, train=train)
    assert len(divisions) == 4 * n_folds
    assert all(len(np.unique(division.learn)) == train for division in divisions)
    for round_number in range(4):
        tested = np.concatenate([division.test for division in divisions if division.round == round_number])
        assert sorted(tested) == list(range(n_rows))


def test_given_splits_are_taken_as_they_are() -> None:
    divisions = draw([([0, 1, 1], [3, 2]), ([2, 3], [0])], 4)
    assert divisions[0].learn.tolist() == [0, 1, 1]
    assert divisions[0].test.tolist() == [2, 3]


def test_masks_of_rows_are_taken_as_masks() -> None:
    first = np.array([True, True, False, False])
    assert [division.learn.tolist() for division in draw([(first, ~first), (~first, first)], 4)] == [[0, 1], [2, 3]]


@pytest.mark.parametrize(
    ("scheme", "message"),
    [
        ([([0, 1], [1, 2]), ([0], [1])], "learns from its test row 1"),
        ([([0, 1], [9]), ([0], [1])], "rows outside 0 to 3"),
        ([([0.5], [1]), ([0], [1])], "give pairs of row numbers"),
        ([([[0]], [1]), ([0], [1])], "rows of 2 dimensions"),
        ([([0], [1])], "at least 2 are needed"),
        ("pol", "did you mean 'pool'"),
        (7, "expected one of"),
    ],
)
def test_schemes_that_cannot_be_are_refused(scheme: object, message: str) -> None:
    with pytest.raises(InvalidParameter, match=message):
        draw(scheme, 4)


@pytest.mark.parametrize(
    ("scheme", "train", "test"),
    [("pool", 20, None), ("pool", 15, 10), ("fresh", 4, None), ("subsampled_cv", 20, None), ("bootstrap", None, 20)],
)
def test_sizes_beyond_the_rows_are_refused(scheme: str, train: int | None, test: int | None) -> None:
    with pytest.raises(InvalidParameter, match=r"_size=\d+ asks for more rows than there are.*take at most \d"):
        draw(scheme, 20, train=train, test=test)


def test_folds_have_no_separate_test_rows() -> None:
    with pytest.raises(InvalidParameter, match="every row is a test row"):
        draw("subsampled_cv", 20, test=5)


@pytest.mark.parametrize("size", [0, -1, 1.0, 0.0, True, "half"])
def test_a_size_is_a_number_of_rows_or_a_share(size: object) -> None:
    with pytest.raises(InvalidParameter, match="train_size="):
        read_size("train_size", size, 10)


@pytest.mark.parametrize(
    "table",
    [
        np.arange(8).reshape(4, 2),
        np.arange(8).reshape(4, 2).tolist(),
        pd.DataFrame(np.arange(8).reshape(4, 2), columns=["a", "b"], index=[5, 5, 6, 7]),
        pl.DataFrame(np.arange(8).reshape(4, 2)),
        csr_matrix(np.arange(8).reshape(4, 2)),
    ],
)
def test_rows_of_any_table_are_taken_by_place(table: object) -> None:
    taken = take_rows(table, np.array([3, 0, 3]))
    dense = taken.toarray() if hasattr(taken, "toarray") else np.asarray(taken)
    assert dense.tolist() == [[6, 7], [0, 1], [6, 7]]
    assert count_rows(taken) == 3


def test_what_has_no_rows_is_refused() -> None:
    with pytest.raises(InvalidInput, match="single number"):
        count_rows(np.float64(1))
    with pytest.raises(InvalidInput, match="expected an array or a frame"):
        count_rows(7)


def make_frame(n_rows: int, seed: int) -> tuple[pd.DataFrame, np.ndarray]:
    values = np.random.default_rng(seed).random((n_rows, 2))
    return pd.DataFrame(values, columns=["a", "b"]), values.sum(axis=1)


def test_generated_sets_are_fresh_and_of_the_sizes_asked_for() -> None:
    X, y, divisions = generate_sets(make_frame, Sizes(3, 5, 7), random_state=0)
    assert list(X.columns) == ["a", "b"]
    assert len(X) == len(y) == 3 * 5 + 7
    assert [len(division.learn) for division in divisions] == [5, 5, 5]
    assert divisions[0].test.tolist() == list(range(15, 22))
    assert len(X.drop_duplicates()) == 22


def test_a_generator_must_give_two_things() -> None:
    with pytest.raises(InvalidInput, match="gave ndarray; expected a pair of X and y"):
        generate_sets(lambda n_rows, seed: np.zeros((n_rows, 1)), Sizes(2, 5, 5), 0)  # type: ignore[arg-type, return-value]


def test_a_generator_must_give_what_it_is_asked_for() -> None:
    with pytest.raises(InvalidInput, match="asked for 5 rows and gave 6"):
        generate_sets(lambda n_rows, seed: make_frame(n_rows + 1, seed), Sizes(3, 5, 7), random_state=0)
    with pytest.raises(InvalidParameter, match="say how many rows"):
        generate_sets(make_frame, Sizes(3, None, 7), random_state=0)
