"""One connection to a cluster through kafka-python, which lies on the hosts beside Kafka.

Without it this module can be imported: the client is imported once `find_client` has found it.
"""

from __future__ import annotations

import logging
import socket
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from ansible_collections.millrace.streaming.plugins.module_utils import cluster_health
from ansible_collections.millrace.streaming.plugins.module_utils.cluster_health import Snapshot

REQUEST_MS = 2000
CONNECT_SECONDS = 0.5
MIN_ISR = "min.insync.replicas"
THROTTLES = ("leader.replication.throttled.replicas", "follower.replication.throttled.replicas")

# The options of every module that talks to a cluster; the fragment of their documentation is here.
ARGUMENTS: Mapping[str, Any] = {
    "bootstrap": {"type": "list", "elements": "str", "required": True},
    "library": {"type": "path", "required": True},
    "security": {
        "type": "dict",
        "options": {
            "protocol": {
                "type": "str",
                "choices": ["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"],
                "default": "PLAINTEXT",
            },
            "cafile": {"type": "path"},
            "certfile": {"type": "path"},
            "keyfile": {"type": "path"},
            "mechanism": {"type": "str", "choices": ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"]},
            "username": {"type": "str"},
            "password": {"type": "str", "no_log": True},
        },
    },
}

T = TypeVar("T")


class NotYetError(Exception):
    """The cluster does not answer yet."""


class NoClientError(Exception):
    """The options do not lead to a cluster; the text says why."""


def cluster_of(params: Mapping[str, Any]) -> Cluster:
    """Return the cluster that the options `ARGUMENTS` of a module name.

    Raises:
        NoClientError: kafka-python is not there, or the addresses are no addresses.

    """
    source = library(Path(params["library"]))
    if source is None:
        text = (
            f"no wheel kafka_python*.whl lies in {params['library']} on this host: "
            "it is part of the Kafka distribution, install that first"
        )
        raise NoClientError(text)
    wrong = [text for text in params["bootstrap"] if not text.rpartition(":")[2].isdecimal()]
    if wrong or not params["bootstrap"]:
        text = f"bootstrap needs host:port entries, got {wrong or 'none'}"
        raise NoClientError(text)
    sys.path.insert(0, str(source))
    # The client reports each refused connection; the verdict says what matters.
    logging.getLogger("kafka").addHandler(logging.NullHandler())
    logging.getLogger("kafka").propagate = False
    return Cluster(params["bootstrap"], client_settings(params["security"]))


class Cluster:
    """A cluster, asked through one broker for as long as that one answers."""

    def __init__(self, bootstrap: list[str], security: dict[str, Any]) -> None:
        """Remember whom to ask and how."""
        self._bootstrap = list(bootstrap)
        self._security = security
        self._clients: list[Any] = []
        self._admin: Any = None

    def ask(self, question: Callable[[Any], T]) -> T:
        """Return what `question` gets from the admin client of the first broker that answers.

        Raises:
            NotYetError: no broker answers, or not with what is needed; names each one's reason.

        """
        from kafka.errors import KafkaError  # type: ignore[import-untyped]  # no types

        reasons: list[str] = []
        for address in list(self._bootstrap):
            try:
                if self._admin is None:
                    self._admin = self._connect(address)
                return question(self._admin)
            except (KafkaError, OSError, LookupError) as error:
                reason = getattr(error, "strerror", None) or f"{type(error).__name__}: {error}"
                reasons.append(f"{address}: {reason}")
                self.close()
                self._bootstrap.append(self._bootstrap.pop(0))
        raise NotYetError("; ".join(reasons))

    def read(self, *, gate: bool = False) -> Snapshot:
        """Return the cluster as it is now; with `gate` all that decides whether a node may stop.

        Raises:
            NotYetError: as `ask`.

        """
        return self.ask(lambda admin: _snapshot(admin, gate=gate))

    def close(self) -> None:
        """Drop the connection, and the thread of a client that did not get one."""
        for client in self._clients:
            client.close()
            client._manager._net.stop()
        self._clients, self._admin = [], None

    def _connect(self, address: str) -> Any:  # noqa: ANN401  kafka-python has no types
        from kafka import KafkaAdminClient  # type: ignore[import-untyped]  # no types
        from kafka.net.compat import KafkaNetClient  # type: ignore[import-untyped]  # no types

        host, _, port = address.rpartition(":")
        # The client waits ten seconds for a host that does not answer at all.
        socket.create_connection((host.strip("[]"), int(port)), CONNECT_SECONDS).close()

        def client(**config: object) -> Any:  # noqa: ANN401  kafka-python has no types
            self._clients.append(KafkaNetClient(**config))
            manager = self._clients[-1]._manager
            # It would ask any broker it knows of, also one that hangs.
            manager.least_loaded_node = lambda: manager.cluster.bootstrap_brokers()[0].node_id
            return self._clients[-1]

        return KafkaAdminClient(
            bootstrap_servers=[address],
            bootstrap_timeout_ms=REQUEST_MS,
            request_timeout_ms=REQUEST_MS,
            reconnect_backoff_max_ms=200,
            kafka_client=client,
            **self._security,
        )


def library(directory: Path) -> Path | None:
    """Return where kafka-python is imported from: the directory, if unpacked there, or a wheel."""
    if (directory / "kafka" / "__init__.py").is_file():
        return directory
    return max(directory.glob("kafka_python*.whl"), default=None)


def client_settings(security: dict[str, Any] | None) -> dict[str, Any]:
    """Return the admin client's names for the settings of `security`."""
    names = {
        "protocol": "security_protocol",
        "cafile": "ssl_cafile",
        "certfile": "ssl_certfile",
        "keyfile": "ssl_keyfile",
        "mechanism": "sasl_mechanism",
        "username": "sasl_plain_username",
        "password": "sasl_plain_password",
    }
    return {names[key]: value for key, value in (security or {}).items() if value is not None}


def _snapshot(admin: Any, *, gate: bool) -> Snapshot:  # noqa: ANN401  kafka-python has no types
    from kafka.errors import (
        IncompatibleBrokerVersion,
        UnsupportedVersionError,
    )

    topics = admin.describe_topics()
    try:
        quorum = admin.describe_metadata_quorum()
    except (IncompatibleBrokerVersion, UnsupportedVersionError):
        quorum = None
    wanted = cluster_health.shrunk_topics(topics)
    if gate:
        wanted = [topic["name"] for topic in topics]
    settings = _settings(admin, wanted)
    hidden = sorted(name for name in wanted if gate and MIN_ISR not in settings.get(name, {}))
    if hidden:  # or deleted just now: the next look will tell
        text = f"the settings of {', '.join(hidden[:5])} are not shown: may this client see them?"
        raise NotYetError(text)
    moves = admin.list_partition_reassignments() if gate else {}
    return cluster_health.snapshot(
        admin.describe_cluster(),
        topics,
        quorum,
        # A topic that was deleted meanwhile has no settings.
        {name: int(keys[MIN_ISR]) for name, keys in settings.items() if MIN_ISR in keys},
        reassigning=[f"{move.topic}-{move.partition}" for move in moves],
        throttled=[name for name, keys in settings.items() if any(map(keys.get, THROTTLES))],
    )


def _settings(admin: Any, topics: list[str]) -> dict[str, dict[str, str]]:  # noqa: ANN401  as above
    from kafka.admin import ConfigResource, ConfigResourceType  # type: ignore[import-untyped]  # no types

    if not topics:
        return {}
    keys = dict.fromkeys((MIN_ISR, *THROTTLES))
    answer = admin.describe_configs(
        [ConfigResource(ConfigResourceType.TOPIC, name, keys) for name in topics],
        config_filter="all",
    )
    return {
        name: {key: setting["value"] for key, setting in settings.items()}
        for name, settings in answer["topic"].items()
    }
