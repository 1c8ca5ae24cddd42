"""A worker of Kafka Connect, one of the group on which connectors run.

The layers of a property: topology < security < connect_config < owned keys.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from ....module_utils.formats.key_table import Table
from ....module_utils.formats.values import by_name, mapping, property_text
from ...cluster import files
from ...cluster.artifacts import HOMES
from ...cluster.files import Entry
from ...cluster.resolution import Resolution
from ...cluster.service import ADMINS, NODES
from ..kafka.kafka_service import KafkaService
from ..kafka.node import any_broker
from ..kafka.security import Certificate, User
from ..postgresql import PRODUCT as POSTGRESQL
from ..postgresql import model as postgresql
from ..schema_registry import PRODUCT as SCHEMA_REGISTRY
from ..schema_registry import model as schema_registry
from ..schema_registry.model import RegistryUser, any_instance
from . import GROUP, KAFKA_USER, connectors, mirrors
from . import key_table as connect_key_table
from .connectors import SECRETS, Connector
from .mirrors import Mirror

"""The user of Kafka that the workers are; connectors have users of their own."""
CONFIG = "/etc/connect"
PROPERTIES = f"{CONFIG}/connect-distributed.properties"
AUTHORITY_FILE = "connect-ca.pem"
"""The certificate of the CA of the REST interface, among the secrets and on the workers."""
ADMIN_CERTIFICATE = "connect-admin"
"""Among the secrets, the key and certificate by which people use the REST interface."""
_DIRECTORY = f"{CONFIG}/certificates"
REST_STORE, AUTHORITY = f"{_DIRECTORY}/rest.pem", f"{_DIRECTORY}/{AUTHORITY_FILE}"
KAFKA_AUTHORITY = f"{_DIRECTORY}/kafka-ca.pem"
_STORES = f"{HOMES}/connect-stores"
_KEY_STORE, _TRUST_STORE = "/run/connect/key.p12", "/run/connect/trust.p12"
# It protects nothing: whoever may read the store may read this too.
_STORE_PASSWORD = "changeit"  # noqa: S105 - as Java calls it
_REST = "listeners.https."
CLIENT_AUTHENTICATION = f"{_REST}ssl.client.auth"
ALLOWED_PATHS = "config.providers.file.param.allowed.paths"
EXACTLY_ONCE = "exactly.once.source.support"
_CLIENTS = ("producer.", "consumer.", "admin.")
_CLIENT_KEYS = ("security.", "sasl.", "ssl.")
_TOPICS = ("config", "offset", "status")
_CLASSES = ("key.converter", "value.converter", "header.converter")
# Those that each distribution has: there is nothing to look up.
_OF_KAFKA = tuple(
    f"org.apache.kafka.connect.{package}."
    for package in ("converters", "json", "mirror", "storage", "transforms")
)
# Of a connector: its converters, transforms and predicates.
_CLASS_KEY = re.compile(r"(key|value|header)\.converter|(transforms|predicates)\.[^.]+\.type")
_CONVERTER = "org.apache.kafka.connect.json.JsonConverter"
_TOPOLOGY: Mapping[str, Any] = {
    # Sinks read no records of transactions that were aborted.
    "consumer.isolation.level": "read_committed",
    "key.converter": _CONVERTER,
    "value.converter": _CONVERTER,
    # Without it the records of a source that fails are there twice.
    EXACTLY_ONCE: "enabled",
    # A worker that is restarted gets its tasks back if it returns within this time; those of one
    # that does not are started elsewhere only then. Kafka's own 5 minutes are for slow clusters.
    "scheduled.rebalance.max.delay.ms": 30000,
    # Reads the manifests of plugins and not all of their classes.
    "plugin.discovery": "service_load",
    "config.providers": "file",
    "config.providers.file.class": "org.apache.kafka.common.config.provider.FileConfigProvider",
    ALLOWED_PATHS: SECRETS,
}
# Plugins of an inventory may have no manifests: their classes are read, too (KIP-898).
_DISCOVERY: Mapping[str, Any] = {"plugin.discovery": "hybrid_warn"}
# Keys that only Millrace writes, with the variable that sets each.
OWNED: Mapping[str, str] = {
    "bootstrap.servers": "the group kafka_brokers",
    "config.storage.topic": "connect_group",
    "group.id": "connect_group",
    "listeners": "connect_port",
    "offset.storage.topic": "connect_group",
    "plugin.path": "connect_plugins",
    "rest.advertised.host.name": "connect_host",
    "rest.advertised.listener": "connect_security",
    "rest.advertised.port": "connect_port",
    "status.storage.topic": "connect_group",
}


@dataclass(frozen=True)
class Worker(KafkaService):
    """One worker."""

    has_database: bool = False
    """Whether there is a PostgreSQL server for connectors."""
    registry_users: tuple[RegistryUser, ...] = ()
    """The users of the schema registry that converters may be."""
    product = "connect"
    title = "Apache Kafka Connect"
    address_variable = "connect_host"
    port_variable = "connect_port"
    port_variables = (port_variable,)
    connecting = (NODES, ADMINS)
    of_connect = True
    kafka_user = KAFKA_USER
    kafka_authority = KAFKA_AUTHORITY
    owned = OWNED
    takes_plugins = True
    leftovers = (
        REST_STORE,
        AUTHORITY,
        KAFKA_AUTHORITY,
        f"{_DIRECTORY}/",
        SECRETS,
        f"{CONFIG}/",  # former users and secrets have files there too
    )

    @property
    def table(self) -> Table:
        """The keys that its version knows, none for a version that is not known."""
        return connect_key_table.load(self.version)

    def knows(self, key: str) -> bool:
        """Return whether its version reads a key, or one of its plugins may."""
        return connect_key_table.is_known(key, self.config, self.version)

    @property
    def group(self) -> str:
        """The name of the group of workers."""
        return str(self.settings["connect_group"])

    @property
    def certificates(self) -> list[Certificate]:
        """What it shows clients and other workers, of the CA of the REST interface."""
        if not self.is_secured:
            return []
        name, names = f"{self.name}/connect", self.certificate_names
        return [Certificate(name, REST_STORE, "connect", names, client=True)]

    @cached_property
    def connectors(self) -> list[Connector]:
        """The connectors that the inventory names, those to be removed among them."""
        return _connectors(self.settings)

    @cached_property
    def mirrors(self) -> list[Mirror]:
        """The clusters that this one follows."""
        return mirrors.of_settings(self.settings)

    def connector_config(self, connector: Connector) -> dict[str, str]:
        """Return the configuration of a connector as the workers get it.

        A worker reads secrets only when it starts a connector: changed ones change its digest.
        """
        logs_in = bool(self.kafka_login)
        config = {**self._of_mirror(connector), **connector.config(logs_in=logs_in)}
        digest = connectors.digest(connector.name, config, self.secret_values)
        return {**config, **({connectors.DIGEST: digest} if digest else {})}

    def _of_mirror(self, connector: Connector) -> dict[str, str]:
        """Return what a connector of a mirror gets of its worker, empty for any other one."""
        kinds = {mirror.name(kind): kind for mirror in self.mirrors for kind in mirrors.KINDS}
        kind = kinds.get(connector.name)
        if kind is None:
            return {}
        client = {**self._client, "bootstrap.servers": self.kafka_bootstrap}
        if self.kafka_login:
            login = connectors.login_file(connector.user)
            client[connectors.LOGIN_KEY] = connectors.reference(login, connectors.LOGIN_KEY)
        copies = self.broker.replication_factor if self.broker else 1
        exactly = "required" if self.config[EXACTLY_ONCE] == "enabled" else "requested"
        properties = {
            **{f"target.cluster.{key}": value for key, value in client.items()},
            **mirrors.sizes(kind, copies, len(self.peers)),
            **({"exactly.once.support": exactly} if kind == mirrors.TOPICS else {}),
        }
        return {key: property_text(value) or "" for key, value in properties.items()}

    @property
    def required_classes(self) -> dict[str, str]:
        """Each property of a worker or a connector that names a class -> the class."""
        named = {f"connect_config.{key}": self.config.get(key) for key in _CLASSES}
        for connector in self.connectors:
            for key, value in by_name(connector.given).items() if connector.present else ():
                if key == connectors.CLASS or _CLASS_KEY.fullmatch(key):
                    named[f"{connectors.VARIABLE}[{connector.name}].config.{key}"] = value
        # Of all but connectors a short name may stand for any class.
        return {
            where: name
            for where, value in named.items()
            if (name := str(value or "").strip())
            and "$" + "{" not in name
            and not name.startswith(_OF_KAFKA)
            and ("." in name or where.endswith(connectors.CLASS))
        }

    @property
    def secret_values(self) -> dict[str, dict[str, Any]]:
        """Path of a file of secrets -> its keys and values."""
        entries = by_name(self.settings[connectors.SECRETS_VARIABLE]).items()
        configured = {
            connectors.secret_file(name): by_name(mapping(values)) for name, values in entries
        }
        logins = {
            connectors.login_file(user): {connectors.LOGIN_KEY: login[connectors.LOGIN_KEY]}
            for user, login in self._logins.items()
        }
        mirror_logins = {
            mirror.login_file: mirror.login
            for mirror in self.mirrors
            if mirror.present and mirror.login
        }
        return {**self._of_database, **self._of_registry, **configured, **logins, **mirror_logins}

    @property
    def _of_database(self) -> dict[str, dict[str, Any]]:
        """The file with the passwords of the database's users, as `secret_values` has it."""
        file = connectors.secret_file(POSTGRESQL)
        return {file: {**postgresql.passwords(self.secrets)}} if self.has_database else {}

    @property
    def _of_registry(self) -> dict[str, dict[str, Any]]:
        """The file with the passwords of the registry's users, as `secret_values` has it."""
        file = connectors.secret_file(SCHEMA_REGISTRY)
        passwords = {user.name: user.password for user in self.registry_users}
        return {file: passwords} if passwords else {}

    def secret_files(self) -> dict[str, Entry]:
        """Return what connectors read: the values of `connect_secrets`, and their users' logins.

        A connector reads them when it starts, so that a worker need not be restarted.
        """
        permissions = {"mode": "0640", "group": self.user, "secret": True}
        entries = {SECRETS: files.directory("root", "0750", self.user)}
        for path, values in self.secret_values.items():
            entries[path] = files.text(files.properties(values), **permissions)
        return entries

    @property
    def _logins(self) -> dict[str, Mapping[str, Any]]:
        """User of a connector -> its client properties."""
        if self.broker is None or not self.kafka_login:
            return {}
        users = dict.fromkeys(
            connector.user for connector in self.connectors if connector.user and connector.present
        )
        return {user: self.broker.clients.user_config(user, KAFKA_AUTHORITY) for user in users}

    @property
    def missing_secrets(self) -> list[str]:
        """What its files need and the secrets do not have, by its name."""
        needed = self.is_secured or self.has_database
        authorities = {AUTHORITY_FILE: self.secrets.connect_authority} if needed else {}
        return [
            *self.lacking(authorities),
            *self.missing_passwords(
                [
                    KAFKA_USER,
                    *(connector.user for connector in self.connectors if connector.present),
                ]
            ),
            *(postgresql.missing_passwords(self.secrets) if self.has_database else []),
            *(
                f"passwords/{name}"
                for name in schema_registry.without_password(self.registry_users)
            ),
        ]

    def _defaults(self) -> dict[str, dict[str, Any]]:
        copies = self.broker.replication_factor if self.broker else 1
        topics = {f"{kind}.storage.replication.factor": copies for kind in _TOPICS}
        return {
            "topology": {**_TOPOLOGY, **topics, **(_DISCOVERY if self.plugins else {})},
            "security": {**self._kafka_client(), **(_rest_tls() if self.is_secured else {})},
        }

    @property
    def _client(self) -> dict[str, Any]:
        """The client properties of the workers, without addresses."""
        configured = by_name(self.settings["connect_config"]).items()
        return {
            **self.kafka_client,
            **{key: value for key, value in configured if key.startswith(_CLIENT_KEYS)},
        }

    def _kafka_client(self) -> dict[str, Any]:
        """Return how workers connect to Kafka, and connectors, which get no login of theirs."""
        client = self._client
        of_connectors = {
            f"{prefix}{key}": value
            for prefix in _CLIENTS
            for key, value in client.items()
            if key != connectors.LOGIN_KEY
        }
        return {**client, **of_connectors}

    def _owned_config(self) -> dict[str, Any]:
        scheme, port = "https" if self.is_secured else "http", self.settings["connect_port"]
        return {
            "bootstrap.servers": self.kafka_bootstrap,
            "group.id": self.group,
            # On all addresses, as Kafka: behind NAT a host does not have the one of its name.
            # Without any here Jetty would resolve the name of the host.
            "listeners": f"{scheme}://0.0.0.0:{port}",
            "plugin.path": ",".join(
                [f"{self.distribution.home}/plugins", *(plugin.home for plugin in self.plugins)]
            ),
            "rest.advertised.host.name": self.address.strip("[]"),
            "rest.advertised.listener": scheme,
            "rest.advertised.port": port,
            **{
                f"{kind}.storage.topic": topic
                for kind, topic in internal_topics(self.group).items()
            },
        }

    def files(self) -> dict[str, Entry]:
        """Return the configuration files; `restart` marks what only a restart brings."""
        logging = f"-Dlog4j2.configurationFile={CONFIG}/log4j2.yaml"
        program = f"org.apache.kafka.connect.cli.ConnectDistributed {PROPERTIES}"
        prepare = {"prepare": f"/bin/sh {_STORES}"} if self.is_secured else {}
        return {
            **super().files(),
            PROPERTIES: files.property_file(self.config, mode="0640", group=self.user, secret=True),
            **self.secret_files(),
            **self.copy("log4j2.yaml"),
            **self._certificate_files(),
            **self.server(f"worker of {self.group}", logging, program, **prepare),
        }

    def _certificate_files(self) -> dict[str, Entry]:
        entries = {_DIRECTORY: files.directory(), **self.certificate_files()}
        if self.broker and self.kafka_login:
            entries[KAFKA_AUTHORITY] = files.text(self.broker.secrets.authority, restart=True)
        if self.is_secured or self.has_database:
            entries[AUTHORITY] = files.text(self.secrets.connect_authority, restart=True)
        if self.is_secured:
            stores = files.render(
                "connect-stores.sh.j2",
                keytool=f"{self.host.java.binary.removesuffix('java')}keytool",
                certificate=REST_STORE,
                authority=AUTHORITY,
                key_store=_KEY_STORE,
                trust_store=_TRUST_STORE,
                password=_STORE_PASSWORD,
            )
            entries[_STORES] = files.text(stores, mode="0755", restart=True)
        return entries


