"""A Kafka node: its identity, and its properties with the layer of each.

What it listens on, its quorum, its security and what clients get of it are a class each.

The layers of a property: profile < topology < security < kafka_config < kafka_host_config < owned
keys.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from ....module_utils.formats import key_table
from ....module_utils.formats.values import bracketed, by_name, integer, texts
from ....module_utils.formats.versions import release_numbers
from ...cluster import files, registry
from ...cluster.files import Entry
from ...cluster.inventory import Secrets
from ...cluster.resolution import Resolution
from ...cluster.service import Certified, Server
from ..zookeeper import tls as zookeeper_tls
from ..zookeeper.model import Member
from ..zookeeper.tls import Identity
from .client_access import ClientAccess
from .node_listeners import NodeListeners
from .node_quorum import NodeQuorum
from .node_security import NodeSecurity, standard_properties
from .peers import Peer
from .profiles import PROFILES
from .security import (
    AUTHORITY,
    AUTHORITY_FILE,
    CLIENTS_STORE,
    DIRECTORY,
    NODE_STORE,
    Certificate,
    User,
)
from .server_properties import ServerProperties, may_be_secret

LAYERS = ("kafka_config", "kafka_host_config")
"""The variables in which an inventory sets properties."""
STATE = "/var/lib/millrace"
PREVIOUS = f"{STATE}/kafka-previous.json"
DYNAMIC_RECORD = f"{STATE}/kafka-dynamic.json"
OPERATION = f"{STATE}/operation.json"
AUTHORIZER_LOG = "/var/log/kafka/authorizer.log"
"""What the authorizer denied, as roles/kafka/files/log4j*.* write it."""
SERVER_PROPERTIES = "/etc/kafka/server.properties"
CLIENT_PROPERTIES = "/etc/kafka/client.properties"
RACK = "rack"
"""The value of kafka_roll_parallel for all brokers of a rack."""

# Keys that only Millrace writes, with the variable that sets each.
OWNED: Mapping[str, str] = {
    "advertised.listeners": "kafka_advertised_host",
    "broker.id": "kafka_node_id",
    "broker.rack": "kafka_rack",
    "cluster.id": "kafka_cluster_id",
    "controller.listener.names": "kafka_controller_listener",
    "controller.quorum.bootstrap.servers": "the group kafka_controllers",
    "controller.quorum.voters": "kafka_quorum",
    "inter.broker.listener.name": "kafka_inter_broker_listener",
    "listener.security.protocol.map": "kafka_listeners",
    "listeners": "kafka_listeners",
    "log.dir": "kafka_data_dirs",
    "log.dirs": "kafka_data_dirs",
    "metadata.log.dir": "kafka_metadata_dir",
    "node.id": "kafka_node_id",
    "process.roles": "the groups kafka_brokers and kafka_controllers",
    "security.inter.broker.protocol": "kafka_inter_broker_listener",
    "zookeeper.connect": "the group zookeeper",
}
# Heap from the memory of the host when nothing is set; the rest is page cache. MiB below -> heap.
_HEAPS = ((3072, "512m"), (6144, "1g"), (12288, "2g"), (20480, "4g"))
_LARGEST_HEAP = "6g"
_UNKNOWN_MEMORY_MB = 2048
# Kafka 4 logs through log4j2, Kafka 3 through log4j 1.
_LOGGING = {
    3: ("log4j.properties", "-Dlog4j.configuration=file:/etc/kafka/log4j.properties"),
    4: ("log4j2.yaml", "-Dlog4j2.configurationFile=/etc/kafka/log4j2.yaml"),
}
# Listeners and their security belong together, and Kafka takes many of them per listener alone.
_RESTARTED_PREFIXES = ("listener", "ssl.", "sasl.")
_RESTARTED = ("advertised.listeners", "config.providers", "principal.builder.class")
# An operation on the disks decides which of them take new partitions, not the file.
_OPERATED = ("cordoned.log.dirs",)
_REMOTE_STORAGE = "remote.log.storage.manager.class.path"
# Those whose values are classes that the broker or the controller loads.
_CLASSES = (
    "alter.config.policy.class.name",
    "authorizer.class.name",
    "client.quota.callback.class",
    "create.topic.policy.class.name",
    "metric.reporters",
    "principal.builder.class",
    "remote.log.storage.manager.class.name",
)
_OTHER_CLASSES = ("-javaagent:", "-Xbootclasspath", "-cp", "-classpath", "--class-path")
_DYNAMIC_MODES = ("per-broker", "cluster-wide")


@dataclass(frozen=True)
class KafkaNode(Server, Certified):
    """One Kafka node, resolved from its settings and the other members of the cluster.

    Its parts are `properties`, `listeners`, `quorum`, `security` and `clients`.
    """

    roles: tuple[str, ...]
    """What it is: broker, controller or both."""
    mode: str
    """The cluster's mode, kraft or zookeeper."""
    brokers: Sequence[Peer]
    """All brokers of the cluster."""
    voters: Sequence[Peer]
    """All controllers of the cluster."""
    ensemble: Sequence[str]
    """The client addresses of ZooKeeper."""
    kept_cluster_id: str = ""
    """The cluster id that is kept beside the inventory."""
    secrets: Secrets = field(default_factory=Secrets, repr=False)
    """The secrets of the inventory."""
    with_spark: bool = False
    """Whether the inventory has Spark, whose jobs are users."""
    ensemble_secured: bool = False
    """Whether the ensemble wants certificates."""
    job_users: Sequence[User] = ()
    """The users that the inventory's jobs, Kafka Connect and the schema registry bring."""
    product = "kafka"
    title = "Apache Kafka"
    address_variable = "kafka_advertised_host"
    own_layers = LAYERS
    owned = OWNED
    scripts = ("kafka-run-class.sh", "kafka-server-start.sh", "kafka-server-stop.sh")
    previous = PREVIOUS
    takes_plugins = True
    leftovers = (
        NODE_STORE,
        CLIENTS_STORE,
        AUTHORITY,
        *zookeeper_tls.paths("kafka"),
        *(f"/etc/kafka/{name}" for name, _ in _LOGGING.values()),
        f"{DIRECTORY}/",
        "/etc/kafka/",
        PREVIOUS,
        DYNAMIC_RECORD,
        OPERATION,
        f"{AUTHORIZER_LOG}*",
        "/var/log/kafka/",
    )

    @property
    def id(self) -> int | None:
        """The node id, None where none or no number is set."""
        return integer(self.settings["kafka_node_id"])

    @property
    def most_together(self) -> int:
        """How many brokers a roll may restart at the same time, this one among them."""
        if self.is_controller or not self.voters:
            return 1
        setting = self.settings["kafka_roll_parallel"]
        return len(self.brokers) if setting == RACK else int(setting)

    @property
    def is_broker(self) -> bool:
        """Whether it serves partitions."""
        return "broker" in self.roles

    @property
    def is_controller(self) -> bool:
        """Whether it is a member of the quorum."""
        return "controller" in self.roles

    @property
    def address(self) -> str:
        """The name or address that it advertises."""
        return advertised_host(self.settings, self.host.name)

    @property
    def cluster_id(self) -> str:
        """The cluster id that is set, else the one kept beside the inventory, else empty."""
        return str(self.settings["kafka_cluster_id"] or self.kept_cluster_id)

    @property
    def data_dirs(self) -> list[str]:
        """The directories of log.dirs."""
        return [str(path) for path in self.settings["kafka_data_dirs"]]

    @property
    def data_directories(self) -> list[tuple[str, str]]:
        """Variable and path of each directory that holds data."""
        metadata_dir = self.quorum.metadata_dir
        metadata = [("kafka_metadata_dir", metadata_dir)] if metadata_dir else []
        return [("kafka_data_dirs", path) for path in self.data_dirs] + metadata

    @cached_property
    def properties(self) -> ServerProperties:
        """What its effective properties say."""
        configured = {layer: self.layers[layer] for layer in LAYERS}
        return ServerProperties(self.config, configured, self.table)

    @cached_property
    def listeners(self) -> NodeListeners:
        """What it listens on."""
        return NodeListeners(self.settings, self.address, self.roles, self.mode, self.secrets)

    @cached_property
    def quorum(self) -> NodeQuorum:
        """The quorum of its cluster."""
        return NodeQuorum(self.settings, self.cluster_id, self.voters, self.listeners)

    @cached_property
    def security(self) -> NodeSecurity:
        """Its certificates, and its users."""
        return NodeSecurity(
            self.name,
            self.settings,
            self.secrets,
            self.listeners,
            self.properties,
            self.job_users,
            self.with_spark,
        )

    @cached_property
    def clients(self) -> ClientAccess:
        """What clients get of it."""
        return ClientAccess(
            self.id,
            self.brokers,
            self.settings,
            self.listeners,
            self.properties,
            self.security,
        )

    @property
    def ports(self) -> dict[str, int]:
        """Variable and listener -> port."""
        return self.listeners.ports

    def callers(self, port: str) -> tuple[str, ...]:
        """Return who connects: clients to the first listener, and to all that are not brokers'."""
        return self.listeners.callers(port)

    @property
    def heap(self) -> str:
        """The heap that is set, else a share of the host's memory."""
        if self.settings["kafka_heap"]:
            return str(self.settings["kafka_heap"])
        memory = self.host.memory_mb or _UNKNOWN_MEMORY_MB
        return next((heap for below, heap in _HEAPS if memory < below), _LARGEST_HEAP)

    @property
    def class_path(self) -> str:
        """The class path of its JVM: the classes of plugins come after those of Kafka."""
        added = [plugin.jars for plugin in self.plugins if not plugin.remote_storage]
        return ":".join([super().class_path, *added])

    @property
    def required_classes(self) -> dict[str, str]:
        """Each property that names a class which is not Kafka's own -> the class.

        None with options by which the JVM has classes from elsewhere.
        """
        options = self.settings[self.jvm.options_variable]
        if any(str(option).startswith(_OTHER_CLASSES) for option in options):
            return {}
        return {
            f"kafka_config.{key}": name
            for key in _CLASSES
            for name in texts(self.config.get(key))
            if "." in name and not name.startswith(("org.apache.kafka.", "kafka.", "java"))
        }

    @property
    def write_paths(self) -> list[str]:
        """The directories that its processes write to."""
        return [path for _, path in self.data_directories]

    @property
    def replication_factor(self) -> int:
        """Of topics by default: as many as there are brokers, at most 3."""
        return min(3, max(1, len(self.brokers)))

    def _defaults(self) -> dict[str, dict[str, Any]]:
        profile = PROFILES.get(self.settings["kafka_profile"])
        settings = profile.settings if profile else {}
        values = {key: setting.on(self.host.cores) for key, setting in settings.items()}
        configured = {
            key: value for layer in LAYERS for key, value in by_name(self.settings[layer]).items()
        }
        hosts = [peer.name for peer in (*self.brokers, *self.voters)]
        return {
            "profile": _known(values, self.table),
            "topology": _known(
                {**_topology_config(self.replication_factor), **self._remote_storage()}, self.table
            ),
            "security": {
                **(zookeeper_tls.of_broker(self.identity) if self.identity else {}),
                **standard_properties(self.listeners, configured, hosts),
            },
        }

    def _remote_storage(self) -> dict[str, str]:
        """Return where Kafka loads its remote storage from, with a class loader of its own."""
        jars = [plugin.jars for plugin in self.plugins if plugin.remote_storage]
        return {_REMOTE_STORAGE: ":".join(jars)} if jars and self.is_broker else {}

    @property
    def identity(self) -> Identity | None:
        """What a broker shows a closed ensemble, None without one."""
        if not self.ensemble_secured or self.mode != "zookeeper":
            return None
        return zookeeper_tls.identity(self.host.name, self.product)

    @property
    def is_secured(self) -> bool:
        """Whether the node has what `kafka_security: standard` is, or is about to."""
        return self.listeners.is_secured

    @property
    def certificates(self) -> list[Certificate]:
        """The certificates that Millrace makes for this node."""
        return self.security.certificates

    @cached_property
    def table(self) -> key_table.Table:
        """The keys that its version knows, none for a version that is not known."""
        return key_table.load(self.version)

    def knows(self, key: str) -> bool:
        """Return whether its version or one of its plug-ins reads a key."""
        return key_table.is_known(key, self.table)

    def nearest_key(self, key: str) -> str:
        """Return the most similar legal key, a listener's prefix kept; empty if none is similar."""
        return key_table.nearest_key(key, self.table)

    @cached_property
    def has_secrets(self) -> bool:
        """Whether a property of it may hold a secret."""
        properties = {**self.config, **self.clients.config}
        return any(may_be_secret(key, value, self.table) for key, value in properties.items())

    @cached_property
    def dynamic_keys(self) -> list[str]:
        """The keys that are set on a running broker; none of a controller alone.

        They have the update mode per-broker or cluster-wide in Kafka's own table (KIP-226). Left
        out are secrets, everything about listeners, and owned keys.
        """
        return dynamic_keys(self.version) if self.is_broker else []

    def files(self) -> dict[str, Entry]:
        """Return the configuration files; `restart` marks what only a restart brings."""
        logging, option = _LOGGING[4 if release_numbers(self.version)[:1] >= (4,) else 3]
        secret = self.has_secrets
        readers: dict[str, Any] = {"mode": "0640", "group": self.user}
        tools = files.render(
            "kafka.sh.j2",
            bootstrap=",".join(self.clients.bootstrap),
            client_config=CLIENT_PROPERTIES,
            java_home=self.host.java.home,
        )
        return {
            **super().files(),
            SERVER_PROPERTIES: files.property_file(
                self.config, **readers, secret=secret, dynamic=self.dynamic_keys
            ),
            "/etc/kafka/environment": files.environment(self._environment(), **readers),
            CLIENT_PROPERTIES: files.text(
                files.properties(self.clients.config),
                **(readers if secret else {"mode": "0644"}),
                secret=secret,
            ),
            "/etc/profile.d/kafka.sh": files.text(tools),
            **self.certificate_files(),
            **self.copy(logging),
            **self.server(
                f"{' and '.join(self.roles)} {self.id}",
                option,
                f"kafka.Kafka {SERVER_PROPERTIES}",
                logs=self.product,
            ),
        }

    @property
    def missing_secrets(self) -> list[str]:
        """What its files need and the secrets do not have, by its name."""
        authority = {AUTHORITY_FILE: self.secrets.authority}
        return self.lacking(authority if self.certificates else {})

    def certificate_files(self) -> dict[str, Entry]:
        """Return the keys and certificates that Millrace makes, and those of its CAs."""
        of_client = self.identity.files(self.secrets, self.user) if self.identity else {}
        if not self.certificates:
            return of_client
        return {
            DIRECTORY: files.directory(),
            AUTHORITY: files.text(self.secrets.authority, restart=True),
            **super().certificate_files(),
            **of_client,
        }

    def _owned_config(self) -> dict[str, Any]:
        """Return the properties that only Millrace writes; an empty value is left out."""
        kraft = self.mode == "kraft"
        config: dict[str, Any] = {
            "node.id" if kraft else "broker.id": "" if self.id is None else self.id,
            **self.listeners.config,
            "log.dirs": ",".join(self.data_dirs),
            **(self.quorum.config if kraft else {"zookeeper.connect": ",".join(self.ensemble)}),
        }
        if self.is_broker:
            config["broker.rack"] = self.settings["kafka_rack"]
            config["inter.broker.listener.name"] = self.listeners.between_brokers
        return {key: value for key, value in config.items() if value != ""}


