"""Kafka: its nodes, listeners, security and profiles."""

from __future__ import annotations

from ...cluster.entry import MIB, Group, HealthCheck, ServiceEntry

ADMIN = "admin"
"""The user that may do everything, for the operator."""
LEDGER, PRODUCER, STREAM = "ledger", "flights-producer", "flights-stream"
"""The users of the load of `prove=true` and of the flights."""

ENTRY = ServiceEntry(
    "kafka",
    model="node",
    groups=(
        Group("kafka_controllers", "controller", "controllers", partner="kafka_brokers"),
        Group("kafka_brokers", "broker", "brokers", partner="kafka_controllers"),
    ),
    parent="kafka",
    runs_on_java=True,
    unpacked_bytes=400 * MIB,
    data_example="/var/lib/kafka/data",
    needs_data_disk=True,
    sizes=("kafka_heap",),
    identities=("kafka_node_id", "kafka_advertised_host"),
    property_variables=(
        "kafka_config",
        "kafka_host_config",
        "kafka_client_config",
        "kafka_local_client_config",
    ),
    passwords={"kafka_users": "name"},
    described={"kafka_users": "kafka_brokers"},
    lowest={
        "kafka_gate_timeout": 0,
        "kafka_isr_timeout": 0,
        "kafka_reboot_timeout": 1,
        "kafka_start_timeout": 1,
        "kafka_stop_timeout": 1,
    },
    reserved_kafka_users=(ADMIN, LEDGER, PRODUCER, STREAM),
    health=(HealthCheck("kafka", "kafka_contents", ("kafka_brokers",), "error", may_fail=False),),
    rules=(
        "rules.storage",
        "rules.nodes",
        "rules.quorum",
        "rules.listeners",
        "rules.stores",
        "rules.certificates",
        "rules.replication",
        "rules.keys",
        "rules.contradictions",
        "rules.security",
        "rules.principals",
        "rules.sasl",
        "rules.users",
        "rules.resources",
    ),
)
