"""The rules about authorization and passwords."""

from __future__ import annotations

from collections.abc import Sequence

from .....module_utils.formats.values import integer, is_true, listing
from ....cluster import secret_store, transition
from ....cluster.ca_change import signing
from ....cluster.cluster import Cluster
from ....cluster.service import Part, Service
from ....cluster.x509 import identities, identities_of
from ....rules.engine import Finding, Findings, host_rule, hosts_rule, rule
from ....rules.inspection import InspectedHost
from ....rules.shared import MODES, differing, nodes, nodes_as_written, place
from ...spark.security import UI_FILTERS
from .. import stores
from ..listeners import ENDED, Listener
from ..node import KafkaNode
from ..security import AUTHORIZER, AUTHORIZERS
from .principals import (
    EVERYBODY_MAY,
    asked_for_certificates,
    everybody_may,
    has_known_authorizer,
    opened,
)


@rule("authorizer-mode", each=nodes)
def _authorizer_mode(node: KafkaNode) -> Findings:
    """Each authorizer works in one of the two modes only; Kafka 4 has no AclAuthorizer."""
    authorizer, right = node.config.get(AUTHORIZER), AUTHORIZERS[node.mode]
    if authorizer in AUTHORIZERS.values() and authorizer != right:
        problem = f"{authorizer} does not work with {MODES[node.mode]}."
        yield Finding(problem, f"Set {AUTHORIZER}: {right}.", place(node, AUTHORIZER))


@rule("open-to-everybody")
def _open_to_everybody(cluster: Cluster) -> Findings:
    """Whoever reaches the address may read, write and administer, and run code on Spark's hosts."""
    for product, parts in cluster.by_product.items():
        services: dict[str, Part] = {
            host: part
            for host, part in parts.items()
            if part.is_open and not _asks_who_connects(part)
        }
        addresses = {
            address
            for host, service in services.items()
            for address in _reached(cluster, host, service)
        }
        if addresses:
            service = next(iter(services.values()))
            problem = f"{service.title} is open, and the internet reaches "
            problem += f"{'addresses' if len(addresses) > 1 else 'an address'} of it, "
            problem += f"{listing(sorted(addresses))}."
            fix = f"Set {product}_security: {service.closed}, or private addresses."
            yield Finding(problem, fix, f"{product}_security", tuple(services))
    if reached := _reached_although_closed(cluster):
        [listener, *_] = [
            listener for _, node in nodes_as_written(cluster) for listener in opened(node)
        ]
        key, fix = asked_for_certificates(listener)
        problem = (
            f"Whoever reaches the listener {listener.name} may do everything, and the internet "
        )
        problem += f"reaches {listing(reached)}."
        where = f"kafka_config[{key}]"
        yield Finding(problem, f"{fix}, or set private addresses.", where, tuple(cluster.kafka))


def _reached_although_closed(cluster: Cluster) -> list[str]:
    """Return the addresses of closed nodes at which anybody may do everything."""
    opened_nodes = [(host, node) for host, node in nodes_as_written(cluster) if opened(node)]
    return sorted(
        {address for host, node in opened_nodes for address in _reached(cluster, host, node)}
    )


@rule("opened-again", severity="warning")
def _opened_again(cluster: Cluster) -> Findings:
    """These properties remove the protection for which kafka_security is standard."""
    refused = _reached_although_closed(cluster)
    for host, node in nodes_as_written(cluster):
        listeners = opened(node)
        for listener in listeners if not refused else ():
            key, fix = asked_for_certificates(listener)
            problem = f"Whoever reaches the listener {listener.name} may do everything."
            yield Finding(problem, f"{fix}.", place(node, key), (host,))
        users_may = node.is_secured and has_known_authorizer(node) and everybody_may(node)
        if users_may and not listeners:
            problem = f"Users may do everything on resources without ACLs: {EVERYBODY_MAY} is true."
            fix = f"Set {EVERYBODY_MAY}: false once all users have their grants."
            yield Finding(problem, fix, place(node, EVERYBODY_MAY), (host,))


def _reached(cluster: Cluster, host: str, service: Part) -> list[str]:
    """Return the addresses by which the internet reaches a service."""
    ports = [integer(listener.port) or 0 for listener in service.listening]
    return sorted(cluster.public_addresses(host, ports))


