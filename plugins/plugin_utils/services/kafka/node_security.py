"""The security of one Kafka node: its keys and certificates, its users and how they log in."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from ....module_utils.formats.values import texts
from ...cluster.inventory import Secrets
from . import security
from .listeners import Listener
from .node_listeners import NodeListeners
from .resources.merged import user_grants
from .security import Certificate, User
from .server_properties import ServerProperties

# Whichever of them the inventory sets, it brings the keys of all listeners.
_KEY_STORES = ("ssl.keystore.location", "ssl.keystore.key", "ssl.engine.factory.class")
_TRUST_STORES = ("ssl.truststore.location", "ssl.truststore.certificates")


@dataclass(frozen=True)
class NodeSecurity:
    """What secures one node, as its effective properties have it."""

    name: str
    """The host's name in the inventory."""
    settings: Mapping[str, Any] = field(repr=False)
    """The host's variables."""
    secrets: Secrets = field(repr=False)
    """The secrets, with the passwords of users."""
    listeners: NodeListeners
    """What the node listens on."""
    properties: ServerProperties
    """The node's properties."""
    job_users: Sequence[User]
    """The users that the inventory's jobs, Kafka Connect and the schema registry bring."""
    with_spark: bool
    """Whether the inventory has Spark, whose jobs are users."""

    @cached_property
    def keys_are_ours(self) -> bool:
        """Whether Millrace makes the keys and certificates of this node."""
        key_store = self.properties.config.get(_KEY_STORES[0])
        return self.listeners.is_secured and key_store == security.NODE_STORE

    @property
    def common_name(self) -> str:
        """The common name of the certificate by which other nodes know it."""
        return security.NODES if self.keys_are_ours else self.name

    @cached_property
    def certificates(self) -> list[Certificate]:
        """The certificates that Millrace makes for this node."""
        if not self.keys_are_ours:
            return []
        addresses = [self.listeners.address, "localhost"]
        stores = set(map(str, self.properties.config.values()))
        return [
            certificate
            for certificate in security.certificates(self.name, addresses)
            if certificate.path in stores
        ]

    @cached_property
    def users(self) -> list[User]:
        """The users that Millrace makes: its own, those of the inventory and of its jobs."""
        with_passwords = self.login_listener is not None
        if not with_passwords and not self.properties.config.get(security.AUTHORIZER):
            return []
        entries = {str(entry["name"]): entry for entry in self.settings["kafka_users"]}
        configured = [
            _user(entry, user_grants(entry, entries.get(str(entry.get("same_grants_as")), entry)))
            for entry in self.settings["kafka_users"]
        ]
        programs = (
            security.own_users(with_spark=self.with_spark) if self.listeners.is_secured else []
        )
        named = {user.name for user in configured}
        implied, jobs = (
            [user for user in users if with_passwords and user.name not in named]
            for users in (programs, self.job_users)
        )
        known_passwords = self.secrets.passwords
        return [
            replace(
                user,
                password=user.password or known_passwords.get(user.name, ""),
                scram=user.scram and with_passwords,
                generated=not user.password,
            )
            for user in (*implied, *configured, *jobs)
        ]

    @property
    def users_without_password(self) -> list[User]:
        """The users that need a password and have none yet."""
        return [user for user in self.users if user.present and user.scram and not user.password]

    def may_replace(self, user: User) -> bool:
        """Return whether the password of a user may replace another one that Kafka has.

        That is one of the inventory, or a generated one that rotate_secrets.yml has made.
        """
        store = self.secrets.store
        return not user.generated or (store is not None and user.name in store.replacing)

    @property
    def login_listener(self) -> Listener | None:
        """The first listener at which users log in with the passwords that Millrace sets."""
        return next(iter(self._logins.values()), None)

    @property
    def login_mechanism(self) -> str:
        """The mechanism of these passwords."""
        return next(iter(self._logins), security.MECHANISM)

    @cached_property
    def _logins(self) -> dict[str, Listener]:
        """Mechanism of passwords -> the first listener that takes it."""
        return {
            mechanism: listener
            for mechanism in security.SCRAM
            for listener in reversed(self.listeners.brokers)
            if self._takes(listener, mechanism)
        }

    def _takes(self, listener: Listener, mechanism: str) -> bool:
        # A controller alone does not have the properties of the brokers' listeners.
        written = texts(self.properties.at(listener).get(security.MECHANISMS))
        enabled = [security.MECHANISM if "${" in text else text for text in written]
        return listener.protocol.startswith("SASL_") and mechanism in (
            enabled or [security.MECHANISM]
        )


def standard_properties(
    listeners: NodeListeners, configured: Mapping[str, Any], hosts: Sequence[str]
) -> dict[str, Any]:
    """Return what `kafka_security: standard` sets where listeners are encrypted.

    `configured` are the properties that the inventory sets, `hosts` the names of all Kafka hosts.
    """
    if not listeners.is_secured:
        return {}
    controllers = listeners.controllers
    encrypted = [
        listener for listener in (*listeners.as_broker, *controllers) if listener.encrypted
    ]
    if not encrypted:
        return {}
    inner = [listeners.configured.between_brokers, *(listener.name for listener in controllers)]
    own_keys = not configured.keys().isdisjoint(_KEY_STORES)
    own_trust = own_keys or not configured.keys().isdisjoint(_TRUST_STORES)
    names = [*hosts] if own_keys else [security.NODES]
    names += [security.ANONYMOUS] if listeners.change else []
    return {
        **({} if own_keys else security.store("keystore", security.NODE_STORE)),
        **({} if own_trust else security.store("truststore", security.AUTHORITY)),
        **security.tls(
            {listener.name: listener.protocol for listener in encrypted},
            inner,
            own_keys=own_keys,
            given=configured,
        ),
        **security.authorization(listeners.mode, names),
    }


def _user(entry: Mapping[str, Any], granted: Iterable[Mapping[str, Any]]) -> User:
    """Return a user as the inventory describes it, with its grants."""
    return User(
        str(entry["name"]),
        [security.grant(grant) for grant in granted],
        str(entry.get("password") or ""),
        scram=entry.get("authentication") != "tls",
        present=entry.get("state") != "absent",
    )
