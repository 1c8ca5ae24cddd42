"""The rules about single properties: whether the key is the inventory's to set, and its value."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from .....module_utils.formats import key_table, versions
from .....module_utils.formats.values import listing, sequence, texts, yaml_type
from ....cluster.cluster import Cluster
from ....cluster.registry import JAVA_PRODUCTS
from ....cluster.service import Service
from ....rules.engine import Finding, Findings, rule
from ....rules.shared import Property, falls_back_to_default, properties
from ..node import KafkaNode

_STRICT_LISTS = (4, 2)
_TEXTS = ("string", "class", "password", "list")
_BLANKS = " \t\f"
_REFERENCE = re.compile(r"\$\{(\w+):")
_CLASSES = (
    "org.apache.kafka.common.config.provider.DirectoryConfigProvider",
    "org.apache.kafka.common.config.provider.EnvVarConfigProvider",
    "org.apache.kafka.common.config.provider.FileConfigProvider",
    "org.apache.kafka.common.replica.RackAwareReplicaSelector",
    "org.apache.kafka.common.security.authenticator.DefaultKafkaPrincipalBuilder",
    "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "org.apache.spark.serializer.JavaSerializer",
    "org.apache.spark.serializer.KryoSerializer",
)
_MISSPELT = 0.93
_SECRETS = ("secret", "password", "javaoptions")
_PEM = ("ssl.keystore.certificate.chain", "ssl.keystore.key", "ssl.truststore.certificates")
_WORDS = {True: "yes, on or true", False: "no, off or false"}


def _kafka_properties(cluster: Cluster) -> Iterator[tuple[str, KafkaNode, Property]]:
    """Yield the properties of nodes whose version, which decides about keys, is known."""
    for host, _, setting in properties("kafka")(cluster):
        if not falls_back_to_default(cluster, host, "kafka_version"):
            yield host, cluster.kafka[host], setting


def _properties_of_known_keys(cluster: Cluster) -> Iterator[tuple[str, Service, Property]]:
    """Yield the properties of services whose version is one whose keys are recorded."""
    for host, service, setting in properties(*JAVA_PRODUCTS)(cluster):
        unknown = falls_back_to_default(cluster, host, f"{service.product}_version")
        if service.table and not unknown:
            yield host, service, setting


def _kind(service: Service, key: str) -> str:
    return service.table.get(key_table.table_key(key), {}).get("type") or ""


def _misread(service: Service, setting: Property) -> bool:
    """Return whether YAML read a text as a boolean."""
    return isinstance(setting.value, bool) and _kind(service, setting.key) in _TEXTS


def _release(service: Service) -> str:
    return f"{versions.PRODUCTS[service.product].name} {service.version}"


@rule("owned-key", each=properties(*JAVA_PRODUCTS, owned=True))
def _owned_key(service: Service, setting: Property) -> Findings:
    """Millrace derives the value on every host; a second one could contradict it."""
    owner = service.owned[setting.key]
    instead = f"it follows from {owner}" if " " in owner else f"set {owner} instead"
    if owner.startswith("nothing, "):
        instead = f"it stays as it is, since {owner.removeprefix('nothing, ')}"
    yield Finding(
        f"{setting.key} is written only by Millrace.", f"Remove it; {instead}.", setting.where
    )


@rule("unknown-key", each=_properties_of_known_keys)
def _unknown_key(service: Service, setting: Property) -> Findings:
    """A key that nothing reads is ignored silently."""
    removal = versions.removed(setting.key, service.version)
    if service.knows(setting.key) and not removal:
        return
    near = service.nearest_key(setting.key)
    problem = f"{_release(service)} has no key {setting.key}."
    fix = f"Did you mean {near}? Otherwise delete it." if near else "Delete it."
    if removal:
        problem = (
            f"{setting.key} was removed in Kafka {removal.since}; the version is {service.version}."
        )
        fix = f"Set {removal.instead} instead." if removal.instead else "Delete it."
    yield Finding(problem, fix, setting.where)


@rule("deprecated-key", each=_kafka_properties, severity="warning")
def _deprecated_key(node: KafkaNode, setting: Property) -> Findings:
    """The next upgrade would refuse it."""
    deprecation = versions.deprecated(setting.key, node.version)
    if deprecation:
        problem = f"{setting.key} is deprecated since Kafka {deprecation.since}: {deprecation.why}."
        fix = f"Set {deprecation.instead} instead." if deprecation.instead else "Delete it."
        yield Finding(problem, fix, setting.where)


@rule("key-boolean", each=_properties_of_known_keys)
def _key_boolean(service: Service, setting: Property) -> Findings:
    """YAML reads these words as true and false, and the service would get those values."""
    if _misread(service, setting):
        words = _WORDS[setting.value]
        problem = (
            f"YAML reads {setting.key} as {setting.value} (boolean), "
            f"as it does {words} without quotes."
        )
        expected = key_table.expected_value(setting.key, setting.value, service.table)
        yield Finding(problem, f"Set {setting.key} to {expected}.", setting.where)


@rule("key-value", each=_properties_of_known_keys)
def _key_value(service: Service, setting: Property) -> Findings:
    """Kafka and the schema registry would refuse to start with it, Spark to run an application, and
    HDFS would use its default.
    """
    expected = key_table.expected_value(setting.key, setting.value, service.table)
    if expected and not _misread(service, setting):
        kind = yaml_type(setting.value)
        secret = setting.hidden or kind == "mapping" or _may_be_secret(service, setting.key)
        shown = f"This {kind}" if secret else f"{setting.value!r} ({kind})"
        problem = f"{shown} is not a valid value of {setting.key}."
        yield Finding(problem, f"Set {setting.key} to {expected}.", setting.where)


def _may_be_secret(service: Service, key: str) -> bool:
    return _kind(service, key) == "password" or key.lower().endswith(_SECRETS)


def _strict_lists(cluster: Cluster) -> Iterator[tuple[str, Property, list[str]]]:
    """Yield lists and their entries, of versions that check each entry (KIP-1161)."""
    for host, node, setting in _kafka_properties(cluster):
        strict = versions.release_numbers(node.version) >= _STRICT_LISTS
        if strict and _kind(node, setting.key) == "list":
            yield host, setting, _entries(setting.value)


def _entries(value: object) -> list[str]:
    """Return the entries of a list as Kafka splits it, none of an empty text."""
    if isinstance(value, str):
        return [entry.strip() for entry in value.split(",")] if value.strip() else []
    return [str(entry).strip() for entry in sequence(value)]


@rule("list-empty-entry", each=_strict_lists)
def _list_empty_entry(setting: Property, entries: list[str]) -> Findings:
    """Kafka 4.2 and newer refuse to start with it (KIP-1161); a comma at the end is enough."""
    if "" in entries:
        fix = f"Set {setting.key}: {','.join(filter(None, entries)) or repr('')}."
        yield Finding(f"{setting.key} has an empty entry: {entries}.", fix, setting.where)


@rule("list-duplicate-entry", each=_strict_lists, severity="warning")
def _list_duplicate_entry(setting: Property, entries: list[str]) -> Findings:
    """Kafka ignores the second one and logs a warning (KIP-1161)."""
    counts = Counter(filter(None, entries))
    twice = [entry for entry, count in counts.items() if count > 1]
    if twice:
        problem = f"{setting.key} names {listing(twice)} more than once."
        yield Finding(problem, f"Set {setting.key}: {','.join(counts)}.", setting.where)


@rule("config-provider", each=_kafka_properties)
def _config_provider(node: KafkaNode, setting: Property) -> Findings:
    """Kafka takes the text as it is written, since nothing replaces it (KIP-297)."""
    providers = texts(node.config.get("config.providers"))
    for name in dict.fromkeys(_REFERENCE.findall(str(setting.value))):
        if name not in providers:
            fix = f"Set config.providers: {','.join([*providers, name])} and "
            fix += f"config.providers.{name}.class, or write the value itself from a vault."
            yield Finding(f"{setting.key} needs the config provider {name}.", fix, setting.where)


@rule("class-name", each=properties("connect", "kafka", "spark"))
def _class_name(_: Service, setting: Property) -> Findings:
    """There is no such class, and the service does not start."""
    text = str(setting.value)
    near = key_table.nearest(text, list(_CLASSES), _MISSPELT)
    if text.startswith("org.apache.") and near and near != text:
        yield Finding(f"There is no class {text}.", f"Did you mean {near}?", setting.where)


@rule("value-blanks", each=properties(*JAVA_PRODUCTS))
def _value_blanks(_: Service, setting: Property) -> Findings:
    """Blanks around a value are a part of it, as Kafka reads it. Only certificates and keys have
    several lines.
    """
    is_text, is_pem = isinstance(setting.value, str), setting.key.endswith(_PEM)
    blanks = (
        _blanks(setting.value.replace("\n", "") if is_pem else setting.value) if is_text else ""
    )
    if is_pem and is_text and "\\n" in setting.value:
        fix = "Write it as a YAML block (|-), with a line for each."
        yield Finding(
            f"The lines of {setting.key} end with a backslash and an n.", fix, setting.where
        )
    elif blanks or (is_pem and is_text and setting.value != setting.value.strip()):
        fix = "Remove it; a YAML block needs |- or >- to end without a line break."
        blanks = blanks or "begins or ends with a line break"
        yield Finding(f"The value of {setting.key} {blanks}.", fix, setting.where)


@rule(
    "value-backslashes",
    each=properties(*(product for product in JAVA_PRODUCTS if product != "hdfs")),  # files of XML
    severity="warning",
)
def _value_backslashes(_: Service, setting: Property) -> Findings:
    """A value is written so that the service reads it as it is in the inventory."""
    if isinstance(setting.value, str) and "\\\\" in setting.value:
        problem = f"{setting.key} has two backslashes in a row, and the service reads both."
        yield Finding(problem, "Write one where the file needed two.", setting.where)


def _blanks(text: str) -> str:
    """Return which blanks a value must not have, empty if it has none."""
    if "\r" in text or "\n" in text:
        return "holds a line break"
    if "\t" in text:
        return "holds a tab"
    if text != text.lstrip(_BLANKS):
        return "begins with a blank"
    return "ends with a blank" if text != text.rstrip(_BLANKS) else ""
