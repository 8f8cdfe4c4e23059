"""Arrays as bytes in NumPy's format, and back: an array is made only if its bytes are there, and mean something."""

from __future__ import annotations

import io
import math
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

ARRAY_KINDS = "biufcmMSU"  # what NumPy stores without pickle
MAX_EMPTY = 2**16  # items of an array without bytes
LAST_CHARACTER = 0x10FFFF
MAX_HEADER = 16384  # bytes; NumPy refuses texts of more than 10,000

Header = tuple[tuple[int, ...], bool, np.dtype[Any], int]


def bytes_of(array: NDArray[Any]) -> bytes:
    """Return an array in NumPy's format."""
    entry = io.BytesIO()
    np.lib.format.write_array(entry, array, allow_pickle=False)
    return entry.getvalue()


def array_of(content: bytes, name: str) -> NDArray[Any]:
    """Return the array that bytes hold, row by row in the byte order of this machine; `name` is for messages.

    Examples
    --------
    >>> array_of(bytes_of(np.arange(3)), "numbers")
    array([0, 1, 2])
    """
    shape, in_columns, dtype, n_read = _header_of(content, name)
    check_header(name, shape, dtype, len(content) - n_read)
    array = np.frombuffer(content, dtype, offset=n_read) if dtype.itemsize else np.zeros(math.prod(shape), dtype)
    return plain_copy(array.reshape(shape, order="F" if in_columns else "C"), name)


def plain_copy(array: NDArray[Any], name: str) -> NDArray[Any]:
    """Return a copy row by row in the byte order of this machine, after a look at its items."""
    copied = array.astype(array.dtype.newbyteorder("="), order="C", copy=True)
    _check_items(name, copied)
    return copied


def _header_of(content: bytes, name: str) -> Header:
    """Return the shape, whether columns come first, the dtype, and the number of bytes before the items."""
    version = np.lib.format.read_magic(io.BytesIO(content))
    if version not in ((1, 0), (2, 0)):
        raise ValueError(f"array {name} has version {version} of NumPy's format")
    n_digits = 2 if version == (1, 0) else 4
    n_before = np.lib.format.MAGIC_LEN + n_digits
    n_read = n_before + int.from_bytes(content[np.lib.format.MAGIC_LEN : n_before], "little")
    return _parsed(content[: min(n_read, MAX_HEADER)], n_digits)


@lru_cache(maxsize=256)  # the arrays of many files have the same headers, and each is an expression to be parsed
def _parsed(header: bytes, n_digits: int) -> Header:
    entry = io.BytesIO(header)
    np.lib.format.read_magic(entry)
    read_header = np.lib.format.read_array_header_1_0 if n_digits == 2 else np.lib.format.read_array_header_2_0
    return *read_header(entry), entry.tell()


def check_header(name: str, shape: tuple[int, ...], dtype: np.dtype[Any], n_bytes: int) -> None:
    """Raise ValueError unless the bytes are those of the array, before memory is taken for it."""
    if dtype.kind not in ARRAY_KINDS or dtype.hasobject or dtype.subdtype is not None:
        raise ValueError(f"array {name} has dtype {dtype}")
    n_items = math.prod(shape)
    if min(shape, default=0) < 0 or n_items * dtype.itemsize != n_bytes:
        raise ValueError(f"array {name} of shape {shape} and dtype {dtype} has {n_bytes} bytes")
    if n_bytes == 0 and max(n_items, *shape, 0) > MAX_EMPTY:
        raise ValueError(f"array {name} of shape {shape} is empty")


def _check_items(name: str, array: NDArray[Any]) -> None:
    """Raise ValueError for bytes that are no truth value or no character: other code takes them for granted."""
    if not array.size or not array.dtype.itemsize:
        return
    if array.dtype.kind == "b" and array.view(np.uint8).max() > 1:
        raise ValueError(f"array {name} holds bytes that are neither true nor false")
    if array.dtype.kind == "U":
        characters = np.ascontiguousarray(array).reshape(-1).view(np.uint32)
        if characters.max() > LAST_CHARACTER or np.any((characters >= 0xD800) & (characters < 0xE000)):
            raise ValueError(f"array {name} holds numbers that are no characters")
