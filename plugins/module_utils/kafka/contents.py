"""What a cluster holds at one moment, as plain data: partitions, quorum, features, groups.

A part that does not answer is left out with the reason, and the others are read all the same: a
cluster without a quorum still tells its partitions, one with a hanging broker most of its groups.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any, TypeVar

from . import features, library, snapshot
from .snapshot import MIN_ISR, Snapshot

_T = TypeVar("_T")
_NOT_COMMITTED = -1
_SHARE = "share"
"""The type of groups that commit no offsets (KIP-932)."""
_DESCRIBED = ("", "classic")
"""The types of groups of which DescribeGroups gives the members; brokers before 4.0 give none."""


def read(admin: Any) -> tuple[Snapshot, dict[str, Any]]:  # noqa: ANN401  kafka-python has no types
    """Return the cluster as it is now, and what a snapshot does not have.

    That is `quorum_error`, the reason why the quorum does not answer, else empty; `features`,
    name -> finalized level; `groups` (see `groups_of`) and `groups_errors`, the reasons why there
    may be more of them.

    Raises:
        KafkaError, LookupError: the broker does not answer.

    """
    topics = admin.describe_topics()
    described = admin.describe_cluster()
    quorum, quorum_error = _or_reason(partial(snapshot.described_quorum, admin))
    shrunk = snapshot.shrunk_topics(topics)
    settings, _ = _or_reason(partial(snapshot.topic_settings, admin, shrunk))
    levels, _ = _or_reason(partial(features.finalized, admin))
    min_isr = {
        name: int(keys[MIN_ISR]) for name, keys in (settings or {}).items() if MIN_ISR in keys
    }
    found = snapshot.snapshot(described, topics, quorum, min_isr)
    groups, errors = groups_of(admin, found)
    more = {
        "quorum_error": quorum_error,
        "features": levels or {},
        "groups": groups,
        "groups_errors": errors,
    }
    return found, more


def groups_of(
    admin: Any,  # noqa: ANN401  as above
    found: Snapshot,
) -> tuple[list[dict[str, Any]], list[str]]:
    """Return the groups of a cluster, and why some of them may be missing.

    Each has `id`, `state`, the number of its `members`, None where it is not known, and `lags`:
    topic -> records that the group has not read, by partition, None where it has committed no
    offset or the partition has no leader.
    """
    groups: dict[str, dict[str, Any]] = {}
    committed: dict[str, Mapping[Any, Any]] = {}
    errors: list[str] = []
    for broker in found.brokers:
        if broker.fenced:
            continue
        # A broker lists the groups that it coordinates.
        answer, reason = _or_reason(partial(_of_coordinator, admin, broker.id))
        if answer is None:
            errors.append(f"broker {broker.id} does not show its groups: {reason}")
            continue
        groups.update(answer[0])
        committed.update(answer[1])
    ends, reasons = _ends(admin, found, {place for one in committed.values() for place in one})
    for name, offsets in committed.items():
        groups[name]["lags"] = _lags(found, offsets, ends)
    return [groups[name] for name in sorted(groups)], errors + reasons


def _or_reason(question: Callable[[], _T]) -> tuple[_T | None, str]:
    """Return what `question` returns, or None and why it has no answer."""
    try:
        return question(), ""
    except library.errors.KafkaError as error:  # its text begins with its name
        return None, str(error)
    except (OSError, LookupError) as error:
        return None, f"{type(error).__name__}: {error}"


def _of_coordinator(
    admin: Any,  # noqa: ANN401  as above
    broker: int,
) -> tuple[dict[str, dict[str, Any]], Mapping[str, Mapping[Any, Any]]]:
    listed = {str(one["group_id"]): one for one in admin.list_groups([broker])}
    types = {name: str(one.get("group_type") or "").lower() for name, one in listed.items()}
    classic = [name for name, kind in types.items() if kind in _DESCRIBED]
    reading = [name for name, kind in types.items() if kind != _SHARE]
    described = admin.describe_groups(classic, group_coordinator_id=broker) if classic else {}
    groups: dict[str, dict[str, Any]] = {
        name: {
            "id": name,
            "state": str(one.get("group_state") or described[name]["group_state"]),
            "members": len(described[name]["members"]) if name in described else None,
            "lags": {},
        }
        for name, one in listed.items()
    }
    return groups, admin.list_group_offsets(reading) if reading else {}


def _ends(
    admin: Any,  # noqa: ANN401  as above
    found: Snapshot,
    wanted: Iterable[Any],
) -> tuple[dict[tuple[str, int], int], list[str]]:
    """Return the end of each partition that has a leader, asked of the leaders one by one."""
    leaders = {(one.topic, one.index): one.leader for one in found.partitions if not one.offline}
    by_leader: dict[int, list[Any]] = defaultdict(list)
    for place in wanted:
        if (place.topic, place.partition) in leaders:
            by_leader[leaders[place.topic, place.partition]].append(place)
    ends: dict[tuple[str, int], int] = {}
    errors = []
    for leader, places in sorted(by_leader.items()):
        asked = dict.fromkeys(places, library.OffsetSpec.LATEST)
        answer, reason = _or_reason(partial(admin.list_partition_offsets, asked))
        if answer is None:
            errors.append(f"broker {leader} does not show the ends of its partitions: {reason}")
        else:
            ends |= {(one.topic, one.partition): at.offset for one, at in answer.items()}
    return ends, errors


def _lags(
    found: Snapshot, offsets: Mapping[Any, Any], ends: Mapping[tuple[str, int], int]
) -> dict[str, list[int | None]]:
    sizes: dict[str, int] = defaultdict(int)
    for one in found.partitions:
        sizes[one.topic] = max(sizes[one.topic], one.index + 1)
    lags: dict[str, list[int | None]] = {}
    for place, committed in offsets.items():
        end = ends.get((place.topic, place.partition))
        if place.partition >= sizes[place.topic] or committed.offset <= _NOT_COMMITTED:
            continue  # of a topic that was deleted, or nothing is committed
        lags.setdefault(place.topic, [None] * sizes[place.topic])
        if end is not None:
            lags[place.topic][place.partition] = max(0, end - committed.offset)
    return lags
