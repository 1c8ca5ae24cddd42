"""The rules about authorization and passwords."""

from __future__ import annotations

import re

from ..model import key_table, transition
from ..model.ca_change import signing
from ..model.cluster import Cluster
from ..model.kafka import KafkaNode
from ..model.listeners import ENDED
from ..model.pem import identities
from ..model.values import is_public, is_true, listing
from .engine import Finding, Findings, host_rule, rule
from .inspection import InspectedHost
from .shared import MODES, Property, differing, nodes, nodes_as_written, place, properties

_PRINCIPAL_PER_COMMA = ",User:"
# Kafka hides these like passwords, although certificates are public.
_CERTIFICATES = ("ssl.keystore.certificate.chain", "ssl.truststore.certificates")
_AUTHORIZER = "authorizer.class.name"
_AUTHORIZERS = {
    "kraft": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "zookeeper": "kafka.security.authorizer.AclAuthorizer",
}
_MAPPING_RULE = re.compile(r"(?:DEFAULT|RULE:(?:\\.|[^\\/])*/(?:\\.|[^\\/])*/[LU]?)\s*(?:,|\n|$)")
_NESTED = re.compile(r"[*+}]\)[*+{]")  # which may take for ever
_EACH_RULE = re.compile(
    r"DEFAULT|RULE:(?P<pattern>(?:\\.|[^\\/])*)/(?P<to>(?:\\.|[^\\/])*)/(?P<case>[LU]?)"
)
_ANONYMOUS = "User:ANONYMOUS"
_JAAS = "sasl.jaas.config"
_JAAS_SECRET = re.compile(r"password|secret|user_", re.IGNORECASE)


@rule("plain-password", each=properties("kafka"))
def _plain_password(node: KafkaNode, one: Property) -> Findings:
    """Anyone who can read the inventory's repository would know it."""
    if not one.hidden and _is_secret(node, one.key, str(one.value)):
        fix = "Encrypt it with ansible-vault encrypt_string, or refer to a config provider."
        yield Finding(f"{one.key} is not encrypted.", fix, one.where)


def _is_secret(node: KafkaNode, key: str, text: str) -> bool:
    name = key_table.table_key(key)
    kind = node.table.get(name, {}).get("type")
    if kind != "password" or name in _CERTIFICATES or text in ("", "None") or "${" in text:
        return False
    return name != _JAAS or bool(_JAAS_SECRET.search(text))  # Kerberos has a file instead


@rule("authorizer-mode", each=nodes)
def _authorizer_mode(node: KafkaNode) -> Findings:
    """Each authorizer works in one of the two modes only; Kafka 4 has no AclAuthorizer."""
    authorizer, right = node.config.get(_AUTHORIZER), _AUTHORIZERS[node.mode]
    if authorizer in _AUTHORIZERS.values() and authorizer != right:
        what = f"{authorizer} does not work with {MODES[node.mode]}."
        yield Finding(what, f"Set {_AUTHORIZER}: {right}.", place(node, _AUTHORIZER))


@rule("open-to-everybody", where="kafka_security")
def _open_to_everybody(cluster: Cluster) -> Findings:
    """Whoever reaches the address may read, write and administer, and may exhaust a broker's memory
    (CVE-2026-111115).
    """
    every = {node.address.strip("[]") for _, node in nodes(cluster) if not node.is_secured}
    found = sorted(filter(is_public, every))
    if found:
        what = "The cluster is open, and the internet reaches "
        what += f"{'addresses' if len(found) > 1 else 'an address'} of it, {listing(found)}."
        fix = "Set kafka_security: standard, or private addresses."
        yield Finding(what, fix, hosts=tuple(cluster.kafka))


