"""Whether the certificates that a cluster's listeners show are valid, and how long they will be."""

from __future__ import annotations

from collections.abc import Iterable

from ..host import certificate_expiry
from ..host.certificate_expiry import Shown
from .connection import Connection


def shown(connection: Connection, addresses: Iterable[str]) -> list[Shown]:
    """Return what listeners show this client; those that do not answer are left out.

    Raises:
        ConnectionDescriptionError: the client's stores are not PEM.

    """
    settings = connection.stores()
    context = certificate_expiry.trusting(settings.get("ssl_cafile"))
    context.check_hostname = connection.checks_names
    if settings.get("ssl_certfile"):
        context.load_cert_chain(
            settings["ssl_certfile"], settings["ssl_keyfile"], settings.get("ssl_password")
        )
    return [
        result for address in addresses if (result := certificate_expiry.shown(context, address))
    ]
