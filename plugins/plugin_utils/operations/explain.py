"""Where each Kafka property of a host comes from, and what a change of `kafka_config` would do."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping, Sequence
from typing import Any

from ...module_utils.formats import key_table
from ...module_utils.formats.properties import parse_or_empty
from ...module_utils.formats.values import mapping, property_text
from ...module_utils.host.files import Change, Found, entries_of, plan
from ...module_utils.kafka.configs import Setting
from ...module_utils.operations import dynamic_config
from ..cluster import cluster as model
from ..cluster import files
from ..cluster.cluster import Cluster
from ..cluster.inventory import HostVariables
from ..rules.catalogue import RULES
from ..rules.engine import Problem, check_cluster
from ..services.kafka.node import SERVER_PROPERTIES, KafkaNode
from ..services.kafka.profiles import PROFILES

CHANGED_LAYER = "kafka_config"
DEFAULT_LAYER = "Kafka's default"
EFFECTS = ("restart", "dynamic", "nothing", "refused")
Data = dict[str, Any]
_HIDDEN = "(hidden)"
_SECRET = re.compile(r"password|secret|passphrase|token|credential|jaas\.config")


def shown(key: str, value: Any, table: key_table.Table) -> str | None:
    """Return a value to show; a secret is hidden unless Kafka itself reads it elsewhere."""
    written = property_text(value)
    if written is None or re.fullmatch(r"\$\{[^}]*\}", written):
        return written
    entry = table.get(key_table.table_key(key))
    secret = entry["type"] == "password" if entry else _SECRET.search(key.lower())
    return _HIDDEN if secret and written else written


def answers(node: KafkaNode, contains: str = "") -> dict[str, Data]:
    """Return where each property of a host comes from, by key in order.

    An answer has `value`, `layer`, `why`, `overrides` (the earlier layers' values), Kafka's
    `default` and its `update` mode, empty for a key that Kafka's table does not have. Values are as
    the properties file holds them, None where there is none. With `contains` only keys that contain
    it, those that nobody sets included.
    """
    keys = {key for layer in node.layers.values() for key in layer}
    if contains:
        keys = {key for key in keys | set(node.table) if contains in key}
    return {key: _answer(node, key) for key in sorted(keys)}


def _answer(node: KafkaNode, key: str) -> Data:
    table = node.table
    entry = table.get(key_table.table_key(key), {})
    default = shown(key, entry.get("default"), table)
    layers = [
        {"layer": name, "value": shown(key, layer[key], table)}
        for name, layer in node.layers.items()
        if key in layer
    ]
    ruling = layers[-1] if layers else {"layer": DEFAULT_LAYER, "value": default}
    return {
        **ruling,
        "why": _why(node, key, str(ruling["layer"])),
        "overrides": layers[:-1][::-1],
        "default": default,
        "update": entry.get("update") or "",
    }


def _why(node: KafkaNode, key: str, layer: str) -> str:
    if layer == "profile":
        return PROFILES[node.settings["kafka_profile"]].settings[key].why
    if layer == "topology":
        return "follows from the number of brokers"
    owner = node.owned.get(key) if layer == "owned" else None
    return f"set by {owner}" if owner else ""


def effects(cluster: Cluster, changes: Mapping[str, Any]) -> dict[str, dict[str, Data]]:
    """Return what setting these keys together in `kafka_config` would do: host -> key -> effect.

    Its `kind` is one of `EFFECTS` and says what `site.yml` does, as far as no broker refuses a
    value, and `why`; `before`, `after` and `update` are as in an answer, `written` says whether
    server.properties changes, and `notes` are the warnings of the rules.
    """
    problems = _problems_of(cluster, changes)
    outcome: dict[str, dict[str, Data]] = {name: {} for name in cluster.kafka}
    for key, value in changes.items():
        changed = _with(cluster, {}, {key: value})
        for name, node in cluster.kafka.items():
            outcome[name][key] = _effect(node, changed.kafka[name], key, value, problems)
    return outcome


def _effect(
    node: KafkaNode,
    changed: KafkaNode,
    key: str,
    value: Any,
    problems: Sequence[tuple[Problem, frozenset[str]]],
) -> Data:
    now = _answer(node, key)
    names = list(node.layers)
    later = [name for name in names[names.index(CHANGED_LAYER) + 1 :] if key in node.layers[name]]
    messages: dict[str, list[str]] = {"error": [], "warning": []}
    for problem, causes in problems:
        if key in causes and (not problem.hosts or node.name in problem.hosts):
            text = f"{problem.what} {problem.fix} [{problem.rule}]"
            messages[problem.severity].append(text)
    refusals = messages["error"]
    written = False
    if refusals:
        kind, why = "refused", " ".join(refusals)
    else:
        changes = _file_changes(node, changed)
        written = any(
            change.entry.path == SERVER_PROPERTIES and change.content for change in changes
        )
        kind = _kind(node, changed, key, changes)
        why = _kind_reason(node, key, kind, now, later)
    return {
        "before": now["value"],
        "after": now["value"] if later and not refusals else shown(key, value, node.table),
        "kind": kind,
        "why": why,
        "update": now["update"],
        "written": written,
        "notes": messages["warning"],
    }


def _file_changes(node: KafkaNode, changed: KafkaNode) -> list[Change]:
    """Return what the module `service` would change on a host that has a node's files."""
    former = {entry.path: entry for entry in entries_of(node.state["files"])}

    def read(path: str) -> Found:
        entry = former.get(path)
        if entry is None or entry.state == "absent":
            return Found()
        attributes = {
            key: getattr(entry, key) for key in ("content", "mode", "owner", "group", "target")
        }
        return Found(entry.state, **attributes)

    return plan(entries_of(changed.state["files"]), read)


def _kind(node: KafkaNode, changed: KafkaNode, key: str, changes: Sequence[Change]) -> str:
    """Return what `site.yml` does: it marks the node, alters the running broker, or neither."""
    if any(change.needs_restart for change in changes):
        return "restart"
    online = dynamic_config.plan(
        changed.dynamic_keys, _server_properties(changed), {key: _setting(node, key)}
    )
    return "dynamic" if key in online.keys else "nothing"


def _setting(node: KafkaNode, key: str) -> Setting:
    """Return a key as a broker has it that was started with the node's file."""
    entry = node.table.get(key_table.table_key(key), {})
    static, default = _server_properties(node).get(key), entry.get("default")
    value = default if static is None else static
    return Setting(entry.get("type") or "", value, None, value, static, default)


def _server_properties(node: KafkaNode) -> dict[str, str]:
    return parse_or_empty(files.properties(node.config))


def _kind_reason(node: KafkaNode, key: str, kind: str, now: Data, later: Sequence[str]) -> str:
    """Return why a legal value has its effect."""
    if kind == "nothing":
        if later:
            return f"{later[-1]} sets it on this host"
        if now["layer"] == DEFAULT_LAYER:
            return "Kafka's default is the same"
        return f"the same value, now from {now['layer']}"
    update = now["update"]
    if not node.table:
        return "there is no key table of this Kafka version"
    if not update:
        return "a plug-in reads it; Kafka's table does not say how it is updated"
    if kind == "dynamic" or update == "read-only":
        return f"update mode {update}"
    actor = "Millrace" if node.is_broker else "a controller that is no broker"
    how = "restarts for it" if node.is_broker else "reads it at its start alone"
    return f"update mode {update}, but {actor} {how}"


def _problems_of(
    cluster: Cluster, changes: Mapping[str, Any]
) -> list[tuple[Problem, frozenset[str]]]:
    """Return the problems that the inventory has only with the changes, each with its causes."""
    without = {_identity(problem) for problem in _problems_with(cluster, changes, {})}
    return [
        (problem, _causes(problem, changes))
        for problem in _problems_with(cluster, changes, changes)
        if _identity(problem) not in without
    ]


def _identity(problem: Problem) -> tuple[str, str, tuple[str, ...]]:
    return problem.rule, problem.what, problem.hosts


def _causes(problem: Problem, changes: Mapping[str, Any]) -> frozenset[str]:
    """Return the changed keys that a problem names, all of them where it names none."""
    for text in (problem.where, f"{problem.what} {problem.fix}"):
        named = frozenset(
            key for key in changes if re.search(rf"(?<![\w.]){re.escape(key)}(?![.]?\w)", text)
        )
        if named:
            return named
    return frozenset(changes)


def _problems_with(
    cluster: Cluster, drop: Mapping[str, Any], add: Mapping[str, Any]
) -> list[Problem]:
    """Return the problems of a cluster whose `kafka_config` lost some keys and gained others."""
    return check_cluster(RULES, _with(cluster, drop, add))


def _with(cluster: Cluster, drop: Mapping[str, Any], add: Mapping[str, Any]) -> Cluster:
    """Return a cluster whose `kafka_config` lost some keys and gained others."""
    inventory = cluster.inventory
    hosts = {
        name: _changed(host, drop, add) if name in cluster.kafka else host
        for name, host in inventory.hosts.items()
    }
    facts = {name: host.facts for name, host in cluster.hosts.items() if host.facts is not None}
    return model.resolve(dataclasses.replace(inventory, hosts=hosts), facts)


def _changed(host: HostVariables, drop: Mapping[str, Any], add: Mapping[str, Any]) -> HostVariables:
    config = mapping(host.variables.get(CHANGED_LAYER))
    remaining = {key: value for key, value in config.items() if key not in drop}
    return dataclasses.replace(
        host, variables={**host.variables, CHANGED_LAYER: {**remaining, **add}}
    )


def explain(
    cluster: Cluster, contains: str = "", changes: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Return all that is known, as plain data.

    `hosts` is host -> version, mode, profile, roles, `properties` (key -> answer), `changes`
    (key -> effect) and `unresolved` (variable or file -> why it is left out); `changes` is
    key -> kind -> hosts; `ports` is host -> what its services listen on, all hosts included.
    """
    changes, written = changes or {}, cluster.inventory.hosts
    outcome = effects(cluster, changes) if changes else {}
    return {
        "hosts": {
            name: {
                "version": node.version,
                "mode": node.mode,
                "profile": node.settings["kafka_profile"],
                "roles": list(node.roles),
                "unresolved": {**written[name].unresolved, **written[name].unreadable},
                "properties": answers(node, contains),
                "changes": outcome.get(name, {}),
            }
            for name, node in cluster.kafka.items()
        },
        "changes": {
            key: {
                kind: [
                    name
                    for name, host_effects in outcome.items()
                    if host_effects[key]["kind"] == kind
                ]
                for kind in EFFECTS
            }
            for key in changes
        },
        "ports": ports(cluster),
    }


def ports(cluster: Cluster) -> dict[str, list[Data]]:
    """Return host -> what its services listen on, as plain data."""
    return {
        name: [dataclasses.asdict(endpoint) for endpoint in cluster.listening(name)]
        for name in cluster.hosts
    }
