"""The options of modules that talk to a cluster, which fragments document, and what they mean."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.millrace.streaming.plugins.module_utils.kafka import canary, library
from ansible_collections.millrace.streaming.plugins.module_utils.kafka.client import Cluster
from ansible_collections.millrace.streaming.plugins.module_utils.kafka.connection import (
    Connection,
    ConnectionDescriptionError,
)
from ansible_collections.millrace.streaming.plugins.module_utils.operations.gate import (
    Expected,
    Policy,
)

_IDS = {"type": "list", "elements": "int", "default": []}
# The fragments `kafka_client` and `kafka_gate` document them.
CLIENT: Mapping[str, Any] = {
    "bootstrap": {"type": "list", "elements": "str", "required": True},
    "client_config": {"type": "path", "default": "/etc/kafka/client.properties"},
    "library": {"type": "path", "default": "/opt/millrace/kafka/python"},
}
EXPECTED: Mapping[str, Any] = {
    "expect_brokers": _IDS,
    "expect_voters": _IDS,
    "cluster_id": {"type": "str"},
}
GATE: Mapping[str, Any] = {
    "strict": {"type": "bool", "default": True},
    "allow_outage": {"type": "list", "elements": "str", "default": []},
    "allow_unsafe_quorum": {"type": "bool", "default": False},
}


def connection_of(params: Mapping[str, Any]) -> Connection:
    """Return how to connect, with kafka-python importable from now on.

    Raises:
        NoLibraryError: kafka-python is not on this host.
        ConnectionDescriptionError: the client properties do not lead to a cluster.

    """
    library.use(Path(params["library"]))
    return Connection.read(Path(params["client_config"]), params["bootstrap"])


def connect(module: AnsibleModule) -> Cluster:
    """Return the cluster that the options `CLIENT` of a module name; fail the module without."""
    try:
        return Cluster(connection_of(module.params))
    except (library.NoLibraryError, ConnectionDescriptionError) as error:
        module.fail_json(msg=str(error))


def expected_of(params: Mapping[str, Any], **limits: int) -> Expected:
    """Return what the options say of the cluster; `limits` are those of `Expected`."""
    return Expected(
        brokers=frozenset(params["expect_brokers"]),
        voters=frozenset(params["expect_voters"]),
        cluster_id=params["cluster_id"] or None,
        **limits,
    )


def policy_of(params: Mapping[str, Any]) -> Policy:
    """Return what the options allow; the canary's topic serves no client."""
    return Policy(
        strict=params["strict"],
        allow_outage=frozenset({*params["allow_outage"], canary.TOPIC}),
        allow_unsafe_quorum=params["allow_unsafe_quorum"],
    )
