"""Whether the certificates that a cluster's listeners show are valid, and how long they will be."""

from __future__ import annotations

import ssl
import time
from collections.abc import Iterable
from dataclasses import dataclass

from ..host.network import connected
from .connection import Connection

CONNECT_SECONDS = 2.0
_DAY = 86400


@dataclass(frozen=True)
class Shown:
    """What a listener shows: the days that its certificate is valid, or why it is not taken."""

    address: str
    days: float = 0.0
    wrong: str = ""


def shown(connection: Connection, addresses: Iterable[str]) -> list[Shown]:
    """Return what listeners show this client; those that do not answer are left out.

    Raises:
        ConnectionDescriptionError: the client's stores are not PEM.

    """
    settings = connection.stores()
    context = ssl.create_default_context(cafile=settings.get("ssl_cafile"))
    context.check_hostname = connection.checks_names
    context.hostname_checks_common_name = True  # of a certificate without other names, as Java does
    if settings.get("ssl_certfile"):
        context.load_cert_chain(
            settings["ssl_certfile"], settings["ssl_keyfile"], settings.get("ssl_password")
        )
    return [one for address in addresses if (one := _shown(context, address))]


def _shown(context: ssl.SSLContext, address: str) -> Shown | None:
    name = address.rpartition(":")[0].strip("[]")
    try:
        plain = connected(address, CONNECT_SECONDS)
        with plain, context.wrap_socket(plain, server_hostname=name) as secured:
            end = ssl.cert_time_to_seconds(str((secured.getpeercert() or {})["notAfter"]))
    except ssl.SSLCertVerificationError as error:
        return Shown(address, wrong=error.verify_message)
    except OSError:  # also one that ends the handshake: health itself says so
        return None
    return Shown(address, (end - time.time()) / _DAY)
