"""Keys and masks: what two sites agree on without a third knowing it, and the words that they add to their counts.

Masks are 64-bit words, and all sums are modulo 2^64.
"""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tremula.errors import MissingLibrary

KEY_BYTES = 32
Words = NDArray[np.uint64]


def _cryptography() -> Any:
    try:
        from cryptography.hazmat.primitives import hashes, serialization
        from cryptography.hazmat.primitives.asymmetric import x25519
        from cryptography.hazmat.primitives.ciphers import Cipher, aead, algorithms
        from cryptography.hazmat.primitives.kdf import hkdf
    except ImportError as error:
        raise MissingLibrary("sums of masked counts need cryptography: pip install 'tremula[secure]'") from error
    return hashes, serialization, x25519, Cipher, aead, algorithms, hkdf


def new_private_key() -> bytes:
    """Draw a private key of X25519."""
    _, serialization, x25519, *_ = _cryptography()
    key: bytes = x25519.X25519PrivateKey.generate().private_bytes(
        serialization.Encoding.Raw, serialization.PrivateFormat.Raw, serialization.NoEncryption()
    )
    return key


def public_key(private: bytes) -> bytes:
    """Return the public key that belongs to a private one."""
    _, serialization, x25519, *_ = _cryptography()
    key: bytes = (
        x25519.X25519PrivateKey.from_private_bytes(private)
        .public_key()
        .public_bytes(serialization.Encoding.Raw, serialization.PublicFormat.Raw)
    )
    return key


def agreed_key(private: bytes, public: bytes, purpose: bytes) -> bytes:
    """Return the key that the owners of two key pairs share for a purpose; ValueError if the public key is none."""
    _, _, x25519, *_ = _cryptography()
    secret = x25519.X25519PrivateKey.from_private_bytes(private).exchange(
        x25519.X25519PublicKey.from_public_bytes(public)
    )
    return derived_key(secret, purpose)


def derived_key(secret: bytes, purpose: bytes) -> bytes:
    """Return the key for a purpose from a secret, by HKDF with SHA-256."""
    hashes, *_, hkdf = _cryptography()
    key: bytes = hkdf.HKDF(hashes.SHA256(), KEY_BYTES, None, b"tremula " + purpose).derive(secret)
    return key


def mask_words(key: bytes, n_words: int) -> Words:
    """Return the mask of a key, which is used for nothing else: the key stream of ChaCha20."""
    _, _, _, Cipher, _, algorithms, _ = _cryptography()
    stream = Cipher(algorithms.ChaCha20(key, bytes(16)), mode=None).encryptor().update(bytes(8 * n_words))
    return np.frombuffer(stream, dtype="<u8").astype(np.uint64)


def seal(key: bytes, nonce: bytes, text: bytes, context: bytes) -> bytes:
    """Encrypt a text so that a change to it or to its context is seen."""
    *_, aead, _, _ = _cryptography()
    sealed: bytes = aead.ChaCha20Poly1305(key).encrypt(nonce, text, context)
    return sealed


def unseal(key: bytes, nonce: bytes, sealed: bytes, context: bytes) -> bytes:
    """Return the text; raise ValueError if it or its context was changed."""
    *_, aead, _, _ = _cryptography()
    from cryptography.exceptions import InvalidTag

    try:
        text: bytes = aead.ChaCha20Poly1305(key).decrypt(nonce, sealed, context)
    except InvalidTag as error:
        raise ValueError("the text was changed on its way") from error
    return text


def commitment(secret: bytes) -> bytes:
    """Return a word that binds its owner to a random secret of 32 bytes and does not give it away."""
    return hashlib.sha256(b"tremula commitment " + secret).digest()


def pair_mask(own: bytes, other: bytes, key: bytes, n_words: int) -> Words:
    """Return what the site `own` adds for the site `other`; what the other adds is the negative of it."""
    words = mask_words(key, n_words)
    return words if own < other else np.uint64(0) - words
