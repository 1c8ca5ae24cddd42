"""The rules about who connects: principals, super users, and connections without a name."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from .....module_utils.formats.key_table import nearest
from .....module_utils.formats.values import is_true, listing, property_text
from ....cluster.cluster import Cluster
from ....rules.engine import Finding, Findings, rule
from ....rules.shared import falls_back_to_default, nodes, nodes_as_written, place
from .. import stores
from ..listeners import Listener
from ..node import KafkaNode
from ..security import ADMIN, ANONYMOUS, AUTHORIZER, AUTHORIZERS, SCRAM
from ..stores import CLIENT_AUTH
from .sasl import enabled_mechanisms, entry_users

_PRINCIPAL_PER_COMMA = ",User:"
_ANONYMOUS = "User:ANONYMOUS"
_SUPER_USERS, _BUILDER = "super.users", "principal.builder.class"
_MAPPING = "ssl.principal.mapping.rules"
EVERYBODY_MAY = "allow.everyone.if.no.acl.found"
# What says who can connect.
_NAMING = ("kafka_config", "kafka_host_config", "kafka_listeners", "kafka_security", "kafka_users")
_NEARLY = 0.85
_DIGITS = re.compile(r"\d+")
_MAPPING_RULE = re.compile(
    r"(?:DEFAULT|RULE:(?P<pattern>(?:\\.|[^\\/])*)/(?P<to>(?:\\.|[^\\/])*)/(?P<case>[LU]?))"
    r"\s*(?:,|\n|$)"
)
_NESTED = re.compile(r"[*+}]\)[*+{]")  # which may take for ever


@rule("super-users-missing", each=nodes)
def _super_users_missing(node: KafkaNode) -> Findings:
    """Nobody could grant the first permission, and brokers could not talk to each other."""
    if node.config.get(AUTHORIZER) and not node.config.get(_SUPER_USERS):
        where = place(node, _SUPER_USERS, AUTHORIZER)
        common_name = node.security.common_name if node.security.keys_are_ours else "broker"
        fix = f"Set super.users: User:admin;User:{common_name} for example."
        if anonymous := _anonymous_between_nodes(node):
            fix = f"{fix.rstrip('.')}, with {_ANONYMOUS} if "
            fix += f"{_listed(anonymous)} stays as it is on a trusted network."
        yield Finding("An authorizer is set, but no super user.", fix, where)


@rule("super-users-anonymous", each=nodes_as_written)
def _super_users_anonymous(node: KafkaNode) -> Findings:
    """Without a certificate or a login nodes are User:ANONYMOUS to each other: their requests would
    be refused and the cluster would not come up.
    """
    users, anonymous = node.config.get(_SUPER_USERS), _anonymous_between_nodes(node)
    # On a closed cluster plaintext-listener and nodes-anonymous refuse such listeners.
    if not node.config.get(AUTHORIZER) or not users or not anonymous or node.is_secured:
        return
    if _ANONYMOUS not in str(users) and not everybody_may(node):
        problem = f"The nodes are {_ANONYMOUS} on {_listed(anonymous)}, which is not a super user."
        fix = "Set protocol: SSL for it with ssl.client.auth: required, or, on a trusted network, "
        fix += f"add {_ANONYMOUS} to super.users."
        yield Finding(problem, fix, place(node, _SUPER_USERS))


@rule("nodes-anonymous", each=nodes_as_written)
def _nodes_anonymous(node: KafkaNode) -> Findings:
    """Without certificates the nodes are User:ANONYMOUS to each other, and so is whoever else
    connects.
    """
    for listener in _anonymous_between_nodes(node):
        if node.is_secured and listener.encrypted:  # plaintext-listener
            key = f"listener.name.{listener.name.lower()}.{CLIENT_AUTH}"
            problem = (
                f"Nodes connect to the listener {listener.name}, which asks for no certificate."
            )
            yield Finding(problem, f"Set {key}: required.", place(node, key))


@rule("listener-anonymous", severity="warning", each=nodes_as_written)
def _listener_anonymous(node: KafkaNode) -> Findings:
    """Everybody who connects is User:ANONYMOUS, and may do what ACLs allow that user."""
    if has_known_authorizer(node) and not _anybody_may(node):
        for listener in _anonymous_clients(node):
            key, fix = asked_for_certificates(listener)
            problem = f"The listener {listener.name} asks clients for no certificate."
            yield Finding(problem, f"{fix}, unless this is intended.", place(node, key))


def _anonymous_between_nodes(node: KafkaNode) -> list[Listener]:
    """Return the listeners between nodes that ask for neither a certificate nor a login."""
    inner = [
        listener for listener in node.listeners.all if listener not in node.listeners.controllers
    ]
    inner = [
        listener
        for listener in inner
        if listener.name.upper() == node.listeners.between_brokers.upper()
    ]
    inner += [node.listeners.controller] if node.mode == "kraft" and node.is_controller else []
    return [listener for listener in inner if client_auth(node, listener) == "none"]


def _anonymous_clients(node: KafkaNode) -> list[Listener]:
    """Return the encrypted listeners for clients alone at which these are User:ANONYMOUS."""
    encrypted = [listener for listener in node.listeners.for_clients if listener.encrypted]
    between = _anonymous_between_nodes(node)
    return [
        listener
        for listener in encrypted
        if listener not in between and client_auth(node, listener) == "none"
    ]


def asked_for_certificates(listener: Listener) -> tuple[str, str]:
    """Return the key by which clients of a listener have to show who they are, and what to do."""
    key = f"listener.name.{listener.name.lower()}.{CLIENT_AUTH}"
    return key, f"Set {key}: required and add its clients to kafka_users with authentication: tls"


def everybody_may(node: KafkaNode) -> bool:
    """Return whether everybody may do what there is no ACL for."""
    return is_true(node.config.get(EVERYBODY_MAY))


def _anybody_may(node: KafkaNode) -> bool:
    """Return whether User:ANONYMOUS may do everything."""
    if has_known_authorizer(node):
        return everybody_may(node) or ("User", ANONYMOUS) in super_users(node)
    return not node.config.get(AUTHORIZER)


def opened(node: KafkaNode) -> list[Listener]:
    """Return the encrypted listeners of a closed node at which anybody may do everything."""
    return _anonymous_clients(node) if node.is_secured and _anybody_may(node) else []


def _listed(listeners: list[Listener]) -> str:
    return listing(f"{listener.name} ({listener.protocol})" for listener in listeners)


@rule("super-users-commas", each=nodes)
def _super_users_commas(node: KafkaNode) -> Findings:
    """The separator is ';', since a comma is a part of a certificate's name: Kafka would see
    one principal.
    """
    written = node.config.get("super.users")
    # A list of YAML is joined by commas too.
    entries = written if isinstance(written, (list, tuple)) else [written]
    text = ",".join(str(entry).replace(" ", "") for entry in entries)
    if _PRINCIPAL_PER_COMMA in text:
        problem = f"super.users {text} is one principal: the separator is ';'."
        fix = f"Set super.users: {text.replace(_PRINCIPAL_PER_COMMA, ';User:')}."
        yield Finding(problem, fix, place(node, "super.users"))


@rule("super-users-type", each=nodes)
def _super_users_type(node: KafkaNode) -> Findings:
    """A principal is a type and a name, `User:alice`, and Kafka compares both as they are written:
    any other spelling matches no one.
    """
    for principal in str(node.config.get("super.users") or "").split(";"):
        kind, colon, name = principal.strip().partition(":")
        wrong = not colon or not name.strip() or _is_misspelt(kind)
        if principal.strip() and "${" not in principal and wrong:
            user = name.strip() if colon else kind
            fix = f"Write User:{user}." if user else "Delete it, or write its name: User:alice."
            yield Finding(f"super.users has {principal.strip()}.", fix, place(node, "super.users"))


def _is_misspelt(kind: str) -> bool:
    return kind != "User" and kind.strip().lower() in ("user", "users")


@rule("super-users-nodes")
def _super_users_nodes(cluster: Cluster) -> Findings:
    """Nodes send each other requests that only a super user may make; those that are left out
    could not vote, replicate or register.
    """
    for name, node in nodes_as_written(cluster):
        users = property_text(node.config.get(_SUPER_USERS)) or ""
        if everybody_may(node) or "${" in users:
            continue
        named = set(re.findall(r"User:(?:CN=)?([^,;]+)", users))
        addressed = {
            peer: {peer_node.security.common_name}
            if peer_node.security.keys_are_ours
            else {peer, peer_node.address}
            for peer, peer_node in nodes_as_written(cluster)
        }
        ours = [peer for peer, names in addressed.items() if names & named]
        missing = [peer for peer in addressed if peer not in ours]
        unmatched = named - set().union(*addressed.values())
        if unmatched and not node.security.keys_are_ours:  # one certificate for all nodes of a role
            roles = {_role(cluster.kafka[peer]) for peer in ours}
            missing = [peer for peer in missing if _role(cluster.kafka[peer]) in roles]
        lists_nodes = len(ours) > 1 or (users and node.security.keys_are_ours)
        if node.config.get(AUTHORIZER) and lists_nodes and missing:
            problem = f"super.users names {listing(ours or named)} and not {listing(missing)}."
            principal = f"User:{cluster.kafka[missing[0]].security.common_name}"
            fix = f"Add the principals of {listing(missing)}, as in {principal}."
            yield Finding(problem, fix, place(node, _SUPER_USERS), (name,))


def _role(node: KafkaNode) -> tuple[bool, bool]:
    return node.is_broker, node.is_controller


@dataclass(frozen=True)
class _Principals:
    """Who can connect to a cluster."""

    names: frozenset[str]
    absent: frozenset[str]
    """The users of kafka_users that are removed."""
    hosts: frozenset[str]
    """The nodes' hosts."""
    open_ended: bool
    """Whether others can connect too, whose names the inventory does not have."""
    built: bool
    """Whether a custom class makes principals of any type."""

    def nearest(self, name: str) -> str:
        """Return the name that was probably meant, empty if none is near or it has other digits."""
        names = {existing.lower(): existing for existing in self.names}
        closest = names.get(nearest(name.lower(), [*names], _NEARLY), "")
        return "" if _DIGITS.sub("", closest) == _DIGITS.sub("", name) else closest


