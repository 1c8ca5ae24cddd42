"""Kafka Connect: its workers, connectors and mirrors."""
