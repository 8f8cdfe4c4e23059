"""How far a row can move without noise before the class of a trained model changes: bounds from below and from above.

The lower bound is a certificate: no smaller move changes the class. The upper bound is the distance of a row of another
class. Where both meet, the distance is exact.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tremula.combine import largest
from tremula.errors import InvalidParameter
from tremula.parameters import check_choice, check_number
from tremula.smoothing.ball_bound import LevelNoise, fixed_factors
from tremula.smoothing.box_search import NORMS, BoxSearch, LeafBoxes, Nearest
from tremula.smoothing.box_sum import ModelBoxes
from tremula.smoothing.certificate import rounding_slack
from tremula.smoothing.exact import soften
from tremula.smoothing.models import read_model
from tremula.smoothing.tree_program import finite
from tremula.trees.tree_sum import TreeSum

Floats = NDArray[np.float64]

ROUNDING = 1e-12  # of a distance
EXACT = 1e-9  # difference between bounds, in comparison to the distance, that rounding may cause


@dataclass(frozen=True, eq=False, repr=False)
class HardCertificate:
    """Bounds of the distance from each row to the nearest row of another class.

    Attributes
    ----------
    lower : float64 array (n_rows,)
        No move that is shorter changes the class; infinite if none does.
    upper : float64 array (n_rows,)
        Distance of `nearest`, infinite if no row of another class was met.
    nearest : float64 array (n_rows, n_attributes)
        A row of another class, as the model encodes it; NaN if none was met.
    """

    lower: Floats
    upper: Floats
    nearest: Floats

    @property
    def is_exact(self) -> NDArray[np.bool_]:
        """Whether the distance of each row is known, up to rounding."""
        with np.errstate(invalid="ignore"):
            gaps = self.upper - self.lower
        return np.asarray((self.lower == self.upper) | (gaps <= EXACT * self.upper))

    def __repr__(self) -> str:
        exact = int(self.is_exact.sum())
        return f"HardCertificate({len(self.lower)} rows, {exact} exact, median distance {np.median(self.lower):.3g})"


def certify(
    model: Any, X: Any, *, norm: str = "max", scale: ArrayLike | None = None, max_boxes: int = 2000
) -> HardCertificate:
    """Bound how far each row can move before the class that a trained model predicts changes; there is no noise.

    Parameters
    ----------
    model : fitted classifier
        A tree or an ensemble of trees of tremula, scikit-learn, XGBoost, LightGBM or CatBoost.
    X : array, data frame or table of shape (n_rows, n_attributes)
        Numeric values move. Levels of nominal attributes and missing values stay; a row that goes down several branches
        of one split, because a value is missing, has a lower bound of 0.
    norm : {"max", "euclidean", "sum"}, default="max"
        How the distances of the attributes are combined: the largest, the root of the sum of squares, or the sum.
    scale : array of shape (n_attributes,) or None, default=None
        Unit of the distance of each attribute, such as its standard deviation; 1 by default.
    max_boxes : int, default=2000
        Number of boxes that are examined for each row and class. With more boxes more distances are exact.

    Returns
    -------
    HardCertificate

    Notes
    -----
    Single trees are exact: the distance to the nearest leaf of another class. Ensembles are searched by branch and
    bound; Chen et al. (2019) and Devos et al. (2021) describe other searches. For the lower bound a tie of two classes
    counts as a change.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tremula import RandomForestClassifier, certify
    >>> X, y = load_iris(return_X_y=True)
    >>> forest = RandomForestClassifier(n_estimators=5, random_state=0).fit(X, y)
    >>> certificate = certify(forest, X[:3])
    >>> certificate.lower.round(2), certificate.is_exact
    (array([0.6, 0.6, 0.6]), array([ True,  True,  True]))
    """
    check_choice("norm", norm, tuple(NORMS))
    check_number("max_boxes", max_boxes, 0)
    trees = read_model(model)
    if trees.classes is None:
        raise InvalidParameter(f"{trees.name} predicts numbers: certify takes a classifier")
    if not trees.sum.link.keeps_order:
        raise InvalidParameter(
            f"the answers of {trees.name} do not keep the order of its margins (link {trees.sum.link.name!r}): certify "
            "takes one sum of trees"
        )
    rows = finite(np.array(trees.rows(X), dtype=np.float64))
    return HardSearch(trees.sum, _check_scale(scale, trees.sum.n_attributes), norm).certify(rows, max_boxes)


def _check_scale(scale: ArrayLike | None, n_attributes: int) -> Floats:
    if scale is None:
        return np.ones(n_attributes)
    try:
        units = np.asarray(scale, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise InvalidParameter(f"scale is {type(scale).__name__} without numbers: give one per attribute") from error
    if units.shape != (n_attributes,) or not (np.isfinite(units) & (units > 0)).all():
        raise InvalidParameter(
            f"scale has shape {units.shape} and the least entry {units.min(initial=np.inf)}: expected {n_attributes} "
            "finite numbers above 0, one per attribute"
        )
    return units


class HardSearch:
    """Searches the nearest row of another class for rows of one model.

    Parameters
    ----------
    model : TreeSum
    scale : float64 array (n_attributes,)
    norm : {"max", "euclidean", "sum"}
    """

    def __init__(self, model: TreeSum, scale: Floats, norm: str) -> None:
        self.model, self.scale, self.norm = model, scale, norm
        boxes = ModelBoxes(model, paths=False)
        is_leaf = np.concatenate([tree.is_leaf for tree in model.trees])
        self.trees = np.repeat(np.arange(len(model.trees)), [tree.n_leaves for tree in model.trees])
        self.factors = boxes.factors.of_boxes(is_leaf)
        self.values = _leaf_margins(model)
        starts = np.concatenate([[0], np.cumsum(model.n_levels)]).astype(np.int32)
        n_levels = int(starts[-1])
        self.levels = LevelNoise(np.ones(n_levels + 1), np.zeros(n_levels + 1), np.zeros(n_levels + 1), starts)
        self.slack = rounding_slack(model)

    def certify(self, rows: Floats, max_boxes: int) -> HardCertificate:
        """Bound the distance of every row."""
        margins = self._margins(rows)
        labels = largest(self.model.link.answers(margins))
        results = [self._row(row, margins[k], int(labels[k]), max_boxes) for k, row in enumerate(rows)]
        points = [np.full(rows.shape[1], np.nan) if each.point is None else each.point for each in results]
        with np.errstate(invalid="ignore"):
            spacing = np.nan_to_num(np.spacing(np.abs(rows)) / self.scale).max(axis=1, initial=0.0)
        lower = np.maximum(np.array([each.lower for each in results]) * (1 - ROUNDING) - 4 * spacing, 0.0)
        upper = np.array([each.upper for each in results])
        return HardCertificate(lower, upper, np.array(points).reshape(rows.shape))

    def _margins(self, rows: Floats) -> Floats:
        """Return margins without noise; missing values go down the branches by the model's shares."""
        return soften(self.model, rows, np.zeros(self.model.n_attributes)).margins

    def _row(self, row: Floats, margins: Floats, label: int, max_boxes: int) -> Nearest:
        leaves, moving = self._reached(row)
        if leaves is None:
            return Nearest(0.0, np.inf, None)
        best = Nearest(np.inf, np.inf, None)
        for direction in self._directions(margins, label):
            nearest = self._search(row, leaves, moving, direction, label, max_boxes, best.upper)
            lower = min(best.lower, nearest.lower)
            best = (
                Nearest(lower, nearest.upper, nearest.point)
                if nearest.point is not None
                else (Nearest(lower, best.upper, best.point))
            )
        return best

    def _directions(self, margins: Floats, label: int) -> list[Floats]:
        """Return the differences of margins that are positive for the class; near classes first."""
        if len(margins) == 1:
            return [np.array([1.0 if label == 1 else -1.0])]
        eye = np.eye(len(margins))
        return [eye[label] - eye[other] for other in np.argsort(-margins, kind="stable") if other != label]

    def _reached(self, row: Floats) -> tuple[tuple[NDArray[np.bool_], Floats, Floats] | None, NDArray[np.intp]]:
        """Return the leaves that a row can reach when its numbers move, and intervals of the attributes that move."""
        factors = self.factors
        known = np.where(self.model.n_levels > 0, np.where((row >= 0) & (row < self.model.n_levels), row, np.nan), row)
        is_moving = (self.model.n_levels == 0) & ~np.isnan(known)
        fixed = ~is_moving[factors.attribute]
        kept = np.ones(len(self.trees))
        np.multiply.at(kept, factors.box[fixed], fixed_factors(factors, fixed, known, self.levels))
        moving = np.flatnonzero(is_moving & np.isin(np.arange(len(row)), factors.attribute))
        if ((kept > 0) & (kept < 1)).any():
            return None, moving
        low, high = np.full((len(kept), len(row)), -np.inf), np.full((len(kept), len(row)), np.inf)
        box, attribute = factors.box[~fixed], factors.attribute[~fixed]
        low[box, attribute], high[box, attribute] = factors.low[~fixed], factors.high[~fixed]
        return (kept > 0, low[:, moving], high[:, moving]), moving

    def _search(
        self,
        row: Floats,
        leaves: Any,
        moving: NDArray[np.intp],
        direction: Floats,
        label: int,
        max_boxes: int,
        limit: float,
    ) -> Nearest:
        is_reached, low, high = leaves
        reached = LeafBoxes(self.trees, self.values @ direction, low, high).some(is_reached)

        def whole(points: Floats) -> Floats:
            moved = np.tile(row, (len(points), 1))
            moved[:, moving] = points
            return moved

        def judge(points: Floats) -> tuple[Floats, NDArray[np.bool_]]:
            margins = self._margins(whole(points))
            return margins @ direction, np.asarray(largest(self.model.link.answers(margins)) != label)

        constant = float(self.model.offset @ direction) - 2 * self.slack
        search = BoxSearch(reached, constant, row[moving], self.scale[moving], self.norm, judge)
        nearest = search.nearest(max_boxes, limit)
        return Nearest(nearest.lower, nearest.upper, None if nearest.point is None else whole(nearest.point[None])[0])


def _leaf_margins(model: TreeSum) -> Floats:
    """Return what each leaf adds to every margin, shape (n_leaves, n_margins)."""
    parts = []
    for tree, weight, output in zip(model.trees, model.weights, model.outputs):
        values = weight * tree.values[tree.nodes["index"][tree.is_leaf]]
        if output >= 0:
            alone = np.zeros((len(values), model.n_margins))
            alone[:, output] = values[:, 0]
            values = alone
        parts.append(values)
    return np.concatenate(parts)
