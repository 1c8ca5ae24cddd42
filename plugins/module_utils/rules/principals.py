"""The rules about who connects: principals, super users, and connections without a name."""

from __future__ import annotations

import re

from ..model.cluster import Cluster
from ..model.kafka import KafkaNode
from ..model.security import AUTHORIZER
from ..model.values import is_true, listing
from .engine import Finding, Findings, rule
from .shared import nodes, nodes_as_written, place

_PRINCIPAL_PER_COMMA = ",User:"
_ANONYMOUS = "User:ANONYMOUS"
_MAPPING_RULE = re.compile(r"(?:DEFAULT|RULE:(?:\\.|[^\\/])*/(?:\\.|[^\\/])*/[LU]?)\s*(?:,|\n|$)")
_NESTED = re.compile(r"[*+}]\)[*+{]")  # which may take for ever
_EACH_RULE = re.compile(
    r"DEFAULT|RULE:(?P<pattern>(?:\\.|[^\\/])*)/(?P<to>(?:\\.|[^\\/])*)/(?P<case>[LU]?)"
)


@rule("super-users-missing", each=nodes)
def _super_users_missing(node: KafkaNode) -> Findings:
    """Nobody could grant the first permission, and brokers could not talk to each other."""
    if node.config.get(AUTHORIZER) and not node.config.get("super.users"):
        where = place(node, AUTHORIZER)
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
    if not node.config.get(AUTHORIZER) or not users or not names or everybody or node.is_secured:
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
        if node.config.get(AUTHORIZER) and known and missing:
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


def _unreadable_rule(text: str) -> str:
    """Return the text from the first rule that cannot be parsed, empty if all can."""
    rest = text.strip()
    while match := _MAPPING_RULE.match(rest):
        rest = rest[match.end() :].strip()
    return rest
