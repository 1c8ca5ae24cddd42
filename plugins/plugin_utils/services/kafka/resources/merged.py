"""All resources of an inventory, from its variables and from files, as the cluster should have them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from .....module_utils.formats.values import mapping, property_text
from . import KINDS, grants
from .entries import DEFAULT_ENTITY, Entry, ResourceFiles

USERS = "kafka_users"
FURTHER_GRANTS = "further_grants"
"""The key of a user that has its grants of `kafka_grants`, in the form of `grants`."""
CLUSTER_NAME = "kafka-cluster"
"""The name of the one resource of the kind cluster (ResourceNameType, KIP-11)."""
QUOTA_KEYS = (
    "producer_byte_rate",
    "consumer_byte_rate",
    "request_percentage",
    "controller_mutation_rate",
)
CONNECTION_RATE = "connection_creation_rate"
ENTITIES = ("user", "client_id", "ip")
Record = dict[str, Any]


def with_files(settings: Mapping[str, Any], files: ResourceFiles) -> dict[str, Any]:
    """Return a host's settings in which `kafka_users` has the users of files.

    A user's ACLs become exactly its grants, hence each user has those of `kafka_grants`, too, by
    `FURTHER_GRANTS`. They are no part of `grants`, whose rules are others.
    """
    listed = [entry for entry in files.entries if entry.kind == "users"]
    users = [*map(mapping, settings[USERS]), *(entry.values for entry in listed)]
    granted: dict[str, list[grants.Grant]] = {}
    for entry in (*_variable("grants", settings), *files.entries):
        if entry.kind == "grants" and entry.is_present:
            granted.setdefault(grants.principal(entry.values), []).extend(
                grants.grants(entry.values)
            )
    return {
        **settings,
        USERS: [
            {**user, **({FURTHER_GRANTS: further} if further else {})}
            for user in users
            for further in [granted.get(f"{grants.USER}{user.get('name')}")]
        ],
    }


def user_grants(user: Mapping[str, Any], source: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return all grants of a user of `with_files`, in the form of `grants`.

    `source` is the entry that `same_grants_as` names, or else the user itself.
    """
    entries = [source] if source is user else [source, user]
    return [
        *(source.get("grants") or ()),
        *(grant for entry in entries for grant in entry.get(FURTHER_GRANTS) or ()),
    ]


def places(files: ResourceFiles) -> dict[str, list[str]]:
    """Return where the users of files are written, as places of an inventory's variables."""
    listed: dict[str, list[str]] = {}
    for entry in files.entries:
        if entry.kind == "users":
            listed.setdefault(f"{USERS}[{entry.name}]", []).append(entry.where)
    return listed


def _variable(kind: str, settings: Mapping[str, Any]) -> list[Entry]:
    """Return the entries of a variable."""
    variable = KINDS[kind]
    return [
        Entry(kind, mapping(value), f"{variable}[{_label(value, number)}]", variable=variable)
        for number, value in enumerate(settings.get(variable) or ())
    ]


def _label(value: Any, number: int) -> str:
    """Return what an entry is called in the places of an inventory."""
    return str(mapping(value).get("name", number))


def entries(settings: Mapping[str, Any], files: ResourceFiles) -> list[Entry]:
    """Return all entries: those of an inventory's variables, whose users include those of files.

    `settings` are a broker's, after `with_files`; empty without an inventory.
    """
    of_files = {entry.name: entry for entry in files.entries if entry.kind == "users" and settings}
    merged: list[Entry] = []
    for kind in KINDS:
        for entry in _variable(kind, settings):
            # As it is in the file: the settings have grants of other files, too.
            merged.append(of_files.get(entry.name, entry) if kind == "users" else entry)
        if kind != "users" or not settings:
            merged += [entry for entry in files.entries if entry.kind == kind]
    return merged


def resources(
    listed: Iterable[Entry], users: Mapping[str, Mapping[str, Any]]
) -> dict[str, list[Record]]:
    """Return what the module kafka_resources takes, of some entries.

    `users` are those whose ACLs are exact: name -> the module's options of the user. Grants of
    other principals are ACLs of their own.
    """
    result: dict[str, list[Record]] = {
        kind: [] for kind in ("topics", "acls", "users", "quotas", "groups", "client_metrics")
    }
    listed = [*listed]
    named = {entry.name: entry.values for entry in listed if entry.kind == "users"}
    for entry in listed:
        common = {
            "owner": entry.owner,
            "where": entry.where,
            "state": "present" if entry.is_present else "absent",
        }
        if entry.kind == "topics":
            keys = ("name", "partitions", "replication", "confirm")
            topic = {key: entry.values.get(key) for key in keys}
            result["topics"].append({**topic, "config": _config(entry), **common})
        elif entry.kind in ("groups", "client_metrics"):
            record = {"name": entry.name, "config": _config(entry), **common}
            result[entry.kind].append(record)
        elif entry.kind == "quotas":
            result["quotas"].append({**_quota(entry.values), **common})
        elif entry.kind == "grants":
            principal = grants.principal(entry.values)
            if grants.user(entry.values) not in users:
                result["acls"] += [{**acl, **common} for acl in acls(entry)]
        elif entry.kind == "users":
            if entry.name in users:
                result["users"].append({**users[entry.name], **common})
            elif not users:  # no passwords: a login without an inventory
                source = named.get(str(entry.values.get("same_grants_as")), entry.values)
                shared = user_grants(source, source)
                principal = grants.principal({"user": entry.name})
                result["acls"] += [{**acl, **common} for acl in _acls(principal, shared)]
            if entry.values.get("quotas"):
                quota = {**mapping(entry.values["quotas"]), "user": entry.name}
                result["quotas"].append({**_quota(quota), **common})
    return result


def _config(entry: Entry) -> dict[str, str]:
    """Return the properties of an entry as Kafka reads them: lists with commas, true and false."""
    texts: dict[str, str] = {}
    for key, value in mapping(entry.values.get("config")).items():
        listed = isinstance(value, (list, tuple))
        text = ",".join(map(str, value)) if listed else property_text(value)
        texts[str(key)] = "" if text is None else text
    return texts


def _quota(values: Mapping[str, Any]) -> Record:
    """Return a quota with its entity as the module takes it."""
    return {
        "entity": {
            kind: None if values[kind] == DEFAULT_ENTITY else str(values[kind])
            for kind in ENTITIES
            if values.get(kind) is not None
        },
        "values": {
            key: float(values[key])
            for key in (*QUOTA_KEYS, CONNECTION_RATE)
            if values.get(key) is not None
        },
    }


def acls(entry: Entry) -> Iterator[Record]:
    """Yield the ACLs of an entry of grants."""
    return _acls(grants.principal(entry.values), grants.grants(entry.values))


def _acls(principal: str, granted: Iterable[Mapping[str, Any]]) -> Iterator[Record]:
    for grant in granted:
        kind = next((key for key in (*grants.RESOURCES, "cluster") if grant.get(key)), "")
        for operation in grant.get("operations") or () if kind else ():
            yield {
                "principal": principal,
                "resource": kind,
                "name": CLUSTER_NAME if kind == "cluster" else str(grant[kind]),
                "pattern": grant.get("pattern") or "literal",
                "operation": operation,
                "permission": grant.get("permission") or "allow",
                "host": grant.get("host") or "*",
            }
