"""How many training rows may be changed, in any way, before the class that an ensemble predicts can change.

A member that was trained on none of the changed rows is the same as before; of the others the worst is assumed.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.stats import beta

from tremula.combine import largest
from tremula.uncertainty.leave_one_out import RowDraw

Floats = NDArray[np.float64]

METHODS = ("members", "resampling")
ROUNDING = 1e-9  # of sums of class distributions; votes are counted without rounding


def certified_by_members(
    outputs: Floats, weights: Floats, is_inbag: NDArray[np.bool_], rounding: float
) -> NDArray[np.int64]:
    """Return how many training rows can be changed without changing the class of each row, certainly.

    Parameters
    ----------
    outputs : float64 array (n_members, n_rows, n_classes)
        Votes or class distributions.
    weights : float64 array (n_members,)
    is_inbag : bool array (n_members, n_training_rows)
        Whether each member was trained on each row.
    rounding : float
        By how much a lead may be wrong.

    Returns
    -------
    int array (n_rows,)
        A lower bound, exact if each training row is in one member at most and members may change as they like.

    Notes
    -----
    A member that sees a changed row may turn from its output to the rival class: the lead of the predicted class
    shrinks by 1 plus the member's lead, times its weight. The rows by which most can be lost are taken first; a member
    that sees several of them is counted several times, so that no more than this can be lost.
    """
    totals = np.tensordot(weights, outputs, axes=1)
    winner, n_classes = largest(totals), totals.shape[1]
    certified = np.full(len(totals), is_inbag.shape[1], dtype=np.int64)
    for row, own in enumerate(winner):
        for rival in range(n_classes):
            if rival == own:
                continue
            losses = weights * (1.0 + outputs[:, row, own] - outputs[:, row, rival])
            by_rows = np.cumsum(-np.sort(-(losses @ is_inbag)))
            lost = np.minimum(np.append(0.0, by_rows), losses.sum())
            lead = totals[row, own] - totals[row, rival] - rounding
            is_kept = lost < lead if rival < own else lost <= lead  # of equal classes the first is predicted
            certified[row] = min(certified[row], int(is_kept.argmin()) - 1 if not is_kept.all() else len(lost) - 1)
    return np.maximum(certified, 0)


def certified_by_resampling(votes: NDArray[np.int64], draw: RowDraw, confidence: float) -> NDArray[np.int64]:
    """Return how many rows can be changed without changing the vote of infinitely many members, with a probability.

    Parameters
    ----------
    votes : int array (n_rows, n_classes)
        Votes of the members.
    draw : RowDraw
        How the rows of each were drawn.
    confidence : float
        Probability with which the answer for a row is right, over the draws of the members.

    Returns
    -------
    int array (n_rows,)
        -1 where not even the class of infinitely many members is certain.

    Notes
    -----
    Jia, Cao and Gong, "Intrinsic certified robustness of bagging against data poisoning attacks" (AAAI 2021), for rows
    that are changed in place. The shares of the votes are bounded by Clopper and Pearson's intervals.
    """
    n_members = votes.sum(axis=1)
    order = np.sort(votes, axis=1)
    error = (1.0 - confidence) / votes.shape[1]
    least = beta.ppf(error, order[:, -1], n_members - order[:, -1] + 1)
    most = np.where(order[:, -2] < n_members, beta.ppf(1.0 - error, order[:, -2] + 1, n_members - order[:, -2]), 1.0)
    lead = np.nan_to_num(least) - np.minimum(most, 1.0 - np.nan_to_num(least))
    return largest_number_of_changes(lead, draw)


def largest_number_of_changes(lead: Floats, draw: RowDraw) -> NDArray[np.int64]:
    """Return how many rows can change while members that see none of them keep a class ahead; -1 without a lead.

    Parameters
    ----------
    lead : float64 array (n_rows,)
        Difference of the probabilities of the first and the second class of a member.
    draw : RowDraw

    Examples
    --------
    >>> largest_number_of_changes(np.array([0.0, 0.3, 1.0]), RowDraw(100, 10, bootstrap=True))
    array([-1,  1,  6])
    """
    lost = np.array([2.0 * (1.0 - draw.untouched(number)) for number in range(draw.n_rows + 1)])
    return np.asarray(np.searchsorted(lost, lead, side="left") - 1)
