"""The rules about what lives in the cluster: topics, grants, quotas, and who may claim them."""

from __future__ import annotations

import ipaddress
import itertools
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from .....module_utils.formats.values import integer, listing, mapping, property_text, sequence
from .....module_utils.kafka import canary
from ....cluster.cluster import Cluster
from ....cluster.registry import KAFKA_USERS
from ....rules.engine import Finding, Findings, rule
from ....services.connect.model import internal_topics, leader_transactional_id
from ....services.schema_registry import model as schema_registry
from ..resources import grants, merged
from ..resources.entries import DEFAULT_ENTITY, Entry, FileProblem, Team
from ..resources.files import LONGEST
from ..security import NODES
from .principals import super_users
from .users import HOST_FIX, wrong_grants, wrong_host, wrong_name

_TOPIC = re.compile(r"[A-Za-z0-9._-]{1,249}")  # Topic.LEGAL_CHARS and its longest name
_TYPE = re.compile("[A-Za-z]+")
_PATTERN = re.compile(r"[*?\[\]{}()|^$\\]")
_INTERNAL = "__"
_MILLRACE = ("_schemas", "millrace-", NODES, *sorted(KAFKA_USERS))
_THROTTLES = (
    "follower.replication.throttled.replicas",
    "leader.replication.throttled.replicas",
)
_MOST = {"replication": 2**15 - 1, "partitions": 2**31 - 1}
"""The largest numbers in CreateTopics; a client sends nothing with a larger one, and waits."""
_RATES = "Set a number above 0, or delete the entry and give it state: absent."


def _entries(*kinds: str) -> Callable[[Cluster], Iterator[tuple[str, Cluster, list[Entry]]]]:
    """Return what gives a rule the entries of some kinds, or of all."""

    def each(cluster: Cluster) -> Iterator[tuple[str, Cluster, list[Entry]]]:
        listed = [entry for entry in cluster_entries(cluster) if not kinds or entry.kind in kinds]
        if listed:
            yield "", cluster, listed

    return each


def cluster_entries(cluster: Cluster) -> list[Entry]:
    """Return all resources of an inventory; without brokers those of files alone."""
    broker = next(iter(cluster.brokers), None)
    return merged.entries(broker.settings if broker else {}, cluster.inventory.resource_files)


def _file_problems(cluster: Cluster) -> Iterator[tuple[str, FileProblem]]:
    return (("", problem) for problem in cluster.inventory.resource_files.problems)


@rule("resource-file", each=_file_problems)
def _resource_file(problem: FileProblem) -> Findings:
    """What such a file says would be lost, or taken for something else."""
    yield Finding(problem.problem, problem.fix, problem.where)


@rule("resource-directory", where="kafka_resources_dir")
def _resource_directory(cluster: Cluster) -> Findings:
    """Ansible reads all files of an inventory's directory, and below it, as hosts and groups."""
    directory, inventory = cluster.inventory.resource_files.directory, cluster.inventory.directory
    if directory and inventory and f"{directory}/".startswith(f"{inventory}/"):
        problem = f"{directory} is in the directory of the inventory."
        yield Finding(problem, "Move it beside that directory.")


def service_topics(cluster: Cluster) -> list[str]:
    """Return the topics that Millrace and its services keep."""
    topics = [canary.TOPIC]
    topics += [topic for group in _groups(cluster) for topic in internal_topics(group).values()]
    return topics + list(schema_registry.topics(1) if cluster.schema_registry else ())


def _groups(cluster: Cluster) -> list[str]:
    """Return the groups of workers of Kafka Connect."""
    return sorted({worker.group for worker in cluster.connect.values()})


def _teams(cluster: Cluster) -> Iterator[tuple[str, Cluster, list[Team]]]:
    teams = [*cluster.inventory.resource_files.teams.values()]
    if teams:
        yield "", cluster, teams


