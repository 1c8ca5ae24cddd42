"""The desired state of a host as plain data: what roles and actions hand to modules."""

from __future__ import annotations

from collections.abc import Callable, Mapping
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
from ansible_collections.millrace.streaming.plugins.module_utils.model.host import HostSettings
from ansible_collections.millrace.streaming.plugins.module_utils.model.kafka import KafkaNode
from ansible_collections.millrace.streaming.plugins.module_utils.model.spark import Job, SparkHost
from ansible_collections.millrace.streaming.plugins.module_utils.model.zookeeper import Member

_TOOLS = "/usr/local/bin"
# Scripts of Kafka's own distribution besides its tools.
_KAFKA_SCRIPTS = ("kafka-run-class.sh", "kafka-server-start.sh", "kafka-server-stop.sh")

State = dict[str, Any]


def of_service(cluster: Cluster, host: str, name: str) -> State:
    """Return the desired state of one service of a host.

    `service` are options of the module `service`; the rest is what the tasks of its role read.

    Raises:
        LookupError: the host does not have the service.

    """
    one = cluster.services(host)[name]
    makers: Mapping[str, Callable[[Any], State]] = {
        "zookeeper": _zookeeper,
        "kafka": _kafka,
        "spark": _spark,
    }
    return {"name": name, "version": one.version, **makers[name](one)}


def of_job(spark: SparkHost, job: Job) -> State:
    """Return the desired state of a job on a Spark host, options of the module `service`."""
    return {
        "files": spark.job_files(job),
        "units": [job.unit],
        "restart_marks": [f"/run/{job.unit}/restart-pending"],
        "started": True,
    }


def of_host(host: HostSettings) -> State:
    """Return the desired state of a host besides its services."""
    units = host.mount_units()
    facts = host.facts
    its_own = facts is None or not facts.container
    return {
        "files": host.files(),
        # A container shares its kernel: what is set there is its machine's business.
        "load": [
            "sysctl --quiet --load /etc/sysctl.d/60-millrace.conf",
            "systemd-tmpfiles --create /etc/tmpfiles.d/millrace.conf",
        ]
        if its_own
        else [],
        "mount_units": units,
        "time_service": host.time_service if its_own else {},
        "package_manager": host.family.package_manager,
        "java": {
            "home": host.java.home,
            "binary": host.java.binary,
            "package": host.java.package,
        },
    }


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
    service = {
        **_install(member, user, "-", "Apache ZooKeeper", entries),
        "units": ["zookeeper"],
        "restart_marks": [zookeeper.MARK],
        "started": True,
    }
    data = [member.data_dir, "/var/lib/zookeeper"]
    return {
        "service": service,
        "members": member.clients_of_all,
        "start_timeout": member.settings["zookeeper_start_timeout"],
        "unit_pattern": "zookeeper.service",
        "removable": _removable(
            service, ["/etc/zookeeper"], data if member.settings["zookeeper_remove_data"] else []
        ),
    }


def _kafka(node: KafkaNode) -> State:
    user, settings = node.settings["kafka_user"], node.settings
    directories = [path for _, path in node.data_directories]
    entries = {
        "/etc/kafka": files.directory(),
        "/var/lib/kafka": files.directory(),
        **{path: files.directory(user, "0750") for path in directories},
        **_tools(node.distribution, node.host.java.home, _KAFKA_SCRIPTS),
    }
    service = {
        **_install(node, user, "-", "Apache Kafka", entries),
        "units": ["kafka"],
        "restart_marks": [kafka.MARK],
        "previous": kafka.PREVIOUS,
    }
    data = [*directories, "/var/lib/kafka"] if settings["kafka_remove_data"] else []
    own = [kafka.PREVIOUS, kafka.DYNAMIC_RECORD, kafka.OPERATION]
    return {
        "service": service,
        "secret": node.keeps_secret,
        "mode": node.mode,
        "is_broker": node.is_broker,
        "node_id": node.id,
        "cluster_id": node.cluster_id,
        "cluster": cluster_options(node),
        "gate": {
            "strict": settings["kafka_gate_strict"],
            "allow_outage": settings["kafka_allow_outage"],
            "allow_unsafe_quorum": settings["kafka_allow_unsafe_quorum"],
        },
        "node": {
            "id": node.id,
            "broker": node.is_broker,
            "controller": node.is_controller,
            "address": f"{node.address}:{node.listeners[0].port}" if node.listeners else "",
            "ports": [one.port for one in node.listeners],
            "data_dirs": node.data_dirs,
            "replication": node.replication_factor,
            "peers": _peers(node),
            "rack": str(settings["kafka_rack"]),
            "home": node.distribution.home,
        },
        "limits": {
            "gate": settings["kafka_gate_timeout"],
            "stop": settings["kafka_stop_timeout"] + 30,
            "reboot": settings["kafka_reboot_timeout"],
            "start": settings["kafka_start_timeout"],
            "ready": settings["kafka_isr_timeout"],
        },
        "storage": {
            "home": node.distribution.home,
            "java": node.host.java.binary,
            "cluster_id": node.cluster_id,
            "node_id": node.id,
            "log_dirs": directories,
            "controller": node.is_controller,
            "initial_controllers": node.initial_controllers,
            "user": user,
        },
        "dynamic_quorum": node.is_controller and settings["kafka_quorum"] == "dynamic",
        "dynamic_keys": node.dynamic_keys,
        "server_properties": service["files"]["/etc/kafka/server.properties"]["content"],
        "unit_pattern": "kafka.service",
        # Never the site's certificates in /etc/kafka.
        "removable": _removable(service, ["/etc/kafka/", *own], data),
    }


def cluster_options(node: KafkaNode) -> State:
    """Return the options by which a module connects to the cluster and knows what it expects."""
    return {
        "bootstrap": node.other_brokers_first,
        "expect_brokers": [peer.id for peer in node.brokers],
        "expect_voters": [peer.id for peer in node.voters],
        **({"cluster_id": node.cluster_id} if node.cluster_id else {}),
    }


def _peers(node: KafkaNode) -> list[str]:
    """Return the addresses of all other nodes."""
    own = {address for address, peer in _addresses(node) if peer == node.id}
    return list(dict.fromkeys(address for address, _ in _addresses(node) if address not in own))


def _addresses(node: KafkaNode) -> list[tuple[str, int | None]]:
    brokers = zip(node.bootstrap, (peer.id for peer in node.brokers))
    voters = zip(node.quorum_addresses, (peer.id for peer in node.voters))
    return [*brokers, *voters]


def _spark(spark: SparkHost) -> State:
    user = spark.settings["spark_user"]
    # The same uid on every host: they share a directory.
    uid = spark.settings["spark_uid"]
    service = {
        **_install(spark, user, uid, "Apache Spark", spark.directories()),
        "units": spark.units,
        "restart_marks": spark.marks,
        "started": True,
    }
    data = ["/var/lib/spark", spark.shared_dir] if spark.settings["spark_remove_data"] else []
    return {
        "service": service,
        "secret": spark.keeps_secret,
        "masters": spark.at_masters("spark_master_ui_port"),
        "workers": spark.worker_hosts,
        "start_timeout": spark.settings["spark_start_timeout"],
        "unit_pattern": "spark-*.service",
        "removable": _removable(service, ["/etc/spark", f"{HOMES}/jobs"], data),
    }


def _removable(service: State, directories: list[str], data: list[str]) -> list[str]:
    """Return what teardown removes: files and links, the distribution, and data when told to."""
    own = [path for path, entry in service["files"].items() if entry.get("state") != "directory"]
    return [*own, *directories, service["distribution"]["home"], *data]
