"""Whether Kafka can use a key, its certificate and the CAs that it trusts, all of them PEM.

Nothing is started for it: Python's ssl module loads the key, and does a handshake with itself.
"""

from __future__ import annotations

import re
import ssl
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ..formats import pem
from . import paths
from .certificate_expiry import shake_hands

_KEY = re.compile(
    "-----BEGIN ([A-Z0-9 ]*)PRIVATE KEY-----(.+?)-----END [A-Z0-9 ]*PRIVATE KEY-----", re.DOTALL
)
_NO_CERTIFICATE = "it has no certificate in PEM"
_ENCRYPTED = "ENCRYPTED "
# The encryption that every OpenSSL can undo (PBES2, RFC 8018); a key in another one is not judged.
_PBES2 = bytes.fromhex("06092a864886f70d01050d")
_OTHER_KEY = ("NO_CERTIFICATE_ASSIGNED", "KEY_VALUES_MISMATCH", "KEY_TYPE_MISMATCH")
# As in Java whatever is trusted ends a chain, however old; the dates of the others are read here,
# and which keys are too weak is for Java to say.
_FLAGS = 0x80000 | 0x200000  # X509_V_FLAG_PARTIAL_CHAIN, X509_V_FLAG_NO_CHECK_TIME
_CIPHERS = "ALL:@SECLEVEL=0"
_TOO_WEAK = (66, 67, 68)  # X509_V_ERR_EE_KEY_TOO_SMALL and those that follow
_PURPOSE = 26  # X509_V_ERR_INVALID_PURPOSE
_NOT_SIGNED = (2, 7, 18, 19, 20, 21)  # X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT and its like
_ANY_PURPOSE = bytes.fromhex("0604551d2500")  # which OpenSSL does not take for every purpose
_MEMORY = "/dev/shm"  # noqa: S108 - so that no key is written to a disk


def trust_store(text: str) -> dict[str, Any]:
    """Return the CAs of a text without their frames, or that it has none."""
    chain = pem.bodies(text)
    return {"chain": chain} if chain else {"wrong": _NO_CERTIFICATE}


def inline_store(
    key: str, chain: str, password: str | None, authorities: str, *, mutual: bool
) -> dict[str, Any]:
    """Return what `key_store` does of a key and its certificates in two texts."""
    keys = "\n".join(match[0] for match in _KEY.finditer(key))
    return key_store(f"{keys}\n{_KEY.sub('', chain)}", password, authorities, mutual=mutual)


def key_store(text: str, password: str | None, authorities: str, *, mutual: bool) -> dict[str, Any]:
    """Return what is wrong with a key and its certificates in a text, and these certificates.

    `password` is that of the key, empty for none and None if it is not known. `authorities` are the
    CAs that those trust who connect, empty if not known; with `mutual` both sides show this
    certificate. The control node reads what the certificates say, `chain` and `trusted`.
    """
    chain, trusted = pem.bodies(text), pem.bodies(authorities)
    if not chain:
        return {"wrong": _NO_CERTIFICATE}
    result: dict[str, Any] = {"chain": chain, "trusted": trusted}
    wrong = _wrong_key(text, password)
    if wrong or password is None:
        return {**result, "wrong": wrong}
    with _loadable(text, chain) as path:
        wrong = _not_loaded(path, text, password)
        verifiable = any(map(pem.decoded, trusted)) and not wrong
        refused = _refusal(path, password, chain, trusted, mutual=mutual) if verifiable else ""
    return {**result, "wrong": wrong, "refused": refused}


@contextmanager
def _loadable(text: str, chain: Sequence[str]) -> Iterator[str]:
    """Yield the path of a file with a key and its certificates as the library reads them.

    Kafka takes PEM without line breaks, as its properties have it, and the library does not.
    """
    ((kind, block),) = _KEY.findall(text)
    blocks = [(f"{kind}PRIVATE KEY", pem.decoded(block))]
    blocks += [("CERTIFICATE", pem.decoded(body)) for body in chain]
    memory = _MEMORY if Path(_MEMORY).is_dir() else None
    with tempfile.NamedTemporaryFile("w", dir=memory, encoding="ascii") as file:
        with paths.naming(file.name):
            file.write("".join(pem.block(*arguments) for arguments in blocks))
            file.flush()
        yield file.name


def _wrong_key(text: str, password: str | None) -> str:
    """Return why Kafka would not take them (DefaultSslEngineFactory), empty if it may."""
    keys = _KEY.findall(text)
    kinds = [kind for kind, _ in keys]
    problems = {
        "it has no private key in PEM": not keys,
        "it has more than one private key": len(keys) > 1,
        "its private key is not in PKCS #8 (BEGIN PRIVATE KEY)": (not {*kinds} <= {"", _ENCRYPTED}),
        "its private key cannot be read": not all(pem.decoded(block) for _, block in keys),
        "its private key is encrypted, and ssl.key.password is not set": (
            kinds == [_ENCRYPTED] and password == ""
        ),
        "its private key is not encrypted, and ssl.key.password is set": (
            kinds == [""] and bool(password)
        ),
    }
    return next((problem for problem, applies in problems.items() if applies), "")


def _not_loaded(path: str, text: str, password: str) -> str:
    try:
        _context(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(path, password=lambda: password)
    except ssl.SSLError as error:
        if error.reason in _OTHER_KEY:
            return "its private key is not that of its first certificate"
        ((_, block),) = _KEY.findall(text)
        if password and _PBES2 in pem.decoded(block):
            return "ssl.key.password does not open its private key"
    return ""


def _refusal(
    path: str, password: str, chain: Sequence[str], trusted: Sequence[str], *, mutual: bool
) -> str:
    """Return why a node would not take this certificate of another one, empty if it may."""
    sides = []
    try:
        for side in (ssl.PROTOCOL_TLS_CLIENT, ssl.PROTOCOL_TLS_SERVER):
            context = _context(side)
            context.load_cert_chain(path, password=lambda: password)
            context.load_verify_locations(cadata=b"".join(map(pem.decoded, trusted)))
            checks = mutual or side == ssl.PROTOCOL_TLS_CLIENT
            context.verify_mode = ssl.CERT_REQUIRED if checks else ssl.CERT_NONE
            sides.append(context)
        shake_hands(*sides)
    except ssl.SSLCertVerificationError as error:
        if error.verify_code in _NOT_SIGNED:
            return "none of the CAs that its listener trusts has signed it"
        any_purpose = any(_ANY_PURPOSE in pem.decoded(body) for body in chain)
        unknown = _TOO_WEAK + ((_PURPOSE,) if any_purpose else ())
        return "" if error.verify_code in unknown else f"nodes refuse it: {error.verify_message}"
    except ssl.SSLError:  # of what this library does not support
        pass
    return ""


def _context(side: int) -> ssl.SSLContext:
    context = ssl.SSLContext(side)
    context.check_hostname = False
    context.set_ciphers(_CIPHERS)
    context.verify_flags |= ssl.VerifyFlags(_FLAGS)
    return context
