"""Which features a cluster may finalize (KIP-584), and between which versions it may move.

Pure: the caller reads what is finalized, and what each node supports. kraft.version is left alone:
raising it makes a static quorum dynamic while the files still name voters (KAFKA-21426).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from ..formats.versions import KAFKA, release_numbers
from ..kafka.features import ELR
from ..kafka.snapshot import MIN_ISR
from .gate_texts import UNREGISTER

METADATA = "metadata.version"
_KRAFT = "kraft.version"
_LAST_WITH_ZOOKEEPER = "3.9.2"
_WITHOUT_ZOOKEEPER = (4, 0)
# From 4.0 on, older metadata cannot be read and older nodes cannot be rolled (upgrade notes).
_OLDEST = (3, 3)
_OLDEST_METADATA, _OLDEST_METADATA_NAME = 7, "3.3-IV3"

Levels = Mapping[str, int]
Step = tuple[str, int, int]


@dataclass(frozen=True)
class Plan:
    """Which features to raise, and what forbids it."""

    steps: tuple[Step, ...] = ()
    """In order: (feature, current level, new level)."""
    problems: tuple[str, ...] = ()
    """Each forbids the whole plan."""
    warnings: tuple[str, ...] = ()
    """Each describes a side effect of a step."""


def upgrade_problems(current: str, target: str, finalized: Levels, mode: str) -> list[str]:
    """Say why a cluster that runs one version cannot move to another; empty if it can.

    `mode` is kraft or zookeeper, `finalized` is feature -> level, empty in ZooKeeper mode. An
    earlier target is a rollback, which what is finalized decides.
    """
    if target == current:
        return []
    if target not in KAFKA.supported:
        reason = KAFKA.blocked.get(target, "it is not in Millrace's table")
        return [f"Kafka {target} is refused: {reason}. Use one of {', '.join(KAFKA.supported)}"]
    since_4 = release_numbers(target) >= _WITHOUT_ZOOKEEPER
    if mode == "zookeeper":
        return [
            f"Kafka {target} has no ZooKeeper mode: stay on {_LAST_WITH_ZOOKEEPER}, and migrate "
            "the cluster to KRaft first"
        ] * since_4
    if METADATA not in finalized:
        return ["no broker reports the finalized features: start the cluster first"]
    if release_numbers(target) < release_numbers(current):
        return rollback_problems(target, finalized)
    problems = []
    if since_4 and release_numbers(current) < _OLDEST:
        problems.append(
            f"Kafka {current} is too old for {target}: upgrade to {_LAST_WITH_ZOOKEEPER} first"
        )
    if since_4 and finalized[METADATA] < _OLDEST_METADATA:
        problems.append(
            f"{_level(METADATA, finalized[METADATA])} is finalized, Kafka {target} needs at least "
            f"{_OLDEST_METADATA} ({_OLDEST_METADATA_NAME}): finalize the release that runs first"
        )
    return problems


def rollback_problems(target: str, finalized: Levels) -> list[str]:
    """Say why a binary of this version would refuse to start on what the cluster has finalized."""
    release = KAFKA.supported.get(target)
    if release is None:
        return [f"Kafka {target} is not in Millrace's table: nothing is known of its features"]
    ceilings = release.ceilings
    return [
        f"{_level(feature, level)} is finalized, but Kafka {target} "
        + (
            f"knows up to {_number(feature, ceilings[feature])}"
            if feature in ceilings
            else "has none"
        )
        + ": a rollback is not possible after finalizing; keep the version, or restore data from "
        "before that"
        for feature, level in sorted(finalized.items())
        if feature != _KRAFT and level > ceilings.get(feature, 0)
    ]


def plan(
    finalized: Levels,
    supported_by_node: Mapping[int, Mapping[str, tuple[int, int]]],
    target: str,
    min_isr: Mapping[int, str] | None = None,
    own_min_isr: Mapping[int, str] | None = None,
) -> Plan:
    """Return how to finalize all features that a version is meant to run with; none is lowered.

    `supported_by_node` is node id -> feature -> (lowest, highest level). With eligible leader
    replicas (KIP-966) the cluster has one min.insync.replicas: `min_isr` is what each broker's file
    says, `own_min_isr` what was set for a broker alone, which Kafka then removes.
    """
    if target not in KAFKA.supported:
        return Plan(problems=tuple(upgrade_problems("", target, finalized, "kraft")))
    if METADATA not in finalized:
        return Plan(problems=("no metadata.version is finalized: the cluster runs on ZooKeeper",))
    target_levels = KAFKA.supported[target].features
    steps = tuple(
        (feature, finalized.get(feature, 0), target_levels[feature])
        for feature in sorted(target_levels, key=lambda name: (name != METADATA, name))
        if target_levels[feature] > finalized.get(feature, 0)
    )
    problems = [
        f"broker {node} supports {', '.join(missing)}: run Kafka {target} on it or, if it is gone, "
        f"`{UNREGISTER} {node}` on a Kafka host"
        for node, supported in sorted(supported_by_node.items())
        if (missing := _missing(steps, supported))
    ]
    warnings: list[str] = []
    if any(feature == ELR for feature, _, _ in steps):
        problems += _different(min_isr or {})
        warnings += _one_for_all(min_isr or {}, own_min_isr or {})
    return Plan(steps, tuple(problems), tuple(warnings))


def membership_problems(
    observers: Iterable[int], brokers: Iterable[int], voters: Iterable[int]
) -> list[str]:
    """Name nodes that fetch the metadata and are neither a known broker nor a known controller."""
    unknown = set(observers) - set(brokers) - set(voters)
    return [
        f"node {node} follows the controllers and is neither a broker nor a controller of the "
        "inventory: add it, or stop it"
        for node in sorted(unknown)
    ]


def lines(target: str, made: Plan) -> list[str]:
    """Return a plan as lines to show."""
    shown = [
        f"{feature}: {_number(feature, before)} -> {_number(feature, after)}"
        for feature, before, after in made.steps
    ]
    if not made.steps and not made.problems:
        shown = [f"All features of Kafka {target} are finalized."]
    return [*shown, *(f"Note: {warning}" for warning in made.warnings), *made.problems]


def _different(min_isr: Mapping[int, str]) -> list[str]:
    if len(set(min_isr.values())) < 2:
        return []
    listed = ", ".join(f"{value} on broker {node}" for node, value in sorted(min_isr.items()))
    return [
        f"{MIN_ISR} differs ({listed}): {ELR} makes it one value for the whole cluster; set "
        "one in kafka_config and restart the brokers first"
    ]


def _one_for_all(min_isr: Mapping[int, str], own_min_isr: Mapping[int, str]) -> list[str]:
    value = next(iter(min_isr.values()), "")
    removed = ", ".join(f"{value} on broker {node}" for node, value in sorted(own_min_isr.items()))
    return [
        f"with {ELR} {MIN_ISR}{f' ({value})' if value else ''} is kept for the whole "
        "cluster and overrides the brokers' files"
        + (f"; values set for a single broker are removed ({removed})" if removed else "")
    ]


def _level(feature: str, level: int) -> str:
    return f"{feature} {_number(feature, level)}"


def _number(feature: str, level: int) -> str:
    """Return a level, of metadata.version with the name of the release that is meant by it."""
    names = {release.features[METADATA]: release.metadata for release in KAFKA.supported.values()}
    return f"{level} ({names[level]})" if feature == METADATA and level in names else str(level)


def _missing(steps: Iterable[Step], supported: Mapping[str, tuple[int, int]]) -> list[str]:
    """Return, for each feature that a node does not support as wanted, what it supports."""
    return [
        f"{feature} {_range(supported.get(feature))} ({level} is wanted)"
        for feature, _, level in steps
        if supported.get(feature, (0, 0))[1] < level
    ]


def _range(supported: tuple[int, int] | None) -> str:
    return f"{supported[0]}-{supported[1]}" if supported else "not at all"
