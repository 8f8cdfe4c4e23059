"""Two amounts of noise chosen together: no worse on the validation rows than one alone, and refused for one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_iris

import tremula as tm
from tremula.errors import InvalidParameter

X, Y = load_iris(return_X_y=True)


def smeared() -> tm.SmearedBaggingClassifier:
    return tm.SmearedBaggingClassifier(n_estimators=6, random_state=0)


def test_the_pair_is_the_best_of_those_tried() -> None:
    pair = tm.tune_together(tm.DualPerturbClassifier(smeared()), X, Y, amounts=[0.2, 0.0, 0.1])
    assert pair.amounts.tolist() == [0.0, 0.1, 0.2]
    assert pair.training_noise == pair.amounts[np.argmin(pair.losses)]
    assert pair.model.noise_ == pair.best_noise[np.argmin(pair.losses)]


def test_each_amount_of_training_has_the_wrappers_own_choice() -> None:
    pair = tm.tune_together(tm.DualPerturbClassifier(smeared()), X, Y, amounts=[0.1])
    alone = tm.DualPerturbClassifier(smeared().set_params(noise=0.1)).fit(X, Y)
    assert pair.model.noise_ == alone.noise_
    assert (pair.model.predict_proba(X) == alone.predict_proba(X)).all()


def test_no_amount_of_its_own_is_worse_than_the_pair() -> None:
    pair = tm.tune_together(tm.DualPerturbClassifier(smeared()), X, Y, amounts=[0.0, 0.15])
    assert pair.losses.min() <= pair.losses[0]


@pytest.mark.parametrize(
    ("wrapper", "amounts", "message"),
    [
        (tm.DualPerturbClassifier(smeared()), [], "amounts is empty"),
        (tm.DualPerturbClassifier(smeared(), noise=0.1), [0.1], "only one amount is left to choose"),
        (tm.DualPerturbClassifier(tm.BaggingClassifier()), [0.1], "BaggingClassifier has no parameter 'noise'"),
        (tm.DualPerturbClassifier(), [0.1], "NoneType has no parameter 'noise'"),
    ],
)
def test_what_cannot_be_chosen_together_is_refused(wrapper: Any, amounts: list[float], message: str) -> None:
    with pytest.raises(InvalidParameter, match=message):
        tm.tune_together(wrapper, X, Y, amounts=amounts)
