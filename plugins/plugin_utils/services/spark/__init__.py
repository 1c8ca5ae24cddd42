"""Spark: its hosts, sessions and jobs."""

from __future__ import annotations

from ...cluster.entry import MIB, Group, HealthCheck, ServiceEntry

JOBS = "jobs"

ENTRY = ServiceEntry(
    "spark",
    groups=(
        Group(
            "spark_masters", "Spark master", "Spark masters", partner="spark_workers", leaves=True
        ),
        Group(
            "spark_workers", "Spark worker", "Spark workers", partner="spark_masters", leaves=True
        ),
        Group("spark_history", "history server", "history servers"),
        Group("spark_metastore", "metastore", "metastores"),
        Group("spark_connect", "Spark Connect server", "Spark Connect servers"),
    ),
    parent="spark",
    runs_on_java=True,
    unpacked_bytes=1100 * MIB,
    data_example="/srv/spark",
    described={"spark_jobs": "spark_masters"},
    lowest={
        "spark_leave_timeout": 0,
        "spark_start_timeout": 1,
        "spark_uid": 1,
        "spark_worker_cores": 0,
    },
    sizes=("spark_daemon_heap", "spark_worker_memory"),
    identities=("spark_host",),
    property_variables=("spark_config", "spark_kafka_client_config"),
    units=r"spark-[\w@-]+",
    health=(
        HealthCheck("spark", "spark_health", ("spark_masters",), "healthy"),
        HealthCheck(JOBS, "spark_job_health", ("spark_masters",), "healthy"),
    ),
    rules=("rules.hosts", "rules.jobs"),
)
