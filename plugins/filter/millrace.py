"""Filters of the collection: one-line doors to the functions in module_utils."""

from __future__ import annotations

from collections.abc import Callable

from ansible.errors import AnsibleFilterError
from ansible_collections.millrace.streaming.plugins.module_utils import heap, uuids


def directory_id(cluster_id: str, node_id: int) -> str:
    """Return the directory id of a controller's metadata directory.

    Raises:
        AnsibleFilterError: the cluster id or the node id is not legal.

    """
    try:
        return uuids.directory_id(cluster_id, int(node_id))
    except (TypeError, ValueError) as error:
        message = f"directory_id: {error}"
        raise AnsibleFilterError(message) from error


def heap_mb(text: str) -> int:
    """Return a heap size such as 512m or 2g in MiB.

    Raises:
        AnsibleFilterError: the size is not legal.

    """
    try:
        return heap.heap_mb(text)
    except ValueError as error:
        message = f"heap_mb: {error}"
        raise AnsibleFilterError(message) from error


class FilterModule:
    """The filters, by name."""

    def filters(self) -> dict[str, Callable[..., object]]:
        """Return name -> function."""
        return {"directory_id": directory_id, "heap_mb": heap_mb}