def _principals(cluster: Cluster) -> _Principals:
    cluster_nodes = [node for _, node in nodes(cluster)]
    name_sets = [
        names_at(node, listener)
        for node in cluster_nodes
        for listener in (*node.listeners.all, *node.listeners.leaving)
    ]
    users = [user for node in cluster_nodes for user in node.security.users]
    present = {user.name for user in users if user.present}
    definite_sets = [names for names in name_sets if names is not None]
    return _Principals(
        frozenset(
            present.union({node.security.common_name for node in cluster_nodes}, *definite_sets)
        ),
        frozenset(user.name for user in users if not user.present),
        frozenset(cluster.kafka),
        len(definite_sets) < len(name_sets) or not all(node.is_secured for node in cluster_nodes),
        any(key.endswith(_BUILDER) for node in cluster_nodes for key in node.config),
    )


def client_auth(node: KafkaNode, listener: Listener) -> str:
    """Return what Kafka does about the certificate of who connects: none, requested or required.

    It is empty where something else says who that is, a login or a custom class.
    """
    config = node.properties.at(listener)
    value = stores.client_auth(node, listener)
    is_custom = any(config.get(key) for key in (_BUILDER, "ssl.engine.factory.class"))
    if listener.protocol == "PLAINTEXT":
        return "" if config.get(_BUILDER) else "none"
    return value if listener.protocol == "SSL" and not is_custom and "${" not in value else ""


