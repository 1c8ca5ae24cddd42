"""Certificates that an outside CA signs: requests for them, and those that have been signed.

They are files of the secrets until a signed certificate is taken in:

    requests/HOST/NAME.csr, .key    a request, and the key that it is for
    signed/HOST/NAME.pem            the certificate, followed by those that signed it
"""

import datetime
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from pathlib import Path

from ansible.errors import AnsibleActionFail

from ..services.kafka.security import Certificate
from .certificates import (
    expires_soon,
    has_key,
    public_key,
    request,
    requests_it,
    signed,
    signed_problem,
)
from .secret_files import REQUESTS, SIGNED, SecretFiles
from .signed_certificates import Answers

CERTIFICATES = "certificates"


@dataclass
class OutsideAuthority:
    """An outside CA, and what became of the certificates that are to be signed by it."""

    files: SecretFiles
    certificate: str = field(repr=False)
    """PEM."""
    users: Collection[str]
    """The names of those that may log in."""
    answers: Answers = field(default_factory=Answers)
    """What it has signed, besides the files of the secrets."""
    new: dict[str, str] = field(default_factory=dict, repr=False)
    """Files by their names."""
    removed: list[str] = field(default_factory=list)
    """The names of files."""
    waiting: list[Certificate] = field(default_factory=list)
    """The certificates without which a node cannot go on."""
    refused: dict[str, str] = field(default_factory=dict)
    """File -> why what was signed is not taken."""
    pending: dict[Certificate, str] = field(default_factory=dict)
    """The certificates that are still to be signed, with their requests."""
    passed_over: dict[str, str] = field(default_factory=dict)
    """Where a certificate is -> why an older one of the same key is taken instead."""
    answered: set[str] = field(default_factory=set)
    """The names of those with an answer that is refused."""
    issued: list[Certificate] = field(default_factory=list)
    """The certificates that were taken in."""
    now: datetime.datetime = field(default_factory=lambda: datetime.datetime.now(datetime.UTC))

    def issue(self, wanted: Certificate, present: str, *, renew: bool) -> str:
        """Return the key and certificate to use now, empty without one; request one if needed.

        A known one that is as wanted stays in use until its successor has been signed.
        """
        problem = self._problem(present, present, wanted)
        soon = renew or (not problem and expires_soon(present, self.now))
        key, made = (self._read(REQUESTS, wanted, end) for end in ("key", "csr"))
        pem = self._read(SIGNED, wanted, "pem")
        if key and has_key(present, key) and not pem:  # of a run that ended while it took it in
            self._remove(wanted)
            key = made = ""
        is_current = requests_it(key, made, wanted)
        if not is_current and (problem or soon):
            key, made = request(wanted)
            is_current = True
            # The request comes last: without it the key is of no use, and both are made anew.
            self.new[_file(REQUESTS, wanted, "key")] = key
            self.new[_file(REQUESTS, wanted, "csr")] = made
        pem = self._answer(key, wanted) or pem
        if pem and not (refusal := self._refusal(pem, key, wanted)):
            issued = signed(pem, key, self.certificate)
            self.new[_file(CERTIFICATES, wanted, "pem")] = issued
            self._remove(wanted)
            self.issued.append(wanted)
            return issued
        if is_current:
            self.pending[wanted] = made
        if pem:
            self.refused[str(self.files.directory / _file(SIGNED, wanted, "pem"))] = refusal
        elif problem:
            self.waiting.append(wanted)
        return present

    def refuse(self, *, stored: bool) -> None:
        """End the run if a certificate is missing, or was not signed as requested.

        Raises:
            AnsibleActionFail: names all of them, and what to do.

        """
        lines = []
        if self.refused:
            lines.append("Certificates that were signed cannot be taken in:")
            lines += [f"- {path}: {why}" for path, why in self.refused.items()]
            lines.append(
                "Replace each by one that is signed from its request as it is now, or delete it."
            )
        if self.waiting:
            lines.append(
                "Certificates are missing, since kafka_ca_certificate is set without "
                "kafka_ca_key: its CA must sign these requests"
                + ("" if stored else ", which a run without --check writes")
                + ":"
            )
            lines += [_line(self.files.directory, certificate) for certificate in self.waiting]
            lines.append(
                "Put each certificate, followed by those that signed it, into its file, or give "
                "all of them to certificate_requests.yml -e signed=DIRECTORY, and run site.yml "
                "again."
            )
        if lines:
            raise AnsibleActionFail("\n".join(["No host was touched.", *lines]))

    def _answer(self, key: str, wanted: Certificate) -> str:
        """Return the newest of the answers that can be taken, with those that signed it."""
        refused: dict[str, str] = {}
        for answer in self.answers.of(public_key(key)) if key else ():
            pem = self.answers.with_signers(answer)
            refusal = self._refusal(pem, key, wanted)
            if answer.is_authority:
                refusal = "it is that of a CA, and a host must not be one"
            if not refusal:
                self.passed_over |= refused
                return pem
            refused[answer.where] = f"for {wanted.name}: {refusal}"
        self.refused |= refused
        if refused:
            self.answered.add(wanted.name)
        return ""

    def _refusal(self, pem: str, key: str, certificate: Certificate) -> str:
        if not key:
            return (
                "there is no request for it, "
                f"{self.files.directory / _file(REQUESTS, certificate, 'csr')}"
            )
        return self._problem(pem, key, certificate)

    def _problem(self, pem: str, key: str, certificate: Certificate) -> str:
        return signed_problem(pem, key, certificate, self.certificate, self.now, self.users)

    def _remove(self, certificate: Certificate) -> None:
        # What was signed goes first, so that a run that ends here does not miss its key.
        self.removed.append(_file(SIGNED, certificate, "pem"))
        self.removed += [_file(REQUESTS, certificate, end) for end in ("csr", "key")]

    def _read(self, folder: str, certificate: Certificate, end: str) -> str:
        return self.files.read(_file(folder, certificate, end))


def pending(directory: Path, certificates: Iterable[Certificate]) -> list[str]:
    """Return a line for each request that waits to be signed."""
    waiting = [
        certificate
        for certificate in certificates
        if (directory / _file(REQUESTS, certificate, "csr")).is_file()
    ]
    return [_line(directory, certificate) for certificate in waiting]


def _line(directory: Path, certificate: Certificate) -> str:
    request_file = directory / _file(REQUESTS, certificate, "csr")
    return f"- {request_file} -> {directory / _file(SIGNED, certificate, 'pem')}"


def _file(folder: str, certificate: Certificate, end: str) -> str:
    return f"{folder}/{certificate.name}.{end}"
