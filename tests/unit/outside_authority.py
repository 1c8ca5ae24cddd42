"""A CA outside Millrace, which signs requests as it likes."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from dataclasses import dataclass

from ansible_collections.millrace.streaming.plugins.plugin_utils.secrets.certificates import (
    Authority,
)
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

SERVER, CLIENT = ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH
NOW = datetime.datetime.now(datetime.UTC)


def pem(*certificates: x509.Certificate) -> str:
    encoding = serialization.Encoding.PEM
    return "".join(certificate.public_bytes(encoding).decode() for certificate in certificates)


@dataclass(frozen=True)
class OutsideCa:
    """Its certificate, its key, and the CA that has signed it."""

    certificate: x509.Certificate
    key: ec.EllipticCurvePrivateKey
    parent: OutsideCa | None = None

    @classmethod
    def new(
        cls,
        name: str,
        parent: OutsideCa | None = None,
        *,
        days: float = 900,
        below: int | None = None,
    ) -> OutsideCa:
        """Make one, below another one if there is a parent; `below` is how many CAs it allows."""
        key = ec.generate_private_key(ec.SECP256R1())
        return cls(_certificate(name, key, parent, days, below), key, parent)

    def renewed(self, days: float = 2000) -> OutsideCa:
        """Return it with another certificate for the same name and key."""
        name = self.certificate.subject.rfc4514_string().removeprefix("CN=")
        return OutsideCa(_certificate(name, self.key, self.parent, days), self.key, self.parent)

    @property
    def given(self) -> Authority:
        """It as an inventory sets it when it signs by requests."""
        return Authority(pem(self.certificate), "")

    @property
    def with_key(self) -> Authority:
        """It as an inventory sets it when Millrace signs with it."""
        key = self.key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
        return Authority(pem(self.certificate), key.decode())

    def sign_ca(self, issued: OutsideCa, *, days: float = -1) -> x509.Certificate:
        """Return a certificate of this CA for the name and key of another one."""
        name = issued.certificate.subject.rfc4514_string().removeprefix("CN=")
        return _certificate(name, issued.key, self, days)

    def sign(
        self,
        request: str,
        *,
        name: str = "",
        names: Sequence[str] | None = None,
        purposes: Sequence[x509.ObjectIdentifier] | None = None,
        begin: float = -1,
        days: float = 90,
    ) -> str:
        """Sign a request as it is, but for what is given; return the certificate alone."""
        csr = x509.load_pem_x509_csr(request.encode())
        assert csr.is_signature_valid
        subject = x509.Name.from_rfc4514_string(name) if name else csr.subject
        builder = x509.CertificateBuilder(
            self.certificate.subject,
            subject,
            csr.public_key(),
            x509.random_serial_number(),
            NOW + datetime.timedelta(days=begin),
            NOW + datetime.timedelta(days=days),
        )
        for extension in csr.extensions:
            value = extension.value
            if isinstance(value, x509.SubjectAlternativeName) and names is not None:
                value = x509.SubjectAlternativeName([x509.DNSName(name) for name in names])
            if isinstance(value, x509.ExtendedKeyUsage) and purposes is not None:
                if not purposes:
                    continue
                value = x509.ExtendedKeyUsage(purposes)
            builder = builder.add_extension(value, extension.critical)
        return pem(builder.sign(self.key, hashes.SHA256()))


def _certificate(
    name: str,
    key: ec.EllipticCurvePrivateKey,
    parent: OutsideCa | None,
    days: float,
    below: int | None = None,
) -> x509.Certificate:
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    builder = x509.CertificateBuilder(
        parent.certificate.subject if parent else subject,
        subject,
        key.public_key(),
        x509.random_serial_number(),
        NOW - datetime.timedelta(days=max(1, 1 - days)),
        NOW + datetime.timedelta(days=days),
    )
    constraints = x509.BasicConstraints(ca=True, path_length=below)
    builder = builder.add_extension(constraints, critical=True)
    return builder.sign(parent.key if parent else key, hashes.SHA256())
