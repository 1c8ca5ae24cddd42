"""Kafka Connect: its workers, connectors and mirrors."""

from __future__ import annotations

from ...cluster.entry import MIB, Group, HealthCheck, ServiceEntry

GROUP = "kafka_connect"
KAFKA_USER = "connect"

ENTRY = ServiceEntry(
    "connect",
    groups=(Group(GROUP, "worker of Kafka Connect", "workers of Kafka Connect", leaves=True),),
    runs_on_java=True,
    unpacked_bytes=500 * MIB,
    described={"connect_connectors": GROUP, "connect_mirrors": GROUP, "connect_plugins": GROUP},
    lowest={"connect_start_timeout": 1, "connect_stop_timeout": 1},
    reserved_kafka_users=(KAFKA_USER,),
    sizes=("connect_heap",),
    identities=("connect_host",),
    property_variables=("connect_config",),
    passwords={"connect_mirrors": "from"},
    health=(HealthCheck("connect", "connect_health", (GROUP,), "healthy"),),
    rules=("rules.workers", "rules.connectors", "rules.mirrors"),
)
