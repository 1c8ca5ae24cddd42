"""The rules about Spark."""

from __future__ import annotations

import contextlib
import re
import zoneinfo
from collections.abc import Sequence
from pathlib import PurePosixPath

from .....module_utils.formats.digests import secret_digest
from .....module_utils.formats.key_table import nearest
from .....module_utils.formats.values import integer, is_true, listing, sequence
from .....module_utils.formats.versions import release_numbers
from .....module_utils.host.spark_shared import MARK as SHARED_MARK
from ....cluster.cluster import Cluster
from ....cluster.jvm_options import heap_mb
from ....rules.engine import Finding, Findings, host_rule, hosts_rule, rule
from ....rules.inspection import Directory, InspectedHost, is_below
from ....rules.shared import (
    SCALA,
    Property,
    differing,
    falls_back_to_default,
    holders,
    parts,
    properties,
)
from ...kafka.security import SPARK_SECRET
from ..key_table import seconds, size_mb
from ..model import SparkHost
from ..security import SECRET
from ..sessions import HDFS

_LEAST_SECRET_BYTES = 16
_ARTIFACT = re.compile(r"(?P<group>[^:]+):(?P<name>[^:]+?)_(?P<scala>2\.\d+):(?P<version>[^:]+)")
_RESOURCE = re.compile(r"spark\.(?P<who>task|executor)\.resource\.(?P<name>[^.]+)\.amount")
_OFFER = re.compile(r"-D(spark\.worker\.resource\.[^.]+\.amount)=")
_GIVEN_BY = {"task": "executor", "executor": "worker"}
# What masters, workers and applications have to agree on to connect to each other.
_AGREED = (
    "spark.authenticate",
    SECRET,
    "spark.authenticate.enableSaslEncryption",
    "spark.network.crypto.enabled",
    "spark.ssl.rpc.enabled",
)
_NEARLY = 0.9
_SCRATCH = re.compile(r"(?:file:)?/+(?:var/+)?tmp(?:/|$)")
_NETWORK = (
    "9p",
    "beegfs",
    "ceph",
    "cifs",
    "fuse",
    "glusterfs",
    "gpfs",
    "lustre",
    "nfs",
    "ocfs2",
    "afs",
    "gfs2",
    "smb",
    "virtiofs",
)
_ALIKE = 0.8
_PYTHON = (3, 10)
_PACKAGES_FOR = "spark_python_version"
_DYNAMIC = "spark.dynamicAllocation"
_JVM_SIZE = re.compile(r"\d+[kKmMgGtT]")
_JAVA_OPTIONS = re.compile(r"spark\.(?P<who>driver|executor)\.(?:extra|default)JavaOptions")
_MEMORIES = ("spark.driver.memory", "spark.executor.memory")
_LEAST_MEMORY_MB = 450
_FRACTIONS = {"spark.memory.fraction": "0.6", "spark.memory.storageFraction": "0.5"}
_TIMES = ("spark.executor.heartbeatInterval", "spark.network.timeout")
# The first may not be above the second one, or with True not equal either (SparkConf,
# ResourceProfile, ExecutorAllocationManager).
_ORDERED = (
    ("spark.executor.heartbeatInterval", "spark.network.timeout", True),
    ("spark.task.cpus", "spark.executor.cores", False),
    ("spark.executor.cores", "spark.cores.max", False),
    ("spark.dynamicAllocation.minExecutors", "spark.dynamicAllocation.maxExecutors", False),
)
# Spark's own where they are fixed numbers; a worker decides about the cores of executors.
_DEFAULTS = {
    **dict.fromkeys([key for *keys, _ in _ORDERED for key in keys]),
    "spark.executor.heartbeatInterval": "10s",
    "spark.network.timeout": "120s",
    "spark.task.cpus": 1,
}
_AUTHENTICATE = f"true and {SECRET} from a vault"
# What is refused without another one (SparkConf.validateSettings, UnifiedMemoryManager).
_NEEDED = (
    ("spark.network.crypto.enabled", "spark.authenticate", _AUTHENTICATE),
    ("spark.authenticate.enableSaslEncryption", "spark.authenticate", _AUTHENTICATE),
    ("spark.memory.offHeap.enabled", "spark.memory.offHeap.size", "1g"),
)


