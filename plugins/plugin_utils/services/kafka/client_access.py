"""What clients get of a Kafka node: where they connect, and with which properties."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from ....module_utils.formats.values import by_name
from .listeners import ADDED
from .node_listeners import NodeListeners
from .node_security import NodeSecurity
from .peers import Peer, addresses
from .security import ADMIN, AUTHORITY_FILE, login, store
from .server_properties import ServerProperties

# What a client on a broker's host takes over from the broker.
_TLS = (
    "ssl.truststore.type",
    "ssl.truststore.location",
    "ssl.enabled.protocols",
    "ssl.endpoint.identification.algorithm",
)
_KEYS = ("ssl.keystore.type", "ssl.keystore.location")


@dataclass(frozen=True)
class ClientAccess:
    """How clients reach the cluster of a node: those on Kafka's own hosts, and users' anywhere."""

    node_id: int | None
    """The node's own id, None where none is set."""
    brokers: Sequence[Peer]
    """All brokers of the cluster."""
    settings: Mapping[str, Any] = field(repr=False)
    """The host's variables."""
    listeners: NodeListeners
    """What the node listens on."""
    properties: ServerProperties
    """The node's properties."""
    security: NodeSecurity
    """The node's security, with the users that log in."""

    @property
    def bootstrap(self) -> list[str]:
        """Where programs on Kafka's own hosts connect to all brokers, `host:port`."""
        return addresses(self.listeners.for_host, self.brokers)

    @property
    def other_brokers_first(self) -> list[str]:
        """`bootstrap` with this node at the end, for clients that stop it."""
        brokers = sorted(self.brokers, key=lambda broker: broker.id == self.node_id)
        return addresses(self.listeners.for_host, brokers)

    @property
    def own_address(self) -> str:
        """Where programs on this host connect to this node, `host:port`."""
        is_broker = "broker" in self.listeners.roles
        listener = self.listeners.for_host if is_broker else self.listeners.controller
        return f"{self.listeners.address}:{listener.port}"

    @property
    def user_bootstrap(self) -> list[str]:
        """Where users' clients connect to all brokers, `host:port`."""
        listener = self.security.login_listener or self.listeners.brokers[0]
        return addresses(listener, self.brokers)

    @cached_property
    def config(self) -> dict[str, Any]:
        """What a client on this host needs, as Kafka's client properties."""
        return {
            "bootstrap.servers": ",".join(self.bootstrap),
            "security.protocol": self.listeners.for_host.protocol,
            **self._tls(),
            **by_name(self.settings["kafka_client_config"]),
        }

    def local_config(self, user: str = ADMIN) -> dict[str, Any]:
        """Return what a client on the control node needs: its own stores, not those of a host.

        Where clients log in, it is that of a user.
        """
        configured = by_name(self.settings["kafka_local_client_config"])
        authority = f"{self.security.secrets.directory}/{AUTHORITY_FILE}"
        if self.log_in and (of_user := self.user_config(user, authority)):
            return {**of_user, **configured}
        without_stores = {
            key: value
            for key, value in self.config.items()
            if not (key.startswith("ssl.") and "store" in key)
        }
        return {**without_stores, **configured}

    @property
    def log_in(self) -> bool:
        """Whether clients are users with a password.

        While listeners for users are being added, a part of the nodes does not have them.
        """
        change = self.listeners.change
        added = change is None or change.phase != ADDED or change.complete
        return bool(self.security.users) and self.security.login_listener is not None and added

    def user_config(self, user: str, authority: str) -> dict[str, Any]:
        """Return what a user's client needs, empty for none that logs in with a password.

        `authority` is the path of the CA's certificate where the client runs; with a site's own
        keys the client brings the trust store too.
        """
        users = self.security.users
        passwords = {
            account.name: account.password for account in users if account.present and account.scram
        }
        listener = self.security.login_listener
        if listener is None or user not in passwords:
            return {}
        ours = self.security.keys_are_ours
        return {
            "bootstrap.servers": ",".join(self.user_bootstrap),
            "security.protocol": listener.protocol,
            **(store("truststore", authority) if ours else {}),
            **login(user, passwords[user], self.security.login_mechanism),
        }

    def _tls(self) -> dict[str, Any]:
        """Return what a client takes over from the broker: stores and protocols.

        The key store is left out where brokers request no certificate of clients, and passwords
        always are, since every user of the host may read the file.
        """
        listener = self.listeners.for_host
        # While encrypted listeners are being added their certificates are checked already.
        if not listener.encrypted and not self.listeners.change:
            return {}
        config = self.properties.at(listener)
        # A controller alone does not have the properties of the brokers' listeners.
        requested = (self.listeners.is_secured and listener.protocol == "SSL") or (
            config.get("ssl.client.auth", "none") != "none"
        )
        keys = (*_KEYS, *_TLS) if requested else _TLS
        return {key: config[key] for key in keys if key in config}
