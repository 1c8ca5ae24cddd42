"""The option `resources` of a module, and the policy that its other options describe."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...kafka import canary
from ...kafka.acls import ANY_HOST
from ..user_options import USER
from .items import KINDS, Policy
from .plan import Desired
from .topics import DELETE_RECORDS, WORDS

_SOURCE: Mapping[str, Any] = {
    "owner": {"type": "str", "default": ""},
    "where": {"type": "str", "default": ""},
}
_STATE: Mapping[str, Any] = {
    "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
    **_SOURCE,
}
_CONFIG: Mapping[str, Any] = {
    "name": {"type": "str", "required": True},
    "config": {"type": "dict", "default": {}},
    **_STATE,
}
_NUMBER: Mapping[str, Any] = {"type": "int"}
TOPIC: Mapping[str, Any] = {
    **_CONFIG,
    "partitions": _NUMBER,
    "replication": _NUMBER,
    "confirm": {"type": "list", "elements": "str", "choices": [*WORDS], "default": []},
}
ACL: Mapping[str, Any] = {
    "principal": {"type": "str", "required": True},
    "resource": {"type": "str", "required": True},
    "name": {"type": "str"},
    "pattern": {"type": "str", "choices": ["literal", "prefixed"], "default": "literal"},
    "operation": {"type": "str", "required": True},
    "permission": {"type": "str", "choices": ["allow", "deny"], "default": "allow"},
    "host": {"type": "str", "default": ANY_HOST},
    **_STATE,
}
QUOTA: Mapping[str, Any] = {
    "entity": {"type": "dict", "required": True},
    "values": {"type": "dict", "default": {}},
    **_STATE,
}


def _entries(options: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "list", "elements": "dict", "default": [], "options": options}


_RESOURCES: Mapping[str, Any] = {
    "type": "dict",
    "default": {},
    "options": {
        "topics": _entries(TOPIC),
        "acls": _entries(ACL),
        "users": _entries({**USER, **_SOURCE}),
        "quotas": _entries(QUOTA),
        "groups": _entries(_CONFIG),
        "client_metrics": _entries(_CONFIG),
    },
    "apply_defaults": True,
}
OPTIONS: Mapping[str, Any] = {
    "resources": _RESOURCES,
    "elsewhere": _RESOURCES,
    "kinds": {"type": "list", "elements": "str", "choices": [*KINDS], "default": [*KINDS]},
    "floor": {
        "type": "dict",
        "options": {"replication": _NUMBER, "min_isr": _NUMBER},
        "apply_defaults": True,
    },
    "scope": {"type": "list", "elements": "str", "default": []},
    "prune": {"type": "str", "default": ""},
    "confirm_prune": {
        "type": "list",
        "elements": "str",
        "choices": [DELETE_RECORDS],
        "default": [],
    },
    "service_topics": {"type": "list", "elements": "str", "default": []},
    "service_users": {"type": "list", "elements": "str", "default": []},
}


def policy_of(params: Mapping[str, Any], now_ms: int) -> Policy:
    """Return the policy that the options describe; the canary's topic is Millrace's own."""
    return Policy(
        replication_floor=params["floor"]["replication"],
        min_isr_floor=params["floor"]["min_isr"],
        scope=tuple(params["scope"]),
        prune=params["prune"],
        confirm_prune=frozenset(params["confirm_prune"]),
        service_topics=frozenset({*params["service_topics"], canary.TOPIC}),
        service_users=frozenset(params["service_users"]),
        now_ms=now_ms,
        elsewhere=frozenset(Desired.of(params["elsewhere"]).keys()),
    )
