"""What a cluster holds at one moment, as plain data: partitions, quorum, features, groups.

A part that does not answer is left out with the reason, and the others are read all the same: a
cluster without a quorum still has its partitions, one with a hanging broker most of its groups.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any, TypeVar

from . import features, groups, library, snapshot
from .groups import Place
from .snapshot import MIN_ISR, Snapshot

_T = TypeVar("_T")


def read(admin: Any) -> tuple[Snapshot, dict[str, Any]]:
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
    cluster = snapshot.snapshot(described, topics, quorum, min_isr)
    group_data, errors = groups_of(admin, cluster)
    details = {
        "quorum_error": quorum_error,
        "features": levels or {},
        "groups": group_data,
        "groups_errors": errors,
    }
    return cluster, details


def groups_of(
    admin: Any,
    cluster: Snapshot,
) -> tuple[list[dict[str, Any]], list[str]]:
    """Return the groups of a cluster, and why some of them may be missing.

    Each has `id`, `type`, `state`, the number of its `members`, None where it is not known, and
    `lags`: topic -> records that the group has not read, by partition, None where it has committed
    no offset or the partition has no leader.
    """
    reading, reason = _or_reason(partial(groups.read, admin, lambda _: True, sys.maxsize))
    if reading is None:
        return [], [reason]
    sizes = Counter(partition.topic for partition in cluster.partitions)
    return [
        {
            "id": name,
            "type": group.type,
            "state": group.state,
            "members": group.members,
            "lags": _lags(sizes, group.committed or {}, reading.lags(name)),
        }
        for name, group in sorted(reading.groups.items())
    ], list(reading.problems)


def _or_reason(question: Callable[[], _T]) -> tuple[_T | None, str]:
    """Return what `question` returns, or None and why it has no answer."""
    try:
        return question(), ""
    except library.errors.KafkaError as error:  # its text begins with its name
        return None, str(error)
    except (OSError, LookupError) as error:
        return None, f"{type(error).__name__}: {error}"


def _lags(
    sizes: Mapping[str, int], places: Iterable[Place], records: Mapping[Place, int]
) -> dict[str, list[int | None]]:
    lags: dict[str, list[int | None]] = {}
    for topic, partition in places:
        if partition >= sizes[topic]:
            continue  # of a topic that was deleted
        lags.setdefault(topic, [None] * sizes[topic])[partition] = records.get((topic, partition))
    return lags
