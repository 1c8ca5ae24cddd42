"""The environment of the processes of Spark on a host."""

from __future__ import annotations

from ...cluster.service import Service
from ..zookeeper import tls as zookeeper_tls
from . import blocks
from .jobs import CONFIG


def of_unit(service: Service, unit: str) -> dict[str, str]:
    """Return the environment of a unit, in whose own directory its processes keep blocks."""
    identity, settings = service.identity, service.settings
    of_ensemble = zookeeper_tls.java_options(identity) if identity else []
    options = " ".join([*of_ensemble, *settings["spark_java_options"]])
    return {
        "JAVA_HOME": service.host.java.home,
        "SPARK_HOME": service.distribution.home,
        "SPARK_CONF_DIR": CONFIG,
        "SPARK_LOCAL_DIRS": blocks.directory(unit),
        "SPARK_SCALA_VERSION": "2.13",
        "SPARK_LOCAL_HOSTNAME": service.address,
        "SPARK_DAEMON_OPTIONS": f"-Xmx{settings['spark_daemon_heap']} {options}",
    }
