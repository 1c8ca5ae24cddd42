"""The lag of consumer groups, in records and in seconds, for Prometheus.

`python3 -m apps.lag_exporter CONFIG` asks the cluster every few seconds over the protocol of
Kafka's admin client, and serves what it has found on a loopback address.
"""
