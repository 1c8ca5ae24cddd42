"""A job that reads a topic of Avro records with their ids, from its beginning to its end."""

import sys
from pathlib import Path

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from millrace_avro import Registry, decode
from millrace_job import REASON, dead_letters, kafka_options, write_topic

name, topic, schema = sys.argv[1:]
config = Path(f"/etc/spark/job-{name}-kafka.properties")
spark = SparkSession.builder.getOrCreate()
source = spark.read.format("kafka").options(**kafka_options(config), includeHeaders=True)
records = source.option("subscribe", topic).option("startingOffsets", "earliest").load()
decoded = decode(records, Registry.read(Path(f"/etc/spark/job-{name}-registry.conf")), schema)
good = decoded.where(F.col(REASON).isNull())
write_topic(good.select("key", F.to_json("record").alias("value")), config, f"{topic}.read")
write_topic(dead_letters(decoded), config, f"{topic}.dead-letter")
spark.stop()
