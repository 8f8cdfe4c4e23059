"""Shamir's secret sharing: any `threshold` shares give the secret, fewer say nothing about it."""

from __future__ import annotations

import secrets
from collections.abc import Mapping

SECRET_BYTES = 32
PRIME = 2**521 - 1  # above all secrets of 32 bytes
SHARE_BYTES = 66


def share_secret(secret: bytes, threshold: int, n_shares: int) -> list[bytes]:
    """Divide a secret of 32 bytes into shares, which belong to the numbers 1, 2, ...

    Parameters
    ----------
    secret : bytes
    threshold : int
        Number of shares that give the secret.
    n_shares : int

    Examples
    --------
    >>> shares = share_secret(bytes(31) + b"!", 2, 3)
    >>> join_shares({1: shares[0], 3: shares[2]})[-1:]
    b'!'
    """
    coefficients = [int.from_bytes(secret, "big"), *(secrets.randbelow(PRIME) for _ in range(threshold - 1))]
    return [_polynomial(coefficients, number).to_bytes(SHARE_BYTES, "big") for number in range(1, n_shares + 1)]


def _polynomial(coefficients: list[int], place: int) -> int:
    value = 0
    for coefficient in reversed(coefficients):
        value = (value * place + coefficient) % PRIME
    return value


def join_shares(shares: Mapping[int, bytes]) -> bytes:
    """Return the secret from `threshold` shares by their numbers; raise ValueError if they are of no secret."""
    value = 0
    for number, share in shares.items():
        numerator = denominator = 1
        for other in shares:
            if other != number:
                numerator = numerator * other % PRIME
                denominator = denominator * (other - number) % PRIME
        value += int.from_bytes(share, "big") * numerator * pow(denominator, -1, PRIME)
    value %= PRIME
    if value >= 2 ** (8 * SECRET_BYTES):
        raise ValueError("the shares do not belong together")
    return value.to_bytes(SECRET_BYTES, "big")
