"""What libraries of boosting do with the sum of their trees, by the name of the objective that was trained for."""

from __future__ import annotations

from typing import Any

from tremula.errors import UnsupportedModel
from tremula.smoothing.models.members import USE_SAMPLE
from tremula.smoothing.models.names import name_of


def link_of(estimator: Any, objective: str, links: dict[str, str]) -> str:
    """Find the link of an objective, or refuse a model whose answer is another function of the sum."""
    if objective not in links:
        raise UnsupportedModel(
            f"{name_of(estimator)} was trained for {objective!r}, and what it makes of the sum of its trees is not one "
            f"of the links known here (objectives read: {', '.join(links)}): {USE_SAMPLE}"
        )
    return links[objective]