def _asks_who_connects(service: Part) -> bool:
    """Return whether a service is closed by properties of the inventory, though it is `open`."""
    if not isinstance(service, Service):
        return False
    if isinstance(service, KafkaNode):
        return all(_asks_for_identity(service, listener) for listener in service.listeners.all)
    authenticates = is_true(service.config.get("spark.authenticate"))
    return authenticates and bool(service.config.get(UI_FILTERS))


def _asks_for_identity(node: KafkaNode, listener: Listener) -> bool:
    requires_certificate = listener.encrypted and stores.client_auth(node, listener) == "required"
    return listener.protocol.startswith("SASL_") or requires_certificate


@rule("authorizer-differs")
def _authorizer_differs(cluster: Cluster) -> Findings:
    """Controllers store the ACLs, and brokers apply them: without an authorizer on all of them no
    ACL can be made, or a part of the nodes checks none.
    """
    values = {name: str(node.config.get(AUTHORIZER) or "") for name, node in nodes(cluster)}
    differences = differing(cluster, "kafka_config", values)
    if differences and "" in values.values():
        fix = f"Set {AUTHORIZER} once, in kafka_config of all Kafka hosts."
        yield Finding(
            f"{AUTHORIZER} is {differences}.", fix, f"kafka_config[{AUTHORIZER}]", tuple(values)
        )


@host_rule("protocol-between-nodes", where="kafka_security")
def _protocol_between_nodes(host: InspectedHost) -> Findings:
    """While nodes are restarted one after the other, those with the old configuration and those
    with the new one talk to each other. Both need both listeners, with the same protocols.
    """
    node, deployed = host.kafka, host.inspection.kafka
    if node is None or not any(directory.meta for _, directory in host.data()):
        return
    listeners = (*node.listeners.brokers, *node.listeners.controllers)
    new = {listener.name.upper(): listener.protocol for listener in listeners}
    old = {name.upper(): protocol for name, protocol in deployed.protocols.items()}
    configured = {
        "brokers": node.listeners.between_brokers,
        "controllers": node.listeners.controller.name,
    }
    for role, name in deployed.between_nodes.items():
        before, after = name.upper(), configured[role].upper()
        if any(
            old.get(listener_name) != new.get(listener_name) for listener_name in (before, after)
        ):
            problem = f"Nodes talk to {role} by {before} ({old.get(before)}), and would by {after} "
            problem += f"({new.get(after)})."
            fix = "Set kafka_security, kafka_listeners, kafka_inter_broker_listener and "
            fix += "kafka_controller_listener to what the cluster was deployed with; listeners for "
            fix += "clients can be added. To close an open cluster, run secure.yml."
            yield Finding(problem, fix)


@host_rule("security-change-differs", where="kafka_secrets_dir")
def _security_change_differs(host: InspectedHost) -> Findings:
    """What nodes listen on while an open cluster is secured follows from the record of secure.yml.
    With an earlier one, or none, clients would lose their listener, or get back a removed one.
    """
    node, protocols = host.kafka, host.inspection.kafka.protocols
    if node is None or not protocols or not any(directory.meta for _, directory in host.data()):
        return
    change, record = node.listeners.change, node.listeners.change_record
    lost = (
        [listener.name for listener in node.listeners.former if listener.name not in protocols]
        if change
        else []
    )
    fix = f"Copy {node.secrets.directory} from the control node where secure.yml was run last."
    if change and change.complete and lost:
        problem = f"{transition.SECURITY} says that the node has {listing(lost)}, and it does not."
        fix += f" If the cluster was removed since, delete {transition.SECURITY}."
        yield Finding(problem, fix)
    ending = record is not None and record.phase == ENDED and not record.complete
    configured = {
        listener.name for listener in (*node.listeners.brokers, *node.listeners.controllers)
    }
    opened = [
        name
        for name, protocol in protocols.items()
        if protocol == "PLAINTEXT" and name not in configured
    ]
    if set(opened) & set(host.inspection.kafka.between_nodes.values()):
        return  # protocol-between-nodes
    if node.is_secured and not change and not ending and opened:
        problem = f"The node has the open listener {listing(opened)}, which would be removed."
        yield Finding(problem, f"{fix} Run secure.yml, which secures the cluster.")


