"""The only adapter to Kafka: all code that speaks its protocol uses it."""