def any_broker(resolution: Resolution) -> KafkaNode | None:
    """Return a broker of an inventory, None without any."""
    nodes: Mapping[str, KafkaNode] = resolution.parts("kafka")
    return next((node for node in nodes.values() if node.is_broker), None)


def resolve(resolution: Resolution) -> dict[str, KafkaNode]:
    """Return host -> node of all Kafka hosts; the groups decide what each is."""
    inventory, hosts = resolution.inventory, resolution.hosts
    members: Mapping[str, Member] = resolution.parts("zookeeper")
    ensemble = next((member.client_addresses for member in members.values()), [])
    users = [user for find in registry.functions("kafka_users") for user in find(resolution)]
    groups = {role: inventory.members(f"kafka_{role}s") for role in ("broker", "controller")}
    peers = {
        role: [
            Peer(
                integer(hosts[name].settings["kafka_node_id"]),
                advertised_host(hosts[name].settings, name),
                name,
            )
            for name in names
        ]
        for role, names in groups.items()
    }
    return {
        name: KafkaNode(
            host,
            roles,
            "zookeeper" if inventory.in_zookeeper_mode else "kraft",
            peers["broker"],
            peers["controller"],
            ensemble,
            inventory.cluster_id,
            inventory.secrets,
            any(map(inventory.members, registry.groups_of("spark"))),
            any(member.is_secured for member in members.values()),
            users,
        )
        for name, host in hosts.items()
        if (roles := tuple(role for role, names in groups.items() if name in names))
    }


