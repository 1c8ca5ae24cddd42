"""A Kafka node: its identity, its listeners, and its properties with the layer of each.

The layers of a property: profile < topology < security < kafka_config < kafka_host_config < owned
keys.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from ....module_utils.formats import key_table, secret_texts
from ....module_utils.formats.uuids import directory_id, is_cluster_id
from ....module_utils.formats.values import bracketed, by_name, integer, texts
from ....module_utils.formats.versions import release_numbers
from ...cluster import files, registry, transition
from ...cluster.files import Entry
from ...cluster.inventory import Secrets
from ...cluster.resolution import Resolution
from ...cluster.service import CLIENTS, NODES, Certified, Server
from ...cluster.transition import Transition
from ..zookeeper import tls as zookeeper_tls
from ..zookeeper.model import Member
from ..zookeeper.tls import Identity
from . import listeners, security
from .listeners import Listener, Listeners
from .profiles import PROFILES
from .security import Certificate, User

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
# What a client on a broker's host takes over from the broker.
_CLIENT_TLS = (
    "ssl.truststore.type",
    "ssl.truststore.location",
    "ssl.enabled.protocols",
    "ssl.endpoint.identification.algorithm",
)
_CLIENT_KEYS = ("ssl.keystore.type", "ssl.keystore.location")
_JAAS = "sasl.jaas.config"
_SECRET_ENDS = ("password", "secret", _JAAS)
# Whichever of them the inventory sets, it brings the keys of all listeners.
_KEY_STORES = ("ssl.keystore.location", "ssl.keystore.key", "ssl.engine.factory.class")
_TRUST_STORES = ("ssl.truststore.location", "ssl.truststore.certificates")
# Listeners and their security belong together, and Kafka takes many of them per listener alone.
_RESTARTED_PREFIXES = ("listener", "ssl.", "sasl.")
_RESTARTED = ("advertised.listeners", "config.providers", "principal.builder.class")
# An operation on the disks decides which of them take new partitions, not the file.
_OPERATED = ("cordoned.log.dirs",)
_DYNAMIC_MODES = ("per-broker", "cluster-wide")


@dataclass(frozen=True)
class Peer:
    """A node as the others know it: its id, the name or address that it advertises, its own name.

    The last is the host's in the inventory, and that of a certificate that the site brings.
    """

    id: int | None
    host: str
    name: str = ""


@dataclass(frozen=True)
class KafkaNode(Server, Certified):
    """One Kafka node, resolved from its settings and the other members of the cluster.

    `brokers` and `voters` are all of the cluster, the node itself included, `ensemble` the client
    addresses of ZooKeeper. `mode` is kraft or zookeeper. `with_spark` says whether the inventory
    has Spark, whose jobs are users, `ensemble_secured` whether the ensemble wants certificates;
    `job_users` are those that the inventory's jobs, Kafka Connect and the schema registry bring.
    """

    roles: tuple[str, ...]
    mode: str
    brokers: Sequence[Peer]
    voters: Sequence[Peer]
    ensemble: Sequence[str]
    kept_cluster_id: str = ""
    secrets: Secrets = field(default_factory=Secrets, repr=False)
    with_spark: bool = False
    ensemble_secured: bool = False
    job_users: Sequence[User] = ()
    product = "kafka"
    title = "Apache Kafka"
    address_variable = "kafka_advertised_host"
    own_layers = LAYERS
    owned = OWNED
    scripts = ("kafka-run-class.sh", "kafka-server-start.sh", "kafka-server-stop.sh")
    previous = PREVIOUS
    leftovers = (
        *(security.NODE_STORE, security.CLIENTS_STORE, security.AUTHORITY),
        *zookeeper_tls.paths("kafka"),
        *(f"/etc/kafka/{name}" for name, _ in _LOGGING.values()),
        *(f"{security.DIRECTORY}/", "/etc/kafka/", PREVIOUS, DYNAMIC_RECORD, OPERATION),
        *(f"{AUTHORIZER_LOG}*", "/var/log/kafka/"),
    )

    @property
    def id(self) -> int | None:
        """The node id, None where none or no number is given."""
        return integer(self.settings["kafka_node_id"])

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

    @cached_property
    def broker_listeners(self) -> tuple[Listener, ...]:
        """What it listens on as a broker, nothing for a controller alone."""
        return self.client_listeners if self.is_broker else ()

    @property
    def client_listeners(self) -> tuple[Listener, ...]:
        """What brokers listen on; the first is for clients."""
        return self._listeners.brokers

    @property
    def controller_listener(self) -> Listener:
        """What nodes connect to the controllers by."""
        return self._listeners.controllers[0]

    @property
    def controller_listeners(self) -> tuple[Listener, ...]:
        """What the controllers listen on, nothing with ZooKeeper."""
        return self._listeners.controllers if self.mode == "kraft" else ()

    @property
    def inter_broker_listener(self) -> str:
        """The name of the listener that brokers use among themselves."""
        return self._listeners.between_brokers

    @cached_property
    def change(self) -> Transition | None:
        """The change from open listeners to the wanted ones that is under way, if one is."""
        record = self.change_record
        return None if record is None or record.phase == listeners.ENDED else record

    @cached_property
    def change_record(self) -> Transition | None:
        """The record of that change, also of one that has ended; None without one."""
        if self.settings["kafka_security"] != security.STANDARD:
            return None
        return transition.read(self.secrets, transition.SECURITY)

    @property
    def leaving_listeners(self) -> list[Listener]:
        """What a node listens on until the end of the change reaches it."""
        record = self.change_record
        if record is None or record.phase != listeners.ENDED or record.complete:
            return []
        former = Listeners.from_data(record.data)
        own = (former.brokers if self.is_broker else ()) + (
            former.controllers if self.is_controller else ()
        )
        return [one for one in own if one not in self.listeners]

    @cached_property
    def _listeners(self) -> Listeners:
        return listeners.in_phase(self.wanted_listeners, self.change)

    @property
    def former_listeners(self) -> list[Listener]:
        """What this node listens on only until the change that is under way ends."""
        wanted = self.wanted_listeners
        return [x for x in self.listeners if x not in (*wanted.brokers, *wanted.controllers)]

    @cached_property
    def wanted_listeners(self) -> Listeners:
        """The listeners that this node's variables ask for, whatever it has now."""
        settings = self.settings
        preset = security.PRESETS[settings["kafka_security"]]
        brokers = settings["kafka_listeners"] or preset.listeners
        controller = settings["kafka_controller_listener"] or preset.controller_listener
        # Kafka compares names of listeners in capitals.
        names = {one["name"].upper(): one["name"] for one in brokers}
        fallback = names.get(preset.inter_broker_listener, next(iter(names.values())))
        between = str(settings["kafka_inter_broker_listener"] or fallback)
        return Listeners(
            tuple(Listener(**one) for one in brokers),
            (Listener(**controller),),
            names.get(between.upper(), between),
        )

    @property
    def node_listener(self) -> Listener:
        """What a node's own host connects to: the brokers' own if the node's key is enough."""
        own = [one for one in self.client_listeners if one.name == self.inter_broker_listener]
        with_key = [one for one in own if one.protocol == "SSL" and self.is_secured]
        return [*with_key, *self.client_listeners][0]

    @property
    def listeners(self) -> tuple[Listener, ...]:
        """Everything it listens on."""
        return self.broker_listeners + (self.controller_listeners if self.is_controller else ())

    @property
    def cluster_id(self) -> str:
        """The cluster id that is set, else the one kept beside the inventory, else empty."""
        return str(self.settings["kafka_cluster_id"] or self.kept_cluster_id)

    @property
    def data_dirs(self) -> list[str]:
        """The directories of log.dirs."""
        return [str(path) for path in self.settings["kafka_data_dirs"]]

    @property
    def metadata_dir(self) -> str:
        """The directory of metadata.log.dir, empty for the first data directory."""
        return str(self.settings["kafka_metadata_dir"])

    @property
    def data_directories(self) -> list[tuple[str, str]]:
        """Variable and path of each directory that holds data."""
        metadata = [("kafka_metadata_dir", self.metadata_dir)] if self.metadata_dir else []
        return [("kafka_data_dirs", path) for path in self.data_dirs] + metadata

    @property
    def ports(self) -> dict[str, int]:
        """Variable and listener -> port."""
        found: dict[str, int] = {}
        own = [(f"kafka_listeners ({one.name})", one) for one in self.broker_listeners]
        if self.is_controller:
            own += [("kafka_controller_listener", one) for one in self.controller_listeners]
        own += [(f"kafka_listeners ({one.name})", one) for one in self.leaving_listeners]
        for name, one in own:
            found[f"{name}, port {one.port}" if name in found else name] = one.port
        return found

    def callers(self, port: str) -> tuple[str, ...]:
        """Return who connects: clients to the first listener, and to all that are not brokers'."""
        if port.startswith("kafka_controller_listener"):
            return (NODES,)
        nodes, first = (
            port.startswith(f"kafka_listeners ({name})")
            for name in (
                self.inter_broker_listener,
                self.client_listeners[0].name,
            )
        )
        later = self.wanted_listeners.between_brokers
        nodes = nodes or port.startswith(f"kafka_listeners ({later})")
        return (*((CLIENTS,) if first or not nodes else ()), *((NODES,) if nodes else ()))

    @property
    def listeners_for_clients(self) -> list[Listener]:
        """What clients connect to: the first, and all by which brokers do not know each other."""
        inner = (self.inter_broker_listener, self.wanted_listeners.between_brokers)
        first, *others = self.broker_listeners or (None,)
        return [*([first] if first else []), *(one for one in others if one.name not in inner)]

    @property
    def heap(self) -> str:
        """The heap that is set, else a share of the host's memory."""
        if self.settings["kafka_heap"]:
            return str(self.settings["kafka_heap"])
        memory = self.host.memory_mb or _UNKNOWN_MEMORY_MB
        return next((heap for below, heap in _HEAPS if memory < below), _LARGEST_HEAP)

    @property
    def write_paths(self) -> list[str]:
        """The directories that its processes write to."""
        return [path for _, path in self.data_directories]

    @property
    def replication_factor(self) -> int:
        """Of topics by default: as many as there are brokers, at most 3."""
        return min(3, max(1, len(self.brokers)))

    @property
    def bootstrap(self) -> list[str]:
        """Where programs on Kafka's own hosts connect to all brokers, `host:port`."""
        return _addresses(self.node_listener, self.brokers)

    @property
    def client_bootstrap(self) -> list[str]:
        """Where clients connect to all brokers, `host:port`."""
        return _addresses(self.login_listener or self.client_listeners[0], self.brokers)

    @property
    def login_listener(self) -> Listener | None:
        """The first listener at which users log in with the passwords that Millrace sets."""
        return next(iter(self._logins.values()), None)

    @property
    def login_mechanism(self) -> str:
        """The mechanism of these passwords."""
        return next(iter(self._logins), security.MECHANISM)

    @cached_property
    def _logins(self) -> dict[str, Listener]:
        """Mechanism of passwords -> the first listener that takes it."""
        return {
            mechanism: one
            for mechanism in security.SCRAM
            for one in reversed(self.client_listeners)
            if self._takes(one, mechanism)
        }

    def _takes(self, listener: Listener, mechanism: str) -> bool:
        # A controller alone does not have the properties of the brokers' listeners.
        written = texts(self.listener_config(listener).get(security.MECHANISMS))
        enabled = [security.MECHANISM if "${" in one else one for one in written]
        return listener.protocol.startswith("SASL_") and mechanism in (
            enabled or [security.MECHANISM]
        )

    @property
    def other_brokers_first(self) -> list[str]:
        """`bootstrap` with this node at the end, for clients that stop it."""
        brokers = sorted(self.brokers, key=lambda peer: peer.id == self.id)
        return _addresses(self.node_listener, brokers)

    @property
    def own_address(self) -> str:
        """Where programs on this host connect to this node, `host:port`."""
        own = self.node_listener if self.is_broker else self.controller_listener
        return f"{self.address}:{own.port}"

    @property
    def quorum_addresses(self) -> list[str]:
        """The controllers' listeners of all voters, `host:port`."""
        return [f"{voter.host}:{self.controller_listener.port}" for voter in self.voters]

    @property
    def tls_addresses(self) -> list[str]:
        """What the nodes of the cluster listen on with TLS, `host:port`."""
        found = [(one, self.brokers) for one in self.client_listeners]
        found += [(one, self.voters) for one in self.controller_listeners]
        return [x for one, peers in found if one.encrypted for x in _addresses(one, peers)]

    def _defaults(self) -> dict[str, dict[str, Any]]:
        profile = PROFILES.get(self.settings["kafka_profile"])
        settings = profile.settings if profile else {}
        of_ensemble = zookeeper_tls.of_broker(self.identity) if self.identity else {}
        return {
            "profile": self._known({k: one.on(self.host.cores) for k, one in settings.items()}),
            "topology": self._known(self._topology_config()),
            "security": {**of_ensemble, **self._security_config()},
        }

    @property
    def identity(self) -> Identity | None:
        """What a broker shows a closed ensemble, None without one."""
        if not self.ensemble_secured or self.mode != "zookeeper":
            return None
        return zookeeper_tls.identity(self.host.name, self.product)

    def _security_config(self) -> dict[str, Any]:
        """Return what `kafka_security: standard` sets where listeners are encrypted."""
        if not self.is_secured:
            return {}
        controllers = self.controller_listeners
        encrypted = [one for one in (*self.broker_listeners, *controllers) if one.encrypted]
        if not encrypted:
            return {}
        inner = [self.wanted_listeners.between_brokers, *(one.name for one in controllers)]
        given = {k: one for layer in LAYERS for k, one in by_name(self.settings[layer]).items()}
        own_keys = not given.keys().isdisjoint(_KEY_STORES)
        peers = [peer.name for peer in (*self.brokers, *self.voters)]
        names = peers if own_keys else [security.NODES]
        names = [*names, *([security.ANONYMOUS] if self.change else [])]
        own_trust = own_keys or not given.keys().isdisjoint(_TRUST_STORES)
        return {
            **({} if own_keys else security.store("keystore", security.NODE_STORE)),
            **({} if own_trust else security.store("truststore", security.AUTHORITY)),
            **security.tls(
                {x.name: x.protocol for x in encrypted},
                inner,
                own_keys=own_keys,
                given=given,
            ),
            **security.authorization(self.mode, names),
        }

    @property
    def is_secured(self) -> bool:
        """Whether the node has what `kafka_security: standard` is, or is about to."""
        waits = self.change is not None and self.change.phase == listeners.FORMER
        return bool(self.settings["kafka_security"] == security.STANDARD) and not waits

    @cached_property
    def keys_are_ours(self) -> bool:
        """Whether Millrace makes the keys and certificates of this node."""
        return self.is_secured and self.config.get(_KEY_STORES[0]) == security.NODE_STORE

    @property
    def common_name(self) -> str:
        """The common name of the certificate by which other nodes know it."""
        return security.NODES if self.keys_are_ours else self.host.name

    @cached_property
    def certificates(self) -> list[Certificate]:
        """The certificates that Millrace makes for this node."""
        if not self.keys_are_ours:
            return []
        found = security.certificates(self.host.name, [self.address, "localhost"])
        stores = set(map(str, self.config.values()))
        return [one for one in found if one.path in stores]

    @cached_property
    def users(self) -> list[User]:
        """The users that Millrace makes: its own, those of the inventory and of its jobs."""
        with_passwords = self.login_listener is not None
        if not with_passwords and not self.config.get("authorizer.class.name"):
            return []
        entries = {str(one["name"]): one for one in self.settings["kafka_users"]}
        given = [
            _user(one, entries.get(str(one.get("same_grants_as")), one))
            for one in self.settings["kafka_users"]
        ]
        named = {user.name for user in given}
        jobs = [user for user in self.job_users if with_passwords and user.name not in named]
        own = security.own_users(with_spark=self.with_spark) if self.is_secured else []
        ours = [user for user in own if with_passwords and user.name not in named]
        kept = self.secrets.passwords
        return [
            replace(
                one,
                password=one.password or kept.get(one.name, ""),
                scram=one.scram and with_passwords,
                generated=not one.password,
            )
            for one in (*ours, *given, *jobs)
        ]

    def may_replace(self, user: User) -> bool:
        """Return whether the password of a user may replace another one that Kafka has.

        That is one of the inventory, or a generated one that rotate_secrets.yml has made.
        """
        store = self.secrets.store
        return not user.generated or (store is not None and user.name in store.replacing)

    @property
    def users_without_password(self) -> list[User]:
        """The users that need a password and have none yet."""
        return [one for one in self.users if one.present and one.scram and not one.password]

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
    def client_config(self) -> dict[str, Any]:
        """What a client on this host needs, as Kafka's client properties."""
        return {
            "bootstrap.servers": ",".join(self.bootstrap),
            "security.protocol": self.node_listener.protocol,
            **self._client_tls(),
            **by_name(self.settings["kafka_client_config"]),
        }

    def local_client_config(self, user: str = security.ADMIN) -> dict[str, Any]:
        """Return what a client on the control node needs: its own stores, not those of a host.

        Where clients log in, it is that of a user.
        """
        own = by_name(self.settings["kafka_local_client_config"])
        authority = f"{self.secrets.directory}/{security.AUTHORITY_FILE}"
        if self.clients_log_in and (login := self.user_client_config(user, authority)):
            return {**login, **own}
        stores = {key for key in self.client_config if key.startswith("ssl.") and "store" in key}
        return {k: one for k, one in self.client_config.items() if k not in stores} | own

    @property
    def clients_log_in(self) -> bool:
        """Whether clients are users with a password.

        While listeners for users are being added, a part of the nodes does not have them.
        """
        change = self.change
        added = change is None or change.phase != listeners.ADDED or change.complete
        return bool(self.users) and self.login_listener is not None and added

    def user_client_config(self, user: str, authority: str) -> dict[str, Any]:
        """Return what a user's client needs, empty for none that logs in with a password.

        `authority` is the path of the CA's certificate where the client runs; with a site's own
        keys the client brings the trust store too.
        """
        passwords = {one.name: one.password for one in self.users if one.present and one.scram}
        if self.login_listener is None or user not in passwords:
            return {}
        return {
            "bootstrap.servers": ",".join(self.client_bootstrap),
            "security.protocol": self.login_listener.protocol,
            **(security.store("truststore", authority) if self.keys_are_ours else {}),
            **security.login(user, passwords[user], self.login_mechanism),
        }

    @cached_property
    def has_secrets(self) -> bool:
        """Whether a property of it may hold a secret."""
        every = {**self.config, **self.client_config}
        return any(_may_be_secret(key, value, self.table) for key, value in every.items())

    @cached_property
    def dynamic_keys(self) -> list[str]:
        """The keys that are set on a running broker; none of a controller alone.

        They have the update mode per-broker or cluster-wide in Kafka's own table (KIP-226). Left
        out are secrets, everything about listeners, and owned keys.
        """
        return dynamic_keys(self.version) if self.is_broker else []

    @property
    def initial_controllers(self) -> str:
        """The voters as `kafka-storage format --initial-controllers` reads them (KIP-853).

        `id@host:port:directory-id` joined by commas; empty before there is a cluster id.
        """
        if not is_cluster_id(self.cluster_id):
            return ""
        return ",".join(
            f"{voter.id}@{address}:{directory_id(self.cluster_id, voter.id)}"
            for voter, address in zip(self.voters, self.quorum_addresses, strict=False)
            if voter.id is not None
        )

    def listener_config(self, listener: Listener) -> dict[str, Any]:
        """Return the properties as one listener sees them: those of its own name win."""
        prefix = f"listener.name.{listener.name.lower()}."
        found = self._listener_properties.items()
        own = {k.removeprefix(prefix): v for k, v in found if k.startswith(prefix)}
        return {**self.config, **own}

    @cached_property
    def _listener_properties(self) -> dict[str, Any]:
        return {k: v for k, v in self.config.items() if k.startswith("listener.name.")}

    def layer_of(self, key: str) -> str:
        """Return the variable in which the inventory sets a property, empty if in none."""
        return next((layer for layer in reversed(LAYERS) if key in self.layers[layer]), "")

    def number(self, key: str) -> int | None:
        """Return the effective whole number of a property, the version's default included.

        None for a value that is not a number and for a key that the version does not have.
        """
        if self.table and key not in self.table:
            return None
        if key in self.config:
            return integer(self.config[key])
        return integer(self.table.get(key, {}).get("default"))

    def files(self) -> dict[str, Entry]:
        """Return the configuration files; `restart` marks what only a restart brings."""
        logging, option = _LOGGING[4 if release_numbers(self.version)[:1] >= (4,) else 3]
        secret = self.has_secrets
        readers: dict[str, Any] = {"mode": "0640", "group": self.user}
        tools = files.render(
            "kafka.sh.j2",
            bootstrap=",".join(self.bootstrap),
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
                files.properties(self.client_config),
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
        authority = {security.AUTHORITY_FILE: self.secrets.authority}
        return self.lacking(authority if self.certificates else {})

    def certificate_files(self) -> dict[str, Entry]:
        """Return the keys and certificates that Millrace makes, and those of its CAs."""
        of_client = self.identity.files(self.secrets, self.user) if self.identity else {}
        if not self.certificates:
            return of_client
        return {
            security.DIRECTORY: files.directory(),
            security.AUTHORITY: files.text(self.secrets.authority, restart=True),
            **super().certificate_files(),
            **of_client,
        }

    def _known(self, config: Mapping[str, Any]) -> dict[str, Any]:
        """Leave out what the version does not know; all is kept for a version without a table."""
        return {key: value for key, value in config.items() if not self.table or key in self.table}

    def _topology_config(self) -> dict[str, int]:
        """Replication from the number of brokers: with one down producers with acks=all go on.

        On controllers too, since they seed min.insync.replicas (KIP-966).
        """
        factor = self.replication_factor
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

    def _owned_config(self) -> dict[str, Any]:
        """Return the properties that only Millrace writes; an empty value is left out."""
        kraft = self.mode == "kraft"
        known = [*self.broker_listeners, *self.controller_listeners]
        config: dict[str, Any] = {
            "node.id" if kraft else "broker.id": "" if self.id is None else self.id,
            "listeners": self._listeners_at(""),
            "advertised.listeners": self._listeners_at(self.address),
            "listener.security.protocol.map": ",".join(f"{x.name}:{x.protocol}" for x in known),
            "log.dirs": ",".join(self.data_dirs),
            **(self._quorum_config() if kraft else {"zookeeper.connect": ",".join(self.ensemble)}),
        }
        if self.is_broker:
            config["broker.rack"] = self.settings["kafka_rack"]
            config["inter.broker.listener.name"] = self.inter_broker_listener
        return {key: value for key, value in config.items() if value != ""}

    def _listeners_at(self, address: str) -> str:
        return ",".join(f"{one.name}://{address}:{one.port}" for one in self.listeners)

    def _quorum_config(self) -> dict[str, str]:
        key, addresses = "controller.quorum.bootstrap.servers", self.quorum_addresses
        if self.settings["kafka_quorum"] == "static":
            key = "controller.quorum.voters"
            addresses = [
                f"{voter.id}@{one}" for voter, one in zip(self.voters, addresses, strict=False)
            ]
        return {
            "process.roles": ",".join(self.roles),
            "metadata.log.dir": self.metadata_dir,
            "controller.listener.names": ",".join(x.name for x in self.controller_listeners),
            key: ",".join(addresses),
        }

    def _client_tls(self) -> dict[str, Any]:
        """Return what a client takes over from the broker: stores and protocols.

        The key store is left out where brokers request no certificate of clients, and passwords
        always are, since every user of the host may read the file.
        """
        listener = self.node_listener
        # While encrypted listeners are being added their certificates are checked already.
        if not listener.encrypted and not self.change:
            return {}
        config = self.listener_config(listener)
        # A controller alone does not have the properties of the brokers' listeners.
        asked = (self.is_secured and listener.protocol == "SSL") or (
            config.get("ssl.client.auth", "none") != "none"
        )
        keys = (*_CLIENT_KEYS, *_CLIENT_TLS) if asked else _CLIENT_TLS
        return {key: config[key] for key in keys if key in config}


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
    given = settings["kafka_advertised_host"]
    return bracketed(str(settings["ansible_host"] or name) if given is None else str(given))


def _may_be_secret(key: str, value: object, table: key_table.Table) -> bool:
    """Return whether a property is a secret in itself, or one by Kafka's table or by its name.

    An entry of JAAS without options has none.
    """
    if key.endswith(_JAAS) and "=" not in str(value):
        return False
    kind = table.get(key_table.table_key(key), {}).get("type")
    named = kind == "password" or key.endswith(_SECRET_ENDS)
    return named or bool(secret_texts.of_property(key, value))


def _addresses(listener: Listener, peers: Iterable[Peer]) -> list[str]:
    return [f"{one.host}:{listener.port}" for one in peers]


def _user(given: Mapping[str, Any], granted: Mapping[str, Any]) -> User:
    """Return a user as the inventory describes it, with the grants of the entry `granted`."""
    return User(
        str(given["name"]),
        [security.grant(one) for one in granted.get("grants") or ()],
        str(given.get("password") or ""),
        scram=given.get("authentication") != "tls",
        present=given.get("state") != "absent",
    )


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
