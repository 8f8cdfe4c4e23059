"""Notices class names in a wrong order: the model is then worse than a constant, and another order explains it."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from tremula.diagnostics import mcnemar_test
from tremula.errors import InvalidInput

LEAST_P_VALUE = 1e-3


def best_order(codes: NDArray[np.int64], predicted: NDArray[np.int64], n_classes: int) -> NDArray[np.int64]:
    """Return for every class that a model predicts the true class it stands for, with the fewest errors.

    Examples
    --------
    >>> best_order(np.array([0, 0, 1, 2]), np.array([1, 1, 0, 2]), 3)
    array([1, 0, 2])
    """
    counts = np.zeros((n_classes, n_classes))
    np.add.at(counts, (predicted, codes), 1.0)
    kept = counts + 0.5 * np.eye(n_classes)  # among equally good orders, the given one
    return np.asarray(linear_sum_assignment(-kept)[1])


def doubtful_names(
    codes: NDArray[np.int64], predicted: NDArray[np.int64], names: Sequence[str], are_given: bool
) -> str | None:
    """Compare the error of a model with that of the best other order of the class names.

    Parameters
    ----------
    codes : int array (n_rows,)
        The class of each row, as the names say.
    predicted : int array (n_rows,)
        The class that the model predicts.
    names : sequence of str
    are_given : bool
        Whether the user gave the names; a wrong order is then an error.

    Returns
    -------
    str or None
        A note, if another order would be better beyond chance.
    """
    order = best_order(codes, predicted, len(names))
    wrong, wrong_in_order = predicted != codes, order[predicted] != codes
    if wrong_in_order.sum() >= wrong.sum() or mcnemar_test(wrong, wrong_in_order).p_value > LEAST_P_VALUE:
        return None
    constant = 1.0 - np.bincount(codes).max() / len(codes)
    given, better = ",".join(names), ",".join(names[code] for code in order)
    message = (
        f"with the classes in the order {given} the model is wrong for {100 * wrong.mean():.1f} % of the rows (a "
        f"constant for {100 * constant:.1f} %), with {better} for {100 * wrong_in_order.mean():.1f} %"
    )
    if are_given and wrong.mean() > constant:
        raise InvalidInput(f"--classes is in a wrong order: {message}. Give --classes {better}, if that is its order")
    return f"Check the order of the classes: {message}."
