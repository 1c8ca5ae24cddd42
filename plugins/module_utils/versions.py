"""The versions that Millrace installs and those it refuses. Adding a version is one entry here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Release:
    """A supported version and the Java feature releases it runs on, lowest first."""

    java: tuple[int, ...]


@dataclass(frozen=True)
class Product:
    """What is known of a product's versions; `blocked` gives the reason of each refusal."""

    name: str
    default: str
    supported: Mapping[str, Release]
    blocked: Mapping[str, str]


@dataclass(frozen=True)
class Removed:
    """A key that a Kafka release removed; `instead` is its successor, empty where there is none."""

    since: str
    instead: str = ""


_OAUTH = "with OAUTHBEARER its default validator accepts any token (fixed in 4.1.2)"
_POLICY = "it breaks an AlterConfigPolicy (KIP-1252, fixed in 3.9.2)"

KAFKA = Product(
    name="Kafka",
    default="4.3.1",
    supported={"4.3.1": Release(java=(17, 21, 25))},
    blocked={
        "4.2.0": "transactional producers fail while it is rolled (KAFKA-20322, fixed in 4.2.1)",
        "4.1.1": _OAUTH,
        "4.1.0": _OAUTH,
        "3.9.1": _POLICY,
        "3.9.0": _POLICY,
    },
)

SPARK = Product(
    name="Spark",
    default="4.2.0",
    supported={"4.2.0": Release(java=(17, 21))},
    blocked={},
)

PRODUCTS: Mapping[str, Product] = {"kafka": KAFKA, "spark": SPARK}

# Difference of the ConfigDefs of two branches; keys that end in a dot stand for all keys below.
REMOVED_KEYS: Mapping[str, Removed] = {
    "zookeeper.": Removed("4.0"),
    "password.encoder.": Removed("4.0"),
    "inter.broker.protocol.version": Removed("4.0"),
    "log.message.format.version": Removed("4.0"),
    "log.message.downconversion.enable": Removed("4.0"),
    "log.message.timestamp.difference.max.ms": Removed(
        "4.0", "log.message.timestamp.before.max.ms"
    ),
    "control.plane.listener.name": Removed("4.0"),
    "controlled.shutdown.max.retries": Removed("4.0"),
    "controlled.shutdown.retry.backoff.ms": Removed("4.0"),
    "broker.id.generation.enable": Removed("4.0"),
    "reserved.broker.max.id": Removed("4.0"),
    "leader.imbalance.per.broker.percentage": Removed("4.0"),
    "offsets.commit.required.acks": Removed("4.0"),
    "delegation.token.master.key": Removed("4.0", "delegation.token.secret.key"),
    "auto.include.jmx.reporter": Removed("4.0"),
    "alter.config.policy.kraft.compatibility.enable": Removed("4.0"),
    "eligible.leader.replicas.enable": Removed("4.0"),
    "metrics.jmx.blacklist": Removed("4.0", "metrics.jmx.exclude"),
    "metrics.jmx.whitelist": Removed("4.0", "metrics.jmx.include"),
    "group.coordinator.new.enable": Removed("4.1"),
    "group.share.max.groups": Removed("4.1"),
    "metadata.log.segment.min.bytes": Removed("4.1"),
    "share.fetch.max.fetch.records": Removed("4.1"),
    "group.share.enable": Removed("4.3"),
}


def release_numbers(version: str) -> tuple[int, ...]:
    """Return a version's leading numbers, `4.3.1-rc0` -> (4, 3, 1), for comparison."""
    numbers: list[int] = []
    for part in version.replace("-", ".").split("."):
        if not (part.isascii() and part.isdecimal()):
            break
        numbers.append(int(part))
    return tuple(numbers)


def removed(key: str, version: str) -> Removed | None:
    """Return when a key was removed, if it is gone in this version."""
    for name, removal in REMOVED_KEYS.items():
        if key == name or (name.endswith(".") and key.startswith(name)):
            gone = release_numbers(version) >= release_numbers(removal.since)
            return removal if gone else None
    return None
