"""Certified numbers of training rows against brute force: every change of so many rows, and every retraining."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, product

import numpy as np
import pytest
from scipy.stats import binomtest
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.ensemble import RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier

import tremula as tm
from tremula.errors import InvalidParameter, UnsupportedModel
from tremula.perturb import Bootstrap, RandomSplits
from tremula.uncertainty.certified_rows import certified_by_members, certified_by_resampling, largest_number_of_changes
from tremula.uncertainty.leave_one_out import RowDraw

from .made_tables import classes_of, classifiers, made_table

VALUES = (0.0, 1.0, 2.0)
NEW = np.array([[value] for value in (-1.0, 0.5, 1.5, 3.0)])


def small_table(seed: int, n_rows: int) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    X = random.choice(VALUES, n_rows, p=(0.2, 0.4, 0.4))
    y = np.where(random.random(n_rows) < 0.9, X > 0.5, X < 0.5).astype(int)
    y[:2] = 0, 1
    return X[:, None], y


def changes(
    X: np.ndarray, y: np.ndarray, n_changed: int, with_classes: bool
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Every table in which so many rows have other values, or other classes too."""
    for rows in combinations(range(len(y)), n_changed):
        for given in product(product(VALUES, (0, 1) if with_classes else (None,)), repeat=n_changed):
            changed, labels = X.copy(), y.copy()
            for row, (value, label) in zip(rows, given):
                changed[row] = value
                labels[row] = labels[row] if label is None else label
            yield changed, labels


VOTE = {"n_estimators": 21, "combine": "vote", "random_state": 0}
ENSEMBLES = {
    "bagging": tm.BaggingClassifier(tm.CARTClassifier(), max_samples=2, **VOTE),
    "bagging of C4.5": tm.BaggingClassifier(tm.C45Classifier(min_weight_leaf=1), max_samples=2, **VOTE),
    "bagging that averages": tm.BaggingClassifier(tm.CARTClassifier(max_depth=1), 21, max_samples=2, random_state=0),
    "bagging of other trees": tm.BaggingClassifier(DecisionTreeClassifier(), max_samples=2, **VOTE),
    "forest of subsamples": tm.RandomForestClassifier(max_samples=2, bootstrap=False, **VOTE),
    "randomized C4.5": tm.PerturbCombineClassifier(
        tm.C45Classifier(min_weight_leaf=1), perturb=[Bootstrap(2), RandomSplits(3)], **VOTE
    ),
    "dagging": tm.DaggingClassifier(tm.CARTClassifier(), 5, combine="vote", random_state=0),
    "dagging that averages": tm.DaggingClassifier(tm.CARTClassifier(), 5, random_state=0),
    "forest of scikit-learn": RandomForestClassifier(21, max_samples=1, random_state=0),
}


