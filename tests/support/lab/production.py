"""The example `inventories/vms_kafka` on containers: what a lab has instead of its machines."""

from __future__ import annotations

from typing import Any

from ansible_collections.millrace.streaming.plugins.plugin_utils.cluster.inventory import Inventory

JVM = ["-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]
EVERYWHERE = ["0.0.0.0/0", "::/0"]
KEY = "KAFKA_CA_KEY"
"""Environment variable with the key of the site's CA, as the inventory reads it."""


def on_containers(inventory: Inventory, certificate: str) -> dict[str, Any]:
    """Return a further source of the inventory, by which its hosts need some 10 GB together.

    Each variable is one of hosts, which is stronger than the inventory's variables of groups.

    Args:
        inventory: the example as it is.
        certificate: the CA of the site, in PEM; who runs the lab has its key.

    """
    every: dict[str, Any] = {
        "lab_image": "warm",
        "lab_release": "trixie",
        "ansible_user": "lab",
        "host_memory_mb": 2048,
        # The network of a lab has no address before it is made.
        "host_firewall_clients": EVERYWHERE,
        "host_firewall_admins": EVERYWHERE,
    }
    kafka: dict[str, Any] = {
        "kafka_ca_certificate": certificate,
        "kafka_heap": "256m",
        "kafka_java_options": JVM,
        "kafka_config": {
            "broker.heartbeat.interval.ms": 500,
            "broker.session.timeout.ms": 6000,
            "offsets.topic.num.partitions": 3,
            "share.coordinator.state.topic.num.partitions": 3,
            "transaction.state.log.num.partitions": 3,
        },
        "connect_heap": "512m",
        "connect_java_options": JVM,
        "connect_config": {"offset.storage.partitions": 3, "status.storage.partitions": 1},
        "schema_registry_heap": "256m",
        "schema_registry_java_options": JVM,
    }
    # Two directories, as on two disks.
    broker = {
        "host_mounts": [],
        "kafka_data_dirs": ["/var/lib/kafka/data1", "/var/lib/kafka/data2"],
        "kafka_heap": "512m",
    }
    return {
        "all": {
            "hosts": {
                host: every
                | (kafka if host in inventory.members("kafka") else {})
                | (broker if host in inventory.members("kafka_brokers") else {})
                for host in inventory.hosts
            }
        }
    }
