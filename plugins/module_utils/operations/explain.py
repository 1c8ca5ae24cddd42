"""Where each Kafka property of a host comes from, and what a change of `kafka_config` would do.

It reads what the role kafka says of each host: `layers` in their order, the reasons of the profile,
and the variable that owns a key. Kafka's defaults and update modes come from the key table.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ansible_collections.millrace.streaming.plugins.module_utils import change_classes, key_table
from ansible_collections.millrace.streaming.plugins.module_utils.inventory_rules import judge
from ansible_collections.millrace.streaming.plugins.module_utils.rules import (
    KAFKA_GROUPS,
    Host,
    Inventory,
    Problem,
    mapping,
)

ABOUT_HOST = ("version", "mode", "profile", "roles")
CHANGED_LAYER = "kafka_config"
DEFAULT_LAYER = "Kafka's default"
EFFECTS = ("restart", "dynamic", "nothing", "refused")
_HIDDEN = "(hidden)"
_SECRET = re.compile(r"password|secret|passphrase|token|credential|jaas\.config")


@dataclass(frozen=True)
class Answer:
    """Where a property of a host comes from; `overrides` holds the earlier layers' values.

    Values are as the properties file holds them, None where there is none. `update` is empty for a
    key that Kafka's table does not have.
    """

    key: str
    value: str | None
    layer: str
    why: str
    overrides: tuple[tuple[str, str | None], ...]
    default: str | None
    update: str


@dataclass(frozen=True)
class Effect:
    """What setting a key in `kafka_config` does on a host.

    `kind` is one of `EFFECTS` and says what Kafka needs; `written` says whether server.properties
    changes. `why` explains the kind; `notes` are the warnings of the rules.
    """

    key: str
    before: str | None
    after: str | None
    kind: str
    why: str
    update: str
    written: bool
    notes: tuple[str, ...] = ()


def text(value: Any) -> str | None:  # noqa: ANN401 - whatever YAML gave
    """Return a value as templates/properties.j2 writes it, None where there is none."""
    if value is None:
        return None
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list | tuple):
        return ",".join(str(part) for part in value)
    return str(value)


def shown(key: str, value: Any, table: key_table.Table) -> str | None:  # noqa: ANN401 - as above
    """Return a value for people; a secret is hidden unless Kafka itself reads it elsewhere."""
    written = text(value)
    if written is None or re.fullmatch(r"\$\{[^}]*\}", written):
        return written
    entry = table.get(key_table.table_key(key))
    secret = entry["type"] == "password" if entry else _SECRET.search(key.lower())
    return _HIDDEN if secret and written else written


def kafka_layers(host: Host) -> dict[str, Mapping[str, Any]]:
    """Return the layers of a host from the weakest to the strongest."""
    return {str(name): mapping(layer) for name, layer in mapping(host.kafka.get("layers")).items()}


def _table(host: Host) -> key_table.Table:
    return key_table.load(str(host.kafka.get("version", "")))


def answers(host: Host, contains: str = "") -> list[Answer]:
    """Explain each property of a host, sorted by key.

    With `contains` only keys that contain it, those that nobody sets included.
    """
    layers = kafka_layers(host)
    keys = {str(key) for layer in layers.values() for key in layer}
    if contains:
        keys = {key for key in keys | set(_table(host)) if contains in key}
    return [_answer(host, key, layers) for key in sorted(keys)]


def _answer(host: Host, key: str, layers: Mapping[str, Mapping[str, Any]]) -> Answer:
    table = _table(host)
    entry = table.get(key_table.table_key(key), {})
    default = shown(key, entry.get("default"), table)
    found = [
        (name, shown(key, layer[key], table)) for name, layer in layers.items() if key in layer
    ]
    layer, value = found[-1] if found else (DEFAULT_LAYER, default)
    return Answer(
        key=key,
        value=value,
        layer=layer,
        why=_why(host, key, layer),
        overrides=tuple(reversed(found[:-1])),
        default=default,
        update=entry.get("update") or "",
    )


def _why(host: Host, key: str, layer: str) -> str:
    if layer == "profile":
        return str(mapping(host.kafka.get("profile_reasons")).get(key, ""))
    if layer == "topology":
        return "follows from the number of brokers"
    owner = mapping(host.kafka.get("owned")).get(key) if layer == "owned" else None
    return f"set by {owner}" if owner else ""


def effects(inventory: Inventory, changes: Mapping[str, Any]) -> dict[str, list[Effect]]:
    """Say for each described host what setting these keys together in `kafka_config` would do."""
    problems = list(_problems_of(inventory, changes))
    return {
        host.name: [_effect(host, key, value, problems) for key, value in changes.items()]
        for host in inventory.kafka_hosts()
    }


def _effect(host: Host, key: str, value: Any, problems: Sequence[_Added]) -> Effect:  # noqa: ANN401
    table, layers = _table(host), kafka_layers(host)
    now = _answer(host, key, layers)
    names = list(layers)
    later = [name for name in names[names.index(CHANGED_LAYER) + 1 :] if key in layers[name]]
    kind, why = _kind(key, value, host, now)
    concerning = [one for one in problems if one.concerns(host.name, key)]
    refusals = [one.words for one in concerning if one.severity == "error"]
    if refusals:
        kind, why = "refused", " ".join(refusals)
    elif later:
        kind, why = "nothing", f"{later[-1]} sets it on this host"
    set_now = now.layer != DEFAULT_LAYER
    return Effect(
        key=key,
        before=now.value,
        after=now.value if later and not refusals else shown(key, value, table),
        kind=kind,
        why=why,
        update=now.update,
        written=not (refusals or later or (set_now and kind == "nothing")),
        notes=tuple(one.words for one in concerning if one.severity == "warning"),
    )


def _kind(key: str, value: Any, host: Host, now: Answer) -> tuple[str, str]:  # noqa: ANN401
    """Return the effect of a legal value that no later layer overrides, and why."""
    layers, entry = kafka_layers(host), _table(host).get(key_table.table_key(key), {})
    current = [layer[key] for layer in layers.values() if key in layer]
    if current and _same(entry, current[-1], value):
        return "nothing", f"the same value, now from {now.layer}"
    if not current and entry.get("default") is not None and _same(entry, entry["default"], value):
        return "nothing", "Kafka's default is the same"
    if _table(host) and key in change_classes.dynamic_keys(str(host.kafka["version"])):
        return "dynamic", f"update mode {now.update}"
    if now.update:
        how = "" if now.update == "read-only" else ", but Millrace restarts for it"
        return "restart", f"update mode {now.update}{how}"
    if not _table(host):
        return "restart", "there is no key table of this Kafka version"
    return "restart", "a plug-in reads it; Kafka's table does not say how it is updated"


def _same(entry: Mapping[str, str | None], one: Any, other: Any) -> bool:  # noqa: ANN401
    """Say whether Kafka reads two values as the same."""
    first, second = ((text(value) or "").strip() for value in (one, other))
    if entry.get("type") == "boolean":
        return first.lower() == second.lower()
    if entry.get("type") == "list":
        return [p.strip() for p in first.split(",")] == [p.strip() for p in second.split(",")]
    return first == second


@dataclass(frozen=True)
class _Added:
    """A problem that the inventory has only with the change, and the keys that cause it."""

    severity: str
    words: str
    hosts: frozenset[str]
    keys: frozenset[str]

    def concerns(self, host: str, key: str) -> bool:
        return key in self.keys and (not self.hosts or host in self.hosts)


def _problems_of(inventory: Inventory, changes: Mapping[str, Any]) -> Iterator[_Added]:
    """Judge the inventory with and without the changed keys; the difference is the change's."""
    without = {_identity(problem) for problem in judge(_changed(inventory, changes, {}))}
    for problem in judge(_changed(inventory, changes, changes)):
        if _identity(problem) not in without:
            words = f"{problem.what} {problem.fix} [{problem.rule}]"
            causes = _causes(problem, changes)
            yield _Added(problem.severity, words, frozenset(problem.hosts), causes)


