"""The rules about who may do what, and about passwords."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ansible_collections.millrace.streaming.plugins.module_utils.model import key_table
from ansible_collections.millrace.streaming.plugins.module_utils.model.cluster import Cluster
from ansible_collections.millrace.streaming.plugins.module_utils.model.kafka import KafkaNode
from ansible_collections.millrace.streaming.plugins.module_utils.model.values import (
    is_true,
    listing,
)
from ansible_collections.millrace.streaming.plugins.module_utils.rules.engine import Finding, rule
from ansible_collections.millrace.streaming.plugins.module_utils.rules.shared import (
    own_properties,
    place,
)

_PRINCIPAL_PER_COMMA = ",User:"
# Kafka hides them like passwords, yet a certificate is for everybody to see.
_CERTIFICATES = ("ssl.keystore.certificate.chain", "ssl.truststore.certificates")
_AUTHORIZERS = {
    "kraft": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "zookeeper": "kafka.security.authorizer.AclAuthorizer",
}
_ANONYMOUS = "User:ANONYMOUS"
_JAAS = "sasl.jaas.config"
_JAAS_SECRET = re.compile(r"password|secret|user_", re.IGNORECASE)


@rule(
    "plain-password",
    when="a password of `kafka_config` or `kafka_host_config` is in the inventory outside a vault",
    why="Whoever reads the repository of the inventory would know it.",
    remedy="Encrypt it with `ansible-vault encrypt_string`, or refer to a config provider with "
    "`${...}`.",
)
def _plain_password(cluster: Cluster) -> Iterator[Finding]:
    for one in own_properties(cluster, "kafka"):
        hidden = cluster.inventory.hosts[one.host].hidden & {one.layer, one.where}
        if not hidden and _is_secret(cluster.kafka[one.host], one.key, str(one.value)):
            what = f"{one.key} is not encrypted."
            fix = "Encrypt it with ansible-vault encrypt_string, or refer to a config provider."
            yield Finding(one.where, what, fix, (one.host,))


def _is_secret(node: KafkaNode, key: str, text: str) -> bool:
    name = key_table.table_key(key)
    kind = node.table.get(name, {}).get("type")
    if kind != "password" or name in _CERTIFICATES or text in ("", "None") or "${" in text:
        return False
    return name != _JAAS or bool(_JAAS_SECRET.search(text))  # Kerberos has a file instead


@rule(
    "authorizer-mode",
    when="`authorizer.class.name` is `AclAuthorizer` and the brokers keep their metadata in KRaft, "
    "or `StandardAuthorizer` and they keep it in ZooKeeper",
    why="Each reads its permissions from one of the two; Kafka 4 has no AclAuthorizer.",
    remedy="Set `org.apache.kafka.metadata.authorizer.StandardAuthorizer`, with ZooKeeper "
    "`kafka.security.authorizer.AclAuthorizer`.",
)
def _authorizer_mode(cluster: Cluster) -> Iterator[Finding]:
    for node in cluster.kafka.values():
        authorizer, right = node.config.get("authorizer.class.name"), _AUTHORIZERS[node.mode]
        if authorizer in _AUTHORIZERS.values() and authorizer != right:
            where = place(node, "authorizer.class.name")
            mode = "ZooKeeper" if node.mode == "zookeeper" else "KRaft"
            what = f"{authorizer} does not work with {mode}."
            yield Finding(where, what, f"Set authorizer.class.name: {right}.", (node.name,))


@rule(
    "super-users-missing",
    when="`authorizer.class.name` is set and `super.users` is not",
    why="Nobody could grant the first permission, and brokers could not talk to each other.",
    remedy="Set `super.users` to the principals of the brokers and of an administrator.",
)
def _super_users_missing(cluster: Cluster) -> Iterator[Finding]:
    for node in cluster.kafka.values():
        if node.config.get("authorizer.class.name") and not node.config.get("super.users"):
            where = place(node, "authorizer.class.name")
            fix = "Set super.users: User:admin;User:broker for example."
            yield Finding(where, "There is an authorizer and no super user.", fix, (node.name,))


@rule(
    "super-users-anonymous",
    when="there is an authorizer, `super.users` does not hold `User:ANONYMOUS`, and the brokers' "
    "or the controllers' own listener is PLAINTEXT",
    why="Without TLS or SASL nodes are User:ANONYMOUS to each other: their requests would be "
    "refused and the cluster would not come up.",
    remedy="Set the protocol of these listeners to SSL with `ssl.client.auth: required`. "
    "`User:ANONYMOUS` as a super user gives everybody on PLAINTEXT every right.",
)
def _super_users_anonymous(cluster: Cluster) -> Iterator[Finding]:
    for node in cluster.kafka.values():
        users, names = node.config.get("super.users"), _plaintext_between_nodes(node)
        everybody = is_true(node.config.get("allow.everyone.if.no.acl.found"))
        if not node.config.get("authorizer.class.name") or not users or not names or everybody:
            continue
        if _ANONYMOUS not in str(users):
            what = f"The nodes are {_ANONYMOUS} on {listing(names)} (PLAINTEXT), which is no super "
            what += "user."
            fix = "Set protocol: SSL for it with ssl.client.auth: required, or, on a trusted "
            fix += f"network, add {_ANONYMOUS} to super.users."
            yield Finding(place(node, "super.users"), what, fix, (node.name,))


def _plaintext_between_nodes(node: KafkaNode) -> list[str]:
    """Return the names of the listeners without TLS on which nodes talk to each other."""
    inner = node.settings["kafka_inter_broker_listener"].upper()
    found = [one for one in node.broker_listeners if one.name.upper() == inner]
    found += [node.controller_listener] if node.mode == "kraft" else []
    return [one.name for one in found if one.protocol == "PLAINTEXT"]


@rule(
    "super-users-commas",
    when="the principals in `super.users` are separated by commas",
    why="The separator is ';', since a comma is a part of a certificate's name: Kafka would see "
    "one principal.",
    remedy="Separate them by semicolons.",
)
def _super_users_commas(cluster: Cluster) -> Iterator[Finding]:
    for node in cluster.kafka.values():
        written = node.config.get("super.users")
        # A list of YAML is joined by commas too.
        parts = written if isinstance(written, (list, tuple)) else [written]
        text = ",".join(str(part).replace(" ", "") for part in parts)
        if _PRINCIPAL_PER_COMMA in text:
            what = f"super.users {text} is one principal: the separator is ';'."
            fix = f"Set super.users: {text.replace(_PRINCIPAL_PER_COMMA, ';User:')}."
            yield Finding(place(node, "super.users"), what, fix, (node.name,))
