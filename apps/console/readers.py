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
from ansible_collections.millrace.streaming.plugins.module_utils.operations import kafka_report

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
    found: dict[str, Reader] = {"kafka": partial(kafka, settings.kafka)}
    if rest := SchemaRegistry.of(settings.registry):
        found["registry"] = partial(registry, rest)
    if settings.prometheus:
        observed = Observed(Prometheus(settings.prometheus))
        groups = {group for host in settings.hosts for group in host["groups"]}
        parts = [name for group, names in _GROUPS.items() if group in groups for name in names]
        for name in ("alerts", "hosts", "operations", "certificates", *parts):
            found[name] = getattr(observed, name)
    return found


def connection_of(given: Mapping[str, Any]) -> Connection:
    """Return how the console itself connects to Kafka."""
    return Connection.read(Path(given["client_config"]), given["bootstrap"])


def kafka(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the cluster holds."""
    cluster = Cluster(connection_of(given))
    try:
        return kafka_report.read(
            cluster, given.get("expect_brokers", ()), given.get("expect_voters", ())
        )
    except UnavailableError as error:
        return {"error": f"no broker answers ({error})"}
    finally:
        cluster.close()


def registry(rest: SchemaRegistry) -> dict[str, Any]:
    """Return the instances that answer, and the subjects of the first one."""
    answers: dict[str, list[str]] = {}
    problems = []
    for one in sorted(rest.instances):
        try:
            text = rest.ask(one, "GET", f"{CONFLUENT}/subjects", timeout=REQUEST_SECONDS)
            answers[one] = sorted(map(str, json.loads(text)))
        except (RestError, ValueError, TypeError) as error:
            problems.append(f"the instance at {one} does not answer: {error}")
    if not answers:
        return {"error": "; ".join(problems)}
    return {
        "instances": [*answers],
        "subjects": next(iter(answers.values())),
        "problems": problems,
    }