@rule("team-prefix", each=_teams, where="teams in platform.yml")
def _team_prefix(cluster: Cluster, teams: list[Team]) -> Findings:
    """A team could change what belongs to another one, or to Millrace itself."""
    pairs = [(team.name, prefix) for team in teams for prefix in team.prefixes]
    for (team, prefix), (other, longer) in itertools.permutations(pairs, 2):
        shorter, name = (text.replace("_", ".") for text in (prefix, longer))
        if team == other or not name.startswith(shorter) or (name == shorter and team > other):
            continue
        problem = f"The prefix {longer} of {other} begins with {prefix} of {team}"
        if not longer.startswith(prefix):
            problem += ", since Kafka's metrics have _ for a dot"
        fix = "Choose prefixes of which none is the beginning of another."
        yield Finding(f"{problem}.", fix)
    groups = _groups(cluster)
    services = [*service_topics(cluster), *groups, *map(leader_transactional_id, groups)]
    for team, prefix in pairs:
        taken = [
            name
            for name in dict.fromkeys((_INTERNAL, *_MILLRACE, *services))
            if name.startswith(prefix) or (name.endswith(("_", "-")) and prefix.startswith(name))
        ]
        if taken:
            problem = f"The prefix {prefix} of {team} takes in {listing(taken)}, "
            problem += "which Millrace or Kafka uses."
            yield Finding(problem, "Choose another prefix.")


@rule("resource-prefix", each=_entries())
def _resource_prefix(cluster: Cluster, entries: list[Entry]) -> Findings:
    """A team's file may claim only what begins with a prefix that platform.yml gives the team."""
    powerful = _powerful_users(cluster)
    for entry in entries:
        team = entry.team
        if team is None or team.name not in cluster.inventory.resource_files.teams:
            continue  # resource-file
        for kind, name in _claims(entry):
            if not team.owns(name):
                problem = f"The {kind} {name!r} is none of {team.name}."
                prefixes = listing(team.prefixes, "or") or "a prefix, which it has none of"
                fix = (
                    f"Choose a name that begins with {prefixes}, or ask the owner of platform.yml."
                )
                yield Finding(problem, fix, entry.where)
        for privilege in _forbidden(entry, team):
            problem = f"The file of {team.name} has {privilege}."
            yield Finding(problem, "Move it to platform.yml.", entry.where)
        if entry.kind == "users" and entry.name in powerful:
            problem = f"{entry.name} is a super user, or the user of a service."
            yield Finding(problem, "Choose another name.", entry.where)


def _powerful_users(cluster: Cluster) -> set[str]:
    """Return the users that may do more than their entry says."""
    by_name = {name for node in cluster.kafka.values() for _, name in super_users(node)}
    services = {user.name for node in cluster.brokers for user in node.security.job_users}
    return by_name | services | KAFKA_USERS


def _claims(entry: Entry) -> Iterator[tuple[str, str]]:
    """Yield the names that an entry claims, each after the kind of what it names."""
    values = entry.values
    if entry.kind in ("topics", "users", "groups"):
        yield {"topics": "topic", "users": "user", "groups": "group"}[entry.kind], entry.name
    elif entry.kind == "quotas" and values.get("user"):
        yield "user", str(values["user"])
    for grant in _granted(entry):
        for kind in (*grants.RESOURCES, "prefix"):
            if grant.get(kind):
                yield kind.replace("_", " "), str(grant[kind])


def _granted(entry: Entry) -> Iterator[Mapping[Any, Any]]:
    """Yield what an entry grants, as it is written."""
    if entry.kind == "grants":
        yield entry.values
    elif entry.kind == "users":
        yield from map(mapping, sequence(entry.values.get("grants")))


