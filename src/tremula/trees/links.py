"""Links: they turn the margins of a sum of trees into class shares or numbers.

A link passes derivatives and error bounds of the margins on to the answers. Links that are made of others are in
`composite_links`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, softmax

from tremula.combine import largest
from tremula.errors import InvalidParameter
from tremula.persistence.registry import storable

Floats = NDArray[np.float64]


class Link(ABC):
    """Turns margins into answers.

    Attributes
    ----------
    name : str
        For messages; simple links are stored by their name.
    keeps_order : bool
        Whether the largest margin gives the largest answer. One margin of two classes: whether its sign decides.
    is_increasing : bool
        Whether each answer depends on one margin and rises with it.
    is_identity : bool
        Whether answers are the margins themselves, so that an expected answer is the answer of the expected margins.
    """

    keeps_order = False
    is_increasing = False
    is_identity = False

    @property
    @abstractmethod
    def name(self) -> str:
        """Name for messages."""

    @abstractmethod
    def answers(self, margins: Floats) -> Floats:
        """Return class shares or numbers (n_rows, n_answers) of margins (n_rows, n_margins)."""

    @abstractmethod
    def slopes(self, margins: Floats, margin_slopes: Floats) -> Floats:
        """Apply the chain rule.

        Parameters
        ----------
        margins : float64 array (n_rows, n_margins)
        margin_slopes : float64 array (n_rows, n_margins, n_attributes)
            Derivative of each margin in every attribute.

        Returns
        -------
        float64 array (n_rows, n_answers, n_attributes)
            Derivative of each answer in every attribute.
        """

    @abstractmethod
    def answer_bound(self, margins: Floats, bound: Floats) -> Floats:
        """Bound the error of a row's answers.

        Parameters
        ----------
        margins : float64 array (n_rows, n_margins)
        bound : float64 array (n_rows,)
            Largest error of any margin of each row.

        Returns
        -------
        float64 array (n_rows,)
            Largest error of any answer of each row.
        """


@storable
@dataclass(frozen=True)
class IdentityLink(Link):
    """Leaves margins as they are.

    Examples
    --------
    >>> IdentityLink().answers(np.array([[0.25, 0.75]]))
    array([[0.25, 0.75]])
    """

    keeps_order = True
    is_increasing = True
    is_identity = True
    name = "identity"

    def answers(self, margins: Floats) -> Floats:
        """Return the margins."""
        return margins

    def slopes(self, margins: Floats, margin_slopes: Floats) -> Floats:
        """Return the slopes of the margins."""
        return margin_slopes

    def answer_bound(self, margins: Floats, bound: Floats) -> Floats:
        """Return the bound of the margins."""
        return bound


@storable
@dataclass(frozen=True)
class LogisticLink(Link):
    """Turns one margin into the shares of two classes.

    Examples
    --------
    >>> LogisticLink().answers(np.array([[0.0]]))
    array([[0.5, 0.5]])
    """

    keeps_order = True
    name = "logistic"

    def answers(self, margins: Floats) -> Floats:
        """Return the shares of the two classes."""
        share = expit(margins)
        return np.hstack([1.0 - share, share])

    def slopes(self, margins: Floats, margin_slopes: Floats) -> Floats:
        """Multiply by the product of the shares."""
        shares = self.answers(margins)
        rise = margin_slopes * (shares[:, :1] * shares[:, 1:])[:, :, None]
        return np.concatenate([-rise, rise], axis=1)

    def answer_bound(self, margins: Floats, bound: Floats) -> Floats:
        """Return a quarter of the bound: the largest slope of the logistic function is 1/4."""
        return np.asarray(bound / 4)


@storable
@dataclass(frozen=True)
class ShareLink(Link):
    """Turns one margin into one number, the logistic function of it.

    Examples
    --------
    >>> ShareLink().answers(np.array([[0.0]]))
    array([[0.5]])
    """

    is_increasing = True
    name = "share"

    def answers(self, margins: Floats) -> Floats:
        """Return the logistic function of the margins."""
        return np.asarray(expit(margins))

    def slopes(self, margins: Floats, margin_slopes: Floats) -> Floats:
        """Multiply by the derivative of the logistic function."""
        shares = self.answers(margins)
        return np.asarray(margin_slopes * (shares * (1.0 - shares))[:, :, None])

    def answer_bound(self, margins: Floats, bound: Floats) -> Floats:
        """Return a quarter of the bound: the largest slope of the logistic function is 1/4."""
        return np.asarray(bound / 4)


@storable
@dataclass(frozen=True)
class SoftmaxLink(Link):
    """Turns a margin of each class into class shares.

    Examples
    --------
    >>> SoftmaxLink().answers(np.log([[1.0, 3.0]]))
    array([[0.25, 0.75]])
    """

    keeps_order = True
    name = "softmax"

    def answers(self, margins: Floats) -> Floats:
        """Return the softmax of each row."""
        return np.asarray(softmax(margins, axis=1))

    def slopes(self, margins: Floats, margin_slopes: Floats) -> Floats:
        """Multiply each share by its own slope less the mean slope."""
        shares = self.answers(margins)[:, :, None]
        return np.asarray(shares * (margin_slopes - (shares * margin_slopes).sum(axis=1, keepdims=True)))

    def answer_bound(self, margins: Floats, bound: Floats) -> Floats:
        """Return half of the bound: a share p changes by at most 2 p (1 - p) times the change of the margins."""
        return np.asarray(bound / 2)


@storable
@dataclass(frozen=True)
class ExponentialLink(Link):
    """Turns the logarithm of a number into the number.

    Examples
    --------
    >>> ExponentialLink().answers(np.array([[0.0]]))
    array([[1.]])
    """

    is_increasing = True
    name = "exponential"

    def answers(self, margins: Floats) -> Floats:
        """Return the exponential function of the margins."""
        return np.asarray(np.exp(margins))

    def slopes(self, margins: Floats, margin_slopes: Floats) -> Floats:
        """Multiply by the answers."""
        return np.asarray(margin_slopes * self.answers(margins)[:, :, None])

    def answer_bound(self, margins: Floats, bound: Floats) -> Floats:
        """Return the error of the largest answer."""
        return np.asarray(self.answers(margins).max(axis=1) * np.expm1(bound))


@storable
@dataclass(frozen=True)
class PositiveLink(Link):
    """Counts negative margins as 0 and divides by the sum; if none is positive, the largest gets a share of 1.

    Examples
    --------
    >>> PositiveLink().answers(np.array([[0.5, -0.1, 1.5], [-0.2, -0.1, -0.3]]))
    array([[0.25, 0.  , 0.75],
           [0.  , 1.  , 0.  ]])
    """

    keeps_order = True
    name = "positive"

    def answers(self, margins: Floats) -> Floats:
        """Return shares of the positive margins."""
        shares = np.maximum(margins, 0.0)
        is_none = shares.sum(axis=1) <= 0.0
        shares[is_none, largest(margins)[is_none]] = 1.0
        return np.asarray(shares / shares.sum(axis=1, keepdims=True))

    def slopes(self, margins: Floats, margin_slopes: Floats) -> Floats:
        """Refuse: there are kinks at 0."""
        raise InvalidParameter(f"the link {self.name!r} is not differentiable everywhere: use another model")

    def answer_bound(self, margins: Floats, bound: Floats) -> Floats:
        """Return a bound for margins of class shares, whose sum is 1."""
        return np.asarray(np.minimum(margins.shape[1] * bound, 1.0))


IDENTITY, LOGISTIC, SOFTMAX = IdentityLink(), LogisticLink(), SoftmaxLink()
EXPONENTIAL, POSITIVE, SHARE = ExponentialLink(), PositiveLink(), ShareLink()
LINKS: dict[str, Link] = {link.name: link for link in (IDENTITY, LOGISTIC, SOFTMAX, EXPONENTIAL, POSITIVE, SHARE)}


def as_link(link: Link | str) -> Link:
    """Return the link of a name; a link is returned as it is.

    Examples
    --------
    >>> as_link("softmax").name
    'softmax'
    """
    if isinstance(link, Link):
        return link
    if link not in LINKS:
        raise InvalidParameter(f"link={link!r}: expected one of {', '.join(LINKS)}, or a Link")
    return LINKS[link]
