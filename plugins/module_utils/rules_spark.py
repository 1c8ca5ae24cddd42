"""The rules about Spark."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from ansible_collections.millrace.streaming.plugins.module_utils.rules import (
    Finding,
    Host,
    Inventory,
    integer,
    listing,
    mapping,
    rule,
    sequence,
    yes,
)
from ansible_collections.millrace.streaming.plugins.module_utils.rules_hosts import heap_size
from ansible_collections.millrace.streaming.plugins.module_utils.rules_properties import own_keys

_SECRET = "spark.authenticate.secret"  # noqa: S105 - the name of a key
_LEAST_SECRET_BYTES = 16
_SCALA = "2.13"
_REST = "spark.master.rest."
_PACKAGES = "spark.jars.packages"
_CHECKPOINTS = "spark.sql.streaming.checkpointLocation"
_ARTIFACT = re.compile(r"(?P<group>[^:]+):(?P<name>[^:]+?)_(?P<scala>2\.\d+):(?P<version>[^:]+)")
_SCRATCH = re.compile(r"(?:file:)?/+(?:var/+)?tmp(?:/|$)")


def own(inventory: Inventory, wanted: str = "") -> Iterator[tuple[Host, str, Any]]:
    """Yield host, key and value of the user's properties, of one key if it is named."""
    for host, _layer, key, value in own_keys(inventory, "spark"):
        if wanted in ("", key):
            yield host, key, value


@rule(
    "spark-key-prefix",
    when="a key of `spark_config` does not begin with `spark.`",
    why="Spark ignores every other key, with a warning that nobody reads.",
    remedy="Write the whole key, `spark.executor.memory` for example. Properties of Hadoop begin "
    "with `spark.hadoop.`.",
)
def spark_key_prefix(inventory: Inventory) -> Iterator[Finding]:
    """Refuse a key that Spark would ignore."""
    for host, key, _value in own(inventory):
        if not key.startswith("spark."):
            prefix = "spark.hadoop." if key.startswith("fs.") else "spark."
            what = f"{key} does not begin with spark."
            yield Finding(f"spark_config[{key}]", what, f"Set {prefix}{key} instead.", (host.name,))


@rule(
    "spark-rest",
    when="`spark_config` holds a key of the master's REST server",
    why="The server takes jobs, which are code, from anybody who reaches it, so it stays off.",
    remedy="Delete the key; submit jobs to the master's own port.",
)
def spark_rest(inventory: Inventory) -> Iterator[Finding]:
    """Refuse settings of a server that is off."""
    for host, key, _value in own(inventory):
        if key.startswith(_REST):
            what = f"{key} is about the REST server, which is off."
            yield Finding(f"spark_config[{key}]", what, "Delete it.", (host.name,))


@rule(
    "spark-masters",
    when="there is more than one host in `spark_masters` and no group `zookeeper`",
    why="Without ZooKeeper masters do not know of each other, and all of them would be leaders.",
    remedy="Add the group `zookeeper` with 3 hosts, or keep one master.",
)
def spark_masters(inventory: Inventory) -> Iterator[Finding]:
    """Refuse masters that cannot elect one."""
    masters = inventory.members("spark_masters")
    if len(masters) > 1 and not inventory.members("zookeeper"):
        what = f"{listing(masters)} would {'both' if len(masters) == 2 else 'all'} be leaders."
        fix = f"Add the group zookeeper with 3 hosts, or keep {masters[0]} alone."
        yield Finding("group spark_masters", what, fix)


@rule(
    "spark-secret-missing",
    when="`spark.authenticate` is true and `spark.authenticate.secret` is not set",
    why="Masters and workers would not start: they share a secret, and none makes one up.",
    remedy="Set at least 16 random bytes, 32 are better, from a vault.",
)
def spark_secret_missing(inventory: Inventory) -> Iterator[Finding]:
    """Refuse daemons that ask for a secret that nobody has."""
    for host, key, value in own(inventory, "spark.authenticate"):
        written = mapping(mapping(host.spark.get("own_config")).get("spark_config"))
        if yes(value) and _SECRET not in written:
            what = f"{key} is true and {_SECRET} is not set."
            fix = f"Set {_SECRET}, from a vault, or delete {key}."
            yield Finding(f"spark_config[{_SECRET}]", what, fix, (host.name,))


@rule(
    "spark-secret-short",
    when="`spark.authenticate.secret` has fewer than 16 bytes",
    why="Whoever records one handshake can guess a short secret.",
    remedy="Set at least 16 random bytes, 32 are better, from a vault.",
)
def spark_secret_short(inventory: Inventory) -> Iterator[Finding]:
    """Refuse a secret that can be guessed; it is never shown."""
    for host, key, value in own(inventory, _SECRET):
        size = len(str(value).encode())
        if size < _LEAST_SECRET_BYTES:
            what = f"{key} has fewer than {_LEAST_SECRET_BYTES} bytes."
            fix = "Set 32 random bytes, such as `openssl rand -base64 32` prints, from a vault."
            yield Finding(f"spark_config[{key}]", what, fix, (host.name,))


