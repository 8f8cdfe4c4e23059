"""What the readers of boosted models share: the link of an objective, and the class labels."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tremula.errors import UnsupportedModel
from tremula.smoothing.models.members import USE_SAMPLE
from tremula.smoothing.models.model import name_of


def link_of(estimator: Any, objective: str, links: dict[str, str]) -> str:
    """Return the link of an objective; refuse an objective whose link is not known."""
    if objective not in links:
        raise UnsupportedModel(
            f"{name_of(estimator)} was trained for the objective {objective!r}, whose link is not known here "
            f"(objectives read: {', '.join(links)}): {USE_SAMPLE}"
        )
    return links[objective]


def link_of_answers(estimator: Any, objective: str, links: dict[str, str], of_numbers: tuple[str, ...]) -> str:
    """Return the link of an objective, or "share" where the probability of a class is predicted as a number.

    Parameters
    ----------
    estimator : estimator or booster
    objective : str
    links : dict
    of_numbers : tuple of str
        Objectives whose target is a number, also if a bare booster has them.
    """
    link = link_of(estimator, objective, links)
    is_regressor = hasattr(estimator, "get_params") and not hasattr(estimator, "predict_proba")
    is_number = is_regressor or (objective in of_numbers and not hasattr(estimator, "predict_proba"))
    return "share" if link == "logistic" and is_number else link


def classes_of(estimator: Any, link: str, n_margins: int) -> NDArray[Any] | None:
    """Return the class labels, which are numbers for a bare booster; None for a regression."""
    if link not in ("logistic", "softmax"):
        return None
    return np.asarray(getattr(estimator, "classes_", np.arange(max(n_margins, 2))))
