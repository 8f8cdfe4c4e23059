"""The study of when smoothing works: its measures against naive ones, and rules that invented results break."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tremula import CARTClassifier, CARTRegressor
from tremula.lab.experiments.cell import Cell, Outcome
from tremula.lab.experiments.result import Result
from tremula.lab.papers.geurts2001.study import BAGGED, PREDICTORS, TREE, nearest_disagreement, study_experiment
from tremula.lab.papers.geurts2001.study_tables import (
    GAINS,
    STUDY_RULES,
    advice_sentences,
    choose_advice,
    gain_rows,
    show_study,
)
from tremula.lab.papers.geurts2001.threshold_share import best_threshold, refitted, threshold_share
from tremula.lab.studies.default.halves import half

NAMES = [f"set {number}" for number in range(40)]


def naive_threshold(values: np.ndarray, outputs: np.ndarray) -> float:
    """Try every cut, and take the first with the least squared error."""
    distinct = np.unique(values)
    cuts = (distinct[:-1] + distinct[1:]) / 2
    errors = []
    for cut in cuts:
        sides = outputs[values <= cut], outputs[values > cut]
        errors.append(sum(((side - side.mean(axis=0)) ** 2).sum() for side in sides))
    return float(cuts[int(np.argmin(np.round(errors, 9)))])


@pytest.mark.parametrize("seed", range(20))
def test_the_best_threshold_is_that_of_all_cuts(seed: int) -> None:
    random = np.random.default_rng(seed)
    values = random.integers(0, 12, 30).astype(float)
    outputs = np.eye(3)[random.integers(0, 3, 30)]
    errors = []
    for cut in (best_threshold(values, outputs), naive_threshold(values, outputs)):
        sides = outputs[values <= cut], outputs[values > cut]
        errors.append(sum(((side - side.mean(axis=0)) ** 2).sum() for side in sides))
    assert errors[0] == pytest.approx(errors[1])


def test_a_tree_refitted_on_its_own_rows_is_itself() -> None:
    random = np.random.default_rng(0)
    X = random.normal(size=(200, 3))
    y = X[:, 0] * X[:, 1] + random.normal(scale=0.1, size=200)
    model = CARTRegressor(max_leaf_nodes=12).fit(X, y)
    assert refitted(model.tree_, X, y[:, None], X)[:, 0] == pytest.approx(model.predict(X))


def share_of(n_attributes: int) -> float:
    """Return the share for a stump on equal attributes, each the class with noise of its own."""
    random = np.random.default_rng(1)
    y = random.integers(0, 2, 200)
    X = y[:, None] + random.normal(scale=1.0, size=(200, n_attributes))
    outputs = np.eye(2)[y]
    tree = CARTClassifier(max_leaf_nodes=2).fit(X, y).tree_

    def grow(sample: np.ndarray, indicators: np.ndarray) -> np.ndarray:
        grown = CARTClassifier(max_leaf_nodes=2).fit(sample, indicators.argmax(axis=1))
        return np.asarray(grown.predict_proba(X))

    return threshold_share(tree, grow, X, outputs, X, seed=0)


def test_thresholds_make_all_of_the_variance_of_a_stump_with_one_attribute() -> None:
    assert share_of(1) == pytest.approx(1.0)


def test_thresholds_make_less_of_it_where_attributes_change_places() -> None:
    assert share_of(8) < 0.8


def test_neighbours_of_random_classes_disagree_as_two_rows_at_random() -> None:
    random = np.random.default_rng(2)
    X = random.normal(size=(2000, 2))
    assert nearest_disagreement(X, np.eye(2)[random.integers(0, 2, 2000)]) == pytest.approx(1.0, abs=0.1)
    assert nearest_disagreement(X, X[:, :1]) < 0.2


# --- tables and rules ---


def made_rows(predictor: str, sign: float, names: list[str] = NAMES) -> list[dict[str, Any]]:
    """The gain follows one predictor; the others do not vary with it."""
    random = np.random.default_rng(3)
    rows = []
    for name in names:
        known = {other: float(random.uniform()) for other in PREDICTORS}
        gain = sign * known[predictor]
        rows.append({"dataset": name, "half": half(name), **dict.fromkeys(GAINS.values(), gain), **known})
    return rows


@pytest.mark.parametrize(
    ("number", "predictor", "sign"), [(0, "threshold_share", 1), (1, "boundary", 1), (2, "noise", -1)]
)
def test_a_claim_on_the_gain_breaks_with_the_opposite_sign_and_without_relation(
    number: int, predictor: str, sign: int
) -> None:
    judge = STUDY_RULES[number].judge
    assert judge(made_rows(predictor, sign)).holds is True
    assert judge(made_rows(predictor, -sign)).holds is False
    assert judge(made_rows("leaves", 1)).holds is False
    assert judge(made_rows(predictor, 0.0)).holds is False
    assert judge(made_rows(predictor, sign, NAMES[:3])).holds is None


def test_advice_names_what_predicts_the_gain_and_its_side() -> None:
    rows = made_rows("distinct", -1.0)
    advice = choose_advice(rows, GAINS[TREE])
    assert advice is not None
    assert (advice.predictor, advice.above, advice.is_confirmed) == ("distinct", False, True)
    (said,) = advice_sentences(rows, TREE)
    assert "It pays most where the share of distinct values is below" in said
    assert STUDY_RULES[3].judge(rows).holds is True
    assert STUDY_RULES[4].judge(rows).holds is True


def test_advice_that_fails_on_the_judged_half_is_not_given() -> None:
    rows = made_rows("noise", 1.0)
    turned = [{**row, GAINS[TREE]: -row[GAINS[TREE]]} if row["half"] == "judged" else row for row in rows]
    assert STUDY_RULES[3].judge(turned).holds is False
    assert STUDY_RULES[4].judge(turned).holds is True
    (said,) = advice_sentences(turned, TREE)
    assert "Nothing that was measured beforehand tells where" in said
    assert "It pays most" not in said


def test_gains_are_means_over_the_splits_that_both_models_have() -> None:
    known = dict.fromkeys(PREDICTORS, 0.5)
    made = [
        Result(Cell("a", TREE, 0), Outcome({"plain": 0.4, "smoothed": 0.3, "amount": 0.1, **known})),
        Result(Cell("a", TREE, 1), Outcome({"plain": 0.4, "smoothed": 0.1, "amount": 0.3, **known})),
        Result(Cell("a", TREE, 2), Outcome({"plain": 0.4, "smoothed": 9.0, "amount": 0.3, **known})),
        *(Result(Cell("a", BAGGED, s), Outcome({"plain": 0.2, "smoothed": 0.3, "amount": 0.0})) for s in (0, 1)),
    ]
    (row,) = gain_rows(made)
    assert (row["splits"], row["tree gain"], row["bagged gain"]) == (2, pytest.approx(0.5), pytest.approx(-0.5))
    *_, gains = show_study(made, "default")
    assert gains.rows[0][:5] == ["a", half("a"), 2, "50.0 %", "-50.0 %"]


def test_every_dataset_has_both_models_on_the_same_splits() -> None:
    cells = study_experiment("default").cells
    pairs = {(cell.dataset, cell.split) for cell in cells}
    assert len(cells) == 2 * len(pairs)
    assert len({dataset for dataset, _ in pairs}) > 40
