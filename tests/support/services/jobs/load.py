"""A Spark job for the failover tests: rounds of short tasks until a file ends it.

Started with a directory and the most seconds; it ends when a file `enough` is in the directory.
Prints a line of JSON after each round, with the sum so far, and the last one again at the end.
"""

import json
import sys
import time
from operator import add
from pathlib import Path

from pyspark.sql import SparkSession

enough = Path(sys.argv[1]) / "enough"
deadline = time.monotonic() + float(sys.argv[2])
context = SparkSession.builder.appName("millrace-failover").getOrCreate().sparkContext
rounds = total = 0
while not rounds or (not enough.exists() and time.monotonic() < deadline):
    numbers = context.parallelize(range(100), 4).map(lambda number: (number % 7, number))
    total += sum(value for _, value in numbers.reduceByKey(add, 2).collect())
    rounds += 1
    report = {"app": context.applicationId, "rounds": rounds, "total": total}
    sys.stdout.write(json.dumps(report) + "\n")
    sys.stdout.flush()
sys.stdout.write(json.dumps({**report, "finished": True}) + "\n")
context.stop()
