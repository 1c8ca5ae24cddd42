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
    """Commit an offset of the first partition of the topic that a group has its name of.

    The first group of a cluster has no coordinator until Kafka has made the topic of offsets.
    """
    offsets = {TopicPartition(group, 0): OffsetAndMetadata(offset, "", -1)}

    def is_committed() -> bool:
        with contextlib.suppress(errors.CoordinatorNotAvailableError):
            admin.alter_group_offsets(group, offsets)
            return True
        return False

    wait_for(is_committed, seconds=COORDINATOR_SECONDS, what=f"a coordinator of {group}")
