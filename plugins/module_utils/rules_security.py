"""The rules about who may do what."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ansible_collections.millrace.streaming.plugins.module_utils import key_table
from ansible_collections.millrace.streaming.plugins.module_utils.rules import (
    Finding,
    Host,
    Inventory,
    listing,
    mapping,
    rule,
    yes,
)
from ansible_collections.millrace.streaming.plugins.module_utils.rules_listeners import (
    broker_listeners,
    controller_listener,
)
from ansible_collections.millrace.streaming.plugins.module_utils.rules_properties import (
    own_keys,
    place,
    table_of,
)

_PRINCIPAL_PER_COMMA = ",User:"
# Kafka hides them like passwords, yet a certificate is for everybody to see.
_CERTIFICATES = ("ssl.keystore.certificate.chain", "ssl.truststore.certificates")
_KRAFT_AUTHORIZER = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"
_ZOOKEEPER_AUTHORIZER = "kafka.security.authorizer.AclAuthorizer"
_ANONYMOUS = "User:ANONYMOUS"
_JAAS = "sasl.jaas.config"
_JAAS_SECRET = re.compile(r"password|secret|user_", re.IGNORECASE)


@rule(
    "plain-password",
    when="a password of `kafka_config` or `kafka_host_config` stands in the inventory outside a "
    "vault",
    why="Whoever reads the repository of the inventory would know it.",
    remedy="Encrypt it with `ansible-vault encrypt_string`, or refer to a config provider with "
    "`${...}`.",
)
def plain_password(inventory: Inventory) -> Iterator[Finding]:
    """Refuse a password in plain sight; it is never shown."""
    for host, layer, key, value in own_keys(inventory, "kafka"):
        if _is_secret(host, key, str(value)) and not host.vaulted & {layer, f"{layer}[{key}]"}:
            what = f"{key} stands in plain sight."
            fix = "Encrypt it with ansible-vault encrypt_string, or refer to a config provider."
            yield Finding(f"{layer}[{key}]", what, fix, (host.name,))


def _is_secret(host: Host, key: str, text: str) -> bool:
    name = key_table.table_key(key)
    kind = table_of(host).get(name, {}).get("type")
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
def authorizer_mode(inventory: Inventory) -> Iterator[Finding]:
    """Refuse the authorizer of the other mode."""
    modes = (_KRAFT_AUTHORIZER, _ZOOKEEPER_AUTHORIZER)
    right, wrong = reversed(modes) if inventory.in_zookeeper_mode() else modes
    for host in inventory.kafka_hosts():
        if mapping(host.kafka.get("config")).get("authorizer.class.name") == wrong:
            mode = "ZooKeeper" if inventory.in_zookeeper_mode() else "KRaft"
            what = f"{wrong} does not work with {mode}."
            fix = f"Set authorizer.class.name: {right}."
            yield Finding(place(host, "authorizer.class.name"), what, fix, (host.name,))


@rule(
    "super-users-missing",
    when="`authorizer.class.name` is set and `super.users` is not",
    why="Nobody could grant the first permission, and brokers could not talk to each other.",
    remedy="Set `super.users` to the principals of the brokers and of an administrator.",
)
def super_users_missing(inventory: Inventory) -> Iterator[Finding]:
    """Refuse an authorizer that lets nobody in."""
    for host in inventory.kafka_hosts():
        config = mapping(host.kafka.get("config"))
        if config.get("authorizer.class.name") and not config.get("super.users"):
            where = place(host, "authorizer.class.name")
            fix = "Set super.users: User:admin;User:broker for example."
            yield Finding(where, "There is an authorizer and no super user.", fix, (host.name,))


@rule(
    "super-users-anonymous",
    when="there is an authorizer, `super.users` lacks `User:ANONYMOUS`, and the brokers' or the "
    "controllers' own listener is PLAINTEXT",
    why="Without TLS or SASL nodes are User:ANONYMOUS to each other: their requests would be "
    "refused and the cluster would not come up.",
    remedy="Set the protocol of these listeners to SSL with `ssl.client.auth: required`. "
    "`User:ANONYMOUS` as a super user gives everybody on PLAINTEXT every right.",
)
def super_users_anonymous(inventory: Inventory) -> Iterator[Finding]:
    """Refuse an authorizer that keeps the nodes from each other."""
    for host in inventory.kafka_hosts():
        config = mapping(host.kafka.get("config"))
        users = config.get("super.users")
        if not config.get("authorizer.class.name") or not users or _ANONYMOUS in str(users):
            continue
        names = _plain_listeners_of_nodes(host, zookeeper=inventory.in_zookeeper_mode())
        if names and not yes(config.get("allow.everyone.if.no.acl.found")):
            what = f"The nodes are {_ANONYMOUS} on {listing(names)} (PLAINTEXT), which is no super "
            what += "user."
            fix = "Set protocol: SSL for it with ssl.client.auth: required, or, on a trusted "
            fix += f"network, add {_ANONYMOUS} to super.users."
            yield Finding(place(host, "super.users"), what, fix, (host.name,))


def _plain_listeners_of_nodes(host: Host, *, zookeeper: bool) -> list[str]:
    """Return the names of the listeners without TLS on which nodes talk to each other."""
    inner = str(host.kafka.get("inter_broker_listener")).upper()
    found = [one for one in broker_listeners(host) if str(one.get("name")).upper() == inner]
    found += [] if zookeeper else [controller_listener(host)]
    return [str(one.get("name")) for one in found if one.get("protocol") == "PLAINTEXT"]


@rule(
    "super-users-commas",
    when="the principals in `super.users` are separated by commas",
    why="The separator is ';', since a comma is a part of a certificate's name: Kafka would see "
    "one principal.",
    remedy="Separate them by semicolons.",
)
def super_users_commas(inventory: Inventory) -> Iterator[Finding]:
    """Refuse principals that Kafka would take for one; a YAML list is joined by commas too."""
    for host in inventory.kafka_hosts():
        written = mapping(host.kafka.get("config")).get("super.users")
        parts = [str(part) for part in written] if isinstance(written, list | tuple) else [written]
        text = ",".join(str(part).replace(" ", "") for part in parts)
        if _PRINCIPAL_PER_COMMA in text:
            what = f"super.users {text} is one principal: the separator is ';'."
            fix = f"Set super.users: {text.replace(_PRINCIPAL_PER_COMMA, ';User:')}."
            yield Finding(place(host, "super.users"), what, fix, (host.name,))
