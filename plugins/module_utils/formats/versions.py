"""The versions that Millrace installs and those it refuses. Adding a version is one entry here."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from . import key_table

Standing = Literal["supported", "to upgrade from"]
"""Supported for new clusters, or installed only so that a cluster can be upgraded from it."""


@dataclass(frozen=True)
class Release:
    """A supported version: the Java it runs on, and of Kafka more."""

    java: tuple[int, ...]
    """The Java feature releases it runs on, lowest first."""
    metadata: str = ""
    """The metadata.version that a new cluster finalizes."""
    zookeeper: bool = False
    """Whether a broker can run in ZooKeeper mode."""
    features: Mapping[str, int] = field(default_factory=dict)
    """The levels that the release is meant to run with (`kafka-features.sh version-mapping`),
    without kraft.version, which makes a static quorum dynamic."""
    optional: Mapping[str, int] = field(default_factory=dict)
    """Levels that its brokers know besides."""
    standing: Standing = "supported"
    """The policy."""

    @property
    def ceilings(self) -> dict[str, int]:
        """Return feature -> the highest level that a broker of this release registers with."""
        return {**self.features, **self.optional}


@dataclass(frozen=True)
class Product:
    """The policy of a product's versions; artifacts/known-bad.yml lists the holes of each one."""

    name: str
    default: str
    """The current one; of the others each release has its standing."""
    supported: Mapping[str, Release]
    blocked: Mapping[str, str] = field(default_factory=dict)
    """The reason of each refusal."""

    @property
    def choices(self) -> list[str]:
        """Return the supported versions, the default first."""
        return [self.default, *(version for version in self.supported if version != self.default)]


@dataclass(frozen=True)
class KeyChange:
    """A key that a Kafka release removed or deprecated, and why."""

    since: str
    instead: str
    """Its successor, empty where there is none."""
    why: str = ""


_OAUTH = "with OAUTHBEARER its default validator accepts any token (fixed in 4.1.2)"
_POLICY = "it breaks an AlterConfigPolicy (KIP-1252, fixed in 3.9.2)"

_FEATURES_4_0 = {"group.version": 1, "transaction.version": 2}
_FEATURES_4_1 = {**_FEATURES_4_0, "eligible.leader.replicas.version": 1}
_FEATURES_4_2 = {**_FEATURES_4_1, "share.version": 1, "streams.version": 1}
_FEATURES_4_4 = {**_FEATURES_4_2, "share.version": 2}

KAFKA = Product(
    name="Kafka",
    default="4.4.0",
    supported={
        "4.4.0": Release(
            java=(17, 21, 25),
            metadata="4.4-IV2",
            features={"metadata.version": 33, **_FEATURES_4_4},
        ),
        "4.3.1": Release(
            java=(17, 21, 25),
            metadata="4.3-IV0",
            features={"metadata.version": 30, **_FEATURES_4_2},
        ),
        "4.2.2": Release(
            java=(17, 21, 25),
            metadata="4.2-IV1",
            features={"metadata.version": 29, **_FEATURES_4_2},
        ),
        "4.2.1": Release(
            java=(17, 21, 25),
            metadata="4.2-IV1",
            features={"metadata.version": 29, **_FEATURES_4_2},
            standing="to upgrade from",
        ),
        "4.1.2": Release(
            java=(17, 21),
            metadata="4.1-IV1",
            features={"metadata.version": 27, **_FEATURES_4_1},
            optional={"share.version": 1},
            standing="to upgrade from",
        ),
        "4.0.2": Release(
            java=(17, 21),
            metadata="4.0-IV3",
            features={"metadata.version": 25, **_FEATURES_4_0},
            optional={"eligible.leader.replicas.version": 1},
            standing="to upgrade from",
        ),
        "3.9.2": Release(
            java=(8, 11, 17, 21),
            metadata="3.9-IV0",
            zookeeper=True,
            features={"metadata.version": 21},
            standing="to upgrade from",
        ),
    },
    blocked={
        "4.2.0": "transactional producers fail while it is rolled (KAFKA-20322, fixed in 4.2.1)",
        "4.1.1": _OAUTH,
        "4.1.0": _OAUTH,
        "3.9.1": _POLICY,
        "3.9.0": _POLICY,
    },
)

