"""The rules about Spark."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ansible_collections.millrace.streaming.plugins.module_utils.model.cluster import Cluster
from ansible_collections.millrace.streaming.plugins.module_utils.model.spark import SECRET
from ansible_collections.millrace.streaming.plugins.module_utils.model.values import (
    integer,
    is_true,
    listing,
    sequence,
)
from ansible_collections.millrace.streaming.plugins.module_utils.model.versions import (
    release_numbers,
)
from ansible_collections.millrace.streaming.plugins.module_utils.rules.engine import (
    Finding,
    host_rule,
    rule,
)
from ansible_collections.millrace.streaming.plugins.module_utils.rules.hosts import heap_size
from ansible_collections.millrace.streaming.plugins.module_utils.rules.inspection import (
    InspectedHost,
)
from ansible_collections.millrace.streaming.plugins.module_utils.rules.shared import (
    Property,
    has_default_instead,
    own_properties,
)

_LEAST_SECRET_BYTES = 16
_SCALA = "2.13"
_REST = "spark.master.rest."
_PACKAGES = "spark.jars.packages"
_CHECKPOINTS = "spark.sql.streaming.checkpointLocation"
_ARTIFACT = re.compile(r"(?P<group>[^:]+):(?P<name>[^:]+?)_(?P<scala>2\.\d+):(?P<version>[^:]+)")
_SCRATCH = re.compile(r"(?:file:)?/+(?:var/+)?tmp(?:/|$)")
_PYTHON = (3, 10)


def _properties(cluster: Cluster, wanted: str = "") -> Iterator[Property]:
    """Give the properties that the inventory sets, or of one key if it is named."""
    return (one for one in own_properties(cluster, "spark") if wanted in ("", one.key))


@rule(
    "spark-key-prefix",
    when="a key of `spark_config` does not begin with `spark.`",
    why="Spark ignores every other key, with a warning in its log.",
    remedy="Write the complete key, `spark.executor.memory` for example. Properties of Hadoop "
    "begin with `spark.hadoop.`.",
)
def _spark_key_prefix(cluster: Cluster) -> Iterator[Finding]:
    for one in _properties(cluster):
        if not one.key.startswith("spark."):
            prefix = "spark.hadoop." if one.key.startswith("fs.") else "spark."
            what = f"{one.key} does not begin with spark."
            yield Finding(one.where, what, f"Set {prefix}{one.key} instead.", (one.host,))


@rule(
    "spark-rest",
    when="`spark_config` holds a key of the master's REST server",
    why="The server takes jobs, which are code, from anybody who reaches it, so it stays off.",
    remedy="Delete the key; submit jobs to the master's own port.",
)
def _spark_rest(cluster: Cluster) -> Iterator[Finding]:
    for one in _properties(cluster):
        if one.key.startswith(_REST):
            what = f"{one.key} is about the REST server, which is off."
            yield Finding(one.where, what, "Delete it.", (one.host,))


@rule(
    "spark-masters",
    when="there is more than one host in `spark_masters` and no group `zookeeper`",
    why="Without ZooKeeper masters elect no leader, and all of them would be active.",
    remedy="Add the group `zookeeper` with 3 hosts, or keep one master.",
)
def _spark_masters(cluster: Cluster) -> Iterator[Finding]:
    masters = cluster.inventory.members("spark_masters")
    if len(masters) > 1 and not cluster.zookeeper:
        what = f"{listing(masters)} would {'both' if len(masters) == 2 else 'all'} be leaders."
        fix = f"Add the group zookeeper with 3 hosts, or keep {masters[0]} alone."
        yield Finding("group spark_masters", what, fix)


@rule(
    "spark-secret-missing",
    when="`spark.authenticate` is true and `spark.authenticate.secret` is not set",
    why="Masters and workers would not start: they share a secret, and none generates one.",
    remedy="Set at least 16 random bytes, 32 are better, from a vault.",
)
def _spark_secret_missing(cluster: Cluster) -> Iterator[Finding]:
    for one in _properties(cluster, "spark.authenticate"):
        if is_true(one.value) and not cluster.spark[one.host].keeps_secret:
            what = f"{one.key} is true and {SECRET} is not set."
            fix = f"Set {SECRET}, from a vault, or delete {one.key}."
            yield Finding(f"spark_config[{SECRET}]", what, fix, (one.host,))


@rule(
    "spark-secret-short",
    when="`spark.authenticate.secret` has fewer than 16 bytes",
    why="Whoever records one handshake can guess a short secret.",
    remedy="Set at least 16 random bytes, 32 are better, from a vault.",
)
def _spark_secret_short(cluster: Cluster) -> Iterator[Finding]:
    for one in _properties(cluster, SECRET):
        if len(str(one.value).encode()) < _LEAST_SECRET_BYTES:
            what = f"{one.key} has fewer than {_LEAST_SECRET_BYTES} bytes."
            fix = "Set 32 random bytes, such as `openssl rand -base64 32` prints, from a vault."
            yield Finding(one.where, what, fix, (one.host,))


@rule(
    "spark-secret-plain",
    when="`spark.authenticate.secret` is in the inventory outside a vault",
    why="Whoever reads the repository of the inventory could submit jobs.",
    remedy="Encrypt it with `ansible-vault encrypt_string`.",
)
def _spark_secret_plain(cluster: Cluster) -> Iterator[Finding]:
    for one in _properties(cluster, SECRET):
        if not cluster.inventory.hosts[one.host].hidden & {one.layer, one.where}:
            fix = "Encrypt it with ansible-vault encrypt_string."
            yield Finding(one.where, f"{one.key} is not encrypted.", fix, (one.host,))


@rule(
    "spark-packages",
    when="`spark.jars.packages` names an artifact for another Scala than 2.13, or one of Spark's "
    "own in another version than `spark_version`",
    why="Such jars fail in the middle of a job, with a class or a method that does not exist.",
    remedy="Name the artifact with `_2.13` and the version of Spark.",
)
def _spark_packages(cluster: Cluster) -> Iterator[Finding]:
    for one in _properties(cluster, _PACKAGES):
        version = cluster.spark[one.host].version
        for part in sequence(one.value) or str(one.value).split(","):
            match = _ARTIFACT.fullmatch(str(part).strip())
            if not match:
                continue
            right = version if match["group"] == "org.apache.spark" else match["version"]
            if (match["scala"], match["version"]) != (_SCALA, right):
                what = f"{match[0]} does not go with Spark {version} on Scala {_SCALA}."
                fix = f"Set {match['group']}:{match['name']}_{_SCALA}:{right}."
                yield Finding(one.where, what, fix, (one.host,))


@rule(
    "spark-checkpoint",
    when="`spark.sql.streaming.checkpointLocation` is below `/tmp` or `/var/tmp`",
    why="It is emptied by the system, and a stream without its checkpoint begins anew or twice.",
    remedy="Set a directory that all workers share, below `spark_shared_dir`.",
)
def _spark_checkpoint(cluster: Cluster) -> Iterator[Finding]:
    for one in _properties(cluster, _CHECKPOINTS):
        if _SCRATCH.match(str(one.value)):
            fix = f"Set {one.key}: {cluster.spark[one.host].shared_dir}/checkpoints for example."
            yield Finding(one.where, f"{one.value} is emptied by the system.", fix, (one.host,))


@rule(
    "spark-executor-memory",
    when="`spark.executor.memory` is more than `spark_worker_memory` of every worker",
    why="No worker could ever take an executor, and applications would wait without end.",
    remedy="Raise `spark_worker_memory` or lower `spark.executor.memory`.",
)
def _spark_executor_memory(cluster: Cluster) -> Iterator[Finding]:
    workers = cluster.inventory.members("spark_workers")
    if any(has_default_instead(cluster, name, "spark_worker_memory") for name in workers):
        return
    heaps = [cluster.hosts[name].settings["spark_worker_memory"] for name in workers]
    most = max((heap_size(heap) or 0 for heap in heaps), default=0)
    for one in _properties(cluster, "spark.executor.memory"):
        wanted = heap_size(one.value)
        if most and wanted and wanted > most:
            what = f"{one.key} {wanted} MiB > spark_worker_memory {most} MiB."
            yield Finding(one.where, what, f"Set {one.key}: {most}m or less.", (one.host,))


@rule(
    "spark-executor-cores",
    when="`spark.executor.cores` is more than `spark_worker_cores` of every worker",
    why="No worker could ever take an executor, and applications would wait without end.",
    remedy="Raise `spark_worker_cores` or lower `spark.executor.cores`.",
)
def _spark_executor_cores(cluster: Cluster) -> Iterator[Finding]:
    workers = [cluster.hosts[name] for name in cluster.inventory.members("spark_workers")]
    cores = [worker.settings["spark_worker_cores"] for worker in workers]
    # A worker without a number takes what its host has.
    most = max(cores) if cores and min(cores) > 0 else 0
    for one in _properties(cluster, "spark.executor.cores"):
        wanted = integer(one.value)
        if most and wanted and wanted > most:
            what = f"{one.key} {wanted} > spark_worker_cores {most}."
            yield Finding(one.where, what, f"Set {one.key}: {most} or less.", (one.host,))


@host_rule(
    "spark-python",
    when="a host of Spark 4 has a Python older than 3.10",
    why="PySpark 4 needs Python 3.10 or newer: jobs would end at their first import.",
    remedy="Use a system with a newer Python for Spark, such as Debian 12.",
)
def _spark_python(host: InspectedHost) -> Iterator[Finding]:
    if host.spark and release_numbers(host.spark.version) >= (4,) and host.found.python < _PYTHON:
        python = ".".join(map(str, host.found.python))
        what = f"Python is {python}; Spark {host.spark.version} needs 3.10 or newer."
        yield Finding("python3", what, "Use Debian 12 or another system with Python 3.10 or newer.")
