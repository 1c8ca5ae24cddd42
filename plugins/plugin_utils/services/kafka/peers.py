"""The nodes of a cluster as the others know them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from .listeners import Listener


@dataclass(frozen=True)
class Peer:
    """A node as the others know it."""

    id: int | None
    """The node id, None where none or no number is set."""
    host: str
    """The name or address that it advertises."""
    name: str = ""
    """The host's name in the inventory, and that of a certificate that the site brings."""


def addresses(listener: Listener, peers: Iterable[Peer]) -> list[str]:
    """Return where a listener is on nodes, `host:port`."""
    return [f"{peer.host}:{listener.port}" for peer in peers]
