"""Spark's command `spark-pipelines` as the driver of a job, and the graph of a pipeline.

The command is a client of Spark Connect. It is given a server of its own in this driver's JVM: it
listens on loopback, on a free port, and accepts only a token that is generated for this run.
"""

from __future__ import annotations

import os
import re
import secrets
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeAlias

from pyspark.java_gateway import launch_gateway
from pyspark.sql import SparkSession

SESSIONS = "/etc/spark/client"
"""The properties of sessions: their catalog is the one that all of them share."""
_SERVER = {
    "spark.plugins": "org.apache.spark.sql.connect.SparkConnectPlugin",
    "spark.connect.grpc.binding.address": "127.0.0.1",
    "spark.connect.grpc.binding.port": "0",
}
_SHAPES = {"topic": ("[(", ")]"), "table": ("[", "]"), "view": ("([", "])"), "sink": ("[/", "/]")}
Jvm: TypeAlias = Any
Nodes: TypeAlias = dict[str, tuple[str, list[str]]]
"""Name of a dataset, or of what is outside -> its kind, and what it reads."""


def shared_tables(directory: str = SESSIONS) -> None:
    """Let this driver use the catalog and the warehouse that sessions share, if there are any."""
    properties = Path(os.environ.get("SPARK_CONF_DIR", "/etc/spark"), "spark-defaults.conf")
    if not os.access(f"{directory}/spark-defaults.conf", os.R_OK):
        return
    if match := re.search(r"^spark\.master[ =](.+)$", properties.read_text(encoding="utf-8"), re.M):
        os.environ.setdefault("MASTER", match[1].strip())
    os.environ["SPARK_CONF_DIR"] = directory
    os.umask(0o007)  # as the properties say for tables


def start_server() -> tuple[Jvm, Jvm]:
    """Start the driver's JVM with a Connect server in it, which sessions use from now on.

    The JVM is returned, and its own session. PySpark must not use this one: a process has either a
    classic session or Connect.
    """
    # In the environment: properties are arguments, which everybody on the host can read.
    os.environ["SPARK_CONNECT_AUTHENTICATE_TOKEN"] = secrets.token_urlsafe()
    added = [word for key, value in _SERVER.items() for word in ("--conf", f"{key}={value}")]
    arguments = os.environ.get("PYSPARK_SUBMIT_ARGS", "pyspark-shell")
    os.environ["PYSPARK_SUBMIT_ARGS"] = f"{shlex.join(added)} {arguments}"
    jvm = launch_gateway().jvm
    session = jvm.org.apache.spark.sql.classic.SparkSession.builder().getOrCreate()
    os.environ.pop("MASTER", None)  # PySpark takes only one of the two
    os.environ["SPARK_REMOTE"] = f"sc://localhost:{_server(jvm).localPort()}"
    return jvm, session


def _server(jvm: Jvm) -> Jvm:
    service = getattr(jvm.org.apache.spark.sql.connect.service, "SparkConnectService$")
    return getattr(service, "MODULE$")


def graph(jvm: Jvm, path: Path) -> Jvm:
    """Return the graph of a project, resolved by Spark."""
    from pyspark.pipelines import cli
    from pyspark.pipelines.spark_connect_graph_element_registry import (
        SparkConnectGraphElementRegistry,
    )
    from pyspark.pipelines.spark_connect_pipeline import create_dataflow_graph

    spec = cli.load_pipeline_spec(path)
    # A session of Connect, which has an id; the types know classic ones.
    spark: Any = SparkSession.builder.config(map=dict(spec.configuration)).getOrCreate()
    names = (spec.catalog, spec.database, spec.configuration)
    number = create_dataflow_graph(spark, *names)
    registry = SparkConnectGraphElementRegistry(spark, number)
    cli.register_definitions(path, registry, spec, spark, number)
    user = spark.client._user_id or ""
    key = jvm.org.apache.spark.sql.connect.service.SessionKey(user, spark.session_id)
    manager = _server(jvm).sessionManager()
    holder = manager.getIsolatedSession(key, jvm.scala.Option.apply(None))
    made = holder.dataflowGraphRegistry().getDataflowGraphOrThrow(number)
    return made.toDataflowGraph().resolve()


def nodes(resolved: Jvm) -> Nodes:
    """Return each dataset, and what is read from outside."""
    kinds = {"sink": resolved.sinks(), "view": resolved.views(), "table": resolved.tables()}
    inside: Nodes = {
        dataset.identifier().table(): (kind, [])
        for kind, datasets in kinds.items()
        for dataset in _each(datasets)
    }
    outside: Nodes = {}
    for flow in _each(resolved.resolvedFlows()):
        read = [source.table() for source in _each(flow.inputs())]
        tables = [source.table() for source in _each(flow.funcResult().usedExternalInputs())]
        # The plan of what reads a view has the view's topics too.
        topics = [] if read else [*_topics(flow.df().queryExecution().analyzed())]
        outside |= {name: ("table", []) for name in tables}
        outside |= {name: ("topic", []) for name in topics}
        inside[flow.destinationIdentifier().table()][1].extend(sorted(read + tables + topics))
    return dict(sorted((outside | inside).items()))


def _each(values: Jvm) -> Iterator[Jvm]:
    iterator = values.iterator()
    while iterator.hasNext():
        yield iterator.next()


def _topics(plan: Jvm) -> Iterator[str]:
    for leaf in _each(plan.collectLeaves()):
        if leaf.getClass().getSimpleName() == "StreamingRelationV2":
            options = leaf.extraOptions()
            values = [options.get(key) for key in ("subscribe", "subscribePattern", "assign")]
            yield from (f"topic {text}" for text in values if text)


def mermaid(datasets: Nodes) -> str:
    """Return a graph as a flowchart of Mermaid, which GitHub and many editors draw."""
    names = {name: f"n{number}" for number, name in enumerate(datasets)}
    lines = ["flowchart LR"]
    for name, (kind, _) in datasets.items():
        left, right = _SHAPES[kind]
        lines.append(f'  {names[name]}{left}"{name}"{right}')
    for name, (_, read) in datasets.items():
        lines += [f"  {names[source]} --> {names[name]}" for source in dict.fromkeys(read)]
    return "\n".join(lines) + "\n"


def main(spec: Path) -> None:
    """Run `spark-pipelines` for a project; after a dry run its graph is printed too."""
    from pyspark.pipelines import cli  # it needs packages that only such jobs have

    shared_tables()
    jvm, session = start_server()
    os.chdir(spec.parent)  # where the command finds its project, and where it returns to
    try:
        if "run" in sys.argv and session.conf().get("spark.sql.catalogImplementation") != "hive":
            sys.exit("the tables need a catalog: put a host into the group spark_metastore")
        cli.main()
        if "dry-run" in sys.argv:
            print(mermaid(nodes(graph(jvm, spec))))  # noqa: T201 - the result
            # At the end of Python a session that is left would wait for its server.
            SparkSession.builder.getOrCreate().stop()
    finally:
        session.stop()
