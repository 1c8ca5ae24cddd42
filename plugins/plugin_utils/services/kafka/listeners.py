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
    """A listener; `port` is what the inventory gives, legal or not."""

    name: str
    port: int
    protocol: str

    @property
    def encrypted(self) -> bool:
        """Whether it speaks TLS."""
        return self.protocol in ("SSL", "SASL_SSL")


@dataclass(frozen=True)
class Listeners:
    """What brokers and controllers listen on; `between_brokers` is the name that brokers use.

    The first of the controllers' is the one that nodes use.
    """

    brokers: tuple[Listener, ...]
    controllers: tuple[Listener, ...]
    between_brokers: str

    def beside(self, others: Listeners) -> Listeners:
        """Return them with others, which nodes do not use among themselves."""
        return Listeners(
            _joined(self.brokers, others.brokers),
            _joined(self.controllers, others.controllers),
            self.between_brokers,
        )

    def data(self) -> dict[str, Any]:
        """Return them as plain data, which `from_data` reads."""
        return asdict(self)

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> Listeners:
        """Return the listeners that plain data describes."""
        parts = {role: tuple(Listener(**x) for x in data[role]) for role in _ROLES}
        return cls(**parts, between_brokers=data["between_brokers"])

    def open_ports(self) -> dict[int, str]:
        """Return port -> name of each that is not encrypted."""
        every = (*self.brokers, *self.controllers)
        return {one.port: one.name for one in every if not one.encrypted}


_ROLES = ("brokers", "controllers")


def in_phase(wanted: Listeners, change: Transition | None) -> Listeners:
    """Return what nodes listen on while a change from former listeners is under way."""
    if change is None:
        return wanted
    former = Listeners.from_data(change.data)
    if change.phase == FORMER:
        return former
    return former.beside(wanted) if change.phase == ADDED else wanted.beside(former)


def conflict(wanted: Listeners, former: Listeners) -> tuple[Listener, Listener] | None:
    """Return a wanted and a former listener that cannot be there together, None without such."""
    before = (*former.brokers, *former.controllers)
    for one in (*wanted.brokers, *wanted.controllers):
        for other in before:
            same_name = one.name.upper() == other.name.upper()
            if one != other and (same_name or one.port == other.port):
                return one, other
    return None


def _joined(first: tuple[Listener, ...], second: tuple[Listener, ...]) -> tuple[Listener, ...]:
    return (*first, *(one for one in second if one not in first))