def _forbidden(entry: Entry, team: Team) -> Iterator[str]:
    """Yield what only the platform's file may have, of an entry in a team's file."""
    values = entry.values
    if entry.kind == "client_metrics":
        yield "a subscription to metrics, which asks clients of all teams"
    if entry.kind == "quotas" and not values.get("user"):
        yield "a quota of no user"
    limits = entry.kind == "quotas" or bool(mapping(values.get("quotas")))
    if limits and not team.may_set_quotas:
        yield "quotas, which platform.yml does not leave to it (quotas: true)"
    if any(grant.get("cluster") for grant in _granted(entry)):
        yield "a grant of the cluster"
    if values.get("same_grants_as"):
        yield "same_grants_as, which copies what others have granted"
    if entry.kind == "grants":
        user = grants.user(values)
        if user == "*":
            yield "a grant for everybody"
        elif values.get("permission") == "deny" and not team.owns(user):
            yield f"a denial for {grants.principal(values)}, which is no user of {team.name}"


@rule(
    "resource-duplicate",
    each=_entries("topics", "groups", "client_metrics", "quotas", "users", "grants"),
)
def _resource_duplicate(cluster: Cluster, entries: list[Entry]) -> Findings:
    """Each of both would undo what the other one says."""
    first: dict[tuple[Any, ...], Entry] = {}
    for entry in entries:
        for kind, *key in _identities(entry, with_users=not cluster.kafka):
            other = first.setdefault((kind, *key), entry)
            if other is not entry:
                name = " ".join(str(part) for part in key if part is not None)
                problem = f"{name} of {kind} is also at {other.where} ({other.owner})."
                yield Finding(problem, "Keep one entry.", entry.where)
    by_acl: dict[tuple[Any, ...], Entry] = {}
    contradicted: set[str] = set()
    for entry in entries:
        for acl in merged.acls(entry) if entry.kind == "grants" else ():
            other = by_acl.setdefault(tuple(acl.values()), entry)
            if other.is_present != entry.is_present and entry.where not in contradicted:
                contradicted.add(entry.where)
                problem = f"The grant of {acl['operation']} on the {acl['resource']} {acl['name']} "
                problem += f"to {acl['principal']} is {entry.values['state']}, and "
                problem += f"{other.values['state']} at {other.where} ({other.owner})."
                yield Finding(problem, "Keep one entry.", entry.where)


def _identities(entry: Entry, *, with_users: bool) -> Iterator[tuple[str | None, ...]]:
    """Yield what only one entry may be about: the kind, and the name or a quota's entity.

    Users have a rule of their own (user-duplicate), where there are nodes.
    """
    if entry.kind == "quotas":
        entity = (entry.values.get(kind) for kind in merged.ENTITIES)
        yield ("quotas", *(None if name is None else str(name) for name in entity))
    elif entry.kind == "users":
        if mapping(entry.values.get("quotas")):
            yield "quotas", entry.name, None, None
        if with_users:
            yield entry.kind, entry.name
    elif entry.kind != "grants":
        yield entry.kind, entry.name


@rule("topic-name", each=_entries("topics"))
def _topic_name(cluster: Cluster, entries: list[Entry]) -> Findings:
    """Kafka has no topic of such a name, or it or a service keeps its own state in it."""
    of_services = service_topics(cluster)
    for entry in entries:
        name = entry.name
        if name in (".", "..") or not _TOPIC.fullmatch(name):
            problem = f"{name!r} is no name of a topic."
            fix = "Use letters, digits, dot, underscore and hyphen, 249 of them at most."
            if _PATTERN.search(name):
                fix = "Name each topic; patterns are for grants (pattern: prefixed)."
            yield Finding(problem, fix, entry.where)
        elif name.startswith(_INTERNAL):
            problem = f"{name} is a topic of Kafka itself."
            yield Finding(problem, "Set its properties in kafka_config.", entry.where)
        elif name in of_services:
            problem = f"{name} is a topic that Millrace or one of its services keeps."
            yield Finding(problem, "Delete the entry, or choose another name.", entry.where)


