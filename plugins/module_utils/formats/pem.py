"""Certificates in PEM, as far as they can be read without a library, which hosts do not have."""

from __future__ import annotations

import base64
import calendar
import hashlib
import ipaddress
import re
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from .values import canonical, is_address

_CERTIFICATE = re.compile(
    "-----BEGIN (?:X509 )?CERTIFICATE-----(.+?)-----END (?:X509 )?CERTIFICATE-----", re.DOTALL
)
_VERSION, _EXTENSIONS = 0xA0, 0xA3  # tags of fields that may be missing
_UTC_TIME = 0x17  # has two digits of the year
_DNS, _IP = 0x82, 0x87  # of a subjectAltName (RFC 5280, 4.2.1.6)
_ADDRESS_SIZES = (4, 16)
_COMMON_NAME, _ALTERNATIVE_NAMES = bytes.fromhex("550403"), bytes.fromhex("551d11")


@dataclass(frozen=True)
class X509:
    """What a certificate says: whose it is, who has signed it, its key, and its validity."""

    subject: bytes
    """Whose it is."""
    issuer: bytes
    """Who has signed it."""
    key: bytes
    begin: float
    """In seconds since the epoch."""
    end: float
    """In seconds since the epoch."""
    names: tuple[str, ...]
    """Those that a client in Java compares, `DNS:...` and `IP:...`: the common name counts where
    there is no DNS name."""
    der: bytes = field(repr=False)

    def is_of(self, candidates: Iterable[X509]) -> bool:
        """Return whether one of `candidates` has the name of the one that has signed it."""
        issuer = _attributes(self.issuer)
        return any(issuer == _attributes(candidate.subject) for candidate in candidates)

    @property
    def identity(self) -> str:
        """The sha256 of its name and public key; one that was renewed has the same."""
        return hashlib.sha256(self.subject + self.key).hexdigest()


def certificates(text: str) -> list[X509 | None]:
    """Return the certificates of a text in their order, None for one that cannot be read."""
    parsed: list[X509 | None] = []
    for block in _CERTIFICATE.findall(text):
        try:
            parsed.append(_parsed(base64.b64decode(block)))
        except (ValueError, IndexError):
            parsed.append(None)
    return parsed


def readable(text: str) -> list[X509]:
    """Return the certificates of a text without those that cannot be read."""
    return [certificate for certificate in certificates(text) if certificate]


def bodies(text: str) -> list[str]:
    """Return the certificates of a text as they are written in it, without their frames."""
    return [body.strip() for body in _CERTIFICATE.findall(text)]


def decoded(block: str) -> bytes:
    """Return what a block of PEM holds, one element of DER; empty if it cannot be read."""
    # Before an empty line there may be headers (RFC 1421).
    text = re.sub(r"(?m)^.*:.*$", "", block)
    try:
        der = base64.b64decode(text)
        (element,) = _elements(der)
    except (ValueError, IndexError):
        return b""
    return element.whole


def block(kind: str, der: bytes) -> str:
    """Return a block of PEM, as `CERTIFICATE`."""
    return f"-----BEGIN {kind}-----\n{base64.encodebytes(der).decode()}-----END {kind}-----\n"


def identities(text: str) -> list[str]:
    """Return what tells the CAs of a text apart; what cannot be read is left out."""
    return [certificate.identity for certificate in readable(text)]


def same_authority(first_text: str, second_text: str) -> bool:
    """Return whether the first certificates of two texts are of one CA."""
    first = identities(first_text)[:1]
    return bool(first) and first == identities(second_text)[:1]


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


@dataclass(frozen=True)
class _Element:
    """An element of DER (X.690, 8.1)."""

    tag: int
    content: bytes
    """The bytes of its value."""
    whole: bytes
    """Its bytes."""


def _elements(der: bytes) -> Iterator[_Element]:
    """Yield the elements that follow each other.

    Raises:
        ValueError, IndexError: the last one is cut off.

    """
    at = 0
    while at < len(der):
        length, begin = der[at + 1], at + 2
        if length & 0x80:
            size = length & 0x7F
            length = int.from_bytes(der[begin : begin + size], "big")
            begin += size
        end = begin + length
        if end > len(der):
            message = "an element is cut off"
            raise ValueError(message)
        yield _Element(der[at], der[begin:end], der[at:end])
        at = end


def _parsed(der: bytes) -> X509:
    """Return what a certificate says (RFC 5280, 4.1).

    Raises:
        ValueError, IndexError: it is none.

    """
    certificate, *_ = _elements(der)
    to_be_signed, *_ = _elements(certificate.content)
    fields = list(_elements(to_be_signed.content))
    if fields[0].tag == _VERSION:
        del fields[0]
    _, _, issuer, validity, subject, key, *remaining = fields
    begin, end = map(_seconds, _elements(validity.content))
    extensions = [element.content for element in remaining if element.tag == _EXTENSIONS]
    names = _names(extensions[0]) if extensions else []
    common = dict(_attributes(subject.whole)).get(_COMMON_NAME)
    if common and not any(name.startswith("DNS:") for name in names):
        names.append(f"DNS:{common}")
    return X509(subject.whole, issuer.whole, key.whole, begin, end, tuple(names), der)


def _seconds(written: _Element) -> float:
    text = written.content.decode("ascii")
    if written.tag == _UTC_TIME:  # of 1950 to 2049
        text = f"{19 if text >= '5' else 20}{text}"
    return calendar.timegm(time.strptime(text, "%Y%m%d%H%M%SZ"))


def _names(extensions: bytes) -> list[str]:
    """Return the names of subjectAltName that are DNS names or addresses."""
    (outer,) = _elements(extensions)
    entries = (list(_elements(extension.content)) for extension in _elements(outer.content))
    values = [last.content for name, *_, last in entries if name.content == _ALTERNATIVE_NAMES]
    sequences = [element for value in values for element in _elements(value)]
    names = [name for sequence in sequences for name in _elements(sequence.content)]
    return [
        *(f"DNS:{name.content.decode('ascii', 'replace')}" for name in names if name.tag == _DNS),
        *(
            f"IP:{ipaddress.ip_address(name.content)}"
            for name in names
            if name.tag == _IP and len(name.content) in _ADDRESS_SIZES
        ),
    ]


def _attributes(name: bytes) -> list[tuple[bytes, str]]:
    """Return type -> value of a distinguished name, as two are compared: case and blanks aside."""
    attributes = []
    (sequence,) = _elements(name)
    for group in _elements(sequence.content):
        for attribute in _elements(group.content):
            kind, value = _elements(attribute.content)
            text = value.content.decode("utf-8", "replace")
            attributes.append((kind.content, " ".join(text.lower().split())))
    return attributes
