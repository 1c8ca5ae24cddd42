"""What a CA of the site hands over: certificates in any number of files, in any order."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ansible.errors import AnsibleActionFail
from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization

MOST_FILES, MOST_BYTES = 10_000, 4 << 20
_BLOCK = re.compile(rb"-----BEGIN CERTIFICATE-----.+?-----END CERTIFICATE-----", re.S)
_PRIVATE, _REQUEST = b"PRIVATE KEY-----", b"-----BEGIN CERTIFICATE REQUEST-----"
_NO_ANSWER = (".json", ".csr")  # what was handed to the CA


@dataclass(frozen=True)
class SignedCertificate:
    """A certificate, and where it was found."""

    where: str
    certificate: x509.Certificate
    public_key: bytes
    is_authority: bool
    pem: str

    @property
    def age(self) -> tuple[float, float]:
        """The later one is the newer certificate."""
        certificate = self.certificate
        return (
            certificate.not_valid_before_utc.timestamp(),
            certificate.not_valid_after_utc.timestamp(),
        )


@dataclass
class Answers:
    """Certificates, the newest first, and what could not be read."""

    certificates: Sequence[SignedCertificate] = ()
    unreadable: Mapping[str, str] = field(default_factory=dict)
    """Where -> why."""
    others: Sequence[str] = ()
    """Files without a certificate in PEM."""

    def of(self, public_key: bytes) -> list[SignedCertificate]:
        """Return the certificates of a key, the newest first."""
        return [answer for answer in self.certificates if answer.public_key == public_key]

    def with_signers(self, answer: SignedCertificate) -> str:
        """Return a certificate, followed by all CAs that were handed over with it."""
        authorities = [other.pem for other in self.certificates if other.is_authority]
        return "".join([answer.pem, *(pem for pem in authorities if pem != answer.pem)])


def read(path: Path) -> Answers:
    """Return the certificates of a file, or of all files below a directory.

    Raises:
        AnsibleActionFail: it cannot be read, or has a private key.

    """
    if not path.exists():
        message = f"{path} is not there: set signed to a directory or a file. Nothing was taken in."
        raise AnsibleActionFail(message)
    try:
        contents = dict(_contents(path))
    except OSError as error:
        message = f"{path} cannot be read: {error}. Nothing was taken in."
        raise AnsibleActionFail(message) from error
    if with_key := [str(file) for file, content in contents.items() if _PRIVATE in content]:
        message = (
            f"{', '.join(with_key)}: there is a private key. A CA signs requests and makes no keys, "
            "and each key stays on the machine that made it: remove the file. Nothing was taken in."
        )
        raise AnsibleActionFail(message)
    certificates: dict[str, SignedCertificate] = {}
    unreadable: dict[str, str] = {}
    others = []
    for file, content in contents.items():
        blocks = _BLOCK.findall(content)
        if not blocks and _REQUEST not in content and file.suffix not in _NO_ANSWER:
            others.append(str(file))
        for number, block in enumerate(blocks, 1):
            where = f"{file} (certificate {number})" if len(blocks) > 1 else str(file)
            try:
                answer = _read(where, block)
            except (ValueError, TypeError, UnsupportedAlgorithm, *_INVALID) as error:
                unreadable[where] = f"it is not a certificate that can be read: {error}"
            else:
                certificates.setdefault(answer.pem, answer)
    newest = sorted(certificates.values(), key=lambda answer: answer.age, reverse=True)
    return Answers(newest, unreadable, others)


_INVALID = (x509.InvalidVersion, x509.DuplicateExtension, x509.UnsupportedGeneralNameType)


def _read(where: str, block: bytes) -> SignedCertificate:
    certificate = x509.load_pem_x509_certificate(block)
    public_key = certificate.public_key().public_bytes(
        serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    try:
        constraints = certificate.extensions.get_extension_for_class(x509.BasicConstraints).value
        is_authority = constraints.ca
    except x509.ExtensionNotFound:
        is_authority = False
    pem = certificate.public_bytes(serialization.Encoding.PEM).decode()
    return SignedCertificate(where, certificate, public_key, is_authority, pem)


def _contents(path: Path) -> Iterator[tuple[Path, bytes]]:
    """Yield each file with its content."""
    for number, file in enumerate(path.rglob("*") if path.is_dir() else [path]):
        if number >= MOST_FILES:
            message = f"{path} has more than {MOST_FILES} files: set signed to what the CA has "
            message += "handed over alone. Nothing was taken in."
            raise AnsibleActionFail(message)
        if file.is_file():
            if file.stat().st_size > MOST_BYTES:
                message = f"{file} has more than {MOST_BYTES >> 20} MiB, and is no file of "
                message += "certificates: remove it. Nothing was taken in."
                raise AnsibleActionFail(message)
            yield file, file.read_bytes()
