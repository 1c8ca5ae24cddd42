"""The rules about single properties: whether the key is the user's to set, and its value."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from ansible_collections.millrace.streaming.plugins.module_utils import key_table, versions
from ansible_collections.millrace.streaming.plugins.module_utils.rules import (
    LAYERS,
    Finding,
    Host,
    Inventory,
    listing,
    mapping,
    rule,
    sequence,
    yaml_type,
)
from ansible_collections.millrace.streaming.plugins.module_utils.rules_properties import (
    own_keys,
    table_of,
)

_STRICT_LISTS = (4, 2)
_TEXTS = ("string", "class", "password", "list")
_BLANKS = " \t\f"
_CAME_FROM = {True: "yes, on or true", False: "no, off or false"}


@rule(
    "owned-key",
    when="`kafka_config`, `kafka_host_config`, `zookeeper_config` or `spark_config` holds a key "
    "that a variable or a group decides",
    why="Millrace derives the key on every host; a second source would disagree with it.",
    remedy="Remove the key and set the variable that the message names.",
)
def owned_key(inventory: Inventory) -> Iterator[Finding]:
    """Refuse a property that Millrace itself writes."""
    for host, layer, key, _written in own_keys(inventory, *LAYERS, owned=True):
        role = next(role for role, layers in LAYERS.items() if layer in layers)
        owner = str(mapping(host.described(role).get("owned"))[key])
        instead = f"it follows from {owner}" if " " in owner else f"set {owner} instead"
        if owner.startswith("nothing, "):
            instead = f"it stays as it is, since {owner.removeprefix('nothing, ')}"
        what = f"{key} is written by Millrace alone."
        yield Finding(f"{layer}[{key}]", what, f"Remove it; {instead}.", (host.name,))


@rule(
    "unknown-key",
    when="`kafka_config` or `kafka_host_config` holds a key that this Kafka version does not know",
    why="Kafka ignores an unknown key without a word.",
    remedy="Correct or delete the key; the message names the nearest legal one.",
)
def unknown_key(inventory: Inventory) -> Iterator[Finding]:
    """Refuse a property that the binary would ignore."""
    for host, layer, key, _written in own_keys(inventory, "kafka"):
        version, table = str(host.kafka.get("version", "")), table_of(host)
        if not table or (key_table.is_known(key, table) and not versions.removed(key, version)):
            continue
        what, fix = _about_unknown(key, version, table)
        yield Finding(f"{layer}[{key}]", what, fix, (host.name,))


def _about_unknown(key: str, version: str, table: key_table.Table) -> tuple[str, str]:
    removal = versions.removed(key, version)
    if removal:
        what = f"{key} was removed in Kafka {removal.since}, this is {version}."
        return what, f"Set {removal.instead} instead." if removal.instead else "Delete it."
    near = key_table.nearest_key(key, table)
    what = f"Kafka {version} has no key {key}."
    return what, f"Did you mean {near}? Else delete it." if near else "Delete it."


@rule(
    "deprecated-key",
    when="`kafka_config` or `kafka_host_config` holds a key that this version still takes and a "
    "later one will not",
    why="The next upgrade would refuse it.",
    remedy="Set the successor that the message names, or delete the key.",
    severity="warning",
)
def deprecated_key(inventory: Inventory) -> Iterator[Finding]:
    """Say which properties will go."""
    for host, layer, key, _written in own_keys(inventory, "kafka"):
        found = versions.deprecated(key, str(host.kafka.get("version", "")))
        if found:
            what = f"{key} is deprecated since Kafka {found.since}: {found.why}."
            fix = f"Set {found.instead} instead." if found.instead else "Delete it."
            yield Finding(f"{layer}[{key}]", what, fix, (host.name,))


def _kind(host: Host, key: str) -> str:
    return table_of(host).get(key_table.table_key(key), {}).get("type") or ""


def _is_boolean_text(host: Host, key: str, value: object) -> bool:
    return isinstance(value, bool) and _kind(host, key) in _TEXTS


@rule(
    "key-boolean",
    when="a property that takes a text was read by YAML as a boolean (`yes`, `no`, `on`, `off`)",
    why="YAML turns these words into true and false, and Kafka would get those.",
    remedy="Write the text in quotes.",
)
def key_boolean(inventory: Inventory) -> Iterator[Finding]:
    """Refuse a boolean where Kafka takes a text."""
    for host, layer, key, value in own_keys(inventory, "kafka"):
        if isinstance(value, bool) and _is_boolean_text(host, key, value):
            what = f"YAML read {key} as {value} (boolean): it makes that of {_CAME_FROM[value]}."
            wanted = key_table.wanted_value(key, value, table_of(host))
            yield Finding(f"{layer}[{key}]", what, f"Set {key} to {wanted}.", (host.name,))


@rule(
    "key-value",
    when="a property's value is not of the type, in the range or among the values Kafka takes",
    why="Kafka would refuse to start with it.",
    remedy="Set a value of the kind that the message names.",
)
def key_value(inventory: Inventory) -> Iterator[Finding]:
    """Refuse a value that the binary would refuse."""
    for host, layer, key, value in own_keys(inventory, "kafka"):
        if _is_boolean_text(host, key, value):
            continue
        wanted = key_table.wanted_value(key, value, table_of(host))
        if wanted:
            kind = yaml_type(value)
            secret = _kind(host, key) == "password" or kind == "mapping"
            shown = f"This {kind}" if secret else f"{value!r} ({kind})"
            what = f"{shown} is no legal value of {key}."
            yield Finding(f"{layer}[{key}]", what, f"Set {key} to {wanted}.", (host.name,))


def _entries(value: object) -> list[str]:
    """Return the entries of a list as Kafka splits it, none of an empty text."""
    if isinstance(value, str):
        return [part.strip() for part in value.split(",")] if value.strip() else []
    return [str(part).strip() for part in sequence(value)]


def _strict_lists(inventory: Inventory) -> Iterator[tuple[Host, str, str, list[str]]]:
    """Yield the user's lists on versions that look at their entries (KIP-1161)."""
    for host, layer, key, value in own_keys(inventory, "kafka"):
        version = versions.release_numbers(str(host.kafka.get("version", "")))
        if version >= _STRICT_LISTS and _kind(host, key) == "list":
            yield host, layer, key, _entries(value)


