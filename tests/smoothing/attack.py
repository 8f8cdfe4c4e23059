"""Attacks on certificates: moves of a row that lower the difference of two margins, of at most a given length."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from tremula.smoothing.exact import gradient, soften
from tremula.smoothing.noise.amounts import Noise
from tremula.trees.tree_sum import TreeSum

Floats = np.ndarray


def shortened(moves: Floats, radii: Floats) -> Floats:
    """Moves of at most the given lengths."""
    lengths = np.linalg.norm(moves, axis=1)
    return moves * np.minimum(1.0, radii / np.maximum(lengths, 1e-300))[:, None]


class Attacker:
    """Moves rows of a smoothed model, in standard deviations of the noise.

    Parameters
    ----------
    model : TreeSum
    rows : float64 array (n_rows, n_attributes)
    noise : Noise
    form : {"exact", "path"}
    """

    def __init__(self, model: TreeSum, rows: Floats, noise: Noise, form: str) -> None:
        self.model, self.rows, self.form, self.noise = model, rows, form, noise
        self.sd = np.broadcast_to(np.where(model.n_levels > 0, 0.0, noise.sd), rows.shape)
        self.options = {"form": form, "flip": noise.flip, "level_shares": noise.level_shares or None}

    def margins(self, moves: Floats) -> Floats:
        """Margins of the moved rows."""
        return soften(self.model, self.rows + moves * self.sd, self.noise.sd, tol=0.0, **self.options).margins

    def climb(self, moves: Floats, directions: Floats) -> Floats:
        """Gradient of the margins times a direction of each row."""
        slopes = gradient(self.model, self.rows + moves * self.sd, self.noise.sd, tol=0.0, **self.options)
        return np.einsum("rm,rma->ra", directions, slopes) * self.sd

    def moves(self, radii: Floats, directions: Floats, n_random: int, n_steps: int) -> Iterator[Floats]:
        """Yield moves of at most the radii: random ones, corners, single attributes, and steps up the gradient."""
        random = np.random.default_rng(0)
        shape = self.rows.shape
        for _ in range(n_random):
            yield shortened(1e9 * random.standard_normal(shape), radii)
            yield shortened(1e9 * random.choice([-1.0, 0.0, 1.0], shape), radii)
        for attribute in range(shape[1]):
            for sign in (-1.0, 1.0):
                move = np.zeros(shape)
                move[:, attribute] = sign * radii
                yield move
        for start in (np.zeros(shape), random.standard_normal(shape)):
            move = shortened(start, 0.3 * radii)
            for _ in range(n_steps):
                move = shortened(move + shortened(1e9 * self.climb(move, directions), 0.5 * radii), radii)
                yield move


def assert_unbroken(
    attacker: Attacker, radii: Floats, label: Callable[[Floats], Floats], steps: tuple[int, int]
) -> None:
    """No move of just less than the radii changes the label that is given to margins."""
    margins = attacker.margins(np.zeros(attacker.rows.shape))
    labels = label(margins)
    finite = 0.9999 * np.minimum(radii, 30.0)
    order = np.argsort(-margins, axis=1, kind="stable")
    n_margins = margins.shape[1]
    for rank in range(1, max(n_margins, 2)):
        directions = (
            -np.sign(margins) if n_margins == 1 else np.eye(n_margins)[order[:, rank]] - np.eye(n_margins)[order[:, 0]]
        )
        for move in attacker.moves(finite, directions, *steps):
            assert np.array_equal(label(attacker.margins(move)), labels)
