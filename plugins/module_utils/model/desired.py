"""The desired state of a host as plain data: the options that modules get."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from ansible_collections.millrace.streaming.plugins.module_utils.model import (
    files,
    kafka,
    zookeeper,
)
from ansible_collections.millrace.streaming.plugins.module_utils.model.artifacts import (
    HOMES,
    Distribution,
)
from ansible_collections.millrace.streaming.plugins.module_utils.model.cluster import (
    Cluster,
    Service,
)
from ansible_collections.millrace.streaming.plugins.module_utils.model.files import Entry
from ansible_collections.millrace.streaming.plugins.module_utils.model.host import (
    SYSCTL_FILE,
    TMPFILES_FILE,
    HostSettings,
)
from ansible_collections.millrace.streaming.plugins.module_utils.model.kafka import KafkaNode
from ansible_collections.millrace.streaming.plugins.module_utils.model.spark import Job, SparkHost
from ansible_collections.millrace.streaming.plugins.module_utils.model.zookeeper import Member

_TOOLS = "/usr/local/bin"
# Scripts of Kafka's own distribution besides its tools.
_KAFKA_SCRIPTS = ("kafka-run-class.sh", "kafka-server-start.sh", "kafka-server-stop.sh")

State = dict[str, Any]


def of_service(cluster: Cluster, host: str, name: str) -> State:
    """Return the options of the module `service` for a service of a host, or for the host itself.

    Raises:
        NoServiceError: the host does not have the service.

    """
    makers: Mapping[str, Callable[[Any], State]] = {
        "zookeeper": _zookeeper,
        "kafka": _kafka,
        "spark": _spark,
    }
    if name == "host":
        return {"files": cluster.hosts[host].files()}
    return makers[name](cluster.service(host, name))


def of_job(spark: SparkHost, job: Job) -> State:
    """Return the options of the module `service` for a job on a Spark host."""
    return {
        "files": spark.job_files(job),
        "units": [job.unit],
        "restart_marks": [f"/run/{job.unit}/restart-pending"],
    }


def removal(cluster: Cluster, host: str, name: str) -> State:
    """Return the options of the module `service` by which a service leaves a host.

    Raises:
        NoServiceError: the host does not have the service.

    """
    service = of_service(cluster, host, name)
    one = cluster.service(host, name)
    directories, data = _REMOVED[name]
    has_data = one.settings[f"{name}_remove_data"]
    own = [path for path, entry in service["files"].items() if entry.get("state") != "directory"]
    kept = [path for _, path in one.data_directories]
    return {
        "state": "absent",
        "units": ["spark-*"] if name == "spark" else service["units"],
        "removed": [
            *own,
            *directories,
            service["distribution"]["home"],
            *([*kept, data] if has_data else []),
        ],
    }


# Service -> what teardown removes besides its files (a slash at the end: only if it is empty, as
# where certificates lie that Millrace did not bring), and what holds its data.
_REMOVED: Mapping[str, tuple[Sequence[str], str]] = {
    "zookeeper": (["/etc/zookeeper"], "/var/lib/zookeeper"),
    "kafka": (
        ["/etc/kafka/", kafka.PREVIOUS, kafka.DYNAMIC_RECORD, kafka.OPERATION],
        "/var/lib/kafka",
    ),
    "spark": (["/etc/spark/job-*", "/etc/spark/", f"{HOMES}/jobs"], "/var/lib/spark"),
}


def of_host(host: HostSettings, javas: Iterable[str], time_service: str) -> State:
    """Return what a host needs besides files: packages, and commands after each change.

    `javas` are the homes of Java that were found there, `time_service` is the one that runs.
    """
    facts = host.facts
    # A container shares its kernel and clock: what is set there belongs to its machine.
    own = facts is None or not facts.container
    wanted = host.time_service if own and not time_service else {}
    load = [f"sysctl --quiet --load {SYSCTL_FILE}", f"systemd-tmpfiles --create {TMPFILES_FILE}"]
    units = host.mount_units()
    return {
        "commands": [*(load if own else []), *(_mount(units) if units else [])],
        "time_package": wanted.get("package", ""),
        "time_unit": wanted.get("unit", ""),
        "java_package": "" if host.java.home in javas else host.java.package,
        "package_manager": host.family.package_manager,
    }


def _mount(units: Sequence[str]) -> list[str]:
    """Return the lines of a shell script that mounts what is not mounted, and prints that."""
    return [
        f"set -- {' '.join(map(shlex.quote, units))}",
        'if systemctl show --property=NeedDaemonReload "$@" | grep -q yes; then',
        "systemctl daemon-reload; fi",
        "for unit; do",
        'if systemctl --quiet is-active "$unit" && systemctl --quiet is-enabled "$unit"; then',
        "continue; fi",
        'systemctl --quiet enable --now "$unit"',
        "echo mounted",
        "done",
    ]


def _install(
    service: Service, user: str, uid: int | str, description: str, entries: Mapping[str, Entry]
) -> State:
    """Return the options of the module `service` that every service has."""
    distribution = service.distribution
    return {
        "distribution": {
            "home": distribution.home,
            "tarball": str(distribution.tarball),
            "sha256": distribution.sha256,
        },
        "files": {
            "/etc/sysusers.d": files.directory(),
            f"/etc/sysusers.d/millrace-{distribution.product}.conf": files.text(
                f'u {user} {uid} "{description}" /nonexistent /usr/sbin/nologin\n'
            ),
            HOMES: files.directory(),
            **service.files(),
            **entries,
        },
    }


def _tools(distribution: Distribution, java_home: str, more: tuple[str, ...] = ()) -> State:
    """Return the launcher of a product's tools, and a link for each name, with and without .sh."""
    launcher = f"{HOMES}/{distribution.product}-tool"
    names = [name.removesuffix(".sh") for name in (*distribution.tools, *more)]
    script = files.render(
        "tool.sh.j2",
        home=distribution.link,
        service=distribution.product,
        java_home=java_home,
    )
    return {
        launcher: files.text(script, mode="0755"),
        **files.links([f"{x}{end}" for x in names for end in (".sh", "")], _TOOLS, launcher),
    }


def _zookeeper(member: Member) -> State:
    user = member.settings["zookeeper_user"]
    entries = {
        "/etc/zookeeper": files.directory(),
        "/var/lib/zookeeper": files.directory(),
        member.data_dir: files.directory(user, "0750"),
        **_tools(member.distribution, member.host.java.home),
    }
    return {
        **_install(member, user, "-", "Apache ZooKeeper", entries),
        "units": ["zookeeper"],
        "restart_marks": [zookeeper.MARK],
    }


def _kafka(node: KafkaNode) -> State:
    user = node.settings["kafka_user"]
    entries = {
        "/etc/kafka": files.directory(),
        "/var/lib/kafka": files.directory(),
        **{path: files.directory(user, "0750") for _, path in node.data_directories},
        **_tools(node.distribution, node.host.java.home, _KAFKA_SCRIPTS),
    }
    return {
        **_install(node, user, "-", "Apache Kafka", entries),
        "units": ["kafka"],
        "restart_marks": [kafka.MARK],
        "previous": kafka.PREVIOUS,
    }


def _spark(spark: SparkHost) -> State:
    # The same uid on every host: they share a directory.
    user, uid = spark.settings["spark_user"], spark.settings["spark_uid"]
    return {
        **_install(spark, user, uid, "Apache Spark", spark.directories()),
        "units": spark.units,
        "restart_marks": spark.marks,
    }
