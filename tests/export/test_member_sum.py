"""A model as the sum of its members: the answers are the model's own, with missing values too."""

import numpy as np
import pytest

import tremula as tm
from tremula.errors import UnsupportedModel

from .tables import NAMES, answers_of, mixed_table, trained


@pytest.mark.parametrize("missing", [0.0, 0.1])
@pytest.mark.parametrize(("kind", "name"), NAMES)
def test_answers_are_those_of_the_model(kind: str, name: str, missing: float) -> None:
    model = trained(kind, name, missing)
    table = mixed_table(150, 1, 0.2)[0]
    whole = model.as_member_sum()
    np.testing.assert_allclose(
        whole.answers(model.encoder_.encode(table)), answers_of(model, table), rtol=1e-13, atol=1e-13
    )


def test_votes_of_a_regressor_for_each_class_are_refused() -> None:
    table, classes, _ = mixed_table(60, 0)
    model = tm.OutputSmearingClassifier(method="smear", combine="vote", n_estimators=2, random_state=0)
    with pytest.raises(UnsupportedModel, match="such a vote is no sum of trees"):
        model.fit(table, classes).as_member_sum()


def test_members_of_other_libraries_are_refused() -> None:
    from sklearn.neighbors import KNeighborsClassifier

    X, y = np.random.default_rng(0).normal(size=(30, 2)), np.arange(30) % 2
    model = tm.BaggingClassifier(KNeighborsClassifier(), n_estimators=2, random_state=0).fit(X, y)
    with pytest.raises(UnsupportedModel, match="which are not trees of tremula"):
        model.as_member_sum()
