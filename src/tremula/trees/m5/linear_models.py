"""Linear models for the nodes of a tree, as in M5': least squares, with attributes dropped one at a time.

A model is fitted from sums of products of deviations from the node's means, in standard deviations. It therefore does
not depend on the units of the attributes, and dropping an attribute needs no second pass over the rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

import tremula._kernels.model_tree as kernel

RIDGE = 1e-8
# A standardized coefficient beyond this indicates that attributes are nearly collinear.
COLLINEAR = 1.5
LARGEST_VALUE = 1e100  # columns beyond are scaled: sums of their squares could overflow


@dataclass(frozen=True)
class NodeModels:
    """A linear model for every node.

    Attributes
    ----------
    models : array (n_nodes, n_attributes + 1)
        Coefficients, the constant last.
    squares : array (n_nodes,)
        Sum of squared errors on the training rows of the node.
    """

    models: np.ndarray
    squares: np.ndarray

    @property
    def n_terms(self) -> np.ndarray:
        """Number of coefficients of each model that are not 0."""
        return np.asarray(np.count_nonzero(self.models[:, :-1], axis=1))


@cache
def _lapack_dposv() -> Any:
    """Return LAPACK's solver as a C function; SciPy is imported when it is first needed."""
    from scipy.linalg import cython_lapack

    return cython_lapack.__pyx_capi__["dposv"]


def fit_node_models(
    nodes: np.ndarray, leaves: np.ndarray, values: np.ndarray, target: np.ndarray, weights: np.ndarray
) -> NodeModels:
    """Fit a model in every node, on the attributes that are tested at or below it; the model of a leaf is its mean.

    Parameters
    ----------
    nodes : node records of a tree of binary numeric splits
    leaves : int32 array (n_rows,)
        Leaf of each row, -1 for a row to leave out.
    values : array (n_rows, n_attributes)
    target, weights : arrays (n_rows,)

    Returns
    -------
    NodeModels

    Notes
    -----
    While a standardized coefficient exceeds 1.5, the attribute with the largest is dropped. Then the attribute with the
    smallest is dropped, again and again, while this lowers Akaike's criterion: the squared error relative to that of
    the previous model, times its degrees of freedom, plus 2 for each attribute.
    """
    values, exponents = _scaled(values)
    n_nodes, n_attributes = len(nodes), values.shape[1]
    order = np.empty(len(leaves), np.int32)
    starts, ends = np.empty(n_nodes, np.int64), np.empty(n_nodes, np.int64)
    kernel.order_rows(nodes, leaves, order, starts, ends)
    tested = np.zeros((n_nodes, n_attributes), np.uint8)
    kernel.mark_tested(nodes, tested)
    owners, attributes = np.nonzero(tested)
    counts = np.bincount(owners, minlength=n_nodes)
    firsts, places = (np.concatenate([[0], np.cumsum(sizes)]) for sizes in (counts, (counts + 1) ** 2))
    products = kernel.Products(attributes.astype(np.int32), firsts, places)
    kernel.fill_products(values, target, weights, order, starts, ends, products)
    models, squares = np.zeros((n_nodes, n_attributes + 1)), np.empty(n_nodes)
    kernel.choose_models(_lapack_dposv(), RIDGE, COLLINEAR, nodes, products, models, squares)
    if exponents.any():
        models[:, :-1] = np.ldexp(models[:, :-1], -exponents)
    return NodeModels(models, squares)


def _scaled(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Divide columns of very large numbers by powers of 2, so that their squares are finite; return the exponents."""
    largest = np.abs(values).max(axis=0, initial=0.0)
    exponents = np.where(largest > LARGEST_VALUE, np.frexp(largest)[1], 0)
    return (np.ldexp(values, -exponents) if exponents.any() else values), exponents
