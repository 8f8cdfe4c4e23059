"""Perturbs the rows of small classes: adds synthetic rows on lines between a drawn row and its neighbours.

Only rows that the member has drawn are ends of such a line, so that out-of-bag rows stay unseen.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from sklearn.neighbors import NearestNeighbors

from tremula.errors import InvalidParameter
from tremula.parameters import check_number
from tremula.persistence.registry import storable
from tremula.perturb.noise_units import UNITS
from tremula.perturb.sample import Draw, Perturbation, Sample, Values


@storable
@dataclass(frozen=True)
class SyntheticMinority(Perturbation):
    """Add synthetic rows of the smaller classes, on lines between a row and one of its nearest neighbours.

    Parameters
    ----------
    n_neighbors : int, default=5
        Number of nearest neighbours of the same class, of which one is drawn as the other end of the line.
    balance : float, default=1.0
        Number of rows that each class has at least, compared with the largest class. 1 makes all classes equally
        frequent.

    Notes
    -----
    After Chawla, Bowyer, Hall and Kegelmeyer, SMOTE: synthetic minority over-sampling technique (2002). Each synthetic
    row starts at a row of the member, drawn uniformly from those of its class, and ends at a random point of the line.
    Distances are between values divided by their standard deviations; two different levels, and a missing value and a
    mean one, are 1 and 0 apart. A nominal value, and a value that is missing at one end, is that of the nearer end.

    Only rows of the member's sample are used: put this after `Bootstrap` and other draws of rows. A synthetic row has
    the weight of the row where it starts, and counts as a copy of it in `inbag_counts_`.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import make_classification
    >>> from tremula import PerturbCombineClassifier
    >>> from tremula.perturb import Bootstrap, SyntheticMinority
    >>> X, y = make_classification(400, weights=[0.9], random_state=0)
    >>> perturb = [Bootstrap(), SyntheticMinority()]
    >>> ensemble = PerturbCombineClassifier(perturb=perturb, n_estimators=10, random_state=0).fit(X, y)
    >>> ensemble.predict(X[:3])
    array([0, 0, 0])
    """

    n_neighbors: int = 5
    balance: float = 1.0

    def check(self, sample: Sample) -> None:
        """Raise InvalidParameter if the target is a number, or there are several."""
        check_number("n_neighbors", self.n_neighbors, 1, whole=True)
        check_number("balance", self.balance, 0.0, 1.0)
        if not sample.n_classes:
            raise InvalidParameter("synthetic rows are of the smaller classes, and y has numbers: leave them out")
        if sample.has_several_targets:
            raise InvalidParameter(
                f"synthetic rows are of the smaller classes of one target, and y has {sample.target.shape[1]}: leave "
                "them out"
            )

    def learn(self, sample: Sample, read: Callable[[], Values]) -> Perturbation:
        """Return the perturbation with the positions of all rows, by which neighbours are found."""
        return LearnedMinority(self, positions(read(), sample), np.asarray(read().n_levels))

    def apply(self, sample: Sample, draw: Draw) -> Sample:
        """Return the sample as it is: rows are added only after `learn`."""
        return sample


def positions(table: Values, sample: Sample) -> np.ndarray:
    """Return rows as points: numbers by their standard deviations, levels such that two of them are 1 apart.

    Examples
    --------
    >>> import numpy as np
    >>> table = Values(np.array([[1.0, 0.0], [3.0, 1.0]]), np.array([0, 2]))
    >>> points = positions(table, Sample(np.array([0, 1]), 2, 2))
    >>> [round(float(number), 2) for number in points[1] - points[0]]
    [1.41, -0.71, 0.71]
    """
    rows = sample.eligible_rows()
    points = []
    for column, n_levels in zip(table.values.T, table.n_levels):
        known = ~np.isnan(column)
        if n_levels:
            points += [np.sqrt(0.5) * (column == level) for level in range(n_levels)]
            continue
        used = column[rows][known[rows]]
        unit = UNITS["deviation"](used, None) if len(used) else 0.0
        if unit > 0.0 and np.isfinite(unit):
            points.append(np.where(known, column / unit - used.mean() / unit, 0.0))
    return np.column_stack(points) if points else np.zeros((len(table.values), 1))


@dataclass(frozen=True, eq=False)
class LearnedMinority(Perturbation):
    """Synthetic rows, with what was learned of the table.

    Attributes
    ----------
    recipe : SyntheticMinority
    points : array (n_rows, n_dimensions)
        Positions of the training rows.
    n_levels : array (n_attributes,)
    """

    recipe: SyntheticMinority
    points: np.ndarray
    n_levels: np.ndarray

    def apply(self, sample: Sample, draw: Draw) -> Sample:
        """Return the sample with more copies of rows of small classes; the values of these are replaced later."""
        seed = draw.separate_seed(len(sample.noise))
        copies = _copies(sample)
        added = self._added(sample, copies, np.random.default_rng(seed.spawn(1)[0]))
        if not added.any():
            return sample
        weights = copies + added
        if sample.weights is not None:
            of_copy = np.divide(sample.weights, copies, out=np.zeros(len(copies)), where=copies > 0)
            weights = of_copy * weights
            weights = np.rint(weights).astype(np.int64) if sample.weights.dtype.kind in "iu" else weights
        noise = TowardsNeighbors(self, copies, added, sample.target, seed)
        return replace(sample, weights=weights, copies=copies + added, noise=(*sample.noise, noise))

    def _added(self, sample: Sample, copies: np.ndarray, random: np.random.Generator) -> np.ndarray:
        """Return how many synthetic rows start at each row."""
        of_classes = np.bincount(sample.target, copies, minlength=sample.n_classes).astype(np.int64)
        wanted = round(self.recipe.balance * int(of_classes.max()))
        added = np.zeros(sample.n_rows, np.int64)
        for code in np.flatnonzero((of_classes > 0) & (of_classes < wanted)):
            drawn = np.repeat(np.arange(sample.n_rows), np.where(sample.target == code, copies, 0))
            starts = drawn[random.integers(len(drawn), size=wanted - of_classes[code])]
            added += np.bincount(starts, minlength=sample.n_rows)
        return added


def _copies(sample: Sample) -> np.ndarray:
    """Return how often each row is in a sample; see `Sample.expand_copies`."""
    if sample.weights is None:
        return np.ones(sample.n_rows, np.int64)
    if sample.copies is not None:
        return np.where(sample.weights > 0, sample.copies, 0)
    if sample.weights.dtype.kind in "iu":
        return sample.weights.astype(np.int64)
    return (sample.weights > 0).astype(np.int64)


@dataclass(frozen=True, eq=False)
class TowardsNeighbors:
    """The synthetic rows of one member: the last copies of some rows, moved towards a neighbour.

    Attributes
    ----------
    learned : LearnedMinority
    copies, added : int arrays (n_rows,)
        Number of copies that stay as they are, and that are moved.
    target : int array (n_rows,)
    seed : numpy.random.SeedSequence
    """

    learned: LearnedMinority
    copies: np.ndarray
    added: np.ndarray
    target: np.ndarray
    seed: np.random.SeedSequence

    def smear(self, values: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """Move the added copies; the given array is overwritten."""
        counts = self.copies + self.added
        if not np.array_equal(np.bincount(rows, minlength=len(counts)), counts):
            raise InvalidParameter(
                "rows are drawn after synthetic ones were added: put SyntheticMinority after all perturbations that "
                "draw rows, such as Bootstrap"
            )
        firsts = np.cumsum(counts) - counts
        is_moved = np.arange(len(rows)) - firsts[rows] >= self.copies[rows]
        random = np.random.default_rng(self.seed)
        ends = firsts[self._draw_ends(rows[is_moved], random)]
        values[is_moved] = self._between(values[is_moved], values[ends], random.random((len(ends), 1)))
        return values

    def _draw_ends(self, starts: np.ndarray, random: np.random.Generator) -> np.ndarray:
        """Draw the other end of each line from the nearest drawn rows of its class."""
        ends, points = starts.copy(), self.learned.points
        for code in np.unique(self.target[starts]):
            drawn = np.flatnonzero((self.target == code) & (self.copies > 0))
            n_neighbors = min(self.learned.recipe.n_neighbors, len(drawn) - 1)
            of_class = np.flatnonzero(self.target[starts] == code)
            if not n_neighbors:
                continue  # the only row of its class: its copies stay where they are
            search = NearestNeighbors(n_neighbors=n_neighbors + 1).fit(points[drawn])
            unique, inverse = np.unique(starts[of_class], return_inverse=True)
            near = drawn[search.kneighbors(points[unique], return_distance=False)]
            # Each row is among its own neighbours, unless more than that many rows are at its place.
            is_itself = near == unique[:, None]
            is_itself[~is_itself.any(axis=1), -1] = True
            others = near[~is_itself].reshape(len(unique), n_neighbors)
            ends[of_class] = others[inverse, random.integers(n_neighbors, size=len(of_class))]
        return ends

    def _between(self, starts: np.ndarray, ends: np.ndarray, shares: np.ndarray) -> np.ndarray:
        between = np.where(starts == ends, starts, (1.0 - shares) * starts + shares * ends)
        nearer = np.where(shares < 0.5, starts, ends)
        return np.where((self.learned.n_levels > 0) | np.isnan(between), nearer, between)