@pytest.mark.parametrize("name", ENSEMBLES)
@pytest.mark.parametrize(
    ("seed", "n_tables"), [(1, 12), *(pytest.param(seed, 10_000, marks=pytest.mark.slow) for seed in range(3))]
)
def test_no_change_of_so_many_rows_changes_a_certified_class(name: str, seed: int, n_tables: int) -> None:
    X, y = small_table(seed, 10)
    model = clone(ENSEMBLES[name]).fit(X, y)
    certified = tm.Uncertainty(model, X, y).certified_rows(NEW)
    before, with_classes = model.predict(NEW), "dagging" not in name
    for n_changed in (1, 2):
        if not (certified >= n_changed).any():
            break
        tables = list(changes(X, y, n_changed, with_classes))
        for changed, labels in tables[:: max(1, len(tables) // n_tables)]:
            if len(set(labels)) < 2:
                continue
            after = clone(model).fit(changed, labels).predict(NEW)
            is_kept = (after == before)[certified >= n_changed]
            assert is_kept.all(), (n_changed, changed[:, 0], labels)


def test_something_is_certified_in_each_kind_of_ensemble() -> None:
    for name, model in ENSEMBLES.items():
        tables = [small_table(seed, 10) for seed in (0, 1)]
        certified = [tm.Uncertainty(clone(model).fit(*table), *table).certified_rows(NEW) for table in tables]
        assert np.max(certified) >= 1, name


def exact_number(codes: np.ndarray, is_inbag: np.ndarray, n_classes: int) -> int:
    """Largest number of rows whose members may vote as they like without changing the vote, by enumeration."""
    winner = np.bincount(codes, minlength=n_classes).argmax()
    for n_changed in range(is_inbag.shape[1] + 1):
        for rows in combinations(range(is_inbag.shape[1]), n_changed):
            is_touched = is_inbag[:, rows].any(axis=1)
            for rival in range(n_classes):
                votes = np.bincount(np.where(is_touched, rival, codes), minlength=n_classes)
                if votes.argmax() != winner:
                    return n_changed - 1
    return is_inbag.shape[1]


@pytest.mark.parametrize("n_seen", [1, 2, 4])
def test_the_number_is_a_lower_bound_and_exact_for_disjoint_parts(n_seen: int) -> None:
    random = np.random.default_rng(n_seen)
    differences = []
    for _ in range(60):
        n_members, n_rows, n_classes = 7, 7, int(random.integers(2, 4))
        is_inbag = np.zeros((n_members, n_rows), bool)
        for member in range(n_members):
            is_inbag[member, [member] if n_seen == 1 else random.choice(n_rows, n_seen, replace=False)] = True
        codes = random.choice(n_classes, n_members, p=[0.7, *[0.3 / (n_classes - 1)] * (n_classes - 1)])
        outputs = np.eye(n_classes)[codes][:, None, :]
        certified = int(certified_by_members(outputs, np.ones(n_members), is_inbag, 0.0)[0])
        differences.append(exact_number(codes, is_inbag, n_classes) - certified)
    assert min(differences) == 0
    assert max(differences) == 0 if n_seen == 1 else max(differences) <= 2


# --- resampling ---


def member_shares(X: np.ndarray, y: np.ndarray, n_drawn: int, new: np.ndarray, bootstrap: bool) -> np.ndarray:
    """Shares of the classes over all samples that a member may be trained on, (n_new, 2)."""
    samples = list(product(range(len(y)), repeat=n_drawn) if bootstrap else combinations(range(len(y)), n_drawn))
    votes = np.zeros((len(new), 2))
    for sample in samples:
        rows = list(sample)
        labels = y[rows]
        codes = np.full(len(new), labels[0])
        if len(set(labels)) > 1:
            codes = tm.CARTClassifier().fit(X[rows], labels).predict(new)
        votes[np.arange(len(new)), codes] += 1
    return votes / len(samples)


@pytest.mark.parametrize("bootstrap", [True, False])
def test_no_change_of_so_many_rows_changes_the_vote_of_all_samples(bootstrap: bool) -> None:
    X, y = np.array([[0.0], [0.0], [0.0], [1.0], [1.0], [1.0]]), np.array([1, 1, 1, 1, 1, 0])
    new = np.array([[0.0], [1.0]])
    draw = RowDraw(6, 2, bootstrap)
    shares = member_shares(X, y, 2, new, bootstrap)
    certified = largest_number_of_changes(np.abs(shares[:, 1] - shares[:, 0]), draw)
    assert certified.max() == 1
    for n_changed in range(1, int(certified.max()) + 1):
        for changed, labels in changes(X, y, n_changed, with_classes=True):
            after = member_shares(changed, labels, 2, new, bootstrap).argmax(axis=1)
            assert (after == shares.argmax(axis=1))[certified >= n_changed].all()


def test_resampling_certifies_less_than_if_the_shares_were_known() -> None:
    X, y = load_iris(return_X_y=True)
    bagging = tm.BaggingClassifier(n_estimators=400, max_samples=10, combine="vote", random_state=0).fit(X, y)
    uncertainty = tm.Uncertainty(bagging, X, y)
    certain, probable = uncertainty.certified_rows(X), uncertainty.certified_rows(X, method="resampling")
    votes = np.array([np.bincount(column, minlength=3) for column in bagging.predict_members(X).T])
    order = np.sort(votes / 400, axis=1)
    ideal = largest_number_of_changes(order[:, -1] - order[:, -2], RowDraw(150, 10, bootstrap=True))
    assert (probable <= ideal).all()
    assert probable.mean() > 0.5 * ideal.mean() > 1
    assert certain.mean() > 1
    assert (uncertainty.certified_rows(X, method="resampling", confidence=0.5) >= probable).all()


def test_the_class_of_infinitely_many_members_may_be_uncertain() -> None:
    votes, draw = np.array([[51, 49], [99, 1], [100, 0]]), RowDraw(1000, 10, bootstrap=True)
    expected = []
    for first, _ in votes:
        least = binomtest(int(first), 100).proportion_ci(1 - 2 * 0.0005, method="exact").low
        numbers = [n for n in range(1000) if 2 * least - 1 > 2 * (1 - (1 - n / 1000) ** 10)]
        expected.append(max(numbers, default=-1))
    assert expected[0] == -1 < 40 < expected[1] < expected[2]
    assert certified_by_resampling(votes, draw, 0.999).tolist() == expected


# --- what is not certified ---


@pytest.mark.parametrize("name", ["smeared", "output flipping", "output smearing", "aspen"])
def test_ensembles_that_learn_from_all_rows_are_refused(name: str) -> None:
    X, target = made_table(60, 0)
    model = classifiers(5)[name].fit(X, classes_of(target))
    with pytest.raises(UnsupportedModel, match="has learned from all rows"):
        tm.Uncertainty(model, X, classes_of(target)).certified_rows(X)


def test_a_number_of_members_or_a_pruning_that_all_rows_decide_is_refused() -> None:
    X, y = load_iris(return_X_y=True)
    chosen = tm.BaggingClassifier(tm.CARTClassifier(), "auto", max_estimators=20, random_state=0).fit(X, y)
    bagged = tm.BaggingClassifier(tm.CARTClassifier(), n_estimators=5, random_state=0).fit(X[::2], y[::2])
    with pytest.raises(UnsupportedModel, match="the number of its members"):
        tm.Uncertainty(chosen, X, y).certified_rows(X)
    for prune, is_certified in ((tm.prune_together, False), (tm.prune_each, True)):
        uncertainty = tm.Uncertainty(prune(bagged, X[1::2], y[1::2]), X[::2], y[::2])
        if is_certified:
            assert uncertainty.certified_rows(X).shape == (150,)
        else:
            with pytest.raises(UnsupportedModel, match="pruned together"):
                uncertainty.certified_rows(X)


def test_mistakes_are_told() -> None:
    X, y = load_iris(return_X_y=True)
    bagging = tm.Uncertainty(tm.BaggingClassifier(n_estimators=5, random_state=0).fit(X, y), X, y)
    with pytest.raises(InvalidParameter, match="combine='vote'"):
        bagging.certified_rows(X, method="resampling")
    dagging = tm.Uncertainty(tm.DaggingClassifier(n_estimators=5, combine="vote", random_state=0).fit(X, y), X, y)
    with pytest.raises(UnsupportedModel, match="drawn independently"):
        dagging.certified_rows(X, method="resampling")
    with pytest.raises(InvalidParameter, match="confidence=1"):
        bagging.certified_rows(X, method="resampling", confidence=1.0)
    forest = tm.RandomForestRegressor(n_estimators=5, random_state=0).fit(X, X[:, 0])
    with pytest.raises(UnsupportedModel, match="certified_rows is for classes"):
        tm.Uncertainty(forest, X, X[:, 0]).certified_rows(X)
