"""Spark: its hosts, sessions and jobs."""
