"""Which partitions are large, on which disks, and to which producers write most; for a report.

What is returned grows with the number of partitions by one number each; of replicas on a disk, and
of busy partitions, only the first ones are named.
"""

from __future__ import annotations

import heapq
import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..kafka import library, reassignments
from ..kafka.answers import RefusedError
from ..kafka.client import Cluster
from ..kafka.reassignments import LogDir, Name

REQUEST_MS = 10_000
"""How long a broker may take to show the sizes of its replicas, of which it may have thousands."""
LARGEST = 10
"""Replicas that are named of each disk."""
HOTTEST = 20
"""Partitions that are named as the busiest ones."""


@dataclass(frozen=True)
class Sample:
    """The log directories of all brokers at one moment."""

    at: float
    """Seconds of a clock that only goes forward."""
    directories: Mapping[int, Sequence[LogDir]] = field(default_factory=dict)
    errors: Sequence[str] = ()
    """Why some brokers are not in it."""


def sample(cluster: Cluster, clock: Callable[[], float] = time.monotonic) -> Sample:
    """Return the log directories of the brokers that answer.

    Raises:
        UnavailableError: no broker answers.

    """
    directories, errors = cluster.ask(_read)
    return Sample(clock(), directories, errors)


def _read(admin: Any) -> tuple[dict[int, Sequence[LogDir]], list[str]]:
    directories: dict[int, Sequence[LogDir]] = {}
    errors = []
    described = admin.describe_cluster()["brokers"]
    for broker in sorted(item["broker_id"] for item in described if not item.get("is_fenced")):
        try:
            directories.update(reassignments.log_dirs(admin, [broker]))
        # A connection that is reset in its TLS handshake is no error of Kafka's client.
        except (library.errors.KafkaError, OSError, RefusedError) as error:
            errors.append(f"broker {broker} does not show its disks: {error}")
    return directories, errors


def summary(now: Sample, before: Sample | None = None) -> dict[str, Any]:
    """Return what a page shows of a sample; of the traffic since the one `before` too.

    That is `topics`, lists of a topic and the size of its partitions by their index, 0 where none is
    known; `disks`, each with its `largest` replicas as lists of topic, index and bytes; `hottest`,
    lists of topic, index and the bytes per second that producers write, over `seconds`; `errors`.
    """
    seconds = now.at - before.at if before else 0.0
    hottest: list[tuple[Name, float]] = []
    if before and seconds > 0:
        rates = {name: size / seconds for name, size in growth(before, now).items()}
        hottest = heapq.nsmallest(HOTTEST, rates.items(), key=lambda item: (-item[1], item[0]))
    return {
        "error": "",
        "errors": list(now.errors),
        "seconds": round(seconds, 1),
        "topics": _sizes(now),
        "disks": [
            _disk(broker, directory)
            for broker, directories in sorted(now.directories.items())
            for directory in directories
        ],
        "hottest": [[topic, index, round(rate)] for (topic, index), rate in hottest],
    }


def growth(before: Sample, now: Sample) -> dict[Name, int]:
    """Return partition -> bytes that it has grown by, of those that have.

    The replicas of a partition grow alike, but for one that is being copied, which grows faster,
    and one whose broker deletes or does not follow. So the least growth of those that grow counts.
    """
    earlier = _replica_sizes(before)
    grown: dict[Name, int] = {}
    for (broker, name), size in _replica_sizes(now).items():
        added = size - earlier.get((broker, name), size)
        if added > 0:
            grown[name] = min(added, grown.get(name, added))
    return grown


def _replica_sizes(taken: Sample) -> dict[tuple[int, Name], int]:
    return {
        (broker, name): size
        for broker, directories in taken.directories.items()
        for directory in directories
        for name, size in directory.sizes.items()
    }


def _sizes(taken: Sample) -> list[list[Any]]:
    """Return the topics with the size of each partition: that of its largest replica."""
    sizes: dict[str, dict[int, int]] = defaultdict(dict)
    for (_, (topic, index)), size in _replica_sizes(taken).items():
        sizes[topic][index] = max(size, sizes[topic].get(index, 0))
    return [
        [topic, [by_index.get(index, 0) for index in range(max(by_index) + 1)]]
        for topic, by_index in sorted(sizes.items())
    ]


def _disk(broker: int, directory: LogDir) -> dict[str, Any]:
    largest = heapq.nsmallest(
        LARGEST, directory.sizes.items(), key=lambda item: (-item[1], item[0])
    )
    return {
        "broker": broker,
        "path": directory.path,
        "failed": directory.failed,
        "cordoned": directory.cordoned,
        "total": directory.total,
        "usable": directory.usable,
        "bytes": sum(directory.sizes.values()),
        "replicas": len(directory.sizes),
        "largest": [[topic, index, size] for (topic, index), size in largest],
    }
