"""What the nodes of a cluster listen on, and what they do while other listeners replace it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from ...cluster.transition import Transition

FORMER, ADDED, MOVED = "former", "added", "moved"
"""The phases before only the wanted listeners are there: those of the running nodes alone; the
wanted ones beside them; nodes talk to each other by the wanted ones, and clients move."""
ENDED = "ended"
"""The phase of a record that is kept, so that no copy of an earlier one is taken for the newest."""


@dataclass(frozen=True)
class Listener:
    """A listener."""

    name: str
    port: int
    """What the inventory gives, legal or not."""
    protocol: str

    @property
    def encrypted(self) -> bool:
        """Whether it speaks TLS."""
        return self.protocol in ("SSL", "SASL_SSL")


@dataclass(frozen=True)
class Listeners:
    """What brokers and controllers listen on."""

    brokers: tuple[Listener, ...]
    controllers: tuple[Listener, ...]
    """The first is the one that nodes use."""
    between_brokers: str
    """The name of the listener that brokers use."""

    def beside(self, additional: Listeners) -> Listeners:
        """Return them with others, which nodes do not use among themselves."""
        return Listeners(
            _joined(self.brokers, additional.brokers),
            _joined(self.controllers, additional.controllers),
            self.between_brokers,
        )

    def data(self) -> dict[str, Any]:
        """Return them as plain data, which `from_data` reads."""
        return asdict(self)

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> Listeners:
        """Return the listeners that plain data describes."""
        listeners = {
            role: tuple(Listener(**listener) for listener in data[role]) for role in _ROLES
        }
        return cls(**listeners, between_brokers=data["between_brokers"])

    def open_ports(self) -> dict[int, str]:
        """Return port -> name of each that is not encrypted."""
        listeners = (*self.brokers, *self.controllers)
        return {listener.port: listener.name for listener in listeners if not listener.encrypted}


_ROLES = ("brokers", "controllers")


def in_phase(configured: Listeners, change: Transition | None) -> Listeners:
    """Return what nodes listen on while a change from former listeners is under way."""
    if change is None:
        return configured
    former = Listeners.from_data(change.data)
    if change.phase == FORMER:
        return former
    return former.beside(configured) if change.phase == ADDED else configured.beside(former)


def conflict(configured: Listeners, former: Listeners) -> tuple[Listener, Listener] | None:
    """Return a configured and a former listener that cannot coexist, None without such."""
    before = (*former.brokers, *former.controllers)
    for listener in (*configured.brokers, *configured.controllers):
        for former_listener in before:
            same_name = listener.name.upper() == former_listener.name.upper()
            if listener != former_listener and (same_name or listener.port == former_listener.port):
                return listener, former_listener
    return None


def _joined(first: tuple[Listener, ...], second: tuple[Listener, ...]) -> tuple[Listener, ...]:
    return (*first, *(listener for listener in second if listener not in first))