@rule("authorizer-differs")
def _authorizer_differs(cluster: Cluster) -> Findings:
    """Controllers store the ACLs, and brokers apply them: without an authorizer on all of them no
    ACL can be made, or a part of the nodes checks none.
    """
    values = {name: str(node.config.get(_AUTHORIZER) or "") for name, node in nodes(cluster)}
    parts = differing(cluster, "kafka_config", values)
    if parts and "" in values.values():
        fix = f"Set {_AUTHORIZER} once, in kafka_config of all Kafka hosts."
        yield Finding(
            f"{_AUTHORIZER} is {parts}.", fix, f"kafka_config[{_AUTHORIZER}]", tuple(values)
        )


@rule("super-users-missing", each=nodes)
def _super_users_missing(node: KafkaNode) -> Findings:
    """Nobody could grant the first permission, and brokers could not talk to each other."""
    if node.config.get(_AUTHORIZER) and not node.config.get("super.users"):
        where = place(node, _AUTHORIZER)
        fix = "Set super.users: User:admin;User:broker for example."
        if names := _plaintext_between_nodes(node):
            fix = f"Set super.users: User:admin;User:broker for example, with {_ANONYMOUS} if "
            fix += f"{listing(names)} stays PLAINTEXT on a trusted network."
        yield Finding("An authorizer is set, but no super user.", fix, where)


@rule("super-users-anonymous", each=nodes)
def _super_users_anonymous(node: KafkaNode) -> Findings:
    """Without TLS or SASL nodes are User:ANONYMOUS to each other: their requests would be
    refused and the cluster would not come up.
    """
    users, names = node.config.get("super.users"), _plaintext_between_nodes(node)
    everybody = is_true(node.config.get("allow.everyone.if.no.acl.found"))
    # On a closed cluster plaintext-listener refuses such listeners.
    if not node.config.get(_AUTHORIZER) or not users or not names or everybody or node.is_secured:
        return
    if _ANONYMOUS not in str(users):
        what = f"The nodes are {_ANONYMOUS} on {listing(names)} (PLAINTEXT), which is not a "
        what += "super user."
        fix = "Set protocol: SSL for it with ssl.client.auth: required, or, on a trusted network, "
        fix += f"add {_ANONYMOUS} to super.users."
        yield Finding(what, fix, place(node, "super.users"))


def _plaintext_between_nodes(node: KafkaNode) -> list[str]:
    """Return the names of the listeners without TLS on which nodes talk to each other."""
    inner = node.inter_broker_listener.upper()
    found = [one for one in node.broker_listeners if one.name.upper() == inner]
    found += [node.controller_listener] if node.mode == "kraft" else []
    return [one.name for one in found if one.protocol == "PLAINTEXT"]


@rule("super-users-commas", each=nodes)
def _super_users_commas(node: KafkaNode) -> Findings:
    """The separator is ';', since a comma is a part of a certificate's name: Kafka would see
    one principal.
    """
    written = node.config.get("super.users")
    # A list of YAML is joined by commas too.
    parts = written if isinstance(written, (list, tuple)) else [written]
    text = ",".join(str(part).replace(" ", "") for part in parts)
    if _PRINCIPAL_PER_COMMA in text:
        what = f"super.users {text} is one principal: the separator is ';'."
        fix = f"Set super.users: {text.replace(_PRINCIPAL_PER_COMMA, ';User:')}."
        yield Finding(what, fix, place(node, "super.users"))


@rule("super-users-type", each=nodes)
def _super_users_type(node: KafkaNode) -> Findings:
    """A principal is a type and a name, `User:alice`, and Kafka compares both as they are written:
    any other spelling matches no one.
    """
    for one in str(node.config.get("super.users") or "").split(";"):
        kind, colon, name = one.strip().partition(":")
        if one.strip() and "${" not in one and (not colon or _is_misspelt(kind)):
            fix = f"Write User:{name.strip() if colon else kind}."
            yield Finding(f"super.users has {one.strip()}.", fix, place(node, "super.users"))


def _is_misspelt(kind: str) -> bool:
    return kind != "User" and kind.strip().lower() in ("user", "users")


