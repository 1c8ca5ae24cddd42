"""The agent of Prometheus' JMX exporter in the JVM of a service."""

from __future__ import annotations

from collections.abc import Mapping

from ...cluster.artifacts import HOMES
from ...cluster.host import HostSettings

PRODUCT, VERSION = "jmx_exporter", "1.0.1"
PORTS: Mapping[str, str] = {
    "zookeeper": "metrics_zookeeper_port",
    "kafka": "metrics_kafka_port",
    "connect": "metrics_connect_port",
}
"""Product -> the variable with the port of its agent, which listens on the loopback address."""
CONFIG = "/etc/metrics"
_JAR = f"{HOMES}/{PRODUCT}/jmx_prometheus_javaagent.jar"


def rules(product: str) -> str:
    """Return the file on a host that says which beans of a product become metrics."""
    return f"{CONFIG}/{product}.yml"


def options(product: str, host: HostSettings) -> list[str]:
    """Return what a product's JVM is started with besides, nothing where nobody monitors it."""
    if not host.monitored or product not in PORTS:
        return []
    port = host.settings[PORTS[product]]
    return [f"-javaagent:{_JAR}=127.0.0.1:{port}:{rules(product)}"]