@rule("spark-key-prefix", each=properties("spark"))
def _spark_key_prefix(_: SparkHost, entry: Property) -> Findings:
    """Spark ignores every other key, with a warning in its log."""
    if not entry.key.startswith("spark."):
        prefix = "spark.hadoop." if entry.key.startswith("fs.") else "spark."
        problem = f"{entry.key} does not begin with spark."
        yield Finding(problem, f"Set {prefix}{entry.key} instead.", entry.where)


@rule("spark-rest", each=properties("spark"))
def _spark_rest(_: SparkHost, entry: Property) -> Findings:
    """The server takes jobs, which are code, from anybody who reaches it, so it stays off."""
    if entry.key.startswith("spark.master.rest."):
        yield Finding(
            f"{entry.key} is for the REST server, which is off.", "Delete it.", entry.where
        )


@rule("spark-masters", where="group spark_masters")
def _spark_masters(cluster: Cluster) -> Findings:
    """Without ZooKeeper masters elect no leader, and all of them would be active."""
    masters = cluster.inventory.members("spark_masters")
    if len(masters) > 1 and not cluster.zookeeper:
        problem = f"{listing(masters)} would {'both' if len(masters) == 2 else 'all'} be leaders."
        yield Finding(problem, f"Add the group zookeeper with 3 hosts, or keep {masters[0]} alone.")


@rule("spark-without-hdfs", each=parts("spark"), where="spark_file_system")
def _spark_without_hdfs(host: SparkHost) -> Findings:
    """Tables would be in a file system that is not there."""
    if host.settings["spark_file_system"] == HDFS and host.hdfs is None:
        problem = "spark_file_system is hdfs, and the inventory has no HDFS."
        yield Finding(
            problem, "Add hdfs_namenode and hdfs_datanodes, or set spark_file_system: shared."
        )


@rule("spark-metastores", where="group spark_metastore")
def _spark_metastores(cluster: Cluster) -> Findings:
    """Sessions share one catalog: a second one would not have the tables of the first."""
    if (hosts := cluster.inventory.members("spark_metastore"))[1:]:
        yield Finding(f"{listing(hosts)} would each have a catalog.", f"Keep {hosts[0]} alone.")


@rule(
    "spark-secret-missing",
    each=properties("spark", key="spark.authenticate"),
    where=f"spark_config[{SECRET}]",
)
def _spark_secret_missing(host: SparkHost, entry: Property) -> Findings:
    """Masters and workers would not start: they share a secret, and none generates one."""
    if is_true(entry.value) and SECRET not in host.config:
        fix = f"Set {SECRET}, from a vault, or delete spark.authenticate."
        yield Finding(f"{entry.key} is true and {SECRET} is not set.", fix)


@host_rule("spark-secret-differs", where="spark_security")
def _spark_secret_differs(host: InspectedHost) -> Findings:
    """Services are restarted one by one, and those with another secret, or none, could not talk to
    them, nor could running jobs.
    """
    deployed = host.inspection.spark.secret
    if host.spark is None or deployed is None or SPARK_SECRET in host.spark.security.missing:
        return  # one that is not made yet is compared later
    secret = str(host.spark.config.get(SECRET) or "")
    if deployed != (secret_digest(secret) if secret else ""):
        problem = f"Spark runs {'with another secret' if deployed else 'without a secret'} there."
        fix = "Set spark_security to what it was deployed with, or copy kafka_secrets_dir from the "
        fix += "control node that deployed it. To change it, run rotate_secrets.yml; if the "
        fix += "inventory gives it, remove Spark first (teardown.yml)."
        yield Finding(problem, fix)


