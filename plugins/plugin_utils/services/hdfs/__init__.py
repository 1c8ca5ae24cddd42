"""HDFS."""

from __future__ import annotations

from ...cluster.entry import MIB, Group, HealthCheck, ServiceEntry

HDFS_JOBS = "hdfs_jobs"

ENTRY = ServiceEntry(
    "hdfs",
    groups=(
        Group("hdfs_namenode", "NameNode", "NameNodes", partner="hdfs_datanodes"),
        Group("hdfs_datanodes", "DataNode", "DataNodes", partner="hdfs_namenode", leaves=True),
    ),
    parent="hdfs",
    runs_on_java=True,
    unpacked_bytes=400 * MIB,
    data_example="/var/lib/hdfs/data",
    needs_data_disk=True,
    lowest={"hdfs_leave_timeout": 0, "hdfs_start_timeout": 1, "hdfs_stop_timeout": 1},
    sizes=("hdfs_namenode_heap", "hdfs_datanode_heap"),
    identities=("hdfs_host",),
    property_variables=("hdfs_config",),
    units=r"hdfs-\w+",
    health=(
        HealthCheck("hdfs", "hdfs_health", ("hdfs_namenode",), "healthy"),
        HealthCheck(HDFS_JOBS, "hdfs_job_health", ("hdfs_namenode",), "healthy"),
    ),
)
