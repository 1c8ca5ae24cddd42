"""The versions that Millrace installs and those it refuses. Adding a version is one entry here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Release:
    """A supported version: the Java feature releases it runs on, lowest first, and of Kafka more.

    `metadata` is the metadata.version that a new cluster finalizes, `zookeeper` says whether a
    broker can run in ZooKeeper mode. `features` are the levels that the release is meant to run
    with (`kafka-features.sh version-mapping`), without kraft.version, which makes a static quorum
    dynamic; `optional` are levels that its brokers know besides.
    """

    java: tuple[int, ...]
    metadata: str = ""
    zookeeper: bool = False
    features: Mapping[str, int] = field(default_factory=dict)
    optional: Mapping[str, int] = field(default_factory=dict)

    @property
    def ceilings(self) -> dict[str, int]:
        """Return feature -> the highest level that a broker of this release registers with."""
        return {**self.features, **self.optional}


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


@dataclass(frozen=True)
class Deprecated:
    """A key that works and will go; `instead` is its successor, empty where there is none."""

    since: str
    instead: str
    why: str


@dataclass(frozen=True)
class ChangedDefault:
    """A default that a release changed, as the tables print it, and what a cluster notices."""

    key: str
    since: str
    old: str
    new: str
    effect: str


_OAUTH = "with OAUTHBEARER its default validator accepts any token (fixed in 4.1.2)"
_POLICY = "it breaks an AlterConfigPolicy (KIP-1252, fixed in 3.9.2)"

_FEATURES_4_0 = {"group.version": 1, "transaction.version": 2}
_FEATURES_4_1 = {**_FEATURES_4_0, "eligible.leader.replicas.version": 1}
_FEATURES_4_2 = {**_FEATURES_4_1, "share.version": 1, "streams.version": 1}

KAFKA = Product(
    name="Kafka",
    default="4.3.1",
    supported={
        "4.3.1": Release(
            java=(17, 21, 25),
            metadata="4.3-IV0",
            features={"metadata.version": 30, **_FEATURES_4_2},
        ),
        "4.2.1": Release(
            java=(17, 21, 25),
            metadata="4.2-IV1",
            features={"metadata.version": 29, **_FEATURES_4_2},
        ),
        "4.1.2": Release(
            java=(17, 21),
            metadata="4.1-IV1",
            features={"metadata.version": 27, **_FEATURES_4_1},
            optional={"share.version": 1},
        ),
        "4.0.2": Release(
            java=(17, 21),
            metadata="4.0-IV3",
            features={"metadata.version": 25, **_FEATURES_4_0},
            optional={"eligible.leader.replicas.version": 1},
        ),
        "3.9.2": Release(
            java=(8, 11, 17, 21),
            metadata="3.9-IV0",
            zookeeper=True,
            features={"metadata.version": 21},
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

SPARK = Product(
    name="Spark",
    default="4.2.0",
    supported={"4.2.0": Release(java=(17, 21))},
    blocked={},
)

ZOOKEEPER = Product(
    name="ZooKeeper",
    default="3.9.5",
    supported={"3.9.5": Release(java=(11, 17, 21))},
    blocked={},
)

PRODUCTS: Mapping[str, Product] = {"kafka": KAFKA, "spark": SPARK, "zookeeper": ZOOKEEPER}

# Difference of the ConfigDefs of two branches; keys that end in a dot stand for all keys below.
REMOVED_KEYS: Mapping[str, Removed] = {
    "zookeeper.": Removed("4.0"),
    "password.encoder.": Removed("4.0"),
    "inter.broker.protocol.version": Removed("4.0"),
    "log.message.format.version": Removed("4.0"),
    "log.message.downconversion.enable": Removed("4.0"),
    "log.message.timestamp.difference.max.ms": Removed(
        "4.0", "log.message.timestamp.before.max.ms and log.message.timestamp.after.max.ms"
    ),
    "control.plane.listener.name": Removed("4.0", "controller.listener.names"),
    "controlled.shutdown.max.retries": Removed("4.0"),
    "controlled.shutdown.retry.backoff.ms": Removed("4.0"),
    "broker.id.generation.enable": Removed("4.0"),
    "reserved.broker.max.id": Removed("4.0"),
    "leader.imbalance.per.broker.percentage": Removed("4.0"),
    "offsets.commit.required.acks": Removed("4.0"),
    "delegation.token.master.key": Removed("4.0", "delegation.token.secret.key"),
    "auto.include.jmx.reporter": Removed("4.0", "metric.reporters"),
    "alter.config.policy.kraft.compatibility.enable": Removed("4.0"),
    "eligible.leader.replicas.enable": Removed("4.0"),
    "metrics.jmx.blacklist": Removed("4.0", "metrics.jmx.exclude"),
    "metrics.jmx.whitelist": Removed("4.0", "metrics.jmx.include"),
    "group.coordinator.new.enable": Removed("4.1"),
    "group.share.max.groups": Removed("4.1"),
    "metadata.log.segment.min.bytes": Removed("4.1"),
    "share.fetch.max.fetch.records": Removed("4.1"),
    "group.share.enable": Removed("4.3"),
    "internal.metadata.max.fetch.size.in.bytes": Removed("4.3"),
}

# What the pages of the binaries call deprecated, and operations' own knowledge of 3.0.
DEPRECATED_KEYS: Mapping[str, Deprecated] = {
    "log.message.format.version": Deprecated("3.0", "", "records have one format since 3.0"),
    "auto.include.jmx.reporter": Deprecated(
        "3.4", "metric.reporters", "the JMX reporter is one of the metric reporters (KIP-830)"
    ),
    "log.message.timestamp.difference.max.ms": Deprecated(
        "3.6",
        "log.message.timestamp.before.max.ms and log.message.timestamp.after.max.ms",
        "the past and the future have limits of their own (KIP-937)",
    ),
    "delegation.token.master.key": Deprecated(
        "2.8", "delegation.token.secret.key", "it is the same key under its old name (KIP-681)"
    ),
    "offsets.commit.required.acks": Deprecated(
        "3.8", "", "offsets are always committed with all acknowledgements (KIP-1041)"
    ),
    "log.cleaner.enable": Deprecated(
        "4.1", "", "the cleaner cannot be switched off from 5.0 (KIP-1148)"
    ),
    "remote.log.manager.thread.pool.size": Deprecated(
        "4.2",
        "remote.log.manager.follower.thread.pool.size",
        "each kind of task has a pool of its own",
    ),
    "group.coordinator.rebalance.protocols": Deprecated(
        "4.3",
        "",
        "all protocols are on from 5.0; the features group.version, share.version and "
        "streams.version decide",
    ),
}

CHANGED_DEFAULTS: tuple[ChangedDefault, ...] = (
    ChangedDefault(
        "log.message.timestamp.after.max.ms",
        since="4.0",
        old="9223372036854775807",
        new="3600000",
        effect="a record dated more than an hour ahead is refused",
    ),
    ChangedDefault(
        "num.recovery.threads.per.data.dir",
        since="4.0",
        old="1",
        new="2",
        effect="loading logs at a start uses twice the threads",
    ),
    ChangedDefault(
        "group.coordinator.rebalance.protocols",
        since="4.0",
        old="classic",
        new="classic,consumer",
        effect="consumers may use the protocol of KIP-848",
    ),
    ChangedDefault(
        "group.coordinator.threads",
        since="4.0",
        old="1",
        new="4",
        effect="consumer groups are coordinated by four threads",
    ),
    ChangedDefault(
        "remote.log.manager.thread.pool.size",
        since="4.0",
        old="10",
        new="2",
        effect="followers of tiered partitions are served by fewer threads",
    ),
    ChangedDefault(
        "group.share.partition.max.record.locks",
        since="4.1",
        old="200",
        new="2000",
        effect="a share group holds more records in flight",
    ),
)


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


def deprecated(key: str, version: str) -> Deprecated | None:
    """Return what is known of a deprecated key, if this version still has it."""
    found = DEPRECATED_KEYS.get(key)
    if not found or removed(key, version):
        return None
    return found if release_numbers(version) >= release_numbers(found.since) else None
