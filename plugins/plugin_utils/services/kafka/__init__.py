"""Kafka: its nodes, listeners, security and profiles."""
