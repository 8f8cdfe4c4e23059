"""Boosting with three members: the second learns from the errors of the first, the third where the two differ."""

from __future__ import annotations

from dataclasses import replace
from numbers import Integral
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from tremula.combine import Member
from tremula.ensembles.base.callbacks import MemberTasks
from tremula.ensembles.base.member import Trainer
from tremula.ensembles.sequential import SequentialClassifier
from tremula.errors import InvalidParameter
from tremula.parameters import with_parameters
from tremula.parameters.table import OWN_COLUMNS
from tremula.persistence.registry import storable
from tremula.perturb import Sample
from tremula.seeds import RandomState, make_root_seed, member_generator

# With these votes the first two outvote the third, the third either of them, and the first the second.
VOTES = (3.0, 2.0, 4.0)


@storable
@with_parameters(
    estimator="The estimator to fit as a member; an unpruned C4.5 tree by default.",
    random_state="Draws the rows, and whatever the estimator draws.",
    categorical_features=OWN_COLUMNS,
)
class ThreeBoostClassifier(SequentialClassifier):
    """Schapire's first boosting algorithm: three members, each trained on rows that are hard for the earlier ones.

    Attributes
    ----------
    members_ : list
        The members, one to three.
    member_weights_ : array
        Their votes: 3, 2 and 4.
    member_rows_ : list of arrays
        The rows that each member was trained on; no two have a row in common.
    classes_ : array
        The class labels.

    Notes
    -----
    The first member is trained on rows drawn at random. For the second, a coin is flipped for each row: heads takes the
    next row that the first member gets wrong, tails the next that it gets right, until there is no row of that kind.
    With ``second_rows="half"`` all rows of the rarer kind and as many of the other are taken.
    The third is trained on all remaining rows on which the first two disagree. The prediction is that of the first two
    where they agree, otherwise that of the third. The votes above are equivalent to this rule, and `predict_proba`
    gives the shares of these votes.

    The first member remains the only one if it makes no error on the other rows, or if no row is drawn for the second.
    If the first two agree on all remaining rows, there is no third, and the first decides. A member whose rows are all
    of one class always predicts that class. With `sample_weight`, all rows of positive weight are drawn with the same
    probability and keep their weight.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from tremula import ThreeBoostClassifier
    >>> X, y = load_digits(return_X_y=True)
    >>> model = ThreeBoostClassifier(random_state=0).fit(X, y)
    >>> len(model), len(model.member_rows_[0])
    (3, 599)
    >>> model.predict(X[:2])
    array([0, 1])
    """

    n_estimators = len(VOTES)

    member_rows_: list[NDArray[np.int64]]

    def __init__(
        self,
        estimator: Any = None,
        first_share: float | None = None,
        *,
        second_rows: Literal["coin", "half"] = "coin",
        categorical_features: Any = "from_dtype",
        random_state: RandomState = None,
    ) -> None:
        self.estimator = estimator
        self.first_share = first_share
        self.second_rows = second_rows
        self.categorical_features = categorical_features
        self.random_state = random_state

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.first_share is not None and not isinstance(self.first_share, Integral) and self.first_share >= 1:
            raise InvalidParameter(
                f"first_share={self.first_share!r} leaves no rows for the second and third member: give a share below "
                "1, or a whole number of rows"
            )

    def _fit_members(self, trainer: Trainer, sample: Sample, n_outputs: int, tasks: MemberTasks) -> None:
        root_seed = make_root_seed(self.random_state)
        streams = [member_generator(root_seed, number) for number in range(len(VOTES))]
        members: list[Member] = []
        parts: list[np.ndarray] = []

        def train(rows: np.ndarray) -> Member:
            """Train the next member on these rows."""
            tasks.begin_member()
            members.append(train_on(trainer, sample, rows, streams[len(members)]))
            parts.append(np.sort(rows))
            # A callback cannot stop after one or two: the three are one method.
            tasks.end_member(lambda: {"members_": list(members), "member_weights_": np.array(VOTES[: len(members)])})
            return members[-1]

        tasks.begin(len(VOTES))
        order = streams[0].permutation(sample.eligible_rows())
        n_first = self._n_first(len(order))
        rest = order[n_first:]
        first = train(order[:n_first])
        is_wrong = first.predict_codes(trainer.rows(rest)) != sample.target[rest]
        wrong, right = rest[is_wrong], rest[~is_wrong]
        drawn = flip_for_rows(wrong, right, streams[1]) if self.second_rows == "coin" else take_half(wrong, right)
        if is_wrong.any() and len(drawn):
            second = train(drawn)
            rest = np.setdiff1d(rest, drawn)
            if len(rest):
                table = trainer.rows(rest)
                disputed = rest[first.predict_codes(table) != second.predict_codes(table)]
                if len(disputed):
                    train(disputed)
        self.members_, self.member_rows_ = members, parts
        self.member_weights_ = np.array(VOTES[: len(members)])

    def _n_first(self, n_rows: int) -> int:
        share = 1.0 / 3.0 if self.first_share is None else self.first_share
        if isinstance(share, Integral):
            if share >= n_rows:
                raise InvalidParameter(
                    f"first_share={share!r} of {n_rows} rows leaves none for the second and third member: give fewer"
                )
            return int(share)
        return min(max(1, round(share * n_rows)), n_rows - 1)


def flip_for_rows(wrong: np.ndarray, right: np.ndarray, random: np.random.Generator) -> np.ndarray:
    """Take the next wrong row for heads, the next right row for tails, until no row of that kind is left.

    Examples
    --------
    >>> import numpy as np
    >>> flip_for_rows(np.array([7, 8]), np.array([1, 2, 3, 4, 5]), np.random.default_rng(1))
    array([7, 8, 1, 2, 3])
    """
    is_heads = random.random(len(wrong) + len(right) + 1) < 0.5
    has_run_out = (np.cumsum(is_heads) > len(wrong)) | (np.cumsum(~is_heads) > len(right))
    n_flips = int(np.argmax(has_run_out))
    n_heads = int(np.count_nonzero(is_heads[:n_flips]))
    return np.concatenate([wrong[:n_heads], right[: n_flips - n_heads]])


def take_half(wrong: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Take as many rows of each kind as the rarer kind has, the first ones in their random order.

    Examples
    --------
    >>> import numpy as np
    >>> take_half(np.array([7, 8]), np.array([1, 2, 3, 4, 5]))
    array([7, 8, 1, 2])
    """
    n_each = min(len(wrong), len(right))
    return np.concatenate([wrong[:n_each], right[:n_each]])


def train_on(trainer: Trainer, sample: Sample, rows: np.ndarray, random: np.random.Generator) -> Member:
    """Train a member on some of the rows."""
    taken = np.zeros(sample.n_rows, np.int64)
    taken[rows] = 1
    return trainer.train(replace(sample, weights=taken if sample.weights is None else sample.weights * taken), random)
