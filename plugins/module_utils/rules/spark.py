"""The rules about Spark."""

from __future__ import annotations

import re

from ..model.cluster import Cluster
from ..model.heap import heap_mb
from ..model.spark import SECRET, SparkHost
from ..model.values import integer, is_true, listing, sequence
from ..model.versions import release_numbers
from .engine import Finding, Findings, host_rule, rule
from .inspection import InspectedHost
from .shared import SCALA, Property, has_default_instead, properties

_LEAST_SECRET_BYTES = 16
_ARTIFACT = re.compile(r"(?P<group>[^:]+):(?P<name>[^:]+?)_(?P<scala>2\.\d+):(?P<version>[^:]+)")
_SCRATCH = re.compile(r"(?:file:)?/+(?:var/+)?tmp(?:/|$)")
_PYTHON = (3, 10)


@rule("spark-key-prefix", each=properties("spark"))
def _spark_key_prefix(_: SparkHost, one: Property) -> Findings:
    """Spark ignores every other key, with a warning in its log."""
    if not one.key.startswith("spark."):
        prefix = "spark.hadoop." if one.key.startswith("fs.") else "spark."
        what = f"{one.key} does not begin with spark."
        yield Finding(what, f"Set {prefix}{one.key} instead.", one.where)


@rule("spark-rest", each=properties("spark"))
def _spark_rest(_: SparkHost, one: Property) -> Findings:
    """The server takes jobs, which are code, from anybody who reaches it, so it stays off."""
    if one.key.startswith("spark.master.rest."):
        yield Finding(f"{one.key} is about the REST server, which is off.", "Delete it.", one.where)


@rule("spark-masters", where="group spark_masters")
def _spark_masters(cluster: Cluster) -> Findings:
    """Without ZooKeeper masters elect no leader, and all of them would be active."""
    masters = cluster.inventory.members("spark_masters")
    if len(masters) > 1 and not cluster.zookeeper:
        what = f"{listing(masters)} would {'both' if len(masters) == 2 else 'all'} be leaders."
        yield Finding(what, f"Add the group zookeeper with 3 hosts, or keep {masters[0]} alone.")


@rule(
    "spark-secret-missing",
    each=properties("spark", key="spark.authenticate"),
    where=f"spark_config[{SECRET}]",
)
def _spark_secret_missing(host: SparkHost, one: Property) -> Findings:
    """Masters and workers would not start: they share a secret, and none generates one."""
    if is_true(one.value) and not host.keeps_secret:
        fix = f"Set {SECRET}, from a vault, or delete spark.authenticate."
        yield Finding(f"{one.key} is true and {SECRET} is not set.", fix)


@rule("spark-secret-short", each=properties("spark", key=SECRET))
def _spark_secret_short(_: SparkHost, one: Property) -> Findings:
    """Whoever records one handshake can guess a short secret."""
    if len(str(one.value).encode()) < _LEAST_SECRET_BYTES:
        what = f"{one.key} has fewer than {_LEAST_SECRET_BYTES} bytes."
        fix = "Set 32 random bytes, such as `openssl rand -base64 32` prints, from a vault."
        yield Finding(what, fix, one.where)


@rule("spark-secret-plain", each=properties("spark", key=SECRET))
def _spark_secret_plain(_: SparkHost, one: Property) -> Findings:
    """Whoever reads the repository of the inventory could submit jobs."""
    if not one.hidden:
        fix = "Encrypt it with ansible-vault encrypt_string."
        yield Finding(f"{one.key} is not encrypted.", fix, one.where)


@rule("spark-packages", each=properties("spark", key="spark.jars.packages"))
def _spark_packages(host: SparkHost, one: Property) -> Findings:
    """Such jars fail in the middle of a job, with a class or a method that does not exist."""
    for part in sequence(one.value) or str(one.value).split(","):
        match = _ARTIFACT.fullmatch(str(part).strip())
        if not match:
            continue
        right = host.version if match["group"] == "org.apache.spark" else match["version"]
        if (match["scala"], match["version"]) != (SCALA, right):
            what = f"{match[0]} does not go with Spark {host.version} on Scala {SCALA}."
            fix = f"Set {match['group']}:{match['name']}_{SCALA}:{right}."
            yield Finding(what, fix, one.where)


@rule("spark-checkpoint", each=properties("spark", key="spark.sql.streaming.checkpointLocation"))
def _spark_checkpoint(host: SparkHost, one: Property) -> Findings:
    """The system deletes files there, and a stream that has lost its checkpoint skips records
    or processes them again.
    """
    if _SCRATCH.match(str(one.value)):
        fix = f"Set {one.key}: {host.shared_dir}/checkpoints for example."
        yield Finding(f"{one.value} is emptied by the system.", fix, one.where)


@rule("spark-executor-memory")
def _spark_executor_memory(cluster: Cluster) -> Findings:
    """No worker could ever take an executor, and applications would wait without end."""
    workers = cluster.inventory.members("spark_workers")
    if any(has_default_instead(cluster, name, "spark_worker_memory") for name in workers):
        return
    heaps = [cluster.hosts[name].settings["spark_worker_memory"] for name in workers]
    most = max((heap_mb(heap) or 0 for heap in heaps), default=0)
    for host, _, one in properties("spark", key="spark.executor.memory")(cluster):
        wanted = heap_mb(one.value)
        if most and wanted and wanted > most:
            what = f"{one.key} {wanted} MiB > spark_worker_memory {most} MiB."
            yield Finding(what, f"Set {one.key}: {most}m or less.", one.where, (host,))


@rule("spark-executor-cores")
def _spark_executor_cores(cluster: Cluster) -> Findings:
    """No worker could ever take an executor, and applications would wait without end."""
    workers = [cluster.hosts[name] for name in cluster.inventory.members("spark_workers")]
    cores = [worker.settings["spark_worker_cores"] for worker in workers]
    # A worker without a number takes what its host has.
    most = max(cores) if cores and min(cores) > 0 else 0
    for host, _, one in properties("spark", key="spark.executor.cores")(cluster):
        wanted = integer(one.value)
        if most and wanted and wanted > most:
            what = f"{one.key} {wanted} > spark_worker_cores {most}."
            yield Finding(what, f"Set {one.key}: {most} or less.", one.where, (host,))


@host_rule("spark-python", where="python3")
def _spark_python(host: InspectedHost) -> Findings:
    """PySpark 4 needs Python 3.10 or newer: jobs would end at their first import."""
    if host.spark and release_numbers(host.spark.version) >= (4,) and host.found.python < _PYTHON:
        python = host.found.python_version
        fix = "Use Debian 12 or another system with Python 3.10 or newer."
        yield Finding(f"Python is {python}; Spark {host.spark.version} needs 3.10 or newer.", fix)
