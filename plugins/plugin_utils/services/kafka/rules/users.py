"""The rules about Kafka's users: their names, passwords and grants."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from .....module_utils.formats.values import listing, mapping, sequence
from .....module_utils.host.certificate_expiry import DAYS_TO_RENEW
from ....cluster.cluster import Cluster
from ....rules.engine import Finding, Findings, rule
from ....rules.shared import (
    falls_back_to_default,
    nodes,
    nodes_as_written,
    one_value,
    place,
    shared_values,
)
from ..listeners import Listener
from ..node import KafkaNode
from ..resources import KINDS
from ..security import AUTHORITY, MECHANISM, MECHANISMS, NODES, SCRAM
from .principals import client_auth, everybody_may, has_known_authorizer, maps_as_made, super_users
from .sasl import enabled_mechanisms, has_own_checks

_VARIABLE = "kafka_users"
_CERTIFICATE, _KEY = "kafka_ca_certificate", "kafka_ca_key"
_COMMON = ("all", "describe")
# Which operations Kafka knows for a resource (AclEntry.supportedOperations).
_OPERATIONS: Mapping[str, tuple[str, ...]] = {
    "topic": (
        *_COMMON,
        "alter",
        "alter_configs",
        "create",
        "delete",
        "describe_configs",
        "read",
        "write",
    ),
    "group": (*_COMMON, "alter_configs", "delete", "describe_configs", "read"),
    "transactional_id": (*_COMMON, "write"),
    "cluster": (
        *_COMMON,
        "alter",
        "alter_configs",
        "cluster_action",
        "create",
        "describe_configs",
        "idempotent_write",
    ),
}
_SHORTEST = 8
HOST_FIX = "Set the address of one client as Kafka writes it, or *."
_RESERVED = ("ANONYMOUS", "*", NODES)


def _users(cluster: Cluster) -> Iterator[tuple[str, Cluster, list[Mapping[str, Any]]]]:
    """Yield the users that the inventory gives each node; they are the same for all."""
    for host, node in nodes(cluster):
        yield host, cluster, [mapping(entry) for entry in node.settings[_VARIABLE]]


def _place(name: object) -> str:
    """Return what an inventory calls the place of a user's entry."""
    return f"{_VARIABLE}[{name}]"


@rule("user-duplicate", each=_users, where=_VARIABLE)
def _user_duplicate(_: Cluster, users: list[Mapping[str, Any]]) -> Findings:
    """One of the two would lose its password and its grants to the other."""
    names = {number: str(user["name"]) for number, user in enumerate(users)}
    for name, places in shared_values(names):
        problem = f"{name} is named {len(places)} times."
        yield Finding(problem, f"Keep one entry for {name}, with all its grants.", _place(name))


@rule("user-name", each=_users, where=_VARIABLE)
def _user_name(cluster: Cluster, users: list[Mapping[str, Any]]) -> Findings:
    """A principal is a name alone: a user with the name of a node could do all that nodes may."""
    for name in (str(user["name"]) for user in users):
        if problem := wrong_name(cluster, name):
            yield Finding(f"{name!r} {problem}.", "Choose another name.", _place(name))


def wrong_name(cluster: Cluster, name: str) -> str:
    """Return why a user cannot have a name, empty if it can."""
    if name in cluster.kafka:
        return "is the name of a node"
    # Its password is a file of its name.
    is_file = name and not name.startswith(".") and "/" not in name
    return "" if is_file and name not in _RESERVED and _is_plain(name) else "is no name for a user"


def _is_plain(text: str) -> bool:
    """Return whether a text stands in an entry of JAAS and in a properties file as it is."""
    return text.isprintable() and text == text.strip() and not set(text) & set("\"'\\")


@rule("user-password", each=_users, where=_VARIABLE)
def _user_password(_: Cluster, users: list[Mapping[str, Any]]) -> Findings:
    """Whoever can reach a listener may try passwords."""
    for user in users:
        yield from wrong_password(user)


def wrong_password(user: Mapping[str, Any]) -> Findings:
    """Yield what is wrong with the password of a user of Kafka or of the schema registry."""
    password = str(user.get("password") or "")
    if password and len(password) < _SHORTEST:
        problem = f"The password of {user['name']} has fewer than {_SHORTEST} characters."
        yield Finding(problem, "Choose a longer one, or delete it: then one is generated.")
    if password and not _is_plain(password):
        problem = f"The password of {user['name']} has characters that files of clients lose."
        fix = "Choose one without quotes, backslashes, line breaks and spaces at its ends."
        yield Finding(problem, fix)