@rule(
    "list-empty-entry",
    when="a property that is a list has an empty entry, on Kafka 4.2 or newer",
    why="Kafka 4.2 and newer refuse to start with it (KIP-1161); a comma at the end is enough.",
    remedy="Remove the comma that is too much.",
)
def list_empty_entry(inventory: Inventory) -> Iterator[Finding]:
    """Refuse a list with a hole."""
    for host, layer, key, entries in _strict_lists(inventory):
        if "" in entries:
            what = f"{key} has an empty entry: {entries}."
            fix = f"Set {key}: {','.join(entry for entry in entries if entry) or repr('')}."
            yield Finding(f"{layer}[{key}]", what, fix, (host.name,))


@rule(
    "list-duplicate-entry",
    when="a property that is a list names an entry twice, on Kafka 4.2 or newer",
    why="Kafka drops the second one and complains in its log (KIP-1161).",
    remedy="Name each entry once.",
    severity="warning",
)
def list_duplicate_entry(inventory: Inventory) -> Iterator[Finding]:
    """Say which entries are given twice."""
    for host, layer, key, entries in _strict_lists(inventory):
        twice = [entry for entry, count in Counter(entries).items() if entry and count > 1]
        if twice:
            what = f"{key} names {listing(twice)} more than once."
            fix = f"Set {key}: {','.join(dict.fromkeys(entry for entry in entries if entry))}."
            yield Finding(f"{layer}[{key}]", what, fix, (host.name,))


def _blanks(text: str) -> str:
    """Say which blanks a value must not have, empty if it has none."""
    if any(end in text for end in "\r\n"):
        return "holds a line break"
    if "\t" in text:
        return "holds a tab"
    if text != text.lstrip(_BLANKS):
        return "begins with a blank"
    return "ends with a blank" if text != text.rstrip(_BLANKS) else ""


@rule(
    "value-blanks",
    when="a property's value begins or ends with a blank, or holds a tab or a line break",
    why="A properties file keeps blanks at the end as a part of the value, and what follows a line "
    "break would be a property of its own.",
    remedy="Remove them. A YAML block ends with a line break unless it begins with `|-` or `>-`.",
)
def value_blanks(inventory: Inventory) -> Iterator[Finding]:
    """Refuse blanks that nobody sees; the value itself may be secret and is not shown."""
    for host, layer, key, value in own_keys(inventory, *LAYERS):
        found = _blanks(value) if isinstance(value, str) else ""
        if found:
            fix = "Remove it; a YAML block needs |- or >- to end without a line break."
            yield Finding(f"{layer}[{key}]", f"The value of {key} {found}.", fix, (host.name,))
