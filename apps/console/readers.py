"""How each service is read, with limits of time: most of it from Prometheus."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from ansible_collections.millrace.streaming.plugins.module_utils.host.registry_rest import CONFLUENT
from ansible_collections.millrace.streaming.plugins.module_utils.host.rest import RestError
from ansible_collections.millrace.streaming.plugins.module_utils.kafka.client import (
    Cluster,
    UnavailableError,
)
from ansible_collections.millrace.streaming.plugins.module_utils.kafka.connection import Connection
from ansible_collections.millrace.streaming.plugins.module_utils.operations import (
    hot_spots,
    kafka_report,
)

from .collector import Reader
from .observed import Observed
from .prometheus import Prometheus
from .schemas import SchemaRegistry
from .settings import Settings

REQUEST_SECONDS = 5
_GROUPS = {
    "kafka_connect": ("connect",),
    "zookeeper": ("zookeeper",),
    "spark_masters": ("spark", "jobs"),
}
"""Group of the inventory -> the parts of the snapshot that only such a cluster has."""


def of_settings(settings: Settings) -> dict[str, Reader]:
    """Return what reads each part of the snapshot.

    Raises:
        OSError: a certificate of the settings cannot be read.

    """
    readers: dict[str, Reader] = {
        "kafka": partial(kafka, settings.kafka),
        "sizes": Sizes(settings.kafka),
    }
    if client := SchemaRegistry.of(settings.registry):
        readers["registry"] = partial(registry, client)
    if settings.prometheus:
        observed = Observed(Prometheus(settings.prometheus))
        groups = {group for host in settings.hosts for group in host["groups"]}
        part_names = [name for group, names in _GROUPS.items() if group in groups for name in names]
        for name in ("alerts", "hosts", "operations", "certificates", *part_names):
            readers[name] = getattr(observed, name)
    return readers


def connection_of(settings: Mapping[str, Any]) -> Connection:
    """Return how the console itself connects to Kafka."""
    return Connection.read(Path(settings["client_config"]), settings["bootstrap"])


def kafka(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the cluster holds."""
    cluster = Cluster(connection_of(settings))
    try:
        return kafka_report.read(
            cluster, settings.get("expect_brokers", ()), settings.get("expect_voters", ())
        )
    except UnavailableError as error:
        return {"error": f"no broker answers ({error})"}
    finally:
        cluster.close()


class Sizes:
    """The sizes of replicas, and how fast they have grown since the last time."""

    def __init__(self, settings: Mapping[str, Any]) -> None:
        """Keep how to connect."""
        self._settings = settings
        self._before: hot_spots.Sample | None = None

    def __call__(self) -> dict[str, Any]:
        """Return what the page shows of disks and busy partitions."""
        cluster = Cluster(connection_of(self._settings), request_ms=hot_spots.REQUEST_MS)
        try:
            now = hot_spots.sample(cluster)
        except UnavailableError as error:
            return {"error": f"no broker answers ({error})"}
        finally:
            cluster.close()
        before, self._before = self._before, now
        return hot_spots.summary(now, before)


def registry(client: SchemaRegistry) -> dict[str, Any]:
    """Return the instances that answer, and the subjects of the first one."""
    answers: dict[str, list[str]] = {}
    problems = []
    for instance in sorted(client.instances):
        try:
            text = client.ask(instance, "GET", f"{CONFLUENT}/subjects", timeout=REQUEST_SECONDS)
            answers[instance] = sorted(map(str, json.loads(text)))
        except (RestError, ValueError, TypeError) as error:
            problems.append(f"the instance at {instance} does not answer: {error}")
    if not answers:
        return {"error": "; ".join(problems)}
    return {
        "instances": [*answers],
        "subjects": next(iter(answers.values())),
        "problems": problems,
    }