@rule("super-users-nodes")
def _super_users_nodes(cluster: Cluster) -> Findings:
    """Nodes send each other requests that only a super user may make; those that are left out
    could not vote, replicate or register.
    """
    for name, node in nodes_as_written(cluster):
        users = node.config.get("super.users")
        if is_true(node.config.get("allow.everyone.if.no.acl.found")):
            continue
        named = set(re.findall(r"User:(?:CN=)?([^,;]+)", str(users or "")))
        addressed = {
            other: {one.common_name} if one.keys_are_ours else {other, one.address}
            for other, one in nodes_as_written(cluster)
        }
        ours = [other for other, names in addressed.items() if names & named]
        missing = [other for other in addressed if other not in ours]
        others = named - set().union(*addressed.values())
        if others and not node.keys_are_ours:  # one certificate for all nodes of a role
            roles = {_role(cluster.kafka[other]) for other in ours}
            missing = [other for other in missing if _role(cluster.kafka[other]) in roles]
        known = len(ours) > 1 or (users and node.keys_are_ours)
        if node.config.get(_AUTHORIZER) and known and missing:
            what = f"super.users names {listing(ours or named)} and not {listing(missing)}."
            principal = f"User:{cluster.kafka[missing[0]].common_name}"
            fix = f"Add the principals of {listing(missing)}, as in {principal}."
            yield Finding(what, fix, place(node, "super.users"), (name,))


def _role(node: KafkaNode) -> tuple[bool, bool]:
    return node.is_broker, node.is_controller


@rule("super-users-mapped", each=nodes)
def _super_users_mapped(node: KafkaNode) -> Findings:
    """A certificate's name is mapped before Kafka compares it: a super user by the whole name
    matches no one.
    """
    mappings = {
        str(node.listener_config(one).get("ssl.principal.mapping.rules") or "DEFAULT")
        for one in node.listeners
        if one.encrypted
    }
    if len(mappings) != 1:  # it may be the principal of another listener
        return
    (mapping,) = mappings
    for one in str(node.config.get("super.users") or "").split(";"):
        name = one.strip().partition(":")[2]
        mapped = _mapped(name, mapping) if "=" in name else name
        if mapped != name:
            what = f"super.users has {one.strip()}, which ssl.principal.mapping.rules makes "
            yield Finding(f"{what}{mapped}.", f"Write User:{mapped}.", place(node, "super.users"))


def _mapped(name: str, mapping: str) -> str:
    """Return what the first rule that matches makes of a name; the name if none can be applied."""
    for rule_text in _EACH_RULE.finditer(mapping):
        if rule_text[0] == "DEFAULT" or _NESTED.search(rule_text["pattern"]):
            return name
        try:
            match = re.fullmatch(rule_text["pattern"], name)
            found = match.expand(re.sub(r"\$(\d)", r"\\g<\1>", rule_text["to"])) if match else ""
        except (re.error, IndexError):  # what Java alone can read
            return name
        if match:
            return {"L": found.lower(), "U": found.upper()}.get(rule_text["case"], found)
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


@host_rule("protocol-between-nodes", where="kafka_security")
def _protocol_between_nodes(host: InspectedHost) -> Findings:
    """While nodes are restarted one after the other, those with the old configuration and those
    with the new one talk to each other: both need both listeners, with the same protocols.
    """
    node = host.kafka
    if node is None or not any(found.meta for _, found in host.data()):
        return
    every = (*node.client_listeners, *node.controller_listeners)
    new = {one.name.upper(): one.protocol for one in every}
    old = {name.upper(): protocol for name, protocol in host.found.protocols.items()}
    wanted = {"brokers": node.inter_broker_listener, "controllers": node.controller_listener.name}
    for role, name in host.found.between_nodes.items():
        before, after = name.upper(), wanted[role].upper()
        if any(old.get(one) != new.get(one) for one in (before, after)):
            what = f"Nodes talk to {role} by {before} ({old.get(before)}), and would by {after} "
            what += f"({new.get(after)})."
            fix = "Set kafka_security, kafka_listeners, kafka_inter_broker_listener and "
            fix += "kafka_controller_listener to what the cluster was deployed with; listeners for "
            fix += "clients can be added. To close an open cluster, run secure.yml."
            yield Finding(what, fix)


