"""The rules about Kafka, by subject."""
