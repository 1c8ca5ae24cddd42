"""The options of modules that operate Kafka, what they mean, and how such a module runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from ansible.module_utils.basic import AnsibleModule

from ..host import operation_file
from ..kafka import canary, library, users
from ..kafka.client import REQUEST_MS, Cluster, UnavailableError
from ..kafka.connection import Connection, ConnectionDescriptionError
from .gate import Expected, Policy

Work = Callable[[AnsibleModule, Cluster], Mapping[str, Any]]
_IDS = {"type": "list", "elements": "int", "default": []}
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
REMOTE: Mapping[str, Any] = {
    "bootstrap": {"type": "list", "elements": "str", "default": []},
    "client_properties": {"type": "dict", "default": {}, "no_log": True},
}
"""In place of `CLIENT`, of modules that run on a control node, too."""
GATE: Mapping[str, Any] = {
    "strict": {"type": "bool", "default": True},
    "allow_outage": {"type": "list", "elements": "str", "default": []},
    "allow_unsafe_quorum": {"type": "bool", "default": False},
}
NODE: Mapping[str, Any] = {
    "unit": {"type": "str", "default": "kafka"},
    "mark": {"type": "path", "default": "/run/kafka/restart-pending"},
    "previous": {"type": "path", "default": "/var/lib/millrace/kafka-previous.json"},
    "record": {"type": "path", "default": operation_file.PATH},
    "operation": {"type": "dict"},
}
"""The files of a node's restart, and of an operation's record."""
TOOL: Mapping[str, Any] = {
    "home": {"type": "path", "required": True},
    "java": {"type": "path", "required": True},
    "config": {"type": "path", "default": "/etc/kafka/server.properties"},
    "node_id": {"type": "int", "required": True},
    "user": {"type": "str", "default": "kafka"},
    "group": {"type": "str", "default": "kafka"},
}
"""What Kafka's own tools run with on a node, and as which user."""


class FailedError(Exception):
    """The module cannot do its work; the text says why and what to do."""


def connection_of(params: Mapping[str, Any]) -> Connection:
    """Return how to connect, with kafka-python importable from now on.

    With the option `client_properties` the module runs on a control node, which needs no file.

    Raises:
        NoLibraryError: kafka-python is not on this host.
        ConnectionDescriptionError: the client properties do not lead to a cluster.

    """
    if properties := params.get("client_properties"):
        library.use_installed()
        return Connection.of(properties, params["bootstrap"])
    library.use(Path(params["library"]))
    return Connection.read(Path(params["client_config"]), params["bootstrap"])


def run(
    work: Work,
    argument_spec: Mapping[str, Any],
    *,
    request_ms: int = REQUEST_MS,
    **keywords: bool,
) -> None:
    """Run a module that works on the cluster that its options `CLIENT` name.

    `request_ms` is how long a broker may take for an answer, `keywords` are those of AnsibleModule.
    """
    spec = {**CLIENT, **argument_spec}
    module = AnsibleModule(argument_spec=spec, supports_check_mode=True, **keywords)
    try:
        connection = connection_of(module.params)
        cluster = Cluster(connection, request_ms=request_ms)
    except (library.NoLibraryError, ConnectionDescriptionError) as error:
        module.fail_json(msg=str(error))
    try:
        result = work(module, cluster)
    except FailedError as error:
        module.fail_json(msg=str(error))
    except UnavailableError as error:
        if users.refuses_login(connection):
            text = "Kafka refuses the login of the client properties: correct user or password"
            module.fail_json(msg=f"{text}, or the sasl.mechanism for which the user has one")
        module.fail_json(msg=f"no broker answers ({error}): see the brokers' journals")
    finally:
        cluster.close()
    module.exit_json(**result)


def expected_of(params: Mapping[str, Any]) -> Expected:
    """Return what the options say of the cluster."""
    return Expected(
        brokers=frozenset(params["expect_brokers"]),
        voters=frozenset(params["expect_voters"]),
        cluster_id=params["cluster_id"] or None,
    )


def policy_of(params: Mapping[str, Any]) -> Policy:
    """Return what the options allow; the canary's topic serves no client."""
    return Policy(
        strict=params["strict"],
        allow_outage=frozenset({*params["allow_outage"], canary.TOPIC}),
        allow_unsafe_quorum=params["allow_unsafe_quorum"],
    )
