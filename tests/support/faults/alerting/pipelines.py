"""Faults of connectors, of the schema registry, and of streams on Spark."""

from __future__ import annotations

import contextlib
import json
import secrets
from collections.abc import Iterator, Mapping
from typing import Any

from ansible_collections.millrace.streaming.plugins.module_utils.host.rest import RestError
from ansible_collections.millrace.streaming.plugins.module_utils.kafka import acls, users
from ansible_collections.millrace.streaming.plugins.plugin_utils.services.connect import connectors
from ansible_collections.millrace.streaming.plugins.plugin_utils.services.kafka import security

from tests.support.faults.alerting.watched import (
    AlertingFault,
    Labels,
    Watched,
    remove_topics,
    unit_stopped,
)
from tests.support.lab.topology import ROOT
from tests.support.wait import wait_for

CONFLICT, CONNECT_SECONDS = 409, 90
JOB, LATE_AFTER, FIRST_COMMIT_SECONDS = "ticks", 60, 120


@contextlib.contextmanager
def sink(on: Watched, name: str, **overrides: str) -> Iterator[None]:
    """A sink to a database that is not there."""
    config = {
        "connector.class": "io.debezium.connector.jdbc.JdbcSinkConnector",
        "connection.url": "jdbc:postgresql://127.0.0.1:1/nothing",
        "connection.username": "nobody",
        "connection.password": "nothing",
        "topics": name,
        "tasks.max": "1",
        **overrides,
    }
    ask(on, "PUT", f"/connectors/{name}/config", config)
    try:
        yield
    finally:
        ask(on, "DELETE", f"/connectors/{name}")


def ask(on: Watched, method: str, path: str, body: object = None) -> None:
    """Ask Kafka Connect again for as long as its workers share out connectors: a conflict."""
    connect = on.connect
    assert connect

    def is_done() -> bool:
        try:
            connect.call(method, path, body)
        except RestError as error:
            if error.status != CONFLICT:
                raise
            return False
        return True

    wait_for(is_done, seconds=CONNECT_SECONDS, what=f"{method} {path}")


@contextlib.contextmanager
def task_without_login(on: Watched) -> Iterator[Mapping[str, Labels]]:
    """A sink without a user of Kafka: its task fails before it has metrics."""
    name = f"silent-{on.suffix}"
    with sink(on, name):
        yield {"ConnectorWithoutTask": {"connector": name}}


@contextlib.contextmanager
def task_fails(on: Watched) -> Iterator[Mapping[str, Labels]]:
    """A sink whose database refuses it."""
    name = f"refused-{on.suffix}"
    on.create_topic(name, num_partitions=1, replication_factor=-1)
    try:
        with reader(on, name) as login, sink(on, name, **login):
            yield {"ConnectorFailed": {"connector": name}}
    finally:
        remove_topics(on, name)


@contextlib.contextmanager
def reader(on: Watched, name: str) -> Iterator[Mapping[str, str]]:
    """The login of a user that may read the topic of its name; nothing where Kafka is open."""
    if not on.topology.closed:
        yield {}
        return
    password = secrets.token_urlsafe()
    credential = users.Credential(name, security.MECHANISM, security.ITERATIONS, password)
    granted = [
        acls.Acl(f"User:{name}", kind, f"{prefix}{name}", "literal", operation)
        for kind, prefix in (("topic", ""), ("group", "connect-"))
        for operation in ("read", "describe")
    ]
    try:
        with on.admin() as admin:
            assert not users.set_credentials(admin, [credential])
            assert not acls.create(admin, granted)
        login = on.topology.connection.as_user(security.MECHANISM, name, password)
        key = connectors.LOGIN_KEY
        yield {f"consumer.override.{key}": str(login.properties[key])}
    finally:
        with on.admin() as admin:
            acls.delete(admin, granted)
            users.delete_credentials(admin, [name], security.MECHANISM)


@contextlib.contextmanager
def stream_hangs(on: Watched) -> Iterator[Mapping[str, Labels]]:
    """A stream that has committed hangs (SIGSTOP)."""
    where, unit = on.member("spark_masters", 0), f"spark-job-{JOB}"
    deploy(on, "present")
    on.afterwards.callback(deploy, on, "absent")
    commits = f'spark_stream_last_batch_timestamp_seconds{{job_name="{JOB}"}}'
    wait_for(lambda: on.value(commits), seconds=FIRST_COMMIT_SECONDS, what="a commit of the stream")
    on.sh(where, f"systemctl kill --signal=STOP {unit}")
    try:
        yield {name: {"job_name": JOB} for name in ("StreamLate", "CheckpointOld")}
    finally:
        on.sh(where, f"systemctl kill --signal=CONT {unit}")


def stream(on: Watched, state: str) -> dict[str, Any]:
    """A stream that needs no topic, as `spark_jobs` has it."""
    checkpoint = f"{next(iter(on.topology.cluster.spark.values())).shared_dir}/{JOB}/checkpoint"
    return {
        "name": JOB,
        "source": str(ROOT / "tests/support/services/jobs/ticks.py"),
        "arguments": [checkpoint],
        "checkpoint": checkpoint,
        "late_after": LATE_AFTER,
        "cores": 1,
        "memory": "512m",
        "state": state,
    }


def deploy(on: Watched, state: str) -> None:
    """Make or remove the stream beside the jobs of the inventory."""
    variables = json.dumps({"spark_jobs": [*inventory_jobs(on), stream(on, state)]})
    on.plays.succeed("jobs", "-e", variables, "-e", f"job={JOB}")


def inventory_jobs(on: Watched) -> list[Any]:
    """The jobs of the inventory."""
    where = on.member("spark_masters", 0)
    return list(on.topology.cluster.hosts[where].settings["spark_jobs"])


TASK_WITHOUT_LOGIN = AlertingFault(
    "a sink that may not log in to Kafka",
    task_without_login,
    ("ConnectorWithoutTask",),
    needs=("kafka_connect",),
)
TASK_FAILS = AlertingFault(
    "a sink whose database refuses it", task_fails, ("ConnectorFailed",), needs=("kafka_connect",)
)
WORKER_STOPPED = AlertingFault(
    "a worker of Kafka Connect is stopped",
    unit_stopped("kafka_connect", "connect", "ConnectWorkerDown"),
    ("ConnectWorkerDown",),
    needs=("kafka_connect",),
)
REGISTRY_STOPPED = AlertingFault(
    "an instance of the schema registry is stopped",
    unit_stopped("schema_registry", "schema_registry", "RegistryDown"),
    ("RegistryDown",),
    needs=("schema_registry",),
)
STREAM_HANGS = AlertingFault(
    "a stream's process hangs (SIGSTOP)",
    stream_hangs,
    ("StreamLate", "CheckpointOld"),
    needs=("spark_masters", "kafka_brokers"),
    fires=900,
    clears=300,
)