def _identity(problem: Problem) -> tuple[str, str, tuple[str, ...]]:
    return problem.rule, problem.what, problem.hosts


def _causes(problem: Problem, changes: Mapping[str, Any]) -> frozenset[str]:
    """Return the changed keys that a problem names, all of them where it names none."""
    for said in (problem.where, f"{problem.what} {problem.fix}"):
        named = frozenset(
            key for key in changes if re.search(rf"(?<![\w.]){re.escape(key)}(?![.]?\w)", said)
        )
        if named:
            return named
    return frozenset(changes)


def _changed(inventory: Inventory, drop: Mapping[str, Any], add: Mapping[str, Any]) -> Inventory:
    hosts = {
        name: _changed_host(host, drop, add) if host.kafka else host
        for name, host in inventory.hosts.items()
    }
    return dataclasses.replace(inventory, hosts=hosts)


def _changed_host(host: Host, drop: Mapping[str, Any], add: Mapping[str, Any]) -> Host:
    """Return a host whose `kafka_config` has lost some keys and gained others."""
    layers = kafka_layers(host)
    kept = {key: value for key, value in layers[CHANGED_LAYER].items() if key not in drop}
    layers[CHANGED_LAYER] = {**kept, **add}
    kafka = {
        **host.kafka,
        "layers": layers,
        "own_config": {
            **mapping(host.kafka.get("own_config")),
            CHANGED_LAYER: layers[CHANGED_LAYER],
        },
        "config": {key: value for layer in layers.values() for key, value in layer.items()},
    }
    return dataclasses.replace(host, description={**host.description, "kafka": kafka})


def explain(
    inventory: Inventory, contains: str = "", changes: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Return all that is known, as plain data.

    `hosts` is host -> version, mode, profile, roles, `properties` (key -> answer) and `changes`
    (key -> effect), or `error` where the role could not describe itself; `outside` are the Kafka
    hosts that did not describe themselves in this run; `changes` is key -> kind -> hosts.
    """
    changes = changes or {}
    outcome = effects(inventory, changes) if changes else {}
    hosts: dict[str, Any] = {}
    for name, host in inventory.hosts.items():
        if failure := host.failure("kafka"):
            hosts[name] = {"error": failure}
        elif host.kafka:
            hosts[name] = {
                **{field: host.kafka.get(field) for field in ABOUT_HOST},
                "properties": {one.key: _data(one) for one in answers(host, contains)},
                "changes": {one.key: _data(one) for one in outcome.get(name, [])},
            }
    nodes = {name for group in KAFKA_GROUPS for name in inventory.members(group)}
    return {
        "hosts": hosts,
        "outside": [name for name in inventory.hosts if name in nodes and name not in hosts],
        "changes": {
            key: {
                kind: [
                    name
                    for name, found in outcome.items()
                    if any(one.key == key and one.kind == kind for one in found)
                ]
                for kind in EFFECTS
            }
            for key in changes
        },
    }


def _data(one: Answer | Effect) -> dict[str, Any]:
    """Return the fields but the key, lists for tuples."""
    found = {name: value for name, value in dataclasses.asdict(one).items() if name != "key"}
    if isinstance(one, Answer):
        found["overrides"] = [{"layer": name, "value": value} for name, value in one.overrides]
    return found
