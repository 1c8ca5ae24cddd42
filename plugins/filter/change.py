"""Filters about changes of a running cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from ansible_collections.millrace.streaming.plugins.module_utils import change_classes


def dynamic_keys(version: str, owned: Iterable[str] = ()) -> list[str]:
    """Return the keys that a running broker of a version takes, without those that are owned."""
    return change_classes.dynamic_keys(str(version), owned)


class FilterModule:
    """The filters by name."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Return name to function."""
        return {"dynamic_keys": dynamic_keys}