@rule("ca-incomplete", each=nodes, where=_KEY)
def _ca_incomplete(node: KafkaNode) -> Findings:
    """Nodes and clients trust a CA by its certificate. The key alone can be left out: then the CA
    signs requests.
    """
    if node.settings[_KEY] and not node.settings[_CERTIFICATE]:
        fix = f"Set {_CERTIFICATE}, or delete {_KEY}."
        yield Finding(f"{_KEY} is set without {_CERTIFICATE}.", fix)


@rule("ca-unusable", where=_CERTIFICATE)
def _ca_unusable(cluster: Cluster) -> Findings:
    """No certificate of a node could be made, or nobody would accept it."""
    if error := cluster.inventory.authority_error:
        fix = f"Set {_CERTIFICATE} and {_KEY} to the certificate of a CA and its key, both PEM."
        hosts = tuple(host for host, _ in nodes(cluster))
        yield Finding(f"The CA cannot be used: {error}.", fix, _CERTIFICATE, hosts)


@rule("ca-expiring", where=_CERTIFICATE, severity="warning")
def _ca_expiring(cluster: Cluster) -> Findings:
    """Nodes and clients trust it, and no certificate is valid for longer than the CA."""
    days = cluster.inventory.authority_days
    if days is not None and days < DAYS_TO_RENEW and not cluster.inventory.authority_error:
        fix = "Renew it with the same key, which site.yml takes in, or change the CA by "
        fix += "rotate_certificates.yml -e rotate=ca."
        hosts = tuple(host for host, _ in nodes(cluster))
        yield Finding(f"The CA expires in {days:.0f} days.", fix, hosts=hosts)


@rule("cluster-variable-differs")
def _cluster_variable_differs(cluster: Cluster) -> Findings:
    """A cluster has one CA and one list of users: those of its first node, or broker, would be
    used, and those of the others silently ignored.
    """
    for variable in (*KINDS.values(), _CERTIFICATE, _KEY):
        reading = {host: node for host, node in nodes(cluster) if _is_read(cluster, node, variable)}
        place = "for all hosts of Kafka (group_vars/all.yml)"
        yield from one_value(cluster, place, reading, variable)


def _is_read(cluster: Cluster, node: KafkaNode, variable: str) -> bool:
    """Return whether a node reads a variable; for users a controller needs none."""
    written = variable in cluster.inventory.hosts[node.name].variables
    return node.is_broker or variable not in KINDS.values() or written


@rule("user-grant", each=_users, where=_VARIABLE)
def _user_grant(_: Cluster, users: list[Mapping[str, Any]]) -> Findings:
    """Kafka refuses an operation that a resource does not have, and a grant is for one resource."""
    for user in users:
        name = str(user["name"])
        yield from wrong_grants(name, sequence(user.get("grants")), _place(name))


def wrong_grants(name: str, grants: Iterable[object], where: str = "") -> Findings:
    """Yield which grants of a user Kafka would refuse."""
    for grant in map(mapping, grants):
        kinds = [kind for kind in _OPERATIONS if grant.get(kind)]
        if len(kinds) != 1:
            problem = f"A grant of {name} is for {listing(kinds) or 'no resource'}."
            fix = f"Write an entry for each resource: {listing(_OPERATIONS, 'or')}."
            yield Finding(problem, fix, where)
            continue
        named = str(grant[kinds[0]])
        if kinds[0] != "cluster" and named.endswith("*") and named != "*":
            problem = f"A grant of {name} is for the {kinds[0]} {named}, in which * is a letter."
            fix = f"Write {kinds[0]}: {named.rstrip('*')} and pattern: prefixed."
            yield Finding(problem, fix, where)
            continue
        operations = _OPERATIONS[kinds[0]]
        wrong = [
            operation
            for operation in sequence(grant.get("operations"))
            if operation not in operations
        ]
        if wrong or not grant.get("operations"):
            problem = f"A grant of {name} on a {kinds[0]} has {listing(wrong) or 'no operation'}."
            yield Finding(problem, f"Choose of {listing(sorted(operations))}.", where)
        host = str(grant.get("host") or "*")
        if problem := wrong_host(host):
            yield Finding(f"A grant of {name} is for the host {host}, {problem}", HOST_FIX, where)


def wrong_host(host: str) -> str:
    """Return why no client of a grant connects from an address, empty if one may.

    Kafka compares it with the client's as Java writes that (StandardAuthorizerData), so that a
    network, or ::1 for 0:0:0:0:0:0:0:1, is the address of nobody.
    """
    if host == "*":
        return ""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return "which is no address."
    written = str(address)
    if address.version == 6:
        written = ":".join(f"{int(group, 16):x}" for group in address.exploded.split(":"))
    return "" if host == written else f"which Kafka writes as {written}."