def _rest_tls() -> dict[str, Any]:
    """Return the properties of a REST interface that requires client certificates of its CA."""
    return {
        CLIENT_AUTHENTICATION: "required",
        f"{_REST}ssl.enabled.protocols": "TLSv1.3,TLSv1.2",
        f"{_REST}ssl.endpoint.identification.algorithm": "https",
        f"{_REST}ssl.keystore.location": _KEY_STORE,
        f"{_REST}ssl.keystore.type": "PKCS12",
        f"{_REST}ssl.keystore.password": _STORE_PASSWORD,
        f"{_REST}ssl.key.password": _STORE_PASSWORD,
        f"{_REST}ssl.truststore.location": _TRUST_STORE,
        f"{_REST}ssl.truststore.type": "PKCS12",
        f"{_REST}ssl.truststore.password": _STORE_PASSWORD,
    }


def internal_topics(group: str) -> dict[str, str]:
    """Return what the workers of a group keep in Kafka -> the topic: each is compacted."""
    return {kind: f"{group}-{kind}{'' if kind == 'status' else 's'}" for kind in _TOPICS}


def leader_transactional_id(group: str) -> str:
    """Return with which transactional id the leader of a group writes configurations."""
    return f"connect-cluster-{group}"


def is_rest(name: str) -> bool:
    """Return whether a certificate of the secrets is of the REST interface's CA, by its name."""
    return name == ADMIN_CERTIFICATE or name.rpartition("/")[2] in ("connect", POSTGRESQL)


