"""A group of sites whose counts are only given away as sums: their public keys, and how many a sum may lack."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from tremula.errors import InvalidInput
from tremula.queries.secure.masks import KEY_BYTES, new_private_key, public_key

LEAST_SITES = 3  # of two sites, each could subtract its own counts from the sum


@dataclass(frozen=True)
class Group:
    """Sites that add up their counts.

    Attributes
    ----------
    keys : tuple of bytes
        Public keys of all sites, sorted.
    missing : int, default=0
        Number of sites whose counts a sum may lack. The difference of two sums over different sites would give away the
        counts of those that one of them lacks, so by default no sum lacks a site.
    """

    keys: tuple[bytes, ...]
    missing: int = 0

    def __post_init__(self) -> None:
        if len(self.keys) < LEAST_SITES:
            raise InvalidInput(
                f"a group needs the keys of at least {LEAST_SITES} sites, {len(self.keys)} were given: of two, each "
                "could subtract its own counts from the sum"
            )
        if len(set(self.keys)) < len(self.keys):
            raise InvalidInput("a key is twice in the group: give the key of each site once")
        n_needed = max(self.threshold, LEAST_SITES)
        if not 0 <= self.missing <= len(self.keys) - n_needed:
            raise InvalidInput(
                f"{self.missing} of {len(self.keys)} sites may be missing, but a sum needs {n_needed}: give a number "
                f"from 0 to {len(self.keys) - n_needed}"
            )

    @property
    def threshold(self) -> int:
        """Number of sites that can remove the masks together: more than half of them."""
        return len(self.keys) // 2 + 1

    def number(self, key: bytes) -> int:
        """Return the number of a site's shares, from 1 on."""
        return self.keys.index(key) + 1


def read_group(file: Path, missing: int = 0) -> Group:
    """Read a file with the public keys of all sites, one a line."""
    keys = [_key_in(line, file) for line in file.read_text(encoding="utf-8").split()]
    return Group(tuple(sorted(keys)), missing)


def read_group_key(file: Path) -> bytes:
    """Read the private key of a site; if there is no such file, draw a key and write it, for its owner alone."""
    if file.exists():
        return _key_in(file.read_text(encoding="utf-8").strip(), file)
    key = new_private_key()
    descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as opened:
        opened.write(key.hex() + "\n")
    return key


def _key_in(text: str, file: Path) -> bytes:
    try:
        key = bytes.fromhex(text)
    except ValueError:
        key = b""
    if len(key) != KEY_BYTES:
        raise InvalidInput(f"{str(file)!r} has a line that is no key of {2 * KEY_BYTES} hexadecimal digits")
    return key


def own_key(group: Group, private: bytes) -> bytes:
    """Return the public key of a site; raise an error if the group does not have it."""
    public = public_key(private)
    if public not in group.keys:
        raise InvalidInput(f"the key of this site, {public.hex()}, is not in its group: add it to the file of keys")
    return public