def maps_as_made(node: KafkaNode, listener: Listener) -> bool:
    """Return whether the principal of a certificate is its common name, as Millrace sets it."""
    made = node.layers["security"].get(_MAPPING)
    return bool(node.properties.at(listener).get(_MAPPING) == made)


def names_at(node: KafkaNode, listener: Listener) -> set[str] | None:
    """Return the names that clients of a listener can have, besides the users that Millrace makes.

    None if it accepts certificates or logins whose names the inventory does not have.
    """
    config = node.properties.at(listener)
    if listener.protocol.startswith("SASL_"):
        name_sets = [_names_by(node, config, mechanism) for mechanism in enabled_mechanisms(config)]
        definite_sets = [names for names in name_sets if names is not None]
        return set().union(*definite_sets) if len(definite_sets) == len(name_sets) else None
    if client_auth(node, listener) == "none":
        return {ANONYMOUS}
    nodes_alone = node.security.keys_are_ours and listener not in node.listeners.for_clients
    return set() if nodes_alone and maps_as_made(node, listener) else None


def _names_by(node: KafkaNode, config: Mapping[str, Any], mechanism: str) -> set[str] | None:
    made = node.is_secured and mechanism == node.security.login_mechanism
    by_hand = mechanism in SCRAM and not made
    return None if by_hand else entry_users(config, mechanism)


