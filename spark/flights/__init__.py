"""The flights pipeline: real events through Kafka and Spark, and an independent check of it."""
