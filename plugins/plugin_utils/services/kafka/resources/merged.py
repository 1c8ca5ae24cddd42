"""All resources of an inventory, from its variables and from files, as the cluster should have them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from .....module_utils.formats.values import mapping, property_text
from . import KINDS, grants
from .entries import DEFAULT_ENTITY, Entry, ResourceFiles

USERS = "kafka_users"
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
    """Return a host's settings in which `kafka_users` has the users of files, and all grants.

    A user's ACLs become exactly its grants, hence those of `kafka_grants` belong to them.
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
        USERS: [_granted(user, granted.get(f"User:{user.get('name')}", ())) for user in users],
    }


def _granted(user: Mapping[str, Any], further: Sequence[grants.Grant]) -> dict[str, Any]:
    if not further or user.get("same_grants_as") is not None:
        return {**user}
    return {**user, "grants": [*(user.get("grants") or ()), *further]}


def places(files: ResourceFiles) -> dict[str, str]:
    """Return where the users of files are written, as places of an inventory's variables."""
    return {
        f"{USERS}[{entry.name}]": entry.where for entry in files.entries if entry.kind == "users"
    }


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
            if principal.partition(":")[2] not in users:
                result["acls"] += [
                    {**acl, **common} for acl in _acls(principal, grants.grants(entry.values))
                ]
        elif entry.kind == "users":
            if entry.name in users:
                result["users"].append({**users[entry.name], **common})
            elif not users:  # no passwords: a login without an inventory
                own = grants.principal({"user": entry.name})
                given = [mapping(grant) for grant in entry.values.get("grants") or ()]
                result["acls"] += [{**acl, **common} for acl in _acls(own, given)]
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


def _acls(principal: str, given: Iterable[Mapping[str, Any]]) -> Iterable[Record]:
    """Yield the ACLs of grants."""
    for grant in given:
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
