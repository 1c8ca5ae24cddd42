"""Until when certificates are valid: those that listeners show, and those in files of a host."""

from __future__ import annotations

import contextlib
import ssl
import time
from collections.abc import Iterable
from dataclasses import dataclass

from .network import connected

LEAST_DAYS, DAYS_TO_RENEW = 2, 30
CONNECT_SECONDS = 2.0
_DAY = 86400


@dataclass(frozen=True)
class Shown:
    """What a place shows: the days that its certificate is valid, or why it is not taken."""

    place: str
    """The address of a listener, or the path of a file."""
    days: float = 0.0
    """The days that its certificate is valid."""
    wrong: str = ""
    """Why its certificate is not taken."""


def trusting(path: str | None = None, pem: str | None = None) -> ssl.SSLContext:
    """Return how a client takes certificates of CAs, in a file or as text, whatever their names.

    Where names are checked, the common name of a certificate without others counts, as in Java.

    Raises:
        OSError: the certificate of a CA cannot be read.

    """
    context = ssl.create_default_context(cafile=path, cadata=pem)
    context.check_hostname = False
    context.hostname_checks_common_name = True
    return context


def shown(context: ssl.SSLContext, address: str) -> Shown | None:
    """Return what a listener shows this client, None if it does not answer."""
    name = address.rpartition(":")[0].strip("[]")
    try:
        plain = connected(address, CONNECT_SECONDS)
        with plain, context.wrap_socket(plain, server_hostname=name) as secured:
            return _valid(address, secured.getpeercert())
    except ssl.SSLCertVerificationError as error:
        return Shown(address, wrong=error.verify_message)
    except OSError:  # also one that ends the handshake: health itself says so
        return None


def stored(certificate: str, trusted: str) -> Shown:
    """Return what a process with a key and certificate, in a file, shows to one that trusts CAs.

    `trusted` is PEM. Nothing is sent: client and server of the handshake are here.
    """
    try:
        server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        server.load_cert_chain(certificate)
        client = shake_hands(trusting(pem=trusted), server)
        return _valid(certificate, client.getpeercert())
    except ssl.SSLCertVerificationError as error:
        return Shown(certificate, wrong=error.verify_message)
    except OSError as error:
        return Shown(certificate, wrong=error.strerror or str(error))


def shake_hands(client: ssl.SSLContext, server: ssl.SSLContext) -> ssl.SSLObject:
    """Do a TLS handshake in memory, without a connection, and return the client's side.

    Raises:
        ssl.SSLError: one refuses the other.

    """
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    client_side = client.wrap_bio(to_client, to_server)
    server_side = server.wrap_bio(to_server, to_client, server_side=True)
    for side in (client_side, server_side) * 3:
        with contextlib.suppress(ssl.SSLWantReadError):
            side.do_handshake()
    return client_side


def days(moment: float) -> float:
    """Return how many days from now a moment is, in seconds since the epoch."""
    return (moment - time.time()) / _DAY


def lines(results: Iterable[Shown]) -> tuple[list[str], list[str]]:
    """Return what is wrong with certificates, and what soon will be."""
    wrong: list[str] = []
    soon: list[str] = []
    for result in results:
        if result.wrong:
            wrong.append(f"the certificate at {result.place} is not valid: {result.wrong}")
        elif result.days < DAYS_TO_RENEW:
            line = f"the certificate at {result.place} expires in {result.days:.0f} days"
            (wrong if result.days < LEAST_DAYS else soon).append(f"{line}: renew it (site.yml)")
    return wrong, soon


def _valid(place: str, certificate: ssl._PeerCertRetDictType | None) -> Shown:
    end = ssl.cert_time_to_seconds(str((certificate or {})["notAfter"]))
    return Shown(place, days(end))
