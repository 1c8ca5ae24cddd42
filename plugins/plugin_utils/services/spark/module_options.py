"""The options of modules that operate Spark, from the model of the cluster."""

from __future__ import annotations

from ....module_utils.formats.values import is_true
from ...cluster.cluster import Cluster
from ...cluster.module_options import Operations, Options
from .jobs import SERVICE
from .model import SparkHost


def _spark_health(spark: SparkHost, _: Cluster) -> Options:
    return {
        "masters": spark.standalone.at_masters("spark_master_ui_port"),
        # As they register.
        "workers": [
            worker.address(spark.address_variable) for worker in spark.standalone.workers.values()
        ],
        "token": spark.security.ui_token,
        "metastores": spark.standalone.metastore_addresses,
        "own_master": _own(spark, "master"),
        "own_worker": _own(spark, "worker"),
        "own_jobs": [job.name for job in spark.drivers.jobs_here],
    }


def _own(spark: SparkHost, role: str) -> str:
    """Return the name of a host's master or worker as the options above have it, empty for none."""
    if role == "master":
        master = spark.standalone.masters.get(spark.name)
        return master.endpoint(spark.address_variable, "spark_master_ui_port") if master else ""
    worker = spark.standalone.workers.get(spark.name)
    return worker.address(spark.address_variable) if worker else ""


def _spark_decommission(spark: SparkHost, _: Cluster) -> Options:
    return {
        "worker": f"127.0.0.1:{spark.settings['spark_worker_ui_port']}",
        "token": spark.security.ui_token,
        "enabled": is_true(spark.config.get("spark.decommission.enabled")),
        "signal": str(spark.config.get("spark.worker.decommission.signal", "PWR")),
    }


def _spark_job_health(spark: SparkHost, _: Cluster) -> Options:
    in_hdfs = spark.hdfs.streams if spark.hdfs else {}
    return {
        "jobs": [
            {
                "name": job.name,
                "unit": job.unit,
                "timer": job.timer,
                "continuous": job.schedule == SERVICE,
                # hdfs_job_health finds those in HDFS that are late.
                "late_after": 0 if job.name in in_hdfs else job.late_after,
                "checkpoint": spark.drivers.checkpoint(job),
            }
            for job in spark.drivers.jobs_here
        ]
    }


def _spark_job_checkpoints(spark: SparkHost, _: Cluster) -> Options:
    return {
        "jobs": [
            {
                "name": job.name,
                "checkpoint": spark.drivers.checkpoint(job),
                "topics": list(job.topics),
            }
            for job in spark.drivers.jobs_here
        ]
    }


OPERATIONS: Operations = {
    "spark_decommission": _spark_decommission,
    "spark_health": _spark_health,
    "spark_job_health": _spark_job_health,
    "spark_job_checkpoints": _spark_job_checkpoints,
}