@rule("topic-collision", each=_entries("topics"))
def _topic_collision(_: Cluster, entries: list[Entry]) -> Findings:
    """Kafka's metrics have _ for a dot: it refuses a topic whose name differs in those alone."""
    first: dict[str, Entry] = {}
    for entry in entries:
        other = first.setdefault(entry.name.replace(".", "_"), entry)
        if other.name != entry.name:
            problem = f"{entry.name} collides with {other.name} ({other.where})."
            yield Finding(
                problem, "Rename one of both, with dots or with underscores.", entry.where
            )


@rule("topic-replication", each=_entries("topics"))
def _topic_replication(cluster: Cluster, entries: list[Entry]) -> Findings:
    """Kafka refuses more replicas than brokers, and producers would be refused with fewer replicas
    than must be in sync.
    """
    brokers = len(cluster.brokers)
    for entry in entries:
        replication, partitions = entry.values.get("replication"), entry.values.get("partitions")
        config = mapping(entry.values.get("config"))
        if replication is not None and brokers and replication > brokers:
            problem = f"{entry.name} needs {replication} replicas, and there are {brokers} brokers."
            yield Finding(problem, f"Set replication: {brokers}, or add brokers.", entry.where)
        for key, value in (("replication", replication), ("partitions", partitions)):
            if value is not None and not 1 <= value <= _MOST[key]:
                problem = f"{key} of {entry.name} is {value}."
                fix = f"Set 1 to {_MOST[key]}, or delete it for the default."
                yield Finding(problem, fix, entry.where)
        min_isr = integer(config.get("min.insync.replicas"))
        if replication is not None and min_isr is not None and min_isr > replication >= 1:
            problem = f"{entry.name} has min.insync.replicas {min_isr} and {replication} replicas."
            yield Finding(problem, f"Set it to {max(1, replication - 1)}.", entry.where)


@rule("topic-config", each=_entries("topics", "groups", "client_metrics"))
def _topic_config(_: Cluster, entries: list[Entry]) -> Findings:
    """A property has one value; an empty one would be sent as it is."""
    for entry in entries:
        for key, value in mapping(entry.values.get("config")).items():
            parts = sequence(value) if isinstance(value, (list, tuple)) else [value]
            text = f"{key} of {entry.name}"
            if not str(key).isprintable():
                yield Finding(f"{key!r} is no property.", "Correct it.", entry.where)
            elif any(part is None or isinstance(part, (Mapping, list, tuple)) for part in parts):
                problem = f"{text} has {'no value' if value is None else 'parts of its own'}."
                fix = "Set a value or a list of values, or delete it for the default."
                yield Finding(problem, fix, entry.where)
            elif not all(str(part).isprintable() for part in parts):
                problem = f"{text} has characters that cannot be seen."
                yield Finding(problem, "Delete them.", entry.where)
            elif len((property_text(value) or "").encode(errors="replace")) > LONGEST:
                problem = f"{text} has more than {LONGEST} bytes, Kafka's limit."
                yield Finding(problem, "Shorten it.", entry.where)
            elif key in _THROTTLES and entry.kind == "topics":
                problem = f"{text} belongs to reassignments, which delete it at their end."
                yield Finding(problem, "Delete it.", entry.where)


@rule("grant-incomplete", each=_entries("grants", "users"))
def _grant_incomplete(cluster: Cluster, entries: list[Entry]) -> Findings:
    """Kafka would refuse it, grant something else than was meant, or nobody would have it."""
    programs = {user.name for node in cluster.brokers for user in node.security.users}
    programs -= {entry.name for entry in entries if entry.kind == "users"}
    named = {entry.name: entry for entry in entries if entry.kind == "users"}
    for entry in entries:
        if entry.kind == "users":
            # With nodes they are in kafka_users, which has rules of its own.
            for finding in () if cluster.kafka else _wrong_user(cluster, entry, named):
                yield Finding(finding.what, finding.fix, entry.where)
            continue
        for problem, fix in _wrong_grant(entry.values):
            yield Finding(problem, fix, entry.where)
        if entry.is_present and (user := grants.user(entry.values)) in programs:
            problem = (
                f"{user} is the user of a service, a connector or a job, which has its grants."
            )
            yield Finding(problem, "Add the grant there.", entry.where)


