"""What rules of several subjects share: what they check, locations, and which hosts differ."""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain, islice
from typing import Any, TypeVar

from ...module_utils.formats.values import listing
from ..cluster.cluster import Cluster
from ..cluster.host import HostSettings
from ..cluster.inventory import HostVariables
from ..cluster.jvm_options import java_words
from ..cluster.service import Part, Service
from ..services.kafka.node import KafkaNode
from .engine import Finding, Findings

HOST = re.compile(r"[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.%A-Za-z]+\]")
"""A name or an address as it may stand before `:port`."""
CLIENT_SETTINGS: Mapping[str, tuple[str, ...]] = {
    "kafka": ("kafka_client_config", "kafka_local_client_config"),
    "spark": ("spark_kafka_client_config",),
}
"""The variables of each service with properties of Kafka's clients."""
_OF_APPLICATIONS = re.compile(r"spark\.(?:driver|executor)\.(?:extra|default)JavaOptions")

HEAP_OPTION = re.compile(r"-Xm[sx]|-XX:(?:Initial|Max|Min)HeapSize=")
_LARGEST_HEAP = re.compile(r"(?:-Xmx|-XX:MaxHeapSize=)(?P<size>\d+[kKmMgG])")

PORTS = range(1, 65536)
MODES = {"kraft": "KRaft", "zookeeper": "ZooKeeper"}
# In Ansible's message, whether there is no password or a wrong one.
LOCKED = "no vault secrets"
VAULT_FIX = "Give the vault's password: --vault-password-file, --ask-vault-pass, or --vault-id for "
VAULT_FIX += "each of several (vault_identity_list in ansible.cfg)."
SCALA = "2.13"  # of the archives of Kafka and the jars of Spark

Place = str
Key = TypeVar("Key")
Value = TypeVar("Value", bound=Hashable)


@dataclass(frozen=True)
class Property:
    """A property that the inventory sets."""

    layer: str
    """In which variable."""
    key: str
    value: Any
    hidden: bool
    """Whether the value comes from a vault or an expression: it may be a secret."""

    @property
    def where(self) -> str:
        """The variable and the key."""
        return f"{self.layer}[{self.key}]"


def heap_in_options(service: Service) -> str:
    """Return the heap that a service's Java options set, empty if they set none."""
    sizes = [
        match["size"] for word in service.jvm.words if (match := _LARGEST_HEAP.fullmatch(word))
    ]
    return sizes[-1] if sizes else ""


def uses_ansible_host(settings: Mapping[str, Any], variable: str) -> bool:
    """Return whether a host is reached at `ansible_host`, which has a rule of its own."""
    return not settings[variable] and bool(settings["ansible_host"])


def host_variables(cluster: Cluster) -> Iterable[tuple[str, HostVariables]]:
    """Return each host's variables, after its name."""
    return cluster.inventory.hosts.items()


def nodes(cluster: Cluster) -> Iterable[tuple[str, KafkaNode]]:
    """Return each Kafka node, after its name."""
    return cluster.kafka.items()


def brokers(cluster: Cluster) -> Iterable[tuple[str, KafkaNode]]:
    """Return each broker, after its name."""
    return ((node.name, node) for node in cluster.brokers)


def hosts(cluster: Cluster) -> Iterable[tuple[str, HostSettings]]:
    """Return each host's settings, after its name."""
    return cluster.hosts.items()


def parts(
    product: str, *variables: str, first: bool = False
) -> Callable[[Cluster], Iterator[tuple[str, Any]]]:
    """Return what gives a product on each host, or on the first one, after the host's name.

    A host where one of the variables is not the one that is written is left out.
    """

    def each(cluster: Cluster) -> Iterator[tuple[str, Any]]:
        for host, part in islice(cluster.by_product[product].items(), 1 if first else None):
            if not falls_back_to_default(cluster, host, *variables):
                yield host, part

    return each


def all_services(cluster: Cluster) -> Iterator[tuple[str, Service]]:
    """Yield each service of each host, after the host's name."""
    for host in cluster.hosts:
        for service in cluster.services(host).values():
            yield host, service


def properties(
    *services: str, key: str = "", owned: bool = False
) -> Callable[[Cluster], Iterator[tuple[str, Service, Property]]]:
    """Return what gives each property that the inventory sets for these services, or for one key.

    Keys that only Millrace writes are left out, or given alone with `owned`.
    """

    def each(cluster: Cluster) -> Iterator[tuple[str, Service, Property]]:
        for host in cluster.inventory.hosts:
            for service, setting in _properties_of(cluster, host, *services):
                if key in ("", setting.key) and (setting.key in service.owned) == owned:
                    yield host, service, setting

    return each


def _properties_of(
    cluster: Cluster, host: str, *services: str
) -> Iterator[tuple[Service, Property]]:
    """Yield each property that the inventory sets for services of a host."""
    expressions = cluster.inventory.hosts[host].expressions.keys()
    for name, service in cluster.services(host).items():
        for layer in service.own_layers if name in services else ():
            for key, value in service.layers[layer].items():
                hidden = not expressions.isdisjoint((layer, f"{layer}[{key}]"))
                yield service, Property(layer, key, value, hidden)