@host_rule("security-change-differs", where="kafka_secrets_dir")
def _security_change_differs(host: InspectedHost) -> Findings:
    """What nodes listen on while an open cluster is closed follows from the record of secure.yml:
    with an earlier one, or none, clients would lose their listener, or get back one that is closed.
    """
    node, known = host.kafka, host.found.protocols
    if node is None or not known or not any(found.meta for _, found in host.data()):
        return
    change, record = node.change, node.change_record
    lost = [x.name for x in node.former_listeners if x.name not in known] if change else []
    fix = f"Copy {node.secrets.directory} from the control node where secure.yml was run last."
    if change and change.complete and lost:
        what = f"{transition.SECURITY} says that the node has {listing(lost)}, and it does not."
        fix += f" If the cluster was removed since, delete {transition.SECURITY}."
        yield Finding(what, fix)
    ending = record is not None and record.phase == ENDED and not record.complete
    kept = {one.name for one in (*node.client_listeners, *node.controller_listeners)}
    opened = [name for name, one in known.items() if one == "PLAINTEXT" and name not in kept]
    if set(opened) & set(host.found.between_nodes.values()):
        return  # protocol-between-nodes
    if node.is_secured and not change and not ending and opened:
        what = f"The node has the open listener {listing(opened)}, which would be closed."
        yield Finding(what, f"{fix} Run secure.yml to close it.")


@host_rule("authorizer-new", where="kafka_security")
def _authorizer_new(host: InspectedHost) -> Findings:
    """Clients that work now would be denied from the first restart on, and so would nodes whose
    certificates have other names than the super users.
    """
    node = host.kafka
    if node is None or not any(found.meta for _, found in host.data()):
        return
    preset = node.config.get(_AUTHORIZER) and not node.layer_of(_AUTHORIZER)
    if host.found.authorizer == "" and preset and not node.change:
        what = "The node runs without an authorizer, and kafka_security would set one."
        fix = "Set kafka_security: open to leave the cluster as it is, or, in kafka_config, "
        fix += f"{_AUTHORIZER} and, until all clients have grants, "
        fix += "allow.everyone.if.no.acl.found: true."
        yield Finding(what, fix)


@host_rule("authority-differs", where="kafka_secrets_dir")
def _authority_differs(host: InspectedHost) -> Findings:
    """Nodes trust the certificates of a CA: with those of one that they do not trust a node could
    not talk to the others.
    """
    node = host.kafka
    if node is None or not node.keys_are_ours or not node.secrets.authority:
        return
    # While the CA is changed a node may have the phase before, or the one that is gone back from.
    pairs = (
        (host.found.authorities, signing(node.secrets), "does not trust the CA that signs with"),
        (host.found.signed_by, node.secrets.authority, "has a certificate of another CA than"),
    )
    wrong = [how for found, ours, how in pairs if found and not {*found} & {*identities(ours)}]
    if wrong:
        what = f"The node {wrong[0]} {node.secrets.directory}."
        fix = "Copy that directory from the control node that deployed the cluster. If it is lost, "
        fix += "remove Kafka from all nodes, which keeps the data (teardown.yml), and run site.yml."
        yield Finding(what, fix)


def _unreadable_rule(text: str) -> str:
    """Return the text from the first rule that cannot be parsed, empty if all can."""
    rest = text.strip()
    while match := _MAPPING_RULE.match(rest):
        rest = rest[match.end() :].strip()
    return rest