def super_users(node: KafkaNode) -> Iterator[tuple[str, str]]:
    """Yield type and name of each super user that can be read as such."""
    for principal in (property_text(node.config.get(_SUPER_USERS)) or "").split(";"):
        kind, _, name = principal.strip().partition(":")
        joined = _PRINCIPAL_PER_COMMA in principal.replace(" ", "")  # super-users-commas
        legible = kind.isidentifier() and name.strip()
        if legible and not ("${" in principal or joined or _is_misspelt(kind)):
            yield kind, name.strip()


def has_known_authorizer(node: KafkaNode) -> bool:
    """Return whether permissions are those of one of Kafka's own authorizers."""
    return node.config.get(AUTHORIZER) in AUTHORIZERS.values()


@rule("super-users-unknown")
def _super_users_unknown(cluster: Cluster) -> Findings:
    """Whoever is meant has no rights, and whoever gets that name later may do everything."""
    return _nobodies(cluster, certain=True)


@rule("super-users-nearly", severity="warning")
def _super_users_nearly(cluster: Cluster) -> Findings:
    """If nobody has that name, whoever is meant has no rights."""
    return _nobodies(cluster, certain=False)


def _nobodies(cluster: Cluster, *, certain: bool) -> Findings:
    """Yield each super user whose principal nobody can have, certainly or probably."""
    if any(falls_back_to_default(cluster, host, *_NAMING) for host in cluster.kafka):
        return
    principals = _principals(cluster)
    for host, node in nodes(cluster):
        written = node.properties.layer_of(_SUPER_USERS)
        listed = [*super_users(node)] if has_known_authorizer(node) and not principals.built else []
        nodes_left_out = ("User", node.security.common_name) not in listed
        for kind, name in listed:
            is_node = name in principals.hosts and nodes_left_out  # super-users-nodes
            if is_node or not (written or name in principals.absent):
                continue
            reason = _why_nobody(kind, name, principals)
            if reason and reason[0] == certain:
                where = place(node, _SUPER_USERS) if written else "kafka_users"
                yield Finding(
                    f"super.users has {kind}:{name}, {reason[1]}", reason[2], where, (host,)
                )


def _why_nobody(kind: str, name: str, principals: _Principals) -> tuple[bool, str, str] | None:
    """Return whether it is certain, why nobody has a name, and what to set; None if one may."""
    if kind != "User":
        fix = "Name its members, each as User:name, or set principal.builder.class to a class that "
        return True, f"and the authorizer knows no {kind}.", f"{fix}makes such principals."
    if name in principals.names or "=" in name:  # super-users-mapped
        return None
    if name == "*":
        return True, "which matches nobody: it is no wildcard.", "Name each, such as User:admin."
    if name == ANONYMOUS:
        return True, "and every listener requires a login or a certificate.", "Delete it."
    if name in principals.absent:
        fix = f"Delete the entry of {name} in kafka_users, or set super.users without it."
        return not principals.open_ended, "whom kafka_users removes.", fix
    if name in principals.hosts:
        return not principals.open_ended, "and the nodes have another name.", "Delete it."
    near = principals.nearest(name)
    if principals.open_ended and not near:
        return None
    fix = f"add {name} to kafka_users, with authentication: tls if it has a certificate."
    fix = f"Write User:{near}, or {fix}" if near else f"Delete it, or {fix}"
    return not principals.open_ended, "and the inventory has no user or node of that name.", fix


