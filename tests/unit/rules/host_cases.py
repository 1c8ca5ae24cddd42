"""For each rule about hosts one that it refuses and one that it lets pass."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from ansible_collections.millrace.streaming.plugins.module_utils.formats.digests import (
    secret_digest,
)
from ansible_collections.millrace.streaming.plugins.module_utils.formats.pem import bodies
from ansible_collections.millrace.streaming.plugins.module_utils.formats.versions import KAFKA
from ansible_collections.millrace.streaming.plugins.plugin_utils.cluster import (
    ca_change,
    transition,
)
from ansible_collections.millrace.streaming.plugins.plugin_utils.cluster.cluster import resolve
from ansible_collections.millrace.streaming.plugins.plugin_utils.cluster.entry import MIB
from ansible_collections.millrace.streaming.plugins.plugin_utils.cluster.inventory import Secrets
from ansible_collections.millrace.streaming.plugins.plugin_utils.cluster.secret_store import (
    Generation,
    Store,
)
from ansible_collections.millrace.streaming.plugins.plugin_utils.rules.disks import GIB
from ansible_collections.millrace.streaming.plugins.plugin_utils.rules.inspection import (
    Certificate,
    InspectedHost,
)
from ansible_collections.millrace.streaming.plugins.plugin_utils.secrets.certificates import (
    new_authority,
)
from ansible_collections.millrace.streaming.plugins.plugin_utils.services.kafka.listeners import (
    Listener,
    Listeners,
)
from ansible_collections.millrace.streaming.plugins.plugin_utils.services.kafka.security import (
    AUTHORITY_FILE,
)
from ansible_collections.millrace.streaming.plugins.plugin_utils.services.zookeeper import (
    tls as zookeeper_tls,
)

from tests.unit.inspections import directory_at, inspection_with
from tests.unit.rules.draft import CLUSTER_ID, Change, Draft
from tests.unit.rules.firewall_cases import walled
from tests.unit.rules.host_draft import (
    CONTAINER,
    DATA,
    DATA2,
    DEBIAN_11,
    DEBIAN_13,
    DISK,
    MOUNT,
    OTHER_ID,
    ROCKY_9,
    host,
    inspected,
    meta,
    mounted,
    outside,
    system,
)
from tests.unit.rules.spark_job_cases import job, jobs

KEYSTORE = Certificate("/etc/kafka/tls/node.pem", days_left=300.0, names=("DNS:k1",))
KEY_LOCATION = "kafka_config[ssl.keystore.location] of k1"
HOST = "k1"
CA, OTHER_CA = (new_authority(name).certificate for name in ("Millrace", "Millrace later"))
INSTALLED = "kafka-4.2.1-0123456789ab"
JAVA_17 = "/usr/lib/jvm/java-17-openjdk-amd64"
REFUSED_OPTIONS = {
    "-XX:MaxGCPauseMilis=20": "Unrecognized VM option 'MaxGCPauseMilis=20' "
    "Did you mean 'MaxGCPauseMillis=<value>'?",
    "-Xss4": "The Java thread stack size specified is too small. Specify at least 136k",
}
REFUSED_TIME = "Failed to parse calendar specification 'dialy': Invalid argument"


@dataclass(frozen=True)
class Case:
    """A rule, a host that it refuses or warns of, and a good one."""

    rule: str
    parts: tuple[str, ...]
    """Parts of its message."""
    bad: list[InspectedHost]
    good: list[InspectedHost]


def two(**second: Any) -> list[InspectedHost]:
    """A host with two data directories on two disks, the first one formatted."""
    first = replace(DISK, exists=True, meta=meta(directory="a"))
    changes = {"path": DATA2, "mount": "/data2", "device": "8:2", **second}
    return host(
        lambda d: d.variable("kafka_data_dirs", [DATA, DATA2]),
        disks_directories=(first, replace(first, **changes)),
    )


def closing(security: str, secured: bool | None, *, elected: bool = True) -> list[InspectedHost]:
    """A member of ZooKeeper that runs with TLS or without."""
    disk = directory_at("/var/lib/zookeeper/data", exists=True, elected=elected)
    return host(
        lambda d: d.ensemble().variable("zookeeper_security", security, on=("z1", "z2", "z3")),
        name="z2",
        disks_directories=(disk,),
        zookeeper_secured=secured,
    )


def sharing_files(
    path: str,
    *,
    mount: str,
    fstype: str = "nfs4",
    mounts: tuple[str, ...],
    disks: list[dict[str, str]] | None = None,
) -> list[InspectedHost]:
    """A host of Spark beside others, with a shared directory."""
    draft = Draft().variable("spark_shared_dir", path).variable("host_mounts", disks or [])
    disk = directory_at(path, mount=mount, device="8:1", fstype=fstype, free=GIB, size=100 * GIB)
    return inspected(
        draft, {"k2": inspection_with(disks_directories=(disk,), disks_mount_points=mounts)}
    )


def marked(
    *ids: str, mounts: tuple[str, ...] = ("/srv",) * 3, fstype: str = "nfs4"
) -> list[InspectedHost]:
    """Hosts of Spark whose shared directories have these ids, on these mounts."""
    disk = directory_at("/srv/spark", device="8:1", fstype=fstype, free=GIB, size=GIB)
    inspections = [
        inspection_with(disks_directories=(replace(disk, mount=mount),), spark_shared_id=number)
        for number, mount in zip(ids, mounts, strict=True)
    ]
    return inspected(Draft(), dict(zip(("k1", "k2", "k3"), inspections, strict=True)))


def broker_of_ensemble(
    security: str, secured: bool | None, *, meta: str | None = "version=0"
) -> list[InspectedHost]:
    """A broker that reaches ZooKeeper with TLS or without, as in a run without the members."""

    def change(draft: Draft) -> None:
        hosts = ("k1", "k2", "k3", "z1", "z2", "z3")
        draft.zookeeper_mode().variable("zookeeper_security", security, on=hosts)

    return host(change, zookeeper_client_secured=secured, exists=True, meta=meta)


def ensemble_trusting(
    authority: str, bundle: str, security: str = "standard"
) -> list[InspectedHost]:
    """A member of ZooKeeper that trusts a CA, and what the control node has of it."""
    (member,) = closing(security, None)
    secrets = Secrets("/inventory/.secrets", zookeeper_authority=authority)
    cluster = resolve(replace(member.cluster.inventory, secrets=secrets))
    trusted = tuple(bodies(bundle))
    inspection = inspection_with(member.inspection, zookeeper_authorities=trusted)
    return [replace(member, cluster=cluster, inspection=inspection)]


def ensemble_taking(bundle: str, clients: str = OTHER_CA) -> list[InspectedHost]:
    """A member of ZooKeeper by what it trusts of clients; the control node has their CA, or not."""
    (member,) = ensemble_trusting(CA, "")
    secrets = replace(member.cluster.inventory.secrets, zookeeper_clients_authority=clients)
    cluster = resolve(replace(member.cluster.inventory, secrets=secrets))
    trusted = tuple(bodies(bundle))
    inspection = inspection_with(member.inspection, zookeeper_clients=trusted)
    return [replace(member, cluster=cluster, inspection=inspection)]


def ensemble_changing(phase: str, trusted: str, shown: str = "") -> list[InspectedHost]:
    """A member that trusts some CAs, and a change from CA to OTHER_CA in a phase."""
    (member,) = ensemble_trusting(CA, trusted)
    name = zookeeper_tls.AUTHORITY_FILE
    change = ca_change.begin({name: CA}, {name: OTHER_CA}).enter(phase)
    secrets = replace(
        member.cluster.inventory.secrets,
        zookeeper_authority=ca_change.trusted(change, name),
        texts={transition.AUTHORITY: change.text()},
    )
    cluster = resolve(replace(member.cluster.inventory, secrets=secrets))
    signed_by = tuple(bodies(shown))
    inspection = inspection_with(member.inspection, zookeeper_member_signed_by=signed_by)
    return [replace(member, cluster=cluster, inspection=inspection)]


def zookeeper(myid: str | None) -> list[InspectedHost]:
    """A member of ZooKeeper of the id 2."""
    disk = directory_at("/var/lib/zookeeper/data", exists=True, myid=myid)
    return host(lambda d: d.ensemble(), name="z2", disks_directories=(disk,))


def quorum(version: int, voters: list[Any], kind: str) -> list[InspectedHost]:
    """A node with a quorum-state, of a quorum of one kind."""
    state = {"data_version": version, "currentVoters": voters}
    return host(lambda d: d.variable("kafka_quorum", kind), quorum=state)


def on_zookeeper(draft: Draft) -> None:
    draft.zookeeper_mode()


def controller_alone(draft: Draft) -> None:
    draft.leave("kafka_brokers", "k1")


def java(home: str = "", package: str = "", **inspection: Any) -> list[InspectedHost]:
    """A node with java_home and java_package."""
    return host(
        lambda d: d.variable("java_home", home).variable("java_package", package), **inspection
    )


def with_home(unpacked: bool, free: int) -> list[InspectedHost]:
    """A node whose distribution is unpacked or not, and what is free."""
    [node] = host()
    assert node.kafka is not None
    return host(software_homes={node.kafka.distribution.home: unpacked}, disks_opt_free=free)


def named(address: str, *changes: Change, name: str = "k1") -> list[InspectedHost]:
    """A host that resolves its own name to a loopback address and another one."""
    return host(*changes, name=name, network_addresses={name: ["::1", address]})


def with_spark(draft: Draft) -> None:
    draft.groups.update(spark_masters=["k1"], spark_workers=["k1", "k2"])


def packages_for(python: str) -> Change:
    """Choose the packages of jobs for a version of Python."""
    return lambda d: d.variable("spark_python_version", python)


def pythons(*versions: tuple[int, ...]) -> list[InspectedHost]:
    """Hosts of Spark with these versions of Python."""
    names = ("k1", "k2", "k3")
    return inspected(
        Draft(),
        {
            name: inspection_with(spark_python=version)
            for name, version in zip(names, versions, strict=True)
        },
    )


def with_options(*options: str) -> list[InspectedHost]:
    """A node whose Java has refused some options, and its own ones."""
    return host(
        lambda d: d.variable("kafka_java_options", [*options]),
        software_javas={JAVA_17: "17.0.9"},
        software_refused_java_options={JAVA_17: REFUSED_OPTIONS},
    )


def with_job(schedule: str, name: str = "k1", **more: Any) -> list[InspectedHost]:
    """A host of Spark that refuses the time `dialy`, and a job with a schedule."""
    draft = Draft()
    jobs(job(schedule=schedule, **more))(draft)
    return inspected(
        draft, {name: inspection_with(spark_refused_schedules={"dialy": REFUSED_TIME})}
    )


def with_spark_alone(draft: Draft) -> None:
    draft.groups.update(spark_masters=["k1"], spark_workers=["k1"])


def connecting_from(address: str, *nodes: str) -> list[InspectedHost]:
    """A host with a firewall that connects to another one from an address."""
    return host(
        walled,
        lambda d: d.variable("host_firewall_nodes", [*nodes]),
        network_sources={"10.0.0.2": [address]},
    )


def time_service(name: str) -> Change:
    return lambda d: d.variable("host_time_service", name)


def certificate(*inventory: Change, **changes: Any) -> list[InspectedHost]:
    """A closed node with a key of the site for all listeners, and what was found of it."""
    return host(own_keys, *inventory, kafka_certificates=(replace(KEYSTORE, **changes),))


def own_keys(draft: Draft) -> None:
    draft.variable("kafka_security", "standard").pem()


def keys_for_clients(draft: Draft) -> None:
    """Let Millrace make the keys of nodes, and the site bring that for clients."""
    draft.variable("kafka_security", "standard")
    for key, value in (("type", "PEM"), ("location", KEYSTORE.path)):
        draft.own(f"listener.name.client_tls.ssl.keystore.{key}", value)


def at(address: str) -> Change:
    return lambda d: d.variable("kafka_advertised_host", address, on=("k1",))


def names_unchecked(draft: Draft) -> None:
    draft.own("ssl.endpoint.identification.algorithm", "")


def upgraded(
    installed: str, configured: str, meta_text: str | None = "version=1", allow: str = "none"
) -> list[InspectedHost]:
    """A host on which one release is installed and another one wanted."""
    return host(
        lambda d: d.variable("kafka_version", configured),
        software_installed={"kafka": installed},
        exists=True,
        meta=meta_text,
        allow=allow,
    )


def added(
    version: str, running: Mapping[str, str], meta_text: str | None = None
) -> list[InspectedHost]:
    """A controller that is to be formatted, and the versions that run on data outside its run."""
    (new,) = host(
        lambda d: d.variable("kafka_version", version), exists=True, meta=meta_text, allow="up"
    )
    peers = tuple(
        replace(
            peer,
            inspection=inspection_with(
                software_installed={"kafka": f"kafka-{running[peer.name]}-0123456789ab"},
                disks_directories=(
                    directory_at(DATA, exists=True, meta="version=1", elected=True),
                ),
            ),
        )
        for peer in new.outside
    )
    return [replace(new, outside=peers)]


def deployed(
    security: str, role: str, protocol: str, data: str | None = "version=1"
) -> list[InspectedHost]:
    """A node that talks to others by one protocol, and would by that of kafka_security."""
    names = {
        ("standard", "brokers"): "INTERNAL",
        ("standard", "controllers"): "CONTROLLER_TLS",
        ("open", "brokers"): "CLIENT",
        ("open", "controllers"): "CONTROLLER",
    }
    name = names[security, role]
    return host(
        lambda d: d.variable("kafka_security", security),
        kafka_between_nodes={role: name},
        kafka_protocols={name: protocol},
        exists=True,
        meta=data,
    )


def moved(name: str, protocols: dict[str, str]) -> list[InspectedHost]:
    """A closed node whose brokers talk to each other by one of these listeners."""
    return host(
        lambda d: d.variable("kafka_security", "standard"),
        kafka_between_nodes={"brokers": name},
        kafka_protocols=protocols,
        exists=True,
        meta="version=1",
    )


def recorded(
    phase: str, *, complete: bool = True, opened: str = "CLIENT", data: str | None = "version=1"
) -> list[InspectedHost]:
    """A node of a cluster that is being closed, with an open listener, and the record."""
    former = Listeners(
        (Listener("CLIENT", 9092, "PLAINTEXT"),),
        (Listener("CONTROLLER", 9093, "PLAINTEXT"),),
        "CLIENT",
    )
    record = transition.Transition(phase, complete=complete, data=former.data()).text()
    secrets = Secrets("/inventory/.secrets", texts={transition.SECURITY: record} if phase else {})
    protocols = {"CLIENT_TLS": "SASL_SSL", "INTERNAL": "SSL", "CONTROLLER_TLS": "SSL"}
    plain = dict.fromkeys([opened, "CONTROLLER"], "PLAINTEXT") if opened else {}
    [node] = host(
        lambda d: d.variable("kafka_security", "standard"),
        kafka_between_nodes={"brokers": "INTERNAL", "controllers": "CONTROLLER_TLS"},
        kafka_protocols={**protocols, **plain},
        exists=True,
        meta=data,
    )
    return [replace(node, cluster=resolve(replace(node.cluster.inventory, secrets=secrets)))]


def all_of_it(nodes: list[InspectedHost]) -> list[InspectedHost]:
    """The same for all nodes of the cluster."""
    return [replace(node, name=name) for node in nodes for name in node.cluster.kafka]


def two_brokers(draft: Draft) -> None:
    """Take a broker out of the inventory, which stays a controller."""
    draft.groups["kafka_brokers"] = ["k1", "k2"]


def authorized(
    authorizer: str | None,
    security: str = "standard",
    data: str | None = "version=1",
    **config: str,
) -> list[InspectedHost]:
    """A node with this authorizer, in a cluster whose preset would set one."""

    def change(draft: Draft) -> None:
        draft.variable("kafka_security", security)
        for key, value in config.items():
            draft.own(key.replace("_", "."), value)

    return host(change, kafka_authorizer=authorizer, exists=True, meta=data)


def sharing(digest: str | None, secret: str) -> list[InspectedHost]:
    """A host whose Spark has a secret with this digest, and an inventory with a secret."""
    draft = Draft().variable("spark_security", "standard")
    secrets = Secrets("/inventory/.secrets", texts={"spark_secret": secret} if secret else {})
    cluster = resolve(replace(draft.inventory(), secrets=secrets))
    return [InspectedHost(cluster, HOST, inspection_with(spark_secret=digest))]


def trusting(
    authority: str, trusted: str, security: str = "standard", record: str = "", shown: str = ""
) -> list[InspectedHost]:
    """A node that trusts some CAs, and those whose certificates are kept."""
    [node] = host(
        lambda d: d.variable("kafka_security", security),
        kafka_authorities=tuple(bodies(trusted)),
        kafka_signed_by=tuple(bodies(shown)),
    )
    texts = {transition.AUTHORITY: record} if record else {}
    secrets = Secrets("/inventory/.secrets", authority=authority, texts=texts)
    cluster = resolve(replace(node.cluster.inventory, secrets=secrets))
    return [replace(node, cluster=cluster)]


FIRST, SECOND, FOREIGN = (
    Generation(name, number, "2026-11-27T10:00:00+00:00", f"operator-{name}")
    for name, number in (("a", 1), ("b", 2), ("x", 7))
)


def deployed_with(
    generation: Generation, *generations: Generation, products: tuple[str, ...] = ("kafka",)
) -> list[InspectedHost]:
    """A node that was deployed with a generation of the secrets, and those that are kept."""
    [node] = host(secrets=json.loads(Store((generation,)).record(products)))
    secrets = Secrets("/inventory/.secrets", store=Store(generations) if generations else None)
    return [replace(node, cluster=resolve(replace(node.cluster.inventory, secrets=secrets)))]


def changing(phase: str, trusted: str, shown: str = "") -> list[InspectedHost]:
    """A node that trusts some CAs, and a change from CA to OTHER_CA in a phase."""
    name = AUTHORITY_FILE
    change = ca_change.begin({name: CA}, {name: OTHER_CA}).enter(phase)
    return trusting(ca_change.trusted(change, name), trusted, record=change.text(), shown=shown)


def javas(**versions: str) -> list[InspectedHost]:
    """Nodes of different versions of Java."""
    inspections = {
        name: inspection_with(software_javas={JAVA_17: version})
        for name, version in versions.items()
    }
    return inspected(Draft(), inspections)


def members(draft: Draft, **elected: bool) -> list[InspectedHost]:
    """Members of a quorum, each with or without records of a leader."""
    place = "/var/lib/kafka/data" if "k1" in elected else "/var/lib/zookeeper/data"
    return inspected(
        draft,
        {
            name: inspection_with(disks_directories=(directory_at(place, exists=had, elected=had),))
            for name, had in elected.items()
        },
    )


def limited(
    controllers: Mapping[str, bool], brokers: Mapping[str, bool] | None = None, **elected: bool
) -> list[InspectedHost]:
    """Controllers of a run with --limit, and hosts outside it that were asked."""
    draft = Draft().add_host("b4") if brokers else Draft()
    if brokers:
        draft.groups["kafka_brokers"].append("b4")
    hosts = members(draft, **elected)
    reached = outside(hosts, {**controllers, **(brokers or {})})
    return [replace(node, outside=reached) for node in hosts]


def workers(*, openssl: bool = True) -> list[InspectedHost]:
    """Hosts of which two have a closed worker of Kafka Connect."""
    draft = Draft().connect().variable("connect_security", "standard")
    return inspected(draft, {"k1": inspection_with(software_openssl=openssl)})


def database(release: Mapping[str, Any]) -> list[InspectedHost]:
    """A host with a database, of some system."""
    return inspected(Draft().database(), {"k1": inspection_with(**release)})


def with_agent(*, unpacked: bool) -> list[InspectedHost]:
    """A monitored host that is to be upgraded."""
    draft = Draft().monitoring()
    agent = draft.cluster().metrics["k1"].distribution
    assert agent
    homes = {agent.home: unpacked}
    return inspected(draft, {"k1": inspection_with(software_homes=homes)}, "up")


def watching(
    free: int, size: int = 100 * GIB, *, exists: bool = False, **inspection: Any
) -> list[InspectedHost]:
    """A host with Prometheus, whose metrics may use 20 GB, its disk, and what else was found."""
    draft = Draft().monitoring().variable("monitoring_retention_size", "20GB", on=("m1",))
    directory = directory_at("/var/lib/monitoring", exists=exists, free=free, size=size)
    return inspected(draft, {"m1": inspection_with(disks_directories=(directory,), **inspection)})


def exporting(node_exporter: str) -> list[InspectedHost]:
    """A host with exporters for a Prometheus of the site, which has a node exporter there."""
    draft = Draft().variable("metrics_enabled", True)
    draft.variable("metrics_node_exporter", node_exporter)
    units = ("prometheus-node-exporter",)
    return inspected(draft, {"k1": inspection_with(software_site_units=units)})


def hdfs(**ids: tuple[str, str]) -> list[InspectedHost]:
    """Hosts of HDFS, each with the id of the NameNode's directory and of that of blocks."""
    places = ("/var/lib/hdfs/name", "/var/lib/hdfs/data")
    return inspected(
        Draft().hdfs(),
        {
            name: inspection_with(
                disks_directories=tuple(
                    directory_at(place, exists=True, hdfs_id=hdfs_id)
                    for place, hdfs_id in zip(places, hdfs_ids, strict=True)
                )
            )
            for name, hdfs_ids in {"k1": ("", ""), **ids}.items()
        },
    )


