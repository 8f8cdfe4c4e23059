"""Shakes the attributes: every member sees a random part of them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from numbers import Integral

import numpy as np

from tremula.errors import InvalidParameter
from tremula.parameters.kinds import check_attribute_count
from tremula.persistence.registry import storable
from tremula.perturb.sample import Draw, Perturbation, Sample


@storable
@dataclass(frozen=True)
class AttributeSubset(Perturbation):
    """Random subspaces: a member sees some of the attributes, drawn once for the whole member.

    Parameters
    ----------
    max_features : float or int, default=0.5
        How many: a share of the attributes, rounded, or a count.

    Examples
    --------
    >>> from tremula.perturb import AttributeSubset
    >>> AttributeSubset(max_features=3)
    AttributeSubset(max_features=3)
    """

    max_features: float = 0.5

    def count(self, n_attributes: int) -> int:
        """Return the number of attributes a member sees."""
        check_attribute_count("max_features", self.max_features)
        if isinstance(self.max_features, Integral):
            return int(self.max_features)
        return max(1, round(self.max_features * n_attributes))

    def check(self, sample: Sample) -> None:
        """Refuse more attributes than there are."""
        if self.count(sample.n_attributes) > sample.n_attributes:
            raise InvalidParameter(
                f"max_features={self.max_features} was given, but there are {sample.n_attributes} attributes: "
                "give at most that many, or a share such as 0.5"
            )

    def apply(self, sample: Sample, draw: Draw) -> Sample:
        """Draw the member's attributes among those it has."""
        seen = np.arange(sample.n_attributes) if sample.attributes is None else sample.attributes
        count = min(self.count(sample.n_attributes), len(seen))
        return replace(sample, attributes=np.sort(draw.random.choice(seen, size=count, replace=False)))
