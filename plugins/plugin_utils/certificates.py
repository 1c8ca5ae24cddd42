"""Keys and certificates of a cluster, made on the control node: its CA's and those of its nodes."""

from __future__ import annotations

import datetime
import ipaddress
from collections.abc import Sequence
from dataclasses import dataclass, field

from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.types import CertificateIssuerPrivateKeyTypes
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from ..module_utils.model.security import Certificate, is_address

AUTHORITY_DAYS, LEAF_DAYS = 3650, 397
RENEWED_DAYS = 30
"""How long before its end a certificate is replaced."""
_EARLIER = datetime.timedelta(hours=1)  # for a host whose clock is behind


class CertificateError(Exception):
    """A key or a certificate cannot be used; the text says why."""


@dataclass(frozen=True)
class Authority:
    """A CA: its certificate (followed by those that signed it) and its private key, both PEM."""

    certificate: str
    key: str = field(repr=False)

    @property
    def issuer(self) -> x509.Certificate:
        """The certificate that signs.

        Raises:
            CertificateError: it cannot be read.

        """
        return _parse(self.certificate)[0]

    def private_key(self) -> CertificateIssuerPrivateKeyTypes:
        """Return the key.

        Raises:
            CertificateError: it cannot be read, or is not the certificate's.

        """
        try:
            found = serialization.load_pem_private_key(self.key.encode(), password=None)
        except (ValueError, TypeError, UnsupportedAlgorithm) as error:
            message = "the key of the authority cannot be read; it must be PEM and not encrypted"
            raise CertificateError(message) from error
        if _public(found.public_key()) != _public(self.issuer.public_key()):
            message = "the key of the authority is not the key of its certificate"
            raise CertificateError(message)
        return found  # type: ignore[return-value]  # a key that cannot sign fails when it signs


def new_authority(name: str) -> Authority:
    """Return a new authority that signs leaves only."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = _name(name)
    builder = _builder(subject, subject, key.public_key(), AUTHORITY_DAYS)
    builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
    builder = builder.add_extension(
        x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False
    )
    usage = _usage(signs_certificates=True)
    certificate = builder.add_extension(usage, critical=True).sign(key, hashes.SHA256())
    return Authority(_pem(certificate), _key_pem(key))


def issue(authority: Authority, wanted: Certificate) -> str:
    """Return a new key, its certificate and those that signed it, as one PEM text.

    Raises:
        CertificateError: the authority's key or certificate cannot be used.

    """
    try:
        return _issue(authority, wanted)
    except (ValueError, TypeError) as error:  # a name that is too long, a key that does not sign so
        message = f"no certificate can be made for {wanted.name}: {error}"
        raise CertificateError(message) from error


def _issue(authority: Authority, wanted: Certificate) -> str:
    key, issuer = ec.generate_private_key(ec.SECP256R1()), authority.issuer
    names: list[x509.GeneralName] = [
        x509.IPAddress(ipaddress.ip_address(one)) if is_address(one) else x509.DNSName(one)
        for one in wanted.names
    ]
    purposes = [ExtendedKeyUsageOID.SERVER_AUTH]
    purposes += [ExtendedKeyUsageOID.CLIENT_AUTH] if wanted.client else []
    builder = _builder(_name(wanted.common_name), issuer.subject, key.public_key(), LEAF_DAYS)
    for extension, critical in (
        (x509.BasicConstraints(ca=False, path_length=None), True),
        (_usage(signs_certificates=False), True),
        (x509.ExtendedKeyUsage(purposes), False),
        (x509.SubjectAlternativeName(names), False),
        (x509.AuthorityKeyIdentifier.from_issuer_public_key(_key_of(issuer)), False),
    ):
        builder = builder.add_extension(extension, critical)
    certificate = builder.sign(authority.private_key(), hashes.SHA256())
    return f"{_key_pem(key)}{_pem(certificate)}{authority.certificate}"


def renewal_reason(pem: str, wanted: Certificate, authority: str, now: datetime.datetime) -> str:
    """Return why a key and its certificate must be replaced, empty if they are as wanted.

    `authority` is the PEM of the one that must have signed it.
    """
    try:
        found, (issuer, *_) = _parse(pem)[0], _parse(authority)
        key = serialization.load_pem_private_key(pem.encode(), password=None)
        found.verify_directly_issued_by(issuer)
    except (ValueError, TypeError, CertificateError, UnsupportedAlgorithm):
        return "it cannot be read, or another authority has signed it"
    except InvalidSignature:
        return "another authority has signed it"
    if _public(key.public_key()) != _public(found.public_key()):
        return "its key is another certificate's"
    if found.not_valid_after_utc - now < datetime.timedelta(days=RENEWED_DAYS):
        return "it expires soon"
    if found.subject != _name(wanted.common_name) or _names(found) != {*wanted.names}:
        return "it is for other names"
    return ""


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey, days: int
) -> x509.CertificateBuilder:
    begin = datetime.datetime.now(datetime.UTC) - _EARLIER
    return x509.CertificateBuilder(
        issuer,
        subject,
        key,
        x509.random_serial_number(),
        begin,
        begin + datetime.timedelta(days=days),
    )


def _usage(*, signs_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not signs_certificates,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        encipher_only=False,
        decipher_only=False,
    )


def _name(common_name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common_name)])


def _names(certificate: x509.Certificate) -> set[str]:
    try:
        found = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return set()
    return {str(one.value) for one in found}


def _parse(pem: str) -> Sequence[x509.Certificate]:
    try:
        return x509.load_pem_x509_certificates(pem.encode())
    except ValueError as error:
        message = "the certificate cannot be read; it must be PEM"
        raise CertificateError(message) from error


def _key_of(certificate: x509.Certificate) -> ec.EllipticCurvePublicKey:
    return certificate.public_key()  # type: ignore[return-value]  # every kind of key has its identifier


def _public(key: object) -> bytes:
    encoded: bytes = key.public_bytes(  # type: ignore[attr-defined]  # every kind of key has it
        serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    return encoded


def _pem(certificate: x509.Certificate) -> str:
    return certificate.public_bytes(serialization.Encoding.PEM).decode()


def _key_pem(key: ec.EllipticCurvePrivateKey) -> str:
    # PKCS #8 and not encrypted, the only form that Kafka's PEM stores take without a password.
    return key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    ).decode()
