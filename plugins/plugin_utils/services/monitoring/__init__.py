"""Exporters, Prometheus and Alertmanager, and what programs of ours beside them have in common."""
