"""The rules about replicas: their number, their minimum and their racks."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from .....module_utils.formats import goal_options
from .....module_utils.formats.values import listing
from ....cluster.cluster import Cluster
from ....rules.engine import Finding, Findings, host_rule, rule
from ....rules.inspection import InspectedHost
from ....rules.shared import (
    brokers,
    falls_back_to_default,
    holders,
    nodes,
    place,
    shared_values,
)
from ..node import RACK, KafkaNode

_FACTORS = (
    "default.replication.factor",
    "offsets.topic.replication.factor",
    "transaction.state.log.replication.factor",
    "share.coordinator.state.topic.replication.factor",
)
_MIN = "min.insync.replicas"
_MIN_ISR = {
    _MIN: "default.replication.factor",
    "transaction.state.log.min.isr": "transaction.state.log.replication.factor",
    "share.coordinator.state.topic.min.isr": "share.coordinator.state.topic.replication.factor",
}
_PARALLEL = re.compile(rf"{RACK}|[1-9][0-9]{{0,5}}")


@rule("replication-factor")
def _replication_factor(cluster: Cluster) -> Findings:
    """Creating such a topic fails; without its internal topics no group can commit."""
    count = len(cluster.brokers)
    for name, node in nodes(cluster) if count else ():
        for key in _FACTORS:
            factor = node.properties.number(key)
            if factor is not None and factor > count:
                problem = f"{key} {factor} > {count} broker{'s' if count > 1 else ''}."
                fix = f"Set {key}: {min(3, count)}, or add brokers."
                yield Finding(problem, fix, place(node, key), (name,))


@host_rule("min-isr-lowered", where=f"kafka_config[{_MIN}]")
def _min_isr_lowered(host: InspectedHost) -> Findings:
    """With fewer replicas in sync acknowledged records are lost with one disk. The default follows
    the number of brokers, and an inventory that lacks some looks like a smaller cluster.
    """
    node = host.kafka
    if node is None or not node.is_broker or node.properties.layer_of(_MIN):
        return
    deployed, minimum = host.inspection.kafka.min_isr, node.properties.number(_MIN)
    if deployed is not None and minimum is not None and minimum < deployed:
        count = len(host.cluster.brokers)
        problem = f"{_MIN} would fall from {deployed} to {minimum}, that of {count} "
        problem += f"broker{'s' if count > 1 else ''}."
        fix = (
            f"Add the missing brokers. If there are no more, set {_MIN}: {minimum} in kafka_config."
        )
        yield Finding(problem, fix)


@rule("min-isr", each=nodes)
def _min_isr(node: KafkaNode) -> Findings:
    """One restart would stop all producers that use acks=all."""
    for key, factor_key in _MIN_ISR.items():
        minimum, factor = node.properties.number(key), node.properties.number(factor_key)
        if minimum is None or factor is None or minimum < factor or minimum == factor == 1:
            continue
        problem = f"{key} {minimum} >= {factor_key} {factor}."
        yield Finding(problem, f"Set {key}: {max(1, factor - 1)}.", place(node, key))


def _racks(cluster: Cluster) -> dict[str, str]:
    """Return broker -> rack, empty text for a broker without one; nothing if one is unknown."""
    racks = {name: node.settings["kafka_rack"] for name, node in brokers(cluster)}
    unknown = any(falls_back_to_default(cluster, name, "kafka_rack") for name in racks)
    return {} if unknown else racks


@rule("rack-missing", where="kafka_rack")
def _rack_missing(cluster: Cluster) -> Findings:
    """Kafka spreads replicas over racks only if every broker has one."""
    racks = _racks(cluster)
    without = tuple(name for name, rack in racks.items() if not rack)
    if without and len(without) < len(racks):
        placed = listing(f"{name} in {rack}" for name, rack in racks.items() if rack)
        problem = f"{listing(without)} {'have' if len(without) > 1 else 'has'} no rack ({placed})."
        fix = f"Set kafka_rack on {listing(without)}, or remove it from the others."
        yield Finding(problem, fix, hosts=without)


@rule("rack-spelling", where="kafka_rack")
def _rack_spelling(cluster: Cluster) -> Findings:
    """Kafka takes them for two racks: replicas of a partition may share the real one, and a client
    may find no replica in its own rack (client.rack).
    """
    racks = {name: rack for name, rack in _racks(cluster).items() if rack}
    for alike, brokers_there in shared_values({name: _plain(rack) for name, rack in racks.items()}):
        spellings = sorted({racks[name] for name in brokers_there})
        if len(spellings) > 1:
            problem = f"The racks {listing(spellings)} differ only in how {alike} is written."
            fix = f"Set kafka_rack of all of {listing(brokers_there)} to one of them."
            yield Finding(problem, fix, hosts=tuple(brokers_there))


@rule("roll-parallel", where="kafka_roll_parallel")
def _roll_parallel(cluster: Cluster) -> Findings:
    """A roll must know which brokers it may restart at the same time: those of a rack, or a number of
    them, and none that may be the cluster's controller.
    """
    values = {name: node.settings["kafka_roll_parallel"] for name, node in brokers(cluster)}
    wrong = {name: value for name, value in values.items() if not _PARALLEL.fullmatch(value)}
    for value, names in holders(wrong).items():
        fix = "Set rack, or how many brokers may be restarted at the same time: 1, 2, 3 ..."
        yield Finding(f"{value!r} is neither rack nor a number from 1.", fix, hosts=tuple(names))
    several = tuple(name for name, value in values.items() if name not in wrong and value != "1")
    if several and not cluster.controllers:
        problem = "On ZooKeeper one of the brokers is the controller, so they go one at a time."
        yield Finding(problem, "Set kafka_roll_parallel: 1, or remove it.", hosts=several)
    by_rack = tuple(name for name in several if values[name] == RACK)
    if by_rack and {*_racks(cluster).values()} == {""}:
        fix = "Set kafka_rack on every broker, or kafka_roll_parallel to a number."
        yield Finding("It is rack, but no broker has one.", fix, hosts=by_rack)


def _plain(rack: str) -> str:
    """Return a rack in small letters, without separators but those between two numbers."""
    joined = re.sub(r"(?<!\d)[\s_-]+|[\s_-]+(?!\d)", "", rack)
    return re.sub(r"[\s_-]+", "-", joined).lower()


@rule("rack-too-few", where="kafka_rack", severity="warning")
def _rack_too_few(cluster: Cluster) -> Findings:
    """Two replicas of a partition share a rack, and both are lost with it."""
    names = {*_racks(cluster).values()}
    numbers = [node.properties.number("default.replication.factor") for _, node in nodes(cluster)]
    factor = max((number for number in numbers if number is not None), default=0)
    if "" not in names and 0 < len(names) < factor:  # a missing rack is refused above
        count = f"{len(names)} rack{'s' if len(names) > 1 else ''} ({listing(sorted(names))})"
        problem = f"default.replication.factor {factor} > {count}."
        yield Finding(problem, f"Use {factor} racks to survive the loss of one.")


@rule("rebalance-options", where="-e")
def _rebalance_options(cluster: Cluster) -> Findings:
    """The run would reach another goal than the one that is meant."""
    for what, fix in goal_options.problems(_goal_options(cluster.inventory.parameters)):
        yield Finding(f"rebalance.yml: {what}.", f"{fix[0].upper()}{fix[1:]}.")


def _goal_options(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return what rebalance.yml makes of its parameters; of wrong values nothing."""

    def number(name: str) -> int | None:
        try:
            return int(parameters.get(name) or 0)
        except (TypeError, ValueError):  # refused as parameter-value
            return None

    goal, rate = parameters.get("goal") or None, None
    numbers = {name: number(name) for name in ("hottest", "replication")}
    if goal not in (None, *goal_options.USED) or None in numbers.values():
        return {"goal": None, "topics": "", "drain": [], "hottest": 0, "replication": 0}
    if parameters.get("rate") not in (None, ""):
        rate = number("rate")
    return {
        "goal": goal,
        "topics": parameters.get("topic"),
        "drain": [],
        **numbers,
        "rate": rate,
    }