@rule("spark-secret-short", each=properties("spark", key=SECRET))
def _spark_secret_short(_: SparkHost, entry: Property) -> Findings:
    """Anyone who records one handshake can guess a short secret."""
    if len(str(entry.value).encode()) < _LEAST_SECRET_BYTES:
        problem = f"{entry.key} has fewer than {_LEAST_SECRET_BYTES} bytes."
        fix = "Set 32 random bytes, such as `openssl rand -base64 32` prints, from a vault."
        yield Finding(problem, fix, entry.where)


@rule("spark-packages", each=properties("spark", key="spark.jars.packages"))
def _spark_packages(host: SparkHost, entry: Property) -> Findings:
    """Such jars fail in the middle of a job, with a class or a method that does not exist."""
    for artifact in sequence(entry.value) or str(entry.value).split(","):
        match = _ARTIFACT.fullmatch(str(artifact).strip())
        if not match:
            continue
        right = host.version if match["group"] == "org.apache.spark" else match["version"]
        if (match["scala"], match["version"]) != (SCALA, right):
            problem = f"{match[0]} does not go with Spark {host.version} on Scala {SCALA}."
            fix = f"Set {match['group']}:{match['name']}_{SCALA}:{right}."
            yield Finding(problem, fix, entry.where)


@rule("spark-checkpoint", each=properties("spark", key="spark.sql.streaming.checkpointLocation"))
def _spark_checkpoint(host: SparkHost, entry: Property) -> Findings:
    """The system deletes files there, and a stream that has lost its checkpoint skips records
    or processes them again.
    """
    if _SCRATCH.match(str(entry.value)):
        fix = f"Set {entry.key}: {host.shared_dir}/checkpoints for example."
        yield Finding(f"The system deletes files in {entry.value}.", fix, entry.where)


@rule("spark-java-options", each=properties("spark"))
def _spark_java_options(host: SparkHost, entry: Property) -> Findings:
    """Spark sets the heap from the memory it was asked for, and takes its own properties from its
    file: it refuses to start an application with either of them here.
    """
    match = _JAVA_OPTIONS.fullmatch(entry.key)
    memory = f"spark.{match['who']}.memory" if match else ""
    words = " ".join(map(str, sequence(entry.value) or [entry.value]))
    for option in words.split() if match else ():
        if option.startswith("-Xmx"):
            size = option.removeprefix("-Xmx")
            heaps = [
                heap_mb(worker.settings["spark_worker_memory"])
                for worker in host.standalone.workers.values()
            ]
            fits = (size_mb(size) or 0) <= max((heap or 0 for heap in heaps), default=0)
            instead = f"set {memory}: {size}" if fits else f"set {memory} to what a worker has"
        elif option.startswith("-Dspark."):
            option = option.partition("=")[0]  # the value may be a secret
            instead = f"set {option.removeprefix('-D')} in {entry.layer}"
        else:
            continue
        yield Finding(f"{entry.key} has {option}.", f"Remove it and {instead}.", entry.where)


@rule("spark-memory-minimum", each=properties("spark"))
def _spark_memory_minimum(_: SparkHost, entry: Property) -> Findings:
    """Spark keeps 300 MiB for itself and starts no JVM with less than one and a half times that
    (UnifiedMemoryManager). A number without a unit counts MiB.
    """
    memory = size_mb(entry.value) if entry.key in _MEMORIES else None
    if memory is not None and memory < _LEAST_MEMORY_MB:
        problem = f"{entry.key} is {memory} MiB."
        fix = f"Set {entry.key}: 1g for example, at least {_LEAST_MEMORY_MB}m."
        yield Finding(problem, fix, entry.where)


_with_config = parts("spark", "spark_config")
"""The Spark hosts whose properties are known."""


