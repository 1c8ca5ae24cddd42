"""The connectors of the inventory: what runs on the workers of Kafka Connect, and as whom."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ....module_utils.formats.config_providers import references
from ....module_utils.formats.values import by_name, property_text, sequence, texts
from ..kafka import security
from ..kafka.security import Grant, User

VARIABLE = "connect_connectors"
SECRETS_VARIABLE = "connect_secrets"
SECRETS = "/etc/connect/secrets"
"""The one directory from which the configuration of a connector may take values."""
LOGIN_KEY = "sasl.jaas.config"
CLASS = "connector.class"
DIGEST = "millrace.secrets.digest"
"""The property by which a connector gets another configuration when its secrets change."""
_ROUNDS = 50_000
_CLIENTS = ("producer.override.", "consumer.override.", "admin.override.")


@dataclass(frozen=True)
class Connector:
    """A connector as the inventory describes it."""

    name: str
    given: Mapping[str, Any] = field(default_factory=dict)
    state: str = "running"
    """One of running, paused, stopped and absent."""
    user: str = ""
    """The user of Kafka as which it reads and writes."""
    grants: Sequence[Grant] = ()
    """What that user may do besides what every connector needs."""

    @property
    def present(self) -> bool:
        """Whether it is to be there."""
        return self.state != "absent"

    @property
    def is_sink(self) -> bool:
        """Whether it reads topics, by the name of its class."""
        return "Sink" in str(self.given.get(CLASS, "")).rpartition(".")[2]

    def config(self, *, logs_in: bool) -> dict[str, str]:
        """Return its configuration as the workers get it, all of it text.

        With a login the connector reads and writes by it.
        """
        overrides: dict[str, str] = {}
        if logs_in and self.user:
            login = reference(login_file(self.user), LOGIN_KEY)
            overrides = {f"{prefix}{LOGIN_KEY}": login for prefix in _CLIENTS}
        configured = {key: property_text(value) or "" for key, value in by_name(self.given).items()}
        return {**overrides, **configured, "name": self.name}

    def all_grants(self, group: str) -> list[Grant]:
        """Return what its user may do: what the inventory says, and what Kafka Connect needs."""
        if self.is_sink:
            # Its offsets are those of a consumer group; to reset them is to delete it.
            needed: list[Grant] = [
                {"group": f"connect-{self.name}", "operations": ["read", "delete"]}
            ]
        else:
            # In one transaction with its records. A topic of its own for them would keep other
            # connectors out, but Kafka 4.3 cannot reset offsets in one: the request never ends.
            needed = [
                {"topic": f"{group}-offsets", "operations": ["read", "write"]},
                {
                    "transactional_id": transactional_ids(group, self.name),
                    "pattern": "prefixed",
                    "operations": ["write"],
                },
            ]
        return [*needed, *self.grants]


def transactional_ids(group: str, name: str) -> str:
    """Return the beginning of the transactional ids of a source's tasks."""
    return f"{group}-{name}-"


def login_file(user: str) -> str:
    """Return the file with the login of a connector's user, on every worker."""
    return f"{SECRETS}/kafka-login-{user}.properties"


def secret_file(name: str) -> str:
    """Return the file with the values of one entry of `connect_secrets`, on every worker."""
    return f"{SECRETS}/{name}.properties"


def reference(path: str, key: str) -> str:
    """Return the value by which a worker takes another one from a file."""
    return f"${{file:{path}:{key}}}"


def digest(name: str, config: Mapping[str, Any], files: Mapping[str, Mapping[str, Any]]) -> str:
    """Return a digest of what a configuration refers to, empty if that is nothing.

    `files` is path -> its keys and values. Kafka keeps it beside the connector, so that no failed
    run and no other playbook can hide that a secret has changed; it is slow to compute.
    """
    used = {
        f"{path}:{key}": property_text(files.get(path, {}).get(key))
        for _, path, key in references(config)
    }
    if not used:
        return ""
    text = json.dumps(used, sort_keys=True).encode()
    return hashlib.pbkdf2_hmac("sha256", text, name.encode(), _ROUNDS).hex()[:32]


def of_settings(settings: Mapping[str, Any]) -> list[Connector]:
    """Return the connectors that a worker's variables name, in their order."""
    return [
        Connector(
            name=str(entry["name"]),
            given=dict(entry.get("config") or {}),
            state=str(entry.get("state") or "running"),
            user=str(entry.get("kafka_user") or ""),
            grants=[security.grant(grant) for grant in entry.get("grants") or ()],
        )
        for entry in settings[VARIABLE]
    ]


def topics_read(connectors: Sequence[Connector]) -> dict[str, list[str]]:
    """Return topic -> the sinks that read it, without those that a source may create.

    A source without grants, on an open cluster, may create any.
    """
    present = [connector for connector in connectors if connector.present]
    sources = [connector for connector in present if not connector.is_sink]
    readers: dict[str, list[str]] = {}
    for connector in present if all(source.grants for source in sources) else ():
        for topic in texts(connector.given.get("topics")) if connector.is_sink else ():
            if not any(
                allows(grant, topic, "create") for source in sources for grant in source.grants
            ):
                readers.setdefault(topic, []).append(connector.name)
    return readers


def allows(grant: Grant, topic: str, operation: str) -> bool:
    """Return whether a grant lets a user do something with a topic."""
    name = str(grant.get("topic") or "")
    prefixed = grant.get("pattern") == "prefixed" and topic.startswith(name)
    used = {operation, "all"}.intersection(map(str, sequence(grant.get("operations"))))
    return bool(name and used) and (prefixed or name in ("*", topic))


def users(group: str, connectors: Sequence[Connector]) -> list[User]:
    """Return the users of Kafka that connectors bring.

    That of an absent connector is left alone until the connector is gone.
    """
    by_user = {
        connector.user: connector
        for connector in connectors
        if connector.user and connector.present
    }
    return [User(name, connector.all_grants(group)) for name, connector in by_user.items()]


def former_user(connector: Connector, connectors: Sequence[Connector]) -> str:
    """Return the user that goes with a connector which is to be removed, empty for none."""
    remaining = {listed.user for listed in connectors if listed.present}
    return "" if connector.present or connector.user in remaining else connector.user
