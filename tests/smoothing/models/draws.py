"""Perturbed copies of a row, as a table that the smoothed model takes: the original to compare exact answers with."""

from __future__ import annotations

from typing import Any

import numpy as np

from tremula.data.take import take_rows
from tremula.smoothing.models.tables import table_like


def draws_of(soft: Any, table: Any, row: int, n_draws: int, random: np.random.Generator) -> Any:
    """Return perturbed copies of one row of the table, with the noise and the flips of a fitted wrapper."""
    wrapped = soft._wrapped
    encoded = wrapped.rows(take_rows(table, np.array([row])))
    drawn = np.tile(encoded, (n_draws, 1)) + soft.noise_ * soft.scale_ * random.normal(size=(n_draws, encoded.shape[1]))
    for attribute, shares in enumerate(soft.level_shares_):
        if shares is None:
            continue
        drawn[:, attribute] = encoded[0, attribute]
        if np.isnan(encoded[0, attribute]):
            continue
        others = np.array(shares)
        others[int(encoded[0, attribute])] = 0.0
        is_replaced = random.random(n_draws) < soft.flip * (others.sum() > 0)
        chances = others / others.sum() if others.sum() > 0 else None
        drawn[is_replaced, attribute] = random.choice(len(others), is_replaced.sum(), p=chances)
    return table_like(table, wrapped.known_encoder, drawn)