@rule("spark-numbers", each=_with_config)
def _spark_numbers(host: SparkHost) -> Findings:
    """An application would fail at its start, or wait for executors that it never gets."""
    dynamic = is_true(host.config.get(f"{_DYNAMIC}.enabled"))
    for small, large, strict in _ORDERED:
        if small.startswith(_DYNAMIC) and not dynamic:  # which reads neither
            continue
        low, high = (_number(host, key) for key in (small, large))
        if low is not None and high is not None and low + strict > high:
            small_value, large_value = (
                host.config.get(key, _DEFAULTS[key]) for key in (small, large)
            )
            problem = f"{small} {small_value} {'>=' if strict else '>'} {large} {large_value}."
            fix = f"Set {small}: {large_value} or less, or {large}: {small_value} or more."
            if strict:
                fix = (
                    f"Set {small} to less than {large_value}, or {large} to more than "
                    f"{small_value}."
                )
            key = small if small in host.config else large
            yield Finding(problem, fix, f"spark_config[{key}]")


def _number(host: SparkHost, key: str) -> float | None:
    """Return a number, a time in seconds; None where neither a value nor a default is set."""
    value = host.config.get(key, _DEFAULTS[key])
    return seconds(value) if key in _TIMES else integer(value)


@rule("spark-required-property", each=_with_config)
def _spark_required_property(host: SparkHost) -> Findings:
    """An application would fail at its start: Spark refuses one property without the other."""
    for key, required, proposal in _NEEDED:
        value = host.config.get(required)
        if is_true(host.config.get(key)) and not _is_set(value):
            problem = f"{key} is true, and {required} is {host.config.get(required, 'not set')}."
            fix = f"Set {required}: {proposal}, or delete {key}."
            yield Finding(problem, fix, f"spark_config[{key}]")


@rule("spark-resources")
def _spark_resources(cluster: Cluster) -> Findings:
    """No worker could ever take an executor, and applications would wait without end."""
    hosts = dict(_with_config(cluster))
    offered = set()
    for host in hosts.values():
        if "spark.worker.resourcesFile" in host.config:  # which may offer any
            return
        offered |= {key for key, value in host.config.items() if _is_set(value)}
        offered |= {*_OFFER.findall(" ".join(host.settings["spark_java_options"]))}
    for name, host in hosts.items():
        for match in filter(None, map(_RESOURCE.fullmatch, host.config)):
            giver = f"spark.{_GIVEN_BY[match['who']]}.resource.{match['name']}.amount"
            if _is_set(host.config[match[0]]) and giver not in offered:
                problem = f"{match[0]} is {host.config[match[0]]}, and {giver} is not set."
                fix = f"Set {giver}, or delete {match[0]}."
                yield Finding(problem, fix, f"spark_config[{match[0]}]", (name,))


def _is_set(value: object) -> bool:
    """Return whether a property is on, or a size above 0; Spark fills in what refers to another."""
    text = str(value).strip()
    return is_true(value) or "${" in text or bool(re.match(r"0*[1-9]", text))


@rule("spark-time-zone", each=properties("spark", key="spark.sql.session.timeZone"))
def _spark_time_zone(_: SparkHost, entry: Property) -> Findings:
    """Every session would fail at its start."""
    name, zones = str(entry.value), zoneinfo.available_timezones()
    if "/" in name and zones and name not in zones:
        # Java knows names that a system may have left out, so only what looks misspelt is refused.
        city = name.rpartition("/")[2]
        namesakes = [zone for zone in sorted(zones) if zone.rpartition("/")[2] == city]
        near = next(iter(namesakes), "") or nearest(name, sorted(zones), _NEARLY)
        if near:
            problem = f"There is no time zone {name}."
            yield Finding(problem, f"Did you mean {near}?", entry.where)


@rule("spark-fraction", each=properties("spark"))
def _spark_fraction(_: SparkHost, entry: Property) -> Findings:
    """It is a fraction of the heap: an application fails unless it is between 0 and 1."""
    if entry.key in _FRACTIONS:
        with contextlib.suppress(ValueError):
            value, storage = float(str(entry.value)), entry.key.endswith("storageFraction")
            # Of all memory Spark may take the whole, of its own it may keep nothing for storage.
            if not (0 < value < 1 or value == (0 if storage else 1)):
                fix = f"Set {entry.key} to a number between 0 and 1, or delete it for "
                fix += f"{_FRACTIONS[entry.key]}."
                yield Finding(f"{entry.key} is {entry.value}.", fix, entry.where)


