"""What one Kafka node listens on, also while a change to other listeners is under way."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from ...cluster import transition
from ...cluster.inventory import Secrets
from ...cluster.service import CLIENTS, NODES
from ...cluster.transition import Transition
from . import listeners, security
from .listeners import Listener, Listeners


@dataclass(frozen=True)
class NodeListeners:
    """The listeners of one node, and those that the nodes of its cluster have in common."""

    settings: Mapping[str, Any] = field(repr=False)
    """The host's variables."""
    address: str
    """The name or address that the node advertises."""
    roles: Sequence[str]
    """What the node is: broker, controller or both."""
    mode: str
    """The cluster's mode, kraft or zookeeper."""
    secrets: Secrets = field(repr=False)
    """The secrets, among which is the record of the change."""

    @cached_property
    def change(self) -> Transition | None:
        """The change from open listeners to the configured ones that is under way, if one is."""
        record = self.change_record
        return None if record is None or record.phase == listeners.ENDED else record

    @cached_property
    def change_record(self) -> Transition | None:
        """The record of that change, also of one that has ended; None without one."""
        if self.settings["kafka_security"] != security.STANDARD:
            return None
        return transition.read(self.secrets, transition.SECURITY)

    @property
    def is_secured(self) -> bool:
        """Whether the node has what `kafka_security: standard` is, or is about to."""
        waits = self.change is not None and self.change.phase == listeners.FORMER
        return bool(self.settings["kafka_security"] == security.STANDARD) and not waits

    @cached_property
    def configured(self) -> Listeners:
        """The listeners that this node's variables ask for, whatever it has now."""
        settings = self.settings
        preset = security.PRESETS[settings["kafka_security"]]
        brokers = settings["kafka_listeners"] or preset.listeners
        controller = settings["kafka_controller_listener"] or preset.controller_listener
        # Kafka compares names of listeners in capitals.
        names = {listener["name"].upper(): listener["name"] for listener in brokers}
        fallback = names.get(preset.inter_broker_listener, next(iter(names.values())))
        between = str(settings["kafka_inter_broker_listener"] or fallback)
        return Listeners(
            tuple(Listener(**listener) for listener in brokers),
            (Listener(**controller),),
            names.get(between.upper(), between),
        )

    @cached_property
    def _in_phase(self) -> Listeners:
        return listeners.in_phase(self.configured, self.change)

    @property
    def brokers(self) -> tuple[Listener, ...]:
        """What brokers listen on; the first is for clients."""
        return self._in_phase.brokers

    @property
    def between_brokers(self) -> str:
        """The name of the listener that brokers use among themselves."""
        return self._in_phase.between_brokers

    @property
    def controllers(self) -> tuple[Listener, ...]:
        """What the controllers listen on, nothing with ZooKeeper."""
        return self._in_phase.controllers if self.mode == "kraft" else ()

    @property
    def controller(self) -> Listener:
        """What nodes connect to the controllers by."""
        return self._in_phase.controllers[0]

    @cached_property
    def as_broker(self) -> tuple[Listener, ...]:
        """What the node listens on as a broker, nothing for a controller alone."""
        return self.brokers if "broker" in self.roles else ()

    @property
    def as_controller(self) -> tuple[Listener, ...]:
        """What the node listens on as a controller, nothing for a broker alone."""
        return self.controllers if "controller" in self.roles else ()

    @property
    def all(self) -> tuple[Listener, ...]:
        """Everything that the node listens on."""
        return self.as_broker + self.as_controller

    @property
    def former(self) -> list[Listener]:
        """What the node listens on only until the change that is under way ends."""
        configured = (*self.configured.brokers, *self.configured.controllers)
        return [listener for listener in self.all if listener not in configured]

    @property
    def leaving(self) -> list[Listener]:
        """What the node listens on until the end of the change reaches it."""
        record = self.change_record
        if record is None or record.phase != listeners.ENDED or record.complete:
            return []
        former = Listeners.from_data(record.data)
        before = (former.brokers if "broker" in self.roles else ()) + (
            former.controllers if "controller" in self.roles else ()
        )
        return [listener for listener in before if listener not in self.all]

    @property
    def for_host(self) -> Listener:
        """What the node's own host connects to: that between brokers if the node's key is enough.

        Else it is the first.
        """
        between = [listener for listener in self.brokers if listener.name == self.between_brokers]
        with_key = [
            listener for listener in between if listener.protocol == "SSL" and self.is_secured
        ]
        return [*with_key, *self.brokers][0]

    @property
    def for_clients(self) -> list[Listener]:
        """What clients connect to: the first, and all by which brokers do not know each other."""
        inner = (self.between_brokers, self.configured.between_brokers)
        first, remaining = self.as_broker[:1], self.as_broker[1:]
        return [*first, *(listener for listener in remaining if listener.name not in inner)]

    @property
    def ports(self) -> dict[str, int]:
        """Variable and listener -> port."""
        ports: dict[str, int] = {}
        named = [(f"kafka_listeners ({listener.name})", listener) for listener in self.as_broker]
        named += [("kafka_controller_listener", listener) for listener in self.as_controller]
        named += [(f"kafka_listeners ({listener.name})", listener) for listener in self.leaving]
        for name, listener in named:
            port = listener.port
            ports[f"{name}, port {port}" if name in ports else name] = port
        return ports

    def callers(self, port: str) -> tuple[str, ...]:
        """Return who connects to one of `ports`, which is given by its name there.

        Clients connect to the first listener, and to all that are not brokers'.
        """
        if port.startswith("kafka_controller_listener"):
            return (NODES,)
        nodes, first, later = (
            port.startswith(f"kafka_listeners ({name})")
            for name in (
                self.between_brokers,
                self.brokers[0].name,
                self.configured.between_brokers,
            )
        )
        nodes = nodes or later
        return (*((CLIENTS,) if first or not nodes else ()), *((NODES,) if nodes else ()))

    @property
    def config(self) -> dict[str, Any]:
        """The properties that say what the node listens on."""
        protocols = (
            f"{listener.name}:{listener.protocol}"
            for listener in (*self.as_broker, *self.controllers)
        )
        return {
            "listeners": self._at(""),
            "advertised.listeners": self._at(self.address),
            "listener.security.protocol.map": ",".join(protocols),
        }

    def _at(self, address: str) -> str:
        return ",".join(f"{listener.name}://{address}:{listener.port}" for listener in self.all)
