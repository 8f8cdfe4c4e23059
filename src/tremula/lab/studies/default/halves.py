"""Which datasets may decide a recipe and which only judge it: fixed by a checksum of the name, before any was measured.

A dataset is in one half for good, whatever other datasets there are.
"""

from __future__ import annotations

import hashlib

DECIDING, JUDGED = "deciding", "judged"


def half(name: str) -> str:
    """Return "deciding" for a dataset whose results may be looked at when a recipe is made, else "judged".

    Examples
    --------
    >>> half("letter"), half("autos")
    ('deciding', 'judged')
    """
    return JUDGED if hashlib.sha256(name.encode()).digest()[0] % 2 else DECIDING
