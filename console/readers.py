"""How each service is read: through the adapters that health.yml uses, with limits of time."""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from ansible_collections.millrace.streaming.plugins.module_utils.host.connect_rest import Rest
from ansible_collections.millrace.streaming.plugins.module_utils.host.registry_rest import (
    CONFLUENT,
    Registry,
)
from ansible_collections.millrace.streaming.plugins.module_utils.host.rest import RestError
from ansible_collections.millrace.streaming.plugins.module_utils.kafka.client import (
    Cluster,
    UnavailableError,
)
from ansible_collections.millrace.streaming.plugins.module_utils.kafka.connection import Connection
from ansible_collections.millrace.streaming.plugins.module_utils.operations import (
    connect_health,
    kafka_report,
    spark_health,
)

from .collector import Reader
from .settings import Settings

REQUEST_SECONDS = 5
Found = dict[str, Any]


def of_settings(settings: Settings) -> dict[str, Reader]:
    """Return what reads each service that the settings name."""
    found: dict[str, Reader] = {"kafka": partial(kafka, settings.kafka)}
    if settings.connect:
        found["connect"] = partial(connect, settings.connect)
    if settings.registry:
        found["registry"] = partial(registry, settings.registry)
    if settings.spark:
        found["spark"] = partial(spark, settings.spark)
    if settings.prometheus:
        found["alerts"] = partial(alerts, settings.prometheus)
    return found


def connection_of(given: Mapping[str, Any]) -> Connection:
    """Return how the console itself connects to Kafka."""
    return Connection.read(Path(given["client_config"]), given["bootstrap"])


def kafka(given: Mapping[str, Any]) -> Found:
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


def connect(given: Mapping[str, Any]) -> Found:
    """Return the state of connectors and tasks."""
    rest = Rest(given["workers"], given.get("certificate", ""), given.get("authority", ""))
    missing = {}
    for worker in given["workers"]:
        try:
            rest.ask(worker, "GET", "/health", timeout=REQUEST_SECONDS)
        except RestError as error:
            missing[worker] = str(error)
    ready = [one for one in given["workers"] if one not in missing]
    if not ready:
        return {"error": "; ".join(f"{name}: {why}" for name, why in missing.items())}
    status = "/connectors?expand=status"
    found = connect_health.connectors(rest.ask(ready[0], "GET", status, timeout=REQUEST_SECONDS))
    return {
        "workers": ready,
        "states": connect_health.states(found),
        "problems": connect_health.problems(missing, given["workers"], found),
    }


def registry(given: Mapping[str, Any]) -> Found:
    """Return the instances that answer, and the subjects of the first one."""
    rest = Registry(given["instances"], given.get("authority", ""), given.get("login", ""))
    answers: dict[str, list[str]] = {}
    problems = []
    for one in given["instances"]:
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


def spark(given: Mapping[str, Any]) -> Found:
    """Return masters, workers and applications."""
    headers = {"Authorization": f"Bearer {given['token']}"} if given.get("token") else {}
    masters = []
    for address in given["masters"]:
        try:
            answer = _json(f"http://{address}/json/", headers)
            masters.append(spark_health.master(address, answer))
        except (OSError, ValueError, LookupError, TypeError) as error:
            masters.append(spark_health.Master(address, reason=str(error)))
    return {
        **spark_health.facts(masters),
        "problems": spark_health.problems(masters, given.get("workers", ())),
    }


def alerts(address: str) -> Found:
    """Return the alerts that fire or are about to."""
    answer = _json(f"http://{address}/api/v1/alerts", {})
    found = answer["data"]["alerts"]
    return {
        "alerts": [
            {
                "name": str(one["labels"].get("alertname", "")),
                "severity": str(one["labels"].get("severity", "")),
                "state": str(one["state"]),
                "since": str(one["activeAt"]),
                "summary": str(one["annotations"].get("summary", "")),
                "where": str(one["labels"].get("host") or one["labels"].get("instance") or ""),
            }
            for one in found
        ]
    }


def _json(address: str, headers: Mapping[str, str]) -> Any:  # noqa: ANN401 - JSON
    request = urllib.request.Request(address, headers=dict(headers))  # noqa: S310 - http
    # A proxy of the environment is not for the cluster's own hosts.
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(request, timeout=REQUEST_SECONDS) as answer:
        return json.load(answer)
