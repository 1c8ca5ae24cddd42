"""Keys and certificates of a cluster, made on the control node: its CA's and those of its nodes."""

import datetime
import ipaddress
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field

from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed448, ed25519, rsa
from cryptography.hazmat.primitives.asymmetric.types import CertificateIssuerPrivateKeyTypes
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from ...module_utils.formats.pem import is_for
from ...module_utils.formats.values import is_address
from ..services.kafka.security import ADMIN, NODES, Certificate

AUTHORITY_DAYS, LEAF_DAYS = 3650, 397
RENEWED_DAYS = 30
"""How long before its end a certificate is replaced."""
LAST_DAYS = 2
"""How long before its end a certificate is no longer good enough to wait for its successor."""
LOCAL = "localhost"
"""A name that an outside CA may leave out: only clients on the host itself use it."""
_EDDSA = (ed25519.Ed25519PrivateKey, ed448.Ed448PrivateKey)  # which have a digest of their own
_LEAST_RSA_BITS = 1024  # of Java (jdk.certpath.disabledAlgorithms)
_EARLIER = datetime.timedelta(hours=1)  # for a host whose clock is behind


class CertificateError(Exception):
    """A key or a certificate cannot be used; the text says why."""


@dataclass(frozen=True)
class Authority:
    """A CA: its certificate and its private key, both PEM."""

    certificate: str
    """Followed by those that signed it."""
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
            key = serialization.load_pem_private_key(self.key.encode(), password=None)
        except (ValueError, TypeError, UnsupportedAlgorithm) as error:
            message = "the key of the authority cannot be read; it must be PEM and not encrypted"
            raise CertificateError(message) from error
        if _public(key.public_key()) != _public(self.issuer.public_key()):
            message = "the key of the authority is not the key of its certificate"
            raise CertificateError(message)
        return key  # type: ignore[return-value]  # a key that cannot sign fails when it signs


def authority_problem(authority: Authority, now: datetime.datetime) -> str:
    """Return why a CA cannot be used, empty if it can; one without a key signs elsewhere."""
    if "PRIVATE KEY" in authority.certificate:
        return "kafka_ca_certificate contains a private key, which every node would get"
    try:
        issuer = authority.issuer
        if authority.key:
            authority.private_key()
    except CertificateError as error:
        return str(error)
    if issuer.not_valid_before_utc > now:
        return f"its certificate is not valid before {issuer.not_valid_before_utc:%Y-%m-%d}"
    if days_left(issuer, now) < LAST_DAYS:
        return f"its certificate expires within {LAST_DAYS} days, on {issuer.not_valid_after_utc}"
    public = issuer.public_key()
    if isinstance(public, rsa.RSAPublicKey) and public.key_size < _LEAST_RSA_BITS:
        return f"its key has {public.key_size} bits, and Java refuses fewer than {_LEAST_RSA_BITS}"
    first, *signers = _parse(authority.certificate)
    if _is_below_its_limit(_chain([first], signers)):
        return "a CA that signed its certificate allows no CA below it (pathlen)"
    try:
        constraints = issuer.extensions.get_extension_for_class(x509.BasicConstraints).value
    except x509.ExtensionNotFound:
        return ""  # X.509 version 1
    return "" if constraints.ca else "its certificate is not that of a CA"


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


def issue(authority: Authority, desired: Certificate) -> str:
    """Return a new key, its certificate and those that signed it, as one PEM text.

    Raises:
        CertificateError: the authority's key or certificate cannot be used.

    """
    try:
        return _issue(authority, desired)
    except (ValueError, TypeError) as error:  # a name that is too long, a key that does not sign so
        message = f"no certificate can be made for {desired.name}: {error}"
        raise CertificateError(message) from error


def _issue(authority: Authority, desired: Certificate) -> str:
    key, issuer = ec.generate_private_key(ec.SECP256R1()), authority.issuer
    builder = _builder(_name(desired.common_name), issuer.subject, key.public_key(), LEAF_DAYS)
    identifier = x509.AuthorityKeyIdentifier.from_issuer_public_key(_key_of(issuer))
    for extension, critical in (*_extensions(desired), (identifier, False)):
        builder = builder.add_extension(extension, critical)
    signer = authority.private_key()
    certificate = builder.sign(signer, None if isinstance(signer, _EDDSA) else hashes.SHA256())
    return f"{_key_pem(key)}{_pem(certificate)}{authority.certificate}"


def _extensions(desired: Certificate) -> list[tuple[x509.ExtensionType, bool]]:
    """Return what a certificate, or a request for it, is for, and which of it is critical."""
    return [
        (x509.BasicConstraints(ca=False, path_length=None), True),
        (_usage(signs_certificates=False), True),
        (x509.ExtendedKeyUsage(_purposes(desired)), False),
        (x509.SubjectAlternativeName(_general(desired.names)), False),
    ]


