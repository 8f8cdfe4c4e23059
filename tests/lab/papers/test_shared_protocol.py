"""Folds, divisions and seeds that papers share, and one training measured."""

import pytest
from sklearn.datasets import load_iris

from tremula import BaggingClassifier, C45Classifier
from tremula.errors import InvalidParameter
from tremula.folds import shuffled_folds
from tremula.lab.datasets import UnknownDataset
from tremula.lab.papers.shared_protocol import (
    count_nodes,
    kept_dataset,
    official_split,
    random_division,
    seed_of,
    try_classifier,
)


def test_seeds_follow_from_words_alone() -> None:
    assert seed_of(0, "sonar", 3) == 1927972202
    assert len({seed_of(0, "sonar", split) for split in range(100)}) == 100


def test_words_that_only_join_to_the_same_give_other_seeds() -> None:
    assert seed_of("a", "bc") != seed_of("ab", "c")


def test_a_division_follows_from_its_seed() -> None:
    one, same, other = (random_division(50, 5, seed)[1].tolist() for seed in (1, 1, 2))
    assert one == same
    assert one != other


@pytest.mark.parametrize("n_test", [0, 10, 11])
def test_a_division_needs_rows_of_both_kinds(n_test: int) -> None:
    with pytest.raises(InvalidParameter, match="leave at least one training row"):
        random_division(10, n_test, seed=0)


def test_an_official_split_is_by_order() -> None:
    train, test = official_split(5, 3)
    assert (train.tolist(), test.tolist()) == ([0, 1, 2], [3, 4])


def test_a_trial_counts_wrong_answers_and_nodes() -> None:
    X, y = load_iris(return_X_y=True)
    split = shuffled_folds(y, 5, seed=0)[0]
    model, outcome = try_classifier(BaggingClassifier(n_estimators=3, random_state=7), X, y, split, seed=7)
    wrong = int((model.predict(X[split[1]]) != y[split[1]]).sum())
    assert outcome.values == {"error": wrong / 30, "n_wrong": wrong}
    assert (outcome.n_test, outcome.seed) == (30, 7)
    assert outcome.size == sum(tree.n_nodes for tree in model.members_)
    assert outcome.fit_seconds > 0


def test_what_has_no_trees_has_no_nodes() -> None:
    assert count_nodes(C45Classifier()) is None


def test_a_dataset_is_loaded_once() -> None:
    assert kept_dataset("iris") is kept_dataset("iris")


def test_a_dataset_that_cannot_be_had_is_asked_for_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def refuse(name: str, task: object = None) -> None:
        asked.append(name)
        raise UnknownDataset(f"no dataset {name!r}")

    monkeypatch.setattr("tremula.lab.papers.shared_protocol.load_dataset", refuse)
    for _ in range(2):
        with pytest.raises(UnknownDataset, match="nowhere"):
            kept_dataset("nowhere to be found")
    assert asked == ["nowhere to be found"]