SPARK = Product("Spark", "4.2.0", {"4.2.0": Release(java=(17, 21))})
ZOOKEEPER = Product("ZooKeeper", "3.9.5", {"3.9.5": Release(java=(11, 17, 21))})
CONNECT = Product("Kafka Connect", "4.3.1", {"4.3.1": Release(java=(17, 21))})
SCHEMA_REGISTRY = Product("Apicurio Registry", "3.3.3", {"3.3.3": Release(java=(21,))})
HDFS = Product("HDFS", "3.5.0", {"3.5.0": Release(java=(17, 21))})
PRODUCTS: Mapping[str, Product] = {
    "kafka": KAFKA,
    "spark": SPARK,
    "zookeeper": ZOOKEEPER,
    "connect": CONNECT,
    "schema_registry": SCHEMA_REGISTRY,
    "hdfs": HDFS,
}

# What to set instead of a key that is deprecated or removed.
_SUCCESSORS: Mapping[str, str] = {
    "auto.include.jmx.reporter": "metric.reporters",
    "broker.id": "node.id",
    "control.plane.listener.name": "controller.listener.names",
    "delegation.token.master.key": "delegation.token.secret.key",
    "log.message.timestamp.difference.max.ms": "log.message.timestamp.before.max.ms and "
    "log.message.timestamp.after.max.ms",
    "metrics.jmx.blacklist": "metrics.jmx.exclude",
    "metrics.jmx.whitelist": "metrics.jmx.include",
    "remote.log.manager.thread.pool.size": "remote.log.manager.follower.thread.pool.size",
}
# What Kafka calls internal, or what a plug-in reads, is in no table.
_REMOVED_UNPRINTED = {
    "group.coordinator.new.enable": "4.1",
    "group.share.enable": "4.3",
    "internal.metadata.max.fetch.size.in.bytes": "4.3",
    "metadata.log.segment.min.bytes": "4.1",
    "metrics.jmx.blacklist": "4.0",
    "metrics.jmx.whitelist": "4.0",
    "share.fetch.max.fetch.records": "4.1",
}
# What the pages of the binaries call deprecated, and operations' own knowledge of 3.0.
_DEPRECATED: Mapping[str, tuple[str, str]] = {
    "log.message.format.version": ("3.0", "records have one format since 3.0"),
    "auto.include.jmx.reporter": (
        "3.4",
        "the JMX reporter is one of the metric reporters (KIP-830)",
    ),
    "log.message.timestamp.difference.max.ms": (
        "3.6",
        "the past and the future have limits of their own (KIP-937)",
    ),
    "delegation.token.master.key": ("2.8", "it is the same key under its old name (KIP-681)"),
    "offsets.commit.required.acks": (
        "3.8",
        "offsets are always committed with all acknowledgements (KIP-1041)",
    ),
    "log.cleaner.enable": ("4.1", "the cleaner cannot be switched off from 5.0 (KIP-1148)"),
    "remote.log.manager.thread.pool.size": ("4.2", "each kind of task has a pool of its own"),
    "group.coordinator.rebalance.protocols": (
        "4.3",
        "all protocols are on from 5.0; the features group.version, share.version and "
        "streams.version decide",
    ),
    "broker.id": ("4.4", "it is the same key under its old name (KIP-1232)"),
}
DEPRECATED_KEYS: Mapping[str, KeyChange] = {
    key: KeyChange(since, _SUCCESSORS.get(key, ""), why)
    for key, (since, why) in _DEPRECATED.items()
}


def release_numbers(version: str) -> tuple[int, ...]:
    """Return a version's leading numbers, `4.3.1-rc0` -> (4, 3, 1), for comparison."""
    numbers: list[int] = []
    for number in version.replace("-", ".").split("."):
        if not (number.isascii() and number.isdecimal() and len(number) < 10):
            break
        numbers.append(int(number))
    return tuple(numbers)


@functools.cache
def removed_keys() -> Mapping[str, KeyChange]:
    """Return key -> its removal: the first version whose table lacks what the one before has."""
    since = dict(_REMOVED_UNPRINTED)
    versions = sorted(KAFKA.supported, key=release_numbers)
    for old, new in zip(versions, versions[1:]):
        gone = key_table.load(old).keys() - key_table.load(new).keys()
        since |= dict.fromkeys(sorted(gone), new.rpartition(".")[0])
    return {key: KeyChange(line, _SUCCESSORS.get(key, "")) for key, line in since.items()}


def removed(key: str, version: str) -> KeyChange | None:
    """Return when a key was removed, if this version does not have it."""
    return _already(removed_keys().get(key), version)


def deprecated(key: str, version: str) -> KeyChange | None:
    """Return what is known of a deprecated key, if this version still has it."""
    return None if removed(key, version) else _already(DEPRECATED_KEYS.get(key), version)


def _already(change: KeyChange | None, version: str) -> KeyChange | None:
    """Return a change that this version has."""
    later = change is None or release_numbers(version) < release_numbers(change.since)
    return None if later else change
