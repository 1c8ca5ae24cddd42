"""The options of modules that operate Spark, from the model of the cluster."""

from __future__ import annotations

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
    "spark_health": _spark_health,
    "spark_job_health": _spark_job_health,
    "spark_job_checkpoints": _spark_job_checkpoints,
}
