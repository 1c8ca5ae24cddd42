"""The exporter of consumer lag."""