@hosts_rule("security-change-left", where="kafka_secrets_dir")
def _security_change_left(hosts: Sequence[InspectedHost]) -> Findings:
    """A new cluster would have the listeners that the record asks for, which may be open ones."""
    nodes_there = [(host, host.kafka) for host in hosts if host.kafka]
    is_new = not any(directory.meta for host, _ in nodes_there for _, directory in host.data())
    for host, node in nodes_there[:1]:
        if is_new and node.listeners.change and len(nodes_there) == len(host.cluster.kafka):
            problem = f"{transition.SECURITY} is of a cluster that is gone: no node has data."
            fix = f"Delete {node.secrets.directory}/{transition.SECURITY}."
            yield Finding(problem, fix, hosts=tuple(host.cluster.kafka))


@host_rule("authorizer-new", where="kafka_security")
def _authorizer_new(host: InspectedHost) -> Findings:
    """Clients that work now would be denied from the first restart on, and so would nodes whose
    certificates have other names than the super users.
    """
    node = host.kafka
    if node is None or not any(directory.meta for _, directory in host.data()):
        return
    preset = node.config.get(AUTHORIZER) and not node.properties.layer_of(AUTHORIZER)
    if host.inspection.kafka.authorizer == "" and preset and not node.listeners.change:
        problem = "The node runs without an authorizer, and kafka_security would set one."
        fix = "Set kafka_security: open to leave the cluster as it is, or, in kafka_config, "
        fix += f"{AUTHORIZER} and, until all clients have grants, "
        fix += "allow.everyone.if.no.acl.found: true."
        yield Finding(problem, fix)


@host_rule("authority-differs", where="kafka_secrets_dir")
def _authority_differs(host: InspectedHost) -> Findings:
    """Nodes trust the certificates of a CA: with those of one that they do not trust a node could
    not talk to the others.
    """
    node = host.kafka
    if node is None or not node.security.keys_are_ours or not node.secrets.authority:
        return
    deployed = host.inspection.kafka
    # While the CA is changed a node may have the phase before, or the one that is gone back from.
    pairs = (
        (deployed.authorities, signing(node.secrets), "does not trust the CA that signs with"),
        (deployed.signed_by, node.secrets.authority, "has a certificate of another CA than"),
    )
    wrong = [
        how
        for certificates, ours, how in pairs
        if (deployed_by := identities_of(certificates)) and not deployed_by & {*identities(ours)}
    ]
    if wrong:
        problem = f"The node {wrong[0]} {node.secrets.directory}."
        fix = "Copy that directory from the control node that deployed the cluster. If it is lost, "
        fix += "remove Kafka from all nodes, which keeps the data (teardown.yml), and run site.yml "
        fix += "-e secrets_accept=true."
        yield Finding(problem, fix)


@rule("secrets-open", where="kafka_secrets_dir")
def _secrets_open(cluster: Cluster) -> Findings:
    """Whoever reads the key of a CA or a password can act as any node or as that user."""
    secrets = cluster.inventory.secrets
    if secrets.mode & 0o077:
        problem = (
            f"{secrets.directory} has the mode {secrets.mode:04o}: other accounts can enter it."
        )
        yield Finding(problem, f"Run chmod -R go= {secrets.directory}.", hosts=tuple(cluster.hosts))


@hosts_rule("secrets-older", where="kafka_secrets_dir")
def _secrets_older(hosts: Sequence[InspectedHost]) -> Findings:
    """An older copy would bring back passwords and keys that were replaced, perhaps since they were
    stolen, and others of what it does not have.
    """
    secrets = hosts[0].cluster.inventory.secrets
    recorded = {
        host.name: secret_store.deployed_with(
            host.inspection.secrets, host.cluster.deployed(host.name)
        )
        for host in hosts
    }
    newer = secret_store.newer_hosts(secrets.store, recorded)
    doubt = secret_store.doubt(newer, recorded)
    present = f"is {secrets.store.generation}" if secrets.store else "has no generation"
    for deployed, names in newer.items():
        problem = (
            f"{secrets.directory} {present}, and does not come after that of {listing(names)}, "
        )
        copied = f"copy it from where that one was made, in place of {secrets.directory}"
        newer_secrets = secret_store.NEWER_COMMIT if secrets.cipher else copied
        fix = f"{newer_secrets[0].upper()}{newer_secrets[1:]}. If it is lost, "
        fix += "run site.yml -e secrets_accept=true, which replaces generated passwords."
        yield Finding(f"{problem}{deployed}.", f"{fix}{doubt}", hosts=tuple(names))