def _wrong_user(cluster: Cluster, entry: Entry, named: Mapping[str, Entry]) -> Findings:
    """Yield what the rules of kafka_users refuse where there are nodes."""
    if problem := wrong_name(cluster, entry.name):
        yield Finding(f"{entry.name!r} {problem}.", "Choose another name.")
    yield from wrong_grants(entry.name, _granted(entry))
    source = entry.values.get("same_grants_as")
    if source is not None and source not in named:
        yield Finding(f"{entry.name} has the grants of {source}, which is no user.", "Correct it.")


def _wrong_grant(values: Any) -> Iterator[tuple[str, str]]:
    role, user, principal = (values.get(key) for key in ("role", "user", "principal"))
    label = f"The grant of {grants.principal(values) or 'nobody'}"
    kind, _, name = str(principal).partition(":")
    if bool(user) == bool(principal):
        yield f"{label} has {'both' if user else 'neither'} user and principal.", "Set user."
    elif principal and not (_TYPE.fullmatch(kind) and name and name == name.strip()):
        fix = f"Set user: {(name or kind).strip()}, or <type>:<name> without blanks."
        yield f"{principal} is no principal.", fix
    elif principal and kind != "User" and kind.lower() == "user":
        yield f"{principal} is no user: the type of users is User.", f"Set user: {name}."
    if bool(role) == bool(values.get("operations")):
        problem = f"{label} has {'both a role' if role else 'neither a role'} and operations."
        yield problem, f"Set role to one of {listing(grants.ROLES, 'or')}, or operations."
    elif role:
        yield from _wrong_role(label, str(role), values)
    else:
        yield from _wrong_operations(label, values)
    yield from _wrong_names(label, values)


def _wrong_role(label: str, role: str, values: Any) -> Iterator[tuple[str, str]]:
    needed = grants.NEEDED[role]
    if not values.get(needed):
        yield f"{label} has the role {role} and no {needed}.", f"Set {needed}."
    allowed = {needed} if role == "admin" else {*grants.ROLES[role]}
    unused = [
        key
        for key in (*grants.RESOURCES, "prefix", "cluster")
        if values.get(key) and key not in allowed
    ]
    if unused:
        yield (
            f"{label} has the role {role}, which means nothing for {listing(unused)}.",
            ("Write an entry for each role."),
        )
    if role == "admin" and values.get("pattern") == "literal":
        yield f"{label} is for a prefix with pattern: literal.", "Delete pattern."
    if problem := wrong_host(str(values.get("host") or "*")):
        yield f"{label} is for the host {values['host']}, {problem}", HOST_FIX


def _wrong_operations(label: str, values: Any) -> Iterator[tuple[str, str]]:
    if values.get("prefix"):
        yield f"{label} has a prefix without role: admin.", "Set topic and pattern: prefixed."
    # An asterisk has a rule of its own here.
    named = {key: str(values[key]).replace("*", "x") for key in grants.RESOURCES if values.get(key)}
    for finding in wrong_grants(grants.principal(values), [{**values, **named}]):
        yield finding.what, finding.fix


