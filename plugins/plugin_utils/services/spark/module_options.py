"""The options of modules that operate Spark, from the model of the cluster."""

from __future__ import annotations

from ...cluster.cluster import Cluster
from ...cluster.module_options import Operations, Options
from .jobs import SERVICE
from .model import SparkHost


def _spark_health(spark: SparkHost, _: Cluster) -> Options:
    return {
        "masters": spark.at_masters("spark_master_ui_port"),
        # As they register.
        "workers": [one.address(spark.address_variable) for one in spark.workers.values()],
        "token": spark.ui_token,
        "metastores": spark.metastore_addresses,
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
                "checkpoint": spark.checkpoint(job),
            }
            for job in spark.jobs
            if job.present and spark.runs_jobs
        ]
    }


def _spark_job_checkpoints(spark: SparkHost, _: Cluster) -> Options:
    return {
        "jobs": [
            {"name": job.name, "checkpoint": spark.checkpoint(job), "topics": list(job.topics)}
            for job in spark.jobs
            if job.present and spark.runs_jobs
        ]
    }


OPERATIONS: Operations = {
    "spark_health": _spark_health,
    "spark_job_health": _spark_job_health,
    "spark_job_checkpoints": _spark_job_checkpoints,
}