CASES = [
    Case(
        "version-downgrade",
        ("4.3.1", "4.2.1", "playbooks/rollback.yml", "metadata.version 4.2-IV1"),
        upgraded("kafka-4.3.1-0123456789ab", "4.2.1"),
        upgraded("kafka-4.2.1-0123456789ab", "4.3.1"),
    ),
    Case(
        "version-downgrade",
        ("Kafka 4.10.0", "4.3.1"),
        upgraded("kafka-4.10.0-0123456789ab", "4.3.1"),
        upgraded("kafka-4.3.2-0123456789ab", "4.3.1"),
    ),
    Case(
        "version-downgrade",
        ("Kafka 4.3.1", "3.9.2"),
        upgraded("kafka-4.3.1-0123456789ab", "3.9.2"),
        upgraded("kafka-4.3.1-0123456789ab", "3.9.2", None),
    ),
    Case(
        "version-downgrade",
        ("Kafka 4.3.1", "4.1.2"),
        upgraded("kafka-4.3.1-0123456789ab", "4.1.2"),
        upgraded("", "4.1.2"),
    ),
    Case(
        "version-downgrade",
        ("Kafka 4.2.1", "4.1.2"),
        upgraded(INSTALLED, "4.1.2", allow="up"),
        upgraded(INSTALLED, "4.1.2", allow="down"),
    ),
    Case(
        "format-version",
        ("k1", "Kafka 4.4.0", "4.3.1 is installed on k2 and k3", "Set kafka_version: 4.3.1"),
        added("4.4.0", {"k2": "4.3.1", "k3": "4.3.1"}),
        added("4.4.0", {"k2": "4.4.0", "k3": "4.3.1"}),
    ),
    Case(
        "format-version",
        ("4.3.1 is installed on k2 and k3",),
        added("4.4.0", {"k2": "4.2.2", "k3": "4.3.1"}),
        added("4.4.0", {"k2": "4.2.2", "k3": "4.3.1"}, "version=1"),
    ),
    Case(
        "format-version",
        ("4.2.1 is installed on k2 and k3",),
        added("4.4.0", {"k2": "4.2.1", "k3": "4.2.1"}),
        added("4.3.1", {"k2": "4.2.1", "k3": "4.2.1"}),
    ),
    Case(
        "version-changes",
        ("4.3.1", "Run playbooks/rolling_upgrade.yml, or set kafka_version: 4.2.1."),
        upgraded(INSTALLED, "4.3.1"),
        upgraded(INSTALLED, "4.3.1", None),
    ),
    Case(
        "version-changes",
        ("4.3.1",),
        upgraded(INSTALLED, "4.3.1", allow="down"),
        upgraded(INSTALLED, "4.3.1", allow="up"),
    ),
    Case(
        "version-changes",
        ("4.2.2",),
        upgraded(INSTALLED, "4.2.2"),
        upgraded(INSTALLED, "4.2.1"),
    ),
    Case(
        "version-changes",
        ("Run playbooks/rollback.yml, or set kafka_version: 4.2.1.",),
        upgraded(INSTALLED, "4.2.0", allow="up"),
        upgraded(INSTALLED, "4.2.0", allow="any"),
    ),
    Case(
        "version-changes",
        ("4.10.0",),
        upgraded("kafka-4.9.1-0123456789ab", "4.10.0"),
        upgraded("", "4.10.0"),
    ),
    Case(
        "port-in-use",
        ("9092", "nc (process 7)", "kafka_listeners (CLIENT)"),
        host(network_listeners={"9092": "nc (process 7)"}),
        host(network_listeners={"22": "sshd (process 1)"}),
    ),
    Case(
        "name-is-loopback",
        ("z2 resolves to ::1 and 127.0.1.1", "Remove z2", "zookeeper_host"),
        named("127.0.1.1", lambda d: d.ensemble(), name="z2"),
        named("10.0.0.1", lambda d: d.ensemble(), name="z2"),
    ),
    Case(
        "name-is-loopback",
        ("ansible_host or spark_host",),
        named("127.0.0.1", with_spark),
        named("127.0.0.1", with_spark_alone),
    ),
    Case(
        "name-is-loopback",
        ("k1 resolves to ::1 and 127.0.0.1",),
        named("127.0.0.1", with_spark),
        named("127.0.0.1", with_spark, lambda d: d.variable("spark_host", "not-to-be-resolved")),
    ),
    Case(
        "name-is-loopback",
        ("ansible_host or connect_host",),
        named("127.0.1.1", lambda d: d.connect()),
        named("127.0.1.1", lambda d: d.connect("k1")),
    ),
    Case(
        "advertised-is-loopback",
        ("ansible_host or kafka_advertised_host",),
        named("127.0.1.1"),
        named("fe80::1%eth0"),
    ),
    Case(
        "operating-system",
        ("Fedora 40", "Debian 12"),
        host(**system("fedora", PRETTY_NAME="Fedora 40")),
        host(**system("mint", VERSION_CODENAME="bookworm", ID_LIKE="ubuntu debian")),
    ),
    Case("system-untested", ("Rocky Linux 9.4", "Debian 12"), host(**ROCKY_9), host()),
    Case(
        "system-untested",
        ("Ubuntu 24.04", "Debian 12"),
        host(**system("ubuntu", VERSION_CODENAME="noble", PRETTY_NAME="Ubuntu 24.04")),
        host(),
    ),
    Case(
        "release-untested",
        ("buster", "bookworm", "trixie", "java_package"),
        host(**system("debian", VERSION_CODENAME="buster")),
        java(
            "/opt/java",
            software_javas={"/opt/java": "17.0.9"},
            **system("debian", VERSION_CODENAME="buster"),
        ),
    ),
    Case(
        "release-untested",
        ("8", "9 and 10"),
        host(**system("rocky", VERSION_ID="8.10")),
        host(**ROCKY_9),
    ),
    Case(
        "python-too-old", ("3.8.10",), host(system_python=(3, 8, 10)), host(system_python=(3, 9, 0))
    ),
    Case(
        "java-option",
        ("Java 17.0.9", "Did you mean -XX:MaxGCPauseMillis=<value>?", "kafka_java_options of k1"),
        with_options("-Da=b", "-XX:MaxGCPauseMilis=20"),
        with_options("-Da=b", "-XX:MaxGCPauseMillis=20"),
    ),
    Case(
        "java-option",
        ("at least 136k", "Correct or delete"),
        with_options("-Xss4"),
        with_options("-Xss4", "-XX:+UseSerialGC"),  # which another Java or nobody was asked about
    ),
    Case("no-systemd", ("systemd",), host(system_systemd=False), host()),
    Case("selinux", ("SELinux",), host(system_selinux=True), host()),
    Case(
        "selinux",
        ("usr_t to /opt/millrace", "var_lib_t", "semanage fcontext"),
        host(system_selinux=True, **ROCKY_9),
        host(**ROCKY_9),
    ),
    *(
        Case("sysctl-name", (name, *parts, f"host_sysctl of {HOST}"), bad, host())
        for name, similar, parts in (
            ("vm.swapiness", "vm.swappiness", ("Did you mean vm.swappiness?",)),
            ("net.netfilter.nf_conntrack_max", "", ("Correct the name", "module", "Write -net")),
        )
        for bad in [host(system_absent_settings={name: similar})]
    ),
    Case(
        "swap",
        ("/dev/sda2",),
        host(system_swap=("/dev/sda2",)),
        host(system_swap=("/dev/sda2",), **CONTAINER),
    ),
    Case(
        "open-files",
        ("4096", "fs.nr_open"),
        host(system_open_files=4096),
        host(system_open_files=100_000),
    ),
    Case(
        "tmp-noexec",
        ("noexec", "remount,exec"),
        host(system_tmp_options=("rw", "noexec")),
        host(
            lambda d: d.variable(
                "kafka_java_options", ["-Dorg.xerial.snappy.tempdir=/x", "-DZstdTempFolder=/x"]
            ),
            system_tmp_options=("rw", "noexec"),
        ),
    ),
    Case(
        "tmp-noexec",
        ("noexec",),
        host(
            with_spark,
            lambda d: d.variable(
                "kafka_java_options", ["-Dorg.xerial.snappy.tempdir=/x", "-DZstdTempFolder=/x"]
            ),
            system_tmp_options=("rw", "noexec"),
        ),
        host(lambda d: d.ensemble(), name="z1", system_tmp_options=("rw", "noexec")),
    ),
    Case(
        "java",
        ("/opt/java/bin/java does not exist", "java_home"),
        java("/opt/java"),
        java("/opt/java", "openjdk-17-jre"),
    ),
    Case(
        "java",
        ("/opt/java/bin/java",),
        java("/opt/java/"),
        java("/opt/java/", software_javas={"/opt/java": "17.0.9"}),
    ),
    Case(
        "java",
        (f"Kafka {KAFKA.default} runs on Java 17, 21 or 25", "11.0.2", "java_package"),
        host(software_javas={JAVA_17: "11.0.2"}),
        host(software_javas={JAVA_17: "17.0.9"}),
    ),
    Case(
        "java",
        (f"Kafka {KAFKA.default} runs on Java 17, 21 or 25", "would get 11"),
        java(package="openjdk-11-jre-headless"),
        host(**DEBIAN_13),
    ),
    Case(
        "java",
        ("/opt/java has 1.8.0_392", "java_home"),
        java("/opt/java", software_javas={"/opt/java": "1.8.0_392", JAVA_17: "17.0.9"}),
        java("/opt/java", software_javas={"/opt/java": ""}),
    ),
    Case(
        "java",
        ("Apicurio Registry 3.3.3 runs on Java 21", "java_package"),
        host(lambda d: d.registry(), software_javas={JAVA_17: "17.0.9"}),
        host(lambda d: d.registry(), **DEBIAN_13),
    ),
    Case(
        "java-package-home",
        ("temurin-21-jre", "java_home"),
        java(package="temurin-21-jre"),
        java("/opt/java", "temurin-21-jre"),
    ),
    Case(
        "java-package-home",
        ("default-jre",),
        java(package="default-jre"),
        java(package="openjdk-21-jdk"),
    ),
    Case(
        "java-differs",
        ("Java 17 on k1 and k3 and Java 21 on k2",),
        javas(k1="17.0.9", k2="21.0.4", k3="17.0.2"),
        javas(k1="17.0.9", k2="17.0.4", k3="unreadable"),
    ),
    Case(
        "clock-unsynchronised",
        ("although chrony runs",),
        host(time_service("chrony"), clock_synchronised=False, clock_service="chrony"),
        host(time_service("chrony"), clock_synchronised=False),
    ),
    Case(
        "clock-unsynchronised",
        ("the machine that the container runs on",),
        host(clock_synchronised=False, **CONTAINER),
        host(time_service(""), clock_synchronised=False, **CONTAINER),
    ),
    Case("clock-offset", ("2.0 s behind",), host(clock_offset=-2.0), host(clock_offset=0.4)),
    Case(
        "firewall-refused",
        ("Operation not permitted", "host_firewall: none", "nf_tables."),
        host(walled, network_refused_rules="Operation not permitted"),
        host(walled),
    ),
    Case(
        "firewall-refused",
        ("the capability NET_ADMIN",),
        host(walled, network_refused_rules="Operation not permitted", **CONTAINER),
        host(walled, **CONTAINER),
    ),
    Case(
        "firewall-source",
        ("from 10.9.0.4", "Add 10.9.0.4 to host_firewall_nodes"),
        connecting_from("10.9.0.4"),
        connecting_from("10.0.0.1"),
    ),
    Case(
        "firewall-source",
        ("fd00::4",),
        connecting_from("fd00::4", "10.9.0.0/24"),
        connecting_from("fd00::4", "fd00::/64"),
    ),
    Case(
        "mount-missing",
        ("/data", "host_mounts names no src"),
        host(mounted({"path": "/data"})),
        host(mounted({"path": "/data"}), disks_mount_points=("/", "/data")),
    ),
    Case(
        "mount-missing",
        ("/dev/sdb", "/data", "Attach the disk"),
        host(mounted(MOUNT), disks_absent_sources=("/dev/sdb",)),
        host(mounted(MOUNT)),
    ),
    Case(
        "mount-missing",
        (f"{DATA} belongs on /data", "/etc/fstab", "mount /data"),
        host(unmounted="/data"),
        host(mounted(MOUNT), unmounted="/data"),
    ),
    Case(
        "data-dir-parent",
        (f"{DATA} cannot be created: /data does not exist.",),
        host(parent=False),
        host(mounted(MOUNT), parent=False),
    ),
    Case(
        "mount-would-hide",
        ("/data holds files", "/dev/sdb"),
        host(mounted(MOUNT), disks_occupied=("/data",)),
        host(mounted(MOUNT), disks_occupied=("/data",), disks_mount_points=("/data",)),
    ),
    Case(
        "data-in-memory",
        (DATA, "/data is a tmpfs"),
        host(fstype="tmpfs"),
        host(mounted(MOUNT), fstype="tmpfs"),
    ),
    Case(
        "data-in-memory",
        ("/data is a ramfs",),
        host(mounted(MOUNT), fstype="ramfs", disks_mount_points=("/data",)),
        host(mounted({**MOUNT, "fstype": "tmpfs"}), fstype="tmpfs", disks_mount_points=("/data",)),
    ),
    Case(
        "read-only",
        ("/data is mounted read-only", "remount,rw /data"),
        host(options=("ro",)),
        host(options=("rw",)),
    ),
    Case("disk-full", ("4096 MiB of 102400 MiB free (4 %)",), host(free=4 * GIB), host()),
    Case("disk-full", ("(8 %)",), host(free=GIB - 1, size=12 * GIB), host(free=GIB, size=12 * GIB)),
    Case("disk-low", ("(14 %)",), host(free=14 * GIB), host(free=15 * GIB)),
    Case(
        "no-room-for-software",
        ("100 MiB free", f"/opt/millrace/kafka-{KAFKA.default}-", "400 MiB"),
        with_home(unpacked=False, free=100 * MIB),
        with_home(unpacked=True, free=100 * MIB),
    ),
    Case("data-on-root", (DATA, "host_mounts"), host(mount="/"), host()),
    Case("disk-shared", (f"{DATA} and {DATA2}",), two(device="8:1"), two()),
    Case(
        "mount-inside",
        (f"{DATA}/x is mounted inside {DATA}",),
        host(mounts_inside=(f"{DATA}/x",)),
        host(),
    ),
    Case(
        "storage-of-another",
        (f"{DATA}/meta.properties", f"cluster.id {OTHER_ID}", CLUSTER_ID),
        host(meta=meta(cluster=OTHER_ID)),
        host(meta=meta()),
    ),
    Case(
        "storage-of-another",
        (f"{DATA}/meta.properties", "node.id 9", "Restore node id 9"),
        host(on_zookeeper, meta=meta(version=0, node=9)),
        host(on_zookeeper, meta=meta(version=0)),
    ),
    Case(
        "storage-of-another",
        (f"{DATA}/meta.properties has no node.id", "restore"),
        host(meta="version=1\ncluster.id=x\n"),
        host(lambda d: d.variable("kafka_cluster_id", ""), meta=meta(cluster=OTHER_ID)),
    ),
    Case(
        "storage-of-another",
        (f"{DATA} holds 2 partitions (a-0, b-1) but no meta.properties",),
        host(exists=True, partitions=("a-0", "b-1")),
        host(exists=True),
    ),
    Case(
        "directory-id-duplicate",
        (f"{DATA} and {DATA2}", "directory.id a."),
        two(),
        two(meta=meta(directory="b")),
    ),
    Case(
        "storage-of-another-mode",
        (DATA, "ZooKeeper mode", "KRaft"),
        host(meta=meta(version=0)),
        host(on_zookeeper, meta=meta(version=0)),
    ),
    Case(
        "storage-of-another-mode",
        (DATA, "KRaft mode", "ZooKeeper"),
        host(on_zookeeper, meta=meta()),
        host(meta=meta()),
    ),
    Case(
        "quorum-differs",
        ("Set kafka_quorum: static.",),
        quorum(0, [{"voterId": 1}], "dynamic"),
        quorum(0, [{"voterId": 1}], "static"),
    ),
    Case(
        "quorum-differs",
        (DATA, "Set kafka_quorum: dynamic."),
        quorum(1, [], "static"),
        quorum(0, [], "dynamic"),
    ),
    Case(
        "foreign-directory",
        (f"{DATA} holds backup",),
        host(names=("backup/", "meta.properties")),
        host(names=("remote-log-index-cache/", "a-file")),
    ),
    Case(
        "foreign-directory",
        ("lost+found", f"{DATA}/kafka in kafka_data_dirs."),
        host(names=("lost+found/",)),
        host(controller_alone, names=("lost+found/",)),
    ),
    Case(
        "foreign-file",
        (f"{DATA} holds PG_VERSION",),
        host(names=("PG_VERSION", ".lock")),
        host(names=(".lock", ".kafka_cleanshutdown", "cleaner-offset-checkpoint.tmp")),
    ),
    Case(
        "myid-differs",
        ("/var/lib/zookeeper/data/myid", "zookeeper_id: 3"),
        zookeeper("3\n"),
        zookeeper("2\n"),
    ),
    Case(
        "connect-without-openssl",
        ("openssl",),
        workers(openssl=False),
        workers(),
    ),
    Case(
        "postgresql-system",
        ("Red Hat", "k1"),
        database(ROCKY_9),
        database(DEBIAN_13),
    ),
    Case(
        "monitoring-agent-missing",
        ("k1", "jmx_exporter", "site.yml"),
        with_agent(unpacked=False),
        with_agent(unpacked=True),
    ),
    Case(
        "monitoring-site-units",
        ("prometheus", "systemctl disable --now prometheus"),
        watching(30 * GIB, software_site_units=("prometheus",)),
        watching(30 * GIB, software_site_units=("alertmanager",)),
    ),
    Case(
        "monitoring-site-units",
        ("alertmanager",),
        watching(30 * GIB, software_site_units=("alertmanager",), **ROCKY_9),
        watching(30 * GIB, software_site_units=("prometheus-alertmanager",), **ROCKY_9),
    ),
    Case(
        "monitoring-site-units",
        ("prometheus-node-exporter", "metrics_node_exporter to site, which uses it"),
        exporting("millrace"),
        exporting("site"),
    ),
    Case(
        "monitoring-without-room",
        ("20GB", "10240 MiB free", "5120MB"),
        watching(10 * GIB),
        watching(30 * GIB),
    ),
    Case(
        "monitoring-without-room",
        ("20GB", "15360 MiB in all"),
        watching(12 * GIB, 15 * GIB, exists=True),
        watching(10 * GIB, 30 * GIB, exists=True),
    ),
    *(
        Case(
            "hdfs-namenode-empty",
            phrases,
            bad,
            hdfs(k1=("CID-a", "CID-a"), k2=("", "CID-a"), k3=("", "")),
        )
        for phrases, bad in (
            (("k1 has no data", "k2 and k3 have"), hdfs(k2=("", "CID-a"), k3=("", "CID-a"))),
            (("k3 has", "--limit"), hdfs(k1=("", ""), k2=("", ""))),
        )
    ),
    Case(
        "hdfs-data-of-another",
        ("k2", "CID-b", "CID-a"),
        hdfs(k1=("CID-a", ""), k2=("", "CID-b")),
        hdfs(k1=("CID-a", "CID-a"), k2=("", "CID-a")),
    ),
    Case(
        "operation-running",
        ("rolling_restart of somebody",),
        [replace(node, other_operation="rolling_restart of somebody") for node in host()],
        host(),
    ),
    Case(
        "majority-without-data",
        ("k1 and k3", "3 controllers", "k2 has", "group kafka_controllers"),
        members(Draft(), k1=False, k2=True, k3=False),
        members(Draft(), k1=True, k2=True, k3=False),
    ),
    Case(
        "majority-without-data",
        ("z1 and z2", "3 ZooKeeper members", "z3 has", "group zookeeper"),
        members(Draft().ensemble(), z1=False, z2=False, z3=True),
        members(Draft().ensemble(), z1=True, z2=True, z3=True),
    ),
    Case(
        "majority-without-data",
        ("k1, k2 and k3 have no data", "5 controllers"),
        members(
            Draft().add_host("c4").add_host("c5").controllers("k1", "k2", "k3", "c4", "c5"),
            k1=False,
            k2=False,
            k3=False,
            c4=True,
        ),
        # Two of five are no majority: of k3 and c5 nothing is known.
        members(
            Draft().add_host("c4").add_host("c5").controllers("k1", "k2", "k3", "c4", "c5"),
            k1=False,
            k2=False,
            c4=True,
        ),
    ),
    Case(
        "majority-without-data",
        ("k1 and k3",),
        members(Draft(), k1=False, k2=True, k3=False),
        members(Draft(), k1=False, k2=True),
    ),
    Case(
        "majority-without-data",
        ("k1 and k3",),
        members(Draft(), k1=False, k2=True, k3=False),
        members(Draft(), k1=False, k2=False, k3=False),
    ),
    Case(
        "majority-without-data",
        ("k1 and k2 have", "while k3 has"),
        limited({"k3": True}, k1=False, k2=False),
        limited({"k3": True}, k1=False, k2=True),
    ),
    Case(
        "majority-without-data",
        ("k1, k2 and k3", "while b4 has"),
        limited({}, {"b4": True}, k1=False, k2=False, k3=False),
        limited({}, {"b4": False}, k1=False, k2=False, k3=False),
    ),
    *(
        Case("quorum-data-unknown", ("k1", "k3", "--limit"), bad, good)
        for bad, good in (
            (limited({}, k1=False, k2=False), limited({"k3": False}, k1=False, k2=False)),
            (limited({"k2": False}, k1=False), limited({"k2": True}, k1=False)),
            (members(Draft(), k1=False, k2=False), members(Draft(), k1=True)),
        )
    ),
    *(
        Case(
            "protocol-between-nodes",
            (role, actual, expected, f"kafka_security of {HOST}"),
            deployed(security, role, actual),
            deployed(security, role, expected),
        )
        for security, role, actual, expected in (
            ("standard", "brokers", "PLAINTEXT", "SSL"),
            ("standard", "controllers", "PLAINTEXT", "SSL"),
            ("open", "brokers", "SSL", "PLAINTEXT"),
        )
    ),
    Case(
        "protocol-between-nodes",
        ("brokers", "PLAINTEXT", "SSL"),
        deployed("standard", "brokers", "PLAINTEXT"),
        # Nothing was ever stored, so there is no cluster yet.
        deployed("standard", "brokers", "PLAINTEXT", data=None),
    ),
    *(
        Case(
            "protocol-between-nodes",
            ("brokers", f"kafka_security of {HOST}"),
            moved(*bad),
            moved(*good),
        )
        for bad, good in (
            # The brokers' listener is new, or is not there any more, or becomes another.
            (("CLIENT", {"CLIENT": "SSL"}), ("INTERNAL", {"INTERNAL": "SSL"})),
            (
                ("BROKERS", {"BROKERS": "SSL", "INTERNAL": "SSL"}),
                ("INTERNAL", {"INTERNAL": "SSL", "OLD": "SSL"}),
            ),
            (
                ("CLIENT_TLS", {"CLIENT_TLS": "SSL", "INTERNAL": "SSL"}),
                ("CLIENT_TLS", {"CLIENT_TLS": "SASL_SSL", "INTERNAL": "SSL"}),
            ),
        )
    ),
    *(
        Case("security-change-differs", (text, "/inventory/.secrets", f"of {HOST}"), bad, good)
        for text, bad, good in (
            # A copy from before the change, and one from its middle.
            ("CLIENT", recorded(""), recorded("moved")),
            ("CLIENT", recorded("ended"), recorded("ended", complete=False)),
            ("CLIENT", recorded("moved", opened=""), recorded("", opened="")),
            ("CLIENT", recorded("added", opened=""), recorded("added", complete=False, opened="")),
            ("CLIENT", recorded("moved", opened=""), recorded("moved", opened="", data=None)),
        )
    ),
    *(
        Case(
            "security-change-left",
            ("/inventory/.secrets/security_change.json", "kafka_secrets_dir of k1, k2, k3"),
            all_of_it(recorded("moved", data=None)),
            legal,
        )
        for legal in (
            recorded("moved", data=None),  # a node that joins
            all_of_it(recorded("ended", data=None)),
            all_of_it(recorded("", data=None)),
        )
    ),
    *(
        Case("min-isr-lowered", ("from 2 to 1", "2 brokers", "in kafka_config", HOST), two, legal)
        for two in (host(two_brokers, kafka_min_isr=2),)
        for legal in (
            host(kafka_min_isr=2),
            host(two_brokers),
            host(two_brokers, kafka_min_isr=1),
            host(two_brokers, lambda d: d.own("min.insync.replicas", 1), kafka_min_isr=2),
        )
    ),
    *(
        Case(
            "authorizer-new",
            ("kafka_security: open", f"kafka_security of {HOST}"),
            authorized(""),
            legal,
        )
        for legal in (
            authorized("org.apache.kafka.metadata.authorizer.StandardAuthorizer"),
            authorized("", "open"),
            authorized("", data=None),
            authorized(None),
            authorized("", authorizer_class_name="org.example.Authorizer"),
        )
    ),
    *(
        Case(
            "secrets-older",
            (
                "/inventory/.secrets",
                f"kafka_secrets_dir of {HOST}",
                "secrets_accept=true",
                *phrases,
            ),
            deployed_with(*bad),
            good,
        )
        for phrases, bad, good in (
            # A copy from before a change, the directory itself, and one that was changed since.
            (("generation 2", "operator-b"), (SECOND, FIRST), deployed_with(SECOND, FIRST, SECOND)),
            (("operator-b",), (SECOND, FIRST, FOREIGN), deployed_with(FIRST, FIRST, SECOND)),
            # Another directory, and none; a new host, and one with parts of another inventory.
            (("generation 7", "operator-x"), (FOREIGN, FIRST, SECOND), host()),
            (("no generation",), (FIRST,), deployed_with(FOREIGN, FIRST, products=("spark",))),
        )
    ),
    *(
        Case("secrets-older", ("operator-b",), deployed_with(SECOND, FIRST), host(secrets=damaged))
        for damaged in ({"name": "b"}, {**asdict(SECOND), "products": None})
    ),
    Case(
        "authority-differs",
        ("/inventory/.secrets", f"kafka_secrets_dir of {HOST}", "teardown.yml"),
        trusting(CA, OTHER_CA),
        trusting(CA, CA),
    ),
    *(
        Case(
            "authority-differs",
            ("does not trust the CA",),
            trusting(CA, OTHER_CA),
            trusting(authority, trusted, security),
        )
        for authority, trusted, security in (
            (CA, "", "standard"),  # a new host
            ("", OTHER_CA, "standard"),  # another rule's, or made by site.yml
            (CA, OTHER_CA, "open"),
            (CA, CA + OTHER_CA, "standard"),  # a change of the CA was undone
        )
    ),
    *(
        Case("authority-differs", ("does not trust the CA",), changing(*bad), changing(*good))
        for bad, good in (
            ((ca_change.TRUST, OTHER_CA), (ca_change.TRUST, CA)),
            # Certificates of the new CA are for nodes that trust it.
            ((ca_change.LEAVES, CA), (ca_change.LEAVES, CA + OTHER_CA)),
            ((ca_change.FINISH, CA), (ca_change.FINISH, CA + OTHER_CA)),
            ((ca_change.FINISH, CA), (ca_change.FINISH, OTHER_CA)),
            ((ca_change.WITHDRAW, OTHER_CA), (ca_change.WITHDRAW, CA + OTHER_CA)),
        )
    ),
    # A copy of the secrets without the change, and one in which it is not as far.
    Case(
        "authority-differs",
        ("has a certificate of another CA",),
        trusting(CA, CA + OTHER_CA, shown=OTHER_CA),
        trusting(CA, CA + OTHER_CA, shown=CA),
    ),
    Case(
        "authority-differs",
        ("has a certificate of another CA",),
        changing(ca_change.WITHDRAW, CA + OTHER_CA, shown=OTHER_CA),
        changing(ca_change.TRUST, CA + OTHER_CA, shown=OTHER_CA),
    ),
    Case(
        "authority-differs",
        ("does not trust the CA",),
        trusting(CA, OTHER_CA, record="damaged"),
        trusting(CA, CA, record="damaged"),
    ),
    *(
        Case(
            "ensemble-closed",
            (f"zookeeper_security: {security}", f"of {HOST}"),
            broker_of_ensemble(*bad),
            good,
        )
        for security, bad, good in (
            ("open", ("standard", False), broker_of_ensemble("standard", True)),
            ("standard", ("open", True), broker_of_ensemble("open", False)),
            ("open", ("standard", False), broker_of_ensemble("standard", None)),
            ("open", ("standard", False), broker_of_ensemble("standard", False, meta=None)),
            # What a member has left behind on a host that is no part of ZooKeeper any more.
            ("open", ("standard", False), host(zookeeper_secured=True)),
        )
    ),
    *(
        Case("ensemble-closed", (f"zookeeper_security: {security}", "of z2"), closing(*bad), good)
        for security, bad, good in (
            ("open", ("standard", False), closing("standard", True)),
            ("standard", ("open", True), closing("open", False)),
            ("open", ("standard", False), closing("standard", None)),
            ("open", ("standard", False), closing("standard", False, elected=False)),
        )
    ),
    *(
        Case(
            "ensemble-authority-differs",
            ("/inventory/.secrets", "kafka_secrets_dir of z2", "teardown.yml"),
            ensemble_trusting(CA, OTHER_CA),
            ensemble_trusting(*good),
        )
        for good in ((CA, CA), (CA, ""), ("", OTHER_CA), (CA, OTHER_CA, "open"))
    ),
    *(
        Case(
            "ensemble-authority-differs",
            ("/inventory/.secrets",),
            ensemble_changing(*bad),
            ensemble_changing(*good),
        )
        for bad, good in (
            ((ca_change.TRUST, OTHER_CA), (ca_change.TRUST, CA)),
            ((ca_change.LEAVES, CA), (ca_change.LEAVES, CA + OTHER_CA)),
            ((ca_change.FINISH, CA), (ca_change.FINISH, CA + OTHER_CA, OTHER_CA)),
            ((ca_change.FINISH, CA + OTHER_CA, CA), (ca_change.FINISH, OTHER_CA, OTHER_CA)),
            ((ca_change.WITHDRAW, OTHER_CA), (ca_change.WITHDRAW, CA + OTHER_CA, CA)),
        )
    ),
    *(
        Case(
            "ensemble-authority-differs",
            ("/inventory/.secrets", "kafka_secrets_dir of z2", "teardown.yml"),
            ensemble_taking(CA),
            ensemble_taking(*good),
        )
        for good in ((OTHER_CA + CA,), ("",), (CA, ""))
    ),
    *(
        Case("spark-secret-differs", (f"spark_security of {HOST}",), sharing(*bad), sharing(*good))
        for bad, good in (
            ((secret_digest("other"), "one"), (secret_digest("one"), "one")),
            (("", "one"), (None, "one")),  # without a secret; without Spark
            ((secret_digest("other"), "one"), (secret_digest("other"), "")),  # made by site.yml
        )
    ),
    *(
        Case(
            "store-unusable",
            (phrase, KEYSTORE.path, KEY_LOCATION),
            certificate(**bad),
            certificate(**good),
        )
        for phrase, bad, good in (
            ("does not exist", {"exists": False}, {}),
            ("cannot read", {"readable": False}, {"days_left": None}),
            ("it has no private key", {"wrong": "it has no private key in PEM"}, {}),
            ("expired 3 days ago", {"days_left": -3.0}, {"days_left": 2.0}),
            ("expires in 24 hours", {"days_left": 1.0}, {"days_left": 2.0}),
            ("becomes valid only in 36 hours", {"days_to_begin": 1.5}, {"days_to_begin": -1.5}),
            (
                "certificate that signed the one in",
                {"chain_days_left": -1.0, "chain_is_needed": True},
                {"chain_days_left": -1.0},
            ),
            ("none of the CAs", {"refused": "none of the CAs has signed it"}, {}),
        )
    ),
    *(
        Case("certificate-name", (*phrases, KEYSTORE.path), bad, good)
        for phrases, bad, good in (
            (
                ("is for DNS:k2, not for k1", "INTERNAL and CONTROLLER_TLS"),
                certificate(names=("DNS:k2",)),
                certificate(names=None),
            ),
            (
                ("no name",),
                certificate(names=()),
                certificate(names_unchecked, names=()),
            ),
            (
                ("*.k1.example, not for k1",),
                certificate(names=("DNS:*.k1.example",)),
                certificate(at("k1.example"), names=("DNS:*.example",)),
            ),
            (
                ("DNS:10.0.0.1, not for 10.0.0.1",),
                certificate(at("10.0.0.1"), names=("DNS:10.0.0.1",)),
                certificate(at("2001:0DB8:0::1"), names=("IP:2001:db8::1",)),
            ),
            (
                ("not for K2",),
                certificate(at("K2"), names=("DNS:k1",)),
                certificate(at("K1"), names=("DNS:k1",)),
            ),
            (
                ("not for k1",),
                certificate(names=("DNS:k2",)),
                host(keys_for_clients, kafka_certificates=(replace(KEYSTORE, names=("DNS:k2",)),)),
            ),
        )
    ),
    *(
        Case(
            "certificate-expiring", (phrase, KEYSTORE.path), certificate(**bad), certificate(**good)
        )
        for phrase, bad, good in (
            ("expires in 29 days", {"days_left": 29.0}, {"days_left": 30.0}),
            ("expired 1 days ago", {"chain_days_left": -1.0}, {"chain_days_left": 30.0}),
            (
                "expires in 2 days",
                {"chain_days_left": 2.0, "chain_is_needed": True},
                {"chain_days_left": 1.0, "chain_is_needed": True},
            ),
        )
    ),
    Case(
        "certificate-expiring",
        (
            "is for DNS:k2, not for k1",
            "kafka_config[listener.name.client_tls.ssl.keystore.location]",
        ),
        host(keys_for_clients, kafka_certificates=(replace(KEYSTORE, names=("DNS:k2",)),)),
        host(keys_for_clients, kafka_certificates=(replace(KEYSTORE, names=("DNS:K1",)),)),
    ),
    Case(
        "spark-python",
        ("3.9.2", "3.10", "Debian 12"),
        host(with_spark, system_python=(3, 9, 2), **DEBIAN_11),
        host(with_spark, system_python=(3, 10, 0)),
    ),
    Case(
        "spark-python",
        ("3.9.2",),
        host(with_spark, system_python=(3, 9, 2), **DEBIAN_11),
        host(system_python=(3, 9, 2), **DEBIAN_11),
    ),
    Case(
        "spark-python",
        ("3.9.2",),
        host(with_spark, system_python=(3, 11, 2), spark_python=(3, 9, 2)),
        host(with_spark, system_python=(3, 9, 2), spark_python=(3, 11, 2)),
    ),
    Case(
        "spark-python-other",
        ("spark_python_version is 3.11", "3.13"),
        host(with_spark, packages_for("3.11"), system_python=(3, 13, 5), **DEBIAN_13),
        host(with_spark, packages_for("3.13"), system_python=(3, 11, 2), spark_python=(3, 13, 5)),
    ),
    *(
        Case(
            "spark-job-schedule",
            (REFUSED_TIME, "job clicks", "Mon..Fri 06:30", "spark_jobs[clicks].schedule of k1"),
            with_job("dialy"),
            good,
        )
        for good in (
            with_job("daily"),
            with_job("dialy", state="absent"),
            with_job("dialy", name="k2"),  # no driver runs there
        )
    ),
    Case(
        "spark-python-differs",
        ("Python 3.11 on k1 and k3 and Python 3.13 on k2",),
        pythons((3, 11, 2), (3, 13, 5), (3, 11, 9)),
        pythons((3, 11, 2), (3, 11, 14), (3, 11, 9)),
    ),
    Case(
        "console-python",
        ("3.10.12", "3.11"),
        watching(30 * GIB, system_python=(3, 10, 12)),
        watching(30 * GIB, system_python=(3, 11, 0)),
    ),
    Case(
        "spark-shared-misspelt",
        ("/srv/shard/spark", "Did you mean /srv/shared/spark?"),
        sharing_files(
            "/srv/shard/spark", mount="/srv", fstype="ext4", mounts=("/", "/srv", "/srv/shared")
        ),
        sharing_files(
            "/srv/shared/spark", mount="/srv/shared", mounts=("/", "/srv", "/srv/shared")
        ),
    ),
    Case(
        "spark-shared-misspelt",
        ("/srv/shared",),
        sharing_files("/srv/shard", mount="/srv", fstype="ext4", mounts=("/", "/srv/shared")),
        sharing_files(
            "/srv/share1", mount="/srv/share1", mounts=("/", "/srv/share1", "/srv/share2")
        ),
    ),
    Case(
        "spark-shared-differs",
        ("of k3 is not that of k1 and k2", "spark_shared_dir"),
        marked("a", "a", ""),
        marked("a", "a", "a"),
    ),
    Case(
        "spark-shared-differs",
        ("on k1 than on k2 and k3",),
        marked("a", "b", "b"),
        marked("", "", ""),
    ),
    Case(
        "spark-shared-differs",
        ("of k3 is not that of k1 and k2",),
        marked("a", "a", "", mounts=("/srv", "/srv", "/"), fstype="ext4"),
        marked("a", "", "", mounts=("/", "/", "/"), fstype="ext4"),
    ),
    Case(
        "spark-shared-differs",
        ("of k2 and k3 is not that of k1",),
        marked("a", "", "", mounts=("/", "/", "/"), fstype="nfs4"),
        marked("a", "b", "", mounts=("/", "/", "/"), fstype="ext4"),
    ),
    Case(
        "spark-shared-local",
        ("/srv/spark", "NFS"),
        sharing_files("/srv/spark", mount="/", fstype="ext4", mounts=("/", "/boot")),
        sharing_files("/srv/spark", mount="/", fstype="nfs4", mounts=("/", "/boot")),
    ),
    Case(
        "spark-shared-local",
        ("/srv/spark",),
        sharing_files("/srv/spark", mount="/", fstype="ext4", mounts=("/",)),
        sharing_files(
            "/srv/spark", mount="/", fstype="ext4", mounts=("/",), disks=[{"path": "/srv"}]
        ),
    ),
]