@rule(
    "spark-secret-plain",
    when="`spark.authenticate.secret` stands in the inventory outside a vault",
    why="Whoever reads the repository of the inventory could submit jobs.",
    remedy="Encrypt it with `ansible-vault encrypt_string`.",
)
def spark_secret_plain(inventory: Inventory) -> Iterator[Finding]:
    """Refuse a secret in plain sight."""
    for host, key, _value in own(inventory, _SECRET):
        if not host.vaulted & {"spark_config", f"spark_config[{key}]"}:
            fix = "Encrypt it with ansible-vault encrypt_string."
            what = f"{key} stands in plain sight."
            yield Finding(f"spark_config[{key}]", what, fix, (host.name,))


@rule(
    "spark-packages",
    when="`spark.jars.packages` names an artifact for another Scala than 2.13, or one of Spark's "
    "own in another version than `spark_version`",
    why="Such jars fail in the middle of a job, with a class or a method that is not there.",
    remedy="Name the artifact with `_2.13` and the version of Spark.",
)
def spark_packages(inventory: Inventory) -> Iterator[Finding]:
    """Refuse jars of another Spark."""
    for host, key, value in own(inventory, _PACKAGES):
        version = str(host.spark.get("version"))
        for part in sequence(value) or str(value).split(","):
            match = _ARTIFACT.fullmatch(str(part).strip())
            if not match:
                continue
            right = version if match["group"] == "org.apache.spark" else match["version"]
            if (match["scala"], match["version"]) != (_SCALA, right):
                what = f"{match[0]} does not go with Spark {version} on Scala {_SCALA}."
                fix = f"Set {match['group']}:{match['name']}_{_SCALA}:{right}."
                yield Finding(f"spark_config[{key}]", what, fix, (host.name,))


@rule(
    "spark-checkpoint",
    when="`spark.sql.streaming.checkpointLocation` is below `/tmp` or `/var/tmp`",
    why="It is emptied by the system, and a stream without its checkpoint begins anew or twice.",
    remedy="Set a directory that all workers share, below `spark_shared_dir`.",
)
def spark_checkpoint(inventory: Inventory) -> Iterator[Finding]:
    """Refuse checkpoints where the system deletes files."""
    for host, key, value in own(inventory, _CHECKPOINTS):
        if _SCRATCH.match(str(value)):
            shared = next(iter(sequence(host.spark.get("data_dirs"))), "/srv/spark")
            fix = f"Set {key}: {shared}/checkpoints for example."
            what = f"{value} is emptied by the system."
            yield Finding(f"spark_config[{key}]", what, fix, (host.name,))


@rule(
    "spark-executor-memory",
    when="`spark.executor.memory` is more than `spark_worker_memory` of every worker",
    why="No worker could ever take an executor, and applications would wait without end.",
    remedy="Raise `spark_worker_memory` or lower `spark.executor.memory`.",
)
def spark_executor_memory(inventory: Inventory) -> Iterator[Finding]:
    """Refuse executors that fit nowhere."""
    heaps = [mapping(host.spark.get("heaps")) for host in inventory.hosts.values()]
    sizes = [size for heap in heaps if (size := heap_size(heap.get("spark_worker_memory")))]
    for host, key, value in own(inventory, "spark.executor.memory"):
        wanted = heap_size(value)
        if sizes and wanted and wanted > max(sizes):
            what = f"{key} {wanted} MiB > spark_worker_memory {max(sizes)} MiB."
            fix = f"Set {key}: {max(sizes)}m or less."
            yield Finding(f"spark_config[{key}]", what, fix, (host.name,))


@rule(
    "spark-executor-cores",
    when="`spark.executor.cores` is more than `spark_worker_cores` of every worker",
    why="No worker could ever take an executor, and applications would wait without end.",
    remedy="Raise `spark_worker_cores` or lower `spark.executor.cores`.",
)
def spark_executor_cores(inventory: Inventory) -> Iterator[Finding]:
    """Refuse executors that fit nowhere; a worker without a number takes what its host has."""
    workers = [inventory.hosts[name] for name in inventory.members("spark_workers")]
    cores = [integer(host.variables.get("spark_worker_cores")) or 0 for host in workers]
    most = max(cores) if cores and min(cores) > 0 else 0
    for host, key, value in own(inventory, "spark.executor.cores"):
        wanted = integer(value)
        if most and wanted and wanted > most:
            what = f"{key} {wanted} > spark_worker_cores {most}."
            yield Finding(f"spark_config[{key}]", what, f"Set {key}: {most} or less.", (host.name,))