def java_options(cluster: Cluster) -> Iterator[tuple[str, Service, Place, list[str]]]:
    """Yield each host's services with the place and the words of each list of Java's options."""
    for host in cluster.hosts:
        for service, where, words in java_options_of(cluster, host):
            yield host, service, where, words


def java_options_of(cluster: Cluster, host: str) -> Iterator[tuple[Service, Place, list[str]]]:
    """Yield the same of one host."""
    for service in cluster.services(host).values():
        yield service, service.jvm.options_variable, service.jvm.words
    for service, setting in _properties_of(cluster, host, "spark"):
        if _OF_APPLICATIONS.fullmatch(setting.key) and setting.key not in service.owned:
            yield service, setting.where, java_words(setting.value)


def place(node: KafkaNode, *keys: str) -> str:
    """Name variable and key of the first of some Kafka properties that the inventory sets."""
    key = next((key for key in keys if node.properties.layer_of(key)), keys[0])
    layer = node.properties.layer_of(key)
    return f"{layer}[{key}]" if layer else f"kafka_config[{key}] (not set)"


def free_port(taken: int, used: Container[Any]) -> int:
    """Return the next port above one that is taken, from 1024 on again after the last one."""
    above = range(taken + 1 if taken in PORTS else PORTS.stop, PORTS.stop)
    return next(port for port in chain(above, PORTS[1023:]) if port not in used)


def falls_back_to_default(cluster: Cluster, host: str, *variables: str) -> bool:
    """Return whether a variable was rejected as written, so that its default is used instead.

    Another rule reports that (unreadable-file, unresolved-variable, variable-value); its
    consequences are not reported.
    """
    written = cluster.inventory.hosts[host]
    invalid = {entry.name for entry in cluster.invalid.get(host, ())}
    return any(written.is_unknown(variable) or variable in invalid for variable in variables)


def nodes_as_written(cluster: Cluster) -> Iterator[tuple[str, KafkaNode]]:
    """Yield each Kafka node whose properties and listeners are those that the inventory sets."""
    for host, node in nodes(cluster):
        if not falls_back_to_default(cluster, host, "kafka_config", "kafka_listeners"):
            yield host, node


def holders(values: Mapping[Key, Value]) -> dict[Value, list[Key]]:
    """Return value -> the hosts that have it."""
    hosts_by_value: dict[Value, list[Key]] = {}
    for host, value in values.items():
        hosts_by_value.setdefault(value, []).append(host)
    return hosts_by_value


def shared_values(values: Mapping[Key, Value]) -> Iterator[tuple[Value, list[Key]]]:
    """Return each value that several have, and those that have it."""
    return ((value, hosts) for value, hosts in holders(values).items() if len(hosts) > 1)


def one_value(cluster: Cluster, place: str, hosts: Mapping[str, Part], *variables: str) -> Findings:
    """Yield a finding for each variable that is not the same on hosts; `place` is where to set it.

    Those whose value is not known are left out.
    """
    for variable in variables:
        values = {
            host: repr(part.settings[variable])
            for host, part in hosts.items()
            if not falls_back_to_default(cluster, host, variable)
        }
        groups = [listing(names) for names in holders(values).values()]
        if len(groups) > 1:
            problem = f"{variable} is not the same on {listing(groups, 'as on')}."
            yield Finding(problem, f"Set {variable} once, {place}.", variable, tuple(values))


def taken_user(cluster: Cluster, user: str, owner: str) -> Findings:
    """Yield a finding if kafka_users has a service's own user, on a cluster with passwords."""
    for node in cluster.kafka.values():
        names = [str(entry.get("name")) for entry in node.settings["kafka_users"]]
        if user in names and not node.is_open:
            problem = f"kafka_users has an entry {user}, the user of {owner}."
            yield Finding(problem, "Delete it, or give it another name.")
            return


def differing(cluster: Cluster, variable: str, values: Mapping[str, str]) -> str:
    """Return which hosts have which value of a variable, empty if it is the same everywhere."""
    taken = [host for host in values if not falls_back_to_default(cluster, host, variable)]
    hosts_by_value = holders({host: values[host] for host in taken})
    phrases = (f"{value or 'none'} on {listing(hosts)}" for value, hosts in hosts_by_value.items())
    return listing(phrases) if len(hosts_by_value) > 1 else ""


def wrong_path(path: str, missing: str, *, is_there: bool) -> tuple[str, str] | None:
    """Return what is wrong with a path on the control node, and what to set."""
    if not path.startswith("/"):
        fix = f'Set it to "{{{{ inventory_dir }}}}/{path}" for example.'
        return "depends on where Ansible is started", fix
    return None if is_there else (f"is {missing} on the control node", "Correct the path.")
