"""An instance of the schema registry: Apicurio Registry, which keeps schemas in topics of Kafka.

The layers of a property: topology < security < schema_registry_config < owned keys.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from ....module_utils.formats.key_table import Table
from ....module_utils.host.registry_rest import CONFLUENT
from ...cluster import files
from ...cluster.files import Entry
from ...cluster.resolution import Resolution
from ...cluster.service import CLIENTS, LOOPBACK, NODES
from ..kafka.kafka_service import KafkaService
from ..kafka.node import any_broker
from ..kafka.security import AUTHORITY_FILE, Certificate, User
from . import GROUP, KAFKA_USER, PRODUCT, schemas
from . import key_table as schema_registry_key_table
from .schemas import Subject

"""The user of Kafka that the instances are."""
ADMIN = "admin"
"""The user of the registry that may do everything, for the operator and schemas.yml."""
MONITORING = "monitoring"
"""The user of the registry that consoles are: it may look schemas up."""
ROLES: Mapping[str, str] = {"read": "sr-readonly", "write": "sr-developer", "admin": "sr-admin"}
"""Role of a user in the inventory -> as Apicurio calls it."""
CONFIG = f"/etc/{PRODUCT}"
PROPERTIES = f"{CONFIG}/registry.properties"
_DIRECTORY = f"{CONFIG}/certificates"
STORE = f"{_DIRECTORY}/registry.pem"
AUTHORITY = f"{_DIRECTORY}/{AUTHORITY_FILE}"
"""The certificate of the cluster's CA, of which the registry's own certificates are, too."""
VALIDITY, COMPATIBILITY = "apicurio.rules.global.validity", "apicurio.rules.global.compatibility"
BASIC, ROLE_BASED = "quarkus.http.auth.basic", "apicurio.auth.role-based-authorization"
INSECURE, PROTOCOLS = "quarkus.http.insecure-requests", "quarkus.http.ssl.protocols"
_KAFKA = "apicurio.kafka.common."
HOST_CHECK = f"{_KAFKA}ssl.endpoint.identification.algorithm"
_USERS = "quarkus.security.users.embedded."
_REALM = "Quarkus"  # as the registry calls it where nothing else is set
_PREFIX = "schema-registry-"
_TOPICS = {
    "apicurio.kafkasql.topic": "journal",
    "apicurio.kafkasql.snapshots.topic": "snapshots",
    "apicurio.events.kafka.topic": "events",
}
_TOPOLOGY: Mapping[str, Any] = {
    # An instance that starts before Kafka waits for it. It tries once: after Apicurio's own 60 s it
    # would run on without ever serving.
    "apicurio.kafkasql.admin.default.api.timeout.ms": 2**31 - 1,
    # A write fails after this time while Kafka is down, instead of 2 minutes.
    "apicurio.kafkasql.producer.delivery.timeout.ms": 30000,
    "apicurio.kafkasql.producer.request.timeout.ms": 10000,
    COMPATIBILITY: schemas.BACKWARD,  # of a registry that is new, as Confluent's
    VALIDITY: "FULL",
}
# Keys that only Millrace writes, with the variable that sets each.
OWNED: Mapping[str, str] = {
    "apicurio.events.kafka.topic": "nothing, it is the same for all instances",
    "apicurio.kafkasql.bootstrap.servers": "the group kafka_brokers",
    "apicurio.kafkasql.consumer.group-prefix": "nothing, it is the same for all instances",
    "apicurio.kafkasql.snapshots.topic": "nothing, it is the same for all instances",
    "apicurio.kafkasql.topic": "nothing, it is the same for all instances",
    "apicurio.kafkasql.topic.auto-create": "nothing, site.yml makes the topics",
    "apicurio.storage.kind": "nothing, schemas are in Kafka",
    "config_ordinal": "nothing, this file wins over the distribution's",
    "quarkus.http.host": "nothing, it listens on all addresses",
    "quarkus.http.port": "schema_registry_port",
    "quarkus.http.ssl-port": "schema_registry_port",
    "quarkus.management.host": "nothing, the host alone may use it",
    "quarkus.management.port": "schema_registry_management_port",
}


@dataclass(frozen=True)
class RegistryUser:
    """A user of the registry."""

    name: str
    role: str
    """It is read, write or admin."""
    password: str = field(default="", repr=False)
    """Empty if none is known."""

    @property
    def digest(self) -> str:
        """What the registry compares a password with (Quarkus' digest-sha-512)."""
        text = f"{self.name}:{_REALM}:{self.password}"
        return hashlib.sha512(text.encode()).hexdigest()


@dataclass(frozen=True)
class Registry(KafkaService):
    """One instance."""

    directory: str = ""
    """That of the inventory."""
    product = PRODUCT
    title = "Apicurio Registry"
    address_variable = "schema_registry_host"
    port_variable = "schema_registry_port"
    port_variables = (port_variable, "schema_registry_management_port")
    kafka_user = KAFKA_USER
    kafka_authority = AUTHORITY
    owned = OWNED
    leftovers = (STORE, AUTHORITY, f"{_DIRECTORY}/", f"{CONFIG}/")

    @property
    def table(self) -> Table:
        """The keys that its version knows, none for a version that is not known."""
        return schema_registry_key_table.load(self.version)

    def knows(self, key: str) -> bool:
        """Return whether its version reads a key, or something else may."""
        return schema_registry_key_table.is_known(key, self.version)

    @property
    def class_path(self) -> str:
        """The jar whose index leads to all others."""
        return f"{self.distribution.home}/quarkus-run.jar"

    def callers(self, port: str) -> tuple[str, ...]:
        """Return who connects: clients, and whoever looks after the other instances."""
        return (CLIENTS, NODES) if port == "schema_registry_port" else (LOOPBACK,)

    @property
    def certificates(self) -> list[Certificate]:
        """What it shows clients, of the CA that clients of Kafka trust."""
        return [self.server_certificate(STORE)] if self.is_secured else []

    @cached_property
    def users(self) -> list[RegistryUser]:
        """The users of the registry: its own, and those of the inventory."""
        if not self.is_secured:
            return []
        configured = [
            RegistryUser(str(entry["name"]), str(entry["role"]), str(entry.get("password") or ""))
            for entry in self.settings["schema_registry_users"]
        ]
        internal = [RegistryUser(ADMIN, "admin")]
        if self.host.monitored:
            internal.append(RegistryUser(MONITORING, "read"))
        user_names = {user.name for user in configured}
        internal = [user for user in internal if user.name not in user_names]
        passwords = self.secrets.passwords
        return [
            RegistryUser(
                user.name, user.role, user.password or passwords.get(secret_name(user.name), "")
            )
            for user in (*internal, *configured)
        ]

    @property
    def login(self) -> str:
        """What Millrace's own modules log in with, `user:password`, empty if nobody needs to."""
        return self.login_of(ADMIN)

    def login_of(self, user: str) -> str:
        """Return `user:password` of a user, empty if there is none."""
        accounts = [account for account in self.users if account.name == user]
        return f"{user}:{accounts[0].password}" if accounts else ""

    def client_config(self, user: str, authority: str) -> dict[str, str]:
        """Return confluent-kafka's properties for a user, empty if the registry has no such user.

        `authority` is the file with the CA on the client's host.
        """
        scheme = "https" if self.is_secured else "http"
        urls = [f"{scheme}://{address}{CONFLUENT}" for address in self.rest_addresses.values()]
        config = {"url": ",".join(urls)}
        if not self.is_secured:
            return config
        login = [f"{user}:{account.password}" for account in self.users if account.name == user]
        credentials = {"ssl.ca.location": authority, "basic.auth.user.info": "".join(login)}
        return {**config, **credentials} if login else {}

    @property
    def users_without_password(self) -> list[str]:
        """The names among the secrets of passwords that are needed and not there yet."""
        return without_password(self.users)

    @cached_property
    def subjects(self) -> list[Subject]:
        """The subjects that the inventory names, those to be removed among them."""
        return schemas.of_settings(self.settings, self.directory)

    @property
    def missing_secrets(self) -> list[str]:
        """What its files need and the secrets do not have, by its name."""
        authorities = {AUTHORITY_FILE: self.secrets.authority} if self.is_secured else {}
        return [
            *self.lacking(authorities),
            *self.missing_passwords([KAFKA_USER]),
            *(f"passwords/{name}" for name in self.users_without_password),
        ]

    def _defaults(self) -> dict[str, dict[str, Any]]:
        return {
            "topology": dict(_TOPOLOGY),
            "security": {**self._kafka_client(), **(self._tls() if self.is_secured else {})},
        }

    def _kafka_client(self) -> dict[str, Any]:
        properties = {f"{_KAFKA}{key}": value for key, value in self.kafka_client.items()}
        # Apicurio itself sets none, and so would accept the certificate of any host.
        return {**properties, HOST_CHECK: "https"}

    def _tls(self) -> dict[str, Any]:
        return {
            INSECURE: "disabled",
            PROTOCOLS: "TLSv1.3,TLSv1.2",
            "quarkus.http.ssl.certificate.files": STORE,
            "quarkus.http.ssl.certificate.key-files": STORE,
            BASIC: True,
            ROLE_BASED: True,
            f"{_USERS}plain-text": False,
            f"{_USERS}algorithm": "digest-sha-512",
            f"{_USERS}realm-name": _REALM,
            **{f"{_USERS}users.{user.name}": user.digest for user in self.users},
            **{f"{_USERS}roles.{user.name}": ROLES.get(user.role, "") for user in self.users},
        }

    def _owned_config(self) -> dict[str, Any]:
        port = self.settings["schema_registry_port"]
        return {
            "config_ordinal": 500,
            "apicurio.storage.kind": "kafkasql",
            "apicurio.kafkasql.bootstrap.servers": self.kafka_bootstrap,
            "apicurio.kafkasql.consumer.group-prefix": _PREFIX,
            "apicurio.kafkasql.topic.auto-create": False,
            **{key: f"{_PREFIX}{kind}" for key, kind in _TOPICS.items()},
            "quarkus.http.host": "0.0.0.0",  # noqa: S104 - as Kafka
            "quarkus.http.ssl-port" if self.is_secured else "quarkus.http.port": port,
            "quarkus.management.host": "127.0.0.1",
            "quarkus.management.port": self.settings["schema_registry_management_port"],
        }

    def files(self) -> dict[str, Entry]:
        """Return the configuration files; `restart` marks what only a restart brings."""
        # As in the manifest of the jar, which Java reads for -jar alone.
        options = "--add-opens=java.base/java.lang=ALL-UNNAMED"
        options += f" -Dquarkus.config.locations={PROPERTIES}"
        program = "io.quarkus.bootstrap.runner.QuarkusEntryPoint"
        return {
            **super().files(),
            PROPERTIES: files.property_file(self.config, mode="0640", group=self.user, secret=True),
            **self._certificate_files(),
            **self.server("schemas", options, program),
        }

    def _certificate_files(self) -> dict[str, Entry]:
        entries = {_DIRECTORY: files.directory(), **self.certificate_files()}
        if self.kafka_login or self.is_secured:
            entries[AUTHORITY] = files.text(self.secrets.authority, restart=True)
        return entries


def without_password(users: Sequence[RegistryUser]) -> list[str]:
    """Return the names among the secrets of the passwords that users do not have yet."""
    return [secret_name(user.name) for user in users if not user.password]


def secret_name(user: str) -> str:
    """Return the name among the secrets of the password of a user of the registry."""
    return f"{PRODUCT}/{user}"


def topics(copies: int) -> dict[str, dict[str, Any]]:
    """Return the topics in which the registry keeps what it has: topic -> how to make it.

    An instance reads all of the journal when it starts, so that nothing of it may ever be deleted,
    and in one order; Apicurio refuses topics that are otherwise.
    """
    forever = {"cleanup.policy": "delete", "retention.ms": "-1", "retention.bytes": "-1"}
    return {
        f"{_PREFIX}{kind}": {"num_partitions": 1, "replication_factor": copies, "configs": forever}
        for kind in _TOPICS.values()
    }


def kafka_users(resolution: Resolution) -> list[User]:
    """Return the user that the instances are, with the least grants that let them work.

    Each start makes a consumer group of its own.
    """
    operations = ["describe_configs", "read", "write"]
    grants = [{"topic": topic, "operations": operations} for topic in topics(1)]
    group = {"group": _PREFIX, "pattern": "prefixed", "operations": ["read"]}
    return [User(KAFKA_USER, [*grants, group])] if resolution.members(GROUP) else []


def any_instance(resolution: Resolution) -> Registry | None:
    """Return an instance of an inventory, None without any."""
    instances: Mapping[str, Registry] = resolution.parts(PRODUCT)
    return next(iter(instances.values()), None)


def resolve(resolution: Resolution) -> dict[str, Registry]:
    """Return host -> instance of all hosts of the group schema_registry."""
    hosts, inventory = resolution.members(GROUP), resolution.inventory
    return {
        name: Registry(host, hosts, any_broker(resolution), inventory.secrets, inventory.directory)
        for name, host in hosts.items()
    }
