"""A cluster, resolved once from its inventory: every host, node and service with all it derives."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from ...module_utils.formats.values import canonical, is_public
from ...module_utils.host import secret_record
from ..services.connect.model import Worker, admin_certificate
from ..services.console.model import Console
from ..services.hdfs.model import HdfsHost
from ..services.kafka.node import KafkaNode
from ..services.kafka.resources import merged as resources
from ..services.kafka.security import Certificate
from ..services.lag_exporter.model import LagExporter
from ..services.metrics.model import Metrics
from ..services.monitoring import GROUP as MONITORING
from ..services.monitoring.model import Monitoring
from ..services.postgresql.model import Database
from ..services.schema_registry.model import Registry
from ..services.spark.model import SparkHost
from ..services.zookeeper import tls as zookeeper_tls
from ..services.zookeeper.model import Member
from ..services.zookeeper.tls import Identity
from . import firewall, variables
from .artifacts import Distribution
from .files import Entry, directory, text
from .firewall import Firewall
from .host import Facts, HostSettings
from .inventory import Inventory
from .jvm_plugins import Plugin
from .resolution import Resolution
from .service import Certified, Listening, Part, Service
from .variables import Invalid


@dataclass(frozen=True)
class DataDirectory:
    """A directory that holds data."""

    service: str
    variable: str
    """The variable that sets it."""
    path: str
    """The path as written."""


class NoServiceError(Exception):
    """A host does not have a service; the text says which."""


@dataclass(frozen=True)
class Cluster:
    """An inventory and what follows from it."""

    inventory: Inventory
    hosts: Mapping[str, HostSettings]
    by_product: Mapping[str, Mapping[str, Any]]
    """Product -> host -> what it is there, of every product of the registry."""
    invalid: Mapping[str, list[Invalid]] = field(default_factory=dict)
    """Host -> its variables that were not taken, which have their defaults here."""

    @property
    def kafka(self) -> Mapping[str, KafkaNode]:
        """Host -> node of Kafka."""
        return self.by_product["kafka"]

    @property
    def zookeeper(self) -> Mapping[str, Member]:
        """Host -> member of ZooKeeper."""
        return self.by_product["zookeeper"]

    @property
    def connect(self) -> Mapping[str, Worker]:
        """Host -> worker of Kafka Connect."""
        return self.by_product["connect"]

    @property
    def schema_registry(self) -> Mapping[str, Registry]:
        """Host -> instance of the schema registry."""
        return self.by_product["schema_registry"]

    @property
    def databases(self) -> Mapping[str, Database]:
        """Host -> PostgreSQL."""
        return self.by_product["postgresql"]

    @property
    def hdfs(self) -> Mapping[str, HdfsHost]:
        """Host -> its part of HDFS."""
        return self.by_product["hdfs"]

    @property
    def spark(self) -> Mapping[str, SparkHost]:
        """Host -> its part of Spark."""
        return self.by_product["spark"]

    @property
    def metrics(self) -> Mapping[str, Metrics]:
        """Host -> exporters."""
        return self.by_product["metrics"]

    @property
    def monitoring(self) -> Mapping[str, Monitoring]:
        """Host -> Prometheus and Alertmanager."""
        return self.by_product["monitoring"]

    @property
    def lag_exporters(self) -> Mapping[str, LagExporter]:
        """Host -> exporter of consumer lag."""
        return self.by_product["lag_exporter"]

    @property
    def consoles(self) -> Mapping[str, Console]:
        """Host -> console."""
        return self.by_product["console"]

    @property
    def docs_url(self) -> str:
        """Where the site of the documentation is served, empty if nobody has said that."""
        values = (host.settings["docs_url"] for host in self.hosts.values())
        return next(filter(None, values), "")

    def host(self, name: str) -> HostSettings:
        """Return a host.

        Raises:
            NoServiceError: it is in none of Millrace's groups.

        """
        if name not in self.hosts:
            message = f"{name} is in no group of Millrace"
            raise NoServiceError(message)
        return self.hosts[name]

    def deployed(self, host: str) -> dict[str, Part]:
        """Return product -> what it is on a host, of the products that the host has."""
        return self._deployed.get(host, {})

    @cached_property
    def _deployed(self) -> dict[str, dict[str, Part]]:
        by_host: dict[str, dict[str, Part]] = {}
        for product, hosts in self.by_product.items():
            for host, part in hosts.items():
                by_host.setdefault(host, {})[product] = part
        return by_host

    def services(self, host: str) -> dict[str, Service]:
        """Return service -> what it is on a host, of the services that the host has."""
        return self._services.get(host, {})

    @cached_property
    def _services(self) -> dict[str, dict[str, Service]]:
        return {
            host: {name: part for name, part in parts.items() if isinstance(part, Service)}
            for host, parts in self._deployed.items()
        }

    def part(self, host: str, product: str) -> Part:
        """Return what a product is on a host.

        Raises:
            NoServiceError: the host does not have it.

        """
        deployed = self.deployed(host)
        if product not in deployed:
            message = f"{host} is in no group that gives it {product}"
            raise NoServiceError(message)
        return deployed[product]

    def directories(self, host: str) -> list[DataDirectory]:
        """Return each directory that holds data of a host's services."""
        return [
            DataDirectory(name, variable, path)
            for name, part in self.deployed(host).items()
            for variable, path in part.data_directories
        ]

    def distributions(self, host: str) -> list[Distribution]:
        """Return what is unpacked on a host."""
        distributions = (part.distribution for part in self.deployed(host).values())
        return [distribution for distribution in distributions if distribution]

    def plugins(self, host: str) -> list[Plugin]:
        """Return what the inventory adds to the class paths of a host's services."""
        return [plugin for service in self.services(host).values() for plugin in service.plugins]

    def ports(self, host: str) -> list[tuple[str, int]]:
        """Return what a host's services listen on: a name for the message, and the port."""
        return [item for part in self.deployed(host).values() for item in part.ports.items()]

    def listening(self, host: str) -> list[Listening]:
        """Return all that a host's services listen on, and who connects: the matrix of a firewall.

        Not in it are drivers of Spark, which run anywhere.
        """
        return [endpoint for part in self.deployed(host).values() for endpoint in part.listening]

    def names(self, host: str) -> list[str]:
        """Return the names and addresses under which others reach a host, without brackets."""
        address = self.host(host).settings["ansible_host"] or host
        names = [address, *(part.address for part in self.deployed(host).values())]
        return list(dict.fromkeys(canonical(str(name)) for name in names))

    def addresses(self, host: str) -> list[str]:
        """Return the addresses of a host: those that the inventory gives or its names have."""
        resolved = self.inventory.resolved
        addresses = [address for name in self.names(host) for address in resolved.get(name, [name])]
        return [address for address in dict.fromkeys(addresses) if firewall.network(address)]

    def public_addresses(self, host: str, ports: Iterable[int]) -> list[str]:
        """Return the addresses by which the internet reaches ports of a host, each with its name.

        There are none where a firewall knows who may connect to each of the ports.
        """
        resolved, host_firewall = self.inventory.resolved, self.firewalls.get(host)
        if host_firewall is not None and not any(map(host_firewall.admits_everybody, ports)):
            return []
        return [
            address if address == name else f"{name} ({address})"
            for name in self.names(host)
            for address in resolved.get(name, [name])
            if is_public(address)
        ]

    @property
    def unresolved_names(self) -> list[str]:
        """The names of which the addresses matter: to a firewall, and to whoever connects."""
        parts = [part for host in self.hosts for part in self.deployed(host).values()]
        opened = [part for part in parts if part.is_open]
        jvms = [part for part in parts if isinstance(part, Service) and part.jvm.ports]
        if not self.firewalls and not opened and not jvms:
            return []
        names = dict.fromkeys(name for host in self.hosts for name in self.names(host))
        return [name for name in names if not firewall.network(name)]

    @cached_property
    def firewalls(self) -> dict[str, Firewall]:
        """Host -> its firewall, where the inventory wants one and something listens."""
        configured = [
            name
            for name, host in self.hosts.items()
            if host.settings["host_firewall"] == firewall.NFTABLES
        ]
        nodes = (
            [address for name in self.hosts for address in self.addresses(name)]
            if configured
            else []
        )
        firewalls = {
            name: firewall.of_host(self.hosts[name].settings, self.listening(name), nodes)
            for name in configured
        }
        return {
            name: host_firewall
            for name, host_firewall in firewalls.items()
            if host_firewall.callers
        }

    def host_files(self, host: str) -> dict[str, Entry]:
        """Return the files of a host that belong to none of its services."""
        entries = {**self.host(host).files(), **self.secrets_record(host)}
        return {**entries, **self.firewalls[host].files()} if host in self.firewalls else entries

    def secrets_record(self, host: str) -> dict[str, Entry]:
        """Return the file that says with which generation of the secrets a host was deployed."""
        store = self.inventory.secrets.store
        if store is None:
            return {}
        return {
            secret_record.DIRECTORY: directory(),
            secret_record.RECORD: text(store.record(self.deployed(host)), mode="0600"),
        }

    def heaps(self, host: str) -> dict[str, str]:
        """Return variable -> heap as written, of all JVMs of a host's services."""
        services = self.services(host).values()
        return {name: heap for service in services for name, heap in service.heaps.items()}

    @property
    def identities(self) -> list[Identity]:
        """What members and clients of ZooKeeper show each other."""
        services = [service for host in self.hosts for service in self.services(host).values()]
        return [service.identity for service in services if service.identity]

    @property
    def rest_certificates(self) -> list[Certificate]:
        """What services show of the CA of Kafka Connect, and those who operate its workers."""
        administered = any(worker.certificates for worker in self.connect.values())
        return [*self._shown(of_connect=True), *([admin_certificate()] if administered else [])]

    @property
    def web_certificates(self) -> list[Certificate]:
        """What services other than Kafka show, of Kafka's CA."""
        return self._shown(of_connect=False)

    def _shown(self, *, of_connect: bool) -> list[Certificate]:
        """Return what services other than Kafka show, of one of the two CAs."""
        return [
            certificate
            for product, parts in self.by_product.items()
            for part in parts.values()
            if product != "kafka" and isinstance(part, Certified) and part.of_connect == of_connect
            for certificate in part.certificates
        ]

    @property
    def registry_passwords(self) -> list[str]:
        """The passwords of users of the schema registry that are not there yet, by their names."""
        user_names = (registry.users_without_password for registry in self.schema_registry.values())
        return sorted({name for names in user_names for name in names})

    def missing_secrets(self, host: str, service: str) -> list[str]:
        """Return what a service's files on a host need and the secrets do not have, by its name."""
        part = self.deployed(host).get(service)  # the host itself needs nothing
        if part is None:
            return []
        return [*self._missing_of_ensemble(part.identity), *part.missing_secrets]

    def _missing_of_ensemble(self, identity: Identity | None) -> list[str]:
        """Return what is missing of what a service shows the ensemble."""
        if identity is None:
            return []
        name, secrets = identity.certificate.name, self.inventory.secrets
        texts = {
            name: secrets.certificates.get(name),
            zookeeper_tls.AUTHORITY_FILE: secrets.zookeeper_authority,
        }
        if identity.is_member:
            texts[zookeeper_tls.CLIENTS_AUTHORITY_FILE] = secrets.zookeeper_clients_authority
        return [name for name, text in texts.items() if not text]

    @property
    def brokers(self) -> list[KafkaNode]:
        """The brokers in the order of their group."""
        return [self.kafka[name] for name in self.inventory.members("kafka_brokers")]

    @property
    def controllers(self) -> list[KafkaNode]:
        """The members of the quorum in the order of their group."""
        return [self.kafka[name] for name in self.inventory.members("kafka_controllers")]


def resolve(inventory: Inventory, facts: Mapping[str, Facts] | None = None) -> Cluster:
    """Return the cluster of an inventory; `facts` is what was found on hosts so far."""
    hosts: dict[str, HostSettings] = {}
    invalid: dict[str, list[Invalid]] = {}
    collects = bool(inventory.members(MONITORING))
    for name, host in inventory.hosts.items():
        settings, wrong = variables.settings(host)
        settings = resources.with_files(settings, inventory.resource_files)
        settings["ansible_host"] = host.connection.get("ansible_host")
        host_facts = (facts or {}).get(name)
        enabled = settings["metrics_enabled"]
        monitored = collects if enabled is None else enabled
        hosts[name] = HostSettings(name, settings, host_facts, monitored)
        if wrong:
            invalid[name] = wrong
    return Cluster(inventory, hosts, Resolution(inventory, hosts).all_parts(), invalid)
