"""Certificates in PEM, read by the library `cryptography`: hosts only send what their files hold."""

from __future__ import annotations

import base64
import hashlib
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from ...module_utils.formats import pem

_DAY = 86400
_DER, _KEY = Encoding.DER, PublicFormat.SubjectPublicKeyInfo
_UNREADABLE = (
    ValueError,
    UnsupportedAlgorithm,
    x509.InvalidVersion,
    x509.DuplicateExtension,
    x509.UnsupportedGeneralNameType,
)
_NOT_READ = "one of its certificates cannot be read"
_ORDER = "its certificates are not in order, each followed by the one that has signed it"


@dataclass(frozen=True)
class Read:
    """A certificate that was read."""

    certificate: x509.Certificate
    names: tuple[str, ...] | None
    """Those that a client in Java compares, `DNS:...` and `IP:...`: the common name counts where
    there is no DNS name. None where its extensions cannot be read."""
    identity: str
    """The sha256 of its name and public key; one that was renewed has the same."""

    @property
    def days_left(self) -> float:
        """How many days it is still valid."""
        return _days(self.certificate.not_valid_after_utc.timestamp())

    @property
    def days_to_begin(self) -> float:
        """In how many days it becomes valid."""
        return _days(self.certificate.not_valid_before_utc.timestamp())

    @cached_property
    def subject(self) -> list[tuple[str, str]]:
        """Whose it is, as two names are compared."""
        return _attributes(self.certificate.subject)

    @cached_property
    def issuer(self) -> list[tuple[str, str]]:
        """Who has signed it, as two names are compared."""
        return _attributes(self.certificate.issuer)

    def is_of(self, candidates: Iterable[Read]) -> bool:
        """Return whether one of `candidates` has the name of the one that has signed it."""
        return any(self.issuer == candidate.subject for candidate in candidates)


def certificates(text: str) -> list[Read | None]:
    """Return the certificates of a text in their order, None for one that cannot be read."""
    return [_read(body) for body in pem.bodies(text)]


def readable(text: str) -> list[Read]:
    """Return the certificates of a text without those that cannot be read."""
    return [certificate for certificate in certificates(text) if certificate]


def identities(text: str) -> list[str]:
    """Return the identity of each CA in a text; what cannot be read is left out."""
    return [certificate.identity for certificate in readable(text)]


def identities_of(bodies: Iterable[str]) -> set[str]:
    """Return the same of certificates without their frames, as a host gives them."""
    return {certificate.identity for certificate in map(_read, bodies) if certificate}


def same_authority(first_text: str, second_text: str) -> bool:
    """Return whether the first certificates of two texts are of one CA."""
    first = identities(first_text)[:1]
    return bool(first) and first == identities(second_text)[:1]


def ends_within(bodies: Mapping[str, str], days: float) -> list[str]:
    """Return the paths whose certificate ends within some days; not those that cannot be read."""
    certificates = {path: _read(body) for path, body in bodies.items()}
    return [
        path
        for path, certificate in certificates.items()
        if certificate and certificate.days_left < days
    ]


def store_facts(answer: Mapping[str, Any]) -> dict[str, Any]:
    """Return what `key_stores` says of a store, with what its certificates say in their place.

    The fields are those of the class `Certificate` of the rules.
    """
    result = {key: value for key, value in answer.items() if key not in ("chain", "trusted")}
    if "trusted" not in answer:
        return result | _trust_store_facts(answer.get("chain", ()))
    chain = [_read(body) for body in answer.get("chain", ())]
    present = [certificate for certificate in chain if certificate]
    if len(present) < len(chain):
        return {**result, "wrong": _NOT_READ, "refused": ""}
    if not present:
        return result
    trusted = [certificate for certificate in map(_read, answer["trusted"]) if certificate]
    result |= {"names": present[0].names, **_validity(present, trusted)}
    if not all(certificate.is_of([signer]) for certificate, signer in pairwise(present)):
        result |= {"wrong": _ORDER, "refused": ""}
    return result


def _trust_store_facts(bodies: Sequence[str]) -> dict[str, Any]:
    """Return how long the last of some CAs is valid; Java may read one that this library does not.

    Neither their names nor their keys are read.
    """
    present = [certificate for certificate in map(_loaded, bodies) if certificate]
    if bodies and not present:
        return {"wrong": _NOT_READ, "refused": ""}
    if not bodies or len(present) < len(bodies):
        return {}
    return {"days_left": _days(max(ca.not_valid_after_utc for ca in present).timestamp())}


def _validity(chain: Sequence[Read], trusted: Sequence[Read]) -> dict[str, Any]:
    """Return how long a certificate is valid, and those that follow it up to one that is trusted.

    Where nobody knows which are trusted all that follow count, but for a root.
    """
    trusted_identities = {authority.identity for authority in trusted}
    end = next(
        (n for n, certificate in enumerate(chain, start=1) if certificate.is_of(trusted)),
        len(chain),
    )
    signers = [
        certificate
        for certificate in chain[1:end]
        if certificate.identity not in trusted_identities and not certificate.is_of([certificate])
    ]
    needed = [chain[0], *(signers if trusted else ())]
    return {
        "days_left": chain[0].days_left,
        "days_to_begin": max(certificate.days_to_begin for certificate in needed),
        "chain_days_left": min((certificate.days_left for certificate in signers), default=None),
        "chain_is_needed": bool(trusted),
    }


def _read(body: str) -> Read | None:
    """Return a certificate without its frame, None if it cannot be read."""
    certificate = _loaded(body)
    if certificate is None:
        return None
    try:
        key = certificate.public_key().public_bytes(_DER, _KEY)
        digest = hashlib.sha256(certificate.subject.public_bytes() + key)
        return Read(certificate, _names(certificate), digest.hexdigest())
    except _UNREADABLE:
        return None


def _loaded(body: str) -> x509.Certificate | None:
    try:
        return x509.load_der_x509_certificate(base64.b64decode(body))
    except _UNREADABLE:
        return None


def _names(certificate: x509.Certificate) -> tuple[str, ...] | None:
    try:
        extension = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName)
    except x509.ExtensionNotFound:
        names = []
    except _UNREADABLE:
        return None
    else:
        names = [
            *(f"DNS:{name}" for name in extension.value.get_values_for_type(x509.DNSName)),
            *(f"IP:{address}" for address in extension.value.get_values_for_type(x509.IPAddress)),
        ]
    common = certificate.subject.get_attributes_for_oid(x509.NameOID.COMMON_NAME)
    if common and not any(name.startswith("DNS:") for name in names):
        names.append(f"DNS:{' '.join(str(common[-1].value).lower().split())}")
    return tuple(names)


def _attributes(name: x509.Name) -> list[tuple[str, str]]:
    """Return type -> value of a distinguished name, as two are compared: case and blanks aside."""
    return [
        (attribute.oid.dotted_string, " ".join(str(attribute.value).lower().split()))
        for attribute in name
    ]


def _days(moment: float) -> float:
    """Return how many days from now a moment is, in seconds since the epoch."""
    return (moment - time.time()) / _DAY
