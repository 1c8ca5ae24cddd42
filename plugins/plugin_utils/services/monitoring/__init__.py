"""Exporters, Prometheus and Alertmanager, and what programs of ours beside them have in common."""

from __future__ import annotations

from ...cluster.entry import Group, ServiceEntry

GROUP = "monitoring"
KAFKA_USER = "monitoring"
"""The user of Kafka that monitoring hosts are."""

ENTRY = ServiceEntry(
    "monitoring",
    groups=(Group(GROUP, "monitoring server", "monitoring servers"),),
    data_example="/var/lib/monitoring",
    described={
        "monitoring_receivers": GROUP,
        "monitoring_routes": GROUP,
        "monitoring_rule_groups": GROUP,
    },
    reserved_kafka_users=(KAFKA_USER,),
)
