"""A clean inventory for tests of the rules to spoil: groups, and each host's variables."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Self

from ansible_collections.millrace.streaming.plugins.plugin_utils.cluster.cluster import (
    Cluster,
    resolve,
)
from ansible_collections.millrace.streaming.plugins.plugin_utils.cluster.host import Facts
from ansible_collections.millrace.streaming.plugins.plugin_utils.cluster.inventory import (
    Expression,
    FileFinding,
    HostVariables,
    Inventory,
    Secrets,
)
from ansible_collections.millrace.streaming.plugins.plugin_utils.cluster.registry import GROUPS
from ansible_collections.millrace.streaming.plugins.plugin_utils.rules.catalogue import RULES
from ansible_collections.millrace.streaming.plugins.plugin_utils.rules.engine import (
    Problem,
    check_cluster,
)
from ansible_collections.millrace.streaming.plugins.plugin_utils.services.kafka.resources import (
    files as resource_files,
)
from ansible_collections.millrace.streaming.plugins.plugin_utils.services.kafka.resources import (
    merged,
)
from ansible_collections.millrace.streaming.plugins.plugin_utils.services.kafka.resources.entries import (
    ResourceFiles,
)

NODES = ("k1", "k2", "k3")
TMP = "/tmp"  # noqa: S108 - what a rule refuses
CLUSTER_ID = "4L6g3nShT-eMCtK--X86sw"
MEMORY_MB = 6144


@dataclass
class Draft:
    """The clean inventory, three combined nodes that carry Spark, for a case to spoil."""

    groups: dict[str, list[str]] = field(
        default_factory=lambda: {
            "all": list(NODES),
            "ungrouped": [],
            "kafka_controllers": list(NODES),
            "kafka_brokers": list(NODES),
            "spark_masters": ["k1"],
            "spark_workers": ["k2", "k3"],
            "spark_history": ["k1"],
            "spark_metastore": ["k1"],
        }
    )
    variables: dict[str, dict[str, Any]] = field(
        default_factory=lambda: {
            name: {
                "kafka_node_id": number,
                "kafka_advertised_host": name,
                "kafka_security": "open",
                "spark_security": "open",
                "zookeeper_security": "open",
                "hdfs_security": "open",
                "connect_security": "open",
                "schema_registry_security": "open",
                "metrics_security": "open",
                "monitoring_security": "open",
                "kafka_heap": "512m",
                "host_memory_mb": MEMORY_MB,
            }
            for number, name in enumerate(NODES, start=1)
        }
    )
    unresolved: dict[str, dict[str, str]] = field(default_factory=dict)
    connections: dict[str, dict[str, Any]] = field(default_factory=dict)
    expressions: dict[str, dict[str, Expression]] = field(default_factory=dict)
    unreadable: dict[str, dict[str, str]] = field(default_factory=dict)
    cluster_id_error: str = ""
    authority_error: str = ""
    authority_days: float | None = None
    parameters: dict[str, Any] = field(default_factory=dict)
    file_findings: list[FileFinding] = field(default_factory=list)
    resolved: dict[str, list[str]] = field(default_factory=dict)
    secrets: Secrets = field(default_factory=Secrets)
    others: set[str] = field(default_factory=set)
    directory: str = ""
    resource_files: ResourceFiles = field(default_factory=ResourceFiles)
    policy: bool = False

    def given(self, name: str, value: object) -> Self:
        """Give a playbook a parameter with -e."""
        self.parameters[name] = value
        return self

    def file(self, kind: str, name: str, text: str, value: str = "") -> Self:
        """Let a file of the inventory lose something."""
        line = 7 if kind in ("twice", "number") else 0
        path = "group_vars/kafka.yml"
        self.file_findings.append(FileFinding(kind, path, line, name, text, value))
        return self

    def resources(self, **texts: str) -> Self:
        """Let files have resources: name of the file without its suffix -> its text."""
        with TemporaryDirectory() as directory:
            for name, text in texts.items():
                Path(directory, f"{name}.yml").write_text(text, encoding="utf-8")
            self.resource_files = resource_files.read(directory)
        return self

    def variable(self, name: str, value: object, on: tuple[str, ...] = NODES) -> Self:
        """Set a variable of the inventory."""
        for host in on:
            self.variables[host][name] = value
        return self

    def unresolvable(self, name: str, reason: str, on: tuple[str, ...] = NODES) -> Self:
        """Give a variable an expression that fails."""
        for host in on:
            self.variables[host].pop(name, None)
            self.unresolved.setdefault(host, {})[name] = reason
        return self

    def unread(self, file: str, on: tuple[str, ...], *names: str) -> Self:
        """Keep a file of some variables from being read."""
        for host in on:
            for name in names:
                self.variables[host].pop(name, None)
            self.unreadable[host] = {file: "A key is missing"}
        return self

    def kept_cluster_id(self, error: str) -> Self:
        """Let the file with the cluster id be wrong."""
        self.cluster_id_error = error
        return self

    def wrong_authority(self, error: str) -> Self:
        """Let the site's CA be unusable."""
        self.authority_error = error
        return self

    def kept_secrets(self, mode: int) -> Self:
        """Let the directory of secrets have permissions."""
        self.secrets = Secrets("/inventory/.secrets", mode=mode)
        return self

    def authority_ends(self, days: float) -> Self:
        """Let the site's CA be valid for some days."""
        self.authority_days = days
        return self

    def own_host(self, key: str, value: object, on: tuple[str, ...] = NODES) -> Self:
        """Set a property in kafka_host_config."""
        return self._property("kafka_host_config", key, value, on)

    def own(self, key: str, value: object, on: tuple[str, ...] = NODES) -> Self:
        """Set a property in kafka_config."""
        return self._property("kafka_config", key, value, on)

    def provided(self, key: str, value: str) -> Self:
        """Set a property that a config provider fills in, and the provider."""
        provider = "org.apache.kafka.common.config.provider.FileConfigProvider"
        self.own("config.providers", "file").own("config.providers.file.class", provider)
        return self.own(key, value)

    def own_spark(self, key: str, value: object) -> Self:
        """Set a property in spark_config."""
        return self._property("spark_config", key, value, NODES)

    def own_zookeeper(self, key: str, value: object) -> Self:
        """Set a property of a new ensemble in zookeeper_config."""
        self.ensemble()
        return self._property("zookeeper_config", key, value, tuple(self.groups["zookeeper"]))

    def _property(self, layer: str, key: str, value: object, on: tuple[str, ...]) -> Self:
        for host in on:
            self.variables[host].setdefault(layer, {})[key] = value
        return self

    def ids(self, **ids: object) -> Self:
        """Set node ids."""
        for name, number in ids.items():
            self.variable("kafka_node_id", number, on=(name,))
        return self

    def without_kafka(self, *names: str) -> Self:
        """Take hosts out of the Kafka groups."""
        for name in names:
            self.leave("kafka_controllers", name).leave("kafka_brokers", name)
        return self

    def without_spark(self) -> Self:
        """Leave Spark's groups out."""
        return (
            self.drop_group("spark_masters")
            .drop_group("spark_workers")
            .drop_group("spark_history")
            .drop_group("spark_metastore")
        )

    def drop_group(self, group: str) -> Self:
        """Leave a group out."""
        del self.groups[group]
        return self

    def add_host(self, name: str, **variables: object) -> Self:
        """Add a host to no group."""
        self.groups["all"].append(name)
        products = (
            "kafka",
            "connect",
            "schema_registry",
            "spark",
            "zookeeper",
            "hdfs",
            "metrics",
            "monitoring",
        )
        security = [f"{product}_security" for product in products]
        self.variables[name] = {**dict.fromkeys(security, "open"), **variables}
        return self

    def join(self, group: str, name: str) -> Self:
        """Put a host into a group."""
        self.groups[group].append(name)
        return self

    def leave(self, group: str, name: str) -> Self:
        """Take a host out of a group."""
        self.groups[group].remove(name)
        return self

    def controllers(self, *names: str) -> Self:
        """Choose the controllers."""
        self.groups["kafka_controllers"] = list(names)
        return self

    def reached_at(self, name: str, address: str, port: int = 22) -> Self:
        """Set where Ansible reaches a host."""
        self.connections[name] = {"ansible_host": address, "ansible_port": port}
        return self

    def named(self, name: str, *addresses: str) -> Self:
        """Let the control node find the addresses of a name."""
        self.resolved[name] = [*addresses]
        return self

    def listeners(self, *listeners: tuple[str, Any, str], on: tuple[str, ...] = NODES) -> Self:
        """Set the brokers' listeners."""
        keys = ("name", "port", "protocol")
        written = [dict(zip(keys, listener, strict=True)) for listener in listeners]
        return self.variable("kafka_listeners", written, on)

    def controller_listener(
        self, name: str, port: int = 9093, protocol: str = "PLAINTEXT", on: tuple[str, ...] = NODES
    ) -> Self:
        """Set the controllers' listener."""
        listener = {"name": name, "port": port, "protocol": protocol}
        return self.variable("kafka_controller_listener", listener, on)

    def racks(self, *racks: str) -> Self:
        """Set the rack of each node."""
        for host, rack in zip(NODES, racks, strict=True):
            self.variable("kafka_rack", rack, on=(host,))
        return self

    def pem(self) -> Self:
        """Set stores as the documents advise."""
        for store, file in (("keystore", "node.pem"), ("truststore", "ca.pem")):
            self.own(f"ssl.{store}.type", "PEM")
            self.own(f"ssl.{store}.location", f"/etc/kafka/tls/{file}")
        return self

    def login(self, listener: str, mechanism: str = "SCRAM-SHA-512") -> Self:
        """Set a listener's entry of JAAS."""
        key = f"listener.name.{listener.lower()}.{mechanism.lower()}.sasl.jaas.config"
        self.own("sasl.enabled.mechanisms", mechanism)
        return self.provided(key, "${file:/etc/kafka/secrets:login}")

    def vault(self, place: str) -> Self:
        """Let a value, `variable[key]`, come from a vault."""
        return self.expression(place, Expression())

    def expression(self, place: str, made_of: Expression) -> Self:
        """Let a value, `variable[key]`, be an expression."""
        for host in self.groups["all"]:
            self.expressions.setdefault(host, {})[place] = made_of
        return self

    def archive(self, **archive: object) -> Self:
        """Install Kafka from an archive."""
        self.variable("kafka_distribution_source", "archive")
        return self.variable("kafka_archive", archive)

    def ensemble(self, *names: str) -> Self:
        """Put ZooKeeper on hosts, three new ones by default."""
        members = names or ("z1", "z2", "z3")
        self.groups["zookeeper"] = list(members)
        for number, name in enumerate(members, start=1):
            if name not in self.groups["all"]:
                self.add_host(name)
            self.variable("zookeeper_id", number, on=(name,))
        return self

    def connect(self, *workers: str) -> Self:
        """Put workers of Kafka Connect on hosts."""
        self.groups["kafka_connect"] = list(workers or NODES[:2])
        return self

    def registry(self, *instances: str) -> Self:
        """Put the schema registry on hosts."""
        self.groups["schema_registry"] = list(instances or NODES[:2])
        return self

    def subjects(self, *entries: Mapping[str, Any]) -> Self:
        """Put the schema registry on hosts, with subjects."""
        return self.registry().variable("schema_registry_subjects", [*entries])

    def database(self, *hosts: str) -> Self:
        """Put a database on hosts, beside workers of Kafka Connect."""
        self.groups["postgresql"] = list(hosts or NODES[:1])
        return self.connect()

    def monitoring(self, *hosts: str) -> Self:
        """Put Prometheus on hosts, by default on one of its own."""
        members = list(hosts or ("m1",))
        self.groups["monitoring"] = members
        for name in members:
            if name not in self.groups["all"]:
                self.add_host(name)
        return self

    def hdfs(self, *datanodes: str) -> Self:
        """Put HDFS on hosts, with the first one as its NameNode."""
        self.groups["hdfs_namenode"] = ["k1"]
        self.groups["hdfs_datanodes"] = list(datanodes or NODES)
        return self

    def zookeeper_mode(self, version: str = "3.9.2") -> Self:
        """Put the brokers on an ensemble."""
        self.ensemble().drop_group("kafka_controllers")
        return self.variable("kafka_version", version)

    def connection(self, name: str, value: object, on: tuple[str, ...] = NODES) -> Self:
        """Set a variable of Ansible's own."""
        for host in on:
            self.connections.setdefault(host, {})[name] = value
        return self

    def other(self, name: str) -> Self:
        """Set a variable that is neither Millrace's nor Ansible's on every host."""
        self.others.add(name)
        return self

    def inventory(self) -> Inventory:
        """Return the inventory as it is read."""
        hosts = {
            name: HostVariables(
                name,
                self.variables.get(name, {}),
                self.unresolved.get(name, {}),
                self.connections.get(name, {}),
                self.expressions.get(name, {}),
                self.unreadable.get(name, {}),
                frozenset(self.others),
            )
            for name in self.groups["all"]
        }
        ours = {name for group in GROUPS for name in self.groups.get(group, ())}
        return Inventory(
            self.groups,
            {name: host for name, host in hosts.items() if name in ours},
            self.directory,
            cluster_id_error=self.cluster_id_error,
            authority_error=self.authority_error,
            authority_days=self.authority_days,
            parameters=self.parameters,
            file_findings=self.file_findings,
            resolved=self.resolved,
            secrets=self.secrets,
            resource_files=self.resource_files,
            places=merged.places(self.resource_files),
        )

    def cluster(self, facts: Mapping[str, Facts] | None = None) -> Cluster:
        """Return what the model makes of it."""
        return resolve(self.inventory(), facts)

    def by_policy(self) -> Self:
        """Judge its versions by the policy too: other cases may name any that can be installed."""
        self.policy = True
        return self

    def problems(self) -> list[Problem]:
        """Judge it by all rules."""
        rules = [rule for rule in RULES if self.policy or not rule.module.endswith(".policy")]
        return check_cluster(rules, self.cluster())


Change = Callable[[Draft], object]
# Rule, name of the case, the mistake, parts of the message: what an operator needs to correct it.
Case = tuple[str, str, Change, tuple[str, ...]]
# Rule, name of the variation, the variation.
Legal = tuple[str, str, Change]
