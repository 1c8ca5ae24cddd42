"""ZooKeeper, and its TLS."""

from __future__ import annotations

from ...cluster.entry import MIB, Group, HealthCheck, ServiceEntry

ENTRY = ServiceEntry(
    "zookeeper",
    groups=(Group("zookeeper", "member of ZooKeeper", "members of ZooKeeper"),),
    runs_on_java=True,
    unpacked_bytes=400 * MIB,
    data_example="/var/lib/zookeeper/data",
    needs_data_disk=True,
    lowest={"zookeeper_start_timeout": 1, "zookeeper_stop_timeout": 1},
    sizes=("zookeeper_heap",),
    identities=("zookeeper_id", "zookeeper_host"),
    property_variables=("zookeeper_config",),
    health=(HealthCheck("zookeeper", "zookeeper_health", ("zookeeper",), "healthy"),),
)
