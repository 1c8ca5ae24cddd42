"""The rules about Kafka Connect, by subject."""
