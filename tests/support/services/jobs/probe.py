"""A Spark job for the tests: on which hosts its tasks ran, and what a Delta table of windows holds.

Started with the table's path, or none; prints one line of JSON.
"""

import json
import socket
import sys
import time

from pyspark.sql import SparkSession
from pyspark.sql import functions as F


def host_of(_: int) -> str:
    """Return where this task runs, slowly enough that one executor cannot do all the work."""
    time.sleep(0.2)
    return socket.gethostname()


spark = SparkSession.builder.appName("millrace-probe").getOrCreate()
hosts = spark.sparkContext.parallelize(range(8), 8).map(host_of).collect()
rows: list[str] = []
if sys.argv[1:] and sys.argv[1]:
    # The newest batch that wrote a window holds its result.
    table = spark.read.format("delta").load(sys.argv[1])
    columns = [name for name in table.columns if name != "batch_id"]
    newest = table.groupBy("origin", "hour").agg(
        F.max_by(F.struct(*columns), "batch_id").alias("row")
    )
    text = newest.select(F.to_json("row", {"ignoreNullFields": "false"}))
    rows = [row[0] for row in text.collect()]
found = {"app": spark.sparkContext.applicationId, "hosts": sorted(set(hosts)), "rows": rows}
sys.stdout.write(json.dumps(found) + "\n")
spark.stop()
