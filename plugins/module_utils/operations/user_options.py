"""The options of modules that create users of Kafka, and what they mean."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ..kafka.acls import ANY_HOST
from ..kafka.connection import Connection, ConnectionDescriptionError
from ..kafka.users import MECHANISMS, Logins
from .options import FailedError
from .users import RESOURCES, Scram

SECRETS = ("password", "secret", "sasl.jaas.config", "ssl.keystore.key")
GRANT: Mapping[str, Any] = {
    "topic": {"type": "str"},
    "group": {"type": "str"},
    "transactional_id": {"type": "str"},
    "cluster": {"type": "bool"},
    "host": {"type": "str", "default": ANY_HOST},
    "permission": {"type": "str", "choices": ["allow", "deny"], "default": "allow"},
    "pattern": {"type": "str", "choices": ["literal", "prefixed"], "default": "literal"},
    "operations": {
        "type": "list",
        "elements": "str",
        "required": True,
        "choices": [
            "read",
            "write",
            "create",
            "delete",
            "alter",
            "describe",
            "cluster_action",
            "describe_configs",
            "alter_configs",
            "idempotent_write",
            "all",
        ],
    },
}
USER: Mapping[str, Any] = {
    "name": {"type": "str", "required": True},
    "password": {"type": "str", "no_log": True},
    "replace": {"type": "bool", "default": True},
    "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
    "grants": {
        "type": "list",
        "elements": "dict",
        "default": [],
        "options": GRANT,
        "mutually_exclusive": [RESOURCES],
        "required_one_of": [RESOURCES],
    },
}
LOGIN: Mapping[str, Any] = {
    "mechanism": {"type": "str", "choices": list(MECHANISMS), "default": "SCRAM-SHA-512"},
    "iterations": {"type": "int", "default": 8192},
    "login_bootstrap": {"type": "list", "elements": "str", "default": []},
    "login_properties": {"type": "dict", "default": {}, "no_log": True},
}
"""The credential that users have, and where a login shows whether a password is current."""


def scram_of(params: Mapping[str, Any]) -> Scram:
    """Return the credential that users with a password should have."""
    return Scram(params["mechanism"], params["iterations"])


def logins_of(params: Mapping[str, Any]) -> Logins | None:
    """Return how to log in, None if nobody has to.

    Raises:
        FailedError: the properties do not lead to a listener.

    """
    if not params["login_bootstrap"]:
        return None
    try:
        connection = Connection.of(params["login_properties"], params["login_bootstrap"])
        return Logins(connection, params["mechanism"])
    except ConnectionDescriptionError as error:
        text = f"login_properties: {error}"
        raise FailedError(text) from error


def harmless(properties: Mapping[str, Any]) -> Iterable[str]:
    """Return the values of client properties that are no secrets, and no part of one."""
    secrets = [str(value) for key, value in properties.items() if key.endswith(SECRETS)]
    for key, value in properties.items():
        if not key.endswith(SECRETS) and not any(str(value) in secret for secret in secrets):
            yield str(value)
