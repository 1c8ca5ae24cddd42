"""Certificates in PEM, as far as hosts without a library for them can tell one CA from another."""

from __future__ import annotations

import base64
import hashlib
import re

_CERTIFICATE = re.compile("-----BEGIN CERTIFICATE-----(.+?)-----END CERTIFICATE-----", re.DOTALL)
_VERSION = 0xA0  # the tag of the only field before the subject that may be missing
_BEFORE_SUBJECT = 4  # serial number, algorithm, issuer, validity


def identities(text: str) -> list[str]:
    """Return what tells the CAs of a text apart: the sha256 of the name and public key of each.

    A certificate that was renewed with the same key has the same one. What cannot be read is left
    out.
    """
    found = []
    for block in _CERTIFICATE.findall(text):
        try:
            found.append(hashlib.sha256(_name_and_key(base64.b64decode(block))).hexdigest())
        except (ValueError, IndexError):
            continue
    return found


def same_authority(one: str, other: str) -> bool:
    """Return whether the first certificates of two texts are of one CA."""
    first = identities(one)[:1]
    return bool(first) and first == identities(other)[:1]


def _name_and_key(der: bytes) -> bytes:
    """Return the fields subject and subjectPublicKeyInfo, which follow each other (RFC 5280, 4.1).

    Raises:
        ValueError, IndexError: it is no certificate.

    """
    certificate, _ = _content(der, 0)
    at, _ = _content(der, certificate)
    if der[at] == _VERSION:
        _, at = _content(der, at)
    for _ in range(_BEFORE_SUBJECT):
        _, at = _content(der, at)
    subject = at
    for _ in range(2):
        _, at = _content(der, at)
    if at > len(der):
        message = "the certificate is incomplete"
        raise ValueError(message)
    return der[subject:at]


def _content(der: bytes, at: int) -> tuple[int, int]:
    """Return where the content of an element begins, and where it ends (X.690, 8.1.3)."""
    length, begin = der[at + 1], at + 2
    if length & 0x80:
        size = length & 0x7F
        length = int.from_bytes(der[begin : begin + size], "big")
        begin += size
    return begin, begin + length