def advertised_host(settings: Mapping[str, Any], name: str) -> str:
    """Return the name or address under which clients and other nodes reach a host."""
    advertised = settings["kafka_advertised_host"]
    return bracketed(str(settings["ansible_host"] or name if advertised is None else advertised))


def _known(config: Mapping[str, Any], table: key_table.Table) -> dict[str, Any]:
    """Leave out what the version does not know; all is kept for a version without a table."""
    return {key: value for key, value in config.items() if not table or key in table}


def _topology_config(factor: int) -> dict[str, int]:
    """Replication by a factor: with one broker down producers with acks=all go on.

    On controllers too, since they seed min.insync.replicas (KIP-966).
    """
    min_isr = max(1, min(2, factor - 1))
    return {
        "default.replication.factor": factor,
        "min.insync.replicas": min_isr,
        "offsets.topic.replication.factor": factor,
        "transaction.state.log.replication.factor": factor,
        "transaction.state.log.min.isr": min_isr,
        "share.coordinator.state.topic.replication.factor": factor,
        "share.coordinator.state.topic.min.isr": min_isr,
    }


def dynamic_keys(version: str) -> list[str]:
    """Return the keys that Millrace changes on a running broker of this version."""
    never = {*OWNED, *_RESTARTED, *_OPERATED}
    return sorted(
        key
        for key, entry in key_table.load(version).items()
        if entry.get("update") in _DYNAMIC_MODES
        and entry.get("type") != "password"
        and key not in never
        and not key.startswith(_RESTARTED_PREFIXES)
    )
