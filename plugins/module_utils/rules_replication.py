"""The rules about replicas: their number, their minimum and their racks."""

from __future__ import annotations

from collections.abc import Iterator

from ansible_collections.millrace.streaming.plugins.module_utils.rules import (
    Finding,
    Inventory,
    listing,
    rule,
)
from ansible_collections.millrace.streaming.plugins.module_utils.rules_properties import (
    number,
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
def replication_factor(inventory: Inventory) -> Iterator[Finding]:
    """Refuse more replicas than brokers."""
    brokers = len(inventory.members("kafka_brokers"))
    if not brokers:
        return
    for host in inventory.kafka_hosts():
        for key in _FACTORS:
            factor = number(host, key)
            if factor is not None and factor > brokers:
                count = f"{brokers} broker{'s' if brokers > 1 else ''}"
                what = f"{key} {factor} > {count}."
                fix = f"Set {key}: {min(3, brokers)}, or add brokers."
                yield Finding(place(host, key), what, fix, (host.name,))


@rule(
    "min-isr",
    when="a minimum of in-sync replicas is not below its replication factor (1 of 1 is legal)",
    why="One restart would stop all producers that want acks=all.",
    remedy="Set it one below the replication factor.",
)
def min_isr(inventory: Inventory) -> Iterator[Finding]:
    """Refuse a minimum that leaves no room for a restart."""
    for host in inventory.kafka_hosts():
        for key, factor_key in _MIN_ISR.items():
            minimum, factor = number(host, key), number(host, factor_key)
            if minimum is None or factor is None or minimum < factor or minimum == factor == 1:
                continue
            what = f"{key} {minimum} >= {factor_key} {factor}."
            fix = f"Set {key}: {max(1, factor - 1)}."
            yield Finding(place(host, key), what, fix, (host.name,))


def racks(inventory: Inventory) -> dict[str, str]:
    """Return broker -> rack, empty text for a broker without one."""
    brokers = inventory.members("kafka_brokers")
    described = [host for host in inventory.kafka_hosts() if host.name in brokers]
    return {host.name: str(host.kafka.get("rack") or "") for host in described}


@rule(
    "rack-missing",
    when="some brokers have a rack and some have none",
    why="Kafka spreads replicas over racks only if every broker has one.",
    remedy="Set `kafka_rack` on every broker, or on none.",
)
def rack_missing(inventory: Inventory) -> Iterator[Finding]:
    """Refuse racks on a part of the brokers."""
    found = racks(inventory)
    without = tuple(name for name, rack in found.items() if not rack)
    if without and len(without) < len(found):
        known = listing(f"{name} in {rack}" for name, rack in found.items() if rack)
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
def rack_too_few(inventory: Inventory) -> Iterator[Finding]:
    """Say when racks cannot hold one replica each."""
    names = set(racks(inventory).values())
    factors = [number(host, "default.replication.factor") for host in inventory.kafka_hosts()]
    factor = max((factor for factor in factors if factor is not None), default=0)
    if "" not in names and 0 < len(names) < factor:  # a missing rack is refused above
        count = f"{len(names)} rack{'s' if len(names) > 1 else ''} ({listing(sorted(names))})"
        what = f"default.replication.factor {factor} > {count}."
        yield Finding("kafka_rack", what, f"Use {factor} racks, if one may be lost.")