def _general(names: Iterable[str]) -> list[x509.GeneralName]:
    return [
        x509.IPAddress(ipaddress.ip_address(name)) if is_address(name) else x509.DNSName(name)
        for name in names
    ]


def _purposes(desired: Certificate) -> list[x509.ObjectIdentifier]:
    server, client = ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH
    return [server, client] if desired.client else [server]


def request(desired: Certificate) -> tuple[str, str]:
    """Return a new key, and the request for its certificate (PKCS #10) by an outside CA; both PEM.

    Raises:
        CertificateError: no certificate can have such names.

    """
    key = ec.generate_private_key(ec.SECP256R1())
    try:
        builder = x509.CertificateSigningRequestBuilder(_name(desired.common_name))
        for extension, critical in _extensions(desired):
            builder = builder.add_extension(extension, critical)
        made = builder.sign(key, hashes.SHA256())
    except (ValueError, TypeError) as error:
        message = f"no certificate can be requested for {desired.name}: {error}"
        raise CertificateError(message) from error
    return _key_pem(key), made.public_bytes(serialization.Encoding.PEM).decode()


def requests_it(key: str, made: str, desired: Certificate) -> bool:
    """Return whether a key and its request are for a certificate as it is wanted now."""
    try:
        signing_request = x509.load_pem_x509_csr(made.encode())
        private = serialization.load_pem_private_key(key.encode(), password=None)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        return False
    same_key = _public(private.public_key()) == _public(signing_request.public_key())
    same_names = _names(signing_request) == {
        *_general(desired.names)
    } and signing_request.subject == _name(desired.common_name)
    return same_key and same_names


def has_key(pem: str, key: str) -> bool:
    """Return whether the first certificate of a text is one of a private key."""
    try:
        private = serialization.load_pem_private_key(key.encode(), password=None)
        return _public(private.public_key()) == _public(_parse(pem)[0].public_key())
    except (ValueError, TypeError, CertificateError, UnsupportedAlgorithm):
        return False


def public_key(text: str) -> bytes:
    """Return the public key of a private one, or of a certificate; empty if it cannot be read."""
    try:
        if "PRIVATE KEY-----" in text:
            return _public(
                serialization.load_pem_private_key(text.encode(), password=None).public_key()
            )
        return _public(_parse(text)[0].public_key())
    except (ValueError, TypeError, CertificateError, UnsupportedAlgorithm):
        return b""


def purposes(desired: Certificate) -> list[str]:
    """Return the extended key usage that a certificate is to have, as openssl names it."""
    return [_purpose_name(purpose) for purpose in _purposes(desired)]


def with_chain(pem: str, authority: str) -> str:
    """Return a key and its certificate with the certificates of the CA that follow it as they are.

    They change where a CA's certificate is renewed with the same key.
    """
    leaf, *chain = _parse(pem)
    if chain == _parse(authority):
        return pem
    return f"{_key_part(pem)}{_pem(leaf)}{authority}"


def signed(pem: str, key: str, authority: str) -> str:
    """Return a key, the certificate that an outside CA has signed, and those that signed it.

    Raises:
        CertificateError: it cannot be read.

    """
    chain = _chain(_parse(pem), _parse(authority))
    return f"{_key_part(key)}{''.join(map(_pem, chain))}"


def signed_problem(
    pem: str,
    key: str,
    wanted: Certificate,
    authority: str,
    now: datetime.datetime,
    users: Collection[str] = (NODES, ADMIN),
) -> str:
    """Return why nodes and clients would not take what an outside CA has signed, empty if they do.

    `pem` is the certificate, followed by those that signed it up to one of `authority`; `users` are
    the names of those who may log in, which no certificate of a server may have.
    """
    try:
        certificates, anchors = _parse(pem), _parse(authority)
    except CertificateError:
        return "it is not a certificate in PEM"
    chain = _chain(certificates, anchors)
    leaf = certificates[0]
    alternatives = [_text(name) for name in _names(leaf)]
    names = sorted(
        name for name in wanted.names if name != LOCAL and not is_for(alternatives, name)
    )
    principal = leaf.subject.rfc4514_string()
    missing = [purpose for purpose in _purposes(wanted) if purpose not in _purposes_of(leaf)]
    problems = {
        "it is for another key": not has_key(pem, key),
        "kafka_ca_certificate has not signed it, nor a certificate that follows it": not chain,
        "its chain is longer than the pathlen of a CA in it allows": (
            _is_below_its_limit(chain[1:])
        ),
        f"it lacks {', '.join(map(_described, names))} among its alternative names": bool(names),
        f"it is for {principal}, and must be for CN={wanted.common_name}": (
            wanted.client and not _is_for(principal, wanted.common_name)
        ),
        f"it is for {principal}, with which its owner would be a node or a user": (
            not wanted.client
            and any(_is_for(principal, user) for user in users if user != wanted.common_name)
        ),
        f"it lacks the extended key usage {', '.join(_purpose_name(usage) for usage in missing)}": (
            bool(missing)
        ),
        "it is not valid yet": any(certificate.not_valid_before_utc > now for certificate in chain),
        f"it, or one that signed it, ends within {LAST_DAYS} days": any(
            days_left(certificate, now) < LAST_DAYS for certificate in chain
        ),
    }
    return next((problem for problem, is_one in problems.items() if is_one), "")