def _wrong_names(label: str, values: Any) -> Iterator[tuple[str, str]]:
    keys = (*grants.RESOURCES, "prefix", "user", "principal")
    for key, name in ((key, str(values[key])) for key in keys if values.get(key)):
        if not name.isprintable():
            yield f"{label} has characters in {key} that cannot be seen.", "Delete them."
        everything = name == "*" or (key == "principal" and name.endswith(":*"))
        if everything and not values.get("wildcard"):
            yield f"{label} is for every {key}.", "Name it, or confirm that with wildcard: true."
        elif not everything and name.endswith("*") and not values.get("pattern"):
            problem = f"{label} is for the {key} {name}, in which * is a letter."
            yield problem, f"Set {name.rstrip('*')} and pattern: prefixed, or pattern: literal."
    if values.get("wildcard") and not any(str(values.get(key, "")).endswith("*") for key in keys):
        yield f"{label} has wildcard: true and no asterisk.", "Delete wildcard."
    if values.get("cluster") and values.get("pattern") == "prefixed":
        yield f"{label} is for the cluster with a pattern.", "Delete pattern: there is one cluster."


@rule("grant-unknown-user", each=_entries("grants"), severity="warning")
def _grant_unknown_user(cluster: Cluster, entries: list[Entry]) -> Findings:
    """Nobody can log in as a user that no list has, unless another tool makes it."""
    node = next(iter(cluster.brokers), None)
    if node is None:
        return
    present = {user.name for user in node.security.users if user.present}
    for entry in entries:
        user = grants.user(entry.values).strip()
        if user and entry.is_present and user not in (*present, "*"):
            yield Finding(f"There is no user {user}.", "Add it to kafka_users.", entry.where)


@rule("quota-entity", each=_entries("quotas", "users"))
def _quota_entity(_: Cluster, entries: list[Entry]) -> Findings:
    """Kafka limits a user, a client id, both, or an address, each by keys of its own."""
    for entry in entries:
        if entry.kind == "quotas":
            values: Any = entry.values
        else:
            values = {**mapping(entry.values.get("quotas")), "user": entry.name}
            if values == {"user": entry.name}:
                continue
        for problem, fix in _wrong_quota(values, present=entry.is_present):
            yield Finding(problem, fix, entry.where)


def _wrong_quota(values: Any, *, present: bool) -> Iterator[tuple[str, str]]:
    entity = {kind: str(values[kind]) for kind in merged.ENTITIES if values.get(kind) is not None}
    label = "The quota of " + (
        " ".join(f"{kind} {name}" for kind, name in entity.items()) or "nobody"
    )
    if not all(entity.values()) or not entity:
        yield f"{label} is for nobody.", f"Set user, client_id or ip, or {DEFAULT_ENTITY}."
    if not all(name.isprintable() for name in entity.values()):
        yield f"{label} has a name with characters that cannot be seen.", "Delete them."
    if "ip" in entity and len(entity) > 1:
        yield f"{label} is for an address and a client.", "Write an entry for each."
    if entity.get("ip", DEFAULT_ENTITY) != DEFAULT_ENTITY and not _is_address(entity["ip"]):
        yield f"{entity['ip']} is no address.", "Set an IP address."
    keys = (merged.CONNECTION_RATE,) if "ip" in entity else merged.QUOTA_KEYS
    limits = {
        key: values[key]
        for key in (*merged.QUOTA_KEYS, merged.CONNECTION_RATE)
        if values.get(key) is not None
    }
    if other := [key for key in limits if key not in keys]:
        yield f"{label} has {listing(other)}, which it cannot have.", f"Use {listing(keys, 'or')}."
    if present and not limits:
        yield f"{label} has no limit.", f"Set {listing(keys, 'or')}, or state: absent."
    for key, value in limits.items():
        if not 0 < float(value) < float("inf"):
            yield f"{key} of {label[0].lower()}{label[1:]} is {value}.", _RATES


def _is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


@rule("group-name", each=_entries("groups", "client_metrics"))
def _group_name(_: Cluster, entries: list[Entry]) -> Findings:
    """Such a name cannot be seen as it is, or is none."""
    for entry in entries:
        if not entry.name.strip() or not entry.name.isprintable():
            problem = f"{entry.name!r} is no name of {entry.kind.replace('_', ' ')}."
            yield Finding(problem, "Choose another name.", entry.where)
