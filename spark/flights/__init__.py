"""The flights pipeline: real events through Kafka and Spark, and an independent verdict on it."""
