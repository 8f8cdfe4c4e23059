"""Kappa and mean error of every pair of members of an ensemble, and summaries of their diversity.

Everything follows from counts of rows, so the order of members and of rows changes no number.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tremula.combine import add_votes, largest
from tremula.data.column import is_present
from tremula.diagnostics.members.diversity import DIVERSITY, mean_over_pairs
from tremula.diagnostics.members.predictions import member_predictions
from tremula.display import ShortTable, ShownAsTable
from tremula.errors import InvalidInput, InvalidTarget, counted

KINDS = dict.fromkeys("biuf", "numbers") | dict.fromkeys("UST", "strings")  # by the kind of NumPy's types


@dataclass(frozen=True, repr=False)
class KappaError(ShownAsTable):
    """Agreement and error of the pairs of members of an ensemble.

    Attributes
    ----------
    kappa : array (n_pairs,)
        Agreement of each pair beyond chance: 1 for equal predictions, 0 for chance agreement, negative below chance.
    mean_error : array (n_pairs,)
        Mean of the two error rates of each pair.
    pairs : array (n_pairs, 2)
        Numbers of the two members, the smaller first.
    member_error : array (n_members,)
        Error rate of each member.
    ensemble_error : float
        Error rate of the ensemble.
    ensemble_kappa : array (n_members,)
        Kappa of each member with the ensemble.
    diversity : dict of str to float
        Summaries: mean ``kappa`` of the pairs; of rows that a member gets right or wrong, the means over pairs of
        ``disagreement`` (one right, one wrong), ``double_fault`` (both wrong) and ``q_statistic`` (NaN if no pair has
        one); over all members at once ``entropy``, ``kohavi_wolpert`` (variance) and ``interrater_agreement``.
    """

    kappa: np.ndarray
    mean_error: np.ndarray
    pairs: np.ndarray
    member_error: np.ndarray
    ensemble_error: float
    ensemble_kappa: np.ndarray
    diversity: Mapping[str, float]

    @property
    def n_members(self) -> int:
        """Number of members."""
        return len(self.member_error)

    def _short_table(self) -> ShortTable:
        means = {"error of a member": self.member_error.mean(), "error of the ensemble": self.ensemble_error}
        rows = [(name.replace("_", " "), f"{value:.4f}") for name, value in {**means, **self.diversity}.items()]
        return ShortTable(f"{self.n_members} members, {len(self.kappa)} pairs", ["mean of", "value"], rows)

    def __str__(self) -> str:
        return (
            f"{self.n_members} members, {len(self.kappa)} pairs: mean kappa {self.kappa.mean():.3f}, "
            f"mean error of a member {self.member_error.mean():.4f}, of the ensemble {self.ensemble_error:.4f}"
        )


def _encode(parts: Sequence[np.ndarray]) -> tuple[list[np.ndarray], int]:
    """Return the arrays of labels as codes of the same classes, and the number of classes."""
    try:
        labels, codes = np.unique(np.concatenate([part.ravel() for part in parts]), return_inverse=True)
    except TypeError as error:
        raise InvalidTarget(f"labels of y and of the predictions have no common order ({error})") from error
    ends = np.cumsum([part.size for part in parts])[:-1]
    return [code.reshape(part.shape) for code, part in zip(np.split(codes, ends), parts)], len(labels)


def _vote(codes: np.ndarray, n_classes: int) -> np.ndarray:
    total = np.zeros((codes.shape[1], n_classes))
    for answers in codes:
        add_votes(total, answers)
    return largest(total)


def kappa_of(first: np.ndarray, second: np.ndarray, n_classes: int) -> np.ndarray:
    """Return kappa of each row of `first` with each row of `second`.

    Parameters
    ----------
    first : array of int (n_first, n_rows)
        Class codes, one row of the array for each classifier.
    second : array of int (n_second, n_rows)
    n_classes : int

    Returns
    -------
    array (n_first, n_second)
        (Theta1 - Theta2) / (1 - Theta2), where Theta1 is the share of rows on which two classifiers agree and Theta2
        what chance would give; 1 where Theta2 is 1, that is, where both give the same single class.

    Examples
    --------
    >>> import numpy as np
    >>> from tremula.diagnostics.members.kappa import kappa_of
    >>> kappa_of(np.array([[0, 0, 1, 1]]), np.array([[0, 0, 1, 1], [0, 1, 0, 1], [1, 1, 0, 0]]), 2)
    array([[ 1.,  0., -1.]])
    """
    n_rows = first.shape[1]
    agree = np.zeros((len(first), len(second)))
    by_chance = np.zeros_like(agree)
    for code in range(n_classes):
        ones, twos = (first == code).astype(np.float64), (second == code).astype(np.float64)
        agree += ones @ twos.T
        by_chance += np.outer(ones.sum(axis=1), twos.sum(axis=1))
    # All are whole numbers, exact in floats: with n_rows² as unit no rounding decides whether Theta2 is 1.
    numerator, denominator = agree * n_rows - by_chance, float(n_rows) ** 2 - by_chance
    return np.asarray(np.divide(numerator, denominator, out=np.ones_like(agree), where=denominator > 0))


def _read_truth(y: Any) -> np.ndarray:
    try:
        truth = np.asarray(y)
    except ValueError as error:
        raise InvalidTarget(f"y is no list of classes: give one class for each row ({error})") from error
    if truth.ndim != 1 or not len(truth):
        raise InvalidTarget(f"y has shape {truth.shape}: give one class for each of at least one row")
    known = is_present(truth) if truth.dtype.kind == "O" else truth == truth
    if not known.all():
        row = int(np.argmin(known))
        raise InvalidTarget(f"y is {truth[row]} in row {row}: leave out rows whose class is missing")
    return truth


def _check_answers(answers: np.ndarray, truth: np.ndarray) -> None:
    if len(answers) < 2:
        raise InvalidInput(
            f"{counted(len(answers), 'member')} given: kappa compares pairs, give an ensemble of at least two"
        )
    if answers.shape[1] != len(truth):
        raise InvalidTarget(
            f"y has {len(truth)} values, but members predict {answers.shape[1]} rows: give one class for each row"
        )
    kinds = [KINDS.get(labels.dtype.kind, "objects") for labels in (truth, answers)]
    if set(kinds) == {"numbers", "strings"}:
        raise InvalidTarget(
            f"y holds {kinds[0]}, but members predict {kinds[1]}: give the labels that they were trained on"
        )


def kappa_error(ensemble: Any, X: Any, y: Any) -> KappaError:
    """Measure agreement and error of every pair of members of an ensemble.

    Parameters
    ----------
    ensemble : fitted ensemble, sequence of fitted classifiers, or array (n_members, n_rows)
        One of tremula's ensembles; one of scikit-learn's with classifiers in ``estimators_`` (bagging, forests,
        AdaBoost, voting), alone or at the end of a pipeline; classifiers, which then vote; or the members' predictions.
    X : array or data frame of shape (n_rows, n_attributes), or None
        Rows to predict; None where predictions are given.
    y : array of shape (n_rows,)
        Their true classes.

    Returns
    -------
    KappaError

    Notes
    -----
    With C the contingency table of two members' predictions and m the number of rows, ``Theta1 = sum_i C_ii / m``,
    ``Theta2 = sum_i (C_i. / m) (C_.i / m)`` and ``kappa = (Theta1 - Theta2) / (1 - Theta2)``, or 1 if Theta2 is 1
    (Dietterich 2000, after Margineantu and Dietterich 1997). The summaries of diversity, except kappa, are those of
    Kuncheva and Whitaker (2003).

    Examples
    --------
    >>> import numpy as np
    >>> from tremula.diagnostics import kappa_error
    >>> y = np.array(["a", "a", "b", "b"])
    >>> members = np.array([["a", "a", "b", "b"], ["a", "b", "b", "b"], ["a", "b", "b", "a"]])
    >>> result = kappa_error(members, None, y)
    >>> result.pairs.tolist(), result.kappa.tolist(), result.mean_error.tolist()
    ([[0, 1], [0, 2], [1, 2]], [0.5, 0.0, 0.5], [0.125, 0.25, 0.375])
    >>> print(result)
    3 members, 3 pairs: mean kappa 0.333, mean error of a member 0.2500, of the ensemble 0.2500
    """
    truth = _read_truth(y)
    answers = member_predictions(ensemble, X)
    _check_answers(answers, truth)
    if isinstance(ensemble, Sequence | np.ndarray):
        (members, target), n_classes = _encode([answers, truth])
        whole = _vote(members, n_classes)
    else:
        (members, target, whole), n_classes = _encode([answers, truth, np.asarray(ensemble.predict(X))])
    kappa = kappa_of(members, members, n_classes)
    first, second = np.triu_indices(len(members), 1)
    right = (members == target).astype(np.float64)
    error = 1.0 - right.mean(axis=1)
    summaries = {"kappa": mean_over_pairs(kappa)} | {name: measure(right) for name, measure in DIVERSITY.items()}
    return KappaError(
        kappa=kappa[first, second],
        mean_error=(error[first] + error[second]) / 2,
        pairs=np.column_stack([first, second]),
        member_error=error,
        ensemble_error=float(np.mean(whole != target)),
        ensemble_kappa=kappa_of(members, whole[None, :], n_classes)[:, 0],
        diversity=summaries,
    )