def admin_certificate() -> Certificate:
    """Return the certificate by which people use the REST interface from anywhere."""
    return Certificate(ADMIN_CERTIFICATE, "", ADMIN_CERTIFICATE, (ADMIN_CERTIFICATE,), client=True)


def kafka_users(resolution: Resolution) -> list[User]:
    """Return the users that workers and connectors are, with the least grants that let them work.

    All workers have the same connectors. Workers create their topics themselves, and refuse one
    that is not compacted. The leader writes the topic of configurations in transactions, so that a
    former leader cannot (KIP-618).
    """
    settings = [worker.settings for worker in resolution.members(GROUP).values()]
    groups = dict.fromkeys(str(variables["connect_group"]) for variables in settings)
    operations = ["create", "describe_configs", "read", "write"]
    grants = [
        grant
        for group in groups
        for grant in (
            *(
                {"topic": topic, "operations": operations}
                for topic in internal_topics(group).values()
            ),
            {"group": group, "operations": ["read"]},
            {"transactional_id": leader_transactional_id(group), "operations": ["write"]},
        )
    ]
    if not settings:
        return []
    group, configured = str(settings[0]["connect_group"]), _connectors(settings[0])
    return [User(KAFKA_USER, grants), *connectors.users(group, configured)]


def _connectors(settings: Mapping[str, Any]) -> list[Connector]:
    """Return the connectors of a worker's variables: those that they name, and those of mirrors."""
    followed = {mirror.source: mirror for mirror in mirrors.of_settings(settings)}
    of_mirrors = [connector for mirror in followed.values() for connector in mirror.connectors()]
    return [*connectors.of_settings(settings), *of_mirrors]


def resolve(resolution: Resolution) -> dict[str, Worker]:
    """Return host -> worker of all hosts of the group kafka_connect.

    Of the users of the schema registry they get the one of their name.
    """
    registry = any_instance(resolution)
    users = tuple(user for user in (registry.users if registry else ()) if user.name == KAFKA_USER)
    workers, secrets = resolution.members(GROUP), resolution.inventory.secrets
    has_database = bool(resolution.parts(POSTGRESQL))
    return {
        name: Worker(host, workers, any_broker(resolution), secrets, has_database, users)
        for name, host in workers.items()
    }
