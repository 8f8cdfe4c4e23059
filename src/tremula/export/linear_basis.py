"""Linear models of all leaves in one basis: a number for each numeric attribute, an indicator for each level, and 1.

Every model tree orders the levels of a nominal attribute in its own way; in this basis their models can be added.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tremula.trees.m5.model_tree import ModelTree
from tremula.trees.member_sum import MemberSum

NUMBER = -1


@dataclass(frozen=True, eq=False)
class LinearBasis:
    """The terms that linear models are sums of, the constant not included.

    Attributes
    ----------
    attribute : int array (n_terms,)
    code : int array (n_terms,)
        The level whose indicator the term is; NUMBER for the value of a numeric attribute.
    """

    attribute: NDArray[np.int64]
    code: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.attribute)

    def coefficients(self, member: ModelTree) -> NDArray[np.float64]:
        """Return the coefficients of each leaf's model, the constant last, in the order of the leaves' `index`."""
        terms, models = member.terms, member.models
        out = np.zeros((len(models), len(self) + 1))
        out[:, -1] = models[:, -1]
        for place, (attribute, code) in enumerate(zip(self.attribute, self.code)):
            of_attribute = np.flatnonzero(terms.attribute == attribute)
            if code != NUMBER:
                level_place = terms.places_of(int(attribute))[code]
                of_attribute = of_attribute[terms.from_place[of_attribute] <= level_place]
            out[:, place] = models[:, of_attribute].sum(axis=1)
        return out


def basis_of(whole: MemberSum) -> LinearBasis:
    """Return the terms that some model of some leaf has; none if no member is a model tree.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from tremula import M5Regressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> basis_of(M5Regressor().fit(X[:, 2:4], y).as_member_sum()).attribute
    array([0, 1])
    """
    models = [member for member in whole.members if isinstance(member, ModelTree)]
    used = np.zeros(whole.n_attributes, bool)
    for member in models:
        used[member.terms.attribute[(member.models[:, :-1] != 0).any(axis=0)]] = True
    pairs = [(attribute, code) for attribute in np.flatnonzero(used) for code in _codes(models, int(attribute))]
    attributes, codes = np.array(pairs, np.int64).reshape(-1, 2).T
    return LinearBasis(attributes, codes)


def _codes(models: list[ModelTree], attribute: int) -> list[int]:
    n_levels = max(int(member.terms.n_levels[attribute]) for member in models)
    return list(range(n_levels)) if n_levels else [NUMBER]