@rule("super-users-admin", severity="warning")
def _super_users_admin(cluster: Cluster) -> Findings:
    """clients.yml writes the files of the operator's clients for that user unless it is given
    another.
    """
    for host, node in nodes_as_written(cluster):
        users = node.security.users
        admin = next((user for user in users if user.name == ADMIN and user.present), None)
        written = property_text(node.config.get(_SUPER_USERS)) or ""
        named = re.findall(r"[^\s:;,]+", written.lower())
        # Without any, super-users-missing.
        unclear = not written or "${" in written or nearest(ADMIN, named, _NEARLY)
        if (
            admin
            and not admin.grants
            and has_known_authorizer(node)
            and not (everybody_may(node) or unclear)
        ):
            problem = f"The user {ADMIN} may do nothing: it is no super user and has no grants."
            fix = f"Add User:{ADMIN} to super.users, or give {ADMIN} grants or state: absent in "
            yield Finding(problem, f"{fix}kafka_users.", place(node, _SUPER_USERS), (host,))


@rule("super-users-mapped")
def _super_users_mapped(cluster: Cluster) -> Findings:
    """A certificate's name is mapped before Kafka compares it: a super user by the whole name
    matches no one.
    """
    # Controllers judge what brokers forward, so that a name may be one of any node's listeners.
    mappings = {
        property_text(node.properties.at(listener).get(_MAPPING)) or "DEFAULT"
        for _, node in nodes(cluster)
        for listener in node.listeners.all
        if listener.encrypted
    }
    if len(mappings) != 1:
        return
    (mapping,) = mappings
    for host, node in nodes(cluster):
        for principal in str(node.config.get(_SUPER_USERS) or "").split(";"):
            name = principal.strip().partition(":")[2]
            mapped = _mapped(name, mapping) if "=" in name else name
            if mapped != name:
                problem = f"super.users has {principal.strip()}, which {_MAPPING} makes {mapped}."
                yield Finding(problem, f"Write User:{mapped}.", place(node, _SUPER_USERS), (host,))


def _mapped(name: str, mapping: str) -> str:
    """Return what the first rule that matches makes of a name; the name if none can be applied."""
    for rule_text in _MAPPING_RULE.finditer(mapping):
        if rule_text["pattern"] is None or _NESTED.search(rule_text["pattern"]):
            return name
        try:
            match = re.fullmatch(rule_text["pattern"], name)
            mapped = match.expand(re.sub(r"\$(\d)", r"\\g<\1>", rule_text["to"])) if match else ""
        except (re.error, IndexError):  # what Java alone can read
            return name
        if match:
            return {"L": mapped.lower(), "U": mapped.upper()}.get(rule_text["case"], mapped)
    return name


@rule("principal-mapping", each=nodes)
def _principal_mapping(node: KafkaNode) -> Findings:
    """Kafka does not start with a rule that it cannot read (SslPrincipalMapper)."""
    for key, value in node.config.items():
        if key.endswith("ssl.principal.mapping.rules"):
            text = ",".join(map(str, value)) if isinstance(value, list) else str(value)
            if "${" in text:  # Kafka fills it in (KIP-297)
                continue
            if wrong := _unreadable_rule(text):
                fix = "Write each as RULE:pattern/replacement/, followed by L or U for lower or "
                fix += "upper case, or as DEFAULT; put \\ before a slash within it."
                yield Finding(f"{wrong!r} is not a mapping rule.", fix, place(node, key))


def _unreadable_rule(text: str) -> str:
    """Return the text from the first rule that cannot be parsed, empty if all can."""
    remaining = text.strip()
    while match := _MAPPING_RULE.match(remaining):
        remaining = remaining[match.end() :].strip()
    return remaining
