"""How long a short circuit a generator bears: one machine that feeds a strong grid over one line.

The equal-area criterion: during the fault the rotor gains energy; it was cleared in time if the grid can take that
much back before the rotor has turned too far. Quantities are relative to the rated power.
"""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

RATED_POWER = 1000.0
MACHINE_REACTANCE = 0.25 + 0.12
INERTIA = 12 / (100 * np.pi)
CLEARING_SECONDS = 0.235
BISECTIONS = 50
MACHINE_RANGES: dict[str, tuple[float, float]] = {
    "active power": (600, 1100),
    "reactive power": (-200, 400),
    "local load": (0, 400),
    "local voltage": (0.98, 1.12),
    "remote voltage": (0.97, 1.07),
    "line reactance": (0.3, 0.7),
}


def critical_seconds(X: Floats) -> Floats:
    """Return the longest fault that each state of `one_machine_proxy` bears; 0 where there is no equilibrium."""
    active, reactive, load = X[:, :3].T / RATED_POWER
    local, remote, line = X[:, 3:].T
    inner = np.abs(local + MACHINE_REACTANCE * (reactive + 1j * active) / local)
    divider = 1 + 1j * line * load / local**2  # the load is a resistor beside the line
    impedance = 1j * MACHINE_REACTANCE + 1j * line / divider
    lost = inner**2 * impedance.real / np.abs(impedance) ** 2
    highest = inner * np.abs(remote / divider) / np.abs(impedance)
    sine = (active - lost) / highest
    start = np.arcsin(np.clip(sine, -1, 1))
    swing = _critical_angle(active, lost, highest, start) - start
    return np.where(np.abs(sine) < 1, np.sqrt(2 * INERTIA * swing / active), 0.0)


def _critical_angle(active: Floats, lost: Floats, highest: Floats, start: Floats) -> Floats:
    """Find where the energy gained during the fault is just what the machine can give back after it."""
    last = np.pi - start
    below, above = start.copy(), last.copy()
    for _ in range(BISECTIONS):
        middle = (below + above) / 2
        given_back = highest * (np.cos(middle) - np.cos(last)) - (active - lost) * (last - middle)
        bearable = given_back > active * (middle - start)
        below, above = np.where(bearable, middle, below), np.where(bearable, above, middle)
    return below