@rule("spark-differs")
def _spark_differs(cluster: Cluster) -> Findings:
    """The hosts share a directory: each must find it at the same path, and must be allowed to
    write what the account of another host has written.
    """
    for variable in ("spark_shared_dir", "spark_uid"):
        values = {
            name: str(host.settings[variable])
            for name, host in cluster.spark.items()
            if host.settings[variable] != 0  # which is no account
        }
        differences = differing(cluster, variable, values)
        if differences:
            fix = f"Set {variable} once, in the group variables of all Spark hosts."
            yield Finding(f"{variable} is {differences}.", fix, variable, tuple(values))


def _switched(value: object) -> str:
    """Return a value as text, empty for one that is off, which is the default."""
    text = "" if value is None else str(value)
    return "" if text.lower() == "false" else text


@rule("spark-config-differs")
def _spark_config_differs(cluster: Cluster) -> Findings:
    """Masters, workers and applications could not connect to each other. A spark_config of a
    smaller group replaces that of a larger one as a whole.
    """
    hosts = dict(_with_config(cluster))
    for key in _AGREED:
        texts = {name: _switched(host.config.get(key)) for name, host in hosts.items()}
        by_value = holders(texts)
        if len(by_value) > 1:
            without = by_value.get("", ())
            problem = f"{key} is not the same on {listing(texts)}"
            problem += (
                f": {listing(without)} {'have' if len(without) > 1 else 'has'} none."
                if without
                else "."
            )
            fix = f"Set {key} once, in the group variables of all Spark hosts, and for single "
            fix += "hosts only a spark_config that repeats it."
            yield Finding(problem, fix, f"spark_config[{key}]", tuple(texts))


@rule("spark-driver-room", where="spark_config[spark.driver.memory]")
def _spark_driver_room(cluster: Cluster) -> Findings:
    """A driver runs on one of the Spark hosts, and the kernel would kill it."""
    hosts = {name: cluster.hosts[name].memory_mb or 0 for name in cluster.spark}
    largest = max(hosts.values(), default=0)
    sizes = {
        name: size_mb(host.config.get("spark.driver.memory"))
        for name, host in _with_config(cluster)
    }
    for name, size in sizes.items():
        if all(hosts.values()) and size and size > largest:
            problem = (
                f"spark.driver.memory {size} MiB > {largest} MiB of memory of every Spark host."
            )
            fix = "Set spark.driver.memory to what a host has free, or correct host_memory_mb."
            yield Finding(problem, fix, hosts=(name,))


@rule("spark-driver-memory", each=properties("spark", key="spark.driver.memory"))
def _spark_driver_memory(_: SparkHost, entry: Property) -> Findings:
    """It becomes the driver's -Xmx as it is written; Java knows no two-letter units, and reads a
    number without a unit as bytes.
    """
    if size_mb(entry.value) is not None and not _JVM_SIZE.fullmatch(str(entry.value)):
        fix = f"Set {entry.key}: {size_mb(entry.value)}m."
        yield Finding(
            f"{entry.key} is {entry.value}, which is not a size for Java.", fix, entry.where
        )


@rule("spark-allocation", each=_with_config, where=f"spark_config[{_DYNAMIC}.enabled]")
def _spark_allocation(host: SparkHost) -> Findings:
    """An application would fail at its start: when an executor is released, its shuffle files
    would be lost (ExecutorAllocationManager).
    """
    safeguards = (
        ("spark.shuffle.service.enabled", False),
        (f"{_DYNAMIC}.shuffleTracking.enabled", True),
        ("spark.decommission.enabled", False),
    )
    on = is_true(host.config.get(f"{_DYNAMIC}.enabled"))
    if host.config.get("spark.shuffle.sort.io.plugin.class"):  # which keeps them elsewhere
        return
    if on and not any(is_true(host.config.get(key, default)) for key, default in safeguards):
        names = listing(key for key, _ in safeguards)
        fix = f"Set {safeguards[0][0]}: true, or delete {safeguards[1][0]}."
        yield Finding(f"{_DYNAMIC}.enabled is true, and none of {names} is.", fix)


