"""Whether the checkpoints of jobs on Spark are theirs, by the topics that they have read.

Pure: `problems` judges what the module has found.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class FoundCheckpoint:
    """A query's checkpoint."""

    job: str
    path: str
    topics: Collection[str]
    """The topics of `job`."""
    read: Collection[str]
    """Those that the query has read."""


def topics_read(text: str) -> set[str]:
    """Return the topics in a file of a checkpoint's `offsets`.

    It has a version, the micro-batch, and a line of each source; Kafka's is JSON with each topic
    and the offsets of its partitions. What is cut off is left to Spark, which refuses it.
    """
    topics = set()
    for line in text.splitlines()[2:]:
        try:
            source = json.loads(line)
        except (ValueError, RecursionError):
            continue
        for topic, offsets in source.items() if isinstance(source, dict) else ():
            if isinstance(offsets, dict) and all(partition.isdigit() for partition in offsets):
                topics.add(topic)
    return topics


def problems(checkpoints: Iterable[FoundCheckpoint]) -> list[str]:
    """Return which checkpoints have read what their job does not name; one without topics may."""
    return [
        f"the checkpoint {checkpoint.path} of the job {checkpoint.job} has read"
        f" {', '.join(undeclared)}, which is not among its topics: set another checkpoint, give the"
        f" job another name, or add it to topics"
        for checkpoint in checkpoints
        if checkpoint.topics and (undeclared := sorted({*checkpoint.read} - {*checkpoint.topics}))
    ]