@rule("user-same-grants", each=_users, where=_VARIABLE)
def _user_same_grants(_: Cluster, users: list[Mapping[str, Any]]) -> Findings:
    """The grants are copied from one entry of the list, and a user has those alone."""
    entries = {str(user["name"]): user for user in users}
    for user in users:
        name, source_name = str(user["name"]), user.get("same_grants_as")
        if source_name is None:
            continue
        source = entries.get(str(source_name))
        if source is None or source.get("same_grants_as") is not None:
            problem = f"{name} has the grants of {source_name}, which "
            problem += "has none of its own." if source else "is not in kafka_users."
            candidates = [
                candidate
                for candidate, entry in entries.items()
                if entry.get("same_grants_as") is None
            ]
            fix = f"Set same_grants_as to {listing(candidates, 'or')}, " if candidates else ""
            fix += f"{'or give' if fix else 'Give'} it grants of its own."
            yield Finding(problem, fix, _place(name))
        elif user.get("grants"):
            problem = f"{name} has grants, and those of {source_name} too."
            yield Finding(problem, f"Delete grants or same_grants_as of {name}.", _place(name))


@rule("users-unused", each=_users, where=_VARIABLE)
def _users_unused(cluster: Cluster, users: list[Mapping[str, Any]]) -> Findings:
    """On an open cluster nobody logs in, and everybody may do everything; passwords are for
    SCRAM.
    """
    node = next(iter(cluster.brokers), None)
    written = ("kafka_config", "kafka_listeners", "kafka_security")
    if node is None or node.security.login_listener:
        return
    if falls_back_to_default(cluster, node.name, *written):
        return
    if node.listeners.change:  # secure.yml goes back to a phase without their listener
        return
    if users and not node.config.get("authorizer.class.name"):
        fix = "Set kafka_security: standard, or delete kafka_users."
        yield Finding("There are users, and no listener at which they log in.", fix)
    elif names := [str(user["name"]) for user in users if user.get("password")]:
        problem = f"No listener takes the passwords of {listing(names)}."
        fix = "Set authentication: tls and delete the password of those who log in otherwise, or "
        fix += f"give a SASL_SSL listener {MECHANISM} in sasl.enabled.mechanisms."
        yield Finding(problem, fix)


@rule("listener-users")
def _listener_users(cluster: Cluster) -> Findings:
    """Nobody could use it: no client has a certificate, or the passwords of the users are for
    another mechanism.
    """
    for host, node in nodes_as_written(cluster):
        is_known = not falls_back_to_default(cluster, host, _VARIABLE, "kafka_security")
        for listener in node.listeners.for_clients if node.is_secured and is_known else ():
            if _takes_other_passwords(node, listener):
                key = f"listener.name.{listener.name.lower()}.{MECHANISMS}"
                mechanism = node.security.login_mechanism
                problem = f"The listener {listener.name} does not accept {mechanism}, which "
                problem += "users have passwords for."
                fix = f"Set {key}: {mechanism}."
                yield Finding(problem, fix, place(node, key, MECHANISMS), (host,))
            if _is_for_certificates(node, listener) and not _have_certificates(node):
                problem = (
                    f"The listener {listener.name} requires certificates, and no user has one."
                )
                fix = "Add each client to kafka_users with authentication: tls, or set protocol: "
                fix += "SASL_SSL for it."
                yield Finding(problem, fix, _VARIABLE, (host,))


def _takes_other_passwords(node: KafkaNode, listener: Listener) -> bool:
    config = node.properties.at(listener)
    enabled = enabled_mechanisms(config) if listener.protocol.startswith("SASL_") else []
    return bool(enabled) and all(
        mechanism in SCRAM
        and mechanism != node.security.login_mechanism
        and not has_own_checks(config, mechanism)
        for mechanism in enabled
    )


def _have_certificates(node: KafkaNode) -> bool:
    """Return whether there are users without a password, or the inventory names super users."""
    expected = {node.security.common_name, *(user.name for user in node.security.users)}
    written = node.properties.layer_of("super.users")
    named = written and {name for _, name in super_users(node)} - expected
    return bool(named) or any(user.present and not user.scram for user in node.security.users)


def _is_for_certificates(node: KafkaNode, listener: Listener) -> bool:
    """Return whether only users of kafka_users can have the certificates that a listener takes."""
    trusted = node.properties.at(listener).get("ssl.truststore.location") == AUTHORITY
    ours = node.security.keys_are_ours and trusted and not node.settings[_CERTIFICATE]
    named = has_known_authorizer(node) and not everybody_may(node) and maps_as_made(node, listener)
    return ours and named and client_auth(node, listener) == "required"
