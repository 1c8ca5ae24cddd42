"""The rules about replicas: their number, their minimum and their racks."""

from __future__ import annotations

from collections.abc import Iterator

from ansible_collections.millrace.streaming.plugins.module_utils.model.cluster import Cluster
from ansible_collections.millrace.streaming.plugins.module_utils.model.values import listing
from ansible_collections.millrace.streaming.plugins.module_utils.rules.engine import Finding, rule
from ansible_collections.millrace.streaming.plugins.module_utils.rules.shared import (
    has_default_instead,
    place,
)

_FACTORS = (
    "default.replication.factor",
    "offsets.topic.replication.factor",
    "transaction.state.log.replication.factor",
    "share.coordinator.state.topic.replication.factor",
)
_MIN_ISR = {
    "min.insync.replicas": "default.replication.factor",
    "transaction.state.log.min.isr": "transaction.state.log.replication.factor",
    "share.coordinator.state.topic.min.isr": "share.coordinator.state.topic.replication.factor",
}


@rule(
    "replication-factor",
    when="a replication factor is larger than the number of brokers",
    why="Creating such a topic fails; without its internal topics no group can commit.",
    remedy="Lower the factor, or add brokers. Without a value Millrace takes min(3, brokers).",
)
def _replication_factor(cluster: Cluster) -> Iterator[Finding]:
    brokers = len(cluster.brokers)
    for node in cluster.kafka.values() if brokers else ():
        for key in _FACTORS:
            factor = node.number(key)
            if factor is not None and factor > brokers:
                what = f"{key} {factor} > {brokers} broker{'s' if brokers > 1 else ''}."
                fix = f"Set {key}: {min(3, brokers)}, or add brokers."
                yield Finding(place(node, key), what, fix, (node.name,))


@rule(
    "min-isr",
    when="a minimum of in-sync replicas is not below its replication factor (1 of 1 is legal)",
    why="One restart would stop all producers that want acks=all.",
    remedy="Set it one below the replication factor.",
)
def _min_isr(cluster: Cluster) -> Iterator[Finding]:
    for node in cluster.kafka.values():
        for key, factor_key in _MIN_ISR.items():
            minimum, factor = node.number(key), node.number(factor_key)
            if minimum is None or factor is None or minimum < factor or minimum == factor == 1:
                continue
            what = f"{key} {minimum} >= {factor_key} {factor}."
            fix = f"Set {key}: {max(1, factor - 1)}."
            yield Finding(place(node, key), what, fix, (node.name,))


def _racks(cluster: Cluster) -> dict[str, str]:
    """Return broker -> rack, empty text for a broker without one; nothing if one is unknown."""
    if any(has_default_instead(cluster, node.name, "kafka_rack") for node in cluster.brokers):
        return {}
    return {node.name: node.settings["kafka_rack"] for node in cluster.brokers}


@rule(
    "rack-missing",
    when="some brokers have a rack and some have none",
    why="Kafka spreads replicas over racks only if every broker has one.",
    remedy="Set `kafka_rack` on every broker, or on none.",
)
def _rack_missing(cluster: Cluster) -> Iterator[Finding]:
    racks = _racks(cluster)
    without = tuple(name for name, rack in racks.items() if not rack)
    if without and len(without) < len(racks):
        known = listing(f"{name} in {rack}" for name, rack in racks.items() if rack)
        what = f"{listing(without)} {'have' if len(without) > 1 else 'has'} no rack ({known})."
        fix = f"Set kafka_rack on {listing(without)}, or remove it from the others."
        yield Finding("kafka_rack", what, fix, without)


@rule(
    "rack-too-few",
    when="the brokers are in fewer racks than a topic has replicas by default",
    why="Two replicas of a partition share a rack, and its loss takes both.",
    remedy="Put brokers into as many racks as there are replicas, if a rack may be lost.",
    severity="warning",
)
def _rack_too_few(cluster: Cluster) -> Iterator[Finding]:
    names = {*_racks(cluster).values()}
    numbers = [node.number("default.replication.factor") for node in cluster.kafka.values()]
    factor = max((number for number in numbers if number is not None), default=0)
    if "" not in names and 0 < len(names) < factor:  # a missing rack is refused above
        count = f"{len(names)} rack{'s' if len(names) > 1 else ''} ({listing(sorted(names))})"
        what = f"default.replication.factor {factor} > {count}."
        yield Finding("kafka_rack", what, f"Use {factor} racks, if one may be lost.")