@rule("spark-executor-memory")
def _spark_executor_memory(cluster: Cluster) -> Findings:
    """No worker could ever run an executor, and applications would wait forever."""
    workers = cluster.inventory.members("spark_workers")
    if any(falls_back_to_default(cluster, name, "spark_worker_memory") for name in workers):
        return
    heaps = [cluster.hosts[name].settings["spark_worker_memory"] for name in workers]
    most = max((heap_mb(heap) or 0 for heap in heaps), default=0)
    for host, _, entry in properties("spark", key="spark.executor.memory")(cluster):
        requested = size_mb(entry.value)
        if most and requested and requested > most:
            problem = f"{entry.key} {requested} MiB > spark_worker_memory {most} MiB."
            yield Finding(problem, f"Set {entry.key}: {most}m or less.", entry.where, (host,))


@rule("spark-executor-cores")
def _spark_executor_cores(cluster: Cluster) -> Findings:
    """No worker could ever run an executor, and applications would wait forever."""
    workers = [cluster.hosts[name] for name in cluster.inventory.members("spark_workers")]
    cores = [worker.settings["spark_worker_cores"] for worker in workers]
    # A worker without a number takes what its host has.
    most = max(cores) if cores and min(cores) > 0 else 0
    for host, _, entry in properties("spark", key="spark.executor.cores")(cluster):
        requested = integer(entry.value)
        if most and requested and requested > most:
            problem = f"{entry.key} {requested} > spark_worker_cores {most}."
            yield Finding(problem, f"Set {entry.key}: {most} or less.", entry.where, (host,))


@rule("spark-python-version", each=parts("spark", _PACKAGES_FOR), where=_PACKAGES_FOR)
def _spark_python_version(host: SparkHost) -> Findings:
    """No package is for it, and PySpark 4 needs Python 3.10 or newer. YAML reads 3.10 without
    quotes as 3.1.
    """
    version = str(host.settings[_PACKAGES_FOR])
    match = re.fullmatch(r"3\.(?P<minor>\d{1,2})", version)
    if version and not (match and int(match["minor"]) >= _PYTHON[1]):
        problem = f"{_PACKAGES_FOR} is {version}."
        yield Finding(problem, 'Delete it, or write the version in quotes, as "3.11".')


@host_rule("spark-python", where="python3")
def _spark_python(host: InspectedHost) -> Findings:
    """PySpark 4 needs Python 3.10 or newer: jobs would end at their first import."""
    python = _python(host)
    if host.spark and release_numbers(host.spark.version) >= (4,) and python < _PYTHON:
        shown = ".".join(map(str, python))
        fix = "Use Debian 12 or another system with Python 3.10 or newer."
        yield Finding(f"Python is {shown}; Spark {host.spark.version} needs 3.10 or newer.", fix)


def _python(host: InspectedHost) -> tuple[int, ...]:
    """Return the version of the Python that drivers and executors run."""
    inspection = host.inspection
    return inspection.spark.python or inspection.system.python


@host_rule("spark-python-other", where=_PACKAGES_FOR)
def _spark_python_other(host: InspectedHost) -> Findings:
    """Packages with compiled parts are for one version: a job could not import them."""
    configured = str(host.spark.settings[_PACKAGES_FOR]) if host.spark else ""
    python = ".".join(map(str, _python(host)[:2]))
    if configured and configured != python:
        fix = f"Delete {_PACKAGES_FOR}: then it is that of the hosts."
        yield Finding(f"{_PACKAGES_FOR} is {configured}, and /usr/bin/python3 is {python}.", fix)


