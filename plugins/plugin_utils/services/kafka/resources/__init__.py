"""What lives in a cluster, as code: topics, users, grants, quotas, and properties of groups."""

from __future__ import annotations

from collections.abc import Mapping

KINDS: Mapping[str, str] = {
    "topics": "kafka_topics",
    "users": "kafka_users",
    "grants": "kafka_grants",
    "quotas": "kafka_quotas",
    "groups": "kafka_groups",
    "client_metrics": "kafka_client_metrics",
}
"""Key of a file of resources -> the variable of an inventory with entries of the same form."""
