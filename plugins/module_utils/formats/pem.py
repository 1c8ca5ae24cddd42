"""PEM: its blocks, and how names of certificates are compared.

What certificates say is read on the control node, by a library that hosts do not have.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable

from .values import canonical, is_address

_CERTIFICATE = re.compile(
    # Never over the frame of another block, which may be a key.
    "-----BEGIN (?:X509 )?CERTIFICATE-----((?:(?!-----).)+?)-----END (?:X509 )?CERTIFICATE-----",
    re.DOTALL,
)


def bodies(text: str) -> list[str]:
    """Return the certificates of a text as they are written in it, without their frames."""
    return [body.strip() for body in _CERTIFICATE.findall(text)]


def decoded(block: str) -> bytes:
    """Return what a block of PEM holds; empty if it cannot be read, or was cut."""
    # Before an empty line there may be headers (RFC 1421).
    text = re.sub(r"(?m)^.*:.*$", "", block)
    try:
        der = base64.b64decode(text)
    except ValueError:
        return b""
    return der if _is_whole(der) else b""


def _is_whole(der: bytes) -> bool:
    """Return whether bytes are as long as they say, in DER after their first one (X.690, 8.1.3)."""
    size = der[1] & 0x7F if len(der) > 1 and der[1] & 0x80 else 0
    length = int.from_bytes(der[2 : 2 + size] if size else der[1:2], "big")
    return len(der) == 2 + size + length


def block(kind: str, der: bytes) -> str:
    """Return a block of PEM, as `CERTIFICATE`."""
    return f"-----BEGIN {kind}-----\n{base64.encodebytes(der).decode()}-----END {kind}-----\n"


def is_for(names: Iterable[str], host: str) -> bool:
    """Return whether a certificate with these names is one of a host's name or address.

    An address is compared with addresses alone; a name without case and label by label, in which
    `*` is any text (sun.security.util.HostnameChecker).
    """
    expected = canonical(host)
    if is_address(expected):
        return f"IP:{expected}" in names
    patterns = (name.partition(":")[2].lower() for name in names if name.startswith("DNS:"))
    return any(_matches(pattern.split("."), expected.split(".")) for pattern in patterns)


def _matches(pattern: list[str], labels: list[str]) -> bool:
    expressions = [re.escape(label).replace(r"\*", ".*") for label in pattern]
    is_as_long = len(pattern) == len(labels)
    return is_as_long and all(map(re.fullmatch, expressions, labels))
