#!/usr/bin/python
"""Ansible module: a verdict on a whole Kafka cluster."""

from __future__ import annotations

import logging
import socket
import sys
import time
from pathlib import Path
from typing import Any

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.millrace.streaming.plugins.module_utils import cluster_health
from ansible_collections.millrace.streaming.plugins.module_utils.cluster_health import (
    Expected,
    Snapshot,
)

DOCUMENTATION = r"""
module: kafka_health
short_description: A verdict on a whole Kafka cluster
version_added: 0.1.0
description:
  - Reads brokers, quorum and partitions once and says everything that is wrong.
  - With O(wait) it looks again until the cluster is healthy or the time is over.
  - Changes nothing, so it runs in check mode too.
options:
  bootstrap:
    description: Brokers to ask, each C(host:port).
    type: list
    elements: str
    required: true
  library:
    description:
      - Directory with the wheel of kafka-python, such as C(<home>/python).
      - A wheel that is unpacked there is preferred, since Python can keep its compiled form.
    type: path
    required: true
  expect_brokers:
    description: Node ids of all brokers; others or missing ones are a problem. Empty means any.
    type: list
    elements: int
    default: []
  expect_voters:
    description: Node ids of all controllers; others or missing ones are a problem. Empty means any.
    type: list
    elements: int
    default: []
  cluster_id:
    description: The cluster id that must be found.
    type: str
  wait:
    description: Seconds to wait for a healthy cluster; 0 judges once.
    type: float
    default: 0
  max_lag:
    description: Records of metadata that a controller or broker may be behind.
    type: int
    default: 100
  max_behind_ms:
    description: Milliseconds since a controller or broker last had all metadata.
    type: int
    default: 5000
  fail:
    description: Whether an unhealthy cluster fails the task.
    type: bool
    default: true
  security:
    description: How to connect. Without it, in plain text.
    type: dict
    suboptions:
      protocol:
        description: Kafka's security protocol.
        type: str
        choices: [PLAINTEXT, SSL, SASL_PLAINTEXT, SASL_SSL]
        default: PLAINTEXT
      cafile:
        description: PEM file of the certificate authorities.
        type: path
      certfile:
        description: PEM file of the client's certificate.
        type: path
      keyfile:
        description: PEM file of the client's private key.
        type: path
      mechanism:
        description: SASL mechanism.
        type: str
        choices: [PLAIN, SCRAM-SHA-256, SCRAM-SHA-512]
      username:
        description: SASL user.
        type: str
      password:
        description: SASL password.
        type: str
attributes:
  check_mode:
    description: Reads only.
    support: full
author:
  - Millrace (@millrace)
"""

EXAMPLES = r"""
- name: Wait until the cluster is healthy
  millrace.streaming.kafka_health:
    bootstrap: [kafka1:9092, kafka2:9092]
    library: /opt/millrace/kafka/current/python
    expect_brokers: [1, 2, 3]
    expect_voters: [1, 2, 3]
    wait: 60
"""

RETURN = r"""
healthy:
  description: Whether there are no problems.
  returned: always
  type: bool
problems:
  description: Everything that is wrong.
  returned: always
  type: list
  elements: str
seconds:
  description: Time from the start of the task to the verdict.
  returned: always
  type: float
cluster_id:
  description: Id of the cluster. This and all below are missing where no broker answered.
  returned: when a broker answered
  type: str
brokers:
  description: Registered brokers, each with id, host, port, rack and fenced.
  returned: when a broker answered
  type: list
  elements: dict
controller:
  description: Node id of the active controller, -1 if there is none.
  returned: when a broker answered
  type: int
leader_epoch:
  description: Epoch of the quorum's leader; null with ZooKeeper.
  returned: when a broker answered
  type: int
voters:
  description: Voters of the quorum, each with id, lag (records) and behind_ms.
  returned: when a broker answered
  type: list
  elements: dict
observers:
  description: Observers of the quorum (brokers), in the same form.
  returned: when a broker answered
  type: list
  elements: dict
topics:
  description: Number of topics, internal ones included.
  returned: when a broker answered
  type: int
partitions:
  description: Number of partitions.
  returned: when a broker answered
  type: int
offline:
  description: Partitions without leader, as topic-0.
  returned: when a broker answered
  type: list
  elements: str
under_replicated:
  description: Partitions with a replica out of sync.
  returned: when a broker answered
  type: list
  elements: str
under_min_isr:
  description: Partitions with fewer replicas in sync than min.insync.replicas.
  returned: when a broker answered
  type: list
  elements: str
"""

POLL_SECONDS = 0.1
REQUEST_MS = 2000
CONNECT_SECONDS = 0.5


class NotYetError(Exception):
    """The cluster does not answer yet."""


