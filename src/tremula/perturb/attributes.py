"""Perturbs the attributes: every member uses a random subset of them."""

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
    """Random subspaces: a member uses a random subset of the attributes, drawn once for the member.

    Parameters
    ----------
    max_features : float or int, default=0.5
        Number of attributes, or share of them, rounded.

    Examples
    --------
    >>> from tremula.perturb import AttributeSubset
    >>> AttributeSubset(max_features=3)
    AttributeSubset(max_features=3)
    """

    max_features: float = 0.5

    def count(self, n_attributes: int) -> int:
        """Return the number of attributes that a member uses."""
        check_attribute_count("max_features", self.max_features)
        if isinstance(self.max_features, Integral):
            return int(self.max_features)
        return max(1, round(self.max_features * n_attributes))

    def check(self, sample: Sample) -> None:
        """Raise InvalidParameter if there are fewer attributes than asked for."""
        if self.count(sample.n_attributes) > sample.n_attributes:
            raise InvalidParameter(
                f"max_features={self.max_features} was given, but there are {sample.n_attributes} attributes: "
                "give at most that many, or a share such as 0.5"
            )

    def apply(self, sample: Sample, draw: Draw) -> Sample:
        """Draw the member's attributes from those of the sample."""
        available = np.arange(sample.n_attributes) if sample.attributes is None else sample.attributes
        n_drawn = min(self.count(sample.n_attributes), len(available))
        return replace(sample, attributes=np.sort(draw.random.choice(available, size=n_drawn, replace=False)))
