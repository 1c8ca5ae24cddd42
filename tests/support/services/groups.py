"""Consumer groups without consumers."""

from __future__ import annotations

import contextlib
from typing import Any

from ansible_collections.millrace.streaming.plugins.module_utils.kafka.library import (
    OffsetAndMetadata,
    TopicPartition,
    errors,
)

from tests.support.wait import wait_for

COORDINATOR_SECONDS = 30


def commit(admin: Any, group: str, offset: int) -> None:
    """Commit an offset of the first partition of the topic with the name of the group.

    The first group of a cluster has no coordinator until Kafka has made the topic of offsets, and
    one that has just been made refuses commits until it has loaded its partition.
    """
    offsets = {TopicPartition(group, 0): OffsetAndMetadata(offset, "", -1)}

    def is_committed() -> bool:
        with contextlib.suppress(errors.CoordinatorNotAvailableError):
            response = admin.alter_group_offsets(group, offsets)
            return all(error is errors.NoError for error in response.values())
        return False

    wait_for(is_committed, seconds=COORDINATOR_SECONDS, what=f"a coordinator of {group}")
