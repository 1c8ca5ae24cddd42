"""Hashes of the passwords of users that only the console has: scrypt (RFC 7914)."""

from __future__ import annotations

import base64
import binascii
import getpass
import hashlib
import hmac
import os

_N, _R, _P = 2**14, 8, 5
_MEMORY = 128 * _N * _R * 2
_SALT_BYTES = 16


def hashed(password: str, salt: bytes | None = None) -> str:
    """Return a password's hash with its parameters, as the settings have it."""
    salt = salt if salt is not None else os.urandom(_SALT_BYTES)
    values = (salt, _scrypt(password, salt, _N, _R, _P))
    return ":".join(["scrypt", str(_N), str(_R), str(_P), *map(_text, values)])


def matches(password: str, stored: str) -> bool:
    """Return whether a password has this hash; false for a hash that is none."""
    kind, *fields = stored.split(":")
    try:
        n, r, p = map(int, fields[:3])
        salt, expected = (base64.b64decode(field, validate=True) for field in fields[3:])
        computed = _scrypt(password, salt, n, r, p)
    except (ValueError, binascii.Error, MemoryError):
        return False
    return kind == "scrypt" and hmac.compare_digest(computed, expected)


def _scrypt(password: str, salt: bytes, n: int, r: int, p: int) -> bytes:
    return hashlib.scrypt(password.encode(), salt=salt, n=n, r=r, p=p, maxmem=_MEMORY, dklen=32)


def _text(value: bytes) -> str:
    return base64.b64encode(value).decode()


if __name__ == "__main__":
    print(hashed(getpass.getpass("Password: ")))  # noqa: T201 - for console_users
