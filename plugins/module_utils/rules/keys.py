"""The rules about single properties: whether the key is the inventory's to set, and its value."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from ansible_collections.millrace.streaming.plugins.module_utils.model import key_table, versions
from ansible_collections.millrace.streaming.plugins.module_utils.model.cluster import Cluster
from ansible_collections.millrace.streaming.plugins.module_utils.model.kafka import KafkaNode
from ansible_collections.millrace.streaming.plugins.module_utils.model.values import (
    listing,
    sequence,
    yaml_type,
)
from ansible_collections.millrace.streaming.plugins.module_utils.rules.engine import Finding, rule
from ansible_collections.millrace.streaming.plugins.module_utils.rules.shared import (
    LAYERS,
    Property,
    has_default_instead,
    own_properties,
)

_STRICT_LISTS = (4, 2)
_TEXTS = ("string", "class", "password", "list")
_BLANKS = " \t\f"
_WORDS = {True: "yes, on or true", False: "no, off or false"}


def _kafka_properties(cluster: Cluster) -> Iterator[tuple[KafkaNode, Property]]:
    """Give the properties of nodes whose version, which decides about keys, is known."""
    for one in own_properties(cluster, "kafka"):
        if not has_default_instead(cluster, one.host, "kafka_version"):
            yield cluster.kafka[one.host], one


def _kind(node: KafkaNode, key: str) -> str:
    return node.table.get(key_table.table_key(key), {}).get("type") or ""


@rule(
    "owned-key",
    when="`kafka_config`, `kafka_host_config`, `zookeeper_config` or `spark_config` holds a key "
    "that a variable or a group decides",
    why="Millrace derives the key on every host; a second source would disagree with it.",
    remedy="Remove the key and set the variable that the message names.",
)
def _owned_key(cluster: Cluster) -> Iterator[Finding]:
    for one in own_properties(cluster, *LAYERS, owned=True):
        owner = cluster.services(one.host)[one.service].owned[one.key]
        instead = f"it follows from {owner}" if " " in owner else f"set {owner} instead"
        if owner.startswith("nothing, "):
            instead = f"it stays as it is, since {owner.removeprefix('nothing, ')}"
        what = f"{one.key} is written by Millrace alone."
        yield Finding(one.where, what, f"Remove it; {instead}.", (one.host,))


@rule(
    "unknown-key",
    when="`kafka_config` or `kafka_host_config` holds a key that this Kafka version does not know",
    why="Kafka ignores an unknown key silently.",
    remedy="Correct or delete the key; the message names the nearest legal one.",
)
def _unknown_key(cluster: Cluster) -> Iterator[Finding]:
    for node, one in _kafka_properties(cluster):
        removal = versions.removed(one.key, node.version)
        if not node.table or (key_table.is_known(one.key, node.table) and not removal):
            continue
        near = key_table.nearest_key(one.key, node.table)
        what = f"Kafka {node.version} has no key {one.key}."
        fix = f"Did you mean {near}? Else delete it." if near else "Delete it."
        if removal:
            what = f"{one.key} was removed in Kafka {removal.since}, this is {node.version}."
            fix = f"Set {removal.instead} instead." if removal.instead else "Delete it."
        yield Finding(one.where, what, fix, (one.host,))


@rule(
    "deprecated-key",
    when="`kafka_config` or `kafka_host_config` holds a key that this version still takes and a "
    "later one will not",
    why="The next upgrade would refuse it.",
    remedy="Set the successor that the message names, or delete the key.",
    severity="warning",
)
def _deprecated_key(cluster: Cluster) -> Iterator[Finding]:
    for node, one in _kafka_properties(cluster):
        found = versions.deprecated(one.key, node.version)
        if found:
            what = f"{one.key} is deprecated since Kafka {found.since}: {found.why}."
            fix = f"Set {found.instead} instead." if found.instead else "Delete it."
            yield Finding(one.where, what, fix, (one.host,))


@rule(
    "key-boolean",
    when="a property that takes a text was read by YAML as a boolean (`yes`, `no`, `on`, `off`)",
    why="YAML turns these words into true and false, and Kafka would get those.",
    remedy="Write the text in quotes.",
)
def _key_boolean(cluster: Cluster) -> Iterator[Finding]:
    for node, one in _kafka_properties(cluster):
        if isinstance(one.value, bool) and _kind(node, one.key) in _TEXTS:
            words = _WORDS[one.value]
            what = f"YAML read {one.key} as {one.value} (boolean): it makes that of {words}."
            wanted = key_table.wanted_value(one.key, one.value, node.table)
            yield Finding(one.where, what, f"Set {one.key} to {wanted}.", (one.host,))


@rule(
    "key-value",
    when="a property's value is not of the type, in the range or among the values Kafka takes",
    why="Kafka would refuse to start with it.",
    remedy="Set a value of the kind that the message names.",
)
def _key_value(cluster: Cluster) -> Iterator[Finding]:
    for node, one in _kafka_properties(cluster):
        kind = _kind(node, one.key)
        wanted = key_table.wanted_value(one.key, one.value, node.table)
        if wanted and not (isinstance(one.value, bool) and kind in _TEXTS):
            yaml_kind = yaml_type(one.value)
            secret = kind == "password" or yaml_kind == "mapping"
            shown = f"This {yaml_kind}" if secret else f"{one.value!r} ({yaml_kind})"
            what = f"{shown} is no legal value of {one.key}."
            yield Finding(one.where, what, f"Set {one.key} to {wanted}.", (one.host,))


def _strict_lists(cluster: Cluster) -> Iterator[tuple[Property, list[str]]]:
    """Give lists and their entries, of versions that judge each entry (KIP-1161)."""
    for node, one in _kafka_properties(cluster):
        strict = versions.release_numbers(node.version) >= _STRICT_LISTS
        if strict and _kind(node, one.key) == "list":
            yield one, _entries(one.value)


def _entries(value: object) -> list[str]:
    """Return the entries of a list as Kafka splits it, none of an empty text."""
    if isinstance(value, str):
        return [part.strip() for part in value.split(",")] if value.strip() else []
    return [str(part).strip() for part in sequence(value)]


@rule(
    "list-empty-entry",
    when="a property that is a list has an empty entry, on Kafka 4.2 or newer",
    why="Kafka 4.2 and newer refuse to start with it (KIP-1161); a comma at the end is enough.",
    remedy="Remove the comma that is too much.",
)
def _list_empty_entry(cluster: Cluster) -> Iterator[Finding]:
    for one, entries in _strict_lists(cluster):
        if "" in entries:
            what = f"{one.key} has an empty entry: {entries}."
            fix = f"Set {one.key}: {','.join(entry for entry in entries if entry) or repr('')}."
            yield Finding(one.where, what, fix, (one.host,))


@rule(
    "list-duplicate-entry",
    when="a property that is a list names an entry twice, on Kafka 4.2 or newer",
    why="Kafka drops the second one and complains in its log (KIP-1161).",
    remedy="Name each entry once.",
    severity="warning",
)
def _list_duplicate_entry(cluster: Cluster) -> Iterator[Finding]:
    for one, entries in _strict_lists(cluster):
        twice = [entry for entry, count in Counter(entries).items() if entry and count > 1]
        if twice:
            what = f"{one.key} names {listing(twice)} more than once."
            fix = f"Set {one.key}: {','.join(dict.fromkeys(entry for entry in entries if entry))}."
            yield Finding(one.where, what, fix, (one.host,))


@rule(
    "value-blanks",
    when="a property's value begins or ends with a blank, or holds a tab or a line break",
    why="A properties file keeps blanks at the end as a part of the value, and what follows a line "
    "break would be a property of its own.",
    remedy="Remove them. A YAML block ends with a line break unless it begins with `|-` or `>-`.",
)
def _value_blanks(cluster: Cluster) -> Iterator[Finding]:
    for one in own_properties(cluster, *LAYERS):
        found = _blanks(one.value) if isinstance(one.value, str) else ""
        if found:
            fix = "Remove it; a YAML block needs |- or >- to end without a line break."
            yield Finding(one.where, f"The value of {one.key} {found}.", fix, (one.host,))


def _blanks(text: str) -> str:
    """Say which blanks a value must not have, empty if it has none."""
    if "\r" in text or "\n" in text:
        return "holds a line break"
    if "\t" in text:
        return "holds a tab"
    if text != text.lstrip(_BLANKS):
        return "begins with a blank"
    return "ends with a blank" if text != text.rstrip(_BLANKS) else ""
