"""AdaBoost.M1 and the binary AdaBoost of the slides, in plain Python, with any scikit-learn classifier."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import exp, log
from typing import Any

import numpy as np
from sklearn.base import clone


@dataclass
class Boosted:
    """What boosting gives: for every member its distribution, error and vote."""

    members: list[Any] = field(default_factory=list)
    distributions: list[list[float]] = field(default_factory=list)
    errors: list[float] = field(default_factory=list)
    votes: list[float] = field(default_factory=list)


def boost_m1(learner: Any, X: np.ndarray, y: list[int], n_members: int) -> Boosted:
    """Freund and Schapire's AdaBoost.M1: correct rows times beta; stop at an error of a half, or at none."""
    n_rows = len(y)
    boosted = Boosted()
    distribution = [1.0 / n_rows] * n_rows
    for _ in range(n_members):
        member = clone(learner).fit(X, y, sample_weight=[n_rows * share for share in distribution])
        correct = [bool(given == true) for given, true in zip(member.predict(X), y)]
        error = sum(share for share, is_correct in zip(distribution, correct) if not is_correct)
        if error >= 0.5 - 1e-12:
            break
        boosted.members.append(member)
        boosted.distributions.append(distribution)
        boosted.errors.append(error)
        if error == 0.0:
            boosted.votes.append(log((1 - 1e-10) / 1e-10))
            break
        beta = error / (1.0 - error)
        boosted.votes.append(log(1.0 / beta))
        distribution = [share * (beta if is_correct else 1.0) for share, is_correct in zip(distribution, correct)]
        total = sum(distribution)
        distribution = [share / total for share in distribution]
    return boosted


def vote(boosted: Boosted, X: np.ndarray, n_classes: int) -> list[int]:
    """Class of the largest sum of votes, the first of equals."""
    answers = [member.predict(X) for member in boosted.members]
    predicted = []
    for row in range(len(X)):
        totals = [0.0] * n_classes
        for answer, weight in zip(answers, boosted.votes):
            totals[int(answer[row])] += weight
        predicted.append(next(c for c in range(n_classes) if totals[c] >= max(totals) * (1 - 1e-12)))
    return predicted


def boost_binary(learner: Any, X: np.ndarray, y: list[int], n_members: int) -> Boosted:
    """Boost for classes -1 and 1: alpha = 1/2 ln((1 - e) / e), D times exp(-alpha y M(x))."""
    n_rows = len(y)
    boosted = Boosted()
    distribution = [1.0 / n_rows] * n_rows
    for _ in range(n_members):
        member = clone(learner).fit(X, y, sample_weight=[n_rows * share for share in distribution])
        given = member.predict(X)
        error = sum(share for share, answer, true in zip(distribution, given, y) if answer != true)
        if error >= 0.5 - 1e-12 or error == 0.0:
            break
        alpha = 0.5 * log((1.0 - error) / error)
        boosted.members.append(member)
        boosted.distributions.append(distribution)
        boosted.errors.append(error)
        boosted.votes.append(alpha)
        distribution = [share * exp(-alpha * true * answer) for share, answer, true in zip(distribution, given, y)]
        total = sum(distribution)
        distribution = [share / total for share in distribution]
    return boosted


def sign(boosted: Boosted, X: np.ndarray) -> list[int]:
    """Sign of the sum of alpha times answer, -1 for none."""
    totals = sum(alpha * member.predict(X) for alpha, member in zip(boosted.votes, boosted.members))
    return [1 if total > 1e-12 else -1 for total in totals]
