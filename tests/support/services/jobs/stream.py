"""A stream for the failover tests: what a Kafka topic holds, once each, into a Delta table.

Started with the path of a JSON object: `folder`, a directory that all hosts share; `topic`, and
`kafka`, options of Spark's source that lead to the brokers; `rows`, the most that a batch takes;
`port` of its web interface; `checkpoints`, directories in the folder. It runs its query on the
first of these, on the next one when that has failed, and so on, until SIGTERM. When no checkpoint
is left it writes all that the table holds to `rows.json`. It ends with 1 if a query failed.

Each step is a line of JSON in `reports`. While a file `slow` is in the folder, a record takes
longer in the executor; while `hold` is there, what the table has is kept from the checkpoint.
"""

import json
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

MS = {False: 20, True: 600}
"""What a record takes in the executor, and what it takes while it is to be slow.

A task has ten records. On a busy machine it takes seconds to kill an executor that was seen running
a task, and the task must still be running then.
"""

asked: dict[str, Any] = json.loads(Path(sys.argv[1]).read_text())
folder = Path(asked["folder"])
table = folder / "table"
stop = threading.Event()


def report(app: str, step: str, **fields: object) -> None:
    """Write a line, at once."""
    with (folder / "reports").open("a") as file:
        file.write(json.dumps({"app": app, "step": step, **fields}) + "\n")


def sink(app: str, checkpoint: str) -> Callable[[DataFrame, int], None]:
    """Return the function of `foreachBatch`: append to the table what it does not have yet."""

    def write(batch: DataFrame, batch_id: int) -> None:
        context = batch.sparkSession.sparkContext
        # The query's id is the checkpoint's: by it Delta knows a batch that it has.
        query = context.getLocalProperty("sql.streaming.queryId")
        if query is None:
            message = "Spark names no query id"
            raise RuntimeError(message)
        slow = (folder / "slow").exists()
        report(app, "begun", checkpoint=checkpoint, batch=batch_id, slow=slow)
        pause = F.expr(f"java_method('java.lang.Thread', 'sleep', {MS[slow]}L)")
        rows = batch.select(
            "topic", "partition", "offset", F.lit(batch_id).alias("batch"), pause.alias("pause")
        )
        once = rows.write.format("delta").option("txnAppId", query).option("txnVersion", batch_id)
        once.mode("append").save(str(table))
        versions = len(list((table / "_delta_log").glob("*.json")))
        report(app, "written", checkpoint=checkpoint, batch=batch_id, versions=versions)
        if (folder / "hold").exists():
            report(app, "held", checkpoint=checkpoint, batch=batch_id)
        while (folder / "hold").exists():
            time.sleep(0.1)

    return write


def run(spark: SparkSession, checkpoint: str) -> str:
    """Run the query until it fails or is stopped; returns why it failed."""
    source = {
        **asked["kafka"],
        "subscribe": asked["topic"],
        "startingOffsets": "earliest",
        "maxOffsetsPerTrigger": str(asked["rows"]),
    }
    plan = spark.readStream.format("kafka").options(**source).load().writeStream
    plan = plan.foreachBatch(sink(spark.sparkContext.applicationId, checkpoint))
    plan = plan.option("checkpointLocation", str(folder / checkpoint))
    try:
        query = plan.trigger(processingTime="500 milliseconds").start()
    except PySparkException as error:
        return str(error)
    while query.isActive and not stop.wait(0.2):
        pass
    if query.isActive:
        query.stop()
    return str(query.exception())


def write_rows(spark: SparkSession) -> None:
    """Write everything that the table holds, in one step."""
    read = spark.read.format("delta").load(str(table))
    rows = [list(row) for row in read.select("topic", "partition", "offset", "batch").collect()]
    unfinished = folder / "rows.part"
    unfinished.write_text(json.dumps(rows))
    unfinished.rename(folder / "rows.json")


def main() -> int:
    """Do what was asked."""
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    # What a driver leaves that is killed goes with the folder.
    os.environ["SPARK_LOCAL_DIRS"] = str(folder / "local")
    settings: dict[str, Any] = {
        "spark.eventLog.enabled": "false",
        "spark.ui.port": str(asked["port"]),
        "spark.ui.liveUpdate.period": "0",
    }
    builder = SparkSession.builder.appName("millrace-streams").config(map=settings)
    spark = builder.getOrCreate()
    failed = False
    for checkpoint in asked["checkpoints"]:
        error = run(spark, checkpoint)
        if stop.is_set():
            break
        failed = True
        app = spark.sparkContext.applicationId
        report(app, "failed", checkpoint=checkpoint, error=error)
    else:
        write_rows(spark)
    spark.stop()
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