def expires_soon(pem: str, now: datetime.datetime) -> bool:
    """Return whether the first certificate of a text is to be replaced.

    Raises:
        CertificateError: it cannot be read.

    """
    return days_left(_parse(pem)[0], now) < RENEWED_DAYS


def days_left(certificate: x509.Certificate, now: datetime.datetime) -> float:
    """Return how long a certificate is valid."""
    return (certificate.not_valid_after_utc - now) / datetime.timedelta(days=1)


def _chain(
    certificates: Sequence[x509.Certificate], anchors: Sequence[x509.Certificate]
) -> list[x509.Certificate]:
    """Return a certificate and those that signed it in order, none without one that is trusted."""
    chain, candidates = [certificates[0]], [*anchors, *certificates[1:]]
    while issuer := next(
        (
            candidate
            for candidate in candidates
            if candidate not in chain and _signed(chain[-1], candidate)
        ),
        None,
    ):
        chain.append(issuer)
    return chain if any(certificate in anchors for certificate in chain[1:]) else []


def _signed(certificate: x509.Certificate, issuer: x509.Certificate) -> bool:
    try:
        certificate.verify_directly_issued_by(issuer)
        return issuer.extensions.get_extension_for_class(x509.BasicConstraints).value.ca
    except (ValueError, TypeError, InvalidSignature, x509.ExtensionNotFound):
        return False


def _is_below_its_limit(authorities: Sequence[x509.Certificate]) -> bool:
    """Return whether one of some CAs, each signed by the next, has more below it than it allows."""
    for number, authority in enumerate(authorities):
        try:
            limit = authority.extensions.get_extension_for_class(
                x509.BasicConstraints
            ).value.path_length
        except x509.ExtensionNotFound:
            continue
        below = sum(lower.subject != lower.issuer for lower in authorities[:number])
        if limit is not None and below > limit:
            return True
    return False


def _described(name: str) -> str:
    return f"the {'IP address' if is_address(name) else 'DNS name'} {name}"


def _is_for(principal: str, name: str) -> bool:
    """Return whether Kafka takes a certificate's name for a common name, as it is mapped there."""
    return f"{principal},".startswith(f"{_name(name).rfc4514_string()},")


def _purposes_of(certificate: x509.Certificate) -> list[x509.ObjectIdentifier]:
    """Return the extended key usage; a certificate without one is for everything."""
    try:
        usage = certificate.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
    except x509.ExtensionNotFound:
        return [ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH]
    return list(usage)


def _purpose_name(purpose: x509.ObjectIdentifier) -> str:
    return "clientAuth" if purpose == ExtendedKeyUsageOID.CLIENT_AUTH else "serverAuth"


def _key_part(pem: str) -> str:
    """Return what stands before the certificates of a text: the key."""
    return pem.partition("-----BEGIN CERTIFICATE-----")[0]


def renewal_reason(pem: str, desired: Certificate, authority: str, now: datetime.datetime) -> str:
    """Return why a key and its certificate must be replaced, empty if they are as wanted.

    `authority` is the PEM of the one that must have signed it.
    """
    try:
        leaf, (issuer, *_) = _parse(pem)[0], _parse(authority)
        key = serialization.load_pem_private_key(pem.encode(), password=None)
        leaf.verify_directly_issued_by(issuer)
    except (ValueError, TypeError, CertificateError, UnsupportedAlgorithm):
        return "it cannot be read, or another authority has signed it"
    except InvalidSignature:
        return "another authority has signed it"
    if _public(key.public_key()) != _public(leaf.public_key()):
        return "its key is another certificate's"
    if days_left(leaf, now) < RENEWED_DAYS:
        return "it expires soon"
    if leaf.subject != _name(desired.common_name) or _names(leaf) != {*_general(desired.names)}:
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


def _names(certificate: x509.Certificate | x509.CertificateSigningRequest) -> set[x509.GeneralName]:
    try:
        names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return set()
    return {*names}


def _text(name: x509.GeneralName) -> str:
    """Return a name as `pem.is_for` compares it."""
    return f"{'IP' if isinstance(name, x509.IPAddress) else 'DNS'}:{name.value}"


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
