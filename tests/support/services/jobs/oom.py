"""A Spark job for the failover tests: one task wants more memory than its executor has.

Prints the application's id, then ends with Spark's error. A task may fail twice here, not four
times: each attempt costs an executor.
"""

import sys
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

TOO_MUCH = 1_000_000_000
"""Bytes of one string; twice the executor's heap."""

settings: dict[str, Any] = {
    "spark.cores.max": "1",
    "spark.eventLog.enabled": "false",
    "spark.executor.memory": "512m",
    "spark.task.maxFailures": "2",
}
builder = SparkSession.builder.appName("millrace-out-of-memory").config(map=settings)
spark = builder.getOrCreate()
sys.stdout.write(spark.sparkContext.applicationId + "\n")
sys.stdout.flush()
# Of a column, since the driver itself would work out what is constant.
size = F.col("id").cast("int") + TOO_MUCH
spark.range(0, 1, 1, 1).select(F.length(F.repeat(F.lit("x"), size))).collect()
