"""What a module is told to expect of a cluster, and what the operator lets it do."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ansible_collections.millrace.streaming.plugins.module_utils import canary
from ansible_collections.millrace.streaming.plugins.module_utils.availability import Policy
from ansible_collections.millrace.streaming.plugins.module_utils.cluster_health import Expected

# The fragment `kafka_gate` documents them.
ARGUMENTS: Mapping[str, Any] = {
    "expect_brokers": {"type": "list", "elements": "int", "default": []},
    "expect_voters": {"type": "list", "elements": "int", "default": []},
    "cluster_id": {"type": "str"},
    "strict": {"type": "bool", "default": True},
    "allow_outage": {"type": "list", "elements": "str", "default": []},
    "allow_unsafe_quorum": {"type": "bool", "default": False},
}


def expected_of(params: Mapping[str, Any], **limits: int) -> Expected:
    """Return what the options say of the cluster; `limits` are those of `Expected`."""
    return Expected(
        brokers=frozenset(params["expect_brokers"]),
        voters=frozenset(params["expect_voters"]),
        cluster_id=params["cluster_id"],
        **limits,
    )


def policy_of(params: Mapping[str, Any]) -> Policy:
    """Return what the options allow; the canary's topic serves no client."""
    return Policy(
        strict=params["strict"],
        allow_outage=frozenset({*params["allow_outage"], canary.TOPIC}),
        allow_unsafe_quorum=params["allow_unsafe_quorum"],
    )
