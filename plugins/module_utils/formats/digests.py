"""Digests by which secrets are compared."""

from __future__ import annotations

import hashlib


def secret_digest(secret: str) -> str:
    """Return what tells whether two secrets are the same; slow, since others may see it."""
    return hashlib.pbkdf2_hmac("sha256", secret.encode(), b"millrace", 100_000).hex()