class Cluster:
    """A cluster, asked through one broker for as long as that one answers."""

    def __init__(self, bootstrap: list[str], security: dict[str, Any]) -> None:
        """Remember whom to ask and how."""
        self._bootstrap = list(bootstrap)
        self._security = security
        self._clients: list[Any] = []
        self._admin: Any = None

    def read(self) -> Snapshot:
        """Return the cluster as it is now, asked of the first broker that answers.

        Raises:
            NotYetError: no broker answers, or not with what is needed; names each one's reason.

        """
        from kafka.errors import KafkaError  # type: ignore[import-untyped]  # no types

        reasons: list[str] = []
        for address in list(self._bootstrap):
            try:
                return self._read_from(address)
            except (KafkaError, OSError, LookupError) as error:
                reason = getattr(error, "strerror", None) or f"{type(error).__name__}: {error}"
                reasons.append(f"{address}: {reason}")
                self.close()
                self._bootstrap.append(self._bootstrap.pop(0))
        raise NotYetError("; ".join(reasons))

    def close(self) -> None:
        """Drop the connection, and the thread of a client that did not get one."""
        for client in self._clients:
            client.close()
            client._manager._net.stop()
        self._clients, self._admin = [], None

    def _read_from(self, address: str) -> Snapshot:
        from kafka.errors import IncompatibleBrokerVersion, UnsupportedVersionError

        if self._admin is None:
            self._admin = self._connect(address)
        topics = self._admin.describe_topics()
        try:
            quorum = self._admin.describe_metadata_quorum()
        except (IncompatibleBrokerVersion, UnsupportedVersionError):
            quorum = None
        shrunk = cluster_health.shrunk_topics(topics)
        return cluster_health.snapshot(
            self._admin.describe_cluster(), topics, quorum, self._min_isr(shrunk)
        )

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

    def _min_isr(self, topics: list[str]) -> dict[str, int]:
        from kafka.admin import ConfigResource, ConfigResourceType  # type: ignore[import-untyped]  # no types

        if not topics:
            return {}
        key = "min.insync.replicas"
        answer = self._admin.describe_configs(
            [ConfigResource(ConfigResourceType.TOPIC, name, {key: None}) for name in topics],
            config_filter="all",
        )
        # A topic that was deleted meanwhile has no settings.
        return {
            name: int(settings[key]["value"])
            for name, settings in answer["topic"].items()
            if key in settings
        }


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


def judge(cluster: Cluster, expected: Expected, wait: float) -> dict[str, Any]:
    """Look until the cluster is healthy or the time is over, and return the last verdict."""
    start = time.monotonic()
    while True:
        facts: dict[str, Any] = {}
        try:
            snapshot = cluster.read()
            facts = cluster_health.facts(snapshot)
            problems = cluster_health.problems(snapshot, expected)
        except NotYetError as error:
            problems = [f"no broker answers ({error}): see the brokers' journals"]
        seconds = time.monotonic() - start
        if not problems or seconds + POLL_SECONDS > wait:
            cluster.close()
            return {
                **facts,
                "healthy": not problems,
                "problems": problems,
                "seconds": round(seconds, 2),
            }
        time.sleep(POLL_SECONDS)


def main() -> None:
    """Run the module."""
    module = AnsibleModule(
        argument_spec={
            "bootstrap": {"type": "list", "elements": "str", "required": True},
            "library": {"type": "path", "required": True},
            "expect_brokers": {"type": "list", "elements": "int", "default": []},
            "expect_voters": {"type": "list", "elements": "int", "default": []},
            "cluster_id": {"type": "str"},
            "wait": {"type": "float", "default": 0},
            "max_lag": {"type": "int", "default": 100},
            "max_behind_ms": {"type": "int", "default": 5000},
            "fail": {"type": "bool", "default": True},
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
                    "mechanism": {
                        "type": "str",
                        "choices": ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"],
                    },
                    "username": {"type": "str"},
                    "password": {"type": "str", "no_log": True},
                },
            },
        },
        supports_check_mode=True,
    )
    params = module.params
    source = library(Path(params["library"]))
    if source is None:
        module.fail_json(
            msg=f"no wheel kafka_python*.whl lies in {params['library']} on this host: "
            "it is part of the Kafka distribution, install that first"
        )
    wrong = [text for text in params["bootstrap"] if not text.rpartition(":")[2].isdecimal()]
    if wrong or not params["bootstrap"]:
        module.fail_json(msg=f"bootstrap needs host:port entries, got {wrong or 'none'}")
    sys.path.insert(0, str(source))
    # The client reports each refused connection; the verdict says what matters.
    logging.getLogger("kafka").addHandler(logging.NullHandler())
    logging.getLogger("kafka").propagate = False
    expected = Expected(
        brokers=frozenset(params["expect_brokers"]),
        voters=frozenset(params["expect_voters"]),
        cluster_id=params["cluster_id"],
        max_lag=params["max_lag"],
        max_behind_ms=params["max_behind_ms"],
    )
    cluster = Cluster(params["bootstrap"], client_settings(params["security"]))
    verdict = judge(cluster, expected, params["wait"])
    if params["fail"] and not verdict["healthy"]:
        module.fail_json(
            msg=f"the cluster is not healthy after {verdict['seconds']} s:\n- "
            + "\n- ".join(verdict["problems"]),
            **verdict,
        )
    module.exit_json(changed=False, **verdict)


if __name__ == "__main__":
    main()
