"""What the pipeline reads from Kafka: SQL cannot read a topic as a stream in Spark 4.2.0."""

from pathlib import Path

from pyspark import pipelines as dp
from pyspark.sql import DataFrame, SparkSession

from millrace_job import kafka_options

CLIENT_CONFIG = "/etc/spark/job-departures-kafka.properties"


@dp.temporary_view
def flights() -> DataFrame:
    """Return the records of the topic from its beginning on, as text."""
    spark = SparkSession.active()
    reader = spark.readStream.format("kafka").options(**kafka_options(Path(CLIENT_CONFIG)))
    topic = reader.option("subscribe", "flights").option("startingOffsets", "earliest").load()
    return topic.selectExpr("CAST(value AS STRING) AS value", "timestamp")