@hosts_rule("spark-python-differs", where="python3")
def _spark_python_differs(hosts: Sequence[InspectedHost]) -> Findings:
    """A driver and its executors need one minor version: a task with Python code fails otherwise
    (PYTHON_VERSION_MISMATCH).
    """
    versions = {host.name: ".".join(map(str, _python(host)[:2])) for host in hosts if host.spark}
    by_version = sorted(holders(versions).items())
    if len(by_version) > 1:
        versions_found = listing(
            f"Python {version} on {listing(names)}" for version, names in by_version
        )
        fix = "Use one release of one system for all Spark hosts."
        yield Finding(f"The Spark hosts have {versions_found}.", fix, hosts=tuple(versions))


def _shared_directory(host: InspectedHost) -> Directory | None:
    """Return the shared directory as it was found.

    None where no other host needs it, or a disk is yet to be mounted there.
    """
    path = host.spark.shared_dir if host.spark and len(host.cluster.spark) > 1 else ""
    pending = any(is_below(path, mount["path"]) for mount in host.host.mounts)
    return None if pending or not path else host.directory(path)


def _on_own_disk(directory: Directory) -> bool:
    """Return whether no file system of its own, nor one of the network, is mounted there."""
    return directory.mount == "/" and not directory.fstype.startswith(_NETWORK)


@host_rule("spark-shared-misspelt", where="spark_shared_dir")
def _spark_shared_misspelt(host: InspectedHost) -> Findings:
    """Each host would have a directory of its own, where the others do not see its files."""
    directory = _shared_directory(host)
    if directory is None or directory.fstype.startswith(_NETWORK):
        return
    names = PurePosixPath(directory.path).parts
    for mount in host.inspection.disks.mount_points:
        depth = len(PurePosixPath(mount).parts)
        written = str(PurePosixPath(*names[:depth]))
        if depth > 1 and written != mount and nearest(written, [mount], _ALIKE):
            problem = f"{directory.path} is on {directory.mount}, and there is a mount {mount}."
            fix = f"Did you mean {PurePosixPath(mount, *names[depth:])}?"
            yield Finding(problem, fix)


@host_rule("spark-shared-local", where="spark_shared_dir", severity="warning")
def _spark_shared_local(host: InspectedHost) -> Findings:
    """Several hosts write event logs, tables and checkpoints there, and read what others wrote."""
    directory = _shared_directory(host)
    if directory and _on_own_disk(directory):
        fix = "Mount a file system that all Spark hosts share, such as NFS, and set it to a "
        yield Finding(f"{directory.path} is on the host's own disk.", f"{fix}directory there.")


@hosts_rule("spark-shared-differs", where="spark_shared_dir")
def _spark_shared_differs(hosts: Sequence[InspectedHost]) -> Findings:
    """Event logs, tables and checkpoints that one host writes would not be there on the others;
    site.yml has written an id into the directory, once.
    """
    shared = {host.name: (host, _shared_directory(host)) for host in hosts}
    directories = {name: (host, at) for name, (host, at) in shared.items() if at}
    # Where nothing is mounted on any host, no mount was lost: spark-shared-local says it.
    if all(_on_own_disk(at) for _, at in directories.values()):
        return
    ids = {name: host.inspection.spark.shared_id for name, (host, _) in directories.items()}
    by_id = holders(ids)
    if len(by_id) > 1 and any(by_id):
        marked = [names for number, names in by_id.items() if number]
        bare = [names for number, names in by_id.items() if not number]
        problem = "The shared directory is another one on " + listing(
            map(listing, marked), "than on"
        )
        if len(marked) == 1:
            problem = (
                f"The shared directory of {listing(bare[0])} is not that of {listing(marked[0])}"
            )
        fix = "Mount the same file system on all Spark hosts; if it was replaced on purpose, copy "
        fix += f"{SHARED_MARK} of the directory to the new one."
        yield Finding(f"{problem}.", fix, hosts=tuple(ids))
