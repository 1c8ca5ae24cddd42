"""A declarative pipeline over the topic of flights: SQL over Kafka, kept in tables."""
