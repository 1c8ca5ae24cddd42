"""A stream for tests of alerts: rows that Spark makes itself, a micro-batch each second.

Its argument is the directory of its checkpoint.
"""

import sys

from pyspark.sql import SparkSession

spark = SparkSession.builder.appName("ticks").getOrCreate()
stream = spark.readStream.format("rate").load().writeStream.format("noop")
stream = stream.option("checkpointLocation", sys.argv[1])
stream.trigger(processingTime="1 second").start().awaitTermination()
